"""Briefings: which memories an agent is shown within a token budget, and the log of that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from reasoningbank.errors import StoreBusy, StoreFull, StoreUnavailable
from reasoningbank.llm.token_count import count_tokens
from reasoningbank.memories.similarity import cosine_similarity, is_near, shares_words
from reasoningbank.memories.words import terms
from reasoningbank.safety.quotation import fitting
from reasoningbank.search.placement import FIRST, Voice, in_places, is_copy, voice_of
from reasoningbank.search.proven import POOL
from reasoningbank.search.query import checked_question
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.belief import MIN_CONFIDENCE
from reasoningbank.types.memory import Memory, check_outcome
from reasoningbank.types.ports import Vector
from reasoningbank.types.quantity import counted
from reasoningbank.types.recall import HELD_OUT, Brief, BriefItem, Filter, Hit, LeftOut, Recall
from reasoningbank.types.session import RECIPE
from reasoningbank.types.uplift import Exposure

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.search.cascade import Found
    from reasoningbank.search.search import Search


_OF_AN_ERROR = frozenset(("fix", "dead-end"))
"""Categories of what belongs to one error."""


def in_order(proven: Sequence[Hit], unproven: Sequence[Hit], question: str = "") -> tuple[Hit, ...]:
    """Return what a briefing may show, in the order in which it is fitted into the budget.

    Unproven hits lead where nothing proven answers, or nothing as well; else they follow the best proven one, so that
    a long list does not take their place. A claim that copies the question leads no list that holds what is no claim.
    """
    from reasoningbank.search.recall import answers, outranked

    first = 1 if answers(proven) and not outranked(proven, unproven) else 0
    if any(hit.standing != "claim" for hit in proven[:1]):
        first = max(first, any(hit.standing == "claim" and is_copy(hit.memory, question) for hit in unproven))
    return (*proven[:first], *unproven, *proven[first:])


def is_recipe(memory: Memory) -> bool:
    """Return whether a memory was made of an error in a session, also consolidated or brought from elsewhere.

    What a person wrote or vouched for is none, whatever its category.
    """
    own = memory.provenance.get("source") == RECIPE
    return own or (memory.category in _OF_AN_ERROR and memory.standing != "vouched")


def choose(
    vectors_of: Callable[[Sequence[Hit]], Mapping[str, Vector]],
    items: Sequence[BriefItem],
    *,
    model_id: str,
    budget: int,
    limit: int,
    moment: datetime,
    shown_before: Collection[str] = (),
    words_first: bool = False,
) -> Brief:
    """Take from the items, best first, what is new, different from what was taken, and fits.

    Of one source at most two claims are among the first five that are shown while others answer. So who has that many
    gives way before near-duplicates are told apart, and again when what does not fit has made room.

    Args:
        vectors_of: The vectors of titles and contents that have one.
        items: What may be shown, best first.
        model_id: The vector space of the near-duplicates' thresholds.
        budget: Most tokens of the text.
        limit: Most items.
        moment: When it is read.
        shown_before: Ids that are not shown again.
        words_first: Compare words before vectors. Then vectors are read, and numpy is imported, only where two items
            share most of their words; where nothing was searched for, neither has been done yet.
    """
    left_out: list[LeftOut] = []
    taken: list[BriefItem] = []
    rivals = [voice_of(item.hit) for item in items]
    vectors = cache(lambda: vectors_of([item.hit for item in items if item.hit.id not in shown_before]))
    terms_of = cache(lambda text: frozenset(terms(text))) if words_first else None

    def take(item: BriefItem) -> None:
        known = next((one.hit.id for one in taken if _alike(item.hit, one.hit, vectors, model_id, terms_of)), None)
        if known is None:
            taken.append(item)
        else:
            left_out.append(LeftOut(id=item.hit.id, reason=f"near-duplicate of {known}"))

    for item in items:
        left_out += [LeftOut(id=twin, reason=f"same text as {item.hit.id}") for twin in item.hit.duplicates]
    fresh = [item for item in items if item.hit.id not in shown_before]
    left_out += [
        LeftOut(id=item.hit.id, reason="shown before in this session") for item in items if item.hit.id in shown_before
    ]
    waiting: list[BriefItem] = []
    for item in fresh:
        if _crowding([*taken, item], rivals) is item:
            waiting.append(item)
        else:
            take(item)
    if len(taken) < FIRST:
        left_out += [LeftOut(id=item.hit.id, reason=_OTHERS) for item in waiting]
    else:
        for item in waiting:
            take(item)
    shown, passed, text = fitting(taken[:limit], moment, budget)
    while (over := _crowding(shown, rivals)) is not None:
        taken.remove(over)
        left_out.append(LeftOut(id=over.hit.id, reason=_OTHERS))
        shown, passed, text = fitting(taken[:limit], moment, budget)
    left_out += [LeftOut(id=item.hit.id, reason="limit") for item in taken[limit:]]
    left_out += [LeftOut(id=item.hit.id, reason="budget") for item in passed]
    return Brief(
        text=text,
        tokens=count_tokens(text),
        items=tuple(shown),
        left_out=tuple(left_out),
        message=_said(len(shown), len(left_out)),
    )


def _crowding(shown: Sequence[BriefItem], rivals: Sequence[Voice]) -> BriefItem | None:
    """Return the first item that its source has too many of among the first places; None when there is none.

    Args:
        shown: In the order in which they are shown.
        rivals: Who has an answer, shown or not.
    """
    first = shown[:FIRST]
    kept = in_places([voice_of(item.hit) for item in first], FIRST + 1, whole=False, others=rivals)
    return next((item for place, item in enumerate(first) if place not in kept), None)


def _alike(
    new: Hit,
    known: Hit,
    vectors: Callable[[], Mapping[str, Vector]],
    model_id: str,
    terms_of: Callable[[str], Collection[str]] | None,
) -> bool:
    """Return whether either of the two says what the other says; their words are compared first where asked for."""
    pairs = ((new.memory, known.memory), (known.memory, new.memory))
    if terms_of is not None and not any(shares_words(*pair, terms_of) for pair in pairs):
        return False
    one, other = vectors().get(new.id), vectors().get(known.id)
    cosine = 0.0 if one is None or other is None else cosine_similarity(one, other)
    return any(is_near(*pair, cosine, model_id) for pair in pairs)


def _said(shown: int, left_out: int) -> str:
    if not shown and not left_out:
        return "Nothing known is worth showing here."
    more = f"; {left_out} left out" if left_out else ""
    return f"{counted(shown, 'memory', 'memories')} shown{more}."


DEFAULT_BUDGET = 500
"""Tokens of a briefing that names no budget."""
DEFAULT_ITEMS = 10
"""Most memories of a briefing."""
_OTHERS = "other sources answer too"
_NOTHING_HERE = "Nothing is shown in this session."


class Seen(NamedTuple):
    """Hold what a session has seen.

    Attributes:
        exposure: What it was shown or kept from; None when it has met nothing.
        shown: Ids of what it was shown, each with the best relevance that it had.
    """

    exposure: Exposure | None
    shown: Mapping[str, float]

    def before_the_task(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the hits that the session was shown before it had a task: they fit it without being shown again."""
        from reasoningbank.memories.credit import fitting

        for_task = frozenset(fitting(self.shown))
        return tuple(hit for hit in hits if hit.id in self.shown and hit.id not in for_task)


