"""What sessions were shown or kept from, in a bank file: one row for a session, one for each memory that it met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from reasoningbank.errors import InvalidInput, StoreCorrupt
from reasoningbank.storage.learning_reads import LearningReads
from reasoningbank.storage.learning_rows import owned, proven, read_record
from reasoningbank.storage.rows import Row, Value, checksum
from reasoningbank.storage.write_part import WritePart
from reasoningbank.types.uplift import HOWS, Exposure, Shown

_NAME = "an exposure"
_HEADS = "SELECT number, session, body, checksum FROM exposures"
_MET = (
    "SELECT n.last, e.number, e.session, e.body, e.checksum, "
    "i.exposure, i.key, i.position, i.how, i.succeeded, i.checksum, m.id "
    "FROM (SELECT coalesce(max(number), 0) AS last FROM exposures) AS n "
    "LEFT JOIN exposures AS e ON e.session = ? LEFT JOIN exposure_items AS i ON i.exposure = e.number "
    "LEFT JOIN memories AS m ON m.key = i.key ORDER BY i.position"
)
_ITEMS = (
    "SELECT i.exposure, i.key, i.position, i.how, i.succeeded, i.checksum, m.id FROM exposure_items AS i "
    "JOIN memories AS m ON m.key = i.key"
)


_PUT_ITEM = (
    "INSERT INTO exposure_items VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (exposure, key) DO UPDATE SET "
    "position = excluded.position, how = excluded.how, succeeded = excluded.succeeded, checksum = excluded.checksum"
)


class _Place(NamedTuple):
    """Where a session's exposure is kept.

    Attributes:
        number: Its number: that of the next new one when there is none.
        head: The checksum of its head; None when there is none.
        items: What it met: the checksum of each item by the memory's key.
    """

    session: str
    number: int
    head: Value
    items: Mapping[Value, Value]


class ExposureReads(LearningReads):
    """The reads of the Store port that concern exposures."""

    _place: _Place | None = None
    """What the last read has found; a write that follows need not look again."""

    def exposure(self, session: str) -> Exposure | None:
        rows = self._source.run(_MET, (session,))
        number, items = rows[0][1], [row[5:] for row in rows if row[5] is not None]
        if number is None:
            number = cast(int, rows[0][0]) + 1
        self._place = _Place(session, cast(int, number), rows[0][4], {row[1]: row[5] for row in items})
        return None if rows[0][1] is None else _exposure(rows[0][1:5], items)

    def exposures(self) -> Sequence[Exposure]:
        met: dict[object, list[Row]] = {}
        for row in self._source.run(f"{_ITEMS} ORDER BY i.exposure, i.position"):
            met.setdefault(row[0], []).append(row)
        heads = self._source.run(f"{_HEADS} ORDER BY number")
        return [_exposure(row, met.get(row[0], ())) for row in heads]


class ExposureWrites(ExposureReads, WritePart):
    """The writes of the Transaction port that concern exposures."""

    def expose(self, exposure: Exposure) -> None:
        kept, text = owned_exposure(exposure)
        if self._place is None or self._place.session != kept.session:
            self.exposure(kept.session)
        assert self._place is not None
        _, number, known, met = self._place
        self._place = None
        with self._whole():
            head: Row = (number, kept.session, text)
            if known != checksum(head):
                self._source.run(
                    "INSERT INTO exposures VALUES (?, ?, ?, ?) "
                    "ON CONFLICT (number) DO UPDATE SET body = excluded.body, checksum = excluded.checksum",
                    (*head, checksum(head)),
                )
            keys = self._keys([one.memory_id for one in kept.shown])
            items: dict[Value, Row] = {}
            for position, one in enumerate(kept.shown):
                if one.memory_id in keys:
                    said = None if one.succeeded is None else int(one.succeeded)
                    item: Row = (number, keys[one.memory_id], position, one.how, said)
                    items[keys[one.memory_id]] = (*item, checksum(item))
            if gone := [(number, key) for key in met if key not in items]:
                self._source.run_each("DELETE FROM exposure_items WHERE exposure = ? AND key = ?", gone)
            if changed := [row for key, row in items.items() if met.get(key) != row[5]]:
                self._source.run_each(_PUT_ITEM, changed)
            self._note_change()


def owned_exposure(exposure: Exposure) -> tuple[Exposure, str]:
    """Return the exposure as it will be read back, and the text of all of it but what it met.

    Raises:
        InvalidInput: When a field is not of its type, a text no Unicode, or a way of meeting not known.
    """
    for one in exposure.shown:
        if one.how not in HOWS:
            raise InvalidInput(f"a session meets a memory as {', '.join(HOWS)}, not {str(one.how)[:80]!r}")
    kept, _ = owned(exposure)
    return kept, owned(replace(kept, shown=()))[1]


def _exposure(head: Row, items: Sequence[Row]) -> Exposure:
    exposure = read_record(Exposure, proven(_NAME, head[:3], head[3])[2], _NAME)
    if exposure.session != head[1]:
        raise StoreCorrupt(f"{_NAME} is kept for another session")
    return replace(exposure, shown=tuple(_shown(row) for row in items))


def _shown(row: Row) -> Shown:
    _, _, _, how, said = proven("what a session met", row[:5], row[5])
    known = next((one for one in HOWS if one == how), None)
    if known is None:
        raise StoreCorrupt(f"what a session met does not hold what was written to it: {how!r}")
    return Shown(memory_id=cast(str, row[6]), how=known, succeeded=None if said is None else bool(said))
