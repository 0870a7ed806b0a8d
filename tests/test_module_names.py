"""Two modules have one name only where they are of one noun, and their rooms say what each of them does with it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import reasoningbank
from promises import promise

SOURCE = Path(reasoningbank.__file__).parent
SHARED = {
    "app": {"cli", "web"},
    "clients": {"cli", "integrations"},
    "consolidation": {"types", "curation"},
    "experience": {"types", "search"},
    "files": {"documents", "operations"},
    "graph": {"types", "graph", "demo"},
    "graph_search": {"types", "storage"},
    "lifecycle": {"types", "curation"},
    "matts": {"types", "matts"},
    "metrics": {"types", "curation"},
    "mini_swe_agent": {"integrations", "sessions/readers"},
    "promotion": {"types", "sharing"},
    "quarantine": {"types", "curation"},
    "recall": {"types", "search"},
    "search": {"graph", "search"},
    "standing": {"types", "memories"},
    "states": {"memories", "sessions"},
    "text": {"mcp", "operations"},
    "tokens": {"cli", "mcp"},
    "transfer": {"types", "memories"},
    "uplift": {"types", "curation"},
    "walk": {"types", "graph"},
    "workflows": {"conversations", "web"},
}
"""The names that several modules have, and the rooms of these (decision 0007)."""


@promise(
    "package:module-names",
    "No two modules have one name, but those of one noun that decision 0007 allows.",
    source="issue 10",
)
def test_no_two_modules_have_one_name_but_those_of_one_noun() -> None:
    rooms: dict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        if not path.stem.startswith("__"):
            rooms[path.stem].add(path.parent.relative_to(SOURCE).as_posix())
    assert {name: found for name, found in rooms.items() if len(found) > 1} == SHARED
