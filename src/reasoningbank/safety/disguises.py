r"""What a text hides: characters written as escapes, entities, percent signs, look-alikes or pieces, and encoded runs.

One unfolding serves both who look for prompt injections and who look for secrets. The second have to know where in the
text a secret stood, so every unfolded text can be asked for the origin of each of its stretches.

Only the lines around a disguise are unfolded; a text without any costs one look at its words.
"""

from __future__ import annotations

import binascii
import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence, Set
from functools import lru_cache
from typing import NamedTuple

from reasoningbank.safety.anchors import Word
from reasoningbank.safety.lookalikes import PLAIN

LEAST_ENCODED = 20
"""A word of fewer characters is not looked at as something encoded."""
_MOST_UNREADABLE = 0.05
_HEAD = 24
"""How many encoded characters tell whether the rest is worth decoding; a multiple of four."""
_REACH = 400
"""How many characters before a disguise are unfolded with it at most; four times as many after it."""
_ENCODED = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{20,}={0,2}")
_HEXADECIMAL = re.compile(r"(?<![0-9a-fA-F])(?:[0-9a-fA-F]{2}){16,}(?![0-9a-fA-F])")
_LEAST_HEXADECIMAL = 32
_SPACED_HEXADECIMAL = re.compile(r"[2-7][0-9a-fA-F](?:[ :][0-9a-fA-F]{2}){11,4096}(?![0-9a-fA-F])")
_ESCAPE = re.compile(
    r"\\+u(?:\{(?P<braced>[0-9a-fA-F]{1,6})\}|(?P<unicode>[0-9a-fA-F]{4}))|\\+U(?P<long>[0-9a-fA-F]{8})"
    r"|\\+x(?:\{(?P<perl>[0-9a-fA-F]{1,6})\}|(?P<hex>[0-9a-fA-F]{2}))|\\(?P<octal>[01][0-7]{2})"
    r"|(?P<percent>(?:%[0-9a-fA-F]{2})+)|(?P<entity>&(?:#\w{2,7}|\w{2,8});)"
    r"|(?P<joint>[\"'][ \t]{0,4}(?:\.\.|[+.,&|]{0,2})[ \t]{0,4}\\?\s{0,40}[+.]?[ \t]?[\"'])|(?P<letters>[^\x00-\x7f]+)"
)
_UNICODE = re.compile(r"\\+u\{?00[2-7]")
_MARKS = (
    ("\\u00", _UNICODE),
    ("\\u{", re.compile(r"\\+u\{")),
    ("\\U0000", re.compile(r"\\+U000000[2-7]")),
    ("\\x", re.compile(r"\\+x\{?[2-7][0-9a-fA-F]")),
    ("\\1", re.compile(r"\\1[0-7]{2}(?=\\)")),
    ("%", re.compile(r"%[2-7][0-9a-fA-F]")),
    ("&", re.compile(r"&(?:#\w{2,7}|quot|lt|gt|amp|apos|equals|colon);")),
)
"""What a disguise is known by: a sign that is cheap to look for, and how it goes on."""
_LIST = re.compile(r"\w{4,8}\((?:\[\]string)?\s?(?:[\"'][^\"'\n]{0,4}[\"'], ?)?[{\[(]?[ \t]{0,4}[\"']")
_END_OF_LIST = re.compile(r"[\"'][ \t]{0,4}\]\.join")
_LIST_SIGNS = ("join(", "Join(", "implode(", "oncat(", "ONCAT(", "str_c(", "paste0(")
_LIST_WORDS = ("join", "concat", "implode", "str_c", "paste0")
_LONE_LETTERS = ("q ", "z ", "j ", "w ", "k ")
"""Letters that stand alone in few texts; of a word whose letters stand apart two of them do."""
DISGUISE_WORDS = (*map(Word, _LIST_WORDS), *map(Word, _LONE_LETTERS))
"""The words without which no list is put together and no letters stand apart."""
_LISTED = re.compile(r"(?:join|concat|implode|str_c|paste0) ?\(", re.IGNORECASE)
"""The calls that put the pieces of a list together."""
_LINE_HEAD = re.compile(r"\n[ \t]{0,40}+(?:[+.&] ?)?[\"']\w")
_LINE_TAIL = re.compile(r"[\"'][ \t]{0,4}(?:\\|\.\.|[+.&])?\Z")
_LINE_TAIL_REACH = 8
_SPACED = re.compile(
    r"(?<![^\s\"'`=:(])[A-Za-z0-9_+/=.-](?P<joint>[ -])(?:[A-Za-z0-9_+/=.-](?P=joint)){14,256}+"
    r"[A-Za-z0-9_+/=.-](?![^\s\"'`.,;)])"
)
_SHELL_PAIR = re.compile(r"\$\{?[A-Za-z_]\w{0,30}\}?(?:\$\{?[A-Za-z_]\w{0,30}\}?)+")
_SHELL_NAME = re.compile(r"\w+")
_SHELL_VALUE = r"(?<![\w$]){name}=[\"']?(?P<value>[A-Za-z0-9_+/=.~!#*-]{{4,200}})"
_MOST_PIECES = 6
_SHELL_REACH = 1_000
_JOINTS = ('" "', "' '", '" .', "' .", '"."', "'.'")
_JOINT = re.compile(r"[\"'][ \t]{0,4}[+.]?[ \t]{0,4}[\"']\w")
_USUAL_SIGNS = bytes.maketrans(b"-_", b"+/")
_READABLE = bytes((*range(32, 127), 9, 10, 13))
_OTHER_LETTERS = re.compile(r"[^\x00-\x7f]+")
_LONGEST_WORD = 120


