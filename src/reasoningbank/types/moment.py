"""Times as arguments: a ``datetime`` with a time zone, or a text of ISO 8601."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

from reasoningbank.errors import InvalidInput

_EXAMPLE = "Write for example 2026-03-01T12:00:00Z."


def as_moment(value: date | str, name: str = "the time") -> datetime:
    """Return a time with its zone; a text without a zone is UTC, a day alone begins at midnight.

    Args:
        value: The time, a day, or a text of ISO 8601.
        name: What it is called in an error.

    Raises:
        InvalidInput: When it is neither, or a ``datetime`` has no time zone.
    """
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidInput(f"{name}: times must carry a time zone", hint="Use for example 2026-03-01T12:00:00Z.")
        return value
    if isinstance(value, date):
        return datetime.combine(value, time(), tzinfo=UTC)
    try:
        moment = datetime.fromisoformat(str(value).strip())
    except ValueError as error:
        raise InvalidInput(f"{name}: {str(value)[:80]!r} is not a time", hint=_EXAMPLE) from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def as_day(value: date | str, name: str = "the day") -> date:
    """Return a day, or a time with its zone when the value has one.

    Raises:
        InvalidInput: When it is neither, or a ``datetime`` has no time zone.
    """
    if isinstance(value, datetime):
        return as_moment(value, name)
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value).strip())
    except ValueError:
        return as_moment(value, name)
