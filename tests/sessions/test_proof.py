"""What passing tests prove, and what they do not: disguises, refusals, other parts, runs without a count."""

from __future__ import annotations

import json

import pytest

from promises import promise
from reasoningbank.sessions.judge import by_evidence
from reasoningbank.sessions.test_summaries import Summary, summary_of
from reasoningbank.types.session import Judgement, Step, Trajectory
from sessions.judged_cases import NOW, shell, suite

EDIT = Step(tool="Edit", action='{"file_path": "sums.py", "old_string": "a", "new_string": "b"}', observation="done")
FAILED = shell("pytest -q", "1 failed, 9 passed in 0.1s", 1)
PASSED = shell("pytest -q", "10 passed in 0.1s")
FEWER = shell("pytest -q", "9 passed in 0.1s")


def edit(file: str, old: str, new: str) -> Step:
    what = json.dumps({"file_path": file, "old_string": old, "new_string": new})
    return Step(tool="Edit", action=what, observation="done")


def judged(*steps: Step, task: str = "Repair the sums", answer: str = "") -> Judgement:
    return by_evidence(Trajectory(task=task, steps=steps, final_answer=answer, created_at=NOW), at=NOW)


@promise(
    "judging:disguised",
    "Tests that failed and then passed because they were skipped, removed, left out or made weaker are not success; "
    "where the person asked for that, they are.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    "steps",
    [
        [FAILED, edit("tests/test_a.py", "def test_x():", "@pytest.mark.skip\ndef test_x():"), PASSED],
        [FAILED, edit("tests/test_a.py", "assert total == 3", "assert total"), PASSED],
        [FAILED, EDIT, edit("tests/test_a.py", "def test_x():\n    assert 1\n", ""), PASSED],
        [FAILED, shell("git rm tests/test_a.py", "rm 'tests/test_a.py'"), FEWER],
        [FAILED, Step(tool="apply_patch", action="*** Delete File: tests/test_a.py", observation="ok"), FEWER],
        [FAILED, shell("python3 tidy.py", "ok"), FEWER],
        [FAILED, EDIT, shell("pytest -q --deselect tests/test_a.py::test_x", "9 passed, 1 deselected in 0.1s")],
    ],
)
def test_a_disguise_is_no_success(steps: list[Step]) -> None:
    assert judged(*steps).verdict == "partial"
    assert judged(*steps, Step(user="It works now, thanks!", thought="fine")).verdict == "success"


GO = "ok  \tsums\t0.1s\n"
GO_FAILED = "--- FAIL: TestTotal (0.00s)\nFAIL\tsums\t0.1s\n"


@promise("judging:disguised")
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("sums_test.go", '{name: "two", in: 2, want: 4},', '{name: "two", in: 2, want: 3},'),
        ("sums_test.go", "\twant := 4", "\twant := 3"),
        ("tests/sums.rs", "(2, Some(4)),", "(2, Some(3)),"),
        ("tests/test_sums.py", "EXPECTED = {'a': 1, 'b': True}", "EXPECTED = {'a': 1, 'b': False}"),
        ("spec/sums_spec.rb", 'let(:total) { "4.00" }', 'let(:total) { "3.00" }'),
        ("src/test/java/SumsTest.java", "int wanted = 4;", "int wanted = 3;"),
    ],
)
def test_another_expected_value_in_the_test_is_a_disguise(file: str, old: str, new: str) -> None:
    failed, passed = shell("go test ./...", GO_FAILED, 1), shell("go test ./...", GO)
    assert judged(failed, edit(file, old, new), passed).verdict == "partial"
    assert (
        judged(failed, edit(file, old, new), passed, task="Correct the sum so that the tests pass").verdict == "partial"
    )
    assert judged(failed, edit(file, old, new), EDIT, passed).verdict == "success"
    assert judged(failed, edit(file, old, new), passed, task="Update the test to the new rule").verdict == "success"
    assert judged(failed, edit("sums.go", old, new), passed).verdict == "success"


