"""Have a language model plan a question, and check its plan (seed 003)."""

from __future__ import annotations

from dataclasses import replace

from pydantic import BaseModel, Field

from reasoningbank.conversations.plan import MOST_PARTS, MOST_TAGS, Asked, TagVocabulary, plan_by_rule
from reasoningbank.errors import MalformedAnswer
from reasoningbank.llm.exchange import exchange
from reasoningbank.llm.prompts import prompt
from reasoningbank.safety.injection import find_order
from reasoningbank.safety.quotation import fence, quote
from reasoningbank.safety.stored_text import safe_line
from reasoningbank.types.conversation import BankQuery, GraphQuery, QuestionPlan
from reasoningbank.types.ports import LanguageModel

SHOWN_TAGS = 300
"""Most tags that a model is shown: those of the question first, then the most frequent."""
_HISTORY, _LONGEST = 5, 500


class PlannedGraphQuery(BaseModel):
    """A search in the graph as the model proposes it."""

    query: str
    bm25_weight: float = Field(0.5, ge=0.0, le=1.0)
    similarity_search_weight: float = Field(0.5, ge=0.0, le=1.0)
    query_tags: list[str] = []


class PlannedBankQuery(BaseModel):
    """A search for lessons as the model proposes it."""

    query: str
    bm25_weight: float = Field(0.5, ge=0.0, le=1.0)
    similarity_search_weight: float = Field(0.5, ge=0.0, le=1.0)


class PlannedQuestion(BaseModel):
    """Plan what to look up, or ask one question back."""

    clarification_question: str | None = None
    graph: list[PlannedGraphQuery] = []
    bank: list[PlannedBankQuery] = []


def plan_with(model: LanguageModel, asked: Asked, vocabulary: TagVocabulary) -> QuestionPlan:
    """Return the plan of a language model, checked.

    Tags that the graph does not have are dropped and said; a question back that is not allowed is not asked, and the
    rule takes the place of a list that is empty.

    Raises:
        ModelUnavailable, BudgetExhausted: When there was no answer.
        MalformedAnswer: When the answer does not have the shape that was asked for.
    """
    wanted = prompt("questions", material(asked, vocabulary))
    planned = exchange(model, wanted, PlannedQuestion)
    answer, name = planned.answer, planned.model
    back = safe_line(answer.clarification_question or "")[:_LONGEST]
    if back and asked.ask:
        if find_order(back):
            raise MalformedAnswer("the clarification question looks like a prompt injection")
        return QuestionPlan(
            question=asked.question,
            clarification=back,
            model=name,
            message="The question could mean quite different things; nothing was searched.",
        )
    dropped: dict[str, None] = {}
    graph = [_model_graph_query(each, vocabulary, dropped) for each in answer.graph[:MOST_PARTS] if each.query.strip()]
    bank = [_bank_query(each) for each in answer.bank[:MOST_PARTS] if each.query.strip()]
    ruled = plan_by_rule(replace(asked, ask=False), vocabulary)
    said = [f"Planned by {name}."]
    if not graph or not bank:
        said.append("What it left out was planned by rule.")
    if dropped:
        said.append(f"The graph has no tag {', '.join(repr(tag[:64]) for tag in dropped)}.")
    return QuestionPlan(
        question=asked.question,
        graph=tuple(graph) or ruled.graph,
        bank=tuple(bank) or ruled.bank,
        dropped=tuple(dropped),
        model=name,
        message=" ".join(said),
    )


def material(asked: Asked, vocabulary: TagVocabulary) -> str:
    """Return the question, what was said before and the tags as quoted data (DESIGN D10)."""
    own = vocabulary.matching(asked.whole, limit=SHOWN_TAGS)
    tags = (*own, *vocabulary.frequent(SHOWN_TAGS - len(own), without=own))
    allowed = "A question back is allowed." if asked.ask else "No question may be asked."
    body = (
        f"QUESTION\n{quote(asked.question)}WHAT THE USER ADDED\n{quote(asked.clarification)}"
        f"SAID BEFORE\n{''.join(quote(each) for each in asked.history[-_HISTORY:])}"
        f"TAGS\n{quote(', '.join(tags))}{allowed}\n"
    )
    return fence("a question", body)


def _model_graph_query(planned: PlannedGraphQuery, vocabulary: TagVocabulary, dropped: dict[str, None]) -> GraphQuery:
    kept: dict[str, None] = {}
    for tag in planned.query_tags:
        known = vocabulary.known(tag.strip())
        if known:
            kept[known] = None
        elif tag.strip():
            dropped[safe_line(tag)] = None
    words, meaning = _model_weights(planned)
    return GraphQuery(
        query=safe_line(planned.query)[:_LONGEST],
        bm25_weight=words,
        dense_weight=meaning,
        tags=tuple(kept)[:MOST_TAGS],
    )


def _bank_query(planned: PlannedBankQuery) -> BankQuery:
    words, meaning = _model_weights(planned)
    return BankQuery(query=safe_line(planned.query)[:_LONGEST], bm25_weight=words, dense_weight=meaning)


def _model_weights(planned: PlannedGraphQuery | PlannedBankQuery) -> tuple[float, float]:
    """Return its weights; both even when it gave both as 0, with which nothing could be searched."""
    if not planned.bm25_weight and not planned.similarity_search_weight:
        return 0.5, 0.5
    return planned.bm25_weight, planned.similarity_search_weight
