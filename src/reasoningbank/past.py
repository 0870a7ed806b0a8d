"""A project's bank as it stood at an earlier moment: it can be read and searched, and nothing can be written to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, NoReturn

from reasoningbank.context import checked_limit, checked_offset
from reasoningbank.errors import ReadOnlyBank
from reasoningbank.search.searches import DEFAULT_SEARCH_LIMIT, checked_filter, checked_question
from reasoningbank.types.belief import MIN_CONFIDENCE
from reasoningbank.types.memory import STATES, State, check_memory_id
from reasoningbank.types.quarantine import PastMemory
from reasoningbank.types.recall import Hit, Recall

if TYPE_CHECKING:
    from reasoningbank.curation.snapshot import Then
    from reasoningbank.storage.store import Store
    from reasoningbank.types.ports import Embedder


class Past:
    """What ``Bank.as_of`` gives.

    Memories have the text, state, belief and evidence of the moment. What cannot be known any more is named: in
    ``notes`` for the bank as a whole, in ``PastMemory.unknown`` for one memory, in ``Recall.warnings`` for a search.
    The view reads the bank behind it, so it shows less when something is erased, and ends when the bank is closed.
    """

    def __init__(self, store: Store, embedder: Embedder, moment: datetime, *, session: str) -> None:
        from reasoningbank.curation.snapshot import Then

        self._then: Then = Then(store, embedder, moment)
        self._store = store
        self._embedder = embedder
        self._session = session

    @property
    def moment(self) -> datetime:
        """The moment whose state is shown."""
        return self._then.moment

    @property
    def notes(self) -> tuple[str, ...]:
        """What of the bank as a whole cannot be known any more, one sentence each."""
        return self._then.notes()

    def get(self, memory_id: str) -> PastMemory:
        """Return one memory as it was, secrets removed once more.

        Raises:
            MemoryNotFound: When this project has no such memory, or had none then.
        """
        return _revealed(self._then.get(check_memory_id(memory_id)))

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
    ) -> tuple[PastMemory, ...]:
        """Return memories as they were, in the order they were recorded; limit 0 means all.

        Raises:
            NegativeLimit, NegativeOffset: When they are below zero.
        """
        first, most = checked_offset(offset), checked_limit(limit)
        page = self._then.page(checked_filter(outcome, tags, category, states, min_confidence))
        return tuple(map(_revealed, page[first : first + most] if most else page[first:]))

    def count(
        self,
        *,
        outcome: str | None = None,
        tags: Iterable[str] = (),
        category: str | None = None,
        states: Sequence[State] = STATES,
        min_confidence: float | None = None,
    ) -> int:
        """Return how many memories there were, archived ones included."""
        return len(self._then.page(checked_filter(outcome, tags, category, states, min_confidence)))

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
    ) -> Recall:
        """Return what the same search would have found then, ranked as searches are ranked today; nothing is logged.

        The unproven memory is the most relevant one and not drawn by lot, so that the same question has one answer. A
        text that was replaced since is compared by meaning alone, not by its words.

        Raises:
            EmptyQuery, NegativeLimit, InvalidConfidence, InvalidOutcome: When an argument is not usable.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.memories.vectors import check_space
        from reasoningbank.search.recall import find, revealed, unlike

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
        proven: list[Hit] = []
        pool: list[Hit] = []
        if check_space(self._store, self._embedder):
            vector = self._embedder.embed_queries([question.text])[0]
            proven, pool = find(self._then, self._embedder.model_id, question, vector)
        drawn = [replace(hit, unproven=True) for hit in unlike(pool, proven)[: question.unproven]]
        shown = [*proven, *drawn]
        unknown = [f"{hit.id}: {said}" for hit in shown for said in self._then.get(hit.id).unknown]
        return Recall(
            memories=tuple(map(revealed, proven)),
            unproven=tuple(map(revealed, drawn)),
            query=question.text,
            session=self._session,
            embedder=self._embedder.name,
            tokens=sum(hit.memory.tokens for hit in shown),
            message=f"{len(proven)} proven and {len(drawn)} unproven as of {self.moment.isoformat()}.",
            warnings=(*self.notes, *unknown),
            at=self.moment,
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise ReadOnlyBank(
            f"the bank as it stood at {self.moment.isoformat()} can be read with get, list, count and search; "
            f"{name[:80]} is no verb of it"
        )


def _revealed(past: PastMemory) -> PastMemory:
    """Return the memory as it may leave: its texts checked for secrets once more."""
    from reasoningbank.safety.text import reveal

    return replace(past, memory=reveal(past.memory))
