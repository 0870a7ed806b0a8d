"""Search: the dense legs are exact, the lexical leg finds what matches, and both see every change at once."""

from __future__ import annotations

import threading

import numpy
from numpy.typing import NDArray

from promises import promise
from reasoningbank.errors import InvalidInput, ModelMismatch
from reasoningbank.storage.store import Store
from reasoningbank.types.memory import Outcome
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import CONTENT_LEG, DENSE_LEGS, DESCRIPTION_LEG, Filter
from reasoningbank.types.records import Candidates, Indexed, Pool, WordsWorth
from storage.contract.base import (
    EAST,
    EVERYTHING,
    MODEL,
    NORTH,
    UP,
    WEST,
    Conformance,
    fill,
    indexed,
    lesson,
    refuses,
    vector,
)

CLOSE = 1e-5
"""How far a score in single precision may be from the exact one."""


class SearchConformance(Conformance):
    """What a store owes to a search."""

    @promise(
        "storage:dense-exact",
        "The nearest memories are exactly those of a full comparison, also after updates and deletions.",
        source="DESIGN D3",
    )
    def test_the_nearest_are_those_of_a_full_comparison(self) -> None:
        """In both legs, for any limit, before and after changes and deletions."""
        numbers = numpy.random.default_rng(7)
        vectors = {leg: _unit_rows(numbers, 200) for leg in (CONTENT_LEG, DESCRIPTION_LEG)}
        queries = _unit_rows(numbers, 6)
        with self.fresh() as store:
            with store.transaction() as transaction:
                for row in range(200):
                    derived = {CONTENT_LEG: vectors[CONTENT_LEG][row]}
                    if row % 3:
                        derived[DESCRIPTION_LEG] = vectors[DESCRIPTION_LEG][row]
                    transaction.memories.insert(
                        lesson(f"m{row}"), Indexed(text="", model_id="random/16", vectors=derived)
                    )
            everybody = set(range(200))
            _compare(store, CONTENT_LEG, vectors[CONTENT_LEG], everybody, queries)
            _compare(store, DESCRIPTION_LEG, vectors[DESCRIPTION_LEG], {n for n in everybody if n % 3}, queries)
            replaced = _unit_rows(numbers, 200)
            with store.transaction() as transaction:
                for row in range(0, 200, 7):
                    derived = {CONTENT_LEG: replaced[row], DESCRIPTION_LEG: replaced[row]}
                    transaction.memories.update(
                        lesson(f"m{row}"), Indexed(text="", model_id="random/16", vectors=derived)
                    )
                    vectors[CONTENT_LEG][row] = vectors[DESCRIPTION_LEG][row] = replaced[row]
                for row in range(0, 200, 11):
                    transaction.memories.delete(f"m{row}")
            left = {row for row in everybody if row % 11}
            _compare(store, CONTENT_LEG, vectors[CONTENT_LEG], left, queries)
            _compare(
                store, DESCRIPTION_LEG, vectors[DESCRIPTION_LEG], {n for n in left if n % 3 or n % 7 == 0}, queries
            )

    @promise(
        "storage:ties",
        "Equal scores are ordered oldest first, also where the limit cuts through them.",
        source="DESIGN section 5",
    )
    def test_equal_scores_are_ordered_by_age_at_every_limit(self) -> None:
        """The oldest first, also where the limit cuts through them."""
        with self.fresh() as store:
            fill(store, [(lesson(f"m{number}"), indexed("kiwi", vector(*EAST))) for number in range(40)])
            fill(store, [(lesson("better"), indexed("kiwi kiwi", vector(0.5, 0.5, 0.5, 0.5)))])
            aim = vector(0.5, 0.5, 0.5, 0.5)
            order = ["better", *(f"m{number}" for number in range(40))]
            for limit in (1, 2, 5, 39, 40, 41, 100):
                assert [hit.id for hit in store.search.nearest(CONTENT_LEG, aim, EVERYTHING, limit)] == order[:limit], (
                    limit
                )
                assert [hit.id for hit in store.search.matching("kiwi", EVERYTHING, limit).hits] == order[:limit], limit

    @promise(
        "storage:similarities",
        "Similarities are inner products of what is stored; a stored vector comes back to the bit.",
        source="seed 004 GetMemoryVector",
    )
    def test_similarities_are_inner_products_of_what_is_stored(self) -> None:
        """For the memories asked for that have a vector in the leg; the vector itself comes back to the bit."""
        with self.fresh() as store:
            fill(
                store,
                [
                    (lesson("m1"), indexed("", vector(*EAST))),
                    (lesson("m2"), indexed("", vector(*WEST), vector(*UP))),
                    (lesson("m3"), indexed("", vector(0.6, 0.8, 0, 0))),
                ],
            )
            found = store.search.similarities(CONTENT_LEG, vector(*EAST), ["m3", "m2", "m1", "nobody", "m1"])
            assert set(found) == {"m1", "m2", "m3"}
            assert found["m1"] == 1.0
            assert found["m2"] == -1.0
            assert abs(found["m3"] - 0.6) < CLOSE
            assert dict(store.search.similarities(DESCRIPTION_LEG, vector(*UP), ["m1", "m2", "m3"])) == {"m2": 1.0}
            assert dict(store.search.similarities(CONTENT_LEG, vector(*UP), [])) == {}
            kept = store.search.vector(CONTENT_LEG, "m3")
            assert kept is not None
            assert kept.dtype == numpy.float32
            assert kept.tolist() == vector(0.6, 0.8, 0, 0).tolist()
            assert store.search.vector(DESCRIPTION_LEG, "m3") is None

    @promise(
        "storage:candidates",
        "One call answers all that a fused search needs, exactly what the legs answer one by one, in one state of the "
        "bank.",
        source="issue 2 Recall; make bench",
    )
    def test_candidates_are_what_the_legs_bring_one_by_one(self) -> None:
        """Pool by pool, for any limits and conditions, also for candidates that lack a description or were replaced."""
        numbers = numpy.random.default_rng(11)
        rows = _unit_rows(numbers, 400)
        words = ("kiwi", "lamp", "zebra", "brick", "quartz")
        with self.fresh() as store:
            assert list(store.search.candidates(rows[0], "kiwi", [_pool(5, 5)])) == [
                composed(store, rows[0], "kiwi", _pool(5, 5))
            ]
            with store.transaction() as transaction:
                for row in range(150):
                    derived = {CONTENT_LEG: rows[row]} | ({DESCRIPTION_LEG: rows[row + 200]} if row % 3 else {})
                    text = " ".join(numbers.choice(words, size=int(numbers.integers(0, 6))))
                    memory = lesson(f"m{row}", outcome="failure" if row % 2 else "success", tags=(f"t{row % 4}",))
                    transaction.memories.insert(memory, Indexed(text=text, model_id="random/16", vectors=derived))
            with store.transaction() as transaction:
                for row in range(0, 150, 7):
                    derived = {CONTENT_LEG: rows[row + 180]}
                    transaction.memories.update(
                        lesson(f"m{row}"), Indexed(text="lamp", model_id="random/16", vectors=derived)
                    )
                for row in range(0, 150, 11):
                    transaction.memories.delete(f"m{row}")
            pools = [
                _pool(1, 1),
                _pool(0, 3, outcome="failure"),
                _pool(7, 0, tags=("t1",)),
                _pool(10, 20, outcome="success", tags=("t2",)),
                _pool(999, 999),
                _pool(5, 5, tags=("none",)),
            ]
            for vector_of, text, beside in (
                (rows[1], "kiwi zebra", ""),
                (rows[2], "absent", "kiwi"),
                (rows[3], "", "kiwi"),
                (rows[4], "lamp", "kiwi quartz lamp"),
            ):
                expected = [composed(store, vector_of, text, pool, beside) for pool in pools]
                found = list(store.search.candidates(vector_of, text, pools, beside))
                assert found == expected
                for each in found:
                    assert set(each.vectors) == set(each.dense[CONTENT_LEG])
                    known = store.search.vectors(CONTENT_LEG, list(each.vectors))
                    assert all(numpy.array_equal(row, known[name]) for name, row in each.vectors.items())
            assert any(len(each.dense[CONTENT_LEG]) > 10 for each in expected)
            assert list(store.search.candidates(rows[0], "kiwi", [])) == []

    @promise("storage:candidates")
    def test_candidates_of_one_search_are_of_one_state(self) -> None:
        """While another thread stores and deletes, a memory is in both kinds of legs of an answer or in none."""
        with self.fresh() as store:
            fill(store, [(lesson("m0"), indexed("kiwi"))])
            done = threading.Event()

            def write() -> None:
                try:
                    for number in range(1, 30):
                        with store.transaction() as transaction:
                            transaction.memories.insert(
                                lesson(f"m{number}"), indexed("kiwi", vector(*NORTH), vector(*UP))
                            )
                            if number % 2:
                                transaction.memories.delete(f"m{number - 1}")
                finally:
                    done.set()

            writer = threading.Thread(target=write)
            writer.start()
            try:
                while not done.is_set():
                    proven, again = store.search.candidates(vector(*EAST), "kiwi", [_pool(99, 99), _pool(99, 99)])
                    assert proven == again
                    assert {hit.id for hit in proven.lexical.hits} == set(proven.dense[CONTENT_LEG])
                    assert proven.lexical.documents == len(proven.dense[CONTENT_LEG])
            finally:
                writer.join()
            assert len(
                store.search.candidates(vector(*EAST), "kiwi", [_pool(99, 99)])[0].lexical.hits
            ) == store.memories.count(EVERYTHING)

    @promise(
        "storage:lexical",
        "The lexical leg finds only what matches, counts every term, and reads no query language.",
        source="issue 2 Recall",
    )
    def test_only_what_matches_is_found_and_every_term_is_counted(self) -> None:
        """Rare words count more, scores are positive and descend, unknown words match nothing."""
        texts = {"m1": "kiwi lamp", "m2": "kiwi kiwi kiwi", "m3": "kiwi zebra", "m4": "brick", "m5": "", "m6": "brick"}
        with self.fresh() as store:
            assert store.search.matching("kiwi", EVERYTHING, 5).hits == ()
            fill(store, [(lesson(name), indexed(text)) for name, text in texts.items()])
            found = store.search.matching("zebra kiwi quartz", EVERYTHING, 10)
            assert [hit.id for hit in found.hits] == ["m3", "m2", "m1"]
            assert [(term.text, term.documents) for term in found.terms] == [("zebra", 1), ("kiwi", 3), ("quartz", 0)]
            assert found.documents == 6
            scores = [hit.score for hit in found.hits]
            assert scores == sorted(scores, reverse=True)
            assert all(score > 0.0 for score in scores)
            assert store.search.matching("quartz", EVERYTHING, 10).hits == ()
            assert store.search.matching("", EVERYTHING, 10).terms == ()
            assert [hit.id for hit in store.search.matching("brick zebra", Filter(tags=("none",)), 10).hits] == []

    @promise("storage:lexical")
    def test_a_query_is_words_and_nothing_else(self) -> None:
        """Operators, quotes, wildcards and parentheses of any query language are harmless."""
        hostile = (
            '"',
            "kiwi OR",
            "NEAR(kiwi lamp)",
            "kiw*",
            "^kiwi",
            "text:kiwi",
            "-kiwi",
            "a AND (",
            "';--",
            "{kiwi}",
            "\x00",
        )
        with self.fresh() as store:
            fill(store, [(lesson("m1"), indexed("kiwi lamp")), (lesson("m2"), indexed("brick"))])
            for query in hostile:
                for hit in store.search.matching(query, EVERYTHING, 10).hits:
                    assert hit.id == "m1", query
            assert store.check().problems == ()

    @promise(
        "storage:lexical-current",
        "A word searched before it was stored is found as soon as it is stored.",
        source="issue 2 Recall",
    )
    def test_a_word_that_was_searched_before_it_was_stored_is_found_afterwards(self) -> None:
        """Nothing that a search remembers makes a later one wrong: after an insert, an update and a delete."""
        with self.fresh() as store:
            fill(store, [(lesson(f"m{number}"), indexed("kiwi")) for number in range(250)])
            assert store.search.matching("lamp zebra", EVERYTHING, 5).hits == ()
            fill(store, [(lesson("new"), indexed("lamp"))])
            assert [hit.id for hit in store.search.matching("lamp", EVERYTHING, 5).hits] == ["new"]
            with store.transaction() as transaction:
                transaction.memories.update(lesson("m7"), indexed("zebra lamp"))
            assert [hit.id for hit in store.search.matching("zebra", EVERYTHING, 5).hits] == ["m7"]
            assert store.search.matching("lamp", EVERYTHING, 5).terms[0].documents == 2
            with store.transaction() as transaction:
                transaction.memories.delete("m7")
            assert store.search.matching("zebra", EVERYTHING, 5).terms[0].documents == 0
            assert store.search.matching("kiwi", EVERYTHING, 0).terms[0].documents == 249

    @promise(
        "storage:model",
        "Vectors of another model or dimension are refused with ModelMismatch, in writes and queries.",
        source="DESIGN D11",
    )
    def test_vectors_of_different_models_never_meet(self) -> None:
        """The first vectors fix model and dimension; others are refused, in writes and in queries."""
        with self.fresh() as store:
            assert _model_of(store) is None
            assert list(store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 5)) == []
            try:
                with store.transaction() as transaction:
                    transaction.memories.insert(
                        lesson("m0"), Indexed(text="", model_id="x/3", vectors={CONTENT_LEG: vector(1, 0, 0)})
                    )
                    raise KeyError("the first vectors do not come to be")
            except KeyError:
                assert _model_of(store) is None
            fill(store, [lesson("m1")])
            assert _model_of(store) == MODEL
            with refuses(ModelMismatch), store.transaction() as transaction:
                transaction.memories.insert(
                    lesson("m2"), Indexed(text="", model_id="x/4", vectors={CONTENT_LEG: vector(*EAST)})
                )
            with refuses(ModelMismatch), store.transaction() as transaction:
                transaction.memories.insert(lesson("m2"), indexed("", vector(1, 0, 0)))
            with refuses(ModelMismatch):
                store.search.nearest(CONTENT_LEG, vector(1, 0, 0), EVERYTHING, 5)
            with refuses(ModelMismatch):
                store.search.similarities(CONTENT_LEG, vector(1, 0, 0, 0, 0), ["m1"])
            with refuses(ModelMismatch):
                store.search.candidates(vector(1, 0, 0), "", [_pool(5, 5)])
            assert store.memories.count(EVERYTHING) == 1

    @promise(
        "storage:re-embed",
        "A bank that forgets its vectors takes those of another model and never meets the old ones again.",
        source="DESIGN D11",
    )
    def test_a_bank_that_forgets_its_vectors_takes_those_of_another_model(self) -> None:
        """Of another dimension too; until they come, nothing is near; the old ones are never met again."""
        with self.fresh() as store:
            fill(store, [(lesson(f"m{n}"), indexed("kiwi", vector(*EAST), vector(*UP))) for n in range(3)])
            assert len(store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 9)) == 3
            with store.transaction() as transaction:
                transaction.forget_vectors()
                for number in range(2):
                    again = Indexed(text="kiwi", model_id="wide/6", vectors={CONTENT_LEG: vector(0, 0, 0, 0, 0, 1)})
                    transaction.memories.update(lesson(f"m{number}"), again)
            assert _model_of(store) == "wide/6"
            aim = vector(0, 0, 0, 0, 0, 1)
            assert [hit.id for hit in store.search.nearest(CONTENT_LEG, aim, EVERYTHING, 9)] == ["m0", "m1"]
            assert list(store.search.nearest(DESCRIPTION_LEG, aim, EVERYTHING, 9)) == []
            assert store.search.vector(CONTENT_LEG, "m2") is None
            assert len(store.search.matching("kiwi", EVERYTHING, 9).hits) == 3
            with refuses(ModelMismatch):
                store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 9)
            with store.transaction() as transaction:
                transaction.forget_vectors()
            assert _model_of(store) is None
            assert list(store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 9)) == []

    @promise(
        "storage:words-worth",
        "A store keeps what its bank has learned that words are worth in it, in one transaction, backups included.",
        source="DESIGN D13",
    )
    def test_what_words_are_worth_is_kept(self) -> None:
        """It is 1 until it was learned, the last that was learned counts, a transaction that fails changes nothing."""
        with self.fresh() as store:
            assert store.words_worth == WordsWorth(factor=1.0, model_id="", memories=0)
            first, second = (WordsWorth(factor=factor, model_id=MODEL, memories=40) for factor in (0.125, 0.5))
            with store.transaction() as transaction:
                transaction.set_words_worth(first)
            assert store.words_worth == first
            try:
                with store.transaction() as transaction:
                    transaction.set_words_worth(second)
                    raise KeyError("it does not come to be")
            except KeyError:
                assert store.words_worth == first
            with store.transaction() as transaction:
                transaction.set_words_worth(second)
            assert store.words_worth == second

    @promise("storage:model")
    def test_both_legs_of_the_first_memory_have_one_dimension(self) -> None:
        """A refused first memory leaves no model; a bank that holds no vectors any more takes another model's."""
        with self.fresh() as store:
            with refuses(ModelMismatch), store.transaction() as transaction:
                transaction.memories.insert(lesson("m1"), indexed("", vector(*EAST), vector(1, 0, 0, 0, 0)))
            assert _model_of(store) is None
            fill(store, [lesson("m1")])
            with store.transaction() as transaction:
                transaction.memories.delete("m1")
                narrow = Indexed(text="", model_id="narrow/3", vectors={CONTENT_LEG: vector(1, 0, 0)})
                transaction.memories.insert(lesson("m2"), narrow)
            assert _model_of(store) == "narrow/3"
            assert [hit.id for hit in store.search.nearest(CONTENT_LEG, vector(1, 0, 0), EVERYTHING, 9)] == ["m2"]
            with refuses(ModelMismatch), store.transaction() as transaction:
                transaction.memories.insert(lesson("m1"), indexed())

    @promise(
        "storage:finite",
        "A vector with NaN or infinity is refused, in writes and in queries.",
        source="spec/engineering B.2 Fuzz",
    )
    def test_a_query_that_is_not_made_of_numbers_is_refused(self) -> None:
        """NaN and infinity would make every comparison meaningless."""
        with self.fresh() as store:
            fill(store, [lesson("m1")])
            for wrong in (float("nan"), float("inf"), -float("inf")):
                with refuses(InvalidInput):
                    store.search.nearest(CONTENT_LEG, vector(wrong, 0, 0, 0), EVERYTHING, 5)
                with refuses(InvalidInput):
                    store.search.similarities(CONTENT_LEG, vector(0, wrong, 0, 0), ["m1"])
                with refuses(InvalidInput):
                    store.search.candidates(vector(0, 0, wrong, 0), "", [_pool(5, 5)])
            assert [hit.id for hit in store.search.nearest(CONTENT_LEG, vector(*NORTH), EVERYTHING, 5)] == ["m1"]
            assert list(store.search.nearest(CONTENT_LEG, vector(*NORTH), EVERYTHING, 0)) == []


