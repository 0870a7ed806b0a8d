"""Recipes: what a session itself shows, word for word, without a model (DESIGN D15).

* a fix: an action failed, something was changed, and the same action passed;
* a dead end: what was tried for an error that came back every time, and nothing else helped;
* a project fact: the command that runs the tests, a linter or the build.

If it is not clearly a recipe, there is none. A fix needs one failure whose error has a signature, one to four changes
that can be quoted between the last failure with that signature and the next run, and a last run of the action that
passed with its own exit status, not that of a filter. A program that was typed in to rewrite files, a script of the
session's own, an error that the session's own edit brought, work that was thrown away afterwards, and an error that
came back make it unclear, and so does a person who says that they changed something. An edit must be followed by a run
that passed, or by one in which other tests failed; after what was installed another error may be next, and it is enough
that this one is gone. A change may also be another way to run the action: with a variable, a flag, in another folder,
by another program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from reasoningbank.sessions.changes import FILTERS, LINTERS, Change, Doing, cut_command, doings_of
from reasoningbank.sessions.commands import command, only_reads, only_shows, parts, vocabulary
from reasoningbank.sessions.facts import REFUSED, commit_facts, failed, verdict_in
from reasoningbank.sessions.idle_edits import is_idle
from reasoningbank.sessions.interventions import intervened
from reasoningbank.sessions.loosened_checks import accepts_failures
from reasoningbank.sessions.own_errors import ends_its_own, moves_a_service, starts_what_it_set_up, takes_back
from reasoningbank.sessions.process_ids import told_by_finder, without_ids
from reasoningbank.sessions.relevance import (
    answers_alone,
    is_absent,
    is_beside,
    is_throwaway,
    lacks,
    repairs,
    settles,
    supplies,
)
from reasoningbank.sessions.signatures import Signature, is_syntax_error, signature_of
from reasoningbank.sessions.test_runs import TEST_SCRIPT_RUNNERS, TestRun, covers, run_of, tests_something
from reasoningbank.sessions.variants import another_way, generates, is_advised, prepares
from reasoningbank.sessions.workarounds import lines_that_differ
from reasoningbank.types.session import Step, Trajectory

RecipeKind = Literal["fix", "dead-end", "fact"]
"""The kinds of recipes, which are the categories of their memories."""
MOST_CHANGES = 4
"""A fix of more changes than this does not say which of them helped."""
MOST_RECIPES = 10
"""Most recipes of one session."""
LEAST_TRIES = 2
"""A dead end needs at least so many tries after which the same error came again."""
_MOST_FACT = 120

_PIPED_TROUBLE = re.compile(
    r"^(?:error(?:\[E\d{4}\])?|ERROR|fatal): \S"
    r"|^\S[^\n:(]{0,300}[:(]\d{1,7}(?:[:,]\d{1,7})?\)?:? (?:- )?(?:fatal )?error\b"
    r"|^npm (?:ERR!|error) |^g?make(?:\[\d+\])?: \*\*\* |^collect2: error|^E {3,}(?:\w+\.)*\w+Error\b"
    r"|^\w+(?:\.\w+)*Error: \S"
    r"|^\[ERROR\] |^BUILD FAILED\b|^CMake Error\b|^error during build|^\w+(?:\.\w+)*Exception: \S|^\* What went wrong:"
    r"|^ *FAIL +\S+\.\w+|^Error response from daemon",
    re.MULTILINE,
)
_NO_TESTS = re.compile(r"^=+ (?:no tests ran|\d+ (?:warnings?|deselected))\b[^\n]* in [\d.]+s", re.MULTILINE)
_SOON = 8
"""Another way to run an action counts within so many steps."""
_BEGUN = 80
_LANGUAGES: Mapping[str, str] = {
    "python": "Python", "python3": "Python", "pytest": "Python", "pip": "Python", "pip3": "Python", "tox": "Python",
    "mypy": "Python", "ruff": "Python", "node": "JavaScript", "npm": "JavaScript", "npx": "JavaScript",
    "yarn": "JavaScript", "pnpm": "JavaScript", "jest": "JavaScript", "vitest": "JavaScript", "mocha": "JavaScript",
    "bun": "JavaScript", "tsc": "TypeScript", "cargo": "Rust", "rustc": "Rust", "go": "Go", "mvn": "Java",
    "gradle": "Java", "gradlew": "Java", "java": "Java", "javac": "Java", "gcc": "C", "cc": "C", "clang": "C",
    "g++": "C++", "ruby": "Ruby", "bundle": "Ruby", "rake": "Ruby", "php": "PHP", "dotnet": "C#", "swift": "Swift",
}  # fmt: skip
_ENDINGS: Mapping[str, str] = {
    "py": "Python", "js": "JavaScript", "jsx": "JavaScript", "mjs": "JavaScript", "ts": "TypeScript",
    "tsx": "TypeScript", "rs": "Rust", "go": "Go", "java": "Java", "kt": "Kotlin", "c": "C", "h": "C", "cpp": "C++",
    "cc": "C++", "rb": "Ruby", "php": "PHP", "cs": "C#", "swift": "Swift", "sh": "shell",
}  # fmt: skip
_CHOOSES = re.compile(r"^ran: (?:rbenv|nvm|pyenv|asdf|volta|rustup|sdk|fnm|jenv|n|mise)\b")
_ENDING = re.compile(r"\.([a-z]{1,5})$")
_REWRITES = vocabulary("--fix --write -w --in-place -i --unsafe-fixes")
_FEEDS = vocabulary("yes echo printf")
"""Programs that only answer what another one asks."""
_NO_ANSWER = vocabulary(
    "rm mv unlink truncate shred git gh glab kill pkill killall fuser sed perl awk find xargs curl wget tee dd patch "
    "python python3 node ruby deno bun bash sh zsh php ts-node tsx code vim nano open make ninja"
)
"""Programs that may do anything, or of which no single thing can be told; what they are given is no known command."""
_OF_GIT = frozenset((("git", "lfs"), ("git", "submodule"), ("git", "config"), ("git", "fetch")))
"""What git brings or sets, and that leaves the work on the files as it is."""
_OF_FRAMEWORK = vocabulary("artisan manage.py bin/console console -m")
"""What a framework brings to be run by an interpreter, whose commands do one thing each."""
_BUILDERS = re.compile(
    r"^(?:make(?: (?:all|build))?|cmake --build \S+|ninja|(?:npm|yarn|pnpm|bun) (?:run )?build|cargo (?:build|check)"
    r"(?: --release)?|go (?:build|vet) \./\.\.\.|(?:\./)?mvnw? (?:-q )?(?:package|compile|install|verify)"
    r"|(?:\./)?gradlew? (?:build|assemble)|dotnet build|python3? -m build|tsc(?: -p \S+| --noEmit)?|swift build)$"
)
_CLIPPY = re.compile(
    r"^(?:cargo (?:clippy|fmt --check)|(?:npm|yarn|pnpm|bun) run (?:lint|typecheck|check|format:check)"
    r"|make (?:lint|check-?style|typecheck))"
)
_FAILED_TEST = re.compile(
    r"^(?:FAILED|ERROR) \S+?::(\S+)|^ *--- FAIL: (\S+)|^test (\S+) \.\.\. FAILED|^ *not ok \d+ - (.+)"
    r"|^(?:FAIL|ERROR): (\w+) \(|^ FAIL +\S+ > (.+)$",
    re.MULTILINE,
)
_STOPPED = re.compile(r"stopping after \d+ failures?|Interrupted: \d+ error|\bBail out\b|bailed out", re.IGNORECASE)
_TEST_FILE = re.compile(r"^(?:FAILED|ERROR) ([^\s:]+)::", re.MULTILINE)
_PARTIAL = re.compile(
    r"::|(?<!python)(?<!python3)\s(?:-k|-t|-m|--grep|-run|--testNamePattern)(?:\s|=)|\.(?:py|js|ts|tsx|jsx|rb|go|rs|java)(?:\s|$)"
)
_TROUBLE = re.compile(
    r"Traceback \(most recent call last\)|^(?:FAILED|ERROR) \S+::|\bSegmentation fault\b|^fatal: |^panic: ",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One thing that a session shows.

    Attributes:
        kind: ``fix``, ``dead-end`` or ``fact``.
        title: The error's signature, or what a fact says.
        description: When it applies: the action, the tool, the language.
        content: What happened, quoted and cut.
        key: Equal for recipes of the same kind and signature; what they are looked up by.
        steps: The steps that show it.
        further: What else it is looked up by, where recipes of other commands may be found, too.
    """

    kind: RecipeKind
    title: str
    description: str
    content: str
    key: str
    steps: tuple[int, ...]
    further: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedCommand:
    """A command that runs the tests, a linter or the build, and passed.

    Attributes:
        purpose: What it is for: ``tests``, ``linter`` or ``build``.
        command: The command as it was written.
        said: What it reported, for example how many tests passed.
        step: Where it passed last.
    """

    purpose: Literal["tests", "linter", "build"]
    command: str
    said: str
    step: int

    @property
    def key(self) -> str:
        """Equal for the same command in two sessions."""
        return f"fact:{self.purpose}:{self.command}"