class Unfolded(NamedTuple):
    """A stretch of a text as it reads without its disguise.

    Attributes:
        text: How it reads.
        offset: Where the stretch begins in the text.
        starts: The offsets in ``text`` of what was unfolded, ascending.
        places: For each of these where it begins and ends in the stretch, and how long it is in ``text``.
    """

    text: str
    offset: int
    starts: Sequence[int]
    places: Sequence[tuple[int, int, int]]

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return where a stretch of the unfolded text stands in the whole text."""
        return self.offset + self._origin(start, last=False), self.offset + self._origin(end - 1, last=True)

    def _origin(self, position: int, *, last: bool) -> int:
        number = bisect_right(self.starts, position) - 1
        if number < 0:
            return position + last
        began, (start, end, length) = self.starts[number], self.places[number]
        if position < began + length:
            return end if last else start
        return end + position - began - length + last


def hidden_texts(text: str, long: str, there: Set[str]) -> Iterator[Unfolded]:
    """Yield what a text hides, each part with its origin.

    Args:
        text: The text.
        long: Its long words, one a line.
        there: The words of ``DISGUISE_WORDS`` that may be in it.
    """
    for start, end in _disguised(text, listed=not there.isdisjoint(_LIST_WORDS)):
        unfolded = unfold(text[start:end], start)
        if unfolded.starts:
            yield unfolded
    if sum(letter in there for letter in _LONE_LETTERS) > 1:
        yield from _spaced(text)
    for start, end, decoded in decoded_runs(text, long):
        yield Unfolded(decoded, start, (0,), ((0, end - start, len(decoded)),))


def unfold(text: str, offset: int = 0, *, letters: bool = True) -> Unfolded:
    """Return a text in plain characters: without escapes, entities and percent signs.

    Args:
        text: The text, or a stretch of one.
        offset: Where the stretch begins.
        letters: Whether to replace look-alike letters too, and to put pieces of strings together.
    """
    pieces: list[str] = []
    starts: list[int] = []
    places: list[tuple[int, int, int]] = []
    done = length = 0
    for match in _ESCAPE.finditer(text):
        if match.lastgroup in ("joint", "letters") and not letters:
            continue
        for start, end, plain in _plain(match):
            pieces += (text[done:start], plain)
            length += start - done
            starts.append(length)
            places.append((start, end, len(plain)))
            length += len(plain)
            done = end
    pieces.append(text[done:])
    return Unfolded("".join(pieces), offset, starts, places)


def _plain(match: re.Match[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the stretches of a match that read differently, and how."""
    start, end = match.span()
    found = match.group()
    kind = match.lastgroup
    if kind == "joint":
        if "," not in found or _LISTED.search(match.string, max(0, start - _REACH), end + _REACH) is not None:
            yield start, end, ""
    elif kind == "letters":
        for place, letter in enumerate(found, start):
            plain = plain_letter(letter)
            if plain != letter:
                yield place, place + 1, plain
    elif kind == "entity":
        if (plain := html.unescape(found)) != found:
            yield start, end, plain_letter(plain) if len(plain) == 1 else plain
    elif kind == "percent":
        raw = bytes.fromhex(found.replace("%", ""))
        if raw.isascii():
            for number, code in enumerate(raw):
                yield start + 3 * number, start + 3 * number + 3, chr(code)
        else:
            yield start, end, raw.decode("utf-8", "replace")
    elif kind is not None:
        code = int(match[kind], 8 if kind == "octal" else 16)
        if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
            yield start, end, plain_letter(chr(code))


@lru_cache(maxsize=4_096)
def plain_letter(letter: str) -> str:
    """Return a letter as the ASCII letter that it stands for or looks like, else as it is."""
    if letter.isascii():
        return letter
    plain = PLAIN.get(ord(letter)) or unicodedata.normalize("NFKC", letter)
    return plain if plain.isascii() and len(plain) == 1 else letter


