"""What an import file says, before it is compared with the bank: records become nodes, edges, lessons and links."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime

from reasoningbank.errors import InvalidEdge, InvalidInput, InvalidNode
from reasoningbank.safety.checks import brought_entries
from reasoningbank.types.graph import LABEL_FIELDS, LABELS, LIST_FIELDS, Edge, FieldValue, Label, Node
from reasoningbank.types.moment import as_moment

GraphRecord = Mapping[str, object]
"""One object of a file: names and JSON values."""

_SOURCE, _TARGET = ("source", "src", "from"), ("target", "dst", "to")
_NODE_KEYS = frozenset(
    {"id", "label", "labels", "text", "conv_id", "tags", "ingestion_time", "update_time", "reasoning_pointer_ids"}
)
_NODE_KEYS_OF = {label: _NODE_KEYS.union(names) for label, names in LABEL_FIELDS.items()}
_EDGE_KEYS = frozenset({"id", "text", "weight", "tags", "created_time", *_SOURCE, *_TARGET})
_LESSON_KEYS = frozenset({"id", "key_lesson", "context_to_prefer", "tags", "link_nodes", "title"})
_UNUSED = frozenset({"embedding_id", "provenance"})
"""Fields that say nothing here: a vector belongs to its node and needs no name of its own, and a file does not decide
where its texts come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonDraft:
    """A lesson of a file; the fields are those of seed 003.

    Attributes:
        id: The id it is to have as a memory; empty for a new one.
        title: Its title; empty to take the beginning of the lesson.
    """

    key_lesson: str
    context_to_prefer: str = ""
    tags: tuple[str, ...] = ()
    link_nodes: tuple[str, ...] = ()
    id: str = ""
    title: str = ""


@dataclass(slots=True, kw_only=True)
class GraphFile:
    """Everything of a file, in its order.

    Attributes:
        timed: Ids of nodes whose file says when they were last changed.
        pointers: Node ids with what they point to: the id of a memory or a lesson's ``rb_id``.
        ignored: How often a field was given that is none of a node, an edge or a lesson.
        remarks: What else of the file had no effect, one sentence each.
    """

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    lessons: list[LessonDraft] = field(default_factory=list)
    timed: set[str] = field(default_factory=set)
    pointers: list[tuple[str, str]] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)


class RecordReader:
    """Turns records into a draft; times that a record does not say are the time of the import.

    Args:
        at: The time of the import.
        provenance: Take over what records say of their provenance: only of what the bank itself or a person stands by.
    """

    def __init__(self, at: datetime, *, provenance: bool = False) -> None:
        self.draft = GraphFile()
        self._at = at
        self._keeps = provenance

    def record(self, record: GraphRecord) -> None:
        """Read a node, an edge or a lesson, told by its fields.

        Raises:
            InvalidInput: When it is none, or breaks a rule; the message names the field.
        """
        if _first(record, _SOURCE) is not None or _first(record, _TARGET) is not None:
            self.edge(record)
        elif "key_lesson" in record:
            self.lesson(record)
        elif "label" in record or "labels" in record:
            self.node(record)
        else:
            raise InvalidInput("neither a node (label), an edge (source, target) nor a lesson (key_lesson)")

    def node(self, record: GraphRecord) -> None:
        """Read a node.

        Raises:
            InvalidNode: When it breaks a rule; the message names the field.
        """
        label = _label(record)
        text = _text(record, "text", InvalidNode)
        conv_id = _text(record, "conv_id", InvalidNode)
        fields = {
            name: value
            for name in LABEL_FIELDS[label]
            if (value := _field(record.get(name), name)) not in (None, (), "")
        }
        self._ignore(record, _NODE_KEYS_OF[label])
        ingested = _moment(record, "ingestion_time", InvalidNode)
        updated = _moment(record, "update_time", InvalidNode)
        identifier = _text(record, "id", InvalidNode) or _made_id("n", label, conv_id, text)
        first = ingested or updated or self._at
        self.draft.nodes.append(
            Node(
                id=identifier,
                label=label,
                text=text,
                conv_id=conv_id,
                tags=_texts(record, "tags", InvalidNode),
                fields=fields,
                ingestion_time=first,
                update_time=max(first, updated or first),
                provenance=self._provenance(record, InvalidNode),
            )
        )
        if updated is not None:
            self.draft.timed.add(identifier)
        self.draft.pointers += [
            (identifier, name) for name in _texts(record, "reasoning_pointer_ids", InvalidNode, numbers=True)
        ]

    def edge(self, record: GraphRecord) -> None:
        """Read an edge.

        Raises:
            InvalidEdge: When it breaks a rule; the message names the field.
        """
        source, target = (_end(record, names) for names in (_SOURCE, _TARGET))
        text = _text(record, "text", InvalidEdge)
        self._ignore(record, _EDGE_KEYS)
        self.draft.edges.append(
            Edge(
                id=_text(record, "id", InvalidEdge) or _made_id("e", source, target, text),
                source=source,
                target=target,
                text=text,
                weight=_weight(record.get("weight")),
                tags=_texts(record, "tags", InvalidEdge),
                created_time=_moment(record, "created_time", InvalidEdge) or self._at,
                provenance=self._provenance(record, InvalidEdge),
            )
        )

    def lesson(self, record: GraphRecord) -> None:
        """Read a lesson.

        Raises:
            InvalidInput: When it breaks a rule; the message names the field.
        """
        self._ignore(record, _LESSON_KEYS)
        self.draft.lessons.append(
            LessonDraft(
                id=_text(record, "id", InvalidInput),
                title=_text(record, "title", InvalidInput),
                key_lesson=_text(record, "key_lesson", InvalidInput),
                context_to_prefer=_text(record, "context_to_prefer", InvalidInput),
                tags=_texts(record, "tags", InvalidInput),
                link_nodes=_texts(record, "link_nodes", InvalidInput),
            )
        )

    def _provenance(self, record: GraphRecord, error: type[InvalidInput]) -> Mapping[str, str]:
        value = record.get("provenance") if self._keeps else None
        if value is None:
            return {}
        if not isinstance(value, Mapping) or not all(isinstance(text, str) for text in value.values()):
            raise error("provenance: must be an object of texts")
        return brought_entries({str(name): text for name, text in value.items()})

    def _ignore(self, record: GraphRecord, known: Set[str]) -> None:
        unknown = record.keys() - known - _UNUSED
        if not unknown:
            return
        self.draft.ignored.update(str(name)[:80] for name in unknown if record[name] not in (None, "", [], ()))