@promise(
    "judging:untried",
    "A check that passed speaks only for what was changed before it: what was changed after it and not tried since "
    "makes the session partial, or unknown where the check came before everything else. Documents and comments change "
    "nothing.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    "later",
    [
        EDIT,
        Step(tool="Write", action=json.dumps({"file_path": "sums/pdf.py", "content": "x = 1"}), observation="written"),
        Step(tool="edit", action="sums.py: make the range inclusive", observation="done"),
        Step(tool="apply_patch", action="*** Update File: sums.go\n-\ta\n+\tb", observation="done"),
        shell("sed -i s/a/b/ Cargo.toml"),
        shell("cat > Dockerfile <<'END'\nFROM scratch\nEND"),
        shell("git rm lib/old.rb", "rm 'lib/old.rb'"),
        shell("git apply fix.patch"),
        edit("tests/test_sums.py", "", "def test_two() -> None:\n    assert total(2) == 4"),
    ],
)
def test_an_old_run_does_not_speak_for_a_later_edit(later: Step) -> None:
    kept, looked = shell("git commit -am sums", "[main 11aa22b] sums\n 1 file changed"), shell("git diff", "+b")
    assert judged(PASSED, later).verdict == "unknown"
    assert judged(PASSED, later, looked, kept).verdict == "unknown"
    assert judged(FAILED, EDIT, PASSED, later, looked).verdict == "partial"
    assert judged(shell("go test ./...", GO), later, later, answer="Done.").verdict == "unknown"
    assert judged(FAILED, EDIT, PASSED, later, PASSED).verdict == "success"
    assert judged(FAILED, EDIT, PASSED, later, shell("ruff check .", "All checks passed!")).verdict == "success"
    assert judged(PASSED, later, Step(user="It works now, thanks!", thought="fine")).verdict == "success"


@promise("judging:untried")
@pytest.mark.parametrize(
    "later",
    [
        edit("README.md", "sums", "totals"),
        edit("docs/sums.svg", "a", "b"),
        edit("CHANGELOG", "", "Sums are right."),
        edit("sums.py", "total = a + b", "total = a + b  # both"),
        edit(".gitignore", "", "*.log"),
        Step(tool="Edit", action='{"file_path": "sums.py", "old_string": "a"}', error="String to replace not found"),
        Step(tool="TodoWrite", action='{"todos": [{"content": "sums", "status": "completed"}]}', observation="ok"),
        shell("cp sums.log /tmp/sums.log"),
        shell("chmod +x run.sh"),
        shell("echo done > /tmp/note"),
    ],
)
def test_what_no_check_reads_leaves_a_run_what_it_was(later: Step) -> None:
    assert judged(FAILED, EDIT, PASSED, later).verdict == "success"


@promise("judging:untried")
def test_a_script_of_its_own_may_be_removed_after_the_run() -> None:
    script = Step(tool="Write", action=json.dumps({"file_path": "try.py", "content": "x"}), observation="written")
    assert judged(FAILED, script, EDIT, PASSED, shell("rm try.py")).verdict == "success"
    assert judged(FAILED, EDIT, PASSED, shell("rm totals.py")).verdict == "partial"


@promise(
    "judging:by-chance",
    "Tests that fail and pass in the next run of the same command, with nothing done in between, prove no success.",
    source="issue 11 Judge",
)
def test_tests_that_pass_by_chance_are_no_success() -> None:
    look = shell("cat sums.py", "total = a + b")
    assert judged(EDIT, FAILED, PASSED).verdict == "partial"
    assert judged(EDIT, FAILED, look, PASSED).verdict == "partial"
    assert judged(FAILED, PASSED).verdict == "partial"
    assert judged(FAILED, PASSED, PASSED).verdict == "partial"
    assert judged(shell("pytest -q tests/a.py", "1 failed in 0.1s", 1), PASSED).verdict == "partial"
    assert judged(FAILED, shell("TZ=UTC pytest -q", "10 passed in 0.1s")).verdict == "success"
    go, gone = shell("go test ./...", GO_FAILED, 1), shell("go test ./...", GO)
    assert judged(EDIT, gone, go, look, gone).verdict == "partial"
    assert judged(shell("npm test", "wrong", 1), shell("npm test", "fine")).verdict == "partial"
    assert judged(FAILED, shell("docker start db", "db"), PASSED).verdict == "success"
    assert judged(FAILED, Step(user="I mended the database, try again", thought="ok"), PASSED).verdict == "success"
    assert judged(FAILED, PASSED, EDIT, PASSED).verdict == "success"


