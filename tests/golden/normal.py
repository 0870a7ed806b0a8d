"""What differs from run to run, replaced by placeholders: ids, times, durations, sizes, paths and versions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import reasoningbank

_NEAR = timedelta(days=2)
"""Times so close to now are of this run; every other time is one that the story named."""
_PLACES = 6
_MEASURED = re.compile(r"(^|_)(ms|seconds|duration|tokens)$|^tokens_|^bytes in ")
"""Fields that hold what was measured; a text with ids in it has now a token more and now one less."""
_RUN = (
    (re.compile(r"/tmp/rbank-demo-\w+"), "<demo>"),
    (re.compile(r"\btoken-[0-9a-f]{24}\b"), "<token>"),
    (re.compile(r"\b2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00"), "<moment>"),
    (re.compile(r"(?<=\bUntil )2\d{3}-\d\d-\d\d(?= a person\b)"), "<day>"),
    (re.compile(r"(?<=/backups/clients/)[^\s\"]+"), "<backup>"),
    (re.compile(r"\b\d+(?:\.\d+)?(?= (?:ms|tokens|bytes|KiB|MiB)\b)"), "<measured>"),
    (re.compile(r"\b\d+\.\d+(?= ?s\b)"), "<measured>"),
    (re.compile(r"(?<=SQLite )[\d.]+\d|(?<=apsw )[\d.]+\d|[\d.]+(?= on Linux)"), "<version>"),
    (re.compile(rf"(?<![\w.]){re.escape(reasoningbank.__version__)}(?![\w])"), "<version>"),
)
_TOKEN = re.compile(
    r"(?P<id>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\bsession-[0-9a-f]{12}\b|\b(?:quarantine|single|http)-[0-9a-f]{16}\b)"
    r"|(?P<derived>\b[ne]-[0-9a-f]{20}\b)"
    r"|(?P<time>\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d| UTC)?)"
    r"|(?P<stamp>\b\d{8}T?-?\d{6,}Z?\b)"
    r"|(?P<day>\b\d{4}-\d\d-\d\d\b)"
)


class Normaliser:
    """Replace what differs from run to run; ids are numbered by their first appearance.

    Args:
        folders: Names of folders and what stands for them, the longest path first.

    Attributes:
        derived: Whether ids of nodes and edges are replaced as well: they are made of their contents, so that they
            differ only where these hold an id themselves.
    """

    def __init__(self, folders: Mapping[Path, str]) -> None:
        self._words = {str(path): name for path, name in folders.items()}
        self._ids: dict[str, str] = {}
        self.derived = False

    def replace(self, value: object, field: str = "") -> object:
        """Return the value with placeholders, the fields of objects in the order of their names."""
        if isinstance(value, Mapping):
            return {str(self.replace(name)): self.replace(value[name], str(name)) for name in sorted(value)}
        if isinstance(value, str):
            if field == "candidate_id":
                return self._number(value)
            return "<measured>" if value and _MEASURED.search(field) else self._text(value)
        if isinstance(value, Sequence):
            return [self.replace(each) for each in value]
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        if _MEASURED.search(field):
            return "<measured>"
        return round(value, _PLACES) if isinstance(value, float) else value

    def text_or_json(self, text: str) -> object:
        """Return the printed text, as JSON when it is."""
        try:
            value: object = json.loads(text)
        except ValueError:
            return self.replace(text.splitlines())
        return self.replace(value)

    def _text(self, text: str) -> str:
        for word, name in self._words.items():
            text = text.replace(word, name)
        for pattern, name in _RUN:
            text = pattern.sub(name, text)
        return _TOKEN.sub(self._placeholder, text)

    def _number(self, found: str) -> str:
        return self._ids.setdefault(found, f"<id {len(self._ids) + 1}>")

    def _placeholder(self, match: re.Match[str]) -> str:
        found = match.group()
        if match["derived"] and not self.derived:
            return found
        if match["id"] or match["derived"]:
            return self._number(found)
        if match["stamp"]:
            return "<stamp>"
        try:
            moment = datetime.fromisoformat(found.removesuffix(" UTC"))
        except ValueError:
            return found
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        if abs(moment - datetime.now(UTC)) > _NEAR:
            return found
        return "<day>" if match["day"] else "<time>"


def as_json(value: object) -> str:
    """Return the value as golden files have it."""
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
