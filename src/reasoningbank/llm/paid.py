"""The switch that makes a paid call an error, so that no test spends money by accident."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_refusals = 0


@contextmanager
def no_paid_calls() -> Iterator[None]:
    """Within it every call of a language model that is not on this machine raises PaidCallRefused.

    It holds for all threads of this process; ``REASONINGBANK_PAID_CALLS=false`` does the same for other processes.
    """
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def paid_calls_refused() -> bool:
    """Whether a ``no_paid_calls`` is in force."""
    return _refusals > 0


def _count(change: int) -> None:
    global _refusals
    with _lock:
        _refusals += change
