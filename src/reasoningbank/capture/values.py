"""Reads values out of JSON that may be anything: what does not have the expected type counts as absent."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

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
    """The value when it is a text, else nothing."""
    return value if isinstance(value, str) else ""


def fields(value: object) -> Mapping[str, object]:
    """The value when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[object]:
    """The value when it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def texts(content: object) -> Iterator[str]:
    """The texts of a message's content, which is a text or an array of blocks; images and the like are left out."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            if isinstance(block, str):
                yield block
            elif isinstance(block, dict) and isinstance(block.get("text"), str):
                yield block["text"]


def joined(content: object) -> str:
    """All texts of a message's content, one after the other on lines of their own."""
    return content if isinstance(content, str) else "\n".join(texts(content))


def written(value: object) -> str:
    """Any JSON value as text: a text as it is, everything else as compact JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def between(whole: str, start: str, end: str) -> str:
    """What stands between the first ``start`` and the next ``end``, without space around it; or nothing."""
    _, found, rest = whole.partition(start)
    inside, closed, _ = rest.partition(end)
    return inside.strip() if found and closed else ""


def exit_code(value: object) -> int | None:
    """The value when it can be an exit status."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _MAX_EXIT_CODE:
        return None
    return value


def number(digits: str | None) -> int | None:
    """An exit status out of matched digits."""
    return None if digits is None else exit_code(int(digits[:16]))


def moment(value: object) -> datetime | None:
    """A point in time out of ISO 8601 text or of seconds or milliseconds since 1970; None when it is neither."""
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
    """What a call does: the command of a shell tool, else its arguments as JSON."""
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
    """A command given as words; of ``bash -lc COMMAND`` and the like only the command."""
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
