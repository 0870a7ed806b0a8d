"""Take every whole row out of a damaged bank and write it into a new one.

A row is whole when its own checksum holds. A row of a table without checksums is whole when the pages that hold it have
theirs. Where a page belongs to does not matter for the first: no other table's row has its form and its checksum.
Nothing that follows from other rows is taken over: indexes, vectors and tags are made anew from the rows.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from reasoningbank.errors import BankError, ScopeViolation
from reasoningbank.storage.graph_tables import EDGES, NODES
from reasoningbank.storage.job_tables import JOB_COLUMNS
from reasoningbank.storage.memory_tables import CHANGES_SINCE, MEMORIES, memory_from
from reasoningbank.storage.rows import WORDS_WORTH, Row, Value, checksum, read_record
from reasoningbank.storage.session_tables import HEAD_COLUMNS
from reasoningbank.storage.sqlite import owner_rows
from reasoningbank.storage.sqlite_connection import TEXT_INDEXES, configure, migrate, open_connection
from reasoningbank.storage.sqlite_pages import DamagedPages, Leaf, PageRecord
from reasoningbank.storage.store import MEMBERSHIP, RUN
from reasoningbank.types.experience import Trace
from reasoningbank.types.memory import StateChange
from reasoningbank.types.records import Salvage
from reasoningbank.types.scope import Scope
from reasoningbank.types.session import Judgement, Origin, Refusal

_CHECKED: Mapping[str, str] = {
    "memories": MEMORIES.columns,
    "state_changes": "number, memory, at, reference, body",
    "erasures": "number, created_at, at",
    "trajectories": HEAD_COLUMNS,
    "judgements": "number, trajectory, verdict, body",
    "origins": "number, memory, trajectory, body",
    "refusals": "number, id, trajectory, body",
    "traces": "number, id, session, body",
    "exposures": "number, session, body",
    "exposure_items": "exposure, key, position, how, succeeded",
    "principals": "session, principal",
    "taints": "name, at",
    "documents": "number, collection, path, key, body",
    "jobs": JOB_COLUMNS,
    "graph_nodes": NODES.columns,
    "graph_pointers": "node, memory",
}
"""What the checksum of a row is made of, where that is columns of the row itself."""
_BODIES: Mapping[str, Callable[[Value], object]] = {
    "judgements": lambda text: read_record(Judgement, text, "a judgement"),
    "origins": lambda text: read_record(Origin, text, "an origin"),
    "refusals": lambda text: read_record(Refusal, text, "a refusal"),
    "traces": lambda text: read_record(Trace, text, "a trace"),
    "state_changes": lambda text: read_record(StateChange, text, "a state change"),
}
"""How the texts of a table are read; some tables are alike in all but that."""
_BY_OTHERS = ("revisions", "trajectory_bodies", "graph_edges")
"""Tables whose rows need another row, or what is inside of a column, for their checksum."""
_UNCHECKED = (
    "deletions",
    "signals",
    "counted",
    "aggregates",
    "weight_history",
    "recalls",
    "recall_items",
    "links",
    "meta",
)
SALVAGED = ("meta", "deletions", *_CHECKED, *_BY_OTHERS, *(name for name in _UNCHECKED[1:-1]))
"""The tables whose rows are taken over; the others follow from them."""
_CHANGES = frozenset({"born", "change", "indexed"})
_CHANGED = frozenset({"memories", "graph_nodes", "graph_edges"})
"""Tables with columns that their checksums do not cover."""
_FACTS = frozenset({MEMBERSHIP, WORDS_WORTH, CHANGES_SINCE})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """What the rows of a table look like.

    Attributes:
        name: The table.
        columns: Its columns.
        kinds: Their types.
        stored: The places of the columns in the order in which a record holds them.
        required: Which columns are never NULL.
        defaults: What a column holds that was added later than the row.
        number: The place of the column that is the number of the row; None when there is none.
        primary: The places of the columns that tell one row from another.
        by_key: The rows are ordered by that, not by a number.
    """

    name: str
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    stored: tuple[int, ...]
    required: tuple[bool, ...]
    defaults: tuple[Value, ...]
    number: int | None
    primary: tuple[int, ...]
    by_key: bool

    def row(self, found: PageRecord) -> Row | None:
        """Return the record as a row of the table; None when it cannot be one."""
        if len(found.values) > len(self.columns) or not found.values or self.by_key == (found.key is not None):
            return None
        values = list(self.defaults)
        for place, value in zip(self.stored, found.values, strict=False):
            values[place] = value
        if self.number is not None:
            if values[self.number] is not None:
                return None
            values[self.number] = found.key
        later = set(self.stored[len(found.values) :])
        for place, kind in enumerate(self.kinds):
            value = values[place]
            if value is None:
                if self.required[place] and (place not in later or self.defaults[place] is None):
                    return None
                continue
            if kind == "REAL" and isinstance(value, int):
                values[place] = value = float(value)
            if type(value) is not _TYPES[kind]:
                return None
        return tuple(values)

    def key_of(self, row: Row) -> Row:
        """Return what tells a row from others."""
        return tuple(row[place] for place in self.primary)

    def named(self, row: Row, names: str) -> Row:
        """Return the values of some columns."""
        return tuple(row[self.columns.index(name)] for name in names.split(", "))

    def among(self, row: Row, names: Sequence[str]) -> Row:
        """Return the values of those of these columns that the table has."""
        return tuple(row[self.columns.index(name)] for name in names if name in self.columns)


_TYPES: Mapping[str, type] = {"INTEGER": int, "REAL": float, "TEXT": str, "BLOB": bytes}


@dataclass(slots=True)
class _Taken:
    """Hold what was found of each table.

    Attributes:
        rows: Whole rows by what tells them from others.
        missing: What tells those from others that are known to have been there.
        damaged: How many further records cannot be read.
    """

    rows: dict[Row, Row] = field(default_factory=dict)
    missing: set[Row] = field(default_factory=set)
    damaged: int = 0

    @property
    def lost(self) -> int:
        """How many rows are known to be missing."""
        return max(len(self.missing - self.rows.keys()), self.damaged)


def salvage(scope: Scope, source: Path, target: Path, *, change: int) -> Salvage:
    """Write a new bank of every whole row; called under the bank's lock.

    Args:
        scope: Whose bank it is.
        source: The damaged file; only read.
        target: The file to make.
        change: The last change that was acknowledged; the new bank goes on after it.

    Raises:
        ScopeViolation: When the file says that it is the bank of another scope.
    """
    pages = DamagedPages(source)
    with closing(apsw.Connection(":memory:")) as fresh:
        migrate(fresh)
        forms = _forms(fresh)
        parents = _parents(fresh)
        parts = _parts_of(fresh)
    taken = _taken(list(pages.leaves()), forms, parts, scope)
    _check_owner(taken["meta"], scope, source)
    _leave_out_orphans(taken, forms, parents)
    with closing(open_connection(target)) as connection:
        migrate(connection)
        _write(connection, taken, forms, scope, change)
    return Salvage(
        recovered={name: len(taken[name].rows) for name in SALVAGED if name != "meta"},
        missing={name: taken[name].lost for name in SALVAGED if name != "meta" and taken[name].lost},
        pages=pages.count,
        damaged_pages=pages.unproven,
        cut=pages.cut,
    )


def _forms(fresh: apsw.Connection) -> Mapping[str, _Form]:
    forms = {}
    for name in SALVAGED:
        found = fresh.execute('SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?)', (name,))
        infos = found.fetchall()
        sql = str(fresh.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)).get)
        by_key = "WITHOUT ROWID" in sql
        order = {place: int(str(info[4])) for place, info in enumerate(infos) if info[4]}
        primary = tuple(sorted(order, key=order.__getitem__))
        rest = tuple(place for place in range(len(infos)) if place not in primary)
        single = len(primary) == 1 and infos[primary[0]][1] == "INTEGER" and not by_key
        forms[name] = _Form(
            name=name,
            columns=tuple(str(info[0]) for info in infos),
            kinds=tuple(str(info[1]) for info in infos),
            stored=(*primary, *rest) if by_key else tuple(range(len(infos))),
            required=tuple(bool(info[2] or info[4]) for info in infos),
            defaults=tuple(None if info[3] is None else fresh.execute(f"SELECT {info[3]}").get for info in infos),
            number=primary[0] if single else None,
            primary=primary,
            by_key=by_key,
        )
    return forms


def _parents(fresh: apsw.Connection) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return by table which of its columns name a row of which other table."""
    return {
        name: [
            (str(column), str(table))
            for column, table in fresh.execute('SELECT "from", "table" FROM pragma_foreign_key_list(?)', (name,))
        ]
        for name in SALVAGED
    }


