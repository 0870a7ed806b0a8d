"""Tell whether passing tests prove the work: not when they were skipped, removed or weakened, or are of another part.

Nor when what they expect was replaced by what the program printed, or when they had failed and nothing was changed, or
nothing was left of what was changed.

Only what the session itself shows counts: an edit, a command, a count. Where the person asked for exactly that, it is
the work.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from reasoningbank.sessions.changes import SOURCE_FILE, Change, Doing, doings_of
from reasoningbank.sessions.commands import command, only_reads, parts
from reasoningbank.sessions.expectations import accepts_expectations
from reasoningbank.sessions.facts import REFUSED, THROWN_AWAY, commit_facts, runs_of
from reasoningbank.sessions.foreign_failures import asks_to_mend
from reasoningbank.sessions.loosened_checks import lowers_bar, tries_again
from reasoningbank.sessions.places import elsewhere
from reasoningbank.sessions.removed_code import does_nothing, leaves_out_commands
from reasoningbank.sessions.strictness import patience
from reasoningbank.sessions.test_runs import BY_STATUS, TestRun, covers
from reasoningbank.sessions.workarounds import (
    CHECKED,
    SKIPS,
    TEST_DEFINED,
    TEST_PLACE,
    lines_that_differ,
    turns_rule_off,
)
from reasoningbank.types.session import Step, Trajectory

_TESTS = (
    r"(?:(?!\b(?:so|until|till|because|makes?|(?:and|then) (?:run|make|let|get))\b)[^.\n]){0,60}"
    r"\b(?:tests?|specs?|assert\w*|expect\w*|snapshots?|suite)\b"
)
_ASKED_TO_REMOVE = re.compile(
    rf"\b(?:remov|delet|skip|disabl|drop|ignor|quarantin|mark|exclud|prun|dedup)\w*\b{_TESTS}", re.IGNORECASE
)
_ASKED_TO_CHANGE = re.compile(
    rf"\b(?:updat|adapt|adjust|chang|rewrit|writ|add|creat|extend|correct|improv|port|migrat|refactor)\w*\b{_TESTS}",
    re.IGNORECASE,
)
_SAYS_TEST_IS_WRONG = re.compile(
    r"\b(?:tests?|test_\w+|specs?|expectations?|assertions?)\b[^.\n]{0,20}"
    r"\b(?:is|are|was|were) (?:wrong|outdated|stale|obsolete)"
    r"|\b(?:wrong|outdated|stale|obsolete) (?:tests?|specs?|expectations?|assertions?)\b",
    re.IGNORECASE,
)
_ASKED_TO_ACCEPT = re.compile(
    r"\b(?:updat|regenerat|refresh|accept|record|renew|rewrit|adapt|aktualisier|actuali|aggiorna|atuali|bijwerk|更新)\w*"
    r"[^.\n]{0,60}(?:snapshot|golden|expect|baseline|fixture|cassette|快照|スナップショット)",
    re.IGNORECASE,
)
_ASKED_TO_PUT_BACK = re.compile(
    r"\b(?:revert\w*|undo\w*|restor\w*|roll\w* ?back|back ?out|downgrad\w*|reset\w*|throw\w* away|discard\w*|give up"
    r"|put\b[^.\n]{0,40}\bback|take\b[^.\n]{0,40}\bback|go(?:ing)? back)\b",
    re.IGNORECASE,
)
_ASKED_TO_SET = re.compile(
    r"\b(?:lower|rais|increas|decreas|reduc|set|chang|adjust|relax|loosen|bump|updat|configur|exclud|add)\w*\b[^.\n]{0,60}"
    r"\b(?:thresholds?|limits?|minimum|config\w*|settings?|options?|addopts|exclu\w*|ignor\w*)\b",
    re.IGNORECASE,
)
_ASKED_TO_TAKE_OUT = re.compile(
    r"\b(?:remov|delet|skip|disabl|drop|get rid|no longer|without|stop|exclud|strip|simplif)\w*\b", re.IGNORECASE
)
_ASKED_FOR_PATIENCE = re.compile(r"\b(?:retr(?:y|ies)|re-?runs?|time-?outs?|longer|attempts)\b", re.IGNORECASE)
_ASKED_TO_MEND_TESTS = re.compile(rf"\b(?:fix|repair|mend|solv|unflak|stabili[sz])\w*\b{_TESTS}", re.IGNORECASE)
_LINE_MARK = re.compile(r"^\s*\d+(?:\t|\u2192|: ?)")
"""The number before a line of a file that was shown."""
_ALL_EDITS = ""
_EVERY_FILE = frozenset((".", "./", ":/", "*"))
_DELETED = re.compile(r"^\*\*\* Delete File: (?P<file>[^\n]+)$", re.MULTILINE)
_REMOVES = (["rm"], ["unlink"], ["git", "rm"])
_COUNTS_TESTS = frozenset(
    (
        "pytest", "unittest", "cargo", "nextest", "jest", "vitest", "mocha", "maven", "node", "rspec", "dotnet",
        "phpunit", "mix", "sbt", "minitest", "deno", "bun", "ctest", "dart", "pest", "prove", "testthat",
    )
)  # fmt: skip
"""Runners that count single tests, and count them the same in every run."""
_VALUE = re.compile(
    r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`[^`\n]*`|(?<![\w.])[-+]?\d[\w.]*"
    r"|\b(?:true|false|nil|null|none|nothing|undefined)\b",
    re.IGNORECASE,
)
"""A literal value: a text in quotes, a number, a truth value, nothing."""
_EXAMPLE = re.compile(r"^Expected:\n(?P<lines>(?:[ \t]+[^\n]*\n){1,40})Got:", re.MULTILINE)
"""What a documented example was to print, as Python's doctest says it."""
_PARTS = re.compile(r"^(?P<parent>[\w.-]+(?:/[\w.-]+)*)/(?P<name>[\w.-]+)$")


