"""How a memory reads as a file, and what a file says of a memory.

A file in our own form is a heading, perhaps a line that begins with ``When:``, and the content. Text in any other form
is kept whole as the memory's content, with the white space around it, so that it reads exactly as it was written.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from reasoningbank.domain.files import SUFFIX
from reasoningbank.domain.memory import MAX_CONTENT, MAX_DESCRIPTION, MAX_TITLE, Memory
from reasoningbank.engine.documents import safe_text
from reasoningbank.engine.hygiene import clean_line
from reasoningbank.errors import EmptyContent, TextTooLong

NAME, VERSION, BEFORE, AFTER = "file", "file_version", "file_before", "file_after"
"""Entries of a memory's provenance: its file's name; and of a text that was kept whole, the version that it is the text
of, and the white space before and after it."""
WHEN = "When: "
_HEADING = re.compile(r"# +(\S.*)")
_MAX_SLUG = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a file says of a memory.

    Attributes:
        title, description, content: The memory's texts.
        whole: The white space before and after the content when that is the whole file; None in our own form.
    """

    title: str
    description: str
    content: str
    whole: tuple[str, str] | None = None


def rendered(memory: Memory) -> str:
    """The memory's file."""
    provenance = memory.provenance
    if provenance.get(VERSION) == str(memory.version):
        return f"{provenance.get(BEFORE, '')}{memory.content}{provenance.get(AFTER, '')}"
    return _own_form(memory.title, memory.description, memory.content)


def read(text: str, path: str) -> Read:
    """What a text at this path says of a memory; secrets are taken out of it first.

    Raises:
        EmptyContent: When there is nothing to remember in it.
        TextTooLong: When it is longer than a memory may be.
    """
    text = safe_text(text)
    content = text.strip()
    if not content:
        raise EmptyContent("a memory cannot be empty", hint="Write what to do, or file it outside of this directory.")
    if len(text) > MAX_CONTENT:
        raise TextTooLong(
            f"the file has {len(text)} characters; the limit of a memory is {MAX_CONTENT}",
            hint="Shorten it, or file it outside of this directory.",
        )
    lines = content.split("\n")
    heading = _HEADING.fullmatch(lines[0])
    title = clean_line(heading[1]) if heading else ""
    rest = "\n".join(lines[1:]).strip() if title else content
    first, _, behind = rest.partition("\n")
    description = clean_line(first.removeprefix(WHEN)) if title and first.startswith(WHEN) else ""
    body = behind.strip() if description else rest
    fits = len(title) <= MAX_TITLE and len(description) <= MAX_DESCRIPTION
    if title and body and fits and _own_form(title, description, body) == text:
        return Read(title=title, description=description, content=body)
    start = text.index(content)
    return Read(
        title=title[:MAX_TITLE] or name_title(path),
        description=description[:MAX_DESCRIPTION],
        content=content,
        whole=(text[:start], text[start + len(content) :]),
    )


def whole_entries(whole: tuple[str, str] | None, version: int) -> dict[str, str]:
    """The entries of the provenance for a text that was kept whole as this version."""
    if whole is None:
        return {}
    return {VERSION: str(version), BEFORE: whole[0], AFTER: whole[1]}


def without_file(provenance: Mapping[str, str]) -> dict[str, str]:
    """The provenance without the entries of this module."""
    return {key: value for key, value in provenance.items() if key not in {NAME, VERSION, BEFORE, AFTER}}


def name_title(path: str) -> str:
    """The title that a file's name says."""
    words = clean_line(re.sub(r"[-_\s]+", " ", safe_text(PurePosixPath(path).name.removesuffix(SUFFIX))))
    return (words[:1].upper() + words[1:])[:MAX_TITLE] or "Note"


def slug(title: str) -> str:
    """The name of a file for a title: lower-case letters and digits with hyphens between; may be empty."""
    folded = unicodedata.normalize("NFKC", title).casefold()
    return re.sub(r"[\W_]+", "-", folded).strip("-")[:_MAX_SLUG].strip("-")


def _own_form(title: str, description: str, content: str) -> str:
    when = f"{WHEN}{description}\n\n" if description else ""
    return f"# {title}\n\n{when}{content}\n"
