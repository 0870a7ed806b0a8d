"""Real HTTP servers in processes of their own, several of which may share one database."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from mcp_processes import clean_environment

SERVE = ("--tenant", "acme", "--project", "shop", "serve", "--web", "--http", ":0")
MCP_HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@dataclass
class HttpServer:
    """One running server."""

    base: str
    home: Path
    process: subprocess.Popen[bytes]

    def call(self, method: str, path: str, token: str, body: object = None) -> httpx2.Response:
        """One request with a token."""
        headers = {"Authorization": f"Bearer {token}"}
        return httpx2.request(method, f"{self.base}{path}", headers=headers, json=body, timeout=60)

    def tool(self, token: str, name: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """The result of a tool, called without a session of the protocol."""
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": name, "arguments": dict(arguments)},
        }
        headers = MCP_HEADERS | {"Authorization": f"Bearer {token}"}
        answer = httpx2.post(f"{self.base}/mcp", headers=headers, json=message, timeout=60)
        assert answer.status_code == 200, answer.text
        result = answer.json()["result"]
        assert isinstance(result, dict)
        return result

    def status(self, path: str, token: str = "") -> int:
        """The status of a GET."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx2.get(f"{self.base}{path}", headers=headers, timeout=60).status_code


@contextmanager
def http_server(home: Path, agent: bool = False, /, **settings: str) -> Iterator[HttpServer]:
    """Runs ``rbank serve --web`` with a data directory and settings until the block ends, perhaps as an agent does."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    errors = home.parent / f"{home.name}-errors"
    environment = clean_environment(home) | {f"REASONINGBANK_{name.upper()}": value for name, value in settings.items()}
    environment |= {"CLAUDECODE": "1"} if agent else {}
    with errors.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "reasoningbank.cli", *SERVE],
            env=environment,
            cwd=home,
            stderr=sink,
            stdin=subprocess.DEVNULL,
        )
    try:
        until = time.monotonic() + 60
        base = ""
        while not base:
            assert process.poll() is None and time.monotonic() < until, errors.read_text()
            said = errors.read_text()
            if "\n" in said:
                place = said.split()[1].rstrip(";").removesuffix("/mcp")
                with suppress(httpx2.TransportError):
                    httpx2.get(f"{place}/healthz")
                    base = place
            time.sleep(0.05)
        yield HttpServer(base, home, process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)
    assert "Traceback" not in errors.read_text(), errors.read_text()


def rbank(home: Path, *words: str, status: int = 0, url: str = "") -> dict[str, Any]:
    """The JSON answer of a command."""
    environment = clean_environment(home) | {"REASONINGBANK_URL": url, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-m", "reasoningbank.cli", "--tenant", "acme", *words, "--json"],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == status, done.stderr
    said = json.loads(done.stdout if status in {0, 1} and done.stdout else done.stderr)
    assert isinstance(said, dict)
    return said


def token_of(home: Path, *words: str, url: str = "") -> tuple[str, str]:
    """A new token of acme and its id."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = rbank(home, "token", "create", *words, url=url)
    return str(made["token"]), str(made["id"])


def wait_until(happened: Any, seconds: float = 30) -> None:
    """Waits until something is so."""
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)