def unproven_by_tests(trajectory: Trajectory) -> str:
    """Return why the passing tests of a session do not prove its work, as a sentence; empty without a reason."""
    runs, _ = runs_of(trajectory.steps)
    doings = doings_of(trajectory.steps)
    return (
        _disguised(trajectory, runs, doings)
        or _expects_what_is(trajectory, runs, doings)
        or _tried_again(trajectory, runs, doings)
        or _put_back(trajectory, runs, doings)
        or _accepted(trajectory, runs, doings)
        or _by_chance(trajectory, runs)
        or _elsewhere(trajectory, runs, doings)
    )


def _disguised(trajectory: Trajectory, runs: Mapping[int, TestRun], doings: Sequence[Doing]) -> str:
    """Return how tests that had failed came to pass without a repair, as a sentence; empty when they did not.

    They were skipped or removed, fewer of them ran, or only what they assert was changed.
    """
    asked = "\n".join((trajectory.task, *(step.user for step in trajectory.steps)))
    may_remove = _ASKED_TO_REMOVE.search(asked) is not None
    may_change = may_remove or any(each.search(asked) for each in (_ASKED_TO_CHANGE, _SAYS_TEST_IS_WRONG))
    for start, end in _mended(runs):
        changes = [(index, change) for index in range(start, end + 1) for change in doings[index].changes]
        own = {
            change.file.rsplit("/", 1)[-1]
            for doing in doings[:start]
            for change in doing.changes
            if change.whole and change.file
        }
        if not may_remove:
            for index, change in changes:
                if _leaves_out(change, own):
                    return f"Tests that had failed were skipped or removed at step {index}."
            if not _ASKED_TO_SET.search(asked):
                for index, change in changes:
                    if lowers_bar(change) or turns_rule_off(change):
                        return f"The settings of the checks were made weaker after they failed, at step {index}."
            for index in range(start, end):
                removed = [match["file"] for match in _DELETED.finditer(trajectory.steps[index].action)]
                if any(TEST_PLACE.search(file) and file.rsplit("/", 1)[-1] not in own for file in removed):
                    return f"Tests that had failed were skipped or removed at step {index}."
            before, after = runs[start], runs[end]
            if 0 < after.ran < before.ran and before.name == after.name and _counted_alike(before, after):
                return f"Of {before.ran} tests that ran at step {start} only {after.ran} ran at step {end}."
            if not _ASKED_TO_TAKE_OUT.search(asked):
                for index, change in changes:
                    if leaves_out_commands(change):
                        return f"A script leaves out since step {index} what it ran when it failed."
        if not may_change:
            for index, change in changes:
                if _checks_less(change, trajectory.steps[:index], own):
                    return f"A test that had failed was written anew and checks less, at step {index}."
        if not may_change and _fakes_answer([change for _, change in changes]):
            return f"What failed at step {start} does nothing any more, and the tests expect that now."
        if not may_change and _only_tests(trajectory.steps, changes, start, own):
            return f"Only the tests were changed after they failed at step {start}."
    return ""


