"""What the tests of the protocol share: real server processes, spoken to line by line."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import reasoningbank

SERVER = ("-m", "reasoningbank.mcp")
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
INITIALIZED: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/initialized"}


_sharing: list[Path] = []


@contextmanager
def shared_in(folder: Path) -> Iterator[None]:
    """Lets the processes of the block share a server whose socket is in this directory."""
    _sharing.append(folder)
    try:
        yield
    finally:
        _sharing.pop()


def sharing() -> dict[str, str]:
    """The variables that say whether processes share a server: they do not unless a test wants it."""
    if not _sharing:
        return {"REASONINGBANK_SHARED": "false"}
    return {"REASONINGBANK_SHARED": "true", "REASONINGBANK_RUN_DIRECTORY": str(_sharing[-1])}


def clean_environment(home: Path) -> dict[str, str]:
    """The environment of a server with every memory tool: this data directory, no settings of the developer."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REASONINGBANK_")}
    source = str(Path(reasoningbank.__file__).parents[1])
    own = {"REASONINGBANK_HOME": str(home), "REASONINGBANK_PROFILE": "core,admin"}
    return kept | own | {"PYTHONPATH": source, "OMP_NUM_THREADS": "1"} | sharing()


@dataclass
class RawServer:
    """A server process, spoken to line by line; every line it ever writes is kept."""

    process: subprocess.Popen[bytes]
    lines: list[bytes] = field(default_factory=list)
    _arrived: queue.Queue[bytes | None] = field(default_factory=queue.Queue)

    def __post_init__(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            self._arrived.put(line)
        self._arrived.put(None)

    def send(self, *lines: bytes) -> None:
        """Writes lines as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))
        self.process.stdin.flush()

    def tell(self, *messages: object) -> None:
        """Writes messages as JSON."""
        self.send(*(json.dumps(message).encode() for message in messages))

    def until(self, request_id: object, seconds: float = 30) -> list[dict[str, Any]]:
        """All messages up to the answer to a request, that one last."""
        seen: list[dict[str, Any]] = []
        while True:
            line = self._arrived.get(timeout=seconds)
            assert line is not None, f"the server left after {seen}"
            seen.append(json.loads(line))
            if seen[-1].get("id") == request_id:
                return seen

    def ask(self, message: dict[str, Any], seconds: float = 30) -> dict[str, Any]:
        """The answer to one request."""
        self.tell(message)
        return self.until(message["id"], seconds)[-1]

    def hello(self) -> dict[str, Any]:
        """Goes through the handshake."""
        answer = self.ask(INITIALIZE)
        self.tell(INITIALIZED)
        return answer

    def end(self, seconds: float = 15) -> int:
        """Closes the server's input and waits for its exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(timeout=seconds)


StartServer = Callable[..., RawServer]
