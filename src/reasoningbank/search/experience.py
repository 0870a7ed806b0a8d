"""Experience search (seed 002): searches that learn from how earlier, similar searches ended.

The paper embeds the task alone, takes the k most similar earlier tasks (k = 1) and injects everything learned from
them. It has no threshold and injects the nearest task however far it is; here a task below the relevance floor brings
nothing.

In the original the chosen strategy was only named and never applied (spec/memoria_haios 7.2, row H11). Here a plan says
which legs propose memories, how many are shown and which are left out; a trace keeps it as it was applied.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reasoningbank.errors import BudgetExhausted, EmptyContent, InvalidInput, MalformedAnswer, ModelUnavailable
from reasoningbank.memories.exposure import EXTRACT, decide
from reasoningbank.safety.checks import MAX_SESSION, given_name, given_reason
from reasoningbank.safety.stored_text import reveal
from reasoningbank.search.placement import FIRST, shared
from reasoningbank.search.query import DEFAULT_SEARCH_LIMIT, MAX_QUERY, UNLOGGED, checked_question, usable_query
from reasoningbank.storage.store import Store
from reasoningbank.telemetry import observed
from reasoningbank.types.argument import Confidence, Limit, SearchLimit
from reasoningbank.types.belief import DISTILLED_CONFIDENCE, MIN_CONFIDENCE
from reasoningbank.types.content import CONCEPT_KINDS, CONTENT_MODES, Content, ContentMode, Ingested
from reasoningbank.types.experience import (
    KNOWLEDGE_CATEGORIES,
    SEARCH_MODES,
    ExperienceAnswer,
    Reasoning,
    RelevantStrategy,
    SearchMode,
    Strategy,
    Trace,
)
from reasoningbank.types.memory import MAX_TAG, MAX_TAGS, MAX_TITLE, Outcome, check_memory_id
from reasoningbank.types.ports import Vector
from reasoningbank.types.quantity import counted
from reasoningbank.types.recall import CONTENT_LEG, DESCRIPTION_LEG, LEGS, LEXICAL_LEG, TASK_LEG, Filter, Hit
from reasoningbank.types.records import Job, SimilarTraces
from reasoningbank.types.resource import checked
from reasoningbank.types.session import VERDICTS, Verdict
from reasoningbank.types.standing import shown_claim

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.jobs.worker import Handler
    from reasoningbank.search.search import Search

RECOVERED_PER_HIT = 3
"""A session is recovered from so many times as many relevant memories as are shown, the newest of them first."""


def checked_mode(mode: str) -> SearchMode:
    """Return the mode of this name.

    Raises:
        InvalidInput: When there is none.
    """
    for known in SEARCH_MODES:
        if mode == known:
            return known
    raise InvalidInput(f"mode must be one of {', '.join(SEARCH_MODES)}, not {str(mode)[:80]!r}")


def restricted(mode: SearchMode, condition: Filter) -> Filter:
    """Return the condition with what the mode asks for; stores apply it inside every leg."""
    if mode == "session_recovery":
        return replace(condition, consolidated=False)
    if mode == "knowledge_lookup":
        return replace(condition, categories=KNOWLEDGE_CATEGORIES)
    return condition


def room(mode: SearchMode, limit: int) -> int:
    """Return how many relevant memories are looked for, so that the best by the mode's order are among them."""
    return RECOVERED_PER_HIT * limit if mode == "session_recovery" else limit


def ordered(mode: SearchMode, hits: Sequence[Hit], limit: int) -> tuple[Hit, ...]:
    """Return the hits to show, best first; a session that is recovered shows its newest first.

    In that order too the claims of one source leave room for others.
    """
    if mode == "session_recovery":
        newest = sorted(hits, key=lambda hit: (hit.memory.created_at, hit.relevance), reverse=True)
        hits = shared(newest, whole=limit > FIRST)
    return tuple(hits[:limit])


