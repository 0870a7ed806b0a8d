"""``python -m curation.decayer HOME``: decays until it is killed or done."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

from curation.aged_banks import made
from reasoningbank.curation import lifecycle
from reasoningbank.testing import FrozenClock

LATER = timedelta(days=100)


def main() -> None:
    """Says when it begins; small pages, so that a run has many transactions to be killed between."""
    lifecycle.PAGE = 8
    clock = FrozenClock()
    clock.advance(LATER)
    with made(Path(sys.argv[1]), clock) as bank:
        print("ready", flush=True)
        bank.curation.decay()
        print("done", flush=True)


if __name__ == "__main__":
    main()
