"""Close pairs: exactly those above the threshold, of the memories that meet the condition, closest first."""

from __future__ import annotations

import math

from promises import promise
from reasoningbank.storage.store import Store
from reasoningbank.types.memory import Outcome, State
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import CONTENT_LEG, DESCRIPTION_LEG, Filter
from reasoningbank.types.records import Indexed
from storage.contract.base import EVERYTHING, Conformance, fill, indexed, lesson, vector

_CLOSE = 1e-6
_FAR = 0.5


class PairConformance(Conformance):
    """What a store owes to a consolidation."""

    @promise(
        "storage:close-pairs",
        "A store gives exactly the pairs above a threshold that meet a condition, closest first.",
        source="issue 4",
    )
    def test_the_pairs_are_those_of_a_full_comparison(self) -> None:
        """Closest first, each once, the older memory before the younger one."""
        angles = [0, 10, 25, 200, 95, 12]
        with self.fresh() as store:
            fill(store, [(lesson(f"m{place}"), indexed(content=_at(angle))) for place, angle in enumerate(angles)])
            expected = {
                (f"m{one}", f"m{other}"): math.cos(math.radians(angles[one] - angles[other]))
                for one in range(len(angles))
                for other in range(one + 1, len(angles))
                if math.cos(math.radians(angles[one] - angles[other])) > _FAR
            }
            found = _pairs(store)
            assert found.keys() == expected.keys()
            assert all(abs(found[pair] - expected[pair]) < _CLOSE for pair in found)
            assert list(found.values()) == sorted(found.values(), reverse=True)

    @promise("storage:close-pairs")
    def test_only_memories_that_meet_the_condition_are_paired(self) -> None:
        """By outcome, by state, and by having a vector in the leg at all."""
        outcomes: tuple[Outcome, ...] = ("success", "failure", "success")
        states: tuple[State, ...] = ("active", "active", "archived")
        with self.fresh() as store:
            fill(
                store,
                [
                    (
                        lesson(f"m{place}", outcome=outcome, state=state),
                        indexed(content=_at(place), description=_at(place) if place else None),
                    )
                    for place, (outcome, state) in enumerate(zip(outcomes, states, strict=True))
                ],
            )
            assert _pairs(store).keys() == {("m0", "m1"), ("m0", "m2"), ("m1", "m2")}
            assert _pairs(store, condition=Filter()).keys() == {("m0", "m1")}
            assert _pairs(store, condition=Filter(states=("active", "archived"), outcome="success")).keys() == {
                ("m0", "m2")
            }
            assert _pairs(store, DESCRIPTION_LEG).keys() == {("m1", "m2")}

    @promise("storage:close-pairs")
    def test_pairs_follow_every_change(self) -> None:
        """A new vector, another state, a deletion."""
        with self.fresh() as store:
            assert _pairs(store) == {}
            fill(store, [(lesson(f"m{place}"), indexed(content=_at(place))) for place in range(4)])
            assert len(_pairs(store)) == 6
            with store.transaction() as transaction:
                transaction.memories.delete("m0")
                transaction.memories.update(lesson("m1"), indexed(content=_at(180)))
            assert _pairs(store).keys() == {("m2", "m3")}

    @promise("storage:close-pairs")
    def test_the_threshold_is_strict_and_the_limit_keeps_the_closest(self) -> None:
        """Equal vectors have a cosine of one, which is not above one."""
        with self.fresh() as store:
            fill(
                store, [(lesson(f"m{place}"), indexed(content=_at(angle))) for place, angle in enumerate((0, 3, 9, 0))]
            )
            assert len(store.search.close_pairs(CONTENT_LEG, 1.0, EVERYTHING, limit=10)) == 0
            assert next(iter(_pairs(store, limit=2))) == ("m0", "m3")
            assert len(_pairs(store, limit=2)) == 2
            assert len(_pairs(store, limit=0)) == 0

    @promise("storage:close-pairs")
    def test_vectors_are_given_for_those_that_have_one(self) -> None:
        """Of the leg asked for, unknown ids left out."""
        with self.fresh() as store:
            fill(store, [(lesson("m0"), indexed(content=_at(0))), (lesson("m1"), _both(30, 60))])
            found = store.search.vectors(DESCRIPTION_LEG, ["m0", "m1", "nobody"])
            assert found.keys() == {"m1"}
            assert abs(float(found["m1"] @ _at(60)) - 1.0) < _CLOSE
            assert store.search.vectors(CONTENT_LEG, []) == {}


def _at(degrees: float) -> Vector:
    """A unit vector at this angle in the first plane."""
    angle = math.radians(degrees)
    return vector(math.cos(angle), math.sin(angle), 0, 0)


def _both(content: float, description: float) -> Indexed:
    return indexed(content=_at(content), description=_at(description))


def _pairs(
    store: Store, leg: str = CONTENT_LEG, *, condition: Filter = EVERYTHING, limit: int = 1_000
) -> dict[tuple[str, str], float]:
    """The cosine of each pair, in the order they came."""
    found = store.search.close_pairs(leg, _FAR, condition, limit=limit)
    columns = zip(found.first.tolist(), found.second.tolist(), found.scores.tolist(), strict=True)
    return {(found.ids[first], found.ids[second]): score for first, second, score in columns}
