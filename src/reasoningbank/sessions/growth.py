"""Tell whether one capture of a session is a later state of another: a session is one trajectory (DESIGN D8)."""

from __future__ import annotations

from reasoningbank.sessions.readers.preparation import CHARACTERS_LEFT_OUT, STEPS_LEFT_OUT
from reasoningbank.types.session import Step, Trajectory

_CUT = (STEPS_LEFT_OUT, CHARACTERS_LEFT_OUT)


def continues(later: Trajectory, earlier: Trajectory) -> bool:
    """Return whether ``later`` holds everything that ``earlier`` holds, and is of the same session.

    The last step of the earlier one may have been under way. Of a session that is too long to be kept whole, the
    middle differs from capture to capture: then its beginning, its time and its length decide.
    """
    if not later.session or (later.session, later.source, later.task) != (
        earlier.session,
        earlier.source,
        earlier.task,
    ):
        return False
    if any(name in each.metadata for each in (later, earlier) for name in _CUT):
        return later.created_at == earlier.created_at and _length(later) >= _length(earlier)
    if len(later.steps) < len(earlier.steps):
        return False
    if not earlier.steps:
        return True
    *whole, last = earlier.steps
    return [*later.steps[: len(whole)]] == whole and _goes_on(later.steps[len(whole)], last)


def _length(trajectory: Trajectory) -> int:
    return len(trajectory.steps) + int(trajectory.metadata.get(STEPS_LEFT_OUT, "0"))


def _goes_on(later: Step, earlier: Step) -> bool:
    """Return whether a step is what an earlier state of it has become."""
    if earlier.actor != later.actor or earlier.user != later.user:
        return False
    if earlier.tool and earlier.tool != later.tool:
        return False
    texts = ((earlier.thought, later.thought), (earlier.action, later.action))
    seen = (earlier.observation, later.observation)
    return all(now.startswith(before) for before, now in texts) and (not seen[0] or seen[0] == seen[1])
