"""The half of a bank that finds: by words and meaning, by the likeness of tasks, with the experience of searches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from reasoningbank.context import checked_limit, clean_tags, session_name
from reasoningbank.errors import (
    BudgetExhausted,
    EmptyQuery,
    InvalidInput,
    InvalidMemory,
    MalformedAnswer,
    MemoryNotFound,
    ModelUnavailable,
    StoreBusy,
    StoreFull,
    StoreUnavailable,
    TextTooLong,
)
from reasoningbank.search.scoped import Scoping
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.telemetry import observed
from reasoningbank.types.belief import MIN_CONFIDENCE, check_confidence
from reasoningbank.types.experience import ExperienceAnswer, Reasoning, Strategy, Trace
from reasoningbank.types.memory import STATES, Memory, State, check_memory_id, check_outcome
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import Filter, Recall
from reasoningbank.types.records import Job
from reasoningbank.types.session import VERDICTS, Verdict

if TYPE_CHECKING:
    from reasoningbank.search.cascade import Found
    from reasoningbank.search.recall import Question

DEFAULT_SEARCH_LIMIT = 10
"""Most proven memories of a search that names no limit (seed 000)."""
MAX_SEARCH_LIMIT = 100
MAX_QUERY = 20_000
_UNLOGGED = "This delivery was not logged"

By = Literal["memory", "experience"]


class Searching(Scoping):
    """Finds memories and logs what it delivered; a search never fails because its log cannot be written."""

    def search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_SEARCH_LIMIT,
        min_confidence: float = MIN_CONFIDENCE,
        outcome: str | None = None,
        tags: Iterable[str] = (),
        category: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        unproven: int = 1,
        session: str | None = None,
        by: By = "memory",
        k: int = 1,
    ) -> Recall:
        """Find what is relevant to a task, best first; nothing when nothing is.

        Args:
            query: The task or problem in words.
            limit: Most proven memories, 0 to 100.
            min_confidence: Proven means at least this.
            outcome: Only this outcome.
            tags: Only memories that carry all of these.
            category: Only this category.
            created_after: Only memories recorded at this time or later.
            created_before: Only memories recorded before this time.
            unproven: Most memories below ``min_confidence``, in a list of their own (DESIGN D6).
            session: What the delivery counts for; at most one usage signal per memory and session.
            by: ``memory`` compares the query with memories, ``experience`` with the tasks they were learned from and
                brings whole experiences with all their items, proven or not, whatever the limits.
            k: Most experiences.

        Raises:
            EmptyQuery, NegativeLimit, InvalidConfidence, InvalidOutcome: When an argument is not usable.
            ModelMismatch: When the bank was built with another embedder.
        """
        question = checked_question(
            query,
            limit=limit,
            min_confidence=min_confidence,
            outcome=outcome,
            tags=tags,
            category=category,
            created_after=created_after,
            created_before=created_before,
            unproven=unproven,
        )
        if by == "experience":
            return self._delivered(question, session, lambda store: self._by_task(store, question, checked_limit(k)))
        if by != "memory":
            raise InvalidInput(f"by is 'memory' or 'experience', not {str(by)[:80]!r}")
        return self._delivered(question, session, lambda store: self._near(store, question))

    def search_with_experience(
        self,
        query: str,
        *,
        limit: int | None = None,
        min_confidence: float = MIN_CONFIDENCE,
        tags: Iterable[str] = (),
        session: str | None = None,
        mode: str = "semantic",
    ) -> ExperienceAnswer:
        """Search the way that served similar searches best, and adds the strategies those taught (seed 002).

        The search is kept as a trace of unknown outcome: that something was found is no success. ``outcome`` for a
        delivered memory in the same session, or ``report_experience``, says how the task ended; then its strategy is
        extracted in the background.

        Args:
            query: The task or problem in words.
            limit: Most proven memories; None leaves it to the strategy.
            min_confidence: Proven means at least this.
            tags: Only memories that carry all of these.
            session: What the delivery counts for.
            mode: ``semantic`` looks at everything; ``session_recovery`` leaves out what was made of other memories and
                shows the newest of the relevant ones first; ``knowledge_lookup`` looks only at memories of the
                categories ``KNOWLEDGE_CATEGORIES``.

        Raises:
            EmptyQuery, NegativeLimit, InvalidConfidence: When an argument is not usable.
            InvalidInput: When there is no such mode.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.memories.vectors import check_space
        from reasoningbank.search.experience import (
            checked_mode,
            choose,
            ordered,
            relevant,
            restricted,
            room,
            similar_traces,
        )

        began = time.perf_counter()
        way = checked_mode(mode)
        with observed("search_memory", store=self._place()) as observation:
            store = self._open_store()
            question = checked_question(
                query,
                limit=DEFAULT_SEARCH_LIMIT if limit is None else limit,
                min_confidence=min_confidence,
                tags=tags,
            )
            check_space(store, self._embedder)
            vector = self._embedder.embed_queries([question.text])[0]
            similar = similar_traces(store, vector, self._embedder.model_id)
            plan = choose(similar, way)
            shown = question.limit if limit is not None else plan.limit
            question = replace(
                question,
                legs=plan.legs,
                condition=restricted(way, replace(question.condition, outcome=plan.outcome)),
                limit=room(way, shown),
            )
            if plan.whole_experiences:
                found = self._by_task(store, question, 1, vector)
            else:
                found = self._near(store, question, vector)
            strategies = relevant(store, similar)
            answer = self._answer(question, found._replace(proven=ordered(way, found.proven, shown)), session)
            applied = {
                "mode": way,
                "limit": str(shown),
                "min_confidence": f"{min_confidence:g}",
                "tags": ",".join(question.condition.tags),
            }
            trace = Trace(
                query=question.text,
                approach=plan.name,
                details=plan.details | applied,
                results=tuple(dict.fromkeys([*(hit.id for hit in answer.delivered), *(one.id for one in strategies)])),
                session=answer.session,
                milliseconds=round((time.perf_counter() - began) * 1_000),
                at=answer.at,
            )
            logged = self._logged(store, answer, (trace, vector), also=[one.id for one in strategies])
            observation.delivered(len(answer.delivered))
            message = "" if strategies else "No similar search has taught a strategy yet."
            return ExperienceAnswer(
                results=answer.delivered,
                reasoning=Reasoning(
                    strategy_used=plan.name,
                    learned_from=len(strategies),
                    outcome="unknown",
                    execution_time_ms=round((time.perf_counter() - began) * 1_000),
                    relevant_strategies=strategies,
                    message=" ".join([*logged.warnings, message]).strip(),
                    trace_id="" if any(one.startswith(_UNLOGGED) for one in logged.warnings) else trace.id,
                ),
            )

    def report_experience(self, trace_id: str, outcome: Verdict, *, details: str = "") -> Trace:
        """Say how the task ended that a search was for; what was said before is replaced.

        Raises:
            TrajectoryNotFound: When this project has no such trace.
            InvalidInput: When the outcome is not one of the verdicts.
        """
        from reasoningbank.safety.text import safe_line
        from reasoningbank.search.experience import decide

        if outcome not in VERDICTS:
            raise InvalidInput(f"an outcome is one of {', '.join(VERDICTS)}, not {str(outcome)[:80]!r}")
        reason = safe_line(details[:MAX_QUERY])
        with self._open_store().transaction() as transaction:
            trace = transaction.trace(check_memory_id(trace_id))
            return decide(transaction, trace, outcome, reason=reason, at=self._clock.now())

    def traces(self, *, limit: int = 0) -> tuple[Trace, ...]:
        """Return experience searches as they were run, newest first; limit 0 means all."""
        return tuple(self._open_store().traces(limit=checked_limit(limit)))

    def extract_strategy(
        self, query: str, approach: str, outcome: Verdict, results_summary: str = "", error_details: str = ""
    ) -> Strategy:
        """Return the strategy that one execution taught, as the language model sees it (seed 002); stores nothing.

        Without a usable answer it is the structured default, whose ``extraction_model`` is empty.

        Raises:
            InvalidInput: When the outcome is not one of the verdicts.
        """
        from reasoningbank.safety.secrets import redact
        from reasoningbank.safety.text import MAX_INPUT, safe_line
        from reasoningbank.sessions.strategies import default, extract, question

        if outcome not in VERDICTS:
            raise InvalidInput(f"an outcome is one of {', '.join(VERDICTS)}, not {str(outcome)[:80]!r}")
        text, way = usable_query(query), safe_line(approach[:MAX_QUERY])
        if self._model is None:
            return default(text, way, outcome)
        summary, errors = (redact(part[:MAX_INPUT]).text[:MAX_QUERY] for part in (results_summary, error_details))
        try:
            found = extract(question(text, way, outcome, summary, errors), self._model)
        except (ModelUnavailable, BudgetExhausted, MalformedAnswer):
            found = None
        return found or default(text, way, outcome)

    def _search_for(
        self, task: str, *, limit: int, session: str | None, withhold: Callable[[Memory], bool] | None = None
    ) -> Recall:
        """Return a search whose withheld memories are neither delivered nor counted as used."""
        from reasoningbank.search.cascade import Found
        from reasoningbank.search.recall import UNPROVEN_POOL

        question = checked_question(task, limit=limit, unproven=1)
        if withhold is not None:
            question = replace(question, limit=MAX_SEARCH_LIMIT, unproven=UNPROVEN_POOL)

        def find(store: Store) -> Found:
            proven, unproven, warnings = self._near(store, question)
            if withhold is not None:
                proven = tuple(hit for hit in proven if not withhold(hit.memory))
                unproven = tuple(hit for hit in unproven if not withhold(hit.memory))
            return Found(proven[:limit], unproven[:1], warnings)

        return self._delivered(question, session, find)

    def _delivered(self, question: Question, session: str | None, find: Callable[[Store], Found]) -> Recall:
        """Search, and log what is delivered."""
        with observed("search_memory", store=self._place()) as observation:
            store = self._open_store()
            answer = self._answer(question, find(store), session)
            observation.delivered(len(answer.delivered))
            self._last_confidence = answer.memories[0].confidence if answer.memories else 0.0
            return self._logged(store, answer)

    def _by_task(self, store: Store, question: Question, count: int, vector: Vector | None = None) -> Found:
        """Return whole experiences of this project whose tasks are like the query, the unproven items apart."""
        from reasoningbank.memories.vectors import check_space
        from reasoningbank.search.cascade import Found
        from reasoningbank.search.experience import experiences, unproven_apart

        if not check_space(store, self._embedder):
            return Found((), ())
        if vector is None:
            vector = self._embedder.embed_queries([question.text])[0]
        hits = experiences(store, vector, question.condition, count=count, model_id=self._embedder.model_id)
        return Found(*unproven_apart(hits, question.min_confidence))

    def _answer(self, question: Question, found: Found, session: str | None) -> Recall:
        proven, unproven, warnings = found
        return Recall(
            memories=proven,
            unproven=unproven,
            warnings=warnings,
            query=question.text,
            session=session_name(session) or self._session,
            embedder=self._embedder.name,
            tokens=sum(hit.memory.tokens for hit in (*proven, *unproven)),
            message=_found(len(proven), len(unproven)),
            at=self._clock.now(),
        )

    def _logged(
        self,
        store: Store,
        answer: Recall,
        traced: tuple[Trace, Vector] | None = None,
        *,
        also: Sequence[str] = (),
        usage: bool = True,
        note: Callable[[Transaction], None] | None = None,
    ) -> Recall:
        """Keep what was delivered; a full or read-only disk does not take the answer away, but is said in it.

        Args:
            store: Where it was found.
            answer: What was delivered.
            traced: How an experience search was run, with its query's vector.
            also: Ids of strategies that were shown with it.
            usage: Whether the delivery is evidence: what nobody has searched for is shown without being used.
            note: Keeps how the session met the memories; None for a search of its own.
        """
        from reasoningbank.memories.evidence import count_delivery
        from reasoningbank.memories.exposure import note_search

        own = self._own_part(answer)
        used, shown = (dict.fromkeys([*(hit.id for hit in part.delivered), *also]) for part in (own, answer))
        answer = self._log_wider(answer, usage=usage)
        try:
            with store.transaction() as transaction:
                transaction.log_recall(own)
                if usage:
                    count_delivery(transaction, used, session=answer.session, at=answer.at)
                if traced is not None:
                    transaction.keep_trace(*traced, model_id=self._embedder.model_id)
                if note is not None:
                    note(transaction)
                elif shown:
                    note_search(transaction, answer.session, shown, at=answer.at)
        except (StoreFull, StoreUnavailable, StoreBusy) as error:
            unlogged = f"{_UNLOGGED}: {error}. {error.hint}"
        except MemoryNotFound as error:
            unlogged = f"{_UNLOGGED}: {error} It was deleted meanwhile."
        else:
            return answer
        return replace(answer, warnings=(*answer.warnings, unlogged))

    def _extract_job(self, job: Job) -> None:
        """Extract the strategy of a trace whose outcome is known, unless that was done already."""
        from reasoningbank.sessions.strategies import learn_from_trace

        if self._model is not None:
            learn_from_trace(self._open_store(), self._embedder, self._model, job.key, at=self._clock.now())


