"""Work that many threads want at once, done by one of them for all who wait.

What costs the same for one and for many (a transaction made durable, a run of a model) is paid once for a batch. Nobody
waits for a batch to fill: who comes first works at once, who comes meanwhile is in the next batch.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class _Place(Generic[Item, Answer]):
    """Hold what one thread waits for.

    Attributes:
        item: What it wants.
        ready: Set when the thread has its answer, or has to work.
        leads: Whether it has to work.
        answer: What it gets, in a list of one; an error is raised.
    """

    __slots__ = ("answer", "item", "leads", "ready")

    def __init__(self, item: Item) -> None:
        self.item = item
        self.ready = threading.Event()
        self.leads = False
        self.answer: list[Answer | BaseException] = []


class Batches(Generic[Item, Answer]):
    """One kind of work, one batch at a time. Threads may share it.

    Args:
        work: Does a batch, and gives for each item its answer or its own error; what it raises is the error of all.
        most: Most items of a batch.
    """

    def __init__(self, work: Callable[[Sequence[Item]], Sequence[Answer | BaseException]], *, most: int) -> None:
        self._work = work
        self._most = most
        self._lock = threading.Lock()
        self._waiting: deque[_Place[Item, Answer]] = deque()
        self._led = False

    def of(self, item: Item) -> Answer:
        """Return the answer to an item once its batch is done; raise its error."""
        place: _Place[Item, Answer] = _Place(item)
        with self._lock:
            self._waiting.append(place)
            place.leads, self._led = not self._led, True
        if not place.leads:
            place.ready.wait()
        if place.leads:
            self._lead()
        answer = place.answer[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _lead(self) -> None:
        """Do the first batch of those who wait, the leader's item among them, and let the next one lead."""
        with self._lock:
            batch = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
        answers: Sequence[Answer | BaseException] = ()
        try:
            answers = self._work([place.item for place in batch])
        except BaseException as error:  # noqa: BLE001 - every thread of the batch raises it, the leader's too
            answers = [error] * len(batch)
        finally:
            for place, answer in zip(batch, answers, strict=True):
                place.answer.append(answer)
            with self._lock:
                self._led = bool(self._waiting)
                successor = self._waiting[0] if self._waiting else None
                if successor is not None:
                    successor.leads = True
            for place in (*batch, *((successor,) if successor is not None else ())):
                place.ready.set()
