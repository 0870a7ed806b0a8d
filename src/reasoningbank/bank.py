"""The Bank: the one service that every surface calls, and the verbs about single memories."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from reasoningbank.context import checked_limit, checked_offset, session_name
from reasoningbank.conversations.steps import Workflowing
from reasoningbank.curation.curation import Curating, Tending
from reasoningbank.curation.held import Guarding
from reasoningbank.curation.worth import Proving
from reasoningbank.documents.resource import Filing
from reasoningbank.errors import InvalidInput, MissingTenantError
from reasoningbank.graph.graph import Citing, Exploring, Graphing, Reminding
from reasoningbank.graph.lessons import Lessoning
from reasoningbank.memories.admission import Origin
from reasoningbank.search.briefings import Briefing
from reasoningbank.search.searches import DEFAULT_SEARCH_LIMIT as DEFAULT_SEARCH_LIMIT
from reasoningbank.search.searches import checked_filter
from reasoningbank.settings import Settings, load_settings, project_of
from reasoningbank.sharing.sharing import Sharing
from reasoningbank.storage.store import Transaction
from reasoningbank.telemetry import observed
from reasoningbank.types.belief import EXPLICIT_RECORD_CONFIDENCE, MIN_CONFIDENCE, check_confidence
from reasoningbank.types.memory import (
    EDITED,
    OUTCOMES,
    STATES,
    Cause,
    Event,
    Memory,
    OutcomeReport,
    Rating,
    State,
    Stats,
    check_outcome,
)
from reasoningbank.types.ports import Clock, Embedder, LanguageModel
from reasoningbank.types.recall import Filter
from reasoningbank.types.scope import Membership, Scope
from reasoningbank.types.signal import SIGNAL_TYPES, Rater

if TYPE_CHECKING:
    from reasoningbank.types.ports import Vector

_UPDATE_ATTEMPTS = 5


class Bank(
    Curating,
    Workflowing,
    Briefing,
    Proving,
    Filing,
    Tending,
    Guarding,
    Sharing,
    Reminding,
    Citing,
    Graphing,
    Exploring,
    Lessoning,
):
    """The memory of one tenant's project. Thread-safe; use it as a context manager or close it.

    Example:
        with Bank.open(tenant="acme", project="shop") as bank:
            memory = bank.record(title="Retry flaky calls", content="Back off, then retry.", outcome="success")
            recall = bank.search("a network call fails now and then")
            bank.feedback(memory.id, helpful=True)
    """

    @classmethod
    def open(
        cls,
        url: str | None = None,
        *,
        tenant: str | None = None,
        project: str | None = None,
        team: str | None = None,
        org: str | None = None,
        embedder: str | Embedder | None = None,
        model: str | LanguageModel | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        chance: random.Random | None = None,
        session: str | None = None,
    ) -> Self:
        """Open the bank of a tenant's project, made when it does not exist; load no model.

        Args:
            url: Where banks live; None for one file per project below the data directory.
            tenant: The owner; None takes REASONINGBANK_TENANT.
            project: The project; None derives it from the working directory.
            team: The team it belongs to, whose memories searches find too; None takes the configured one, empty none.
            org: The org it belongs to, likewise.
            embedder: An embedder or the name of one; None takes the configured one.
            model: A language model or the name of one, to judge and distill; None takes the configured one, if any.
            settings: Instead of the environment and the settings file.
            clock: Instead of the real time, for tests.
            chance: Source of randomness of the unproven draw.
            session: What searches and ratings count for; None makes a name.

        Raises:
            MissingTenantError: When no tenant is known: nothing runs without one.
            ConfigurationError: When a setting, the URL or the embedder's name is not usable.
            StoreError: When the place cannot be used.
        """
        from reasoningbank.embedding import open_embedder
        from reasoningbank.storage import open_storage

        settings = settings or load_settings()
        owner = settings.tenant if tenant is None else tenant
        if not owner.strip():
            raise MissingTenantError("no tenant: every operation belongs to one tenant")
        name = (settings.project or project_of(Path.cwd())) if project is None else project
        if embedder is None or isinstance(embedder, str):
            embedder = open_embedder(
                embedder or settings.embedder,
                cache=settings.home / "models",
                url=settings.embedder_url or None,
                key=settings.embedder_key or None,
                dimension=settings.embedder_dimension or None,
                timeout=settings.embedder_timeout,
            )
        if model is None or isinstance(model, str):
            from reasoningbank.llm import open_model

            model = open_model(
                settings.llm if model is None else model,
                url=settings.llm_url,
                key=settings.llm_key,
                timeout=settings.llm_timeout,
                daily_tokens=settings.llm_daily_tokens,
                output_tokens=settings.llm_output_tokens,
                paid_calls=settings.paid_calls,
                home=settings.home,
            )
        return cls(
            open_storage(url if url is not None else settings.url or None, home=settings.home),
            Scope(tenant=owner, project=name),
            embedder,
            settings=settings,
            clock=clock,
            chance=chance,
            session=session,
            model=model,
            membership=Membership(
                team=settings.team if team is None else team, org=settings.org if org is None else org
            ),
        )

    def record(
        self,
        *,
        title: str,
        content: str,
        outcome: str,
        description: str = "",
        tags: Iterable[str] = (),
        category: str = "",
        confidence: float = EXPLICIT_RECORD_CONFIDENCE,
        session: str | None = None,
        source: str = "api",
        vouched: bool = False,
    ) -> Memory:
        """Store a strategy (outcome success) or an anti-pattern (failure); it can be found at once.

        Secrets are replaced and invisible characters removed before anything is stored. A text that orders its reader
        about is kept aside in quarantine with the reason in its provenance, unless a person vouches for it.

        Returns:
            The memory as it was stored, at exactly the given confidence; one that was kept aside at most at 0.6.

        Raises:
            InvalidMemory: When a rule of the memory is broken; the subclass names it.
            StoreFull: When there is no space; nothing was stored.
        """
        from reasoningbank.memories.admission import AGENT_SOURCES, admit, prepare

        origin: Origin = "agent" if source in AGENT_SOURCES and not vouched else "person"
        with observed("create_memory", store=self._place()):
            memory = self._new(
                origin=origin,
                title=title,
                content=content,
                outcome=check_outcome(outcome),
                description=description,
                tags=tuple(tags),
                category=category,
                confidence=check_confidence(confidence),
                provenance={"source": source, "session": session_name(session) or self._session},
            )
            (ready,) = prepare([memory], self._embedder, origin=origin, vouched=vouched)
            with self._open_store().transaction() as transaction:
                memory = admit(transaction, ready, at=memory.created_at)
            self._keep_up()
            return memory

    def get(self, memory_id: str) -> Memory:
        """Return the memory of an id, secrets removed once more.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
        """
        from reasoningbank.safety.text import reveal

        return reveal(self._owner(memory_id).get(memory_id))

    def list(
        self,
        *,
        limit: int = 0,
        offset: int = 0,
        outcome: str | None = None,
        tags: Iterable[str] = (),
        category: str | None = None,
        states: Sequence[State] = STATES,
        min_confidence: float | None = None,
    ) -> tuple[Memory, ...]:
        """Return memories in the order they were recorded, archived ones included; limit 0 means all.

        Raises:
            NegativeLimit, NegativeOffset: When they are below zero.
        """
        from reasoningbank.safety.text import reveal

        condition = checked_filter(outcome, tags, category, states, min_confidence)
        page = self._open_store().page(condition, limit=checked_limit(limit), offset=checked_offset(offset))
        return tuple(reveal(memory) for memory in page)

    def update(
        self,
        memory_id: str,
        *,
        title: str | None = None,
        content: str | None = None,
        description: str | None = None,
        outcome: str | None = None,
        tags: Iterable[str] | None = None,
        category: str | None = None,
        state: State | None = None,
    ) -> Memory:
        """Change a memory; what is None stays. The earlier version is kept, its evidence stays with it.

        Out of quarantine leads only ``release``.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
            InvalidMemory: When the changed memory breaks a rule, or is in quarantine and would leave it; nothing was
                changed.
        """
        from reasoningbank.memories.admission import clean, edit, prepare_edit

        with observed("update_memory", store=self._place()):
            store = self._owner(memory_id)
            for _ in range(_UPDATE_ATTEMPTS):
                old = store.get(memory_id)
                new = clean(
                    replace(
                        old,
                        title=old.title if title is None else title,
                        content=old.content if content is None else content,
                        description=old.description if description is None else description,
                        outcome=old.outcome if outcome is None else check_outcome(outcome),
                        tags=old.tags if tags is None else tuple(tags),
                        category=old.category if category is None else category,
                        state=old.state if state is None else state,
                    )
                )
                if new == old:
                    return old
                at = self._clock.now()
                ready = prepare_edit(old, new, self._embedder, at=at)
                cause = Cause(at=at, kind=EDITED, by=self._session)
                with store.transaction() as transaction:
                    edited = edit(transaction, ready, state=state, cause=cause)
                if edited is not None:
                    return edited
            raise InvalidInput(f"memory {memory_id[:80]!r} is being edited by others", hint="Try again.")

    def delete(self, memory_id: str) -> None:
        """Erase a memory, its words, vectors, evidence and earlier versions from the bank's files.

        Backups and exports made before still hold it.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
        """
        with observed("delete_memory", store=self._place()):
            store = self._owner(memory_id)
            with store.transaction() as transaction:
                transaction.delete(memory_id, at=self._clock.now())

    def feedback(self, memory_id: str, *, helpful: bool, session: str | None = None, rater: Rater = "human") -> Rating:
        """Rate a memory; helpful never lowers its confidence and unhelpful never raises it.

        A human's ratings all count; an agent's once per memory and session.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
        """
        from reasoningbank.memories.evidence import rate

        at = self._clock.now()

        def write(transaction: Transaction, place: str) -> Rating:
            return rate(transaction, memory_id, helpful=helpful, session=place, rater=rater, at=at)

        with observed("feedback_memory", store=self._place()):
            return self._written(memory_id, session_name(session) or self._session, write)

    def outcome(
        self, memory_id: str, *, succeeded: bool, session: str | None = None, rater: Rater = "human"
    ) -> OutcomeReport:
        """Report how a task ended that used a memory: once per memory and session, without a session every time.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
        """
        from reasoningbank.memories.evidence import report_outcome
        from reasoningbank.memories.exposure import note_memories
        from reasoningbank.search.experience import decide_served

        at = self._clock.now()

        def write(transaction: Transaction, place: str) -> OutcomeReport:
            return report_outcome(transaction, memory_id, succeeded=succeeded, session=place, rater=rater, at=at)

        def note(transaction: Transaction, place: str) -> None:
            decide_served(transaction, memory_id, session=place, succeeded=succeeded, at=at)
            note_memories(transaction, place, {memory_id: succeeded})

        with observed("outcome_memory", store=self._place()):
            return self._written(memory_id, session_name(session), write, note)

    def count(
        self,
        *,
        outcome: str | None = None,
        tags: Iterable[str] = (),
        category: str | None = None,
        states: Sequence[State] = STATES,
        min_confidence: float | None = None,
    ) -> int:
        """Return how many memories there are, archived ones included."""
        return self._open_store().count(checked_filter(outcome, tags, category, states, min_confidence))

    def stats(self) -> Stats:
        """Count, learned weights and what searches cost."""
        store = self._open_store()
        recallable = store.count(Filter())
        proven = store.count(Filter(min_confidence=MIN_CONFIDENCE))
        weights = store.weights()
        served = [log for log in store.recalls(limit=100) if log.entries]
        return Stats(
            tenant=self._scope.tenant,
            project=self._scope.project,
            memories=store.count(Filter(states=STATES)),
            by_state={state: store.count(Filter(states=(state,))) for state in STATES},
            by_outcome={outcome: store.count(Filter(states=STATES, outcome=outcome)) for outcome in OUTCOMES},
            proven=proven,
            unproven=recallable - proven,
            weights={name: weights.weight_for(name) for name in SIGNAL_TYPES},
            recalls=len(served),
            mean_recall_tokens=sum(log.tokens for log in served) / len(served) if served else 0.0,
            last_confidence=self._last_confidence,
            embedder=self._embedder.name,
            model_id=store.model_id or "",
        )

    def history(self, memory_id: str) -> tuple[Event, ...]:
        """Return everything that happened to a memory, oldest first, each with the confidence that followed.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
        """
        from reasoningbank.memories.history import history

        return history(self._owner(memory_id), memory_id)

    def vector(self, memory_id: str, *, leg: str = "content") -> Vector | None:
        """Return the stored vector of a memory in a dense leg (seed 004 ``GetMemoryVector``).

        None when it has none there.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
        """
        return self._owner(memory_id).vector(leg, memory_id)
