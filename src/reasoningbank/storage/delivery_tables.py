"""What searches delivered, and what sessions were shown or kept from."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple, cast

from reasoningbank.errors import InvalidInput, StoreCorrupt
from reasoningbank.storage.connection import RowSource
from reasoningbank.storage.memory_tables import MEMORY_COLUMNS, MEMORY_WIDTH, memories_of
from reasoningbank.storage.rows import (
    ALL_ROWS,
    Mapped,
    Row,
    Value,
    checksum,
    decoding,
    owned,
    proven,
    read_record,
    to_microseconds,
    upsert,
)
from reasoningbank.storage.session_tables import read_trace
from reasoningbank.storage.unit import Unit
from reasoningbank.types.memory import Memory, new_id
from reasoningbank.types.recall import Leg, Recall
from reasoningbank.types.records import RecallEntry, RecallLog
from reasoningbank.types.uplift import HOWS, Exposure, Meeting, Shown

TABLES = """
CREATE TABLE recalls (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    query TEXT NOT NULL,
    session TEXT NOT NULL,
    embedder TEXT NOT NULL,
    tokens INTEGER NOT NULL
);

CREATE TABLE recall_items (
    recall INTEGER NOT NULL REFERENCES recalls ON DELETE CASCADE,
    position INTEGER NOT NULL,
    key INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    unproven INTEGER NOT NULL,
    relevance REAL NOT NULL,
    legs TEXT NOT NULL,
    PRIMARY KEY (recall, position)
);
CREATE INDEX recall_items_by_memory ON recall_items (key);
"""

EXPOSURE_TABLES = """
CREATE TABLE exposures (
    number INTEGER PRIMARY KEY,
    session TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL
);

CREATE TABLE exposure_items (
    exposure INTEGER NOT NULL REFERENCES exposures ON DELETE CASCADE,
    key INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    position INTEGER NOT NULL,
    how TEXT NOT NULL,
    succeeded INTEGER,
    checksum BLOB NOT NULL,
    PRIMARY KEY (exposure, key)
);
CREATE INDEX exposure_items_by_memory ON exposure_items (key);
"""

RECALLS = Mapped(RecallLog, "id, at, query, session, embedder, tokens", typed=True)

ENTRIES = Mapped(RecallEntry, "rank, memory_id, unproven, relevance", typed=True)

_READ = "-"
"""Stands for the embedder of what was read without a search: nothing compared it with a question."""
_UNREAD = """
SELECT count(*) FROM memories AS m WHERE m.id IN (SELECT value FROM texts_in(?)) AND NOT EXISTS (
    SELECT 1 FROM recall_items AS i JOIN recalls AS r ON r.number = i.recall WHERE i.key = m.key AND r.session = ?
)
"""
_READ_ITEMS = """
INSERT INTO recall_items (recall, position, key, unproven, relevance, legs)
SELECT ?, row_number() OVER (ORDER BY key), key, 0, 0.0, '{}' FROM memories
WHERE id IN (SELECT value FROM texts_in(?))
"""

_NAME = "an exposure"

_HEADS = "SELECT number, session, body, checksum FROM exposures"

_EXPOSURE = (
    "n.last, e.number, e.session, e.body, e.checksum, "
    "i.exposure, i.key, i.position, i.how, i.succeeded, i.checksum, m.id, n.last_trace"
)
_EXPOSED = (
    "FROM (SELECT coalesce(max(number), 0) AS last, (SELECT coalesce(max(number), 0) FROM traces) AS last_trace "
    "FROM exposures) AS n "
    "LEFT JOIN exposures AS e ON e.session = ? LEFT JOIN exposure_items AS i ON i.exposure = e.number "
    "LEFT JOIN memories AS m ON m.key = i.key"
)
_WIDTH = _EXPOSURE.count(",") + 1

_MET = f"SELECT {_EXPOSURE} {_EXPOSED} ORDER BY i.position"

_AMONG = "IN (SELECT key FROM memories WHERE id IN (SELECT value FROM texts_in(?)))"
_MET_AMONG = _EXPOSED.replace("i.exposure = e.number", f"i.exposure = e.number AND i.key {_AMONG}")
_LAST_POSITION = "(SELECT coalesce(max(o.position), -1) FROM exposure_items AS o WHERE o.exposure = e.number)"
_MET_AND_MEMORIES = (
    f"SELECT {_EXPOSURE}, {_LAST_POSITION}, {', '.join(['NULL'] * MEMORY_WIDTH)} {_MET_AMONG} "  # noqa: S608 - constant
    f"UNION ALL SELECT {', '.join(['NULL'] * (_WIDTH + 1))}, {MEMORY_COLUMNS} FROM memories "
    "WHERE id IN (SELECT value FROM texts_in(?))"
)
"""The rows of a session's exposure that are about memories, then those of the memories."""
_LAST, _POSITION, _MEMORY, _LAST_TRACE = 0, 7, 11, 12