@promise(
    "judging:accepted",
    "Tests whose snapshots, golden files or other expectations were rewritten by a flag, a variable or a command prove "
    "no success; where the person asked for that, or the same tests had passed before it, they do.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    "accepting",
    [
        "npx jest --updateSnapshot",
        "npm test -- -u",
        "pnpm vitest run -u",
        "pytest --snapshot-update",
        "pytest --force-regen tests",
        "go test ./... -update",
        "UPDATE_GOLDEN=1 go test ./...",
        "export INSTA_UPDATE=always; cargo test",
        "cargo insta accept",
        "cargo insta test --accept",
        "npx playwright test --update-snapshots",
        "flutter test --update-goldens",
        "BLESS=1 cargo test",
        "make update-goldens",
        "npm run test:update",
    ],
)
def test_an_expectation_that_was_accepted_is_no_success(accepting: str) -> None:
    accepted = shell(accepting, "10 passed in 0.1s")
    assert judged(FAILED, EDIT, accepted, PASSED).verdict == "partial"
    assert judged(EDIT, accepted, PASSED).verdict == "partial"
    assert judged(FAILED, EDIT, PASSED, accepted, PASSED).verdict == "success"
    assert judged(FAILED, EDIT, accepted, PASSED, task="Rename it and update the snapshots").verdict == "success"


@promise("judging:accepted")
@pytest.mark.parametrize(
    "other",
    ["npm install -u left-pad", "INSTA_UPDATE=no cargo test", "git pull -u", "apt-get update", "go get -u ./...",
     "grep -rn update-snapshots .", "pytest -q --record-mode=none"],
)  # fmt: skip
def test_other_updates_accept_nothing(other: str) -> None:
    assert judged(FAILED, EDIT, shell(other, "ok"), PASSED).verdict == "success"


@promise("judging:disguised")
@pytest.mark.parametrize(
    ("steps", "task"),
    [
        ([FAILED, edit("tests/test_a.py", "assert total == 3", "assert total == 4"), PASSED], "Update the tests to 4"),
        ([FAILED, shell("git rm tests/test_a.py", "rm 'tests/test_a.py'"), FEWER], "Remove the obsolete tests"),
        ([FAILED, EDIT, edit("tests/test_a.py", "assert total == 3", "assert total == 4"), PASSED], "Repair the sums"),
        ([FAILED, EDIT, PASSED], "Repair the sums"),
    ],
)
def test_what_was_asked_for_or_repaired_is_no_disguise(steps: list[Step], task: str) -> None:
    assert judged(*steps, task=task).verdict == "success"


@promise(
    "judging:not-delivered",
    "A commit or push that was refused, a build, linter or type check that failed and was not run again, a failed run "
    "in CI after a push, and an agent's own word that it did not get there make tests that passed no success; "
    "what is made good later does not.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    "last",
    [
        shell("git commit -m x", "ruff....Failed\n- hook id: ruff", 1),
        shell("git push", " ! [rejected] main -> main (fetch first)", 1),
        shell("ruff check .", "Found 1 error.", 1),
    ],
)
def test_a_refusal_after_passing_tests_is_partial(last: Step) -> None:
    again = shell(last.action, "ok")
    assert judged(EDIT, PASSED, last).verdict == "partial"
    assert judged(EDIT, PASSED, last, EDIT, again).verdict == "success"


@promise("judging:not-delivered")
@pytest.mark.parametrize("status", [1, 0])
@pytest.mark.parametrize(
    "said",
    [
        " ! [rejected]        main -> main (non-fast-forward)\nerror: failed to push some refs to 'origin'",
        "remote: error: GH006: Protected branch update failed.\n ! [remote rejected] main -> main (protected branch)",
    ],
)
def test_a_push_that_was_refused_is_partial_after_a_repair_and_a_commit(said: str, status: int) -> None:
    commit = shell("git commit -am 'Repair the sums'", "[main abc1234] Repair the sums")
    steps = (FAILED, EDIT, PASSED, commit)
    push = shell("git push origin main" if status else "git push origin main 2>&1 | tail -3", said, status)
    assert judged(*steps, push).verdict == "partial"
    assert judged(*steps, shell(f"{commit.action} && git push", said, 1)).verdict == "partial"
    assert judged(*steps, push, shell("git pull --rebase && git push origin main", "ok")).verdict == "success"


