"""Summaries of test runners: recorded ones, real ones, and texts that only look like one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.sessions.test_runs import covers, run_of
from reasoningbank.sessions.test_summaries import Summary, summary_of
from reasoningbank.types.session import Step

RECORDED = Path(__file__).parent / "recorded_runs"
GO_OK = "ok  \tsample/sum\t0.003s\n?   \tsample/cmd\t[no test files]\n"
GO_FAIL = "--- FAIL: TestWrong (0.00s)\n    sum_test.go:9: 2 != 3\nFAIL\nFAIL\tsample/sum\t0.004s\nFAIL\n"
GO_VERBOSE = (
    "=== RUN   TestAdds\n--- PASS: TestAdds (0.00s)\n=== RUN   TestLater\n    sum_test.go:12: later\n"
    "--- SKIP: TestLater (0.00s)\nPASS\nok  \tsample/sum\t0.002s\n"
)
GO_BUILD = (
    "# sample/sum\nsum/sum.go:3:1: syntax error: non-declaration statement\nFAIL\tsample/sum [build failed]\nFAIL\n"
)
GO_NONE = "ok  \tsample/sum\t0.002s [no tests to run]\n"
PASSED = "============================== 1 passed in 0.01s ===============================\n"


def recorded(name: str) -> str:
    return (RECORDED / f"{name}.txt").read_text(encoding="utf-8")


@promise(
    "judging:test-runs",
    "Runs of pytest, unittest, go test, cargo test, jest, vitest, mocha, Maven, Gradle, node --test, rspec, dotnet "
    "test, PHPUnit, deno test, bun test and ctest are recognised by the runner's own last lines, counted, and named by "
    "what they test; an exit status overrules the summary of a lone command.",
    source="issue 3 Evidence without a model",
)
@pytest.mark.parametrize(
    ("output", "summary"),
    [
        ("pytest_fail", Summary("pytest", passed=2, failed=1, skipped=1)),
        ("pytest_quiet", Summary("pytest", passed=1)),
        ("pytest_color", Summary("pytest", passed=1)),
        ("pytest_error", Summary("pytest", errors=1)),
        ("unittest_ok", Summary("unittest", passed=1)),
        ("unittest_fail", Summary("unittest", passed=1, failed=1, skipped=1)),
        ("unittest_error", Summary("unittest", errors=1)),
        ("cargo_ok", Summary("cargo", passed=1, skipped=1)),
        ("cargo_fail", Summary("cargo", failed=1, skipped=1)),
        ("jest_ok", Summary("jest", passed=1, skipped=1)),
        ("jest_fail", Summary("jest", passed=1, failed=1, skipped=1)),
        ("jest_broken", Summary("jest", errors=1)),
        ("vitest_ok", Summary("vitest", passed=3, skipped=1)),
        ("vitest_fail", Summary("vitest", passed=2, failed=1, skipped=1)),
        ("vitest_color", Summary("vitest", passed=2, failed=1, skipped=1)),
        ("vitest_broken", Summary("vitest", errors=1)),
        ("mocha_ok", Summary("mocha", passed=1, skipped=1)),
        ("mocha_fail", Summary("mocha", passed=1, failed=1, skipped=1)),
        ("maven_ok", Summary("maven", passed=2)),
        ("maven_fail", Summary("maven", passed=1, failed=1)),
    ],
)
def test_recorded_summaries_are_counted(output: str, summary: Summary) -> None:
    text = recorded(output)
    assert summary_of(text) == summary
    assert summary_of(text.replace("\n", "\r\n")) == summary


@promise("judging:test-runs")
@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (GO_OK, Summary("go", passed=1)),
        (GO_FAIL, Summary("go", failed=1)),
        (GO_VERBOSE, Summary("go", passed=1, skipped=1)),
        (GO_BUILD, Summary("go", failed=1)),
        ("ok  \tsample/sum\t(cached)\n", Summary("go", passed=1)),
        ("Ran 3 tests in 0.001s\n\nOK (expected failures=1)\n", Summary("unittest", passed=2, skipped=1)),
        ("Ran 2 tests in 0.001s\n\nFAILED (unexpected successes=1)\n", Summary("unittest", passed=1, failed=1)),
        ("3 passed, 2 warnings in 62.10s (0:01:02)\n", Summary("pytest", passed=3)),
        ("2 failed, 1 passed, 1 error in 1.00s\n", Summary("pytest", passed=1, failed=2, errors=1)),
        ("1 failed, 1 passed in 0.1s\nretrying\n2 passed in 0.1s\n", Summary("pytest", passed=2)),
        ("Tests run: 4, Failures: 0, Errors: 1, Skipped: 1\n", Summary("maven", passed=2, errors=1, skipped=1)),
        ("  12 passing (1s)\n", Summary("mocha", passed=12)),
    ],
)
def test_known_shapes_are_counted(text: str, summary: Summary) -> None:
    assert summary_of(text) == summary


_NODE = (
    "{0} tests 3\n{0} suites 0\n{0} pass {1}\n{0} fail {2}\n{0} cancelled 0\n{0} skipped 1\n{0} todo 0\n"
    "{0} duration_ms 9\n"
)
_DOTNET = (
    "{0}!  - Failed:     {1}, Passed:     2, Skipped:     0, Total:     3, Duration: 5 ms - Shop.Tests.dll (net8.0)\n"
)
_RUNS = [
    (
        "node --test",
        1,
        "TAP version 13\nnot ok 1 - adds\n1..3\n" + _NODE.format("#", 1, 1),
        "node: 1 passed, 1 failed, 1 skipped",
    ),
    ("node --test test/", 0, "✔ adds (0.6ms)\n" + _NODE.format("\u2139", 2, 0), "node: 2 passed, 1 skipped"),
    ("npm test", 0, "> node --test\n\n" + _NODE.format("\u2139", 2, 0), "node: 2 passed, 1 skipped"),
    ("bundle exec rspec", 0, "..\n\nFinished in 0.01 seconds\n2 examples, 0 failures\n", "rspec: 2 passed"),
    ("rspec spec/a_spec.rb", 1, "3 examples, 1 failure, 1 pending\n", "rspec: 1 passed, 1 failed, 1 skipped"),
    ("rspec", 1, "0 examples, 0 failures, 1 error occurred outside of examples\n", "rspec: 0 passed, 1 errors"),
    ("dotnet test", 0, _DOTNET.format("Passed", 0) * 2, "dotnet: 4 passed"),
    ("dotnet test", 1, _DOTNET.format("Passed", 0) + _DOTNET.format("Failed", 1), "dotnet: 4 passed, 1 failed"),
    (
        "dotnet test",
        1,
        "Total tests: 3\n     Passed: 2\n     Failed: 1\n Total time: 1.2 Seconds\n",
        "dotnet: 2 passed, 1 failed",
    ),
    (
        "dotnet test",
        0,
        "Test summary: total: 3, failed: 0, succeeded: 3, skipped: 0, duration: 1.2s\n",
        "dotnet: 3 passed",
    ),
    ("vendor/bin/phpunit", 0, "...   3 / 3 (100%)\n\nOK (3 tests, 4 assertions)\n", "phpunit: 3 passed"),
    ("php vendor/bin/phpunit", 1, "FAILURES!\nTests: 3, Assertions: 4, Failures: 1.\n", "phpunit: 2 passed, 1 failed"),
    (
        "phpunit tests",
        2,
        "ERRORS!\nTests: 3, Assertions: 1, Errors: 1, Skipped: 1.\n",
        "phpunit: 1 passed, 1 errors, 1 skipped",
    ),
    ("./gradlew test", 0, "> Task :app:test\n\nBUILD SUCCESSFUL in 3s\n", "gradle: 1 passed"),
    (
        "./gradlew build",
        1,
        "> Task :test FAILED\n\n3 tests completed, 1 failed\n\nBUILD FAILED in 2s\n",
        "gradle: 2 passed, 1 failed",
    ),
    ("deno test", 0, "adds ... ok (1ms)\n\nok | 2 passed (1 step) | 0 failed (5ms)\n", "deno: 2 passed"),
    (
        "deno test -A",
        1,
        "FAILED | 1 passed | 1 failed | 1 ignored (7ms)\n\nerror: Test failed\n",
        "deno: 1 passed, 1 failed, 1 skipped",
    ),
    ("bun test", 0, " 2 pass\n 0 fail\n 2 expect() calls\nRan 2 tests across 1 files. [8.00ms]\n", "bun: 2 passed"),
    (
        "bun test",
        1,
        " 1 pass\n 1 skip\n 1 fail\nRan 3 tests across 1 file. [8.00ms]\n",
        "bun: 1 passed, 1 failed, 1 skipped",
    ),
    ("ctest --test-dir build", 0, "100% tests passed, 0 tests failed out of 2\n", "ctest: 2 passed"),
    ("ctest", 8, "50% tests passed, 1 tests failed out of 2\n", "ctest: 1 passed, 1 failed"),
    ("mvn -q test", 1, "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n", "maven: 2 passed, 1 failed"),
]


@promise("judging:test-runs")
@pytest.mark.parametrize(("command", "status", "text", "detail"), _RUNS)
def test_a_runner_is_read_by_its_output_and_its_exit_status(command: str, status: int, text: str, detail: str) -> None:
    for known in (status, None):
        run = run_of(Step(tool="bash", action=command, observation=text, exit_code=known))
        assert run is not None
        assert (run.detail, run.succeeded) == (detail, status == 0)
    listed = run_of(Step(tool="bash", action="cat run.log", observation=text, exit_code=0))
    assert listed is None
    if status == 0:
        broken = run_of(Step(tool="bash", action=command, observation=text, exit_code=1))
        assert broken is not None
        assert not broken.succeeded
    elif not command.startswith(("npm", "phpunit tests")):
        early = run_of(Step(tool="bash", action=command, observation="error: cannot start\n", exit_code=status))
        assert early is not None
        assert not early.succeeded


@promise(
    "judging:no-tests",
    "No tests, only skipped or deselected tests are no success.",
    source="issue 3 Evidence without a model",
)
@pytest.mark.parametrize("output", ["pytest_none", "unittest_none"])
def test_no_tests_are_no_success(output: str) -> None:
    command = "python -m " + output.split("_")[0]
    assert run_of(Step(tool="bash", action=command, observation=recorded(output), exit_code=0)) is None


@promise("judging:no-tests")
@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("pytest", "no tests ran in 0.01s\n"),
        ("pytest", "5 skipped in 0.01s\n"),
        ("python -m unittest", "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n"),
        ("go test ./...", GO_NONE),
        ("go test ./...", "?   \tsample\t[no test files]\n"),
        ("cargo test", "test result: ok. 0 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0s\n"),
        ("npx jest", "Test Suites: 0 total\nTests:       0 total\n"),
        ("npx mocha", "  0 passing (1ms)\n"),
        ("mvn test", "[INFO] Tests run: 0, Failures: 0, Errors: 0, Skipped: 0\n"),
        ("./gradlew test", "> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s\n"),
        ("rspec", "0 examples, 0 failures\n"),
        ("deno test", "ok | 0 passed | 0 failed (0ms)\n"),
        ("ctest", "No tests were found!!!\n"),
    ],
)
def test_nothing_but_skipped_proves_nothing(command: str, text: str) -> None:
    assert run_of(Step(tool="bash", action=command, observation=text, exit_code=0)) is None


@promise(
    "judging:quoted",
    "A summary in a file that was read, a diff, a listing, a web page, the command itself or in prose is no test run.",
    source="issue 3 Evidence without a model",
)
@pytest.mark.parametrize(
    "step",
    [
        Step(tool="bash", action="cat build.log", observation=PASSED),
        Step(tool="bash", action="cd logs && tail -n 3 *.log | head -20", observation=PASSED),
        Step(tool="bash", action="git diff HEAD~1", observation=PASSED),
        Step(tool="bash", action="test -f build.log && cat build.log", observation=PASSED),
        Step(tool="bash", action="make ci", observation="+" + PASSED),
        Step(tool="bash", action="make ci", observation="> 3 passed in 0.1s\n"),
        Step(tool="bash", action="make ci", observation="  12: 3 passed in 0.1s\n"),
        Step(tool="Read", action='{"file_path": "build.log"}', observation=PASSED),
        Step(tool="Grep", action='{"pattern": "passed"}', observation=PASSED),
        Step(tool="web_fetch", action='{"url": "https://ci.example"}', observation=PASSED),
        Step(tool="bash", action="echo '3 passed in 0.1s'", observation="3 passed in 0.1s\n"),
        Step(tool="bash", action="python -c \"print('3 passed in 0.1s')\"", observation="3 passed in 0.1s\n"),
        Step(tool="bash", action="cat > note.txt <<'X'\n3 passed in 0.1s\nX\ncat note.txt", observation=PASSED),
        Step(tool="bash", action="pytest", observation="the last run said: 3 passed in 0.1s, so it is fine"),
        Step(tool="", action="", thought="I ran it", observation=PASSED),
    ],
)
def test_quoted_output_is_no_test_run(step: Step) -> None:
    assert run_of(step) is None


@promise("judging:test-runs")
@pytest.mark.parametrize(
    ("step", "name"),
    [
        (Step(tool="Bash", action='{"command": "pytest -q tests/a.py"}', observation=PASSED), "pytest tests/a.py"),
        (Step(tool="shell", action='{"command": ["bash", "-lc", "pytest"]}', observation=PASSED), "pytest"),
        (Step(tool="exec_command", action='{"cmd": "uv run pytest -x"}', observation=PASSED), "pytest"),
        (
            Step(
                tool="",
                action="cd /app && CI=1 timeout 60 python -m pytest ./tests/ 2>&1 | tail -5",
                observation=PASSED,
            ),
            "pytest@/app tests",
        ),
        (Step(tool="bash", action="pytest -k 'a and b'", observation=PASSED), "pytest -k='a_and_b'"),
        (Step(tool="bash", action="pytest > out.txt; tail -1 out.txt", observation=PASSED), "pytest"),
        (Step(tool="bash", action="go test ./...", observation=GO_OK), "go"),
        (
            Step(
                tool="bash", action="poetry run python -m unittest discover", observation="Ran 1 test in 0.0s\n\nOK\n"
            ),
            "unittest",
        ),
        (Step(tool="bash", action="docker compose exec web pytest app", observation=PASSED), "pytest app"),
    ],
)
def test_a_run_is_named_by_what_it_tests(step: Step, name: str) -> None:
    run = run_of(step)
    assert run is not None
    assert run.succeeded
    assert run.name == name


@promise("judging:test-runs")
def test_a_build_that_breaks_is_a_failed_run() -> None:
    for command, output, status in (("cargo test", "cargo_build", 101), ("mvn -B test", "maven_build", 1)):
        run = run_of(Step(tool="bash", action=command, observation=recorded(output), exit_code=status))
        assert run is not None
        assert not run.succeeded
    assert run_of(Step(tool="bash", action="cargo test", observation="cargo: not found", exit_code=127)) is None
    assert run_of(Step(tool="bash", action="pytest nowhere", observation="no such file", exit_code=4)) is None


@promise("judging:test-runs")
def test_an_exit_status_overrules_the_summary_of_a_lone_command() -> None:
    run = run_of(Step(tool="bash", action="pytest --cov-fail-under=90", observation=PASSED, exit_code=1))
    assert run is not None
    assert not run.succeeded
    chained = run_of(Step(tool="bash", action="pytest && mypy src", observation=PASSED + "2 errors", exit_code=1))
    assert chained is not None
    assert chained.succeeded


@promise(
    "judging:superseded",
    "A later run of the same or more tests replaces an earlier one; a later failing run of a part replaces a passing "
    "run of the whole; runs while the edits were stashed say nothing.",
    source="issue 3 Evidence without a model",
)
@pytest.mark.parametrize(
    ("later", "earlier", "does"),
    [
        ("pytest", "pytest tests/a.py", True),
        ("pytest tests", "pytest tests/a.py::test_x", True),
        ("pytest tests/a.py", "pytest tests/a.py::test_x", True),
        ("pytest tests/a.py", "pytest", False),
        ("pytest tests/a", "pytest tests/ab.py", False),
        ("pytest", "unittest", False),
        ("pytest@web", "pytest", False),
        ("pytest tests", "pytest tests/a.py -k=x", True),
        ("pytest tests", "pytest -k=x", False),
        ("pytest -k=x", "pytest -k=y", False),
        ("pytest -k=x", "pytest tests/a.py -k=x", True),
    ],
)
def test_a_wider_run_covers_a_narrower_one(later: str, earlier: str, does: bool) -> None:
    assert covers(later, earlier) is does


@promise("judging:test-runs")
def test_real_runs_of_pytest_and_unittest(tmp_path: Path) -> None:
    (tmp_path / "test_real.py").write_text(
        "import unittest\n\nclass Sample(unittest.TestCase):\n"
        "    def test_right(self): self.assertTrue(1)\n    def test_wrong(self): self.assertTrue(VALUE)\n\nVALUE = 0\n"
    )
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    for arguments in (["pytest", "-p", "no:cacheprovider"], ["unittest", "test_real"]):
        for value, succeeded in ((0, False), (1, True)):
            source = (tmp_path / "test_real.py").read_text().splitlines()[:-1]
            (tmp_path / "test_real.py").write_text("\n".join([*source, f"VALUE = {value}"]) + "\n")
            done = subprocess.run(
                [sys.executable, "-B", "-m", *arguments],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
                env=alone,
            )
            output = done.stdout + done.stderr
            step = Step(
                tool="bash", action="python -m " + " ".join(arguments), observation=output, exit_code=done.returncode
            )
            run = run_of(step)
            assert run is not None, output
            assert run.succeeded is succeeded
            assert run.failures == (0 if succeeded else 1)


SHAPES = st.sampled_from(
    [
        "3 passed in 0.1s",
        "=" * 20,
        "Ran 1 test in 0.1s",
        "",
        "OK",
        "FAILED (errors=1)",
        "FAIL\tx\t0.1s",
        "ok  \tx\t0.1s",
        "test result: ok. 1 passed; 0 failed; 0 ignored;",
        "Test Suites: 1 total",
        "Tests: 1 passed, 1 total",
        "\x1b[1m",
        "  1 passing (1ms)",
        "  1 failing",
        "Tests run: 1, Failures: 0, Errors: 0, Skipped: 0",
        "BUILD FAILURE",
        "no tests ran in 0s",
    ]
)


@promise("judging:never-raises")
@given(st.lists(st.one_of(SHAPES, st.text(max_size=20)), max_size=12), st.text(max_size=80), st.none() | st.integers())
def test_any_output_is_read_without_an_error(lines: list[str], command: str, status: int | None) -> None:
    for tool in ("bash", "", "Read", "exec"):
        run_of(Step(tool=tool, action=command, observation="\n".join(lines), exit_code=status))
        run_of(Step(tool=tool, action="pytest " + command, observation="\n".join(lines), exit_code=status))
