"""Check the arguments of a search."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from reasoningbank.errors import EmptyQuery, TextTooLong
from reasoningbank.safety.checks import check_bounded, clean_tags
from reasoningbank.search.passages import Passage, passages
from reasoningbank.types.argument import SearchLimit, check_text
from reasoningbank.types.belief import MIN_CONFIDENCE, check_confidence
from reasoningbank.types.memory import check_outcome
from reasoningbank.types.moment import as_moment
from reasoningbank.types.recall import Filter

if TYPE_CHECKING:
    from reasoningbank.search.recall import Question

DEFAULT_SEARCH_LIMIT = 10
"""Most proven memories of a search that names no limit (seed 000)."""
MAX_QUERY = 20_000
"""Most characters of a question by itself."""
MAX_SEARCHED = 400_000
"""Most characters of what is searched for: instructions, files and the chat so far may stand around the question."""
UNLOGGED = "This delivery was not logged"


def search_limit(limit: int, name: str = "limit") -> int:
    """Return how many a search may find; raise NegativeLimit below zero, InvalidInput above ``MAX_SEARCH_LIMIT``."""
    return check_bounded(limit, SearchLimit, name)


def checked_question(
    query: str,
    *,
    limit: int = DEFAULT_SEARCH_LIMIT,
    min_confidence: float = MIN_CONFIDENCE,
    outcome: str | None = None,
    tags: Iterable[str] = (),
    category: str | None = None,
    created_after: datetime | str | None = None,
    created_before: datetime | str | None = None,
    unproven: int | None = None,
) -> Question:
    """Return what a search with these arguments asks for; it needs no bank.

    Raises:
        EmptyQuery, NegativeLimit, InvalidConfidence, InvalidOutcome, InvalidInput, TextTooLong: When an
            argument is not usable.
    """
    from reasoningbank.search.recall import Question

    text, passages = _questions(query)
    return Question(
        text=text,
        passages=passages,
        condition=Filter(
            outcome=None if outcome is None else check_outcome(outcome),
            tags=clean_tags(tags),
            category=category,
            created_after=None if created_after is None else as_moment(created_after, "created_after"),
            created_before=None if created_before is None else as_moment(created_before, "created_before"),
        ),
        limit=search_limit(limit),
        min_confidence=check_confidence(min_confidence, "min_confidence"),
        unproven=None if unproven is None else search_limit(unproven, "unproven"),
    )


_SHORTER = "Ask in fewer words: what the task or the problem is."


def _questions(query: str) -> tuple[str, tuple[Passage, ...]]:
    """Return what is most likely asked, and what else may be: nothing of a short query, which is asked as it is.

    Secrets are replaced in the whole text before it is taken apart, so that no part of one is left over.
    """
    from reasoningbank.safety.secrets import redact
    from reasoningbank.safety.stored_text import clean, safe_line

    if len(check_text(query, "query")) > MAX_SEARCHED:
        raise TextTooLong(f"the query has {len(query)} characters; the limit is {MAX_SEARCHED}", hint=_SHORTER)
    found = passages(query)
    if len(found) > 1 or len(query) > MAX_QUERY:
        found = passages(redact(clean(query)).text)
    short = [each for each in found if len(each.text) <= MAX_QUERY]
    if not short:
        raise TextTooLong(f"the question has {len(found[0].text)} characters; the limit is {MAX_QUERY}", hint=_SHORTER)
    lines = ((safe_line(each.text), each.likelihood) for each in short)
    safe = tuple(Passage(line, likelihood) for line, likelihood in lines if line)
    if not safe:
        raise EmptyQuery("query cannot be empty")
    return safe[0].text, safe if len(safe) > 1 else ()


def usable_query(query: str) -> str:
    """Return the query on one clean line without secrets."""
    from reasoningbank.safety.stored_text import safe_line

    if len(query) > MAX_QUERY:
        raise TextTooLong(f"the query has {len(query)} characters; the limit is {MAX_QUERY}", hint=_SHORTER)
    text = safe_line(query)
    if not text:
        raise EmptyQuery("query cannot be empty")
    return text
