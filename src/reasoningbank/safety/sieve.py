r"""Tell which of many patterns may match a text, from words that every match of a pattern holds.

The words are read from the parsed pattern itself, so they cannot fall behind it. A pattern is a choice of ways; a match
by one way holds words of each of its clauses. A clause is a part of the pattern that matches a finite number of
strings: a match holds all runs of letters of one of them. Where a string begins or ends at the border of a word, so
does its run: ``\bturn`` is not in "return".

What is far apart is not in one match: a way has a width. Only ``(?:all |any )*`` and the like have none; ``\w*`` is as
wide as a word, and a text with a very long one is not looked at in this respect.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import Any, NamedTuple

_parser: Any = importlib.import_module("re._parser")
_ODD_CASE = re.compile("[\u0130\u0131\u017f\u212a]")
"""The letters outside ASCII that a pattern without regard to case takes for ASCII ones."""
_LETTERS = re.compile("[a-z]+")
_PIECES = re.compile(r"[a-z]+|[^a-z\s\0]+")
_TOKEN = re.compile(r"\S+")
_BORDER = "\0"
_DIGIT = "\1"
_FULL_STOP = "."
"""It is in nearly every text; the letters that follow it at once are not."""
_BETWEEN_DIGITS = re.compile("\1[^\1]\1")
_ASCII = {code: {chr(code).lower()} for code in range(1, 127)}
_CLASSES = {"CATEGORY_SPACE": " ", "CATEGORY_DIGIT": _DIGIT}
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_NARROW_CLASSES = frozenset({"CATEGORY_WORD", "CATEGORY_DIGIT", "CATEGORY_NOT_SPACE"})
_PLACES = ((True, True), (True, False), (False, True), (False, False))
"""Whether a piece begins and whether it ends its run."""
_MOST_STRINGS = 200
_MOST_TIMES = 3
_MOST_IN_CLASS = 8
_MOST_KNOWN = 16_384
_LONGEST_WORD = 60
_LONGEST_SPACE = 3
_FAR_APART = re.compile(rf"\S{{{_LONGEST_WORD + 1}}}|\s{{{_LONGEST_SPACE + 1}}}")
_STRETCH = 64
_SHORT = 400
"""In a text of so few characters everything is near."""


class _Piece(NamedTuple):
    """Letters or signs that a match holds.

    Attributes:
        text: In lower case; without spaces.
        starts, ends: Whether the letters begin or end a run of letters.
    """

    text: str
    starts: bool
    ends: bool


_String = frozenset[_Piece]
_Clause = frozenset[_String]


class _Way(NamedTuple):
    """One way in which a pattern matches.

    Attributes:
        number: The number of the pattern.
        trigger: The bit of the way itself, which pieces of its first clause bring along.
        clauses: For each a mask of pieces of which one has to be there, the part of it that is enough, and masks of
            which else one has to be there whole.
        stretches: Over how many stretches of a text a match reaches; zero for any number.
    """

    number: int
    trigger: int
    clauses: tuple[tuple[int, int, tuple[int, ...]], ...]
    stretches: int

    def may_match(self, there: int) -> bool:
        """Return whether a text with these pieces holds one string of every clause."""
        for needed, enough, wholes in self.clauses:
            if not there & needed:
                return False
            if not there & enough and not any(there & whole == whole for whole in wholes):
                return False
        return True


class Sieve:
    """Tell which of many patterns may match a text; those that it leaves out cannot.

    What a word holds is remembered, for texts repeat theirs.

    Args:
        patterns: Patterns that ignore case.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        ways = [(number, *way) for number, pattern in enumerate(patterns) for way in _ways(pattern)]
        pieces = sorted({piece for _, way, _ in ways for clause in way for string in clause for piece in string})
        self._bits = {piece: 1 << place for place, piece in enumerate(pieces)}
        self._first_way = len(pieces)
        self._ways = [
            _Way(number, 1 << (len(pieces) + place), tuple(map(self._masks, way)), _stretches(width))
            for place, (number, way, width) in enumerate(ways)
        ]
        self._always = [number for number, way, _ in ways if not way]
        held = dict(self._bits)
        for place, (_, way, _) in enumerate(ways):
            for string in way[0] if way else ():
                held[min(string, key=_commonness)] |= self._ways[place].trigger
        self._signs: dict[str, list[tuple[str, re.Pattern[str] | None, int]]] = {}
        for piece, bits in held.items():
            if not _LETTERS.fullmatch(piece.text):
                among_digits = _with_digits(piece.text) if _DIGIT in piece.text else None
                sign = (piece.text, among_digits, bits)
                self._signs.setdefault(piece.text.strip(_DIGIT)[0], []).append(sign)
        self._first_signs = frozenset(self._signs)
        self._letters: dict[tuple[bool, bool], dict[str, int]] = {}
        for piece, bits in held.items():
            self._letters.setdefault((piece.starts, piece.ends), {})[piece.text] = bits
        self._longest = max(map(len, (piece.text for piece in pieces)), default=0)
        self._known_runs: dict[str, int] = {}
        self._known: dict[str, int] = {}
        self._all = list(range(len(patterns)))

    def passed(self, text: str) -> list[int]:
        """Return the numbers of the patterns that may match, in their order.

        The same holds for the text with stretches of it replaced by spaces: that makes no new run of letters or signs.
        """
        if _ODD_CASE.search(text):
            return list(self._all)
        lowered = text.lower()
        there = 0
        known = self._known
        for token in set(lowered.split()):
            held = known.get(token)
            if held is None:
                held = self._learn(token)
            if held:
                there |= held
        opened = there >> self._first_way
        found = set(self._always)
        while opened:
            lowest = opened & -opened
            opened ^= lowest
            way = self._ways[lowest.bit_length() - 1]
            if way.number not in found and way.may_match(there):
                found.add(way.number)
        return sorted(found)

    def near(self, text: str, numbers: Sequence[int]) -> list[int]:
        """Return those of the patterns that may match this very text, told by how near to each other the words are."""
        if not numbers or len(text) < _SHORT or _ODD_CASE.search(text) or _FAR_APART.search(text):
            return list(numbers)
        lowered = text.lower()
        stretches = [0] * (len(lowered) // _STRETCH + 1)
        for token in _TOKEN.finditer(lowered):
            held = self._known.get(token.group())
            if held is None:
                held = self._learn(token.group())
            if held:
                stretches[token.start() // _STRETCH] |= held
        together = {1: stretches}
        (everything,) = _together(together, len(stretches))
        found = set(self._always)
        for way in self._ways:
            if way.number in numbers and way.number not in found and everything & way.trigger:
                size = min(way.stretches or len(stretches), len(stretches))
                if way.may_match(everything) and any(
                    there & way.trigger and way.may_match(there) for there in _together(together, size)
                ):
                    found.add(way.number)
        return [number for number in numbers if number in found]

    def _learn(self, token: str) -> int:
        """Return what a word between white space holds; a short one with letters is remembered."""
        held = 0
        for first in self._first_signs.intersection(token):
            for sign, among_digits, bits in self._signs[first]:
                if among_digits.search(token) if among_digits else sign in token:
                    held |= bits
        runs = _LETTERS.findall(token)
        if not runs:
            return held
        for run in runs:
            bits = self._known_runs.get(run, -1)
            held |= self._remembered(self._known_runs, run, self._in_run(run)) if bits < 0 else bits
        return self._remembered(self._known, token, held)

    @staticmethod
    def _remembered(known: dict[str, int], text: str, held: int) -> int:
        if len(text) <= _LONGEST_WORD:
            if len(known) >= _MOST_KNOWN:
                known.clear()
            known[text] = held
        return held

    def _in_run(self, run: str) -> int:
        """Return the pieces of letters that a run of letters holds."""
        whole, first, last, inner = (self._letters.get(each, {}) for each in _PLACES)
        held = whole.get(run, 0)
        sizes = range(1, min(self._longest, len(run)) + 1)
        for size in sizes:
            held |= first.get(run[:size], 0) | last.get(run[-size:], 0)
        for start in range(len(run)):
            for size in sizes:
                held |= inner.get(run[start : start + size], 0)
        return held

    def _masks(self, clause: _Clause) -> tuple[int, int, tuple[int, ...]]:
        """Return the bits of the rarest piece of each string, of strings of one piece, and of each other string."""
        needed = reduce(or_, (self._bits[min(string, key=_commonness)] for string in clause))
        enough = reduce(or_, (self._bits[piece] for string in clause if len(string) == 1 for piece in string), 0)
        wholes = [reduce(or_, (self._bits[piece] for piece in string)) for string in clause if len(string) > 1]
        return needed, enough, tuple(dict.fromkeys(wholes))


def _together(known: dict[int, list[int]], size: int) -> list[int]:
    """Return what each row of so many neighbours holds; smaller rows are remembered."""
    if size not in known:
        half = size // 2
        first, second = _together(known, half), _together(known, size - half)
        known[size] = [first[place] | second[place + half] for place in range(len(second) - half)]
    return known[size]


def _stretches(width: float) -> int:
    """Return over how many stretches the tokens begin that a match of this width touches."""
    return 0 if width == math.inf else int(width + _LONGEST_WORD) // _STRETCH + 2


def _ways(pattern: str) -> list[tuple[list[_Clause], float]]:
    """Return for each alternative of a pattern its clauses, the one that rules out most first, and its width."""
    parsed = list(_parser.parse(pattern, re.IGNORECASE))
    places = [place for place, (operation, _) in enumerate(parsed) if operation.name == "BRANCH"]
    sequences = [parsed]
    if places:
        widest = max(places, key=lambda place: len(parsed[place][1][1]))
        sequences = [[*parsed[:widest], *branch, *parsed[widest + 1 :]] for branch in parsed[widest][1][1]]
    return [(sorted(_clauses(each), key=_worth, reverse=True), _width(each)) for each in sequences]


def _clauses(parsed: Sequence[tuple[Any, Any]]) -> list[_Clause]:
    """Return what every match of a sequence holds."""
    found: list[_Clause] = []
    place = 0
    while place < len(parsed):
        strings, after = {""}, place
        while after < len(parsed):
            longer = _joined(strings, _strings(*parsed[after]))
            if longer is None:
                break
            strings, after = longer, after + 1
        if after > place:
            clause = frozenset(_pieces(string) for string in strings)
            if all(clause):
                found.append(clause)
            place = after
            continue
        operation, argument = parsed[place]
        name = operation.name
        if name == "SUBPATTERN":
            found += _clauses(argument[-1])
        elif name == "ATOMIC_GROUP":
            found += _clauses(argument)
        elif name == "BRANCH":
            found += _united([_clauses(branch) for branch in argument[1]])
        elif name in _REPEATS and argument[0] > 0:
            found += _clauses(argument[2])
        place += 1
    return found


def _strings(operation: Any, argument: Any) -> set[str] | None:
    """Return all strings that a part of a pattern matches, a border of words as NUL; None when they are too many.

    What looks around matches as much as nothing. White space is a space.
    """
    name = operation.name
    if name == "LITERAL":
        return _ASCII.get(argument)
    if name == "IN":
        return _class(argument)
    if name == "AT":
        return {""} if argument.name == "AT_NON_BOUNDARY" else {_BORDER}
    if name in {"ASSERT", "ASSERT_NOT"}:
        return {""}
    if name == "SUBPATTERN":
        return _sequence(argument[-1])
    if name == "ATOMIC_GROUP":
        return _sequence(argument)
    if name == "BRANCH":
        branches = [_sequence(branch) for branch in argument[1]]
        return set().union(*filter(None, branches)) if all(branches) else None
    if name in _REPEATS:
        least, most, repeated = argument
        strings = _sequence(repeated)
        if strings == {" "}:
            return {" "} if least else {"", " "}
        if strings is not None and most <= _MOST_TIMES:
            return _repeated(strings, least, most)
    return None


def _repeated(strings: set[str], least: int, most: int) -> set[str] | None:
    found: set[str] = set()
    times: set[str] | None = {""}
    for number in range(most + 1):
        if times is None:
            return None
        if number >= least:
            found |= times
        times = _joined(times, strings)
    return found


def _with_digits(sign: str) -> re.Pattern[str]:
    return re.compile(r"\d".join(map(re.escape, sign.split(_DIGIT))))


def _class(members: Iterable[tuple[Any, Any]]) -> set[str] | None:
    found: set[str] = set()
    for operation, argument in members:
        if operation.name == "LITERAL" and 0 < argument < 127:
            found.add(chr(argument).lower())
        elif str(argument) in _CLASSES:
            found.add(_CLASSES[str(argument)])
        else:
            return None
    return found if len(found) <= _MOST_IN_CLASS else None


def _sequence(parsed: Any) -> set[str] | None:
    strings: set[str] | None = {""}
    for part in parsed.data:
        strings = _joined(strings, _strings(*part))
        if strings is None:
            return None
    return strings


def _joined(strings: set[str] | None, following: set[str] | None) -> set[str] | None:
    if strings is None or following is None or len(strings) * len(following) > _MOST_STRINGS:
        return None
    if len(strings) == 1:
        (first,) = strings
        return {first + second for second in following}
    return {first + second for first in strings for second in following}


def _width(parsed: Iterable[tuple[Any, Any]]) -> float:
    """Return how many characters a match has at most, where no word and no white space is long."""
    return sum(_width_of(operation.name, argument) for operation, argument in parsed)


def _width_of(name: str, argument: Any) -> float:
    if name in {"LITERAL", "NOT_LITERAL", "ANY", "IN"}:
        return 1
    if name in {"AT", "ASSERT", "ASSERT_NOT"}:
        return 0
    if name == "SUBPATTERN":
        return _width(argument[-1])
    if name == "ATOMIC_GROUP":
        return _width(argument)
    if name == "BRANCH":
        return max(map(_width, argument[1]))
    if name in _REPEATS:
        _, most, repeated = argument
        if most is not _parser.MAXREPEAT:
            return int(most) * _width(repeated)
        kinds = {_kind(*part) for part in repeated}
        if len(repeated) == 1 and kinds <= {"word", "space"}:
            return _LONGEST_WORD if kinds == {"word"} else _LONGEST_SPACE
    return math.inf


def _kind(operation: Any, argument: Any) -> str:
    """Return "space" or "word" for a part that matches one character, of white space or surely not; else nothing."""
    if operation.name != "IN":
        return ""
    kinds: set[str] = set()
    for member, value in argument:
        name = str(member)
        if str(value) == "CATEGORY_SPACE":
            kinds.add("space")
        elif str(value) in _NARROW_CLASSES:
            kinds.add("word")
        elif name == "LITERAL":
            kinds.add("space" if chr(value).isspace() else "word")
        elif name == "RANGE" and not any(chr(code).isspace() for code in range(value[0], value[1] + 1)):
            kinds.add("word")
        else:
            return ""
    return kinds.pop() if len(kinds) == 1 else ""


@lru_cache(maxsize=4_096)
def _pieces(string: str) -> _String:
    """Return the runs of letters and of signs that a string holds."""
    return frozenset(_pieces_in(string))


def _pieces_in(string: str) -> Iterator[_Piece]:
    with_letters = _LETTERS.search(string) is not None
    for match in _PIECES.finditer(string):
        if _LETTERS.fullmatch(match.group()):
            yield _Piece(match.group(), match.start() > 0, match.end() < len(string))
            if string[: match.start()].rstrip(_BORDER).endswith(_FULL_STOP):
                yield _Piece(_FULL_STOP + match.group(), starts=False, ends=False)
        else:
            signs = match.group()
            between = _BETWEEN_DIGITS.search(signs)
            for part in [between.group()] if between else signs.split(_DIGIT):
                if part and not (part.isdigit() and with_letters):
                    yield _Piece(part, starts=False, ends=False)


def _united(branches: Sequence[Sequence[_Clause]]) -> list[_Clause]:
    """Return the one clause that holds whichever branch matches, if there is one."""
    if not all(branches):
        return []
    return [frozenset(string for branch in branches for string in max(branch, key=_worth))]


def _worth(clause: _Clause) -> tuple[int, int]:
    """Rank clauses: long words rule out most, few strings are looked for fastest."""
    return min(max(map(_length, string)) for string in clause), -len(clause)


@lru_cache(maxsize=2_048)
def _length(piece: _Piece) -> int:
    if piece.text[-1].isalpha():
        return min(4, len(piece.text)) + piece.starts + piece.ends
    return min(2, len(piece.text))


@lru_cache(maxsize=2_048)
def _commonness(piece: _Piece) -> tuple[int, int, str]:
    """Rank the pieces of a string: the longest is the rarest."""
    return -_length(piece), -len(piece.text), piece.text
