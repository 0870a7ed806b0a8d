"""The method of an operation, found by its name in the table; what it answers as JSON."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from reasoningbank.operations import composed
from reasoningbank.operations.json import Json, json_of, schema_of, to_json
from reasoningbank.operations.signature import Signature, signature_of
from reasoningbank.operations.table import Operation

if TYPE_CHECKING:
    from reasoningbank.bank import Bank

_CLASSES: Mapping[str, str] = {"quarantine": "Quarantines"}
"""The classes of the resources of a bank that are not named like their attribute."""


@functools.cache
def function_of(method: str) -> Callable[..., object]:
    """Return the function behind a name of the table; its first argument is a resource of a bank, or a bank."""
    if method.startswith("+"):
        return typing.cast("Callable[..., object]", getattr(composed, method[1:]))
    from reasoningbank import bank

    place, _, name = method.rpartition(".")
    owner = getattr(bank, _CLASSES.get(place, place.capitalize())) if place else bank.Bank
    return typing.cast("Callable[..., object]", getattr(owner, name))


def interface(operation: Operation) -> Signature:
    """Return what an operation takes and gives."""
    return signature_of(function_of(operation.method))


def run(operation: Operation, bank: Bank, values: Mapping[str, object]) -> object:
    """Return what an operation answers.

    Args:
        operation: Which one.
        bank: The bank.
        values: Its arguments by name; what is left out keeps its default.
    """
    function = function_of(operation.method)
    owner: object = bank
    if not operation.method.startswith("+"):
        *places, _ = operation.method.split(".")
        for place in places:
            owner = getattr(owner, place)
    return interface(operation).call(functools.partial(function, owner), {**operation.defaults, **values})


def answer_json(operation: Operation, result: object, values: Mapping[str, object]) -> Json:
    """Return the JSON of what an operation answered."""
    echoed = {name: json_of(values[name]) for name in operation.echo}
    if operation.plural:
        items = typing.cast("list[object]", json_of(result))
        return {**echoed, operation.plural: items, "count": len(items)}
    if result is None:
        return {"deleted": True, **echoed}
    return {**echoed, **to_json(result)}


def answer_schema(operation: Operation) -> Json:
    """Return the JSON Schema of what an operation answers."""
    signature = interface(operation)
    echoed = {name: signature.named(name).schema for name in operation.echo}
    if operation.plural:
        listed = schema_of(signature.result)
        return {"type": "object", "properties": {**echoed, operation.plural: listed, "count": {"type": "integer"}}}
    if signature.result in {None, type(None)}:
        return {"type": "object", "properties": {"deleted": {"type": "boolean"}, **echoed}}
    schema = schema_of(signature.result)
    return {**schema, "properties": {**echoed, **schema["properties"]}} if "properties" in schema else schema
