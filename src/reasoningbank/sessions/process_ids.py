"""Say by what a process is found that a session ended by its number: the number itself is another process tomorrow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from reasoningbank.sessions.changes import Change, Doing, cut_command
from reasoningbank.sessions.signatures import Signature
from reasoningbank.types.session import Step

_ENDED = re.compile(
    r"\b(?P<verb>(?:kill|taskkill|Stop-Process)(?: +(?:-[sn] +\w+|[-/][A-Za-z][\w-]*|-\d{1,2}))*) +"
    r"(?P<ids>\d{1,10}(?:(?: +| *, *)\d{1,10})*)(?![\w./%-])"
)
_TAKEN = "port taken"
_MOST = 100


def without_ids(text: str) -> str:
    """Return a command with the word PID in the place of the numbers of processes that it ends."""
    return _ENDED.sub(r"\g<verb> PID", text)


def told_by_finder(
    index: int, change: Change, signature: Signature, failed: int, steps: Sequence[Step], doings: Sequence[Doing]
) -> Change | None:
    """Return a change that names what finds the process which it ends; None when only its number is known.

    The process is found by what had printed its number before: the error itself or a command. One that holds a port is
    found by that port.

    Args:
        index: The step that made the change.
        change: The change.
        signature: The error that it took away.
        failed: The step that failed.
        steps: The session.
        doings: What each step did.
    """
    match = _ENDED.search(change.said)
    if match is None:
        return change
    found = _finder(re.findall(r"\d+", match["ids"]), index, failed, steps, doings)
    if not found and signature.state is not None and signature.state.kind == _TAKEN and signature.state.thing:
        found = f"the process that held port {signature.state.thing.rsplit(':', 1)[-1]}"
    if not found:
        return None
    text = without_ids(change.said)
    return replace(change, text=f"{text} (PID: {found})", quote="")


def _finder(ids: Sequence[str], index: int, failed: int, steps: Sequence[Step], doings: Sequence[Doing]) -> str:
    """Return what has printed all of these numbers before a step; empty when nothing has."""
    for place in range(index - 1, -1, -1):
        said = f"{steps[place].observation}\n{steps[place].error}"
        if not all(re.search(rf"(?<![\w.:]){one}(?![\w.:])", said) for one in ids):
            continue
        if place == failed:
            return "the one that the error names"
        shown = doings[place].shown or " ".join(steps[place].action.split())
        return f"what `{cut_command(shown, _MOST)}` shows" if shown else ""
    return ""
