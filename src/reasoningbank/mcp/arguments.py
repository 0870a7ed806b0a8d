"""Arguments of a tool call, checked against the tool's own schema before anything runs."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Literal, TypeVar

from reasoningbank.errors import InvalidInput
from reasoningbank.mcp.schemas import ToolSpec

MAX_SESSION = 200
"""The longest name of a session, in characters."""
_SHOWN = 80
_LARGEST = 10**9
_TYPES = {"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false"}
_Kind = TypeVar("_Kind", str, bool)


class Arguments:
    """The arguments of one call, with the types that the tool's schema promises.

    ``null`` for an argument that may be left out means that it was left out: some clients fill every argument.

    Raises:
        InvalidInput: When an argument is unknown, missing or of another type; the hint names what the tool takes.
    """

    def __init__(self, tool: ToolSpec, given: Mapping[str, object] | None) -> None:
        values = dict(given or {})
        for name in values:
            if name not in tool.inputs:
                raise InvalidInput(f"{tool.name} has no argument {ascii(name)[:_SHOWN]}", hint=_nearest(name, tool))
        for name in tool.required:
            if values.get(name) is None:
                raise InvalidInput(f"{tool.name} needs {name}", hint=f"Needed: {', '.join(tool.required)}.")
        self._values = {name: value for name, value in values.items() if value is not None}
        for name, value in self._values.items():
            _check(name, value, tool.inputs[name])

    def text(self, name: str) -> str:
        """Return a text that must be there."""
        return self._one(name, str)

    def flag(self, name: str) -> bool:
        """Return a truth value that must be there."""
        return self._one(name, bool)

    def optional_text(self, name: str) -> str | None:
        """Return a text, or None when it was left out."""
        return self._one(name, str) if name in self._values else None

    def whole(self, name: str, default: int) -> int:
        """Return a whole number, or the default."""
        value = self._values.get(name)
        return int(value) if isinstance(value, int | float) else default

    def number(self, name: str, default: float) -> float:
        """Return a number, or the default."""
        value = self._values.get(name)
        return float(value) if isinstance(value, int | float) else default

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts, empty when it was left out."""
        values = self._values.get(name, [])
        return tuple(value for value in values if isinstance(value, str)) if isinstance(values, list) else ()

    def has(self, name: str) -> bool:
        """Return whether the argument was given."""
        return name in self._values

    def whole_numbers(self, name: str) -> tuple[int, ...]:
        """Return a list of whole numbers, empty when it was left out."""
        values = self._values.get(name, [])
        return (
            tuple(int(value) for value in values if isinstance(value, int | float)) if isinstance(values, list) else ()
        )

    def mapping(self, name: str) -> Mapping[str, object]:
        """Return an object that must be there.

        Raises:
            InvalidInput: When something in it cannot be written as JSON.
        """
        value = self._values[name]
        if not isinstance(value, Mapping):
            raise InvalidInput(f"{name} is of another type", hint="Correct the argument and call again.")
        return value

    def session(self, default: str) -> str:
        """Return the session the call counts for: the one named, or the connection's own.

        Raises:
            InvalidInput: When the name is too long or not printable.
        """
        named = (self.optional_text("session_id") or "").strip()
        if len(named) > MAX_SESSION or not named.isprintable():
            raise InvalidInput(
                f"a session_id has at most {MAX_SESSION} printable characters",
                hint="Pass a short name of the session, or leave it out.",
            )
        return named or default

    def _one(self, name: str, kind: type[_Kind]) -> _Kind:
        value = self._values[name]
        if not isinstance(value, kind):
            raise InvalidInput(f"{name} is of another type", hint="Correct the argument and call again.")
        return value


def _nearest(name: str, tool: ToolSpec) -> str:
    close = difflib.get_close_matches(name[:_SHOWN], tool.inputs, n=1)
    known = f"It takes: {', '.join(tool.inputs)}."
    return f"Did you mean {close[0]}? {known}" if close else known


def _check(name: str, value: object, schema: Mapping[str, object]) -> None:
    if schema.get("type") == "object":
        if not isinstance(value, Mapping):
            raise _wrong(name, "an object", value)
        if not _is_json(value):
            raise InvalidInput(f"{name} cannot be written as JSON", hint="Send finite numbers and whole characters.")
    elif schema.get("type") == "array":
        items = schema.get("items")
        kind = _scalar(items) if isinstance(items, Mapping) else "string"
        if not isinstance(value, list):
            raise _wrong(name, "a list of texts" if kind == "string" else "a list of whole numbers", value)
        for item in value:
            _check_one(f"every item of {name}", item, kind)
    else:
        _check_one(name, value, _scalar(schema))


def _scalar(schema: Mapping[str, object]) -> Literal["string", "integer", "number", "boolean"]:
    match schema.get("type"):
        case "integer" | "number" | "boolean" as kind:
            return kind
        case _:
            return "string"


def _check_one(name: str, value: object, kind: Literal["string", "integer", "number", "boolean"]) -> None:
    match kind, value:
        case "string", str():
            if not _is_unicode(value):
                raise InvalidInput(
                    f"{name} is not valid Unicode text", hint="Send whole characters, not halves of surrogate pairs."
                )
        case "boolean", bool():
            pass
        case "integer" | "number", bool():
            raise _wrong(name, _TYPES[kind], value)
        case "integer" | "number", int() | float() if abs(value) > _LARGEST:
            raise InvalidInput(f"{name} is too large")
        case "integer", int():
            pass
        case "integer", float() if value.is_integer():
            pass
        case "number", int() | float():
            pass
        case _:
            raise _wrong(name, _TYPES[kind], value)


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _wrong(name: str, wanted: str, value: object) -> InvalidInput:
    return InvalidInput(f"{name} must be {wanted}, not {_kind(value)}", hint=f"Send {name} as {wanted}.")


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"
