"""Background work that learns what words are worth in a bank."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.jobs.worker import LOOK_EVERY, Handler
from reasoningbank.storage.store import Store
from reasoningbank.types.records import Job
from reasoningbank.types.scope import Scope

if TYPE_CHECKING:
    from reasoningbank.context import Context

WEIGH = "weigh_words"
"""The kind of job that learns what words are worth in the bank."""


class Vocabulary:
    """Learn in the background what words are worth in a bank."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._weigh_after: datetime | None = None

    def handlers(self) -> Mapping[str, Handler]:
        """Return the function that does each kind of job."""
        return {WEIGH: self._weigh_job}

    def queue_due(self) -> None:
        """Queue learning what words are worth, when the bank is new to it or has grown by half."""
        from reasoningbank.search.word_weights import due

        now = self._context.clock.now()
        if self._weigh_after is not None and now < self._weigh_after:
            return
        self._weigh_after = now + LOOK_EVERY
        store = self._context.store()
        if store.model_id == self._context.embedder.model_id and due(store):
            with store.transaction() as transaction:
                transaction.jobs.enqueue(Job(kind=WEIGH, key="words", due=now))

    def _weigh_job(self, job: Job) -> None:  # noqa: ARG002 - there is one per bank
        """Learn what words are worth in this bank, unless another worker just has."""
        from reasoningbank.search.word_weights import due, refresh

        store = self._context.store()
        if due(store):
            refresh(store, self._context.embedder, self._scratch)

    @contextmanager
    def _scratch(self) -> Iterator[Store]:
        """Give an empty bank in a private directory that is gone after the block."""
        from reasoningbank.storage import open_storage

        with tempfile.TemporaryDirectory(prefix="rbank-") as folder:
            store = open_storage(None, home=Path(folder)).open(Scope(tenant="scratch", project="scratch"))
            try:
                yield store
            finally:
                store.close()
