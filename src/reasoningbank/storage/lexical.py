"""The lexical leg: BM25 of SQLite's FTS5, rare terms first within a budget of postings.

An OR over every word of a long query reads half the index (139 ms at 100,000 memories); its rare words decide the
ranking. Terms are taken from the rarest on until their postings exceed the budget (spec/engines_models, BM25 leg).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import apsw

from reasoningbank.domain.recall import Filter
from reasoningbank.ports import LexicalMatches, LexicalTerm, Scored
from reasoningbank.storage.rows import Row, Value, condition_sql

POSTINGS_BUDGET = 12_000
"""Postings read for one query, unless its rarest term alone has more."""
MAX_TERMS = 64

Run = Callable[[str, Sequence[Value]], Sequence[Row]]


class TermCounts:
    """Document frequencies, remembered until the bank has changed by more than a hundredth."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._documents = -1
        self._counts: dict[str, int] = {}

    def of(self, run: Run, terms: Sequence[str], documents: int) -> list[int]:
        """How many documents hold each term."""
        with self._lock:
            if abs(documents - self._documents) * 100 > self._documents or len(self._counts) > 100_000:
                self._documents, self._counts = documents, {}
            known = dict(self._counts)
        for term in terms:
            if term not in known:
                rows = run("SELECT doc FROM temp.vocabulary WHERE term = ?", (term,))
                known[term] = cast(int, rows[0][0]) if rows else 0
        with self._lock:
            self._counts.update({term: known[term] for term in terms})
        return [known[term] for term in terms]


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


def match(run: Run, counts: TermCounts, words: Mapping[str, str], condition: Filter, limit: int) -> LexicalMatches:
    """The best memories by BM25 among those that meet the condition; ``words`` maps each term to a word for it."""
    terms = list(words)
    documents = cast(int, run("SELECT count(*) FROM memories", ())[0][0])
    frequencies = counts.of(run, terms, documents)
    known = tuple(LexicalTerm(text=term, documents=count) for term, count in zip(terms, frequencies, strict=True))
    chosen = _affordable(known)
    if not chosen or limit <= 0:
        return LexicalMatches(terms=known, documents=documents)
    query = " OR ".join(f'"{words[term.text]}"' for term in chosen)
    where, values = condition_sql(condition)
    rows = run(
        "SELECT m.id, -bm25(memory_text) AS score FROM memory_text JOIN memories AS m ON m.key = memory_text.rowid "
        f"WHERE memory_text MATCH ? AND {where} ORDER BY score DESC, m.key LIMIT ?",  # noqa: S608 - constant clauses
        (query, *values, limit),
    )
    hits = tuple(Scored(id=cast(str, row[0]), score=cast(float, row[1])) for row in rows)
    return LexicalMatches(hits=hits, terms=known, documents=documents)


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
