"""One MCP server that is started for a benchmark, and what it answers over its standard input and output."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

_SECONDS_TO_END = 20


class StdioConnection:
    """A connection to a server, which begins with its process.

    The process sees no setting of ReasoningBank but those it is given, and Python may keep byte code, as it does for
    an installed command.

    Args:
        command: What starts the server.
        home: Its working directory.
        variables: Of its environment, beside those of this process.

    Attributes:
        process: The server.
        began: When it was started, on the clock of ``time.perf_counter``.
    """

    def __init__(self, command: Sequence[str], home: Path, variables: Mapping[str, str]) -> None:
        left_out = {"PYTHONDONTWRITEBYTECODE"}
        known = {key: value for key, value in os.environ.items() if key not in left_out}
        known = {key: value for key, value in known.items() if not key.startswith("REASONINGBANK_")}
        self._name = command[0]
        self._number = 0
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=home,
            env=known | dict(variables),
        )

    def hello(self) -> float:
        """Go through the handshake; return the seconds from the start to the answer.

        Raises:
            EOFError: When the server ended.
            ValueError: When it answered with an error.
        """
        client = {"name": "bench", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        took = time.perf_counter() - self.began
        self._tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return took

    def call(self, tool: str, arguments: Mapping[str, Any]) -> float:
        """Call a tool; return the seconds it took.

        Raises:
            EOFError: When the server ended.
            ValueError: When it answered with an error.
        """
        asked = time.perf_counter()
        result = self.ask("tools/call", name=tool, arguments=dict(arguments))
        took = time.perf_counter() - asked
        if result.get("isError"):
            raise ValueError(json.dumps(result)[:300])
        return took

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """Ask, wait and return the result.

        Raises:
            EOFError: When the server ended.
            ValueError: When it answered with an error.
        """
        self._number += 1
        self._tell({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with suppress(json.JSONDecodeError):
                answer = json.loads(line)
                if answer.get("id") == self._number and "method" not in answer:
                    if "error" in answer:
                        raise ValueError(json.dumps(answer)[:300])
                    return dict(answer["result"])
        raise EOFError(f"{self._name} ended")

    def _tell(self, message: Mapping[str, object]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def close(self) -> None:
        """End the server."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
