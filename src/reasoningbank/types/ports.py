"""Time, embeddings and language models as the rooms see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[numpy.float32]"
"""One embedding of unit length."""


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Return the current time, timezone-aware, UTC."""


class Embedder(Protocol):
    """Turns texts into unit vectors whose inner product is their similarity."""

    @property
    def name(self) -> str:
        """The name a user chooses it by and sees in every answer."""

    @property
    def model_id(self) -> str:
        """Identifies the vector space: vectors of different model ids are never compared."""

    @property
    def dimension(self) -> int:
        """Length of every vector."""

    def embed_queries(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Return vectors of questions: shape (len(texts), dimension), float32, unit rows."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Return vectors of texts to be found: shape (len(texts), dimension), float32, unit rows."""


class Reranker(Protocol):
    """Says how well texts fit a question by reading both together."""

    @property
    def name(self) -> str:
        """The name a user chooses it by."""

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float | None]:
        """Return a score for each text, higher for what fits better; None for a text that it says nothing about.

        Raises:
            ModelError: When there was no usable answer within its time limit.
            PaidCallRefused: When it is not on this machine and may not be called.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Hold what a language model is asked.

    Attributes:
        name: The prompt's name.
        version: Changes with its words, so that an answer can be traced to them.
        instructions: What to do; never holds text of a trajectory.
        material: What to do it with: quoted data, never instructions (DESIGN D10).
        answer_tokens: Most tokens that a good answer has; 0 leaves it to the model's own limit.
        flexible: The material can be made shorter: rather than to be sent at greater length, it is to be asked for so.
    """

    name: str
    version: str
    instructions: str
    material: str
    answer_tokens: int = 0
    flexible: bool = False

    @property
    def label(self) -> str:
        """Name and version, as provenance keeps them."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A language model's answer: its text as it came, what it cost, and whether it was cut at its longest length."""

    text: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cut: bool = False


class LanguageModel(Protocol):
    """Answers a prompt with JSON text that should follow a schema; callers check that it does."""

    @property
    def name(self) -> str:
        """Provider and model, as provenance keeps them."""

    def complete(self, prompt: Prompt, schema: Mapping[str, object], *, temperature: float = 0.0) -> Completion:
        """Return the answer, as it came.

        Args:
            prompt: What is asked.
            schema: A JSON schema of the object that is wanted.
            temperature: 0 for judging; the paper distils at 1.

        Raises:
            ModelUnavailable: When there was no answer, also after the adapter's own retries.
            BudgetExhausted: When the call could exceed the tokens of the day; it was not made.
        """


MIN_CONTEXT = 2_048
"""A model that reads fewer tokens at once cannot hold instructions, a session and an answer."""


@runtime_checkable
class SizedModel(Protocol):
    """A language model that knows how much it reads at once; a ``LanguageModel`` need not be one."""

    def context(self) -> int:
        """Return the tokens of a request and its answer together; 0 when that is not known."""


@runtime_checkable
class ThinkingModel(Protocol):
    """A language model of which it is seen whether it thinks first; a ``LanguageModel`` need not be one."""

    @property
    def thinks(self) -> bool:
        """True when its answers are longer than what is asked for, because it thinks before it writes."""
