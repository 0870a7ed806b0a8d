"""Arguments of an operation: names, types and defaults out of its method's signature, help out of its docstring."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import operator
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, Union

from reasoningbank.operations.json import hints_of, schema_of
from reasoningbank.operations.operation import Json
from reasoningbank.types.annotation import bounds_of

ParameterKind: TypeAlias = Literal[
    "text", "whole", "number", "flag", "time", "day", "seconds", "path", "name", "scores", "object", "other"
]
"""name: an id that is a number or a text; scores: numbers by name; object: any JSON object."""
_KINDS: Mapping[object, ParameterKind] = {
    str: "text",
    int: "whole",
    float: "number",
    bool: "flag",
    datetime: "time",
    date: "day",
    timedelta: "seconds",
    Path: "path",
}
_EITHER: Mapping[ParameterKind, set[type]] = {"name": {int, str}, "time": {datetime, str}, "day": {date, str}}
"""Kinds of values that may be written as a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of an operation.

    Attributes:
        name: Its name in Python.
        kind: What one value is.
        many: True when it takes several values.
        choices: The values that there are; empty for any.
        default: What holds when it is left out.
        required: True when it must be given.
        optional: True when None says that it was left out.
        help: What the docstring says of it.
        variadic: True when the method takes its values one by one (``*values``).
        part_of: The argument whose dataclass it is a field of; empty for an argument of its own.
        shape: The JSON Schema of an object whose fields are known; a command does not need it.
        bounds: The smallest and the largest number, as JSON Schema has them; a command does not need them.
    """

    name: str
    kind: ParameterKind
    many: bool = False
    choices: tuple[str, ...] = ()
    default: Any = None
    required: bool = False
    optional: bool = False
    help: str = ""
    variadic: bool = False
    part_of: str = ""
    shape: Json | None = None
    bounds: Json = field(default_factory=dict)

    @property
    def schema(self) -> Json:
        """The JSON Schema of a value of it."""
        if self.shape is not None:
            return dict(self.shape)
        one: Json = {"enum": list(self.choices)} if self.choices else {**_SCHEMAS[self.kind], **self.bounds}
        return {"type": "array", "items": one} if self.many else one


_UNWRITTEN = frozenset({"shape", "bounds"})
_SCHEMAS: Mapping[ParameterKind, Json] = {
    "text": {"type": "string"},
    "path": {"type": "string"},
    "name": {"type": ["integer", "string"]},
    "time": {"type": "string", "format": "date-time"},
    "day": {"type": "string"},
    "whole": {"type": "integer"},
    "number": {"type": "number"},
    "seconds": {"type": "number"},
    "flag": {"type": "boolean"},
    "scores": {"type": "object", "additionalProperties": {"type": "number"}},
    "object": {"type": "object"},
    "other": {},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodSignature:
    """Hold what a method takes and gives.

    Attributes:
        parameters: Its arguments in their order, those of option objects one by one.
        groups: The dataclasses that are made of several arguments, by the name of the method's argument.
        result: The type of its result.
        summary: The first sentence of its docstring.
        details: The rest of the text before the sections.
    """

    parameters: tuple[Parameter, ...]
    groups: Mapping[str, type]
    result: object
    summary: str
    details: str

    def named(self, name: str) -> Parameter:
        """Return the parameter of a name; raises KeyError when there is none."""
        return {each.name: each for each in self.parameters}[name]

    def call(self, method: Callable[..., object], values: Mapping[str, object]) -> object:
        """Call the method with values by name; what is left out keeps the method's default."""
        parts: dict[str, dict[str, object]] = {}
        plain: dict[str, object] = {}
        positional: list[object] = []
        for each in self.parameters:
            if each.name not in values:
                continue
            value = values[each.name]
            if each.part_of:
                parts.setdefault(each.part_of, {})[each.name] = value
            elif each.variadic:
                positional = list(typing.cast("Sequence[object]", value))
            else:
                plain[each.name] = value
        for name, given in parts.items():
            plain[name] = self.groups[name](**given)
        return method(*positional, **plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """Hold what a command needs to know of a method: enough for its options and its help.

    Attributes:
        parameters: The arguments that a command can offer.
        summary: The first sentence of the docstring.
        details: The rest of the text before the sections.
        has_progress: True when the method tells how far it is.
    """

    parameters: tuple[Parameter, ...]
    summary: str
    details: str
    has_progress: bool = False

    def written(self) -> Json:
        """Return it as JSON; what is as usual is left out."""
        usual = Parameter(name="", kind="text")
        return {
            "summary": self.summary,
            "details": self.details,
            "has_progress": self.has_progress,
            "parameters": [
                {
                    name: value.total_seconds() if isinstance(value, timedelta) else value
                    for name, value in asdict(each).items()
                    if name in {"name", "kind"} or (name not in _UNWRITTEN and value != getattr(usual, name))
                }
                for each in self.parameters
            ],
        }

    @classmethod
    def read(cls, value: Json) -> Description:
        """Return a description out of its JSON."""
        parameters = []
        for one in value["parameters"]:
            fields: dict[str, Any] = {
                name: tuple(each) if isinstance(each, list) else each for name, each in one.items()
            }
            parameters.append(Parameter(**fields))
        return cls(**{**value, "parameters": tuple(parameters)})


def description_of(signature: MethodSignature) -> Description:
    """Return what a command needs to know of a method."""
    return Description(
        parameters=tuple(each for each in signature.parameters if each.kind != "other"),
        summary=signature.summary,
        details=signature.details,
        has_progress=any(each.name == "progress" for each in signature.parameters),
    )


@functools.cache
def signature_of(method: Callable[..., object]) -> MethodSignature:
    """Return what a method takes and gives; its first argument (self, or a bank) is left out."""
    hints = hints_of(method)
    document = read_docstring(inspect.getdoc(method) or "")
    found: list[Parameter] = []
    groups: dict[str, type] = {}
    for each in [*inspect.signature(method).parameters.values()][1:]:
        hint, optional = _without_none(hints[each.name])
        if isinstance(hint, type) and is_dataclass(hint):
            groups[each.name] = hint
            found += _fields_of(hint, each.name)
            continue
        parameter = _parameter(each.name, hint, optional=optional)
        variadic = each.kind is inspect.Parameter.VAR_POSITIONAL
        found.append(
            replace(
                parameter,
                many=parameter.many or variadic,
                variadic=variadic,
                required=not variadic and each.default is inspect.Parameter.empty,
                default=None if each.default is inspect.Parameter.empty else each.default,
                help=document.arguments.get(each.name, ""),
            )
        )
    return MethodSignature(
        parameters=tuple(found),
        groups=groups,
        result=hints.get("return"),
        summary=document.summary,
        details=document.details,
    )


def _fields_of(kind: type, part_of: str) -> list[Parameter]:
    hints, document = hints_of(kind), read_docstring(inspect.getdoc(kind) or "")
    found = []
    for each in fields(kind):
        hint, optional = _without_none(hints[each.name])
        default = each.default_factory() if each.default_factory is not MISSING else each.default
        found.append(
            replace(
                _parameter(each.name, hint, optional=optional),
                required=default is MISSING,
                default=None if default is MISSING else default,
                help=document.arguments.get(each.name, ""),
                part_of=part_of,
            )
        )
    return found


def _parameter(name: str, hint: object, *, optional: bool) -> Parameter:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return replace(_parameter(name, arguments[0], optional=optional), bounds=dict(bounds_of(hint)))
    if origin is Literal:
        return Parameter(name=name, kind="text", choices=tuple(map(str, arguments)), optional=optional)
    if origin in {Union, types.UnionType}:
        kind: ParameterKind = next((known for known, types_ in _EITHER.items() if {*arguments} == types_), "other")
        kind = "path" if Path in arguments else kind
        return Parameter(name=name, kind="object" if _has_mapping(arguments) else kind, optional=optional)
    if isinstance(hint, type) and typing.is_typeddict(hint):
        return Parameter(name=name, kind="object", optional=optional, shape=schema_of(hint))
    if isinstance(origin, type) and issubclass(origin, collections.abc.Mapping):
        kind = "scores" if arguments[1] is float else "object"
        return Parameter(name=name, kind=kind, optional=optional)
    if isinstance(origin, type) and issubclass(origin, collections.abc.Iterable):
        return replace(_parameter(name, arguments[0], optional=optional), many=True)
    return Parameter(name=name, kind=_KINDS.get(hint, "other"), optional=optional)


def _has_mapping(kinds: Sequence[object]) -> bool:
    return any(typing.get_origin(each) is collections.abc.Mapping for each in kinds)


def _without_none(hint: object) -> tuple[Any, bool]:
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) not in {Union, types.UnionType} or type(None) not in arguments:
        return hint, False
    several = tuple(each for each in arguments if each is not type(None))
    return functools.reduce(operator.or_, several), True


@dataclass(frozen=True, slots=True, kw_only=True)
class Docstring:
    """A docstring in Google's style: its first sentence, the text after it, and what it says of each argument."""

    summary: str
    details: str
    arguments: Mapping[str, str]


_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Example|Examples|Note):$")
_ENTRY = re.compile(r"^ {4}(\*{0,2}\w+(?:, \w+)*): (.*)$")


def read_docstring(text: str) -> Docstring:
    """Return a docstring's parts; the text is as ``inspect.getdoc`` gives it."""
    before: list[str] = []
    arguments: dict[str, str] = {}
    section = ""
    names: list[str] = []
    for line in text.splitlines():
        if match := _SECTION.match(line):
            section, names = match[1], []
        elif not section:
            before.append(line)
        elif section in {"Args", "Attributes"}:
            if entry := _ENTRY.match(line):
                names = entry[1].lstrip("*").split(", ")
                arguments.update(dict.fromkeys(names, entry[2].strip()))
            elif line.strip():
                arguments.update((name, f"{arguments[name]} {line.strip()}") for name in names)
    summary, _, details = "\n".join(before).strip().partition("\n\n")
    return Docstring(summary=" ".join(summary.split()), details=details.strip(), arguments=arguments)