def _expects_what_is(trajectory: Trajectory, runs: Mapping[int, TestRun], doings: Sequence[Doing]) -> str:
    """Return that of what was to be mended only what tests expect was changed before they passed, as a sentence.

    It needs no failing run: the task says what is wrong.
    """
    asked = _asked(trajectory)
    if not asks_to_mend(asked) or any(
        pattern.search(asked) for pattern in (_ASKED_TO_REMOVE, _ASKED_TO_CHANGE, _ASKED_TO_MEND_TESTS)
    ):
        return ""
    last = max((index for index, run in runs.items() if run.succeeded), default=-1)
    edits = [(index, change) for index, doing in enumerate(doings) for change in doing.changes]
    if not edits or any(
        not change.file or not TEST_PLACE.search(change.file) or _may_do_more(trajectory.steps[index], doings[index])
        for index, change in edits
    ):
        return ""
    for index, change in edits:
        if index <= last and _replaces_expected(trajectory.steps[:index], change):
            return f"Only what the tests expect was changed, at step {index}."
    return ""


def _may_do_more(step: Step, doing: Doing) -> bool:
    """Return whether a step may have changed more than it says."""
    return not all(change.clear or change.old or change.new or change.whole for change in doing.changes) or bool(
        step.actor
    )


def _replaces_expected(before: Sequence[Step], change: Change) -> bool:
    """Return whether an assertion that stood in a test before is another one now."""
    if change.whole:
        name = _base(change.file)
        old = "\n".join(step.observation for step in before if name in step.action)
    else:
        old = change.old
    put = {line.strip() for line in change.new.splitlines()}
    gone = {_LINE_MARK.sub("", line).strip() for line in old.splitlines() if CHECKED.search(line)} - put
    stands_anew = any(CHECKED.search(line) and _VALUE.sub("0", line) in map(_without_values, gone) for line in put)
    return stands_anew or (not change.whole and change.old != change.new and _only_values(change.old, change.new))


def _without_values(line: str) -> str:
    return _VALUE.sub("0", line)


def _tried_again(trajectory: Trajectory, runs: Mapping[int, TestRun], doings: Sequence[Doing]) -> str:
    """Return that failed tests passed only when they could wait longer or try again, as a sentence."""
    if _ASKED_FOR_PATIENCE.search(_asked(trajectory)):
        return ""
    for start, end in _mended(runs):
        if patience(runs[end].part) - patience(runs[start].part):
            return (
                f"Tests that failed at step {start} passed at step {end} because they could wait longer or try again."
            )
        for index in range(start + 1, end):
            if any(map(tries_again, doings[index].changes)):
                return f"Since step {index} tests that failed try again."
    return ""


