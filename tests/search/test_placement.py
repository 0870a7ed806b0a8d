"""Places among the first five: one source's claims leave room for what others say (DESIGN D16)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy
from hypothesis import example, given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.search.briefing import choose, in_order
from reasoningbank.search.experience import ordered
from reasoningbank.search.placement import source_of, spread
from reasoningbank.search.recall import offered
from reasoningbank.types.experience import SEARCH_MODES
from reasoningbank.types.memory import Memory
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import FITTING, BriefItem, Hit

NOW = datetime(2026, 11, 26, tzinfo=UTC)
TOPICS = ("the proxy drops the call", "the disk of the cache is full", "the clock of the host is late", "no route")


def hit(number: int, source: int, *, claim: bool, relevance: float, topic: int, long: bool) -> Hit:
    """What a search has found: the topic makes near-duplicates, as the vectors of ``near`` say."""
    memory = Memory(
        id=f"m{number}",
        project="p",
        title=TOPICS[topic],
        content=f"Look whether {TOPICS[topic]}. " * (12 if long else 1) + "abcdefghijklmn"[number],
        outcome="success",
        tokens=120 if long else 12,
        provenance={"principal": f"source {source}", "entered": "agent" if claim else "person"},
    )
    return Hit(memory=memory, relevance=relevance, legs={})


FOUND = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.booleans(),
        st.sampled_from([0.2, FITTING, 0.7, 0.95]),
        st.integers(0, len(TOPICS) - 1),
        st.booleans(),
    ),
    min_size=4,
    max_size=14,
).map(
    lambda rows: [
        hit(number, source, claim=claim, relevance=relevance, topic=topic, long=long)
        for number, (source, claim, relevance, topic, long) in enumerate(sorted(rows, key=lambda row: -row[2]))
    ]
)


FOLDED = [
    hit(number, source, claim=not source, relevance=0.95, topic=topic, long=False)
    for number, (source, topic) in enumerate([(0, 0), (1, 0), (1, 0), (1, 0), (0, 1), (0, 2)])
]
"""What another source says three times is a near-duplicate of the first claim, which then stands for it."""


def too_many(shown: Sequence[Hit], found: Sequence[Hit]) -> set[str]:
    """The sources with more than two claims among the first five although another source has an answer."""
    counts = Counter(source_of(each.memory) for each in shown[:5] if each.standing == "claim")
    return {
        source
        for source, count in counts.items()
        if count > 2 and any(each.relevance >= FITTING and source_of(each.memory) != source for each in found)
    }


def vectors_of(hits: Sequence[Hit]) -> dict[str, Vector]:
    """One direction for each topic."""
    return {each.id: numpy.array([topic == each.title for topic in TOPICS], numpy.float32) for each in hits}


@promise(
    "trust:places",
    "Of one source at most two claims are among the first five of a briefing while another source has an answer, also "
    "where near-duplicates, the session's earlier briefings, the limit or the budget take other answers away.",
    source="issue Trust",
)
@example(found=FOLDED, drawn=0, budget=600, limit=10, before=set())
@given(
    found=FOUND,
    drawn=st.integers(0, 3),
    budget=st.integers(80, 600),
    limit=st.integers(1, 10),
    before=st.sets(st.integers(0, 13).map("m{}".format)),
)
def test_a_briefing_leaves_room_for_other_sources(
    found: list[Hit], drawn: int, budget: int, limit: int, before: set[str]
) -> None:
    known = in_order(found[drawn:], [replace(each, unproven=True) for each in found[:drawn]])
    brief = choose(
        vectors_of,
        [BriefItem(hit=each, scope="project") for each in spread(known, budget)],
        model_id="hashing",
        budget=budget,
        limit=limit,
        moment=NOW,
        shown_before=before,
    )
    assert not too_many([item.hit for item in brief.items], known)
    assert len(brief.items) + len(brief.left_out) == len(known)
    assert not {item.hit.id for item in brief.items} & before


@promise("trust:places")
@given(proven=FOUND, pool=FOUND, seed=st.integers(0, 9), count=st.none() | st.integers(0, 5))
def test_what_is_drawn_beside_proven_memories_counts_with_them(
    proven: list[Hit], pool: list[Hit], seed: int, count: int | None
) -> None:
    few = proven[: next((place for place in range(6) if too_many(proven[: place + 1], [*proven, *pool])), 5)]
    others = [replace(each, memory=replace(each.memory, id=f"other {each.id}")) for each in pool[:5]]
    shown = offered(few, others, count, random.Random(seed))
    assert len(shown) <= (3 if count is None else count)
    assert not too_many([*few, *shown], [*few, *others])


@promise("trust:places")
@given(found=FOUND, mode=st.sampled_from(SEARCH_MODES), limit=st.integers(1, 5))
def test_a_session_that_is_recovered_leaves_room_for_other_sources(found: list[Hit], mode: str, limit: int) -> None:
    if mode == "session_recovery":
        assert not too_many(ordered("session_recovery", found, limit), found)
    else:
        assert ordered("semantic", found, limit) == tuple(found[:limit])


@promise("trust:place")
@given(proven=FOUND, pool=FOUND, seed=st.integers(0, 9), count=st.none() | st.integers(0, 5))
def test_an_unproven_claim_comes_after_what_stands_higher_and_answers_as_well(
    proven: list[Hit], pool: list[Hit], seed: int, count: int | None
) -> None:
    others = [replace(each, memory=replace(each.memory, id=f"other {each.id}")) for each in pool[:5]]
    shown = offered(proven[:1], others, count, random.Random(seed))
    for place, claim in enumerate(shown):
        if claim.standing == "claim":
            later = [each for each in shown[place + 1 :] if each.standing != "claim"]
            assert not any((each.relevance >= FITTING) >= (claim.relevance >= FITTING) for each in later)
