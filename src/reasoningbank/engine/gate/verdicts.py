"""What the gate says of each kind of thing, remembered so that no text is looked at twice."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator

from reasoningbank.domain.document import Document
from reasoningbank.domain.graph import Edge, Node
from reasoningbank.domain.memory import Memory
from reasoningbank.engine.gate.danger import find_danger

_MOST_KNOWN = 65_536
_known: dict[bytes, str] = {}
_WORD = re.compile(r"[^\W\d_]{2,}")
_LEAST_WORDS = 3
"""With fewer words a name gives no order."""


def verdict(*texts: str) -> str:
    """Return what ``find_danger`` says of texts; the answer is remembered by a hash of them."""
    kept = "\x00".join(text for text in texts if text)
    digest = hashlib.blake2b(kept.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    known = _known.get(digest)
    if known is None:
        known = find_danger(*texts)
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[digest] = known
    return known


def texts_of(memory: Memory) -> tuple[str, ...]:
    """Return the texts of a memory that agents read."""
    return (memory.title, memory.description, memory.content, *memory.tags, memory.category)


def memory_danger(memory: Memory) -> str:
    """Return why a memory looks like a prompt injection; empty when it does not."""
    return verdict(*texts_of(memory))


def graph_danger(item: Node | Edge) -> str:
    """Return why a node or an edge looks like a prompt injection; empty when it does not."""
    fields: list[str] = []
    if isinstance(item, Node):
        for value in item.fields.values():
            fields += value if isinstance(value, tuple) else (value,)
        fields.append(_spoken(item.conv_id))
    return verdict(item.text, *item.tags, *fields, _spoken(item.id))


def document_danger(document: Document) -> str:
    """Return why a document looks like a prompt injection; empty when it does not."""
    labels = map(_spoken, (*document.path, document.key))
    return verdict(*_texts_in(json.loads(document.value)), *labels)


def _spoken(name: str) -> str:
    """Return the words of an id or a label, which hyphens may join; empty for one that says no sentence."""
    words = _WORD.findall(name)
    return " ".join(words) if len(words) >= _LEAST_WORDS else ""


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield _spoken(key)
            yield from _texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts_in(item)
