"""A question as it is searched for: sub-queries to the graph and to the lessons, or one question back."""

from __future__ import annotations

from dataclasses import dataclass

from reasoningbank.domain.graph_search import GraphAnswer
from reasoningbank.domain.lesson import LessonHit
from reasoningbank.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQuery:
    """One search in the graph.

    Attributes:
        query: What to look for.
        bm25_weight, dense_weight: Of the words and of the meaning, each from 0 to 1, not both 0.
        tags: Tags of the graph, as they are stored there; the walk prefers edges that carry them.

    Raises:
        InvalidInput: The message names the field.
    """

    query: str
    bm25_weight: float = 0.5
    dense_weight: float = 0.5
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_query(self.query, self.bm25_weight, self.dense_weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class BankQuery:
    """One search among the lessons; the fields are those of a GraphQuery.

    The dense weight is shared by what a lesson says and when it applies, in the proportion of ``lesson_search``.
    """

    query: str
    bm25_weight: float = 0.5
    dense_weight: float = 0.5

    def __post_init__(self) -> None:
        check_query(self.query, self.bm25_weight, self.dense_weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPlan:
    """How a question is answered.

    Attributes:
        question: The question, secrets removed.
        clarification: One question back; then both lists are empty and nothing is searched.
        graph, bank: The sub-queries.
        dropped: Tags that a model named and the graph does not have.
        model: Who planned; empty for the rule.
        message: One sentence: how it was planned, and what was not used.
    """

    question: str
    clarification: str = ""
    graph: tuple[GraphQuery, ...] = ()
    bank: tuple[BankQuery, ...] = ()
    dropped: tuple[str, ...] = ()
    model: str = ""
    message: str = ""

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of all sub-queries, each once."""
        return tuple(dict.fromkeys(tag for each in self.graph for tag in each.tags))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswer:
    """What the bank knows about a question.

    Attributes:
        plan: How it was searched for.
        graph: Nodes, paths and preferences; its context is the whole answer as text, lessons included, within the
            budget. None when a question was asked back.
        lessons: The lessons that fit, best first.
        sentences: Each path as one story: its sentences in the order of the walk.
        message: One sentence for a person.
    """

    plan: QuestionPlan
    graph: GraphAnswer | None = None
    lessons: tuple[LessonHit, ...] = ()
    sentences: tuple[tuple[str, ...], ...] = ()
    message: str = ""


def check_query(query: str, bm25_weight: float, dense_weight: float) -> None:
    """Refuses a sub-query that cannot be searched.

    Raises:
        InvalidInput: The message names the field.
    """
    if not query.strip():
        raise InvalidInput("query: cannot be empty")
    for name, weight in (("bm25_weight", bm25_weight), ("dense_weight", dense_weight)):
        if isinstance(weight, bool) or not 0.0 <= weight <= 1.0:
            raise InvalidInput(f"{name}: must be a number from 0 to 1, not {weight!r}")
    if not bm25_weight and not dense_weight:
        raise InvalidInput("bm25_weight: and dense_weight cannot both be 0")
