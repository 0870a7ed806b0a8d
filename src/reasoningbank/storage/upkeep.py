"""Checking, copying and replacing a bank file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import apsw

from reasoningbank.domain.memory import STATES
from reasoningbank.domain.recall import Filter
from reasoningbank.domain.signal import replay
from reasoningbank.errors import BankError, StoreCorrupt, StoreUnavailable
from reasoningbank.ports import StoreReport
from reasoningbank.storage.connection import page_checksums
from reasoningbank.storage.reads import Reads, Source
from reasoningbank.storage.rows import checksum
from reasoningbank.storage.schema import MIGRATIONS

ALL_STATES = Filter(states=STATES)
_BATCH = 500


def report(path: Path, source: Source, store: Reads) -> StoreReport:
    """Reads the whole bank and lists every defect it finds."""
    problems = [*_structure(source), *_contents(source, store)]
    names = (path, path.with_name(path.name + "-wal"))
    sizes = {name.name: name.stat().st_size for name in names if name.exists()}
    sidecars = path.with_name(path.name + ".vectors")
    if sidecars.is_dir():
        sizes["sidecar"] = sum(file.stat().st_size for file in sidecars.iterdir())
    checksums = "with" if page_checksums() else "without"
    return StoreReport(
        engine=f"SQLite {apsw.sqlite_lib_version()} through apsw {apsw.apsw_version()}, {checksums} page checksums",
        location=str(path),
        schema=len(MIGRATIONS),
        sizes=sizes,
        problems=tuple(problems),
    )


def _structure(source: Source) -> list[str]:
    problems: list[str] = []
    checks = (
        ("PRAGMA integrity_check", "the file's structure is damaged: {}"),
        ("PRAGMA foreign_key_check", "a row refers to a memory that is gone: {}"),
    )
    for statement, message in checks:
        try:
            rows = source.run(statement)
        except BankError as error:
            problems.append(message.format(error))
            continue
        problems += [message.format(row[0]) for row in rows if row[0] != "ok"]
    try:
        source.run("INSERT INTO memory_text (memory_text) VALUES ('integrity-check')")
    except BankError as error:
        problems.append(f"the text index is damaged: {error}")
    return problems


def _contents(source: Source, store: Reads) -> list[str]:
    problems: list[str] = []
    try:
        torn = source.run(
            "SELECT id FROM memories WHERE key NOT IN (SELECT rowid FROM memory_text) "
            "OR key NOT IN (SELECT key FROM vectors WHERE leg = 'content')"
        )
        problems += [f"memory {row[0]!r} has no text index or no vector" for row in torn]
        orphans = source.run("SELECT rowid FROM memory_text WHERE rowid NOT IN (SELECT key FROM memories)")
        problems += [f"the text index holds row {row[0]!r}, whose memory is gone" for row in orphans]
        for row in source.run("SELECT key, vector, checksum FROM vectors"):
            if checksum(row[:2]) != row[2]:
                problems.append(f"the vector of memory number {row[0]!r} does not hold what was written to it")
        problems += _memories(store)
    except BankError as error:
        problems.append(str(error))
    return problems


def _memories(store: Reads) -> list[str]:
    """Replays every memory's evidence: the stored belief must equal the log."""
    problems: list[str] = []
    offset = 0
    while batch := store.page(ALL_STATES, limit=_BATCH, offset=offset):
        for memory in batch:
            replayed = replay(
                memory.belief.initial, store.aggregate(memory.id), store.signals(memory.id), store.weights()
            )
            if (replayed.positive, replayed.negative) != (memory.belief.positive, memory.belief.negative):
                problems.append(f"the confidence of memory {memory.id} does not follow from its evidence")
        offset += len(batch)
    return problems


def copy(connection: apsw.Connection, target: Path) -> None:
    """Writes a consistent copy through SQLite's backup interface and renames it into place.

    Raises:
        StoreUnavailable: When the target's directory does not exist or cannot be written.
    """
    if not target.parent.is_dir():
        raise StoreUnavailable(f"the directory {target.parent} does not exist", hint="Create it, then back up again.")
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        copied = apsw.Connection(str(partial), vfs=connection.open_vfs)
        try:
            with copied.backup("main", connection, "main") as backup:
                while not backup.done:
                    backup.step(1_000)
            copied.pragma("journal_mode", "delete")
        finally:
            copied.close()
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def verify(path: Path) -> dict[str, str]:
    """Reads a backup from end to end and returns what it says of itself: bank, tenant, project.

    Raises:
        StoreCorrupt: When it is not a whole bank.
    """
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY, vfs=_vfs())
    try:
        state = [row[0] for row in connection.execute("PRAGMA integrity_check")]
        if state != ["ok"]:
            raise StoreCorrupt(f"{path.name} is damaged: {state[0]}")
        rows = connection.execute("SELECT name, value FROM meta").fetchall()
        return {cast(str, name): cast(str, value) for name, value in rows}
    finally:
        connection.close()


def _vfs() -> str | None:
    return "cksmvfs" if page_checksums() else None
