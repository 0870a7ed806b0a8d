"""What a command reads from its user: a text from stdin, and a yes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from reasoningbank.errors import InvalidInput, StoreUnavailable

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


def checked_path(name: str) -> Path:
    """The file of this name, whether it exists or not.

    Raises:
        StoreUnavailable: When no file can have this name.
    """
    try:
        path = Path(name).expanduser()
        path.exists()
    except (OSError, RuntimeError, ValueError) as error:
        raise StoreUnavailable(f"{name[:80]!r} names no file: {error}"[:300], hint="Name another file.") from error
    return path


def confirmed(question: str) -> None:
    """Asks on a terminal; goes on without a word when stdin is none, so that programs are not stopped.

    Raises:
        click.Abort: When the answer is no.
    """
    if sys.stdin.isatty():
        click.confirm(question, abort=True, err=True)
