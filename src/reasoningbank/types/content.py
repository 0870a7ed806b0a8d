"""What a text names and claims: entities and concepts with the place where they stand (spec/memoria_haios 7.7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reasoningbank.types.memory import Memory

ContentMode = Literal["full", "entities_only", "concepts_only"]
EntityKind = Literal["User", "Agent", "ADR", "Filepath", "AntiPattern"]
"""Things that a text names."""
ConceptKind = Literal["Decision", "Critique", "Proposal", "Directive"]
"""Statements that a text makes, the strongest first."""

CONTENT_MODES: tuple[ContentMode, ...] = ("full", "entities_only", "concepts_only")
ENTITY_KINDS: tuple[EntityKind, ...] = ("User", "Agent", "ADR", "Filepath", "AntiPattern")
CONCEPT_KINDS: tuple[ConceptKind, ...] = ("Decision", "Critique", "Proposal", "Directive")
"""In the order of their worth: a sentence that fits several is the first of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A part of a text, word for word.

    Attributes:
        kind: One of ``ENTITY_KINDS`` or ``CONCEPT_KINDS``.
        text: What stands there.
        start, end: Where, in characters of the text that was read; ``end`` is exclusive.
    """

    kind: EntityKind | ConceptKind
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Hold what was extracted from a text.

    Attributes:
        text: The text that was read, secrets replaced; the places of all spans are places in it.
        entities: What it names, in the order of the text.
        concepts: What it claims, in the order of the text.
        model: The language model that found them; empty when rules did.
        message: What was not found or not done; empty otherwise.
    """

    text: str
    entities: tuple[Span, ...] = ()
    concepts: tuple[Span, ...] = ()
    model: str = ""
    message: str = ""

    @property
    def empty(self) -> bool:
        """Return whether nothing was found."""
        return not self.entities and not self.concepts


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """A raw lesson that was stored, and what was extracted from it.

    Attributes:
        memory: The memory that holds it.
        known: True when the bank held it already; then nothing was stored.
        message: One sentence for a person; it says so when nothing was extracted.
    """

    memory: Memory
    content: Content
    known: bool
    message: str
