"""SQLite and a naive model in lock-step: the same random operations must give the same answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test

from promises import promise
from reasoningbank.errors import BankError
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.belief import Belief
from reasoningbank.types.memory import OUTCOMES, STATES, Memory
from reasoningbank.types.recall import DENSE_LEGS, Filter, Hit, Leg, Recall
from reasoningbank.types.records import Given, Indexed, Job, LexicalMatches, Link, Pool, WeightChange
from reasoningbank.types.signal import EVIDENCE_TYPES, ProjectWeights, Signal, SignalAggregate, SignalType
from storage.contract.base import EVERYTHING, SCOPE, START, vector
from storage.contract.search import composed
from storage.two_stores import TwoStores

NAMES = tuple(f"m{number}" for number in range(8))
WORDS = ("kiwi", "lamp", "brick", "zebra", "quartz")
TAGS = ("a", "A", "b%", "ü")
CLOSE = 1e-4
_LONG_AGO = datetime(1990, 1, 1, tzinfo=UTC)

names = st.sampled_from(NAMES)
sessions = st.sampled_from(("", "s1", "s2"))
texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
moments = st.integers(-60, 60).map(lambda days: START + timedelta(days=days))
# Coordinates whose products are exact in single precision, so that equal scores are equal in every store.
directions = st.one_of(
    st.tuples(st.integers(0, 3), st.sampled_from((-1.0, 1.0))).map(
        lambda pair: tuple(pair[1] if axis == pair[0] else 0.0 for axis in range(4))
    ),
    st.tuples(*[st.sampled_from((-0.5, 0.5))] * 4),
)
IDLE = ((70, None), (70, 0.7), (10, None), (-10, None))
"""Until when, in days from the start, and below which confidence; states change at the real time, which is later."""
beliefs = st.builds(
    lambda confidence, positive, negative: replace(
        Belief.starting_at(confidence), positive=positive * 411_764_706, negative=negative * 294_117_647
    ),
    st.sampled_from((0.0, 0.5, 0.6, 0.8, 1.0)),
    st.integers(0, 4),
    st.integers(0, 4),
)
filters = st.builds(
    Filter,
    outcome=st.none() | st.sampled_from(OUTCOMES),
    tags=st.lists(st.sampled_from(TAGS), max_size=2).map(tuple),
    states=st.just(("active", "candidate"))
    | st.lists(st.sampled_from(STATES), max_size=3).map(tuple)
    | st.just(STATES),
    category=st.none() | st.sampled_from(("", "debug")),
    min_confidence=st.none() | st.sampled_from((0.5, 0.6, 0.7, 0.8)),
    below_confidence=st.none() | st.sampled_from((0.6, 0.7, 0.8)),
    created_after=st.none() | moments,
    created_before=st.none() | moments,
)
derived = st.builds(
    lambda text, content, description: Indexed(
        text=text,
        model_id="lattice/4",
        vectors={
            leg: vector(*numbers)
            for leg, numbers in zip(DENSE_LEGS, (content, description), strict=True)
            if numbers is not None
        },
    ),
    texts,
    directions,
    st.none() | directions,
)


@st.composite
def memories(draw: st.DrawFn, name: st.SearchStrategy[str] = names) -> Memory:
    """A memory with every field at random."""
    return Memory(
        id=draw(name),
        project=SCOPE.project,
        title=draw(st.sampled_from(("Same title", "Same, title!", "Another"))),
        description=draw(st.sampled_from(("", "When"))),
        content=draw(st.sampled_from(("c", "C", "\x00 \U0001f9e0\r\n"))),
        outcome=draw(st.sampled_from(OUTCOMES)),
        tags=draw(st.lists(st.sampled_from(TAGS), max_size=3, unique=True).map(tuple)),
        category=draw(st.sampled_from(("", "debug"))),
        state=draw(st.sampled_from(STATES)),
        belief=draw(beliefs),
        usage_count=draw(st.integers(0, 9)),
        provenance=draw(st.dictionaries(st.sampled_from(("surface", "session")), st.text("ab'\"", max_size=3))),
        consolidation_id=draw(st.none() | names),
        created_at=draw(moments),
        updated_at=draw(moments),
        last_used=draw(st.none() | moments),
    )


class Lockstep(TwoStores):
    """Everything about memories."""

    def known(self) -> list[str]:
        """Ids of the memories that exist."""
        return [memory.id for memory in self.model.page(EVERYTHING, limit=0, offset=0)]

    # Memories

    @rule(memory=memories(), derived=derived)
    def insert(self, memory: Memory, derived: Indexed) -> None:
        self.write(lambda transaction: transaction.memories.insert(memory, derived))

    @rule(memory=memories(), derived=derived)
    def insert_another(self, memory: Memory, derived: Indexed) -> None:
        free = [name for name in NAMES if name not in self.known()]
        if free:
            self.write(lambda transaction: transaction.memories.insert(replace(memory, id=free[0]), derived))

    @rule(memory=memories(), derived=st.none() | derived, revision=st.booleans())
    def update(self, memory: Memory, derived: Indexed | None, revision: bool) -> None:
        def action(transaction: Transaction) -> None:
            version = transaction.memories.get(memory.id).version + revision
            transaction.memories.update(replace(memory, version=version), derived, revision=revision)

        self.write(action)

    @rule(memory=memories(), other_tags=st.booleans())
    def change_state(self, memory: Memory, other_tags: bool) -> None:
        def action(transaction: Transaction) -> None:
            stored = transaction.memories.get(memory.id)
            tags = memory.tags if other_tags else stored.tags
            transaction.memories.update_state(replace(stored, state=memory.state, tags=tags))

        self.write(action)

    @rule(name=names)
    def delete(self, name: str) -> None:
        self.write(lambda transaction: transaction.memories.delete(name))

    @rule(memory=memories(), derived=derived, model=st.sampled_from(("lattice/4", "other/4")), width=st.integers(3, 5))
    def offer_other_vectors(self, memory: Memory, derived: Indexed, model: str, width: int) -> None:
        stored = self.model.nearest(DENSE_LEGS[0], vector(1, 0, 0, 0), EVERYTHING, 1)
        if not stored or (model, width) == ("lattice/4", 4):
            return
        offered = replace(derived, model_id=model, vectors=dict.fromkeys(DENSE_LEGS, vector(*[1.0] * width)))
        if memory.id in self.known():
            self.write(lambda transaction: transaction.memories.update(memory, offered))
        else:
            self.write(lambda transaction: transaction.memories.insert(memory, offered))

    @rule()
    def forget_vectors(self) -> None:
        self.write(lambda transaction: transaction.forget_vectors())

    # Evidence

    @rule(
        name=names,
        kind=st.sampled_from(EVIDENCE_TYPES),
        positive=st.booleans(),
        session=sessions,
        at=moments,
        weight=st.integers(0, 10**9),
        once=st.booleans(),
    )
    def add_signal(
        self, name: str, kind: str, positive: bool, session: str, at: datetime, weight: int, once: bool
    ) -> None:
        signal = Signal(
            memory_id=name,
            project=SCOPE.project,
            type=next(each for each in EVIDENCE_TYPES if each == kind),
            positive=positive and kind != "disuse",
            session=session,
            at=at,
            weight=weight,
        )
        self.write(lambda transaction: transaction.evidence.add_signal(signal, once=once))

    @rule(
        name=names,
        counts=st.lists(st.integers(0, 9), min_size=11, max_size=11),
        at=moments,
        active=st.none() | moments,
        disused=st.none() | moments,
    )
    def set_aggregate(
        self, name: str, counts: list[int], at: datetime, active: datetime | None, disused: datetime | None
    ) -> None:
        aggregate = SignalAggregate(
            memory_id=name,
            project=SCOPE.project,
            explicit_positive=counts[0],
            explicit_negative=counts[1],
            usage_positive=counts[2],
            usage_negative=counts[3],
            outcome_positive=counts[4],
            outcome_negative=counts[5],
            positive=counts[6],
            negative=counts[7],
            stability_positive=counts[8],
            stability_negative=counts[9],
            disuse_negative=counts[10],
            last_rollup=at,
            last_activity=active,
            last_disuse=disused,
        )
        self.write(lambda transaction: transaction.evidence.set_aggregate(aggregate))

    @rule(cutoff=moments, at=moments)
    def roll_up(self, cutoff: datetime, at: datetime) -> None:
        self.write(lambda transaction: transaction.evidence.roll_up(cutoff, at))

    @rule(alpha=st.floats(0.1, 99.0), at=moments)
    def set_weights(self, alpha: float, at: datetime) -> None:
        change = WeightChange(
            at=at, weights=ProjectWeights(project=SCOPE.project, usage_alpha=alpha), signal_id=f"s{alpha}"
        )
        self.write(lambda transaction: transaction.evidence.set_weights(change))

    # Deliveries, relations, jobs

    @rule(delivered=st.lists(memories(), max_size=3, unique_by=lambda memory: memory.id), at=moments)
    def log_recall(self, delivered: list[Memory], at: datetime) -> None:
        hits = tuple(
            Hit(
                memory=memory, relevance=0.1 * rank, legs={"content": Leg(rank=rank, score=1 / rank)}, unproven=rank > 2
            )
            for rank, memory in enumerate(delivered, start=1)
        )
        recall = Recall(memories=hits[:2], unproven=hits[2:], query="q'", session="s", tokens=5, at=at)
        self.write(lambda transaction: transaction.deliveries.log_recall(recall))

    @rule(delivered=st.lists(names, max_size=3, unique=True), session=sessions, weight=st.integers(0, 9), at=moments)
    def deliver(self, delivered: list[str], session: str, weight: int, at: datetime) -> None:
        """Counts several memories as used, as a search does, all of them or none."""

        def action(transaction: Transaction) -> dict[str, int]:
            with transaction.whole():
                known = transaction.memories.many(delivered)
                fresh = [
                    one
                    for one in delivered
                    if transaction.evidence.add_signal(
                        Signal(
                            id=f"{one} {session} {at}",
                            memory_id=one,
                            project=SCOPE.project,
                            type="usage",
                            positive=True,
                            session=session,
                            at=at,
                            weight=weight,
                        ),
                        once=True,
                    )
                ]
                after = {one: replace(known[one], usage_count=known[one].usage_count + 1) for one in fresh}
                transaction.memories.update_states([(known[one], after[one]) for one in fresh])
                return {one: len(voices.signals) for one, voices in transaction.evidence.voices(delivered).items()}

        self.write(action)

    @rule(memory_id=names, kind=st.sampled_from(("usage", "outcome")), session=sessions)
    def take_back(self, memory_id: str, kind: SignalType, session: str) -> None:
        """Takes back a signal that counts once, rolled up or not, so that another may count."""

        def action(transaction: Transaction) -> tuple[Given, bool] | None:
            known = transaction.evidence.given(memory_id, kind, session)
            return None if known is None else (known, transaction.evidence.take_back(memory_id, known))

        self.write(action)

    @rule(start=names, end=names, kind=st.sampled_from(("merged", "supports")))
    def link(self, start: str, end: str, kind: str) -> None:
        self.write(lambda transaction: transaction.memories.link(Link(source=start, target=end, kind=kind)))

    @rule(kind=st.sampled_from(("decay", "distil")), key=names, due=moments, payload=st.dictionaries(names, sessions))
    def enqueue(self, kind: str, key: str, due: datetime, payload: dict[str, str]) -> None:
        self.write(lambda transaction: transaction.jobs.enqueue(Job(kind=kind, key=key, due=due, payload=payload)))

    @rule(kind=st.sampled_from(("decay", "distil")), key=names)
    def finish(self, kind: str, key: str) -> None:
        self.write(lambda transaction: transaction.jobs.finish(Job(kind=kind, key=key, due=START)))

    # What goes wrong, and what comes back

    @rule(memory=memories(), derived=derived, name=names)
    def fail(self, memory: Memory, derived: Indexed, name: str) -> None:
        def action(transaction: Transaction) -> None:
            transaction.memories.insert(memory, derived)
            transaction.memories.link(Link(source=memory.id, target=name, kind="never"))
            transaction.evidence.roll_up(START, START)
            transaction.memories.delete(name)

        self.write(action, interrupted=True)

    @rule(memory=memories(), derived=derived, name=names)
    def go_on_after_a_refused_write(self, memory: Memory, derived: Indexed, name: str) -> None:
        def action(transaction: Transaction) -> list[type[BankError]]:
            refused = []
            broken = replace(derived, vectors={DENSE_LEGS[0]: vector(float("nan"), 0, 0, 0)})
            attempts: tuple[Callable[[], None], ...] = (
                lambda: transaction.memories.insert(memory, broken),
                lambda: transaction.memories.update(replace(memory, version=99), broken, revision=True),
                lambda: transaction.memories.insert(memory, derived),
                lambda: transaction.memories.delete(name),
            )
            for attempt in attempts:
                try:
                    attempt()
                except BankError as error:
                    refused.append(type(error))
            return refused

        self.write(action)

    @rule(everybody=st.booleans())
    def reopen(self, everybody: bool) -> None:
        self.subject.close()
        if everybody:
            self.watcher.close()
            self.watcher = self.files.open(SCOPE)
        self.subject = self.files.open(SCOPE)

    @rule()
    def save(self) -> None:
        self.save_both()

    @precondition(lambda self: self.saved)
    @rule()
    def restore(self) -> None:
        self.restore_both()

    # What is compared

    @rule(
        condition=filters,
        direction=directions,
        query=texts,
        limit=st.integers(0, 9),
        offset=st.integers(0, 9),
        watched=st.booleans(),
    )
    def search(
        self, condition: Filter, direction: tuple[float, ...], query: str, limit: int, offset: int, watched: bool
    ) -> None:
        subject = self.watcher if watched else self.subject
        aim = vector(*direction)
        assert subject.memories.count(condition) == self.model.count(condition)
        page = list(subject.memories.page(condition, limit=limit, offset=offset))
        assert page == list(self.model.page(condition, limit=limit, offset=offset))
        for leg in DENSE_LEGS:
            assert list(subject.search.nearest(leg, aim, condition, limit)) == list(
                self.model.nearest(leg, aim, condition, limit)
            )
        _same_matches(
            subject.search.matching(query, condition, limit),
            self.model.matching(query, condition, limit),
            self.model.matching(query, condition, 99),
        )
        pool = Pool(condition=condition, dense=limit, lexical=limit)
        for store in (subject, self.model.as_store):
            assert list(store.search.candidates(aim, query, [pool])) == [composed(store, aim, query, pool)]

    @invariant()
    def everything_that_can_be_read_is_the_same(self) -> None:
        assert _readable(self.subject) == _readable(self.model.as_store)

    @invariant()
    def the_other_handle_sees_it_too(self) -> None:
        aim = vector(0.5, 0.5, 0.5, 0.5)
        for leg in DENSE_LEGS:
            expected = self.model.nearest(leg, aim, EVERYTHING, 99)
            assert list(self.watcher.search.nearest(leg, aim, EVERYTHING, 99)) == list(expected)
        query = " ".join(WORDS)
        expected_matches = self.model.matching(query, EVERYTHING, 99)
        _same_matches(self.watcher.search.matching(query, EVERYTHING, 99), expected_matches, expected_matches)


def _same_matches(found: LexicalMatches, expected: LexicalMatches, everything: LexicalMatches) -> None:
    """Compares terms exactly, scores within a tolerance, and hits by the scores they should have."""
    assert found.terms == expected.terms
    assert found.documents == expected.documents
    assert len(found.hits) == len(expected.hits)
    scores = {hit.id: hit.score for hit in everything.hits}
    for hit, other in zip(found.hits, expected.hits, strict=True):
        assert abs(hit.score - other.score) < CLOSE
        assert abs(hit.score - scores[hit.id]) < CLOSE
    assert len({hit.id for hit in found.hits}) == len(found.hits)


def _readable(store: Store) -> dict[str, object]:
    stored = list(store.memories.page(EVERYTHING, limit=0, offset=0))
    held = [memory.id for memory in stored]
    names = [*held, *[name for name in NAMES if name not in held][:1]]
    aim = vector(0.5, 0.5, -0.5, 0.5)
    vectors = [(leg, name, store.search.vector(leg, name)) for leg in DENSE_LEGS for name in names]
    return {
        "memories": stored,
        "tags": [memory.tags for memory in stored],
        "many": dict(store.memories.many(NAMES)),
        "same text": [list(store.memories.same_text(memory.fingerprint)) for memory in stored],
        "signals": [list(store.evidence.signals(name)) for name in names],
        "recent": [list(store.evidence.signals(name, since=START)) for name in names],
        "aggregates": [store.evidence.aggregate(name) for name in names],
        "idle": [list(store.evidence.idle(START + timedelta(days=days), below=below)) for days, below in IDLE],
        "revisions": [list(store.memories.revisions(name)) for name in names],
        "changes": [replace(change, at=START) for change in store.memories.changes()],
        "erasures": [erasure.created_at for erasure in store.memories.erasures(since=_LONG_AGO)],
        "links": [list(store.memories.links(name)) for name in names],
        "similarities": [dict(store.search.similarities(leg, aim, NAMES)) for leg in DENSE_LEGS],
        "vectors": [(leg, name, None if found is None else found.tolist()) for leg, name, found in vectors],
        "weights": (store.evidence.weights(), list(store.evidence.weight_history())),
        "recalls": (list(store.deliveries.recalls(limit=0)), list(store.deliveries.recalls(limit=1))),
        "jobs": (list(store.jobs.waiting(due=START)), list(store.jobs.waiting(due=START + timedelta(days=99)))),
        "model": store.model_id,
    }


@promise(
    "storage:lock-step",
    "SQLite and a naive model give the same answers to the same random operations.",
    source="DESIGN section 5; spec/engineering B.2",
)
@pytest.mark.timeout(7_200)
def test_sqlite_and_the_naive_model_never_differ(torture: bool) -> None:
    chosen = settings(max_examples=500 if torture else 60, stateful_step_count=50 if torture else 30)
    run_state_machine_as_test(Lockstep, settings=chosen)
