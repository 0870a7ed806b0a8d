"""What a command reads from its user: a text from stdin, and a yes."""

from __future__ import annotations

import math
import sys
from datetime import UTC, datetime

import click

from reasoningbank.errors import InvalidInput

_STDIN = "-"


def text_or_stdin(text: str) -> str:
    """The text, or all of stdin for ``-``.

    Raises:
        InvalidInput: When stdin is not UTF-8.
    """
    if text != _STDIN:
        return text
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput("stdin is not UTF-8 text", hint="Convert it to UTF-8 first.") from error


class Seconds(click.FloatRange):
    """A finite number of seconds in a range."""

    name = "float range"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; a usage error when it is none or out of range."""
        number: float = super().convert(value, param, ctx)  # type: ignore[arg-type]  # click converts any text
        if not math.isfinite(number):
            self.fail(f"{value!r} is no number of seconds.", param, ctx)
        return number


class Moment(click.DateTime):
    """A date or a time of ISO 8601; without a time zone it is UTC."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The time; a usage error when it is none."""
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{str(value)[:80]!r} is no time. Write for example 2026-03-01T12:00:00Z.", param, ctx)
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def confirmed(question: str) -> None:
    """Asks on a terminal; goes on without a word when stdin is none, so that programs are not stopped.

    Raises:
        click.Abort: When the answer is no.
    """
    if sys.stdin.isatty():
        click.confirm(question, abort=True, err=True)
