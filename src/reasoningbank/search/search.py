"""Search the scopes of a bank, and log what is delivered; a search never fails because of its log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from reasoningbank.errors import (
    MemoryNotFound,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from reasoningbank.safety.checks import session_name
from reasoningbank.search.query import UNLOGGED, checked_question
from reasoningbank.search.reranker import Reranking
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.telemetry import observed
from reasoningbank.types.argument import MAX_SEARCH_LIMIT
from reasoningbank.types.experience import Trace
from reasoningbank.types.memory import Memory, OutcomeReport
from reasoningbank.types.ports import Vector
from reasoningbank.types.quantity import counted
from reasoningbank.types.recall import CONTENT_LEG, Filter, Hit, Recall, SessionCredit
from reasoningbank.types.scope import LEVELS, Level
from reasoningbank.types.session import SessionEnd
from reasoningbank.types.uplift import Exposure

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.search.cascade import Found
    from reasoningbank.search.recall import Question

By = Literal["memory", "experience", "lesson"]


NOT_ASKED = "No proven memory was asked for."
"""The message when nothing was looked for: that nothing is known would be another answer."""


class Search:
    """Search the scopes of a bank, and log what is delivered; a search never fails because of its log."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._reranking = Reranking(context.reranker)

    def wider_stores(self) -> tuple[list[Store], tuple[str, ...]]:
        """Return the banks of the team and the org that exist, and why others cannot be looked at.

        Asking makes none.
        """
        stores: list[Store] = []
        warnings: list[str] = []
        for scope in self._context.wider:
            try:
                if LEVELS.index(scope.level) > LEVELS.index(self._context.scope.level) and self._context.storage.has(
                    scope
                ):
                    stores.append(self._context.neighbour(scope))
            except StoreError as error:
                warnings.append(f"The {scope.shown} cannot be opened: {error} {error.hint}")
        return stores, tuple(warnings)

    def near(self, store: Store, question: Question, vector: Vector | None = None) -> Found:
        """Return what the question finds in this bank and in those of its team and org, by the reranker if any."""
        found = self._found(store, self._reranking.widened(question), vector)
        proven, warnings = self._reranking.ordered(question.text, found.proven, question.limit)
        return found._replace(proven=proven, warnings=(*found.warnings, *warnings))

    def _found(self, store: Store, question: Question, vector: Vector | None) -> Found:
        from reasoningbank.search.cascade import Found, cascade
        from reasoningbank.search.recall import recall

        wider, warnings = self.wider_stores()
        if not wider:
            proven, drawn, vectors, said = recall(
                store, self._context.embedder, question, self._context.chance, vector=vector
            )
            known = {(store.scope.level, name): each for name, each in vectors.items()}
            return Found(proven, drawn, (*warnings, *said), vectors=known)
        found = cascade([store, *wider], self._context.embedder, question, self._context.chance, vector=vector)
        return found._replace(warnings=(*warnings, *found.warnings))

    def best_known(self, store: Store, condition: Filter, limit: int) -> Found:
        """Return the best proven memories of this bank and of its team's and org's, when no task is known."""
        from reasoningbank.search.cascade import Found, best_known
        from reasoningbank.search.proven import proven

        wider, warnings = self.wider_stores()
        if not wider:
            return Found(proven(store, condition)[:limit], (), warnings)
        found = best_known([store, *wider], self._context.embedder.model_id, condition, limit)
        return found._replace(warnings=(*warnings, *found.warnings))

    def vectors_of(self, hits: Sequence[Hit], known: Mapping[tuple[Level, str], Vector]) -> Mapping[str, Vector]:
        """Return the vectors of the hits' titles and contents that have one, each from the bank that it comes from.

        Args:
            hits: The hits.
            known: The vectors that were read already, by scope and id.
        """
        own = self._context.scope.level
        vectors = {hit.id: known[hit.scope, hit.id] for hit in hits if (hit.scope, hit.id) in known}
        unknown = [hit for hit in hits if hit.id not in vectors]
        stores = [self._context.store()]
        if any(hit.scope != own for hit in unknown):
            stores += self.wider_stores()[0]
        for store in stores:
            if ids := [hit.id for hit in unknown if hit.scope == store.scope.level]:
                vectors.update(store.search.vectors(CONTENT_LEG, ids))
        return vectors

    def shown_wider(self, session: str) -> Mapping[str, float]:
        """Return ids of what the team and the org have shown this session, each with the best relevance that it had."""
        if not self._context.wider:
            return {}
        from reasoningbank.search.cascade import shown_in

        found: dict[str, float] = {}
        for store in self.wider_stores()[0]:
            found |= shown_in(store, session, self._context.scope)
        return found

    def known_wider(self, memory_ids: Sequence[str]) -> list[Memory]:
        """Return those of these memories that the team and the org hold."""
        if not memory_ids:
            return []
        return [memory for store in self.wider_stores()[0] for memory in store.memories.many(memory_ids).values()]

    def credit_wider(
        self,
        session: str,
        end: SessionEnd,
        *,
        own: Mapping[str, bool],
        at: datetime,
        shared_by: int,
        unmet: Collection[str] = (),
    ) -> list[OutcomeReport]:
        """Report how the session ended for what the team and the org have shown it."""
        from reasoningbank.search.cascade import credit

        stores, _ = self.wider_stores()
        origin = self._context.scope
        return [
            report
            for store in stores
            for report in credit(store, session, origin, end, own=own, at=at, shared_by=shared_by, unmet=unmet)
        ]

    def counted_wider(self, session: str) -> list[SessionCredit]:
        """Return what the session's end counts now for what the team and the org have shown it and fitted."""
        if not self._context.wider:
            return []
        from reasoningbank.search.cascade import credits_in

        origin = self._context.scope
        return [each for store in self.wider_stores()[0] for each in credits_in(store, session, origin)]

    def heard(self, question: Question) -> Question:
        """Return the question that is asked in a long query: the passage that this bank speaks for."""
        if not question.passages:
            return question
        from reasoningbank.memories.admission import has_space
        from reasoningbank.search.recall import heard

        store, embedder = self._context.store(), self._context.embedder
        return heard(store, embedder, question) if has_space(store, embedder) else question

    def search_for(
        self, task: str, *, limit: int, session: str | None, withhold: Callable[[Memory], bool] | None = None
    ) -> Recall:
        """Return a search whose withheld memories are neither delivered nor counted as used."""
        from reasoningbank.search.cascade import Found
        from reasoningbank.search.recall import UNPROVEN_POOL, offered

        question = self.heard(checked_question(task, limit=limit))
        if withhold is not None:
            question = replace(question, limit=MAX_SEARCH_LIMIT, unproven=UNPROVEN_POOL)

        def find(store: Store) -> Found:
            proven, unproven, warnings, *_ = self.near(store, question)
            if withhold is not None:
                proven = tuple(hit for hit in proven if not withhold(hit.memory))
                pool = sorted(unproven, key=lambda hit: -hit.relevance)
                allowed = [hit for hit in pool if not withhold(hit.memory)]
                unproven = tuple(offered(proven[:limit], allowed, None, self._context.chance))
            return Found(proven[:limit], unproven, warnings)

        return self.delivered(question, session, find)

    def delivered(
        self, question: Question, session: str | None, find: Callable[[Store], Found], *, logged: bool = True
    ) -> Recall:
        """Search, and log what is delivered, unless it is delivered to nobody."""
        with observed("search_memory", store=self._context.place) as observation:
            store = self._context.store()
            answer = self.answer(question, find(store), session)
            if not logged:
                return answer
            observation.delivered(len(answer.delivered))
            self._context.last_confidence = answer.memories[0].confidence if answer.memories else 0.0
            return self.logged(store, answer)

    def by_task(self, store: Store, question: Question, count: int, vector: Vector | None = None) -> Found:
        """Return whole experiences of this project whose tasks are like the query, the unproven items apart.

        Where several experiences answer, the claims of one source leave room for others among the first five.
        """
        from reasoningbank.memories.admission import has_space
        from reasoningbank.search.cascade import Found
        from reasoningbank.search.placement import FIRST, shared
        from reasoningbank.search.similar_tasks import experiences, unproven_apart

        if not has_space(store, self._context.embedder):
            return Found((), ())
        if vector is None:
            vector = self._context.embedder.embed_queries([question.text])[0]
        hits = experiences(store, vector, question.condition, count=count, model_id=self._context.embedder.model_id)
        proven, unproven = unproven_apart(hits, question.min_confidence)
        return Found(tuple(shared(proven)), tuple(shared(unproven, before=proven[:FIRST])))

    def answer(self, question: Question, found: Found, session: str | None) -> Recall:
        """Return what was found as a Recall."""
        proven, unproven, warnings, message, _ = found
        return Recall(
            memories=proven,
            unproven=unproven,
            warnings=warnings,
            query=question.text,
            session=session_name(session) or self._context.session,
            embedder=self._context.embedder.name,
            tokens=sum(hit.memory.tokens for hit in (*proven, *unproven)),
            message=message or _found(question, proven, unproven),
            at=self._context.clock.now(),
        )

    def logged(
        self,
        store: Store,
        answer: Recall,
        traced: tuple[Trace, Vector] | None = None,
        *,
        also: Sequence[str] = (),
        usage: bool = True,
        note: Callable[[Transaction, Exposure | None, Collection[str]], None] | None = None,
    ) -> Recall:
        """Keep what was delivered; a full or read-only disk does not take the answer away, but is said in it.

        Args:
            store: Where it was found.
            answer: What was delivered.
            traced: How an experience search was run, with its query's vector.
            also: Ids of strategies that were shown with it.
            usage: Whether the delivery is counted: what nobody has searched for is shown without being used.
            note: Keeps how the session met the memories, given its exposure among these ids; None for a search of its
                own.
        """
        from reasoningbank.memories.evidence import count_delivery
        from reasoningbank.memories.exposure import note_search
        from reasoningbank.memories.standing import said_in

        own = self._own_part(answer)
        used = dict.fromkeys([*(hit.id for hit in own.delivered), *also])
        answer = self._log_wider(answer, usage=usage)

        def write(transaction: Transaction) -> None:
            deliveries = transaction.deliveries
            place = said_in(transaction, answer.session)
            known: Exposure | None = None
            memories: Mapping[str, Memory] = {}
            if used or note is not None:
                known, memories = deliveries.exposure_among(place, used)
            if usage:
                count_delivery(transaction, memories.values(), at=answer.at)
            deliveries.log_recall(replace(own, session=place))
            if traced is not None:
                transaction.sessions.keep_trace(*traced, model_id=self._context.embedder.model_id)
            if note is not None and place == answer.session:
                note(transaction, known, used)
            elif used:
                note_search(transaction, known or Exposure(session=place, at=answer.at), used, among=used)

        try:
            store.write_together(write)
        except (StoreFull, StoreUnavailable, StoreBusy) as error:
            unlogged = f"{UNLOGGED}: {error}. {error.hint}"
        except MemoryNotFound as error:
            unlogged = f"{UNLOGGED}: {error} It was deleted meanwhile."
        else:
            return answer
        return replace(answer, warnings=(*answer.warnings, unlogged))

    def _own_part(self, answer: Recall) -> Recall:
        """Return the answer with what this bank itself has delivered."""
        if not self._context.wider:
            return answer
        from reasoningbank.search.cascade import of_level

        return of_level(answer, self._context.scope.level)

    def _log_wider(self, answer: Recall, *, usage: bool) -> Recall:
        """Log what the team and the org have delivered where it lives; what could not be logged is said in it."""
        if not self._context.wider or all(hit.scope == self._context.scope.level for hit in answer.delivered):
            return answer
        from reasoningbank.search.cascade import log_wider

        stores, _ = self.wider_stores()
        warnings = log_wider(stores, answer, self._context.scope, usage=usage)
        return replace(answer, warnings=(*answer.warnings, *warnings))


def _found(question: Question, proven: Sequence[Hit], unproven: Sequence[Hit]) -> str:
    if question.limit == 0 and not proven:
        return f"No proven memory was asked for; {len(unproven)} unproven to test with care." if unproven else NOT_ASKED
    if not proven and not unproven:
        return "Nothing relevant is known for this query."
    if all(hit.fit == "weak" for hit in (*proven, *unproven)):
        weak = counted(len(proven) + len(unproven), "weak hit", "weak hits")
        return f"Nothing that fits this query well is known; {weak} to judge with care."
    if not proven:
        return f"Nothing proven is known for this query; {len(unproven)} unproven to test with care."
    extra = f" and {len(unproven)} unproven" if unproven else ""
    return f"{counted(len(proven), 'relevant memory', 'relevant memories')}{extra}."
