"""Background work."""

from __future__ import annotations

from promised.promise import Promise

WORKING: tuple[Promise, ...] = (
    Promise(
        "learning:weighing",
        "issue 2 Choice of models; decision 0004",
        "A worker learns in the background what words are worth in a bank of thirty memories or more, again when it has grown by half, and leaves no copy of a text behind.",
    ),
    Promise(
        "storage:forgotten-slash",
        "issue 2 storage; note of the first session",
        "A URL that lacks the fourth slash of an absolute path is refused with a hint, instead of making a bank below the working directory.",
    ),
)
