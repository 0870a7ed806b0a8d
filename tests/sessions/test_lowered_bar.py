"""A check that passes because its settings ask for less, or that was gone past, proves nothing."""

from __future__ import annotations

import json

import pytest

from promises import promise
from reasoningbank.sessions.judge import by_evidence
from reasoningbank.types.session import Step, Trajectory
from sessions.judged_cases import NOW, shell, suite


def edit(place: str, old: str, new: str) -> Step:
    action = json.dumps({"file_path": place, "old_string": old, "new_string": new})
    return Step(tool="Edit", action=action, observation=f"The file {place} has been updated.")


def verdict(*steps: Step, task: str = "The checks are red, make them pass.") -> str:
    return by_evidence(Trajectory(task=task, steps=steps, final_answer="All green."), at=NOW).verdict


LOWERED = {
    "deselected": edit("pytest.ini", "addopts = -q", "addopts = -q --deselect tests/test_pay.py::test_fee"),
    "ignored": edit("setup.cfg", "[tool:pytest]", "[tool:pytest]\naddopts = --ignore=tests/slow"),
    "by a word": edit("pyproject.toml", 'addopts = "-q"', "addopts = \"-q -k 'not fee'\""),
    "coverage": edit("pyproject.toml", "fail_under = 85", "fail_under = 70"),
    "coverage of lines": edit("vitest.config.ts", "lines: 90,", "lines: 75,"),
}


@promise(
    "judging:lowered-bar",
    "Checks that failed and pass because their settings leave more out or ask for less are no success, unless that was "
    "asked for; nor is a commit that went past the hook that had refused it.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize("name", [*LOWERED])
def test_weaker_settings_are_no_success(name: str) -> None:
    assert verdict(suite(False), LOWERED[name], suite(True)) == "partial"
    assert verdict(suite(False), LOWERED[name], suite(True), task="Change the config of the checks.") == "success"


@promise("judging:lowered-bar")
@pytest.mark.parametrize(
    "change",
    [
        edit("pyproject.toml", "fail_under = 70", "fail_under = 85"),
        edit("ruff.toml", 'select = ["E"]', 'select = ["E", "F"]'),
        edit("pytest.ini", "addopts = -q --ignore=tests/slow", "addopts = -q"),
        edit("pyproject.toml", 'version = "1"', 'version = "2"'),
    ],
)
def test_settings_that_ask_for_no_less_are_a_repair(change: Step) -> None:
    assert verdict(suite(False), change, suite(True)) == "success"


@promise("judging:lowered-bar")
@pytest.mark.parametrize(("option", "expected"), [("--no-verify ", "not"), ("", "success")])
def test_a_commit_past_its_hook_is_no_success(option: str, expected: str) -> None:
    refused = shell("git commit -m Fees", "ruff.....Failed\n- hook id: ruff\n- exit code: 1", 1)
    made = shell(f"git commit {option}-m Fees", "[main abc1234] Fees\n 1 file changed")
    found = verdict(suite(False), edit("src/fees.py", "a = 1", "a = 2"), suite(True), refused, made)
    assert (found == "success") is (expected == "success")
