"""Checks of the arguments of a method, made from its annotations at its first call."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import typing
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union

from reasoningbank.errors import InvalidInput
from reasoningbank.types.argument import (
    LARGEST,
    Between,
    check_flag,
    check_kind,
    check_text,
    check_whole,
    cut,
    named_kind,
    shown,
)

_Check: TypeAlias = "Callable[[Any, str], Any]"
"""Returns the value of an argument, or raises InvalidInput with the name of it."""


class Checks:
    """The checks of the arguments of one method."""

    def __init__(self, method: Callable[..., Any]) -> None:
        hints = _hints_of(method)
        parameters = [*inspect.signature(method).parameters.values()]
        self.named = {each.name: _check_of(hints[each.name]) for each in parameters[1:] if each.name in hints}
        self._names = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
        self._rest = next((each.name for each in parameters if each.kind is each.VAR_POSITIONAL), "")

    def positional(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments that are given by position, the first of which is the resource itself."""
        names = [*self._names, *[self._rest] * (len(given) - len(self._names) if self._rest else 0)]
        known = [self.named[name](value, name) for name, value in zip(names[1:], given[1:], strict=False)]
        return (given[0], *known, *given[1 + len(known) :])


def _hints_of(method: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations as types; one that only type checkers import is anything."""
    known = dict(method.__globals__)
    while True:
        try:
            return typing.get_type_hints(method, known, include_extras=True)
        except NameError as error:
            known[str(error.name)] = Any


def check_fields(options: object) -> None:
    """Refuse options of which a number is outside the bounds that its field is annotated with.

    Raises:
        InvalidInput: The message names the field.
    """
    for name, check in _checks_of_fields(typing.cast("Hashable", type(options))):
        check(getattr(options, name), name)


@functools.cache
def _checks_of_fields(kind: Hashable) -> tuple[tuple[str, _Check], ...]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return tuple((name, _check_of(hint)) for name, hint in hints.items() if _is_bounded(hint))


def _is_bounded(hint: Any) -> bool:
    return bool(bounds_of(hint)) or any(bounds_of(each) for each in typing.get_args(hint))


def check_argument(value: Any, hint: Any, name: str) -> Any:
    """Return a value that an annotation allows, for what is asked without a method of a bank.

    Raises:
        InvalidInput: When it does not.
    """
    return _check_of(hint)(value, name)


@functools.cache
def bounds_of(hint: Any) -> Mapping[str, object]:
    """Return the bounds of an annotation as JSON Schema has them; none for one without."""
    found: dict[str, object] = {}
    for each in typing.get_args(hint)[1:] if typing.get_origin(hint) is Annotated else ():
        if isinstance(each, Between):
            found |= each.schema
    return found


def _check_of(hint: Any) -> _Check:
    """Return the check of an annotation."""
    simple = _SIMPLE.get(hint) if isinstance(hint, Hashable) else None
    if simple is not None:
        return simple
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _check_of_annotated(arguments[0], arguments[1:])
    if origin is Literal:
        return functools.partial(_check_choice, arguments)
    if origin in {Union, UnionType}:
        return _check_of_union(arguments)
    if origin is collections.abc.Callable:
        return _check_callable
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return functools.partial(_check_mapping, _check_of(arguments[0]), _check_of(arguments[1]))
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return functools.partial(_check_items, _check_of(arguments[0]), arguments[0], issubclass(origin, Sequence))
    if isinstance(hint, type) and getattr(hint, "_is_protocol", False):
        return functools.partial(_check_members, hint)
    if isinstance(hint, type) and not typing.is_typeddict(hint):
        return lambda value, name: check_kind(value, hint, name)
    return _check_nothing


def _check_of_annotated(hint: Any, extras: tuple[Any, ...]) -> _Check:
    check = _check_number if hint is float else _check_of(hint)
    bounds = [each for each in extras if isinstance(each, Between)]

    def bounded(value: Any, name: str) -> Any:
        value = check(value, name)
        for each in bounds:
            each.check(value, name)
        return value

    return bounded


def _check_of_union(kinds: tuple[Any, ...]) -> _Check:
    """Return the check of one of several; of text the message names the first kind that is not None."""
    several = [_check_of(kind) for kind in kinds if kind is not type(None)]
    empty = len(several) < len(kinds)
    if len(several) == 1:
        (only,) = several
        return lambda value, name: None if value is None else only(value, name)

    def either(value: Any, name: str) -> Any:
        if value is None and empty:
            return value
        refused: InvalidInput | None = None
        for check in several:
            try:
                return check(value, name)
            except InvalidInput as error:
                refused = refused or error
        raise refused or InvalidInput(f"{name} must be given")

    return either


def _check_nothing(value: Any, _: str) -> Any:
    return value


def _check_number(value: float, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{name} must be a number, not {shown(value)}", hint=f"Pass {name} as a float.")
    return value


def _check_finite(value: float, name: str) -> float:
    if not -LARGEST <= _check_number(value, name) <= LARGEST:
        raise InvalidInput(f"{name} must be a finite number, not {cut(value)}", hint=f"Pass a smaller {name}.")
    return value


def _check_whole_in_bounds(value: int, name: str) -> int:
    if not -LARGEST <= check_whole(value, name) <= LARGEST:
        raise InvalidInput(f"{name} is too large: {cut(value)}", hint=f"Pass a smaller {name}.")
    return value


def _check_path(value: Path, name: str) -> Path:
    return check_kind(value, Path, name)


def _check_choice(choices: tuple[Any, ...], value: Any, name: str) -> Any:
    if isinstance(value, str) and value in choices:
        return value
    said = f"{', '.join(map(str, choices[:-1]))} or {choices[-1]}" if len(choices) > 1 else str(choices[0])
    raise InvalidInput(f"{name} must be {said}, not {cut(value)}", hint=f"Choose {said}.")


def _check_callable(value: Any, name: str) -> Any:
    if callable(value):
        return value
    raise InvalidInput(f"{name} must be a function, not {shown(value)}", hint=f"Pass {name} as a function.")


def _check_mapping(key: _Check, one: _Check, value: Any, name: str) -> Any:
    for each, kept in check_kind(value, Mapping, name).items():
        key(each, f"each name of {name}")
        one(kept, f"each value of {name}")
    return value


def _check_items(one: _Check, kind: Any, ordered: bool, value: Any, name: str) -> Any:
    """Check what a list holds; what can be gone through once only becomes a tuple."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable) or (ordered and not _is_ordered(value)):
        of = "texts" if kind is str or typing.get_origin(kind) is Literal else getattr(kind, "__name__", "values")
        raise InvalidInput(f"{name} must be a list of {of}, not {shown(value)}", hint=f"Pass {name} as a list.")
    kept = value if isinstance(value, Collection) else tuple(value)
    of = name if kind is str else f"each of {name}"
    for each in kept:
        one(each, of)
    return kept


def _is_ordered(value: Any) -> bool:
    return isinstance(value, Sequence)


def _check_members(kind: Any, value: Any, name: str) -> Any:
    """Check that an object has what the protocol asks for."""
    for member in (each for each in vars(kind) if not each.startswith("_")):
        if not hasattr(value, member):
            said = f"{name} must be {named_kind(kind)}, not {shown(value)}, which has no {member}"
            raise InvalidInput(said, hint=f"Pass {named_kind(kind)}.")
    return value


_SIMPLE: Mapping[object, _Check] = {
    Any: _check_nothing,
    object: _check_nothing,
    str: check_text,
    int: _check_whole_in_bounds,
    float: _check_finite,
    bool: check_flag,
    Path: _check_path,
}
