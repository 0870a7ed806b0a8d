"""Which format a file has, told by what is in it and never by its name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedReader
from itertools import islice
from typing import BinaryIO, Literal

from reasoningbank.capture import claude_code, codex, messages, mini_swe_agent, plain, swe_agent
from reasoningbank.capture.documents import parts
from reasoningbank.capture.lines import line_entries, raw_lines
from reasoningbank.capture.session import Skipped
from reasoningbank.capture.values import fields, joined, listed, text

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
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function", "human", "exit"})


def shape_of(stream: BinaryIO) -> Shape:
    """How the file is laid out; the stream is read from its place on."""
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
    """The name of the format, or nothing when it is none that is known; the stream is read from its place on."""
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
    """The format that an object belongs to: a line, a message, or a whole session; or nothing."""
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
    """The keys of an object, each array with its first elements only."""
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
    return kind_of(value) not in (claude_code.NAME, codex.NAME, plain.NAME)