@promise("judging:not-delivered")
@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("The import works. I did not get to the export.", "partial"),
        ("Done. I haven't yet migrated the reports.", "partial"),
        ("All tests pass. The export is not implemented yet.", "partial"),
        ("I left the French texts for later.", "partial"),
        ("I ran out of time, so only the first part is there.", "partial"),
        ("I did not change anything else.", "success"),
        ("I did not add any new dependency.", "success"),
        ("The old importer is no longer needed.", "success"),
    ],
)
def test_a_part_that_the_agent_says_is_missing_makes_it_partial(answer: str, verdict: str) -> None:
    commit = shell("git commit -am 'Repair the sums'", "[main abc1234] Repair the sums")
    assert judged(FAILED, EDIT, PASSED, commit, answer=answer).verdict == verdict


@promise("judging:not-delivered")
def test_a_build_that_failed_is_not_made_good_by_tests_that_do_not_build_it() -> None:
    image, crate = shell("docker build .", "failed", 1), shell("cargo build", "error[E0308]: mismatched types", 101)
    cargo = shell("cargo test", "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out")
    assert judged(image, EDIT, PASSED).verdict == "partial"
    assert judged(image, EDIT, shell("docker build .", "ok"), PASSED).verdict == "success"
    assert judged(crate, EDIT, cargo).verdict == "success"


@promise("judging:not-delivered")
def test_a_failed_run_in_ci_counts_after_a_push_only() -> None:
    checks = shell("gh pr checks 7", "build\tpass\nlint\tfail", 1)
    push = shell("git push", "ok")
    assert judged(EDIT, PASSED, push, checks).verdict == "partial"
    assert judged(EDIT, PASSED, push, checks, EDIT, push, shell("gh pr checks 7", "build\tpass")).verdict == "success"
    assert judged(checks).verdict == "unknown"


@promise("judging:not-delivered")
@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("The tests pass, but I was not able to make it faster.", "partial"),
        ("I couldn't get the upload to work.", "partial"),
        ("Done. The download still fails.", "partial"),
        ("I couldn't find any other problem.", "success"),
        ("I could not run the slow tests here.", "success"),
        ("Done; it still works with old files.", "success"),
    ],
)
def test_what_an_agent_says_against_itself_is_believed(answer: str, verdict: str) -> None:
    assert judged(EDIT, PASSED, answer=answer).verdict == verdict


@promise(
    "judging:broke-again",
    "Tests that passed after a repair and fail in their last run make the session a failure, also when the repair was "
    "committed; a repair after that makes it a success.",
    source="issue 11 Judge",
)
def test_what_was_repaired_and_broken_again_is_a_failure() -> None:
    commit = shell("git commit -am 'Repair the sums'", "[main abc1234] Repair the sums")
    broken = shell("pytest -q", "6 failed, 4 passed in 0.1s", 1)
    lint, clean = shell("ruff check .", "Found 1 error.", 1), shell("ruff check .", "ok")
    assert judged(FAILED, EDIT, PASSED, EDIT, broken).verdict == "failure"
    assert judged(FAILED, EDIT, PASSED, commit, EDIT, broken).verdict == "failure"
    assert judged(lint, EDIT, clean, FAILED, EDIT, PASSED, commit, EDIT, broken).verdict == "failure"
    assert judged(FAILED, EDIT, PASSED, commit, EDIT, broken, EDIT, PASSED).verdict == "success"
    assert judged(FAILED, EDIT, PASSED, EDIT, broken, Step(user="It works now", thought="ok")).verdict == "success"


