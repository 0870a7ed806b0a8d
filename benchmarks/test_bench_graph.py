"""The graph at its ordinary size: 10,000 nodes and 40,000 edges, half of whose ends are at a twentieth of the nodes."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest
from graph_corpus import WORDS, graph_records

from reasoningbank.bank import Bank
from reasoningbank.domain.walk import WalkParameters
from reasoningbank.engine.graphing.indexing import embed_pending
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder

NODES, EDGES, IMPORTED = 10_000, 40_000, 50_000
MAX_WALK_MS, MAX_QUESTION_MS, MAX_IMPORT_SECONDS = 50.0, 300.0, 20.0
QUESTIONS, WARMING = 60, 20


def _bank(home: Path) -> Bank:
    return Bank.open(tenant="bench", project="graph", embedder=HashingEmbedder(384), settings=Settings(home=home))


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    """The graph with the vectors of its nodes."""
    home = tmp_path_factory.mktemp("graph")
    path = home / "graph.json"
    path.write_text(json.dumps(graph_records(NODES, EDGES)), encoding="utf-8")
    bank = _bank(home / "home")
    bank.graph_import(path)
    embed_pending(bank._open_store(), bank.embedder, limit=NODES)
    return bank


def test_an_import_of_fifty_thousand_edges(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(graph_records(NODES, IMPORTED)), encoding="utf-8")
    with _bank(tmp_path / "home") as bank:
        seconds, cpu = [], []
        for _ in range(2):
            began, used = time.perf_counter(), time.process_time()
            report = bank.graph_import(path)
            seconds.append(time.perf_counter() - began)
            cpu.append(time.process_time() - used)
        size = sum(each.stat().st_size for each in (tmp_path / "home").rglob("*") if each.is_file())
    print(
        f"\nimport of {NODES:,} nodes and {IMPORTED:,} edges: {seconds[0]:.1f} s ({cpu[0]:.1f} s of CPU), "
        f"again {seconds[1]:.1f} s ({cpu[1]:.1f} s), {size / 2**20:.0f} MiB, {report.pending:,} vectors pending"
    )
    assert (report.nodes_added, report.edges_unchanged) == (0, IMPORTED)
    assert seconds[0] < MAX_IMPORT_SECONDS


@pytest.mark.parametrize("preset", ["default", "memoria"])
def test_a_walk_without_embedding(bank: Bank, preset: str) -> None:
    chance = random.Random(1)
    parameters = WalkParameters(preset=preset, tags=("stock", "season", "price"))  # type: ignore[arg-type]
    times, reached = [], 0
    for _ in range(QUESTIONS):
        seeds = {f"N{chance.randrange(NODES)}": chance.uniform(0.5, 0.9) for _ in range(3)}
        began = time.perf_counter()
        reached += bank.graph_walk(seeds, parameters).reached
        times.append((time.perf_counter() - began) * 1e3)
    middle, high = _percentiles(times[WARMING:])
    print(
        f"\nwalk, {preset}: p50 {middle:.1f} ms, p95 {high:.1f} ms, first {times[0]:.1f} ms, "
        f"{reached / QUESTIONS:.0f} nodes reached"
    )
    assert high < MAX_WALK_MS


def test_a_whole_question(bank: Bank) -> None:
    chance = random.Random(2)
    times = []
    for _ in range(QUESTIONS):
        began = time.perf_counter()
        bank.graph_search(" ".join(chance.choices(WORDS, k=6)))
        times.append((time.perf_counter() - began) * 1e3)
    middle, high = _percentiles(times[WARMING:])
    print(f"\nquestion with paths and context: p50 {middle:.1f} ms, p95 {high:.1f} ms, first {times[0]:.1f} ms")
    assert high < MAX_QUESTION_MS


def _percentiles(times: list[float]) -> tuple[float, float]:
    ordered = sorted(times)
    return ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
