"""Memories that do harm are set aside by themselves, good ones are not, and a person's word stands."""

from __future__ import annotations

import random
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from curation.test_holdout import lesson
from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.curation.uplift import HARM, Ended, harmful
from reasoningbank.memories.standing import speaking
from reasoningbank.testing import FrozenClock
from reasoningbank.types.memory import Memory, Outcome
from reasoningbank.types.signal import Rater
from reasoningbank.types.uplift import Exposure, How, Shown

START = datetime(2026, 1, 1, tzinfo=UTC)


def memory(name: str, outcome: Outcome = "success") -> Memory:
    """A memory of this id."""
    return Memory(id=name, project="shop", title=name, content=f"Do {name}.", outcome=outcome)


def session(number: int, end: bool | None, *shown: str, how: How = "injected") -> Ended:
    """A session that met these memories."""
    met = tuple(Shown(memory_id=name, how=how) for name in shown)
    exposure = Exposure(session=f"s{number}", at=START + timedelta(hours=number), eligible=True, shown=met)
    return Ended(exposure=exposure, succeeded=end, source=None if end is None else "session")


def found(sessions: list[Ended], *memories: Memory, released: datetime | None = None) -> list[str]:
    """Ids of the memories that do harm."""
    known = {one.id: one for one in memories}
    harms = harmful(
        sessions,
        lambda ids: {name: known[name] for name in ids if name in known},
        lambda _: released,
    )
    return [harm.memory_id for harm in harms]


def played(bank: Bank, harm: str, count: int, clock: FrozenClock, start: int = 0) -> None:
    """Sessions that were shown the harmful memory or another one; the first fail and the others succeed."""
    store = bank._context.store()
    others = [one.id for one in bank.memories.list() if one.id != harm]
    for number in range(start, start + count):
        shown = harm if number % 2 else others[number % len(others)]
        with store.transaction() as transaction:
            transaction.deliveries.expose(
                Exposure(
                    session=f"played-{number}",
                    at=clock.now(),
                    eligible=True,
                    tokens=10,
                    shown=(Shown(memory_id=shown, how="injected"),),
                    succeeded=shown != harm,
                    said_by="human",
                )
            )
        clock.advance(timedelta(minutes=1))


@promise(
    "harm:set-aside",
    "A memory whose upper bound is below the base rate is quarantined by the report with its numbers as the reason, "
    "is no longer shown, and is listed.",
    source="issue 4 (set aside by itself and listed)",
)
def test_a_memory_that_does_harm_is_set_aside_and_listed(open_bank: OpenBank, clock: FrozenClock) -> None:
    bank = open_bank(holdout=0.0)
    harm, good = lesson(bank, "Skip the tests"), lesson(bank)
    played(bank, harm, 10, clock)
    assert bank.report().harmful == ()
    assert bank.get(harm).state == "active"
    played(bank, harm, 60, clock, start=10)
    report = bank.report()
    assert [(one.memory_id, one.set_aside) for one in report.harmful] == [(harm, True)]
    one = report.harmful[0]
    assert (one.shown, one.succeeded, one.rate) == (35, 0, 0.0)
    assert one.upper_bound < one.base_bound < one.base_rate == 0.5
    assert (bank.get(harm).state, bank.get(good).state) == ("quarantined", "active")
    assert harm not in [item.hit.id for item in bank.briefing(session="later").items]
    assert bank.report().harmful == report.harmful
    change = bank._context.store().memories.changes(memory_id=harm)[-1]
    assert "0 of 35" not in change.reason
    assert "Of 35 sessions that were shown it 0 succeeded" in change.reason


@promise(
    "harm:one-client",
    "The sessions of one client alone, whatever it calls them, take nothing out of use that a person stands by: the "
    "report lists it and says that a person decides. They take a claim out, and so do the sessions of two clients and "
    "what a person says of sessions.",
    source="issue 14 (Power, Votes)",
)
@pytest.mark.parametrize(
    ("clients", "said_by", "vouched", "state"),
    [
        (1, "agent", True, "active"),
        (1, "human", True, "quarantined"),
        (1, "agent", False, "quarantined"),
        (2, "agent", True, "quarantined"),
    ],
)
def test_one_client_sets_nothing_aside_that_a_person_stands_by(
    open_bank: OpenBank, clients: int, said_by: Rater, *, vouched: bool, state: str
) -> None:
    bank = open_bank(holdout=0.0)
    with nullcontext() if vouched else speaking("somebody"):
        harm = bank.record(
            title="Format", content="Format before a commit.", outcome="success", source="mcp" if not vouched else "cli"
        ).id
    good = bank.record(title="Export", content="Export a ledger with its frozen rate.", outcome="success").id
    for number in range(48 * clients):
        name, shown = f"s{number}", harm if number % 2 else good
        with speaking(f"client {number // 2 % clients}"):
            found = bank.search("format before a commit" if number % 2 else "export a ledger", session=name)
            assert shown in [hit.id for hit in found.delivered]
            bank.outcome(shown, succeeded=shown == good, session=name)
        if said_by == "human":
            bank.sessions.outcome(name, shown == good)
    with speaking("somebody else"):
        assert [one.memory_id for one in bank.report().harmful] == [harm]
    assert bank.get(harm).state == "active", "who only asks changes nothing"
    report = bank.report()
    assert [one.memory_id for one in report.harmful] == [harm]
    assert [one.one_client for one in report.harmful] == [state == "active"]
    assert bank.get(harm).state == state