@dataclass(frozen=True, slots=True)
class _Ran:
    """One run of an action."""

    index: int
    doing: Doing
    run: TestRun | None
    passed: bool
    signature: Signature | None
    way: Change | None = None


def learned_from(trajectory: Trajectory) -> tuple[tuple[Recipe, ...], tuple[PassedCommand, ...]]:
    """Return the recipes of a session and the commands that passed in it; both are read from its steps at once.

    Promises: asks no model, changes nothing, and takes any trajectory.
    """
    steps = trajectory.steps
    doings = doings_of(steps)
    ran = [run_of(step) if doing.ran else None for step, doing in zip(steps, doings, strict=True)]
    return _recipes(steps, doings, ran), _passed(steps, doings, ran)


def recipes_of(trajectory: Trajectory) -> tuple[Recipe, ...]:
    """Return the fixes and dead ends that the session shows, one for each kind and signature, in their order."""
    return learned_from(trajectory)[0]


def passed_commands(trajectory: Trajectory) -> tuple[PassedCommand, ...]:
    """Return the commands that run all tests, a linter or the build and whose last run in the session passed."""
    return learned_from(trajectory)[1]


def ran_and_failed(trajectory: Trajectory) -> tuple[frozenset[str], tuple[Signature, ...]]:
    """Return the commands that the session ran, as recipes write them, and the signatures of those that failed."""
    steps = trajectory.steps
    commands: set[str] = set()
    failures: dict[str, Signature] = {}
    for step, doing in zip(steps, doings_of(steps), strict=True):
        if not doing.ran or (only_reads(step) and doing.program not in {"git", *FILTERS}):
            continue
        commands.add(doing.shown)
        if _passes(step, doing, run_of(step)):
            continue
        signature = signature_of(_said(step), doing.shown)
        if signature is not None:
            failures.setdefault(signature.key, signature)
    return frozenset(commands), tuple(failures.values())


