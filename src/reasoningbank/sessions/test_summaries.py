"""The summaries that test runners print.

A summary counts only when it has the shape of the runner's own last lines, starts at the beginning of a line (a diff, a
numbered listing or a quotation does not), and does not stand in the command itself. Which commands are believed is said
in ``test_runs``. "0 tests", "no tests ran" and runs that only skipped prove nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_SEARCHED = 400_000


@dataclass(frozen=True, slots=True)
class Summary:
    """Hold what one run of a test runner reported.

    Attributes:
        runner: pytest, unittest, go, cargo, jest, vitest, mocha, maven, node, rspec, dotnet, phpunit, gradle, deno,
            bun, ctest, or one of those that count in one line (``_LINES``).
        passed: Tests that passed (packages for go without ``-v``, test tasks for gradle, which does not count).
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
_NODE = re.compile(
    rf"^(?P<mark>[#\u2139]) tests {_COUNT}\n(?:(?P=mark) suites {_COUNT}\n)?(?P=mark) pass (?P<passed>{_COUNT})\n"
    rf"(?P=mark) fail (?P<failed>{_COUNT})\n(?P=mark) cancelled (?P<cancelled>{_COUNT})\n"
    rf"(?P=mark) skipped (?P<skipped>{_COUNT})\n(?P=mark) todo (?P<todo>{_COUNT})[ \t]*$",
    re.MULTILINE,
)
_RSPEC = re.compile(
    rf"^(?P<ran>{_COUNT}) examples?, (?P<failed>{_COUNT}) failures?(?:, (?P<pending>{_COUNT}) pending)?"
    rf"(?:, (?P<errors>{_COUNT}) errors? occurred outside of examples)?[ \t]*$",
    re.MULTILINE,
)
_DOTNET = re.compile(
    rf"^ {{0,4}}(?:Passed|Failed|Skipped)! {{1,4}}- Failed: {{1,9}}(?P<failed>{_COUNT}), "
    rf"Passed: {{1,9}}(?P<passed>{_COUNT}), Skipped: {{1,9}}(?P<skipped>{_COUNT}), "
    rf"Total: {{1,9}}{_COUNT}(?:,[^\n]{{0,300}})?$",
    re.MULTILINE,
)
_DOTNET_WHOLE = re.compile(
    rf"^ {{0,4}}Test summary: total: {_COUNT}, failed: (?P<failed>{_COUNT}), succeeded: (?P<passed>{_COUNT}), "
    rf"skipped: (?P<skipped>{_COUNT})(?:, duration: [^\n]{{1,40}})?$",
    re.MULTILINE,
)
_DOTNET_OLD = re.compile(
    rf"^Total tests: {_COUNT}[ \t]*(?:\n {{1,9}}Passed: (?P<passed>{_COUNT})[ \t]*)?"
    rf"(?:\n {{1,9}}Failed: (?P<failed>{_COUNT})[ \t]*)?(?:\n {{1,9}}Skipped: (?P<skipped>{_COUNT})[ \t]*)?$",
    re.MULTILINE,
)
_PHPUNIT_OK = re.compile(rf"^OK \((?P<ran>{_COUNT}) tests?, {_COUNT} assertions?\)[ \t]*$", re.MULTILINE)
_PHPUNIT = re.compile(
    rf"^Tests: (?P<ran>{_COUNT}), Assertions: {_COUNT}(?P<rest>(?:, [A-Z][A-Za-z ]{{2,30}}: {_COUNT}){{0,9}})\.[ \t]*$",
    re.MULTILINE,
)
_PHPUNIT_COUNT = re.compile(rf"([A-Z][A-Za-z ]+): ({_COUNT})")
_GRADLE_END = re.compile(r"^BUILD (?P<end>SUCCESSFUL|FAILED)(?: in [\dhms ]{1,20})?[ \t]*$", re.MULTILINE)
_GRADLE_TASK = re.compile(
    r"^> Task (?:\S{0,200}:)(?:(?!testClasses\b)test\w{0,80}|\w{1,80}Test)"
    r"(?: (?P<how>FAILED|NO-SOURCE|SKIPPED|UP-TO-DATE|FROM-CACHE))?[ \t]*$",
    re.MULTILINE,
)
_GRADLE_COUNT = re.compile(
    rf"^({_COUNT}) tests? completed, ({_COUNT}) failed(?:, ({_COUNT}) skipped)?[ \t]*$", re.MULTILINE
)
_DENO = re.compile(
    rf"^(?P<end>ok|FAILED) \| (?P<passed>{_COUNT}) passed(?: \({_COUNT} steps?\))? \| (?P<failed>{_COUNT}) failed"
    rf"(?: \({_COUNT} steps?\))?(?: \| (?P<ignored>{_COUNT}) ignored(?: \({_COUNT} steps?\))?)?"
    r"[^\n]{0,80} \([\dms.]{1,12}\)[ \t]*$",
    re.MULTILINE,
)
_BUN = re.compile(
    rf"^ {{0,4}}(?P<passed>{_COUNT}) pass[ \t]*\n(?: {{0,4}}(?P<skipped>{_COUNT}) skip[ \t]*\n)?"
    rf"(?: {{0,4}}(?P<todo>{_COUNT}) todo[ \t]*\n)? {{0,4}}(?P<failed>{_COUNT}) fail[ \t]*\n"
    rf"(?: {{0,4}}(?P<errors>{_COUNT}) errors?[ \t]*\n)?(?: [^\n]{{0,80}}\n){{0,3}}"
    rf"(?P<ran>Ran {_COUNT} tests? across {_COUNT} files?)\.[^\n]{{0,40}}$",
    re.MULTILINE,
)
_CTEST = re.compile(
    rf"^{_COUNT}% tests passed, (?P<failed>{_COUNT}) tests? failed out of (?P<ran>{_COUNT})[ \t]*$", re.MULTILINE
)
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


