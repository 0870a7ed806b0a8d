"""What is derived from a memory when it is stored: its vectors and its words."""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.errors import ModelMismatch
from reasoningbank.memories.words import analyse
from reasoningbank.storage.store import Store
from reasoningbank.types.memory import Memory
from reasoningbank.types.ports import Embedder, Vector
from reasoningbank.types.recall import CONTENT_LEG, DESCRIPTION_LEG, TASK_LEG
from reasoningbank.types.records import Indexed

TASK = "task"
"""The entry of a memory's provenance that holds the task it was distilled from."""


def content_text(memory: Memory) -> str:
    """Return the text of the dense leg over title and content (spec/contextd 1.5: title, blank line, content)."""
    return f"{memory.title}\n\n{memory.content}"


def task_text(memory: Memory) -> str:
    """Return the task that the memory was distilled from; empty for a memory that was recorded."""
    return memory.provenance.get(TASK, "").strip()


def lexical_text(memory: Memory) -> str:
    """Return all words of a memory, tags included, analysed for the lexical leg."""
    return " ".join(part for part in _analysed(memory) if part)


def _analysed(memory: Memory) -> tuple[str, ...]:
    """Return the words of each part of a memory, in their order in the lexical text."""
    parts = (memory.title, memory.description, memory.content, " ".join(memory.tags))
    return tuple(analyse(part) for part in parts)


def _place(analysed: tuple[str, ...]) -> tuple[int, int]:
    title, description = analysed[:2]
    return (len(title.split()), len(description.split())) if description else (0, 0)


def index(memories: Sequence[Memory], embedder: Embedder) -> list[Indexed]:
    """Embed and analyses memories, in one batch per leg; memories of one task share its vector."""
    contents = embedder.embed_documents([content_text(memory) for memory in memories])
    descriptions = _embedded([memory.description for memory in memories], embedder)
    tasks = _embedded([task_text(memory) for memory in memories], embedder)
    indexed = []
    for memory, content in zip(memories, contents, strict=True):
        vectors = {CONTENT_LEG: content}
        if memory.description:
            vectors[DESCRIPTION_LEG] = descriptions[memory.description]
        if task := task_text(memory):
            vectors[TASK_LEG] = tasks[task]
        words = _analysed(memory)
        text = " ".join(part for part in words if part)
        indexed.append(Indexed(text=text, model_id=embedder.model_id, vectors=vectors, context=_place(words)))
    return indexed


def _embedded(texts: Sequence[str], embedder: Embedder) -> dict[str, Vector]:
    """Return the vector of each text that is not empty."""
    distinct = list(dict.fromkeys(text for text in texts if text))
    if not distinct:
        return {}
    return dict(zip(distinct, embedder.embed_documents(distinct), strict=True))


def check_space(store: Store, embedder: Embedder) -> bool:
    """Refuse an embedder whose vectors the bank's cannot be compared with; False when the bank holds none yet.

    Raises:
        ModelMismatch: When the bank's vectors come from another model than the embedder.
    """
    stored = store.model_id
    if stored not in {None, embedder.model_id}:
        raise ModelMismatch(f"the bank's vectors come from {stored}, the embedder is {embedder.model_id}")
    return stored is not None
