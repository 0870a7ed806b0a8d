"""``rbank hook EVENT``: an agent's client tells what happens, and gets memories to show.

A hook never stands in its agent's way: whatever fails, the client gets its neutral answer and exit status 0, and the
failure is noted in ``hooks.log`` below the data directory. Nothing heavy is imported before it is needed, and what only
keeps something runs in a process of its own, after the answer.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]

_OPTIONS = ("--url", "--tenant", "--project")


def main(words: Sequence[str]) -> int:
    """Answers one event; the payload is read from stdin, the answer goes to stdout.

    Args:
        words: The event's name, and ``--url``, ``--tenant`` or ``--project`` with a value.

    Returns:
        0, whatever happens.
    """
    from reasoningbank.surfaces.hooks.answering import Place, run

    event, given = _read(words)
    run(event, sys.stdin.buffer, sys.stdout, Place(url=given.get("--url"), **_named(given)))
    return 0


def _named(given: dict[str, str]) -> dict[str, str | None]:
    return {"tenant": given.get("--tenant"), "project": given.get("--project")}


def _read(words: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The event and the options; what is not known is passed over."""
    event, given, waiting = "", {}, ""
    for word in words:
        name, equals, value = word.partition("=")
        if waiting:
            given[waiting], waiting = word, ""
        elif name in _OPTIONS and equals:
            given[name] = value
        elif name in _OPTIONS:
            waiting = name
        elif not word.startswith("-"):
            event = event or word
    return event, given
