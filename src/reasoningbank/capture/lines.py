"""JSON lines, one at a time and each of bounded length."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import BinaryIO

from reasoningbank.capture.session import Skipped

MAX_LINE = 8 * 1024 * 1024
"""Most bytes of one line; a longer one is passed over without being held in memory."""
_MARK = b"\xef\xbb\xbf"


def raw_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """The lines of a file with their numbers from 1; None in place of one that is too long."""
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
    """The value of every line that is not blank; ``Skipped`` in place of one that cannot be read."""
    for number, line in raw_lines(stream):
        if line is None:
            yield number, Skipped(number, f"the line is longer than {MAX_LINE // 1024 // 1024} MiB")
        elif line := line.strip():
            yield number, value_of(line, number)


def value_of(line: bytes | str, place: int) -> object | Skipped:
    """The JSON value of a text, or why it has none."""
    try:
        value: object = json.loads(line if isinstance(line, str) else line.decode("utf-8"))
    except UnicodeDecodeError:
        return Skipped(place, "it is not UTF-8")
    except RecursionError:
        return Skipped(place, "it is nested too deeply")
    except ValueError:
        return Skipped(place, "it is not JSON")
    return value
