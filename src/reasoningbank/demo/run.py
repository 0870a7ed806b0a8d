"""The demonstration: record, search, rate, report outcomes, and show where each confidence comes from.

63 nodes of 13 conversations in five parts of the shop, 80 edges, 32 lessons, in the JSON form that ``rbank graph
import`` reads. All of it was made up for this package.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from types import MappingProxyType
from typing import TypedDict, cast

from reasoningbank.demo.client import ServerTools
from reasoningbank.demo.server import PROJECT, TENANT, served
from reasoningbank.operations import composed
from reasoningbank.operations.json import Json, to_json
from reasoningbank.operations.text import history_text

FILE = "shop_graph.json"

QUESTION = "Which frost lesson decides when the autumn fern sale may start?"
"""The question that the graph answers with a path through two conversations of two parts of the shop."""
TAGS: tuple[str, ...] = ("frost", "lesson", "fern", "sale")
"""The words of the question that are tags of the graph."""
SEEDS: Mapping[str, float] = MappingProxyType({"pk-104": 0.8})
"""Where the answer begins: the cold snap of January."""
STORY: tuple[str, ...] = ("pk-104", "pk-106", "pk-107", "st-303", "st-304")
"""The answer: cold snap, comparison of parcels, rule for cold nights, scoring of start weeks, recommendation."""


def shop_graph() -> str:
    """Return the graph as JSON: ``nodes``, ``edges`` and ``lessons``."""
    return files(__package__).joinpath(FILE).read_text(encoding="utf-8")


def copy_shop_graph(target: Path) -> None:
    """Write the graph to a file, for a first ``rbank graph import``.

    Raises:
        OSError: When the file cannot be written.
    """
    with as_file(files(__package__).joinpath(FILE)) as source:
        target.write_bytes(source.read_bytes())


class RecordedStep(TypedDict):
    """One command of the session, as it ran."""

    step: int
    thought: str
    command: str
    exit_code: int
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoSession:
    """A recorded session.

    Attributes:
        task: What was to be done.
        recorded: The day it was recorded.
        steps: Every command with its exit status and output.
    """

    task: str
    recorded: str
    steps: tuple[RecordedStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoLesson:
    """One lesson and the steps of the session that it comes from."""

    steps: tuple[int, ...]
    title: str
    description: str
    content: str
    outcome: str
    tags: tuple[str, ...]


def load_session() -> DemoSession:
    """Return the session that the package ships; ``tools/record_session.py`` made it."""
    lines = _data("session.jsonl").splitlines()
    head = json.loads(lines[0])
    return DemoSession(
        task=head["task"],
        recorded=head["recorded"],
        steps=tuple(cast(RecordedStep, json.loads(line)) for line in lines[1:]),
    )


def load_lessons() -> tuple[DemoLesson, ...]:
    """Return the lessons that the package ships."""
    return tuple(
        DemoLesson(
            steps=tuple(lesson["steps"]),
            title=lesson["title"],
            description=lesson["description"],
            content=lesson["content"],
            outcome=lesson["outcome"],
            tags=tuple(lesson["tags"]),
        )
        for lesson in json.loads(_data("lessons.json"))["lessons"]
    )


def _data(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


TASK = "Bookings made late in the evening appear on the wrong day; tests pass locally and fail on the build server"
UNRELATED = "Choose a sofa for the waiting room"


class DemoRecord(TypedDict):
    """One lesson that was recorded, and the steps of the session it comes from."""

    steps: list[int]
    memory: Json


class Check(TypedDict):
    """One thing that should have happened, and whether it did."""

    what: str
    ok: bool


class DemoAnswer(TypedDict):
    """Everything the demonstration did."""

    home: str
    server: str
    tools: list[str]
    task: str
    session_steps: int
    recorded: list[DemoRecord]
    search: Json
    unrelated: Json
    feedback: Json
    outcomes: list[Json]
    histories: list[Json]
    checks: list[Check]
    seconds: float
    ok: bool


def run(say: Callable[[str], None]) -> DemoAnswer:
    """Run the demonstration in a fresh data directory.

    Args:
        say: Takes what happens, as it happens.

    Raises:
        BankError: When a tool fails; a step that answers wrongly is a check that is not ok.
    """
    home = Path(tempfile.mkdtemp(prefix="reasoningbank-demo-"))
    session = load_session()
    say(f"Data directory: {home} (fresh; remove it when you like)\n")
    return asyncio.run(_perform(home, session, load_lessons(), say))


async def _perform(
    home: Path, session: DemoSession, lessons: tuple[DemoLesson, ...], say: Callable[[str], None]
) -> DemoAnswer:
    started = time.monotonic()
    _tell_session(session, say)
    async with served(home) as tools:
        server, names = tools.server, await tools.names()
        say(f"\nStarted the MCP server as a child process: {server}, {len(names)} tools.")
        recorded = await _record(tools, lessons, say)
        say(f"\n2. A new task, in other words: {TASK!r}")
        search = await tools.call("memory_search", {"query": TASK, "session_id": "monday"})
        _tell_hits(search, say)
        unrelated = await tools.call("memory_search", {"query": UNRELATED})
        say(f"\n3. An unrelated query: {UNRELATED!r}\n   {unrelated['message']}")
        checks = _search_checks(recorded, search, unrelated)
        first, last = _used(recorded, search)
        say("\n4. The agent rates what it was given and says how its tasks ended.")
        feedback = await tools.call("memory_feedback", {"memory_id": first, "helpful": True, "session_id": "monday"})
        outcomes = [
            await _outcome(tools, first, succeeded=True, session="monday"),
            await _outcome(tools, first, succeeded=True, session="monday"),
            await _outcome(tools, last, succeeded=False, session="tuesday"),
        ]
        for message in (feedback["message"], *(outcome["message"] for outcome in outcomes)):
            say(f"   {message}")
        say("\n5. Why: the evidence, read from the same file by this process while the server runs.")
        histories = [_history(home, memory_id) for memory_id in dict.fromkeys((first, last))]
        for history in histories:
            say("   " + history_text(history).replace("\n", "\n   "))
    lives = [to_json(history) for history in histories]
    checks += _evidence_checks(feedback, outcomes, lives)
    return DemoAnswer(
        home=str(home),
        server=server,
        tools=names,
        task=session.task,
        session_steps=len(session.steps),
        recorded=recorded,
        search=search,
        unrelated=unrelated,
        feedback=feedback,
        outcomes=outcomes,
        histories=lives,
        checks=checks,
        seconds=round(time.monotonic() - started, 2),
        ok=all(check["ok"] for check in checks),
    )


async def _record(tools: ServerTools, lessons: tuple[DemoLesson, ...], say: Callable[[str], None]) -> list[DemoRecord]:
    say("\n1. The lessons, distilled by hand from the steps named, recorded through memory_record:")
    recorded = []
    for lesson in lessons:
        arguments = {
            "title": lesson.title,
            "description": lesson.description,
            "content": lesson.content,
            "outcome": lesson.outcome,
            "tags": list(lesson.tags),
            "session_id": "the-recorded-one",
        }
        answer = await tools.call("memory_record", arguments)
        recorded.append(DemoRecord(steps=list(lesson.steps), memory=answer))
        steps = ", ".join(map(str, lesson.steps))
        say(f"   {answer['outcome']:<7}  confidence {answer['confidence']:.3f}  {answer['title']} (steps {steps})")
    return recorded


async def _outcome(tools: ServerTools, memory_id: str, *, succeeded: bool, session: str) -> Json:
    arguments = {"memory_id": memory_id, "succeeded": succeeded, "session_id": session}
    return await tools.call("memory_outcome", arguments)


def _history(home: Path, memory_id: str) -> composed.History:
    from reasoningbank.bank import Bank
    from reasoningbank.settings import Settings

    with Bank.open(tenant=TENANT, project=PROJECT, settings=Settings(home=home)) as bank:
        return composed.history(bank, memory_id)


def _tell_session(session: DemoSession, say: Callable[[str], None]) -> None:
    say(f"A session recorded on {session.recorded}: {session.task}")
    for step in session.steps:
        summary = step["output"].strip().splitlines()[-1:] if "pytest" in step["command"] else []
        result = f"exit {step['exit_code']}" + "".join(f", {line}" for line in summary)
        say(f"   {step['step']:>2}  {step['thought']}  [{result}]")


def _tell_hits(search: Json, say: Callable[[str], None]) -> None:
    for hit in search["memories"]:
        legs = ", ".join(f"{name} rank {leg['rank']}" for name, leg in hit["legs"].items())
        say(f"   {hit['relevance']:.2f}  {hit['title']} ({hit['outcome']}, confidence {hit['confidence']:.3f}; {legs})")
    say(f"   {search['message']} {search['tokens']} tokens, embedder {search['embedder']}.")


def _search_checks(recorded: list[DemoRecord], search: Json, unrelated: Json) -> list[Check]:
    ids = [lesson["memory"]["id"] for lesson in recorded]
    found = [hit["id"] for hit in search["memories"]]
    return [
        Check(what="every lesson was recorded at confidence 0.8", ok=_confidences(recorded) == {0.8}),
        Check(what="the new task finds lessons of the session", ok=bool(found) and set(found) <= set(ids)),
        Check(what="a strategy is among them", ok=any(hit["outcome"] == "success" for hit in search["memories"])),
        Check(what="the unrelated query finds nothing", ok=not unrelated["count"] and not unrelated["unproven"]),
    ]


def _used(recorded: list[DemoRecord], search: Json) -> tuple[str, str]:
    """Return the best strategy found, and the last of the other hits when there is another."""
    strategies = [hit["id"] for hit in search["memories"] if hit["outcome"] == "success"]
    first = strategies[0] if strategies else recorded[0]["memory"]["id"]
    others = [hit["id"] for hit in search["memories"] if hit["id"] != first]
    return first, others[-1] if others else first


def _confidences(recorded: list[DemoRecord]) -> set[float]:
    return {lesson["memory"]["confidence"] for lesson in recorded}


def _evidence_checks(feedback: Json, outcomes: list[Json], histories: list[Json]) -> list[Check]:
    succeeded, repeated, failed = outcomes
    before_failure = [event["confidence"] for event in histories[-1]["events"]][-2]
    return [
        Check(what="a helpful rating raised the confidence", ok=feedback["new_confidence"] > 0.8),
        Check(what="a success raised it further", ok=succeeded["new_confidence"] > feedback["new_confidence"]),
        Check(what="the same success is not counted twice", ok=not repeated["recorded"]),
        Check(what="a failure lowered the confidence", ok=failed["new_confidence"] < before_failure),
        Check(
            what="each confidence is alpha / (alpha + beta) of its evidence",
            ok=all(
                abs(history["alpha"] / (history["alpha"] + history["beta"]) - history["confidence"]) < 1e-5
                and abs(history["events"][-1]["confidence"] - history["confidence"]) < 1e-5
                for history in histories
            ),
        ),
    ]
