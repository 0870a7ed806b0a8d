"""The lexical leg: BM25 over SQLite's FTS5 index, rare terms first within a budget of postings.

An OR over every word of a long query reads half the index (139 ms at 100,000 memories); its rare words decide the
ranking. Terms are taken from the rarest on until their postings exceed the budget (spec/engines_models, BM25 leg).

The scores are those of FTS5's own ``bm25()``, to the bit. That function reads every posting twice and the length of
every text from the file; here postings are read once and the lengths are held in memory, which takes a third of the
time. The format of the lengths is documented by SQLite (FTS5, section 9); averages follow from them.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, cast

import apsw
import numpy
from numpy.typing import NDArray

from reasoningbank.storage.rows import Row, Value, decoding
from reasoningbank.storage.search_sql import KEYS, PLACES, POSTINGS_SQL
from reasoningbank.storage.sqlite_connection import MEMORY_TEXT, TextIndex
from reasoningbank.storage.vector_search import Columns, Places
from reasoningbank.types.records import LexicalTerm

POSTINGS_BUDGET = 4_000
"""Postings read for one query, unless its rarest term alone has more. On ten thousand real questions a budget of 4,000
costs 0.4 points of nDCG@10 against reading everything, 3,000 costs 2.0 points."""
MAX_TERMS = 64
SATURATION = 1.2
"""BM25's k1: how fast a repeated word stops counting. The three constants are those of SQLite's FTS5."""
LENGTH_WEIGHT = 0.75
"""BM25's b: how much a long text is discounted."""
FUNCTION_WORDS = 0.5
"""The part of their worth that function words add. Left out they cost 3 points of nDCG@10 where questions follow a
pattern ("tell me the ... of"); in full they outweigh what is asked about."""
LEAST_RARITY = 1e-6
"""The worth of a word that more than half of the texts hold."""

