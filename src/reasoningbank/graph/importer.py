"""Import files of nodes, edges and lessons: what is new, what is there, and what contradicts the bank.

A second import of the same file adds nothing. An id that already stands for something else keeps what it stands for:

* An edge whose id has other ends is stored under an id made of its own and its ends, and reported as a duplicate.
* A node that the file gives twice counts once; the first one does.
* A node that the bank holds with other contents is replaced when the file says that it was changed later than the
  bank's, and what the bank has stands no higher than the file; an edge, a lesson, and every other node keep what the
  bank has, and are reported as conflicts.

What a file says is a claim, and its lessons have a confidence of at most 0.6, unless a person stands by the file.

What names something that exists neither in the file nor in the bank is not stored, and reported as dangling.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePath
from typing import Any, TypeVar, cast

from reasoningbank.errors import BankError, InvalidInput
from reasoningbank.graph.cypher import read_cypher
from reasoningbank.graph.import_records import GraphFile, GraphRecord, RecordReader
from reasoningbank.graph.nodes import EMBED, EMBED_KEY, words
from reasoningbank.memories.admission import (
    NOTHING_PASSED,
    Passed,
    admit,
    admit_edges,
    admit_nodes,
    check_items,
    sift_items,
)
from reasoningbank.memories.admission import Ready as ReadyMemory
from reasoningbank.safety.graph_text import reveal
from reasoningbank.storage.graph_tables import Pointer
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.graph import MAX_GRAPH_ID, Edge, Node, WeightBand, weight_band
from reasoningbank.types.graph_search import GRAPH_FORMATS, Dangling, Duplicate, GraphFilter, GraphFormat, GraphImport
from reasoningbank.types.memory import ImportOmission, Memory
from reasoningbank.types.quantity import counted
from reasoningbank.types.records import Job
from reasoningbank.types.standing import ENTERED, rank_of

_SUFFIXES: Mapping[str, GraphFormat] = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".cypher": "cypher",
    ".cql": "cypher",
}
_LISTS = ("nodes", "edges", "lessons")
_LIST_COLUMNS = frozenset({"tags", "link_nodes", "reasoning_pointer_ids", "analysis_types", "metrics"})
_HINT = "See docs/explanation/graph.md for what each format looks like."


def read_draft(text: str, *, name: str = "", form: GraphFormat | None = None, at: datetime) -> GraphFile:
    """Return what a file says.

    Args:
        text: Its contents.
        name: Its name; the ending tells the format.
        form: The format; None to tell it by the name, else by the contents.
        at: The time of nodes and edges that say none.

    Raises:
        InvalidInput: When a record is unusable; the message says which one, and names its field.
    """
    reader = RecordReader(at)
    _READERS[form or told_by(text, name)](text.lstrip("\N{ZERO WIDTH NO-BREAK SPACE}"), reader)
    return reader.draft


def told_by(text: str, name: str = "") -> GraphFormat:
    """Return the format of a file, by the ending of its name, else by how its contents begin."""
    known = _SUFFIXES.get(PurePath(name).suffix.lower())
    if known is not None:
        return known
    beginning = text.lstrip("\N{ZERO WIDTH NO-BREAK SPACE} \t\r\n")
    if beginning.startswith("["):
        return "json"
    if beginning.startswith("{"):
        return "jsonl" if _is_object(beginning.split("\n", 1)[0]) and "\n" in beginning.strip() else "json"
    first = beginning.split(None, 1)[0].upper().split("(")[0] if beginning.split() else ""
    return "cypher" if first in {"MERGE", "MATCH", "CREATE", "//", "/*", ":USE", ":PARAM"} else "csv"


def check_format(form: str) -> GraphFormat:
    """Return the name of a format; raise InvalidInput for any other."""
    for known in GRAPH_FORMATS:
        if form == known:
            return known
    raise InvalidInput(f"format must be one of {', '.join(GRAPH_FORMATS)}, not {form[:80]!r}")


def _read_json(text: str, reader: RecordReader) -> None:
    value = _parsed(text, "the file")
    if isinstance(value, list):
        _records("entry", value, reader.record)
        return
    if not isinstance(value, dict):
        raise InvalidInput("the file holds neither an object nor a list", hint=_HINT)
    if any(name in value for name in _LISTS):
        for name, take in (("nodes", reader.node), ("edges", reader.edge), ("lessons", reader.lesson)):
            listed = value.get(name, [])
            if not isinstance(listed, list):
                raise InvalidInput(f"{name}: must be a list", hint=_HINT)
            _records(name.removesuffix("s"), listed, take)
    elif value and all(isinstance(each, str) for each in value.values()):
        lessons = [{"id": name, "key_lesson": lesson} for name, lesson in value.items()]
        _records("lesson", lessons, reader.lesson)
    else:
        raise InvalidInput("the file has neither nodes, edges nor lessons", hint=_HINT)


def _read_lines(text: str, reader: RecordReader) -> None:
    takes = {"node": reader.node, "edge": reader.edge, "lesson": reader.lesson}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        with _naming(f"line {number}"):
            record = _record(_parsed(line, "it"))
            kind = next((name for name in takes if len(record) == 1 and name in record), None)
            if kind is None:
                reader.record(record)
            else:
                takes[kind](_record(record[kind]))


def _read_csv(text: str, reader: RecordReader) -> None:
    """Read rows below a header of field names; several texts are a JSON list, or are separated by ``;`` or ``|``."""
    header = text.split("\n", 1)[0]
    try:
        rows = csv.DictReader(io.StringIO(text), delimiter="\t" if "\t" in header else ",", strict=True)
        for row in rows:
            with _naming(f"line {rows.line_num}"):
                if None in row or None in row.values():
                    raise InvalidInput("has another number of columns than the header")
                reader.record(
                    {name.strip(): _cell(name.strip(), value) for name, value in row.items() if value.strip()}
                )
    except csv.Error as error:
        raise InvalidInput(f"the file is not a table: {error}", hint=_HINT) from error


def _cell(name: str, value: str) -> object:
    if name not in _LIST_COLUMNS:
        return value
    if value.lstrip().startswith("["):
        return _parsed(value, name)
    separator = ";" if ";" in value else "|"
    return [part.strip() for part in value.split(separator) if part.strip()]


def _records(kind: str, records: Sequence[object], take: Callable[[GraphRecord], None]) -> None:
    for number, record in enumerate(records, start=1):
        with _naming(f"{kind} {number}", record):
            take(_record(record))


@contextmanager
def _naming(place: str, record: object = None) -> Iterator[None]:
    """Say in an error which record it is about."""
    name = record.get("id") if isinstance(record, dict) else None
    try:
        yield
    except BankError as error:
        shown = f"{place} ({name[:80]!r})" if isinstance(name, str) else place
        raise type(error)(f"{shown}: {error}", hint=error.hint) from error


def _record(value: object) -> GraphRecord:
    if not isinstance(value, dict):
        raise InvalidInput(f"must be an object, not {type(value).__name__}")
    return cast(GraphRecord, value)


def _parsed(text: str, what: str) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} is not JSON: {str(error)[:200]}", hint=_HINT) from error
    return value


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


_READERS: Mapping[GraphFormat, Callable[[str, RecordReader], None]] = {
    "json": _read_json,
    "jsonl": _read_lines,
    "csv": _read_csv,
    "cypher": read_cypher,
}


_IMPORT_BATCH = 2_000
_DIGITS = 19
"""From so many digits on, a number is not a row id."""
_Item = TypeVar("_Item", Node, Edge)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyImport:
    """An import whose texts may be stored.

    Attributes:
        draft: What the file said, for its links.
        nodes, edges: Admitted, in the file's order, each with its analysed words; None in their place for what the bank
            held with the same contents, which neither the gate nor the analysis has read again.
        lessons: As memories, with the nodes they link and a function that makes the memory ready to be stored, in the
            file's order.
        left_out: Nodes and edges that look like a prompt injection.
        passed: What the gate has let through.
    """

    draft: GraphFile
    nodes: Sequence[tuple[Node, str | None]]
    edges: Sequence[tuple[Edge, str | None]]
    lessons: Sequence[tuple[Memory, tuple[str, ...], Callable[[], ReadyMemory]]] = ()
    left_out: Sequence[ImportOmission] = ()
    passed: Passed = NOTHING_PASSED


@dataclass(slots=True)
class _Count:
    """Hold what the report is made of."""

    added: Counter[str] = field(default_factory=Counter)
    conflicts: dict[str, None] = field(default_factory=dict)
    duplicates: list[Duplicate] = field(default_factory=list)
    dangling: list[Dangling] = field(default_factory=list)
    quarantined: list[str] = field(default_factory=list)
    bands: Counter[WeightBand] = field(default_factory=Counter)


def sifted(
    items: Sequence[_Item], stored: Callable[[Sequence[str]], Mapping[str, _Item]], entry: Mapping[str, str]
) -> tuple[list[tuple[_Item, str | None]], list[ImportOmission]]:
    """Return what an import may store, with its words as in ``ReadyImport``, and what looks like a prompt injection.

    Args:
        items: The nodes or edges of the file.
        stored: Finds those of the bank by their ids.
        entry: The provenance of what the file says.

    Raises:
        InvalidNode, InvalidEdge: When a rule is broken.
    """
    same: set[int] = set()
    for start in range(0, len(items), _IMPORT_BATCH):
        batch = items[start : start + _IMPORT_BATCH]
        known = stored([item.id for item in batch])
        for place, item in enumerate(batch, start):
            if item.id in known and _contents(known[item.id]) == _contents(item):
                same.add(place)
    unread = {id(items[place]) for place in same}
    kept, left_out = sift_items(items, same)
    return [(replace(item, provenance=entry), None if id(item) in unread else words(item)) for item in kept], left_out


def _complete(items: Sequence[tuple[_Item, str | None]]) -> list[tuple[_Item, str]]:
    """Return what is written with its words; what was deleted since it was found in the bank passes the gate now."""
    found: list[tuple[_Item, str]] = []
    for item, analysed in items:
        if analysed is None:
            (safe,) = check_items([item])
            found.append((safe, words(safe)))
        else:
            found.append((item, analysed))
    return found


def with_words(items: Sequence[_Item], entry: Mapping[str, str]) -> list[tuple[_Item, str | None]]:
    """Return nodes or edges with their analysed words and this provenance, as far as they have none of their own."""
    return [(item if ENTERED in item.provenance else replace(item, provenance=entry), words(item)) for item in items]


def write_import(transaction: Transaction, ready: ReadyImport) -> GraphImport:
    """Write what is new and report the rest; idempotent.

    Args:
        transaction: Where to; everything is written in it or nothing.
        ready: The import.
    """
    count = _Count()
    _write_nodes(transaction, ready, count)
    _write_edges(transaction, ready, count)
    names = _write_lessons(transaction, ready, count)
    _write_pointers(transaction, ready, names, count)
    return GraphImport(
        nodes_added=count.added["node"],
        nodes_updated=count.added["updated node"],
        nodes_unchanged=count.added["known node"],
        edges_added=count.added["edge"],
        edges_unchanged=count.added["known edge"],
        lessons_added=count.added["lesson"],
        lessons_unchanged=count.added["known lesson"],
        pointers_added=count.added["pointer"],
        conflicts=tuple(count.conflicts),
        duplicates=tuple(count.duplicates),
        dangling=tuple(count.dangling),
        left_out=tuple(ready.left_out),
        quarantined=tuple(count.quarantined),
        bands=dict(count.bands),
        messages=(
            *(
                f"{counted(number, 'time')} {name!r} was left out: it is not a field of a node, an edge or a lesson."
                for name, number in sorted(ready.draft.ignored.items())
            ),
            *ready.draft.remarks,
        ),
    )


def _write_nodes(transaction: Transaction, ready: ReadyImport, count: _Count) -> None:
    first: dict[str, Node] = {}
    fresh: list[tuple[Node, str | None]] = []
    for batch in _batches(ready.nodes):
        known = transaction.graph.nodes([node.id for node, _ in batch])
        for node, analysed in batch:
            if node.id in first:
                differs = _contents(first[node.id]) != _contents(node)
                reason = "has other contents" if differs else "is given twice"
                count.duplicates.append(Duplicate(kind="node", id=node.id, reason=reason))
                continue
            first[node.id] = node
            stored = known.get(node.id)
            if stored is None:
                count.added["node"] += 1
                fresh.append((node, analysed))
            elif _contents(stored) == _contents(node):
                count.added["known node"] += 1
            elif _replaces(node, stored) and node.id in ready.draft.timed and node.updated_at > stored.updated_at:
                count.added["updated node"] += 1
                begun = min(stored.ingestion_time, node.updated_at)
                fresh.append((replace(node, ingestion_time=begun), analysed))
            else:
                count.conflicts[node.id] = None
    admit_nodes(transaction, _complete(fresh), passed=ready.passed)


def _replaces(said: Node, stored: Node) -> bool:
    """Return whether what a file says may take the place of what the bank has."""
    return rank_of(said.standing) >= rank_of(stored.standing)


def _write_edges(transaction: Transaction, ready: ReadyImport, count: _Count) -> None:
    made: dict[str, Edge] = {}
    fresh: list[tuple[Edge, str | None]] = []
    existing: set[str] = set()
    looked_up: set[str] = set()
    for batch in _batches(ready.edges):
        ends = {end for edge, _ in batch for end in (edge.source, edge.target)}
        existing.update(transaction.graph.nodes(ends - looked_up))
        looked_up |= ends
        ids = [edge.id for edge, _ in batch]
        known = transaction.graph.edges([*ids, *(own_id(edge) for edge, _ in batch)])
        for edge, analysed in batch:
            count.bands[weight_band(edge.weight)] += 1
            missing = next((end for end in (edge.source, edge.target) if end not in existing), None)
            if missing is not None:
                count.dangling.append(Dangling(kind="edge", id=edge.id, missing=missing))
                continue
            other = made.get(edge.id) or known.get(edge.id)
            if other is not None and (other.source, other.target) != (edge.source, edge.target):
                renamed = replace(edge, id=own_id(edge))
                count.duplicates.append(
                    Duplicate(
                        kind="edge",
                        id=edge.id,
                        reason=f"connects {other.source} with {other.target} already",
                        stored_as=renamed.id,
                        source=edge.source,
                        target=edge.target,
                    )
                )
                edge, other = renamed, made.get(renamed.id) or known.get(renamed.id)
            if other is None:
                count.added["edge"] += 1
                made[edge.id] = edge
                fresh.append((edge, analysed))
            elif _contents(other) != _contents(edge):
                count.conflicts[edge.id] = None
            elif edge.id in made:
                count.duplicates.append(Duplicate(kind="edge", id=edge.id, reason="is given twice"))
            else:
                count.added["known edge"] += 1
    admit_edges(transaction, _complete(fresh), passed=ready.passed)


def _write_lessons(transaction: Transaction, ready: ReadyImport, count: _Count) -> dict[str, str]:
    """Store the lessons; return the memory that stands for each of them by its id in the file."""
    names: dict[str, str] = {}
    for memory, _, derived in ready.lessons:
        twin = next(iter(transaction.memories.same_text(memory.fingerprint)), None)
        stored = transaction.graph.row_ids([memory.id])
        if twin is not None:
            names[memory.id] = twin
            count.added["known lesson"] += 1
        elif stored:
            names[memory.id] = memory.id
            count.conflicts[memory.id] = None
        else:
            names[memory.id] = memory.id
            stored_as = admit(transaction, derived(), at=memory.created_at)
            if stored_as.state == "quarantined":
                count.quarantined.append(stored_as.id)
            count.added["lesson"] += 1
    return names


def _write_pointers(transaction: Transaction, ready: ReadyImport, names: dict[str, str], count: _Count) -> None:
    """Store the links of the file, whichever side names them."""
    wanted = [(names[memory.id], node_id, "lesson") for memory, linked, _ in ready.lessons for node_id in linked]
    wanted += [(name, node_id, "node") for node_id, name in ready.draft.pointers]
    at_row_ids = transaction.graph.at_row_ids({_row_id(name) for name, _, side in wanted if side == "node"})
    memories = transaction.graph.row_ids([name for name, _, _ in wanted])
    nodes = transaction.graph.nodes([node_id for _, node_id, _ in wanted])
    for name, node_id, side in dict.fromkeys(wanted):
        memory_id = name if name in memories else at_row_ids.get(_row_id(name)) if side == "node" else None
        if memory_id is None:
            count.dangling.append(Dangling(kind="pointer", id=node_id, missing=name))
        elif node_id not in nodes:
            count.dangling.append(Dangling(kind="pointer", id=name, missing=node_id))
        elif transaction.graph.link_node(Pointer(node_id=node_id, memory_id=memory_id)):
            count.added["pointer"] += 1


def _row_id(name: str) -> int:
    """Return the row id that a text is; 0, which nothing has, for any other text."""
    return int(name) if name.isdecimal() and name.isascii() and len(name) < _DIGITS else 0


def own_id(edge: Edge) -> str:
    """Return an id that no edge with other ends can have: the edge's own, and its ends."""
    name = f"{edge.id}:{edge.source}>{edge.target}"
    if len(name) <= MAX_GRAPH_ID:
        return name
    return f"{edge.id[:100]}:{hashlib.blake2b(name.encode('utf-8'), digest_size=16).hexdigest()}"


