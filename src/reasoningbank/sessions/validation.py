"""What a distilled item must be before it is stored; an item that is not is kept with the reason.

Two sessions that read one page are not two witnesses: whoever writes the page would decide what is proven. So a session
in which the words of a lesson stand in what a tool answered, and not in what its agent did or thought, is none for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice, pairwise

from reasoningbank.errors import TextTooLong
from reasoningbank.memories.words import polarity, terms
from reasoningbank.safety.injection import find_danger, find_markup, is_about_memory, names_only, words
from reasoningbank.safety.quotation import clip
from reasoningbank.safety.stored_text import safe_texts
from reasoningbank.sessions.triggers import has_trigger
from reasoningbank.sessions.vagueness import is_vague
from reasoningbank.sessions.worth import is_motto, is_retold
from reasoningbank.types.blank import is_blank
from reasoningbank.types.memory import MAX_TAG, Memory, fingerprint
from reasoningbank.types.session import (
    DO_INSTEAD,
    MAX_ITEMS,
    TEMPLATE,
    Item,
    Refusal,
    RefusalReason,
    Trajectory,
    Verdict,
)

MAX_ITEM_TITLE = 160
MAX_ITEM_DESCRIPTION = 1_500
MAX_ITEM_CONTENT = 4_000
"""Longest texts of a distilled item: a lesson has a few sentences, and an agent pays for every one of them."""
MAX_ITEM_TAGS = 8
MAX_PROPOSED = 100
"""Items beyond this number are not even kept as refused ones: no session teaches that much."""

_LEAST_WORDS = 4
_SAME = 0.8
_RESTATED = 0.8
_RESTATED_PAIRS = 0.5
_KEPT = 500
_MOST_NAMED = 5


def examine(
    items: Sequence[Item],
    trajectory: Trajectory,
    verdict: Verdict,
    *,
    limit: int = MAX_ITEMS,
    model: str = "",
    prompt: str = "",
    at: datetime | None = None,
) -> tuple[tuple[Item, ...], tuple[Refusal, ...]]:
    """Divide items into those that may be stored and those that may not, each of these with the first reason found.

    Accepted items are clean: invisible characters and secrets are gone from them, tags are lower-case and at most
    eight, and their steps are steps of the trajectory; an item that names only other steps is refused. Refusals are
    clean in the same way. Nothing is repaired that would change what an item says.

    Args:
        items: What a model, an agent or the template proposes, in order of worth.
        trajectory: What they were learned from.
        verdict: How it ended: a failure teaches no strategy; a partial session teaches strategies only from steps that
            worked; a success teaches a lesson only from a step that failed; an unknown one teaches nothing.
        limit: Most items that are accepted.
        model: Kept with each refusal.
        prompt: Kept with each refusal.
        at: Time of the refusals; now when None.

    Raises:
        ModelMissing: When texts cannot be checked for secrets; nothing else is ever raised.
    """
    accepted: list[Item] = []
    refused: list[Refusal] = []
    moment = at or datetime.now(UTC)
    for item in items[:MAX_PROPOSED]:
        safe, reason, detail = _examined(item, trajectory, verdict, accepted, from_model=model != TEMPLATE)
        if reason is None and len(accepted) >= limit:
            reason, detail = "too_many", f"at most {limit} items are kept of one trajectory"
        if reason is None:
            accepted.append(safe)
            continue
        refused.append(
            Refusal(
                trajectory=trajectory.id,
                reason=reason,
                detail=detail,
                title=clip(safe.title, _KEPT),
                description=clip(safe.description, 2 * _KEPT),
                content=clip(safe.content, 4 * _KEPT),
                model=model,
                prompt=prompt,
                at=moment,
            )
        )
    return tuple(accepted), tuple(refused)


def _examined(
    item: Item, trajectory: Trajectory, verdict: Verdict, accepted: Sequence[Item], *, from_model: bool
) -> tuple[Item, RefusalReason | None, str]:
    """Return the item as it may be kept, and why it is refused."""
    try:
        admitted = safe_texts(item.title, item.description, item.content, item.tags, "")
    except TextTooLong as error:
        cut = replace(
            item, title=item.title[:_KEPT], description=item.description[:_KEPT], content=item.content[:_KEPT]
        )
        return replace(cut, tags=()), "too_long", error.message
    tags = dict.fromkeys(tag.casefold() for tag in admitted.tags)
    known = range(len(trajectory.steps))
    safe = replace(
        item,
        title=admitted.title,
        description=admitted.description,
        content=admitted.content,
        tags=tuple(tag for tag in tags if len(tag) <= MAX_TAG)[:MAX_ITEM_TAGS],
        steps=tuple(sorted({step for step in item.steps if step in known})),
    )
    reason = (
        _wrong_texts(safe)
        or (_markup(safe) if from_model else None)
        or _wrong_subject(safe)
        or (_wrong_form(safe, trajectory) if from_model else None)
        or _no_such_step(item, safe, trajectory)
        or _wrong_outcome(safe, trajectory, verdict)
    )
    if reason is None and any(says_the_same(safe, other) for other in accepted):
        reason = "same_text", "an earlier item of this trajectory says the same"
    return (safe, *reason) if reason else (safe, None, "")


def _wrong_texts(item: Item) -> tuple[RefusalReason, str] | None:
    for name, text, limit in (
        ("title", item.title, MAX_ITEM_TITLE),
        ("description", item.description, MAX_ITEM_DESCRIPTION),
        ("content", item.content, MAX_ITEM_CONTENT),
    ):
        if len(text) > limit:
            return "too_long", f"the {name} has {len(text)} characters; the limit is {limit}"
        if is_blank(text):
            return "incomplete", f"the {name} says nothing"
    if item.outcome == "failure" and item.content.startswith(DO_INSTEAD):
        return "incomplete", "it does not say what went wrong"
    if len(words(item.content)) < _LEAST_WORDS:
        return "incomplete", f"the content has fewer than {_LEAST_WORDS} words"
    return None


def _wrong_subject(item: Item) -> tuple[RefusalReason, str] | None:
    if danger := find_danger(item.title, item.description, item.content, *item.tags):
        return "instruction", f"it {danger}"
    if is_about_memory(item.title, item.content):
        return "about_memory", "it is about the memory that lessons are kept in"
    return None


def _markup(item: Item) -> tuple[RefusalReason, str] | None:
    found = find_markup(item.title, item.description, item.content)
    return ("markup", found) if found else None


def _wrong_form(item: Item, trajectory: Trajectory) -> tuple[RefusalReason, str] | None:
    if names_only(item.content):
        return "only_names", "the content names only files, runs or ids"
    if not has_trigger(item.description, item.title, item.content):
        return "no_trigger", "it does not say when it applies"
    if is_retold(item.content):
        return "retold", "the content tells what happened instead of what to do"
    if is_motto(item.title, item.content):
        return "no_action", "the content is advice that fits every task and names nothing that could be carried out"
    if vague := is_vague(item.description, item.content):
        return _VAGUE[vague]
    if restates(item.content, trajectory.task):
        return "restated_task", "the content says only what the task says"
    return None


_VAGUE: dict[str, tuple[RefusalReason, str]] = {
    "trigger": ("no_trigger", "its condition names nothing that could be checked"),
    "action": ("no_action", "the content names nothing that could be carried out"),
}


def _no_such_step(named: Item, kept: Item, trajectory: Trajectory) -> tuple[RefusalReason, str] | None:
    """Return why an item that names steps rests on none; one that names no step at all is another matter."""
    if not named.steps or kept.steps:
        return None
    numbers = ", ".join(map(str, named.steps[:_MOST_NAMED]))
    return (
        "no_such_step",
        f"it rests only on steps that do not exist ({numbers}); the session has {len(trajectory.steps)}",
    )


def _wrong_outcome(item: Item, trajectory: Trajectory, verdict: Verdict) -> tuple[RefusalReason, str] | None:
    steps = [trajectory.steps[number] for number in item.steps]
    if verdict == "unknown":
        return "wrong_outcome", "it is unknown how the session ended"
    if item.outcome == "success" and verdict == "failure":
        return "wrong_outcome", "a session that failed teaches no strategy that worked"
    if not trajectory.steps:
        return None
    if item.outcome == "success" and verdict == "partial" and all(step.failed for step in steps):
        return "wrong_outcome", "it names no step that worked, in a session that only partly did"
    if item.outcome == "failure" and verdict == "success" and not any(step.failed for step in steps):
        return "wrong_outcome", "it names no step that failed, in a session that succeeded"
    return None


def restates(text: str, task: str) -> bool:
    """Return whether nearly all words of the text, and half of its pairs of neighbouring words, stand in the task."""
    said, asked = terms(text), terms(task)
    if not said or not asked:
        return False
    if len(set(said) & set(asked)) < _RESTATED * len(set(said)):
        return False
    pairs, asked_pairs = set(pairwise(said)), set(pairwise(asked))
    return not pairs or len(pairs & asked_pairs) >= _RESTATED_PAIRS * len(pairs)


def says_the_same(item: Item, other: Item) -> bool:
    """Return whether two items of one outcome have the same words, or nearly so."""
    if item.outcome != other.outcome:
        return False
    if fingerprint(item.title, item.content) == fingerprint(other.title, other.content):
        return True
    first, second = set(terms(item.content)), set(terms(other.content))
    if not first or not second:
        return False
    return len(first & second) >= _SAME * len(first | second) and polarity(item.content) == polarity(other.content)


RUN = 4
"""So many words in a row are not put together by chance."""
SHARE = 0.5
"""From this share of a lesson's runs on, its words are somebody else's."""
_MOST_CHARACTERS = 200_000


def is_hearsay(memory: Memory, trajectory: Trajectory) -> bool:
    """Return whether at least half of the lesson's runs of words stand in what tools answered in the session."""
    return _holds("\n".join(step.observation for step in trajectory.steps), memory)


def is_restated(memory: Memory, trajectory: Trajectory) -> bool:
    """Return whether at least half of the lesson's runs of words stand in what the agent itself said in the session."""
    return _holds("\n".join(step.thought for step in trajectory.steps), memory)


def _holds(text: str, memory: Memory) -> bool:
    said = _runs(memory.content)
    return bool(said) and len(said & _runs(text[:_MOST_CHARACTERS])) >= SHARE * len(said)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = terms(text)
    return set(zip(*(islice(words, start, None) for start in range(RUN)), strict=False))
