"""Tell which steps ran tests, and how that ended.

Which commands are believed is said here; what their output says, in ``test_summaries``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from reasoningbank.sessions.commands import Program, command, parts, proven_by_status, vocabulary
from reasoningbank.sessions.strictness import strict_marks
from reasoningbank.sessions.test_summaries import summary_of
from reasoningbank.types.session import Step

TEST_SCRIPT_RUNNERS = vocabulary("npm yarn pnpm bun make just task rake")
"""Programs that run a script or target of the project, whose name says that it tests."""
_PACKAGE_MANAGERS = vocabulary("npm yarn pnpm bun")
_INTERPRETERS = vocabulary("python python3 node ruby bash sh")
_TESTING_WORDS = vocabulary("test tests spec specs unittest unittests testsuite runtests tox nox")
"""Words in the name of a script or target that say that it runs tests."""
_CHECKING_WORDS = vocabulary("check checks verify ci")
"""Words that do so alone; beside others they are about anything: ``check-updates``, ``format:check``."""
_SORTS_OF_TESTS = vocabulary(
    "unit units e2e integration int it ci all fast slow quick smoke functional acceptance system api ui browser "
    "node "
    "backend frontend coverage cov run runner running once headless watch regression full local python "
    "py js ts go "
    "rust java core lib parallel race contract component components headed chrome firefox only suite "
    ""
    "the my do execute main"
)
"""Words that may stand beside them: what sort of tests, or how they are run."""
_BESIDE_CHECKING = vocabulary("all run full ci fast local the do")
_NAME_PARTS = re.compile(r"[^A-Za-z0-9]+")
_TEST_FILE = re.compile(r"^(?:tests?_\w+|\w+_(?:test|spec)|[\w-]+[.-](?:test|spec))\.\w+$")
_INSTALLS = vocabulary(
    "install i add remove uninstall update upgrade up outdated create init publish info view why ls list config "
    "link audit "
    "dedupe prune pack version cache login"
)
"""What a runner of scripts does by itself: the words after it name packages, not scripts."""
_NEVER_ENDED = frozenset((124, 126, 127))
"""Statuses of a run out of time and of a program that is not there: they say nothing of the tests."""
_PYTEST_DID_NOT_TEST = frozenset((2, 3, 4, 5))
_VERBS = vocabulary("test run nextest discover verify install package clean")
_EVERYTHING = frozenset(("", ".", "..."))
_INSIDE = vocabulary("pytest jest vitest mocha mvn go cargo rspec phpunit dotnet ctest gradle")
"""Runners that are looked for in the command that a container or another machine is given."""
_TEST_COMMANDS = frozenset(
    (
        *((program, "test") for program in ("go", "cargo", "dotnet", "deno", "bun", "swift", "mix", "zig", "rails")),
        *((program, "test") for program in ("bazel", "bazelisk", "pants", "dune", "cabal", "stack", "lein", "flutter")),
        *((program, "test") for program in ("dart", "playwright", "buck2", "forge", "ng", "nx", "composer", "hardhat")),
        ("cargo", "nextest"),
        ("dune", "runtest"),
    )
)
_TEST_PROGRAMS = vocabulary("jest vitest mocha rspec phpunit ctest ginkgo prove bats busted pest karma ava")
_BUILD_TOOLS = vocabulary("sbt zig mill clojure clj")
"""Programs one of whose targets, in a word that may stand anywhere, runs the tests."""
_TARGET = re.compile(r"(?:^|[/:.\s'\"-])test(?:Only|Quick|s)?(?:$|[\s'\"])")
_TEST_CALL = re.compile(r"\b(?:devtools::test|testthat::test_\w+|Pkg\.test|tinytest::\w+)\(")
_CALLERS = vocabulary("R Rscript julia")
_MAVEN = vocabulary("mvn mvnw mvnd")
_ELSEWHERE = vocabulary("docker docker-compose podman ssh kubectl")
"""Programs that run a command in a container or on another machine."""
_MAY_TEST = (
    vocabulary("pytest py.test php gradle gradlew tox nox node")
    | frozenset(program for program, _ in _TEST_COMMANDS)
    | _TEST_PROGRAMS
    | _BUILD_TOOLS
    | _CALLERS
    | _MAVEN
    | TEST_SCRIPT_RUNNERS
    | _INTERPRETERS
)
"""Programs that may run tests by their own name or by their arguments, beside those whose name begins with python."""
_GRADLE_TESTS = re.compile(r"(?:^|:)(?:(?!testClasses$)test\w*|\w+Test|check|build)$")
_TASKS = vocabulary("test verify install package check build")
_ONLY_LISTS: dict[str, frozenset[str]] = {
    "pytest": vocabulary("--collect-only --co --setup-plan --fixtures --markers"),
    "go": vocabulary("-c -list"),
    "cargo": vocabulary("--no-run --list"),
    "jest": vocabulary("--listTests --showConfig --clearCache"),
    "vitest": vocabulary("list"),
    "mocha": vocabulary("--dry-run"),
    "rspec": vocabulary("--dry-run"),
    "phpunit": vocabulary("--list-tests --list-groups --list-suites"),
    "ctest": vocabulary("-N --show-only"),
    "dotnet": vocabulary("--list-tests -t"),
    "gradle": vocabulary("-x --exclude-task -m --dry-run"),
}
"""Options with which a runner ends with status 0 without running all of its tests."""
_SHOWS_ITSELF = vocabulary("--version --help -h")
_SKIPS_TESTS = ("-DskipTests", "-Dmaven.test.skip", "--list=", "-list=")
_NO_TESTS = re.compile(
    r"\bno tests?\b|\bNO-SOURCE\b|\btests are skipped\b|\b0 tests\b|\bnothing to (?:be done|do)\b"
    r"|\bis up to date\b",
    re.IGNORECASE,
)
_RAN_NONE = re.compile(
    r"\bno tests? (?:files? )?(?:ran|were run|found|were found|were executed|executed|is available|to run|collected"
    r"|match\w*|selected)\b|/ 0 selected\b|\bno test files?\b|\bcollected 0 items\b|\bno (?:examples"
    r"|specs) (?:found|ran)\b"
    r"|\b(?:ran|running|executed|found) 0 (?:tests|specs|examples)\b|\b0 tests (?:ran|run|executed|found|collected)\b",
    re.IGNORECASE,
)
"""What runners print that found nothing to run."""
_UNFINISHED = re.compile(
    r"Error collecting|SyntaxError|ImportError|ModuleNotFound|Cannot find module|compil\w+ (?:error|failed)"
    r"|\[build failed\]"
    r"|error\[E|error: (?!no tests?\b)(?=.*(?:expected|cannot|undefined|unresolved))",
    re.IGNORECASE,
)
"""What says that the tests are there and could not be started."""
BY_STATUS = "status:"
"""With this begins the name of a run that only its exit status tells of: it proves less than a count."""
_LEAVES_OUT = ("--deselect", "--ignore", "--ignore-glob", "--exclude", "--skip", "-skip", "--testPathIgnorePatterns")
_CHOOSES = vocabulary(
    "-k -m -t -g -p -run --testNamePattern --grep --tests --filter --example --tags --test-name-pattern --only --spec "
    "--testPathPattern --package --test --bin --retries --reruns --max-retries"
)
"""Options whose value chooses some of the tests, or lets them be tried again."""
_CHOOSES_WITHIN = (
    "-run=", "-Dtest=", "-k=", "-pl", "--testNamePattern=", "--grep=", "--tests=", "--filter=", "--tags=", "--only=",
    "--test-name-pattern=", "--spec=", "--testPathPattern=", "--package=",
    "--retries=", "--reruns=", "--max-retries=",
)  # fmt: skip
_CHOOSES_ALONE = vocabulary("--lib --bins --doc --examples")
_REMEMBERED = 100
"""The number of failed runs that a run without a count is compared with, the latest."""
_SPACE = re.compile(r"\s+")
_MAX_NAME = 200
_LAST_PART = 20_000
"""Characters at the end of an output in which a runner says that it found nothing."""


@dataclass(frozen=True, slots=True)
class TestRun:
    """A test run of a session: what was run, and how it ended.

    Attributes:
        name: Equal for runs of the same tests: runner, folder and targets; see ``covers``.
        part: The program that ran the tests.
        ran: The number of tests that passed or failed; 0 when the runner did not count.
        counted_by: The runner whose summary was read; empty without a count.
    """

    name: str
    succeeded: bool
    detail: str
    failures: int
    part: Program
    ran: int = 0
    counted_by: str = ""


def run_of(step: Step) -> TestRun | None:
    """Return the test run that the step made; None when it made none or when it proves nothing."""
    line = command(step)
    if not line:
        return None
    programs = [part for part in parts(line) if not part.silent]
    tests = [(part, runner) for part in programs if (runner := _runner(part)) is not None]
    if not tests and all(part.reads for part in programs):
        return None
    if tests and ran_no_tests(step):
        return None
    summary = summary_of(step.observation, line)
    if tests:
        part, runner = tests[-1]
    else:
        part, runner = Program(("",)), ""
    alone = len(programs) == 1 and bool(tests) and "|" not in line
    if summary is None or summary.empty:
        return _without_summary(step, part, runner) if alone and summary is None else None
    if not tests:
        part = next((each for each in reversed(programs) if not each.reads), part)
    name = _name(part, summary.runner) if tests else _plain_name(part, summary.runner)
    contradicted = alone and summary.succeeded and step.exit_code not in {None, 0}
    detail = f"{summary}, but exit status {step.exit_code}" if contradicted else str(summary)
    failures = summary.failed + summary.errors
    ran = summary.passed + summary.failed
    return TestRun(name, summary.succeeded and not contradicted, detail, failures, part, ran, summary.runner)


def ran_no_tests(step: Step) -> bool:
    """Return whether the step was to run tests and found none, which is not a run, however it ended."""
    line = command(step)
    text = step.observation or step.error
    if not line or _RAN_NONE.search(text[-_LAST_PART:]) is None or _UNFINISHED.search(text) is not None:
        return False
    summary = summary_of(text, line)
    if summary is not None and (summary.passed or summary.failed or (summary.errors and summary.runner != "gradle")):
        return False
    return any(tests_something(part) for part in parts(line) if not part.silent)


def same_command(run: TestRun, earlier: Iterable[TestRun]) -> TestRun:
    """Return the run under the name of an earlier run of the same command, whose output another runner may have ended.

    A command that runs two test programs shows the summary of the second only when the first one passes.
    """
    if not run.counted_by:
        return run
    for old in earlier:
        if old.counted_by and is_same_command(old.part, run.part):
            return replace(run, name=old.name)
    return run


def is_same_command(one: Program, other: Program) -> bool:
    """Return whether two runs have the same words in the same folder, and are equally strict."""
    if (one.words, one.folder) != (other.words, other.folder):
        return False
    return strict_marks(one) == strict_marks(other)


def passed_again(step: Step, failures: Iterable[TestRun]) -> TestRun | None:
    """Return the passing run that the step made of tests that failed before, though it printed no count.

    Exit status 0 is the runner's own word. It counts only for a run of the same tests, or more, as one that failed,
    only where it is the status of that program, and never when the runner was asked to list or skip tests or found
    none.

    Args:
        step: A step that is not a run by ``run_of``.
        failures: The earlier runs that failed.
    """
    earlier = tuple(failures)[-_REMEMBERED:]
    line = command(step)
    if not earlier or step.failed or step.exit_code != 0 or not line:
        return None
    run = _same_again(line, earlier)
    if run is None or _proves_nothing(step.observation) or summary_of(step.observation, line) is not None:
        return None
    return run


def passed_silently(step: Step) -> TestRun | None:
    """Return the run that ended with status 0 and counted nothing; None when it was not a run of the project's tests.

    A script that an interpreter was given may be anything: it is none.

    Args:
        step: A step that is not a run by ``run_of``.
    """
    line = command(step)
    if step.failed or step.exit_code != 0 or not line:
        return None
    for part in reversed(proven_by_status(line)):
        if part.silent or part.reads or part.program in _INTERPRETERS:
            continue
        runner = _runner(part)
        if runner is None or _lists_only(part, runner):
            continue
        if _proves_nothing(step.observation) or summary_of(step.observation, line) is not None:
            return None
        detail = f"{' '.join(part.words)[:_MAX_NAME]}: ended with exit status 0, no test was counted"
        return TestRun(_status_name(part, runner), True, detail, 0, part)
    return None


def _proves_nothing(said: str) -> bool:
    return _NO_TESTS.search(said) is not None or _RAN_NONE.search(said) is not None


def ci_run(step: Step) -> TestRun | None:
    """Return what the step saw of a run of the tests elsewhere, after a push; None when it asked for none.

    Only commands count whose status is that of the run: ``gh pr checks``, ``gh run watch --exit-status`` and
    ``gh run view --exit-status``.
    """
    line = command(step)
    if "gh " not in line or step.exit_code is None:
        return None
    for part in parts(line) if step.exit_code else proven_by_status(line):
        words = part.words[1:3]
        if part.program != "gh" or "--required" in part.words:
            continue
        if words == ("pr", "checks") or (words[:1] == ("run",) and "--exit-status" in part.words):
            if step.exit_code not in {0, 1} or (step.exit_code and not _CI_FAILED.search(step.observation)):
                return None
            said = "passed" if step.exit_code == 0 else "failed"
            return TestRun("ci", step.exit_code == 0, f"{' '.join(part.words)[:_MAX_NAME]}: {said}", 0, part)
    return None


_CI_FAILED = re.compile(r"\bfail(?:ed|ing|ure|s)?\b|^X ", re.IGNORECASE | re.MULTILINE)


def _same_again(line: str, earlier: Iterable[TestRun]) -> TestRun | None:
    for part in reversed(proven_by_status(line)):
        if part.silent or part.reads or _lists_only(part, runner := _runner(part)):
            continue
        for failure in earlier:
            old = failure.part
            name = failure.name
            same = is_same_command(part, old)
            if not same and runner:
                name = _name(part, runner)
                same = covers(name, failure.name) and _TASKS.intersection(old.words) <= set(part.words)
            if same:
                detail = f"{' '.join(part.words)[:_MAX_NAME]}: failed before, ended with exit status 0 now"
                return TestRun(name, True, detail, 0, part)
    return None


_WHOLE = re.compile(r"(?:npm|yarn|pnpm|bun|make|just|task|rake) (?:run )?(?:tests?|check|verify|ci)")
"""Scripts and targets that run all tests."""
_WHOLE_TASKS = frozenset(("build", "check", "clean"))
"""Tasks of Gradle that run all tests."""


def covers(later: str, earlier: str) -> bool:
    """Return whether a run of the later name ran everything that a run of the earlier name did.

    ``pytest`` covers ``pytest tests/test_a.py`` and ``pytest tests`` does too; not the other way round. A run of chosen
    tests (``-k``) covers only runs of the same choice, and one that is less strict (without ``-race``) no stricter one.
    """
    if later == earlier:
        return True
    if _MARKED in later or _MARKED in earlier:
        stricter = _marks(earlier) <= _marks(later)
        return stricter and covers(without_marks(later), without_marks(earlier))
    if earlier.startswith(BY_STATUS):
        # The same command line, which counted this time.
        command_line = earlier.removeprefix(BY_STATUS)
        return later.partition(" ")[2] == command_line or covers(later, command_line)
    runner, *targets = later.split(" ")
    earlier_runner, *earlier_targets = earlier.split(" ")
    chosen = {target for target in targets if target.startswith("-")}
    if runner != earlier_runner or (chosen and chosen != {old for old in earlier_targets if old.startswith("-")}):
        return False
    places = [target for target in targets if not target.startswith("-")]
    if _WHOLE.fullmatch(" ".join(places)) or (runner.startswith("gradle") and _WHOLE_TASKS.issuperset(places)):
        return True
    earlier_places = [target for target in earlier_targets if not target.startswith("-")]
    return not places or (
        bool(earlier_places) and all(any(_inside(old, new) for new in places) for old in earlier_places)
    )


_MARKED = " +"
"""Before each word of a name that says what made the run stricter."""


def _marks(name: str) -> frozenset[str]:
    return frozenset(word for word in name.split(" ") if word.startswith("+"))


def without_marks(name: str) -> str:
    """Return the name that the run has when nothing made it stricter."""
    return " ".join(word for word in name.split(" ") if not word.startswith("+")) if _MARKED in name else name


def tests_something(part: Program) -> bool:
    """Return whether the program runs tests, by its own name or by that of the script or target."""
    return _runner(part) is not None


def stashes(part: Program) -> bool | None:
    """Return whether the program puts the edits aside (True) or brings them back (False); None for anything else."""
    if part.program != "git" or part.word(1) != "stash" or part.word(2) in {"list", "show", "drop", "clear"}:
        return None
    return part.word(2) not in {"pop", "apply", "branch"}


def _inside(target: str, folder: str) -> bool:
    return target == folder or target.startswith((folder.rstrip("/") + "/", folder + "::"))


def _runner(part: Program) -> str | None:
    """Return the runner that the program is, empty when it is some command for tests, None when it runs no tests."""
    program = part.program
    if program == "test" and len(part.words) > 1:
        return None
    known = program in _MAY_TEST or program.startswith("python")
    if (runner := _known_runner(part) if known else None) is not None:
        return runner
    if _is_usual(part.words[0]):
        return ""
    if program in _ELSEWHERE:
        inner = [index for index, word in enumerate(part.words) if word in _INSIDE]
        return _runner(Program(part.words[inner[0] :])) if inner else None
    return None


def _known_runner(part: Program) -> str | None:
    """Return what ``_runner`` does of a program whose name or arguments say that it runs tests."""
    words, program = part.words, part.program
    second = part.word(1)
    runner: str | None = None
    if program in {"pytest", "py.test"}:
        runner = "pytest"
    elif program.startswith("python") and second == "-m" and part.word(2) in {"pytest", "unittest"}:
        runner = part.word(2)
    elif _is_runner(part):
        runner = program
    elif program == "php" and second.rsplit("/", 1)[-1] == "phpunit":
        runner = "phpunit"
    elif program in {"gradle", "gradlew"} and any(_GRADLE_TESTS.search(word) for word in words[1:]):
        runner = "gradle"
    elif program in _MAVEN and {"test", "verify", "install", "package"} & set(words):
        runner = "maven"
    elif program in _PACKAGE_MANAGERS and (started := _launched(words)):
        runner = _runner(Program(started))
    elif program in {"tox", "nox"} or _is_test_script(part):
        runner = ""
    return runner


def _launched(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the test runner that a package manager starts by name, with its arguments; empty for none."""
    rest = words[2:] if words[1:2] and words[1] in {"exec", "run", "dlx", "x"} else words[1:]
    return rest if rest and (rest[0] in _TEST_PROGRAMS or rest[:2] in _TEST_COMMANDS) else ()


