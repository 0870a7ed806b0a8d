"""Holds the promises and the tests to each other: none without the other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from promises import PROMISES

TESTS = Path(__file__).parent


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


@pytest.mark.promise("promises:complete")
def test_every_promise_has_one_id_and_says_something() -> None:
    ids = [promise.id for promise in PROMISES]
    assert len(set(ids)) == len(ids), sorted(name for name in set(ids) if ids.count(name) > 1)
    for promise in PROMISES:
        assert ":" in promise.id
        assert promise.source
        assert promise.text.endswith("."), promise.id


@pytest.mark.promise("promises:complete")
def test_every_promise_is_kept_by_a_test_or_deferred_with_a_reason(kept: dict[str, list[str]]) -> None:
    named = {name for names in kept.values() for name in names}
    missing = sorted(promise.id for promise in PROMISES if not promise.deferred and promise.id not in named)
    assert not missing
    broken = sorted(promise.id for promise in PROMISES if promise.deferred and promise.id in named)
    assert not broken


@pytest.mark.promise("promises:complete")
def test_every_test_keeps_a_promise(kept: dict[str, list[str]]) -> None:
    known = {promise.id for promise in PROMISES}
    assert not sorted(test for test, names in kept.items() if not names)
    assert not sorted({name for names in kept.values() for name in names} - known)


@pytest.mark.promise("promises:complete")
def test_every_row_to_keep_or_correct_is_a_promise() -> None:
    optional = {29, 30, 31, 60, 61, 62, 63}
    rows = {int(promise.id.partition(":")[2]) for promise in PROMISES if promise.id.startswith("contextd:")}
    assert rows == set(range(1, 69)) - optional
