"""Many memories in each engine: how long they take to load, what a filtered search takes, and what it finds.

    python benchmarks/bench_scale.py [--memories 1000000] [--queries 200] [--seconds 60] [--write FILE] [ENGINE ...]

Engines are sqlite, sqlite+qdrant, sqlite+milvus, postgresql, postgresql+pgvector and servers: eight processes with
fifty clients on one PostgreSQL for so many seconds, against a single process. The servers of the engines are those that
the tests start. Found is compared with an exact comparison of all vectors. Each figure is of this machine and this
moment; ``--write`` keeps them for simulate_scale.py. It ends with status 1 when an answer failed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import quote

import numpy
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import bench_http
import corpus

from postgres_servers import PostgresServer, shared_server
from reasoningbank.storage import open_storage
from reasoningbank.storage.indexed import Beside, close_indexes
from reasoningbank.storage.pgvector_schema import VECTORS
from reasoningbank.storage.postgres_schema import prepare_database
from reasoningbank.storage.store import Store
from reasoningbank.types.memory import Memory
from reasoningbank.types.recall import CONTENT_LEG, VECTOR_LEGS, Filter
from reasoningbank.types.records import Indexed
from reasoningbank.types.scope import Scope
from vector_servers import milvus_lite, shared_qdrant

SCOPE = Scope(tenant="bench", project="bench")
TOP = 10
CLIENTS, PROCESSES = 50, 8
BATCH = 1_000
FILTERS = {
    "no filter": Filter(),
    "a third": Filter(outcome="failure"),
    "one in 17": Filter(tags=("area3",)),
    "one in 51": Filter(tags=("area3",), outcome="failure"),
}


@dataclass
class Searched:
    """What searches with one filter took and found.

    Attributes:
        p50: Milliseconds that half of them took at most.
        p95: Milliseconds that nineteen in twenty took at most.
        recall: The share of the exact best ten that they gave.
    """

    p50: float
    p95: float
    recall: float


@dataclass
class Engine:
    """What one engine did.

    Attributes:
        name: The engine.
        memories: How many it held.
        load_seconds: How long storing them took, words and vectors included.
        index_seconds: How long the index beside took for them; 0 for none.
        first_seconds: How long the first search took.
        searched: What searches took and found, by filter.
    """

    name: str
    memories: int
    load_seconds: float
    index_seconds: float
    first_seconds: float = 0.0
    searched: dict[str, Searched] = field(default_factory=dict)


@dataclass
class Served:
    """What servers answered.

    Attributes:
        processes: How many there were.
        rate: Searches that were answered in a second.
        p50: Milliseconds that half of them took at most.
        p99: Milliseconds that 99 in 100 took at most.
        failed: Searches that were not answered.
    """

    processes: int
    rate: float
    p50: float
    p99: float
    failed: int


class Exact:
    """The answers of an exact comparison.

    Args:
        size: How many memories there are.
        ids: Their identifiers in the order in which they were stored.
    """

    def __init__(self, size: int, ids: Sequence[str]) -> None:
        self._vectors = corpus.vectors(size, 5)
        self._ids = ids
        numbers = numpy.arange(size)
        self._meets = {
            "no filter": numpy.ones(size, dtype=bool),
            "a third": numbers % 3 == 0,
            "one in 17": numbers % 17 == 3,
            "one in 51": (numbers % 17 == 3) & (numbers % 3 == 0),
        }

    def best(self, query: NDArray[numpy.float32], name: str) -> set[str]:
        """The identifiers of the ten closest that meet a filter."""
        scores = numpy.where(self._meets[name], self._vectors @ query, -2.0)
        return {self._ids[number] for number in numpy.argpartition(-scores, TOP)[:TOP]}


def fill(store: Store, size: int) -> list[str]:
    """Stores memories in bulk; gives their identifiers."""
    ids: list[str] = []
    batch: list[tuple[Memory, Indexed]] = []
    for entry in corpus.memories(size, described=False):
        batch.append(entry)
        ids.append(entry[0].id)
        if len(batch) == BATCH or len(ids) == size:
            with store.transaction() as transaction:
                for memory, indexed in batch:
                    transaction.memories.insert(memory, indexed)
            batch.clear()
    return ids


def measured(engine: Engine, store: Store, exact: Exact, queries: int) -> Engine:
    """Searches with each filter, and compares what is found with what is exact."""
    asked = corpus.vectors(queries, 9)
    began = time.perf_counter()
    store.search.nearest(CONTENT_LEG, asked[0], Filter(), TOP)
    engine.first_seconds = time.perf_counter() - began
    for name, condition in FILTERS.items():
        waits: list[float] = []
        found: list[float] = []
        for query in asked:
            began = time.perf_counter()
            hits = store.search.nearest(CONTENT_LEG, query, condition, TOP)
            waits.append((time.perf_counter() - began) * 1_000)
            found.append(len({hit.id for hit in hits} & exact.best(query, name)) / TOP)
        p50, p95 = numpy.percentile(waits, [50, 95])
        engine.searched[name] = Searched(float(p50), float(p95), sum(found) / len(found))
    print_engine(engine)
    return engine


def print_engine(engine: Engine) -> None:
    """Prints what an engine did."""
    print(
        f"\n{engine.name}: {engine.memories:,} memories, loaded in {engine.load_seconds:.0f} s, indexed in "
        f"{engine.index_seconds:.0f} s, first search {engine.first_seconds:.2f} s",
        flush=True,
    )
    for name, each in engine.searched.items():
        print(f"  {name:<12} p50 {each.p50:8.1f} ms   p95 {each.p95:8.1f} ms   recall@10 {each.recall:.4f}", flush=True)


def timed(work: Callable[[], object]) -> float:
    """How many seconds a piece of work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def beside(store: Store) -> Beside:
    """What keeps the index of a store."""
    assert isinstance(store.index, Beside)
    return store.index


