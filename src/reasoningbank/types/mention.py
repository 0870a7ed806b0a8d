"""What a source names and says, each with the exact place it came from (seed 002, its first pillar)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reasoningbank.errors import InvalidInput
from reasoningbank.types.content import CONCEPT_KINDS, ENTITY_KINDS, ConceptKind, EntityKind
from reasoningbank.types.graph import Edge, Node

MentionKind = EntityKind | ConceptKind

MENTION_KINDS: tuple[MentionKind, ...] = ENTITY_KINDS + CONCEPT_KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One entity or concept of a source.

    Attributes:
        kind: What it is.
        text: The words of the source from ``start`` to ``end``.
        start, end: Characters of the source, the end exclusive.
        attributes: What else was said of it.

    Raises:
        InvalidInput: When the place cannot hold the text.
    """

    kind: MentionKind
    text: str
    start: int
    end: int
    attributes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in MENTION_KINDS:
            raise InvalidInput(f"mention must be one of {', '.join(MENTION_KINDS)}, not {str(self.kind)[:80]!r}")
        if not 0 <= self.start < self.end or self.end - self.start != len(self.text):
            raise InvalidInput(f"a mention of {len(self.text)} characters cannot stand at {self.start} to {self.end}")

    @property
    def is_concept(self) -> bool:
        """Return whether it is a statement and not a name."""
        return self.kind in CONCEPT_KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    """Hold what was found in one text.

    Attributes:
        found: In the order of the text.
        unplaced: How many answers were left out because their words do not stand in the text.
        model: The model that found them; empty when none was asked.
        message: One sentence for a person.
    """

    found: tuple[Mention, ...] = ()
    unplaced: int = 0
    model: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """Hold what became of a source.

    Attributes:
        source: The node that holds it.
        mentions: What was found in it.
        nodes, edges: What was made of the mentions, besides the source.
        waiting: True when the search for mentions waits for a language model.
        message: One sentence for a person.
    """

    source: Node
    mentions: Mentions
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    waiting: bool = False
    message: str = ""
