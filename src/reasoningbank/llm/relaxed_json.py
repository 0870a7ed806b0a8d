"""Reads JSON as language models write it, without a guess about what it says.

Forgiven are the slips that leave one meaning: single or curly quotes, keys without quotes, commas that are missing at
the end of a line or stand before a closing bracket, commas and colons of full width, comments, three quotes around a
text, Python's ``True``, ``False`` and ``None``, numbers such as ``.9`` and ``90%``, escapes that JSON does not know,
and quotes inside a text that were not escaped. Where a text ends too early, what was complete is given back and said to
be cut.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DEEPEST = 40
"""Brackets within brackets that are followed."""

_CLOSING = {'"': '"', "'": "'", "\u201c": "\u201d", "\u201e": "\u201d", "\u2018": "\u2019"}
_LOW, _HIGH = "\u201e", "\u201c\u201d"
"""A low opening mark is closed by either of these."""
_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_MARKDOWN = "_*`#~[]()<>!-+.|{}$&"
_SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|#[^\n]*)*", re.DOTALL)
_NUMBER = re.compile(r"-?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?(?![\w.%])")
_SHARE = re.compile(r"\d{1,3}(?:\.\d{1,6})?\s?%")
_WORD = re.compile(r"[A-Za-z_][\w-]{0,60}")
_NEXT_KEY = re.compile(r"[ \t]*\r?\n\s*[\"'\u201c]?[A-Za-z_][\w -]{0,60}[\"'\u201d]?\s*:")
_ENDS_TEXT = re.compile(r"\s*(?:[,:}\]\uff0c\uff1a\u3001]|\Z|//)")
_COMMAS, _COLONS = ",\uff0c\u3001", ":\uff1a"
_JOINED = re.compile(r"[\"'\u201d]\s*\+\s*[\"'\u201c]")
"""Two texts with a plus between them; or one text with quotes inside that were not escaped."""
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}


class UnreadableError(ValueError):
    """The text is no JSON, also with patience; ``place`` says where."""

    def __init__(self, place: int, what: str) -> None:
        super().__init__(what)
        self.place = place


class _CutError(Exception):
    """The text ended inside of a value."""


@dataclass(frozen=True, slots=True)
class Relaxed:
    """One value that was read.

    Attributes:
        value: The object or list.
        end: The place behind it.
        missing: What the text ended without: nothing, only the last closing ``bracket``, or more that was ``cut``.
        comments: The words of comments that stand in it.
    """

    value: dict[str, object] | list[object]
    end: int
    missing: str = ""
    comments: str = ""


def read_relaxed(text: str, start: int) -> Relaxed:
    """Return the object or list that begins at a place.

    Args:
        text: The whole answer.
        start: Where its bracket stands.

    Raises:
        UnreadableError: What stands there has no single meaning.
    """
    reader = _Reader(text, start)
    value = reader.container(0)
    return Relaxed(value, reader.place, reader.missing, " ".join(reader.comments))


class _Reader:
    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self.place = start
        self.missing = ""
        self.comments: list[str] = []

    def container(self, depth: int) -> dict[str, object] | list[object]:
        if depth > DEEPEST:
            raise UnreadableError(self.place, "the JSON is nested too deeply")
        opening = self._text[self.place]
        self.place += 1
        closing = "}" if opening == "{" else "]"
        pairs: dict[str, object] = {}
        values: list[object] = []
        continued = False
        while True:
            self._space()
            if self._at_end():
                self._lacks("cut" if depth or continued or opening == "[" else "bracket")
                break
            if self._text[self.place] == closing:
                self.place += 1
                break
            try:
                if opening == "{":
                    self._pair(pairs, depth)
                else:
                    values.append(self._value(depth))
            except _CutError:
                self._lacks("cut")
                break
            if self.missing:
                break
            continued = self._comma(closing)
        return pairs if opening == "{" else values

    def _pair(self, pairs: dict[str, object], depth: int) -> None:
        begun = self.place
        key = self._key()
        self._space()
        if self._at_end():
            raise _CutError
        if self._text[self.place] not in _COLONS:
            raise UnreadableError(self.place, "a colon is missing")
        self.place += 1
        self._space()
        if self._at_end():
            raise _CutError
        value = self._value(depth)
        if self.missing == "cut" and isinstance(value, dict) and depth > 0:
            raise _CutError
        if key in pairs and pairs[key] != value:
            raise UnreadableError(begun, f"{_shown(key)} has two values")
        pairs[key] = value

    def _key(self) -> str:
        if self._text[self.place] in _CLOSING:
            return self._string()
        word = _WORD.match(self._text, self.place)
        if word is None:
            raise UnreadableError(self.place, "a key is missing")
        self.place = word.end()
        return word.group()

    def _value(self, depth: int) -> object:
        character = self._text[self.place]
        if character in "{[":
            value = self.container(depth + 1)
            if self.missing == "cut" and depth > 0 and isinstance(value, dict):
                raise _CutError
            return value
        if character in _CLOSING:
            return self._string()
        if per_cent := _SHARE.match(self._text, self.place):
            self.place = per_cent.end()
            return per_cent.group()
        if number := _NUMBER.match(self._text, self.place):
            self.place = number.end()
            if self._at_end():
                raise _CutError
            written = number.group()
            return float(written) if re.search(r"[.eE]", written) else int(written)
        word = _WORD.match(self._text, self.place)
        if word is None:
            raise UnreadableError(self.place, "a value is missing")
        self.place = word.end()
        if self._at_end():
            raise _CutError
        if word.group() in _WORDS:
            return _WORDS[word.group()]
        if word.group() in {"NaN", "Infinity", "undefined"} or not _ENDS_TEXT.match(self._text, self.place):
            raise UnreadableError(word.start(), f"{_shown(word.group())} is not a JSON value")
        return word.group()

    def _string(self) -> str:
        opening = self._text[self.place]
        closing = _CLOSING[opening]
        if opening * 3 == self._text[self.place : self.place + 3] and opening in "\"'":
            return self._long_string(opening * 3)
        self.place += 1
        pieces: list[str] = []
        while not self._at_end():
            character = self._text[self.place]
            if (character == closing or (opening == _LOW and character in _HIGH)) and self._closes():
                self.place += 1
                return "".join(pieces)
            if character == closing and _JOINED.match(self._text, self.place):
                raise UnreadableError(self.place, "a text may go on behind a plus")
            if character == "\\":
                pieces.append(self._escape())
            else:
                pieces.append(character)
                self.place += 1
        raise _CutError

    def _long_string(self, mark: str) -> str:
        """Return what stands between three quotes and three quotes."""
        begun = self.place + len(mark)
        end = self._text.find(mark, begun)
        if end < 0:
            raise _CutError
        self.place = end + len(mark)
        return self._text[begun:end]

    def _closes(self) -> bool:
        """Return whether a quote ends the text: what follows is a mark of JSON, or a key on the next line."""
        behind = self.place + 1
        return _ENDS_TEXT.match(self._text, behind) is not None or _NEXT_KEY.match(self._text, behind) is not None

    def _escape(self) -> str:
        following = self._text[self.place + 1 : self.place + 2]
        if not following:
            raise _CutError
        if following == "u":
            digits = self._text[self.place + 2 : self.place + 6]
            if re.fullmatch(r"[0-9a-fA-F]{4}", digits):
                self.place += 6
                return chr(int(digits, 16))
        self.place += 2
        if following in _ESCAPES:
            return _ESCAPES[following]
        return following if following in _MARKDOWN else f"\\{following}"

    def _comma(self, closing: str) -> bool:
        """Pass over a comma, and return whether there was one."""
        begun = self.place
        self._space()
        if self._at_end() or self._text[self.place] == closing:
            return False
        if self._text[self.place] in _COMMAS:
            self.place += 1
            return True
        if "\n" not in self._text[begun : self.place] and self._text[self.place] not in "{[":
            raise UnreadableError(self.place, "a comma is missing")
        return False

    def _space(self) -> None:
        found = _SPACE.match(self._text, self.place)
        if found is not None:
            if comment := found.group().strip():
                self.comments.append(comment)
            self.place = found.end()

    def _at_end(self) -> bool:
        return self.place >= len(self._text)

    def _lacks(self, what: str) -> None:
        self.missing = self.missing or what


def _shown(word: str) -> str:
    """Return a word of an answer as an error may repeat it: a plain name, nothing else."""
    return f"the key {word!r}" if re.fullmatch(r"[A-Za-z_]{1,30}", word) else "a key"
