"""Name the promises that tests keep: every behaviour that a user can rely on.

A promise has an id, ``area:name``. One test states it, as a sentence with where it was asked for; further tests that
keep it name the id alone::

    @promise("bank:closed", "A closed bank says so.", source="issue Bank")
    @promise("bank:closed")

test_promises.py fails on a promise that is stated nowhere or twice, and on a test that keeps none.
tools/write_guarantees.py reads the statements from the source of the tests and writes docs/guarantees.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest


def promise(identifier: str, text: str = "", *, source: str = "") -> pytest.MarkDecorator:
    """Mark a test as one that keeps a promise, and state the promise where it is most directly kept.

    Args:
        identifier: Its area and name, with a colon between them.
        text: The promise as a sentence, at one of the tests that keep it.
        source: Where it was asked for; with the text.

    Raises:
        ValueError: When there is a text without a source, or the other way round.
    """
    if bool(text) != bool(source):
        raise ValueError(f"{identifier}: a text and its source stand together.")
    return pytest.mark.promise(identifier)


@dataclass(frozen=True, slots=True)
class Deferred:
    """A promise that no test keeps yet, and why."""

    id: str
    text: str
    source: str
    reason: str


DEFERRED: tuple[Deferred, ...] = ()
"""Read from the source by tools/write_guarantees.py: the fields of each are plain strings."""
