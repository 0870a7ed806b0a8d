"""Filters: each alone, all together, and always inside the query."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import product

from promises import promise
from reasoningbank.types.belief import Belief
from reasoningbank.types.consolidation import CONSOLIDATION
from reasoningbank.types.memory import OUTCOMES, STATES, Memory
from reasoningbank.types.recall import CONTENT_LEG, DESCRIPTION_LEG, Filter
from storage.contract.base import EAST, NORTH, START, Conformance, fill, indexed, lesson, vector

Condition = tuple[Filter, Callable[[Memory], bool]]

RECALLABLE = ("active", "candidate")
EDGE = START + timedelta(seconds=10)
CONDITIONS: tuple[Condition, ...] = (
    (Filter(), lambda memory: memory.state in RECALLABLE),
    (Filter(states=STATES), lambda _: True),
    (Filter(states=()), lambda _: False),
    (Filter(states=("archived",)), lambda memory: memory.state == "archived"),
    (Filter(states=("quarantined", "candidate")), lambda memory: memory.state in {"quarantined", "candidate"}),
    (Filter(states=STATES, outcome="failure"), lambda memory: memory.outcome == "failure"),
    (Filter(states=STATES, tags=("a",)), lambda memory: "a" in memory.tags),
    (Filter(states=STATES, tags=("A",)), lambda memory: "A" in memory.tags),
    (Filter(states=STATES, tags=("a", "b%")), lambda memory: {"a", "b%"} <= set(memory.tags)),
    (Filter(states=STATES, tags=("a", "a")), lambda memory: "a" in memory.tags),
    (Filter(states=STATES, tags=("b_",)), lambda _: False),
    (Filter(states=STATES, category="debug"), lambda memory: memory.category == "debug"),
    (Filter(states=STATES, category=""), lambda memory: memory.category == ""),
    (Filter(states=STATES, category="unheard of"), lambda _: False),
    (Filter(states=STATES, categories=()), lambda _: False),
    (Filter(states=STATES, categories=("debug", "unheard of")), lambda memory: memory.category == "debug"),
    (Filter(states=STATES, categories=("debug", "")), lambda _: True),
    (Filter(states=STATES, consolidated=True), lambda memory: CONSOLIDATION in memory.provenance),
    (Filter(states=STATES, consolidated=False), lambda memory: CONSOLIDATION not in memory.provenance),
    (Filter(states=STATES, min_confidence=0.8), lambda memory: memory.confidence >= 0.8),
    (Filter(states=STATES, below_confidence=0.8), lambda memory: memory.confidence < 0.8),
    (Filter(states=STATES, min_confidence=0.6, below_confidence=0.8), lambda memory: memory.confidence == 0.6),
    (Filter(states=STATES, created_after=EDGE), lambda memory: memory.created_at >= EDGE),
    (Filter(states=STATES, created_before=EDGE), lambda memory: memory.created_at < EDGE),
    (
        Filter(
            outcome="success",
            tags=("a",),
            category="debug",
            min_confidence=0.7,
            below_confidence=0.9,
            created_after=START,
            created_before=START + timedelta(days=1),
        ),
        lambda memory: (
            memory.state in RECALLABLE
            and memory.outcome == "success"
            and "a" in memory.tags
            and memory.category == "debug"
            and memory.confidence == 0.8
        ),
    ),
)
"""Filters, and what each one means."""


def population() -> list[Memory]:
    """One memory for every combination of properties."""
    combinations = product(OUTCOMES, STATES, ((), ("a",), ("b%", "a"), ("A", "bx")), ("", "debug"), (0.6, 0.8, 1.0))
    return [
        lesson(
            f"m{number}",
            outcome=outcome,
            state=state,
            tags=tags,
            category=category,
            belief=Belief.starting_at(confidence),
            provenance={CONSOLIDATION: "merged"} if number % 5 == 0 else {"source": f"{CONSOLIDATION}:"},
        )
        for number, (outcome, state, tags, category, confidence) in enumerate(combinations)
    ]


class FilterConformance(Conformance):
    """What a store owes to a filter."""

    @promise(
        "storage:filters",
        "Every filter means the same in pages, counts, both dense legs and the lexical leg.",
        source="issue 2 Recall",
    )
    def test_every_filter_means_the_same_in_every_read(self) -> None:
        """Pages, counts, both dense legs and the lexical leg agree with the filter's definition."""
        memories = population()
        with self.fresh() as store:
            fill(store, [(memory, indexed("kiwi", vector(*EAST), vector(*NORTH))) for memory in memories])
            for condition, meets in CONDITIONS:
                expected = [memory.id for memory in memories if meets(memory)]
                found = {
                    "page": [memory.id for memory in store.memories.page(condition, limit=0, offset=0)],
                    "content": [hit.id for hit in store.search.nearest(CONTENT_LEG, vector(*EAST), condition, 999)],
                    "description": [
                        hit.id for hit in store.search.nearest(DESCRIPTION_LEG, vector(*EAST), condition, 999)
                    ],
                    "lexical": [hit.id for hit in store.search.matching("kiwi", condition, 999).hits],
                }
                for read, ids in found.items():
                    assert ids == expected, f"{read} with {condition}"
                assert store.memories.count(condition) == len(expected), condition

    @promise(
        "storage:filter-inside",
        "Filters are applied inside the query: a top-k is never starved by what is filtered away.",
        source="issue 2 Recall; spec/contextd 6.10",
    )
    def test_a_top_k_is_never_starved_by_what_is_filtered_away(self) -> None:
        """Five hundred better matches that do not pass, three worse ones that do: the three are found."""
        crowd = [(lesson(f"m{n}", tags=("crowd",)), indexed("kiwi kiwi", vector(*EAST))) for n in range(497)]
        wanted = [
            (lesson(f"w{n}", tags=("wanted",)), indexed("kiwi lamp brick zebra", vector(0.6, 0.8, 0, 0)))
            for n in range(3)
        ]
        with self.fresh() as store:
            fill(store, [*crowd[:250], wanted[0], *crowd[250:], *wanted[1:]])
            condition = Filter(tags=("wanted",))
            assert [hit.id for hit in store.search.nearest(CONTENT_LEG, vector(*EAST), condition, 3)] == [
                "w0",
                "w1",
                "w2",
            ]
            assert [hit.id for hit in store.search.matching("kiwi", condition, 3).hits] == ["w0", "w1", "w2"]
            assert [memory.id for memory in store.memories.page(condition, limit=3, offset=0)] == ["w0", "w1", "w2"]

    @promise(
        "storage:archived-hidden",
        "Archived and quarantined memories are not found unless they are asked for.",
        source="spec/contextd row 23",
    )
    @promise("contextd:23")
    def test_archived_and_quarantined_memories_are_not_found_by_default(self) -> None:
        """However well they match, also when they were archived after they were stored."""
        with self.fresh() as store:
            fill(store, [(lesson(f"m{n}"), indexed("kiwi", vector(*EAST))) for n in range(3)])
            assert len(store.search.nearest(CONTENT_LEG, vector(*EAST), Filter(), 9)) == 3
            with store.transaction() as transaction:
                transaction.memories.update(lesson("m0", state="archived"))
                transaction.memories.update(lesson("m1", state="quarantined"))
            assert [hit.id for hit in store.search.nearest(CONTENT_LEG, vector(*EAST), Filter(), 9)] == ["m2"]
            assert [hit.id for hit in store.search.matching("kiwi", Filter(), 9).hits] == ["m2"]
            assert [memory.id for memory in store.memories.page(Filter(), limit=0, offset=0)] == ["m2"]
            with store.transaction() as transaction:
                transaction.memories.update(lesson("m0", state="active"))
            assert [hit.id for hit in store.search.nearest(CONTENT_LEG, vector(*EAST), Filter(), 9)] == ["m0", "m2"]
