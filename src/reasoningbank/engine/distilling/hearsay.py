"""Whether a session says by itself what a lesson says, or has only read it somewhere (DESIGN D10).

Two sessions that read one page are not two witnesses: whoever writes the page would decide what is proven. So a session
in which the words of a lesson stand in what a tool answered, and not in what its agent did or thought, is none for it.
"""

from __future__ import annotations

from itertools import islice

from reasoningbank.domain.memory import Memory
from reasoningbank.domain.trajectory import Trajectory
from reasoningbank.engine.distilling.validate import terms

RUN = 4
"""So many words in a row are not put together by chance."""
SHARE = 0.5
"""From this share of a lesson's runs on, its words are somebody else's."""
_MOST_CHARACTERS = 200_000


def is_hearsay(memory: Memory, trajectory: Trajectory) -> bool:
    """Whether at least half of the lesson's runs of words stand in what tools answered in the session."""
    said = _runs(memory.content)
    if not said:
        return False
    read = "\n".join(step.observation for step in trajectory.steps)
    return len(said & _runs(read[:_MOST_CHARACTERS])) >= SHARE * len(said)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = terms(text)
    return set(zip(*(islice(words, start, None) for start in range(RUN)), strict=False))
