"""What a session was asked for decides its verdict: its own last run, at least as strict, and the last words on it."""

from __future__ import annotations

import pytest

from promises import promise
from reasoningbank.sessions.facts import unaccepted_end
from reasoningbank.sessions.judge import by_evidence
from reasoningbank.types.session import Judgement, Step, Trajectory
from sessions.judged_cases import FAILED, NOW, PASSED, shell, suite

EDIT = Step(
    tool="Edit", action='{"file_path": "app/sums.py", "old_string": "a", "new_string": "b"}', observation="done"
)
DENIED = "Error: 403 Forbidden"


def judged(task: str, *steps: Step, answer: str = "") -> Judgement:
    return by_evidence(Trajectory(task=task, steps=steps, final_answer=answer, created_at=NOW), at=NOW)


@promise(
    "judging:asked-action",
    "What the task asks for (to publish, deploy, migrate, push, build, run, or get a check clean) is judged by its own "
    "last run: where that failed, tests that passed before make no success of it.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    ("task", "action"),
    [
        ("Bump the version and publish the package", "twine upload dist/*"),
        ("Roll the new rule out with terraform", "terraform apply plan.out"),
        ("Write the migration and run it on the dev database", "alembic upgrade head"),
        ("Push the image to the registry", "docker push registry.example/shop:2"),
        ("The release build must work again", "flutter build apk --release"),
        ("Get flake8 clean in app/", "flake8 app"),
        ("Push my branch", "git push -u origin feature"),
        ("Get 0.4 onto RubyGems", "gem push kite-0.4.gem"),
        ("Drop the old flags and redeploy staging", "serverless deploy --stage staging"),
        ("Run the seed script on the local database", "python scripts/seed.py"),
        ("Deploy the worker to staging", "helm -n staging upgrade --install worker charts/worker"),
    ],
)
def test_an_asked_action_that_failed_last_is_a_failure(task: str, action: str) -> None:
    assert judged(task, EDIT, suite(True), shell(action, DENIED, 1)).verdict == "failure"
    assert judged("Repair the sums", EDIT, suite(True), shell("twine upload dist/*", DENIED, 1)).verdict == "success"


@promise("judging:asked-action")
@pytest.mark.parametrize(
    ("task", "steps"),
    [
        (
            "Deploy the api to staging",
            [shell("helm upgrade api charts/api", DENIED, 1), shell("helm upgrade api charts/api")],
        ),
        ("Get flake8 clean in app/", [shell("flake8 app", "app/a.py:1:1: F401 x", 1), EDIT, shell("flake8 app")]),
        ("Add a column and apply the migration", [EDIT, shell("alembic upgrade head", "Running upgrade 1 -> 2")]),
    ],
)
def test_an_asked_action_that_passed_last_is_a_success(task: str, steps: list[Step]) -> None:
    assert judged(task, *steps).verdict == "success"


@promise("judging:asked-action")
@pytest.mark.parametrize(
    ("task", "steps"),
    [
        ("Fix the login and deploy to staging", [EDIT, shell("kubectl apply -f k8s", "configured")]),
        ("Deploy the api to staging", [shell("helm upgrade api charts/api --dry-run", "ok")]),
        ("Deploy the api to staging", [shell("helm upgrade api charts/api | tail -3", "ok")]),
        ("Document how to deploy the api", [EDIT, shell("helm upgrade api charts/api", "ok")]),
        ("Do not deploy yet, only add the flag", [EDIT, shell("helm upgrade api charts/api", "ok")]),
        ("Build a page for prices", [EDIT, shell("npm run build", "built in 1.2s")]),
    ],
)
def test_an_action_that_is_not_all_that_was_asked_proves_no_success(task: str, steps: list[Step]) -> None:
    assert judged(task, *steps).verdict == "unknown"


@promise("judging:asked-action")
def test_what_was_tried_in_another_way_after_it_failed_leaves_the_tests_beside_it() -> None:
    steps = (suite(True), shell("fly deploy", DENIED, 1), shell("ssh web ./restart", "ok"))
    assert judged("Ship it to the server", *steps).verdict == "partial"


