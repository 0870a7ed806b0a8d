"""Plan a question by rules: its parts, the tags it names, and when to ask back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reasoningbank.graph.search import content_terms
from reasoningbank.graph.traversal import plain_tag
from reasoningbank.graph.walk import question_tags
from reasoningbank.memories.words import STOP_WORDS, analyse
from reasoningbank.types.conversation import BankQuery, GraphQuery, QuestionPlan
from reasoningbank.types.quantity import counted

MOST_TAGS = 7
"""Most tags of one sub-query (seed 003's system asks for three to seven)."""
_ENDINGS = (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("ss", "ss"), ("s", ""))
"""Endings of a plural, and what takes their place; the first that fits counts."""
_SHORTEST = 3


class TagVocabulary:
    """The tags of a graph, the most frequent first, found by their words whatever stands between these.

    Args:
        tags: Every tag with how many nodes and edges carry it.
    """

    def __init__(self, tags: Sequence[tuple[str, int]]) -> None:
        self._counts = dict(tags)
        self._by_words: dict[str, str] = {}
        for tag, _ in tags:
            self._by_words.setdefault(_key(tag), tag)

    def __len__(self) -> int:
        return len(self._counts)

    def known(self, tag: str) -> str:
        """Return the graph's tag that is meant; empty when it has none."""
        return tag if tag in self._counts else self._by_words.get(_key(tag), "")

    def matching(self, text: str, *, limit: int = MOST_TAGS) -> tuple[str, ...]:
        """Return the tags whose words stand together in a text: of more words first, then the rarer.

        A tag of function words alone is never meant by a text.
        """
        found = dict.fromkeys(self._by_words.get(_key(phrase), "") for phrase in question_tags(text))
        meant = [tag for tag in found if tag and set(analyse(tag).split()) - STOP_WORDS]
        ranked = sorted(meant, key=lambda tag: (-len(plain_tag(tag).split()), self._counts[tag], tag))
        return tuple(ranked[:limit])

    def frequent(self, limit: int, *, without: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the tags that are carried most often."""
        left_out = set(without)
        return tuple(tag for tag in self._counts if tag not in left_out)[:limit]


def _key(tag: str) -> str:
    """Return the words of a tag, each without the ending of its plural."""
    return " ".join(_singular(word) for word in plain_tag(tag).split())


def _singular(word: str) -> str:
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) + len(instead) >= _SHORTEST:
            return word[: -len(ending)] + instead
    return word


MOST_PARTS = 4
"""Most sub-queries of one kind."""
_EXACT = (0.7, 0.3)
_EVEN = (0.5, 0.5)
_ENDS = re.compile(
    r"[?!;]+\s*|\.\s+|(?:,\s*|,?\s+)(?:and|or|then|also)\s+(?=(?:what|which|how|why|when|who|whose|where|did|does|do|is|are|was|"
    r"were|can|should)\b)",
    re.IGNORECASE,
)
_QUOTES = '"\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}`'
_NAMED = re.compile(
    rf"[{_QUOTES}][^{_QUOTES}]{{2,}}[{_QUOTES}]|\d|\w[_/\\@#]\w|[a-z][A-Z]|\b[A-Z]{{2,}}\b|\b\w+\.\w{{2,}}\b"
)
_POINTING = re.compile(r"\b(?:it|its|that|this|those|these|they|them|he|she|one)\b", re.IGNORECASE)
_JUDGING = (
    "best better good bad worse worst top bottom great nice right wrong important main key biggest largest smallest "
    "highest lowest latest newest recent current last next first favorite favourite interesting relevant useful "
    "recommend recommended recommendation suggest suggestion compare different difference happen happened happening "
    "work works working tell show give find list explain describe think know help need want use used using doing done"
)
_ANY_THING = (
    "product products item items thing things stuff option options choice choices number numbers figure figures value "
    "values result results data information info detail details report reports issue issues problem problems case "
    "cases customer customers user users people person team company project projects task tasks question questions "
    "answer answers plan plans way ways reason reasons time times day days week month year status update updates file "
    "files system tool tools part parts type types kind sort example examples"
)
_GENERAL = frozenset(f"{_JUDGING} {_ANY_THING}".split())
_OFFERED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question and what is known around it; every text is clean.

    Attributes:
        question: The question.
        clarification: What the user answered to the question back.
        history: What was said before, the oldest first.
        ask: True when a question back is allowed.
    """

    question: str
    clarification: str = ""
    history: tuple[str, ...] = ()
    ask: bool = True

    @property
    def whole(self) -> str:
        """The question with what the user has said to make it clear."""
        return f"{self.question} {self.clarification}".strip()


def plan_by_rule(asked: Asked, vocabulary: TagVocabulary) -> QuestionPlan:
    """Return the plan for a question, without a language model."""
    if asked.ask and is_ambiguous(asked, vocabulary):
        return QuestionPlan(
            question=asked.question,
            clarification=_question_back(asked, vocabulary),
            message="The question could mean quite different things; nothing was searched.",
        )
    parts = split(asked.question)
    before = _referred(asked, parts)
    texts = [f"{part} {asked.clarification} {before}".strip() for part in parts]
    graph = tuple(_graph_query(text, vocabulary) for text in texts)
    bank = tuple(BankQuery(query=text, bm25_weight=_weights(text)[0], dense_weight=_weights(text)[1]) for text in texts)
    return QuestionPlan(
        question=asked.question,
        graph=graph,
        bank=bank,
        message=f"Planned by rule: {counted(len(texts), 'sub-query', 'sub-queries')}.",
    )


def split(question: str) -> tuple[str, ...]:
    """Return the parts of a question that each say something, at most four; the question itself when none does."""
    parts = [part.strip(" ,.") for part in _ENDS.split(question)]
    telling = [part for part in parts if part and content_terms(part)]
    if len(telling) > MOST_PARTS:
        telling = [*telling[: MOST_PARTS - 1], " ".join(telling[MOST_PARTS - 1 :])]
    return tuple(telling) or (question,)


def is_ambiguous(asked: Asked, vocabulary: TagVocabulary) -> bool:
    """Return whether nothing says what the question is about."""
    telling = set(content_terms(asked.whole).split()) - _GENERAL
    if any(len(plain_tag(tag).split()) > 1 for tag in vocabulary.matching(asked.whole)):
        return False
    if not telling:
        return not asked.history
    return bool(_POINTING.search(asked.question)) and len(telling) <= 1 and not asked.history and not _named(asked)


def _named(asked: Asked) -> bool:
    return bool(_NAMED.search(asked.whole))


def _referred(asked: Asked, parts: Sequence[str]) -> str:
    """Return what was said last, when the question points at it or says nothing by itself."""
    if not asked.history:
        return ""
    telling = set(content_terms(" ".join(parts)).split()) - _GENERAL
    return asked.history[-1] if _POINTING.search(asked.question) or not telling else ""


def _question_back(asked: Asked, vocabulary: TagVocabulary) -> str:
    """Return one question; it offers what the graph knows of."""
    offered = vocabulary.frequent(_OFFERED)
    known = f" For example: {', '.join(offered)}." if offered else ""
    return f'What do you mean by "{asked.question.rstrip(" ?!.")}": which subject, period or measure?{known}'


def _graph_query(text: str, vocabulary: TagVocabulary) -> GraphQuery:
    words, meaning = _weights(text)
    return GraphQuery(query=text, bm25_weight=words, dense_weight=meaning, tags=vocabulary.matching(text))


def _weights(text: str) -> tuple[float, float]:
    return _EXACT if _NAMED.search(text) else _EVEN
