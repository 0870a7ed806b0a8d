"""Which items meet a LangGraph filter, and which namespaces its conditions: the rules of the store's interface."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Protocol

from reasoningbank.errors import InvalidInput

_NUMBERS: Mapping[str, Callable[[float, float], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


class Condition(Protocol):
    """How a namespace must begin or end; ``*`` stands for any one label."""

    @property
    def match_type(self) -> str:
        """``prefix`` or ``suffix``."""

    @property
    def path(self) -> Sequence[str]:
        """The labels."""


class Listing(Protocol):
    """What is asked of the namespaces."""

    @property
    def match_conditions(self) -> Sequence[Condition] | None:
        """All of these must be met."""

    @property
    def max_depth(self) -> int | None:
        """Longer namespaces are cut there."""

    @property
    def limit(self) -> int:
        """At most so many."""

    @property
    def offset(self) -> int:
        """So many are passed over."""


def accepts(value: Mapping[str, object], condition: Mapping[str, object]) -> bool:
    """Whether a value has every field as the filter wants it; a field that is missing counts as null.

    Raises:
        InvalidInput: When there is no such operator.
    """
    return all(_equals(value.get(key), wanted) for key, wanted in condition.items())


def listed(namespaces: Iterable[tuple[str, ...]], wanted: Listing) -> list[tuple[str, ...]]:
    """The namespaces that meet every condition, cut at the depth, each once, sorted.

    Raises:
        InvalidInput: When there is no such kind of condition.
    """
    met = {
        namespace[: wanted.max_depth]
        for namespace in namespaces
        if all(_meets(namespace, condition) for condition in wanted.match_conditions or ())
    }
    return sorted(met)[wanted.offset : wanted.offset + wanted.limit]


def _meets(namespace: tuple[str, ...], condition: Condition) -> bool:
    path = tuple(condition.path)
    if condition.match_type not in {"prefix", "suffix"}:
        raise InvalidInput(f"unknown condition {condition.match_type!r}", hint="Use prefix or suffix.")
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in {"*", label} for label, wanted in zip(part, path, strict=True))


def _equals(value: object, wanted: object) -> bool:
    if isinstance(wanted, Mapping):
        if any(isinstance(key, str) and key.startswith("$") for key in wanted):
            return all(_applies(value, operator, operand) for operator, operand in wanted.items())
        return isinstance(value, Mapping) and all(_equals(value.get(key), item) for key, item in wanted.items())
    if isinstance(wanted, (list, tuple)):
        if not isinstance(value, (list, tuple)) or len(value) != len(wanted):
            return False
        return all(_equals(item, other) for item, other in zip(value, wanted, strict=True))
    return value == wanted


def _applies(value: object, operator: str, operand: object) -> bool:
    if operator == "$eq":
        return value == operand
    if operator == "$ne":
        return value != operand
    compare = _NUMBERS.get(operator)
    if compare is None:
        known = ", ".join(["$eq", "$ne", *_NUMBERS])
        raise InvalidInput(f"unsupported operator: {operator[:80]!r}", hint=f"Use one of {known}.")
    one, other = _number(value), _number(operand)
    return one is not None and other is not None and compare(one, other)


def _number(value: object) -> float | None:
    """The number that a value is or spells; None for what is none."""
    try:
        return float(value) if isinstance(value, (int, float, str)) else None
    except (ValueError, OverflowError):
        return None