def checked_filter(
    outcome: str | None,
    tags: Iterable[str],
    category: str | None,
    states: Sequence[State],
    min_confidence: float | None,
) -> Filter:
    """Return what a list or a count with these arguments looks at.

    Raises:
        InvalidMemory, InvalidOutcome, InvalidConfidence: When an argument is not usable.
    """
    unknown = [state for state in states if state not in STATES]
    if unknown:
        raise InvalidMemory(f"state must be one of {', '.join(STATES)}, not {unknown[0]!r}")
    return Filter(
        outcome=None if outcome is None else check_outcome(outcome),
        tags=clean_tags(tags),
        category=category,
        states=tuple(states),
        min_confidence=None if min_confidence is None else check_confidence(min_confidence),
    )


def checked_question(
    query: str,
    *,
    limit: int = DEFAULT_SEARCH_LIMIT,
    min_confidence: float = MIN_CONFIDENCE,
    outcome: str | None = None,
    tags: Iterable[str] = (),
    category: str | None = None,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    unproven: int = 1,
) -> Question:
    """Return what a search with these arguments asks for; it needs no bank.

    Raises:
        EmptyQuery, NegativeLimit, InvalidConfidence, InvalidOutcome, TextTooLong: When an argument is not usable.
    """
    from reasoningbank.search.recall import Question

    return Question(
        text=usable_query(query),
        condition=Filter(
            outcome=None if outcome is None else check_outcome(outcome),
            tags=clean_tags(tags),
            category=category,
            created_after=created_after,
            created_before=created_before,
        ),
        limit=min(checked_limit(limit), MAX_SEARCH_LIMIT),
        min_confidence=check_confidence(min_confidence),
        unproven=min(checked_limit(unproven), MAX_SEARCH_LIMIT),
    )


def usable_query(query: str) -> str:
    """Return the query on one clean line without secrets."""
    from reasoningbank.safety.text import safe_line

    if len(query) > MAX_QUERY:
        raise TextTooLong(f"the query has {len(query)} characters; the limit is {MAX_QUERY}")
    text = safe_line(query)
    if not text:
        raise EmptyQuery("query cannot be empty")
    return text


def _found(proven: int, unproven: int) -> str:
    if not proven and not unproven:
        return "Nothing relevant is known for this query."
    if not proven:
        return f"Nothing proven is known for this query; {unproven} unproven to test with care."
    extra = f" and {unproven} unproven" if unproven else ""
    return f"{proven} relevant {'memory' if proven == 1 else 'memories'}{extra}."