def _is_test_script(part: Program) -> bool:
    """Return whether a script or target is run whose name says that it tests, and nothing else."""
    words, program = part.words, part.program
    told = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if program in TEST_SCRIPT_RUNNERS:
        if program in _PACKAGE_MANAGERS and (
            not told or told[0] in _INSTALLS or (told == ["ci"] and program != "yarn")
        ):
            return False
        return any(map(_is_usual, told))
    if program in _INTERPRETERS:
        return any(_is_usual(word) or _TEST_FILE.match(word.rsplit("/", 1)[-1]) for word in told[:3])
    return _is_usual(words[0])


def _is_usual(name: str) -> bool:
    """Return whether scripts and targets for tests are usually named so: ``test``, ``test:e2e``, ``ci.sh``."""
    folder, _, base = name.rpartition("/")
    stem = re.sub(r"\.(?:sh|bash|py|js|mjs|cjs|ts|rb|php|pl|bat|cmd|ps1)$", "", base)
    said = [word.lower() for word in _NAME_PARTS.split(stem) if word]
    if said in (["run"], ["runner"], ["run", "all"], ["all"]):
        return folder.rsplit("/", 1)[-1] in {"test", "tests", "spec"}
    if any(word in _TESTING_WORDS for word in said):
        return all(word in _TESTING_WORDS or word in _SORTS_OF_TESTS or word in _CHECKING_WORDS for word in said)
    return any(word in _CHECKING_WORDS for word in said) and all(
        word in _CHECKING_WORDS or word in _BESIDE_CHECKING for word in said
    )


