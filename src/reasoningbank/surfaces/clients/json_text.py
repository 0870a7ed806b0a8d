"""JSON with comments as text: one member is put in or taken out and every other byte stays."""

from __future__ import annotations

import json
import re
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
        """The member of a key.

        Raises:
            InvalidInput: When there are several: it is not known which one counts.
        """
        found = [one for one in self.members if one.key == key]
        if len(found) > 1:
            raise InvalidInput(f"the key {key!r} is there {len(found)} times", hint="Remove all but one of them.")
        return found[0] if found else None


def parse(text: str) -> Node:
    """Where every value of the text stands; comments and trailing commas are allowed.

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
    """Puts ``"key": value`` or a value as the first member into an object or an array.

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
    """Takes a member out, with its comma and the space before it."""
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
    """The white space before the container's first member, or a level more than its own line has."""
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
        """The first place after white space and comments."""
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
