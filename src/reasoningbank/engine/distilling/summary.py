"""A finished session in its agent's own words becomes lessons by template, without a model (seed 004)."""

from __future__ import annotations

import unicodedata

from reasoningbank.domain.learning import Item, SessionSummary
from reasoningbank.engine.distilling.validate import MAX_ITEM_CONTENT, MAX_ITEM_TAGS
from reasoningbank.engine.hygiene import clean, clean_line

TITLE_CHARACTERS = 80
"""Most characters of the task in a title."""

_TASK_CHARACTERS = 400
_SECTION = 1_100
_ELLIPSIS = "…"


def items_of(summary: SessionSummary) -> tuple[Item, ...]:
    """The lessons of a session: a strategy of a success, an anti-pattern of a failure, both of a partial session.

    What the summary does not say is not made up: a section without a text is left out. The anti-pattern of a partial
    session advises against what ``avoid`` names and never against the approach that the strategy recommends; without
    ``avoid`` it only tells what ``result`` says of the part that was not reached.
    """
    if summary.outcome == "success":
        return (_strategy(summary, "Result"),)
    if summary.outcome == "failure":
        return (_anti_pattern(summary, summary.avoid or summary.approach, failed=True),)
    strategy = _strategy(summary, "Result so far")
    same = clean_line(summary.avoid).casefold() == clean_line(summary.approach).casefold()
    avoid = "" if same else summary.avoid
    return (strategy, _anti_pattern(summary, avoid, failed=False))


def shorten(text: str, characters: int) -> str:
    """The text on one line, cut at the end of a word when it is longer than that; an ellipsis shows the cut.

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
    """A section's text, its lines kept, cut at the end of a word when it is too long."""
    if len(text) <= _SECTION:
        return text
    cut = text[: _SECTION - 1]
    space = max(cut.rfind(" "), cut.rfind("\n"))
    return (cut[:space] if space >= _SECTION // 2 else _whole_characters(cut, text)).rstrip() + _ELLIPSIS


def _whole_characters(cut: str, text: str) -> str:
    """The cut text without a last character that goes on behind the cut: with marks, or joined with the next."""
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
