"""What a search, a record, the log of a search and memory cost as a bank grows, and as a session is shown more.

    python benchmarks/bench_growth.py [--sizes 1000 10000 100000] [--rounds 60] [--deliveries 10000] [--write FILE]

Every size has a process of its own, one after the other. The exponent is the slope of a line through the logarithms: 0
does not grow, 1 grows as the bank does. Searches are given their vectors, records none but those that were made before.
The last table is one session of so many deliveries in a bank of 1,000 memories.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import corpus
from test_bench_search import QUERIES, TEXTS, GivenVectors

from reasoningbank.bank import Bank
from reasoningbank.settings import Settings
from reasoningbank.storage import open_storage
from reasoningbank.types.recall import CONTENT_LEG, Filter
from reasoningbank.types.scope import Scope

WARMING = 20
STEADY = 1_000
"""Memories of the bank whose session is long, and deliveries that are counted together."""
ROWS = {
    "first": "open and first search, ms",
    "search": "search, vector given, log included, CPU ms",
    "unlogged": "the same without its log, CPU ms",
    "dense": "vectors alone, CPU ms",
    "record": "record, vector given, CPU ms",
    "megabytes": "memory of the process at most, MB",
    "disk": "files, MB",
}


def fill(home: Path, size: int) -> None:
    """Store so many memories below a directory."""
    corpus.filled(home, size).close()


def opened(home: Path, size: int, session: str) -> Bank:
    """Return the bank of this size, with vectors that were made before."""
    return Bank.open(
        tenant="bench",
        project=f"memories-{size}",
        embedder=GivenVectors(),
        settings=Settings(home=home),
        session=session,
        by_agent=False,
    )


def median(work: Callable[[int], object], rounds: int) -> float:
    """Return the median of the CPU milliseconds of calls with successive numbers, after some that are not counted."""
    took = []
    for number in range(WARMING + rounds):
        began = time.process_time()
        work(number)
        took.append((time.process_time() - began) * 1_000)
    return statistics.median(took[WARMING:])


def measure(home: Path, size: int, rounds: int) -> dict[str, float]:
    """Return the figures of one bank, in this process."""
    began = time.perf_counter()
    with opened(home, size, "bench") as bank:
        bank.search(TEXTS[-1])
        first = (time.perf_counter() - began) * 1_000
        search = median(lambda number: bank.search(TEXTS[number]), rounds)
        unlogged = median(lambda number: bank.search(TEXTS[number], logged=False), rounds)
        record = median(
            lambda number: bank.record(title=f"{TEXTS[number]} {number}", content=TEXTS[number], outcome="success"),
            rounds,
        )
    scope = Scope(tenant="bench", project=f"memories-{size}")
    store = open_storage(None, home=home).open(scope)
    dense = median(lambda number: store.search.nearest(CONTENT_LEG, QUERIES[number], Filter(), 10), rounds)
    store.close()
    status = Path("/proc/self/status").read_text().splitlines()
    return {
        "first": first,
        "search": search,
        "unlogged": unlogged,
        "dense": dense,
        "record": record,
        "megabytes": int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 1_024,
        "disk": sum(each.stat().st_size for each in home.rglob("*") if each.is_file()) / 1_000_000,
    }


def deliver(home: Path, deliveries: int) -> list[float]:
    """Return the CPU milliseconds of a search of one session, the median of each thousand deliveries."""
    took: list[float] = []
    found: list[float] = []
    shown = 0
    with opened(home, STEADY, "long") as bank:
        number = 0
        while shown < deliveries:
            began = time.process_time()
            answer = bank.search(TEXTS[number % len(TEXTS)], limit=20)
            took.append((time.process_time() - began) * 1_000)
            shown += len(answer.delivered)
            number += 1
            if shown // STEADY > len(found):
                found.append(statistics.median(took))
                took.clear()
    return found


def exponent(figures: Mapping[int, float]) -> float:
    """Return the slope of the line of least squares through the logarithms of sizes and figures."""
    points = [(math.log(size), math.log(figure)) for size, figure in figures.items()]
    middle = (statistics.fmean(x for x, _ in points), statistics.fmean(y for _, y in points))
    spread = sum((x - middle[0]) ** 2 for x, _ in points)
    return sum((x - middle[0]) * (y - middle[1]) for x, y in points) / spread


def alone(*arguments: object) -> str:
    """Return what this program prints as a process of its own."""
    command = [sys.executable, __file__, *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def table(found: Mapping[int, Mapping[str, float]], sizes: Sequence[int]) -> str:
    """Return all figures as a table of Markdown."""
    lines = ["| | " + " | ".join(f"{size:,}" for size in sizes) + " | exponent |", "|---" * (len(sizes) + 2) + "|"]
    for key, name in ROWS.items():
        figures = {size: found[size][key] for size in sizes}
        told = " | ".join(f"{figures[size]:,.2f}" for size in sizes)
        lines.append(f"| {name} | {told} | {exponent(figures):.2f} |")
    return "\n".join(lines)


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--deliveries", type=int, default=10_000)
    parser.add_argument("--write", type=Path, help="a file for all figures, as JSON")
    parser.add_argument("--fill", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.fill:
        fill(Path(chosen.fill[0]), int(chosen.fill[1]))
        return 0
    if chosen.measure:
        print(json.dumps(measure(Path(chosen.measure[0]), int(chosen.measure[1]), chosen.rounds)))
        return 0
    found: dict[int, dict[str, float]] = {}
    for size in chosen.sizes:
        with tempfile.TemporaryDirectory() as scratch:
            alone("--fill", scratch, size)
            found[size] = json.loads(alone("--measure", scratch, size, "--rounds", chosen.rounds))
    print(table(found, chosen.sizes))
    with tempfile.TemporaryDirectory() as scratch:
        fill(Path(scratch), STEADY)
        long = deliver(Path(scratch), chosen.deliveries)
    print(f"\nA search of one session, CPU ms, by thousands of deliveries: {', '.join(f'{each:.2f}' for each in long)}")
    if chosen.write:
        chosen.write.parent.mkdir(parents=True, exist_ok=True)
        chosen.write.write_text(json.dumps({"sizes": found, "deliveries": long}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
