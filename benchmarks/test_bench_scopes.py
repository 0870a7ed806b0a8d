"""A search over project, team and org against one over the project alone, in turns inside one run."""

from __future__ import annotations

import dataclasses
import itertools
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import corpus
from pytest_benchmark.fixture import BenchmarkFixture
from test_bench_search import QUERIES, TEXTS, GivenVectors

from reasoningbank.bank import Bank
from reasoningbank.context import Context
from reasoningbank.embedding import open_embedder
from reasoningbank.search.cascade import cascade
from reasoningbank.search.recall import Question, recall
from reasoningbank.settings import Settings
from reasoningbank.storage import open_storage
from reasoningbank.storage.store import Store
from reasoningbank.types.recall import Filter
from reasoningbank.types.scope import Level, Scope

MEMORIES = 10_000
SENTENCES = 200
ROUNDS = 60
LEVELS: tuple[Level, ...] = ("project", "team", "org")
_BATCH = 1_000


def ratio(ours: Callable[[int], object], theirs: Callable[[int], object]) -> str:
    """Medians of processor milliseconds of both, and the median of their ratios pair by pair."""
    pairs: list[tuple[float, float]] = []
    for number in range(ROUNDS):
        start = time.process_time()
        ours(number)
        middle = time.process_time()
        theirs(number)
        pairs.append(((middle - start) * 1_000.0, (time.process_time() - middle) * 1_000.0))
    ours_median, theirs_median = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
    share = statistics.median(pair[0] / pair[1] for pair in pairs)
    return f"{ours_median:.2f} against {theirs_median:.2f} CPU ms: {share:.2f}x"


def test_three_scopes_against_one_without_embedding(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    storage = open_storage(None, home=tmp_path)
    made = corpus.memories(MEMORIES * len(LEVELS), described=True)
    stores: list[Store] = []
    for level in LEVELS:
        store = storage.open(Scope(tenant="bench", project="bench", level=level))
        for _ in range(0, MEMORIES, _BATCH):
            with store.transaction() as transaction:
                for memory, indexed in itertools.islice(made, _BATCH):
                    transaction.memories.insert(memory, indexed)
        stores.append(store)

    def question(number: int) -> Question:
        return Question(text=TEXTS[number], condition=Filter(), limit=10, min_confidence=0.7, unproven=1)

    def three(number: int) -> object:
        return cascade(stores, GivenVectors(), question(number), random.Random(1), vector=QUERIES[number])

    def one(number: int) -> object:
        return recall(stores[0], GivenVectors(), question(number), random.Random(1), vector=QUERIES[number])

    three(0), one(0)
    figures = ratio(three, one)
    benchmark.extra_info.update(size=MEMORIES, figures=figures)
    benchmark(three, 1)
    print(f"\nthree scopes of {MEMORIES} without embedding: {figures}")
    for store in stores:
        store.close()


def test_a_whole_search_with_team_and_org_against_one_without(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    embedder = open_embedder("local", cache=tmp_path / "models")
    settings = Settings(home=tmp_path)
    storage = open_storage(None, home=tmp_path)
    texts = corpus.sentences()
    for place, level in enumerate(LEVELS):
        for name in ("alone", "member") if level == "project" else ("bench",):
            with Bank(
                Context(storage, Scope(tenant="bench", project=name, level=level), embedder, settings=settings)
            ) as bank:
                for text in texts[place * SENTENCES : (place + 1) * SENTENCES]:
                    bank.record(title=text[:80], content=text, outcome="success")
    alone = Bank.open(tenant="bench", project="alone", embedder=embedder, settings=settings, by_agent=False)
    member = Bank.open(
        tenant="bench",
        project="member",
        team="bench",
        org="bench",
        embedder=embedder,
        settings=settings,
        by_agent=False,
    )
    for bank in (alone, member):
        bank.search(TEXTS[0])
    shown = [len({hit.scope for hit in member.search(text).delivered}) for text in TEXTS[:ROUNDS]]
    figures = ratio(lambda number: member.search(TEXTS[number]), lambda number: alone.search(TEXTS[number]))
    benchmark.extra_info.update(size=SENTENCES, figures=figures)
    benchmark(lambda: dataclasses.asdict(member.search(TEXTS[1])))
    print(f"\nwhole searches, {statistics.mean(shown):.1f} scopes in an answer: {figures}")
    for bank in (alone, member):
        bank.close()
