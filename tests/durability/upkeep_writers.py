"""Writers that take care of a whole bank, and get killed: what each does, and what must hold then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from pathlib import Path

from durability.writers import (
    Report,
    Seen,
    Writer,
    bank_file,
    by_name,
    check_indexed,
    check_sound,
    content,
    left_over,
    opened,
    recorded,
    step,
    word,
)
from reasoningbank.bank import Bank
from reasoningbank.storage import schema
from reasoningbank.storage.connection import Writer as SchemaWriter
from reasoningbank.storage.sqlite_connection import open_connection
from reasoningbank.storage.sqlite_file import KEPT_RESTORES
from reasoningbank.testing import FrozenClock
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.memory import STATES

LESSONS = 60
DIMENSIONS = (64, 96)
MONTH = 31
SQLITE_BESIDE = ("-wal", "-shm", "-journal")
DAMAGE = bytes(range(256)) * 48
"""Three pages of nothing."""


def fill(bank: Bank, prefix: str, lessons: int = LESSONS) -> None:
    """Records memories, a few of them rated, a small graph and a document's worth of searches."""
    for number in range(lessons):
        memory = recorded(bank, f"{prefix}{number}")
        if number % 4 == 0:
            bank.feedback(memory.id, helpful=True)
    nodes = [Node(id=f"{prefix}-{each}", label="AgentAnswer", text=f"Answer {each}.") for each in range(6)]
    bank.graph.add(
        nodes, [Edge(id=f"{prefix}-0", source=nodes[0].id, target=nodes[1].id, text="Explains.", weight=0.5)]
    )
    bank.search(f"turn before {word(f'{prefix}3')}", session="a session")


def names(bank: Bank) -> set[str]:
    """The names of all memories, each of which must be whole."""
    found = by_name(bank.memories.list(states=STATES, limit=0))
    for name, memory in found.items():
        assert memory.content == content(name, memory.version), f"torn text: {name}"
    return set(found)


# Restore: between a bank of one content and one of another


def _make_two_backups(home: Path) -> None:
    for prefix in ("a", "b"):
        with opened(home / prefix) as bank:
            fill(bank, prefix)
            bank.admin.backup(home / f"{prefix}.db")
    with opened(home) as bank:
        bank.admin.restore(home / "a.db")


def _restore(home: Path, report: Report) -> None:
    with opened(home) as bank:
        report("ready")
        for number in count(1):
            name = "ab"[number % 2]
            with step(report, name):
                bank.admin.restore(home / f"{name}.db")


def _check_restored(home: Path, seen: Seen) -> None:
    with opened(home) as bank:
        check_sound(bank)
        found = {name[0] for name in names(bank)}
        possible = [{(seen.done or ["a"])[-1]}, *([{seen.pending}] if seen.pending else [])]
        assert found in possible, f"{found}, {seen}"
        memories = bank.memories.list(limit=0)
        assert len(memories) == LESSONS
        for memory in memories[::9]:
            check_indexed(bank, memory)
        recorded(bank, "after")
    assert left_over(home) == []
    assert len(list(bank_file(home).parent.glob("*.before-restore-*"))) <= 4 * (KEPT_RESTORES + 1)


# Backup and export, while memories are recorded


def _begin_copies(home: Path) -> None:
    with opened(home) as bank:
        fill(bank, "c")
    (home / "copies").mkdir()


def _copy(home: Path, report: Report) -> None:
    with opened(home) as bank:
        report("ready")
        for number in count():
            recorded(bank, f"later{number}")
            with step(report, f"{number}.db"):
                bank.admin.backup(home / "copies" / f"{number}.db")
            with step(report, f"{number}.jsonl"):
                bank.admin.export(home / "copies" / f"{number}.jsonl")


def _check_copies(home: Path, seen: Seen) -> None:
    with opened(home) as bank:
        check_sound(bank)
        bank.admin.export(home / "copies" / "last.jsonl")
    there = {path.name for path in (home / "copies").iterdir() if path.suffix in {".db", ".jsonl"}} - {"last.jsonl"}
    assert set(seen.done) <= there <= set(seen.maybe), f"{there}, {seen}"
    for name in sorted(there)[-4:]:
        expected = {f"c{number}" for number in range(LESSONS)} | {
            f"later{n}" for n in range(int(name.split(".")[0]) + 1)
        }
        with opened(home / f"from-{name}") as other:
            if name.endswith(".db"):
                other.admin.restore(home / "copies" / name)
            else:
                other.admin.import_(home / "copies" / name)
            assert names(other) == expected, name
            check_sound(other)
    with opened(home) as bank:
        target = home / "copies" / (seen.pending or "0.db")
        target.unlink(missing_ok=True)
        if target.suffix == ".db":
            bank.admin.backup(target)
        else:
            bank.admin.export(target)
    assert left_over(home) == []


