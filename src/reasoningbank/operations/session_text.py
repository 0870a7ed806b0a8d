"""Where sessions stand, as text for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reasoningbank.types.quantity import counted

if TYPE_CHECKING:
    from reasoningbank.types.session import SessionState

_TASK = 80


def sessions_text(found: Sequence[SessionState]) -> str:
    """Return two lines a session: where it stands and what it was about, and what it waits for."""
    lines = []
    for one in found:
        task = " ".join(one.task.split())
        task = task if len(task) <= _TASK else f"{task[: _TASK - 1]}…"
        lines.append(f"{one.state:9}  {one.verdict:8}  {one.shown:2} shown  {task}")
        lines.append(f"    {one.id or 'not captured yet'}  {one.reason}")
    return "\n".join([*lines, counted(len(found), "session")])