@contextmanager
def without_graphs(admin: str) -> Iterator[None]:
    """Drops the graphs of pgvector for the block, as one does for a bulk load, and builds them after it."""
    import psycopg

    with psycopg.connect(admin, autocommit=True) as connection:
        for leg in range(len(VECTOR_LEGS)):
            connection.execute(f"DROP INDEX reasoningbank.{VECTORS}_{corpus.DIMENSION}_{leg}".encode())
    yield
    with psycopg.connect(admin, autocommit=True) as connection:
        database = connection.info.dbname
        connection.execute(f"ALTER DATABASE {database} SET maintenance_work_mem = '2GB'".encode())
    prepare_database(admin, dimension=corpus.DIMENSION)


def qdrant_url() -> str:
    """The URL of an index in a server that the tests start."""
    return f"{shared_qdrant().url}/scale?timeout=60"


def milvus_url(folder: Path) -> str:
    """The URL of an index in a file."""
    milvus_lite()
    return f"milvus:///{quote(str(folder))}/vectors.db?timeout=60"


def on_files(folder: Path, size: int, queries: int, wanted: Sequence[str]) -> list[Engine]:
    """Files of SQLite, alone and beside Qdrant and Milvus Lite."""
    url = f"sqlite:///{folder}/banks"
    done: list[Engine] = []
    with closing(open_storage(url, home=folder).open(SCOPE)) as store:
        ids: list[str] = []
        seconds = timed(lambda: ids.extend(fill(store, size)))
        exact = Exact(size, ids)
        if "sqlite" in wanted:
            done.append(measured(Engine("sqlite", size, seconds, 0.0), store, exact, queries))
    places: dict[str, Callable[[], str]] = {"sqlite+qdrant": qdrant_url, "sqlite+milvus": partial(milvus_url, folder)}
    for name, place in places.items():
        if name in wanted:
            with closing(open_storage(url, home=folder, vectors=place()).open(SCOPE)) as store:
                indexed = timed(beside(store).reconcile)
                done.append(measured(Engine(name, size, seconds, indexed), store, exact, queries))
            close_indexes()
    return done