RunSql = Callable[[str, Sequence[Value]], Sequence[Row]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contexts:
    """Where in a memory's words those of its description stand, by the memory's place in the columns.

    Attributes:
        starts: How many words come before them.
        counts: How many they are; 0 for a memory without a description.
    """

    starts: NDArray[numpy.int32]
    counts: NDArray[numpy.int32]


NO_CONTEXTS = Contexts(starts=numpy.empty(0, dtype=numpy.int32), counts=numpy.empty(0, dtype=numpy.int32))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Every memory that matches a query, best first: BM25 as a positive number, ties by age.

    Attributes:
        places: The memories, counted by age.
        scores: BM25 of the terms, with what function words add.
        added: What function words add.
        terms: The terms that are not function words.
    """

    places: NDArray[numpy.int64]
    scores: NDArray[numpy.float64]
    added: NDArray[numpy.float64]
    terms: tuple[LexicalTerm, ...]


def measured(rows: Sequence[Row], columns: Columns, known: NDArray[numpy.int32]) -> NDArray[numpy.int32]:
    """Return how many words the text of each memory has, by the memory's place in the columns.

    Args:
        rows: Keys, and their entries in the text index's table of sizes.
        columns: The memories.
        known: The lengths so far; not changed.
    """
    return placed([(row[0], words_of(row[1])) for row in rows], columns, known)


def placed(
    numbers: Sequence[tuple[Value, Value]], columns: Places, known: NDArray[numpy.int32]
) -> NDArray[numpy.int32]:
    """Return the numbers of all items by their places: those that are known, then the given ones by key."""
    found = numpy.zeros(len(columns.keys), dtype=numpy.int32)
    found[: len(known)] = known
    keys = numpy.array([key for key, _ in numbers], dtype=numpy.int64)
    values = numpy.array([number for _, number in numbers], dtype=numpy.int32)
    places, held = columns.found(keys)
    found[places] = values[held]
    return found


def words_of(size: Value) -> int:
    """Return how many words a text has whose entry in a text index's table of sizes this is."""
    return _numbers(cast(bytes, size))[0]


def size_of(words: int) -> bytes:
    """Return the inverse of words_of."""
    parts = [words & 127]
    while words := words >> 7:
        parts.append(words & 127 | 128)
    return bytes(reversed(parts))


def rank(
    run: RunSql,
    text: str,
    places: Callable[[NDArray[numpy.int64]], NDArray[numpy.int64]],
    words: NDArray[numpy.int32],
    documents: int,
    index: TextIndex = MEMORY_TEXT,
    function_words: str = "",
    counts: MutableMapping[str, int] | None = None,
) -> Ranking:
    """Return the ranking of a query.

    Args:
        run: Reads the bank.
        text: The query.
        places: Finds the places of memories by their keys.
        words: How many words the text at each place has; 0 where the text is gone.
        documents: How many texts there are.
        index: The text index; the connection has its vocabulary.
        function_words: Words of the query that count half and alone make nothing match.
        counts: How many texts hold a function word, as far as it is known of this state of the bank; more is added.
    """
    with decoding("the text index"):
        postings = _postings(
            run,
            text,
            index,
            function_words=function_words,
            common=documents // 2,
            counts={} if counts is None else counts,
        )
        scores, added = numpy.zeros((2, len(words)), dtype=numpy.float64)
        average = int(words.sum()) / documents if documents else 0.0
        read = _affordable(postings)
        if read:
            keys, frequencies, starts = _counted([raw for _, raw in read])
            found = places(keys)
            shares = _saturated(frequencies, words[found], average)
            for (each, _), start, end in zip(read, starts, [*starts[1:], len(keys)], strict=True):
                worth = _rarity(each.term, documents) * shares[start:end]
                if each.function_word:
                    added[found[start:end]] += FUNCTION_WORDS * worth
                else:
                    scores[found[start:end]] += worth
    return _ranked(scores, tuple(each.term for each in postings if not each.function_word), added)


def rank_context(
    run: RunSql,
    text: str,
    places: Callable[[NDArray[numpy.int64]], NDArray[numpy.int64]],
    spans: Contexts,
) -> Ranking:
    """Return the ranking of a query over the words of the descriptions alone.

    The other arguments are those of ``rank``.
    """
    with decoding("the text index"):
        postings = _postings(run, text, MEMORY_TEXT, read=PLACES, counts={})
        terms = [each.term for each in postings]
        scores = numpy.zeros(len(spans.counts), dtype=numpy.float64)
        documents, tokens = int(numpy.count_nonzero(spans.counts)), int(spans.counts.sum())
        for each, raw in _affordable(postings) if documents else ():
            term = each.term
            keys, offsets = map(_integers, raw.split(";"))
            found = places(keys)
            first = spans.starts[found]
            inside = (offsets >= first) & (offsets < first + spans.counts[found])
            matching, frequency = numpy.unique(found[inside], return_counts=True)
            counted = LexicalTerm(text=term.text, documents=len(matching))
            terms[terms.index(term)] = counted
            lengths_found, average = spans.counts[matching], tokens / documents
            scores[matching] += _rarity(counted, documents) * _saturated(frequency, lengths_found, average)
    return _ranked(scores, tuple(terms))


class _Postings(NamedTuple):
    """A term of a query, and where it occurs; None when there is no room for it in the budget."""

    term: LexicalTerm
    occurrences: str | None
    function_word: bool


def _postings(
    run: RunSql,
    text: str,
    index: TextIndex,
    *,
    read: str = KEYS,
    function_words: str = "",
    common: int = 0,
    counts: MutableMapping[str, int],
) -> list[_Postings]:
    """Return the terms of a query in order, with the occurrences of the rarest that fit the budget.

    The rarest is read whatever it costs. A function word that more than ``common`` texts hold is worth nothing and is
    not read. All of it is one statement. To count the texts that hold a word takes as long as to read where it occurs,
    so function words, which come again and again, are counted once, and those that no query can read are left out.
    """
    terms = stems(text)
    if not terms:
        return []
    most = min(POSTINGS_BUDGET, common)
    others = [
        (term, counts.get(term))
        for term in (stems(function_words) if function_words else ())
        if term not in terms and counts.get(term, 0) <= most
    ]
    asked = (json.dumps([*((term, None) for term in terms), *others]), POSTINGS_BUDGET, len(terms), common)
    found = [
        _Postings(
            LexicalTerm(text=cast(str, term), documents=cast(int, documents)),
            cast("str | None", occurrences),
            place >= len(terms),
        )
        for place, (term, documents, occurrences) in enumerate(
            run(POSTINGS_SQL.format(index.vocabulary, index.occurrences, read), asked)
        )
    ]
    counts.update((each.term.text, each.term.documents) for each in found if each.function_word)
    return found


def _saturated(frequency: NDArray[numpy.int64], length: NDArray[numpy.int32], average: float) -> NDArray[numpy.float64]:
    """Return the share of a word's worth that its frequency gives in texts of these lengths."""
    discount = 1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * length / average
    share: NDArray[numpy.float64] = frequency * (SATURATION + 1.0) / (frequency + SATURATION * discount)
    return share


def _ranked(
    scores: NDArray[numpy.float64], terms: tuple[LexicalTerm, ...], added: NDArray[numpy.float64] | None = None
) -> Ranking:
    beside = numpy.zeros_like(scores) if added is None else added
    matching = numpy.flatnonzero(scores)
    total = scores[matching] + beside[matching]
    order = numpy.argsort(-total, kind="stable")
    best = matching[order]
    return Ranking(places=best, scores=total[order], added=beside[best], terms=terms)


class _Tokenizer(threading.local):
    """The tokenizer of the text indexes, on a connection of its own in each thread: to get it takes a statement."""

    def __init__(self) -> None:
        self._connection = apsw.Connection("")
        self.split = self._connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])


