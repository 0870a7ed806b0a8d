"""The lexical leg: BM25 of SQLite's FTS5, rare terms first within a budget of postings.

An OR over every word of a long query reads half the index (139 ms at 100,000 memories); its rare words decide the
ranking. Terms are taken from the rarest on until their postings exceed the budget (spec/engines_models, BM25 leg).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import apsw
import numpy
from numpy.typing import NDArray

from reasoningbank.ports import LexicalTerm
from reasoningbank.storage.rows import Row, Value

POSTINGS_BUDGET = 4_000
"""Postings read for one query, unless its rarest term alone has more. On ten thousand real questions a budget of 4,000
costs 0.4 points of nDCG@10 against reading everything, 3,000 costs 2.0 points."""
MAX_TERMS = 64

Run = Callable[[str, Sequence[Value]], Sequence[Row]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Every memory that matches a query, best first: BM25 as a positive number, ties by key."""

    keys: NDArray[numpy.int64]
    scores: NDArray[numpy.float64]
    terms: tuple[LexicalTerm, ...]


class LexicalIndex:
    """Rankings of one bank; the latest is kept, for one search asks for it with several filters."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: tuple[tuple[str, int], Ranking] | None = None

    def ranking(self, connection: apsw.Connection, run: Run, text: str, change: int) -> Ranking:
        """The ranking of a query in the bank as it is after that change."""
        name = (text, change)
        with self._lock:
            if self._latest is not None and self._latest[0] == name:
                return self._latest[1]
        ranking = _rank(run, stems(connection, text))
        with self._lock:
            self._latest = (name, ranking)
        return ranking


def prepare_vocabulary(connection: apsw.Connection) -> None:
    """Gives the connection a view of the index's terms and their document frequencies."""
    connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab (main, memory_text, row)")


def stems(connection: apsw.Connection, text: str) -> dict[str, str]:
    """The index's terms for a query, each with the word it came from, in order and without repetition."""
    tokenizer = connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])
    encoded = text.encode("utf-8")
    found: dict[str, str] = {}
    tokens = cast("list[tuple[int, int, str]]", tokenizer(encoded, apsw.FTS5_TOKENIZE_QUERY, None))
    for start, end, *terms in tokens:
        for term in terms:
            found.setdefault(term, encoded[start:end].decode("utf-8"))
        if len(found) >= MAX_TERMS:
            break
    return found


def _rank(run: Run, words: Mapping[str, str]) -> Ranking:
    """Ranks by the affordable terms; ``words`` maps each term of the index to a word that gives it."""
    terms = tuple(LexicalTerm(text=term, documents=_documents(run, term)) for term in words)
    query = " OR ".join(f'"{words[term.text]}"' for term in _affordable(terms))
    found: Sequence[Row] = ()
    if query:
        found = run("SELECT rowid, -bm25(memory_text) FROM memory_text WHERE memory_text MATCH ?", (query,))
    keys = numpy.array([row[0] for row in found], dtype=numpy.int64)
    scores = numpy.array([row[1] for row in found], dtype=numpy.float64)
    order = numpy.lexsort((keys, -scores))
    return Ranking(keys=keys[order], scores=scores[order], terms=terms)


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
