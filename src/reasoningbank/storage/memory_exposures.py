"""What sessions of a bank in memory were shown or kept from."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import replace

from reasoningbank.domain.uplift import Exposure
from reasoningbank.storage.exposures import owned_exposure
from reasoningbank.storage.memory_contents import Contents, MemoryReads


class MemoryExposureReads(MemoryReads, ABC):
    """The StoreReader port about exposures."""

    def exposure(self, session: str) -> Exposure | None:
        return self.contents.exposures.get(session)

    def exposures(self) -> Sequence[Exposure]:
        return list(self.contents.exposures.values())


class MemoryExposureWrites(MemoryExposureReads, ABC):
    """The Transaction port's writes about exposures."""

    def expose(self, exposure: Exposure) -> None:
        contents = self.contents
        kept, _ = owned_exposure(exposure)
        shown = tuple(one for one in kept.shown if one.memory_id in contents.memories)
        contents.exposures[kept.session] = replace(kept, shown=shown)


def forget_memory(contents: Contents, memory_id: str) -> None:
    """Takes an erased memory out of everything that met it."""
    contents.exposures = {
        session: replace(exposure, shown=tuple(one for one in exposure.shown if one.memory_id != memory_id))
        for session, exposure in contents.exposures.items()
    }
