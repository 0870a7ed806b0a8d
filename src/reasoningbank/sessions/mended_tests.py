"""Tell whether a test file was run, failed, and passed in the end, though no action of the session names it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

from reasoningbank.sessions.facts import runs_of
from reasoningbank.sessions.test_runs import TestRun, covers
from reasoningbank.sessions.workarounds import TEST_PLACE
from reasoningbank.types.session import Step

_SCRIPTS = frozenset((".js", ".jsx", ".ts", ".tsx", ".mjs"))
_JVM = frozenset((".java", ".kt", ".scala"))
_LANGUAGES: Mapping[str, frozenset[str]] = {
    "pytest": frozenset((".py",)),
    "unittest": frozenset((".py",)),
    "go": frozenset((".go",)),
    "cargo": frozenset((".rs",)),
    "jest": _SCRIPTS,
    "vitest": _SCRIPTS,
    "mocha": _SCRIPTS,
    "node": _SCRIPTS,
    "deno": _SCRIPTS,
    "bun": _SCRIPTS,
    "maven": _JVM,
    "gradle": _JVM,
    "rspec": frozenset((".rb",)),
    "phpunit": frozenset((".php",)),
    "dotnet": frozenset((".cs",)),
}
"""The files that a runner runs by itself, when it is told to run all tests."""


def was_mended(base: str, steps: Sequence[Step]) -> bool:
    """Return whether a file of tests failed in a run, and the same or more passed later.

    It was in the run that failed when what that printed names the file or its class, or when the runner of its language
    ran everything.

    Args:
        base: The file's name without its folder.
        steps: The session.
    """
    if TEST_PLACE.search(base) is None:
        return False
    runs, passed_over = runs_of(steps)
    own = {index: run for index, run in runs.items() if index not in passed_over}
    named = re.compile(rf"(?<![\w-])(?:{re.escape(base)}|{re.escape(posixpath.splitext(base)[0])})(?![\w-])")
    return any(
        not failed.succeeded
        and (_runs_all(failed, base) or named.search(f"{steps[index].observation}\n{steps[index].error}"))
        and any(later > index and run.succeeded and covers(run.name, failed.name) for later, run in own.items())
        for index, failed in own.items()
    )


def _runs_all(run: TestRun, base: str) -> bool:
    """Return whether a run was of all tests in the language of a file."""
    runner = run.counted_by or run.name.partition(" ")[0].partition("@")[0]
    label = run.name.partition(" ")[0]
    known = _LANGUAGES.get(runner, frozenset())
    return posixpath.splitext(base)[1] in known and covers(run.name, f"{label} {base}")