# Roll-up of old evidence


def _rate_for_a_month(home: Path) -> None:
    clock = FrozenClock()
    with opened(home, clock=clock) as bank:
        ids = [recorded(bank, f"r{number}").id for number in range(12)]
        for day in range(MONTH):
            clock.advance(timedelta(days=1))
            for number, memory_id in enumerate(ids):
                bank.feedback(memory_id, helpful=bool((day + number) % 3), session=f"day {day}")
        beliefs = {memory.id: repr(memory.belief) for memory in bank.memories.list(limit=0)}
    (home / "beliefs.json").write_text(json.dumps(beliefs), encoding="utf-8")


def _roll_up(home: Path, report: Report) -> None:
    clock = FrozenClock()
    clock.advance(timedelta(days=MONTH))
    with opened(home, clock=clock) as bank:
        report("ready")
        for day in range(MONTH + 2):
            clock.advance(timedelta(days=1))
            with step(report, str(day)):
                bank.admin.roll_up()


def _check_rolled_up(home: Path, seen: Seen) -> None:
    clock = FrozenClock()
    clock.advance(timedelta(days=3 * MONTH))
    beliefs = json.loads((home / "beliefs.json").read_text(encoding="utf-8"))
    for again in (False, True):
        with opened(home, clock=clock) as bank:
            if again:
                bank.admin.roll_up()
            check_sound(bank)
            evidence = bank._context.store().evidence
            assert {memory.id: repr(memory.belief) for memory in bank.memories.list(limit=0)} == beliefs
            for memory_id in beliefs:
                rolled, waiting = evidence.aggregate(memory_id), evidence.signals(memory_id)
                counted = rolled.explicit_positive + rolled.explicit_negative
                assert counted + len(waiting) == MONTH, f"evidence was lost or counted twice: {seen}"
                assert not (again and waiting)


# Repair of a damaged bank


