"""Memories that an operation gives an agent to read: they are delivered as what a search finds is (DESIGN D5, D16)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from reasoningbank.operations.files import Exported
from reasoningbank.types.conversation import QuestionAnswer
from reasoningbank.types.experience import ExperienceAnswer
from reasoningbank.types.graph_search import LessonAnswer
from reasoningbank.types.memory import Memory
from reasoningbank.types.promotion import ShareReport
from reasoningbank.types.recall import Brief, Recall
from reasoningbank.types.transfer import MarkdownFiles, SkillFiles

if TYPE_CHECKING:
    from reasoningbank.bank import Bank

_NOTED = (Brief, ExperienceAnswer, LessonAnswer, QuestionAnswer, Recall)
"""Operations that note by themselves what they have shown to which session."""
_WHOLE = (Exported, MarkdownFiles, ShareReport, SkillFiles)
"""Operations that write the texts of a bank to files."""


def note_result(bank: Bank, result: object, *, past: bool = False) -> None:
    """Keep which memories an agent was given to read with an answer; nothing of what a person is given.

    Args:
        bank: Whose answer it is.
        result: The answer.
        past: Whether it is of the bank as it stood at a moment, where nothing is noted by itself.
    """
    from reasoningbank.memories.standing import speaker

    reader = speaker()
    if not reader or (isinstance(result, _NOTED) and not past):
        return
    if isinstance(result, _WHOLE):
        bank.memories._note_given(reader, None)
    else:
        found = {hit.id for hit in result.delivered} if isinstance(result, Recall) else set()
        bank.memories._note_given(reader, found | {memory.id for memory in _memories_in(result)})


def _memories_in(value: object) -> Iterator[Memory]:
    """Yield the memories that an answer holds, however deep."""
    if isinstance(value, Memory):
        yield value
    elif isinstance(value, str | bytes):
        return
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _memories_in(each)
    elif isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from _memories_in(each)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _memories_in(getattr(value, field.name))
