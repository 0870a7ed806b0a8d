"""Frozen dataclasses as plain JSON values and back, driven by their type annotations alone."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from reasoningbank.errors import InvalidInput

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
_Record = TypeVar("_Record")


def to_json(value: object) -> Json:
    """Return the JSON value of a dataclass, a container of them, a time or a plain value.

    Raises:
        InvalidInput: For a value of any other type.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if is_dataclass(value):
        return {each.name: to_json(getattr(value, each.name)) for each in fields(value)}
    raise InvalidInput(f"a value of type {type(value).__name__} cannot be written as JSON")


def from_json(kind: type[_Record], value: Json) -> _Record:
    """Return the inverse of to_json for a dataclass type.

    Raises:
        InvalidInput: When the value is not one of that type.
    """
    return cast(_Record, _decoded(kind, value))


def _decoded(kind: object, value: Json) -> object:
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(value, dict):
        hints = _hints(kind)
        return kind(**{name: _decoded(hints[name], item) for name, item in value.items() if name in hints})
    if kind is datetime and isinstance(value, str):
        return datetime.fromisoformat(value)
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(kind, type) and type(value) is kind:
        return value
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple and isinstance(value, list):
        return tuple(_decoded(arguments[0], item) for item in value)
    if origin is Mapping and isinstance(value, dict):
        return {key: _decoded(arguments[1], item) for key, item in value.items()}
    if origin is Literal and value in arguments:
        return value
    if origin in {Union, types.UnionType}:
        return None if value is None else _decoded(arguments[0], value)
    raise InvalidInput(f"{type(value).__name__} is not a {kind}")


@cache
def _hints(kind: type) -> Mapping[str, object]:
    return get_type_hints(kind)