MOST_JUDGED = 10
"""So many similar searches decide how the next one is run (seed 002)."""
_CREDIT: Mapping[Verdict, float] = {"success": 1.0, "partial": 0.5, "failure": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a search is run.

    Attributes:
        name: What the answer calls it.
        legs: The legs that propose memories; the task leg alone means whole experiences.
        limit: Most memories that are shown.
        outcome: Only memories of this outcome; None for both.
    """

    name: str
    legs: tuple[str, ...] = LEGS
    limit: int = 10
    outcome: Outcome | None = None

    @property
    def whole_experiences(self) -> bool:
        """Whether it looks for like tasks and brings everything learned from them."""
        return self.legs == (TASK_LEG,)

    @property
    def details(self) -> dict[str, str]:
        """The parameters as a trace keeps them."""
        return {"legs": ",".join(self.legs), "limit": str(self.limit), "outcome": self.outcome or "any"}


DEFAULT = Plan(name="default_hybrid")
PLANS: tuple[Plan, ...] = (
    DEFAULT,
    Plan(name="similar_tasks", legs=(TASK_LEG,)),
    Plan(name="exact_words", legs=(LEXICAL_LEG,)),
    Plan(name="meaning_only", legs=(CONTENT_LEG, DESCRIPTION_LEG)),
    Plan(name="warnings_only", outcome="failure"),
)
"""The plans in the order in which they are tried: the first that nothing speaks against."""


def choose(similar: Sequence[tuple[Trace, float]], mode: SearchMode = "semantic") -> Plan:
    """Return the plan with the best expected outcome among similar searches; of equals the first.

    Each plan starts at one success in two. A similar search whose outcome is known adds its credit (success 1, partial
    1/2, failure 0), weighted by the cosine of the queries: ``(1 + sum(w c)) / (2 + sum(w))``.

    Args:
        similar: Traces with the cosine of their query and this one, nearest first; the nearest ``MOST_JUDGED`` of this
            mode whose outcome is known count.
        mode: What the search is for; searches of another mode say nothing about it.
    """
    judged = [
        (trace, cosine)
        for trace, cosine in similar
        if trace.outcome in _CREDIT and trace.details.get("mode", "semantic") == mode
    ][:MOST_JUDGED]
    return max(PLANS, key=lambda plan: (expectation(plan, judged), -PLANS.index(plan)))


def expectation(plan: Plan, similar: Sequence[tuple[Trace, float]]) -> float:
    """Return how often the plan is expected to lead to success, from 0 to 1."""
    judged = [
        (max(0.0, cosine), _CREDIT[trace.outcome])
        for trace, cosine in similar
        if trace.approach == plan.name and trace.outcome in _CREDIT
    ]
    return (1.0 + sum(weight * credit for weight, credit in judged)) / (2.0 + sum(weight for weight, _ in judged))


MOST_STRATEGIES = 3
NEIGHBOURS = 200
"""So many of the nearest searches are looked at: those that taught something must not be hidden behind repetitions."""
LEAST_NEARNESS = 0.5
"""A search counts as similar from here: the cosine above the background of unrelated texts, as a share of what is left.

For a model without a background that is a cosine of 0.5; the original had 0.8 and then 0.6 on another model.
"""
LEAST_CONFIDENCE = 0.45
"""A strategy begins at 0.6; below this it is not shown any more.

One unhelpful rating of a person leads to 0.498, which does not hide it; two do (row H13).
"""
NOISE = 2
"""Nor is one that so many more ratings call unhelpful than helpful, however often it was shown meanwhile (row H13)."""


def similar_traces(store: Store, vector: Vector, model_id: str) -> SimilarTraces:
    """Return the similar searches among the nearest ones, nearest first, and the strategies that they taught."""
    from reasoningbank.search.fusion import calibration_of

    background = calibration_of(model_id).background
    least = background + LEAST_NEARNESS * (1.0 - background)
    return store.search.taught(vector, limit=NEIGHBOURS, least=least)


def relevant(similar: SimilarTraces) -> tuple[RelevantStrategy, ...]:
    """Return the distinct strategies that similar searches taught, at most three, the same text only once and no noise.

    Their order is that of nearness times confidence, so that a strategy that was found helpful stands before one that
    was not. Of one source's claims there are at most two while others answer.
    """
    nearest: dict[str, float] = {}
    supported: dict[str, int] = {}
    for trace, cosine in similar.traces:
        for memory_id in dict.fromkeys(trace.strategies):
            nearest.setdefault(memory_id, cosine)
            supported[memory_id] = supported.get(memory_id, 0) + 1
    known = similar.strategies
    noise = {memory_id for memory_id, (_, balance) in known.items() if balance <= -NOISE}
    shown: dict[bytes, Hit] = {}
    for memory_id, cosine in nearest.items():
        if memory_id not in known:
            continue
        memory, _ = known[memory_id]
        if memory.state not in {"active", "candidate"} or memory.confidence < LEAST_CONFIDENCE:
            continue
        shown.setdefault(memory.fingerprint, Hit(memory=memory, relevance=cosine, legs={}))
    best = sorted(shown.values(), key=lambda hit: -hit.relevance * hit.confidence)
    kept = shared([hit for hit in best if hit.id not in noise], MOST_STRATEGIES, whole=False)[:MOST_STRATEGIES]
    return tuple(_strategy(hit, supported[hit.id]) for hit in kept)


def _strategy(hit: Hit, supported: int) -> RelevantStrategy:
    """Return a memory that a similar search taught as it is shown."""
    safe = reveal(hit.memory)
    return RelevantStrategy(
        id=hit.id,
        title=safe.title,
        description=safe.description,
        content=safe.content,
        confidence=hit.confidence,
        similarity=hit.relevance,
        supported=supported,
        standing=hit.standing,
        claim=shown_claim(hit.memory.provenance),
    )


_TITLE = 120


@checked
class Experience:
    """Search with the experience of earlier searches, and read texts into memories (seed 002)."""

    def __init__(self, context: Context, search: Search) -> None:
        self._context = context
        self._search = search

    def search(
        self,
        query: str,
        *,
        limit: SearchLimit | None = None,
        min_confidence: Confidence = MIN_CONFIDENCE,
        tags: Iterable[str] = (),
        session: str | None = None,
        mode: str = "semantic",
    ) -> ExperienceAnswer:
        """Search the way that served similar searches best, and add the strategies that those taught (seed 002).

        The search is kept as a trace of unknown outcome: that something was found is not a success. ``outcome`` for a
        delivered memory in the same session, or ``report``, says how the task ended; then its strategy is
        extracted in the background.

        Args:
            query: The task or problem in words.
            limit: Most proven memories. Left out: as many as the strategy says.
            min_confidence: Proven means at least this.
            tags: Only memories that carry all of these.
            session: What the delivery counts for.
            mode: ``semantic`` looks at everything; ``session_recovery`` leaves out what was made of other memories and
                shows the newest of the relevant ones first; ``knowledge_lookup`` looks only at memories of the
                categories decision, critique, proposal, directive, knowledge and procedure.

        Raises:
            EmptyQuery, NegativeLimit, InvalidConfidence: When an argument is not usable.
            InvalidInput: When there is no such mode.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.memories.admission import has_space, sayable
        from reasoningbank.safety.stored_text import safe_line

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
            has_space(store, self._context.embedder)
            question = self._search.heard(question)
            vector = self._context.embedder.embed_queries([question.text])[0]
            similar = similar_traces(store, vector, self._context.embedder.model_id)
            plan = choose(similar.traces, way)
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
            strategies = relevant(similar)
            answer = self._search.answer(question, found._replace(proven=ordered(way, found.proven, shown)), session)
            applied = {
                "mode": way,
                "limit": str(shown),
                "min_confidence": f"{min_confidence:g}",
                "tags": ",".join(safe_line(tag) for tag in question.condition.tags),
            }
            trace = Trace(
                query=sayable(question.text),
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
                    trace_id="" if any(one.startswith(UNLOGGED) for one in logged.warnings) else trace.id,
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
            InvalidInput: When the outcome is not one of the verdicts, or the details look like a prompt injection.
        """
        if outcome not in VERDICTS:
            raise InvalidInput(f"outcome must be one of {', '.join(VERDICTS)}, not {str(outcome)[:80]!r}")
        reason = given_reason(details[:MAX_QUERY], "a detail", MAX_QUERY)
        with self._context.store().transaction() as transaction:
            trace = transaction.sessions.trace(check_memory_id(trace_id, "trace"))
            return decide(transaction, trace, outcome, reason=reason, at=self._context.clock.now())

    def traces(self, *, limit: Limit = 0) -> tuple[Trace, ...]:
        """Return experience searches as they were run, newest first; limit 0 means all.

        Args:
            limit: Most searches; 0 lists all.
        """
        return tuple(self._context.store().sessions.traces(limit=limit))

    def extract_strategy(
        self, query: str, approach: str, outcome: Verdict, results_summary: str = "", error_details: str = ""
    ) -> Strategy:
        """Return the strategy that one execution taught, as the language model sees it (seed 002); stores nothing.

        Without a usable answer it is the structured default, whose ``extraction_model`` is empty.

        Raises:
            InvalidInput: When the outcome is not one of the verdicts.
        """
        from reasoningbank.safety.secrets import redact
        from reasoningbank.safety.stored_text import MAX_INPUT, safe_line
        from reasoningbank.sessions.strategies import default, extract, question

        if outcome not in VERDICTS:
            raise InvalidInput(f"outcome must be one of {', '.join(VERDICTS)}, not {str(outcome)[:80]!r}")
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
        from reasoningbank.safety.stored_text import safe_line
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
            provenance={
                "source": "ingested",
                "session": self._context.session,
                "origin": given_name(source[:MAX_SESSION], "source", MAX_SESSION),
            },
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

    @staticmethod
    def _safe(text: str) -> str:
        from reasoningbank.safety.stored_text import safe_texts

        return safe_texts("", "", text, (), "").content


class TraceLearner:
    """Extract strategies from searches whose outcome is known, in the background."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def handlers(self) -> Mapping[str, Handler]:
        """Return the function that does each kind of job."""
        return {} if self._context.model is None else {EXTRACT: self._extract_job}

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


def _checked_mode(mode: str) -> ContentMode:
    for known in CONTENT_MODES:
        if mode == known:
            return known
    raise InvalidInput(f"mode must be one of {', '.join(CONTENT_MODES)}, not {str(mode)[:80]!r}")


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
    entities = counted(len(found.entities), "entity", "entities")
    return f"{counted(len(found.concepts), 'concept')} and {entities} were extracted."
