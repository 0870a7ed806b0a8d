"""What the tests of scopes put into banks of teams and orgs, and what they count."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy
from numpy.typing import NDArray

from reasoningbank.memories.admission import index
from reasoningbank.storage import open_storage
from reasoningbank.types.belief import Belief
from reasoningbank.types.memory import Memory, Outcome
from reasoningbank.types.ports import Embedder
from reasoningbank.types.scope import Level, Scope
from reasoningbank.types.standing import VOUCHED

RETRY = (
    "Retry flaky network calls",
    "When a network call fails now and then, retry it with exponential backoff and jitter, at most five times.",
)
NEVER_RETRY = (
    "Retry flaky network calls",
    "When a network call fails now and then, do not retry it with exponential backoff and jitter five times.",
)
QUERY = "a network call fails now and then"


def plant(
    home: Path,
    embedder: Embedder,
    level: Level,
    name: str,
    *,
    title: str,
    content: str,
    outcome: Outcome = "success",
    confidence: float = 0.8,
    tags: tuple[str, ...] = (),
) -> Memory:
    """Puts a memory into the bank of a team or org, as a promotion or a shared file would."""
    scope = Scope(tenant="acme", project=name, level=level)
    memory = Memory(
        project=name,
        title=title,
        content=content,
        outcome=outcome,
        tags=tags,
        belief=Belief.starting_at(confidence),
        tokens=30,
        provenance={VOUCHED: "promoted by Dana"},
    )
    with closing(open_storage(None, home=home).open(scope)) as store, store.transaction() as transaction:
        transaction.memories.insert(memory, index([memory], embedder)[0])
    return memory


class Counting:
    """An embedder that counts the queries it embeds."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.queries = 0

    @property
    def name(self) -> str:
        """Of the embedder it wraps."""
        return self._embedder.name

    @property
    def model_id(self) -> str:
        """Of the embedder it wraps."""
        return self._embedder.model_id

    @property
    def dimension(self) -> int:
        """Of the embedder it wraps."""
        return self._embedder.dimension

    def embed_queries(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Counts and embeds."""
        self.queries += len(texts)
        return numpy.asarray(self._embedder.embed_queries(texts))

    def embed_documents(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Embeds."""
        return numpy.asarray(self._embedder.embed_documents(texts))
