"""Entities and concepts of a text, with the places where they stand (row H15): by rules, or by a language model.

A sentence is a concept when it has the words of one; its kind is the first of Decision, Critique, Proposal, Directive
that it fits, unless it begins with the kind's own name. What only says how things stand at the moment is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from pydantic import BaseModel

from reasoningbank.llm.exchange import exchange
from reasoningbank.llm.prompts import prompt
from reasoningbank.types.content import CONCEPT_KINDS, ENTITY_KINDS, ConceptKind, Content, ContentMode, EntityKind, Span
from reasoningbank.types.ports import LanguageModel

NOTHING = "Nothing was extracted: the text names no entity and has no words of a decision, critique, proposal or rule."
MOST_SPANS = 200
"""Most entities, and most concepts, of one text."""

_SENTENCE = re.compile(r"(?:[^\n.!?]|[.!?](?![\s\"')\]]|$))+[.!?]*[\"')\]]*")
_LIST_MARK = re.compile(r"^(?:[-*+>#]+|\d+[.)])?\s*")
_LABEL = re.compile(r"^\W*(decision|critique|proposal|directive)\W*:", re.IGNORECASE)
_STATUS = re.compile(
    r"^\W*(?:status\b|currently\b|right now\b|at the moment\b|in progress\b|wip\b|today i\b|now (?:we|i)\b)"
    r"|\b(?:is|are|am|was|were) (?:currently|still|now|running|being|working|in progress|ongoing|under way)\b"
    r"|\b(?:currently|at the moment) \w+ing\b",
    re.IGNORECASE,
)
_CUES: Mapping[ConceptKind, re.Pattern[str]] = {
    "Decision": re.compile(
        r"\b(?:decided|decision (?:is|was)|agreed (?:to|on|that)|settled on|chose|chosen|opted (?:for|to)|adopted"
        r"|we (?:will|are going to) (?:use|keep|adopt|drop|move|store|write)|went with|going with)\b",
        re.IGNORECASE,
    ),
    "Critique": re.compile(
        r"\b(?:problem with|fails? because|failed because|broke because|flaw(?:ed|s)?|does(?:n't| not) scale|drawback"
        r"|weakness|shortcoming|suffers? from|too (?:slow|complex|brittle|fragile|expensive|coarse)|was a mistake"
        r"|is wrong|misleading|makes it (?:hard|impossible)|error[- ]prone)\b",
        re.IGNORECASE,
    ),
    "Proposal": re.compile(
        r"\b(?:propos(?:e|es|ed|al)|suggest(?:s|ed|ion)?|recommend(?:s|ed|ation)?|we (?:should|could)|could instead"
        r"|would be better|how about)\b|^\W*(?:let us|let's|consider)\b",
        re.IGNORECASE,
    ),
    "Directive": re.compile(
        r"^\W*(?:always|never|do not|don't|ensure|make sure|under no circumstances)\b"
        r"|\b(?:must(?: not|n't)?|shall(?: not)?|required to|forbidden)\b"
        r"|\b(?:you|we|agents?|callers?|nobody|everybody) (?:always|never|should never|should always)\b",
        re.IGNORECASE,
    ),
}
_ENDINGS = "py|md|toml|json|jsonl|ya?ml|txt|sql|sh|rs|go|js|ts|tsx|java|c|h|cpp|css|html|cfg|ini|lock|csv|db|log"
_ENTITIES: Mapping[EntityKind, re.Pattern[str]] = {
    "Filepath": re.compile(
        r"(?<![\w/.:@-])(?:(?:~|\.{1,2})?/(?:[\w.@+-]+/)*[\w.@+-]*\w/?"
        rf"|(?:[\w.@+-]+/)+[\w.@+-]*\.(?:{_ENDINGS})|[\w@+-][\w.@+-]*\.(?:{_ENDINGS})|(?:[\w.@+-]+/){{2,}})(?![\w/])"
    ),
    "ADR": re.compile(r"\bADR[- ]?\d{1,5}\b"),
    "AntiPattern": re.compile(r"(?i:\banti-?pattern)[:\s]+(?:\"([^\"\n]{2,60})\"|([A-Z][\w-]*(?: [A-Z][\w-]*){0,4}))"),
    "User": re.compile(r"(?<![\w./])@[A-Za-z][\w-]{1,38}\b|\b[Uu]ser (?-i:[A-Z])[\w-]+"),
    "Agent": re.compile(
        r"\b[A-Z]\w*Agent\b|\b[Aa]gent [A-Z][\w-]+|\b(?:Claude(?: Code)?|Codex|Copilot|Gemini|Devin)\b"
    ),
}


class Marked(BaseModel):
    """One span as a model marks it."""

    kind: str
    text: str


class Marks(BaseModel):
    """All spans of a text as a model marks them."""

    entities: list[Marked]
    concepts: list[Marked]


def by_rules(text: str, mode: ContentMode = "full") -> Content:
    """Return what the words alone tell; always the same for the same text."""
    entities = () if mode == "concepts_only" else tuple(_entities(text))[:MOST_SPANS]
    concepts = () if mode == "entities_only" else tuple(_concepts(text))[:MOST_SPANS]
    return Content(text=text, entities=entities, concepts=concepts, message="" if entities or concepts else NOTHING)


def by_model(text: str, mode: ContentMode, model: LanguageModel) -> Content:
    """Return what a language model marks; a span that does not stand in the text letter by letter is dropped.

    Raises:
        ModelUnavailable, BudgetExhausted, MalformedAnswer: When there is no usable answer.
    """
    asked = prompt("content", json.dumps({"text": text}, ensure_ascii=False))
    marked = exchange(model, asked, Marks)
    marks = marked.answer
    entities = () if mode == "concepts_only" else _placed(text, marks.entities, ENTITY_KINDS)
    concepts = () if mode == "entities_only" else _placed(text, marks.concepts, CONCEPT_KINDS)
    concepts = tuple(span for span in concepts if not is_status(span.text))
    message = "" if entities or concepts else NOTHING
    return Content(text=text, entities=entities, concepts=concepts, model=marked.model, message=message)


def is_status(sentence: str) -> bool:
    """Return whether a sentence only says how things stand at the moment."""
    return _LABEL.match(sentence) is None and _STATUS.search(sentence) is not None


def _placed(text: str, marks: Sequence[Marked], kinds: Sequence[EntityKind | ConceptKind]) -> tuple[Span, ...]:
    """Return the marks that stand in the text, each at its next place, in the order of the text."""
    known = {kind.casefold(): kind for kind in kinds}
    after: dict[tuple[str, str], int] = {}
    found: list[Span] = []
    for mark in marks[:MOST_SPANS]:
        kind = known.get(mark.kind.strip().casefold())
        words = mark.text.strip()
        if kind is None or not words:
            continue
        start = text.find(words, after.get((kind, words), 0))
        if start >= 0:
            after[kind, words] = start + len(words)
            found.append(Span(kind=kind, text=words, start=start, end=start + len(words)))
    return tuple(sorted(found, key=lambda span: (span.start, span.end)))


def _entities(text: str) -> Iterator[Span]:
    spans = []
    for kind, pattern in _ENTITIES.items():
        for match in pattern.finditer(text):
            group = next((number for number, part in enumerate(match.groups(), start=1) if part), 0)
            start, end = match.span(group)
            spans.append(Span(kind=kind, text=text[start:end], start=start, end=end))
    yield from sorted(spans, key=lambda span: (span.start, span.end))


def _concepts(text: str) -> Iterator[Span]:
    for start, end in _sentences(text):
        sentence = text[start:end]
        kind = _kind(sentence)
        if kind is not None:
            yield Span(kind=kind, text=sentence, start=start, end=end)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each sentence stands, without marks of lists and without space around it."""
    for match in _SENTENCE.finditer(text):
        start, end = match.span()
        start += len(match.group()) - len(match.group().lstrip())
        mark = _LIST_MARK.match(text[start:end])
        start += mark.end() if mark else 0
        end -= len(text[start:end]) - len(text[start:end].rstrip())
        if end > start:
            yield start, end


def _kind(sentence: str) -> ConceptKind | None:
    label = _LABEL.match(sentence)
    if label is not None:
        return next(kind for kind in get_args(ConceptKind) if kind == label.group(1).capitalize())
    if is_status(sentence):
        return None
    return next((kind for kind in CONCEPT_KINDS if _CUES[kind].search(sentence)), None)
