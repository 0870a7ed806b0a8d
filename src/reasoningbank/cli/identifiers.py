"""Ids on the command line: the beginning of one is enough where it is unique."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from reasoningbank.errors import InvalidInput
from reasoningbank.types.identifier import SHORTEST_BEGINNING, Identified, IdKind

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.operations.operation import Operation

NamedKind: TypeAlias = Literal[IdKind, "quarantine"]
"""The kind of thing that an id on the command line names."""
_KINDS: Mapping[str, NamedKind] = {
    "answer_id": "node",
    "approve": "memory",
    "consolidation_id": "memory",
    "edge_id": "edge",
    "item_id": "deleted part",
    "link_nodes": "node",
    "linked_to": "node",
    "memory": "own memory",
    "memory_id": "memory",
    "node_id": "node",
    "quarantine_id": "quarantine",
    "reject": "memory",
    "seeds": "node",
    "trace_id": "trace",
    "trajectory": "trajectory",
    "trajectory_id": "trajectory",
    "trajectory_ids": "trajectory",
}
"""The kind of thing that an argument of a name names in every command, unless the table says otherwise (``ids``)."""
_GENERATED = 36
"""The length of an id that this program has made: nothing else begins with a whole one."""
_CHOSEN = frozenset({"node", "edge"})
"""The kinds whose ids callers choose, so that the id of one may begin like that of another."""
_LISTED = 5
_TITLE = 60


def ids_in(operation: Operation, values: Mapping[str, Any]) -> Mapping[str, NamedKind]:
    """Return which of the arguments that were given are ids, and of what."""
    assert operation.command is not None
    known = {**_KINDS, **operation.command.ids}
    return {name: known[name] for name, value in values.items() if name in known and value}


def with_whole_ids(
    bank: Bank, operation: Operation, values: Mapping[str, Any], *, by_agent: bool, asked: bool
) -> dict[str, Any]:
    """Return the arguments of a command with each id whole.

    Args:
        bank: The bank.
        operation: The command's operation.
        values: Its arguments.
        by_agent: Whether an agent runs it.
        asked: Whether a person sees what is meant and is asked before it is done. Of a node or an edge that is erased
            unasked the whole id is needed, for callers choose those: erasing one a second time must not take another.

    Raises:
        InvalidInput: When the beginning of an id is that of several.
    """
    found = dict(values)
    for name, kind in ids_in(operation, values).items():
        if operation.admin and kind in _CHOSEN and not asked:
            continue
        given = values[name]
        if isinstance(given, str):
            found[name] = whole_id(bank, kind, given, by_agent=by_agent)
        elif isinstance(given, Mapping):
            found[name] = {whole_id(bank, kind, each, by_agent=by_agent): one for each, one in given.items()}
        elif isinstance(given, tuple):
            found[name] = tuple(dict.fromkeys(whole_id(bank, kind, each, by_agent=by_agent) for each in given))
    return found


def whole_id(bank: Bank, kind: NamedKind, given: str, *, by_agent: bool) -> str:
    """Return the one id that begins so; the text as it is when there is none, so that the operation says so.

    Args:
        bank: The bank.
        kind: What the id names.
        given: The id, or its beginning.
        by_agent: Whether an agent runs the command: it gets no title of what is in quarantine.

    Raises:
        InvalidInput: When several begin so; the message names the first of them.
    """
    if not SHORTEST_BEGINNING <= len(given) < _GENERATED:
        return given
    return only(_held(bank, given) if kind == "quarantine" else bank.memories.identified(kind, given), given, by_agent)


def only(found: Sequence[Identified], given: str, by_agent: bool) -> str:
    """Return the id of the one thing that is found by the beginning of it; the text as it is when there is none.

    Raises:
        InvalidInput: When there are several; the message names the first of them.
    """
    if len(found) > 1:
        listed = [_line(each, by_agent=by_agent) for each in found[:_LISTED]]
        more = ["..."] if len(found) > _LISTED else []
        raise InvalidInput(
            "\n  ".join((f"several ids begin with {given!r}:", *listed, *more)), hint="Write more of the one you mean."
        )
    return found[0].id if found else given


def _held(bank: Bank, beginning: str) -> list[Identified]:
    """Return the quarantines that hold memories now and whose id begins so."""
    held = (each for each in bank.quarantine.list() if each.id.startswith(beginning))
    return [Identified(id=each.id, title=each.reason, held=True) for each in held]


def _line(one: Identified, *, by_agent: bool) -> str:
    from reasoningbank.memories.admission import sayable
    from reasoningbank.memories.states import WITHHELD
    from reasoningbank.safety.stored_text import safe_line

    title = safe_line(one.title[: 4 * _TITLE])
    title = title if len(title) <= _TITLE else f"{title[:_TITLE]}..."
    if by_agent:
        title = WITHHELD if one.held else sayable(title)
    where = f" ({safe_line(one.place)})" if one.place else ""
    return f"{one.id}  {title}".rstrip() + where
