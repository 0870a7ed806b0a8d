"""A bank as it stood at an earlier moment: put together from what it keeps, read and searched, never written.

* **There** is what had been made by then and was not imported later. What was erased since is gone; only how many
  memories that were is known.
* **Text** is the latest version that was written by then.
* **State** is what the first later change says it was before. A bank that is older than its log says since when it is
  sure.
* **Belief** is the prior and the signals given by then. Rolled-up counts have lost their times, but not all of them:
  each of these signals was older than thirty days when it was rolled up, and the newest one's time is kept. At a later
  moment all of them count. Before it, none does, and the answer says how many were left out.
* **Use** is kept as one number, so it is known when the last delivery was before the moment, and else it is not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import NoReturn

from reasoningbank.errors import MemoryNotFound, ReadOnlyBank
from reasoningbank.memories.admission import index
from reasoningbank.memories.evidence import from_text, is_copy, is_nothing, less
from reasoningbank.memories.similarity import cosine_similarity
from reasoningbank.safety.checks import checked_filter
from reasoningbank.search.query import DEFAULT_SEARCH_LIMIT, checked_question
from reasoningbank.storage.store import Store
from reasoningbank.types.argument import Confidence, Limit, Offset, SearchLimit
from reasoningbank.types.belief import MIN_CONFIDENCE, Belief
from reasoningbank.types.consolidation import is_consolidated
from reasoningbank.types.memory import HEARD, SILENCED, STATES, UNDONE, Memory, State, StateChange, check_memory_id
from reasoningbank.types.ports import Embedder, Vector
from reasoningbank.types.quantity import counted
from reasoningbank.types.quarantine import PastMemory
from reasoningbank.types.recall import CONTENT_LEG, DENSE_LEGS, Filter, Hit, Recall
from reasoningbank.types.records import Candidates, LexicalMatches, Pool, WordsWorth
from reasoningbank.types.resource import checked
from reasoningbank.types.scope import Scope
from reasoningbank.types.signal import COUNTERS, RECENT_DAYS, Signal, SignalAggregate

_ALL = Filter(states=STATES)
_MORE_THAN_ANY = 2**31
"""More memories than a bank holds."""


@dataclass(frozen=True, slots=True)
class _Standing:
    """A memory with the text and state of then and the belief of now.

    Attributes:
        later: What its state has been changed to since.
        replaced: True when its text was replaced since.
        signals: What was said of it, as far as it is kept one by one.
        counts: What was rolled up of it; None when nothing was.
    """

    memory: Memory
    later: Sequence[StateChange]
    replaced: bool
    signals: Sequence[Signal]
    counts: SignalAggregate | None


class Then:
    """One bank as it stood at a moment, and what one question asks of it (``engine.recall.Searched``).

    It is put together once, when it is first asked for, with one statement a table however many memories there are.
    So each question has one of its own: what is erased in between is gone in the next one.

    Args:
        store: The bank.
        embedder: Of the bank; texts that were replaced since are embedded anew.
        moment: The moment, not in the future.
        memory_id: The one memory that is asked for; None for all.
    """

    def __init__(self, store: Store, embedder: Embedder, moment: datetime, memory_id: str | None = None) -> None:
        self._store = store
        self._embedder = embedder
        self._memory_id = memory_id
        self._replaced: Mapping[str, Mapping[str, Vector]] | None = None
        self.moment = moment

    @property
    def scope(self) -> Scope:
        """Whose bank it is."""
        return self._store.scope

    @property
    def model_id(self) -> str | None:
        """The vector space of the bank as it is."""
        return self._store.model_id

    @property
    def memories(self) -> Then:
        """Its memories."""
        return self

    @property
    def search(self) -> Then:
        """Its searches."""
        return self

    def notes(self) -> tuple[str, ...]:
        """Return what cannot be known any more of the bank as a whole, one sentence each."""
        notes = []
        erased = sum(each.created_at <= self.moment for each in self._store.memories.erasures(since=self.moment))
        if erased:
            many = counted(erased, "memory that existed then was", "memories that existed then were")
            notes.append(f"{many} erased since and cannot be shown.")
        since = self._logged_since
        if since is not None and self.moment < since:
            notes.append(
                f"Changes of states are logged since {since:%Y-%m-%d %H:%M} UTC; earlier states are not known."
            )
        return tuple(notes)

    def get(self, memory_id: str) -> PastMemory:
        """Return the memory as it was.

        Raises:
            MemoryNotFound: When it is not there, or was not there then.
        """
        standing = self._standings.get(memory_id)
        if standing is None:
            raise MemoryNotFound(f"memory {memory_id[:80]!r} was not in the bank at {self.moment.isoformat()}")
        return self._whole(standing)

    def page(self, condition: Filter) -> list[PastMemory]:
        """Return the memories that met the condition then, oldest first."""
        found = (self._whole(each) for each in self._standings.values() if _accepts(condition, each.memory))
        return [each for each in found if condition.accepts(each.memory)]

    def many(self, memory_ids: Collection[str]) -> Mapping[str, Memory]:
        """Return those of these memories that were there."""
        found = (self._standings[each] for each in memory_ids if each in self._standings)
        return {each.memory.id: self._whole(each).memory for each in found}

    def candidates(
        self, vector: Vector, text: str, pools: Sequence[Pool], function_words: str = ""
    ) -> Sequence[Candidates]:
        """Return what the legs bring for each pool; a text that was replaced since is compared by meaning alone."""
        then, changed = self._standings, self._changed()
        everything = Pool(condition=_ALL, dense=_MORE_THAN_ANY, lexical=_MORE_THAN_ANY)
        (bank,) = self._store.search.candidates(vector, text, [everything], function_words)
        scores = {
            leg: {
                memory_id: score
                for memory_id, score in bank.dense[leg].items()
                if memory_id in then and memory_id not in changed
            }
            | {
                memory_id: cosine_similarity(vectors[leg], vector)
                for memory_id, vectors in changed.items()
                if leg in vectors
            }
            for leg in DENSE_LEGS
        }
        hits = [hit for hit in bank.lexical.hits if hit.id in then and hit.id not in changed]
        words = replace(bank.lexical, hits=tuple(hits))
        vectors = {**bank.vectors, **{each: legs[CONTENT_LEG] for each, legs in changed.items()}}
        return [self._candidates(pool, scores, words, vectors, bank.words_worth) for pool in pools]

    def _candidates(
        self,
        pool: Pool,
        scores: Mapping[str, Mapping[str, float]],
        words: LexicalMatches,
        vectors: Mapping[str, Vector],
        words_worth: WordsWorth,
    ) -> Candidates:
        accepted: dict[str, bool] = {}

        def accepts(memory_id: str) -> bool:
            if memory_id not in accepted:
                standing = self._standings[memory_id]
                accepted[memory_id] = _accepts(pool.condition, standing.memory) and pool.condition.accepts(
                    self._whole(standing).memory
                )
            return accepted[memory_id]

        def best(ordered: Sequence[str], limit: int) -> list[str]:
            kept: list[str] = []
            for memory_id in ordered:
                if len(kept) >= limit:
                    break
                if accepts(memory_id):
                    kept.append(memory_id)
            return kept

        matched = set(best([hit.id for hit in words.hits], pool.lexical))
        found = set(matched)
        for leg in DENSE_LEGS:
            ordered = sorted((-score, memory_id) for memory_id, score in scores[leg].items())
            found.update(best([memory_id for _, memory_id in ordered], pool.dense))
        return Candidates(
            dense={leg: {each: scores[leg][each] for each in found if each in scores[leg]} for leg in DENSE_LEGS},
            lexical=replace(words, hits=tuple(hit for hit in words.hits if hit.id in matched)),
            vectors={each: vectors[each] for each in found if each in vectors},
            words_worth=words_worth,
        )

    def _changed(self) -> Mapping[str, Mapping[str, Vector]]:
        """Return the vectors of the texts that were replaced since."""
        if self._replaced is None:
            replaced = [each.memory for each in self._standings.values() if each.replaced]
            indexed = index(replaced, self._embedder) if replaced else []
            self._replaced = {memory.id: each.vectors for memory, each in zip(replaced, indexed, strict=True)}
        return self._replaced

    @cached_property
    def _standings(self) -> Mapping[str, _Standing]:
        """Every memory that was there, oldest first."""
        tables, one = self._store.memories, self._memory_id
        memories = tables.page(_ALL, limit=0, offset=0) if one is None else [tables.get(one)]
        memories = [memory for memory in memories if memory.created_at <= self.moment]
        changes: dict[str, list[StateChange]] = {}
        for change in tables.changes(memory_id=one, since=self.moment):
            changes.setdefault(change.memory_id, []).append(change)
        edited = [memory.id for memory in memories if memory.version > 1 and memory.updated_at > self.moment]
        kept = tables.revisions_of(edited) if edited else {}
        names = [memory.id for memory in memories]
        signals, counts = self._store.evidence.signals_of(names), self._store.evidence.aggregates_of(names)
        found = {}
        for memory in memories:
            later = changes.get(memory.id, ())
            state, merged = memory.state, memory.consolidation_id
            if later:
                if later[0].before is None:
                    continue
                state, merged = later[0].before, later[0].merged_before
            old = kept.get(memory.id, ())
            text = next((each for each in reversed(old) if each.updated_at <= self.moment), old[0] if old else memory)
            standing = replace(
                text,
                state=state,
                consolidation_id=merged,
                belief=memory.belief,
                usage_count=memory.usage_count,
                last_used=memory.last_used,
            )
            said, rolled = signals.get(memory.id, ()), counts.get(memory.id)
            found[memory.id] = _Standing(standing, later, text is not memory, said, rolled)
        return found

    @cached_property
    def _logged_since(self) -> datetime | None:
        """Since when changes of states are logged; None when they always were."""
        return self._store.memories.changes_since()

    def _whole(self, standing: _Standing) -> PastMemory:
        """Return the memory with the belief of then, and what of it is not known."""
        memory, unknown = standing.memory, list[str]()
        belief = self._belief(standing, unknown)
        used, last = memory.usage_count, memory.last_used
        if last is not None and last > self.moment:
            unknown.append("How often it had been delivered by then is not kept.")
            used, last = 0, None
        if self._logged_since is not None and self.moment < self._logged_since:
            unknown.append("Its state then was not logged.")
        if any(change.kind in {SILENCED, HEARD} for change in standing.later):
            unknown.append("A quarantine has taken votes out of it since, or a release has put them back.")
        unknown += [
            f"What was said of {change.reference} until that was undone at {change.at:%Y-%m-%d %H:%M} UTC is counted "
            "here, at the time it was said."
            for change in standing.later
            if change.kind == UNDONE and change.reference != memory.id
        ]
        return PastMemory(
            memory=replace(memory, belief=belief, usage_count=used, last_used=last), unknown=tuple(unknown)
        )

    def _belief(self, standing: _Standing, unknown: list[str]) -> Belief:
        memory, counts = standing.memory, standing.counts
        belief = Belief(prior=memory.belief.prior, positive=0, negative=0)
        for signal in standing.signals:
            if signal.at <= self.moment:
                belief = belief.with_evidence(positive=signal.positive, weight=signal.weight or 0)
        if counts is None or counts.last_rollup is None:
            return belief
        if self.moment >= _newest(counts):
            return _with(belief, counts)
        if is_consolidated(memory) and "evidence" in memory.provenance:
            nothing = SignalAggregate(memory_id=memory.id, project=memory.project, positive=0, negative=0)
            began = from_text(memory.provenance["evidence"], memory.id, memory.project)
            for signal in standing.signals:
                if is_copy(signal):
                    began = less(began, nothing.add(signal))
            belief = _with(belief, began)
            counts = less(counts, began)
        if not is_nothing(counts):
            number = sum(max(0, int(getattr(counts, name))) for name in COUNTERS)
            unknown.append(
                f"{counted(number, 'signal was', 'signals were')} rolled up into counts since; which of them had been "
                "given by then is not known, and none is counted."
            )
        return belief


def _accepts(condition: Filter, standing: Memory) -> bool:
    """Return whether a memory meets all of a condition that does not depend on its belief."""
    return replace(condition, min_confidence=None, below_confidence=None).accepts(standing)


def _newest(counts: SignalAggregate) -> datetime:
    """Return the latest time that any of the rolled-up signals can have."""
    assert counts.last_rollup is not None
    cutoff = counts.last_rollup - timedelta(days=RECENT_DAYS)
    known = [moment for moment in (counts.last_activity, counts.last_disuse) if moment is not None]
    return min(cutoff, max(known)) if known else cutoff


def _with(belief: Belief, counts: SignalAggregate) -> Belief:
    return Belief(
        prior=belief.prior,
        positive=belief.positive + (counts.positive or 0),
        negative=belief.negative + (counts.negative or 0),
    )


@checked
class Past:
    """Read a bank as it stood at an earlier moment; ``Bank.at`` gives it.

    Memories have the text, state, belief and evidence of the moment. What cannot be known any more is named: in
    ``notes`` for the bank as a whole, in ``PastMemory.unknown`` for one memory, in ``Recall.warnings`` for a search.
    The view reads the bank behind it, so it shows less when something is erased, and ends when the bank is closed.
    """

    def __init__(self, store: Store, embedder: Embedder, moment: datetime, *, session: str) -> None:
        self._moment = moment
        self._store = store
        self._embedder = embedder
        self._session = session

    @property
    def moment(self) -> datetime:
        """The moment whose state is shown."""
        return self._moment

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what of the bank as a whole cannot be known any more, one sentence each."""
        return self._then().notes()

    def get(self, memory_id: str) -> PastMemory:
        """Return one memory as it was, secrets removed once more.

        Raises:
            MemoryNotFound: When this project has no such memory, or had none then.
        """
        return _revealed(self._then(check_memory_id(memory_id)).get(memory_id))

    def list(
        self,
        *,
        limit: Limit = 0,
        offset: Offset = 0,
        outcome: str | None = None,
        tags: Iterable[str] = (),
        category: str | None = None,
        states: Sequence[State] = STATES,
        min_confidence: Confidence | None = None,
    ) -> tuple[PastMemory, ...]:
        """Return memories as they were, in the order they were recorded; limit 0 means all.

        Raises:
            NegativeLimit, NegativeOffset: When they are below zero.
        """
        page = self._then().page(checked_filter(outcome, tags, category, states, min_confidence))
        return tuple(map(_revealed, page[offset : offset + limit] if limit else page[offset:]))

    def count(
        self,
        *,
        outcome: str | None = None,
        tags: Iterable[str] = (),
        category: str | None = None,
        states: Sequence[State] = STATES,
        min_confidence: Confidence | None = None,
    ) -> int:
        """Return how many memories there were, archived ones included."""
        return len(self._then().page(checked_filter(outcome, tags, category, states, min_confidence)))

    def search(
        self,
        query: str,
        *,
        limit: SearchLimit = DEFAULT_SEARCH_LIMIT,
        min_confidence: Confidence = MIN_CONFIDENCE,
        outcome: str | None = None,
        tags: Iterable[str] = (),
        category: str | None = None,
        created_after: datetime | str | None = None,
        created_before: datetime | str | None = None,
        unproven: SearchLimit | None = None,
    ) -> Recall:
        """Return what the same search would have found then, ranked as searches are ranked today; nothing is logged.

        Unproven memories are the most relevant ones and not drawn by lot, so that the same question has one answer. A
        text that was replaced since is compared by meaning alone, not by its words.

        Raises:
            EmptyQuery, NegativeLimit, InvalidConfidence, InvalidOutcome: When an argument is not usable.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.memories.admission import check_space
        from reasoningbank.search.recall import UNPROVEN_BEST, UNPROVEN_DRAWN, answers, find, heard, revealed, unlike

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
        then = self._then()
        proven: list[Hit] = []
        pool: list[Hit] = []
        if check_space(self._store, self._embedder):
            question = heard(then, self._embedder, replace(question, weak=True))
            vector = self._embedder.embed_queries([question.text])[0]
            proven, pool, *_ = find(then, self._embedder.model_id, question, vector)
        most = UNPROVEN_DRAWN if answers(proven) else UNPROVEN_BEST
        most = most if question.unproven is None else question.unproven
        drawn = [replace(hit, unproven=True) for hit in unlike(pool, proven)[:most]]
        shown = [*proven, *drawn]
        unknown = [f"{hit.id}: {said}" for hit in shown for said in then.get(hit.id).unknown]
        return Recall(
            memories=tuple(map(revealed, proven)),
            unproven=tuple(map(revealed, drawn)),
            query=question.text,
            session=self._session,
            embedder=self._embedder.name,
            tokens=sum(hit.memory.tokens for hit in shown),
            message=f"{len(proven)} proven and {len(drawn)} unproven as of {self.moment.isoformat()}.",
            warnings=(*then.notes(), *unknown),
            at=self.moment,
        )

    def _then(self, memory_id: str | None = None) -> Then:
        """Return what one question is asked of."""
        return Then(self._store, self._embedder, self._moment, memory_id)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise ReadOnlyBank(
            f"the bank as it stood at {self.moment.isoformat()} can be read with get, list, count and search; "
            f"{name[:80]} is not a verb of it"
        )


def _revealed(past: PastMemory) -> PastMemory:
    """Return the memory as it may leave: its texts checked for secrets once more."""
    from reasoningbank.safety.stored_text import reveal

    return replace(past, memory=reveal(past.memory))
