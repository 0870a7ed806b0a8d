"""Plan questions and answer them from the graph and the lessons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reasoningbank.context import checked_limit, session_name
from reasoningbank.errors import BudgetExhausted, MalformedAnswer, ModelUnavailable, PaidCallRefused
from reasoningbank.search.searches import MAX_SEARCH_LIMIT, usable_query
from reasoningbank.storage.store import Store
from reasoningbank.telemetry import observed
from reasoningbank.types.conversation import BankQuery, QuestionAnswer, QuestionPlan
from reasoningbank.types.lesson import BM25_LEG, CONTEXT_LEG, LESSON_LEG, LessonHit
from reasoningbank.types.recall import Filter, Hit, Recall
from reasoningbank.types.walk import WalkParameters

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.search.lessons import LessonQuestion
    from reasoningbank.search.searches import Search

DEFAULT_NODES = 3
"""Nodes to begin at for each sub-query."""
DEFAULT_LESSONS = 5
_LESSON_SHARE = 0.4 / 0.7
"""Of the dense weight: what the lesson says gets this share, when it applies the rest, as ``lesson_search`` does."""


class Questions:
    """Plan questions and answer them from the graph and the lessons."""

    def __init__(self, context: Context, search: Search) -> None:
        self._context = context
        self._search = search

    def plan(
        self, question: str, *, ask: bool = True, clarification: str = "", history: Sequence[str] = ()
    ) -> QuestionPlan:
        """Return how a question is to be looked up: sub-queries, or one question back when it is ambiguous.

        A language model plans, where one is configured; without one, or when it gives no usable answer, the rule of
        ``reasoningbank.conversations.questions`` does. Tags are always tags that the graph has.

        Args:
            question: The question in words.
            ask: Whether a question back is allowed; False never asks.
            clarification: What the user answered to the question back; with it none is asked again.
            history: What was said before, the oldest first; the last of it decides what "it" and "that" mean.

        Raises:
            EmptyQuery: When the question is blank.
        """
        from reasoningbank.conversations.questions import Asked, Vocabulary, plan_by_rule, plan_with
        from reasoningbank.safety.text import safe_line

        asked = Asked(
            question=usable_query(question),
            clarification=safe_line(clarification),
            history=tuple(safe_line(each) for each in history if each.strip()),
            ask=ask and not clarification.strip(),
        )
        vocabulary = Vocabulary(self._context.store().graph.graph_tags())
        if self._context.model is None:
            return plan_by_rule(asked, vocabulary)
        try:
            return plan_with(self._context.model, asked, vocabulary)
        except (ModelUnavailable, BudgetExhausted, PaidCallRefused, MalformedAnswer) as error:
            planned = plan_by_rule(asked, vocabulary)
            return replace(planned, message=f"{planned.message} The language model was of no use: {error.message}")

    def ask(
        self,
        question: str,
        *,
        ask: bool = True,
        clarification: str = "",
        history: Sequence[str] = (),
        nodes: int = DEFAULT_NODES,
        lessons: int = DEFAULT_LESSONS,
        budget: int | None = None,
        user: str = "",
        role: str = "",
        session: str | None = None,
    ) -> QuestionAnswer:
        """Answer a question from the graph and the lessons, or asks one question back and searches nothing.

        Every graph sub-query finds nodes; one walk begins at all of them, with the tags of the plan, so that paths that
        meet strengthen each other. Every bank sub-query finds lessons; their delivery counts as one of the memories.

        Args:
            question: The question in words.
            ask: Whether a question back is allowed; False never asks.
            clarification: What the user answered to the question back.
            history: What was said before, the oldest first.
            nodes: Most nodes to begin at for each sub-query, 0 to 100.
            lessons: Most lessons, 0 to 100.
            budget: Most tokens of the text for a language model, lessons included; None for 2,000.
            user: Who asks, by id: their preferences stand first in the text.
            role: In which role, likewise.
            session: What the delivery of lessons counts for.

        Raises:
            EmptyQuery, NegativeLimit, InvalidInput: When an argument is not usable.
            ModelMismatch: When the bank was built with another embedder.
        """
        plan = self.plan(question, ask=ask, clarification=clarification, history=history)
        return self.answer(plan, nodes=nodes, lessons=lessons, budget=budget, user=user, role=role, session=session)

    def answer(
        self,
        plan: QuestionPlan,
        *,
        nodes: int = DEFAULT_NODES,
        lessons: int = DEFAULT_LESSONS,
        budget: int | None = None,
        user: str = "",
        role: str = "",
        session: str | None = None,
    ) -> QuestionAnswer:
        """Do what a plan says; the arguments are those of ``ask``. A plan that asks back searches nothing."""
        from reasoningbank.conversations.questions import answer_graph, stories, with_lessons
        from reasoningbank.graph.provenance import preferences

        most = min(checked_limit(nodes), MAX_SEARCH_LIMIT)
        if plan.clarification:
            return QuestionAnswer(plan=plan, message=plan.clarification)
        with observed("search_memory", store=self._context.place) as observation:
            store = self._question_store()
            found = self._lessons_for(store, plan, min(checked_limit(lessons), MAX_SEARCH_LIMIT), session)
            wishes = preferences(store, user=user, role=role)
            graph = answer_graph(
                store, self._context.embedder, plan, limit=most, parameters=WalkParameters(tags=plan.tags)
            )
            graph = with_lessons(graph, found, budget=budget, preferences=wishes)
            observation.delivered(len(graph.seeds) + len(found))
            told = stories(graph.walk)
        paths = "1 path" if len(told) == 1 else f"{len(told)} paths"
        said = f"{len(graph.seeds)} nodes, {paths} and {len(found)} lessons were found."
        return QuestionAnswer(plan=plan, graph=graph, lessons=found, sentences=told, message=said)

    def _lessons_for(self, store: Store, plan: QuestionPlan, limit: int, session: str | None) -> tuple[LessonHit, ...]:
        """Return the lessons of all bank sub-queries, each at its best score; their delivery is noted once."""
        from reasoningbank.search.lessons import find_lessons, lessons_of

        best: dict[str, LessonHit] = {}
        for query in plan.bank if limit else ():
            found = find_lessons(store, self._context.embedder, _lesson_question(query, limit)).lessons
            lessons = lessons_of(store, [each.id for each in found])
            for each in found:
                known = best.get(each.id)
                if each.id in lessons and (known is None or each.score > known.score):
                    best[each.id] = LessonHit(lesson=lessons[each.id], score=each.score, legs=each.legs)
        hits = tuple(sorted(best.values(), key=lambda each: (-each.score, each.lesson.rb_id)))[:limit]
        if hits:
            recall = Recall(
                memories=tuple(Hit(memory=hit.lesson.memory, relevance=hit.score, legs=hit.legs) for hit in hits),
                query=plan.question,
                session=session_name(session) or self._context.session,
                embedder=self._context.embedder.name,
                tokens=sum(hit.lesson.memory.tokens for hit in hits),
                message=f"{len(hits)} lessons.",
                at=self._context.clock.now(),
            )
            self._search.logged(store, recall)
        return hits

    def _question_store(self) -> Store:
        """Return the store, when the embedder is the one that the bank was built with."""
        from reasoningbank.memories.vectors import check_space

        store = self._context.store()
        check_space(store, self._context.embedder)
        return store


def _lesson_question(query: BankQuery, limit: int) -> LessonQuestion:
    from reasoningbank.search.lessons import LessonQuestion

    return LessonQuestion(
        text=query.query,
        limit=limit,
        weights={
            LESSON_LEG: query.dense_weight * _LESSON_SHARE,
            CONTEXT_LEG: query.dense_weight * (1.0 - _LESSON_SHARE),
            BM25_LEG: query.bm25_weight,
        },
        condition=Filter(),
    )
