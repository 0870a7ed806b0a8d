"""Strategies that are confirmed or vouched for, as Agent Skills: folders with a SKILL.md that says when to use them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from reasoningbank.errors import BankError, StoreUnavailable
from reasoningbank.memories.front_matter import MOST_BYTES, front_matter, short_id, slug, split_front_matter
from reasoningbank.safety.file_access import read_text, write_whole
from reasoningbank.safety.stored_text import reveal
from reasoningbank.storage.store import Store
from reasoningbank.types.belief import MIN_CONFIDENCE
from reasoningbank.types.memory import Memory
from reasoningbank.types.recall import Filter
from reasoningbank.types.transfer import SkillFiles

FILE = "SKILL.md"
MOST_NAME = 64
MOST_DESCRIPTION = 1_024
"""Limits of the format. Source: "Specification", agentskills.io."""
OWNER = "reasoningbank-id"
"""The entry of a skill's metadata that says which memory it was made of."""
_STANDINGS = frozenset({"confirmed", "vouched"})
_WHEN = re.compile(r"(?:use )?when(?:ever)?\b[ :,]*", re.IGNORECASE)
"""The beginning of a description that says itself when it applies."""


def write_skills(store: Store, target: Path) -> SkillFiles:
    """Write each strategy that stands high enough as a skill, and take away those of earlier that do no more.

    A folder that something else has made is left as it is.

    Args:
        store: The bank.
        target: The directory of skills, made when it is not there.

    Raises:
        StoreUnavailable: When it cannot be written.
    """
    known = _own_skills(target)
    skills: list[str] = []
    left_out: list[str] = []
    wanted = [
        reveal(each)
        for each in store.memories.page(Filter(outcome="success", min_confidence=MIN_CONFIDENCE), limit=0, offset=0)
        if each.standing in _STANDINGS
    ]
    try:
        target.mkdir(parents=True, exist_ok=True)
        for memory in wanted:
            name = known.pop(memory.id, None) or _free_name(target, memory, skills)
            if name is None:
                left_out.append(slug(memory.title, most=MOST_NAME))
                continue
            (target / name).mkdir(exist_ok=True)
            with write_whole(target / name / FILE) as file:
                file.write(skill_of(memory, name))
            skills.append(name)
        for name in known.values():
            (target / name / FILE).unlink()
            if not any((target / name).iterdir()):
                (target / name).rmdir()
    except OSError as error:
        raise StoreUnavailable(f"{target} cannot be written: {error.strerror}", hint="Name a directory.") from error
    return SkillFiles(path=str(target), skills=tuple(skills), removed=tuple(known.values()), left_out=tuple(left_out))


def skill_of(memory: Memory, name: str) -> str:
    """Return the SKILL.md of a memory.

    Args:
        memory: A strategy.
        name: The name of the skill, which is that of its folder.
    """
    said_when = _WHEN.match(memory.description)
    when = memory.description[said_when.end() :] if said_when else f"this applies: {memory.description or memory.title}"
    said = _plain(f"{memory.title.rstrip('.')}. Use when {when.rstrip('.')}.")
    fields: Mapping[str, object] = {
        "name": name,
        "description": said
        if len(said) <= MOST_DESCRIPTION
        else f"{said[: MOST_DESCRIPTION - 4].rsplit(' ', 1)[0]} ...",
        "metadata": {
            OWNER: memory.id,
            "standing": memory.standing,
            "confidence": f"{memory.confidence:.2f}",
            "version": str(memory.version),
        },
    }
    body = (
        f"# {memory.title}\n\n{memory.content}\n\nLearned in earlier sessions; believed with {memory.confidence:.2f}."
    )
    return front_matter(fields, body)


def _plain(text: str) -> str:
    """Return a text on one line without what a skill's description must not have: angle brackets and a fence."""
    return " ".join(re.sub(r"-{3,}", "-", text.replace("<", "(").replace(">", ")")).split())


def _own_skills(target: Path) -> dict[str, str]:
    """Return the skills below a directory that were made of memories, by the memory's id."""
    found: dict[str, str] = {}
    for path in sorted(target.glob(f"*/{FILE}")):
        try:
            fields, _ = split_front_matter(read_text(path, most=MOST_BYTES, follow=False))
        except BankError:
            continue  # somebody else's file: it stays
        metadata = fields.get("metadata")
        owner = metadata.get(OWNER) if isinstance(metadata, Mapping) else None
        if isinstance(owner, str):
            found[owner] = path.parent.name
    return found


def _free_name(target: Path, memory: Memory, taken: list[str]) -> str | None:
    """Return a name that no folder has yet; None when there is none."""
    short = short_id(memory.id)
    first = slug(memory.title, most=MOST_NAME)
    second = f"{slug(memory.title, most=MOST_NAME - len(short) - 1)}-{short}"
    return next((name for name in (first, second) if name not in taken and not (target / name).exists()), None)
