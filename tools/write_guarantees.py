"""Write docs/guarantees.md from the promises that the tests keep; with --check only say whether it is up to date."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "guarantees.md"
START = "<!-- guarantees:start -->"
END = "<!-- guarantees:end -->"

SUBJECTS = {
    "search": ("search", "floor", "fusion", "weights", "past", "experience"),
    "embedding": ("embedding", "tokens"),
    "confidence": ("belief", "contextd"),
    "memories": ("bank", "memory", "async", "interface", "transfer"),
    "storage": ("storage", "durability", "isolation"),
    "safety": ("attack", "guard", "hygiene", "inject"),
    "capture": ("capture",),
    "learning": ("distil", "learning", "learning-evaluation", "issue3", "judging", "haios"),
    "language models": ("llm",),
    "background work": ("jobs", "worker"),
    "several attempts": ("matts", "scale", "agents", "command-agent"),
    "curation": ("consolidating", "consolidation", "curation", "lifecycle"),
    "measuring benefit": ("uplift", "harm", "loop", "evaluation"),
    "scopes": ("scope", "scopes", "promotion", "share"),
    "graph": ("graph", "memoria", "questions", "conversations", "workflow", "sources"),
    "command line": ("cli", "demo", "settings"),
    "MCP": ("mcp",),
    "web": ("web",),
    "clients": ("hook", "install", "plugin"),
    "frameworks": ("frameworks", "langgraph", "memory-tool", "document"),
    "package": ("package", "docs", "promises", "testing", "telemetry", "outside"),
}
"""Which areas of promises belong to a subject that a reader knows."""

ORIGINS = (
    (r"seed (00\d)(.*)", r"specification \1\2"),
    (r"(?:spec/)?contextd\b.*", "the memory system contextd"),
    (r"spec/memoria_haios (?:rows? )?P.*|memoria\b.*", "the graph system Memoria"),
    (r"spec/memoria_haios (?:rows? )?H.*", "the session system HAIOS"),
    (r"spec/memoria_haios.*", "the systems Memoria and HAIOS"),
    (r"(?:spec/)?paper\b.*", "the ReasoningBank paper"),
    (r"spec/clients.*", "client documentation"),
    (r"spec/engineering.*", "engineering practice"),
    (r"spec/engines_models.*|make bench", "measurements"),
    (r"shared[ /]data.*", "evaluation data"),
    (r"DESIGN (?:section )?\d.*", "design overview"),
    (r"GenAI semantic conventions", "GenAI semantic conventions"),
)
"""What the note of a developer on where a promise comes from means to a reader."""


@dataclass(frozen=True, slots=True)
class Promise:
    """Describe one promise of the tests.

    Attributes:
        id: Area and name, with a colon between them.
        source: Where it was asked for.
        text: The promise as a sentence.
        deferred: Why it is not kept yet; empty when it is.
    """

    id: str
    source: str
    text: str
    deferred: str = ""


def read_promises(tests: Path) -> tuple[Promise, ...]:
    """Return the promises that the tests of a folder state, in the order of their ids.

    They are read from the source, without importing it: a call of ``promise`` with an id and a text states a promise,
    one with an id alone only names it. A ``Deferred`` of promises.py is one that no test keeps yet.

    Raises:
        ValueError: When an argument is not a plain string.
    """
    found = []
    for path in sorted(tests.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id == "promise" and len(node.args) > 1:
                    identifier, text, source = _strings(path, node, "source")
                    found.append(Promise(identifier, source, text))
                elif node.func.id == "Deferred":
                    identifier, text, source, reason = _strings(path, node, "source", "reason")
                    found.append(Promise(identifier, source, text, deferred=reason))
    return tuple(sorted(found, key=lambda promise: (promise.deferred != "", _order(promise.id))))


def _strings(path: Path, call: ast.Call, *names: str) -> list[str]:
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    values = [*call.args, *(named[name] for name in names if name in named)]
    strings = [value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)]
    if len(strings) != len(values) or len(strings) != 2 + len(names):
        raise ValueError(f"{path}:{call.lineno}: a promise has an id, a text and {', '.join(names)}: plain strings.")
    return strings


def _order(identifier: str) -> list[tuple[int, str]]:
    """Return what ids are sorted by: numbers in them count as numbers."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", identifier)]


