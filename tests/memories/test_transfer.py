"""Backup, restore, export and import of a whole bank."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import InvalidInput, ScopeViolation, StoreCorrupt, StoreUnavailable
from reasoningbank.testing import FrozenClock
from reasoningbank.types.session import Origin


def lived(bank: Bank, clock: FrozenClock) -> list[str]:
    """Gives the bank some memories with evidence of all kinds, old and new."""
    ids = [
        bank.record(title=f"Lesson {number}", content=f"Do thing {number} first.", outcome="success", tags=["t"]).id
        for number in range(4)
    ]
    bank.outcome(ids[0], succeeded=True, session="s1")
    bank.feedback(ids[0], helpful=True)
    bank.feedback(ids[1], helpful=False)
    clock.advance(timedelta(days=40))
    bank.admin.roll_up()
    bank.search("do thing 2 first", session="s2")
    bank.feedback(ids[2], helpful=True)
    bank.update(ids[3], title="Lesson three")
    return ids


@promise(
    "transfer:identity",
    "An import of an export gives the same memories, beliefs, histories and weights.",
    source="issue Bank",
)
def test_an_import_of_an_export_is_the_same_bank(
    open_local_bank: Callable[..., Bank], clock: FrozenClock, tmp_path: Path
) -> None:
    bank = open_local_bank()
    ids = lived(bank, clock)
    assert bank.admin.export(tmp_path / "bank.jsonl") == len(ids)
    other = open_local_bank(tenant="umbrella", project="copy")
    report = other.admin.import_(tmp_path / "bank.jsonl", vouched=True)
    assert report.imported == tuple(ids)
    for name in ids:
        original, copy = bank.get(name), other.get(name)
        assert (copy.title, copy.content, copy.tags, copy.belief) == (
            original.title,
            original.content,
            original.tags,
            original.belief,
        )
        assert [event.confidence for event in other.memories.history(name)][-1] == original.confidence
    assert other.admin.stats().weights == bank.admin.stats().weights
    assert other.admin.check().problems == ()
    again = other.admin.import_(tmp_path / "bank.jsonl", vouched=True)
    assert (again.imported, again.conflicts) == ((), ())
    assert len(again.unchanged) == len(ids)


@promise("transfer:atomic", "A bad line is named and nothing is imported.", source="issue Bank")
@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        '{"neither": 1}',
        '{"memory": {"title": "x"}}',
        '{"memory": 5}',
        '{"memory": {"id": "x"}, "origins": [{"trajectory": 5}]}',
        '{"weights": {"explicit_alpha": "x"}, "at": "2026-01-01T00:00:00+00:00", "signal_id": ""}',
    ],
)
def test_a_bad_line_is_named_and_nothing_is_imported(
    local_bank: Bank, clock: FrozenClock, tmp_path: Path, line: str
) -> None:
    lived(local_bank, clock)
    path = tmp_path / "bank.jsonl"
    local_bank.admin.export(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    for memory in local_bank.memories.list():
        local_bank.delete(memory.id)
    path.write_text("\n".join([*lines[:3], line, *lines[3:]]), encoding="utf-8")
    with pytest.raises(InvalidInput, match="line 4"):
        local_bank.admin.import_(path)
    assert local_bank.memories.count() == 0


@promise(
    "transfer:claims",
    "An import believes the evidence in the file, not the confidence it claims.",
    source="DESIGN D4",
)
def test_an_import_believes_the_evidence_and_not_the_claim(
    local_bank: Bank, clock: FrozenClock, tmp_path: Path
) -> None:
    memory = local_bank.record(title="Lesson", content="Content.", outcome="success", confidence=0.6)
    path = tmp_path / "bank.jsonl"
    local_bank.admin.export(path)
    local_bank.delete(memory.id)
    lines = path.read_text(encoding="utf-8").splitlines()
    forged = json.loads(lines[1])
    forged["memory"]["belief"]["positive"] = 10**15
    path.write_text("\n".join([lines[0], json.dumps(forged)]), encoding="utf-8")
    local_bank.admin.import_(path)
    assert local_bank.get(memory.id).confidence == 0.6


@promise(
    "transfer:origins",
    "Origins travel with their memories in an export, trajectories do not; a forged origin is refused with its line.",
    source="issue 3 Distil",
)
def test_origins_travel_with_their_memories_and_trajectories_do_not(
    open_local_bank: Callable[..., Bank], tmp_path: Path
) -> None:
    bank, path = open_local_bank(), tmp_path / "bank.jsonl"
    ids = [bank.record(title=f"Lesson {number}", content="Content.", outcome="success").id for number in range(2)]
    origins = [
        Origin(
            memory_id=ids[0], trajectory="t1", kind="distilled", session="s1", steps=(3, 9), model="m", prompt="p@1"
        ),
        Origin(memory_id=ids[0], trajectory="t2", kind="corroborated", session="s2"),
    ]
    with bank._context.store().transaction() as transaction:
        assert [transaction.sessions.add_origin(origin) for origin in origins] == [True, True]
    bank.admin.export(path)
    other = open_local_bank(tenant="umbrella", project="copy")
    other.admin.import_(path, vouched=True)
    assert list(other._context.store().sessions.origins(memory_id=ids[0])) == origins
    assert list(other._context.store().sessions.origins(memory_id=ids[1])) == []
    assert list(other._context.store().sessions.trajectories(limit=0)) == []
    assert other.admin.check().problems == ()
    lines = path.read_text(encoding="utf-8").splitlines()
    for wrong in ({"kind": "guessed"}, {"steps": ["3"]}, {"at": "2026-01-01T00:00:00"}, {"session": 5}, {"at": None}):
        forged = json.loads(lines[1])
        forged["memory"]["id"] = "another"
        forged["origins"][0] |= wrong
        path.write_text("\n".join([lines[0], json.dumps(forged)]), encoding="utf-8")
        with pytest.raises(InvalidInput, match="line 2"):
            other.admin.import_(path)
    assert other.memories.count() == 2


@promise(
    "transfer:backup",
    "A backup restores exactly; what it replaces is kept; damaged or foreign ones are refused.",
    source="issue Store",
)
def test_a_backup_restores_exactly_and_keeps_what_it_replaces(
    open_local_bank: Callable[..., Bank], clock: FrozenClock, home: Path
) -> None:
    bank = open_local_bank()
    ids = lived(bank, clock)
    before = {name: bank.get(name) for name in ids}
    copy = bank.admin.backup()
    assert copy.is_relative_to(home / "backups")
    bank.delete(ids[0])
    late = bank.record(title="After the backup", content="Not in it.", outcome="success")
    bank.admin.restore(copy)
    assert {memory.id: memory for memory in bank.memories.list()} == before
    assert bank.search("do thing 1 first").memories
    bank.feedback(ids[0], helpful=True)
    assert bank.admin.check().problems == ()
    assert late.id not in [memory.id for memory in open_local_bank().memories.list()]
    assert list((home / "banks").rglob("*.before-restore-*"))


@promise("transfer:backup")
def test_a_backup_of_another_scope_or_a_damaged_one_is_refused(
    open_local_bank: Callable[..., Bank], clock: FrozenClock, tmp_path: Path
) -> None:
    bank, other = open_local_bank(), open_local_bank(tenant="umbrella")
    ids = lived(bank, clock)
    foreign = other.admin.backup(tmp_path / "foreign.db")
    with pytest.raises(ScopeViolation):
        bank.admin.restore(foreign)
    with pytest.raises(StoreUnavailable):
        bank.admin.restore(tmp_path / "nowhere.db")
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"SQLite format 3\x00" + bytes(5_000))
    with pytest.raises(StoreCorrupt):
        bank.admin.restore(damaged)
    with pytest.raises(StoreUnavailable):
        bank.admin.backup(foreign)
    assert bank.memories.count() == len(ids)


@promise("transfer:backup-count", "Only the newest automatic backups are kept.", source="issue Store")
def test_only_the_newest_automatic_backups_are_kept(local_bank: Bank, clock: FrozenClock) -> None:
    local_bank.record(title="Lesson", content="Content.", outcome="success")
    paths = []
    for _ in range(9):
        paths.append(local_bank.admin.backup())
        clock.advance(timedelta(hours=1))
    assert [path.exists() for path in paths] == [False] * 2 + [True] * 7