@promise(
    "judging:strictness",
    "A run that asks less than one that failed (without the race detector, a sanitizer, warnings as errors, all "
    "features, or with chosen tests) takes nothing back of that failure.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    ("strict", "lax"),
    [
        ("go test -race ./...", "go test ./..."),
        ("cargo test --all-features", "cargo test"),
        ("RUSTFLAGS='-D warnings' cargo test", "cargo test"),
        ("pytest -W error", "pytest"),
        ("./gradlew test", "./gradlew test --tests '*Sums'"),
        ("npx playwright test", "npx playwright test --retries 3"),
        ("make CFLAGS=-Werror", "make"),
        ("cargo publish", "cargo publish --dry-run"),
    ],
)
def test_a_laxer_run_takes_nothing_back(strict: str, lax: str) -> None:
    out = "1 passed in 0.01s\n" if "test" in lax else "done"
    failed = shell(strict, FAILED if "test" in strict and "valgrind" not in strict else "error: it is wrong", 1)
    task = "The checks fail, make them pass"
    assert judged(task, failed, EDIT, shell(lax, out)).verdict != "success"
    both = judged(task, failed, EDIT, shell(strict, out))
    assert both.verdict == "success" or "test" not in lax
    assert both.probability > judged(task, failed, EDIT, shell(lax, out)).probability


@promise("judging:strictness")
def test_a_stricter_run_that_fails_later_stands_above_a_laxer_one_that_passed() -> None:
    assert judged("Repair it", shell("pytest", PASSED), EDIT, shell("pytest -W error", FAILED, 1)).verdict == "failure"


@promise(
    "judging:hidden-status",
    "An exit status that is another program's (a pipe without pipefail, `|| true`) proves nothing, and what a build "
    "prints behind it when it fails counts as its failure.",
    source="issue 11 Judge",
)
def test_a_hidden_status_repairs_nothing() -> None:
    broken = shell("make", "a.c:1:1: error: x\nmake: *** [all] Error 1", 2)
    hidden = judged("Repair the build", broken, EDIT, shell("make 2>&1 | tee log", "LD app"))
    assert not [fact for fact in hidden.evidence if fact.kind == "repair"]
    told = judged("Repair the build", broken, EDIT, shell("set -o pipefail; make 2>&1 | tee log", "LD app"))
    assert [fact for fact in told.evidence if fact.kind == "repair"]
    wrong = shell("make 2>&1 | tee log", "b.c:2:1: error: y\nmake: *** [all] Error 1")
    assert judged("Repair the build", broken, EDIT, wrong).verdict == "failure"


@promise("judging:hidden-status")
def test_what_gives_up_repairs_nothing() -> None:
    steps = (shell("git rebase main", "CONFLICT", 1), shell("git rebase --abort"))
    assert not [fact for fact in judged("Repair the sums", *steps).evidence if fact.kind == "repair"]
    assert judged("Rebase my branch", *steps).verdict == "failure"
    mended = (steps[0], EDIT, shell("git add a && git rebase --continue", "Successfully rebased"))
    assert judged("Rebase my branch", *mended).verdict == "success"


@promise(
    "judging:shortfall",
    "A session whose agent says at the end that work is left or a goal was missed, or whose last numbers all miss the "
    "goal that the task sets, is not a success.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    ("task", "answer"),
    [
        ("Bring the p95 under 200 ms", "The p95 fell from 612 ms to 263 ms."),
        ("Raise the coverage to 90%", "Coverage went from 71 % to 83 %."),
        ("Get the bundle below 500 kB", "It is 0.6 MB now."),
        ("Make the start faster than 1 s", "It starts in 1.4 s, which misses the target."),
        ("Port the eight handlers", "Three of the eight handlers are ported and their tests pass."),
        ("Port the handlers", "Users and orders are ported. The other five still need to be converted."),
        ("Get the error rate below 5 %", "To reach the 5 % you want, more data would be required."),
    ],
)
def test_a_shortfall_is_no_success(task: str, answer: str) -> None:
    assert judged(task, EDIT, suite(True), answer=answer).verdict == "partial"


@promise("judging:shortfall")
@pytest.mark.parametrize(
    ("task", "answer"),
    [
        ("Bring the p95 under 200 ms", "The p95 is 131 ms now, still well under the 200 ms limit; it was 480 ms."),
        ("Bring the p95 under 200 ms", "The goal is met. It was not below 480 ms before."),
        ("Raise the coverage to 90%", "Coverage is 91 %. One fixture is left as it was."),
        ("Port the handlers", "All are ported. The two warnings that remain are from a third-party plugin."),
        ("Port the handlers", "Nothing is left to do. If you like, the shim could be dropped next."),
    ],
)
def test_a_goal_that_was_met_stays_a_success(task: str, answer: str) -> None:
    assert judged(task, EDIT, suite(True), answer=answer).verdict == "success"