def _is_runner(part: Program) -> bool:
    """Return whether the program is a test runner, or is told by its arguments to be one."""
    words, program = part.words, part.program
    known = program in _TEST_PROGRAMS or (program, part.word(1)) in _TEST_COMMANDS
    told = program in _BUILD_TOOLS and any(map(_TARGET.search, words[1:]))
    called = program in _CALLERS and any(map(_TEST_CALL.search, words[1:]))
    return known or told or called or (program == "node" and "--test" in words)


def _lists_only(part: Program, runner: str | None) -> bool:
    """Return whether the program was asked for something else than to run all of its tests."""
    options = set(part.words[1:])
    return not options.isdisjoint(_SHOWS_ITSELF | _ONLY_LISTS.get(runner or "", frozenset())) or any(
        word.startswith(_SKIPS_TESTS) for word in options
    )


def _name(part: Program, runner: str) -> str:
    words = list(part.words)
    known = {"pytest": "pytest", "unittest": "unittest", "maven": "mvn"}.get(runner, runner)
    place = next((i for i, word in enumerate(words) if word.rsplit("/", 1)[-1].startswith(known)), None)
    label = runner + (f"@{part.folder}" if part.folder else "")
    marks = sorted(f"+{mark}" for mark in strict_marks(part))
    if place is None:
        return " ".join([label, *(_SPACE.sub("_", word) for word in words), *marks])[:_MAX_NAME]
    targets: list[str] = []
    rest = iter(words[place + 1 :])
    for word in rest:
        if word in _CHOOSES or (word in {"-R", "-L"} and runner == "ctest"):
            targets.append(f"{word}={_SPACE.sub('_', next(rest, ''))}")
        elif word in _CHOOSES_ALONE or word.startswith(_CHOOSES_WITHIN):
            targets.append(_SPACE.sub("_", word))
        elif word in _LEAVES_OUT:
            targets.append(f"{word}={_SPACE.sub('_', next(rest, ''))}")
        elif word.startswith(tuple(f"{option}=" for option in _LEAVES_OUT)):
            targets.append(_SPACE.sub("_", word))
        elif not word.startswith("-") and word not in _VERBS:
            targets.append(_SPACE.sub("_", word.removeprefix("./").rstrip("/")))
    return " ".join([label, *(target for target in targets if target not in _EVERYTHING), *marks])[:_MAX_NAME]


def _plain_name(part: Program, runner: str) -> str:
    words = " ".join(part.words[:4])
    return f"{runner} {words}".strip()[:_MAX_NAME].replace("\n", " ")


def _without_summary(step: Step, part: Program, runner: str) -> TestRun | None:
    """Return a runner that failed before it counted: a failed build, a file that cannot be collected."""
    status = step.exit_code
    if status in {None, 0} or status in _NEVER_ENDED or status is None or status < 0 or status > 128:
        return None
    if runner == "pytest" and status in _PYTEST_DID_NOT_TEST:
        return None
    if not runner and part.program in _INTERPRETERS:
        return None
    label = runner or " ".join(part.words)[:_MAX_NAME]
    detail = f"{label}: ended with exit status {status} before any test was counted"
    return TestRun(_name(part, runner) if runner else _status_name(part, runner), False, detail, 1, part)


def _status_name(part: Program, runner: str) -> str:
    """Return the name of a run that only its exit status tells of."""
    folder = f"@{part.folder} " if part.folder else ""
    return f"{BY_STATUS}{folder}{_name(part, runner) if runner else ' '.join(part.words)}"[:_MAX_NAME]
