"""What was said of memories: signals, what counts once, rolled-up counts, and the weights that were learned."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import cast

from reasoningbank.errors import InvalidInput
from reasoningbank.storage.connection import RowSource
from reasoningbank.storage.memory_tables import CONSOLIDATED_SQL, MEMORY_COLUMNS
from reasoningbank.storage.rows import (
    ALL_ROWS,
    WEIGHT_COLUMNS,
    WEIGHTS,
    Mapped,
    Row,
    checksum,
    decoding,
    from_microseconds,
    proven,
    read_record,
    to_microseconds,
    upsert,
    weights_from,
)
from reasoningbank.storage.unit import Unit
from reasoningbank.types.belief import Belief
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import Given, Idle, RatedMemory, Voices, WeightChange
from reasoningbank.types.session import Origin
from reasoningbank.types.signal import COUNTERS, RECENT_DAYS, ProjectWeights, Signal, SignalAggregate, SignalType

TABLES = """
CREATE TABLE signals (
    id TEXT PRIMARY KEY,
    key INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    type TEXT NOT NULL,
    positive INTEGER NOT NULL,
    session TEXT NOT NULL,
    rater TEXT NOT NULL,
    at INTEGER NOT NULL,
    weight INTEGER NOT NULL
);
CREATE INDEX signals_by_memory ON signals (key, at);
CREATE INDEX signals_by_age ON signals (at);

CREATE TABLE counted (
    key INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    type TEXT NOT NULL,
    session TEXT NOT NULL,
    PRIMARY KEY (key, type, session)
);

CREATE TABLE aggregates (
    key INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
    explicit_positive INTEGER NOT NULL,
    explicit_negative INTEGER NOT NULL,
    usage_positive INTEGER NOT NULL,
    usage_negative INTEGER NOT NULL,
    outcome_positive INTEGER NOT NULL,
    outcome_negative INTEGER NOT NULL,
    positive INTEGER NOT NULL,
    negative INTEGER NOT NULL,
    last_rollup INTEGER NOT NULL
);

CREATE TABLE weight_history (
    number INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    signal_id TEXT NOT NULL,
    explicit_alpha REAL NOT NULL,
    explicit_beta REAL NOT NULL,
    usage_alpha REAL NOT NULL,
    usage_beta REAL NOT NULL,
    outcome_alpha REAL NOT NULL,
    outcome_beta REAL NOT NULL
);
"""

TIME_COLUMNS = """
ALTER TABLE aggregates ADD COLUMN stability_positive INTEGER NOT NULL DEFAULT 0;
ALTER TABLE aggregates ADD COLUMN stability_negative INTEGER NOT NULL DEFAULT 0;
ALTER TABLE aggregates ADD COLUMN disuse_negative INTEGER NOT NULL DEFAULT 0;
ALTER TABLE aggregates ADD COLUMN last_activity INTEGER;
ALTER TABLE aggregates ADD COLUMN last_disuse INTEGER;
"""
"""Counts of stability and disuse, and the times of the newest rolled-up evidence."""

SETTLEMENT_COLUMNS = """
ALTER TABLE counted ADD COLUMN positive INTEGER;
ALTER TABLE counted ADD COLUMN weight INTEGER;
ALTER TABLE counted ADD COLUMN rater TEXT;
UPDATE counted SET (positive, weight, rater) = (SELECT s.positive, s.weight, s.rater FROM signals AS s
    WHERE s.key = counted.key AND s.type = counted.type AND s.session = counted.session ORDER BY s.at LIMIT 1);
