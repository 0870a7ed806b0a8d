"""Passing tests prove nothing of the task where nothing is left of what was done."""

from __future__ import annotations

import json

import pytest

from promises import promise
from reasoningbank.sessions.judge import by_evidence
from reasoningbank.types.session import Step, Trajectory
from sessions.judged_cases import NOW, shell, suite


def edit(old: str, new: str, place: str = "src/quota.py") -> Step:
    action = json.dumps({"file_path": place, "old_string": old, "new_string": new})
    return Step(tool="Edit", action=action, observation=f"The file {place} has been updated.")


def verdict(*steps: Step, task: str = "Count each upload against the quota.") -> str:
    return by_evidence(Trajectory(task=task, steps=steps, final_answer="The tests pass."), at=NOW).verdict


BROKEN = (edit("limit = 5", "limit = usage()"), suite(False))
COMMITTED = shell("git commit -am 'Count uploads'", "[main abc1234] Count uploads\n 1 file changed")
BACK = {
    "restored": [*BROKEN, shell("git restore .")],
    "reset": [*BROKEN, shell("git reset --hard", "HEAD is now at 77aa001 Start")],
    "one file checked out": [*BROKEN, shell("git checkout src/quota.py", "Updated 1 path from the index")],
    "checked out after a mark": [*BROKEN, shell("git checkout -- src/quota.py")],
    "put aside": [*BROKEN, shell("git stash", "Saved working directory and index state WIP on main")],
    "edited back": [*BROKEN, edit("limit = usage()", "limit = 5")],
    "edited back in two steps": [
        edit("a = 1\nb = 2", "a = 3\nb = 4"),
        suite(False),
        edit("a = 3", "a = 1"),
        suite(False),
        edit("b = 4", "b = 2"),
    ],
    "the commit is gone": [
        edit("limit = 5", "limit = usage()"),
        COMMITTED,
        suite(False),
        shell("git reset --hard HEAD~1", "HEAD is now at 77aa001 Start"),
    ],
    "packages too": [
        edit("orm==1.4", "orm==2.0", "requirements.txt"),
        shell("pip install -r requirements.txt", "Successfully installed orm-2.0"),
        suite(False),
        shell("git checkout requirements.txt", "Updated 1 path from the index"),
        shell("pip install -r requirements.txt", "Successfully installed orm-1.4"),
    ],
}


@promise(
    "judging:given-up",
    "Tests that pass after the session's edits were thrown away, or edited back, do not make a success of a session "
    "whose tests had failed with them.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize("name", [*BACK])
def test_a_pass_without_the_edits_is_no_success(name: str) -> None:
    assert verdict(*BACK[name], suite(True)) != "success"


@promise("judging:given-up")
@pytest.mark.parametrize("name", [name for name in BACK if name != "put aside"])
def test_a_second_attempt_that_stays_is_a_success(name: str) -> None:
    assert verdict(*BACK[name], edit("limit = 5", "limit = counted()"), suite(True)) == "success"


@promise("judging:given-up")
def test_going_back_is_the_work_where_it_was_asked_for() -> None:
    assert (
        verdict(*BACK["edited back"], suite(True), task="Revert the quota change if it breaks the tests.") == "success"
    )


@promise("judging:given-up")
def test_another_file_that_was_edited_stays() -> None:
    kept = edit("rows = 1", "rows = 2", "src/rows.py")
    assert verdict(kept, *BACK["one file checked out"], suite(True)) == "success"
    assert verdict(kept, *BACK["edited back"], suite(True)) == "success"
