"""Every behaviour the product promises: an id, where it was asked for, and what it is.

A test names the promises it keeps with ``@pytest.mark.promise("area:name", ...)``. The meta-test fails on a promise
that no test keeps and on a test that keeps none. A deferred promise has a reason instead of a test.
The guarantee table of the README is generated from this file.
"""

from __future__ import annotations

from promised.bank import BANK
from promised.cli import CLI
from promised.contextd import CONTEXTD
from promised.durability import DURABILITY
from promised.embedding import EMBEDDING
from promised.fusion import FUSION
from promised.hygiene import HYGIENE
from promised.mcp import MCP
from promised.promise import Promise
from promised.storage import STORAGE

PROMISES: tuple[Promise, ...] = (
    *BANK,
    *STORAGE,
    *DURABILITY,
    *EMBEDDING,
    *HYGIENE,
    *FUSION,
    *MCP,
    *CLI,
    *CONTEXTD,
)

__all__ = ["PROMISES", "Promise"]
