"""The lines that messages are: cut from chunks as they arrive, with a limit. Light: a relay needs nothing else."""

from __future__ import annotations

MAX_LINE = 4 * 2**20
"""The longest message in bytes; a longer one is refused and skipped."""
CHUNK = 2**16
TOO_LONG = b""
"""Stands for a line that was longer than allowed; empty lines themselves are skipped."""


class Lines:
    """Cuts what arrives into lines without their end."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._skipping = False

    def cut(self, chunk: bytes) -> list[bytes]:
        """Return the lines that this chunk completes; an empty chunk is the end and completes the last one."""
        found = []
        *complete, last = chunk.split(b"\n")
        for part in complete:
            self._held += part
            line = bytes(self._held)
            self._held.clear()
            if self._skipping or len(line) > MAX_LINE:
                self._skipping = False
                found.append(TOO_LONG)
            elif line.strip():
                found.append(line)
        self._held += last
        if len(self._held) > MAX_LINE:
            self._held.clear()
            self._skipping = True
        if not chunk and self._held.strip():
            found.append(bytes(self._held))
            self._held.clear()
        return found