def _damage(home: Path) -> None:
    with opened(home) as bank:
        fill(bank, "d", 120)
        bank.admin.backup(home / "whole.db")
    file = bank_file(home)
    for suffix in SQLITE_BESIDE:
        file.with_name(file.name + suffix).unlink(missing_ok=True)
    contents = bytearray((home / "whole.db").read_bytes())
    contents[:100] = bytes(100)
    for start in range(len(contents) // 16, len(contents) - len(DAMAGE), len(contents) // 8):
        contents[start : start + len(DAMAGE)] = DAMAGE
    file.write_bytes(contents)
    (home / "damaged").write_bytes(contents)
    with opened(home) as bank:
        done = bank.admin.repair()
    Path(done.path).rename(home / "repaired.db")
    with opened(home / "calm") as bank:
        bank.admin.restore(home / "repaired.db")
        saved = names(bank)
    assert 20 < len(saved) < 120, len(saved)
    (home / "saved.json").write_text(json.dumps(sorted(saved)), encoding="utf-8")


def _repair(home: Path, report: Report) -> None:
    with opened(home) as bank:
        report("ready")
        for number in count():
            report(f"begin {number}")
            path = Path(bank.admin.repair().path)
            path.rename(home / f"{number}.db")
            report(f"done {number}")


def _check_repaired(home: Path, seen: Seen) -> None:
    assert bank_file(home).read_bytes() == (home / "damaged").read_bytes(), "the damaged bank was changed"
    saved = set(json.loads((home / "saved.json").read_text(encoding="utf-8")))
    made = sorted(home.glob("[0-9]*.db"), key=lambda path: int(path.stem))
    assert {path.stem for path in made} >= set(seen.done)
    opened(home).close()
    assert left_over(home) == []
    for path in [*made[-1:], *bank_file(home).parent.glob("*.repaired-*")]:
        if not path.name.endswith(SQLITE_BESIDE):
            with opened(home / f"from-{path.name}") as other:
                other.admin.restore(path)
                assert names(other) == saved, "a repair that was killed left half a bank"
                check_sound(other)
    with opened(home) as bank:
        bank.admin.restore(bank.admin.repair().path)
        assert names(bank) == saved
        check_sound(bank)
    assert left_over(home) == []


# Another embedder


def _fill_to_reembed(home: Path) -> None:
    with opened(home) as bank:
        fill(bank, "v")


def _reembed(home: Path, report: Report) -> None:
    report("ready")
    for number in count(1):
        with opened(home, dimension=DIMENSIONS[number % 2]) as bank:
            report(f"begin {DIMENSIONS[number % 2]}")
            bank.admin.reembed()
            report(f"done {DIMENSIONS[number % 2]}")


def _check_reembedded(home: Path, seen: Seen) -> None:
    with opened(home) as bank:
        space = bank._context.store().model_id or ""
    possible = {(seen.done or [str(DIMENSIONS[0])])[-1], *([seen.pending] if seen.pending else [])}
    assert space.partition("/")[2] in possible, f"{space}, {seen}"
    for dimension in (int(space.partition("/")[2]), DIMENSIONS[0]):
        with opened(home, dimension=dimension) as bank:
            if dimension != int(space.partition("/")[2]):
                bank.admin.reembed()
            check_sound(bank)
            assert len(names(bank)) == LESSONS
            for memory in bank.memories.list(limit=0):
                check_indexed(bank, memory)
            assert bank.graph.size().pending == 0


# A migration to a newer schema


def _add_a_column(writer: SchemaWriter) -> None:
    writer.run("ALTER TABLE signals ADD COLUMN mood TEXT")
    writer.run("UPDATE signals SET mood = 'new ' || id || hex(zeroblob(200))")
    writer.run("CREATE INDEX signals_mood ON signals (mood)")


@contextmanager
def newer_schema() -> Iterator[None]:
    """Makes the current schema an old one, by one more migration, which rewrites a table."""
    current = schema.MIGRATIONS
    schema.MIGRATIONS = [*current, _add_a_column]
    try:
        yield
    finally:
        schema.MIGRATIONS = current


def _migrate(home: Path, report: Report) -> None:
    report("ready")
    with newer_schema():
        for number in range(MIGRATED):
            report(f"begin {number}")
            with opened(home, f"project-{number}") as bank:
                bank.memories.count()
            report(f"done {number}")


MIGRATED = 6


def _fill_to_migrate(home: Path) -> None:
    for number in range(MIGRATED):
        with opened(home, f"project-{number}") as bank:
            for each in range(20):
                memory = recorded(bank, f"m{each}")
                for turn in range(8):
                    bank.feedback(memory.id, helpful=True, session=str(turn))


def _check_migrated(home: Path, seen: Seen) -> None:
    old, new = len(schema.MIGRATIONS), len(schema.MIGRATIONS) + 1
    for number in range(MIGRATED):
        file = bank_file(home, f"project-{number}")
        connection = open_connection(file)
        version = connection.pragma("user_version")
        moods = 0 if version == old else connection.execute("SELECT count(mood) FROM signals").get
        connection.close()
        allowed = {new} if str(number) in seen.done else {old, new} if str(number) == seen.pending else {old}
        assert version in allowed, f"{version}, {seen}"
        assert moods == (160 if version == new else 0), "a migration happened by half"
        if version == new:
            kept = open_connection(file.with_name(f"{file.name}.before-{new}"))
            assert kept.pragma("user_version") == old
            assert kept.execute("SELECT count(*) FROM signals").get == 160
            assert kept.pragma("integrity_check") == "ok"
            kept.close()
    with newer_schema():
        for number in range(MIGRATED):
            with opened(home, f"project-{number}") as bank:
                check_sound(bank)
                assert names(bank) == {f"m{each}" for each in range(20)}
                assert all(len(bank._context.store().evidence.signals(each.id)) == 8 for each in bank.memories.list())
    assert left_over(home) == []


UPKEEP_WRITERS = (
    Writer(name="restore", prepare=_make_two_backups, write=_restore, check=_check_restored),
    Writer(name="backup and export", prepare=_begin_copies, write=_copy, check=_check_copies, steps=4),
    Writer(name="roll-up of evidence", prepare=_rate_for_a_month, write=_roll_up, check=_check_rolled_up, steps=20),
    Writer(name="doctor --repair", prepare=_damage, write=_repair, check=_check_repaired, steps=2),
    Writer(name="doctor --reembed", prepare=_fill_to_reembed, write=_reembed, check=_check_reembedded, steps=2),
    Writer(name="migration", prepare=_fill_to_migrate, write=_migrate, check=_check_migrated),
)
