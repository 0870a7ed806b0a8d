"""What the steps of a session prove: repairs, errors that stayed, commits, words of the user."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.sessions.changes import doings_of
from reasoningbank.sessions.facts import facts
from reasoningbank.sessions.judge import by_evidence
from reasoningbank.types.session import Evidence, Step
from sessions.judged_cases import FAILED, NOW, PASSED, STEPS, session, shell, suite


def of_kind(kind: str, *steps: Step) -> list[Evidence]:
    return [fact for fact in facts(steps) if fact.kind == kind]


def errors(*steps: Step) -> list[Evidence]:
    return [fact for fact in of_kind("exit_code", *steps) if not fact.positive]


EDIT = Step(tool="Edit", action='{"file_path": "sums.py", "new": "return a + b"}', observation="done")


@promise(
    "judging:repairs",
    "Something that failed and later succeeded is one repair that names both steps and what came between; another "
    "command or file repairs nothing.",
    source="issue 3 Evidence without a model",
)
def test_a_repair_names_what_failed_and_what_came_between() -> None:
    steps = (shell("python sums.py", "Traceback", 1), EDIT, shell("python sums.py", "3"))
    (repair,) = of_kind("repair", *steps)
    assert repair.positive
    assert repair.step == 2
    assert repair.name == "python sums.py"
    assert "failed at step 0 and succeeded at step 2" in repair.detail
    assert "1 Edit" in repair.detail
    assert not errors(*steps)


@promise("judging:repairs")
def test_tests_that_failed_and_pass_now_are_a_repair() -> None:
    (repair,) = of_kind("repair", suite(False, "tests/a.py"), EDIT, suite(True))
    assert repair.name == "pytest tests/a.py"


@promise("judging:repairs")
def test_another_command_repairs_nothing() -> None:
    steps = (shell("make build", "no rule", 2), shell("make docs", "ok"))
    assert not of_kind("repair", *steps)
    (error,) = errors(*steps)
    assert error.step == 0
    assert error.name == "check: make build"
    assert "exit status 2" in error.detail


@promise("judging:repairs")
def test_an_edit_is_repaired_in_the_same_file_only() -> None:
    failed = Step(tool="Edit", action='{"file_path": "sums.py"}', error="text not found")
    elsewhere = Step(tool="Edit", action='{"file_path": "other.py"}', observation="done")
    assert not of_kind("repair", failed, elsewhere)
    assert of_kind("repair", failed, EDIT)


@promise("judging:repairs")
def test_looking_elsewhere_is_no_repair_worth_telling_and_no_error() -> None:
    steps = (shell("cat missing.py", "No such file", 1), shell("ls", "sums.py"), Step(tool="Read", action="{}"))
    assert not of_kind("repair", *steps)
    assert not errors(*steps)


@promise(
    "judging:errors",
    "An error that stayed is a fact against success, once per thing tried, with or without an exit status; a search "
    "without a match, and an error that is only shown, are none.",
    source="issue 3 Evidence without a model; spec/memoria_haios H19",
)
@pytest.mark.parametrize("action", ["grep -rn nothing .", "git diff --exit-code", "which nothing", "ls | grep nothing"])
def test_a_search_without_a_match_is_no_error(action: str) -> None:
    assert not errors(shell(action, "", 1))
    assert errors(shell("make build", "", 1))


@promise("judging:errors")
@pytest.mark.parametrize(
    "step",
    [
        Step(tool="bash", action="python a.py", observation="Traceback (most recent call last):\n  x\nKeyError: 1"),
        Step(tool="", action="frobnicate", observation="bash: frobnicate: command not found"),
        Step(tool="book_flight", action='{"id": 1}', observation="Error: the flight is full"),
        Step(tool="book_flight", action='{"id": 1}', observation='{"error": "the flight is full"}'),
        Step(tool="book_flight", action='{"id": 1}', error="the flight is full"),
        Step(tool="bash", action="make", exit_code=2),
    ],
)
def test_an_error_without_a_status_is_seen(step: Step) -> None:
    assert len(errors(step)) == 1


@promise("judging:errors")
@pytest.mark.parametrize(
    "step",
    [
        Step(tool="bash", action="cat log", observation="Traceback (most recent call last):\nKeyError: 1"),
        Step(tool="bash", action="make", observation="Error: deprecated\nbuilt", exit_code=0),
        Step(tool="Read", action='{"file_path": "log"}', observation="Error: one\nError: two"),
        Step(tool="book_flight", action="{}", observation='{"error": null, "id": 3}'),
    ],
)
def test_an_error_that_is_only_shown_is_none(step: Step) -> None:
    assert not errors(step)


@promise("judging:errors")
def test_the_share_of_clean_actions_is_told() -> None:
    steps = [shell(f"make part{number}", "", 1 if number == 3 else 0) for number in range(10)]
    assert Evidence(kind="exit_code", positive=True, detail="9 of 10 actions reported no error") in facts(steps)


@promise(
    "judging:commits",
    "Commits count as kept or undone (revert, reset), edits thrown away count when nothing follows; amending, soft "
    "resets and reverting older commits say nothing.",
    source="issue 3 Evidence without a model",
)
def test_a_commit_that_stayed_is_kept() -> None:
    (commit,) = of_kind("commit", shell("git add . && git commit -m fix", "[main abc1234] fix\n 1 file changed"))
    assert commit.positive
    assert commit.name == "abc1234"


@promise("judging:commits")
def test_a_message_in_a_here_document_is_no_command() -> None:
    message = 'Say "hi"; git reset --hard HEAD~1 && pytest\ngit revert HEAD'
    action = f"git add -A && git commit -m \"$(cat <<'EOF'\n{message}\nEOF\n)\""
    steps = (shell(action, "[main abc1234] Say hi\n 1 file changed"), shell("git status"))
    assert [fact.positive for fact in of_kind("commit", *steps)] == [True]


@promise("judging:commits")
@pytest.mark.parametrize(
    "undo",
    [
        "git revert abc1234",
        "git revert --no-edit HEAD",
        "git reset --hard HEAD~1",
        "git reset --hard HEAD^",
        "git -C . reset --hard 0000000",
    ],
)
def test_a_commit_that_was_undone_is_not(undo: str) -> None:
    made = shell("git commit -am fix", "[main abc1234] fix")
    (commit,) = of_kind("commit", made, shell(undo))
    assert not commit.positive
    assert commit.step == 1
    assert commit.name == "abc1234"


@promise("judging:commits")
@pytest.mark.parametrize(
    "steps",
    [
        [shell("git commit -m x", "nothing to commit, working tree clean", 1)],
        [shell("git revert 1234567", "[main 7654321] Revert")],
        [shell("git commit -m a", "[main abc1234] a"), shell("git reset --soft HEAD~1")],
        [shell("git log", "[main abc1234] a")],
        [shell("git checkout -b topic")],
        [shell("git restore --staged a.py")],
        [shell("edit 1:1\ngit commit -m x\nend_of_edit", "done")],
    ],
)
def test_other_uses_of_git_say_nothing(steps: list[Step]) -> None:
    assert not of_kind("commit", *steps)


@promise("judging:commits")
def test_an_amended_commit_is_one_commit() -> None:
    first = shell("git commit -m a", "[main abc1234] a")
    (commit,) = of_kind("commit", first, shell("git commit --amend -m b", "[main def5678] b"))
    assert commit.positive
    assert commit.name == "def5678"


@promise("judging:commits")
@pytest.mark.parametrize(
    "undo", ["git checkout -- sums.py", "git restore sums.py", "git checkout .", "git reset --hard"]
)
def test_edits_thrown_away_count_when_nothing_follows(undo: str) -> None:
    (thrown,) = of_kind("commit", EDIT, shell(undo))
    assert not thrown.positive
    assert not of_kind("commit", shell(undo), EDIT)
    kept = of_kind("commit", EDIT, shell(undo), shell("git commit -am x", "[main abc1234] x"))
    assert [fact.positive for fact in kept] == [True]


@promise(
    "judging:user-verdicts",
    "Only explicit words of the user about the work are a verdict, from the second turn on; thanks, agreement, "
    "questions, conditions and new wishes are none; a person asked just now decides alone.",
    source="issue 3 Evidence without a model",
)
def test_the_words_that_set_the_task_are_no_verdict() -> None:
    complaint = "It is not working."
    assert not of_kind("user_verdict", Step(user=complaint, thought="I will look"))
    assert not of_kind("user_verdict", Step(user=complaint))
    (verdict,) = of_kind("user_verdict", Step(user="Repair it", thought="done"), Step(user=complaint))
    assert not verdict.positive
    assert verdict.step == 1


@promise(
    "judging:never-raises",
    "Facts and the verdict of evidence are found for any session without an error.",
    source="issue 3 Evidence without a model",
)
@given(st.lists(STEPS, max_size=12))
def test_facts_come_in_order_and_change_nothing(steps: list[Step]) -> None:
    before = list(steps)
    found = facts(steps)
    assert steps == before
    places = [len(steps) if fact.step is None else fact.step for fact in found]
    assert places == sorted(places)
    assert all(0 <= place <= len(steps) for place in places)
    assert facts(tuple(steps)) == found


@promise("judging:never-raises")
def test_an_edit_that_is_typed_below_blank_lines_is_read() -> None:
    typed = Step(action="\n \nedit 2:2\nx = 1\nend_of_edit")
    steps = (suite(False), typed, suite(True))
    assert [len(doing.changes) for doing in doings_of(steps)] == [0, 1, 0]
    assert by_evidence(session(*steps), at=NOW).verdict == "success"


@promise(
    "judging:fast",
    "Facts take time proportional to the text, hostile texts included.",
    source="issue 3 It must show",
)
def test_a_thousand_sessions_of_fifty_steps_take_seconds() -> None:
    output = "\n".join(f"tests/test_{number}.py::test_one PASSED in place" for number in range(40))
    steps = [
        (
            shell(f"python tool{number}.py", output),
            suite(number % 3 > 0),
            EDIT,
            shell("git status", output),
            shell("ls"),
        )
        for number in range(10)
    ]
    flat = [step for group in steps for step in group]
    assert session(*flat).created_at == NOW
    start = time.process_time()
    for number in range(50):
        facts([shell(f"cd part{number}"), *flat])
    assert time.process_time() - start < 1.5


@promise("judging:fast")
@pytest.mark.parametrize(
    "step",
    [
        shell("pytest", "=" * 400_000),
        shell("pytest", "1 passed, " * 40_000),
        shell("pytest", "Ran 1 test in 1s\n" * 20_000),
        shell("pytest", "Tests: " + "1, " * 100_000),
        shell("x <<A\nA\n" * 2_000, "[main " * 10_000),
        shell("git commit " + "'" * 19_999, "[" * 100_000),
        shell('"' * 20_001 + "\\" * 999, FAILED + PASSED),
        shell("a=" * 10_000),
    ],
)
def test_hostile_texts_take_no_time(step: Step) -> None:
    start = time.process_time()
    facts([step])
    assert time.process_time() - start < 1.0
