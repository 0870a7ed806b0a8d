"""What a text must go through before it is stored, and again before it leaves: cleaning, then redaction."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from reasoningbank.errors import TextTooLong
from reasoningbank.safety.secrets import Finding, is_safe, redact
from reasoningbank.safety.unicode import normalise
from reasoningbank.types.argument import check_text, check_texts
from reasoningbank.types.memory import MAX_CATEGORY, MAX_CONTENT, MAX_DESCRIPTION, MAX_TAG, MAX_TITLE, Memory

MAX_INPUT = 1_000_000

_SPACE = re.compile(r"\s+")
_NOTHING_VISIBLE = "\N{REPLACEMENT CHARACTER}"
_MAX_KNOWN = 8_192
_known_to_be_safe: set[bytes] = set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Texts that may be stored, and what was taken out of them.

    Attributes:
        title, category: One line each.
        description, content: Any number of lines.
        tags: One line each, none empty, none twice, in the order they were given.
        findings: The secrets that were replaced in all of them together, sorted by kind.
    """

    title: str
    description: str
    content: str
    tags: tuple[str, ...]
    category: str
    findings: tuple[Finding, ...]


def clean(text: str) -> str:
    """Return the text in NFC without characters that cannot be seen, trimmed at both ends; see ``characters``.

    Promises: any ``str`` is accepted, and cleaning twice changes nothing more.
    """
    return normalise(text).strip()


def clean_line(text: str) -> str:
    """Return the text cleaned and on one line, each run of white space as one space; for titles, tags and queries."""
    return _SPACE.sub(" ", normalise(text)).strip()


def safe_line(text: str) -> str:
    """Return one clean line without secrets: what queries and names of sessions are kept as."""
    return _safe_line(text, Counter())


def safe_texts(title: str, description: str, content: str, tags: Iterable[str], category: str) -> Admitted:
    """Clean and redacts every text of a memory; the rules of a memory's fields are checked by the memory itself.

    Raises:
        TextTooLong: When all texts together have more than a million characters; nothing was looked at then.
    """
    listed: list[str] = []
    named = {"title": title, "description": description, "content": content, "category": category}
    length = sum(len(check_text(text, name)) for name, text in named.items())
    for tag in check_texts(tags, "tags"):
        length += len(tag) + 1
        if length > MAX_INPUT:
            break
        listed.append(tag)
    if length > MAX_INPUT:
        raise TextTooLong(f"the texts of a memory have more than {MAX_INPUT} characters in all")
    counts: Counter[str] = Counter()
    lines = dict.fromkeys(_safe_line(tag, counts) for tag in listed)
    return Admitted(
        title=_safe_line(title, counts),
        description=_safe(clean(description), counts),
        content=_safe(clean(content), counts),
        tags=tuple(tag for tag in lines if tag),
        category=_safe_line(category, counts),
        findings=tuple(Finding(kind, count) for kind, count in sorted(counts.items())),
    )


def reveal(memory: Memory) -> Memory:
    """Return the memory as it may leave the bank: cleaned and redacted once more, whoever wrote the stored row.

    Returns the same object when nothing changes. A field that a placeholder makes longer than it may be is cut at its
    limit, and a title or content of invisible characters alone becomes U+FFFD, so that reading never fails where
    writing would. Texts found safe are remembered by their hash alone.

    Raises:
        ModelMissing: When the detector package cannot be loaded.
    """
    texts = "\x00".join((memory.title, memory.description, memory.content, memory.category, *memory.tags))
    digest = hashlib.blake2b(texts.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    if digest in _known_to_be_safe:
        return memory
    if is_safe(texts.replace("\x00", "\n\n")):
        _remember(digest)
        return memory
    counts: Counter[str] = Counter()
    title = _safe(memory.title, counts)[:MAX_TITLE]
    description = _safe(memory.description, counts)[:MAX_DESCRIPTION]
    content = _safe(memory.content, counts)[:MAX_CONTENT]
    category = _safe(memory.category, counts)[:MAX_CATEGORY]
    tags = tuple(_safe(tag, counts)[:MAX_TAG] for tag in memory.tags)
    before = (memory.title, memory.description, memory.content, memory.category, memory.tags)
    if (title, description, content, category, tags) == before:
        _remember(digest)
        return memory
    return replace(
        memory,
        title=title if title.strip() else _NOTHING_VISIBLE,
        description=description,
        content=content if content.strip() else _NOTHING_VISIBLE,
        category=category,
        tags=tuple(dict.fromkeys(tag for tag in tags if tag.strip())),
    )


def _remember(digest: bytes) -> None:
    if len(_known_to_be_safe) >= _MAX_KNOWN:
        _known_to_be_safe.clear()
    _known_to_be_safe.add(digest)


_HARMLESS = re.compile(r"[A-Za-z]?[a-z]{0,8}[0-9]{0,3}", re.ASCII)
"""A word too short for a secret, with nothing beside it that would make it one."""


def _safe(text: str, counts: Counter[str]) -> str:
    if _HARMLESS.fullmatch(text):
        return text
    redacted = redact(text)
    if redacted.findings:
        counts.update({finding.kind: finding.count for finding in redacted.findings})
    return redacted.text


def _safe_line(text: str, counts: Counter[str]) -> str:
    if _HARMLESS.fullmatch(text):
        return text
    redacted = _safe(clean(text), counts)
    line = clean_line(redacted)
    return line if line == redacted else _safe(line, counts)