@promise(
    "judging:only-shown",
    "Where a task only asks a question or to be shown something, and no file was changed, a failing command of the "
    "project is the answer and not a failure.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    ("task", "step"),
    [
        ("Why does test_sums fail?", suite(False)),
        ("Run the tests and tell me which fail. Don't change anything.", suite(False)),
        ("How many type errors are there?", shell("pyright app", "27 errors", 1)),
        ("Warum schlägt der Test fehl?", suite(False)),
        ("Check our dependencies for vulnerabilities and give me a summary", shell("npm audit", "3 high", 1)),
    ],
)
def test_a_failure_that_was_asked_to_be_shown_is_none(task: str, step: Step) -> None:
    assert judged(task, step, answer="It fails because of the rounding.").verdict == "unknown"


@promise("judging:only-shown")
@pytest.mark.parametrize(
    ("task", "steps"),
    [
        ("Why does test_sums fail? Please fix it.", [suite(False), EDIT, suite(False)]),
        ("Why does test_sums fail?", [suite(False), EDIT, suite(False)]),
        (
            "How many members has the board?",
            [shell("python -c 'import x'", "Traceback (most recent call last):\n", 1)] * 3,
        ),
    ],
)
def test_a_failure_of_the_agents_own_is_one_all_the_same(task: str, steps: list[Step]) -> None:
    assert judged(task, *steps).probability < 0.5


@promise("judging:user-verdicts")
@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("confirmed on staging, thanks", "success"),
        ("LGTM, merged.", "success"),
        ("Thanks, that answers it.", "success"),
        ("yep that's it, cheers", "success"),
        ("it's the wrong blue, and only on the homepage", "failure"),
        ("nope, still none", "failure"),
        ("No. Revert.", "failure"),
        ("hm still flickering, and now the menu is gone too", "failure"),
        ("same as before, nothing happens", "failure"),
        ("that broke the mobile layout completely, undo it please", "failure"),
        ("I still get redirected to the start page", "failure"),
    ],
)
def test_plain_acceptance_and_rejection_are_read(words: str, verdict: str) -> None:
    assert judged("Repair the page", EDIT, Step(user=words, thought="I see.")).verdict == verdict


@promise("judging:user-verdicts")
@pytest.mark.parametrize(
    "words", ["Still wondering whether we want it.", "It doesn't matter.", "I merged the other branch."]
)
def test_words_about_something_else_are_no_verdict(words: str) -> None:
    assert not [
        fact for fact in judged("Repair the page", EDIT, Step(user=words)).evidence if fact.kind == "user_verdict"
    ]


@promise("judging:user-verdicts")
def test_undoing_the_work_does_not_answer_its_rejection() -> None:
    rejected = (EDIT, suite(True), Step(user="No. Revert.", thought="Sorry."), shell("git checkout -- app/sums.py"))
    assert judged("Repair the page", *rejected).verdict == "failure"
    assert unaccepted_end(rejected[:3]) != ""


@promise("judging:user-verdicts")
def test_thanks_for_an_answer_accept_it() -> None:
    answered = (shell("grep -rn retry conf", "conf/test.yaml:3: retry: 0"), Step(thought="conf/test.yaml sets it."))
    thanked = Step(user="ah ok makes sense, thank you!")
    assert judged("Why is the retry disabled in tests?", *answered, thanked).verdict == "success"
    assert judged("Switch the retry off in tests", *answered, thanked).verdict == "unknown"


ROLLED = shell("kubectl set image deployment/api api=registry/api:2.4", "deployment.apps/api image updated")
STUCK = shell("kubectl rollout status deployment/api --timeout=120s", "error: timed out waiting for the condition", 1)
UNDONE = shell("kubectl rollout undo deployment/api", "deployment.apps/api rolled back")
STANDS = shell("kubectl rollout status deployment/api", 'deployment "api" successfully rolled out')


@promise("judging:asked-action")
@pytest.mark.parametrize(
    "task",
    [
        "Deploy version 2.4 of the api",
        "Roll out 2.4 with kubectl",
        "Deploy 2.4; roll back if it does not come up",
        "Deploy api 2.4. If the rollout fails, undo it.",
    ],
)
def test_what_was_taken_back_after_it_failed_is_a_failure(task: str) -> None:
    assert judged(task, ROLLED, STUCK, UNDONE).verdict == "failure"
    assert judged(task, ROLLED, STUCK, UNDONE, STANDS).verdict == "failure"
    assert judged(task, ROLLED, STUCK, UNDONE, ROLLED, STANDS).verdict == "success"


@promise("judging:asked-action")
def test_taking_back_that_was_asked_for_is_no_failure() -> None:
    assert judged("Roll the api back to 2.3", ROLLED, STUCK, UNDONE).verdict != "failure"
    assert judged("Deploy 2.4 of the api", ROLLED, UNDONE).verdict == "unknown"
