"""Failures and passes that are not the session's own: of other folders, wanted, or there before it."""

from __future__ import annotations

import json

import pytest

from promises import promise
from reasoningbank.sessions.judge import by_evidence
from reasoningbank.types.session import Judgement, Step, Trajectory
from sessions.judged_cases import NOW, shell

GREEN, RED = "6 passed in 0.1s", "FAILED tests/test_tax.py::test_rate\n1 failed, 5 passed in 0.1s"


def edit(file: str) -> Step:
    what = json.dumps({"file_path": file, "old_string": "a", "new_string": "b"})
    return Step(tool="Edit", action=what, observation="done")


def judged(*steps: Step, task: str = "Repair it", answer: str = "") -> Judgement:
    return by_evidence(Trajectory(task=task, steps=steps, final_answer=answer, created_at=NOW), at=NOW)


@promise(
    "judging:elsewhere",
    "Tests of one part of a repository prove nothing of edits in another part beside it.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("cd orders && {}", "cd ../stock && {}"),
        ("cd orders && {}", "cd stock && {}"),
        ("cd /repo/orders && {}", "cd /repo/stock && {}"),
        ("cd libs/orders; {}", "cd ../stock; {}"),
    ],
)
@pytest.mark.parametrize(
    ("runner", "red", "green"),
    [
        ("pytest", RED, GREEN),
        ("npm test", "Tests:       1 failed, 2 total", "fine"),
        ("go test ./...", "--- FAIL: TestA (0.0s)\nFAIL\nFAIL\tx/a\t0.1s", "ok  \tx/b\t0.1s"),
    ],
)
def test_tests_of_another_folder_take_no_failure_back(own: str, other: str, runner: str, red: str, green: str) -> None:
    failed = shell(own.format(runner), red, 1)
    beside = shell(other.format(runner), green)
    mended = shell(own.format(runner), green)
    change = edit("/repo/libs/orders/tax.py" if "libs" in own else "/repo/orders/tax.py")
    assert judged(failed, change, beside).verdict == "failure"
    assert judged(failed, change, beside, mended).verdict == "success"
    assert judged(failed, change, mended, beside).verdict == "success"


@promise("judging:elsewhere")
def test_tests_of_a_folder_that_the_task_does_not_name_prove_nothing() -> None:
    change = edit("orders/tax.py")
    beside, own = shell("cd stock && pytest", GREEN), shell("cd orders && pytest", GREEN)
    assert judged(change, beside, task="Change the rate in orders").verdict == "partial"
    assert judged(change, own, task="Change the rate in orders").verdict == "success"
    assert judged(change, own, beside, task="Change the rate in orders").verdict == "success"
    assert judged(change, edit("stock/a.py"), beside, task="Change the rate in orders").verdict == "success"
    assert judged(change, beside, task="Change the rate in orders for stock").verdict == "success"
    assert judged(change, shell("cd build && ctest", "100% tests passed, 0 tests failed out of 3")).verdict == "success"
    assert judged(change, shell("cd /w && pytest", GREEN), task="Change the rate in orders").verdict == "success"


@promise("judging:elsewhere")
def test_a_build_of_another_folder_repairs_nothing() -> None:
    failed, beside = shell("cd orders && npm run build", "error", 1), shell("cd ../stock && npm run build", "ok")
    assert not any(fact.kind == "repair" for fact in judged(failed, beside).evidence)
    own = shell("cd orders && npm run build", "ok")
    assert any(fact.kind == "repair" for fact in judged(failed, edit("orders/a.ts"), own).evidence)


