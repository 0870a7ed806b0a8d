"""Records become rows and come back by their annotations alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.errors import InvalidInput, StoreCorrupt
from reasoningbank.storage.rows import Mapped, decoding, from_json, to_json

TEXTS = st.text(st.characters(codec="utf-8"), max_size=9)
MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(9999, 1, 1), timezones=st.just(UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    up: int
    down: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    id: str
    project: str
    kind: Literal["one", "two"]
    share: float
    said: bool
    perhaps: bool | None
    at: datetime
    last: datetime | None
    tags: tuple[str, ...]
    facts: Mapping[str, str]
    lists: Mapping[str, str | tuple[str, ...]]
    inner: Inner
    text: str = field(default="")


COLUMNS = "at, id, kind, down, share, said, perhaps, last, tags, up, facts, lists, text"
RECORDS = st.builds(
    Record,
    id=TEXTS,
    project=st.just("p"),
    kind=st.sampled_from(["one", "two"]),
    share=st.floats(0, 1),
    said=st.booleans(),
    perhaps=st.none() | st.booleans(),
    at=MOMENTS,
    last=st.none() | MOMENTS,
    tags=st.lists(TEXTS, max_size=3).map(tuple),
    facts=st.dictionaries(TEXTS, TEXTS, max_size=3),
    lists=st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS, max_size=3).map(tuple), max_size=3),
    inner=st.builds(Inner, up=st.integers(0, 9), down=st.integers(0, 9)),
    text=TEXTS,
)


@promise(
    "storage:rows",
    "What is stored comes back as it was, whatever its text, times and lists hold; a row that cannot be what "
    "was written is an error and not an answer.",
    source="issue 10 One low seam to the database",
)
@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("escaped", [False, True])
@given(record=RECORDS)
def test_a_row_gives_the_record_that_it_was_made_of(record: Record, *, trusted: bool, escaped: bool) -> None:
    records = Mapped(Record, COLUMNS, trusted=trusted, ascii=escaped)
    row = records.row(record)
    assert len(row) == records.count == 13
    assert all(value is None or type(value) in {str, int, float} for value in row)
    assert records.record(row, project="p") == record


@promise("storage:rows")
@given(record=RECORDS)
def test_a_time_without_a_zone_is_no_column(record: Record) -> None:
    records = Mapped(Inner, "down, up")
    assert records.row(record.inner) == (record.inner.down, record.inner.up)
    with pytest.raises(InvalidInput):
        Mapped(Record, "at, id").row(Record(**{**_fields(record), "at": record.at.replace(tzinfo=None)}))  # type: ignore[arg-type]


@promise("storage:rows")
@pytest.mark.parametrize("row", [(1,), ("x", 1), (None, 1)])
def test_a_row_that_cannot_be_a_record_is_corrupt(row: tuple[str | int | None, ...]) -> None:
    with pytest.raises(StoreCorrupt), decoding("a record"):
        Mapped(Record, "at, id").record(row)


@promise("storage:rows")
@given(record=RECORDS)
def test_a_record_comes_back_from_its_json(record: Record) -> None:
    plain = Mapped(Inner, "up, down").record((record.inner.up, record.inner.down))
    assert from_json(Inner, to_json(plain)) == plain
    with pytest.raises(InvalidInput):
        from_json(Inner, {"up": "3"})
    with pytest.raises(InvalidInput):
        from_json(Inner, [])


def _fields(record: Record) -> dict[str, object]:
    return {name: getattr(record, name) for name in Record.__slots__}
