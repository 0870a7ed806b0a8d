"""The stand-ins of ``reasoningbank.testing``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.errors import InvalidInput
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.ports import Clock, Embedder


@promise(
    "testing:hashing-embedder",
    "HashingEmbedder is a deterministic stand-in for tests that no name reaches.",
    source="issue (Embedding)",
)
@given(texts=st.lists(st.text(), max_size=4), dimension=st.integers(1, 64))
def test_hashing_gives_unit_rows_that_depend_on_the_words_only(texts: list[str], dimension: int) -> None:
    embedder: Embedder = HashingEmbedder(dimension)
    rows = embedder.embed_documents(texts)
    assert rows.shape == (len(texts), dimension)
    assert numpy.allclose(numpy.linalg.norm(rows, axis=1), 1)
    assert numpy.array_equal(rows, embedder.embed_queries(texts))
    assert embedder.model_id == f"hashing/{dimension}"


@promise("testing:hashing-embedder")
def test_hashing_finds_shared_words() -> None:
    query, near, far = HashingEmbedder(256).embed_queries(["retry the call", "Retry, the CALL!", "bake bread slowly"])
    assert query @ near == pytest.approx(1)
    assert query @ far < 0.5
    with pytest.raises(InvalidInput):
        HashingEmbedder(0)


@promise("testing:frozen-clock", "FrozenClock moves only when told to.", source="DESIGN section 3")
def test_a_frozen_clock_moves_only_when_told() -> None:
    stopped = FrozenClock(datetime(2026, 5, 1, 14, tzinfo=timezone(timedelta(hours=2))))
    clock: Clock = stopped
    assert clock.now() == clock.now() == datetime(2026, 5, 1, 12, tzinfo=UTC)
    assert clock.now().tzinfo is UTC
    assert stopped.advance(timedelta(days=1)) == clock.now() == datetime(2026, 5, 2, 12, tzinfo=UTC)
    stopped.set(datetime(2027, 1, 1, tzinfo=UTC))
    assert clock.now().year == 2027
    with pytest.raises(InvalidInput):
        FrozenClock(datetime(2026, 1, 1))
