"""Check arguments that many operations take: limits, offsets, tags, session names, paths, filters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from reasoningbank.errors import InvalidInput, InvalidMemory, NegativeLimit, NegativeOffset, StoreUnavailable
from reasoningbank.types.belief import check_confidence
from reasoningbank.types.memory import STATES, State, check_outcome
from reasoningbank.types.recall import Filter

MAX_SESSION = 500


def session_name(session: str | None) -> str:
    """Return a session's name as it is stored: one clean line without secrets, empty when there is none.

    Raises:
        InvalidInput: When it is longer than ``MAX_SESSION`` characters.
    """
    if not session:
        return ""
    from reasoningbank.safety.text import safe_line

    if len(session) > MAX_SESSION:
        raise InvalidInput(f"a session's name has at most {MAX_SESSION} characters, not {len(session)}")
    return safe_line(session)


def usable_path(path: str | Path) -> Path:
    """Return the absolute path.

    Raises:
        StoreUnavailable: When the operating system cannot even look there.
    """
    try:
        absolute = Path(path).expanduser().absolute()
        absolute.exists()
    except (OSError, RuntimeError, ValueError) as error:
        raise StoreUnavailable(f"{str(path)[:80]!r} names no file: {error}"[:300], hint="Name another file.") from error
    return absolute


def checked_limit(limit: int) -> int:
    """Return the limit; raise NegativeLimit below zero."""
    if limit < 0:
        raise NegativeLimit(f"limit cannot be negative: {limit}")
    return limit


def checked_offset(offset: int) -> int:
    """Return the offset; raise NegativeOffset below zero."""
    if offset < 0:
        raise NegativeOffset(f"offset cannot be negative: {offset}")
    return offset


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return tags to search for, cleaned as stored tags are."""
    from reasoningbank.safety.text import clean_line

    return tuple(tag for tag in (clean_line(tag) for tag in tags) if tag)


def checked_filter(
    outcome: str | None,
    tags: Iterable[str],
    category: str | None,
    states: Sequence[State],
    min_confidence: float | None,
) -> Filter:
    """Return what a list or a count with these arguments looks at.

    Raises:
        InvalidMemory, InvalidOutcome, InvalidConfidence: When an argument is not usable.
    """
    unknown = [state for state in states if state not in STATES]
    if unknown:
        raise InvalidMemory(f"state must be one of {', '.join(STATES)}, not {unknown[0]!r}")
    return Filter(
        outcome=None if outcome is None else check_outcome(outcome),
        tags=clean_tags(tags),
        category=category,
        states=tuple(states),
        min_confidence=None if min_confidence is None else check_confidence(min_confidence),
    )