def _pool(dense: int, lexical: int, *, outcome: Outcome | None = None, tags: tuple[str, ...] = ()) -> Pool:
    return Pool(condition=Filter(outcome=outcome, tags=tags), dense=dense, lexical=lexical)


def composed(store: Store, query: Vector, text: str, pool: Pool, function_words: str = "") -> Candidates:
    """The candidates of a pool, asked for leg by leg."""
    lexical = store.search.matching(text, pool.condition, pool.lexical, function_words)
    found = {hit.id for hit in lexical.hits}
    for leg in DENSE_LEGS:
        found.update(hit.id for hit in store.search.nearest(leg, query, pool.condition, pool.dense))
    dense = {leg: dict(store.search.similarities(leg, query, sorted(found))) for leg in DENSE_LEGS}
    return Candidates(dense=dense, lexical=lexical)


def _model_of(store: Store) -> str | None:
    return store.model_id


def _unit_rows(numbers: numpy.random.Generator, count: int) -> NDArray[numpy.float32]:
    rows = numbers.standard_normal((count, 16))
    unit: NDArray[numpy.float32] = (rows / numpy.linalg.norm(rows, axis=1, keepdims=True)).astype(numpy.float32)
    return unit


def _compare(
    store: Store, leg: str, vectors: NDArray[numpy.float32], rows: set[int], queries: NDArray[numpy.float32]
) -> None:
    """Compares ids and scores with a full comparison in double precision."""
    for query in queries:
        exact = vectors.astype(numpy.float64) @ query.astype(numpy.float64)
        order = sorted(rows, key=lambda row: -exact[row])
        for limit in (1, 10, len(rows), 1_000):
            found = store.search.nearest(leg, query, EVERYTHING, limit)
            assert [hit.id for hit in found] == [f"m{row}" for row in order[:limit]]
            assert all(abs(hit.score - exact[int(hit.id[1:])]) < CLOSE for hit in found)
