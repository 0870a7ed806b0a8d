"""Search with the experience of earlier searches, and read texts into memories (seed 002)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from reasoningbank.context import checked_limit, session_name
from reasoningbank.errors import (
    BudgetExhausted,
    EmptyContent,
    InvalidInput,
    MalformedAnswer,
    ModelUnavailable,
)
from reasoningbank.search.searches import (
    _UNLOGGED,
    DEFAULT_SEARCH_LIMIT,
    MAX_QUERY,
    checked_question,
    usable_query,
)
from reasoningbank.telemetry import observed
from reasoningbank.types.belief import DISTILLED_CONFIDENCE, MIN_CONFIDENCE
from reasoningbank.types.content import CONCEPT_KINDS, CONTENT_MODES, Content, ContentMode, Ingested
from reasoningbank.types.experience import ExperienceAnswer, Reasoning, Strategy, Trace
from reasoningbank.types.memory import (
    MAX_TAG,
    MAX_TAGS,
    MAX_TITLE,
    Outcome,
    check_memory_id,
)
from reasoningbank.types.records import Job
from reasoningbank.types.session import VERDICTS, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reasoningbank.context import Context
    from reasoningbank.jobs.worker import Handler
    from reasoningbank.search.searches import Search

_TITLE = 120


class Experience:
    """Search with the experience of earlier searches, and read texts into memories (seed 002)."""

    def __init__(self, context: Context, search: Search) -> None:
        self._context = context
        self._search = search

    def search(
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
        with observed("search_memory", store=self._context.place) as observation:
            store = self._context.store()
            question = checked_question(
                query,
                limit=DEFAULT_SEARCH_LIMIT if limit is None else limit,
                min_confidence=min_confidence,
                tags=tags,
            )
            check_space(store, self._context.embedder)
            vector = self._context.embedder.embed_queries([question.text])[0]
            similar = similar_traces(store, vector, self._context.embedder.model_id)
            plan = choose(similar, way)
            shown = question.limit if limit is not None else plan.limit
            question = replace(
                question,
                legs=plan.legs,
                condition=restricted(way, replace(question.condition, outcome=plan.outcome)),
                limit=room(way, shown),
            )
            if plan.whole_experiences:
                found = self._search.by_task(store, question, 1, vector)
            else:
                found = self._search.near(store, question, vector)
            strategies = relevant(store, similar)
            answer = self._search.answer(question, found._replace(proven=ordered(way, found.proven, shown)), session)
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
            logged = self._search.logged(store, answer, (trace, vector), also=[one.id for one in strategies])
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

    def report(self, trace_id: str, outcome: Verdict, *, details: str = "") -> Trace:
        """Say how the task ended that a search was for; what was said before is replaced.

        Args:
            trace_id: The search.
            outcome: How the task ended.
            details: What went wrong, or what helped.

        Raises:
            TrajectoryNotFound: When this project has no such trace.
            InvalidInput: When the outcome is not one of the verdicts.
        """
        from reasoningbank.safety.text import safe_line
        from reasoningbank.search.experience import decide

        if outcome not in VERDICTS:
            raise InvalidInput(f"an outcome is one of {', '.join(VERDICTS)}, not {str(outcome)[:80]!r}")
        reason = safe_line(details[:MAX_QUERY])
        with self._context.store().transaction() as transaction:
            trace = transaction.sessions.trace(check_memory_id(trace_id))
            return decide(transaction, trace, outcome, reason=reason, at=self._context.clock.now())

    def traces(self, *, limit: int = 0) -> tuple[Trace, ...]:
        """Return experience searches as they were run, newest first; limit 0 means all.

        Args:
            limit: Most searches; 0 lists all.
        """
        return tuple(self._context.store().sessions.traces(limit=checked_limit(limit)))

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
        if self._context.model is None:
            return default(text, way, outcome)
        summary, errors = (redact(part[:MAX_INPUT]).text[:MAX_QUERY] for part in (results_summary, error_details))
        try:
            found = extract(question(text, way, outcome, summary, errors), self._context.model)
        except (ModelUnavailable, BudgetExhausted, MalformedAnswer):
            found = None
        return found or default(text, way, outcome)

    def extract_content(self, text: str, mode: str = "full") -> Content:
        """Return entities and concepts of a text, word for word and with their places; stores nothing.

        The language model marks them when there is one and it answers; else rules do, and the answer says so.

        Args:
            text: Any text; secrets in it are replaced before anything reads it.
            mode: ``full``, ``entities_only`` or ``concepts_only``.

        Raises:
            InvalidInput: When there is no such mode.
            TextTooLong: When the text has more than a million characters.
        """
        from reasoningbank.safety.text import safe_line
        from reasoningbank.search.entities import by_model, by_rules

        wanted = _checked_mode(mode)
        safe = self._safe(text)
        if self._context.model is None or not safe:
            return by_rules(safe, wanted)
        try:
            return by_model(safe, wanted, self._context.model)
        except (ModelUnavailable, BudgetExhausted, MalformedAnswer) as error:
            found = by_rules(safe, wanted)
            said = f"Rules were used, the language model gave no answer: {safe_line(error.message)}. {found.message}"
            return Content(text=safe, entities=found.entities, concepts=found.concepts, message=said.strip())

    def ingest(self, content: str, source: str = "") -> Ingested:
        """Keep a raw lesson as a memory of confidence 0.6, tagged with what it names and claims.

        It is read by rules, so that nothing waits for a model. The same text a second time adds nothing.

        Args:
            content: The lesson, at most 20,000 characters; secrets are replaced.
            source: Where it comes from, for example a file's name.

        Raises:
            EmptyContent: When the text says nothing.
            TextTooLong: When it is longer than a memory may be.
        """
        from reasoningbank.memories.admission import admit, draft, prepare
        from reasoningbank.search.entities import by_rules

        found = by_rules(self._safe(content))
        if not found.text:
            raise EmptyContent("memory content cannot be empty")
        kinds = [span.kind for span in (*found.concepts, *found.entities)]
        names = [span.text.casefold() for span in found.entities if len(span.text) <= MAX_TAG]
        outcome: Outcome = "failure" if "AntiPattern" in kinds or set(kinds) == {"Critique"} else "success"
        tags = dict.fromkeys([*(kind.lower() for kind in kinds), *names])
        memory = draft(
            project=self._context.scope.project,
            at=self._context.clock.now(),
            origin="agent",
            title=_title(found.text),
            content=found.text,
            outcome=outcome,
            description="",
            tags=tuple(tags)[:MAX_TAGS],
            category=_category(found),
            confidence=DISTILLED_CONFIDENCE,
            provenance={"source": "ingested", "session": self._context.session, "origin": session_name(source[:500])},
        )
        (ready,) = prepare([replace(memory, state="candidate")], self._context.embedder, origin="agent")
        memory = ready.memory
        with self._context.store().transaction() as transaction:
            known = [transaction.memories.get(one) for one in transaction.memories.same_text(memory.fingerprint)]
            if not known:
                memory = admit(transaction, ready, at=memory.created_at)
        said = "It was known already." if known else "It is stored."
        return Ingested(
            memory=known[0] if known else memory,
            content=found,
            known=bool(known),
            message=f"{said} {found.message or _counted(found)}",
        )

    def handlers(self) -> Mapping[str, Handler]:
        """Return what does each kind of job of this resource."""
        from reasoningbank.search.experience import EXTRACT

        return {} if self._context.model is None else {EXTRACT: self._extract_job}

    def queue_due(self) -> None:
        """Do nothing: a strategy is queued when the outcome of its search is known."""

    def _extract_job(self, job: Job) -> None:
        """Extract the strategy of a trace whose outcome is known, unless that was done already."""
        from reasoningbank.sessions.strategies import learn_from_trace

        if self._context.model is not None:
            learn_from_trace(
                self._context.store(),
                self._context.embedder,
                self._context.model,
                job.key,
                at=self._context.clock.now(),
            )

    @staticmethod
    def _safe(text: str) -> str:
        from reasoningbank.safety.text import safe_texts

        return safe_texts("", "", text, (), "").content


def _checked_mode(mode: str) -> ContentMode:
    for known in CONTENT_MODES:
        if mode == known:
            return known
    raise InvalidInput(f"a mode is one of {', '.join(CONTENT_MODES)}, not {str(mode)[:80]!r}")


def _category(found: Content) -> str:
    """Return the kind of its most valuable concept."""
    kinds = {span.kind for span in found.concepts}
    return next((kind.lower() for kind in CONCEPT_KINDS if kind in kinds), "")


def _title(text: str) -> str:
    """Return its first line, cut at a word."""
    line = next(line for line in text.splitlines() if line.strip()).strip().lstrip("#*->").strip() or text.strip()
    if len(line) <= _TITLE:
        return line[:MAX_TITLE]
    return line[: _TITLE - 1].rsplit(" ", 1)[0] + "\u2026"


def _counted(found: Content) -> str:
    return f"{len(found.concepts)} concepts and {len(found.entities)} entities were extracted."