@promise(
    "harm:worker",
    "The worker looks for harmful memories once a day, also after a restart.",
    source="issue 4 (set aside by itself)",
)
def test_the_worker_looks_once_a_day(open_bank: OpenBank, clock: FrozenClock) -> None:
    bank = open_bank(holdout=0.0)
    harm = lesson(bank, "Skip the tests")
    lesson(bank)
    played(bank, harm, 70, clock)
    assert bank.jobs.work().done == 0
    assert bank.jobs.work().done == 0
    clock.advance(timedelta(days=1))
    assert open_bank(holdout=0.0).jobs.work().done >= 1
    assert bank.get(harm).state == "quarantined"
    waiting = [
        job for job in bank._context.store().jobs.waiting(due=clock.now() + timedelta(days=9)) if job.kind == HARM
    ]
    assert len(waiting) == 1
    assert timedelta(hours=23) < waiting[0].due - clock.now() <= timedelta(hours=24)
    clock.advance(timedelta(days=1, minutes=1))
    assert bank.jobs.work().done >= 1
    assert (
        len(
            [job for job in bank._context.store().jobs.waiting(due=clock.now() + timedelta(days=9)) if job.kind == HARM]
        )
        == 1
    )


@promise(
    "harm:released",
    "A memory that a person has released is not set aside again by the same evidence, but by new evidence it is.",
    source="docs/decisions/0014",
)
def test_what_a_person_releases_needs_new_evidence(open_bank: OpenBank, clock: FrozenClock) -> None:
    bank = open_bank(holdout=0.0)
    harm = lesson(bank, "Skip the tests")
    lesson(bank)
    played(bank, harm, 70, clock)
    bank.report()
    bank.quarantine.release(memory_id=harm)
    assert bank.get(harm).state == "active"
    clock.advance(timedelta(minutes=1))
    assert bank.report().harmful == ()
    assert bank.get(harm).state == "active"
    played(bank, harm, 70, clock, start=100)
    assert [one.shown for one in bank.report().harmful] == [35]
    assert bank.get(harm).state == "quarantined"


@promise(
    "harm:chance",
    "Chance alone sets no good memory aside, however many memories a project has and however often it looks.",
    source="issue 4 (set aside by itself)",
)
def test_chance_alone_sets_no_good_memory_aside() -> None:
    """A project of 300 good memories, looked at 20 times as it grows to 1,500 sessions of which six in ten succeed."""
    chance = random.Random(11)
    known = [memory(f"m{number}") for number in range(300)]
    sessions: list[Ended] = []
    for number in range(1_500):
        pool = known[: max(10, number // 4)]
        sessions.append(session(number, chance.random() < 0.6, *(one.id for one in chance.sample(pool, 5))))
        if number % 75 == 74:
            assert found(sessions, *known) == []


@promise(
    "harm:bounds",
    "The bounds of a memory's success rate hold the observed rate, mirror each other, and find a harmful memory among "
    "two hundred.",
    source="issue 4 (harm rate per memory)",
)
def test_harm_among_many_memories_is_found() -> None:
    chance = random.Random(12)
    known = [memory(f"m{number}") for number in range(200)]
    sessions = []
    for number in range(1_000):
        shown = chance.sample(known, 8)
        bad = known[0] in shown
        sessions.append(session(number, chance.random() < (0.05 if bad else 0.8), *(one.id for one in shown)))
    assert found(sessions, *known) == ["m0"]


@promise(
    "harm:fair",
    "Anti-patterns are compared with sessions that met anti-patterns, and a memory that held-out sessions did no "
    "better without is not set aside.",
    source="docs/decisions/0014",
)
def test_an_anti_pattern_is_compared_with_sessions_that_had_trouble_too() -> None:
    """Anti-patterns are shown after a failure, and such sessions end worse whatever is shown."""
    calm = [session(number, True, "plan") for number in range(100)]
    trouble = [session(200 + number, number % 10 < 3, f"avoid{number % 2}") for number in range(100)]
    worse = [session(400 + number, False, "avoid2") for number in range(40)]
    known = [memory("plan"), *(memory(f"avoid{number}", "failure") for number in range(3))]
    assert found([*calm, *trouble], *known) == []
    assert found([*calm, *trouble, *worse], *known) == []
    better = [session(600 + number, number % 10 < 9, "avoid1") for number in range(300)]
    assert found([*calm, *trouble, *worse, *better], *known) == ["avoid2"]


@promise("harm:fair")
def test_a_memory_about_hard_tasks_does_no_harm() -> None:
    easy = [session(number, True, "plan") for number in range(100)]
    hard = [session(200 + number, number % 10 == 0, "hard") for number in range(50)]
    kept = [session(300 + number, number % 10 == 0, "hard", how="withheld") for number in range(10)]
    good = [session(300 + number, number % 10 > 0, "hard", how="withheld") for number in range(10)]
    known = (memory("plan"), memory("hard"))
    assert found([*easy, *hard], *known) == ["hard"]
    assert found([*easy, *hard, *kept], *known) == []
    assert found([*easy, *hard, *good], *known) == ["hard"]


@promise("harm:fair")
def test_what_nobody_was_shown_or_whose_end_nobody_knows_is_no_harm() -> None:
    easy = [session(number, True, "plan") for number in range(50)]
    unknown = [session(100 + number, None, "dark") for number in range(50)]
    archived = [session(200 + number, False, "old") for number in range(50)]
    known = (memory("plan"), memory("dark"), replace(memory("old"), state="archived"))
    assert found([*easy, *unknown, *archived], *known) == []
    assert found([], *known) == []
