"""Our entries in a client's JSON file, comments and every other byte left as they are.

The json module reads the values and finds where they end; it sees the text with comments and trailing commas blanked
out, which moves nothing. So an entry can be put in and taken out without writing the rest again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from reasoningbank.errors import InvalidInput

NAME = "reasoningbank"
"""The name of our entry wherever a name is needed."""

HINT = "Correct the file; nothing was changed."
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|(?P<comment>//[^\n]*|/\*.*?\*/)", re.DOTALL)
_TRAILING = re.compile(rf"(?P<before>(?:{_STRING}|[\w\]}}])\s*),(?=\s*[\]}}])|{_STRING}", re.DOTALL)
_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder(parse_int=str)
_OUR_COMMAND = re.compile(
    r"(?:rbank|reasoningbank)(?:\.exe)?[\"'\\]*(?:\s*,\s*|\s+|\"args\"|[\s\":\[,])+[\"'\\]*(?:hook|statusline)[\"'\\]*[\s,\"'\]]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that is put into a JSON file.

    Attributes:
        path: The keys from the top to the object or array that it is put into.
        key: Its key; None for an element of an array.
        value: What it is.
        offered: Whether it is put only where nothing stands under its key; what others have put there stays.
    """

    path: tuple[str, ...]
    key: str | None
    value: object
    offered: bool = False


class _Member(NamedTuple):
    """A member of an object or an array: its key, where it begins, and where its value begins and ends."""

    key: str | None
    start: int
    value: int
    end: int


def put(text: str, entries: Sequence[Entry], *, known: bool) -> tuple[str, list[tuple[str, ...]]]:
    """Return the text with the entries, each once, and which objects and arrays had to be made for them.

    Args:
        text: The file's text.
        entries: What is to be there.
        known: Whether entries of ours that differ may be replaced: those that we have written ourselves.

    Raises:
        InvalidInput: When the text is not a JSON object or something else stands where the entry belongs.
    """
    made: list[tuple[str, ...]] = []
    for entry in entries:
        document = _Document(text)
        if (found := document.ours(entry)) is not None:
            if document.value(found[1]) == entry.value:
                continue
            if not known:
                raise InvalidInput(
                    f"there is an entry {entry.key or entry.path[-1]!r} for {NAME} that `rbank install` did not write",
                    hint="Remove it, or run `rbank uninstall` first.",
                )
            document = _Document(take(text, [entry], []))
        elif entry.offered and document.is_taken(entry):
            continue
        depth = next(size for size in range(len(entry.path), -1, -1) if document.find(entry.path[:size]) is not None)
        missing = entry.path[depth:]
        made += [entry.path[:size] for size in range(depth + 1, len(entry.path) + 1)]
        text = document.inserted(entry.path[:depth], _body(entry, missing), array=entry.key is None and not missing)
    return text, made


def take(text: str, entries: Sequence[Entry], made: Sequence[tuple[str, ...]] | None) -> str:
    """Return the text without our entries and without the objects and arrays that were made for them and are empty now.

    Args:
        text: The file's text.
        entries: What is taken out.
        made: Which objects and arrays were made for them; None when that is not known: then those go that hold nothing
            but an entry of ours.

    Raises:
        InvalidInput: When the text is not a JSON object.
    """
    document = _Document(text)
    emptied: list[tuple[str, ...]] = []
    for entry in entries:
        while (found := document.ours(entry)) is not None:
            document = _Document(document.removed(*found))
            emptied += [entry.path[:size] for size in range(1, len(entry.path) + 1)]
    for path in sorted(set(emptied if made is None else made), key=len, reverse=True):
        if document.is_empty(path):
            members = document.members(document.find(path[:-1]))
            member = next(member for member in members if member.key == path[-1])
            document = _Document(document.removed(members, member))
    return document.text


def holds(text: str, entry: Entry) -> bool:
    """Return whether an entry of ours is there, whatever it says.

    Raises:
        InvalidInput: When the text is not a JSON object.
    """
    return bool(text.strip()) and _Document(text).ours(entry) is not None


def value_of(text: str, entry: Entry) -> object:
    """Return what an entry of ours says now; None when there is none.

    Raises:
        InvalidInput: When the text is not a JSON object.
    """
    document = _Document(text)
    found = document.ours(entry)
    return None if found is None else document.value(found[1])


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