def _recipes(steps: Sequence[Step], doings: Sequence[Doing], ran: Sequence[TestRun | None]) -> tuple[Recipe, ...]:
    found: dict[str, Recipe] = {}
    thrown_away = made = None
    for runs in _actions(steps, doings, ran):
        if thrown_away is None or made is None:
            thrown_away, made = _thrown_away(steps), _made_files(doings)
        own = _base(runs[0].doing.script) in made
        for recipe in (*_fixes(steps, doings, runs), *(() if own else _dead_ends(steps, doings, runs))):
            if recipe.key not in found and (recipe.kind == "dead-end" or recipe.steps[-1] >= thrown_away):
                found[recipe.key] = recipe
    helped = {key.removeprefix("fix:") for key in found}
    found = {key: one for key, one in found.items() if key.removeprefix("dead-end:") not in helped or one.kind == "fix"}
    if found and _rejected(steps):
        found = {key: recipe for key, recipe in found.items() if recipe.kind != "fix"}
    return tuple(sorted(found.values(), key=lambda recipe: recipe.steps)[:MOST_RECIPES])


def _passed(steps: Sequence[Step], doings: Sequence[Doing], ran: Sequence[TestRun | None]) -> tuple[PassedCommand, ...]:
    latest: dict[str, PassedCommand | None] = {}
    for index, (step, doing, run) in enumerate(zip(steps, doings, ran, strict=True)):
        purpose = _purpose(doing, run)
        if purpose is None:
            continue
        passed = _passes(step, doing, run)
        said = run.detail if run is not None else "it ended with exit status 0"
        name = f"{purpose} {doing.shown}"
        latest.pop(name, None)
        latest[name] = PassedCommand(purpose=purpose, command=doing.shown, said=said, step=index) if passed else None
    return tuple(one for one in latest.values() if one is not None)


def fact_recipe(passed: PassedCommand, *, sessions: int) -> Recipe:
    """Return the project fact that a command has passed in so many sessions."""
    does = {"tests": "runs the tests", "linter": "runs the linter", "build": "builds the project"}[passed.purpose]
    when = {"tests": "The tests of this project are", "linter": "This project is", "build": "This project is"}
    done = {"tests": "to be run.", "linter": "to be checked with its linter.", "build": "to be built."}
    return Recipe(
        kind="fact",
        title=f"`{passed.command}` {does} here",
        description=f"{when[passed.purpose]} {done[passed.purpose]}",
        content=f"`{passed.command}` passed in {sessions} sessions before this was noted. Last: {passed.said}.",
        key=passed.key,
        steps=(passed.step,),
    )


