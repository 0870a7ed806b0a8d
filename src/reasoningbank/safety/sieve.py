r"""Tell which of many patterns may match a text, from words that every match of a pattern holds.

The words are read from the parsed pattern itself, so they cannot fall behind it. A pattern is a choice of ways; a match
by one way holds words of each of its clauses. A clause is a part of the pattern that matches a finite number of
strings: a match holds all runs of letters of one of them. Where a string begins or ends at the border of a word, so
does its run: ``\bturn`` is not in "return".

What is far apart is not in one match: a way has a width. Distances are counted so that a match is never wider than its
way: a word has at most sixty characters, as many as ``\w*`` is wide, and one blank stands between two words. What may
be repeated without end, as in ``(?:all |any )*``, is as wide as one of its strings: their words have no width.
"""

from __future__ import annotations

import importlib
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import accumulate
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
"""The four places of a piece: it begins its run or not, and ends it or not."""
_MOST_STRINGS = 200
_MOST_TIMES = 3
_MOST_IN_CLASS = 8
_MOST_KNOWN = 16_384
_LONGEST_WORD = 60
_LONGEST_SPACE = 3
_SHORT = 400
"""In a text of so few characters everything is near."""

Stretch = tuple[int, int]
"""The first character of a part of a text, and the one after its last."""


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
        width: How many characters a match has at most, where no word and no white space is long.
    """

    number: int
    trigger: int
    clauses: tuple[tuple[int, int, tuple[int, ...]], ...]
    width: float

    def may_match(self, there: int) -> bool:
        """Return whether a text with these pieces holds one string of every clause."""
        for needed, enough, wholes in self.clauses:
            if not there & needed:
                return False
            if not there & enough:
                for whole in wholes:
                    if there & whole == whole:
                        break
                else:
                    return False
        return True


class _Known(dict[str, int]):
    """A number for each word; for one that is asked for the first time it is found out.

    Short words are remembered.

    Args:
        find: Returns the number of a word.
    """

    def __init__(self, find: Callable[[str], int]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, word: str) -> int:
        number = self._find(word)
        if len(word) <= _LONGEST_WORD:
            if len(self) >= _MOST_KNOWN:
                self.clear()
            self[word] = number
        return number


class Reading(NamedTuple):
    """Hold what the words of a text say.

    Attributes:
        text: The text.
        words: What stands between white space, in lower case.
        held: For each word the bits of the pieces in it, and of the ways that these open.
        there: All these bits together.
        odd: Whether it has letters of other scripts that a pattern takes for ASCII; then its words were not read.
    """

    text: str
    words: list[str]
    held: list[int]
    there: int
    odd: bool

    def stretches(self, rows: Mapping[int, Sequence[tuple[int, int]]]) -> dict[int, list[Stretch]]:
        """Return rows of words, as first and behind the last, as stretches of the text."""
        if not rows:
            return {}
        ends = list(accumulate(map(len, self.words)))
        blanks = len(self.words) - 1
        if ends[-1] + blanks == len(self.text):
            ends.append(0)
            return {
                each: [(ends[first - 1] + first, ends[last - 1] + last - 1) for first, last in rows[each]]
                for each in rows
            }
        found = [match.span() for match in _TOKEN.finditer(self.text)]
        return {each: [(found[first][0], found[last - 1][1]) for first, last in rows[each]] for each in rows}


class Sieve:
    """Tell which of many patterns may match a text; those that it leaves out cannot.

    What a word holds is remembered, for texts repeat theirs.

    Args:
        patterns: Patterns that ignore case.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        ways = [(number, *way) for number, pattern in enumerate(patterns) for way in _ways(pattern)]
        pieces = sorted({piece for _, way, _ in ways for clause in way for string in clause for piece in string})
        self._bits = {piece: 1 << (len(ways) + place) for place, piece in enumerate(pieces)}
        self._triggers = (1 << len(ways)) - 1
        self._ways = [
            _Way(number, 1 << place, tuple(map(self._masks, way)), width)
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
        self._known_runs = _Known(self._in_run)
        self._known = _Known(self._in_word)
        self._numbers = range(len(patterns))
        weightless = frozenset().union(*(_repeated_words(_parser.parse(each)) for each in patterns))
        self._widths = _Known(lambda word: 0 if word in weightless else min(len(word), _LONGEST_WORD) + 1)

    def read(self, text: str) -> Reading:
        """Return what the words of a text hold."""
        if not text.isascii() and _ODD_CASE.search(text):
            return Reading(text, [], [], 0, odd=True)
        words = text.lower().split()
        held = list(map(self._known.__getitem__, words))
        return Reading(text, words, held, reduce(or_, held, 0), odd=False)

    def passed(self, reading: Reading) -> list[int]:
        """Return the numbers of the patterns that may match, in their order.

        The same holds for the text with stretches of it replaced by spaces: that makes no new run of letters or signs.
        """
        if reading.odd:
            return list(self._numbers)
        found = set(self._always)
        for way in self._opened(reading.there):
            if way.number not in found and way.may_match(reading.there):
                found.add(way.number)
        return sorted(found)

    def near(self, reading: Reading, numbers: Sequence[int]) -> dict[int, list[Stretch]]:
        """Return those of the patterns that may match this very text, and where, told by how near the words are.

        Args:
            reading: What the text itself holds.
            numbers: The numbers of the patterns to look for, in their order.

        Returns:
            By number, in that order, stretches of whole words; each match lies in one of them, and so does the word on
            either side of it.
        """
        if reading.odd or len(reading.text) < _SHORT:
            return {number: [(0, len(reading.text))] for number in numbers}
        held, there = reading.held, reading.there
        found = {number: [(0, len(held))] for number in numbers if number in self._always}
        ways = {way.trigger: way for way in self._opened(there) if way.number in numbers and way.may_match(there)}
        places: dict[int, list[int]] = {trigger: [] for trigger in ways}
        triggers = reduce(or_, ways, 0)
        for place, each in enumerate(held):
            if each & triggers:
                for trigger in _bits(each & triggers):
                    places[trigger].append(place)
        ends = list(accumulate(map(self._widths.__getitem__, reading.words))) if ways else []
        for trigger, way in ways.items():
            for first, last in _around(places[trigger], ends, way.width):
                if way.may_match(reduce(or_, held[first:last])):
                    found.setdefault(way.number, []).append((first, last))
        return reading.stretches({number: found[number] for number in numbers if number in found})

    def _opened(self, there: int) -> Iterator[_Way]:
        """Yield the ways of which a piece of the first clause is there."""
        for trigger in _bits(there & self._triggers):
            yield self._ways[trigger.bit_length() - 1]

    def _in_word(self, word: str) -> int:
        """Return what a word between white space holds."""
        held = 0
        for first in self._first_signs.intersection(word):
            for sign, among_digits, bits in self._signs[first]:
                if among_digits.search(word) if among_digits else sign in word:
                    held |= bits
        return reduce(or_, map(self._known_runs.__getitem__, _LETTERS.findall(word)), held)

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


def _bits(number: int) -> Iterator[int]:
    """Yield the bits that are set in a number, each as a number."""
    while number:
        lowest = number & -number
        yield lowest
        number ^= lowest


def _around(places: Sequence[int], ends: Sequence[int], width: float) -> Iterator[tuple[int, int]]:
    """Yield rows of words, as first and behind the last, in which all matches lie that touch one of these words.

    Words that stand close to each other share a row, so that all rows together are at most a few times the text.

    Args:
        places: The numbers of the words, ascending.
        ends: Where each word of the text ends, counted as the module says, with the blank behind it.
        width: How wide a match is at most.
    """
    if width == math.inf:
        yield from ((0, len(ends)) for _ in places[:1])
        return
    at = 0
    while at < len(places):
        first, start = places[at], ends[places[at]]
        while at + 1 < len(places) and ends[places[at + 1]] <= start + width:
            at += 1
        last = places[at]
        before = bisect_left(ends, (ends[first - 1] if first else 0) - width)
        behind = bisect_right(ends, ends[last] + width)
        yield max(0, before - 1), min(len(ends), behind + 2)
        at += 1


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
        return max(map(len, _whole_words(repeated)), default=math.inf)
    return math.inf


def _whole_words(parsed: Any) -> set[str]:
    """Return all strings that a part of a pattern matches when each ends with a blank; else nothing."""
    strings = _sequence(parsed) or set()
    return strings if all(string.endswith(" ") for string in strings) else set()


def _repeated_words(parsed: Any) -> set[str]:
    """Return the words of what a pattern repeats without end, which stand between blanks after the first time."""
    found: set[str] = set()
    for operation, argument in parsed:
        name = operation.name
        if name == "SUBPATTERN":
            found |= _repeated_words(argument[-1])
        elif name == "ATOMIC_GROUP":
            found |= _repeated_words(argument)
        elif name == "BRANCH":
            found = found.union(*map(_repeated_words, argument[1]))
        elif name in _REPEATS:
            endless = argument[1] is _parser.MAXREPEAT
            strings = _whole_words(argument[2]) if endless else set()
            found |= {word for string in strings for word in string.split()} | _repeated_words(argument[2])
    return found


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