class _Document:
    """The text of a JSON object with comments, and where its members stand.

    Raises:
        InvalidInput: When it is not a JSON object, with the line.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._bare = _COMMENT.sub(_without_comment, text)
        self._plain = _TRAILING.sub(_without_comma, self._bare)
        try:
            value = json.loads(self._plain, parse_int=str, parse_constant=_refuse)
        except json.JSONDecodeError as error:
            raise InvalidInput(
                f"line {error.lineno} is not JSON", hint="Correct the file; nothing was changed."
            ) from error
        except (ValueError, RecursionError) as error:
            raise InvalidInput("the file is not JSON", hint=HINT) from error
        if not isinstance(value, dict):
            raise InvalidInput("the file does not hold a JSON object", hint=HINT)

    def find(self, path: Sequence[str]) -> int | None:
        """Return where the object or array at the path begins; None when it is not there."""
        place = _skip(self._plain, 0)
        for position, key in enumerate(path):
            if self._plain[place] != "{":
                raise _occupied(path[:position])
            member = self._member(place, key)
            if member is None:
                return None
            place = member.value
        if self._plain[place] not in "{[":
            raise _occupied(path)
        return place

    def members(self, place: int | None) -> list[_Member]:
        """Return the members of the object or array that begins there."""
        found: list[_Member] = []
        if place is None:
            return found
        keyed = self._plain[place] == "{"
        place = _skip(self._plain, place + 1)
        while self._plain[place] not in "]}":
            start, key = place, None
            if keyed:
                key, place = _DECODER.raw_decode(self._plain, place)
                place = _skip(self._plain, _skip(self._plain, place) + 1)
            end = _DECODER.raw_decode(self._plain, place)[1]
            found.append(_Member(key, start, place, end))
            place = _skip(self._plain, end)
            if self._plain[place] == ",":
                place = _skip(self._plain, place + 1)
        return found

    def value(self, member: _Member) -> object:
        """Return what a member means; None for one with comments, which is never ours as we wrote it."""
        try:
            return json.loads(self.text[member.value : member.end])
        except ValueError:
            return None

    def ours(self, entry: Entry) -> tuple[list[_Member], _Member] | None:
        """Return our entry and all members beside it; of an array's elements, the one that runs our hook."""
        place = self.find(entry.path)
        if place is None:
            return None
        members = self.members(place)
        if entry.key is not None:
            own = self._member(place, entry.key)
            theirs = own is not None and entry.offered and not _OUR_COMMAND.search(self.text[own.start : own.end])
            return None if own is None or theirs else (members, own)
        hooks = (one for one in members if _OUR_COMMAND.search(self.text[one.start : one.end]))
        hook = next(hooks, None)
        return None if hook is None else (members, hook)

    def is_taken(self, entry: Entry) -> bool:
        """Return whether something stands under the key of an entry."""
        place = self.find(entry.path)
        return place is not None and entry.key is not None and self._member(place, entry.key) is not None

    def is_empty(self, path: Sequence[str]) -> bool:
        """Return whether an object or array is there and holds nothing, no comment either."""
        place = self.find(path)
        return place is not None and self.text[_skip(self.text, place + 1)] in "]}"

    def inserted(self, path: Sequence[str], body: str, *, array: bool) -> str:
        """Return the text with a new first member, its further lines indented as the container's members are."""
        place = self.find(path)
        if place is None or (self._plain[place] == "[") is not array:
            raise _occupied(path)
        members = self.members(place)
        line_end = "\r\n" if "\r\n" in self.text else "\n"
        indent = self._indent(place, members)
        lines = f"{line_end}{indent}".join(body.split("\n"))
        opening = place + 1
        return f"{self.text[:opening]}{line_end}{indent}{lines}{',' if members else ''}{self.text[opening:]}"

    def removed(self, members: list[_Member], member: _Member) -> str:
        """Return the text without a member, its comma and the space before it; what ``inserted`` began with."""
        text, start, end = self.text, len(self.text[: member.start].rstrip()), member.end
        if len(self._bare[:start].rstrip()) < start:  # a comment, which the end of its line ends
            start = member.start
        index = members.index(member)
        if index:
            comma = _skip(self._plain, members[index - 1].end)
            return text[:comma] + text[comma + 1 : start] + text[end:]
        after = _skip(self._bare, end)
        if self._bare[after] != ",":
            return text[:start] + text[end:]
        return text[:start] + text[end:after] + text[after + 1 :]

    def _member(self, place: int, key: str) -> _Member | None:
        found = [one for one in self.members(place) if one.key == key]
        if len(found) > 1:
            raise InvalidInput(f"the key {key!r} is there {len(found)} times", hint="Remove all but one of them.")
        return found[0] if found else None

    def _indent(self, place: int, members: Sequence[_Member]) -> str:
        """Return the white space before the container's first member, or a level more than its own line has."""
        text = self.text
        if members:
            first = members[0].start
            line = text[text.rfind("\n", 0, first) + 1 : first]
            if not line.strip(" \t") and "\n" in text[place:first]:
                return line
        line = text[text.rfind("\n", 0, place) + 1 : place + 1]
        own = line[: len(line) - len(line.lstrip(" \t"))]
        return own + ("\t" if "\t" in own else "  ")


def _without_comment(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found.group()) if found["comment"] else found.group()


def _without_comma(found: re.Match[str]) -> str:
    return f"{found['before']} " if found["before"] else found.group()


def _skip(text: str, place: int) -> int:
    """Return the first place from there on that is not white space."""
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _occupied(path: Sequence[str]) -> InvalidInput:
    return InvalidInput(f"something else stands at {'.'.join(path) or 'the top'}", hint=HINT)
