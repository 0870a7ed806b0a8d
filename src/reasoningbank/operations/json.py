"""Results as JSON: a public dataclass is its own JSON; where the two differ, the table's ``SHAPES`` say how."""

from __future__ import annotations

import collections.abc
import functools
import importlib
import json
import operator
import pkgutil
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Union

from reasoningbank.errors import BankError
from reasoningbank.operations.operation import Json
from reasoningbank.operations.table import SHAPES
from reasoningbank.types.annotation import bounds_of

DIGITS = 6
"""Digits behind the point of a number."""

_AS_TEXT = frozenset({"Reference"})
"""Types that are one text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a shape.

    Attributes:
        name: Its name in JSON; empty for all fields of what the way leads to.
        way: The attributes to go along; ``[]`` goes into every item.
        count: True when the items are counted.
        missing: What stands where the way ends at None.
        digits: How far numbers are rounded.
    """

    name: str
    way: tuple[str, ...]
    count: bool = False
    missing: object = None
    digits: int = DIGITS

    def of(self, value: object) -> object:
        """Return the JSON of this field of a value."""
        found = _gone(value, self.way)
        if self.count:
            return 0 if found is None else len(typing.cast("collections.abc.Sized", found))
        return self.missing if found is None else json_of(found, self.digits)


def to_json(result: object) -> Json:
    """Return a result as a JSON object.

    Args:
        result: A public dataclass; an error of the tree; or an object that is JSON already.
    """
    value = json_of(result)
    if not isinstance(value, dict):
        raise TypeError(f"{type(result).__name__} is not an object")
    return value


def json_of(value: object, digits: int = DIGITS) -> object:
    """Return any part of a result as JSON."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return round(value, digits)
        case datetime() | date():
            return value.isoformat()
        case timedelta():
            return round(value.total_seconds(), digits)
        case Path():
            return str(value)
        case BankError():
            return {"error": value.code, "message": str(value), "hint": value.hint}
        case collections.abc.Mapping():
            return {str(name): json_of(each, digits) for name, each in value.items()}
        case frozenset() | set():
            return [json_of(each, digits) for each in sorted(value)]
        case collections.abc.Iterable():
            return [json_of(each, digits) for each in value]
    kind = type(value)
    if kind.__name__ in _AS_TEXT:
        return str(value)
    if kind.__name__ == "Node":
        return _node(value)
    if not is_dataclass(kind):
        raise TypeError(f"{kind.__name__} has no JSON")
    answer: Json = {}
    for field in shape_of(kind):
        found = field.of(value)
        if field.name:
            answer[field.name] = found
        else:
            answer.update(typing.cast("Json", found))
    return answer


@functools.cache
def shape_of(kind: type) -> tuple[Field, ...]:
    """Return the fields of a type's JSON."""
    words = SHAPES[kind.__name__].split() if kind.__name__ in SHAPES else [each.name for each in fields(kind)]
    return tuple(_field(word) for word in words)


def _field(word: str) -> Field:
    if word.startswith("*"):
        return Field(name="", way=(word[1:],))
    word, _, missing = word.partition("|")
    word, _, digits = word.partition(":")
    name, sign, way = word.partition("=")
    way = way if sign else name
    return Field(
        name=name,
        way=tuple(way.removeprefix("#").replace("[]", ".[]").split(".")),
        count=way.startswith("#"),
        missing=json.loads(missing) if missing else None,
        digits=int(digits) if digits else DIGITS,
    )


def _gone(value: object, way: tuple[str, ...]) -> object:
    for place, name in enumerate(way):
        if value is None:
            return None
        if name == "[]":
            return [_gone(each, way[place + 1 :]) for each in typing.cast("collections.abc.Iterable[object]", value)]
        if isinstance(value, collections.abc.Mapping):
            value = value.get(name)
        else:
            value = getattr(value, name)
            value = value() if callable(value) else value
    return value


