"""The contextual graph: facts under six labels, and edges that are sentences with a weight (seed 003).

A node is a snapshot of one piece of information. An edge says in a sentence why its source and its target belong
together; the sentence reads from the source to the target, so its direction is never changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from reasoningbank.errors import InvalidEdge, InvalidInput, InvalidNode
from reasoningbank.types.memory import new_id
from reasoningbank.types.moment import LATEST, as_moment, bounded
from reasoningbank.types.standing import Standing, shown_claim, standing_in

Label = Literal["UserRequest", "UserPreference", "AgentAnswer", "AgentAction", "Event", "DataSource"]
WeightBand = Literal["marginal", "weak", "weak-to-strong", "strong", "strong-to-direct", "direct"]
FieldValue = str | tuple[str, ...]

LABELS: tuple[Label, ...] = get_args(Label)
LABEL_FIELDS: Mapping[Label, tuple[str, ...]] = {
    "UserRequest": ("user_role", "user_id"),
    "UserPreference": ("preference_type", "user_role", "user_id"),
    "AgentAnswer": ("analysis_types", "metrics"),
    "AgentAction": ("status", "parameter_field"),
    "Event": ("source_type", "start_date", "end_date"),
    "DataSource": ("source_type", "doc_pointer", "relevant_parts"),
}
"""The special fields of each label, in the order of the seed; a preference may also say whose it is."""
LIST_FIELDS = frozenset({"analysis_types", "metrics"})
"""Special fields that hold several texts; all others hold one."""
REQUIRED_FIELDS: Mapping[Label, tuple[str, ...]] = {"AgentAction": ("status",)}
"""Special fields without which a node of the label says too little."""

MAX_TEXT = 20_000
"""Most characters of a node's or an edge's text and of a special field."""
MAX_GRAPH_ID = 200
MAX_GRAPH_TAG = 64
MAX_GRAPH_TAGS = 128
MAX_LIST = 256
"""Most texts in a special field that holds several."""
MAX_POINTERS = 4_096
"""Most lessons that a node can point to, and most nodes that a lesson can link (seed 003)."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One piece of information.

    Attributes:
        id: Given by the caller, or a new UUIDv7; unique in its bank.
        label: Exactly one of ``LABELS``.
        text: What a reader, or a model, reads to understand it.
        conv_id: The conversation it is a part of; empty for none.
        tags: Words to filter by, without repetition.
        fields: The special fields of its label (``LABEL_FIELDS``); those in ``LIST_FIELDS`` are tuples.
        ingestion_time: When it was stored first; timezone-aware.
        update_time: When it was last changed; never before ``ingestion_time``.
        pointers: The ``rb_id`` of every lesson that links this node, as texts, ascending. A bank fills them from the
            one relation of nodes and lessons when it reads a node, and takes no notice of them when it writes one.
        provenance: Facts about how it came into the bank, which the bank itself writes when it stores it.

    Raises:
        InvalidNode: The message names the field that breaks a rule.
    """

    label: Label
    text: str
    conv_id: str = ""
    tags: tuple[str, ...] = ()
    fields: Mapping[str, FieldValue] = field(default_factory=dict)
    ingestion_time: datetime = field(default_factory=lambda: datetime.now(UTC))
    update_time: datetime | None = None
    pointers: tuple[str, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
    id: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        if self.update_time is None:
            object.__setattr__(self, "update_time", self.ingestion_time)
        _check_node(self)

    @property
    def standing(self) -> Standing:
        """Where it comes from and what became of it (DESIGN D16)."""
        return standing_in(self.provenance)

    @property
    def claim(self) -> str:
        """What it is shown as that is no more than a claim; empty for what stands higher."""
        return shown_claim(self.provenance)

    @property
    def told(self) -> str:
        """The text as it is shown: what is no more than a claim says so first."""
        return f"{self.claim}: {self.text}" if self.claim else self.text

    @property
    def updated_at(self) -> datetime:
        """The time of its last change."""
        return self.update_time or self.ingestion_time

    @property
    def window(self) -> tuple[datetime, datetime] | None:
        """From when to when an event lasted, the end exclusive; None for all else and for an event without a date.

        An end that is a date alone includes that day; a missing end is the start's day, a missing start the end's.
        A time without a zone is taken as UTC.
        """
        start, end = self.fields.get("start_date"), self.fields.get("end_date")
        if self.label != "Event" or not (start or end):
            return None
        return _window(str(start or end), str(end or start))


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Why two nodes belong together, as a sentence.

    Attributes:
        id: Given by the caller, or a new UUIDv7; unique in its bank.
        source, target: Ids of nodes; the sentence reads from the source to the target.
        text: The sentence.
        weight: How strong the connection is, from 0 to 1; see ``weight_band``.
        tags: Words for the kind of connection, without repetition.
        created_time: When it was made; timezone-aware.
        provenance: Facts about how it came into the bank, which the bank itself writes when it stores it.

    Raises:
        InvalidEdge: The message names the field that breaks a rule.
    """

    source: str
    target: str
    text: str
    weight: float
    tags: tuple[str, ...] = ()
    created_time: datetime = field(default_factory=lambda: datetime.now(UTC))
    provenance: Mapping[str, str] = field(default_factory=dict)
    id: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        _check_edge(self)

    @property
    def standing(self) -> Standing:
        """Where it comes from and what became of it (DESIGN D16)."""
        return standing_in(self.provenance)

    @property
    def claim(self) -> str:
        """What it is shown as that is no more than a claim; empty for what stands higher."""
        return shown_claim(self.provenance)

    @property
    def told(self) -> str:
        """The sentence as it is shown: what is no more than a claim says so first."""
        return f"{self.claim}: {self.text}" if self.claim else self.text

    @property
    def band(self) -> WeightBand:
        """The band of its weight."""
        return weight_band(self.weight)


