"""The graph that the package ships for a first look: the plants of a shop.

63 nodes of 13 conversations in five parts of the shop, 80 edges, 32 lessons, in the JSON form that ``rbank graph
import`` reads. All of it was made up for this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from types import MappingProxyType

PROJECT = "example-shop"
"""The project that the graph is imported into, so that it does not fill one of the user's."""
FILE = "shop_graph.json"

QUESTION = "Which frost lesson decides when the autumn fern sale may start?"
"""The question that the graph answers with a path through two conversations of two parts of the shop."""
TAGS: tuple[str, ...] = ("frost", "lesson", "fern", "sale")
"""The words of the question that are tags of the graph."""
SEEDS: Mapping[str, float] = MappingProxyType({"pk-104": 0.8})
"""Where the answer begins: the cold snap of January."""
STORY: tuple[str, ...] = ("pk-104", "pk-106", "pk-107", "st-303", "st-304")
"""The answer: cold snap, comparison of parcels, rule for cold nights, scoring of start weeks, recommendation."""


def shop_graph() -> str:
    """Return the graph as JSON: ``nodes``, ``edges`` and ``lessons``."""
    return files(__package__).joinpath(FILE).read_text(encoding="utf-8")


def copy_shop_graph(target: Path) -> None:
    """Write the graph to a file, for a first ``rbank graph import``.

    Raises:
        OSError: When the file cannot be written.
    """
    with as_file(files(__package__).joinpath(FILE)) as source:
        target.write_bytes(source.read_bytes())
