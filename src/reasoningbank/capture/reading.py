"""Reads files of sessions: any known format, one session after the other, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from reasoningbank.capture import claude_code, codex, messages, mini_swe_agent, plain, swe_agent
from reasoningbank.capture.detection import Shape, format_of, shape_of
from reasoningbank.capture.documents import parts
from reasoningbank.capture.lines import line_entries
from reasoningbank.capture.session import Skipped
from reasoningbank.capture.values import fields
from reasoningbank.domain.trajectory import Trajectory
from reasoningbank.errors import InvalidInput, UnreadableTranscript

AUTO = "auto"
FORMATS = (AUTO, claude_code.NAME, codex.NAME, swe_agent.NAME, mini_swe_agent.NAME, messages.NAME, plain.NAME)
"""Names of the formats; ``auto`` finds out."""
MAX_PROBLEMS = 1_000
"""Most parts of one file that are reported one by one; the last of them says how many more there were."""


class _Entries(Protocol):
    """Reads the lines of a file, or the elements of its array, one by one."""

    def take(self, place: int, entry: object) -> Iterator[Trajectory | Skipped]: ...

    def finish(self) -> Iterator[Trajectory | Skipped]: ...


class _Parts(Protocol):
    """Reads one session in pieces."""

    def put(self, key: str, value: object) -> None: ...

    def finish(self, place: int) -> Trajectory | Skipped: ...


_BY_ENTRY: dict[str, Callable[[], _Entries]] = {
    claude_code.NAME: claude_code.ClaudeCode,
    codex.NAME: codex.Codex,
    plain.NAME: plain.Plain,
}
_BY_PART: dict[str, Callable[[], _Parts]] = {
    swe_agent.NAME: swe_agent.SweAgent,
    mini_swe_agent.NAME: mini_swe_agent.MiniSweAgent,
    messages.NAME: messages.Messages,
}
_BY_OBJECT: dict[str, Callable[[], _Parts]] = {**_BY_PART, plain.NAME: plain.PlainObject}


class _Sessions:
    """Entries that are whole sessions, or the messages of one session."""

    def __init__(self, make: Callable[[], _Parts]) -> None:
        self._make = make
        self._single: _Parts | None = None
        self._place = 0

    def take(self, place: int, entry: object) -> Iterator[Trajectory | Skipped]:
        """Reads one entry."""
        session = fields(entry)
        if not session:
            yield Skipped(place, "it is no object with messages or steps")
        elif isinstance(session.get("role"), str):
            if self._single is None:
                self._single, self._place = self._make(), place
            self._single.put(messages.LISTS[0], session)
        elif any(isinstance(session.get(key), list) for key in (*messages.LISTS, "trajectory")):
            reader = self._make()
            for key, value in session.items():
                for part in value if isinstance(value, list) else [value]:
                    reader.put(key, part)
            yield reader.finish(place)
        else:
            yield Skipped(place, "it is no object with messages or steps")

    def finish(self) -> Iterator[Trajectory | Skipped]:
        """Yields the session that the messages made."""
        if self._single is not None:
            yield self._single.finish(self._place)


def read(path: Path | str, *, format: str = AUTO) -> Iterator[Trajectory | Skipped]:  # noqa: A002 - the option's name
    """The sessions of a file, ready to be stored, and what was skipped, in order.

    Lines, array elements and sessions that cannot be read are skipped with a reason; nothing in a file raises anything
    but ``UnreadableTranscript``. Memory stays bounded whatever the file's size; see ``lines``, ``documents`` and
    ``drafts`` for the bounds.

    Args:
        path: The file.
        format: One of ``FORMATS``.

    Raises:
        InvalidInput: When there is no such format.
        UnreadableTranscript: When the file cannot be opened, is empty, or has no known format.
    """
    if format not in FORMATS:
        raise InvalidInput(f"a format is one of {', '.join(FORMATS)}, not {format[:80]!r}")
    file = Path(path)
    try:
        stream = file.open("rb")
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from error
    with stream:
        try:
            yield from _reported(_read(stream, file.name, format))
        except OSError as error:
            raise _unreadable(file, error) from error


def _unreadable(file: Path, error: Exception) -> UnreadableTranscript:
    reason = getattr(error, "strerror", None) or "its name is not usable"
    return UnreadableTranscript(
        f"{str(file)[:200]!r} cannot be read: {reason}", hint="Check the path and its permissions."
    )


def _read(stream: BinaryIO, name: str, wanted: str) -> Iterator[Trajectory | Skipped]:
    if not stream.read(1):
        raise UnreadableTranscript(f"{name[:200]!r} is empty")
    stream.seek(0)
    shape = shape_of(stream)
    stream.seek(0)
    kind = wanted if wanted != AUTO else format_of(stream, shape)
    if not kind:
        raise UnreadableTranscript(f"{name[:200]!r} holds no session in a format that is known")
    stream.seek(0)
    if shape == "object" and kind in _BY_OBJECT:
        yield from _whole(stream, _BY_OBJECT[kind]())
    else:
        reader = _BY_ENTRY[kind]() if kind in _BY_ENTRY else _Sessions(_BY_PART[kind])
        yield from _each(stream, shape, reader)


def _whole(stream: BinaryIO, reader: _Parts) -> Iterator[Trajectory | Skipped]:
    for part in parts(stream):
        if isinstance(part, Skipped):
            yield part
        else:
            reader.put(part.key, part.value)
    yield reader.finish(1)


def _each(stream: BinaryIO, shape: Shape, reader: _Entries) -> Iterator[Trajectory | Skipped]:
    for place, entry in _entries(stream, shape):
        if isinstance(entry, Skipped):
            yield entry
        else:
            yield from reader.take(place, entry)
    yield from reader.finish()


def _entries(stream: BinaryIO, shape: Shape) -> Iterator[tuple[int, object | Skipped]]:
    if shape != "array":
        yield from line_entries(stream)
        return
    for part in parts(stream):
        yield part.place, part if isinstance(part, Skipped) else part.value


def _reported(found: Iterator[Trajectory | Skipped]) -> Iterator[Trajectory | Skipped]:
    problems = 0
    last = 0
    for result in found:
        if isinstance(result, Skipped):
            problems, last = problems + 1, result.place
            if problems >= MAX_PROBLEMS:
                continue
        yield result
    if problems >= MAX_PROBLEMS:
        yield Skipped(last, f"{problems - MAX_PROBLEMS + 1} further parts of the file cannot be read")
