"""What an export says of quarantines, so that a release after an import gives the same as one before it.

Nothing is said of a memory that is what it would be without any quarantine. Of the others the export names what they
would be and what holds them; the rest of the log stays in the bank, for it is the bank's own history.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from reasoningbank.domain.changes import CONSOLIDATED, IMPORTED, QUARANTINED, SURFACED, StateChange
from reasoningbank.domain.memory import STATES, Memory, State
from reasoningbank.engine.consolidating.writing import sources_of
from reasoningbank.engine.guarding.setting_aside import existing, holding
from reasoningbank.engine.guarding.standing import Standing, standing_of, without_quarantine
from reasoningbank.errors import InvalidInput
from reasoningbank.ports import StoreReader, Transaction


def carried(reader: StoreReader, memory: Memory) -> dict[str, Any] | None:
    """The field of an export about a memory in quarantine, or visible only because another is; None for all others."""
    changes = reader.changes(memory_id=memory.id)
    natural = without_quarantine(memory, changes)
    if natural == standing_of(memory):
        return None
    return {
        "state": natural.state,
        "consolidation_id": natural.merged,
        "held": [
            {
                "quarantine": reference,
                "at": entry.at.isoformat(),
                "reason": entry.reason,
                "by": entry.by,
                "because": list(entry.because),
            }
            for reference, entry in holding(changes).items()
        ],
    }


def parsed(memory: Memory, fields: Mapping[str, Any] | None) -> tuple[StateChange, ...]:
    """The entries of the log that such a field stands for: first what the memory would be, then what holds it.

    Raises:
        InvalidInput: When the field is none that ``carried`` wrote.
    """
    if fields is None:
        return ()
    natural = Standing(_state(fields["state"]), fields["consolidation_id"])
    if not isinstance(natural.merged, str | None):
        raise InvalidInput("consolidation_id must be text")
    entries = [_entry(memory, natural, each) for each in fields["held"]]
    if memory.state != "quarantined" and not entries:
        return (_change(memory, natural, kind=SURFACED, at=memory.updated_at),)
    if memory.state != "quarantined":
        raise InvalidInput("only a memory in quarantine can be held by one")
    return tuple(entries)


def note_import(transaction: Transaction, memory: Memory, entries: Sequence[StateChange], *, at: datetime) -> None:
    """Logs that a memory came with an import, what it was part of, and what holds it."""
    natural = Standing(entries[0].before or memory.state, entries[0].merged_before) if entries else standing_of(memory)
    begun: State | None = None
    if natural.state == "archived" and natural.merged is not None:
        into = existing(transaction, natural.merged)
        begun = None if into is None else sources_of(into).get(memory.id)
    first = Standing(begun, None) if begun is not None else natural
    transaction.note(
        StateChange(
            memory_id=memory.id, at=at, before=None, after=first.state, kind=IMPORTED, merged_after=first.merged
        )
    )
    if begun is not None:
        transaction.note(
            StateChange(
                memory_id=memory.id,
                at=at,
                before=begun,
                after=natural.state,
                kind=CONSOLIDATED,
                reference=natural.merged or "",
                merged_after=natural.merged,
            )
        )
    for entry in entries:
        transaction.note(entry)


def _entry(memory: Memory, natural: Standing, fields: Mapping[str, Any]) -> StateChange:
    texts = (fields["quarantine"], fields["reason"], fields["by"], *fields["because"])
    at = datetime.fromisoformat(fields["at"])
    if not all(isinstance(text, str) for text in texts) or at.tzinfo is None:
        raise InvalidInput("a quarantine needs its id, its time, its reason and who says so")
    return StateChange(
        memory_id=memory.id,
        at=at,
        before=natural.state,
        after=memory.state,
        kind=QUARANTINED,
        reference=fields["quarantine"],
        reason=fields["reason"],
        by=fields["by"],
        because=tuple(fields["because"]),
        merged_before=natural.merged,
        merged_after=memory.consolidation_id,
    )


def _change(memory: Memory, natural: Standing, *, kind: str, at: datetime) -> StateChange:
    return StateChange(
        memory_id=memory.id,
        at=at,
        before=natural.state,
        after=memory.state,
        kind=kind,
        merged_before=natural.merged,
        merged_after=memory.consolidation_id,
    )


def _state(value: object) -> State:
    for known in STATES:
        if value == known:
            return known
    raise InvalidInput(f"{json.dumps(value)[:80]} is no state")
