"""Changes of a memory's state, each with its time and its reason: what lets a bank say how it stood at any moment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from reasoningbank.domain.memory import Memory, State
from reasoningbank.errors import InvalidInput

EDITED, IMPORTED, CONSOLIDATED, UNDONE = "edited", "imported", "consolidated", "undone"
QUARANTINED, RELEASED, SURFACED, PARTED = "quarantined", "released", "surfaced", "parted"
PRUNED = "pruned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why and when a memory's state is changed, as the one who changes it says it.

    Attributes:
        at: When, timezone-aware.
        kind: One word. edited, imported, consolidated and undone say what they say; quarantined and released begin and
            end a quarantine; surfaced: a source that is visible again because what it went into is in quarantine;
            parted: what it went into will not come back; any other word is another reason, such as pruned.
        reference: What the change belongs to: the id of a consolidation or of a quarantine.
        reason: The same for a person.
        by: Who did it; empty when the bank did it by itself.
        because: The ids of the memories that it was changed for; empty when it was chosen itself.
    """

    at: datetime
    kind: str
    reference: str = ""
    reason: str = ""
    by: str = ""
    because: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """One change of a memory's state, or a reason to keep it as it is.

    Attributes:
        memory_id: Whose.
        before: The state until then; None when it was not in the bank.
        after: The state since then.
        merged_before, merged_after: The memory it was consolidated into, until then and since then.
        at, kind, reference, reason, by, because: As in ``Cause``.
    """

    memory_id: str
    at: datetime
    before: State | None
    after: State
    kind: str
    reference: str = ""
    reason: str = ""
    by: str = ""
    because: tuple[str, ...] = ()
    merged_before: str | None = None
    merged_after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """That a memory was erased: when it was made and when it went, and nothing else of it."""

    created_at: datetime
    at: datetime


def check_same_texts(before: Memory, after: Memory) -> None:
    """Refuse a change of state that would change a text as well.

    Raises:
        InvalidInput: When a text differs.
    """
    for name in ("title", "description", "content", "tags", "category"):
        if getattr(before, name) != getattr(after, name):
            raise InvalidInput(f"a change of state cannot change the {name} of memory {after.id[:80]!r}")


def changed_state(old: Memory, new: Memory, cause: Cause | None) -> StateChange | None:
    """What the log says of an update; None when neither the state nor what a memory went into has changed.

    Without a cause it is a change that happens now.
    """
    if (old.state, old.consolidation_id) == (new.state, new.consolidation_id):
        return None
    cause = cause or Cause(at=datetime.now(UTC), kind="changed")
    return change_of(old, new, cause)


def change_of(old: Memory, new: Memory, cause: Cause) -> StateChange:
    """The entry of the log for a memory that was so and is now so."""
    return StateChange(
        memory_id=new.id,
        at=cause.at,
        before=old.state,
        after=new.state,
        kind=cause.kind,
        reference=cause.reference,
        reason=cause.reason,
        by=cause.by,
        because=cause.because,
        merged_before=old.consolidation_id,
        merged_after=new.consolidation_id,
    )
