"""What sessions were shown or kept from, in a bank file: one row for a session, one for each memory that it met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from reasoningbank.errors import InvalidInput, StoreCorrupt
from reasoningbank.storage.learning_reads import LearningReads
from reasoningbank.storage.learning_rows import owned, proven, read_record
from reasoningbank.storage.rows import Row, checksum
from reasoningbank.storage.write_part import WritePart
from reasoningbank.types.uplift import HOWS, Exposure, Shown

_NAME = "an exposure"
_HEADS = "SELECT number, session, body, checksum FROM exposures"
_ITEMS = (
    "SELECT i.exposure, i.key, i.position, i.how, i.succeeded, i.checksum, m.id FROM exposure_items AS i "
    "JOIN memories AS m ON m.key = i.key"
)


class ExposureReads(LearningReads):
    """The reads of the Store port that concern exposures."""

    def exposure(self, session: str) -> Exposure | None:
        rows = self._source.run(f"{_HEADS} WHERE session = ?", (session,))
        if not rows:
            return None
        return _exposure(rows[0], self._source.run(f"{_ITEMS} WHERE i.exposure = ? ORDER BY i.position", (rows[0][0],)))

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
        known = self._source.run("SELECT number FROM exposures WHERE session = ?", (kept.session,))
        with self._whole():
            number = known[0][0] if known else self._next_number("exposures")
            head: Row = (number, kept.session, text)
            self._source.run(
                "INSERT INTO exposures VALUES (?, ?, ?, ?) "
                "ON CONFLICT (number) DO UPDATE SET body = excluded.body, checksum = excluded.checksum",
                (*head, checksum(head)),
            )
            self._source.run("DELETE FROM exposure_items WHERE exposure = ?", (number,))
            for position, one in enumerate(kept.shown):
                rows = self._source.run("SELECT key FROM memories WHERE id = ?", (one.memory_id,))
                if rows:
                    said = None if one.succeeded is None else int(one.succeeded)
                    item: Row = (number, rows[0][0], position, one.how, said)
                    self._source.run("INSERT INTO exposure_items VALUES (?, ?, ?, ?, ?, ?)", (*item, checksum(item)))
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