"""
"""What every signal that counts once has said."""

COUNT_COLUMNS = ", ".join(COUNTERS)

AGGREGATE_COLUMNS = f"{COUNT_COLUMNS}, positive, negative, last_rollup, last_activity, last_disuse"

SIGNALS = Mapped(Signal, "id, memory_id, type, positive, session, rater, at, weight", typed=True)

AGGREGATES = Mapped(SignalAggregate, AGGREGATE_COLUMNS, typed=True)

IDLE = Mapped(Idle, "id, prior, positive, negative, provenance, active, disused", typed=True)

SIGNAL_COLUMNS = "s.id, m.id, s.type, s.positive, s.session, s.rater, s.at, s.weight"

_SUMS = {
    name: f"sum(CASE WHEN type = '{name.split('_')[0]}' AND positive = {name.endswith('positive'):d} THEN 1 ELSE 0 END)"
    for name in COUNTERS
}

_LATER = "CASE WHEN aggregates.{0} IS NULL OR excluded.{0} > aggregates.{0} THEN excluded.{0} ELSE aggregates.{0} END"

_ROLL_UP = f"""
INSERT INTO aggregates (key, {AGGREGATE_COLUMNS})
SELECT key, {", ".join(_SUMS.values())},
    sum(CASE WHEN positive = 1 THEN weight ELSE 0 END), sum(CASE WHEN positive = 1 THEN 0 ELSE weight END), ?,
    max(CASE WHEN type <> 'disuse' THEN at END), max(CASE WHEN type = 'disuse' THEN at END)
FROM signals WHERE {{}} GROUP BY key
ON CONFLICT (key) DO UPDATE SET
    {", ".join(f"{name} = aggregates.{name} + excluded.{name}" for name in (*COUNTERS, "positive", "negative"))},
    last_rollup = excluded.last_rollup,
    last_activity = {_LATER.format("last_activity")},
    last_disuse = {_LATER.format("last_disuse")}
"""  # noqa: S608 - constant columns

_COUNT = """
INSERT INTO counted (key, type, session, positive, weight, rater) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING RETURNING key
"""

_ROLLED_UP = """
SELECT m.id, c.type, c.session, c.positive, c.weight, c.rater FROM memories AS m JOIN counted AS c ON c.key = m.key
WHERE m.id IN (SELECT value FROM texts_in(?)) AND c.weight IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM signals AS s WHERE s.key = c.key AND s.type = c.type AND s.session = c.session)
"""

_ROLLED_IN = """
SELECT m.id, c.type, c.session, c.positive, c.weight, c.rater FROM memories AS m JOIN counted AS c ON c.key = m.key
WHERE c.session IN (SELECT value FROM texts_in(?)) AND c.weight IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM signals AS s WHERE s.key = c.key AND s.type = c.type AND s.session = c.session)
"""

PRINCIPAL_TABLE = """
CREATE TABLE principals (session TEXT PRIMARY KEY, principal TEXT NOT NULL, checksum BLOB NOT NULL);
"""
"""Who speaks under a session name that a caller gave; every other session is its own principal."""

TAINT_TABLE = """
CREATE TABLE taints (name TEXT PRIMARY KEY, at INTEGER NOT NULL, checksum BLOB NOT NULL);
"""
"""Sessions and transports of which the gate has held a text, and when that was last."""

_SHOWN = """
SELECT m.id, r.session FROM memories AS m JOIN recall_items AS i ON i.key = m.key JOIN recalls AS r
    ON r.number = i.recall WHERE m.id IN (SELECT value FROM texts_in(?))
UNION
SELECT m.id, e.session FROM memories AS m JOIN exposure_items AS i ON i.key = m.key JOIN exposures AS e
    ON e.number = i.exposure WHERE m.id IN (SELECT value FROM texts_in(?)) AND i.how <> 'withheld'