def weight_band(weight: float) -> WeightBand:
    """Return the band of a weight, for every weight there can be.

    Seed 003 names three bands and leaves the rest open; here the gaps have names of their own. Both ends of a band of
    the seed belong to it:

    * ``direct`` [0.85, 1]: direct, causal, core logic
    * ``strong-to-direct`` (0.75, 0.85): a gap of the seed
    * ``strong`` [0.55, 0.75]: a strong bridge
    * ``weak-to-strong`` (0.45, 0.55): a gap of the seed
    * ``weak`` [0.25, 0.45]: a weak topical bridge
    * ``marginal`` [0, 0.25): below what the seed names

    Raises:
        InvalidEdge: For a weight outside [0, 1] or one that is not a number.
    """
    if not 0.0 <= weight <= 1.0:
        raise InvalidEdge(f"weight: must be a number from 0 to 1, not {weight!r}")
    if weight >= 0.85:
        return "direct"
    if weight > 0.75:
        return "strong-to-direct"
    if weight >= 0.55:
        return "strong"
    if weight > 0.45:
        return "weak-to-strong"
    if weight >= 0.25:
        return "weak"
    return "marginal"


def _check_node(node: Node) -> None:
    check_graph_id("id", node.id, InvalidNode)
    if node.label not in LABELS:
        raise InvalidNode(f"label: must be exactly one of {', '.join(LABELS)}, not {str(node.label)[:80]!r}")
    _check_text("text", node.text, MAX_TEXT, InvalidNode)
    if node.conv_id:
        check_graph_id("conv_id", node.conv_id, InvalidNode)
    _check_tags(node.tags, InvalidNode)
    _check_fields(node)
    _check_moment("ingestion_time", node.ingestion_time, InvalidNode)
    _check_moment("update_time", node.updated_at, InvalidNode)
    if node.updated_at < node.ingestion_time:
        raise InvalidNode("update_time: is before ingestion_time")
    if len(node.pointers) > MAX_POINTERS:
        raise InvalidNode(f"pointers: a node points to at most {MAX_POINTERS} lessons, not {len(node.pointers)}")


