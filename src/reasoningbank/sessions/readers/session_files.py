"""Detect the format of a session file by its content, and read one session after the other in bounded memory."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from reasoningbank.errors import InvalidInput, StoreUnavailable, TranscriptNotOpened, UnreadableTranscript
from reasoningbank.safety.file_access import open_regular
from reasoningbank.sessions.readers import (
    claude_code,
    codex,
    copilot,
    cursor,
    gemini,
    messages,
    mini_swe_agent,
    opencode,
    plain,
    swe_agent,
)
from reasoningbank.sessions.readers.drafts import Skipped
from reasoningbank.sessions.readers.json_stream import fields, joined, line_entries, listed, parts, raw_lines, text
from reasoningbank.types.session import Trajectory

Shape = Literal["lines", "array", "object"]
"""How a file is laid out: JSON lines, one array, one object."""
_LOOKED_AT = 200
_FIRST_LINES = 50
_FEW = 8
_SAMPLE = 64 * 1024
_CODEX_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_CODEX_ITEMS = frozenset(
    {"function_call", "function_call_output", "local_shell_call", "custom_tool_call", "custom_tool_call_output"}
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function", "human", "exit"})


def shape_of(stream: BinaryIO) -> Shape:
    """Return how the file is laid out; the stream is read from its place on."""
    whole = 0
    first = b""
    start = stream.peek(_SAMPLE).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] if isinstance(stream, BufferedReader) else b""
    for _, line in raw_lines(stream):
        line = start if line is None else line.strip()
        if not line:
            continue
        first = first or line
        if first[:1] not in (b"{", b"["):
            return "lines"
        whole += 1
        if whole == 1 and line[-1:] in (b"[", b"{", b",", b":"):
            break
        if whole > 1 and _is_object(line):
            return "lines"
        if whole >= _FIRST_LINES:
            break
    if first[:1] == b"[":
        return "lines" if whole > 1 and _is_whole(first) else "array"
    return "lines" if (whole > 1 and _is_whole(first)) or (whole == 1 and not _has_list(first)) else "object"


def format_of(stream: BinaryIO, shape: Shape) -> str:
    """Return the name of the format, or nothing when it is none that is known; the stream is read from its place on."""
    if shape == "object":
        return kind_of(_outline(stream))
    sample: list[object] = []
    for value in islice(_values(stream, shape), _LOOKED_AT):
        if not isinstance(value, Skipped):
            sample.append(value)
        if len(sample) >= _FEW:
            break
    kinds = [kind for kind in map(kind_of, sample) if kind]
    if messages.NAME in kinds and mini_swe_agent.NAME in kinds:
        return mini_swe_agent.NAME
    return kinds[0] if kinds else ""


def _values(stream: BinaryIO, shape: Shape) -> Iterator[object]:
    if shape == "lines":
        yield from (value for _, value in line_entries(stream))
    else:
        yield from (part if isinstance(part, Skipped) else part.value for part in parts(stream))


def kind_of(value: object) -> str:
    """Return the format that an object belongs to: a line, a message, or a whole session; or nothing."""
    entry = fields(value)
    kind = text(entry.get("type"))
    if any(
        "action" in fields(step) or "observation" in fields(step) for step in listed(entry.get("trajectory"))[:_FEW]
    ):
        return swe_agent.NAME
    if isinstance(entry.get("payload"), dict) and kind in _CODEX_TYPES:
        return codex.NAME
    if (kind in _CODEX_ITEMS and "call_id" in entry) or (kind == "message" and _has_codex_blocks(entry)):
        return codex.NAME
    if "projectHash" in entry or gemini.CHANGE in entry or gemini.is_message(entry):
        return gemini.NAME
    if kind and isinstance(entry.get("data"), dict) and "parentId" in entry:
        return copilot.NAME
    if cursor.is_line(entry):
        return cursor.NAME
    if any(isinstance(fields(message).get("parts"), list) for message in listed(entry.get("messages"))[:_FEW]):
        return opencode.NAME
    if kind and ("sessionId" in entry or "leafUuid" in entry or isinstance(entry.get("message"), dict)):
        return claude_code.NAME
    for key in messages.LISTS:
        spoken = [fields(message) for message in listed(entry.get(key))[:_FEW]]
        if any(_is_message(message) for message in spoken):
            told = text(entry.get("trajectory_format")).startswith(mini_swe_agent.NAME)
            return mini_swe_agent.NAME if told or _is_mini(spoken) else messages.NAME
    if _is_message(entry):
        return mini_swe_agent.NAME if _is_mini([entry]) else messages.NAME
    if isinstance(entry.get("steps"), list) or (plain.STEP_KEYS | {"task"}) & entry.keys():
        return plain.NAME
    return ""


def _is_message(message: Mapping[str, object]) -> bool:
    role = message.get("role")
    told = "content" in message or "tool_calls" in message
    return isinstance(role, str) and told and (role in _ROLES or isinstance(message.get("content"), str))


def _is_mini(spoken: Sequence[Mapping[str, object]]) -> bool:
    return any(mark in joined(message.get("content"))[:_SAMPLE] for message in spoken for mark in mini_swe_agent.MARKS)


def _has_codex_blocks(entry: Mapping[str, object]) -> bool:
    return any(fields(block).get("type") in ("input_text", "output_text") for block in listed(entry.get("content")))


def _outline(stream: BinaryIO) -> dict[str, object]:
    """Return the keys of an object, each array with its first elements only."""
    found: dict[str, object] = {}
    for part in parts(stream):
        if isinstance(part, Skipped) or len(found) > _LOOKED_AT:
            continue
        if not part.place:
            found[part.key] = part.value
        elif part.place <= _FEW:
            known = found.setdefault(part.key, [])
            if isinstance(known, list):
                known.append(part.value)
    return found


def _is_whole(line: bytes) -> bool:
    try:
        json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    return True


def _is_object(line: bytes) -> bool:
    return line[:1] == b"{" and line[-1:] == b"}" and len(line) > 2 and _is_whole(line)


def _has_list(line: bytes) -> bool:
    try:
        value: object = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return True
    lines = (claude_code.NAME, codex.NAME, copilot.NAME, cursor.NAME, plain.NAME)
    single = kind_of(value)
    return single not in lines and not (single == gemini.NAME and "messages" not in fields(value))


AUTO = "auto"
FORMATS = (
    AUTO,
    claude_code.NAME,
    codex.NAME,
    gemini.NAME,
    opencode.NAME,
    copilot.NAME,
    cursor.NAME,
    swe_agent.NAME,
    mini_swe_agent.NAME,
    messages.NAME,
    plain.NAME,
)
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
    copilot.NAME: copilot.Copilot,
    cursor.NAME: cursor.Cursor,
    gemini.NAME: gemini.Gemini,
    plain.NAME: plain.Plain,
}
_BY_PART: dict[str, Callable[[], _Parts]] = {
    swe_agent.NAME: swe_agent.SweAgent,
    mini_swe_agent.NAME: mini_swe_agent.MiniSweAgentReader,
    messages.NAME: messages.Messages,
    opencode.NAME: opencode.OpenCode,
}
_BY_OBJECT: dict[str, Callable[[], _Parts]] = {
    **_BY_PART,
    gemini.NAME: gemini.GeminiChat,
    plain.NAME: plain.PlainObject,
}


class _Sessions:
    """Entries that are whole sessions, or the messages of one session."""

    def __init__(self, make: Callable[[], _Parts]) -> None:
        self._make = make
        self._single: _Parts | None = None
        self._place = 0

    def take(self, place: int, entry: object) -> Iterator[Trajectory | Skipped]:
        """Read one entry."""
        session = fields(entry)
        if not session:
            yield Skipped(place, "it must be an object with messages or steps")
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
            yield Skipped(place, "it must be an object with messages or steps")

    def finish(self) -> Iterator[Trajectory | Skipped]:
        """Yield the session that the messages made."""
        if self._single is not None:
            yield self._single.finish(self._place)


def read(path: Path | str, *, format: str = AUTO) -> Iterator[Trajectory | Skipped]:  # noqa: A002 - the option's name
    """Yield the sessions of a file, ready to be stored, and what was skipped, in order.

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
        raise InvalidInput(f"format must be one of {', '.join(FORMATS)}, not {format[:80]!r}")
    file = Path(path)
    try:
        stream = open_regular(file)
    except StoreUnavailable as error:
        raise TranscriptNotOpened(str(error), hint=error.hint) from error
    with stream:
        try:
            yield from _reported(_named(_read(stream, file.name, format), file.stem))
        except OSError as error:
            raise TranscriptNotOpened(f"{str(file)[:200]!r} cannot be read: {error.strerror}") from error


def _named(found: Iterator[Trajectory | Skipped], stem: str) -> Iterator[Trajectory | Skipped]:
    """Name a session of Cursor by its file: its lines do not name it."""
    for result in found:
        if isinstance(result, Trajectory) and result.source == cursor.NAME and _UUID.fullmatch(stem):
            yield replace(result, session=result.session or stem)
        else:
            yield result


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
