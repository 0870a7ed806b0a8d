"""Erase what sessions have left behind: their searches, what they were shown, what happened in them, and their names.

What they said of memories stays, as sums that name nobody: a confidence does not change when a session is erased. Where
it matters that two sessions were two, an invented name that is told nowhere else stands for each.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import cast

from reasoningbank.storage.connection import RowSource
from reasoningbank.storage.document_tables import DocumentTables
from reasoningbank.storage.evidence_tables import EvidenceTables
from reasoningbank.storage.graph_tables import GraphTables
from reasoningbank.storage.memory_tables import MEMORIES, MemoryTables
from reasoningbank.storage.rows import Row, checksum, decoding, to_microseconds
from reasoningbank.storage.unit import Unit
from reasoningbank.types.conversation import CONVERSATIONS
from reasoningbank.types.graph_search import DELETED_PARTS
from reasoningbank.types.memory import STATES, Memory
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import ErasedSessions
from reasoningbank.types.standing import TRAJECTORY

_LINKED = "session:"
"""Links of a session to the signature of an error that it solved begin with this."""
_SESSION = "session"
"""The key of every JSON object that names a session."""
_TIMED = (
    ("recalls", "SELECT session, max(at) FROM recalls GROUP BY session"),
    ("trajectories", "SELECT session, max(at) FROM trajectories GROUP BY session"),
    ("signals", "SELECT session, max(at) FROM signals GROUP BY session"),
)
_NAMED = ("traces", "exposures")
"""Tables whose rows say in a JSON text when they were written."""
_NAMES = (
    "SELECT session FROM recalls UNION SELECT session FROM traces UNION SELECT session FROM exposures "
    "UNION SELECT session FROM trajectories UNION SELECT session FROM signals UNION SELECT session FROM counted "
    "UNION SELECT session FROM principals UNION SELECT principal FROM principals UNION SELECT name FROM taints"
)
_BODIES: Mapping[str, tuple[str, str, str]] = {
    "origins": ("number", "number, memory, trajectory, body", "body"),
    "state_changes": ("number", "number, memory, at, reference, body", "body"),
}
"""Tables with JSON texts that may name a session: key, what the checksum is made of, and the text."""


def erase_conversations(source: RowSource, unit: Unit, trajectories: Collection[str]) -> None:
    """Erase what the graph holds of captured sessions, and what is noted of them there.

    A node that a person has confirmed has the person's provenance, and stays.
    """
    graph, documents = GraphTables(source, unit), DocumentTables(source, unit)
    for name in trajectories:
        for node in graph.conversation(name):
            if node.provenance.get(TRAJECTORY) == name:
                graph.delete_node(node.id)
        documents.delete_document(CONVERSATIONS, (), name)
    # What an agent has deleted of them is kept for a while, and names them in its provenance.
    for document in documents.below(DELETED_PARTS) if trajectories else ():
        if any(name in document.value for name in trajectories):
            documents.delete_document(*document.place)


class SessionErasure:
    """Names and traces of sessions, and their end.

    Args:
        source: Where the rows come from.
        unit: The transaction that writes; outside of one every write is refused.
    """

    def __init__(self, source: RowSource, unit: Unit) -> None:
        self._source = source
        self._unit = unit
        self._memories = MemoryTables(source, unit)
        self._evidence = EvidenceTables(source, unit)

    def names(self) -> frozenset[str]:
        """Return every name of a session that is stored."""
        named = {cast(str, row[0]) for row in self._source.run(_NAMES)}
        named |= {name for memory in self._all() if (name := memory.provenance.get(_SESSION, ""))}
        return frozenset(named - {""})

    def names_before(self, moment: datetime) -> frozenset[str]:
        """Return the names of the sessions that have left nothing since a time."""
        limit = to_microseconds(moment)
        latest: dict[str, int] = {}

        def seen(name: str, at: int) -> None:
            latest[name] = max(at, latest.get(name, at))

        for _, statement in _TIMED:
            for name, at in self._source.run(statement):
                seen(cast(str, name), cast(int, at))
        for table in _NAMED:
            for name, at, _ in self._written(table):
                seen(name, at)
        for memory in self._all():
            seen(memory.provenance.get(_SESSION, ""), to_microseconds(memory.created_at))
        return frozenset(name for name, at in latest.items() if name and at < limit)

    def erase(
        self, names: Collection[str], *, at: datetime, before: datetime | None = None, history: bool = True
    ) -> ErasedSessions:
        """Erase what these sessions have left, and with a time all that was logged before it.

        Args:
            names: The sessions.
            at: When that is.
            before: Searches, exposures and sessions without a name go too when they are older.
            history: Erase what happened in the sessions as well.
        """
        listed = json.dumps(sorted(names))
        limit = -(2**62) if before is None else to_microseconds(before)
        with self._unit.whole():
            searches = self._count(
                "DELETE FROM recalls WHERE session IN (SELECT value FROM texts_in(?)) OR at < ? RETURNING number",
                (listed, limit),
            )
            old = {table: [key for name, when, key in self._written(table) if when < limit] for table in _NAMED}
            gone = {
                table: self._count(
                    f"DELETE FROM {table} WHERE session IN (SELECT value FROM texts_in(?)) "  # noqa: S608 - constant
                    "OR number IN (SELECT value FROM numbers_in(?)) RETURNING number",
                    (listed, json.dumps(old[table])),
                )
                for table in _NAMED
            }
            trajectories = self._erase_trajectories(listed, limit) if history else 0
            held = self._evidence.roll_up_sessions(names, at)
            renamed = sum([self._rename(name, history=history) for name in sorted(names)])
            found = ErasedSessions(
                sessions=len(names),
                searches=searches + gone["traces"],
                exposures=gone["exposures"],
                trajectories=trajectories,
                signals=held,
                renamed=renamed,
            )
            if found.some:
                # Who holds vectors of searches in memory forgets them all: numbers of erased ones are given out again.
                self._unit.put_meta("space", secrets.token_hex(16))
                self._unit.note_erasure()
                self._unit.note_change()
            suffix = "" if history else " log"
            for name in names:
                self._unit.note_erased(f"session{suffix}", name)
            if before is not None:
                self._unit.note_erased(f"before{suffix}", str(limit), plain=True)
        return found

    def _erase_trajectories(self, listed: str, limit: int) -> int:
        rows = self._source.run(
            "SELECT number, id FROM trajectories WHERE session IN (SELECT value FROM texts_in(?)) OR at < ?",
            (listed, limit),
        )
        erase_conversations(self._source, self._unit, [cast(str, row[1]) for row in rows])
        numbers, ids = json.dumps([row[0] for row in rows]), json.dumps([row[1] for row in rows])
        self._source.run("DELETE FROM refusals WHERE trajectory IN (SELECT value FROM texts_in(?))", (ids,))
        self._source.run("DELETE FROM jobs WHERE key IN (SELECT value FROM texts_in(?))", (ids,))
        self._source.run("DELETE FROM trajectories WHERE number IN (SELECT value FROM numbers_in(?))", (numbers,))
        return len(rows)

    def _rename(self, name: str, *, history: bool) -> int:
        """Let an invented name stand for a session wherever two sessions must be told apart; return how often."""
        invented = f"erased-{secrets.token_hex(6)}"
        changed = self._evidence.rename_principals(name, invented) + self._evidence.rename_taint(name, invented)
        changed += self._count("UPDATE counted SET session = ? WHERE session = ? RETURNING key", (invented, name))
        changed += self._count(
            "UPDATE links SET source = ? WHERE source = ? RETURNING target",
            (f"{_LINKED}{invented}", f"{_LINKED}{name}"),
        )
        if history:
            for table, (key, covered, text) in _BODIES.items():
                changed += self._rename_bodies(table, key, covered, text, (name, invented))
            changed += self._rename_memories(name, invented)
        return changed

    def _rename_bodies(self, table: str, key: str, covered: str, text: str, names: tuple[str, str]) -> int:
        changed = 0
        rows = self._source.run(f"SELECT {covered} FROM {table} WHERE replace({text}, ?, '') <> {text}", (names[0],))  # noqa: S608
        for row in rows:
            values = dict(zip(covered.split(", "), row, strict=True))
            with decoding(f"a row of {table}"):
                body = json.loads(cast(str, values[text]))
            if not _renamed(body, names):
                continue
            values[text] = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
            self._source.run(
                f"UPDATE {table} SET {text} = ?, checksum = ? WHERE {key} = ?",  # noqa: S608 - constant names
                (values[text], checksum(tuple(values.values())), values[key]),
            )
            changed += 1
        return changed

    def _rename_memories(self, name: str, invented: str) -> int:
        """Rename the session that memories come from, in them and in their earlier versions."""
        changed = 0
        for memory in self._all():
            if memory.provenance.get(_SESSION) == name:
                self._memories.update_state(replace(memory, provenance={**memory.provenance, _SESSION: invented}))
                changed += 1
        rows = self._source.run(
            "SELECT key, version, memory FROM revisions WHERE replace(memory, ?, '') <> memory", (name,)
        )
        for key, version, text in rows:
            with decoding("an earlier version"):
                values = json.loads(cast(str, text))
            place = MEMORIES.columns.split(", ").index("provenance")
            provenance = json.loads(values[place])
            if provenance.get(_SESSION) != name:
                continue
            values[place] = json.dumps({**provenance, _SESSION: invented}, ensure_ascii=False, sort_keys=True)
            self._source.run(
                "UPDATE revisions SET memory = ?, checksum = ? WHERE key = ? AND version = ?",
                (json.dumps(values, ensure_ascii=False), checksum(tuple(values)), key, version),
            )
            changed += 1
        return changed

    def _written(self, table: str) -> Iterable[tuple[str, int, int]]:
        """Give of each row of a table its session, when it was written, and its number."""
        for number, name, body in self._source.run(f"SELECT number, session, body FROM {table}"):  # noqa: S608
            with decoding(f"a row of {table}"):
                at = datetime.fromisoformat(json.loads(cast(str, body))["at"])
            yield cast(str, name), to_microseconds(at), cast(int, number)

    def _all(self) -> Iterable[Memory]:
        return self._memories.page(Filter(states=STATES), limit=0, offset=0)

    def _count(self, sql: str, values: Row) -> int:
        return len(self._source.run(sql, values))


def _renamed(body: object, names: tuple[str, str]) -> bool:
    """Replace the name of a session wherever a JSON value names it; return whether it did."""
    if isinstance(body, list):
        return bool([each for each in body if _renamed(each, names)])
    if not isinstance(body, dict):
        return False
    found = body.get(_SESSION) == names[0]
    if found:
        body[_SESSION] = names[1]
    return bool([each for each in body.values() if _renamed(each, names)]) or found
