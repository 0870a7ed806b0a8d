"""Read JSON documents and JSON lines piece by piece, and values of any type out of them."""

from __future__ import annotations

import codecs
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import BinaryIO, NamedTuple

from reasoningbank.sessions.readers.drafts import Skipped

_MAX_EXIT_CODE = 2**31
_MILLISECONDS = 1e11
_FIRST_YEAR, _LAST_YEAR = 2000, 2200
_MAX_TIME = 64
_SHELLS = frozenset(
    {
        "bash",
        "shell",
        "sh",
        "zsh",
        "exec_command",
        "shell_command",
        "local_shell",
        "container.exec",
        "execute_bash",
        "execute_command",
        "run_command",
        "run_terminal_cmd",
        "run_shell_command",
        "terminal",
    }
)
_COMMAND_KEYS = ("command", "cmd", "script")


def text(value: object) -> str:
    """Return the value when it is a text, else nothing."""
    return value if isinstance(value, str) else ""


def fields(value: object) -> Mapping[str, object]:
    """Return the value when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[object]:
    """Return the value when it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def texts(content: object) -> Iterator[str]:
    """Yield the texts of a message's content, which is a text or an array of blocks.

    Images and the like are left out.
    """
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            if isinstance(block, str):
                yield block
            elif isinstance(block, dict) and isinstance(block.get("text"), str):
                yield block["text"]


def joined(content: object) -> str:
    """Return all texts of a message's content, one after the other on lines of their own."""
    return content if isinstance(content, str) else "\n".join(texts(content))


def written(value: object) -> str:
    """Return any JSON value as text: a text as it is, everything else as compact JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def between(whole: str, start: str, end: str) -> str:
    """Return what stands between the first ``start`` and the next ``end``, without space around it; or nothing."""
    _, found, rest = whole.partition(start)
    inside, closed, _ = rest.partition(end)
    return inside.strip() if found and closed else ""


def exit_code(value: object) -> int | None:
    """Return the value when it can be an exit status."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _MAX_EXIT_CODE:
        return None
    return value


def number(digits: str | None) -> int | None:
    """Return an exit status out of matched digits."""
    return None if digits is None else exit_code(int(digits[:16]))


