"""Two stores that are written to in step, for state machines."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis.stateful import RuleBasedStateMachine

from reasoningbank.errors import BankError
from reasoningbank.ports import Store, Transaction
from reasoningbank.storage.location import SqliteStorage
from reasoningbank.storage.memory import MemoryStorage
from storage.contract.base import SCOPE


class Interrupted(Exception):
    """Ends a transaction that is meant to fail."""


class TwoStores(RuleBasedStateMachine):
    """The model is the in-memory store; the subject is SQLite, read through a second handle as well."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="reasoningbank-lockstep-"))
        self.files, self.model_place = SqliteStorage(self.directory / "banks"), MemoryStorage()
        self.model: Store = self.model_place.open(SCOPE)
        self.subject: Store = self.files.open(SCOPE)
        self.watcher: Store = self.files.open(SCOPE)
        self.saved = False

    def teardown(self) -> None:
        """Closes everything and removes the files."""
        for store in (self.subject, self.watcher, self.model):
            store.close()
        shutil.rmtree(self.directory)

    def write(self, action: Callable[[Transaction], object], *, interrupted: bool = False) -> None:
        """Runs one transaction on both; both give the same result or the same error."""
        outcomes = []
        for store in (self.model, self.subject):
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
