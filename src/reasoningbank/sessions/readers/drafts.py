"""Steps while they are being read: raw, bounded in memory, seen by nothing but ``preparing``."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

MAX_STEPS = 1_000
"""Most steps of one trajectory; of a longer session the beginning and the end are kept."""
HEAD_STEPS = 200
"""How many of them are its beginning."""
MAX_TEXT = 8_000
"""Most characters of one text of a trajectory; of a longer text the beginning and the end are kept."""
MARGIN = 8_192
"""How many characters beside a cut in unredacted text are thrown away after redaction; longer than any secret."""
INTAKE = MAX_TEXT + 2 * MARGIN
"""Most characters of one unredacted text that are held in memory."""
_HEAD_CHARACTERS = 1_500_000
_TAIL_CHARACTERS = 4_500_000


class Long(NamedTuple):
    """A text of which only both ends were kept before anything looked at it.

    Attributes:
        head, tail: The ends, as they came.
        missing: How many characters stood between them.
    """

    head: str
    missing: int
    tail: str


Text = str | Long


def taken(text: str) -> Text:
    """Return the text as it may be held in memory."""
    if len(text) <= INTAKE:
        return text
    half = INTAKE // 2
    return Long(text[:half], len(text) - 2 * half, text[-half:])


def size(text: Text) -> int:
    """Return how many characters of the text are held."""
    return len(text) if isinstance(text, str) else len(text.head) + len(text.tail)


@dataclass(slots=True, kw_only=True)
class StepDraft:
    """One step in the making; the fields are those of ``Step``.

    Attributes:
        failed: True when the observation tells of an error; its ends then become the error.
        where: On which part of the shelf it stands: ``head``, ``tail``, or nowhere.
    """

    user: Text = ""
    thought: Text = ""
    action: Text = ""
    tool: str = ""
    observation: Text = ""
    error: Text = ""
    exit_code: int | None = None
    actor: str = ""
    failed: bool = False
    where: str = ""

    @property
    def size(self) -> int:
        """How many characters the step holds."""
        return sum(size(text) for text in (self.user, self.thought, self.action, self.observation, self.error))


class Shelf:
    """The steps of one session: the first ones and the last ones, within bounds of number and characters."""

    def __init__(self) -> None:
        self._head: list[StepDraft] = []
        self._tail: deque[StepDraft] = deque()
        self._head_size = 0
        self._tail_size = 0
        self.left_out = 0

    def __iter__(self) -> Iterator[StepDraft]:
        yield from self._head
        yield from self._tail

    @property
    def beginning(self) -> int:
        """How many steps stand before the gap."""
        return len(self._head)

    @property
    def last(self) -> StepDraft | None:
        """The newest step."""
        if self._tail:
            return self._tail[-1]
        return self._head[-1] if self._head else None

    def add(self, draft: StepDraft) -> None:
        """Append a step; an older one from the middle may go for it."""
        if not self._tail and len(self._head) < HEAD_STEPS and self._head_size < _HEAD_CHARACTERS:
            draft.where = "head"
            self._head.append(draft)
            self._head_size += draft.size
        else:
            draft.where = "tail"
            self._tail.append(draft)
            self._tail_size += draft.size
            self._trim()

    def grown(self, draft: StepDraft, characters: int) -> None:
        """Say that a step that was added holds so many characters more."""
        if draft.where == "head":
            self._head_size += characters
        elif draft.where == "tail":
            self._tail_size += characters
            self._trim()

    def _trim(self) -> None:
        while len(self._tail) > MAX_STEPS - HEAD_STEPS or (self._tail_size > _TAIL_CHARACTERS and len(self._tail) > 1):
            gone = self._tail.popleft()
            gone.where = ""
            self._tail_size -= gone.size
            self.left_out += 1


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part of a file that gave no trajectory.

    Attributes:
        place: The number of the line, or of the entry of an array, from 1; 0 for the file as a whole.
        reason: Why, in words without a part of the text.
    """

    place: int
    reason: str
