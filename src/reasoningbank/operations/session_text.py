"""Where sessions stand, as text for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reasoningbank.types.quantity import counted

if TYPE_CHECKING:
    from reasoningbank.types.session import SaidBy, SessionState, Verdict

_TASK = 80


def ended_text(verdict: Verdict, said_by: SaidBy) -> str:
    """Return how a session ended and who says so: ``success (person)``."""
    return f"{verdict} ({said_by})" if said_by else verdict


def sessions_text(found: Sequence[SessionState]) -> str:
    """Return two lines a session: where it stands and what it was about, and what it waits for."""
    lines = []
    for one in found:
        task = " ".join(one.task.split())
        task = task if len(task) <= _TASK else f"{task[: _TASK - 1]}…"
        lines.append(f"{one.state:9}  {ended_text(one.verdict, one.said_by):18}  {one.shown:2} shown  {task}")
        lines.append(f"    {one.id or 'not captured yet'}  {one.reason}")
    return "\n".join([*lines, counted(len(found), "session")])
