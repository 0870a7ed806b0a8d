"""A better order of the best hits by a model that reads question and memory together, where the user has one.

The reranker changes the order alone: what is relevant enough to be shown is decided before. A reranker that fails or
takes too long leaves the order as it is, which is said in the answer, and is left alone for a minute.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reasoningbank.errors import ModelError, PaidCallRefused
from reasoningbank.types.ports import Reranker
from reasoningbank.types.recall import Hit, Leg

if TYPE_CHECKING:
    from reasoningbank.search.recall import Question

RERANKED = 30
"""So many of the best hits are put in order, when the question asks for fewer."""
RERANKER_LEG = "reranker"
"""The leg under which a hit names its place and score by the reranker."""
REST = 60.0
"""Seconds for which a reranker that failed is not asked again."""


class Reranking:
    """Ask the reranker of a bank, and rest it when it fails. Safe to use from several threads.

    Args:
        reranker: The reranker; None for none.
    """

    def __init__(self, reranker: Reranker | None) -> None:
        self._reranker = reranker
        self._failed = ""
        self._rests_until = 0.0

    def widened(self, question: Question) -> Question:
        """Return the question for as many hits as are put in order."""
        if self._reranker is None or not question.limit:
            return question
        return replace(question, limit=max(question.limit, RERANKED))

    def ordered(self, query: str, hits: Sequence[Hit], limit: int) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
        """Return the best hits as many as are wanted, in their new order, and why the order is the plain one.

        A hit that the reranker says nothing about follows those that it knows. A hit is shown at least as relevant as
        those that it outranks, as in the plain order.
        """
        if self._reranker is None or len(hits) < 2:
            return tuple(hits[:limit]), ()
        if time.monotonic() < self._rests_until:
            return tuple(hits[:limit]), (self._failed,)
        try:
            scores = self._reranker.scores(query, [_text(hit) for hit in hits])
        except (ModelError, PaidCallRefused) as error:
            self._failed = f"The order is the plain one: {error} {error.hint}"
            self._rests_until = time.monotonic() + REST
            return tuple(hits[:limit]), (self._failed,)
        known = [(score, hit) for score, hit in zip(scores, hits, strict=True) if score is not None]
        known.sort(key=lambda each: -each[0])
        order = [
            replace(hit, legs={**hit.legs, RERANKER_LEG: Leg(rank=rank, score=score)})
            for rank, (score, hit) in enumerate(known, start=1)
        ]
        order += [hit for score, hit in zip(scores, hits, strict=True) if score is None]
        return _descending(order)[:limit], ()


def _text(hit: Hit) -> str:
    memory = hit.memory
    return "\n".join(part for part in (memory.title, memory.description, memory.content) if part)


def _descending(order: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return the hits with a relevance that never rises along the list."""
    best = 0.0
    shown: list[Hit] = []
    for hit in reversed(order):
        best = max(best, hit.relevance)
        shown.append(replace(hit, relevance=best))
    return tuple(reversed(shown))