def _put_back(trajectory: Trajectory, runs: Mapping[int, TestRun], doings: Sequence[Doing]) -> str:
    """Return that nothing was left of the session's edits when the tests passed, as a sentence; empty otherwise.

    Tests that failed with the edits and pass without them say that the old state is well, not that the task was done.
    An edit is gone when git threw it away, undid its commit or put it in the stash, or a later edit put the old lines
    back. Where the person asked for just that, it is the work.
    """
    last = max((index for index, run in runs.items() if run.succeeded), default=-1)
    asked = "\n".join((trajectory.task, *(step.user for step in trajectory.steps)))
    if not any(not run.succeeded for index, run in runs.items() if index < last) or _ASKED_TO_PUT_BACK.search(asked):
        return ""
    edits = [
        (index, change) for index, doing in enumerate(doings[:last]) for change in doing.changes if _is_edit(change)
    ]
    if not edits or any(index > last for index, doing in enumerate(doings) if any(map(_is_edit, doing.changes))):
        return ""
    facts = commit_facts(trajectory.steps[: last + 1])
    if any(fact.positive for fact in facts):
        return ""
    gone = [
        (fact.step or 0, file)
        for fact in facts
        if not fact.name.startswith(REFUSED)
        for file in (_thrown_files(fact.name) if fact.name.startswith(THROWN_AWAY) else [_ALL_EDITS])
    ]
    left = [
        (index, change)
        for index, change in edits
        if not any(index < place and (not file or _base(file) == _base(change.file)) for place, file in gone)
    ]
    if _nets_nothing([change for _, change in left]):
        return f"Tests failed with the session's edits, and passed at step {last} when nothing was left of them."
    return ""


def _is_edit(change: Change) -> bool:
    """Return whether the change is of a file's text; what was installed follows from such a text."""
    return bool(change.file) and not change.text.startswith(("ran: chmod", "ran: touch"))


def _thrown_files(name: str) -> list[str]:
    files = name.removeprefix(THROWN_AWAY).split()
    return [_ALL_EDITS] if not files or not _EVERY_FILE.isdisjoint(files) else files


def _nets_nothing(changes: Sequence[Change]) -> bool:
    """Return whether the changes, one after the other, take each other back line by line."""
    left: dict[str, Counter[str]] = {}
    for change in changes:
        if change.whole or not (change.old or change.new):
            return False
        net = left.setdefault(_base(change.file), Counter())
        net.update(line for line in change.new.splitlines() if line.strip())
        net.subtract(line for line in change.old.splitlines() if line.strip())
    return all(not count for net in left.values() for count in net.values())