def _check_fields(node: Node) -> None:
    allowed = LABEL_FIELDS[node.label]
    for name, value in node.fields.items():
        if name not in allowed:
            raise InvalidNode(f"{str(name)[:80]}: is not a field of {node.label}; its fields are {', '.join(allowed)}")
        if name in LIST_FIELDS:
            if not isinstance(value, tuple) or not all(isinstance(text, str) for text in value):
                raise InvalidNode(f"{name}: must be a tuple of texts")
            if len(value) > MAX_LIST:
                raise InvalidNode(f"{name}: has {len(value)} texts; the limit is {MAX_LIST}")
            for text in value:
                _check_text(name, text, MAX_TEXT, InvalidNode)
        elif not isinstance(value, str):
            raise InvalidNode(f"{name}: must be one text")
        elif value:
            _check_text(name, value, MAX_TEXT, InvalidNode)
    for name in REQUIRED_FIELDS.get(node.label, ()):
        if not str(node.fields.get(name, "")).strip():
            raise InvalidNode(f"{name}: is missing; a node of label {node.label} must say it")
    if node.label == "Event":
        _check_dates(node)


def _check_dates(node: Node) -> None:
    for name in ("start_date", "end_date"):
        value = node.fields.get(name)
        if value:
            _parsed(name, str(value))
    window = node.window
    if window is not None and window[1] < window[0]:
        raise InvalidNode(f"end_date: {node.fields.get('end_date')} is before start_date")


def _check_edge(edge: Edge) -> None:
    check_graph_id("id", edge.id, InvalidEdge)
    check_graph_id("source", edge.source, InvalidEdge)
    check_graph_id("target", edge.target, InvalidEdge)
    _check_text("text", edge.text, MAX_TEXT, InvalidEdge)
    if isinstance(edge.weight, bool) or not isinstance(edge.weight, (int, float)):
        raise InvalidEdge("weight: must be a number from 0 to 1")
    weight_band(edge.weight)
    _check_tags(edge.tags, InvalidEdge)
    _check_moment("created_time", edge.created_time, InvalidEdge)


def check_graph_id(name: str, value: str, error: type[InvalidNode] | type[InvalidEdge] = InvalidNode) -> str:
    """Return the value when it can name a node, an edge or a conversation.

    Raises:
        InvalidNode: Or the error given, with the name of the field.
    """
    if not isinstance(value, str) or not value.strip():
        raise error(f"{name}: cannot be empty")
    if len(value) > MAX_GRAPH_ID or not value.isprintable():
        raise error(f"{name}: has at most {MAX_GRAPH_ID} printable characters")
    return value


def _check_text(name: str, value: str, limit: int, error: type[InvalidNode] | type[InvalidEdge]) -> None:
    if not isinstance(value, str) or not value.strip():
        raise error(f"{name}: cannot be empty")
    if len(value) > limit:
        raise error(f"{name}: has {len(value)} characters; the limit is {limit}")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as cause:
            raise error(f"{name}: is not valid Unicode text") from cause


def _check_tags(tags: tuple[str, ...], error: type[InvalidNode] | type[InvalidEdge]) -> None:
    if not isinstance(tags, tuple):
        raise error("tags: must be a tuple of texts")
    if len(tags) > MAX_GRAPH_TAGS:
        raise error(f"tags: has {len(tags)} tags; the limit is {MAX_GRAPH_TAGS}")
    for tag in tags:
        _check_text("tags", tag, MAX_GRAPH_TAG, error)
    if len(set(tags)) < len(tags):
        raise error("tags: a tag is there twice")


def _check_moment(name: str, moment: datetime, error: type[InvalidNode] | type[InvalidEdge]) -> None:
    if not isinstance(moment, datetime):
        raise error(f"{name}: must be a time with a time zone")
    try:
        bounded(moment, name)
    except InvalidInput as cause:
        raise error(str(cause)) from cause


def _window(start: str, end: str) -> tuple[datetime, datetime]:
    last = _parsed("end_date", end)
    if _DATE.fullmatch(end.strip()):
        last = min(last, LATEST - timedelta(days=1)) + timedelta(days=1)
    return _parsed("start_date", start), last


def _parsed(name: str, text: str) -> datetime:
    try:
        return as_moment(text, name)
    except InvalidInput as error:
        raise InvalidNode(str(error)) from error
