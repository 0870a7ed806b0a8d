"""Our entries in a JSON file with comments, every other byte left as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from reasoningbank.errors import InvalidInput

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"')
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_BLANK = " \t\r\n"
_DEEPEST = 200


@dataclass(slots=True)
class Member:
    """One member of an object or an array: where it begins (its key, when it has one) and its value."""

    key: str | None
    start: int
    value: Node


@dataclass(slots=True)
class Node:
    """One value: where it stands in the text, and its members when it has any."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    members: list[Member] = field(default_factory=list)

    def member(self, key: str) -> Member | None:
        """Return the member of a key.

        Raises:
            InvalidInput: When there are several: it is not known which one counts.
        """
        found = [one for one in self.members if one.key == key]
        if len(found) > 1:
            raise InvalidInput(f"the key {key!r} is there {len(found)} times", hint="Remove all but one of them.")
        return found[0] if found else None


def parse(text: str) -> Node:
    """Return where every value of the text stands; comments and trailing commas are allowed.

    Raises:
        InvalidInput: When it is no JSON, with the line.
    """
    parser = _Parser(text)
    start = parser.after_space(0)
    node = parser.value(start, 0)
    if parser.after_space(node.end) != len(text):
        raise parser.wrong(node.end)
    return node


def insert(text: str, container: Node, body: str) -> str:
    """Put ``"key": value`` or a value as the first member into an object or an array.

    ``remove`` of that member gives back the very same text.

    Args:
        text: The text of the container.
        container: Where to.
        body: The member; its further lines are indented as the container's members are.
    """
    line_end = "\r\n" if "\r\n" in text else "\n"
    indent = _indent(text, container)
    comma = "," if container.members else ""
    lines = f"{line_end}{indent}".join(body.split("\n"))
    opening = container.start + 1
    return f"{text[:opening]}{line_end}{indent}{lines}{comma}{text[opening:]}"


def remove(text: str, container: Node, member: Member) -> str:
    """Take a member out, with its comma and the space before it."""
    index = container.members.index(member)
    start, end = member.start, member.value.end
    while text[start - 1] in _BLANK:
        start -= 1
    parser = _Parser(text)
    if index:
        previous = container.members[index - 1].value.end
        comma = parser.after_space(previous)
        return text[:comma] + text[comma + 1 : start] + text[end:]
    after = parser.after_space(end)
    if text[after] != ",":
        return text[:start] + text[end:]
    return text[:start] + text[end:after] + text[after + 1 :]


def _indent(text: str, container: Node) -> str:
    """Return the white space before the container's first member, or a level more than its own line has."""
    if container.members:
        first = container.members[0].start
        line = text[text.rfind("\n", 0, first) + 1 : first]
        if not line.strip(" \t") and "\n" in text[container.start : first]:
            return line
    begin = text.rfind("\n", 0, container.start) + 1
    line = text[begin : container.start + 1]
    own = line[: len(line) - len(line.lstrip(" \t"))]
    return own + ("\t" if "\t" in own else "  ")


class _Parser:
    """Finds the places of values; what they mean is left to the json module."""

    def __init__(self, text: str) -> None:
        self._text = text

    def wrong(self, place: int) -> InvalidInput:
        line = self._text.count("\n", 0, place) + 1
        return InvalidInput(f"line {line} is no JSON", hint="Correct the file; nothing was changed.")

    def after_space(self, place: int) -> int:
        """Return the first place after white space and comments."""
        match = _SPACE.match(self._text, place)
        return match.end() if match else place

    def value(self, place: int, depth: int) -> Node:
        if depth > _DEEPEST or place >= len(self._text):
            raise self.wrong(place)
        opening = self._text[place]
        if opening in "{[":
            return self._container(place, depth)
        match = (_STRING if opening == '"' else _SCALAR).match(self._text, place)
        if match is None:
            raise self.wrong(place)
        return Node("scalar", place, match.end())

    def _container(self, start: int, depth: int) -> Node:
        is_object = self._text[start] == "{"
        node = Node("object" if is_object else "array", start, start)
        closing = "}" if is_object else "]"
        place = self.after_space(start + 1)
        while self._text[place : place + 1] != closing:
            member = self._member(place, depth, is_object)
            node.members.append(member)
            place = self.after_space(member.value.end)
            if self._text[place : place + 1] == ",":
                place = self.after_space(place + 1)
            elif self._text[place : place + 1] != closing:
                raise self.wrong(place)
        node.end = place + 1
        return node

    def _member(self, place: int, depth: int, is_object: bool) -> Member:
        if not is_object:
            return Member(None, place, self.value(place, depth + 1))
        match = _STRING.match(self._text, place)
        if match is None:
            raise self.wrong(place)
        colon = self.after_space(match.end())
        if self._text[colon : colon + 1] != ":":
            raise self.wrong(colon)
        key: str = json.loads(match.group())
        return Member(key, place, self.value(self.after_space(colon + 1), depth + 1))


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
    """Return the text with the entries, each once, and which objects and arrays had to be made for them.

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
    """Return the text without our entries and without the objects and arrays that were made for them and are empty now.

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
    """Return the entry as a member's text, inside the objects and the array that are missing around it."""
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
    """Return whether an empty object or array holds no comment either."""
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
    """Return what a value means; None for one with comments, which is never ours as we wrote it."""
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
