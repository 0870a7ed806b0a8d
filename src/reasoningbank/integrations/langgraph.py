"""A bank as LangGraph's long-term store: ``BankStore`` takes the place of ``InMemoryStore`` or ``PostgresStore``.

    with Bank.open(tenant="acme", project="shop") as bank:
        graph = builder.compile(store=BankStore(bank))

Items are documents of the bank: they survive, are searched by meaning with the bank's embedder, are exported with it
and are erased when they are deleted. They are not lessons; no search for memories or briefing shows them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import ge, gt, le, lt
from typing import Protocol

from reasoningbank.bank import Bank
from reasoningbank.errors import ConfigurationError, InvalidInput
from reasoningbank.types.document import Document, DocumentChange

__all__ = ["BankStore"]

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
    """Return whether a value has every field as the filter wants it; a field that is missing counts as null.

    Raises:
        InvalidInput: When there is no such operator.
    """
    return all(_equals(value.get(key), wanted) for key, wanted in condition.items())


def listed(namespaces: Iterable[tuple[str, ...]], wanted: Listing) -> list[tuple[str, ...]]:
    """Return the namespaces that meet every condition, cut at the depth, each once, sorted.

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
    """Return the number that a value is or spells; None for what is none."""
    try:
        return float(value) if isinstance(value, (int, float, str)) else None
    except (ValueError, OverflowError):
        return None


try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        get_text_at_path,
    )
    from langgraph.store.base import validate_op_namespace as check_labels
except ImportError as missing:
    raise ConfigurationError(
        "the package langgraph-checkpoint cannot be loaded", hint="pip install 'langgraph-checkpoint>=4.3.2,<5'"
    ) from missing


COLLECTION = "langgraph"
"""The collection of the documents that are items."""
WHOLE = ("$",)


class BankStore(BaseStore):
    """The items of a LangGraph application in one bank; namespaces are paths inside it. Thread-safe.

    What differs from ``InMemoryStore`` is what a store that lasts and never keeps secrets must do otherwise:

    * secrets in a value are replaced and invisible characters removed before anything is stored;
    * values are JSON: tuples come back as lists, anything else that is not JSON is refused;
    * an item keeps the time when it was first stored, and replacing it replaces its vectors;
    * a namespace exists as long as it holds an item; a number is never compared with what is none.

    Items do not expire: ``supports_ttl`` is False.

    Args:
        bank: Where the items are kept; it stays the caller's to close.
        index: The fields by which items are found that name none, as paths such as ``text`` or ``parts[*].title``;
            ``$`` is the whole value. False: search by meaning is off, and a query changes nothing.
    """

    supports_ttl = False

    __slots__ = ("_bank", "_fields")

    def __init__(self, bank: Bank, *, index: Sequence[str] | bool = WHOLE) -> None:
        self._bank = bank
        self._fields: tuple[str, ...] | None = WHOLE if index is True else None
        if isinstance(index, str):
            raise InvalidInput("index is a list of fields, not a text", hint=f"Write index=[{index!r}].")
        if not isinstance(index, bool):
            self._fields = tuple(index)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Answer all operations: those that read see what was there before those that write, which happen together.

        Raises:
            InvalidInput: When an operation is none, or a value or a filter is not usable; nothing is written.
            ModelMismatch: When the bank was built with another embedder.
        """
        results: list[Result] = []
        changes: list[DocumentChange] = []
        for op in ops:
            if not isinstance(op, (GetOp, SearchOp, PutOp, ListNamespacesOp)):
                raise InvalidInput(f"unknown operation type: {type(op).__name__}")
            check_labels(op)
            if isinstance(op, GetOp):
                found = self._bank.documents.get(COLLECTION, op.namespace, op.key)
                results.append(None if found is None else _item(found))
            elif isinstance(op, SearchOp):
                results.append(self._found(op))
            elif isinstance(op, ListNamespacesOp):
                results.append(listed(self._bank.documents.paths(COLLECTION), op))
            else:
                changes.append(self._change(op))
                results.append(None)
        self._bank.documents.keep(COLLECTION, changes)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """See batch; it runs in a worker thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _change(self, op: PutOp) -> DocumentChange:
        if op.ttl is not None:
            raise InvalidInput("items of a bank do not expire", hint="Leave ttl out.")
        fields = None if op.index is False else self._fields if op.index is None else tuple(op.index)
        texts = None if self._fields is None or fields is None else partial(_texts, fields)
        return DocumentChange(path=tuple(op.namespace), key=op.key, value=op.value, texts=texts)

    def _found(self, op: SearchOp) -> list[SearchItem]:
        if op.limit < 1:
            return []
        condition = op.filter
        found = self._bank.documents.find(
            COLLECTION,
            tuple(op.namespace_prefix),
            (op.query or "") if self._fields is not None else "",
            accept=None if not condition else lambda document: accepts(_value(document), condition),
            limit=op.limit,
            offset=max(0, op.offset),
        )
        return [_search_item(document, score) for document, score in found]


def _texts(fields: Sequence[str], value: Mapping[str, object]) -> list[str]:
    extract: Callable[[object, str], list[str]] = get_text_at_path
    return [text for field in fields for text in extract(value, field)]


def _value(document: Document) -> dict[str, object]:
    value: dict[str, object] = json.loads(document.value)
    return value


def _item(document: Document) -> Item:
    return Item(
        value=_value(document),
        key=document.key,
        namespace=document.path,
        created_at=document.created_at,
        updated_at=document.updated_at,
    )


def _search_item(document: Document, score: float | None) -> SearchItem:
    return SearchItem(
        namespace=document.path,
        key=document.key,
        value=_value(document),
        created_at=document.created_at,
        updated_at=document.updated_at,
        score=score,
    )
