"""Which commands are test runs by their name, and runs that found nothing to run."""

from __future__ import annotations

import pytest

from promises import promise
from reasoningbank.sessions import test_runs
from reasoningbank.sessions.commands import parts
from reasoningbank.sessions.judge import by_evidence
from reasoningbank.types.session import Judgement, Step
from sessions.judged_cases import NOW, session, shell

EDIT = Step(tool="Edit", action='{"file_path": "sums.py"}', observation="done")


def judged(*steps: Step) -> Judgement:
    return by_evidence(session(*steps), at=NOW)


@promise(
    "judging:test-names",
    "A command that prints no count is a test run only when it is a known runner, or a script or target with a usual "
    "name (test, check, verify, ci, test:e2e, unit-tests); a name that only holds such a word says nothing.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    "command",
    [
        "npm run update-check",
        "npm run lint:check",
        "npm run test-data",
        "yarn db:test:prepare",
        "pnpm install --save-dev test-kit",
        "npm ci",
        "npx check-outdated",
        "make test-image",
        "make check-deps",
        "just check-env",
        "./scripts/create-test-users.sh",
        "scripts/spec-server start",
        "bash tools/verify-signature.sh app.tar",
        "python tests/seed.py",
        "bin/load_test_fixtures",
        "./check_disk",
    ],
)
def test_a_name_that_only_holds_the_word_is_no_test_run(command: str) -> None:
    assert not any(map(test_runs.tests_something, parts(command)))
    assert judged(EDIT, shell(command, "ok")).verdict == "unknown"
    assert judged(EDIT, shell(command, "ok"), shell(command, "nope", 1)).verdict != "failure"
    assert judged(EDIT, shell(command, "4 passed in 0.1s")).verdict == "success", "a runner's own count is believed"


@promise("judging:test-names")
@pytest.mark.parametrize(
    "command",
    [
        "npm test",
        "npm run test:e2e",
        "yarn test:unit --silent",
        "pnpm -r test",
        "pnpm run verify",
        "yarn ci",
        "npm run ci",
        "yarn jest",
        "pnpm exec vitest run",
        "make check",
        "make -C build test",
        "make unit-tests",
        "rake spec",
        "just ci",
        "./run_tests.sh",
        "tests/run.sh",
        "bin/test",
        "./ci.sh",
        "scripts/test-integration.sh",
    ],
)
def test_usual_names_are_test_runs(command: str) -> None:
    assert any(map(test_runs.tests_something, parts(command)))
    assert judged(EDIT, shell(command, "fine")).verdict == "success"
    assert judged(EDIT, shell(command, "wrong", 1)).verdict == "failure"


@promise("judging:no-tests")
@pytest.mark.parametrize(
    ("command", "said", "status"),
    [
        ("npx jest totals", "No tests found, exiting with code 1\nRun with `--passWithNoTests`", 1),
        ("npx vitest run totals", "No test files found, exiting with code 1", 1),
        ("npx mocha totals", "Error: No test files found: \"totals\"", 1),
        ("npx playwright test totals", "Error: No tests found", 1),
        ("pytest -k totals", "collected 9 items / 9 deselected / 0 selected\n9 deselected in 0.01s", 5),
        ("pytest tests/none", "collected 0 items\n\nno tests ran in 0.01s", 5),
        ("./gradlew test --tests Totals", "> Task :test FAILED\n\n> No tests found for given includes: [Totals]\n"
         "\nBUILD FAILED in 1s", 1),
        ("go test ./totals", "?   \tacme/totals\t[no test files]", 0),
        ("dotnet test", "No test is available in Shop.dll. Make sure that test discoverer is registered.", 0),
        ("npm test", "no tests were found", 0),
        ("ctest", "No tests were found!!!", 8),
        ("phpunit --filter totals", "No tests executed!", 1),
    ],
)  # fmt: skip
def test_a_run_that_finds_nothing_is_no_run(command: str, said: str, status: int) -> None:
    none = shell(command, said, status)
    assert judged(EDIT, none).verdict == "unknown"
    assert judged(none, EDIT, none).verdict == "unknown"
    passed, failed = shell("pytest", "3 passed in 0.1s"), shell("pytest", "1 failed in 0.1s", 1)
    assert judged(failed, EDIT, passed, none).verdict == "success"
    assert judged(failed, EDIT, none).verdict == "failure"


@promise("judging:no-tests")
def test_a_run_that_could_not_start_is_not_one_that_found_nothing() -> None:
    broken = shell("pytest tests", "ImportError: No module named app\nno tests ran in 0.1s", 1)
    assert judged(EDIT, broken).verdict != "success"
    assert judged(EDIT, shell("npx jest", "Cannot find module './app'\nno tests ran", 1)).verdict == "failure"