@promise(
    "judging:same-command",
    "A test command that failed and passes later is repaired, whichever runner's summary ends its output.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    ("command", "failing", "passing"),
    [
        (
            "stack test",
            "Finished in 0.01 seconds\n3 examples, 1 failure\n\nsums> Test suite spec failed\n",
            "Finished in 0.01 seconds\n3 examples, 0 failures\n\nsums> Test suite spec passed\n",
        ),
        ("stack test", "3 examples, 1 failure\n", "sums> Test suite spec passed\n"),
        ("./run_tests.sh", "1 failed, 9 passed in 0.1s\n", "10 passed in 0.1s\n2 examples, 0 failures\n"),
    ],
)
def test_a_run_is_known_by_its_command(command: str, failing: str, passing: str) -> None:
    first, second = shell(command, failing, 1), shell(command, passing)
    end = judged(first, EDIT, second)
    assert end.verdict == "success"
    assert any(fact.kind == "repair" for fact in end.evidence)
    assert judged(second, EDIT, first).verdict == "failure"


@promise(
    "judging:never-worked",
    "An action that failed, was tried again after a change and failed again, as the last thing that was run, is a "
    "failure whatever its program is; not when it was tried once, when something passed after it, when it was stopped "
    "by a person, or when a server that was started ran out of time. Beside tests that passed it is partial.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    ("command", "said", "status"),
    [
        ("timeout 60 npm test", "", 124),
        ("npm run report", "Killed", 137),
        ("kubectl apply -f app.yaml", "error validating data: unknown field", 1),
        ("ansible-playbook site.yml", "fatal: [web]: FAILED!", 2),
        ("npx cypress run", "Could not find the page", 3),
        ("./release.sh", "upload failed", 1),
        ("ruff check .", "Found 1 error.", 1),
        ("terraform apply", "Error: invalid reference", 1),
    ],
)
def test_what_the_session_worked_at_and_never_worked_is_a_failure(command: str, said: str, status: int) -> None:
    wrong, right = shell(command, said, status), shell(command, "ok")
    look = shell("cat sums.py", "total = a + b")
    assert judged(wrong, EDIT, wrong).verdict == "failure"
    assert judged(wrong, EDIT, wrong, EDIT, look).verdict == "failure"
    assert judged(wrong, look, wrong).verdict != "failure"
    assert judged(wrong, EDIT, wrong, EDIT, right).verdict != "failure"
    assert judged(wrong, EDIT, wrong, shell("./other_way.sh", "ok")).verdict != "failure"
    assert judged(wrong, EDIT, PASSED, wrong).verdict == "partial"


@promise("judging:never-worked")
def test_what_was_stopped_or_runs_until_it_is_stopped_did_not_fail() -> None:
    for wrong in (shell("timeout 5 node server.js", "listening", 124), shell("./serve.sh", "^C", 130)):
        assert judged(wrong, EDIT, wrong).verdict != "failure"


@promise("judging:elsewhere")
def test_tests_of_another_part_are_no_success() -> None:
    change = edit("/w/services/billing/limit.py", "a", "b")
    other = shell("cd services/auth && pytest -q", "10 passed in 0.1s")
    own = shell("cd services/billing && pytest -q", "10 passed in 0.1s")
    assert judged(change, other).verdict == "partial"
    assert judged(change, own).verdict == "success"
    assert judged(change, shell("cd build && ctest", "100% tests passed, 0 tests failed out of 3")).verdict == "success"


@promise(
    "judging:by-status",
    "A command for tests that counts nothing is judged by its exit status, and is believed less than a count; not when "
    "the status is another program's, the run was cut off, or the session wrote the script itself.",
    source="issue 11 Judge",
)
def test_a_test_command_without_a_count_is_judged_by_its_exit_status() -> None:
    counted = judged(EDIT, PASSED).probability
    for command in ("make test", "./run_tests.sh", "dune runtest", "npm test"):
        passing = judged(EDIT, shell(command, "fine"))
        assert passing.verdict == "success"
        assert passing.probability < counted
        assert judged(EDIT, shell(command, "wrong", 1)).verdict == "failure"
        assert judged(shell(command, "wrong", 1), EDIT, shell(command, "fine")).verdict == "success"
        for hidden in (f"{command} | tail -3", f"{command} || true", f"{command}; echo done", f"{command} &"):
            assert judged(EDIT, shell(hidden, "fine")).verdict == "unknown"
        assert judged(EDIT, shell(f"timeout 9 {command}", "", 124)).verdict not in {"success", "failure"}
    wrote = Step(tool="Write", action='{"file_path": "run_tests.sh", "content": "exit 0"}', observation="done")
    assert judged(wrote, shell("./run_tests.sh", "fine")).verdict == "unknown"
    assert judged(EDIT, shell("make test", "make: Nothing to be done for 'test'.")).verdict == "unknown"
    assert judged(EDIT, shell("./gradlew assemble", "")).verdict == "unknown"