def _parts_of(fresh: apsw.Connection) -> Mapping[str, tuple[str, str, str | None]]:
    """Return the kind, the table and the definition of every table and index, by its name."""
    found = fresh.execute("SELECT name, type, tbl_name, sql FROM sqlite_schema")
    return {str(row[0]): (str(row[1]), str(row[2]), row[3]) for row in found}


def _taken(
    leaves: Sequence[Leaf], forms: Mapping[str, _Form], parts: Mapping[str, tuple[str, str, str | None]], scope: Scope
) -> dict[str, _Taken]:
    """Return the whole rows of every table, and what is known to be missing."""
    owners = _owners(leaves, parts)
    roots = _roots(leaves)
    taken: dict[str, _Taken] = defaultdict(_Taken)
    waiting: list[tuple[str, Row]] = []
    doubtful: list[tuple[str, Row]] = []
    said: dict[str, dict[Value, Value]] = defaultdict(dict)
    named = set(owners.values())
    for leaf in leaves:
        owner = owners.get(roots[leaf.number], "")
        kind, table, _ = parts.get(owner, ("", "", None))
        if owner in forms:
            taken[owner].damaged += leaf.lost
        for found in leaf.rows:
            if kind == "index" and table in forms and forms[table].number is not None:
                if found.proven and isinstance(found.values[-1], int):
                    taken[table].missing.add((found.values[-1],))
                said[table][found.values[0]] = found.values[-1]
                continue
            for name in _CHECKED:
                row = forms[name].row(found)
                if row is not None and _is_whole(forms[name], row, scope):
                    if found.proven or name not in _CHANGED:
                        _take(taken[name], forms[name], row)
                    else:
                        doubtful.append((name, row))
                    break
            else:
                _sort_out(owner, named, found, forms, taken, waiting)
    _number(doubtful, said, forms, taken)
    _take_by_others(waiting, forms, taken)
    return taken