def _disguised(text: str, *, listed: bool) -> Iterator[tuple[int, int]]:
    """Yield the stretches around what looks like a disguise: its line, and no further than a few hundred characters."""
    marks: list[int] = []
    first = [character for character in "\\%&" if character in text]
    for sign, pattern in _MARKS if first else ():
        if sign[0] in first and sign in text:
            marks += [match.start() for match in pattern.finditer(text)]
    if ('"' in text or "'" in text) and ("+" in text or _has_joint(text)):
        marks += [match.start() for match in _JOINT.finditer(text)]
    if not text.isascii():
        marks += _masked_words(text)
    if listed:
        for sign in _LIST_SIGNS:
            position = text.find(sign)
            while position >= 0:
                if _LIST.match(text, position) is not None:
                    marks.append(position)
                position = text.find(sign, position + 1)
        if "].join" in text:
            marks += [match.start() for match in _END_OF_LIST.finditer(text)]
    lines: dict[int, int] = {}
    for head in _LINE_HEAD.finditer(text) if '"' in text or "'" in text else ():
        tail = _LINE_TAIL.search(text, max(0, head.start() - _LINE_TAIL_REACH), head.start())
        if tail is not None:
            lines[tail.start()] = head.end()
    marks += lines
    end = 0
    for mark in sorted(marks):
        if mark >= end:
            start = max(end, text.rfind("\n", max(0, mark - _REACH), mark) + 1, mark - _REACH)
            line_end = text.find("\n", lines.get(mark, mark), mark + 4 * _REACH)
            end = min(len(text), mark + 4 * _REACH) if line_end < 0 else line_end
            yield start, end


def _spaced(text: str) -> Iterator[Unfolded]:
    """Yield words whose characters stand apart, with a blank or a hyphen between each two."""
    for match in _SPACED.finditer(text):
        word = match.group()[::2]
        yield Unfolded(word, match.start(), (0,), ((0, match.end() - match.start(), len(word)),))


def shell_values(text: str) -> Iterator[tuple[str, Sequence[tuple[int, int]]]]:
    """Yield what a shell puts together from several variables of a text, and where the values of these stand."""
    if "$" not in text or "=" not in text:
        return
    for pair in _SHELL_PAIR.finditer(text):
        places: list[tuple[int, int]] = []
        for name in _SHELL_NAME.findall(pair.group())[:_MOST_PIECES]:
            start = max(0, pair.start() - _SHELL_REACH)
            value = re.compile(_SHELL_VALUE.format(name=name)).search(text, start, pair.start())
            if value is not None:
                places.append(value.span("value"))
        if len(places) > 1:
            yield "".join(text[start:end] for start, end in places), places


def _has_joint(text: str) -> bool:
    return any(joint in text for joint in _JOINTS)


def _masked_words(text: str) -> Iterator[int]:
    """Yield where words stand that are all ASCII once look-alikes are replaced."""
    done = 0
    for letters in _OTHER_LETTERS.finditer(text):
        if letters.start() >= done and any(map(_looks_plain, letters.group())):
            start, done = _word_around(text, letters)
            plain = "".join(map(plain_letter, text[start:done]))
            if plain.isascii():
                yield start


def _word_around(text: str, letters: re.Match[str]) -> tuple[int, int]:
    start, end = letters.span()
    least, most = max(0, start - _LONGEST_WORD), min(len(text), end + _LONGEST_WORD)
    while start > least and not text[start - 1].isspace():
        start -= 1
    while end < most and not text[end].isspace():
        end += 1
    return start, end


@lru_cache(maxsize=4_096)
def _looks_plain(letter: str) -> bool:
    return _is_plain(plain_letter(letter))


def _is_plain(character: str) -> bool:
    return character.isascii() and character.isalnum()


def may_be_in_pairs(text: str) -> bool:
    """Return whether letters may be written as pairs of hexadecimal digits that stand apart."""
    return (" 6" in text and " 7" in text) or (":6" in text and ":7" in text)


def decoded_runs(text: str, long: str) -> Iterator[tuple[int, int, str]]:
    """Yield what is encoded in base64 or in hexadecimal digits and reads as text, with its start and end.

    Args:
        text: The text.
        long: Its long words, one a line.
    """
    position = 0
    for run in _ENCODED.findall(long):
        decoded = "" if run.islower() else _decoded(run, _from_base64)
        if not decoded and len(run) >= _LEAST_HEXADECIMAL and (digits := _HEXADECIMAL.search(run)) is not None:
            decoded = _decoded(digits.group(), bytes.fromhex)
        if decoded:
            position = max(0, text.find(run, position))
            yield position, position + len(run), decoded
            position += len(run)
    for match in _SPACED_HEXADECIMAL.finditer(text) if may_be_in_pairs(text) else ():
        if decoded := _decoded(match.group().replace(":", " "), bytes.fromhex):
            yield match.start(), match.end(), decoded


def _decoded(run: str, decode: Callable[[str], bytes]) -> str:
    """Return an encoded run as text when nearly all of it is printable ASCII, else nothing; its head tells most."""
    try:
        head = decode(run[:_HEAD])
        if 4 * len(head.translate(None, _READABLE)) > len(head):
            return ""
        raw = decode(run)
    except (binascii.Error, ValueError):
        return ""
    if len(raw.translate(None, _READABLE)) > _MOST_UNREADABLE * len(raw):
        return ""
    return raw.decode("ascii", "replace")


def _from_base64(run: str) -> bytes:
    plain = run.encode().translate(_USUAL_SIGNS).rstrip(b"=")
    return binascii.a2b_base64(plain + b"=" * (-len(plain) % 4), strict_mode=True)
