"""Results of the suite's parts, kept as they come, so that a run that was interrupted goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import reasoningbank

Part = Mapping[str, object]
_SOURCES = (Path(reasoningbank.__file__).parent, Path(__file__).parent)


def source_digest() -> str:
    """What the product's and the suite's files are now: a result of other files does not count."""
    whole = hashlib.sha256()
    for root in _SOURCES:
        for path in sorted(each for each in root.rglob("*") if each.suffix in {".py", ".toml", ".md", ".sql"}):
            whole.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return whole.hexdigest()[:16]


class Kept:
    """The results of a run's parts in a folder, one file for each.

    Args:
        folder: Where they are.
        key: What they were measured with; a result of another key is made again.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self._folder, self._key = folder, key

    def part(self, name: str, make: Callable[[], Part]) -> Part:
        """The result of a part: the one that is kept, else a new one, which is kept at once."""
        path = self._folder / f"{name.replace(' ', '-')}.json"
        if path.is_file():
            known = json.loads(path.read_text(encoding="utf-8"))
            if known.get("key") == self._key:
                return cast("Part", known["part"])
        made = make()
        self._folder.mkdir(parents=True, exist_ok=True)
        scratch = path.with_suffix(".new")
        scratch.write_text(json.dumps({"key": self._key, "part": made}), encoding="utf-8")
        scratch.replace(path)
        return made
