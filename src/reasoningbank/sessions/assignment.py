"""Distilling without a model: by the calling agent, or by template from a summary of the session."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from reasoningbank.llm.prompts import prompt
from reasoningbank.memories.admission import sayable
from reasoningbank.safety.secrets import redact
from reasoningbank.safety.stored_text import clean, clean_line
from reasoningbank.sessions.digest import DIGEST_TOKENS, digest
from reasoningbank.sessions.lessons import prompt_name
from reasoningbank.sessions.validation import MAX_ITEM_CONTENT, MAX_ITEM_DESCRIPTION, MAX_ITEM_TAGS, MAX_ITEM_TITLE
from reasoningbank.types.session import MAX_ITEMS, SYSTEM_PROMPT, Item, Judgement, SessionSummary, Step, Trajectory


# The fields of ``Item`` once more: a schema needs limits and words for each, and types import no library.
class ProposedItem(BaseModel):
    """One item as the calling agent records it."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(max_length=MAX_ITEM_TITLE, description="A short name.")
    description: str = Field(max_length=MAX_ITEM_DESCRIPTION, description="When it applies, and when not.")
    content: str = Field(
        max_length=MAX_ITEM_CONTENT, description="What to do, or what went wrong and what to do instead."
    )
    outcome: Literal["success", "failure"] = Field(description="success for a strategy, failure for a lesson.")
    steps: list[int] = Field(default=[], description="Numbers of the steps it was learned from.")
    tags: list[str] = Field(default=[], max_length=MAX_ITEM_TAGS, description="Lower-case words.")