_MET_AND_SHOWN = f"""
SELECT 0, {_EXPOSURE}, 0.0 {_EXPOSED}
UNION ALL SELECT 1, NULL, r.number, NULL, NULL, NULL, NULL, NULL, i.position, NULL, NULL, NULL, m.id, NULL, i.relevance
FROM recalls AS r JOIN recall_items AS i ON i.recall = r.number JOIN memories AS m ON m.key = i.key WHERE r.session = ?
UNION ALL SELECT 2, NULL, number, session, body, checksum, NULL, NULL, NULL, NULL, NULL, NULL, id, NULL, 0.0
FROM traces WHERE session = ?
"""  # noqa: S608 - constant columns
"""By the first column: the rows of a session's exposure, what its searches delivered, and its traces."""

_ITEMS = (
    "SELECT i.exposure, i.key, i.position, i.how, i.succeeded, i.checksum, m.id FROM exposure_items AS i "
    "JOIN memories AS m ON m.key = i.key"
)

_MEETINGS = (
    "SELECT e.number, e.session, e.body, e.checksum, "
    "i.exposure, i.key, i.position, i.how, i.succeeded, i.checksum, m.id FROM memories AS m "
    "JOIN exposure_items AS i ON i.key = m.key JOIN exposures AS e ON e.number = i.exposure "
    "WHERE m.id = ? ORDER BY e.number DESC LIMIT ?"
)

_PUT = upsert("exposures", "number, session, body, checksum", "number")
_DELIVERED = (
    "SELECT i.recall, i.position, m.id, i.unproven, i.relevance, i.legs FROM recall_items AS i "
    "JOIN memories AS m ON m.key = i.key WHERE i.recall IN (SELECT value FROM numbers_in(?)) "
    "ORDER BY i.recall, i.position"
)
_NAME_AND_KEY = itemgetter(6, 1)
"""The id and the key of the memory of a row of ``_ITEMS``."""
_AT_ONCE = 1_000
"""Recalls whose items one statement reads."""
_MET_AGAIN = 4_096
"""Rows of what sessions met that are interpreted once."""
_PUT_ITEM = upsert("exposure_items", "exposure, key, position, how, succeeded, checksum", "exposure, key")


class _Place(NamedTuple):
    """Where a session's exposure is kept.

    Attributes:
        number: Its number: that of the next new one when there is none.
        head: The checksum of its head; None when there is none.
        items: What it met: the place in order and the checksum of each item by the memory's key.
        last: The last place of what it met; -1 when it met nothing.
        undone: How many writes the transaction had taken back by then.
        among: The memories that were asked for; None when all that it met is known.
    """

    session: str
    number: int
    head: Value
    items: Mapping[Value, tuple[Value, Value]]
    last: int
    undone: int
    among: frozenset[str] | None