def _actions(steps: Sequence[Step], doings: Sequence[Doing], tests: Sequence[TestRun | None]) -> Iterator[list[_Ran]]:
    """Yield the runs of each action that failed and was run again, in order."""
    groups: dict[tuple[str, str], list[_Ran]] = {}
    for index, (step, doing, run) in enumerate(zip(steps, doings, tests, strict=True)):
        if not doing.ran or (only_reads(step) and doing.program not in {"git", *FILTERS}):
            continue
        earlier = groups.get((step.actor, doing.ran))
        passed = _passes(step, doing, run) or (earlier is not None and _passes_alike(step, steps[earlier[-1].index]))
        signature = None if passed else signature_of(_said(step), doing.shown)
        ran = _Ran(index, doing, run, passed, signature)
        name = (step.actor, doing.ran)
        for known, runs in groups.items():
            if known[0] != step.actor or known == name or runs[-1].passed:
                continue
            soon = passed and step.exit_code == 0 and index - runs[-1].index <= _SOON
            way = _way(runs[-1], ran, steps) if soon else None
            same = (run is not None and run.succeeded and _covered(run, runs)) or _is_part(known[1], name[1])
            if way is not None or (passed and same):
                runs.append(replace(ran, way=way))
        groups.setdefault(name, []).append(ran)
    for runs in groups.values():
        if len(runs) > 1 and any(not ran.passed for ran in runs):
            yield runs


def _is_part(failed: str, passed: str) -> bool:
    """Return whether what passed is the end of the chain that failed, or a chain that begins with it."""
    return failed.endswith(f" && {passed}") or passed.startswith(f"{failed} && ")


def _way(failed: _Ran, passed: _Ran, steps: Sequence[Step]) -> Change | None:
    if failed.signature is None:
        return None
    if passed.run is not None and failed.run is not None and not _is_as_large(passed.run, failed.run):
        return None
    return another_way(failed.doing, passed.doing, failed.signature, _said(steps[failed.index]))


def _is_as_large(later: TestRun, earlier: TestRun) -> bool:
    """Return whether the later run chose no fewer tests."""
    chosen = {word for word in later.name.split(" ") if "::" in word or word.startswith("-")}
    return all(word in earlier.name.split(" ") for word in chosen)


def _covered(run: TestRun, runs: Sequence[_Ran]) -> bool:
    earlier = runs[-1].run
    return earlier is not None and not earlier.succeeded and covers(run.name, earlier.name)


def _passes(step: Step, doing: Doing, run: TestRun | None) -> bool:
    """Return whether the step's own program is known to have passed."""
    if run is not None:
        return run.succeeded
    if step.failed or failed(step) or _TROUBLE.search(step.observation) or _is_trouble(step, doing):
        return False
    if step.exit_code is None:
        return bool(step.observation.strip())
    return not doing.filtered


def _passes_alike(step: Step, earlier: Step) -> bool:
    """Return whether the same line, whose filter had let an error through before, printed something else now."""
    if command(step) != command(earlier) or step.exit_code != 0 or run_of(step) is not None:
        return False
    troubles = (_TROUBLE, _PIPED_TROUBLE)
    shown = any(pattern.search(earlier.observation) for pattern in troubles)
    return shown and bool(step.observation.strip()) and not any(each.search(step.observation) for each in troubles)


def _is_trouble(step: Step, doing: Doing) -> bool:
    """Return whether a program failed, or tested nothing, whose exit status another one hides."""
    if not doing.piped:
        return False
    return _NO_TESTS.search(step.observation) is not None or _PIPED_TROUBLE.search(step.observation) is not None


def _said(step: Step) -> str:
    """Return what the step printed; of an error that is only a cut of that, nothing more."""
    begun = step.error[:_BEGUN]
    return step.observation if not begun or begun in step.observation else f"{step.observation}\n{step.error}"


