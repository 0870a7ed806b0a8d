"""Every public method of a bank, given odd values for every argument: it answers or raises an error of the tree."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import BankError
from reasoningbank.operations.methods import resource_class, resources
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.document import FileChange
from reasoningbank.types.graph import Node
from reasoningbank.types.session import Trajectory

ODD: tuple[object, ...] = (
    None,
    5,
    -1,
    10**30,
    True,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "x",
    "\ud800",
    "a\0b",
    "x" * 5000,
    b"x",
    [],
    ["x"],
    [5],
    [None],
    {},
    {"x": 1},
    {5: None},
    {"x"},
    (),
    ("\ud800",),
    datetime(2026, 1, 1, tzinfo=UTC),
    datetime.min,
    object(),
)
UNASKED = {"close", "jobs.work_until.stop"}
"""What ends the bank, and what would wait for ever."""


def methods(bank: Bank) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Give every public method of a bank, of its resources and of its past, by name."""
    owners: list[tuple[str, type, object]] = [("", Bank, bank), ("at().", type(past := bank.at("2026-01-01")), past)]
    owners += [(f"{name}.", resource_class(name), getattr(bank, name)) for name in resources()]
    for place, kind, owner in owners:
        for name, found in vars(kind).items():
            if not name.startswith("_") and (inspect.isfunction(found) or isinstance(found, classmethod)):
                yield f"{place}{name}", getattr(owner, name)


def asked(method: Callable[..., Any], given: list[object], named: dict[str, object]) -> None:
    """Call a method; an error of the tree is an answer."""
    try:
        answer = method(*given, **named)
        if isinstance(answer, Bank):
            answer.close()
        if inspect.isawaitable(answer):
            asyncio.run(asyncio.wait_for(answer, 5))
    except BankError as error:
        assert error.message
        assert error.hint
        assert len(str(error)) < 400, error


def usual_values(memory_id: str, session_id: str) -> dict[str, object]:
    """Return a value for each argument that must be given, so that the others come to be looked at."""
    stop = threading.Event()
    stop.set()
    return {
        "memory_id": memory_id,
        "memory": memory_id,
        "trajectory_id": session_id,
        "stop": stop,
        "node_id": "figs",
        "link_nodes": ["figs"],
        "seeds": {"figs": 1.0},
        "weight": 0.5,
        "budget": 100,
        "version": 1,
        "kind": "memory",
        "verdict": "success",
        "outcome": "success",
        "since": "2026-01-01",
        "helpful": True,
        "succeeded": True,
        "reverted": False,
        "path": (),
        "changes": (),
        "tool_calls": (),
        "memory_ids": [memory_id],
        "what": [memory_id],
        "preference_type": "general",
        "product": "mem0",
        "agent": lambda *_: None,
        "read": lambda *_: (),
        "change": lambda *_: FileChange(),
    }


def odd_calls(
    name: str, method: Callable[..., Any], usual: Mapping[str, object]
) -> Iterator[tuple[str, list[object], dict[str, object]]]:
    """Give the calls of a method in which one argument is odd: what it is, by position, by name."""
    parameters = [*inspect.signature(method).parameters.values()]
    plain = {
        each.name: usual.get(each.name, "x")
        for each in parameters
        if each.default is each.empty and each.kind is not each.VAR_POSITIONAL
    }
    if name == "open":
        plain = {"url": "memory://", "tenant": "t", "project": "p"}
    for each in parameters:
        if f"{name}.{each.name}" in UNASKED:
            continue
        for odd in ODD:
            if each.name == "by_agent" and odd is True:
                continue  # it would make the whole process, every later test with it, an agent's
            given = [odd] if each.kind is each.VAR_POSITIONAL else []
            named = plain if given else {**plain, each.name: odd}
            yield f"{name}({each.name}={odd!r:.40})", given, named


@promise(
    "types:odd-arguments",
    "A method of a bank that is given an argument of any other kind answers or raises an error of the tree that says "
    "what to do next, never one of the interpreter or of the database.",
    source="issue 10",
)
def test_every_method_given_odd_values_answers_or_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    clock = FrozenClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
    with Bank.open("memory://", tenant="t", project="p", embedder=HashingEmbedder(), clock=clock) as bank:
        memory = bank.record(title="Prune figs", content="Prune figs in late winter.", outcome="success")
        bank.graph.add([Node(id="figs", label="Event", text="Figs ripen late.")])
        captured = bank.sessions.keep(Trajectory(task="Prune the figs", final_answer="Pruned."))
        usual = usual_values(memory.id, captured.id)
        for name, method in methods(bank):
            for said, given, named in odd_calls(name, method, usual) if name not in UNASKED else ():
                try:
                    asked(method, given, named)
                except Exception as error:
                    error.add_note(f"raised by {said}")
                    raise
