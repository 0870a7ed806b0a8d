"""The report: who is compared with whom, by which ends, and what it says when there is not enough."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.test_holdout import SHOP, lesson
from opened_banks import OpenBank
from promises import promise
from reasoningbank.aio import AsyncBank
from reasoningbank.bank import Bank
from reasoningbank.cli.app import rbank
from reasoningbank.curation.uplift import ended
from reasoningbank.memories.exposure import draw
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.session import Step, Trajectory
from reasoningbank.types.uplift import Arm, Exposure, Shown

PASSED, BROKEN = (
    Step(action="pytest", observation="3 passed in 0.1s", exit_code=0),
    Step(action="pytest", observation="1 failed in 0.1s", exit_code=1),
)


def sessions(count: int, share: float, name: str = "s") -> tuple[list[str], list[str]]:
    """Sessions that are given memories and sessions that are held out."""
    names = [f"{name}{number}" for number in range(count)]
    return [one for one in names if draw(SHOP, one) >= share], [one for one in names if draw(SHOP, one) < share]


def ends(bank: Bank) -> dict[str, tuple[bool | None, str | None]]:
    """How every session ended, and who knows."""
    return {one.exposure.session: (one.succeeded, one.source) for one in ended(bank._context.store())}


def kept(bank: Bank, session: str, step: Step, task: str = "Fix the build") -> str:
    """A captured session that ends with this step."""
    return bank.sessions.keep(Trajectory(task=task, steps=(step,), session=session, source="api")).id


@promise(
    "uplift:report",
    "The report compares drawn sessions by how they were drawn, with success rates, the difference and its 95 % "
    "interval and the tokens that injection adds; it is the same after a restart, after a restore and from the "
    "asynchronous bank.",
    source="issue 4 (rbank report)",
)
def test_the_arms_are_compared_by_how_they_were_drawn(open_bank: OpenBank) -> None:
    bank = open_bank(holdout=0.3)
    lesson(bank)
    given, held = sessions(80, 0.3)
    tokens = 0
    for number, session in enumerate(given):
        tokens += bank.briefing(session=session).tokens
        bank.sessions.outcome(session, number % 4 < 3)
    for number, session in enumerate(held):
        bank.briefing(session=session)
        if number < 12:
            bank.sessions.outcome(session, number % 2 > 0)
    report = bank.report()
    assert report.sessions == 80
    succeeded = sum(number % 4 < 3 for number in range(len(given)))
    assert report.with_memory == Arm(sessions=len(given), succeeded=succeeded, failed=len(given) - succeeded)
    assert report.without_memory == Arm(sessions=len(held), succeeded=6, failed=6)
    assert report.without_memory.unknown == len(held) - 12
    assert report.uplift == pytest.approx(succeeded / len(given) - 0.5)
    assert report.interval[0] < succeeded / len(given) - 0.5 < report.interval[1]
    assert report.tokens_added == pytest.approx(tokens / len(given))
    assert (report.harmful, report.crossed, report.not_drawn) == ((), 0, 0)


@promise("uplift:not-enough")
def test_without_a_comparison_nothing_is_claimed(open_bank: OpenBank) -> None:
    bank = open_bank(holdout=0.0)
    assert "No session has met a memory" in bank.report().message
    lesson(bank)
    bank.briefing(session="a")
    bank.sessions.outcome("a", True)
    report = bank.report()
    assert (report.uplift, report.interval) == (None, (-1.0, 1.0))
    assert report.with_memory == Arm(sessions=1, succeeded=1)
    assert "REASONINGBANK_HOLDOUT" in report.message
    drawing = open_bank(holdout=0.5)
    given, held = sessions(12, 0.5)
    for session in (*given, *held):
        drawing.briefing(session=session)
    drawing.sessions.outcome(given[0], True)
    report = drawing.report()
    assert (report.uplift, report.interval) == (None, (-1.0, 1.0))
    assert "Not enough to compare: of no drawn session without memory" in report.message
    assert report.not_drawn == 1


@promise(
    "uplift:ends",
    "How a session ended is a person's word, then the agent's report on the session, then the evidence in its "
    "transcript; reports about single memories are in no rate, because a session without memory cannot make them.",
    source="issue 4 (uplift)",
)
def test_the_end_of_a_session_is_the_best_that_is_known(open_bank: OpenBank, clock: FrozenClock) -> None:
    bank = open_bank(holdout=0.0)
    known = lesson(bank)
    for session in ("nobody", "evidence", "agent", "person", "verdict", "memory", "partial"):
        bank.briefing(session=session)
    kept(bank, "evidence", BROKEN)
    kept(bank, "agent", BROKEN, "another task")
    bank.sessions.outcome("agent", True, rater="agent")
    bank.sessions.outcome("person", True)
    bank.sessions.outcome("person", False, rater="agent")
    told = kept(bank, "verdict", PASSED, "a third task")
    bank.sessions.outcome("verdict", True, rater="agent")
    bank.sessions.verdict(told, "failure")
    bank.outcome(known, succeeded=True, session="memory")
    bank.sessions.verdict(kept(bank, "partial", PASSED, "a fourth task"), "partial")
    assert ends(bank) == {
        "nobody": (None, None),
        "evidence": (False, "evidence"),
        "agent": (True, "session"),
        "person": (True, "session"),
        "verdict": (False, "verdict"),
        "memory": (True, "memory"),
        "partial": (False, "verdict"),
    }


@promise("uplift:ends")
def test_reports_about_memories_alone_are_in_no_rate(open_bank: OpenBank) -> None:
    """A held-out session cannot make them."""
    bank = open_bank(holdout=0.5)
    known = lesson(bank)
    given, held = sessions(20, 0.5)
    for session in (*given, *held):
        bank.briefing(session=session)
    for session in given:
        bank.outcome(known, succeeded=True, session=session)
    report = bank.report()
    assert report.with_memory == Arm(sessions=len(given))
    assert report.uplift is None
    assert "only reports about single memories" in report.message


@promise("uplift:report")
def test_the_report_survives_the_process_and_the_backup(open_bank: OpenBank, tmp_path: Path) -> None:
    bank = open_bank(holdout=0.4)
    lesson(bank)
    given, held = sessions(30, 0.4)
    for session in (*given, *held):
        bank.briefing(session=session)
        bank.sessions.outcome(session, session in given)
    report = bank.report()
    assert report.uplift == 1.0
    copy = bank.admin.backup(tmp_path / "copy.db")
    bank.close()
    assert open_bank(holdout=0.4).report() == report
    restored = open_bank(holdout=0.4)
    restored.sessions.outcome(given[0], False)
    assert restored.report() != report
    restored.admin.restore(copy)
    assert restored.report() == report


@promise("uplift:report")
def test_the_asynchronous_bank_reports_the_same(open_bank: OpenBank) -> None:
    bank = open_bank(holdout=0.5)
    lesson(bank)
    bank.briefing(session="a")
    assert asyncio.run(AsyncBank(bank).report()) == bank.report()


@promise(
    "cli:report",
    "rbank report --json prints exactly sessions, with_memory, without_memory, uplift, interval, tokens_added and "
    "harmful.",
    source="issue 4 (interface)",
)
def test_the_command_prints_exactly_its_fields_and_words_for_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("HOME", str(tmp_path / "home")), ("TENANT", "acme"), ("PROJECT", "shop"), ("HOLDOUT", "0.5")):
        monkeypatch.setenv(f"REASONINGBANK_{name}", value)
    given, held = sessions(24, 0.5)
    with Bank.open(embedder=HashingEmbedder()) as bank:
        known = lesson(bank)
        for session in (*given, *held):
            bank.briefing(session=session)
            bank.sessions.outcome(session, session in given)
        other = lesson(bank, "Skip the tests")
        with bank._context.store().transaction() as transaction:
            for number in range(40):
                met = (Shown(memory_id=other, how="asked"),)
                exposure = Exposure(session=f"bad{number}", at=bank._context.clock.now(), shown=met, succeeded=False)
                transaction.deliveries.expose(exposure)
            for number in range(90):
                met = (Shown(memory_id=known, how="asked"),)
                exposure = Exposure(session=f"good{number}", at=bank._context.clock.now(), shown=met, succeeded=True)
                transaction.deliveries.expose(exposure)
    result = CliRunner().invoke(rbank, ["report", "--json"])
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert list(said) == ["sessions", "with_memory", "without_memory", "uplift", "interval", "tokens_added", "harmful"]
    assert said["sessions"] == 154
    arm = {"sessions": len(given), "succeeded": len(given), "failed": 0, "unknown": 0, "rate": 1.0}
    assert said["with_memory"] == arm
    assert said["without_memory"] == {**arm, "sessions": len(held), "succeeded": 0, "failed": len(held), "rate": 0.0}
    assert (said["uplift"], said["interval"][1]) == (1.0, 1.0)
    assert said["interval"][0] > 0.4
    assert said["tokens_added"] > 0
    assert [(one["id"], one["set_aside"]) for one in said["harmful"]] == [(other, True)]
    assert list(said["harmful"][0]) == [
        "id", "title", "shown", "succeeded", "rate", "upper_bound", "base_rate", "set_aside", "one_client",
    ]  # fmt: skip
    words = CliRunner().invoke(rbank, ["report"]).stdout
    assert "With memory +100.0% of sessions succeed" in words
    assert f"{other} (Skip the tests), set aside" in words


@promise("cli:report")
def test_a_bank_without_sessions_reports_nothing_as_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "home"))
    said = json.loads(CliRunner().invoke(rbank, ["report", "--json"]).stdout)
    arm = {"sessions": 0, "succeeded": 0, "failed": 0, "unknown": 0, "rate": None}
    assert said == {
        "sessions": 0,
        "with_memory": arm,
        "without_memory": arm,
        "uplift": None,
        "interval": [-1.0, 1.0],
        "tokens_added": 0.0,
        "harmful": [],
    }
