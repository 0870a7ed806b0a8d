"""The end of a process that was told to end: within seconds, whatever it is doing. Light.

What was acknowledged is on the disk already, so nothing is lost by leaving in the middle of a job: its lease runs out,
and the next worker takes it up again.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LEAVE_SECONDS = 4.0
"""A process that was told to end has so long to finish what it has in hand."""
_ENDING = (signal.SIGINT, signal.SIGTERM)
_LAST_SECONDS = 0.5
"""The time for ending what ends along with the process, such as a language model's program."""


def leave_after(seconds: float = LEAVE_SECONDS) -> None:
    """End the process when it has not ended by itself by then; the programs that it has started end first.

    The exit status is 0, for it does what it was told.
    """
    for delay, end in ((seconds, _leave), (seconds + _LAST_SECONDS, _leave_now)):
        timer = threading.Timer(delay, end)
        timer.daemon = True
        timer.start()


def _leave() -> None:
    # Nothing else calls what was registered when the process ends without its main thread, which may never answer.
    atexit._run_exitfuncs()
    _leave_now()


def _leave_now() -> None:
    os._exit(0)


@contextmanager
def told_to_end() -> Iterator[threading.Event]:
    """Give an event that SIGINT and SIGTERM set while the block runs, and end the process soon after they came.

    Python calls a handler of its own only between two steps of the main thread, which may be inside of a database or a
    model for long. So a thread of its own waits for the number of the signal.
    """
    stop = threading.Event()
    source, sink = socket.socketpair()
    sink.setblocking(False)

    def wait() -> None:
        while number := source.recv(1):
            if number[0] in _ENDING and not stop.is_set():
                stop.set()
                leave_after()

    # A handler of Python's must stand, or the signal ends the process at once.
    before = {number: signal.signal(number, lambda *_: None) for number in _ENDING}
    earlier = signal.set_wakeup_fd(sink.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=wait, name="reasoningbank-signals", daemon=True)
    thread.start()
    try:
        yield stop
    finally:
        signal.set_wakeup_fd(earlier)
        for number, handler in before.items():
            signal.signal(number, handler)
        sink.close()
        thread.join()
        source.close()
