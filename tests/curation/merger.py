"""A process that consolidates and takes apart again until it is killed: ``python -m curation.merger HOME``."""

from __future__ import annotations

import sys
from pathlib import Path

from reasoningbank.bank import Bank
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.consolidation import ConsolidationOptions

FORCED = ConsolidationOptions(force_all=True, similarity_threshold=0.7)


def opened(home: Path) -> Bank:
    """The bank that is merged."""
    return Bank.open(tenant="acme", project="shop", embedder=HashingEmbedder(256), settings=Settings(home=home))


def main() -> None:
    """Merges and undoes without end."""
    with opened(Path(sys.argv[1])) as bank:
        print("ready", flush=True)
        while True:
            for name in bank.curation.consolidate(FORCED).created_memories:
                bank.curation.undo(name)


if __name__ == "__main__":
    main()