class Briefings:
    """Choose and log what a briefing shows."""

    def __init__(self, context: Context, search: Search) -> None:
        self._context = context
        self._search = search

    def considered(self, store: Store, task: str | None, outcome: str | None) -> tuple[str, Found]:
        """Return the query as it is logged, and what may be shown, best first."""
        if task is None:
            kind = None if outcome is None else check_outcome(outcome)
            return "", self._search.best_known(store, Filter(outcome=kind, min_confidence=MIN_CONFIDENCE), POOL)
        from reasoningbank.search.fusion import FLOOR

        question = self._search.heard(replace(checked_question(task, limit=POOL, outcome=outcome), tail=FLOOR))
        return question.text, self._search.near(store, question)

    def seen(self, store: Store, session: str) -> Seen:
        """Return what this session has seen of this bank and of its team's and org's; each is read once."""
        exposure, shown = store.deliveries.exposure_and_shown(session)
        return Seen(exposure, {**shown, **self._search.shown_wider(session)})

    def kept(
        self, store: Store, brief: Brief, query: str, fitting: Sequence[Hit] = (), seen: Seen | None = None
    ) -> Brief:
        """Return the brief, logged as a delivery when it shows anything; empty when the session is held out.

        Args:
            store: The project's.
            brief: What is shown.
            query: The task as it is logged.
            fitting: What the session has seen already and fits the task too: logged with it, so that it is credited.
            seen: What the session has seen, where that was read already.
        """
        if not brief.items and not fitting:
            return brief
        at = self._context.clock.now()
        exposure = store.deliveries.exposure(brief.session) if seen is None else seen.exposure
        if self._drawn(exposure, brief, at).held_out:
            return self._withheld(store, brief, at)
        hits = [*(item.hit for item in brief.items), *fitting]
        logged = self._search.logged(
            store,
            Recall(
                memories=tuple(hit for hit in hits if not hit.unproven),
                unproven=tuple(hit for hit in hits if hit.unproven),
                query=query,
                session=brief.session,
                embedder=self._context.embedder.name,
                tokens=brief.tokens,
                message=brief.message,
                warnings=brief.warnings,
                at=at,
            ),
            usage=bool(query),
            note=partial(self._note_injection, brief=brief, at=at),
        )
        return replace(brief, warnings=logged.warnings)

    def _withheld(self, store: Store, brief: Brief, at: datetime) -> Brief:
        """Return nothing, with what would have been shown as left out; a full disk does not make it something."""
        left_out = [LeftOut(id=item.hit.id, reason=HELD_OUT) for item in brief.items]
        empty = Brief(session=brief.session, left_out=(*left_out, *brief.left_out), message=_NOTHING_HERE)
        try:
            with store.transaction() as transaction:
                known = transaction.deliveries.exposure(brief.session)
                self._note_injection(transaction, known, None, brief=brief, at=at)
        except (StoreFull, StoreUnavailable, StoreBusy) as error:
            return replace(empty, warnings=(f"What was withheld was not noted: {error}. {error.hint}",))
        return empty

    def _drawn(self, known: Exposure | None, brief: Brief, at: datetime) -> Exposure:
        from reasoningbank.memories.exposure import drawn

        return drawn(known, self._context.scope, brief.session, share=self._context.settings.holdout, at=at)

    def _note_injection(
        self,
        transaction: Transaction,
        known: Exposure | None,
        among: Collection[str] | None,
        *,
        brief: Brief,
        at: datetime,
    ) -> None:
        from reasoningbank.memories.exposure import note_injection

        own = self._context.scope.level
        shown = [item.hit.id for item in brief.items if not self._context.wider or item.scope == own]
        note_injection(transaction, self._drawn(known, brief, at), shown, tokens=brief.tokens, among=among)