def _fixes(steps: Sequence[Step], doings: Sequence[Doing], runs: Sequence[_Ran]) -> Iterator[Recipe]:
    last = runs[-1]
    keys = [ran.signature.key if ran.signature else "" for ran in runs]
    for place, ran in enumerate(runs[:-1]):
        signature = ran.signature
        if signature is None or signature.key in keys[place + 1 :] or not _failing(steps[ran.index], ran):
            continue
        following = runs[place + 1]
        spoken = [step.user for step in steps[ran.index + 1 : following.index + 1] if step.user]
        if any(intervened(words) for words in spoken):
            continue
        if any(accepts_failures(doing.shown) for doing in doings[ran.index + 1 : following.index + 1]):
            continue
        said = _said(steps[ran.index])
        edits = [one for doing in doings[ran.index + 1 : following.index + 1] for one in doing.changes if one.file]
        changed = [
            (index, change)
            for index in range(ran.index + 1, following.index + 1)
            for change in _made(steps[index], doings[index], following)
            if change not in ran.doing.changes
            and not is_idle(change, edits, signature, ran.doing)
            and not is_beside(change, said)
            and not _takes_back(change, _made_files(doings[:index]))
            and not any(_is_undone_by(change, later) for doing in doings[index + 1 :] for later in doing.changes)
        ]
        if (way := following.way or _set_for(ran, following, said)) is not None:
            changed.append((following.index, way))
        changed += _advised(steps, doings, ran, following)
        changed = changed or _prepared(steps, doings, ran, following)
        alone = [] if spoken else _alone(steps, doings, ran, following)
        before = [change for doing in doings[: ran.index + 1] for change in doing.changes]
        for tried in (changed, alone):
            changed = []
            if is_syntax_error(signature) and not all(change.way or _chooses(change) for _, change in tried):
                continue
            if _is_own_choice(signature, [change for _, change in tried], runs, steps, doings):
                break
            if not _is_clear(signature, tried, runs, place, steps, doings):
                continue
            made = repairs(signature, said, ran.doing, [one for _, one in tried], before, spoken=bool(spoken))
            changed = [(index, change) for index, change in tried if change in made]
            if changed:
                break
        if changed and alone and {index for index, _ in changed} == {alone[0][0]}:
            changed = alone if len(alone[0][1].text) > sum(len(change.said) for _, change in changed) else changed
        gone = not following.doing.filtered and all(supplies(signature, change) for _, change in changed)
        if not changed or not (last.passed or gone):
            continue
        told = [told_by_finder(index, one, signature, ran.index, steps, doings) for index, one in changed]
        if None in told:
            continue
        changed = [(index, one) for (index, _), one in zip(changed, told, strict=True) if one is not None]
        tries = [
            text
            for earlier, later in pairwise(runs[: place + 1])
            if earlier.signature is not None and earlier.signature.key == signature.key
            for text in _tried(steps, doings, earlier, later)
        ]
        if _was_before(ran, following, last, doings):
            changed = [
                (index, replace(change, text=change.text.replace("ran instead: ", "ran: ", 1), way=False))
                for index, change in changed
            ]
        yield _fix(signature, changed, tries, (ran, following, last), steps)


def _was_before(ran: _Ran, following: _Ran, last: _Ran, doings: Sequence[Doing]) -> bool:
    """Return whether another command was run not instead but first: the action itself passed after it."""
    if following.way is None or last.way is not None or not last.passed or last.doing.ran != ran.doing.ran:
        return False
    other = following.doing.programs[-1].words[:2] != ran.doing.programs[-1].words[:2]
    return other and not any(doing.changes for doing in doings[following.index + 1 : last.index])


def _set_for(ran: _Ran, following: _Ran, said: str) -> Change | None:
    """Return the variables that were set for the run that passed and not for the one that failed."""
    if not following.passed or ran.signature is None or ran.doing.ran != following.doing.ran:
        return None
    return another_way(ran.doing, following.doing, ran.signature, said)


def _advised(steps: Sequence[Step], doings: Sequence[Doing], ran: _Ran, following: _Ran) -> list[tuple[int, Change]]:
    """Return the commands between the runs that the error itself told to run, and that are no changes otherwise."""
    said = _said(steps[ran.index])
    return [
        (index, Change(text=f"ran: {doing.shown}", way=True))
        for index, doing in _between(steps, doings, ran, following)
        if not doing.changes and is_advised(doing.programs, said)
    ]


def _between(steps: Sequence[Step], doings: Sequence[Doing], ran: _Ran, following: _Ran) -> Iterator[tuple[int, Doing]]:
    """Yield what was run between two runs of an action, did something else and did not fail."""
    for index in range(ran.index + 1, following.index):
        doing, step = doings[index], steps[index]
        if doing.ran and doing.ran != ran.doing.ran and not (only_reads(step) or step.failed or failed(step)):
            yield index, doing


def _prepared(steps: Sequence[Step], doings: Sequence[Doing], ran: _Ran, following: _Ran) -> list[tuple[int, Change]]:
    """Return the one command between the runs that makes what others need, when nothing else was done."""
    found: dict[str, int] = {}
    if ran.signature is None:
        return []
    missing, absent = lacks(ran.signature), is_absent(ran.signature)
    for index, doing in _between(steps, doings, ran, following):
        if run_of(steps[index]) is None and (
            (missing and prepares(doing)) or ((missing or absent) and generates(doing))
        ):
            found.setdefault(doing.shown, index)
    return (
        [(index, Change(text=f"ran: {shown}", way=True)) for shown, index in found.items()] if len(found) == 1 else []
    )


def _alone(steps: Sequence[Step], doings: Sequence[Doing], ran: _Ran, following: _Ran) -> list[tuple[int, Change]]:
    """Return the one command between the runs, when the action passed after it as it had failed before.

    Nothing but that command did anything then, so it is what helped, whatever it is. No such command is one that runs
    tests or a check, one that was typed in as a program, one that deletes, and most of git.
    """
    if ran.signature is None or not following.passed or steps[following.index].exit_code != 0:
        return []
    if following.way is not None or following.doing.ran != ran.doing.ran or not answers_alone(ran.signature, ran.doing):
        return []
    found: list[int] = []
    for index in range(ran.index + 1, following.index):
        step = steps[index]
        programs = parts(command(step))
        idle = only_reads(step) or (bool(programs) and all(map(only_shows, programs)))
        if step.action and not idle and not (command(step) and (step.failed or failed(step))):
            found.append(index)
    if len(found) != 1 or not _is_command(steps[found[0]], doings[found[0]]):
        return []
    (index,) = found
    return [(index, Change(text=f"ran: {cut_command(command(steps[index]))}", way=True))]


