"""Arguments of a call of a tool or an endpoint, checked against its schema before anything runs."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any, Literal

from reasoningbank.errors import InvalidInput
from reasoningbank.operations.operation import inputs_of

MAX_SESSION = 200
"""The longest name of a session, in characters."""
_SHOWN = 80
_LARGEST = 10**9
_TYPES = {"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false"}


def check_most(values: Mapping[str, Any], inputs: str, most: Mapping[str, int]) -> None:
    """Refuse a number above the most that a tool or an endpoint takes: less than was asked for would look like all.

    Args:
        values: The arguments by the names of the operation's parameters.
        inputs: The arguments of the tool or the endpoint, as the table names them.
        most: The largest number, by parameter.

    Raises:
        InvalidInput: When one is larger; the message names the most.
    """
    given = {each.parameter: each.given for each in inputs_of(inputs)}
    for parameter, largest in most.items():
        value = values.get(parameter)
        if isinstance(value, int) and value > largest:
            name = given.get(parameter, parameter)
            raise InvalidInput(f"{name} is at most {largest:,}, not {value:,}", hint=f"Ask for at most {largest:,}.")


class Arguments:
    """The arguments of one call, with the types that the tool's schema promises.

    ``null`` for an argument that may be left out means that it was left out: some clients fill every argument.

    Args:
        name: The tool or the endpoint.
        inputs: JSON Schema of each argument.
        required: The arguments that must be given.
        given: The call.

    Raises:
        InvalidInput: When an argument is unknown, missing or of another type; the hint names what there is.
    """

    def __init__(
        self,
        name: str,
        inputs: Mapping[str, Mapping[str, Any]],
        required: tuple[str, ...],
        given: Mapping[str, object] | None,
    ) -> None:
        values = dict(given or {})
        for argument in values:
            if argument not in inputs:
                hint = _nearest(argument, inputs)
                raise InvalidInput(f"{name} has no argument {ascii(argument)[:_SHOWN]}", hint=hint)
        for argument in required:
            if values.get(argument) is None:
                raise InvalidInput(f"{name} needs {argument}", hint=f"Needed: {', '.join(required)}.")
        self._schemas = inputs
        self._values = {argument: value for argument, value in values.items() if value is not None}
        for argument, value in self._values.items():
            _check(argument, value, inputs[argument])

    def has(self, name: str) -> bool:
        """Return whether the argument was given."""
        return name in self._values

    def get(self, name: str, default: Any = None) -> Any:
        """Return an argument, or the default when it was left out."""
        return self.value(name) if name in self._values else default

    def value(self, name: str) -> Any:
        """Return an argument that was given: numbers of whole value as whole numbers, lists as tuples."""
        value, schema = self._values[name], self._schemas[name]
        if isinstance(value, list):
            whole = schema.get("items", {}).get("type") == "integer"
            return tuple(int(each) if whole else each for each in value)
        if schema.get("type") == "integer" and isinstance(value, float):
            return int(value)
        return float(value) if schema.get("type") == "number" and isinstance(value, int) else value

    def optional_text(self, name: str) -> str | None:
        """Return a text, or None when it was left out."""
        value = self._values.get(name)
        return value if isinstance(value, str) else None

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


def _nearest(name: str, inputs: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(name[:_SHOWN], inputs, n=1, cutoff=0.7)
    known = f"It takes: {', '.join(inputs)}."
    return f"Did you mean {close[0]}? {known}" if close else known


def _check(name: str, value: object, schema: Mapping[str, object]) -> None:
    if schema.get("type") == "object":
        if not isinstance(value, Mapping):
            raise _wrong(name, "an object", value)
        if not _is_json(value):
            raise InvalidInput(f"{name} cannot be written as JSON", hint="Send finite numbers and whole characters.")
        if schema.get("additionalProperties") == {"type": "number"}:
            for key, each in value.items():
                _check_one(f"{name}: the value of {str(key)[:_SHOWN]!r}", each, "number")
    elif schema.get("type") == "array":
        items = schema.get("items")
        kind = _scalar(items) if isinstance(items, Mapping) else "string"
        if not isinstance(value, list):
            raise _wrong(name, "a list of texts" if kind == "string" else "a list of whole numbers", value)
        for item in value:
            if isinstance(items, Mapping) and items.get("type") == "object":
                if not isinstance(item, Mapping):
                    raise _wrong(f"every item of {name}", "an object", item)
            else:
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
