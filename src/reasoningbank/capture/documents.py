"""A JSON document read piece by piece: the elements of its arrays one at a time, never the whole of it."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from reasoningbank.capture.lines import value_of
from reasoningbank.capture.session import Skipped

MAX_ELEMENT = 16 * 1024 * 1024
"""Most characters of one element of an array or value of a key; a longer one is passed over unread."""
_CHUNK = 256 * 1024
_MAX_BROKEN = 100
_SPACE = re.compile(r"[ \t\r\n\ufeff]*")
_BETWEEN = re.compile(r"[ \t\r\n,]*")
_STRUCTURE = re.compile(r"[\"\[\]{}]")
_STRING = re.compile(r"[^\"\\]*(?:\\.[^\"\\]*)*", re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}:\[{\"]*")


class Part(NamedTuple):
    """A piece of a document.

    Attributes:
        key: The key of the top object it belongs to; empty in a top array.
        place: The number in its array from 1; 0 for the value of a key that is no array.
        value: The piece.
    """

    key: str
    place: int
    value: object


def parts(stream: BinaryIO) -> Iterator[Part | Skipped]:
    """The pieces of a document that is an object or an array, in their order.

    Every array that is a value of the top object is taken apart too. A piece that cannot be read, and an end of the
    file in the middle, are ``Skipped``; what came before counts.
    """
    document = _Document(stream)
    try:
        first = document.peek()
        if first == "[":
            yield from _elements(document, "")
        elif first == "{":
            yield from _members(document)
        else:
            yield Skipped(0, "the file is neither an object nor an array of JSON")
    except EOFError:
        yield Skipped(document.place, "the file ends in the middle")


def _members(document: _Document) -> Iterator[Part | Skipped]:
    document.step()
    broken = 0
    while document.peek(_BETWEEN) != "}":
        if broken >= _MAX_BROKEN:
            yield Skipped(0, "too much of it is broken; the rest was not read")
            return
        key = _read(document, document.value())
        if not isinstance(key, str) or document.peek() != ":":
            broken += 1
            yield Skipped(0, "a key of the object cannot be read")
            continue
        document.step()
        if document.peek() == "[":
            yield from _elements(document, key)
            continue
        value = _read(document, document.value())
        if isinstance(value, Skipped):
            broken += 1
            yield value
        else:
            yield Part(key, 0, value)


def _elements(document: _Document, key: str) -> Iterator[Part | Skipped]:
    document.step()
    document.place = broken = 0
    while document.peek(_BETWEEN) != "]":
        document.place += 1
        value = _read(document, document.value())
        if isinstance(value, Skipped):
            broken += 1
            yield value
            if broken >= _MAX_BROKEN:
                yield Skipped(document.place, "too much of it is broken; the rest was not read")
                return
        else:
            yield Part(key, document.place, value)
    document.step()
    document.place = 0


def _read(document: _Document, text: str | None) -> object | Skipped:
    if text is None:
        return Skipped(document.place, f"it is longer than {MAX_ELEMENT // 1024 // 1024} Mi characters")
    return value_of(text, document.place)


class _Document:
    """The text of a file with a position; no more is held than one piece."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._text = ""
        self._position = 0
        self._ended = False
        self.place = 0

    def peek(self, over: re.Pattern[str] = _SPACE) -> str:
        """The next character after what may be passed over."""
        while True:
            self._position = _end(over, self._text, self._position)
            if self._position < len(self._text):
                return self._text[self._position]
            self._more(self._position)

    def step(self) -> None:
        """Passes over one character."""
        self._position += 1

    def value(self) -> str | None:
        """The text of the next value, without checking it; None when it is too long."""
        self.peek()
        pieces: list[str] = []
        length = depth = 0
        position = start = self._position
        scalar = self._text[start] not in '[{"'
        quoted = False
        while True:
            done = cut = False
            if quoted:
                position = _end(_STRING, self._text, position)
                cut = self._text.startswith("\\", position)
                if self._text.startswith('"', position):
                    position, quoted = position + 1, False
                    done = depth == 0
            elif scalar:
                position = _end(_SCALAR, self._text, position)
                position = position if length else max(position, start + 1)
                done = position < len(self._text)
            else:
                found = _STRUCTURE.search(self._text, position)
                position = len(self._text) if found is None else found.end()
                if found is not None:
                    character = found.group()
                    quoted = character == '"'
                    depth += (character in "[{") - (character in "]}")
                    done = depth == 0 and not quoted
            if done:
                break
            if cut or position >= len(self._text):
                taken = self._text[start:position]
                length += len(taken)
                if length <= MAX_ELEMENT:
                    pieces.append(taken)
                else:
                    pieces.clear()
                self._more(position)
                position = start = 0
        taken = self._text[start:position]
        self._position = position
        return None if length + len(taken) > MAX_ELEMENT else "".join([*pieces, taken])

    def _more(self, used: int) -> None:
        if self._ended:
            raise EOFError
        chunk = self._stream.read(_CHUNK)
        self._ended = not chunk
        self._text = self._text[used:] + self._decode(chunk, final=self._ended)
        self._position = 0
        if self._ended and not self._text:
            raise EOFError


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return position if match is None else match.end()