def _node(node: Any) -> Json:
    """Return a node: the common fields of seed 003, then the special ones of its label."""
    return {
        "id": node.id,
        "label": node.label,
        "text": node.text,
        "standing": node.standing,
        "claim": node.claim,
        "conv_id": node.conv_id,
        "tags": list(node.tags),
        **{name: list(value) if isinstance(value, tuple) else value for name, value in node.fields.items()},
        "ingestion_time": node.ingestion_time.isoformat(),
        "update_time": node.updated_at.isoformat(),
        "reasoning_pointer_ids": list(node.pointers),
    }


def schema_of(annotation: object, *, depth: int = 4) -> Json:
    """Return the JSON Schema of what ``json_of`` makes of a value of this type.

    Args:
        annotation: A type as a signature or a dataclass has it, resolved.
        depth: How deep objects are described; below that they are objects of any kind.
    """
    plain = _PLAIN.get(annotation)
    if plain is not None:
        return dict(plain)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return {**schema_of(arguments[0], depth=depth), **bounds_of(annotation)}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in {Union, types.UnionType}:
        several = [each for each in arguments if each is not type(None)]
        schemas = [schema_of(each, depth=depth) for each in several]
        if len(several) < len(arguments):
            schemas.append({"type": "null"})
        return any_of(schemas)
    if isinstance(origin, type) and issubclass(origin, collections.abc.Mapping):
        return {"type": "object", "additionalProperties": schema_of(arguments[1], depth=depth)}
    if isinstance(origin, type) and issubclass(origin, collections.abc.Iterable):
        kinds = [each for each in arguments if each is not Ellipsis]
        return {"type": "array", "items": schema_of(kinds[0], depth=depth)} if kinds else {"type": "array"}
    if isinstance(annotation, type) and typing.is_typeddict(annotation):
        parts = {name: schema_of(each, depth=depth) for name, each in hints_of(annotation).items()}
        needed = sorted(getattr(annotation, "__required_keys__", ()))
        return {"type": "object", "properties": parts, **({"required": needed} if needed else {})}
    if not isinstance(annotation, type) or not is_dataclass(annotation):
        return {}
    if annotation.__name__ in _AS_TEXT:
        return {"type": "string"}
    if depth <= 0:
        return {"type": "object"}
    return _node_schema() if annotation.__name__ == "Node" else _object_schema(annotation, depth)


def object_schema(properties: Mapping[str, Json], *, optional: Collection[str] = ()) -> Json:
    """Return the schema of an object that has these fields and no others.

    Args:
        properties: The schema of each field.
        optional: The fields that it may lack.
    """
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}


def any_of(schemas: Sequence[Json]) -> Json:
    """Return the schema of what fits one of several."""
    return schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}


def alternatives_of(schema: Json) -> list[Json]:
    """Return the schemas of which one has to fit; a schema without a choice is the only one."""
    return typing.cast("list[Json]", schema.get("anyOf", [schema]))


def properties_of(schema: Json) -> Json:
    """Return the schema of each field that an object of this schema may have; of several kinds those of all."""
    return {name: each for kind in alternatives_of(schema) for name, each in kind.get("properties", {}).items()}


def with_properties(properties: Mapping[str, Json], schema: Json) -> Json:
    """Return the schema of an object with further fields before its own, in each of its kinds."""
    return any_of([_joined(object_schema(properties), each) for each in alternatives_of(schema)])


def _joined(first: Json, second: Json) -> Json:
    """Return the schema of an object that has the fields of both."""
    properties = {**first["properties"], **second["properties"]}
    needed = {*first["required"], *second["required"]}
    return object_schema(properties, optional=properties.keys() - needed)


