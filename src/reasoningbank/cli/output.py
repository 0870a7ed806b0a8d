"""How a command reads from its user and answers: data to stdout, everything else to stderr."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from errno import EBADF
from typing import TextIO

import click

from reasoningbank.errors import InvalidInput, OutputFailed

_STDIN = "-"


def text_or_stdin(text: str) -> str:
    """Return the text, or all of stdin for ``-``.

    Raises:
        InvalidInput: When stdin is not UTF-8.
    """
    if text != _STDIN:
        return text
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput("stdin is not UTF-8 text", hint="Convert it to UTF-8 first.") from error


class Seconds(click.FloatRange):
    """A finite number of seconds in a range."""

    name = "float range"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; a usage error when it is none or out of range."""
        number: float = super().convert(value, param, ctx)  # type: ignore[arg-type]  # click converts any text
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return number


def confirmed(question: str) -> None:
    """Ask on a terminal; go on without a word when stdin is none, so that programs are not stopped.

    Raises:
        click.Abort: When the answer is no.
    """
    if sys.stdin.isatty():
        approved(question)


def approved(question: str) -> None:
    """Ask, and go on when the answer is yes.

    Raises:
        click.Abort: When the answer is no, or there is none.
        InvalidInput: When the answer is not text.
    """
    try:
        click.confirm(question, abort=True, err=True)
    except UnicodeDecodeError as error:
        raise InvalidInput("the answer is not readable text", hint="Answer y, or pass --yes.") from error


def print_json(answer: Mapping[str, object]) -> None:
    """Print one JSON object to stdout; raise OutputFailed when it cannot be written."""
    _write(_json_text(answer, sys.stdout), sys.stdout)


def print_text(text: str) -> None:
    """Print readable text to stdout; raise OutputFailed when it cannot be written."""
    _write(text, sys.stdout)


def print_note(text: str) -> None:
    """Print a warning or a hint to stderr; one that cannot be written is lost, for there is no other place for it."""
    with suppress(OutputFailed):
        _write(text, sys.stderr)


def print_error(code: str, message: str, hint: str, *, as_json: bool) -> None:
    """Print what happened and what to do next to stderr, as JSON when the answer would have been JSON."""
    if as_json:
        print_note(_json_text({"error": code, "message": message, "hint": hint}, sys.stderr))
        return
    print_note(f"error: {message}")
    print_note(f"hint: {hint}")


@contextmanager
def progress(label: str) -> Iterator[Progress]:
    """Show a progress bar on stderr while the block runs; nothing when stderr is not a terminal."""
    bar = Progress(label)
    try:
        yield bar
    finally:
        bar.finish()


class Progress:
    """A progress bar that appears with the first step and only on a terminal."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._shown = sys.stderr is not None and sys.stderr.isatty()
        self._drawn = False

    def step(self, done: int, total: int) -> None:
        """Draw the bar at ``done`` of ``total``."""
        if not self._shown or total <= 0:
            return
        filled = 30 * done // total
        self._drawn = True
        sys.stderr.write(f"\r{self._label} [{'#' * filled}{'-' * (30 - filled)}] {done}/{total}")
        sys.stderr.flush()

    def finish(self) -> None:
        """End the line of the bar."""
        if self._drawn:
            sys.stderr.write("\n")
            sys.stderr.flush()


def _json_text(answer: Mapping[str, object], stream: TextIO | None) -> str:
    """Return the JSON of an object; characters that the stream cannot hold are escaped as JSON has it."""
    text = json.dumps(answer, ensure_ascii=False, indent=2)
    try:
        text.encode(_encoding(stream))
    except UnicodeEncodeError:
        text = json.dumps(answer, indent=2)
    return text


def _write(text: str, stream: TextIO | None) -> None:
    """Write a text and a line feed; raise OutputFailed unless all of it was taken, BrokenPipeError as it comes."""
    encoding = _encoding(stream)
    try:
        if stream is None:
            raise OSError(EBADF, os.strerror(EBADF))
        click.echo(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise output_failed(stream, error) from error


def output_failed(stream: TextIO | None, error: OSError) -> OutputFailed:
    """Discard what a stream cannot write, and return the error that says so."""
    if stream is not None:
        discard(stream)
    return OutputFailed(f"the answer cannot be written: {error.strerror}")


def discard(stream: TextIO) -> None:
    """Let what a stream still holds go nowhere, so that the end of the process does not fail on it again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _encoding(stream: TextIO | None) -> str:
    return getattr(stream, "encoding", None) or "utf-8"
