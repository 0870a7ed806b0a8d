"""The graph at its ordinary size: 10,000 nodes and 40,000 edges, half of whose ends are at a twentieth of the nodes."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from graph_corpus import WORDS, graph_records
from pytest_benchmark.fixture import BenchmarkFixture

from reasoningbank.bank import Bank
from reasoningbank.graph.nodes import embed_pending
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.walk import WalkParameters

NODES, EDGES, IMPORTED = 10_000, 40_000, 50_000
MAX_WALK_MS, MAX_QUESTION_MS, MAX_IMPORT_SECONDS = 50.0, 300.0, 20.0
QUESTIONS, WARMING = 60, 20


def _bank(home: Path) -> Bank:
    return Bank.open(
        tenant="bench", project="graph", embedder=HashingEmbedder(384), settings=Settings(home=home), by_agent=False
    )


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    """The graph with the vectors of its nodes."""
    home = tmp_path_factory.mktemp("graph")
    path = home / "graph.json"
    path.write_text(json.dumps(graph_records(NODES, EDGES)), encoding="utf-8")
    bank = _bank(home / "home")
    bank.graph.import_(path)
    embed_pending(bank._context.store(), bank.embedder, limit=NODES)
    return bank


def test_an_import_of_fifty_thousand_edges(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(graph_records(NODES, IMPORTED)), encoding="utf-8")
    with _bank(tmp_path / "home") as bank:
        used = time.process_time()
        first = benchmark.pedantic(bank.graph.import_, args=(path,), rounds=1, iterations=1)
        used = time.process_time() - used
        began = time.perf_counter()
        again = bank.graph.import_(path)
        seconds = time.perf_counter() - began
        size = sum(each.stat().st_size for each in (tmp_path / "home").rglob("*") if each.is_file())
    (imported,) = _seconds(benchmark)
    print(
        f"\nimport of {NODES:,} nodes and {IMPORTED:,} edges: {imported:.1f} s ({used:.1f} s of CPU), "
        f"again {seconds:.1f} s, {size / 2**20:.0f} MiB, {first.pending:,} vectors pending"
    )
    assert (again.nodes_added, again.edges_unchanged) == (0, IMPORTED)
    assert imported < MAX_IMPORT_SECONDS


@pytest.mark.parametrize("preset", ["default", "memoria"])
def test_a_walk_without_embedding(benchmark: BenchmarkFixture, bank: Bank, preset: str) -> None:
    chance = random.Random(1)
    parameters = WalkParameters(preset=preset, tags=("stock", "season", "price"))  # type: ignore[arg-type]

    def walk() -> None:
        bank.graph.walk({f"N{chance.randrange(NODES)}": chance.uniform(0.5, 0.9) for _ in range(3)}, parameters)

    benchmark.pedantic(walk, rounds=QUESTIONS, warmup_rounds=WARMING)
    middle, high = _percentiles(_seconds(benchmark))
    print(f"\nwalk in the store, {preset}: p50 {middle:.1f} ms, p95 {high:.1f} ms (limit {MAX_WALK_MS:.0f} ms)")
    assert high < MAX_WALK_MS


def test_a_whole_question(benchmark: BenchmarkFixture, bank: Bank) -> None:
    chance = random.Random(2)
    benchmark.pedantic(
        lambda: bank.graph.search(" ".join(chance.choices(WORDS, k=6))), rounds=QUESTIONS, warmup_rounds=WARMING
    )
    middle, high = _percentiles(_seconds(benchmark))
    print(f"\nquestion with paths and context: p50 {middle:.1f} ms, p95 {high:.1f} ms (limit {MAX_QUESTION_MS:.0f} ms)")
    assert high < MAX_QUESTION_MS


def test_memory_of_a_process_that_walks(benchmark: BenchmarkFixture, bank: Bank) -> None:
    """Peak resident memory of a process of its own that opens the graph, walks and asks.

    It is VmHWM, which begins anew with the program; ``ru_maxrss`` also counts the process that was forked for it.
    """
    program = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent)!r})
import test_bench_graph
with test_bench_graph._bank(Path({str(bank._context.settings.home)!r})) as bank:
    for number in range(20):
        bank.graph.walk({{f"N{{number * 37}}": 0.8}})
    bank.graph.search("stock season price")
print(int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) // 1024)
"""
    done = benchmark.pedantic(
        subprocess.run,
        args=([sys.executable, "-c", program],),
        kwargs={"capture_output": True, "check": True},
        rounds=1,
    )
    print(f"\nresident memory with {NODES:,} nodes and {EDGES:,} edges: {int(done.stdout)} MiB")


def _seconds(benchmark: BenchmarkFixture) -> list[float]:
    assert benchmark.stats is not None
    return list(benchmark.stats.stats.data)


def _percentiles(seconds: list[float]) -> tuple[float, float]:
    """The median and the 95th percentile, in milliseconds."""
    ordered = sorted(1e3 * each for each in seconds)
    return ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