@promise(
    "judging:wanted-failure",
    "Where the task asks for a failure and not for its repair (reproduce, bisect, a test that fails, confirm that it "
    "is refused), a failing run neither proves nor disproves success.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    "task",
    [
        "Reproduce the bug of ticket 12 in a test. Do not fix it.",
        "Write a failing test for the rounding, without fixing it",
        "Verify that import.py refuses an empty file",
        "Show that the schema rejects a negative price",
        "Schreibe einen Test, der den Fehler reproduziert, aber behebe ihn noch nicht",
        "Reproduis le bug dans un test sans le corriger",
        "Reproduce el fallo en una prueba, sin arreglarlo",
        "用测试复现这个问题\uff0c先不修复",
        "この不具合をテストで再現してください。修正しないでください",
    ],
)
def test_a_failure_that_was_asked_for_decides_nothing(task: str) -> None:
    failed = shell("pytest tests/test_tax.py", RED, 1)
    assert judged(edit("tests/test_tax.py"), failed, task=task).verdict == "unknown"
    crash = shell("python import.py empty.csv", "Traceback (most recent call last):\nValueError: empty", 1)
    assert judged(crash, edit("a.py"), crash, task=task).verdict == "unknown"
    rejected = Step(user="That did not work.", thought="hm")
    assert judged(edit("tests/test_tax.py"), failed, rejected, task=task).verdict == "failure"


@promise("judging:wanted-failure")
@pytest.mark.parametrize(
    "task",
    [
        "Reproduce the bug of ticket 12 and fix it",
        "Write a failing test first, then make it pass",
        "Verify that the import does not fail",
        "Behebe den Fehler in der Steuer",
        "Change the rate",
    ],
)
def test_a_failure_that_was_not_asked_for_counts(task: str) -> None:
    assert judged(edit("tax.py"), shell("pytest", RED, 1), task=task).verdict == "failure"


@promise("judging:superseded")
def test_runs_of_a_bisection_say_nothing_of_the_session() -> None:
    start = shell("git bisect start HEAD v1", "Bisecting: 3 revisions left")
    run = shell("git bisect run pytest -q", "1 failed in 0.1s\nab12cd3 is the first bad commit")
    bad, reset = shell("pytest -q", RED, 1), shell("git bisect reset", "ok")
    assert judged(start, bad, run, reset, task="Which commit broke the tax?").verdict == "unknown"
    assert judged(start, run, reset, edit("tax.py"), shell("pytest -q", GREEN)).verdict == "success"
    assert judged(start, run, reset, edit("tax.py"), bad).verdict == "failure"


@promise(
    "judging:there-before",
    "A failure that the same tests showed before the first edit, or with the edits stashed, is not the session's where "
    "the task is about something else; a further failing test is.",
    source="issue 11 Judge",
)
def test_a_failure_that_was_there_before_is_not_the_sessions() -> None:
    red, worse = shell("pytest -q", RED, 1), shell("pytest -q", f"FAILED tests/a.py::test_new\n{RED}", 1)
    task = "Add a --verbose option to the exporter"
    end = judged(red, edit("export.py"), red, task=task)
    assert end.verdict == "unknown"
    assert "was there before" in end.rationale
    assert judged(red, edit("export.py"), worse, task=task).verdict == "failure"
    assert judged(edit("export.py"), red, task=task).verdict == "failure"
    assert judged(red, edit("export.py"), red, task="Fix the failing tests").verdict == "failure"
    assert judged(red, edit("tax.py"), red, task="Raise the tax rate").verdict == "failure", "it is about that test"
    assert judged(red, edit("export.py"), red, task=task, answer="It still fails, I gave up.").verdict == "failure"
    own = shell("pytest -q tests/test_export.py", "3 passed in 0.1s")
    assert judged(red, edit("export.py"), red, own, task=task).verdict == "success"


@promise("judging:there-before")
@pytest.mark.parametrize(
    "aside",
    [
        [shell("git stash"), shell("npx jest", "  ● clock \u203a shows the zone\n", 1), shell("git stash pop")],
        [shell("git stash && npx jest; git stash pop", "  ● clock \u203a shows the zone\n", 1)],
    ],
)
def test_a_failure_that_stays_without_the_edits_is_not_the_sessions(aside: list[Step]) -> None:
    red = shell("npx jest", "  ● clock \u203a shows the zone\n", 1)
    assert judged(edit("menu.ts"), red, *aside, task="Add a dark menu").verdict == "unknown"
    assert judged(edit("menu.ts"), red, *aside, task="Correct the colours of the menu").verdict == "unknown"
    assert judged(edit("clock.ts"), red, *aside, task="Repair the clock").verdict == "failure"
    other = shell("npx jest", "  ● menu \u203a opens\n", 1)
    assert judged(edit("menu.ts"), other, *aside, task="Add a dark menu").verdict == "failure"


