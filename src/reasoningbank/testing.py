"""Public parts for tests of code that uses ReasoningBank: stand-ins that behave the same at every run."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy
from numpy.typing import NDArray

from reasoningbank.errors import InvalidInput
from reasoningbank.llm.provider import no_paid_calls
from reasoningbank.llm.scripted import ScriptedModel

__all__ = ["FrozenClock", "HashingEmbedder", "ScriptedModel", "no_paid_calls"]

_WORD = re.compile(r"\w+")


class HashingEmbedder:
    """An embedder for unit tests: texts that share words are similar, and nothing else is known about meaning.

    Each word adds +1 or -1 to one coordinate chosen by its BLAKE2 hash (the hashing trick, Weinberger et al., 2009).
    A text without words has the first coordinate only. It is not reachable by name, so that no bank is ever filled
    with its vectors by accident.

    Args:
        dimension: Length of the vectors, at least 1.
    """

    def __init__(self, dimension: int = 64) -> None:
        if dimension < 1:
            raise InvalidInput(f"A dimension of {dimension} holds no vector.")
        self._dimension = dimension

    @property
    def name(self) -> str:
        """Always "hashing"."""
        return "hashing"

    @property
    def model_id(self) -> str:
        """The vector space, dimension included."""
        return f"hashing/{self._dimension}"

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._dimension

    def embed_queries(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Vectors of questions: shape (len(texts), dimension), unit rows."""
        return self._embed(texts)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Vectors of texts to be found: shape (len(texts), dimension), unit rows."""
        return self._embed(texts)

    def _embed(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        rows = numpy.zeros((len(texts), self._dimension), dtype=numpy.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in _WORD.findall(text.lower()):
                digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=9).digest()
                row[int.from_bytes(digest[:8], "big") % self._dimension] += 1.0 if digest[8] & 1 else -1.0
            length = numpy.linalg.norm(row)
            if length > 0:
                row /= length
            else:
                row[0] = 1.0
        return rows


class FrozenClock:
    """A clock that moves only when told to. Safe to use from several threads.

    Args:
        start: The first time it tells, timezone-aware; by default 1 January 2026, 00:00 UTC.
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)
        self._lock = threading.Lock()
        if start is not None:
            self.set(start)

    def now(self) -> datetime:
        """Return the time it stands at, UTC."""
        with self._lock:
            return self._now

    def advance(self, by: timedelta) -> datetime:
        """Move by this much, backwards when it is negative, and return the new time."""
        with self._lock:
            self._now += by
            return self._now

    def set(self, at: datetime) -> None:
        """Move to this time.

        Raises:
            InvalidInput: The time has no timezone.
        """
        if at.tzinfo is None:
            raise InvalidInput("A clock needs a time with a timezone.")
        with self._lock:
            self._now = at.astimezone(UTC)
