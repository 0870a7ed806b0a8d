"""Decay, prune and stability from outside: the daily job, commands, both stores, and the asynchronous bank."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from curation.aged_banks import DAY, MONTH, made, told
from curation.git_repository import Git
from opened_banks import OpenBank
from promises import promise
from reasoningbank.aio import AsyncBank
from reasoningbank.cli.app import rbank
from reasoningbank.testing import FrozenClock

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory for the command line, without any model."""
    for name, value in {"HOME": str(tmp_path / "home"), "TENANT": "acme", "PROJECT": "shop", "LLM": ""}.items():
        monkeypatch.setenv(f"REASONINGBANK_{name}", value)
    return tmp_path / "home"


def run(*arguments: str) -> Result:
    """A command."""
    return CliRunner().invoke(rbank, [*arguments])


def answered(*arguments: str) -> dict[str, Any]:
    """The JSON object of a command that went well."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output + result.stderr
    fields: dict[str, Any] = json.loads(result.stdout)
    return fields


@promise(
    "lifecycle:daily",
    "The worker decays, prunes and looks at the configured repository once a day, whichever process does.",
    source="issue 4",
)
def test_the_worker_tends_the_bank_once_a_day(open_bank_in_session: OpenBank, clock: FrozenClock) -> None:
    bank = open_bank_in_session()
    fading, doubted = told(bank, "One.", confidence=0.6), told(bank, "Two.", confidence=0.2)
    assert bank.jobs.work().done == 0
    clock.advance(DAY)
    assert bank.jobs.work().done == 1
    assert bank.jobs.work().done == open_bank_in_session().jobs.work().done == 0
    for _ in range(95):
        clock.advance(DAY)
        assert bank.jobs.work().done == 1
    assert bank.get(fading.id).confidence == pytest.approx(0.45, abs=1e-9)
    assert bank.get(doubted.id).state == "archived"
    clock.advance(40 * DAY)
    assert open_bank_in_session().jobs.work().done == 1
    assert bank.get(fading.id).confidence == pytest.approx(0.4, abs=1e-9)
    assert bank.jobs.dead() == ()


@promise("lifecycle:daily")
@promise("lifecycle:checked")
def test_the_worker_looks_at_the_configured_repository(
    open_bank_in_session: OpenBank, clock: FrozenClock, git: Git
) -> None:
    commit = git.commit("one", at=clock.now())
    bank = open_bank_in_session(repository=str(git.path))
    memory = told(bank, f"As it was done in {commit}.")
    bank.jobs.work()
    clock.advance(6 * DAY)
    assert bank.jobs.work().done == 1
    assert bank.get(memory.id).confidence == 0.8
    clock.advance(DAY)
    assert bank.jobs.work().done == 1
    assert bank.get(memory.id).confidence > 0.8
    wrong = open_bank_in_session("other", repository=str(git.path.parent))
    left = told(wrong)
    wrong.jobs.work()
    clock.advance(MONTH)
    report = wrong.jobs.work()
    assert (report.done, report.postponed) == (0, 1)
    assert "git does not read" in report.messages[0]
    assert wrong.get(left.id).confidence == pytest.approx(0.75, abs=1e-9)


@promise(
    "lifecycle:stores",
    "A bank in a file and one in memory decay, prune and tell the history alike.",
    source="issue 4",
)
def test_both_stores_decay_and_prune_alike(clock: FrozenClock, tmp_path: Path) -> None:
    told_by: list[object] = []
    for url in (None, f"memory://{tmp_path.name}"):
        clock = FrozenClock()
        with made(tmp_path / "home", clock, url=url) as bank:
            memories = [told(bank, f"Content {n}.", confidence=c) for n, c in enumerate((0.9, 0.6, 0.25, 0.31, 0.8))]
            bank.feedback(memories[3].id, helpful=False)
            for month in range(8):
                clock.advance(MONTH)
                bank.curation.decay()
                bank.admin.roll_up()
                bank.curation.prune()
                if month == 3:
                    bank.outcome(memories[0].id, succeeded=True, session="s")
                    bank.curation.report_stability(memories[4].id, reverted=True, commit="abcdef1")
            assert bank.admin.check().problems == ()
            told_by.append(
                [
                    (
                        bank.get(each.id).belief,
                        bank.get(each.id).state,
                        [(event.at, event.kind, event.detail) for event in bank.memories.history(each.id)],
                    )
                    for each in memories
                ]
            )
    assert told_by[0] == told_by[1]


@promise(
    "lifecycle:cli",
    "rbank decay, prune and stability have dry runs, JSON and errors with hints.",
    source="issue 4",
)
def test_the_command_line_decays_prunes_and_looks_at_commits(home: Path, git: Git) -> None:
    past = FrozenClock()
    past.advance(datetime.now(UTC) - 100 * DAY - past.now())
    first = git.commit("one", at=past.now())
    second = git.commit("two", at=past.now())
    git.revert(second, at=past.now() + DAY)
    with made(home, past, embedder="local") as bank:
        fading = told(bank, f"One, see {first} and {second}.")
        doubted = told(bank, "Two.", confidence=0.2)
        bank.record(title="By hand", content="Three.", outcome="success")
    planned = answered("decay", "--dry-run")
    assert (planned["dry_run"], planned["examined"], planned["recorded"]) == (True, 3, 1)
    decayed = answered("decay")
    assert decayed == {**planned, "dry_run": False}
    assert {each["id"]: (each["months"], each["new_confidence"]) for each in decayed["decayed"]} == {
        fading.id: (3, pytest.approx(0.65)),
        doubted.id: (2, pytest.approx(0.1)),
    }
    assert answered("decay")["decayed"] == []
    assert run("decay").stdout.startswith("0 decayed of 3 that nobody used")
    planned = answered("prune", "--dry-run")
    assert [each["id"] for each in planned["pruned"]] == [doubted.id]
    assert "not been used" in run("prune", "--dry-run").stdout
    assert answered("prune") == {**planned, "dry_run": False}
    assert any(planned["pruned"][0]["reason"] in event["detail"] for event in answered("history", doubted.id)["events"])
    assert answered("update", doubted.id, "--state", "active")["state"] == "active"
    assert answered("prune")["pruned"] == []
    looked = answered("stability", "--repository", str(git.path), "--dry-run")
    assert {(each["commit"], each["reverted"]) for each in looked["counted"]} == {
        (first, False),
        (second, True),
    }
    assert "was reverted" in run("stability", "--repository", str(git.path)).stdout
    again = answered("stability", "--repository", str(git.path))
    assert (again["counted"], again["commits"], again["waiting"], again["unknown"]) == ([], 2, 0, 0)
    refused = run("stability", "--repository", str(home), "--json")
    assert refused.exit_code == 2
    assert json.loads(refused.stderr)["hint"]


@promise("lifecycle:async", "The asynchronous bank tends as the bank does.", source="issue 4")
def test_the_asynchronous_bank_tends_as_the_bank_does(clock: FrozenClock, tmp_path: Path, git: Git) -> None:
    commit = git.commit("one", at=clock.now())

    async def live() -> None:
        bank = AsyncBank(made(tmp_path / "home", clock))
        memory = await bank.record(title="One", content=f"As in {commit}.", outcome="success", source="mcp")
        clock.advance(MONTH)
        assert len((await bank.curation.decay()).decayed) == 1
        assert (await bank.curation.prune()).pruned == ()
        assert len((await bank.curation.check_stability(git.path)).reports) == 1
        assert not (await bank.curation.report_stability(memory.id, reverted=False, commit=commit)).counted
        await bank.close()

    asyncio.run(live())
