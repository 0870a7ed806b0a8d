"""BM25 in plain Python, with the constants of SQLite's FTS5.

Words are what white space separates, in lower case. There is no stemming: the store agrees with it exactly on words
that are their own stem.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from reasoningbank.types.records import LexicalMatches, LexicalTerm, Scored

SATURATION = 1.2
LENGTH_WEIGHT = 0.75
LEAST_RARITY = 1e-6
"""The worth of a word that more than half of the texts hold."""


def best_matches(
    texts: Mapping[str, Sequence[str]], query: str, allowed: Collection[str], limit: int, function_words: str = ""
) -> LexicalMatches:
    """The best texts for a query among those that are allowed.

    Args:
        texts: The words of every text by id, oldest first; equal scores keep this order.
        query: Words separated by white space; a repeated word counts once.
        allowed: Ids that may be found. All texts count for document frequencies and lengths.
        limit: At most this many hits.
        function_words: Words that count half and alone make nothing match.
    """
    terms = _terms(texts, query.lower().split())
    others = _terms(texts, [word for word in function_words.lower().split() if word not in query.lower().split()])
    mean_length = sum(len(words) for words in texts.values()) / max(1, len(texts))
    hits: list[Scored] = []
    added: dict[str, float] = {}
    for identifier, words in texts.items():
        if identifier in allowed:
            score = sum(_score(term, words, len(texts), mean_length) for term in terms)
            if score > 0.0:
                added[identifier] = sum(_score(term, words, len(texts), mean_length) for term in others) / 2
                hits.append(Scored(id=identifier, score=score + added[identifier]))
    hits.sort(key=lambda hit: -hit.score)
    found = tuple(hits[: max(0, limit)])
    beside = {hit.id: added[hit.id] for hit in found if added[hit.id] > 0.0}
    return LexicalMatches(hits=found, terms=terms, documents=len(texts), function_words=beside)


def _terms(texts: Mapping[str, Sequence[str]], words: Sequence[str]) -> tuple[LexicalTerm, ...]:
    return tuple(
        LexicalTerm(text=word, documents=sum(word in held for held in texts.values())) for word in dict.fromkeys(words)
    )


def _score(term: LexicalTerm, words: Sequence[str], documents: int, mean_length: float) -> float:
    """One word's share (Robertson and Zaragoza, 2009): its rarity times its saturated frequency."""
    frequency = words.count(term.text)
    if not frequency:
        return 0.0
    rarity = math.log((documents - term.documents + 0.5) / (term.documents + 0.5))
    discount = 1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * len(words) / mean_length
    saturated = frequency * (SATURATION + 1.0) / (frequency + SATURATION * discount)
    return max(rarity, LEAST_RARITY) * saturated
