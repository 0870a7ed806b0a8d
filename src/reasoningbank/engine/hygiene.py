"""What a text must go through before it is stored, and again before it leaves: cleaning, then redaction."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from reasoningbank.domain.memory import Memory
from reasoningbank.engine.characters import normalise
from reasoningbank.engine.redaction import Finding, redact
from reasoningbank.errors import TextTooLong

MAX_INPUT = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Texts that may be stored, and what was taken out of them."""

    title: str
    description: str
    content: str
    tags: tuple[str, ...]
    category: str
    findings: tuple[Finding, ...]


def clean(text: str) -> str:
    """The text without characters that cannot be seen, trimmed at both ends."""
    return normalise(text).strip()


def clean_line(text: str) -> str:
    """The same on one line, runs of space as one."""
    return re.sub(r"\s+", " ", normalise(text)).strip()


def admit(title: str, description: str, content: str, tags: Iterable[str], category: str) -> Admitted:
    """Cleans and redacts every text of a memory."""
    texts = (title, description, content, category)
    listed = tuple(tags)
    if sum(map(len, texts)) + sum(map(len, listed)) > MAX_INPUT:
        raise TextTooLong(f"a memory has at most {MAX_INPUT} characters in all")
    findings: list[Finding] = []

    def safe(text: str) -> str:
        redacted = redact(text)
        findings.extend(redacted.findings)
        return redacted.text

    return Admitted(
        title=safe(clean_line(title)),
        description=safe(clean(description)),
        content=safe(clean(content)),
        tags=tuple(dict.fromkeys(tag for tag in (safe(clean_line(tag)) for tag in listed) if tag)),
        category=safe(clean_line(category)),
        findings=tuple(findings),
    )


@functools.lru_cache(maxsize=4_096)
def _safe(text: str) -> str:
    return redact(text).text


def reveal(memory: Memory) -> Memory:
    """The memory as it may leave: redacted once more; the same object when nothing changes."""
    title, description, content = _safe(memory.title), _safe(memory.description), _safe(memory.content)
    tags = tuple(_safe(tag) for tag in memory.tags)
    if (title, description, content, tags) == (memory.title, memory.description, memory.content, memory.tags):
        return memory
    return replace(memory, title=title, description=description, content=content, tags=tags)
