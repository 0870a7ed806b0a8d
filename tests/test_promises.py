"""Holds the promises and the tests to each other: none without the other."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from promises import DEFERRED, promise

TESTS = Path(__file__).parent
TOOL = TESTS.parent / "tools" / "write_guarantees.py"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The promises that each test names, by test, collected in a process of its own."""
    target = tmp_path_factory.mktemp("promises") / "kept.json"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "--collect-only",
            "-q",
            "-p",
            "no:xdist",
            f"--promises-to={target}",
            str(TESTS),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=TESTS.parent,
    )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    found: dict[str, list[str]] = json.loads(target.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def stated() -> tuple[Any, ...]:
    """The promises that the source of the tests states, and those that are deferred."""
    promises: tuple[Any, ...] = runpy.run_path(str(TOOL))["read_promises"](TESTS)
    assert len(promises) > 900
    return promises


@promise(
    "promises:complete",
    "Every promise has a test, every test a promise, every row of the table is one or the other.",
    source="issue It must show",
)
def test_every_promise_is_stated_once_and_says_something(stated: tuple[Any, ...]) -> None:
    times = Counter(promised.id for promised in stated)
    assert not sorted(name for name, count in times.items() if count > 1)
    for promised in stated:
        assert ":" in promised.id
        assert promised.source, promised.id
        assert promised.text.endswith("."), promised.id


@promise("promises:complete")
def test_every_promise_is_kept_by_a_test_or_deferred_with_a_reason(
    kept: dict[str, list[str]], stated: tuple[Any, ...]
) -> None:
    named = {name for names in kept.values() for name in names}
    missing = sorted(promised.id for promised in stated if not promised.deferred and promised.id not in named)
    assert not missing
    broken = sorted(promised.id for promised in stated if promised.deferred and promised.id in named)
    assert not broken
    assert {row.id for row in DEFERRED if row.reason} == {promised.id for promised in stated if promised.deferred}


@promise("promises:complete")
def test_every_test_keeps_a_promise(kept: dict[str, list[str]], stated: tuple[Any, ...]) -> None:
    known = {promised.id for promised in stated}
    assert not sorted(test for test, names in kept.items() if not names)
    assert not sorted({name for names in kept.values() for name in names} - known)


@promise("promises:complete")
def test_the_reader_of_the_promises_finds_what_is_wrong(tmp_path: Path) -> None:
    read_promises = runpy.run_path(str(TOOL))["read_promises"]
    (tmp_path / "promises.py").write_text(
        'DEFERRED = (Deferred("b:later", "Later.", source="issue", reason="needs the graph"),)\n'
    )
    module = tmp_path / "test_one.py"
    module.write_text('@promise("b:two", "Two" " lines.", source="issue")\n@promise("b:one")\ndef test_one(): ...\n')
    (two, later) = read_promises(tmp_path)
    assert (two.id, two.text, two.source, two.deferred) == ("b:two", "Two lines.", "issue", "")
    assert (later.id, later.deferred) == ("b:later", "needs the graph")
    module.write_text('TEXT = "Two lines."\n\n\n@promise("b:two", TEXT, source="issue")\ndef test_one(): ...\n')
    with pytest.raises(ValueError, match="plain strings"):
        read_promises(tmp_path)


@promise("promises:complete")
def test_every_row_to_keep_or_correct_is_a_promise(stated: tuple[Any, ...]) -> None:
    optional = {29, 30, 31, 60, 61, 62, 63}
    rows = {int(promised.id.partition(":")[2]) for promised in stated if promised.id.startswith("contextd:")}
    assert rows == set(range(1, 69)) - optional