def _label(record: GraphRecord) -> Label:
    given = record.get("label", record.get("labels"))
    if isinstance(given, (list, tuple)):
        if len(given) != 1:
            raise InvalidNode(
                f"label: a node has exactly one label, not {len(given)}: {', '.join(map(str, given))[:200]}"
            )
        given = given[0]
    for label in LABELS:
        if given == label:
            return label
    raise InvalidNode(f"label: must be exactly one of {', '.join(LABELS)}, not {str(given)[:80]!r}")


def _end(record: GraphRecord, names: tuple[str, ...]) -> str:
    value = _first(record, names)
    if not isinstance(value, str) or not value.strip():
        raise InvalidEdge(f"{names[0]}: must be the id of a node")
    return value


def _first(record: GraphRecord, names: tuple[str, ...]) -> object:
    for name in names:
        value = record.get(name)
        if value is not None and value != "":
            return value
    return None


def _text(record: GraphRecord, name: str, error: type[InvalidInput]) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise error(f"{name}: must be a text, not {type(value).__name__}")
    return value


def _texts(record: GraphRecord, name: str, error: type[InvalidInput], *, numbers: bool = False) -> tuple[str, ...]:
    """Return several texts without repetition."""
    value = record.get(name)
    if value is None:
        return ()
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, (list, tuple)):
        raise error(f"{name}: must be a list of texts, not {type(value).__name__}")
    found: dict[str, None] = {}
    for each in value:
        if numbers and isinstance(each, int) and not isinstance(each, bool):
            each = str(each)
        if not isinstance(each, str):
            raise error(f"{name}: must be a list of texts; one is a {type(each).__name__}")
        if each.strip():
            found[each] = None
    return tuple(found)


def _field(value: object, name: str) -> FieldValue | None:
    if value is None:
        return None
    if name in LIST_FIELDS:
        return _texts({name: value}, name, InvalidNode)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise InvalidNode(f"{name}: must be one text, not {type(value).__name__}")
    return value


def _weight(value: object) -> float:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError as error:
            raise InvalidEdge(f"weight: {value[:40]!r} is not a number") from error
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidEdge("weight: must be a number from 0 to 1")
    return float(value)


def _moment(record: GraphRecord, name: str, error: type[InvalidInput]) -> datetime | None:
    """Return a time; one without a zone is taken as UTC."""
    value = record.get(name)
    if value in (None, ""):
        return None
    if not isinstance(value, str):
        raise error(f"{name}: must be an ISO time, not {type(value).__name__}")
    try:
        return as_moment(value, name)
    except InvalidInput as cause:
        raise error(str(cause)) from cause


def _made_id(kind: str, *parts: str) -> str:
    """Return an id that follows from what is named, so that a second import of it finds the first."""
    digest = hashlib.blake2b("\x00".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{kind}-{digest}"
