"""Every field of every file that a bank reads in, given values of all kinds: refused, or stored and readable."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from opened_banks import opening
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.demo.graph import shop_graph
from reasoningbank.errors import BankError
from reasoningbank.testing import FrozenClock, HashingEmbedder

Place = tuple[str | int, ...]

TIMES = (
    "9999-12-31T23:59:59-12:00",
    "9999-12-31T23:59:59.999999+00:00",
    "9999-12-31",
    "0001-01-01T00:00:00+14:00",
    "0001-01-01",
    "2026-02-30",
    "2026-03-01T12:00:00",
    "2026-03-01T12:00:00+23:59",
    "2026-W09-7",
    "",
)
NUMBERS = (0, -1, 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**400, 0.5, 1e308, 1e-320, -0.0)
OTHERS: tuple[object, ...] = (
    None,
    True,
    False,
    [],
    {},
    [[]],
    [None],
    {"": None},
    "\u0000",
    "\ud800",
    "\u202e",
    "x" * 70_000,
    "+" * 300,
)

OFFSETS = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
VALUES = st.one_of(
    st.sampled_from(TIMES),
    st.sampled_from(NUMBERS),
    st.sampled_from(OTHERS),
    st.datetimes(timezones=OFFSETS).map(lambda at: at.isoformat()),
    st.integers(),
    st.floats(),
    st.text(max_size=40),
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=6),
)


def places(value: object, inside: Place = ()) -> Iterator[Place]:
    """Every field of a JSON value, and every value that is not an object or a list."""
    if inside:
        yield inside
    if isinstance(value, dict):
        for name, each in value.items():
            yield from places(each, (*inside, name))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from places(each, (*inside, index))


def changed(value: Any, place: Place, new: object) -> Any:
    """A copy in which one field holds something else."""
    if not place:
        return new
    made = copy.copy(value)
    made[place[0]] = changed(value[place[0]], place[1:], new)
    return made


def use(bank: Bank, folder: Path, open_other: Callable[[], Bank]) -> None:
    """Does with a bank all that reads what was imported, and takes it away again."""
    memories = bank.memories.list(limit=0)
    for memory in memories:
        bank.get(memory.id)
        bank.memories.history(memory.id)
    for node in bank.graph.list():
        bank.graph.get(node.id)
    bank.search("a heat wave before the order", session="s")
    bank.briefing("a heat wave before the order")
    bank.admin.stats()
    assert bank.admin.check().problems == ()
    bank.admin.export(folder / "again.jsonl")
    other = open_other()
    report = other.admin.import_(folder / "again.jsonl")
    assert len(report.imported) == len(memories)
    for memory in memories:
        bank.delete(memory.id)
    for node in bank.graph.list():
        bank.graph.delete(node.id)
    assert bank.memories.count() == 0


@pytest.fixture(scope="module")
def export_lines(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The lines of an export with evidence, versions, documents' neighbours and a graph."""
    folder, clock = tmp_path_factory.mktemp("hostile"), FrozenClock()
    with opening(folder / "home", clock, embedder=HashingEmbedder(16), url="memory://") as open_one:
        bank = open_one(tenant=folder.name)
        ids = [
            bank.record(title=f"Lesson {n}", content=f"Do thing {n} first.", outcome="success", tags=["t"]).id
            for n in range(3)
        ]
        bank.outcome(ids[0], succeeded=True, session="s1")
        bank.feedback(ids[1], helpful=False)
        clock.advance(timedelta(days=40))
        bank.admin.roll_up()
        bank.feedback(ids[2], helpful=True)
        bank.update(ids[2], title="Lesson three")
        bank.quarantine.add(memory_id=ids[1], reason="wrong")
        bank.admin.export(folder / "bank.jsonl")
        graph = shop_graph()
        return [
            [json.loads(line) for line in (folder / "bank.jsonl").read_text().splitlines()],
            json.loads(graph),
        ]


EXAMPLES = settings(
    # A failing example is small as it is: one field of one file.
    max_examples=40,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
    deadline=None,
)


@promise(
    "hardness:import-fields",
    "Whatever stands in a field of an export or of a graph file: it is refused and nothing is stored, or it can be "
    "listed, read, searched, exported, imported again and deleted.",
    source="issue 13",
)
@pytest.mark.parametrize("kind", ["export", "graph"])
@EXAMPLES
@given(data=st.data())
def test_what_an_import_accepts_can_be_read_back(
    kind: str, data: st.DataObject, export_lines: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    original = export_lines[0 if kind == "export" else 1]
    place = data.draw(st.sampled_from(list(places(original))))
    value = changed(original, place, data.draw(VALUES))
    folder = tmp_path_factory.mktemp("file")
    with opening(folder / "home", FrozenClock(), embedder=HashingEmbedder(16), url="memory://") as open_one:
        bank = open_one(tenant=folder.name)
        try:
            if kind == "export":
                lines = value if isinstance(value, list) else [value]
                (folder / "bank.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
                bank.admin.import_(folder / "bank.jsonl")
            else:
                (folder / "graph.json").write_text(json.dumps(value))
                bank.graph.import_(folder / "graph.json")
        except BankError:
            assert bank.memories.count() == 0
            assert not bank.graph.list()
            return
        use(bank, folder, lambda: open_one("other", tenant=folder.name))