"""

_VOICES = f"""
SELECT {SIGNAL_COLUMNS}, NULL, NULL, NULL, NULL, NULL FROM memories AS m JOIN signals AS s ON s.key = m.key
WHERE m.id IN (SELECT value FROM texts_in(?))
UNION ALL
SELECT NULL, m.id, NULL, NULL, NULL, NULL, NULL, NULL, o.number, o.memory, o.trajectory, o.body, o.checksum
FROM memories AS m JOIN origins AS o ON o.memory = m.key WHERE m.id IN (SELECT value FROM texts_in(?))
"""  # noqa: S608 - constant columns

RATED_COLUMNS = f"""{MEMORY_COLUMNS},
    coalesce((SELECT explicit_positive - explicit_negative FROM aggregates WHERE aggregates.key = memories.key), 0)
    + coalesce((
        SELECT sum(CASE WHEN s.positive = 1 THEN 1 ELSE -1 END) FROM signals AS s
        WHERE s.key = memories.key AND s.type = 'explicit'
    ), 0)"""  # noqa: S608 - constant columns
"""The columns of a memory, and how many more ratings call it helpful than unhelpful."""

ABOVE_ALL = 2.0
"""More than any confidence."""
_RECENT = timedelta(days=RECENT_DAYS) // timedelta(microseconds=1)

_ROLLED = f"coalesce(a.last_activity, CASE WHEN a.last_disuse IS NULL THEN a.last_rollup - {_RECENT} END, 0)"
"""As ``SignalAggregate.active_at``."""

_IDLE = f"""
SELECT m.id, m.prior, m.positive, m.negative, m.provenance,
    greatest(
        m.created_at, m.updated_at, coalesce(m.last_used, 0), {_ROLLED},
        coalesce((SELECT max(s.at) FROM signals AS s WHERE s.key = m.key AND s.type <> 'disuse'), 0),
        coalesce((SELECT max(c.at) FROM state_changes AS c WHERE c.memory = m.key), 0)
    ),
    nullif(greatest(
        coalesce((SELECT max(s.at) FROM signals AS s WHERE s.key = m.key AND s.type = 'disuse'), 0),
        coalesce(a.last_disuse, 0)
    ), 0)
FROM memories AS m LEFT JOIN aggregates AS a ON a.key = m.key
WHERE m.state IN (SELECT value FROM texts_in(?)) AND m.confidence < ?
    AND m.created_at <= ? AND m.updated_at <= ? AND coalesce(m.last_used, 0) <= ? AND {_ROLLED} <= ?
    AND NOT EXISTS (SELECT 1 FROM signals AS s WHERE s.key = m.key AND s.at > ? AND s.type <> 'disuse')
    AND NOT EXISTS (SELECT 1 FROM state_changes AS c WHERE c.memory = m.key AND c.at > ?)
    AND m.key > coalesce((SELECT key FROM memories WHERE id = ?), -1)
ORDER BY m.key LIMIT ?
"""  # noqa: S608 - constant clauses

_RATED_KEYS = """
    SELECT key FROM aggregates WHERE explicit_positive + explicit_negative > 0
    UNION SELECT key FROM signals WHERE type = 'explicit'
"""
_RATED = f"""
SELECT m.id, m.prior, coalesce(a.positive, 0), coalesce(a.negative, 0),
    coalesce(a.explicit_positive + a.explicit_negative, 0), {CONSOLIDATED_SQL}
FROM ({_RATED_KEYS}) AS r JOIN memories AS m ON m.key = r.key LEFT JOIN aggregates AS a ON a.key = r.key
ORDER BY r.key
"""  # noqa: S608 - constant clauses
_SAID = f"""
SELECT m.id, CASE WHEN s.type = 'explicit' AND s.rater <> 'imported'
    AND substr(s.id, 1, length(m.id) + 1) <> m.id || '/'
    THEN 1 ELSE 0 END, s.positive, s.at, s.weight
