"""Threads that write memories while a server or its network fails, and take down what was acknowledged."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from many_servers import wait_until
from reasoningbank.errors import BankError, StoreUnavailable
from reasoningbank.storage.store import Store
from storage.contract.base import EVERYTHING, fill, indexed, lesson


@dataclass
class Writers:
    """Writers at work on one store: the names that were acknowledged, and the errors of the others."""

    store: Store
    acknowledged: list[str] = field(default_factory=list)
    refused: list[BankError] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def write(self, writer: int) -> None:
        """Write one memory after the other until told to stop; go on after an error."""
        number = 0
        while not self.stop.is_set():
            number += 1
            name = f"w{writer}-{number}"
            try:
                fill(self.store, [(lesson(name), indexed("kiwi"))])
            except BankError as error:
                self.refused.append(error)
                self.stop.wait(0.05)
            else:
                self.acknowledged.append(name)

    def wait_for_more(self, count: int) -> None:
        """Wait until so many more were acknowledged."""
        aim = len(self.acknowledged) + count
        wait_until(lambda: len(self.acknowledged) > aim, 60)

    def check_nothing_is_lost(self) -> None:
        """Hold that the store has what was acknowledged, is whole, and refused with the one error that says so."""
        assert {type(error) for error in self.refused} <= {StoreUnavailable}
        kept = {memory.id for memory in self.store.memories.page(EVERYTHING, limit=0, offset=0)}
        assert set(self.acknowledged) <= kept
        assert self.store.check().problems == ()


@contextmanager
def writers_at_work(store: Store, count: int) -> Iterator[Writers]:
    """Let so many threads write until the block ends; nothing is checked when the block fails."""
    writers = Writers(store)
    threads = [threading.Thread(target=writers.write, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield writers
    finally:
        writers.stop.set()
        for thread in threads:
            thread.join()
