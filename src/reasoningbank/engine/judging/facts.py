"""The facts of a session that tell how it ended, found without a model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence, Set

from reasoningbank.domain.trajectory import Evidence, Step
from reasoningbank.engine.judging.commands import READING, attempt, command, found_nothing, only_reads, parts
from reasoningbank.engine.judging.commits import commit_facts
from reasoningbank.engine.judging.test_runs import Run, covers, run_of, stashes
from reasoningbank.engine.judging.user_words import verdict_in

_ERROR_START = re.compile(
    r"^(?:error|fatal|failed)\b[^\n]{0,20}?:|^Error (?:executing|running|calling) ", re.IGNORECASE
)
_EXCEPTION = re.compile(r"^(?:\w+\.){0,6}\w*(?:Error|Exception|Interrupt|Exit)\b(?::|$)")
_TRACEBACK = "Traceback (most recent call last):"
_NOT_FOUND = re.compile(
    r"^(?:/bin/)?(?:ba|z|da)?sh: (?:line \d+: )?[^\n]{1,120}: (?:command )?not found$", re.MULTILINE
)
_SHOWN = 80
_BETWEEN = 5


def facts(steps: Sequence[Step]) -> tuple[Evidence, ...]:
    """Everything in the steps that speaks for or against success, in the order of the steps.

    * ``test_run``: each run of a test runner that counted tests; its name is equal for runs of the same tests.
    * ``repair``: something that failed and later succeeded, with the steps in between.
    * ``exit_code``: what failed last and was not repaired, once per name; and, when anything was done, how many actions
      reported no error (for the whole session: it has no step).
    * ``commit``: commits kept or undone, edits thrown away.
    * ``user_verdict``: explicit words of the user, from the second turn on.

    Promises: never raises, changes nothing, and takes time proportional to the text.
    """
    runs, passed_over = _runs(steps)
    found = [
        Evidence(kind="test_run", positive=run.succeeded, detail=run.detail, step=index, name=run.name)
        for index, run in runs.items()
    ]
    found += _attempts(steps, runs, passed_over)
    found += commit_facts(steps)
    found += _user_verdicts(steps)
    return tuple(sorted(found, key=lambda fact: len(steps) if fact.step is None else fact.step))


def _runs(steps: Sequence[Step]) -> tuple[dict[int, Run], frozenset[int]]:
    """The test runs by step, and the steps to pass over: they ran while the session's edits were stashed."""
    runs: dict[int, Run] = {}
    passed_over: set[int] = set()
    aside = False
    for index, step in enumerate(steps):
        moves = [stashes(part) for part in parts(command(step))] if "stash" in step.action else []
        if aside or True in moves:
            passed_over.add(index)
        elif run := run_of(step):
            runs[index] = run
        for move in moves:
            aside = aside if move is None else move
    return runs, frozenset(passed_over)


def _user_verdicts(steps: Sequence[Step]) -> list[Evidence]:
    found = []
    worked = False
    for index, step in enumerate(steps):
        said = verdict_in(step.user) if worked and step.user else None
        if said is not None:
            positive, words = said
            found.append(
                Evidence(kind="user_verdict", positive=positive, detail=f"the user said: {words}"[:200], step=index)
            )
        worked = worked or bool(step.action or step.thought or step.tool)
    return found


def _attempts(steps: Sequence[Step], runs: Mapping[int, Run], passed_over: Set[int]) -> list[Evidence]:
    open_failures: dict[str, int] = {}
    repaired: list[Evidence] = []
    tried = clean = 0
    for index, step in enumerate(steps):
        run = runs.get(index)
        name = run.name if run else attempt(step)
        if not name or index in passed_over:
            continue
        tried += 1
        if not run.succeeded if run else _failed(step):
            open_failures[name] = index
            continue
        clean += 1
        if run:
            mended = [earlier for earlier in open_failures if earlier == name or covers(name, earlier)]
        else:
            mended = [name] if name in open_failures else []
        for earlier in mended:
            start = open_failures.pop(earlier)
            if earlier != READING:
                repaired.append(_repair(steps, earlier, start, index))
    found = repaired
    failed_runs = {run.name for run in runs.values()}
    found += [
        Evidence(kind="exit_code", positive=False, detail=_failure(steps[index]), step=index, name=name)
        for name, index in open_failures.items()
        if name not in failed_runs
    ]
    if clean:
        found.append(Evidence(kind="exit_code", positive=True, detail=f"{clean} of {tried} actions reported no error"))
    return found


def _failed(step: Step) -> bool:
    """Whether the step failed by its status, its error, or the unmistakable end of what an execution printed."""
    if step.failed:
        return not found_nothing(step)
    if step.exit_code is not None or not step.observation:
        return False
    text = step.observation
    if not command(step):
        return _reports_error(text)
    if only_reads(step):
        return False
    if _TRACEBACK in text and _EXCEPTION.match(text.rstrip()[-2_000:].rsplit("\n", 1)[-1]):
        return True
    return len(text) < 2_000 and _NOT_FOUND.search(text) is not None


def _reports_error(text: str) -> bool:
    """Whether a tool answered with nothing but an error, as plain text or as a JSON object."""
    if _ERROR_START.match(text):
        return "\n" not in text.strip()
    if not text.startswith("{") or len(text) > 20_000 or '"error"' not in text[:200].lower():
        return False
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return bool(answer.get("error"))


def _failure(step: Step) -> str:
    status = f"exit status {step.exit_code}" if step.exit_code not in {None, 0} else "an error"
    words = (step.error or step.observation).strip()
    return f"{_short(step)} ended with {status}: {_clip(words)}" if words else f"{_short(step)} ended with {status}"


def _repair(steps: Sequence[Step], name: str, start: int, end: int) -> Evidence:
    between = [f"{index} {_short(steps[index])}" for index in range(start + 1, end) if steps[index].action]
    shown = "; ".join(between[-_BETWEEN:]) or "nothing"
    return Evidence(
        kind="repair",
        positive=True,
        detail=f"{_clip(name)} failed at step {start} and succeeded at step {end}; in between: {shown}",
        step=end,
        name=name,
    )


def _short(step: Step) -> str:
    return _clip(command(step) or f"{step.tool} {step.action}".strip() or "the turn")


def _clip(text: str) -> str:
    line = " ".join(text[: _SHOWN * 4].split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "\u2026"
