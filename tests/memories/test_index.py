"""What is derived from a memory when it is stored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
from numpy.typing import NDArray

from promises import promise
from reasoningbank.memories.admission import index
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.memory import Memory
from reasoningbank.types.recall import CONTENT_LEG, DESCRIPTION_LEG, TASK_LEG


class CountingEmbedder(HashingEmbedder):
    """Remembers what it was asked to embed."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[list[str]] = []

    def embed_documents(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """The vectors of the texts."""
        self.asked.append(list(texts))
        return super().embed_documents(texts)


def lesson(title: str, *, description: str = "", task: str | None = None) -> Memory:
    """A memory, distilled from a task when that is given."""
    provenance = {} if task is None else {"source": "distilled", "task": task}
    return Memory(
        project="p", title=title, description=description, content="c", outcome="success", provenance=provenance
    )


@promise(
    "learning:task-vector",
    "A distilled memory gets a vector of its source task; one task is embedded once.",
    source="issue 3 Recall by task",
)
def test_a_distilled_memory_has_a_vector_of_the_task_it_came_from() -> None:
    """One batch per leg, and one vector per task although a task teaches several memories."""
    embedder = CountingEmbedder()
    memories = [
        lesson("one", task="fix the flaky test"),
        lesson("two", description="on a timeout", task="fix the flaky test"),
        lesson("three", description="on a timeout"),
        lesson("four", task="  "),
    ]
    found = index(memories, embedder)
    assert [set(each.vectors) for each in found] == [
        {CONTENT_LEG, TASK_LEG},
        {CONTENT_LEG, DESCRIPTION_LEG, TASK_LEG},
        {CONTENT_LEG, DESCRIPTION_LEG},
        {CONTENT_LEG},
    ]
    expected = HashingEmbedder().embed_documents(["fix the flaky test"])[0]
    assert numpy.array_equal(found[0].vectors[TASK_LEG], expected)
    assert numpy.array_equal(found[1].vectors[TASK_LEG], expected)
    assert embedder.asked[1:] == [["on a timeout"], ["fix the flaky test"]]


@promise("learning:task-vector")
def test_a_recorded_memory_costs_no_further_vector() -> None:
    embedder = CountingEmbedder()
    index([lesson("one")], embedder)
    assert embedder.asked == [["one\n\nc"]]