def _number(
    doubtful: Sequence[tuple[str, Row]],
    said: Mapping[str, Mapping[Value, Value]],
    forms: Mapping[str, _Form],
    taken: dict[str, _Taken],
) -> None:
    """Take rows of damaged pages that are whole but for their number, which no checksum covers.

    The number is the one that the index of their ids says. A row that it does not know gets a new one: then nothing
    else is known of it, but nothing of another row is taken for its own.
    """
    for name, row in doubtful:
        form = forms[name]
        assert form.number is not None
        key = said.get(name, {}).get(form.named(row, "id")[0])
        used = [each[0] for each in (*taken[name].rows, *taken[name].missing) if isinstance(each[0], int)]
        values = list(row)
        values[form.number] = key if isinstance(key, int) else max(used, default=0) + 1
        _take(taken[name], form, tuple(values))


def _sort_out(
    owner: str,
    named: set[str],
    found: PageRecord,
    forms: Mapping[str, _Form],
    taken: dict[str, _Taken],
    waiting: list[tuple[str, Row]],
) -> None:
    """Take a record that does not prove itself alone."""
    fitting = {name: row for name in (*_BY_OTHERS, *_UNCHECKED) if (row := forms[name].row(found)) is not None}
    waiting += [(name, fitting[name]) for name in _BY_OTHERS if name in fitting]
    candidates = [name for name in fitting if name in _UNCHECKED]
    # Two of these tables may look alike, and so may an index: the file's own list of tables decides where it is left.
    chosen = (
        owner if owner in candidates else next((name for name in candidates if name not in named and not owner), "")
    )
    if chosen and found.proven:
        _take(taken[chosen], forms[chosen], fitting[chosen])
    elif owner in forms and owner not in _BY_OTHERS:
        row = forms[owner].row(found)
        key = None if row is None else forms[owner].key_of(row)
        if key is None or found.key is None:
            taken[owner].damaged += 1
        else:
            taken[owner].missing.add(key)


