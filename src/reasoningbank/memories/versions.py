"""Changes of a text that is there: the earlier version is kept, and its evidence stays with the memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput
from reasoningbank.memories.admission import EnteredBy, clean, edit, prepare_edit, same_words
from reasoningbank.memories.front_matter import MarkdownMemory
from reasoningbank.memories.links import relink
from reasoningbank.memories.rewrites import by_agent, put_apart, unspaced
from reasoningbank.memories.states import refuse_quarantined
from reasoningbank.memories.voices import of_others, refuse_held, refuse_taking
from reasoningbank.storage.store import Store
from reasoningbank.types.memory import EDITED, Cause, Memory
from reasoningbank.types.quarantine import Reader

if TYPE_CHECKING:
    from reasoningbank.context import Context

_ATTEMPTS = 5


def rewrite(
    context: Context,
    store: Store,
    memory_id: str,
    change: Callable[[Memory], Memory],
    *,
    reader: Reader = "human",
    nodes: Sequence[str] | None = None,
) -> Memory:
    """Change a memory and return it as it is then; a change that gives what it is told changes nothing.

    Args:
        context: The bank.
        store: Where the memory is.
        memory_id: The memory.
        change: Told the memory as it is, gives it as it is to be; told again when others changed it meanwhile.
        reader: Who changes it; what an agent makes of it may become a memory of its own, which is returned.
        nodes: The nodes of the graph that it is to link, all of them; None for those that it links.

    Raises:
        MemoryNotFound, NodeNotFound: When the store has no such memory, or no such node.
        MemoryQuarantined: When it is in quarantine and an agent would change it.
        PolicyError: When an agent would change the state of what a person stands by, or what is confirmed.
        InvalidMemory: When a rule of the memory is broken, or it would leave quarantine.
        InvalidInput: When others keep editing it.
    """
    origin: EnteredBy = "agent" if reader == "agent" else "person"
    for _ in range(_ATTEMPTS):
        old = store.memories.get(memory_id)
        if reader == "agent":
            refuse_quarantined(store, old, "an agent cannot change it.")
        changed = change(old)
        if changed is old and nodes is None:
            return old
        new = clean(changed)
        if reader == "agent":
            if new.state != old.state:
                refuse_taking(store, [old], "Nothing was changed.", f"rbank update ID --state {new.state}")
            new = unspaced(old, new)
            if same_words(old, new) and (new.tags, new.category) != (old.tags, old.category):
                refuse_held([old], "Its tags and category stay.", "rbank update ID --tag NAME")
        if new == old and nodes is None:
            return old
        at = context.clock.now()
        ready = None if new == old else prepare_edit(old, new, context.embedder, at=at, origin=origin)
        own = None if reader != "agent" or ready is None else by_agent(old, ready, context)
        cause = Cause(at=at, kind=EDITED, by=context.session)
        with store.transaction() as transaction:
            edited: Memory | None = transaction.memories.get(memory_id)
            if own is not None:
                stays = bool(of_others(transaction, [old]))
                edited = put_apart(transaction, old, own, at=at, by=cause.by, stays=stays) if edited == old else None
            elif ready is not None:
                state = None if new.state == old.state else new.state
                edited = edit(transaction, ready, state=state, cause=cause)
            if edited is not None and nodes is not None:
                relink(transaction, edited.id, nodes)
        if edited is not None:
            return edited
    raise InvalidInput(f"memory {memory_id[:80]!r} is being edited by others", hint="Try again.")


def with_text_of(memory: Memory, text: Memory | MarkdownMemory) -> Memory:
    """Return a memory with the text of another version or of a file; state, evidence and use stay as they are."""
    return replace(
        memory,
        title=text.title,
        content=text.content,
        description=text.description,
        outcome=text.outcome,
        tags=text.tags,
        category=text.category,
    )