def _is_command(step: Step, doing: Doing) -> bool:
    """Return whether the step is a command that does one known thing, and neither tests, deletes nor edits."""
    programs = [part for part in parts(command(step)) if not part.silent and part.program not in _FEEDS]
    if not programs or step.exit_code != 0 or "<<" in command(step) or run_of(step) is not None:
        return False
    if any(change.whole and not change.text.startswith("ran: cp ") for change in doing.changes):
        return False
    if any(not change.clear or change.old or change.new for change in doing.changes):
        return False
    return not any(
        (
            part.program in _NO_ANSWER
            and part.words[:2] not in _OF_GIT
            and part.word(1).removeprefix("./") not in _OF_FRAMEWORK
        )
        or tests_something(part)
        or _BUILDERS.match(" ".join(part.words))
        or (part.program in LINTERS and not _REWRITES & {*part.words})
        or any(word in {"-c", "-e"} for word in part.words[1:3] if "(" not in " ".join(part.words))
        or only_shows(part)
        for part in programs
    )


def _made(step: Step, doing: Doing, following: _Ran) -> tuple[Change, ...]:
    """Return what a step on the way changed; a step that failed changed nothing, but the next run is told by itself."""
    if doing is not following.doing and (step.failed or failed(step)):
        return ()
    check = f"ran: {following.doing.shown}"
    return tuple(change for change in doing.changes if change.text != check)


def _failing(step: Step, ran: _Ran) -> bool:
    """Return whether the run is known to have failed, and not only not to have passed."""
    if ran.run is not None or step.failed or failed(step) or _is_trouble(step, ran.doing):
        return True
    return _TROUBLE.search(step.observation) is not None


def _is_clear(
    signature: Signature,
    changed: Sequence[tuple[int, Change]],
    runs: Sequence[_Ran],
    place: int,
    steps: Sequence[Step],
    doings: Sequence[Doing],
) -> bool:
    """Return whether the changes say what took the error away."""
    if not 0 < len(changed) <= MOST_CHANGES or not all(
        change.clear or settles(signature, change) for _, change in changed
    ):
        return False
    failed_at, following = runs[place], runs[place + 1]
    edited = [change for _, change in changed if change.file]
    places = [change.file or change.text for _, change in changed if not change.way]
    if places and all(is_throwaway(place) for place in places):
        return False
    if edited and not following.passed and not _moved_on(failed_at, following, steps):
        return False
    made = {_base(change.file) for doing in doings[: failed_at.index + 1] for change in doing.changes if change.whole}
    if edited and all(_base(change.file) in made for change in edited):
        return False
    if _brought_by_an_edit(signature, runs[: place + 1], steps, doings):
        return False
    if _comes_and_goes(signature, runs[: place + 1], doings):
        return False
    if edited and _edited_before(signature, edited, runs, steps, doings):
        return False
    script = failed_at.doing.script
    place_of_test = found[1] if (found := _TEST_FILE.search(_said(steps[failed_at.index]))) else script
    if script and all(change.whole and _same_file(change.file, script) for _, change in changed):
        return False
    if signature.type == "AssertionError" and all(_same_file(change.file, place_of_test) for _, change in changed):
        return False
    for ran in runs[place + 1 :]:
        said = _said(steps[ran.index])
        named = not signature.type.islower() and re.search(rf"(?<!\w){re.escape(signature.type)}(?!\w)", said)
        if ran.passed and (named or (signature.message and signature.message in said)):
            return False
    between = range(failed_at.index + 1, following.index)
    own = {_base(change.file) for doing in doings for change in doing.changes if change.file}
    return not any(
        doings[index].script and _base(doings[index].script) in own and _base(doings[index].script) != _base(script)
        for index in between
    )


def _failed_tests(step: Step) -> set[str]:
    return {name for match in _FAILED_TEST.finditer(_said(step)) for name in match.groups() if name}


def _moved_on(ran: _Ran, following: _Ran, steps: Sequence[Step]) -> bool:
    """Return whether other tests failed in the next run, so that an edit repaired those that failed before."""
    before, after = _failed_tests(steps[ran.index]), _failed_tests(steps[following.index])
    return bool(before) and bool(after) and before.isdisjoint(after)