class ProposedItems(BaseModel):
    """All items of one session; none is a good answer."""

    model_config = ConfigDict(extra="forbid")

    items: list[ProposedItem] = Field(max_length=MAX_ITEMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A session to be distilled by the calling agent.

    Attributes:
        trajectory: Id of the session's trajectory; every item is recorded with it.
        instructions: What to do.
        record: The session as quoted data, secrets removed.
        schema: A JSON schema of what is wanted.
        prompt: Name and version of the instructions, for the provenance.
    """

    trajectory: str
    instructions: str
    record: str
    schema: Mapping[str, object]
    prompt: str


def assign(trajectory: Trajectory, judgement: Judgement, *, tokens: int = DIGEST_TOKENS) -> Assignment:
    """Return what the agent needs to distil a session: at most about 8,000 tokens with the usual length of the record.

    Of a text in it that looks like a prompt injection the record says that it was withheld, and why.

    Args:
        trajectory: The session.
        judgement: How it ended.
        tokens: Most tokens of the record.

    Raises:
        InvalidInput: When it is unknown how the session ended.
    """
    prompt_name(judgement.verdict)
    asked = prompt("distil_agent", digest(_sayable(trajectory), _spoken(judgement), tokens=tokens))
    return Assignment(
        trajectory=trajectory.id,
        instructions=asked.instructions,
        record=asked.material,
        schema=ProposedItems.model_json_schema(),
        prompt=asked.label,
    )


def _sayable(trajectory: Trajectory) -> Trajectory:
    """Return the session as an agent may read it."""
    return replace(
        trajectory,
        task=sayable(trajectory.task),
        final_answer=sayable(trajectory.final_answer),
        metadata={name: sayable(text) if name == SYSTEM_PROMPT else text for name, text in trajectory.metadata.items()},
        steps=tuple(map(_sayable_step, trajectory.steps)),
        evidence=tuple(
            replace(fact, detail=sayable(fact.detail), name=sayable(fact.name)) for fact in trajectory.evidence
        ),
    )


def _sayable_step(step: Step) -> Step:
    return replace(
        step,
        user=sayable(step.user),
        thought=sayable(step.thought),
        action=sayable(step.action),
        tool=sayable(step.tool),
        observation=sayable(step.observation),
        error=sayable(step.error),
        actor=sayable(step.actor),
    )


def _spoken(judgement: Judgement) -> Judgement:
    """Return the judgement as an agent may read it: its reason repeats what the session said."""
    return replace(judgement, rationale=sayable(judgement.rationale))


TITLE_CHARACTERS = 80
"""Most characters of the task in a title."""

_TASK_CHARACTERS = 400
_SECTION = 1_100
_ELLIPSIS = "…"


def items_of(summary: SessionSummary) -> tuple[Item, ...]:
    """Return the lessons of a session: a strategy for a success, an anti-pattern for a failure, else both.

    What the summary does not say is not made up: a section without a text is left out. The anti-pattern of a partial
    session advises against what ``avoid`` names and never against the approach that the strategy recommends; without
    ``avoid`` it only tells what ``result`` says of the part that was not reached.
    """
    # Before a text is cut or begins with a capital letter: neither must keep a secret from being recognised.
    summary = replace(
        summary,
        task=_redacted(summary.task),
        approach=_redacted(summary.approach),
        result=_redacted(summary.result),
        avoid=_redacted(summary.avoid),
        tags=tuple(map(_redacted, summary.tags)),
    )
    if summary.outcome == "success":
        return (_strategy(summary, "Result"),)
    if summary.outcome == "failure":
        return (_anti_pattern(summary, summary.avoid or summary.approach, failed=True),)
    strategy = _strategy(summary, "Result so far")
    same = clean_line(summary.avoid).casefold() == clean_line(summary.approach).casefold()
    avoid = "" if same else summary.avoid
    return (strategy, _anti_pattern(summary, avoid, failed=False))


def _redacted(text: str) -> str:
    found = redact(text)
    return found.text if found.findings else text


def shorten(text: str, characters: int) -> str:
    """Return the text on one line, cut at the end of a word when it is longer than that; an ellipsis shows the cut.

    Characters are counted, never bytes, and a character is never parted from its combining marks.
    """
    line = clean_line(text)
    if len(line) <= characters:
        return line
    cut = line[: characters - len(_ELLIPSIS)]
    if not line[len(cut)].isspace():
        space = cut.rfind(" ")
        cut = cut[:space] if space >= characters // 3 else _whole_characters(cut, line)
    return cut.rstrip(" ,;:.-(") + _ELLIPSIS


def _strategy(summary: SessionSummary, result_heading: str) -> Item:
    task = shorten(summary.task, _TASK_CHARACTERS)
    sections = (
        ("Task", summary.task),
        ("Approach that worked", summary.approach),
        (result_heading, summary.result),
        ("Tags", ", ".join(summary.tags)),
        ("When to use", f"In a task like this one: {task}{_tagged(summary)}"),
    )
    return Item(
        title=f"Success: {_capitalised(shorten(summary.task, TITLE_CHARACTERS))}",
        description=f"When a task is like this one: {task}{_tagged(summary)}",
        content=_sections(sections),
        outcome="success",
        tags=summary.tags[:MAX_ITEM_TAGS],
        steps=(0,),
    )


def _anti_pattern(summary: SessionSummary, avoid: str, *, failed: bool) -> Item:
    task = shorten(summary.task, _TASK_CHARACTERS)
    tried = summary.approach if failed else ""
    went_wrong = summary.result if summary.result.strip() else _missing(failed)
    sections = (
        ("Task", summary.task),
        ("What was tried", tried if clean(tried) != clean(avoid) else ""),
        ("What went wrong" if failed else "What went wrong or was left open", went_wrong),
        ("Avoid", avoid),
        ("Tags", ", ".join(summary.tags)),
        ("When to watch out", f"In a task like this one: {task}{_tagged(summary)}"),
    )
    return Item(
        title=f"Anti-pattern: {_capitalised(shorten(summary.task, TITLE_CHARACTERS))}",
        description=f"What to avoid when a task is like this one: {task}{_tagged(summary)}",
        content=_sections(sections),
        outcome="failure",
        tags=summary.tags[:MAX_ITEM_TAGS],
        steps=(0,),
    )


def _missing(failed: bool) -> str:
    return (
        "The session failed; it did not record how."
        if failed
        else "With this approach alone a part of the task was left open; it was not recorded which."
    )


def _sections(sections: tuple[tuple[str, str], ...]) -> str:
    text = "\n\n".join(f"{heading}: {_cut(clean(body))}" for heading, body in sections if body.strip())
    return text[:MAX_ITEM_CONTENT]


def _cut(text: str) -> str:
    """Return a section's text, its lines kept, cut at the end of a word when it is too long."""
    if len(text) <= _SECTION:
        return text
    cut = text[: _SECTION - 1]
    space = max(cut.rfind(" "), cut.rfind("\n"))
    return (cut[:space] if space >= _SECTION // 2 else _whole_characters(cut, text)).rstrip() + _ELLIPSIS


def _whole_characters(cut: str, text: str) -> str:
    """Return the cut text without a last character that goes on behind the cut: with marks, or joined with the next."""
    while len(cut) > 1 and _continues(text[len(cut) : len(cut) + 1]):
        cut = cut[:-1]
    return cut.rstrip("\u200d")


def _continues(character: str) -> bool:
    return unicodedata.category(character).startswith("M") or character == "\u200d" if character else False


def _capitalised(text: str) -> str:
    first = text[:1].upper()
    return first + text[1:] if len(first) == 1 else text


def _tagged(summary: SessionSummary) -> str:
    tags = ", ".join(clean_line(tag) for tag in summary.tags[:MAX_ITEM_TAGS])
    return f" ({tags})" if tags else ""