_tokenizer = _Tokenizer()


def stems(text: str) -> list[str]:
    """Return the index's terms for a query, in order and without repetition."""
    tokenizer = _tokenizer.split
    encoded = text.encode("utf-8")
    found: dict[str, None] = {}
    for _start, _end, *terms in cast("list[tuple[int, int, str]]", tokenizer(encoded, apsw.FTS5_TOKENIZE_QUERY, None)):
        found.update(dict.fromkeys(terms))
        if len(found) >= MAX_TERMS:
            break
    return list(found)


def places_of(text: str) -> dict[str, list[int]]:
    """Return the index's terms of a text with their places in it; each word has one."""
    encoded = text.encode("utf-8")
    found: dict[str, list[int]] = {}
    words = cast("list[tuple[int, int, str]]", _tokenizer.split(encoded, apsw.FTS5_TOKENIZE_DOCUMENT, None))
    for place, (_start, _end, *terms) in enumerate(words):
        for term in terms:
            found.setdefault(term, []).append(place)
    return found


def _affordable(postings: Sequence[_Postings]) -> list[tuple[_Postings, str]]:
    """Return the terms that were read, the rarest first."""
    chosen = [(each, each.occurrences) for each in postings if each.occurrences is not None]
    return sorted(chosen, key=lambda one: one[0].term.documents)


def _counted(raws: Sequence[str]) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], list[int]]:
    """Return the texts of terms, how often the term occurs in each, and where the texts of each term begin.

    Args:
        raws: The keys of the texts of each term's occurrences; the index gives them text by text.
    """
    # All terms at once: with few occurrences a step for each costs more than what is computed.
    keys = _integers(",".join(raws))
    begins = numpy.array([0, *accumulate(raw.count(",") + 1 for raw in raws)])
    another = numpy.empty(len(keys) + 1, dtype=numpy.bool_)
    numpy.not_equal(keys[1:], keys[:-1], out=another[1:-1])
    another[begins] = True
    bounds = another.nonzero()[0]
    return keys[bounds[:-1]], bounds[1:] - bounds[:-1], bounds.searchsorted(begins[:-1]).tolist()


def _integers(raw: str) -> NDArray[numpy.int64]:
    """Return integers that commas divide."""
    return numpy.fromstring(raw, dtype=numpy.int64, sep=",")


def _rarity(term: LexicalTerm, documents: int) -> float:
    odds = (documents - term.documents + 0.5) / (term.documents + 0.5)
    return max(LEAST_RARITY, math.log(odds))


def _numbers(raw: bytes) -> list[int]:
    """Return SQLite's numbers of variable length: seven bits per byte, the last byte of each below 128."""
    found, number = [], 0
    for byte in raw:
        number = number << 7 | byte & 127
        if byte < 128:
            found.append(number)
            number = 0
    return found
