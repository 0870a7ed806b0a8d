"""The weight of words, learned per bank."""

from __future__ import annotations

from promised.promise import Promise

WEIGHING: tuple[Promise, ...] = (
    Promise(
        "fusion:words-worth",
        "DESIGN D13",
        "A bank may learn from its own memories that words are worth less in it; without evidence nothing changes.",
    ),
    Promise(
        "storage:words-worth",
        "DESIGN D13",
        "A store keeps what its bank has learned that words are worth in it, in one transaction, backups included.",
    ),
)
