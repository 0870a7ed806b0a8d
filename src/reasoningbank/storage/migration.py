"""Carry banks from one place to another, whatever the engines: a backup of the one, restored in the other, compared.

A bank arrives whole or not at all, because a restore is one transaction. So a migration that was ended in the middle is
begun again, and passes over what has arrived.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from reasoningbank.errors import InvalidInput, StoreCorrupt
from reasoningbank.storage.postgres_copies import copied_tables
from reasoningbank.storage.sqlite_connection import ConnectionSource
from reasoningbank.storage.sqlite_file import opened_for_reading
from reasoningbank.storage.store import Storage
from reasoningbank.types.scope import Scope

_OWN_TABLES = frozenset({"floors"})
_OWN_FACTS = "name NOT IN ('bank', 'checksums')"
"""What a bank says of itself and not of what is in it: a restored bank has an identifier and numbers of its own."""
_MODULUS = 1 << 256
STEPS = 4
"""Reports of progress for each bank."""


class TableSum(NamedTuple):
    """The rows of a table: how many, and the sum of their SHA-256, which no order changes."""

    rows: int
    checksum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MigratedBank:
    """What has become of one bank.

    Attributes:
        project: Its name.
        level: Whether it is a project's, a team's or an org's.
        status: Whether it was copied now or was there already, with the same rows.
        rows: How many rows it has.
        sha256: The checksum of all of them, the same at both places.
        changed: True when the source was written to meanwhile; what came after the copy is not at the target.
    """

    project: str
    level: str
    status: Literal["copied", "there"]
    rows: int
    sha256: str
    changed: bool = False


class BankMigration:
    """Carries the banks of one tenant.

    Args:
        source: Where they are.
        target: Where they are to be.
        replace: Put the source's bank in the place of another one of its name, which is kept as a restore keeps it.
    """

    def __init__(self, source: Storage, target: Storage, *, replace: bool = False) -> None:
        self._source = source
        self._target = target
        self._replace = replace

    def carry(self, scope: Scope, progress: Callable[[], None] = lambda: None) -> MigratedBank:
        """Carry one bank and compare all of its rows.

        Args:
            scope: Whose bank.
            progress: Called after each of its ``STEPS``.

        Raises:
            InvalidInput: When the target has another bank of that name and it is not to be replaced.
            StoreCorrupt: When not all rows have arrived as they are.
        """
        with tempfile.TemporaryDirectory(prefix="reasoningbank-migration-") as folder:
            copy, arrived = Path(folder) / "copy.db", Path(folder) / "arrived.db"
            before = self._mark(scope)
            _copy(self._source, scope, copy)
            progress()
            wanted = sums_of(copy, scope)
            progress()
            status: Literal["copied", "there"] = "there"
            present = self._found(scope, arrived) if self._target.has(scope) else {}
            if present != wanted:
                # A process that was killed before the restore leaves a bank without a row.
                if not self._replace and any(each.rows for name, each in present.items() if name != "meta"):
                    raise InvalidInput(
                        f"the target has another bank of {scope.shown}",
                        hint="Pass --replace to put this one in its place; what it holds is kept among the backups.",
                    )
                self._target.restore(scope, copy)
                status = "copied"
                progress()
                found = self._found(scope, arrived)
                if found != wanted:
                    tables = ", ".join(sorted(name for name in wanted if wanted[name] != found.get(name)))
                    raise StoreCorrupt(
                        f"{scope.shown} has not arrived as it was; these tables differ: {tables}",
                        hint="Nothing was changed at the source. Nobody else may write to the target; run it again.",
                    )
            else:
                progress()
            progress()
        return MigratedBank(
            project=scope.project,
            level=scope.level,
            status=status,
            rows=sum(each.rows for each in wanted.values()),
            sha256=_whole(wanted),
            changed=self._mark(scope) != before,
        )

    def _found(self, scope: Scope, place: Path) -> Mapping[str, TableSum]:
        place.unlink(missing_ok=True)
        _copy(self._target, scope, place)
        return sums_of(place, scope)

    def _mark(self, scope: Scope) -> Hashable:
        return self._source.marks(scope.tenant).get(scope)


def sums_of(file: Path, scope: Scope) -> Mapping[str, TableSum]:
    """Return the sums of all tables of a bank file, but for what a bank says of itself."""
    sums: dict[str, TableSum] = {}
    with closing(opened_for_reading(file)) as connection:
        source = ConnectionSource(file, scope.project, connection, None)
        for table, columns in copied_tables(source).items():
            if table not in _OWN_TABLES:
                sums[table] = _sum(source, table, columns)
    return sums


def _sum(source: ConnectionSource, table: str, columns: Sequence[str]) -> TableSum:
    count = total = 0
    where = f" WHERE {_OWN_FACTS}" if table == "meta" else ""
    for rows in source.parts(f"SELECT {', '.join(columns)} FROM {table}{where}"):  # noqa: S608 - names of our tables
        for row in rows:
            digest = hashlib.sha256(repr(tuple(row)).encode("utf-8", "surrogatepass")).digest()
            total += int.from_bytes(digest)
            count += 1
    return TableSum(count, total % _MODULUS)


def _whole(sums: Mapping[str, TableSum]) -> str:
    """Return one checksum of all tables."""
    text = "\n".join(f"{name} {each.rows} {each.checksum:064x}" for name, each in sorted(sums.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def _copy(storage: Storage, scope: Scope, place: Path) -> None:
    with closing(storage.open(scope)) as store:
        store.backup(place)
