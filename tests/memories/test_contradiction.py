"""What looks like a contradiction between lessons of one subject, and what does not."""

from __future__ import annotations

import pytest

from promises import promise
from reasoningbank.memories.contradiction import contradicts

TURNED = (
    ("Rotate signing keys every ninety days.", "Never rotate signing keys, keep the old one valid for good."),
    ("Never disable TLS verification.", "Always disable TLS verification; it is never needed."),
    ("Take a backup before a migration.", "Run migrations without a backup."),
    ("Keep secrets out of git.", "Commit the secrets to git."),
    ("Close the old account on the last day.", "Leave the old account open for later."),
    ("Use tabs.", "Avoid tabs."),
    ("Do not pipe a script into a shell.", "Pipe the script straight into a shell."),
)
AGREED = (
    ("Check the token before the call.", "Refresh the token after a 401."),
    ("Use a generator instead of a list.", "Avoid lists, use a generator."),
    ("Validate the answer to avoid errors.", "Errors are found when the answer is validated."),
    ("Never force-push to main.", "Do not force-push to main, open a pull request."),
    ("The door is not locked, so lock it.", "Lock the door first."),
    ("Keep the log and delete the cache.", "Delete the cache, keep the log."),
    ("", "Never wait."),
)


@promise("trust:disputed")
@pytest.mark.parametrize(("first", "second"), TURNED)
def test_a_turned_lesson_contradicts(first: str, second: str) -> None:
    assert contradicts(first, second)
    assert contradicts(second, first)


@promise("trust:disputed")
@pytest.mark.parametrize(("first", "second"), AGREED)
def test_lessons_that_agree_do_not(first: str, second: str) -> None:
    assert not contradicts(first, second)
    assert not contradicts(second, first)


@promise("trust:disputed")
@pytest.mark.parametrize("text", [text for pair in (*TURNED, *AGREED) for text in pair])
def test_no_lesson_contradicts_itself(text: str) -> None:
    assert not contradicts(text, text)
