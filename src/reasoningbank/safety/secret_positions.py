"""Secrets that are known by where they stand: behind an option of a command, in a line of a configuration, in a call.

Which commands, lines and calls there are is data (``secret_positions.toml``). A command is cut into words as a shell
does it. ``shlex`` does not tell where a word stands, so an expression with the same quotes takes its place.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence, Set
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from reasoningbank.safety.anchors import Word
from reasoningbank.safety.secret_formats import SecretSpan, is_sample
from reasoningbank.safety.secret_values import (
    NAMES_A_SECRET,
    is_chosen,
    is_drawn,
    is_generated,
    is_reference,
    is_words_with_number,
)

RANK_POSITION = 5

_WORD = re.compile(r"(?:\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|\\\n|\\.|<\(|[^\s\"'|;&`\\])+")
_GAP = re.compile(r"(?:[ \t]|\\\n)+")
_MOST_WORDS = 60
_REACH = 1_200
_OPTION = re.compile(r"-|/[A-Za-z]+[:=]?\Z|<<<|[a-z]+=\Z")
_LINE_START = re.compile(r"(?:\A|\n)[ \t>#$;*+-]{0,12}\Z")
_FILE = re.compile(
    r"[\w./~-]+\.(?:pem|key|crt|cer|txt|json|ya?ml|toml|ini|cfg|conf|env|pub|p12|pfx|jks|asc|gpg|zip|tgz|gz|sql"
    r"|log|sh|py|js)\Z"
)
_PORT = re.compile(r"[0-9]{1,5}(?::[0-9]{1,5})*\Z")
_LITERAL = re.compile(r"[bBrRuUnN]{0,2}(?P<quote>[\"'`])(?P<literal>[^\"'`\n]{0,512})(?P=quote)")
_CALL_REACH = 400
_STARRED = re.compile(
    r"^(?:[\w.@\"-]{1,64}[ \t]{1,8}[\w.*-]{1,64}[ \t]{1,8}\"?(?P<chap>[^\s\"]{5,128})\"?[ \t]{1,8}"
    r"(?:\*|[0-9.]{7,15})[ \t]{0,4}$"
    r"|\[[\w.-]{3,80}\]:[0-9]{2,5}[ \t]{1,4}[^\s:]{1,80}:(?P<relay>[^\s:]{4,128})"
    r"|\*:\*:\*:[\w*.-]{1,64}:(?P<pgpass>[^\s:]{4,128})$)",
    re.MULTILINE,
)
"""Lines of CHAP secrets, of a password file of PostgreSQL and of relays, which have no word of their own."""


class _Place(NamedTuple):
    """Where in a command a secret stands.

    Attributes:
        words: What comes before it, in this order.
        option: The option that announces it; empty where its place among the words does.
        before: What stands before it in its own word.
        joined: Whether it stands in the word of the option.
        sign: A text without which a line cannot hold it; in lower case.
        named: Whether what stands before it in its word is the name of a secret.
    """

    words: tuple[str, ...]
    option: str
    before: re.Pattern[str] | None
    joined: bool
    sign: str
    named: bool


class _Command(NamedTuple):
    """A program, or the first word of lines.

    Attributes:
        places: Where its secrets stand.
        signs: One of these is in a line with a secret.
        line: Whether the name begins its line.
        plain: Whether a value of lower-case letters alone is a secret behind an option.
    """

    places: tuple[_Place, ...]
    signs: tuple[str, ...]
    line: bool
    plain: bool


class _Call(NamedTuple):
    """Tell which literal of a call is the secret; see the data file."""

    argument: int
    least: int


class _Piece(NamedTuple):
    """A word of a command with its place in the text."""

    text: str
    start: int


@cache
def _data() -> tuple[dict[str, tuple[_Command, ...]], dict[str, _Call]]:
    text = files("reasoningbank.safety").joinpath("secret_positions.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    commands: dict[str, tuple[_Command, ...]] = {}
    for entry in data["command"]:
        places = tuple(_place(secret) for secret in entry["secrets"])
        signs = tuple({place.sign for place in places})
        command = _Command(places, () if "" in signs else signs, entry.get("line", False), entry.get("plain", False))
        for name in entry["names"]:
            commands[f"{name} "] = (*commands.get(f"{name} ", ()), command)
    calls = {
        f"{name}(": _Call(entry["argument"], entry.get("least", 1)) for entry in data["call"] for name in entry["names"]
    }
    return commands, calls


def _place(secret: str) -> _Place:
    words = secret.split()
    number = next(number for number, word in enumerate(words) if "*" in word)
    lead, before = words[:number], words[number][:-1]
    joined = _OPTION.match(before) is not None
    option = before if joined else lead.pop() if lead and _OPTION.match(lead[-1]) else ""
    literal = "" if joined else before
    pattern = re.compile(_expression(literal)) if literal else None
    fixed = [word for word in (option, *lead) if word not in ("", "_", "?")]
    sign = max((word.replace("_", " ").split(" ")[0] for word in fixed), key=len, default="").lower()
    sign = sign or max(re.split("[_?]", literal), key=len)
    return _Place(tuple(lead), option, pattern, joined, sign, "?" in literal)


def _expression(literal: str) -> str:
    if literal == "=":
        return r"[A-Za-z_][\w.-]*="
    parts = re.split("([_?])", literal)
    return "".join(r"[^\s:,%]*?" if part == "_" else r"[\w./-]*?" if part == "?" else re.escape(part) for part in parts)


def position_words() -> Iterator[Word]:
    """Yield the words without which no secret is known by where it stands."""
    commands, calls = _data()
    yield from map(Word, commands)
    yield from map(Word, calls)


def find_positions(text: str, lowered: str, there: Set[str]) -> Iterator[SecretSpan]:
    """Yield the secrets of commands, of lines of configurations and of calls.

    Args:
        text: The text.
        lowered: The text in lower case, of the same length.
        there: The words that may be in it.
    """
    commands, calls = _data()
    for name in commands.keys() & there:
        position = lowered.find(name)
        while position >= 0:
            end = done = position + len(name) - 1
            if not position or _begins(text, position):
                for command in commands[name]:
                    if not command.line or _LINE_START.search(text, max(0, position - 14), position):
                        found, last = _secrets_of(text, lowered, end, command)
                        yield from found
                        done = max(done, last)
            position = lowered.find(name, done)
    starred = "*" in text and (" *\n" in text or "\t*" in text or "*:*:" in text or text.endswith(" *"))
    if starred or "]:" in text:
        for line in _STARRED.finditer(text):
            group = line.lastgroup or 0
            if is_chosen(line[group]) or is_generated(line[group]):
                yield SecretSpan(*line.span(group), "password", RANK_POSITION)
    for name in calls.keys() & there:
        position = lowered.find(name)
        while position >= 0:
            if not text[position - 1 : position].isalnum() or position == 0:
                yield from _secrets_of_call(text, position + len(name), calls[name])
            position = lowered.find(name, position + len(name))


def _begins(text: str, position: int) -> bool:
    """Return whether a name begins a word."""
    before = text[position - 1 : position]
    return not (before.isalnum() or before in ("_", "-", ".", "@", "=", ":"))


def _secrets_of(text: str, lowered: str, start: int, command: _Command) -> tuple[Sequence[SecretSpan], int]:
    """Return the secrets of the command whose name ends there, and where its words end."""
    stop = text.find("\n", start, start + _REACH)
    line = lowered[start : start + _REACH if stop < 0 or text[stop - 1] == "\\" else stop]
    if command.signs and not any(sign in line for sign in command.signs):
        return (), start
    words = _words(text, start)
    spans = [_found(words, place, plain=command.plain) for place in command.places if place.sign in line]
    found = [SecretSpan(*span, "command-line-password", RANK_POSITION) for span in spans if span is not None]
    return found, words[-1].start if words else start


def _words(text: str, position: int) -> Sequence[_Piece]:
    """Cut what follows a program into words, up to the end of the command."""
    words: list[_Piece] = []
    limit = min(len(text), position + _REACH)
    while len(words) < _MOST_WORDS:
        gap = _GAP.match(text, position, limit)
        if gap is None:
            break
        word = _WORD.match(text, gap.end(), limit)
        if word is None:
            break
        words.append(_Piece(word.group(), word.start()))
        position = word.end()
    return words


def _found(words: Sequence[_Piece], place: _Place, *, plain: bool) -> tuple[int, int] | None:
    """Return where the secret of a place stands, if the words have such a place."""
    for after in _after(words, place.words) if place.words else (0,):
        if place.option:
            for number in range(after if place.words else 0, len(words)):
                span = _of_option(words, number, place, plain=plain)
                if span is not None:
                    return span
            continue
        for piece in words[after:]:
            if piece.text.startswith("-") and piece.text != "-" and place.words:
                continue
            if piece.text.isdigit() and len(piece.text) == 1:
                continue
            span = _value(piece, place)
            if span is not None and _looks_secret(_text(piece, span), bound=place.before is not None):
                return span
            break
    return None


def _after(words: Sequence[_Piece], lead: Sequence[str]) -> Iterator[int]:
    """Yield behind which words a secret may stand: those that read like ``lead``; options may stand between them."""
    for first in range(len(words)):
        number, position = 0, first
        while number < len(lead) and position < len(words):
            piece, wanted = words[position], lead[number]
            if _matches(piece.text, wanted):
                number += 1
            elif number == 0 or not piece.text.startswith("-"):
                break
            position += 1
        if number == len(lead):
            yield position
        if lead[0] in ("_", "?"):
            return


def _matches(word: str, wanted: str) -> bool:
    if wanted == "_":
        return not word.startswith("-")
    word = word.strip("\"'").lower()
    if wanted == "?":
        return NAMES_A_SECRET.search(word) is not None
    if "_" in wanted:
        return re.match(_expression(wanted), word) is not None and word.startswith(wanted.split("_")[0])
    return word == wanted


def _of_option(words: Sequence[_Piece], number: int, place: _Place, *, plain: bool) -> tuple[int, int] | None:
    piece = words[number]
    option = place.option
    if place.joined:
        head = piece.text[: len(option)]
        if (head if option.startswith("-") else head.lower()) != option or len(piece.text) == len(option):
            return None
        span: tuple[int, int] | None = _unquoted(piece.text, len(option), piece.start)
    elif piece.text == option or (option[0] == "/" and piece.text.lower() == option):
        if number + 1 == len(words):
            return None
        span = _value(words[number + 1], place)
        piece = words[number + 1]
    elif piece.text.startswith(f"{option}=") or (
        place.before is not None and option[-2:-1] == "-" and piece.text.startswith(option)
    ):
        inner = piece.text[len(option) :].lstrip("=")
        moved = _Piece(inner, piece.start + len(piece.text) - len(inner))
        span = _value(moved, place)
        piece = moved
    else:
        return None
    if span is None:
        return None
    bound = plain or "pass" in option or "pw" in option or "secret" in option or place.before is not None
    return span if _is_given(_text(piece, span), plain=bound) else None


def _text(piece: _Piece, span: tuple[int, int]) -> str:
    return piece.text[span[0] - piece.start : span[1] - piece.start]


def _value(piece: _Piece, place: _Place) -> tuple[int, int] | None:
    """Return where the secret in a word stands: behind what comes before it, without quotes."""
    quote = piece.text[:1] in ("'", '"') and len(piece.text) > 1 and piece.text[-1] == piece.text[0]
    shift = 1 if quote else 0
    if place.before is None:
        return _unquoted(piece.text, 0, piece.start)
    match = place.before.match(piece.text, shift)
    if match is None or (place.named and NAMES_A_SECRET.search(match.group().lower()) is None):
        return None
    return _unquoted(piece.text, match.end(), piece.start, shift)


def _unquoted(word: str, start: int, offset: int, closing: int = 0) -> tuple[int, int] | None:
    end = len(word) - closing
    if end - start > 1 and word[start] in "\"'" and word[end - 1] == word[start]:
        start, end = start + 1, end - 1
    while end > start and word[end - 1] in ",.)":
        end -= 1
    return (offset + start, offset + end) if end > start else None


def _is_given(value: str, *, plain: bool) -> bool:
    """Return whether a value behind an option is a secret and no variable, file, port or word for one."""
    if len(value) < 4 or is_reference(value) or is_sample(value) or _FILE.match(value) or _PORT.match(value):
        return False
    if value.startswith(("-", "\\", "'$", '"$')) or "$(" in value or "${" in value or any(map(str.isspace, value)):
        return False
    return plain or is_drawn(value) or is_chosen(value) or is_words_with_number(value)


def _looks_secret(value: str, *, bound: bool) -> bool:
    """Return whether a word that has its place in a command looks like somebody's secret."""
    if len(value) < 5 or is_reference(value) or is_sample(value) or _FILE.match(value) or any(map(str.isspace, value)):
        return False
    return (
        is_chosen(value)
        or is_drawn(value)
        or (bound and any(map(str.isdigit, value)) and value.isalnum() and len(value) >= 6)
    )


def _secrets_of_call(text: str, start: int, call: _Call) -> Iterator[SecretSpan]:
    stop = min(len(text), start + _CALL_REACH)
    literals: list[re.Match[str]] = []
    depth, position = 1, start
    while position < stop and depth:
        character = text[position]
        if character in "\"'`":
            literal = _LITERAL.match(text, position)
            if literal is None:
                break
            literals.append(literal)
            position = literal.end()
            continue
        depth += (character in "([{") - (character in ")]}")
        position += 1
        if character == "\n" and depth == 1 and len(literals) == 0 and position - start > 120:
            break
    if len(literals) < call.least:
        return
    if call.argument == 0:
        for literal in literals:
            if is_generated(literal["literal"]):
                yield SecretSpan(*literal.span("literal"), "secret", RANK_POSITION)
        return
    for literal in literals[call.least - 1 :] if call.argument < 0 else literals[call.argument - 1 : call.argument]:
        if _looks_secret(literal["literal"], bound=False):
            yield SecretSpan(*literal.span("literal"), "password", RANK_POSITION)
