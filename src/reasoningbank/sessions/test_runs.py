"""Which steps ran tests, how that ended, and the summaries that test runners print.

A summary counts only when it has the shape of the runner's own last lines, starts at the beginning of a line (a diff, a
numbered listing or a quotation does not), and does not stand in the command itself. Which commands are believed is said
in ``test_runs``. "0 tests", "no tests ran" and runs that only skipped prove nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from reasoningbank.sessions.commands import Program, command, parts, vocabulary
from reasoningbank.types.session import Step

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_SEARCHED = 400_000


@dataclass(frozen=True, slots=True)
class Summary:
    """Hold what one run of a test runner reported.

    Attributes:
        runner: pytest, unittest, go, cargo, jest, vitest, mocha or maven.
        passed: Tests that passed (packages for go without ``-v``).
        failed: Tests that failed.
        errors: Tests, files or builds that could not be run.
        skipped: Tests that were not run on purpose.
    """

    runner: str
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0

    @property
    def empty(self) -> bool:
        """Return whether no test passed or failed, which proves nothing."""
        return not (self.passed or self.failed or self.errors)

    @property
    def succeeded(self) -> bool:
        """Return whether tests passed and none failed."""
        return self.passed > 0 and not (self.failed or self.errors)

    def __str__(self) -> str:
        counts = [f"{self.passed} passed"]
        counts += [f"{count} {word}" for count, word in ((self.failed, "failed"), (self.errors, "errors")) if count]
        counts += [f"{self.skipped} skipped"] if self.skipped else []
        return f"{self.runner}: {', '.join(counts)}"


def summary_of(text: str, line: str = "") -> Summary | None:
    """Return the last summary of a test runner in the text of an observation; None without one.

    Args:
        text: What the command printed.
        line: The command; a summary that stands in it was printed by it, not by a runner.
    """
    text = text[-_SEARCHED:]
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    latest: tuple[int, Summary] | None = None
    for clue, read in _READERS:
        if clue not in text:
            continue
        for end, summary in read(text, line):
            if latest is None or end > latest[0]:
                latest = (end, summary)
    return latest[1] if latest else None


_COUNT = r"\d{1,9}"
_PYTEST_WORD = (
    r"(?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?|rerun|subtests? (?:passed|failed|skipped))"
)
_PYTEST = re.compile(
    rf"^(?:=+ )?(?P<counts>{_COUNT} {_PYTEST_WORD}(?:, {_COUNT} {_PYTEST_WORD}){{0,12}}|no tests (?:ran|collected))"
    r" in [\d.]{1,12}s(?: \([\d:, a-z]{1,30}\))?(?: =+)?[ \t]*$",
    re.MULTILINE,
)
_PYTEST_COUNT = re.compile(rf"({_COUNT}) ([a-z]+(?: [a-z]+)?)")
_UNITTEST = re.compile(
    rf"^Ran (?P<ran>{_COUNT}) tests? in [\d.]{{1,12}}s\n\n?"
    r"(?P<end>OK|FAILED|NO TESTS RAN)(?: \((?P<why>[^)\n]{0,200})\))?[ \t]*$",
    re.MULTILINE,
)
_UNITTEST_COUNT = re.compile(rf"([a-z ]+)=({_COUNT})")
_GO = re.compile(
    r"^(?:(?P<ok>ok)[ \t]+\S+[ \t]+(?:[\d.]{1,12}s|\(cached\))(?P<none>[^\n]*\[no tests to run\])?"
    r"|(?P<fail>FAIL)\t\S+(?:[ \t]+(?:[\d.]{1,12}s|\[(?:build|setup) failed\])))[^\n]{0,80}$",
    re.MULTILINE,
)
_GO_TEST = re.compile(r"^--- (PASS|FAIL|SKIP): \S+ \([\d.]{1,12}s\)$", re.MULTILINE)
_CARGO = re.compile(
    rf"^test result: (?:ok|FAILED)\. (?P<passed>{_COUNT}) passed; (?P<failed>{_COUNT}) failed; "
    rf"(?P<ignored>{_COUNT}) ignored;[^\n]{{0,120}}$",
    re.MULTILINE,
)
_JEST = re.compile(
    rf"^Test Suites:[ ]+(?P<suites>[^\n]{{1,120}}), {_COUNT} total\n"
    rf"Tests:[ ]+(?P<tests>(?:[^\n]{{1,120}}, )?{_COUNT}) total[ \t]*$",
    re.MULTILINE,
)
_JEST_COUNT = re.compile(rf"({_COUNT}) (failed|passed|skipped|todo)")
_MOCHA = re.compile(
    rf"^ {{0,8}}(?P<passing>{_COUNT}) passing \([\d.]{{1,12}}(?:ms|s|m|h)\)[ \t]*"
    rf"(?:\n {{0,8}}(?P<pending>{_COUNT}) pending[ \t]*)?(?:\n {{0,8}}(?P<failing>{_COUNT}) failing[ \t]*)?$",
    re.MULTILINE,
)
_VITEST = re.compile(
    rf"^ {{0,8}}Test Files[ ]{{2}}(?P<files>[^\n]{{1,120}}) \({_COUNT}\)[ \t]*\n"
    rf" {{0,12}}Tests[ ]{{2}}(?P<tests>[^\n]{{1,120}}?)(?: \({_COUNT}\))?[ \t]*$",
    re.MULTILINE,
)
_MAVEN = re.compile(
    rf"^(?:\[(?:INFO|WARNING|ERROR)\] )?Tests run: (?P<ran>{_COUNT}), Failures: (?P<failed>{_COUNT}), "
    rf"Errors: (?P<errors>{_COUNT}), Skipped: (?P<skipped>{_COUNT})[ \t]*$",
    re.MULTILINE,
)
_MAVEN_END = re.compile(r"^(?:\[(?:INFO|ERROR)\] )?BUILD (SUCCESS|FAILURE)[ \t]*$", re.MULTILINE)
_Found = Iterator[tuple[int, Summary]]


def _pytest(text: str, line: str) -> _Found:
    for match in _PYTEST.finditer(text):
        if match[0].strip("= \t") in line:
            continue
        counts = {word: int(count) for count, word in _PYTEST_COUNT.findall(match["counts"])}
        yield (
            match.end(),
            Summary(
                "pytest",
                passed=counts.get("passed", 0),
                failed=counts.get("failed", 0) + counts.get("subtests failed", 0) + counts.get("subtest failed", 0),
                errors=counts.get("error", 0) + counts.get("errors", 0),
                skipped=counts.get("skipped", 0) + counts.get("xfailed", 0),
            ),
        )


def _unittest(text: str, line: str) -> _Found:
    for match in _UNITTEST.finditer(text):
        if f"Ran {match['ran']} test" in line:
            continue
        counts = {word.strip(): int(count) for word, count in _UNITTEST_COUNT.findall(match["why"] or "")}
        failed = counts.get("failures", 0) + counts.get("unexpected successes", 0)
        errors = counts.get("errors", 0)
        skipped = counts.get("skipped", 0) + counts.get("expected failures", 0)
        if match["end"] == "FAILED" and not (failed or errors):
            errors = 1
        passed = max(0, int(match["ran"]) - failed - errors - skipped)
        yield match.end(), Summary("unittest", passed, failed, errors, skipped)


def _go(text: str, line: str) -> _Found:
    packages = [match for match in _GO.finditer(text) if match[0] not in line]
    if not packages:
        return
    failed = sum(1 for match in packages if match["fail"])
    passed = sum(1 for match in packages if match["ok"] and not match["none"])
    tests = [match[1] for match in _GO_TEST.finditer(text)]
    if tests:
        broken = sum(1 for match in packages if match["fail"] and "failed]" in match[0])
        counts = (tests.count("PASS"), tests.count("FAIL"), tests.count("SKIP"))
        if not counts[1] and failed > broken:
            broken = failed
        summary = Summary("go", passed=counts[0] or passed, failed=counts[1], errors=broken, skipped=counts[2])
    else:
        summary = Summary("go", passed=passed, failed=failed)
    yield packages[-1].end(), summary


def _cargo(text: str, line: str) -> _Found:
    results = [match for match in _CARGO.finditer(text) if match[0] not in line]
    if results:
        yield (
            results[-1].end(),
            Summary(
                "cargo",
                passed=sum(int(match["passed"]) for match in results),
                failed=sum(int(match["failed"]) for match in results),
                skipped=sum(int(match["ignored"]) for match in results),
            ),
        )


def _jest(text: str, line: str) -> _Found:
    for match in _JEST.finditer(text):
        if match["tests"] in line and "Test Suites:" in line:
            continue
        counts = {word: int(count) for count, word in _JEST_COUNT.findall(match["tests"])}
        suites = {word: int(count) for count, word in _JEST_COUNT.findall(match["suites"])}
        failed = counts.get("failed", 0)
        errors = suites.get("failed", 0) if not failed else 0
        skipped = counts.get("skipped", 0) + counts.get("todo", 0)
        yield match.end(), Summary("jest", counts.get("passed", 0), failed, errors, skipped)


def _vitest(text: str, line: str) -> _Found:
    for match in _VITEST.finditer(text):
        if match["tests"] in line and "Test Files" in line:
            continue
        counts = {word: int(count) for count, word in _JEST_COUNT.findall(match["tests"])}
        files = {word: int(count) for count, word in _JEST_COUNT.findall(match["files"])}
        failed = counts.get("failed", 0)
        errors = files.get("failed", 0) if not failed else 0
        skipped = counts.get("skipped", 0) + counts.get("todo", 0)
        yield match.end(), Summary("vitest", counts.get("passed", 0), failed, errors, skipped)


def _mocha(text: str, line: str) -> _Found:
    for match in _MOCHA.finditer(text):
        if match[0].strip() not in line:
            counts = [int(match[group] or 0) for group in ("passing", "failing", "pending")]
            yield match.end(), Summary("mocha", passed=counts[0], failed=counts[1], skipped=counts[2])


def _maven(text: str, line: str) -> _Found:
    totals = [match for match in _MAVEN.finditer(text) if match[0] not in line]
    if not totals:
        return
    failed = sum(int(match["failed"]) for match in totals)
    errors = sum(int(match["errors"]) for match in totals)
    skipped = sum(int(match["skipped"]) for match in totals)
    passed = sum(int(match["ran"]) for match in totals) - failed - errors - skipped
    ends = _MAVEN_END.findall(text)
    if ends and ends[-1] == "FAILURE" and not (failed or errors):
        errors = 1
    yield totals[-1].end(), Summary("maven", max(0, passed), failed, errors, skipped)


_READERS: tuple[tuple[str, Callable[[str, str], _Found]], ...] = (
    (" in ", _pytest),
    ("Ran ", _unittest),
    ("\t", _go),
    ("test result: ", _cargo),
    ("Test Suites:", _jest),
    ("Test Files  ", _vitest),
    (" passing (", _mocha),
    ("Tests run: ", _maven),
)
"""Each reader with a text that every output of its runner holds, so that other outputs cost next to nothing."""


_TEST_SCRIPT = re.compile(r"(?:^|[/_.:-])(?:tests?|spec|check|verify|tox|nox)(?:$|[/_.:-])")
_SCRIPT_RUNNERS = vocabulary("npm yarn pnpm bun make just task rake")
_INTERPRETERS = vocabulary("python python3 node ruby bash sh")
_NO_SUCH_PROGRAM = frozenset((126, 127))
_PYTEST_DID_NOT_TEST = frozenset((2, 3, 4, 5))
_VERBS = vocabulary("test run nextest discover verify install package clean")
_EVERYTHING = frozenset(("", ".", "..."))
_SPACE = re.compile(r"\s+")
_MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class Run:
    """A test run of a session: what was run, and how it ended.

    Attributes:
        name: Equal for runs of the same tests: runner, folder and targets; see ``covers``.
    """

    name: str
    succeeded: bool
    detail: str
    failures: int


def run_of(step: Step) -> Run | None:
    """Return the test run that the step made; None when it made none or when it proves nothing."""
    line = command(step)
    if not line:
        return None
    programs = [part for part in parts(line) if not part.silent]
    tests = [(part, runner) for part in programs if (runner := _runner(part)) is not None]
    if not tests and all(part.reads for part in programs):
        return None
    summary = summary_of(step.observation, line)
    if tests:
        part, runner = tests[-1]
    else:
        part, runner = Program(("",)), ""
    alone = len(programs) == 1 and bool(tests) and "|" not in line
    if summary is None or summary.empty:
        return _without_summary(step, part, runner) if alone and runner and summary is None else None
    name = _name(part, summary.runner) if tests else _plain_name(programs, summary.runner)
    contradicted = alone and summary.succeeded and step.exit_code not in {None, 0}
    detail = f"{summary}, but exit status {step.exit_code}" if contradicted else str(summary)
    return Run(name, summary.succeeded and not contradicted, detail, summary.failed + summary.errors)


def covers(later: str, earlier: str) -> bool:
    """Return whether a run of the later name ran everything that a run of the earlier name did.

    ``pytest`` covers ``pytest tests/test_a.py`` and ``pytest tests`` does too; not the other way round. A run of chosen
    tests (``-k``) covers only runs of the same choice.
    """
    if later == earlier:
        return True
    runner, *targets = later.split(" ")
    earlier_runner, *earlier_targets = earlier.split(" ")
    chosen = {target for target in targets if target.startswith("-")}
    if runner != earlier_runner or (chosen and chosen != {old for old in earlier_targets if old.startswith("-")}):
        return False
    places = [target for target in targets if not target.startswith("-")]
    earlier_places = [target for target in earlier_targets if not target.startswith("-")]
    return not places or (
        bool(earlier_places) and all(any(_inside(old, new) for new in places) for old in earlier_places)
    )


def stashes(part: Program) -> bool | None:
    """Return whether the program puts the edits aside (True) or brings them back (False); None for anything else."""
    if part.program != "git" or part.word(1) != "stash" or part.word(2) in {"list", "show", "drop", "clear"}:
        return None
    return part.word(2) not in {"pop", "apply", "branch"}


def _inside(target: str, folder: str) -> bool:
    return target == folder or target.startswith((folder.rstrip("/") + "/", folder + "::"))


def _runner(part: Program) -> str | None:
    """Return the runner that the program is, empty when it is some command for tests, None when it runs no tests."""
    words = part.words
    program = part.program
    second = part.word(1)
    runner: str | None = None
    if program == "test" and len(words) > 1:
        return None
    if program in {"pytest", "py.test"}:
        runner = "pytest"
    elif program.startswith("python") and second == "-m" and part.word(2) in {"pytest", "unittest"}:
        runner = part.word(2)
    elif program in {"jest", "vitest", "mocha"} or (program, second) in {
        ("go", "test"),
        ("cargo", "test"),
        ("cargo", "nextest"),
    }:
        runner = program
    elif program in {"mvn", "mvnw", "mvnd"} and {"test", "verify", "install", "package"} & set(words):
        runner = "maven"
    elif program in {"tox", "nox", "ctest", "gradle", "gradlew"} or (
        (program in _SCRIPT_RUNNERS and any(_TEST_SCRIPT.search(word) for word in words[1:]))
        or (program in _INTERPRETERS and any(_TEST_SCRIPT.search(word) for word in words[1:] if word[:1] != "-"))
        or _TEST_SCRIPT.search(words[0])
    ):
        runner = ""
    elif program in {"docker", "docker-compose", "podman", "ssh", "kubectl"}:
        inner = [index for index, word in enumerate(words) if word in {"pytest", "jest", "mocha", "mvn", "go", "cargo"}]
        runner = _runner(Program(words[inner[0] :])) if inner else None
    return runner


def _name(part: Program, runner: str) -> str:
    words = list(part.words)
    known = {"pytest": "pytest", "unittest": "unittest", "maven": "mvn"}.get(runner, runner)
    place = next((i for i, word in enumerate(words) if word.rsplit("/", 1)[-1].startswith(known)), None)
    label = runner + (f"@{part.folder}" if part.folder else "")
    if place is None:
        return " ".join([label, *(_SPACE.sub("_", word) for word in words)])[:_MAX_NAME]
    targets: list[str] = []
    rest = iter(words[place + 1 :])
    for word in rest:
        if word in {"-k", "-m", "-t", "-g", "-run", "--testNamePattern", "--grep", "-p"}:
            targets.append(f"{word}={_SPACE.sub('_', next(rest, ''))}")
        elif word.startswith(("-run=", "-Dtest=", "--grep=", "-k=", "--testNamePattern=", "-pl")):
            targets.append(_SPACE.sub("_", word))
        elif not word.startswith("-") and word not in _VERBS:
            targets.append(_SPACE.sub("_", word.removeprefix("./").rstrip("/")))
    return " ".join([label, *(target for target in targets if target not in _EVERYTHING)])[:_MAX_NAME]


def _plain_name(programs: list[Program], runner: str) -> str:
    working = [part for part in programs if not part.reads]
    words = " ".join(working[-1].words[:4]) if working else ""
    return f"{runner} {words}".strip()[:_MAX_NAME].replace("\n", " ")


def _without_summary(step: Step, part: Program, runner: str) -> Run | None:
    """Return a runner that failed before it counted: a failed build, a file that cannot be collected."""
    status = step.exit_code
    if status in {None, 0} or status in _NO_SUCH_PROGRAM or status is None or status < 0 or status > 128:
        return None
    if runner == "pytest" and status in _PYTEST_DID_NOT_TEST:
        return None
    return Run(_name(part, runner), False, f"{runner}: ended with exit status {status} before any test was counted", 1)
