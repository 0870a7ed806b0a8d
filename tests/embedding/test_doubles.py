"""The stand-ins of ``reasoningbank.testing``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.errors import InvalidInput
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.ports import Clock, Embedder


@pytest.mark.promise("testing:hashing-embedder")
@given(texts=st.lists(st.text(), max_size=4), dimension=st.integers(1, 64))
def test_hashing_gives_unit_rows_that_depend_on_the_words_only(texts: list[str], dimension: int) -> None:
    embedder: Embedder = HashingEmbedder(dimension)
    rows = embedder.embed_documents(texts)
    assert rows.shape == (len(texts), dimension)
    assert numpy.allclose(numpy.linalg.norm(rows, axis=1), 1)
    assert numpy.array_equal(rows, embedder.embed_queries(texts))
    assert embedder.model_id == f"hashing/{dimension}"


@pytest.mark.promise("testing:hashing-embedder")
def test_hashing_finds_shared_words() -> None:
    query, near, far = HashingEmbedder(256).embed_queries(["retry the call", "Retry, the CALL!", "bake bread slowly"])
    assert query @ near == pytest.approx(1)
    assert query @ far < 0.5
    with pytest.raises(InvalidInput):
        HashingEmbedder(0)


@pytest.mark.promise("testing:frozen-clock")
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
