"""The lexical leg: BM25 over SQLite's FTS5 index, rare terms first within a budget of postings.

An OR over every word of a long query reads half the index (139 ms at 100,000 memories); its rare words decide the
ranking. Terms are taken from the rarest on until their postings exceed the budget (spec/engines_models, BM25 leg).

The scores are those of FTS5's own ``bm25()``, to the bit. That function reads every posting twice and the length of
every text from the file; here postings are read once and the lengths are held in memory, which takes a third of the
time. Both formats that are read here, lengths and averages, are documented by SQLite (FTS5, section 9).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import apsw
import numpy
from numpy.typing import NDArray

from reasoningbank.ports import LexicalTerm
from reasoningbank.storage.bm25 import LEAST_RARITY, LENGTH_WEIGHT, SATURATION
from reasoningbank.storage.columns import Columns, changed_since
from reasoningbank.storage.failures import decoding
from reasoningbank.storage.rows import Row, Value

POSTINGS_BUDGET = 4_000
"""Postings read for one query, unless its rarest term alone has more. On ten thousand real questions a budget of 4,000
costs 0.4 points of nDCG@10 against reading everything, 3,000 costs 2.0 points."""
MAX_TERMS = 64

ALL_LENGTHS_SQL = "SELECT id, sz FROM memory_text_docsize"
LENGTHS_SQL = changed_since("d.id, d.sz", "CROSS JOIN memory_text_docsize AS d ON d.id = m.key", derived=True)
AVERAGES_SQL = "SELECT block FROM memory_text_data WHERE id = 1"

Run = Callable[[str, Sequence[Value]], Sequence[Row]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Every memory that matches a query, best first: BM25 as a positive number, ties by age.

    Attributes:
        places: The memories, counted by age.
    """

    places: NDArray[numpy.int64]
    scores: NDArray[numpy.float64]
    terms: tuple[LexicalTerm, ...]


def prepare_vocabulary(connection: apsw.Connection) -> None:
    """Gives the connection views of the index: its terms with their document frequencies, and their occurrences."""
    for name, kind in (("vocabulary", "row"), ("occurrences", "instance")):
        connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{name} USING fts5vocab (main, memory_text, {kind})"
        )


def lengths(run: Run, since: int, columns: Columns, known: NDArray[numpy.int32]) -> NDArray[numpy.int32]:
    """How many words the text of each memory has, by the memory's place in the columns.

    Args:
        run: Reads the bank.
        since: The change up to which ``known`` is complete; below 0 for nothing.
        columns: The memories.
        known: The lengths so far; not changed.
    """
    rows = run(ALL_LENGTHS_SQL, ()) if since < 0 else run(LENGTHS_SQL, (since,))
    found = numpy.zeros(len(columns.keys), dtype=numpy.int32)
    found[: len(known)] = known
    keys = numpy.array([row[0] for row in rows], dtype=numpy.int64)
    numbers = numpy.array([_numbers(cast(bytes, row[1]))[0] for row in rows], dtype=numpy.int32)
    places, held = columns.found(keys)
    found[places] = numbers[held]
    return found


def rank(
    connection: apsw.Connection,
    run: Run,
    text: str,
    places: Callable[[NDArray[numpy.int64]], NDArray[numpy.int64]],
    words: NDArray[numpy.int32],
) -> Ranking:
    """The ranking of a query.

    Args:
        connection: Has the index's tokenizer.
        run: Reads the bank.
        text: The query.
        places: Finds the places of memories by their keys.
        words: How many words the text at each place has.
    """
    with decoding("the text index"):
        terms = tuple(LexicalTerm(text=term, documents=_documents(run, term)) for term in stems(connection, text))
        chosen = _affordable(terms)
        scores = numpy.zeros(len(words), dtype=numpy.float64)
        if chosen:
            documents, tokens = _numbers(cast(bytes, run(AVERAGES_SQL, ())[0][0]))[:2]
            for term in chosen:
                keys, frequency = _occurrences(run, term)
                found = places(keys)
                discount = 1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * words[found] / (tokens / documents)
                saturated = frequency * (SATURATION + 1.0) / (frequency + SATURATION * discount)
                scores[found] += _rarity(term, documents) * saturated
        matching = numpy.flatnonzero(scores)
        best = matching[numpy.argsort(-scores[matching], kind="stable")]
    return Ranking(places=best, scores=scores[best], terms=terms)


def stems(connection: apsw.Connection, text: str) -> list[str]:
    """The index's terms for a query, in order and without repetition."""
    tokenizer = connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])
    encoded = text.encode("utf-8")
    found: dict[str, None] = {}
    for _start, _end, *terms in cast("list[tuple[int, int, str]]", tokenizer(encoded, apsw.FTS5_TOKENIZE_QUERY, None)):
        found.update(dict.fromkeys(terms))
        if len(found) >= MAX_TERMS:
            break
    return list(found)


def _documents(run: Run, term: str) -> int:
    rows = run("SELECT doc FROM temp.vocabulary WHERE term = ?", (term,))
    return cast(int, rows[0][0]) if rows else 0


def _affordable(terms: Sequence[LexicalTerm]) -> list[LexicalTerm]:
    """The rarest terms whose postings fit the budget; at least the rarest."""
    chosen: list[LexicalTerm] = []
    spent = 0
    for term in sorted((term for term in terms if term.documents), key=lambda term: term.documents):
        if chosen and spent + term.documents > POSTINGS_BUDGET:
            break
        chosen.append(term)
        spent += term.documents
    return chosen


def _occurrences(run: Run, term: LexicalTerm) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
    """The keys of the memories that contain the term, ascending, and how often each does."""
    rows = run("SELECT group_concat(doc) FROM temp.occurrences WHERE term = ?", (term.text,))
    keys = numpy.fromstring(cast(str, rows[0][0]), dtype=numpy.int64, sep=",")
    return numpy.unique(keys, return_counts=True)


def _rarity(term: LexicalTerm, documents: int) -> float:
    odds = (documents - term.documents + 0.5) / (term.documents + 0.5)
    return max(LEAST_RARITY, math.log(odds))


def _numbers(raw: bytes) -> list[int]:
    """SQLite's numbers of variable length: seven bits per byte, the last byte of each below 128."""
    found, number = [], 0
    for byte in raw:
        number = number << 7 | byte & 127
        if byte < 128:
            found.append(number)
            number = 0
    return found
