"""A person's change of a text: the earlier version is kept, and its evidence stays with the memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from reasoningbank.errors import InvalidInput
from reasoningbank.memories.admission import clean, edit, prepare_edit
from reasoningbank.memories.front_matter import MarkdownMemory
from reasoningbank.storage.store import Store
from reasoningbank.types.memory import EDITED, Cause, Memory
from reasoningbank.types.ports import Embedder

_ATTEMPTS = 5


def rewrite(
    store: Store,
    memory_id: str,
    change: Callable[[Memory], Memory],
    *,
    embedder: Embedder,
    now: Callable[[], datetime],
    by: str,
) -> Memory:
    """Change the text of a memory and return it as it is then; a change that gives what it is told changes nothing.

    Args:
        store: Where the memory is.
        memory_id: The memory.
        change: Told the memory as it is, gives it as it is to be; told again when others changed it meanwhile.
        embedder: Makes the vectors of the new text.
        now: Tells the time.
        by: Who changes it.

    Raises:
        MemoryNotFound: When the store has no such memory.
        InvalidInput: When a rule of the memory is broken, or others keep editing it.
    """
    for _ in range(_ATTEMPTS):
        old = store.memories.get(memory_id)
        changed = change(old)
        if changed is old:
            return old
        new = clean(changed)
        at = now()
        ready = prepare_edit(old, new, embedder, at=at)
        with store.transaction() as transaction:
            edited = edit(transaction, ready, cause=Cause(at=at, kind=EDITED, by=by))
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