def _base(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _accepted(trajectory: Trajectory, runs: Mapping[int, TestRun], doings: Sequence[Doing]) -> str:
    """Return that the tests passed because what they expect was replaced by what was printed, as a sentence.

    Tests that had passed before that, after the last change, prove the work by themselves.
    """
    steps = trajectory.steps
    accepting = [index for index, step in enumerate(steps) if accepts_expectations(step)]
    asked = "\n".join((trajectory.task, *(step.user for step in steps)))
    if not accepting or _ASKED_TO_ACCEPT.search(asked) or _ASKED_TO_CHANGE.search(asked):
        return ""
    for start, end in _mended(runs):
        if place := next((index for index in accepting if start <= index <= end), None):
            return f"What the failed tests expect was replaced by what was printed, at step {place}."
    first = accepting[0]
    changed = max((index for index in range(first) if doings[index].changes), default=-1)
    if any(run.succeeded for index, run in runs.items() if changed < index < first):
        return ""
    return f"What the tests expect was replaced by what was printed, at step {first}."


def _by_chance(trajectory: Trajectory, runs: Mapping[int, TestRun]) -> str:
    """Return that the tests which passed last had failed, with nothing done in between, as a sentence.

    A second run of the same tests that ends otherwise says that they are not steady, not which run was right.
    """
    steps = trajectory.steps
    last = max(runs, default=-1)
    before = max((index for index, run in runs.items() if not run.succeeded and index < last), default=-1)
    if before < 0 or not runs[last].succeeded or not _is_again(runs[last], runs[before]):
        return ""
    between = [
        index
        for index in range(before + 1, last + 1)
        if steps[index].user or (steps[index].action and not _only_waits(steps[index]))
    ]
    if any(steps[index].user or not (index in runs or only_reads(steps[index])) for index in between):
        return ""
    if steps[before].actor != steps[last].actor or any(_working(steps[index]) > 1 for index in (before, *between)):
        return ""
    return f"Tests that failed at step {before} passed at step {last}, and nothing was changed in between."


def _only_waits(step: Step) -> bool:
    """Return whether the step only waited."""
    found = parts(command(step))
    return bool(found) and all(part.program == "sleep" for part in found)


_LOUDNESS = re.compile(r"^-+(?:q+|v+|vv+|x|quiet|verbose|tb=\w+|lf|ff)$")


def _is_again(later: TestRun, earlier: TestRun) -> bool:
    """Return whether a run repeats an earlier one, or more, in the same way."""
    ways = [
        (
            {word for word in run.part.words if word.startswith("-") and not _LOUDNESS.match(word)},
            run.part.settings,
            run.part.exported,
            run.part.launcher,
        )
        for run in (later, earlier)
    ]
    return ways[0] == ways[1] and covers(later.name, earlier.name)


def _working(step: Step) -> int:
    """Return how many programs of the step do more than prepare or show: one of them may have changed something."""
    return sum(1 for part in parts(command(step)) if not part.silent and not part.reads)


def elsewhere_runs(trajectory: Trajectory) -> frozenset[int]:
    """Return the steps whose passing tests are of another part than the one whose tests failed or the task names."""
    runs, _ = runs_of(trajectory.steps)
    return elsewhere(_asked(trajectory), trajectory.steps, runs, doings_of(trajectory.steps))[0]


def _asked(trajectory: Trajectory) -> str:
    return "\n".join((trajectory.task, *(step.user for step in trajectory.steps)))


def _elsewhere(trajectory: Trajectory, runs: Mapping[int, TestRun], doings: Sequence[Doing]) -> str:
    """Return that the tests which passed last are of another part of the repository, as a sentence.

    That is one beside the part that the task names or whose tests failed; or one where nothing was changed, when parts
    are folders of one parent, such as ``services/billing`` and ``services/auth``.
    """
    last = max((index for index, run in runs.items() if run.succeeded), default=-1)
    if last < 0:
        return ""
    away, meant = elsewhere(_asked(trajectory), trajectory.steps, runs, doings)
    if last in away and away.issuperset(index for index, run in runs.items() if run.succeeded):
        return f"The tests that passed are of another folder than {meant}."
    part = _PARTS.match(runs[last].part.folder.removeprefix("./"))
    if part is None:
        return ""
    tested = f"/{part[0]}/"
    beside = f"/{part['parent']}/"
    edited = [f"/{change.file}" for doing in doings for change in doing.changes if change.file]
    if not edited or any(tested in file for file in edited) or not all(beside in file for file in edited):
        return ""
    return f"The tests of {part[0]} passed, where nothing was changed."


def _mended(runs: Mapping[int, TestRun]) -> Iterator[tuple[int, int]]:
    """Yield the steps of each failing run and of the first passing one that covers it."""
    ordered = sorted(runs.items())
    for place, (start, failing) in enumerate(ordered):
        if failing.succeeded:
            continue
        for end, later in ordered[place + 1 :]:
            if later.succeeded and covers(later.name, failing.name):
                yield start, end
                break


def _leaves_out(change: Change, own: set[str]) -> bool:
    """Return whether the change skips or removes tests that the session did not write itself."""
    words = [word.strip("'\"") for word in change.text.removeprefix("ran: ").split()]
    if change.text.startswith("ran: ") and (words[:1] in _REMOVES or words[:2] in _REMOVES):
        return any(TEST_PLACE.search(word) and word.rsplit("/", 1)[-1] not in own for word in words[1:])
    if not TEST_PLACE.search(change.file) or change.file.rsplit("/", 1)[-1] in own:
        return False
    if does_nothing(change):
        return True
    added = change.new if change.old or change.new else change.text
    if any(match[0] not in change.old for match in SKIPS.finditer(added)):
        return True
    return not change.whole and len(TEST_DEFINED.findall(change.new)) < len(TEST_DEFINED.findall(change.old))


def _only_tests(steps: Sequence[Step], changes: Sequence[tuple[int, Change]], start: int, own: set[str]) -> bool:
    """Return whether nothing but tests was changed after a failure, among it what one of them asserts.

    What a program wrote that does not say what is of the files that it names, and so is what was written anew as a
    whole: of neither is it known that it asserts as much as before. An assertion is a test wherever it stands.
    """
    said = steps[start].observation
    found = [
        _checks_of(change, _named_files(steps[index], change), said)
        for index, change in changes
        if not _removes_own(change, steps[:index])
    ]
    if not found or any(each is None for each in found):
        return False
    names = {_base(file) for index, change in changes for file in _named_files(steps[index], change)}
    return any(found) and names.isdisjoint(own)


def _named_files(step: Step, change: Change) -> list[str]:
    """Return the files that a change is of, as far as it says; of a program that wrote files all that it names."""
    if change.file:
        return [change.file]
    return [] if change.clear else [match[0] for match in SOURCE_FILE.finditer(command(step))]


def _checks_of(change: Change, files: Sequence[str], said: str) -> bool | None:
    """Return whether a change of tests may be one of what they assert; None when it is of anything else."""
    if not files:
        return None
    if all(TEST_PLACE.search(file) for file in files):
        if change.whole or not (change.clear or change.old or change.new):
            return True
        checked = CHECKED.search(change.old) is not None or _only_values(change.old, change.new)
        return change.old != change.new and checked
    return True if _is_assertion(change, said) else None


def _is_assertion(change: Change, said: str) -> bool:
    """Return whether nothing but assertions, or what a documented example prints, differs in a source file."""
    taken, put = lines_that_differ(change)
    if change.whole or not taken:
        return False
    if all(CHECKED.search(line) for line in (*taken, *put)):
        return True
    expected = {line.strip() for match in _EXAMPLE.finditer(said) for line in match["lines"].splitlines()}
    return all(line.strip() in expected for line in taken)


def _removes_own(change: Change, before: Sequence[Step]) -> bool:
    """Return whether a command removes only what the session itself had written."""
    words = [word.strip("'\"") for word in change.text.removeprefix("ran: ").split()]
    names = [_base(word) for word in words[1:] if not word.startswith("-")]
    wrote = [step.action for step in before if step.action and not only_reads(step)]
    return words[:1] in _REMOVES and all(any(name in action for action in wrote) for name in names)


def _checks_less(change: Change, before: Sequence[Step], own: set[str]) -> bool:
    """Return whether a test was written anew with fewer tests or assertions than it was seen to have."""
    if not change.whole or not TEST_PLACE.search(change.file) or _base(change.file) in own:
        return False
    name = _base(change.file)
    seen = next((step.observation for step in reversed(before) if name in step.action and only_reads(step)), "")
    return any(len(pattern.findall(change.new)) < len(pattern.findall(seen)) for pattern in (TEST_DEFINED, CHECKED))


def _fakes_answer(changes: Sequence[Change]) -> bool:
    """Return whether code of the product does nothing any more, and what a test expects is another thing."""
    emptied = any(does_nothing(change) and not TEST_PLACE.search(change.file) for change in changes if change.file)
    return emptied and any(
        TEST_PLACE.search(change.file) and CHECKED.search(change.old) and change.old != change.new for change in changes
    )


def _only_values(old: str, new: str) -> bool:
    """Return whether nothing but literal values differ: what is expected in a table of cases, in any language."""
    return bool(old and new) and _VALUE.sub("0", old) == _VALUE.sub("0", new)


def _counted_alike(before: TestRun, after: TestRun) -> bool:
    return before.counted_by == after.counted_by and _runner(after) in _COUNTS_TESTS


def _runner(run: TestRun) -> str:
    return run.name.removeprefix(BY_STATUS).split(" ", 1)[0].split("@", 1)[0]