def _brought_by_an_edit(
    signature: Signature, runs: Sequence[_Ran], steps: Sequence[Step], doings: Sequence[Doing]
) -> bool:
    """Return whether the error came first after files were edited between two runs: then the session made it itself.

    A run that stopped at an earlier test did not show it yet.
    """
    first = next(
        place for place, ran in enumerate(runs) if ran.signature is not None and ran.signature.key == signature.key
    )
    if not first:
        return False
    earlier = runs[first - 1]
    if _STOPPED.search(_said(steps[earlier.index])) and _moved_on(earlier, runs[first], steps):
        return False
    between = range(runs[first - 1].index + 1, runs[first].index + 1)
    return any(change.file for index in between for change in doings[index].changes)


def _comes_and_goes(signature: Signature, runs: Sequence[_Ran], doings: Sequence[Doing]) -> bool:
    """Return whether the action had passed before, and the error came or went while nothing was changed."""
    met = [ran.signature is not None and ran.signature.key == signature.key for ran in runs]
    return any(
        ran.passed
        and any(met[:place])
        and any(met[place:])
        and not all(
            any(doings[index].changes for index in range(earlier.index + 1, later.index + 1))
            for earlier, later in pairwise(runs[place - 1 : place + 2])
        )
        for place, ran in enumerate(runs)
    )


def _edited_before(
    signature: Signature, edited: Sequence[Change], runs: Sequence[_Ran], steps: Sequence[Step], doings: Sequence[Doing]
) -> bool:
    """Return whether the session had edited those files before it first saw the error: then it may have made it."""
    shown = _first_shown(signature, runs, steps)
    if any(ran.index < shown for ran in runs):
        return False
    before = {_base(change.file) for doing in doings[:shown] for change in doing.changes if change.file}
    return any(_base(change.file) in before for change in edited)


def _first_shown(signature: Signature, runs: Sequence[_Ran], steps: Sequence[Step]) -> int:
    """Return the step at which the session first saw the error."""
    return next(
        index
        for index, step in enumerate(steps)
        if any(ran.index == index and ran.signature is not None and ran.signature.key == signature.key for ran in runs)
        or (signature.line and signature.line in step.observation)
    )


def _is_own_choice(
    signature: Signature,
    changed: Sequence[Change],
    runs: Sequence[_Ran],
    steps: Sequence[Step],
    doings: Sequence[Doing],
) -> bool:
    """Return whether the session took back what it had itself removed, stopped or chosen before the error."""
    shown = _first_shown(signature, runs, steps)
    before = [
        change
        for step, doing in zip(steps[:shown], doings[:shown], strict=True)
        for change in (*doing.changes, *_ran_as_changes(doing))
        if not (step.failed or failed(step)) or moves_a_service(change)
    ]
    return any(
        takes_back(change, before) or starts_what_it_set_up(change, before) or ends_its_own(change, steps[:shown])
        for change in changed
    )


def _ran_as_changes(doing: Doing) -> Iterator[Change]:
    """Yield what a step ran, as far as it is no change of a known kind: it may have taken something away too."""
    return (Change(text=f"ran: {' '.join(part.words)}") for part in doing.programs)


def _chooses(change: Change) -> bool:
    """Return whether a version manager chose another version of the language."""
    return _CHOOSES.match(change.text) is not None


def _tried(steps: Sequence[Step], doings: Sequence[Doing], earlier: _Ran, later: _Ran) -> list[str]:
    found = [
        change
        for index in range(earlier.index + 1, later.index + 1)
        for change in _made(steps[index], doings[index], later)
    ]
    if not all(change.clear for change in found):
        return []
    made = _made_files(doings[: later.index])
    return [without_ids(change.text) for change in found if not change.whole and not _takes_back(change, made)]


def _made_files(doings: Sequence[Doing]) -> Set[str]:
    """Return the names of the files and folders that the session made."""
    changes = [change for doing in doings for change in doing.changes]
    made = {_base(change.file) for change in changes if change.whole}
    return made | {
        _base(word.rstrip("/"))
        for change in changes
        if change.text.startswith(("ran: mkdir", "ran: ln", "ran: touch"))
        for word in change.text.split()[2:]
    }


def _takes_back(change: Change, made: Set[str]) -> bool:
    """Return whether the change removes what the session itself had made."""
    words = change.text.removeprefix("ran: ").split()
    return words[:1] == ["rm"] and any(_base(word.rstrip("/")) in made for word in words[1:])


def _is_undone_by(change: Change, later: Change) -> bool:
    """Return whether a later edit of the same file puts back the lines that this one took, and takes what it put."""
    if not change.file or change.whole or later.whole or not _same_file(change.file, later.file):
        return False
    taken, put = lines_that_differ(change)
    return bool(taken or put) and lines_that_differ(later) == (put, taken)