def _take(taken: _Taken, form: _Form, row: Row) -> None:
    """Keep a row; of two with one key the one that was changed later."""
    key = form.key_of(row)
    known = taken.rows.get(key)
    if known is None or _age(form, row) > _age(form, known):
        taken.rows[key] = row


def _age(form: _Form, row: Row) -> int:
    """Return the number of the transaction that wrote a row last; 0 where the row does not say it."""
    return max((value for value in form.among(row, ("change", "born")) if isinstance(value, int)), default=0)


def _is_whole(form: _Form, row: Row, scope: Scope) -> bool:
    """Return whether a row is what was written, and can be read as what its table holds."""
    proof = form.named(row, _CHECKED[form.name])
    if checksum(proof) != row[form.columns.index("checksum")]:
        return False
    try:
        if form.name == "memories":
            memory_from(scope.project, proof, checksum(proof))
        elif form.name in _BODIES:
            _BODIES[form.name](form.named(row, "body")[0])
    except BankError:
        return False
    return True


def _take_by_others(waiting: Sequence[tuple[str, Row]], forms: Mapping[str, _Form], taken: dict[str, _Taken]) -> None:
    """Take rows whose checksum needs more than their own columns."""
    trajectories = {
        key[0]: forms["trajectories"].named(row, "id")[0] for key, row in taken["trajectories"].rows.items()
    }
    memories = {key[0]: forms["memories"].named(row, "id")[0] for key, row in taken["memories"].rows.items()}
    nodes = {key[0]: forms["graph_nodes"].named(row, "id")[0] for key, row in taken["graph_nodes"].rows.items()}
    proofs: Mapping[str, Callable[[_Form, Row], Row | None]] = {
        "revisions": lambda _, row: _revision(row, memories),
        "trajectory_bodies": lambda _, row: (row[0], trajectories.get(row[0]), row[1]),
        "graph_edges": lambda form, row: _edge(form, row, nodes),
    }
    for name, row in waiting:
        form = forms[name]
        proof = proofs[name](form, row)
        if proof is not None and checksum(proof) == row[form.columns.index("checksum")]:
            _take(taken[name], form, row)
    # What happened in a session and its head are one: either alone says nothing.
    bodies = taken["trajectory_bodies"].rows
    for key in [key for key in taken["trajectories"].rows if key not in bodies]:
        del taken["trajectories"].rows[key]
        taken["trajectories"].missing.add(key)


def _revision(row: Row, memories: Mapping[Value, Value]) -> Row | None:
    """Return the values of an earlier version, which says itself of which memory it is."""
    try:
        values: Row = tuple(json.loads(str(row[2])))
    except (ValueError, TypeError):
        return None
    return values if values and (row[0] not in memories or memories[row[0]] == values[0]) else None


def _edge(form: _Form, row: Row, nodes: Mapping[Value, Value]) -> Row:
    name, source, target, *rest = form.named(row, EDGES.columns)
    return (name, nodes.get(source), nodes.get(target), *rest)


def _owners(leaves: Sequence[Leaf], parts: Mapping[str, tuple[str, str, str | None]]) -> Mapping[int, str]:
    """Return which table or index begins on which page, by the file's own list of them as far as it is left."""
    found: dict[int, str] = {}
    for leaf in leaves:
        for record in leaf.rows:
            if record.key is None or len(record.values) != 5:
                continue
            kind, name, table, page, sql = record.values
            if isinstance(name, str) and isinstance(page, int) and parts.get(name) == (kind, table, sql):
                found[page] = name
    return found


