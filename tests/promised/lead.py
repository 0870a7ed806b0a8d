"""Background work."""

from __future__ import annotations

from promised.promise import Promise

WORKING: tuple[Promise, ...] = (
    Promise(
        "learning:weighing",
        "issue 2 Choice of models; decision 0004",
        "A worker learns in the background what words are worth in a bank of thirty memories or more, again when it has grown by half, and leaves no copy of a text behind.",
    ),
)
