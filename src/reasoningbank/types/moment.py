"""Times as arguments and in files: a ``datetime`` with a time zone, or a text of ISO 8601, within bounds."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

from reasoningbank.errors import InvalidInput

EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
LATEST = datetime(9999, 12, 31, tzinfo=UTC)
"""Times outside of these bounds cannot be given in every time zone, so they could be written but not read."""
_EXAMPLE = "Write for example 2026-03-01T12:00:00Z."


def bounded(moment: datetime, name: str = "the time") -> datetime:
    """Return a time that has a zone and lies within the bounds.

    Raises:
        InvalidInput: When it has no zone or lies outside.
    """
    if moment.tzinfo is None:
        raise InvalidInput(f"{name}: times must carry a time zone", hint="Use for example 2026-03-01T12:00:00Z.")
    if not EARLIEST <= moment <= LATEST:
        raise InvalidInput(
            f"{name}: {moment.isoformat()} is not a time from {EARLIEST.date()} to {LATEST.date()} in UTC",
            hint=_EXAMPLE,
        )
    return moment


def as_moment(value: date | str, name: str = "the time") -> datetime:
    """Return a time with its zone; a text without a zone is UTC, a day alone begins at midnight.

    Args:
        value: The time, a day, or a text of ISO 8601.
        name: What it is called in an error.

    Raises:
        InvalidInput: When it is neither, a ``datetime`` has no time zone, or it lies outside of the bounds.
    """
    if isinstance(value, datetime):
        return bounded(value, name)
    if isinstance(value, date):
        return bounded(datetime.combine(value, time(), tzinfo=UTC), name)
    try:
        moment = datetime.fromisoformat(str(value).strip())
    except ValueError as error:
        raise InvalidInput(f"{name}: {str(value)[:80]!r} is not a time", hint=_EXAMPLE) from error
    return bounded(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC), name)


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