def moment(value: object) -> datetime | None:
    """Return a point in time out of ISO 8601 text or of seconds or milliseconds since 1970; None when it is neither."""
    try:
        if isinstance(value, str) and 8 <= len(value) <= _MAX_TIME:
            found = datetime.fromisoformat(value)
            found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found = datetime.fromtimestamp(value / 1_000 if value > _MILLISECONDS else value, UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return found if _FIRST_YEAR <= found.year < _LAST_YEAR else None


def action(tool: str, arguments: object) -> str:
    """Return what a call does: the command of a shell tool, else its arguments as JSON."""
    if isinstance(arguments, str):
        parsed = _parsed(arguments)
        if parsed is None:
            return arguments
        arguments = parsed
    if isinstance(arguments, dict) and tool.rpartition("__")[2].lower() in _SHELLS:
        for key in _COMMAND_KEYS:
            command = arguments.get(key)
            if isinstance(command, str):
                return command
            if isinstance(command, list):
                return shell_words(command)
    return written(arguments)


def shell_words(words: list[object]) -> str:
    """Return a command given as words; of ``bash -lc COMMAND`` and the like only the command."""
    parts = [word for word in words if isinstance(word, str)]
    if len(parts) == 3 and re.fullmatch(r"(?:\S*/)?(?:ba|z|da)?sh", parts[0]) and parts[1] in ("-lc", "-c"):
        return parts[2]
    return shlex.join(parts)


def _parsed(arguments: str) -> dict[str, object] | None:
    if not arguments.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


MAX_LINE = 8 * 1024 * 1024
"""Most bytes of one line; a longer one is passed over without being held in memory."""
_MARK = b"\xef\xbb\xbf"


def raw_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Yield the lines of a file with their numbers from 1; None in place of one that is too long."""
    number = 0
    while line := stream.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE and not line.endswith(b"\n"):
            while rest := stream.readline(MAX_LINE):
                if rest.endswith(b"\n"):
                    break
            yield number, None
        else:
            yield number, line.removeprefix(_MARK) if number == 1 else line


def line_entries(stream: BinaryIO) -> Iterator[tuple[int, object | Skipped]]:
    """Yield the value of every line that is not blank; ``Skipped`` in place of one that cannot be read."""
    for number, line in raw_lines(stream):
        if line is None:
            yield number, Skipped(number, f"the line is longer than {MAX_LINE // 1024 // 1024} MiB")
        elif line := line.strip():
            yield number, value_of(line, number)


def value_of(line: bytes | str, place: int) -> object | Skipped:
    """Return the JSON value of a text, or why it has none."""
    try:
        value: object = json.loads(line if isinstance(line, str) else line.decode("utf-8"))
    except UnicodeDecodeError:
        return Skipped(place, "it is not UTF-8")
    except RecursionError:
        return Skipped(place, "it is nested too deeply")
    except ValueError:
        return Skipped(place, "it is not JSON")
    return value


MAX_ELEMENT = 16 * 1024 * 1024
"""Most characters of one element of an array or value of a key; a longer one is passed over unread."""
_CHUNK = 256 * 1024
_MAX_BROKEN = 100
_SPACE = re.compile(r"[ \t\r\n\ufeff]*")
_BETWEEN = re.compile(r"[ \t\r\n,]*")
_STRUCTURE = re.compile(r"[\"\[\]{}]")
_STRING = re.compile(r"[^\"\\]*(?:\\.[^\"\\]*)*", re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}:\[{\"]*")


class DocumentPart(NamedTuple):
    """A piece of a document.

    Attributes:
        key: The key of the top object it belongs to; empty in a top array.
        place: The number in its array from 1; 0 for the value of a key that is not an array.
        value: The piece.
    """

    key: str
    place: int
    value: object


def parts(stream: BinaryIO) -> Iterator[DocumentPart | Skipped]:
    """Yield the pieces of a document that is an object or an array, in their order.

    Every array that is a value of the top object is taken apart too. A piece that cannot be read, and an end of the
    file in the middle, are ``Skipped``; what came before counts.
    """
    document = _Document(stream)
    try:
        first = document.peek()
        if first == "[":
            yield from _elements(document, "")
        elif first == "{":
            yield from _members(document)
        else:
            yield Skipped(0, "the file is neither an object nor an array of JSON")
    except EOFError:
        yield Skipped(document.place, "the file ends in the middle")


def _members(document: _Document) -> Iterator[DocumentPart | Skipped]:
    document.step()
    broken = 0
    while document.peek(_BETWEEN) != "}":
        if broken >= _MAX_BROKEN:
            yield Skipped(0, "too much of it is broken; the rest was not read")
            return
        key = _read(document, document.value())
        if not isinstance(key, str) or document.peek() != ":":
            broken += 1
            yield Skipped(0, "a key of the object cannot be read")
            continue
        document.step()
        if document.peek() == "[":
            yield from _elements(document, key)
            continue
        value = _read(document, document.value())
        if isinstance(value, Skipped):
            broken += 1
            yield value
        else:
            yield DocumentPart(key, 0, value)


def _elements(document: _Document, key: str) -> Iterator[DocumentPart | Skipped]:
    document.step()
    document.place = broken = 0
    while document.peek(_BETWEEN) != "]":
        document.place += 1
        value = _read(document, document.value())
        if isinstance(value, Skipped):
            broken += 1
            yield value
            if broken >= _MAX_BROKEN:
                yield Skipped(document.place, "too much of it is broken; the rest was not read")
                return
        else:
            yield DocumentPart(key, document.place, value)
    document.step()
    document.place = 0


def _read(document: _Document, text: str | None) -> object | Skipped:
    if text is None:
        return Skipped(document.place, f"it is longer than {MAX_ELEMENT // 1024 // 1024} Mi characters")
    return value_of(text, document.place)


class _Document:
    """The text of a file with a position; no more is held than one piece."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._text = ""
        self._position = 0
        self._ended = False
        self.place = 0

    def peek(self, over: re.Pattern[str] = _SPACE) -> str:
        """Return the next character after what may be passed over."""
        while True:
            self._position = _end(over, self._text, self._position)
            if self._position < len(self._text):
                return self._text[self._position]
            self._more(self._position)

    def step(self) -> None:
        """Pass over one character."""
        self._position += 1

    def value(self) -> str | None:
        """Return the text of the next value, without checking it; None when it is too long."""
        self.peek()
        pieces: list[str] = []
        length = depth = 0
        position = start = self._position
        scalar = self._text[start] not in '[{"'
        quoted = False
        while True:
            done = cut = False
            if quoted:
                position = _end(_STRING, self._text, position)
                cut = self._text.startswith("\\", position)
                if self._text.startswith('"', position):
                    position, quoted = position + 1, False
                    done = depth == 0
            elif scalar:
                position = _end(_SCALAR, self._text, position)
                position = position if length else max(position, start + 1)
                done = position < len(self._text)
            else:
                found = _STRUCTURE.search(self._text, position)
                position = len(self._text) if found is None else found.end()
                if found is not None:
                    character = found.group()
                    quoted = character == '"'
                    depth += (character in "[{") - (character in "]}")
                    done = depth == 0 and not quoted
            if done:
                break
            if cut or position >= len(self._text):
                taken = self._text[start:position]
                length += len(taken)
                if length <= MAX_ELEMENT:
                    pieces.append(taken)
                else:
                    pieces.clear()
                self._more(position)
                position = start = 0
        taken = self._text[start:position]
        self._position = position
        return None if length + len(taken) > MAX_ELEMENT else "".join([*pieces, taken])

    def _more(self, used: int) -> None:
        if self._ended:
            raise EOFError
        chunk = self._stream.read(_CHUNK)
        self._ended = not chunk
        self._text = self._text[used:] + self._decode(chunk, final=self._ended)
        self._position = 0
        if self._ended and not self._text:
            raise EOFError


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return position if match is None else match.end()
