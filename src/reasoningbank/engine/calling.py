"""Calls functions of either kind, plain or asynchronous, from either kind of program.

A plain function runs in a thread of its own that does not keep the process alive: when it outlasts its time, or its
caller is cancelled, nobody waits for it any more. No assumption is made about which event loop runs, or whether one
does.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Generic, TypeVar, cast

from reasoningbank.errors import InvalidInput

Answer = TypeVar("Answer")


async def call(function: Callable[[], Answer | Awaitable[Answer]]) -> Answer:
    """The function's answer, awaited when it has to be; its own exception is raised.

    An asynchronous function runs on the event loop, a plain one in a thread with the caller's context variables.

    Raises:
        InvalidInput: When a plain function tried to end the process or its thread.
    """
    given = await _in_thread(function) if not _is_asynchronous(function) else function()
    return await given if inspect.isawaitable(given) else given


def run(coroutine: Coroutine[object, object, Answer]) -> Answer:
    """Runs a coroutine to its end and returns its answer, whether or not an event loop runs in this thread.

    Where one runs, the coroutine gets a loop and a thread of its own and this thread waits, so that loop stands still
    meanwhile: there, await the coroutine instead. An interrupt cancels the coroutine.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    outcome: _Outcome[Answer] = _Outcome()
    inside: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Answer]]] = []

    async def owned() -> Answer:
        task: asyncio.Task[Answer] = asyncio.ensure_future(coroutine)
        inside.append((asyncio.get_running_loop(), task))
        return await task

    def work() -> None:
        with outcome:
            outcome.value = asyncio.run(owned())

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), name="reasoningbank-loop")
    thread.start()
    try:
        thread.join()
    except BaseException:
        for loop, task in inside:
            loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise
    return outcome.answer()


class _Outcome(Generic[Answer]):
    """What a block of another thread came to: its value, or whatever it raised."""

    def __init__(self) -> None:
        self.value: Answer | None = None
        self.error: BaseException | None = None

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.error = error
        return True

    def answer(self) -> Answer:
        """The value; raises what was raised instead."""
        if self.error is not None:
            raise self.error
        return cast("Answer", self.value)


def _is_asynchronous(function: object) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 - the method, not whether there is one


async def _in_thread(function: Callable[[], Answer | Awaitable[Answer]]) -> Answer | Awaitable[Answer]:
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[None] = loop.create_future()
    outcome: _Outcome[Answer | Awaitable[Answer]] = _Outcome()

    def ended() -> None:
        if not waiting.done():
            waiting.set_result(None)

    def work() -> None:
        with outcome:
            outcome.value = function()
        with contextlib.suppress(RuntimeError):  # a closed loop: nobody waits any more
            loop.call_soon_threadsafe(ended)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name="reasoningbank-call", daemon=True).start()
    await waiting
    error = outcome.error
    if error is not None and (isinstance(error, StopIteration) or not isinstance(error, Exception)):
        raise InvalidInput(
            f"the function ended with {type(error).__name__} instead of answering",
            hint="Let it return, or raise an ordinary exception.",
        ) from error
    return outcome.answer()
