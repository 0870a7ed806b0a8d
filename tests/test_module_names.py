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
    "consolidation": {"curation", "types"},
    "experience": {"search", "types"},
    "files": {"documents", "operations"},
    "graph": {"demo", "graph", "types", "web/dashboard"},
    "graph_search": {"storage", "types"},
    "lifecycle": {"curation", "types"},
    "matts": {"matts", "types"},
    "memories": {"memories", "web/dashboard"},
    "memory": {"types", "web/dashboard"},
    "metrics": {"curation", "types"},
    "mini_swe_agent": {"integrations", "sessions/readers"},
    "promotion": {"sharing", "types"},
    "quarantine": {"curation", "types"},
    "recall": {"search", "types"},
    "review": {"curation", "web/dashboard"},
    "routes": {"web", "web/dashboard"},
    "search": {"graph", "search"},
    "sessions": {"sessions", "web/dashboard"},
    "standing": {"memories", "types"},
    "states": {"memories", "sessions"},
    "text": {"mcp", "operations"},
    "tokens": {"cli", "mcp"},
    "transfer": {"memories", "types"},
    "upkeep": {"curation", "web/dashboard"},
    "uplift": {"curation", "types"},
    "walk": {"graph", "types"},
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
