"""Agents of either kind, called from programs of either kind."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Awaitable, Sequence

import pytest

from matts.attempts import SOLVED, TASK, Ledger, a_run
from promises import promise
from reasoningbank.matts.attempts import Agent, call, run
from reasoningbank.matts.comparison import parallel
from reasoningbank.types.matts import Task
from reasoningbank.types.recall import Hit
from reasoningbank.types.session import Trajectory

WHO = contextvars.ContextVar("WHO", default="nobody")


def plain(task: Task, memories: Sequence[Hit]) -> Trajectory:
    return a_run(*SOLVED)


async def asynchronous(task: Task, memories: Sequence[Hit]) -> Trajectory:
    await asyncio.sleep(0)
    return a_run(*SOLVED)


def deferred(task: Task, memories: Sequence[Hit]) -> Awaitable[Trajectory]:
    return asynchronous(task, memories)


class PlainObject:
    def __call__(self, _task: Task, _memories: Sequence[Hit]) -> Trajectory:
        return a_run(*SOLVED)


class AsynchronousObject:
    async def __call__(self, _task: Task, _memories: Sequence[Hit]) -> Trajectory:
        return a_run(*SOLVED)


AGENTS: tuple[Agent, ...] = (
    plain,
    asynchronous,
    deferred,
    functools.partial(asynchronous),
    PlainObject(),
    AsynchronousObject(),
)


@promise(
    "matts:any-agent",
    "Any plain or asynchronous callable is an agent, from programs with and without a running event loop.",
    source="issue MaTTS",
)
@pytest.mark.parametrize("agent", AGENTS)
def test_any_callable_is_an_agent_with_and_without_a_running_loop(agent: Agent) -> None:
    assert run(parallel(TASK, agent, 2, Ledger().parts)).best == 0

    async def program() -> int | None:
        return run(parallel(TASK, agent, 2, Ledger().parts)).best

    assert asyncio.run(program()) == 0

    async def awaited() -> int | None:
        return (await parallel(TASK, agent, 2, Ledger().parts)).best

    assert asyncio.run(awaited()) == 0


@promise("matts:any-agent")
def test_an_asynchronous_agent_runs_on_the_callers_own_loop() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def agent(task: Task, memories: Sequence[Hit]) -> Trajectory:
        loops.append(asyncio.get_running_loop())
        return a_run(*SOLVED)

    async def program() -> bool:
        await parallel(TASK, agent, 2, Ledger().parts)
        return loops == [asyncio.get_running_loop()] * 2

    assert asyncio.run(program())


@promise("matts:any-agent")
def test_a_plain_agent_blocks_no_loop_and_sees_its_callers_context() -> None:
    async def program() -> tuple[str, bool]:
        WHO.set("the caller")
        ready = asyncio.Event()
        loop = asyncio.get_running_loop()
        answered = threading.Event()

        def function() -> tuple[str, bool]:
            loop.call_soon_threadsafe(ready.set)
            return WHO.get(), answered.wait(20)

        work = asyncio.create_task(call(function))
        await ready.wait()
        answered.set()
        return await work

    assert asyncio.run(program()) == ("the caller", True)


@promise("matts:any-agent")
def test_an_error_is_raised_as_it_was() -> None:
    class Special(Exception):
        pass

    async def broken() -> None:
        raise Special

    def program() -> None:
        with pytest.raises(Special):
            run(broken())

    program()

    async def inside() -> None:
        program()

    asyncio.run(inside())


@promise("matts:any-agent")
def test_the_context_reaches_a_coroutine_that_is_run_inside_a_running_loop() -> None:
    async def who() -> str:
        return WHO.get()

    async def program() -> str:
        WHO.set("inside")
        return run(who())

    assert asyncio.run(program()) == "inside"