class DeliveryTables:
    """Logged searches and exposures.

    Args:
        source: Where the rows come from.
        unit: The transaction that writes; outside of one every write is refused.
    """

    def __init__(self, source: RowSource, unit: Unit) -> None:
        self._source = source
        self._unit = unit
        self._place: _Place | None = None

    def recalls(self, *, limit: int, session: str | None = None) -> Sequence[RecallLog]:
        """Return the newest logged recalls, of all sessions or of one, newest first; limit 0 means all.

        What was read without a search is none.
        """
        searched = f"WHERE embedder <> '{_READ}'"
        where, values = (searched, ()) if session is None else (f"{searched} AND session = ?", (session,))
        heads = self._source.run(
            f"SELECT number, {RECALLS.columns} FROM recalls {where} "  # noqa: S608 - constant
            "ORDER BY number DESC LIMIT ?",
            (*values, limit or ALL_ROWS),
        )
        items: dict[Value, list[Row]] = {}
        for start in range(0, len(heads), _AT_ONCE):
            numbers = json.dumps([row[0] for row in heads[start : start + _AT_ONCE]])
            for item in self._source.run(_DELIVERED, (numbers,)):
                items.setdefault(item[0], []).append(item[1:])
        return [_recall(row, items.get(row[0], ())) for row in heads]

    def log_recall(self, recall: Recall) -> None:
        """Keep what a search delivered: items, ranks, scores, tokens."""
        with self._unit.whole():
            rows = self._source.run(
                f"INSERT INTO recalls ({RECALLS.columns}) VALUES (?, ?, ?, ?, ?, ?) RETURNING number",  # noqa: S608
                (recall.id, to_microseconds(recall.at), recall.query, recall.session, recall.embedder, recall.tokens),
            )
            keys = self._unit.all_keys([hit.id for hit in recall.delivered])
            items: list[Row] = [
                (rows[0][0], position, keys[hit.id], int(hit.unproven), hit.relevance, _legs_text(hit.legs))
                for position, hit in enumerate(recall.delivered, start=1)
            ]
            if items:
                self._source.run_each("INSERT INTO recall_items VALUES (?, ?, ?, ?, ?, ?)", items)

    def has_read(self, reader: str, memory_ids: Collection[str]) -> bool:
        """Return whether all of these memories that exist were delivered to somebody before, by whatever way."""
        ((unread,),) = self._source.run(_UNREAD, (json.dumps(list(memory_ids)), reader))
        return unread == 0

    def log_read(self, reader: str, memory_ids: Collection[str], at: datetime) -> None:
        """Keep that somebody has read these memories without a search; those that do not exist are left out.

        It fitted no question, so that no end of a session credits it.

        Args:
            reader: A session or a transport.
            memory_ids: The memories.
            at: When.
        """
        with self._unit.whole():
            rows = self._source.run(
                f"INSERT INTO recalls ({RECALLS.columns}) VALUES (?, ?, '', ?, '{_READ}', 0) RETURNING number",  # noqa: S608
                (new_id(), to_microseconds(at), reader),
            )
            self._source.run(_READ_ITEMS, (rows[0][0], json.dumps(list(memory_ids))))

    def exposure(self, session: str) -> Exposure | None:
        """Return what this session was shown or kept from; None when it has met nothing.

        Erased memories are gone from it.
        """
        return self._exposed(session, self._source.run(_MET, (session,)))

    def exposure_among(self, session: str, memory_ids: Collection[str]) -> tuple[Exposure | None, Mapping[str, Memory]]:
        """Return the exposure of a session as far as it is about these memories, and those that exist, in one look.

        So a delivery in a long session costs no more than one in a new session.
        """
        named = json.dumps(list(memory_ids))
        rows = self._source.run(_MET_AND_MEMORIES, (session, named, named))
        met = sorted((row for row in rows if row[_LAST] is not None), key=lambda row: row[_POSITION] or 0)
        found = [row[_WIDTH + 1 :] for row in rows if row[_LAST] is None]
        memories = memories_of(self._source.project, found, self._unit)
        last = cast(int, met[0][_WIDTH])
        return self._exposed(session, [row[:_WIDTH] for row in met], last, frozenset(memory_ids)), memories

    def exposure_and_shown(self, session: str) -> tuple[Exposure | None, Mapping[str, float]]:
        """Return the exposure of a session, and the ids of what it was shown, in that order, in one look.

        Each id has the best relevance that it had in a search; 0 when it was only named in a trace.
        """
        rows: dict[Value, list[Row]] = {}
        for row in self._source.run(_MET_AND_SHOWN, (session,) * 3):
            rows.setdefault(row[0], []).append(row[1:])
        found: dict[str, float] = {}
        for row in sorted(rows.get(1, ()), key=lambda row: (row[1], row[_POSITION])):
            memory_id = cast(str, row[_MEMORY])
            found[memory_id] = max(found.get(memory_id, 0.0), cast(float, row[_WIDTH]))
        for row in sorted(rows.get(2, ()), key=lambda row: cast(int, row[1]), reverse=True):
            for memory_id in read_trace((row[1], row[_MEMORY], *row[2:5])).results:
                found.setdefault(memory_id, 0.0)
        met = sorted((row[:_WIDTH] for row in rows[0]), key=lambda row: row[_POSITION] or 0)
        return self._exposed(session, met), found

    def _exposed(
        self, session: str, rows: Sequence[Row], last: int | None = None, among: frozenset[str] | None = None
    ) -> Exposure | None:
        """Return the exposure of rows that ascend by position, and keep where it is written.

        Args:
            session: The session.
            rows: Of its exposure.
            last: The last position; None where the rows are all.
            among: The memories that the rows are about; None for all.
        """
        number, items = rows[0][1], [row[5:] for row in rows if row[5] is not None]
        if number is None:
            number = cast(int, rows[0][0]) + 1
        if last is None:
            last = cast(int, items[-1][2]) if items else -1
        known = {row[1]: (row[2], row[5]) for row in items}
        self._place = _Place(session, cast(int, number), rows[0][4], known, last, self._unit.undone, among)
        self._unit.learn_number("traces", cast(int, rows[0][_LAST_TRACE]))
        self._unit.learn(cast("Iterable[tuple[str, int]]", map(_NAME_AND_KEY, items)))
        return None if rows[0][1] is None else _exposure(rows[0][1:5], items)

    def exposures(self) -> Sequence[Exposure]:
        """Return the same of every session, in the order in which they began."""
        met: dict[object, list[Row]] = {}
        for row in self._source.run(f"{_ITEMS} ORDER BY i.exposure, i.position"):
            met.setdefault(row[0], []).append(row)
        heads = self._source.run(f"{_HEADS} ORDER BY number")
        return [_exposure(row, met.get(row[0], ())) for row in heads]

    def meetings(self, memory_id: str, *, limit: int) -> Sequence[Meeting]:
        """Return how sessions met a memory, the latest first; limit 0 means all."""
        rows = self._source.run(_MEETINGS, (memory_id, limit or ALL_ROWS))
        found = [_exposure(row[:4], [row[4:]]) for row in rows]
        return [
            Meeting(
                session=each.session,
                at=each.at,
                how=each.shown[0].how,
                helped=each.shown[0].succeeded,
                succeeded=each.succeeded,
            )
            for each in found
        ]

    def expose(self, exposure: Exposure, *, among: Collection[str] | None = None) -> None:
        """Replace what is known of the exposure's session; memories that do not exist are left out.

        Args:
            exposure: What is known from now on.
            among: The memories that it is about; what the session met besides stays as it is. None for all.
        """
        kept, text = owned_exposure(exposure)
        number, known, met, last = self._place_of(kept.session, among)
        with self._unit.whole():
            head: Row = (number, kept.session, text)
            if known != checksum(head):
                self._source.run(
                    _PUT,
                    (*head, checksum(head)),
                )
            keys = self._unit.keys([one.memory_id for one in kept.shown])
            items: dict[Value, Row] = {}
            after = -1
            for one in kept.shown:
                if one.memory_id in keys:
                    key = keys[one.memory_id]
                    said = None if one.succeeded is None else int(one.succeeded)
                    place = cast(int, met[key][0]) if key in met else last + 1
                    after = place if place > after else max(after, last) + 1
                    last = max(last, after)
                    item: Row = (number, key, after, one.how, said)
                    items[key] = (*item, checksum(item))
            if gone := [(number, key) for key in met if key not in items]:
                self._source.run_each("DELETE FROM exposure_items WHERE exposure = ? AND key = ?", gone)
            if changed := [row for key, row in items.items() if key not in met or met[key][1] != row[5]]:
                self._source.run_each(_PUT_ITEM, changed)
            self._unit.note_change()

    def _place_of(
        self, session: str, among: Collection[str] | None
    ) -> tuple[int, Value, Mapping[Value, tuple[Value, Value]], int]:
        """Return where a session's exposure is kept, read anew unless the last look in this transaction was for it."""
        wanted, place = None if among is None else frozenset(among), self._place
        if place is None or (place.session, place.undone, place.among) != (session, self._unit.undone, wanted):
            if among is None:
                self.exposure(session)
            else:
                self.exposure_among(session, among)
            place = self._place
        assert place is not None
        self._place = None
        return place.number, place.head, place.items, place.last