@promise(
    "judging:blocked",
    "A last action that failed, and of which the agent says itself that it did not work or was refused, is a failure "
    "where nothing was proven or kept before.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    ("command", "said", "answer"),
    [
        ("gcloud run deploy web", "ERROR: (gcloud.run.deploy) PERMISSION_DENIED", "The deploy is blocked."),
        ("aws iam list-users", "An error occurred (AccessDenied)", "AWS answers AccessDenied."),
        ("curl -fsS -X POST https://api.test/v1/orders", "curl: (22) error: 403", "I get a 403."),
        ("helm upgrade web ./chart", "Error: UPGRADE FAILED", "The upgrade did not go through."),
        ("docker push registry/app", "denied: requested access is refused", "Der Push wurde verweigert."),
        ("npm publish", "npm ERR! code E403", "No pude publicar el paquete."),
    ],
)  # fmt: skip
def test_what_the_agent_says_did_not_work_is_a_failure(command: str, said: str, answer: str) -> None:
    looks = [shell(f"ls {number}", "x") for number in range(4)]
    works = [shell(f"make part{number}", "ok") for number in range(4)]
    wrong = shell(command, said, 1)
    if not command.startswith("curl"):
        assert judged(*looks, *works, wrong, answer=answer).verdict == "failure"
    assert judged(*works, wrong, shell(command, "ok"), answer=answer).verdict != "failure"
    assert judged(*works, wrong, answer="Here is the overview.").verdict != "failure"
    kept = shell("git commit -am x", "[main abc1234] x")
    assert judged(edit("a.py"), shell("pytest", GREEN), kept, wrong, answer=answer).verdict != "failure"


@promise(
    "judging:wider",
    "A command that failed and passes later inside a wider or a compound command has passed.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    ("failed", "later"),
    [
        (shell("pytest tests/test_tax.py", RED, 1), shell("pytest", GREEN)),
        (shell("make test", "wrong", 2), shell("make build && make test", "fine")),
        (shell("make build", "wrong", 2), shell("make build && make test", "fine")),
        (shell("npm run build", "wrong", 1), shell("npm run build && npm test", "fine")),
        (
            shell("npx jest tax", "Test Suites: 1 failed, 1 total\nTests:       1 failed, 1 total", 1),
            shell("npm test", "Test Suites: 3 passed, 3 total\nTests:       9 passed, 9 total"),
        ),
        (
            shell("./gradlew test", "> Task :test FAILED\n\n3 tests completed, 1 failed\n\nBUILD FAILED in 2s", 1),
            shell("./gradlew build", "> Task :test\n\nBUILD SUCCESSFUL in 9s"),
        ),
        (shell("tsc --noEmit", "a.ts(1,1): error TS2304", 2), shell("tsc --noEmit && npx vitest run && ls", "fine")),
    ],
)
def test_what_passes_inside_a_wider_command_has_passed(failed: Step, later: Step) -> None:
    assert judged(failed, edit("tax.py"), later).verdict == "success"
    assert judged(failed, edit("tax.py"), shell(later.action, "wrong", 1)).verdict != "success"


@promise("judging:untouched")
def test_a_file_that_was_read_and_needed_no_edit_is_not_called_unnamed() -> None:
    task = "Make tax.py follow the rules in docs/rates.md"
    read = Step(tool="Read", action='{"file_path": "docs/rates.md"}', observation="rates")
    end = judged(read, edit("rates/table.py"), shell("pytest", GREEN), task=task)
    assert end.verdict == "success"
    assert "No action names" not in end.rationale
    assert "No action names" in judged(edit("rates/table.py"), shell("pytest", GREEN), task=task).rationale
