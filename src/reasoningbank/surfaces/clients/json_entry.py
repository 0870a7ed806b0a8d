"""Our entries in a client's JSON file: members of objects and elements of arrays, found again by what they say."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from reasoningbank.errors import InvalidInput
from reasoningbank.surfaces.clients.json_text import Member, Node, insert, parse, remove

NAME = "reasoningbank"
"""The name of our entry wherever a name is needed."""

_OUR_COMMAND = re.compile(
    r"(?:rbank|reasoningbank)(?:\.exe)?[\"'\\]*(?:\s*,\s*|\s+|\"args\"|[\s\":\[,])+[\"'\\]*hook[\"'\\]*[\s,\"'\]]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that is put into a JSON file.

    Attributes:
        path: The keys from the top to the object or array that it is put into.
        key: Its key; None for an element of an array.
        value: What it is.
    """

    path: tuple[str, ...]
    key: str | None
    value: object


def put(text: str, entries: Sequence[Entry], *, known: bool) -> tuple[str, list[tuple[str, ...]]]:
    """The text with the entries, each once, and which objects and arrays had to be made for them.

    Args:
        text: The file's text.
        entries: What is to be there.
        known: Whether entries of ours that differ may be replaced: those that we have written ourselves.

    Raises:
        InvalidInput: When the text is no JSON object or something else stands where the entry belongs.
    """
    made: list[tuple[str, ...]] = []
    for entry in entries:
        if (found := _ours(text, entry)) is not None:
            if _says(text, found[1].value) == entry.value:
                continue
            if not known:
                raise InvalidInput(
                    f"there is an entry {entry.key or entry.path[-1]!r} for {NAME} that `rbank install` did not write",
                    hint="Remove it, or run `rbank uninstall` first.",
                )
        text = take(text, [entry], [])
        depth = next(size for size in range(len(entry.path), -1, -1) if _find(text, entry.path[:size]) is not None)
        missing = entry.path[depth:]
        made += [entry.path[:size] for size in range(depth + 1, len(entry.path) + 1)]
        container = _container(text, entry.path[:depth])
        if container.kind != ("array" if entry.key is None and not missing else "object"):
            raise _occupied(entry.path[:depth])
        text = insert(text, container, _body(entry, missing))
    return text, made


def take(text: str, entries: Sequence[Entry], made: Sequence[tuple[str, ...]]) -> str:
    """The text without our entries and without the objects and arrays that were made for them and are empty now.

    Raises:
        InvalidInput: When the text is no JSON object.
    """
    for entry in entries:
        while (found := _ours(text, entry)) is not None:
            text = remove(text, *found)
    for path in sorted(set(made), key=len, reverse=True):
        node = _find(text, path)
        if node is not None and node.kind != "scalar" and not node.members and _plain(text, node):
            parent = _container(text, path[:-1])
            member = parent.member(path[-1])
            if member is not None:
                text = remove(text, parent, member)
    return text


def _body(entry: Entry, missing: Sequence[str]) -> str:
    """The entry as a member's text, inside the objects and the array that are missing around it."""
    value: object = entry.value if entry.key is None else {entry.key: entry.value}
    if entry.key is None and missing:
        value = [value]
    elif entry.key is not None and not missing:
        return f"{json.dumps(entry.key)}: {json.dumps(entry.value, indent=2, ensure_ascii=False)}"
    for key in reversed(missing[1:]):
        value = {key: value}
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return f"{json.dumps(missing[0])}: {text}" if missing else text


def _plain(text: str, node: Node) -> bool:
    """Whether an empty object or array holds no comment either."""
    return not text[node.start + 1 : node.end - 1].strip()


def _ours(text: str, entry: Entry) -> tuple[Node, Member] | None:
    node = _find(text, entry.path)
    if node is None or node.kind == "scalar":
        return None
    if entry.key is not None:
        member = node.member(entry.key)
        return None if member is None else (node, member)
    for member in node.members:
        if _OUR_COMMAND.search(text[member.start : member.value.end]):
            return node, member
    return None


def _says(text: str, node: Node) -> object:
    """What a value means; None for one with comments, which is never ours as we wrote it."""
    try:
        return json.loads(text[node.start : node.end])
    except ValueError:
        return None


def _find(text: str, path: Sequence[str]) -> Node | None:
    node = _top(text)
    for position, key in enumerate(path):
        if node.kind != "object":
            raise _occupied(path[:position])
        member = node.member(key)
        if member is None:
            return None
        node = member.value
    return node


def _container(text: str, path: Sequence[str]) -> Node:
    node = _find(text, path)
    if node is None or node.kind == "scalar":
        raise _occupied(path)
    return node


def _top(text: str) -> Node:
    node = parse(text)
    if node.kind != "object":
        raise InvalidInput("the file holds no JSON object", hint="Correct the file; nothing was changed.")
    return node


def _occupied(path: Sequence[str]) -> InvalidInput:
    return InvalidInput(
        f"something else stands at {'.'.join(path) or 'the top'}", hint="Correct the file; nothing was changed."
    )
