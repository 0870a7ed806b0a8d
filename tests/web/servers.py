"""A real server with REST and WebSocket beside MCP, in a process of its own, and two tenants that know their tokens."""

from __future__ import annotations

import hashlib
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
from websockets.sync.client import ClientConnection, connect

from mcp_processes import clean_environment

GLOBEX = "the-token-of-globex-industries"
START = (
    "from reasoningbank.mcp import serve_http\n"
    "from reasoningbank.web.app import build_web\n"
    "from reasoningbank.web.dashboard.routes import dashboard_of\n"
    "serve_http(tenant='acme', project='shop', port={port}, web=build_web, dashboard=dashboard_of)\n"
)


@dataclass
class Served:
    """A running server."""

    base: str
    token: str
    home: Path
    process: subprocess.Popen[bytes]

    def call(
        self, method: str, path: str, body: object = None, *, token: str | None = None, **headers: str
    ) -> httpx2.Response:
        """One request of a known sender."""
        known = {"Authorization": f"Bearer {token or self.token}"} | headers
        content = None if body is None else json.dumps(body)
        kind = {} if body is None else {"Content-Type": "application/json"}
        return httpx2.request(method, f"{self.base}{path}", headers=kind | known, content=content, timeout=60)

    def said(self, method: str, path: str, body: object = None, *, status: int = 200) -> dict[str, Any]:
        """The JSON answer of a request that must have this status."""
        answer = self.call(method, path, body)
        assert answer.status_code == status, answer.text
        value = answer.json()
        assert isinstance(value, dict)
        return value

    @contextmanager
    def follow(self, workflow_id: str, query: str = "", token: str | None = None) -> Iterator[ClientConnection]:
        """A WebSocket to a workflow."""
        with connect(
            f"{self.base.replace('http', 'ws', 1)}/workflow/ws/{workflow_id}{query}",
            additional_headers={"Authorization": f"Bearer {token or self.token}"},
            open_timeout=30,
        ) as socket:
            yield socket


def next_events(socket: ClientConnection, until: str) -> list[dict[str, Any]]:
    """The events that come, up to one of this kind."""
    events: list[dict[str, Any]] = []
    while not events or events[-1]["event"] != until:
        events.append(json.loads(socket.recv(timeout=30)))
    return events


@contextmanager
def serving(home: Path, port: int = 0) -> Iterator[Served]:
    """Runs a server over a data directory until the block ends."""
    errors = home.parent / f"errors-{time.monotonic_ns()}"
    with errors.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-c", START.format(port=port)],
            env=clean_environment(home),
            cwd=home,
            stderr=sink,
            stdin=subprocess.DEVNULL,
        )
    try:
        base = _ready(errors, process)
        yield Served(base, (home / "http-token").read_text().strip(), home, process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)
    assert "Traceback" not in errors.read_text(), errors.read_text()


def _ready(errors: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, errors.read_text()
        said = errors.read_text()
        if "\n" in said:
            base = said.split()[1].rstrip(";").removesuffix("/mcp")
            with suppress(httpx2.TransportError):
                httpx2.get(f"{base}/health")
                return base
        time.sleep(0.05)
    raise AssertionError("the server did not start")


def with_tenants(home: Path) -> Path:
    """A data directory with a second tenant's token."""
    home.mkdir(mode=0o700, parents=True)
    tenants = home / "http-tokens.json"
    tenants.write_text(json.dumps([{"tenant": "Globex", "sha256": hashlib.sha256(GLOBEX.encode()).hexdigest()}]))
    tenants.chmod(0o600)
    return home


NODE: Mapping[str, object] = {"label": "AgentAnswer", "text": "A heat wave doubled demand for water.", "tags": ["heat"]}
"""A node as REST takes it."""
