"""A large graph: a question reads what it touches, never all of it. Times are measured by the benchmarks."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from graph_corpus import graph_records

from linked_memories import add_lesson, find_lessons
from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.storage.sqlite_connection import ConnectionSource, spelled
from reasoningbank.types.walk import WalkParameters

LAST_ROW = re.compile("FROM counters|ORDER BY key DESC LIMIT 1")
TABLES = ("nodes", "edges", "memories", "vectors", "pointers", "lessons")


def filled(open_bank: OpenBank, folder: Path, nodes: int) -> Bank:
    """A graph of so many nodes with four times as many edges and a chain apart from them."""
    records = graph_records(nodes, 4 * nodes)
    chain = [{"id": f"C{place}", "label": "AgentAnswer", "text": f"Step {place} of the chain."} for place in range(6)]
    steps = [
        {"id": f"S{place}", "source": f"C{place}", "target": f"C{place + 1}", "text": "It leads on.", "weight": 0.9}
        for place in range(5)
    ]
    path = folder / f"{nodes}.json"
    whole = {"nodes": [*records["nodes"], *chain], "edges": [*records["edges"], *steps]}
    path.write_text(json.dumps(whole), encoding="utf-8")
    bank = open_bank(f"graph-{nodes}")
    bank.graph.import_(path)
    for number in range(20):
        add_lesson(bank, key_lesson=f"Lesson {number} about stock.", context_to_prefer="When stock is short.")
    return bank


class Reads:
    """The statements that are run, and how many rows each brings."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.statements: list[tuple[ConnectionSource, str, Sequence[object]]] = []
        self.rows = 0
        run = ConnectionSource.run

        def counted(source: ConnectionSource, sql: str, values: Sequence[object] = ()) -> object:
            found = run(source, sql, values)  # type: ignore[arg-type]
            self.statements.append((source, sql, values))
            self.rows += len(found)
            return found

        monkeypatch.setattr(ConnectionSource, "run", counted)

    def begin(self) -> None:
        self.statements.clear()
        self.rows = 0


@promise(
    "memoria:P27",
    "A question to a large graph reads what it touches: as many rows in a graph four times as large, and no statement "
    "goes through a whole table; make bench holds the times.",
    source="memoria_haios P27",
)
def test_a_walk_reads_what_it_reaches_however_large_the_graph(
    open_bank: OpenBank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = Reads(monkeypatch)
    rows = []
    for nodes in (300, 1_200):
        bank = filled(open_bank, tmp_path, nodes)
        bank.graph.walk({"N1": 0.8})
        reads.begin()
        found = bank.graph.walk({"C0": 0.8}, WalkParameters(preset="memoria"))
        assert found.paths[0].nodes == ("C0", "C1", "C2", "C3", "C4", "C5")
        rows.append(reads.rows)
    assert rows[0] == rows[1]
    assert rows[0] < 100


@promise("memoria:P27")
def test_no_statement_of_a_question_reads_a_whole_table(
    open_bank: OpenBank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the index of the process is filled: the plan of every statement goes through an index.

    Only the counters, and what looks for changes, take the last row of a table by its key.
    """
    bank = filled(open_bank, tmp_path, 600)
    bank.graph.search("stock price season")
    find_lessons(bank, "stock is short")
    reads = Reads(monkeypatch)
    bank.graph.search("demand of the warehouse", limit=3)
    find_lessons(bank, "short stock")
    bank.graph.walk({"N5": 0.9}, WalkParameters(tags=("stock",)))
    assert reads.statements
    for source, sql, values in list(reads.statements):
        if not sql.lstrip().upper().startswith(("SELECT", "WITH")) or LAST_ROW.search(sql):
            continue
        plan = source.connection.execute(f"EXPLAIN QUERY PLAN {spelled(sql)}", tuple(values)).fetchall()
        for line in plan:
            scanned = re.match(r"SCAN (\w+)(?! USING|.*VIRTUAL)", str(line[3]))
            assert scanned is None or scanned.group(1) not in TABLES, (sql, line[3])