FROM ({_RATED_KEYS}) AS r JOIN memories AS m ON m.key = r.key JOIN signals AS s ON s.key = r.key
ORDER BY s.key, s.at, s.id
"""  # noqa: S608 - constant clauses
_WEIGHTS_SINCE = f"""
SELECT at, signal_id, {WEIGHT_COLUMNS} FROM weight_history
WHERE at > ? OR number = (SELECT max(number) FROM weight_history WHERE at <= ?) ORDER BY number
"""  # noqa: S608 - constant columns


class EvidenceTables:
    """Signals, aggregates and weights.

    Args:
        source: Where the rows come from.
        unit: The transaction that writes; outside of one every write is refused.
    """

    def __init__(self, source: RowSource, unit: Unit) -> None:
        self._source = source
        self._unit = unit

    def signals(self, memory_id: str, *, since: datetime | None = None) -> Sequence[Signal]:
        """Return individual signals strictly newer than ``since``, oldest first."""
        after = -(2**62) if since is None else to_microseconds(since)
        rows = self._source.run(
            f"SELECT {SIGNAL_COLUMNS} FROM signals AS s JOIN memories AS m ON m.key = s.key "  # noqa: S608 - constant
            "WHERE m.id = ? AND s.at > ? ORDER BY s.at, s.id",
            (memory_id, after),
        )
        return [signal_from(self._source.project, row) for row in rows]

    def moved_since(self, since: datetime) -> Mapping[str, tuple[Belief, Belief]]:
        """Return by memory the belief before the signals of this time or later, and the one that it has now."""
        rows = self._source.run(
            "SELECT m.id, m.prior, m.positive, m.negative, g.favour, g.against FROM ("
            "SELECT key, sum(CASE WHEN positive = 1 THEN weight ELSE 0 END) AS favour, "
            "sum(CASE WHEN positive = 1 THEN 0 ELSE weight END) AS against FROM signals WHERE at >= ? GROUP BY key"
            ") AS g JOIN memories AS m ON m.key = g.key",
            (to_microseconds(since),),
        )
        # Most memories began alike and were rated alike: the pairs of a large bank are few.
        pairs: dict[Row, tuple[Belief, Belief]] = {}
        found: dict[str, tuple[Belief, Belief]] = {}
        for name, *numbers in rows:
            key = tuple(numbers)
            if key not in pairs:
                prior, positive, negative, favour, against = (int(cast(int, number)) for number in numbers)
                pairs[key] = (
                    Belief(prior=prior, positive=max(0, positive - favour), negative=max(0, negative - against)),
                    Belief(prior=prior, positive=positive, negative=negative),
                )
            found[cast(str, name)] = pairs[key]
        return found

    def outcomes(self) -> Sequence[tuple[Mapping[str, str], int, int]]:
        """Return of each memory with outcomes that weigh something its provenance, its successes and its failures."""
        rows = self._source.run(
            "SELECT m.provenance, sum(CASE WHEN c.positive = 1 THEN 1 ELSE 0 END), "
            "sum(CASE WHEN c.positive = 1 THEN 0 ELSE 1 END) FROM counted AS c JOIN memories AS m ON m.key = c.key "
            "WHERE c.type = 'outcome' AND c.weight > 0 GROUP BY m.key, m.provenance"
        )
        with decoding("the provenance of a memory"):
            return [(json.loads(cast(str, row[0])), cast(int, row[1]), cast(int, row[2])) for row in rows]

    def signals_of(self, memory_ids: Collection[str]) -> Mapping[str, Sequence[Signal]]:
        """Return the individual signals of those of these memories that have any, oldest first."""
        found: dict[str, list[Signal]] = {}
        rows = self._source.run(
            f"SELECT {SIGNAL_COLUMNS} FROM memories AS m JOIN signals AS s ON s.key = m.key "  # noqa: S608 - constant
            "WHERE m.id IN (SELECT value FROM texts_in(?)) ORDER BY s.key, s.at, s.id",
            (json.dumps(list(memory_ids)),),
        )
        for row in rows:
            found.setdefault(cast(str, row[1]), []).append(signal_from(self._source.project, row))
        return found

    def rated(self) -> Sequence[RatedMemory]:
        """Return every memory that was rated, in the order they were stored."""
        rows = cast("Sequence[tuple[str, int, int, int, int, int]]", self._source.run(_RATED))
        return [RatedMemory(*row[:-1], bool(row[-1])) for row in rows]

    def said_of_rated(self) -> Sequence[tuple[str, int, int, int, int]]:
        """Return the individual signals of every memory that was rated, those of one together, oldest first.

        A bank has many, so that of each there is only what confidence follows from: the memory, 1 when somebody here
        rated it (a use, an outcome, a copy of a source's signal and what was imported are none), 1 when it speaks for
        the memory, the time in microseconds, and the weight in billionths.
        """
        return cast("Sequence[tuple[str, int, int, int, int]]", self._source.run(_SAID))

    def counted(self, memory_id: str, kind: SignalType, session: str) -> bool:
        """Return whether a signal of this type and session was added that counts once; a roll-up does not forget it."""
        rows = self._source.run(
            "SELECT 1 FROM counted WHERE key = (SELECT key FROM memories WHERE id = ?) AND type = ? AND session = ?",
            (memory_id, kind, session),
        )
        return bool(rows)

    def aggregate(self, memory_id: str) -> SignalAggregate:
        """Return rolled-up counts; all zero when nothing was rolled up."""
        rows = self._source.run(
            f"SELECT {AGGREGATE_COLUMNS} FROM aggregates "  # noqa: S608 - constant columns
            "WHERE key = (SELECT key FROM memories WHERE id = ?)",
            (memory_id,),
        )
        if not rows:
            return SignalAggregate(memory_id=memory_id, project=self._source.project, positive=0, negative=0)
        with decoding("the rolled-up evidence of a memory"):
            return AGGREGATES.record(rows[0], memory_id=memory_id, project=self._source.project)

    def aggregates_of(self, memory_ids: Collection[str]) -> Mapping[str, SignalAggregate]:
        """Return the rolled-up counts of those of these memories of which anything was rolled up."""
        columns = ", ".join(f"a.{name}" for name in AGGREGATE_COLUMNS.split(", "))
        rows = self._source.run(
            f"SELECT m.id, {columns} FROM memories AS m JOIN aggregates AS a ON a.key = m.key "  # noqa: S608 - constant
            "WHERE m.id IN (SELECT value FROM texts_in(?))",
            (json.dumps(list(memory_ids)),),
        )
        project = self._source.project
        with decoding("the rolled-up evidence of a memory"):
            return {
                cast(str, row[0]): AGGREGATES.record(row[1:], memory_id=cast(str, row[0]), project=project)
                for row in rows
            }

    def idle(self, before: datetime, *, below: float | None = None, after: str = "", limit: int = 0) -> Sequence[Idle]:
        """Return recallable memories without any activity later than a time, in the order they were stored.

        Activity is every signal but disuse, rolled-up ones included, every delivery, edit and change of state, and that
        it was recorded.

        Args:
            before: Nothing happened later than this.
            below: Only memories of a lower confidence.
            after: Only those that were stored after this one; empty for all.
            limit: At most so many; 0 means all.
        """
        moment = to_microseconds(before)
        highest = ABOVE_ALL if below is None else below
        values: Row = (json.dumps(Filter().states), highest, *([moment] * 6), after, limit or ALL_ROWS)
        return [_idle(row) for row in self._source.run(_IDLE, values)]

    def weights(self) -> ProjectWeights:
        """Return the project's current weights; the priors when nothing was learned."""
        if self._unit.weights is not None:
            return self._unit.weights
        rows = self._source.run(
            f"SELECT {WEIGHT_COLUMNS} FROM weight_history ORDER BY number DESC LIMIT 1"  # noqa: S608 - constant columns
        )
        if not rows:
            return ProjectWeights(project=self._source.project)
        return weights_from(self._source.project, rows[0])

    def weight_history(self, *, since: datetime | None = None) -> Sequence[WeightChange]:
        """Return every change of the weights, oldest first.

        Args:
            since: Only the changes after this time, and what held then.
        """
        after = -(2**62) if since is None else to_microseconds(since)
        rows = self._source.run(_WEIGHTS_SINCE, (after, after))
        with decoding("the history of the weights"):
            return [
                WeightChange(
                    at=from_microseconds(cast(int, row[0])),
                    signal_id=cast(str, row[1]),
                    weights=weights_from(self._source.project, row[2:]),
                )
                for row in rows
            ]

    def voices(self, memory_ids: Collection[str], *, named: Collection[str] = ()) -> Mapping[str, Voices]:
        """Return what was said of each of these memories, who taught it and which sessions were shown it.

        Args:
            memory_ids: The memories.
            named: Further sessions, as those that recorded them: who spoke in these is told as well.
        """
        principals: dict[str, str] = {}
        found = {memory_id: Voices([], [], [], set(), principals) for memory_id in memory_ids}
        names = json.dumps(list(memory_ids))
        for row in self._source.run(_ROLLED_UP, [names]):
            found[cast(str, row[0])].rolled.append(_given(row[1:]))
        for row in self._source.run(_SHOWN, [names] * 2):
            found[cast(str, row[0])].shown.add(cast(str, row[1]))
        for row in self._source.run(_VOICES, [names] * 2):
            if row[0] is None:
                origin = read_record(Origin, proven("an origin", row[8:12], row[12])[3], "an origin")
                found[cast(str, row[1])].origins.append(origin)
            else:
                found[cast(str, row[1])].signals.append(signal_from(self._source.project, row[:8]))
        sessions = set(named)
        for one in found.values():
            sessions |= one.shown | {each.session for each in one.signals} | {each.session for each in one.rolled}
            sessions |= {origin.session for origin in one.origins}
        principals |= self.principals(sessions)
        return found

    def principals(self, sessions: Collection[str] | None = None) -> dict[str, str]:
        """Return who speaks in each of these sessions, or of all, that a caller has named."""
        if sessions is None:
            rows = self._source.run("SELECT session, principal, checksum FROM principals")
        else:
            rows = self._source.run(
                "SELECT session, principal, checksum FROM principals WHERE session IN (SELECT value FROM texts_in(?))",
                [json.dumps(sorted(sessions))],
            )
        told = (proven("who speaks in a session", row[:2], row[2]) for row in rows)
        return {cast(str, session): cast(str, principal) for session, principal in told}

    def taint(self, names: Collection[str], at: datetime) -> None:
        """Note that the gate has held a text of these sessions and transports."""
        for name in names:
            row: Row = (name, to_microseconds(at))
            self._source.run(upsert("taints", "name, at, checksum", "name"), (*row, checksum(row)))

    def tainted(self, names: Collection[str]) -> Mapping[str, datetime]:
        """Return when the gate last held a text of each of these sessions and transports of which it has held one."""
        rows = self._source.run(
            "SELECT name, at, checksum FROM taints WHERE name IN (SELECT value FROM texts_in(?))",
            [json.dumps(sorted(names))],
        )
        for row in rows:
            proven("a note of held text", row[:2], row[2])
        return {cast(str, row[0]): from_microseconds(cast(int, row[1])) for row in rows}

    def untaint(self, names: Collection[str]) -> None:
        """Forget that the gate has held a text of these sessions and transports."""
        self._source.run(
            "DELETE FROM taints WHERE name IN (SELECT value FROM texts_in(?))", [json.dumps(sorted(names))]
        )

    def rename_taint(self, name: str, invented: str) -> int:
        """Let another name stand for a session of which a text was held; return how often."""
        found = self.tainted([name])
        self.untaint(found)
        for at in found.values():
            self.taint([invented], at)
        return len(found)

    def rename_principals(self, name: str, invented: str) -> int:
        """Let another name stand for a session wherever it is noted who speaks in one; return how often."""
        rows = self._source.run(
            "DELETE FROM principals WHERE session = ? OR principal = ? RETURNING session, principal", (name, name)
        )
        for session, principal in rows:
            self.note_principal(
                invented if session == name else cast(str, session),
                invented if principal == name else cast(str, principal),
            )
        return len(rows)

    def said_in(self, sessions: Collection[str]) -> tuple[Sequence[Signal], Sequence[tuple[str, Given]]]:
        """Return what was said in these sessions: the individual signals, and by memory what was rolled up."""
        names = json.dumps(sorted(sessions))
        rows = self._source.run(
            f"SELECT {SIGNAL_COLUMNS} FROM signals AS s JOIN memories AS m ON m.key = s.key "  # noqa: S608 - constant
            "WHERE s.session IN (SELECT value FROM texts_in(?)) ORDER BY s.at, s.id",
            (names,),
        )
        rolled = self._source.run(_ROLLED_IN, (names,))
        signals = [signal_from(self._source.project, row) for row in rows]
        return signals, [(cast(str, row[0]), _given(row[1:])) for row in rolled]

    def remove_signal(self, signal: Signal) -> bool:
        """Remove a signal, and that it counts once; return whether it counted once."""
        key = self._unit.key(signal.memory_id)
        with self._unit.whole():
            self._source.run("DELETE FROM signals WHERE id = ? AND key = ?", (signal.id, key))
            self._unit.note_change()
            place = (key, signal.type, signal.session)
            return bool(
                self._source.run("DELETE FROM counted WHERE key = ? AND type = ? AND session = ? RETURNING key", place)
            )

    def add_rolled(self, memory_id: str, given: Given) -> None:
        """Add a vote that counts once to the rolled-up sums again, out of which ``take_back`` took it."""
        side = "positive" if given.positive else "negative"
        counter = f"{given.type}_{side}"
        if counter not in COUNTERS:
            raise InvalidInput(f"no vote is called {counter[:40]!r}")
        key = self._unit.key(memory_id)
        with self._unit.whole():
            self._source.run(
                f"UPDATE aggregates SET {counter} = {counter} + 1, {side} = {side} + ? WHERE key = ?",  # noqa: S608
                (given.weight or 0, key),
            )
            row: Row = (key, given.type, given.session, int(given.positive), given.weight, given.rater)
            self._source.run(_COUNT, row)
            self._unit.note_change()

    def principal_of(self, session: str) -> str:
        """Return who speaks under a session name that a caller gave; empty for one that stands for itself."""
        rows = self._source.run("SELECT session, principal, checksum FROM principals WHERE session = ?", (session,))
        return cast(str, proven("who speaks in a session", rows[0][:2], rows[0][2])[1]) if rows else ""

    def note_principal(self, session: str, principal: str) -> None:
        """Note who speaks under a session name that a caller gave; who spoke under it first stays."""
        row: Row = (session, principal)
        self._source.run(
            "INSERT INTO principals VALUES (?, ?, ?) ON CONFLICT (session) DO NOTHING", (*row, checksum(row))
        )

    def take_principal(self, session: str, principal: str) -> None:
        """Note who speaks in a session from now on, whoever spoke there before."""
        row: Row = (session, principal)
        self._source.run(upsert("principals", "session, principal, checksum", "session"), (*row, checksum(row)))
        self._unit.note_change()

    def add_signal(self, signal: Signal, *, once: bool = False) -> bool:
        """Store a signal; with ``once`` only the first of its memory, type and session: False for a further one."""
        with self._unit.whole():
            if once:
                row: Row = (
                    self._unit.key(signal.memory_id),
                    signal.type,
                    signal.session,
                    int(signal.positive),
                    signal.weight,
                    signal.rater,
                )
                if not self._source.run(_COUNT, row):
                    return False
            self.add_signals([signal])
        return True

    def given(self, memory_id: str, kind: SignalType, session: str) -> Given | None:
        """Return what the signal of this type and session says that counts once; None when there is none."""
        rows = self._source.run(
            "SELECT type, session, positive, weight, rater FROM counted "
            "WHERE key = (SELECT key FROM memories WHERE id = ?) AND type = ? AND session = ?",
            (memory_id, kind, session),
        )
        return _given(rows[0]) if rows else None

    def take_back(self, memory_id: str, given: Given) -> bool:
        """Remove a signal that counts once, out of the rolled-up counts when it is there; another may count then.

        Returns:
            False, and nothing changes, when it cannot be found: an earlier version or an import has counted it.
        """
        key = self._unit.key(memory_id)
        place = (key, given.type, given.session)
        said = (int(given.positive), given.weight, given.rater)
        with self._unit.whole():
            found = self._source.run(
                "SELECT id FROM signals WHERE key = ? AND type = ? AND session = ? AND positive = ? AND weight = ? "
                "AND rater = ? ORDER BY at, id LIMIT 1",
                (*place, *said),
            )
            if found:
                self._source.run("DELETE FROM signals WHERE id = ?", (found[0][0],))
            elif not self._rolled_back(key, given):
                return False
            self._source.run("DELETE FROM counted WHERE key = ? AND type = ? AND session = ?", place)
            self._unit.note_change()
        return True

    def _rolled_back(self, key: int, given: Given) -> bool:
        """Take a signal out of the rolled-up counts; False when they do not hold it."""
        side = "positive" if given.positive else "negative"
        counter = f"{given.type}_{side}"
        if counter not in COUNTERS or given.weight is None:
            return False
        return bool(
            self._source.run(
                f"UPDATE aggregates SET {counter} = {counter} - 1, {side} = {side} - ? "  # noqa: S608 - constant
                f"WHERE key = ? AND {counter} > 0 AND {side} >= ? RETURNING key",
                (given.weight, key, given.weight),
            )
        )

    def add_signals(self, signals: Sequence[Signal]) -> None:
        """Store signals, whatever was counted before."""
        if any(signal.weight is None for signal in signals):
            raise InvalidInput("a stored signal carries the weight of its time")
        with self._unit.whole():
            keys = self._unit.all_keys([signal.memory_id for signal in signals])
            rows: list[Row] = []
            for signal in signals:
                identifier, _, *said = SIGNALS.row(signal)
                rows.append((identifier, keys[signal.memory_id], *said))
            if rows:
                self._source.run_each("INSERT INTO signals VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
                self._unit.note_change()

    def set_aggregate(self, aggregate: SignalAggregate) -> None:
        """Replace a memory's rolled-up counts (seed 004 ``StoreAggregate``); an import brings them along."""
        if aggregate.positive is None or aggregate.negative is None or aggregate.last_rollup is None:
            raise InvalidInput("a stored aggregate carries the evidence and the time of its roll-up")
        with self._unit.whole():
            self._source.run(
                upsert("aggregates", f"key, {AGGREGATE_COLUMNS}", "key"),
                (self._unit.key(aggregate.memory_id), *AGGREGATES.row(aggregate)),
            )
            self._unit.note_change()

    def set_weights(self, change: WeightChange) -> None:
        """Replace the weights and append to their history."""
        self._source.run(
            f"INSERT INTO weight_history (at, signal_id, {WEIGHT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
            (to_microseconds(change.at), change.signal_id, *WEIGHTS.row(change.weights)),
        )
        self._unit.weights = replace(change.weights, project=self._source.project)

    def roll_up(self, cutoff: datetime, at: datetime) -> int:
        """Move signals older than the cutoff into aggregates; return how many."""
        limit = to_microseconds(cutoff)
        moved = cast(int, self._source.run("SELECT count(*) FROM signals WHERE at < ?", (limit,))[0][0])
        if moved:
            with self._unit.whole():
                self._source.run(_ROLL_UP.format("at < ?"), (to_microseconds(at), limit))
                self._source.run("DELETE FROM signals WHERE at < ?", (limit,))
                self._unit.note_change()
        return moved

    def roll_up_sessions(self, sessions: Collection[str], at: datetime) -> int:
        """Move the signals of these sessions into aggregates, whatever their age; return how many."""
        chosen, listed = "session IN (SELECT value FROM texts_in(?))", json.dumps(sorted(sessions))
        rows = self._source.run(f"SELECT count(*) FROM signals WHERE {chosen}", (listed,))  # noqa: S608 - constant
        moved = cast(int, rows[0][0])
        if moved:
            with self._unit.whole():
                self._source.run(_ROLL_UP.format(chosen), (to_microseconds(at), listed))
                self._source.run(f"DELETE FROM signals WHERE {chosen}", (listed,))  # noqa: S608 - constant
                self._unit.note_change()
        return moved


def _given(row: Row) -> Given:
    kind, session, positive, weight, rater = row
    return Given(
        type=cast("SignalType", kind),
        session=cast(str, session),
        positive=bool(positive),
        weight=None if weight is None else cast(int, weight),
        rater="human" if rater == "human" else "session" if rater == "session" else "agent",
    )


def _idle(row: Row) -> Idle:
    with decoding(f"memory {str(row[0])[:80]!r}"):
        return IDLE.record(row)


def signal_from(project: str, row: Row) -> Signal:
    """Return the signal of a row."""
    with decoding(f"signal {str(row[0])[:80]!r}"):
        return SIGNALS.record(row, project=project)
