"""The confidence of what was made of several memories: golden values, and how it moves."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.errors import InvalidInput
from reasoningbank.memories.evidence import believed
from reasoningbank.types.belief import UNIT, Belief
from reasoningbank.types.consolidation import ConsolidationOptions, consolidated_confidence
from reasoningbank.types.memory import Memory
from reasoningbank.types.signal import SignalAggregate

SOURCES = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1_000)), min_size=1, max_size=30)


def together(*sources: tuple[float, int]) -> float:
    """The confidence of sources given as confidence and uses."""
    return consolidated_confidence([confidence for confidence, _ in sources], [count for _, count in sources])


@promise("contextd:49", "Consolidation as specified.", source="spec/contextd row 49")
@promise(
    "consolidating:golden",
    "The confidence of what is consolidated is the formula's; its golden values are exact.",
    source="spec/contextd 1.4",
)
@pytest.mark.parametrize(
    ("sources", "golden"),
    [
        ([(0.8, 10), (0.7, 5), (0.9, 15)], 0.8554),
        ([(0.8, 0), (0.8, 0)], 0.82),
        ([(0.9, 0)] * 10, 1.0),
        ([(0.75, 10), (0.82, 8), (0.70, 15)], 0.7723),
        ([(0.6, 0)] * 10, 0.7),
        ([(0.5, 0)] * 10, 0.6),
        ([], 0.6),
        ([(0.7, 3)], 0.7),
        ([(1.0, 0), (1.0, 0)], 1.0),
        ([(0.0, 0), (1.0, 0)], 0.5),
        ([(0.9, 99), (0.1, 0)], 0.8961),
    ],
)
def test_the_golden_values(sources: list[tuple[float, int]], golden: float) -> None:
    assert together(*sources) == pytest.approx(golden, abs=5e-5)


@promise("contextd:49")
@given(SOURCES)
def test_it_is_a_confidence_near_its_sources(sources: list[tuple[float, int]]) -> None:
    value = together(*sources)
    confidences = [confidence for confidence, _ in sources]
    assert min(confidences) - 1e-12 <= value <= min(1.0, max(confidences) + 0.1) + 1e-12
    assert together(*reversed(sources)) == pytest.approx(value, abs=1e-12)


@promise("contextd:49")
@given(st.floats(0.1, 0.8), st.integers(2, 15))
def test_more_agreeing_sources_never_lower_it_and_disagreement_never_raises_it(confidence: float, count: int) -> None:
    agreeing = together(*[(confidence, 0)] * count)
    assert together(*[(confidence, 0)] * (count + 1)) >= agreeing - 1e-12
    spread = [(confidence + (0.1 if number % 2 else -0.1), 0) for number in range(2 * count)]
    assert together(*spread) <= together(*[(confidence, 0)] * (2 * count)) + 1e-12


@promise("contextd:42")
@pytest.mark.parametrize("threshold", [-0.01, 1.01, math.nan, math.inf])
def test_a_threshold_that_is_none_is_refused(threshold: float) -> None:
    with pytest.raises(InvalidInput):
        ConsolidationOptions(similarity_threshold=threshold)


@promise("contextd:52")
def test_a_negative_number_of_clusters_is_refused_and_the_defaults_are_the_seeds() -> None:
    options = ConsolidationOptions()
    assert (options.similarity_threshold, options.max_clusters_per_run) == (0.8, 0)
    assert not options.dry_run
    assert not options.force_all
    with pytest.raises(InvalidInput):
        ConsolidationOptions(max_clusters_per_run=-1)


EVIDENCE = st.integers(0, 50 * UNIT)


@promise("consolidating:golden")
@promise(
    "consolidating:evidence-once",
    "The evidence of a consolidated memory is the union of its sources', each signal once.",
    source="DESIGN D5",
)
@given(st.lists(st.tuples(st.integers(0, 2 * UNIT), EVIDENCE, EVIDENCE, st.integers(0, 99)), min_size=2, max_size=8))
def test_the_belief_has_the_formulas_score_or_the_nearest_that_its_evidence_allows(
    sources: list[tuple[int, int, int, int]],
) -> None:
    memories = [
        Memory(
            project="p",
            title="t",
            content="c",
            outcome="success",
            belief=Belief(prior=prior, positive=positive, negative=negative),
            usage_count=count,
            provenance={"entered": "person"},
        )
        for prior, positive, negative, count in sources
    ]
    positive, negative = (sum(source[place] for source in sources) for place in (1, 2))
    belief = believed(memories, SignalAggregate(memory_id="m", project="p", positive=positive, negative=negative))
    assert (belief.positive, belief.negative) == (positive, negative)
    wanted = together(*[(memory.confidence, memory.usage_count) for memory in memories])
    total = 2 * UNIT + positive + negative
    least, most = positive / total, (2 * UNIT + positive) / total
    assert belief.score == pytest.approx(min(most, max(least, wanted)), abs=2e-9)