def table(promises: tuple[Promise, ...]) -> str:
    """Return the promises as Markdown, by area: first what is kept, then what is not kept yet."""
    kept = [promise for promise in promises if not promise.deferred]
    deferred = [promise for promise in promises if promise.deferred]
    parts = [f"{len(kept)} promises, each kept by at least one test that names it; {len(deferred)} not kept yet."]
    for area in sorted({_area(promise) for promise in kept}):
        rows = [promise for promise in kept if _area(promise) == area]
        parts.append(f"<details><summary>{area} ({len(rows)})</summary>\n\n" + _rows(rows) + "\n\n</details>")
    if deferred:
        rows_deferred = "\n".join(
            f"| `{promise.id}` | {_cell(promise.text)} | {_cell(promise.deferred)} |" for promise in deferred
        )
        parts.append(
            f"<details><summary>not yet ({len(deferred)})</summary>\n\n"
            f"| id | promise | why not yet |\n|---|---|---|\n{rows_deferred}\n\n</details>"
        )
    return "\n\n".join(parts)


def with_table(page: str, promises: tuple[Promise, ...]) -> str:
    """Return the page with the table between its markers.

    Raises:
        ValueError: When the markers are missing.
    """
    before, marker, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not marker or not end:
        raise ValueError(f"The page needs the markers {START} and {END}")
    return f"{before}{START}\n\n{table(promises)}\n\n{END}{after}"


def readable_source(source: str, area: str) -> str:
    """Return where a promise comes from, in words that a reader of the documentation knows.

    A source may name several origins. An origin that only developers know becomes the subject of the promise.
    """
    parts = re.split(r"\s*[;/]\s+|,\s*(?=(?:issue|seed|DESIGN|spec|paper|decision|docs|shared|D\d+)\b)", source)
    named = [_origin(part.strip(), area) for part in parts if part.strip()]
    return ", ".join(dict.fromkeys(named))


def main() -> None:
    """Write the page, or check it."""
    text = PAGE.read_text(encoding="utf-8")
    wanted = with_table(text, read_promises(ROOT / "tests"))
    if "--check" in sys.argv[1:]:
        if text != wanted:
            sys.exit("The table of docs/guarantees.md is out of date: run `make guarantees`.")
    else:
        PAGE.write_text(wanted, encoding="utf-8")


def _origin(part: str, area: str) -> str:
    decision = re.fullmatch(r"(?:DESIGN )?D(\d+)\b.*", part)
    if decision:
        number = decision.group(1)
        return f"[design decision D{number}](decisions/index.md#d{number})"
    record = re.fullmatch(r"(?:docs/decisions/|decision )0*(\d+)", part)
    if record:
        number = f"{int(record.group(1)):04}"
        (path,) = (ROOT / "docs" / "decisions").glob(f"{number}-*.md")
        return f"[decision {number}](decisions/{path.name})"
    for pattern, meaning in ORIGINS:
        match = re.fullmatch(pattern, part)
        if match:
            return match.expand(meaning)
    return _subject(area)


def _subject(area: str) -> str:
    for subject, areas in SUBJECTS.items():
        if area in areas:
            return subject
    return area.replace("-", " ")


def _area(promise: Promise) -> str:
    return promise.id.partition(":")[0]


def _rows(promises: list[Promise]) -> str:
    rows = "\n".join(
        f"| {_cell(promise.text)} | {_cell(readable_source(promise.source, _area(promise)))} | `{promise.id}` |"
        for promise in promises
    )
    return f"| promise | source | id |\n|---|---|---|\n{rows}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


if __name__ == "__main__":
    main()
