"""Read the cause that a tool prints below its error, where the error itself only says what could not be done.

Two errors of one message and of different causes are two errors: what mends the one does not mend the other.
"""

from __future__ import annotations

import re

_CHAIN = re.compile(r"^Caused by:[ \t]*$", re.MULTILINE)
"""The line over each cause, as cargo and programs in Rust print it."""
_NUMBERED = re.compile(r"^\d{1,2}: ")
_DRAWN = re.compile(r"^(?:\d{1,7} )?[|^]|^-->|^[-~^|\s]*$")
"""A line that quotes or points at a place of a file."""
_DETAILS = re.compile(r"^[ \t]*Details:[ \t]*$", re.MULTILINE)
_FILE = re.compile(r"^[ \t]*(?:[\w@.~+-]*/)*[\w@.~+-]*\.(?P<ending>\w{1,8}):\d{1,7}$", re.MULTILINE)
_PARSED = re.compile(r"^[ \t]*(?P<said>\w*Error: \S[^\n]{3,})$", re.MULTILINE)
_LONGEST = 160
_LINES = 12


def cause_below(text: str) -> str:
    """Return the last cause that a text gives for the error above it, on one line; empty when it gives none.

    Args:
        text: What stands below the decisive line.
    """
    heads = [*_CHAIN.finditer(text)]
    if heads:
        return _chained(text[heads[-1].end() :])
    details = _DETAILS.search(text)
    if details is None:
        return ""
    file, parsed = _FILE.search(text, details.end()), _PARSED.search(text, details.end())
    if parsed is None:
        return ""
    ending = f" (in a file of .{file['ending']})" if file is not None and file.start() < parsed.start() else ""
    return f"{parsed['said'].strip()[:_LONGEST]}{ending}"


def _chained(text: str) -> str:
    """Return the last of the causes in a block, with what a parser says below the place that it draws."""
    block: list[str] = []
    for line in text.splitlines()[1 : _LINES + 1]:
        if not line[:1].isspace():
            break
        block.append(line.strip())
    if any(_NUMBERED.match(line) for line in block):
        last = max(place for place, line in enumerate(block) if _NUMBERED.match(line))
        block = [_NUMBERED.sub("", block[last]), *block[last + 1 :]]
    said = [line for line in block if line and not _DRAWN.match(line)]
    return " ".join(dict.fromkeys((*said[:1], *said[-1:])))[:_LONGEST]