def _contents(item: Node | Edge) -> tuple[object, ...]:
    """Return what a node or an edge says, without its times."""
    if isinstance(item, Edge):
        return (item.source, item.target, item.text, item.weight, frozenset(item.tags))
    return (item.label, item.text, item.conv_id, frozenset(item.tags), dict(item.fields))


def _batches(items: Sequence[tuple[_Item, str | None]]) -> Iterable[Sequence[tuple[_Item, str | None]]]:
    for start in range(0, len(items), _IMPORT_BATCH):
        yield items[start : start + _IMPORT_BATCH]


_EXPORT_BATCH = 500
_KINDS = ("node", "edge", "pointer")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPart:
    """The graph of an export, its texts fit to be stored."""

    draft: GraphFile
    nodes: list[tuple[Node, str | None]]
    edges: list[tuple[Edge, str | None]]
    left_out: tuple[ImportOmission, ...] = ()
    passed: Passed = NOTHING_PASSED


def exported_graph(store: Store) -> Iterator[Mapping[str, Any]]:
    """Yield one object per node, edge and link, secrets removed once more; nodes come before what names them."""
    offset = 0
    while nodes := store.graph.node_page(GraphFilter(), limit=_EXPORT_BATCH, offset=offset):
        for node in reveal(nodes):
            yield {"node": node_record(node)}
        offset += len(nodes)
    offset = 0
    while edges := store.graph.edge_page(limit=_EXPORT_BATCH, offset=offset):
        for edge in reveal(edges):
            yield {"edge": edge_record(edge)}
        offset += len(edges)
    for pointer in store.graph.pointers():
        yield {"pointer": {"node": pointer.node_id, "memory": pointer.memory_id}}