def on_postgresql(server: PostgresServer, folder: Path, size: int, queries: int, wanted: Sequence[str]) -> list[Engine]:
    """PostgreSQL, alone and with pgvector."""
    done: list[Engine] = []
    with server.place() as url:
        with closing(open_storage(url, home=folder).open(SCOPE)) as store:
            ids: list[str] = []
            seconds = timed(lambda: ids.extend(fill(store, size)))
            exact = Exact(size, ids)
            admin = server.url(url.rpartition("/")[2].partition("?")[0])
            _vacuumed(admin)
            if "postgresql" in wanted:
                done.append(measured(Engine("postgresql", size, seconds, 0.0), store, exact, queries))
        if "postgresql+pgvector" in wanted:
            with closing(open_storage(url, home=folder, vectors="pgvector").open(SCOPE)) as store:
                began = time.perf_counter()
                with without_graphs(admin):
                    beside(store).reconcile()
                _vacuumed(admin)
                indexed = time.perf_counter() - began
                done.append(measured(Engine("postgresql+pgvector", size, seconds, indexed), store, exact, queries))
            close_indexes()
    return done


def _vacuumed(admin: str) -> None:
    """Does what a server's own cleaning does, which the tests switch off."""
    import psycopg

    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


def serve(server: PostgresServer, folder: Path, processes: int, seconds: float) -> Served:
    """Has fifty clients search so many processes on one database."""
    queries = corpus.questions(2_000)
    with server.place() as url, ExitStack() as stack:
        servers = [
            stack.enter_context(bench_http.serving(sys.executable, folder / f"{processes}-{number}", url=url))
            for number in range(processes)
        ]
        asyncio.run(bench_http.fill(servers[0], bench_http.MEMORIES))
        for each in servers:
            asyncio.run(bench_http.load(each, 1, 2.0, queries, 0))
            each.rates.clear()
            each.waits.clear()
        shares = [CLIENTS // processes + (number < CLIENTS % processes) for number in range(processes)]

        async def all_of_them() -> None:
            await asyncio.gather(
                *(
                    bench_http.load(each, share, seconds, queries, share)
                    for each, share in zip(servers, shares, strict=True)
                )
            )

        asyncio.run(all_of_them())
        waits = numpy.array([wait for each in servers for wait in each.waits]) * 1_000
        p50, p99 = numpy.percentile(waits, [50, 99])
        rate, failed = sum(sum(each.rates) for each in servers), sum(each.failed for each in servers)
        served = Served(processes, rate, float(p50), float(p99), failed)
    print(
        f"\n{processes} server processes, {CLIENTS} clients, {seconds:.0f} s: {served.rate:.1f} searches/s, "
        f"p50 {served.p50:.0f} ms, p99 {served.p99:.0f} ms, failed {served.failed}",
        flush=True,
    )
    return served


def main() -> int:
    """Measures what was asked for, and prints it."""
    names = ("sqlite", "sqlite+qdrant", "sqlite+milvus", "postgresql", "postgresql+pgvector", "servers")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engines", nargs="*", metavar="ENGINE", default=list(names))
    parser.add_argument("--memories", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--write", type=Path)
    chosen = parser.parse_args()
    engines: list[Engine] = []
    served: list[Served] = []
    with tempfile.TemporaryDirectory(prefix="bench-scale-") as name:
        folder = Path(name)
        if any(each.startswith("sqlite") for each in chosen.engines):
            engines += on_files(folder, chosen.memories, chosen.queries, chosen.engines)
        postgres = partial(on_postgresql, size=chosen.memories, queries=chosen.queries, wanted=chosen.engines)
        if any(each.startswith("postgresql") for each in chosen.engines):
            engines += postgres(shared_server(), folder)
        if "servers" in chosen.engines:
            served = [serve(shared_server(), folder, count, chosen.seconds) for count in (1, PROCESSES)]
    if chosen.write:
        machine = f"{os.cpu_count()} CPUs, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
        written = {
            "machine": machine,
            "load": os.getloadavg(),
            "engines": [asdict(each) for each in engines],
            "served": [asdict(each) for each in served],
        }
        chosen.write.parent.mkdir(parents=True, exist_ok=True)
        chosen.write.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")
    return int(any(each.failed for each in served))


if __name__ == "__main__":
    sys.exit(main())
