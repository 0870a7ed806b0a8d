"""The words of the Cypher subset that a graph file may be written in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from reasoningbank.errors import InvalidInput

Kind = Literal["name", "quoted", "number", "sign", "end"]

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
  | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))
  | (?P<name>[^\W\d]\w*|`[^`]+`)
  | (?P<sign>->|<-|\+=|<>|<=|>=|[(){}\[\]:,.;=<>*|+\-$])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Token:
    """One word: names without back quotes, quoted texts without quotes and escapes."""

    kind: Kind
    text: str
    line: int


def tokens(text: str) -> Iterator[Token]:
    """The words of a file, comments left out, and an end.

    Raises:
        InvalidInput: At what is no word of the language; the message names the line.
    """
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise InvalidInput(f"line {line}: {text[position : position + 20]!r} is no part of the Cypher subset")
        kind, found = str(match.lastgroup), match.group()
        if kind == "quoted":
            yield Token("quoted", _ESCAPE.sub(_unescaped, found[1:-1]), line)
        elif kind == "name":
            yield Token("name", found.strip("`"), line)
        elif kind == "number":
            yield Token("number", found, line)
        elif kind == "sign":
            yield Token("sign", found, line)
        line += found.count("\n")
        position = match.end()
    yield Token("end", "", line)


def _unescaped(match: re.Match[str]) -> str:
    escape = match.group(1)
    if len(escape) > 1:
        return chr(int(escape[1:], 16))
    return _ESCAPED.get(escape, escape)