def _recall(row: Row, items: Sequence[Row]) -> RecallLog:
    with decoding("a logged recall"):
        entries = [ENTRIES.record(item[:-1], legs=_legs(cast(str, item[-1]))) for item in items]
        return RECALLS.record(row[1:], entries=tuple(entries))


def _legs_text(legs: Mapping[str, Leg]) -> str:
    """Rank and scores per leg, for the log."""
    return json.dumps({name: [leg.rank, leg.score] for name, leg in legs.items()})


def _legs(text: str) -> dict[str, Leg]:
    """Return the inverse of _legs_text."""
    with decoding("a logged recall"):
        return {name: Leg(rank=rank, score=score) for name, (rank, score) in json.loads(text).items()}


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
    return replace(exposure, shown=tuple(map(_shown, items)))


@lru_cache(maxsize=_MET_AGAIN)
def _shown(row: Row) -> Shown:
    """Return what a session met by its row; briefings read again what their session met before."""
    _, _, _, how, said = proven("what a session met", row[:5], row[5])
    known = next((one for one in HOWS if one == how), None)
    if known is None:
        raise StoreCorrupt(f"what a session met does not hold what was written to it: {how!r}")
    return Shown(memory_id=cast(str, row[6]), how=known, succeeded=None if said is None else bool(said))