def _node(text: str, line: str) -> _Found:
    for match in _NODE.finditer(text):
        if match[0] not in line:
            errors = int(match["cancelled"])
            skipped = int(match["skipped"]) + int(match["todo"])
            yield match.end(), Summary("node", int(match["passed"]), int(match["failed"]), errors, skipped)


def _rspec(text: str, line: str) -> _Found:
    for match in _RSPEC.finditer(text):
        if match[0].strip() in line:
            continue
        failed, skipped, errors = (int(match[name] or 0) for name in ("failed", "pending", "errors"))
        yield match.end(), Summary("rspec", max(0, int(match["ran"]) - failed - skipped), failed, errors, skipped)


def _dotnet(text: str, line: str) -> _Found:
    # One line for each project; the whole may follow in the words of MSBuild or of the older console.
    projects = [match for match in _DOTNET.finditer(text) if match[0].strip() not in line]
    if projects:
        passed, failed, skipped = (sum(int(one[name]) for one in projects) for name in ("passed", "failed", "skipped"))
        yield projects[-1].end(), Summary("dotnet", passed, failed, skipped=skipped)
    for shape in (_DOTNET_WHOLE, _DOTNET_OLD):
        for match in shape.finditer(text):
            if match[0].strip() not in line:
                passed, failed, skipped = (int(match[name] or 0) for name in ("passed", "failed", "skipped"))
                yield match.end(), Summary("dotnet", passed, failed, skipped=skipped)


def _phpunit(text: str, line: str) -> _Found:
    for match in _PHPUNIT_OK.finditer(text):
        if match[0].strip() not in line:
            yield match.end(), Summary("phpunit", passed=int(match["ran"]))
    for match in _PHPUNIT.finditer(text):
        if match[0].strip() in line:
            continue
        counts = {word: int(count) for word, count in _PHPUNIT_COUNT.findall(match["rest"])}
        failed, errors = counts.get("Failures", 0), counts.get("Errors", 0)
        skipped = counts.get("Skipped", 0) + counts.get("Incomplete", 0)
        passed = max(0, int(match["ran"]) - failed - errors - skipped)
        yield match.end(), Summary("phpunit", passed, failed, errors, skipped)


