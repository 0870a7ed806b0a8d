"""How facts combine to a verdict."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.sessions.facts import facts
from reasoningbank.sessions.judge import by_evidence
from reasoningbank.types.session import VERDICTS, Evidence, Judgement, Step, Trajectory
from sessions.judged_cases import EVIDENCE, FAILED, NOW, STEPS, session, shell, suite

EDIT = Step(tool="Edit", action='{"file_path": "sums.py"}', observation="done")
WORK = [shell(f"make part{number}") for number in range(9)]


def judged(*steps: Step, evidence: tuple[Evidence, ...] = ()) -> Judgement:
    return by_evidence(session(*steps, evidence=evidence), at=NOW)


def fact(kind: str, positive: bool, name: str = "", step: int | None = None) -> Evidence:
    return Evidence(kind=kind, positive=positive, name=name, step=step)  # type: ignore[arg-type]


@promise(
    "judging:evidence-decides",
    "Tests, a user's last word, a run without a result, or several different failures beside which little worked "
    "decide without a model.",
    source="issue 3 Judge; spec/memoria_haios H10",
)
@pytest.mark.parametrize(
    ("steps", "verdict"),
    [
        ([suite(True)], "success"),
        ([suite(False), EDIT, suite(True)], "success"),
        ([suite(False)], "failure"),
        ([suite(True), EDIT, suite(False)], "failure"),
        ([suite(False, "tests/a.py"), EDIT, suite(True)], "success"),
        ([suite(True), EDIT, suite(False, "tests/a.py")], "failure"),
        ([suite(True, "tests/a.py"), suite(False, "tests/b.py")], "partial"),
        ([*WORK, shell("make wrong", "no rule", 2), suite(True)], "success"),
        ([suite(True), Step(user="That did not work.", thought="I see")], "failure"),
        ([suite(False), Step(user="It works now, thanks!", thought="fine")], "success"),
        ([suite(False), Step(user="Thanks!", thought="fine")], "failure"),
        ([shell("make a", "", 1), shell("make b", "", 1), shell("make c", "", 1)], "failure"),
    ],
)
def test_tests_and_users_decide(steps: list[Step], verdict: str) -> None:
    assert judged(*steps).verdict == verdict


SCRIPT = "python3 test_app.py"
COMMITTED = shell("git commit -am 'Repair the sums'", "[main abc1234] Repair the sums")
TRACE = 'Traceback (most recent call last):\n  File "app.py", line 3, in <module>\nValueError: no such row'


@promise(
    "judging:repair-kept",
    "A command that failed and later passed, followed by a commit that was kept, is a success whatever the program is; "
    "without the commit, or with the commit undone, it is not.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize("command", [SCRIPT, "node check.js", "./run.sh", "make report"])
def test_a_repair_and_a_commit_that_was_kept_are_a_success(command: str) -> None:
    broken, mended = shell(command, TRACE, 1), shell(command, "done")
    assert judged(broken, EDIT, mended, COMMITTED).verdict == "success"
    assert judged(broken, EDIT, mended).verdict == "unknown"
    assert judged(COMMITTED, broken, EDIT, mended).verdict == "unknown", "the commit came before"
    assert judged(broken, EDIT, mended, COMMITTED, shell("git revert abc1234")).verdict != "success"
    assert judged(broken, EDIT, mended, COMMITTED, suite(False)).verdict != "success"


@promise(
    "judging:last-word",
    "A session whose last run is a failed build or a program that crashed is a failure, also when tests passed before; "
    "a crash that was typed in to try something, or after which something passed, is not, and neither is a search "
    "without a match, a complaint about style or a command that was not found.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    ("steps", "verdict"),
    [
        ([*WORK, shell("npm run build", "error TS2304: Cannot find name 'x'.", 2)], "failure"),
        ([*WORK, shell("cargo build", "error[E0432]: unresolved import", 101)], "failure"),
        ([*WORK, shell("python3 app.py", TRACE, 1)], "failure"),
        ([*WORK, shell("python3 app.py", TRACE, 1), shell("git status", "clean"), shell("cat app.py", "x")], "failure"),
        ([*WORK, shell("python3 app.py", TRACE, 1), shell("python3 app.py", "12 rows")], "unknown"),
        ([*WORK, shell("python3 -c 'import app; app.divide(0)'", TRACE, 1)], "partial"),
        ([*WORK, shell("python3 app.py", "usage: app.py FILE", 2)], "partial"),
        ([suite(True), shell("npm run build", "error TS2304: Cannot find name 'x'.", 2)], "failure"),
        ([suite(True), EDIT, shell("dotnet build", "error CS1002: ; expected", 1)], "failure"),
        ([suite(False), EDIT, suite(True), EDIT, shell("node server.js", "Uncaught TypeError: x", 1)], "failure"),
        ([EDIT, suite(True), shell("grep -rn old_name src", "", 1)], "success"),
        ([EDIT, suite(True), shell("ls build/old", "No such file or directory", 2)], "success"),
        ([EDIT, suite(True), shell("./gradlew spotlessCheck", "format violations", 1)], "success"),
        ([EDIT, suite(True), shell("ninja", "bash: ninja: command not found", 127)], "success"),
        ([suite(True, "tests/a.py"), shell("make", "", 2), suite(False, "tests/b.py")], "failure"),
    ],
)
def test_a_failed_build_or_a_crash_as_the_last_word_is_a_failure(steps: list[Step], verdict: str) -> None:
    assert judged(*steps).verdict == verdict


MAVEN_FAILED = "[ERROR] Tests run: 7, Failures: 2, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE\n"
GRADLE_FAILED = "FAILURE: Build failed with an exception.\n\nBUILD FAILED in 4s\n"


@promise(
    "judging:silent-pass",
    "Tests that failed and later end with exit status 0 pass, whatever is printed; not when the status is another "
    "program's, when tests are only listed or skipped, or when other tests ran.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    ("failed", "later", "verdict"),
    [
        (shell("mvn -q verify", MAVEN_FAILED, 1), shell("mvn -q verify"), "success"),
        (shell("mvn test", MAVEN_FAILED, 1), shell("mvn -q test && git add -A"), "success"),
        (shell("mvn test -Dtest=Cart", MAVEN_FAILED, 1), shell("git add -A; mvn -q test"), "success"),
        (shell("./gradlew check", GRADLE_FAILED, 1), shell("./gradlew check", "BUILD SUCCESSFUL in 2s"), "success"),
        (shell("./gradlew check", GRADLE_FAILED, 1), shell("JAVA_HOME=/jdk ./gradlew -q check"), "success"),
        (
            shell("npm test", "Test Suites: 1 failed, 1 total\nTests:       2 failed, 2 total", 1),
            shell("npm test"),
            "success",
        ),
        (shell("pytest -q", "1 failed in 0.1s", 1), shell("pytest -q > out.txt"), "success"),
        (shell("mvn test", MAVEN_FAILED, 1), shell("mvn -q test | tail -3"), "failure"),
        (shell("mvn test", MAVEN_FAILED, 1), shell("mvn -q test || true"), "failure"),
        (shell("mvn test", MAVEN_FAILED, 1), shell("mvn -q test; echo done"), "failure"),
        (shell("mvn test", MAVEN_FAILED, 1), shell("mvn -q test -DskipTests"), "failure"),
        (shell("mvn verify", MAVEN_FAILED, 1), shell("mvn -q test"), "failure"),
        (shell("mvn test", MAVEN_FAILED, 1), shell("mvn -q test -Dtest=Cart"), "failure"),
        (shell("./gradlew check", GRADLE_FAILED, 1), shell("./gradlew check -x test"), "failure"),
        (shell("pytest -q", "1 failed in 0.1s", 1), shell("pytest -q --collect-only", "test_a"), "failure"),
    ],
)
def test_exit_status_0_of_the_same_tests_takes_their_failure_back(failed: Step, later: Step, verdict: str) -> None:
    assert judged(failed, EDIT, later).verdict == verdict


@promise(
    "judging:at-most",
    "Without a user's word the probability of success is at most 0.9.",
    source="issue 11 Judge",
)
@given(st.lists(STEPS, max_size=10), st.lists(EVIDENCE, max_size=8))
@example([suite(False), EDIT, suite(True), COMMITTED], [])
def test_evidence_alone_never_says_more_than_nine_tenths(steps: list[Step], evidence: list[Evidence]) -> None:
    judgement = by_evidence(session(*steps, evidence=tuple(evidence)), at=NOW)
    approved = any(each.kind == "user_verdict" and each.positive for each in judgement.evidence)
    assert judgement.probability <= 0.9 or approved


@promise(
    "judging:untouched",
    "A session whose tests pass but whose actions name none of the files that its short task names is partial.",
    source="issue 11 Judge",
)
def test_a_session_that_never_touched_what_the_task_names_is_partial() -> None:
    asked = session(EDIT, suite(True))
    elsewhere = by_evidence(replace(asked, task="Repair the rounding in src/prices.py"), at=NOW)
    assert (elsewhere.verdict, elsewhere.probability < 0.85) == ("partial", True)
    assert "prices.py" in elsewhere.rationale
    there = by_evidence(replace(asked, task="Repair the rounding in src/sums.py"), at=NOW)
    assert there.verdict == "success"
    report = by_evidence(replace(asked, task="Repair this. " + "It was seen with prices.py and others. " * 20), at=NOW)
    assert report.verdict == "success", "a long report names files as examples"
    praised = session(EDIT, suite(True), Step(user="It works now, thanks!", thought="fine"))
    assert by_evidence(replace(praised, task="Repair src/prices.py"), at=NOW).verdict == "success"


@promise(
    "judging:mended-test",
    "A test file that the task names was worked on when it failed and passed later: its name stands in what the tests "
    "printed, or all tests of its language were run. One that no run was about was not.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    ("task", "failed", "passed", "verdict"),
    [
        ("Fix test_sums.py", suite(False), suite(True), "success"),
        ("tests/test_sums.py fails", suite(False, "tests"), suite(True, "tests"), "partial"),
        (
            "tests/test_sums.py fails",
            shell("pytest tests", "tests/test_sums.py F\n1 failed in 0.1s", 1),
            suite(True, "tests"),
            "success",
        ),
        ("SumsTest.java fails", shell("mvn test", MAVEN_FAILED, 1), shell("mvn -q test"), "success"),
        ("Fix test_sums.py", suite(False, "-k prices"), suite(True, "-k prices"), "partial"),
        ("Fix test_sums.py", suite(True), suite(True), "partial"),
        ("sums.spec.ts fails", suite(False), suite(True), "partial"),
        ("Fix src/prices.py", suite(False), suite(True), "partial"),
    ],
)
def test_a_test_file_that_failed_and_passes_now_was_worked_on(
    task: str, failed: Step, passed: Step, verdict: str
) -> None:
    asked = replace(session(failed, EDIT, passed), task=task)
    assert by_evidence(asked, at=NOW).verdict == verdict


@promise("judging:superseded")
@pytest.mark.parametrize(
    "aside",
    [
        [shell("git stash && pytest; git stash pop", "1 failed in 0.01s\n", 1)],
        [shell("git stash"), suite(False), shell("git stash pop")],
    ],
)
def test_a_run_without_the_edits_does_not_speak_about_them(aside: list[Step]) -> None:
    assert judged(EDIT, suite(True), *aside).verdict == "success"
    assert judged(EDIT, suite(True), *aside, suite(False)).verdict == "failure"


@promise(
    "judging:thrown-away",
    "Work that was thrown away after its tests passed (git checkout, restore, reset --hard, switch --force, a stash "
    "that was not brought back) is no success unless tests pass again; files that the session never worked on do not "
    "matter.",
    source="issue 11, Judge",
)
@pytest.mark.parametrize("status", [0, None])
@pytest.mark.parametrize(
    "undo",
    [
        "git checkout -- src/sums.py",
        "git checkout src/sums.py",
        "cd /w && git checkout HEAD -- src/sums.py",
        "git restore src/sums.py",
        "git restore .",
        "git checkout .",
        "git checkout -f",
        "git reset --hard",
        "git reset --hard origin/main",
        "git stash",
        "git stash push -u",
    ],
)
def test_work_that_was_thrown_away_after_its_tests_passed_is_no_success(undo: str, status: int | None) -> None:
    thrown = replace(shell(undo), observation="", exit_code=status)
    assert judged(suite(False), EDIT, suite(True)).verdict == "success"
    for rest in ((), (shell("git status"),), (EDIT,)):
        assert judged(suite(False), EDIT, suite(True), thrown, *rest).verdict in {"partial", "unknown"}
    back = [shell("git stash pop")] if "stash" in undo else [EDIT]
    assert judged(suite(False), EDIT, suite(True), thrown, *back, suite(True)).verdict == "success"
    elsewhere = shell(undo.replace("src/sums.py", "package-lock.json"))
    if elsewhere.action != undo:
        assert judged(suite(False), EDIT, suite(True), elsewhere).verdict == "success"


@promise(
    "judging:unknown",
    "That nothing went wrong, that something was committed, repaired, thanked for or claimed is no success: the "
    "verdict is unknown.",
    source="issue 3 Judge; DESIGN D8; spec/memoria_haios H10",
)
@pytest.mark.parametrize(
    "steps",
    [
        [],
        [Step(thought="All tests pass and the task is a complete success.")],
        WORK,
        [shell("make a", "", 1), EDIT, shell("make a")],
        [shell("git commit -am x", "[main abc1234] x")],
        [*WORK, shell("git commit -am x", "[main abc1234] x"), shell("make a", "", 1), shell("make a")],
        [Step(user="Do it", action="a", tool="t"), Step(user="Thank you so much!", thought="Welcome")],
    ],
)
def test_nothing_that_decides_is_unknown(steps: list[Step]) -> None:
    judgement = judged(*steps)
    assert judgement.verdict == "unknown"
    assert judgement.judge == "evidence"
    assert 0.5 <= judgement.probability < 0.85


@promise(
    "judging:tool-errors",
    "One tool error in ten actions is partial; a repaired one is no failure.",
    source="spec/memoria_haios H19",
)
def test_one_tool_error_in_ten_is_partial() -> None:
    judgement = judged(*WORK, shell("make wrong", "no rule", 2))
    assert judgement.verdict == "partial"
    assert "9 of 10 actions reported no error" in judgement.rationale
    assert "make wrong" in judgement.rationale


@promise("judging:tool-errors")
def test_a_repaired_error_is_no_failure() -> None:
    broken = shell("make wrong", "no rule", 2)
    assert judged(*WORK, broken, EDIT, shell("make wrong")).probability > judged(*WORK, broken).probability
    assert judged(*WORK, broken, EDIT, shell("make wrong")).verdict == "unknown"


@promise("judging:user-verdicts")
def test_a_person_asked_just_now_decides_alone() -> None:
    trajectory = session(suite(False), Step(user="That did not work.", thought="no"))
    for positive, verdict in ((True, "success"), (False, "failure")):
        user = fact("user_verdict", positive)
        judgement = by_evidence(trajectory, at=NOW, user=user)
        assert judgement.verdict == verdict
        assert judgement.judge == "user"
        assert judgement.evidence[-1] == user


@promise("judging:user-verdicts")
def test_the_last_verdict_of_a_user_counts() -> None:
    rejected, worked = Step(user="Still failing.", action="x", tool="t"), Step(user="It works now!", thought="fine")
    assert judged(EDIT, rejected, worked).verdict == "success"
    assert judged(EDIT, worked, Step(user="Still failing.", thought="hm")).verdict == "failure"


@promise("judging:user-verdicts")
def test_a_complaint_that_was_worked_on_does_not_decide() -> None:
    judgement = judged(EDIT, Step(user="Still failing.", thought="hm"), EDIT, EDIT)
    assert judgement.verdict in {"partial", "unknown"}
    assert judged(EDIT, Step(user="Still failing."), EDIT, suite(True)).verdict in {"partial", "unknown", "success"}
    assert judged(EDIT, Step(user="It works."), Step(user="Now add a page", action="x", tool="t")).verdict == "unknown"


@promise(
    "judging:sub-agents",
    "What a sub-agent saw counts half and makes only sub-agents' facts obsolete.",
    source="issue 3 Capture",
)
def test_what_sub_agents_saw_counts_less() -> None:
    main, helper = suite(True), suite(True, actor="helper")
    assert 0.5 < judged(helper).probability < judged(main).probability
    assert judged(helper).verdict == "unknown"
    assert judged(suite(False), helper).verdict == "partial"
    assert judged(suite(False, actor="helper"), main).verdict == "success"


@promise("judging:commits")
def test_work_that_was_thrown_away_speaks_against_success() -> None:
    made, undone = shell("git commit -am x", "[main abc1234] x"), shell("git revert abc1234")
    again = shell("git commit -am y", "[main def5678] y")
    assert judged(made, undone).probability < 0.5 < judged(made).probability
    assert judged(made, undone, again).probability == judged(made).probability


@promise("judging:evidence-decides")
def test_evidence_that_came_with_the_session_is_weighed() -> None:
    assert judged(*WORK, evidence=(fact("submission", False), *facts(WORK))).verdict == "failure"
    assert judged(*WORK, evidence=(fact("submission", True), *facts(WORK))).verdict == "unknown"


@promise("judging:never-raises")
@given(st.lists(STEPS, max_size=10), st.lists(EVIDENCE, max_size=8), st.none() | EVIDENCE)
def test_any_trajectory_gets_a_judgement(steps: list[Step], evidence: list[Evidence], user: Evidence | None) -> None:
    judgement = by_evidence(session(*steps, evidence=tuple(evidence)), at=NOW, user=user)
    assert judgement.verdict in VERDICTS
    assert (judgement.verdict == "success") == (judgement.probability >= 0.85)
    assert (judgement.verdict == "failure") == (judgement.probability <= 0.15)
    assert judgement.rationale
    assert judgement.at == NOW


@promise(
    "judging:monotone",
    "A further latest fact against success never raises the probability, one for it never lowers it; facts of "
    "different steps may come in any order.",
    source="issue 3 Judge",
)
@example(
    [fact("test_run", True, "pytest a b", 0), fact("test_run", False, "pytest a", 1)],
    fact("test_run", False, "pytest a c", 10),
    [EDIT] * 11,
)
@given(st.lists(EVIDENCE, max_size=8), EVIDENCE, st.lists(STEPS, min_size=11, max_size=11))
def test_a_later_fact_moves_the_probability_its_own_way_only(
    evidence: list[Evidence], latest: Evidence, steps: list[Step]
) -> None:
    place = None if latest.step is None or any(earlier.step is None for earlier in evidence) else 10
    latest = Evidence(kind=latest.kind, positive=latest.positive, name=latest.name, step=place)
    before = by_evidence(session(*steps, evidence=(fact("repair", True, "-", 0), *evidence)), at=NOW).probability
    after = by_evidence(session(*steps, evidence=(fact("repair", True, "-", 0), *evidence, latest)), at=NOW).probability
    assert after >= before if latest.positive else after <= before


@promise("judging:monotone")
@given(st.lists(EVIDENCE, max_size=6, unique_by=lambda evidence: evidence.step))
def test_facts_of_different_steps_may_come_in_any_order(evidence: list[Evidence]) -> None:
    steps = [EDIT] * 10
    expected = by_evidence(session(*steps, evidence=tuple(evidence)), at=NOW)
    for order in itertools.islice(itertools.permutations(evidence), 24):
        other = by_evidence(session(*steps, evidence=order), at=NOW)
        assert (other.verdict, other.probability) == (expected.verdict, expected.probability)


@promise("judging:monotone")
@example([shell("pytest", "", 127), shell("git commit -m x", FAILED)], False)
@example([shell("ls"), Step(action="pytest", error="no such file"), shell("make", exit_code=1)], False)
@given(st.lists(STEPS, max_size=8), st.booleans())
def test_a_last_test_run_moves_a_session_its_own_way_only(steps: list[Step], succeeded: bool) -> None:
    before = by_evidence(session(*steps), at=NOW).probability
    trajectory: Trajectory = session(*steps, suite(succeeded))
    after = by_evidence(trajectory, at=NOW).probability
    said = any(found.kind == "user_verdict" for found in facts(steps))
    assert said or (after >= before if succeeded else after <= before)