def _roots(leaves: Sequence[Leaf]) -> Mapping[int, int]:
    """Return for each page the page at which its table or index begins."""
    above: dict[int, int] = {}
    for leaf in leaves:
        for child in leaf.children:
            above.setdefault(child, leaf.number)
    roots: dict[int, int] = {}
    for leaf in leaves:
        page, seen = leaf.number, {leaf.number}
        while page in above and above[page] not in seen:
            page = above[page]
            seen.add(page)
        roots[leaf.number] = page
    return roots


def _check_owner(meta: _Taken, scope: Scope, source: Path) -> None:
    said = {str(row[0]): str(row[1]) for row in meta.rows.values()}
    wanted = owner_rows(scope)
    if any(said.get(name, value) != value for name, value in wanted.items()):
        raise ScopeViolation(f"{source.name} belongs to another tenant or project")


def _leave_out_orphans(
    taken: dict[str, _Taken], forms: Mapping[str, _Form], parents: Mapping[str, Sequence[tuple[str, str]]]
) -> None:
    """Leave out rows that belong to a row that is missing, and rows of memories that were deleted."""
    deleted = set(taken["deletions"].rows)
    for key in deleted:
        taken["memories"].rows.pop(key, None)
    taken["memories"].missing -= deleted
    changed = True
    while changed:
        changed = False
        for name in SALVAGED:
            for column, parent in parents[name]:
                place = forms[name].columns.index(column)
                known = taken[parent].rows
                orphans = {key: row for key, row in taken[name].rows.items() if (row[place],) not in known}
                for key, row in orphans.items():
                    del taken[name].rows[key]
                    changed = True
                    if parent == "memories" and (row[place],) in deleted:
                        continue
                    taken[parent].missing.add((row[place],))
                    taken[name].missing.add(key)


def _write(
    connection: apsw.Connection, taken: Mapping[str, _Taken], forms: Mapping[str, _Form], scope: Scope, change: int
) -> None:
    """Write the rows into a new bank in one transaction, with the indexes of words that follow from them."""
    connection.pragma("foreign_keys", value=False)
    connection.execute("BEGIN IMMEDIATE")
    facts: dict[Value, Value] = {key[0]: row[1] for key, row in taken["meta"].rows.items()}
    kept: dict[Value, Value] = {
        name: value for name, value in facts.items() if name in _FACTS or str(name).startswith(RUN)
    }
    kept.update(owner_rows(scope))
    for name, value in kept.items():
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
    for name in SALVAGED[1:]:
        form, rows = forms[name], taken[name].rows
        if name in _CHANGED:
            rows = {key: _derived_anew(form, row, scope) for key, row in rows.items()}
        if rows:
            places = ", ".join("?" * len(form.columns))
            connection.executemany(
                f"INSERT OR IGNORE INTO {name} ({', '.join(form.columns)}) VALUES ({places})",  # noqa: S608 - our tables
                [rows[key] for key in sorted(rows, key=repr)],
            )
    for index in TEXT_INDEXES.values():
        connection.execute(f"INSERT INTO {index.table} ({index.table}) VALUES ('rebuild')")  # noqa: S608 - constants
    connection.execute("UPDATE floors SET value = ? WHERE name = 'change'", (change + 1,))
    connection.execute("COMMIT")
    configure(connection)


def _derived_anew(form: _Form, row: Row, scope: Scope) -> Row:
    """Return a row with the columns that follow from it, which its checksum does not cover.

    To the new bank every row is as old as itself.
    """
    values = dict(zip(form.columns, row, strict=True))
    values.update(dict.fromkeys(_CHANGES & values.keys(), 1))
    if form.name == "memories":
        proof = form.named(row, MEMORIES.columns)
        memory = memory_from(scope.project, proof, checksum(proof))
        values["confidence"], values["fingerprint"], values["text"] = memory.confidence, memory.fingerprint, ""
        values["context_start"] = values["context_words"] = 0
    return tuple(values.values())


__all__ = ["SALVAGED", "salvage"]