@promise("judging:test-runs")
@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("\t Executed 5 tests, with 1 failure (0 unexpected) in 0.1 (0.2) seconds\n", Summary("swift", 4, 1)),
        ("✔ Test run with 8 tests in 2 suites passed after 0.01 seconds.\n", Summary("swift", 8)),
        ("✘ Test run with 8 tests failed after 0.01 seconds with 1 issue.\n", Summary("swift", 0, 1)),
        ("[info] Tests: succeeded 3, failed 1, canceled 0, ignored 2, pending 0\n", Summary("sbt", 3, 1, 0, 2)),
        ("[info] Passed: Total 4, Failed 0, Errors 0, Passed 4\n", Summary("sbt", 4)),
        ("2 doctests, 9 tests, 1 failure\n", Summary("mix", 8, 1)),
        ("     Summary [   0.5s] 9 tests run: 7 passed, 2 failed, 1 skipped\n", Summary("nextest", 7, 2, 0, 1)),
        ("FAIL! -- 8 Passed | 1 Failed | 0 Pending | 2 Skipped\n", Summary("ginkgo", 8, 1, 0, 2)),
        ("Executed 2 out of 3 tests: 2 tests pass and 1 fails locally.\n", Summary("bazel", 2, 1)),
        ("Executed 3 out of 3 tests: 3 tests pass.\n", Summary("bazel", 3)),
        ("0 of 1 test suites (2 of 3 test cases) passed.\n", Summary("cabal", 2, 1)),
        ("app> Test suite spec passed\n", Summary("stack", 1)),
        ("All 5 tests passed.\n", Summary("zig", 5)),
        ("Ran 6 tests containing 14 assertions.\n1 failures, 0 errors.\n", Summary("clojure", 13, 1)),
        ("[ FAIL 0 | WARN 1 | SKIP 2 | PASS 21 ]\n", Summary("testthat", 21, 0, 0, 2)),
        ("     Testing App tests passed \n", Summary("julia", 1)),
        ("12 runs, 30 assertions, 1 failures, 2 errors, 3 skips\n", Summary("minitest", 6, 1, 2, 3)),
        ("Files=3, Tests=21,  0 wallclock secs\nResult: PASS\n", Summary("prove", 21)),
        ("00:02 +13 -1: Some tests failed.\n", Summary("dart", 13, 1)),
        ("  1 failed\n    [a] b.spec.ts:3:1 c\n  4 passed (6.1s)\n", Summary("playwright", 4, 1)),
        ("3 successes / 1 failure / 0 errors / 0 pending : 0.1 seconds\n", Summary("busted", 3, 1)),
        ("  Tests:    1 failed, 13 passed (30 assertions)\n", Summary("pest", 13, 1)),
        ("  evaluation failed :( (5.3 seconds)\n", Summary("tox", 0, 1)),
    ],
)
def test_runners_that_count_in_one_line_are_read(text: str, summary: Summary) -> None:
    assert summary_of(text) == summary
    assert summary_of(text, text) is None, "what the command itself holds is not a summary"


@promise("judging:disguised")
def test_a_file_that_the_session_wrote_may_be_taken_away_again() -> None:
    wrote = Step(tool="Write", action='{"file_path": "tests/test_try.py", "content": "def test_a(): pass"}')
    assert judged(wrote, FAILED, EDIT, shell("rm tests/test_try.py"), PASSED).verdict == "success"
    assert judged(suite(False), EDIT, suite(True)).verdict == "success"