def _fix(
    signature: Signature,
    changed: Sequence[tuple[int, Change]],
    tries: Sequence[str],
    runs: tuple[_Ran, _Ran, _Ran],
    steps: Sequence[Step],
) -> Recipe:
    ran, following, last = runs
    lines = [f"It failed with: {signature.line}", "What changed:"]
    lines += [f"- {said}" for said in dict.fromkeys(change.said for _, change in changed)]
    if tries:
        lines.append(
            f"Changed before, and the same error came again: {'; '.join(cut_command(text, 120) for text in tries[:2])}"
        )
    said = f" ({last.run.detail})" if last.run is not None else ""
    gone = "Then" if following.passed else "Then this error was gone, and after further changes"
    done = "it" if last.way is not None or any(change.way for _, change in changed) else f"`{last.doing.shown}`"
    lines.append(f"{gone} {done} passed{said}." if last.passed else "Then this error was gone.")
    return Recipe(
        kind="fix",
        title=signature.text,
        description=_when(ran, [change for _, change in changed], steps[ran.index]),
        content="\n".join(lines),
        key=f"fix:{signature.key}",
        steps=tuple(dict.fromkeys((ran.index, *(index for index, _ in changed), last.index))),
        further=tuple(f"fix:{key}" for key in signature.keys[1:]),
    )


def _dead_ends(steps: Sequence[Step], doings: Sequence[Doing], runs: Sequence[_Ran]) -> Iterator[Recipe]:
    signature = runs[-1].signature
    if signature is None or is_syntax_error(signature) or any(ran.passed for ran in runs):
        return
    same = [ran for ran in runs if ran.signature is not None and ran.signature.key == signature.key]
    if any(change.file for doing in doings[: same[0].index] for change in doing.changes):
        return
    tries: dict[str, int] = {}
    for earlier, later in pairwise(same):
        for text in _tried(steps, doings, earlier, later):
            tries.setdefault(text, later.index)
    if len(tries) < LEAST_TRIES or len(same) <= LEAST_TRIES:
        return
    if not _failing(steps[same[-1].index], same[-1]):
        return
    lines = [f"It failed with: {signature.line}", "Tried, and the same error came again each time:"]
    lines += [f"- {cut_command(text)}" for text in [*tries][:MOST_CHANGES]]
    lines.append("The session found nothing that helped.")
    yield Recipe(
        kind="dead-end",
        title=signature.text,
        description=_when(same[0], [], steps[same[0].index]),
        content="\n".join(lines),
        key=f"dead-end:{signature.key}",
        steps=tuple(dict.fromkeys((same[0].index, *tries.values()))),
        further=tuple(f"dead-end:{key}" for key in signature.keys[1:]),
    )


def _when(ran: _Ran, changed: Sequence[Change], step: Step) -> str:
    ended = [_ENDINGS.get(found[1]) for change in changed if (found := _ENDING.search(change.file))]
    language = _LANGUAGES.get(ran.doing.program) or next((name for name in ended if name), "")
    about = ", ".join(part for part in (f"tool {step.tool}" if step.tool else "", language) if part)
    return f"`{ran.doing.shown}` fails with this error" + (f" ({about})." if about else ".")


def _purpose(doing: Doing, run: TestRun | None) -> Literal["tests", "linter", "build"] | None:
    if not doing.shown or len(doing.shown) > _MOST_FACT or doing.changes or "…" in doing.shown:
        return None
    if len(doing.programs) != 1:
        return None
    words = doing.programs[0].words
    shown = " ".join(words)
    if run is not None or (tests_something(doing.programs[0]) and doing.program in TEST_SCRIPT_RUNNERS):
        return None if _PARTIAL.search(shown) or (doing.script and doing.program != "node") else "tests"
    if _CLIPPY.match(shown) or (words[0].rsplit("/", 1)[-1] in LINTERS and not _REWRITES & set(words)):
        return None if _PARTIAL.search(shown) else "linter"
    return "build" if _BUILDERS.match(shown) else None


def _thrown_away(steps: Sequence[Step]) -> int:
    """Return the last step at which the session threw edits or a commit away; -1 when it never did."""
    return max(
        (fact.step or 0 for fact in commit_facts(steps) if not fact.positive and not fact.name.startswith(REFUSED)),
        default=-1,
    )


def _rejected(steps: Sequence[Step]) -> bool:
    """Return whether a person's last word on the work was that it does not do."""
    said = [verdict for step in steps[1:] if step.user and (verdict := verdict_in(step.user)) is not None]
    return bool(said) and not said[-1][0]


def _same_file(one: str, other: str) -> bool:
    return bool(one) and _base(one) == _base(other)


def _base(name: str) -> str:
    return name.rsplit("/", 1)[-1]
