"""The product from outside: the installed command in this process or its own, and a real HTTP server in a thread."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, cast
from unittest import mock

import httpx2
import pytest
import uvicorn
from starlette.routing import Route, WebSocketRoute

TENANT, PROJECT = "acme", "shop"
SCOPE = ("--tenant", TENANT, "--project", PROJECT)
RBANK = Path(sys.executable).parent / "rbank"
_DROPPED = (
    "REASONINGBANK_",
    "OPENAI_",
    "ANTHROPIC_",
    "GOOGLE_",
    "GEMINI_",
    "CLAUDE_",
    "DEVIN_",
    "XDG_",
    "GIT_",
    "OTEL_",
)


@dataclass(frozen=True)
class Said:
    """What a command said.

    Attributes:
        status: Its exit status.
        out: What it wrote to stdout.
        err: What it wrote to stderr.
    """

    status: int
    out: str
    err: str


def enter(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make this folder the working directory with a data directory and a user's home of its own, and no settings."""
    for name in [*os.environ]:
        if name.startswith(_DROPPED):
            patch.delenv(name)
    own = {
        "REASONINGBANK_HOME": str(folder / "home"),
        "REASONINGBANK_PAID_CALLS": "false",
        "REASONINGBANK_SHARED": "false",
        "HOME": str(folder / "user"),
        "USER": "tester",
        "LOGNAME": "tester",
        "TZ": "UTC",
        "COLUMNS": "100",
        "LINES": "40",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "OMP_NUM_THREADS": "1",
    }
    for name, value in own.items():
        patch.setenv(name, value)
    (folder / "user").mkdir(parents=True)
    (folder / "project").mkdir()
    patch.chdir(folder / "project")


def rbank(*arguments: str, stdin: str = "") -> Said:
    """Run the entry point of the installed command in this process."""
    (entry,) = entry_points(group="console_scripts", name="rbank")
    main = cast("Callable[[list[str]], None]", entry.load())
    streams = [io.TextIOWrapper(io.BytesIO(text), encoding="utf-8") for text in (stdin.encode(), b"", b"")]
    status: object = 0
    with (
        mock.patch.object(sys, "stdin", streams[0]),
        mock.patch.object(sys, "stdout", streams[1]),
        mock.patch.object(sys, "stderr", streams[2]),
    ):
        try:
            main([*arguments])
        except SystemExit as ended:
            status = ended.code
    assert status is None or isinstance(status, int), status
    return Said(status or 0, *(_written(stream) for stream in streams[1:]))


def rbank_process(*arguments: str, stdin: str = "") -> Said:
    """Run the installed command in a process of its own."""
    done = subprocess.run(
        [str(RBANK), *arguments], input=stdin, capture_output=True, text=True, timeout=120, check=False
    )
    return Said(done.returncode, done.stdout, done.stderr)


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return cast("io.BytesIO", stream.buffer).getvalue().decode()


@dataclass
class Served:
    """A server that answers.

    Attributes:
        base: Its address.
        token: The token that it takes.
        routes: Kind, methods and path of each route.
        session: The protocol's session, once there is one.
    """

    base: str
    token: str
    routes: list[tuple[str, tuple[str, ...], str]]
    session: str = ""
    _asked: int = field(default=0)

    def request(self, method: str, path: str, body: object = None, **headers: str) -> httpx2.Response:
        """Send one request."""
        known = {"Authorization": f"Bearer {self.token}", "Accept": "application/json, text/event-stream"} | headers
        if body is None:
            return httpx2.request(method, f"{self.base}{path}", headers=known, timeout=60)
        return httpx2.request(method, f"{self.base}{path}", headers=known, json=body, timeout=60)

    def rpc(self, method: str, params: Mapping[str, object] | None = None) -> dict[str, Any]:
        """Ask the protocol's server and return its whole answer; the session is begun at the first call."""
        if not self.session:
            hello: dict[str, object] = {"protocolVersion": "2025-11-25", "capabilities": {}}
            hello["clientInfo"] = {"name": "golden", "version": "1"}
            begun = self._post("initialize", hello)
            self.session = begun.headers["mcp-session-id"]
            told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            assert self.request("POST", "/mcp", told, **self._headers()).status_code == 202
            if method == "initialize":
                return cast("dict[str, Any]", begun.json())
        return cast("dict[str, Any]", self._post(method, params or {}).json())

    def _post(self, method: str, params: Mapping[str, object]) -> httpx2.Response:
        self._asked += 1
        message = {"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params}
        answer = self.request("POST", "/mcp", message, **self._headers())
        assert answer.status_code == 200, answer.text
        return answer

    def _headers(self) -> dict[str, str]:
        return {"mcp-session-id": self.session, "mcp-protocol-version": "2025-11-25"} if self.session else {}


@contextmanager
def serving(home: Path, *arguments: str) -> Iterator[Served]:
    """Run ``rbank serve --http`` in a thread until the block ends; its routes are those that it makes as it starts."""
    routes: list[tuple[str, tuple[str, ...], str]] = []
    running: list[uvicorn.Server] = []
    ports: list[int] = []
    http_init, socket_init, serve = Route.__init__, WebSocketRoute.__init__, uvicorn.Server.run

    def http_route(route: Route, path: str, *rest: Any, **named: Any) -> None:
        http_init(route, path, *rest, **named)
        routes.append(("http", tuple(sorted(route.methods or ())), path))

    def socket_route(route: WebSocketRoute, path: str, *rest: Any, **named: Any) -> None:
        socket_init(route, path, *rest, **named)
        routes.append(("websocket", (), path))

    def run(server: uvicorn.Server, sockets: list[Any] | None = None) -> None:
        assert sockets
        ports.append(int(sockets[0].getsockname()[1]))
        running.append(server)
        serve(server, sockets=sockets)

    with (
        mock.patch.object(Route, "__init__", http_route),
        mock.patch.object(WebSocketRoute, "__init__", socket_route),
        mock.patch.object(uvicorn.Server, "run", run),
    ):
        words = [*SCOPE, "serve", "--http", "127.0.0.1:0", *arguments]
        said: list[Said] = []
        thread = threading.Thread(target=lambda: said.append(rbank(*words)))
        thread.start()
        while not (running and running[0].started):
            thread.join(timeout=0.02)
            assert thread.is_alive(), said
    try:
        yield Served(f"http://127.0.0.1:{ports[0]}", (home / "http-token").read_text().strip(), routes)
    finally:
        running[0].should_exit = True
        thread.join(timeout=30)
    assert not thread.is_alive()
    assert said[0].status == 0, said