def _object_schema(kind: type, depth: int) -> Json:
    """Return the schema of a dataclass; where fields of one of several types are put in its place, of each kind."""
    kinds = [object_schema({})]
    for field in shape_of(kind):
        found, optional = _type_along(kind, field.way)
        if not field.name:
            merged = alternatives_of(schema_of(found, depth=depth))
            kinds = [_joined(known, each) for known in kinds for each in merged]
            continue
        schema = {"type": "integer"} if field.count else schema_of(found, depth=depth - 1)
        missing = optional and field.missing is None and not field.count
        part = {field.name: {"anyOf": [schema, {"type": "null"}]} if missing and schema else schema}
        kinds = [_joined(known, object_schema(part)) for known in kinds]
    return any_of(kinds)


def _node_schema() -> Json:
    """Return the schema of a node: it has the fields of every node, and may have the special ones of its label."""
    from reasoningbank.types.graph import LABEL_FIELDS, LIST_FIELDS

    special = dict.fromkeys(name for names in LABEL_FIELDS.values() for name in names)
    lists = {"tags", "reasoning_pointer_ids", *LIST_FIELDS}
    names = ("id", "label", "text", "standing", "claim", "conv_id", "tags", *special, "ingestion_time", "update_time")
    properties: dict[str, Json] = {
        name: {"type": "array", "items": {"type": "string"}} if name in lists else {"type": "string"}
        for name in (*names, "reasoning_pointer_ids")
    }
    return object_schema(properties, optional=special)


def _type_along(kind: object, way: tuple[str, ...]) -> tuple[Any, bool]:
    """Return the type that a way leads to, and whether the way may end at None before."""
    optional = False
    for place, name in enumerate(way):
        kind, empty = _without_none(kind)
        optional = optional or empty
        if name == "[]":
            inner, _ = _type_along(typing.get_args(kind)[0], way[place + 1 :])
            return types.GenericAlias(tuple, (inner, ...)), optional
        origin = typing.get_origin(kind)
        if isinstance(origin, type) and issubclass(origin, collections.abc.Mapping):
            return str, optional
        kind = _attribute_type(typing.cast(type, kind), name)
    return kind, optional


def _attribute_type(kind: type, name: str) -> object:
    attribute = getattr(kind, name, None)
    if isinstance(attribute, property) and attribute.fget is not None:
        return hints_of(attribute.fget)["return"]
    if isinstance(attribute, types.FunctionType):
        return hints_of(attribute)["return"]
    return hints_of(kind)[name]


def _without_none(kind: object) -> tuple[Any, bool]:
    if typing.get_origin(kind) not in {Union, types.UnionType}:
        return kind, False
    several = [each for each in typing.get_args(kind) if each is not type(None)]
    return functools.reduce(operator.or_, several), len(several) < len(typing.get_args(kind))


_TEXT, _WHOLE, _NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
_PLAIN: Mapping[object, Json] = {
    str: _TEXT,
    Path: _TEXT,
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    int: _WHOLE,
    float: _NUMBER,
    timedelta: _NUMBER,
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    object: {},
}


def hints_of(what: type | Callable[..., object]) -> dict[str, Any]:
    """Return the annotations of a class or a function as types, those included that only type checkers import."""
    module = importlib.import_module(what.__module__)
    known = {**_known_names(), **vars(module)}
    while True:
        try:
            return typing.get_type_hints(what, known, include_extras=True)
        except NameError as error:
            known[str(error.name)] = object


@functools.cache
def _known_names() -> Mapping[str, object]:
    """Return every name that annotations use and a module may import for type checkers alone."""
    names: dict[str, object] = {name: getattr(collections.abc, name) for name in collections.abc.__all__}
    names.update({"datetime": datetime, "date": date, "timedelta": timedelta, "Path": Path, "Any": Any})
    package = importlib.import_module("reasoningbank.types")
    for module in pkgutil.iter_modules(package.__path__):
        names.update(
            (name, value)
            for name, value in vars(importlib.import_module(f"{package.__name__}.{module.name}")).items()
            if not name.startswith("_")
        )
    return names
