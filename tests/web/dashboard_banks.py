"""A bank to look at: thousands of memories, evidence of months, sessions, a graph, and hostile texts."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy

from reasoningbank.bank import Bank
from reasoningbank.demo.graph import shop_graph
from reasoningbank.memories.standing import speaking
from reasoningbank.memories.words import analyse
from reasoningbank.settings import Settings
from reasoningbank.storage.store import Store
from reasoningbank.testing import FrozenClock
from reasoningbank.types.belief import Belief
from reasoningbank.types.memory import Memory
from reasoningbank.types.records import Indexed
from reasoningbank.types.session import Evidence, Refusal, RefusalReason, Step, Trajectory

TENANT, PROJECT, TEAM = "acme", "shop", "north"
HOSTILE = (
    "<script>window.attacked = true; alert('title')</script><img src=x onerror=\"alert('image')\">",
    "\"><svg onload=alert('svg')></title></textarea></script><script>alert('end')</script>",
    "\u202egnilbmub si \u2066this\u202a text\u202e desrever",
    "W" * 190,
    "{{ 7 * 7 }} {% raw %} ${7*7} javascript:alert(1)",
)
"""Titles that would run, break or turn around a page that did not escape, isolate and wrap them."""
_DAYS = 120
_AREAS = ("payments", "search", "deploys", "reports", "imports", "accounts", "mobile", "billing", "queues", "caches")
_DOINGS = (
    "Retry a call that timed out with growing pauses",
    "Lock the row before the balance is read",
    "Run the migration in two steps",
    "Pin the version of the generator",
    "Reset the cache after the schema has changed",
    "Read the log of the worker before the test is changed",
    "Ask for the time zone before dates are compared",
    "Close the connection when the request ends",
    "Check the exit code of the build script",
    "Write the fixture before the parser is changed",
)


@dataclass(frozen=True)
class Filled:
    """What a test looks for in the bank."""

    rated: str
    edited: str
    merged: str
    session: str
    hostile: tuple[str, ...]


def fill(home: Path, count: int) -> Filled:
    """Make the bank below a data directory: ``count`` memories, and some of every kind that a page shows."""
    clock = FrozenClock(datetime.now(UTC) - timedelta(days=_DAYS))
    settings = Settings(home=home)
    with Bank.open(tenant=TENANT, project=PROJECT, team=TEAM, settings=settings, clock=clock) as bank:
        store = bank._context.store()
        rated, edited = _lived(bank, clock)
        session = _worked(bank)
        merged = _merged(bank)
        graph = home / "graph.json"
        graph.write_text(shop_graph(), encoding="utf-8")
        bank.graph.import_(graph)
        hostile = tuple(memory.id for memory in _hostile(bank))
        bank.quarantine.add(memory_id=hostile[1], reason=HOSTILE[0])
        bank.jobs.work()
        with store.transaction() as transaction:
            for memory in hostile_memories():
                transaction.memories.insert(memory, _indexed(bank, memory, numpy.random.default_rng(1)))
        _fill_store(store, bank, count)
    return Filled(rated=rated, edited=edited, merged=merged, session=session, hostile=hostile)


def hostile_memories() -> list[Memory]:
    """Memories as an older version or another program may have stored them, without the gate."""
    now = datetime.now(UTC)
    return [
        Memory(
            project=PROJECT,
            title=title[:200],
            description=title,
            content=f"{title} {'x' * 3_000}\n{title}",
            outcome="failure",
            tags=(title[:60],),
            category="<b>bold",
            provenance={"source": "mcp", "session": title[:80], "entered": "agent"},
            usage_count=9_000 - number,
            created_at=now - timedelta(minutes=number),
            updated_at=now,
            id=f"hostile-{number}-<'\"&>",
        )
        for number, title in enumerate(HOSTILE)
    ]


def _lived(bank: Bank, clock: FrozenClock) -> tuple[str, str]:
    """A memory that was shown, rated and reported on for months, and one that was edited twice."""
    with speaking("client-one", "session-of-one"):
        memory = bank.record(
            title="Pause and retry when the payment provider times out",
            description="When a call to the payment provider fails with a timeout.",
            content="Retry three times with pauses of 1, 4 and 16 seconds.\nThen put the order into the waiting list.",
            outcome="success",
            tags=("payments", "timeouts"),
            category="debugging",
            source="mcp",
        )
    choice = random.Random(4)
    for number in range(24):
        clock.advance(timedelta(days=4, hours=choice.randint(0, 20)))
        session = f"session-{number}"
        bank.search("the payment provider times out", session=session)
        bank.outcome(memory.id, succeeded=number % 5 != 3, session=session, rater="agent")
        if number % 3 == 0:
            bank.feedback(memory.id, helpful=number % 9 != 6, session=session)
    other = bank.record(
        title="Never edit a generated file by hand",
        content="Change the template and generate again.",
        outcome="failure",
        tags=("deploys",),
    )
    bank.update(other.id, content="Change the template and generate it again; commit both together.")
    bank.update(other.id, title="Never edit a generated file", content="Change the template, generate, commit both.")
    return memory.id, other.id


def _worked(bank: Bank) -> str:
    """Sessions with steps, judgements, a lesson and a refused one; the last one shows everything."""
    known = ""
    for number in range(12):
        failed = number % 3 == 1
        steps = (
            Step(user="Make the checkout tests pass.", thought="First I look at what fails."),
            Step(thought="Run them.", action="pytest tests/checkout", tool="bash", observation="2 failed", exit_code=1),
            Step(thought="Round at the end.", action="edit total.py", tool="edit", observation="done"),
            Step(action="pytest tests/checkout", tool="bash", observation="41 passed", exit_code=1 if failed else 0),
            Step(thought=HOSTILE[0], action=HOSTILE[1], observation=HOSTILE[3] * 12, tool="bash", error=HOSTILE[2]),
        )
        captured = bank.sessions.keep(
            Trajectory(
                task=f"Repair the checkout sums, part {number + 1}",
                steps=steps,
                evidence=(Evidence(kind="test_run", positive=not failed, detail="pytest tests/checkout", step=3),),
                final_answer="The sums are right now." if not failed else "It still fails.",
                session=f"repair-{number}",
                source="claude-code",
                created_at=datetime.now(UTC) - timedelta(hours=30 - number),
            )
        )
        known = captured.id
    bank.sessions.verdict(known, "success", note="I looked at the totals myself.")
    with bank._context.store().transaction() as transaction:
        reasons: tuple[RefusalReason, ...] = ("retold", "too_long")
        for reason in reasons:
            transaction.sessions.refuse(
                Refusal(
                    trajectory=known, reason=reason, detail="It tells a story.", title=HOSTILE[0], content=HOSTILE[3]
                )
            )
    return known


def _merged(bank: Bank) -> str:
    """A memory that was made of two."""
    pair = [
        bank.record(title=title, content=content, outcome="success")
        for title, content in (
            (
                "Warm the cache before the sale begins",
                "Warm the cache an hour before the sale begins, or pages are slow.",
            ),
            (
                "Warm the cache before a sale begins",
                "Warm the cache an hour before a sale begins, or all pages are slow.",
            ),
        )
    ]
    cluster = next(each for each in bank.curation.clusters(0.8) if pair[0].id in each.ids)
    return bank.curation.merge(cluster).id


def _hostile(bank: Bank) -> list[Memory]:
    return [
        bank.record(title=title[:190], content=f"{title}\n{title}", outcome="success", source="mcp", tags=(title[:40],))
        for title in HOSTILE
    ]


def _fill_store(store: Store, bank: Bank, count: int) -> None:
    """Put memories in a thousand at a time, with vectors of no text: embedding ten thousand would take minutes."""
    choice, vectors = random.Random(7), numpy.random.default_rng(7)
    now = datetime.now(UTC)
    for start in range(0, count, 1_000):
        with store.transaction() as transaction:
            for number in range(start, min(start + 1_000, count)):
                area = _AREAS[number % len(_AREAS)]
                doing = choice.choice(_DOINGS)
                at = now - timedelta(minutes=choice.randint(0, _DAYS * 1_440))
                by_agent = number % 3 > 0
                memory = Memory(
                    project=store.scope.project,
                    title=f"{doing} ({area} {number})",
                    description=f"When something in {area} behaves otherwise than its test says.",
                    content=f"{doing}. It was seen in {area}, case {number}, and cost an afternoon.",
                    outcome="success" if number % 4 else "failure",
                    tags=(area, f"team{number % 7}"),
                    belief=Belief.starting_at(choice.choice((0.6, 0.8, 0.8))),
                    tokens=60,
                    usage_count=choice.randint(0, 40),
                    provenance={"source": "mcp" if by_agent else "cli", "entered": "agent" if by_agent else "person"},
                    created_at=at,
                    updated_at=at,
                )
                transaction.memories.insert(memory, _indexed(bank, memory, vectors))


def _indexed(bank: Bank, memory: Memory, choice: numpy.random.Generator) -> Indexed:
    """What is derived from a memory, with a vector of no meaning."""
    vector = choice.standard_normal(bank.embedder.dimension)
    unit = (vector / numpy.linalg.norm(vector)).astype(numpy.float32)
    text = analyse("\n".join((memory.title, memory.description, memory.content, *memory.tags)))
    return Indexed(text=text, model_id=bank.embedder.model_id, vectors={"content": unit})
