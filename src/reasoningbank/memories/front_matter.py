"""Memories as Markdown: the text as the body, everything else as YAML front matter."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from reasoningbank.errors import InvalidInput
from reasoningbank.safety.file_access import read_text
from reasoningbank.types.memory import Memory, Outcome, check_outcome

MOST_BYTES = 1 << 20
"""The longest Markdown file that is read."""
_FENCE = "---"
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_MOST_FRONT = 65_536
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_NAME_LENGTH = 60
_SHORT_ID = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownMemory:
    """Hold what a Markdown file says of a memory.

    Attributes:
        title, description, content, outcome, tags, category: The text.
        id: The memory; empty for a new one.
        version: The version that was written; 0 when the file does not say.
    """

    title: str
    content: str
    outcome: Outcome = "success"
    description: str = ""
    tags: tuple[str, ...] = ()
    category: str = ""
    id: str = ""
    version: int = 0

    def says(self, memory: Memory) -> bool:
        """Return whether it says what a memory says."""
        return self.texts == (
            memory.title,
            memory.description,
            memory.content,
            memory.outcome,
            memory.tags,
            memory.category,
        )

    @property
    def texts(self) -> tuple[object, ...]:
        """What a person can change of a memory in a file."""
        return (self.title, self.description, self.content, self.outcome, self.tags, self.category)


def front_matter(fields: Mapping[str, object], body: str) -> str:
    """Return a Markdown text with front matter; fields that are empty are left out."""
    kept = {name: value for name, value in fields.items() if value not in ("", [], None)}
    text = yaml.safe_dump(kept, sort_keys=False, allow_unicode=True, width=10**9, default_flow_style=False)
    return f"{_FENCE}\n{text}{_FENCE}\n\n{body.rstrip()}\n"


def split_front_matter(text: str) -> tuple[Mapping[str, object], str]:
    """Return the fields of a Markdown text's front matter, every value as it is written, and the body.

    Raises:
        InvalidInput: When the front matter is no YAML mapping.
    """
    found = _FRONT.match(text)
    if found is None:
        return {}, text.strip()
    if len(found[1]) > _MOST_FRONT:
        raise InvalidInput("the front matter is too long")
    try:
        fields = yaml.load(found[1], Loader=yaml.BaseLoader)  # noqa: S506 - it makes texts, lists and mappings alone
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        said = " ".join(str(error).split())[:200]
        raise InvalidInput(f"the front matter is not YAML: {said}", hint="Write `name: value` lines.") from error
    if not isinstance(fields, Mapping):
        raise InvalidInput("front matter must be a YAML mapping", hint="Write `name: value` lines.")
    return {str(name): value for name, value in fields.items()}, text[found.end() :].strip()


def text_field(fields: Mapping[str, object], name: str) -> str:
    """Return a text of the front matter; empty when it is not there.

    Raises:
        InvalidInput: When it is a list or a mapping.
    """
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be one text")
    return value


def list_field(fields: Mapping[str, object], name: str) -> tuple[str, ...]:
    """Return the texts of a list of the front matter; one text is a list of one, separated by commas of several."""
    value = fields.get(name, ())
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")]
    if not isinstance(value, Sequence) or not all(isinstance(each, str) for each in value):
        raise InvalidInput(f"{name} must be a list of texts")
    return tuple(dict.fromkeys(each for each in value if each))


def written_memory(memory: Memory) -> str:
    """Return a memory as a Markdown file; what stands before the body and is not text cannot be changed there."""
    return front_matter(
        {
            "id": memory.id,
            "title": memory.title,
            "outcome": memory.outcome,
            "description": memory.description,
            "tags": list(memory.tags),
            "category": memory.category,
            "standing": memory.standing,
            "confidence": round(memory.confidence, 6),
            "state": memory.state,
            "version": memory.version,
            "updated": memory.updated_at.isoformat(),
        },
        memory.content,
    )


def read_memory(text: str, name: str = "") -> MarkdownMemory:
    """Return what a Markdown file says of a memory.

    Args:
        text: The file's text.
        name: The file's name without its ending: the title of a file that names none.

    Raises:
        InvalidInput: When it is not a memory.
    """
    fields, body = split_front_matter(text)
    version = text_field(fields, "version")
    if version and not (version.isascii() and version.isdigit() and len(version) < 10):
        raise InvalidInput(f"version must be a whole number, not {version[:40]!r}")
    heading = re.match(r"# +(.+)\n*", body)
    title = text_field(fields, "title")
    if not title and heading:
        title, body = heading[1].strip(), body[heading.end() :]
    return MarkdownMemory(
        id=text_field(fields, "id"),
        title=title or name,
        content=body,
        outcome=check_outcome(text_field(fields, "outcome") or "success"),
        description=text_field(fields, "description"),
        tags=list_field(fields, "tags"),
        category=text_field(fields, "category"),
        version=int(version or 0),
    )


def read_memory_file(path: Path) -> MarkdownMemory:
    """Return what a Markdown file says of a memory.

    Raises:
        StoreUnavailable: When it cannot be read.
        InvalidInput: When it is not a memory.
    """
    return read_memory(read_text(path, most=MOST_BYTES), path.stem)


def short_id(memory_id: str) -> str:
    """Return the end of an id, which tells memories of one title apart; its beginning is the time."""
    return slug(memory_id, most=64).replace("-", "")[-_SHORT_ID:]


def slug(text: str, *, most: int = _NAME_LENGTH) -> str:
    """Return a text as a part of a file's name: lower-case letters and digits of ASCII, with hyphens between words."""
    return _NOT_IN_NAMES.sub("-", text.casefold()).strip("-")[:most].strip("-") or "memory"
