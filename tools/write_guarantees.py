"""Writes the guarantee table of the README from tests/promises.py; with --check only says whether it is up to date."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Protocol, cast

ROOT = Path(__file__).resolve().parents[1]
START = "<!-- guarantees:start -->"
END = "<!-- guarantees:end -->"


class Promise(Protocol):
    """What tests/promises.py says about one promise."""

    @property
    def id(self) -> str:
        """Area and name, with a colon between them."""

    @property
    def source(self) -> str:
        """Where it was asked for."""

    @property
    def text(self) -> str:
        """The promise as a sentence."""

    @property
    def deferred(self) -> str:
        """Why it is not kept yet; empty when it is."""


def load_promises(path: Path) -> tuple[Promise, ...]:
    """The promises of a promises.py; what it imports lies beside it."""
    sys.path.insert(0, str(path.parent))
    return cast(tuple[Promise, ...], runpy.run_path(str(path))["PROMISES"])


def table(promises: tuple[Promise, ...]) -> str:
    """The promises as Markdown, by area: what is kept, then what is not kept yet."""
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


def with_table(readme: str, promises: tuple[Promise, ...]) -> str:
    """The README with the table between its markers.

    Raises:
        ValueError: When the markers are missing.
    """
    before, marker, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not marker or not end:
        raise ValueError(f"README.md needs the markers {START} and {END}")
    return f"{before}{START}\n\n{table(promises)}\n\n{END}{after}"


def main() -> None:
    """Writes the README, or checks it."""
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    wanted = with_table(text, load_promises(ROOT / "tests" / "promises.py"))
    if "--check" in sys.argv[1:]:
        if text != wanted:
            sys.exit("The guarantee table of README.md is out of date: run `make guarantees`.")
    else:
        readme.write_text(wanted, encoding="utf-8")


def _area(promise: Promise) -> str:
    return promise.id.partition(":")[0]


def _rows(promises: list[Promise]) -> str:
    rows = "\n".join(f"| {_cell(promise.text)} | {_cell(promise.source)} | `{promise.id}` |" for promise in promises)
    return f"| promise | source | id |\n|---|---|---|\n{rows}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


if __name__ == "__main__":
    main()
