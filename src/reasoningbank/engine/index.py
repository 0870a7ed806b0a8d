"""What is derived from a memory when it is stored: its vectors and its words."""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.domain.memory import Memory
from reasoningbank.domain.recall import CONTENT_LEG, DESCRIPTION_LEG
from reasoningbank.engine.analysis import analyse
from reasoningbank.ports import Embedder, Indexed, Vector


def content_text(memory: Memory) -> str:
    """The text of the dense leg over title and content (spec/contextd 1.5: title, blank line, content)."""
    return f"{memory.title}\n\n{memory.content}"


def lexical_text(memory: Memory) -> str:
    """All words of a memory, tags included, analysed for the lexical leg."""
    return analyse("\n".join((memory.title, memory.description, memory.content, " ".join(memory.tags))))


def index(memories: Sequence[Memory], embedder: Embedder) -> list[Indexed]:
    """Embeds and analyses memories, in one batch per leg."""
    contents = embedder.embed_documents([content_text(memory) for memory in memories])
    described = [memory for memory in memories if memory.description]
    descriptions = embedder.embed_documents([memory.description for memory in described])
    vectors: dict[str, Vector] = {memory.id: vector for memory, vector in zip(described, descriptions, strict=True)}
    return [
        Indexed(
            text=lexical_text(memory),
            model_id=embedder.model_id,
            vectors={CONTENT_LEG: content} | ({DESCRIPTION_LEG: vectors[memory.id]} if memory.id in vectors else {}),
        )
        for memory, content in zip(memories, contents, strict=True)
    ]