def _gradle(text: str, line: str) -> _Found:
    # Gradle counts only where a test failed; what it ran is seen in its tasks.
    end = next(reversed([match for match in _GRADLE_END.finditer(text) if match[0] not in line]), None)
    if end is None:
        return
    tasks = [match["how"] or "" for match in _GRADLE_TASK.finditer(text)]
    ran = [how for how in tasks if how not in {"NO-SOURCE", "SKIPPED"}]
    counts = [tuple(int(each or 0) for each in match.groups()) for match in _GRADLE_COUNT.finditer(text)]
    failed, skipped = sum(one[1] for one in counts), sum(one[2] for one in counts)
    if end["end"] == "SUCCESSFUL":
        if not tasks:
            return  # the short console lists no task, which does not say that none ran
        yield end.end(), Summary("gradle", passed=len(ran))
    elif counts:
        yield end.end(), Summary("gradle", sum(one[0] for one in counts) - failed - skipped, failed, skipped=skipped)
    elif "FAILED" in ran:
        yield end.end(), Summary("gradle", errors=1)


def _deno(text: str, line: str) -> _Found:
    for match in _DENO.finditer(text):
        if match[0].strip() not in line:
            errors = int(match["end"] == "FAILED" and match["failed"] == "0")
            skipped = int(match["ignored"] or 0)
            yield match.end(), Summary("deno", int(match["passed"]), int(match["failed"]), errors, skipped)


def _bun(text: str, line: str) -> _Found:
    for match in _BUN.finditer(text):
        if match["ran"] not in line:
            failed, errors, skipped, todo = (int(match[name] or 0) for name in ("failed", "errors", "skipped", "todo"))
            yield match.end(), Summary("bun", int(match["passed"]), failed, errors, skipped + todo)


def _ctest(text: str, line: str) -> _Found:
    for match in _CTEST.finditer(text):
        if match[0].strip() not in line:
            failed = int(match["failed"])
            yield match.end(), Summary("ctest", max(0, int(match["ran"]) - failed), failed)


@dataclass(frozen=True, slots=True)
class _Line:
    """A runner that counts in one line.

    Attributes:
        clue: What every output of the runner holds.
        shape: Names what it counts: ``ran``, ``passed``, ``failed``, ``errors``, ``skipped``, or ``bad`` for a word
            that says that the run failed without counting.
        adds: True when each part of the project has a line of its own.
    """

    runner: str
    clue: str
    shape: re.Pattern[str]
    adds: bool = False

    def read(self, text: str, line: str) -> _Found:
        """Yield each count, or their sum where every part of the project has one."""
        whole = Summary(self.runner)
        end = 0
        for match in self.shape.finditer(text):
            if match[0].strip() in line:
                continue
            found = self._counted({name: value for name, value in match.groupdict().items() if value})
            end = match.end()
            if not self.adds:
                yield end, found
            whole = Summary(
                self.runner,
                whole.passed + found.passed,
                whole.failed + found.failed,
                whole.errors + found.errors,
                whole.skipped + found.skipped,
            )
        if end and self.adds:
            yield end, whole

    def _counted(self, said: Mapping[str, str]) -> Summary:
        failed, errors, skipped = (int(said.get(name, 0)) for name in ("failed", "errors", "skipped"))
        passed = int(said["passed"]) if "passed" in said else int(said.get("ran", 0)) - failed - errors - skipped
        if "passed" in said and "ran" in said:
            failed = int(said["ran"]) - passed
        if "bad" in said and not (failed or errors):
            failed, passed = 1, 0
        elif "ok" in said:
            passed = max(passed, 1)
        return Summary(self.runner, max(0, passed), failed, errors, skipped)


def _line(runner: str, clue: str, *shapes: str, adds: bool = False) -> _Line:
    shape = "|".join(shapes)
    return _Line(runner, clue, re.compile(rf"^[ \t]{{0,12}}(?:{shape})[ \t]*$", re.MULTILINE), adds)


