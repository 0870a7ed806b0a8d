"""A memory as it stood at an earlier moment, and what of that cannot be known any more."""

from __future__ import annotations

from dataclasses import dataclass

from reasoningbank.domain.memory import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class PastMemory:
    """A memory with the text, state and belief it had then.

    Attributes:
        memory: What is known; its belief counts only evidence whose time is known.
        unknown: One sentence for each thing that cannot be known any more; empty when the memory is exact.
    """

    memory: Memory
    unknown: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    @property
    def exact(self) -> bool:
        """Whether everything is as it was."""
        return not self.unknown
