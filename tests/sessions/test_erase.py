"""Erasing what a session has left: its bytes are gone from all files, and no confidence changes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import InvalidInput
from reasoningbank.testing import FrozenClock
from reasoningbank.types.session import Step, Trajectory

SECRET = "zebrafish-session"
QUERY = "walrus migration of the tariff tables"
OTHER = "ordinary-session"


def _live(bank: Bank, session: str, query: str, at: datetime) -> None:
    """A session that searches, rates, reports and is captured."""
    (memory, *_) = bank.memories.list()
    bank.search(query, session=session)
    bank.feedback(memory.id, helpful=True, session=session)
    bank.outcome(memory.id, succeeded=True, session=session)
    bank.sessions.keep(
        Trajectory(
            task=query,
            steps=(Step(action=query, observation="done"),),
            session=session,
            source="test",
            created_at=at,
        )
    )


def _stocked(bank: Bank) -> None:
    bank.record(title="Tariff tables move last", content="Move the tariff tables after the shop.", outcome="success")
    bank.record(title="Named by it", content="Name time zones in reports.", outcome="success", session=SECRET)


def _confidences(bank: Bank) -> dict[str, float]:
    return {memory.id: memory.confidence for memory in bank.memories.list(limit=0)}


def _holding(home: Path, *words: str) -> list[str]:
    """Files that hold one of the words."""
    return [
        f"{path.name}: {word}"
        for path in sorted(home.rglob("*"))
        if path.is_file()
        for word in words
        if word.encode() in path.read_bytes()
    ]


@promise(
    "sessions:erase",
    "Erasing a session takes its queries, name, captured record, workflow and what it was shown out of every file, "
    "also out of automatic backups; no confidence changes.",
    source="issue 13",
)
def test_an_erased_session_is_gone_from_every_file(
    open_bank: Callable[..., Bank], clock: FrozenClock, tmp_path: Path
) -> None:
    bank = open_bank()
    _stocked(bank)
    _live(bank, SECRET, QUERY, clock.now())
    _live(bank, OTHER, "ordinary question", clock.now())
    workflow = bank.workflows.execute(QUERY)
    bank.admin.backup()
    home = tmp_path / "home"
    assert len(_holding(home, SECRET, QUERY)) >= 3
    before = _confidences(bank)
    erased = bank.admin.erase(session=SECRET)
    assert erased.searches
    assert erased.trajectories == 1
    assert bank.admin.erase(session=f"workflow-{workflow.id}").workflows == 1
    assert erased.signals
    assert _confidences(bank) == before
    assert bank.admin.check().problems == ()
    assert bank.search("tariff tables").memories
    assert [entry.session for entry in bank.sessions.list()] == [OTHER]
    bank.close()
    assert _holding(home, SECRET, QUERY) == []
    assert _holding(home, OTHER)
    again = open_bank()
    assert _confidences(again) == before
    assert not again.admin.erase(session=SECRET).some


@promise("sessions:erase")
def test_everything_older_than_a_time_is_erased(
    open_bank: Callable[..., Bank], clock: FrozenClock, tmp_path: Path
) -> None:
    bank = open_bank()
    _stocked(bank)
    _live(bank, SECRET, QUERY, clock.now())
    clock.advance(timedelta(days=40))
    _live(bank, OTHER, "ordinary question", clock.now())
    before = _confidences(bank)
    erased = bank.admin.erase(before=clock.now() - timedelta(days=10))
    assert erased.trajectories == 1
    assert _confidences(bank) == before
    assert [entry.session for entry in bank.sessions.list()] == [OTHER]
    bank.close()
    assert _holding(tmp_path / "home", SECRET, QUERY) == []
    with pytest.raises(InvalidInput):
        open_bank().admin.erase()


@promise(
    "sessions:logs-expire",
    "Logged searches, what sessions were shown and the names in the evidence go by themselves after a year, or after "
    "the days that are set; confidences stay.",
    source="issue 13",
)
def test_logs_expire_by_themselves(open_bank: Callable[..., Bank], clock: FrozenClock, tmp_path: Path) -> None:
    bank = open_bank()
    (memory,) = [bank.record(title="Tariffs", content="Move the tariff tables after the shop.", outcome="success")]
    bank.search(QUERY, session=SECRET)
    bank.feedback(memory.id, helpful=True, session=SECRET)
    clock.advance(timedelta(days=300))
    bank.curation.upkeep()
    assert _holding(tmp_path / "home", QUERY)
    clock.advance(timedelta(days=70))
    bank.search("a newer question", session=OTHER)
    before = _confidences(bank)
    bank.curation.upkeep()
    after = _confidences(bank)
    assert all(abs(after[name] - before[name]) < 0.2 for name in before)
    assert bank.admin.check().problems == ()
    bank.close()
    assert _holding(tmp_path / "home", QUERY, SECRET) == []
    assert _holding(tmp_path / "home", "a newer question")