_N = _COUNT
_LINES = (
    _line(
        "swift",
        "Executed ",
        rf"Executed (?P<ran>{_N}) tests?, with (?:{_N} tests? skipped and )?(?P<failed>{_N}) failures? "
        rf"\({_N} unexpected\) in [^\n]{{1,40}}",
    ),
    _line(
        "swift",
        "Test run with ",
        rf"\S Test run with (?P<ran>{_N}) tests?(?: in {_N} suites?)? (?:passed|(?P<bad>failed)) after [^\n]{{1,80}}",
    ),
    _line(
        "sbt",
        "Tests: succeeded ",
        rf"(?:\[\w+\] )?Tests: succeeded (?P<passed>{_N}), failed (?P<failed>{_N}), canceled {_N}, "
        rf"ignored (?P<skipped>{_N}), pending {_N}",
        adds=True,
    ),
    _line(
        "sbt",
        ": Total ",
        rf"\[\w+\] (?:Passed|Failed|Error): Total {_N}, Failed (?P<failed>{_N}), Errors (?P<errors>{_N}), "
        rf"Passed (?P<passed>{_N})(?:, [^\n]{{0,60}})?",
        adds=True,
    ),
    _line(
        "mix",
        " failure",
        rf"(?:{_N} (?:doctests?|propert(?:y|ies)), ){{0,2}}(?P<ran>{_N}) tests?, (?P<failed>{_N}) failures?"
        rf"(?:, (?P<skipped>{_N}) skipped)?(?:, {_N} excluded)?",
        adds=True,
    ),
    _line(
        "nextest",
        " tests run: ",
        rf"Summary \[[^\]\n]{{1,20}}\] {_N}(?:/{_N})? tests run: (?P<passed>{_N}) passed[^,\n]{{0,40}}"
        rf"(?:, (?P<failed>{_N}) (?:failed|timed out)[^,\n]{{0,40}})?(?:, (?P<skipped>{_N}) skipped)?",
    ),
    _line(
        "ginkgo",
        " Passed | ",
        rf"(?:SUCCESS|FAIL)! -- (?P<passed>{_N}) Passed \| (?P<failed>{_N}) Failed \| {_N} Pending \| "
        rf"(?P<skipped>{_N}) Skipped[^\n]{{0,40}}",
        adds=True,
    ),
    _line(
        "bazel",
        " out of ",
        rf"Executed {_N} out of {_N} tests?: (?:(?P<passed>{_N}) tests? pass(?:es)?)?(?: and |, )?"
        rf"(?:(?P<failed>{_N}) fails?(?: \w+| to build)?)?(?:(?: and |, )(?P<errors>{_N}) fails? to build)?"
        rf"(?:(?: and |, )(?P<skipped>{_N}) (?:was|were) skipped)?\.",
    ),
    _line(
        "cabal",
        "test suites (",
        rf"{_N} of {_N} test suites \((?P<passed>{_N}) of (?P<ran>{_N}) test cases\) passed\.",
    ),
    _line("stack", "est suite", r"\S{1,80}> Test suite (?:\S{1,80} (?P<ok>passed)|(?P<bad>failure) for package \S+)"),
    _line(
        "zig",
        "tests passed",
        rf"All (?P<ran>{_N}) tests passed\.",
        rf"Build Summary: [^\n]{{1,80}}?; (?P<passed>{_N})/{_N} tests passed(?:; (?P<skipped>{_N}) skipped)?"
        rf"(?:; (?P<failed>{_N}) failed)?",
    ),
    _line("zig", "; ", rf"{_N} passed; (?P<skipped>{_N}) skipped; (?P<failed>{_N}) failed\."),
    _line(
        "clojure",
        " errors",
        rf"Ran {_N} tests containing (?P<ran>{_N}) assertions\.\n(?P<failed>{_N}) failures, "
        rf"(?P<errors>{_N}) errors\.",
    ),
    _line(
        "testthat",
        "[ FAIL ",
        rf"\[ FAIL (?P<failed>{_N}) \| WARN {_N} \| SKIP (?P<skipped>{_N}) \| PASS (?P<passed>{_N}) \]",
    ),
    _line("julia", "Testing ", r"Testing \S{1,80} tests (?P<ok>passed)"),
    _line(
        "julia",
        "Some tests did not pass",
        rf"(?:ERROR: )?(?:LoadError: )?Some tests did not pass: (?P<passed>{_N}) passed, (?P<failed>{_N}) failed, "
        rf"(?P<errors>{_N}) errored, (?P<skipped>{_N}) broken\.",
    ),
    _line(
        "minitest",
        " assertions, ",
        rf"(?P<ran>{_N}) (?:runs|tests), {_N} assertions, (?P<failed>{_N}) failures, (?P<errors>{_N}) errors, "
        rf"(?:(?P<skipped>{_N}) skips|{_N} pendings, [^\n]{{1,80}})",
    ),
    _line("prove", "Result: ", rf"Files={_N}, Tests=(?P<ran>{_N}), [^\n]{{0,120}}\nResult: (?:PASS|(?P<bad>FAIL))"),
    _line(
        "dart",
        ": ",
        rf"{_N}:\d\d \+(?P<passed>{_N})(?: ~(?P<skipped>{_N}))?(?: -(?P<failed>{_N}))?: "
        r"(?:All tests passed!|Some tests failed\.)",
    ),
    _line(
        "playwright",
        " passed (",
        rf"(?:(?P<failed>{_N}) failed\n(?: {{4}}[^\n]*\n){{0,200}} {{0,4}})?(?:{_N} (?:flaky|interrupted|did not run)\n"
        rf"(?: {{4}}[^\n]*\n){{0,200}} {{0,4}})?(?:(?P<skipped>{_N}) skipped\n {{0,4}})?"
        rf"(?P<passed>{_N}) passed \([\d.]{{1,8}}(?:ms|s|m)\)",
    ),
    _line(
        "busted",
        " successes / ",
        rf"(?P<passed>{_N}) successes / (?P<failed>{_N}) failures? / "
        rf"(?P<errors>{_N}) errors? / (?P<skipped>{_N}) pending[^\n]{{0,40}}",
    ),
    _line(
        "pest",
        " assertions)",
        rf"Tests: {{1,8}}(?:(?P<failed>{_N}) failed, )?(?:{_N} (?:risky|warnings?|todos?|incomplete), ){{0,3}}"
        rf"(?:(?P<skipped>{_N}) skipped, )?(?P<passed>{_N}) passed \({_N} assertions\)",
    ),
    _line(
        "karma",
        "Executed ",
        rf"[^\n]{{0,80}}: Executed (?P<ran>{_N}) of {_N}(?: \((?P<failed>{_N}) FAILED\))?"
        rf"(?: \(skipped (?P<skipped>{_N})\))?(?: SUCCESS)?(?: \([^\n]{{1,40}}\))?",
    ),
    _line("tox", "congratulations :)", r"(?P<ok>congratulations) :\)(?: \([^\n]{1,40}\))?"),
    _line("tox", "evaluation failed :(", r"(?P<bad>evaluation failed) :\((?: \([^\n]{1,40}\))?"),
)
"""Runners that say in one line, or two, how the run ended."""

_READERS: tuple[tuple[str, Callable[[str, str], _Found]], ...] = (
    (" in ", _pytest),
    ("Ran ", _unittest),
    ("\t", _go),
    ("test result: ", _cargo),
    ("Test Suites:", _jest),
    ("Test Files  ", _vitest),
    (" passing (", _mocha),
    ("Tests run: ", _maven),
    (" cancelled ", _node),
    (" example", _rspec),
    ("otal", _dotnet),
    ("ssertion", _phpunit),
    ("BUILD ", _gradle),
    (" passed", _deno),
    (" tests across ", _bun),
    (" test across ", _bun),
    ("% tests passed, ", _ctest),
    *((each.clue, each.read) for each in _LINES),
)
"""Each reader with a text that every output of its runner holds, so that other outputs cost next to nothing."""