def node_record(node: Node) -> dict[str, Any]:
    """Return a node as a flat object, as import files have it; its links are not in it."""
    fields = {name: list(value) if isinstance(value, tuple) else value for name, value in node.fields.items()}
    return {
        "id": node.id,
        "label": node.label,
        "text": node.text,
        "conv_id": node.conv_id,
        "tags": list(node.tags),
        **fields,
        "ingestion_time": node.ingestion_time.isoformat(),
        "update_time": node.updated_at.isoformat(),
        **({"provenance": dict(node.provenance)} if node.provenance else {}),
    }


def edge_record(edge: Edge) -> dict[str, Any]:
    """Return an edge as a flat object, as import files have it."""
    return {
        "id": edge.id,
        "source": edge.source,
        "target": edge.target,
        "text": edge.text,
        "weight": edge.weight,
        "tags": list(edge.tags),
        "created_time": edge.created_time.isoformat(),
        **({"provenance": dict(edge.provenance)} if edge.provenance else {}),
    }


def graph_of(lines: Iterable[str], at: datetime, *, entry: Mapping[str, str], vouched: bool = False) -> GraphPart:
    """Return the graph in the lines of an export; other lines are passed over.

    Args:
        lines: The lines.
        at: The time of nodes and edges that say none.
        entry: The provenance of what the file says.
        vouched: A person stands by the file: what it says of the provenance is taken over.

    Raises:
        InvalidInput: When a line of the graph is unusable; the message names it.
    """
    reader = RecordReader(at, provenance=vouched)
    for number, line in enumerate(lines, start=1):
        if not any(f'"{kind}"' in line for kind in _KINDS):
            continue
        record = json.loads(line)
        try:
            if "node" in record:
                reader.node(_object(record["node"]))
            elif "edge" in record:
                reader.edge(_object(record["edge"]))
            elif "pointer" in record:
                reader.draft.pointers.append(_pointer(_object(record["pointer"])))
        except BankError as error:
            raise InvalidInput(f"line {number}: {error}", hint=error.hint) from error
    draft = reader.draft
    nodes, bad_nodes = sift_items(draft.nodes)
    edges, bad_edges = sift_items(draft.edges)
    return GraphPart(
        draft=draft,
        nodes=with_words(nodes, entry),
        edges=with_words(edges, entry),
        left_out=(*bad_nodes, *bad_edges),
        passed=Passed([*nodes, *edges]),
    )


def put_graph(transaction: Transaction, part: GraphPart, *, at: datetime) -> None:
    """Store what is not there yet; the vectors are made in the background."""
    write_import(transaction, ReadyImport(draft=part.draft, nodes=part.nodes, edges=part.edges, passed=part.passed))
    if transaction.graph.graph_size().pending:
        transaction.jobs.enqueue(Job(kind=EMBED, key=EMBED_KEY, due=at))


def _pointer(fields: Mapping[str, Any]) -> tuple[str, str]:
    node, memory = fields.get("node"), fields.get("memory")
    if not isinstance(node, str) or not isinstance(memory, str):
        raise InvalidInput("a pointer needs the ids of a node and of a memory")
    return node, memory


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput("expected an object")
    return value
