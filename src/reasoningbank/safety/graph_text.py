"""What nodes and edges go through before they are stored, and again before they leave: cleaning, then redaction.

The texts of many are checked for secrets together, which is three times as fast; only when something is found is each
looked at by itself. An id that holds a secret is refused: it cannot be replaced without tearing links.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from reasoningbank.errors import InvalidEdge, InvalidNode
from reasoningbank.safety.secrets import is_safe, redact
from reasoningbank.safety.stored_text import clean, clean_line
from reasoningbank.safety.unicode import normalise
from reasoningbank.types.graph import MAX_GRAPH_TAG, MAX_TEXT, Edge, FieldValue, Node

_BATCH = 64
_NOTHING_VISIBLE = "\N{REPLACEMENT CHARACTER}"
_MAX_KNOWN = 16_384
_known_to_be_safe: set[bytes] = set()
_Item = TypeVar("_Item", Node, Edge)


def safe_items(items: Sequence[_Item]) -> list[_Item]:
    """Return the nodes or edges as they may be stored, in their order.

    Raises:
        InvalidNode, InvalidEdge: When nothing visible is left of a text, or an id cannot be kept as it is.
        ModelMissing: When the detector package cannot be loaded.
    """
    admitted: list[_Item] = []
    for batch in _batches(items):
        cleaned = [_cleaned(item) for item in batch]
        admitted += cleaned if _safe(cleaned) else [_redacted(item) for item in cleaned]
    return admitted


def reveal(items: Iterable[_Item]) -> list[_Item]:
    """Return the nodes or edges as they may leave the bank, whoever wrote the stored rows.

    It never fails on a stored one.

    Those whose texts were found safe are remembered by a hash of them alone.
    """
    revealed = list(items)
    digests = [_digest(item) for item in revealed]
    unknown = [place for place, digest in enumerate(digests) if digest not in _known_to_be_safe]
    for start in range(0, len(unknown), _BATCH):
        places = unknown[start : start + _BATCH]
        if _safe([revealed[place] for place in places]):
            _remember(digests[place] for place in places)
        else:
            for place in places:
                revealed[place] = _changed(revealed[place], _shown, _shown_line)
    return revealed


def _digest(item: Node | Edge) -> bytes:
    """Return stands for all texts of a node or an edge, where only those that are safe are kept."""
    texts = "\x00".join(_texts(item))
    return hashlib.blake2b(texts.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _remember(digests: Iterable[bytes]) -> None:
    if len(_known_to_be_safe) >= _MAX_KNOWN:
        _known_to_be_safe.clear()
    _known_to_be_safe.update(digests)


def _batches(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    remaining = iter(items)
    while batch := list(islice(remaining, _BATCH)):
        yield batch


def _cleaned(item: _Item) -> _Item:
    error = InvalidNode if isinstance(item, Node) else InvalidEdge
    for name in _ids(item):
        if name and not _is_clean_line(name):
            raise error(f"id: {name[:80]!r} has characters that cannot be seen or spaces at its ends")
    if _is_clean(item):
        return item
    return _changed(item, clean, clean_line)


def _is_clean(item: Node | Edge) -> bool:
    return (
        item.text.isascii()
        and clean(item.text) == item.text
        and all(map(_is_clean_line, item.tags))
        and (isinstance(item, Edge) or all(normalise(text) == text for text in _field_texts(item)))
    )


def _is_clean_line(line: str) -> bool:
    """Return whether ``clean_line`` leaves it as it is; told without cleaning for what most ids and tags are."""
    if line.isascii() and line.isprintable() and "  " not in line:
        return line == line.strip()
    return clean_line(line) == line


def _redacted(item: _Item) -> _Item:
    error = InvalidNode if isinstance(item, Node) else InvalidEdge
    for name in _ids(item):
        if name and not is_safe(name):
            raise error("id: holds what looks like a secret", hint="Use an id that names the thing and nothing more.")
    return _changed(item, lambda text: redact(text).text, lambda line: clean_line(redact(line).text))


def _changed(item: _Item, text: Callable[[str], str], line: Callable[[str], str]) -> _Item:
    """Return the item with every text and every line passed through these; field texts keep their white space."""
    tags = tuple(dict.fromkeys(tag for tag in (line(each)[:MAX_GRAPH_TAG].strip() for each in item.tags) if tag))
    if isinstance(item, Edge):
        return replace(item, text=text(item.text), tags=tags)
    fields: dict[str, FieldValue] = {}
    for name, value in item.fields.items():
        if isinstance(value, tuple):
            fields[name] = tuple(kept for kept in (line(each) for each in value) if kept)
        else:
            fields[name] = _field(value, text)
    return replace(item, text=text(item.text), tags=tags, fields=fields)


def _field(value: str, text: Callable[[str], str]) -> str:
    """Return a special field word for word, unless something in it has to go."""
    normal = normalise(value)
    changed = text(normal)
    return normal if changed == normal.strip() else changed


def _shown(text: str) -> str:
    shown = redact(text).text[:MAX_TEXT]
    return shown if shown.strip() else _NOTHING_VISIBLE


def _shown_line(line: str) -> str:
    return clean_line(redact(line).text)[:MAX_GRAPH_TAG]


def _safe(items: Sequence[Node] | Sequence[Edge]) -> bool:
    """Return whether no text of any of them is changed by redaction."""
    joined = "\n\n".join(text for item in items for text in _texts(item))
    return is_safe(joined)


def _ids(item: Node | Edge) -> tuple[str, ...]:
    return (item.id, item.conv_id) if isinstance(item, Node) else (item.id, item.source, item.target)


def _texts(item: Node | Edge) -> tuple[str, ...]:
    if isinstance(item, Node):
        return (item.id, item.conv_id, item.text, *item.tags, *_field_texts(item))
    return (item.id, item.source, item.target, item.text, *item.tags)


def _field_texts(node: Node) -> Iterator[str]:
    for value in node.fields.values():
        if isinstance(value, tuple):
            yield from value
        else:
            yield value
