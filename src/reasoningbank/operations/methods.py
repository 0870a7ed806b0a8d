"""The method of an operation, found by its name in the table; what it answers as JSON."""

from __future__ import annotations

import functools
import importlib
import json
import types
import typing
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING

from reasoningbank.operations.json import json_of, object_schema, properties_of, schema_of, to_json, with_properties
from reasoningbank.operations.operation import Json, Operation
from reasoningbank.operations.signature import Description, MethodSignature, description_of, signature_of
from reasoningbank.operations.table import OPERATIONS

if TYPE_CHECKING:
    from reasoningbank.bank import Bank

_WRITTEN = "interface.json"
TEXT = "text"
"""The field of a result that is one text."""

_RESOURCES: Mapping[str, str] = {
    "memories": "memories.memories:Memories",
    "experience": "search.experience:Experience",
    "sessions": "sessions.sessions:Sessions",
    "recipes": "sessions.recipe_store:Recipes",
    "distillation": "sessions.distillation:Distillation",
    "branches": "sessions.branches:Branches",
    "curation": "curation.curation:Curation",
    "quarantine": "curation.quarantine:Quarantines",
    "graph": "graph.graph:Graph",
    "edges": "graph.edges:Edges",
    "sources": "graph.sources:Sources",
    "preferences": "graph.provenance:Preferences",
    "conversations": "conversations.conversations:Conversations",
    "questions": "conversations.questions:Questions",
    "workflows": "conversations.workflows:Workflows",
    "documents": "documents.documents:Documents",
    "sharing": "sharing.scopes:Sharing",
    "matts": "matts.matts:Matts",
    "admin": "admin:Admin",
    "jobs": "jobs.jobs:Jobs",
}
"""The class of each resource of a bank, imported when an operation of it is."""


def resource_class(name: str) -> type:
    """Return the class of a resource, as its attribute of a bank is named."""
    module, _, kind = _RESOURCES[name].partition(":")
    owner: type = getattr(importlib.import_module(f"reasoningbank.{module}"), kind)
    return owner


def resources() -> tuple[str, ...]:
    """Return the names of the resources of a bank."""
    return tuple(_RESOURCES)


@functools.cache
def function_of(method: str) -> Callable[..., object]:
    """Return the function behind a name of the table; its first argument is a resource of a bank, or a bank."""
    if method.startswith("+"):
        place, _, name = method[1:].rpartition(".")
        module = importlib.import_module(f"reasoningbank.operations.{place or 'composed'}")
        return typing.cast("Callable[..., object]", getattr(module, name))
    place, _, name = method.rpartition(".")
    if place:
        return typing.cast("Callable[..., object]", getattr(resource_class(place), name))
    from reasoningbank.bank import Bank

    return typing.cast("Callable[..., object]", getattr(Bank, name))


def interface(operation: Operation) -> MethodSignature:
    """Return what an operation takes and gives; this imports the bank.

    Raises:
        TypeError: When its answer cannot be shown: it has no JSON, or no text for people.
    """
    signature = signature_of(function_of(operation.method))
    check_answer(operation, signature.result)
    return signature


def check_answer(operation: Operation, result: object) -> None:
    """Refuse an operation whose answer cannot be shown, before anybody calls it.

    Args:
        operation: Which one.
        result: The type that its method is annotated with.

    Raises:
        TypeError: When the answer has no JSON, or no text for people.
    """
    from reasoningbank.operations.text import has_text

    if operation.plural:
        if operation.command is not None and not has_text(operation.plural, several=True):
            raise TypeError(_no_text(operation, f"the list {operation.plural!r}", "_PLURALS"))
        return
    union = isinstance(result, types.UnionType) or typing.get_origin(result) is typing.Union
    for kind in typing.get_args(result) if union else (result,):
        if kind in {None, type(None)} or kind is str:
            continue
        name = getattr(kind, "__name__", str(kind))
        if not _is_object(kind):
            raise TypeError(
                f"operation {operation.method!r} answers {name}, which is not a JSON object: answer a dataclass, "
                "or name the list with `plural`"
            )
        if operation.command is not None and not has_text(name):
            raise TypeError(_no_text(operation, name, "_TEXTS"))


@functools.cache
def _is_object(kind: type) -> bool:
    """Return whether the JSON of a type is an object; every call asks, and to find out costs more than a search."""
    return bool(properties_of(schema_of(kind)))


def _no_text(operation: Operation, what: str, where: str) -> str:
    return (
        f"operation {operation.method!r} answers {what}, which has no text for people: add a function of it to "
        f"{where} in reasoningbank/operations/text.py"
    )


@functools.cache
def described(operation: str) -> Description:
    """Return what an operation takes, without importing the bank: as it was written down, else from the signature.

    Args:
        operation: Its method, as the table names it.
    """
    text = files("reasoningbank.operations").joinpath(_WRITTEN).read_text(encoding="utf-8")
    known = json.loads(text).get(operation)
    if known:
        return Description.read(known)
    entry = next((each for each in OPERATIONS if each.method == operation), None)
    return description_of(signature_of(function_of(operation)) if entry is None else interface(entry))


def written_interface() -> str:
    """Return what ``interface.json`` has to hold."""
    found = {each.method: description_of(interface(each)).written() for each in OPERATIONS if each.command is not None}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def run(operation: Operation, bank: Bank, values: Mapping[str, object]) -> object:
    """Return what an operation answers, and keep which memories an agent reads in it.

    Args:
        operation: Which one.
        bank: The bank.
        values: Its arguments by name; what is left out keeps its default.
    """
    result = interface(operation).call(bound(operation.method, bank), {**operation.defaults, **values})
    if operation.reads or operation.shows:
        from reasoningbank.operations.given import note_result

        note_result(bank, result)
    return result


def bound(method: str, bank: Bank) -> Callable[..., object]:
    """Return the function behind a name of the table, with the resource of a bank that it belongs to."""
    owner: object = bank
    place, _, _ = method.rpartition(".")
    if place and not method.startswith("+"):
        owner = getattr(bank, place)
    return functools.partial(function_of(method), owner)


def answer_json(operation: Operation, result: object, values: Mapping[str, object]) -> Json:
    """Return the JSON of what an operation answered."""
    echoed = {name: json_of(values[name]) for name in operation.echo}
    if operation.plural:
        items = typing.cast("list[object]", json_of(result))
        return {**echoed, operation.plural: items, "count": len(items)}
    if result is None:
        return {"deleted": True, **echoed}
    return {**echoed, **({TEXT: result} if isinstance(result, str) else to_json(result))}


def answer_schema(operation: Operation) -> Json:
    """Return the JSON Schema of what an operation answers."""
    signature = interface(operation)
    echoed = {name: signature.named(name).schema for name in operation.echo}
    if operation.plural:
        return object_schema({**echoed, operation.plural: schema_of(signature.result), "count": {"type": "integer"}})
    if signature.result in {None, type(None)}:
        return object_schema({"deleted": {"type": "boolean"}, **echoed})
    if signature.result is str:
        return object_schema({**echoed, TEXT: schema_of(str)})
    return with_properties(echoed, schema_of(signature.result))
