"""Deletions reach the copies of a bank that nobody has asked for: what a restore has kept. Erasures reach backups, too.

What was deleted is told by the digest of its name, so that a note of it holds nothing of what is gone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from reasoningbank.errors import BankError
from reasoningbank.storage.rows import from_microseconds
from reasoningbank.storage.scratch import scratch_folder
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.storage.unit import digest_of
from reasoningbank.types.graph_search import GraphFilter
from reasoningbank.types.memory import STATES
from reasoningbank.types.recall import Filter

Erasures = Sequence[tuple[str, str]]
"""What was deleted: its kind, and the digest of its name or a time."""
SESSION_KINDS = frozenset(("trajectory", "session", "session log", "before", "before log"))
"""What `rbank forget`, `rbank erase` and the expiry of logs delete."""
_log = logging.getLogger(__name__)


def erase_in(path: Path, erasures: Erasures, opened: Callable[[Path, Path], Store | None]) -> bool:
    """Delete in one copy what was deleted in its bank; False when it cannot be read, and then it stays as it is.

    Args:
        path: The copy.
        erasures: What was deleted.
        opened: Makes of a copy a bank at another place; None when it is none.
    """
    try:
        with scratch_folder(path, "erasing") as folder:
            store = opened(path, folder / "bank.db")
            if store is None:
                return False
            with closing(store), store.transaction() as transaction:
                changed = _repeat(transaction, erasures)
            if changed:
                with closing(opened(folder / "bank.db", folder / "whole.db") or store) as whole:
                    whole.backup(path)
    except (BankError, OSError) as error:
        _log.warning("%s still holds what was deleted: %s", path.name, error)
        return False
    return True


def _repeat(transaction: Transaction, erasures: Erasures) -> bool:
    """Delete what is still there; return whether anything was."""
    wanted: dict[str, set[str]] = {}
    for kind, digest in erasures:
        wanted.setdefault(kind, set()).add(digest)
    changed = False
    for kind, (names, erase) in _kinds(transaction).items():
        if kind in wanted:
            for name in _matching(names(), wanted[kind]):
                erase(name)
                changed = True
    now = datetime.now(UTC)
    for kind, history in (("session", True), ("session log", False)):
        if kind in wanted:
            sessions = _matching(transaction.erasure.names(), wanted[kind])
            changed = transaction.erasure.erase(sessions, at=now, history=history).some or changed
    for kind, history in (("before", True), ("before log", False)):
        for limit in wanted.get(kind, ()):
            before = from_microseconds(int(limit))
            changed = transaction.erasure.erase((), at=now, before=before, history=history).some or changed
    return changed


def _kinds(
    transaction: Transaction,
) -> Mapping[str, tuple[Callable[[], Collection[str]], Callable[[str], object]]]:
    """Return by kind how its names are listed and how one of them is deleted."""
    documents = {
        "\0".join([document.collection, *document.path, document.key]): document
        for document in transaction.documents.below()
    }
    return {
        "memory": (
            lambda: [memory.id for memory in transaction.memories.page(Filter(states=STATES), limit=0, offset=0)],
            transaction.memories.delete,
        ),
        "trajectory": (
            lambda: [entry.id for entry in transaction.sessions.trajectories(limit=0)],
            transaction.sessions.erase_trajectory,
        ),
        "document": (
            lambda: list(documents),
            lambda name: transaction.documents.delete_document(*documents[name].place),
        ),
        "edge": (
            lambda: [edge.id for edge in transaction.graph.edge_page(limit=0)],
            transaction.graph.delete_edge,
        ),
        "node": (
            lambda: [node.id for node in transaction.graph.node_page(GraphFilter(), limit=0)],
            transaction.graph.delete_node,
        ),
    }


def _matching(names: Collection[str], digests: Collection[str]) -> list[str]:
    return [name for name in names if digest_of(name) in digests]