@promise("judging:disguised")
def test_an_expected_value_that_is_changed_alone_is_a_disguise_without_a_failing_run() -> None:
    task, place = "price() returns 99 instead of 100, fix it", "tests/test_price.py"
    changed = edit(place, "assert price() == 100", "assert price() == 99")
    whole = Step(
        tool="Write",
        action=json.dumps({"file_path": place, "content": "def test_price():\n    assert price() == 99\n"}),
        observation="done",
    )
    read = shell(f"cat {place}", "def test_price():\n    assert price() == 100\n")
    typed = shell(f"sed -i 's/== 100/== 99/' {place}")
    for steps in ([changed, PASSED], [read, whole, PASSED], [read, FAILED, whole, PASSED], [typed, PASSED]):
        assert judged(*steps, task=task).verdict == "partial"
    assert judged(changed, EDIT, PASSED, task=task).verdict == "success"
    assert judged(changed, PASSED, task="Fix the test of price()").verdict == "success"
    assert judged(edit(place, "import price", "import price, cost"), PASSED, task=task).verdict == "success"


def script(line: str) -> Step:
    return shell(line, "")


CARGO_FAILED = shell("cargo test", "test result: FAILED. 5 passed; 1 failed; 0 ignored", 101)
CARGO_PASSED = shell("cargo test", "test result: ok. 6 passed; 0 failed; 0 ignored")
DOCTEST_FAILED = shell(
    "pytest --doctest-modules -q", "Expected:\n    2.3\nGot:\n    2.33\nDocTestFailure\n1 failed, 2 passed in 0.1s", 1
)
DOCTEST_PASSED = shell("pytest --doctest-modules -q", "3 passed in 0.1s")
PROGRAM = (
    "python - <<'EOF'\nfrom pathlib import Path\np = Path('{file}')\np.write_text(p.read_text().replace('3', '4'))\nEOF"
)
WHOLE = json.dumps({"file_path": "tests/test_a.py", "content": "def test_x():\n    assert total()\n"})
SEEN = shell("cat tests/test_a.py", "def test_x():\n    assert total() == 3\n\ndef test_y():\n    assert total() > 0\n")
DIFFERENCE = (
    "git apply <<'EOF'\n--- a/tests/a.rs\n+++ b/tests/a.rs\n@@ -1 +1 @@\n"
    "-    assert_eq!(sum(), 8);\n+    assert_eq!(sum(), 7);\nEOF"
)


@promise("judging:disguised")
@pytest.mark.parametrize(
    "steps",
    [
        [FAILED, script(PROGRAM.format(file="tests/test_a.py")), PASSED],
        [FAILED, script("perl -pi -e 's/== 3/== 4/' tests/test_a.py"), PASSED],
        [FAILED, script("ruby -i -pe 'gsub(/3/, \"4\")' tests/test_a.py"), PASSED],
        [FAILED, script("node -e \"fs.writeFileSync('a.test.js', read('a.test.js').replace('3', '4'))\""), PASSED],
        [FAILED, Step(tool="Write", action=WHOLE, observation="done"), PASSED],
        [SEEN, FAILED, EDIT, Step(tool="Write", action=WHOLE, observation="done"), PASSED],
        [CARGO_FAILED, script(DIFFERENCE), CARGO_PASSED],
        [CARGO_FAILED, edit("src/a.rs", "    assert_eq!(sum(), 8);", "    assert_eq!(sum(), 7);"), CARGO_PASSED],
        [DOCTEST_FAILED, edit("mean.py", "    >>> mean()\n    2.3", "    >>> mean()\n    2.33"), DOCTEST_PASSED],
    ],
)
def test_a_test_is_a_test_whoever_rewrote_it_and_wherever_it_stands(steps: list[Step]) -> None:
    assert judged(*steps).verdict == "partial"


@promise("judging:disguised")
@pytest.mark.parametrize(
    "steps",
    [
        [FAILED, script(PROGRAM.format(file="sums.py")), PASSED],
        [FAILED, script(PROGRAM.format(file="sums.py")), script("sed -i 's/old/new/' tests/test_a.py"), PASSED],
        [CARGO_FAILED, edit("src/a.rs", "    a - b", "    a + b"), CARGO_PASSED],
        [DOCTEST_FAILED, edit("mean.py", "    return 2.33", "    return round(2.33, 1)"), DOCTEST_PASSED],
    ],
)
def test_a_repair_of_the_code_is_a_success_however_it_was_written(steps: list[Step]) -> None:
    assert judged(*steps).verdict == "success"
