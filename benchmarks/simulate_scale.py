"""From measured searches toward a billion memories: how long a search takes, what memory it needs, what it costs.

    python benchmarks/simulate_scale.py [--measured benchmarks/scale_measured.json] [--picture FILE.svg]

The input is what bench_scale.py wrote. Everything else is calculated: a comparison of all vectors grows with the bank,
a walk of a graph with the logarithm of what the graph holds. Prices are arguments, not facts.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DIMENSION, LEGS = 384, 2
GRAPH_LINKS = 2 * 16 * 4
"""Bytes of the lowest level of an HNSW graph with M = 16, for one vector."""
COLUMNS = 100
"""Bytes that a searching process holds of each memory for its conditions."""
SIZES = [10**power for power in range(4, 10)]
_COLOURS = ("#0b5394", "#a61c00", "#38761d", "#674ea7")
_WIDTH, _HEIGHT, _EDGE = 420, 260, 60


@dataclass(frozen=True)
class Model:
    """What is assumed beside what was measured.

    Attributes:
        exact: Milliseconds of a search of the measured bank that compares all vectors.
        graph: Milliseconds of one that asks a graph.
        measured: How many memories were in both.
        tenants: Among how many tenants the memories are spread evenly.
        core_hour: The price of a core for an hour.
        gigabyte_month: The price of a gigabyte of memory for a month.
        recalls: Searches in a month for each memory.
    """

    exact: float
    graph: float
    measured: int
    tenants: int
    core_hour: float
    gigabyte_month: float
    recalls: float

    def bank(self, total: float) -> float:
        """How many memories a bank has."""
        return max(1.0, total / self.tenants)

    def exact_ms(self, size: float) -> float:
        """A search that compares all vectors of a bank: its cost grows with the bank."""
        return self.exact * max(0.1, size / self.measured)

    def graph_ms(self, size: float) -> float:
        """A search that asks a graph of so many vectors."""
        return self.graph * max(1.0, math.log(size) / math.log(self.measured))

    def held_bytes(self, total: float) -> float:
        """What processes hold that compare vectors in memory, each bank once."""
        return total * (LEGS * DIMENSION * 4 + COLUMNS)

    def graph_bytes(self, total: float) -> float:
        """What a graph holds that keeps whole vectors in memory."""
        return total * (LEGS * (DIMENSION * 4 + GRAPH_LINKS) + COLUMNS)

    def small_bytes(self, total: float) -> float:
        """The same with one byte for each number, and whole vectors on disk."""
        return total * (LEGS * (DIMENSION + GRAPH_LINKS) + COLUMNS)

    def million(self, total: float, milliseconds: float, held: float) -> float:
        """The price of a million searches: the cores that they use, and their share of the memory."""
        cores = milliseconds / 1_000 / 3_600 * self.core_hour * 1e6
        memory = held / 1e9 * self.gigabyte_month / (total * self.recalls) * 1e6
        return cores + memory


def curves(model: Model) -> Mapping[str, Mapping[str, Callable[[float], float]]]:
    """What is drawn: for each picture its lines, over the memories of all tenants."""
    return {
        "milliseconds of a search": {
            "exact, own bank": lambda total: model.exact_ms(model.bank(total)),
            "exact, one bank": model.exact_ms,
            "graph of all": model.graph_ms,
        },
        "gigabytes of memory": {
            "held by processes": lambda total: model.held_bytes(total) / 1e9,
            "graph": lambda total: model.graph_bytes(total) / 1e9,
            "graph, one byte a number": lambda total: model.small_bytes(total) / 1e9,
        },
        "price of a million recalls": {
            "exact, own bank": lambda total: model.million(
                total, model.exact_ms(model.bank(total)), model.held_bytes(total)
            ),
            "graph": lambda total: model.million(total, model.graph_ms(total), model.graph_bytes(total)),
            "graph, one byte a number": lambda total: model.million(
                total, model.graph_ms(total), model.small_bytes(total)
            ),
        },
    }


def picture(drawn: Mapping[str, Mapping[str, Callable[[float], float]]]) -> str:
    """An SVG of the curves, both axes logarithmic."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {(_HEIGHT + 40) * len(drawn)}" '
        'font-family="sans-serif" font-size="11">'
    ]
    for number, (title, lines) in enumerate(drawn.items()):
        parts += _panel(title, lines, number * (_HEIGHT + 40))
    return "\n".join([*parts, "</svg>", ""])


def _panel(title: str, lines: Mapping[str, Callable[[float], float]], top: float) -> Sequence[str]:
    values = [line(size) for line in lines.values() for size in SIZES]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def across(size: float) -> float:
        first, last = math.log10(SIZES[0]), math.log10(SIZES[-1])
        return _EDGE + (math.log10(size) - first) / (last - first) * (_WIDTH - _EDGE - 20)

    def down(value: float) -> float:
        return top + 30 + (high - math.log10(value)) / (high - low) * (_HEIGHT - 60)

    parts = [f'<text x="{_EDGE}" y="{top + 18}" font-weight="bold">{title}</text>']
    for power in range(low, high + 1):
        y = down(10.0**power)
        parts.append(f'<line x1="{_EDGE}" x2="{_WIDTH - 20}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{_EDGE - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    for size in SIZES:
        label = f"{size:,}".replace(",000,000,000", " G").replace(",000,000", " M").replace(",000", " k")
        parts.append(f'<text x="{across(size):.1f}" y="{top + _HEIGHT - 12}" text-anchor="middle">{label}</text>')
    for number, (name, line) in enumerate(lines.items()):
        points = " ".join(f"{across(size):.1f},{down(line(size)):.1f}" for size in SIZES)
        colour = _COLOURS[number]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{_EDGE + 8}" y="{top + 42 + 14 * number}" fill="{colour}">{name}</text>')
    return parts


def modelled(measured: Mapping[str, Any], chosen: argparse.Namespace) -> Model:
    """The model of a measurement."""
    engines = {each["name"]: each for each in measured["engines"]}
    return Model(
        exact=engines["sqlite"]["searched"]["no filter"]["p50"],
        graph=engines["sqlite+qdrant"]["searched"]["no filter"]["p50"],
        measured=engines["sqlite"]["memories"],
        tenants=chosen.tenants,
        core_hour=chosen.core_hour,
        gigabyte_month=chosen.gigabyte_month,
        recalls=chosen.recalls,
    )


def main() -> int:
    """Prints the numbers, and draws them where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", type=Path, default=Path(__file__).with_name("scale_measured.json"))
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--tenants", type=int, default=100_000)
    parser.add_argument("--core-hour", type=float, default=0.04)
    parser.add_argument("--gigabyte-month", type=float, default=3.0)
    parser.add_argument("--recalls", type=float, default=1.0, help="searches in a month for each memory")
    chosen = parser.parse_args()
    model = modelled(json.loads(chosen.measured.read_text(encoding="utf-8")), chosen)
    drawn = curves(model)
    for title, lines in drawn.items():
        print(title)
        for name, line in lines.items():
            print(f"  {name:<26}" + "".join(f"{line(size):>12.4g}" for size in SIZES))
    if chosen.picture:
        chosen.picture.write_text(picture(drawn), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
