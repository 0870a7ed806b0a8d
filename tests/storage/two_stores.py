"""A store and a naive model of it that are written to in step, for state machines."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis.stateful import RuleBasedStateMachine

from reasoningbank.errors import BankError
from reasoningbank.storage.sqlite_file import SqliteStorage
from reasoningbank.storage.store import Store, Transaction
from storage.contract.base import SCOPE
from storage.naive_store import NaiveStore


class Interrupted(Exception):
    """Ends a transaction that is meant to fail."""


class TwoStores(RuleBasedStateMachine):
    """The model is plain dictionaries; the subject is SQLite, read through a second handle as well."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="reasoningbank-lockstep-"))
        self.files = SqliteStorage(self.directory / "banks")
        self.model = NaiveStore(SCOPE)
        self.subject: Store = self.files.open(SCOPE)
        self.watcher: Store = self.files.open(SCOPE)
        self.saved: dict[str, object] = {}

    def teardown(self) -> None:
        """Closes everything and removes the files."""
        for store in (self.subject, self.watcher):
            store.close()
        shutil.rmtree(self.directory)

    def save_both(self) -> None:
        """Backs the subject up, and copies the model."""
        self.subject.backup(self.directory / "subject")
        self.saved = self.model.copied()

    def restore_both(self) -> None:
        """Makes both what they were when they were saved."""
        self.files.restore(SCOPE, self.directory / "subject")
        self.model.go_back(self.saved)

    def write(self, action: Callable[[Transaction], object], *, interrupted: bool = False) -> None:
        """Runs one transaction on both; both give the same result or the same error."""
        outcomes = []
        stores: tuple[Store, ...] = (self.model.as_store, self.subject)
        for store in stores:
            try:
                with store.transaction() as transaction:
                    outcome = action(transaction)
                    if interrupted:
                        raise Interrupted
            except Interrupted:
                outcome = Interrupted
            except BankError as error:
                outcome = type(error)
            outcomes.append(outcome)
        assert outcomes[0] == outcomes[1], f"expected {outcomes[0]}, SQLite: {outcomes[1]}"
