"""Verdicts in the words of a user, and words that are none."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.sessions.facts import verdict_in

APPROVALS = (
    "It works now, thanks!",
    "that fixed it",
    "Great, that works perfectly.",
    "Perfect! All tests pass now.",
    "Works like a charm",
    "LGTM",
    "yes, it's working now",
    "The bug is fixed.",
    "Thanks! The error is gone now",
    "Now it works.",
    "I tested it, and it works",
    "exactly what I wanted",
    "That did the trick",
    "You fixed it!",
    "the issue has been resolved",
    "That didn't work. Oh wait, now it works!",
    "No, it works.",
    "works",
)
REJECTIONS = (
    "That did not work",
    "that didn't work, same error",
    "it is not working",
    "It's still not working",
    "not working",
    "No, that's wrong.",
    "Still failing",
    "still getting the same error",
    "I'm still seeing the error when I run it",
    "The tests still fail",
    "the build is still broken",
    "You broke the build",
    "revert that",
    "Please undo your changes",
    "That's not what I asked for",
    "It doesn't work when the list is empty",
    "Hmm, that didn\u2019t fix it",
    "this is incorrect",
    "Wrong.",
    "nope, still broken",
    "same error",
    "It works now. But the tests still fail.",
    "the fix does not work",
    "The problem still persists",
    "it no longer works",
    "That is not right.",
)
NEITHER = (
    "thanks",
    "Thank you so much for your help!",
    "ok",
    "yes, please go ahead",
    "Perfect! Yes, please proceed with that.",
    "Does it work?",
    "If it works, commit it",
    "make sure it works",
    "Check that it works before you commit",
    "It works by hashing the key",
    "I don't think so",
    "Can you fix the error?",
    "The login page is not working, please fix it",
    "Fix the failing tests",
    "please explain how it works",
    "How does that work?",
    "> it works now\nwhat does he mean",
    "```\nstill failing\n```\nexplain",
    "It works on Linux but not on Windows",
    "that would work for me",
    "The same issue exists in b.py",
    "It doesn't work like that, it's lazy",
    "great job so far, next add docs",
    "Nein, das geht nicht",
    "unsuccessful",
    "It doesn't matter",
    "revert commit abc123 in the other repo",
    "Add a check that fails when the input is wrong",
    "What is wrong?",
    "I want all tests to pass",
    "I really appreciate your help with this. Thank you.",
    "the result should be correct",
    "Looks good to me. Please commit.",
    "Yes, that's correct.",
    "That works for me!",
    "Everything looks correct.",
)


@promise("judging:user-verdicts")
@pytest.mark.parametrize("text", APPROVALS)
def test_explicit_approval(text: str) -> None:
    said = verdict_in(text)
    assert said is not None
    assert said[0] is True


@promise("judging:user-verdicts")
@pytest.mark.parametrize("text", REJECTIONS)
def test_explicit_rejection(text: str) -> None:
    said = verdict_in(text)
    assert said is not None
    assert said[0] is False


@promise("judging:user-verdicts")
@pytest.mark.parametrize("text", NEITHER)
def test_no_verdict(text: str) -> None:
    assert verdict_in(text) is None


@promise("judging:never-raises")
@given(st.text(max_size=400) | st.lists(st.sampled_from([*APPROVALS, *REJECTIONS, *NEITHER]), max_size=6).map(" ".join))
def test_any_text_is_read(text: str) -> None:
    verdict_in(text)


@promise("judging:never-raises")
@pytest.mark.parametrize(
    "piece", ["i ", "thanks ", "it still ", "ok, ", "it now ", "still the same ", "now again ", "``` ", "> x\n"]
)
def test_long_texts_take_no_time(piece: str) -> None:
    start = time.process_time()
    verdict_in((piece * 2_000)[:299])
    verdict_in(piece * 2_000)
    assert time.process_time() - start < 1.0
