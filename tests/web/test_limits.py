"""What one sender may cost the others: sessions, connections, time and bytes, seen from raw sockets."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from mcp_processes import INITIALIZE, clean_environment
from promises import promise
from web.servers import GLOBEX, Served, serving, with_tenants

SESSIONS, IDLE_SECONDS, CONNECTIONS, HEAD_SECONDS, BODY_SECONDS = 4, 8.0, 12, 1.0, 1.5
SETTINGS = f"""
http_sessions = {SESSIONS}
http_session_minutes = {IDLE_SECONDS / 60}
http_connections = {CONNECTIONS}
http_head_seconds = {HEAD_SECONDS}
http_body_seconds = {BODY_SECONDS}
"""
MEBIBYTE = 2**20
ROUTES = (
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("DELETE", "/mcp"),
    ("GET", "/health"),
    ("POST", "/api/v1/memories"),
    ("GET", "/api/v1/memories/search?q=x"),
    ("PATCH", "/api/v1/memories/m"),
    ("DELETE", "/api/v1/memories/m"),
    ("POST", "/workflow/execute"),
    ("POST", "/workflow/ai-answer"),
    ("GET", "/openapi.json"),
    ("POST", "/nowhere"),
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server with small limits and two tenants; at its end it has written no traceback."""
    home = with_tenants(tmp_path_factory.mktemp("limits") / "home")
    (home / "settings.toml").write_text(SETTINGS)
    with serving(home) as running:
        yield running


def head(
    served: Served, method: str, path: str, *more: str, token: str | None = "", length: int | None = None
) -> bytes:
    """The head of a request of a known sender; of an unknown one without a token."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {served.base.removeprefix('http://')}", *more]
    lines += ["Content-Type: application/json", "Accept: application/json, text/event-stream"]
    lines += [] if token is None else [f"Authorization: Bearer {token or served.token}"]
    lines += [] if length is None else [f"Content-Length: {length}"]
    return "\r\n".join([*lines, "", ""]).encode()


def reached(served: Served, source: str = "127.0.0.1") -> socket.socket:
    """A connection from this address."""
    host, port = served.base.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10, source_address=(source, 0))


def status(connection: socket.socket) -> int:
    """The status that the server answers."""
    return int(connection.makefile("rb").readline().split()[1])


def asked(served: Served, *parts: bytes) -> int:
    """The status of a request of its own connection."""
    with reached(served) as connection:
        for part in parts:
            connection.sendall(part)
        return status(connection)


def opened(served: Served, token: str) -> tuple[int, str]:
    """The status of the request that opens a session, and the session."""
    answer = served.call("POST", "/mcp", INITIALIZE, token=token, Accept="application/json, text/event-stream")
    return answer.status_code, answer.headers.get("mcp-session-id", "")


@promise(
    "http:sessions-of-a-token",
    "One token's open sessions take no place from another's; idle ones end after a time that is set.",
    source="issue 13",
)
def test_sessions_of_one_token_lock_nobody_out(served: Served) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    found = [opened(served, served.token) for _ in range(SESSIONS + 3)]
    assert [answered for answered, _ in found] == [200] * SESSIONS + [503] * 3
    assert opened(served, GLOBEX)[0] == 200
    accept, first = {"Accept": "application/json, text/event-stream"}, {"Mcp-Session-Id": found[0][1]}
    assert served.call("POST", "/mcp", ping, **accept, **first).status_code == 200
    assert served.call("POST", "/mcp", ping, token=GLOBEX, **accept, **first).status_code == 404
    deadline = time.monotonic() + 5 * IDLE_SECONDS
    while opened(served, served.token)[0] != 200:
        assert time.monotonic() < deadline
        time.sleep(IDLE_SECONDS / 4)
    assert served.call("POST", "/mcp", ping, **accept, **{"Mcp-Session-Id": found[1][1]}).status_code == 404


@promise("http:sessions-of-a-token")
def test_sockets_of_one_token_lock_nobody_out(served: Served) -> None:
    begun = served.said("POST", "/workflow/execute", {"user_input": "Which is it?"}, status=201)["workflow_id"]
    key = "Sec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1Ng=="
    upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", key)
    with ExitStack() as held:
        found = []
        for _ in range(SESSIONS + 1):
            connection = held.enter_context(reached(served))
            connection.sendall(head(served, "GET", f"/workflow/ws/{begun}", *upgrade))
            found.append(status(connection))
        assert found == [101] * SESSIONS + [503]
        other = held.enter_context(reached(served))
        other.sendall(head(served, "GET", f"/workflow/ws/{begun}", *upgrade, token=GLOBEX))
        assert status(other) == 404
    deadline = time.monotonic() + 10
    while asked(served, head(served, "GET", f"/workflow/ws/{begun}", *upgrade)) != 101:
        assert time.monotonic() < deadline


@promise(
    "http:slow-requests",
    "A request whose head or body does not arrive in time is ended, however many bytes trickle in.",
    source="issue 13",
)
@pytest.mark.parametrize("beginning", ["", "GET /health HTTP/1.1\r\nX-A: "])
def test_a_head_that_does_not_arrive_is_ended(beginning: str, served: Served) -> None:
    with reached(served) as connection:
        connection.sendall(beginning.encode())
        assert 0.5 * HEAD_SECONDS < trickled(connection, b"a" if beginning else b"") < HEAD_SECONDS + 5.0


@promise("http:slow-requests")
def test_a_second_head_that_does_not_arrive_is_ended(served: Served) -> None:
    with reached(served) as connection:
        connection.sendall(head(served, "GET", "/health") + b"GET /health HTTP/1.1\r\nX-A: ")
        assert trickled(connection, b"a") < HEAD_SECONDS + 5.0


@promise("http:slow-requests")
@pytest.mark.parametrize(("method", "path"), [route for route in ROUTES if route[0] in {"POST", "PATCH"}])
@pytest.mark.parametrize("token", ["", None])
def test_a_body_that_does_not_arrive_is_ended(method: str, path: str, token: str | None, served: Served) -> None:
    for how in (f"Content-Length: {MEBIBYTE}", "Transfer-Encoding: chunked"):
        with reached(served) as connection:
            connection.sendall(head(served, method, path, how, token=token))
            piece = b" " if how.startswith("Content") else b"1\r\n \r\n"
            assert trickled(connection, piece) < BODY_SECONDS + 6.0


def trickled(connection: socket.socket, piece: bytes) -> float:
    """Seconds until the server hangs up on a client that sends this piece again and again."""
    began = time.monotonic()
    connection.settimeout(0.1)
    while time.monotonic() < began + 20:
        with suppress(TimeoutError):
            try:
                connection.sendall(piece)
                if not connection.recv(65_536):
                    break
            except OSError as error:
                if isinstance(error, TimeoutError):
                    raise
                break
    return time.monotonic() - began


@promise("http:connections", "One address has so many connections and no more; others are served.", source="issue 13")
def test_connections_of_one_address_lock_nobody_out(served: Served) -> None:
    with ExitStack() as held:
        for _ in range(CONNECTIONS):
            held.enter_context(reached(served, "127.0.0.2"))
        one_more = held.enter_context(reached(served, "127.0.0.2"))
        assert status(one_more) == 429
        assert asked(served, head(served, "GET", "/health")) == 200
    deadline = time.monotonic() + 10
    while True:
        with reached(served, "127.0.0.2") as connection:
            connection.sendall(head(served, "GET", "/health"))
            if status(connection) == 200:
                break
        assert time.monotonic() < deadline


@promise("http:length", "A request longer than 1 MiB is refused with 413 on every route, at once.", source="issue 13")
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_length_over_the_limit_is_refused_before_the_body(method: str, path: str, served: Served) -> None:
    for token in ("", None):
        began = time.monotonic()
        assert asked(served, head(served, method, path, token=token, length=MEBIBYTE + 1)) == 413
        assert time.monotonic() - began < BODY_SECONDS


@promise("http:length")
@pytest.mark.parametrize("path", ["/mcp", "/api/v1/memories", "/workflow/execute", "/nowhere"])
def test_chunks_over_the_limit_are_refused(path: str, served: Served) -> None:
    chunk = b"40000\r\n" + b" " * 0x40000 + b"\r\n"
    assert asked(served, head(served, "POST", path, "Transfer-Encoding: chunked"), chunk * 4, b"1\r\n \r\n") == 413


@promise(
    "http:one-reading",
    "A request that two readers can take for two different ones is refused, and its connection ended.",
    source="issue 13",
)
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_request_with_two_readings_is_refused(method: str, path: str, served: Served) -> None:
    origin, both = f"Origin: {served.base}", ("Content-Length: 5", "Transfer-Encoding: chunked")
    version, session = "MCP-Protocol-Version: 2025-11-25", "Mcp-Session-Id: a"
    smuggled = b"0\r\n\r\n" + head(served, "GET", "/health")
    for more in ((origin, origin), both, both[::-1], (version, version), (session, session)):
        with reached(served) as connection:
            connection.sendall(head(served, method, path, *more) + smuggled)
            said = b"".join(iter(lambda: connection.recv(65_536), b""))
        assert said.startswith(b"HTTP/1.1 400 ")
        assert said.count(b"HTTP/1.1") == 1
    assert asked(served, head(served, "GET", "/health", origin)) == 200


@promise("http:hang-up", "A client that hangs up at any moment leaves no traceback in the log.", source="issue 13")
def test_clients_that_hang_up_are_no_defect(served: Served) -> None:
    search = {"name": "memory_search", "arguments": {"query": "what was learned"}}
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": search}).encode()
    memory = json.dumps({"title": "Hang up", "content": "Say nothing.", "outcome": "success"}).encode()
    session = opened(served, GLOBEX)[1]
    named = ("Mcp-Session-Id: " + session, "MCP-Protocol-Version: 2025-11-25")
    requests = [
        head(served, "POST", "/mcp", *named, token=GLOBEX, length=len(call)) + call,
        head(served, "POST", "/api/v1/memories", length=len(memory)) + memory,
        head(served, "GET", "/api/v1/memories/search?q=hang"),
        head(served, "GET", "/openapi.json"),
        head(served, "GET", "/mcp", *named, token=GLOBEX),
        head(served, "POST", "/workflow/execute", length=40) + b'{"user_input": "Which of both is it?"  }',
    ]
    for request in requests:
        for end in (1, len(request) // 2, len(request) - 1, len(request)):
            for wait in (0.0, 0.02):
                _hung_up(served, request[:end], wait)
    deadline = time.monotonic() + 20
    while asked(served, head(served, "GET", "/health")) != 200:
        assert time.monotonic() < deadline


def _hung_up(served: Served, sent: bytes, wait: float) -> None:
    """Sends this and resets the connection."""
    with reached(served) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(sent)
        time.sleep(wait)


@promise("http:web-extra", "`rbank serve --web` without its extra says which one to install.", source="issue 13")
def test_web_without_its_extra_says_what_to_install(tmp_path: Path) -> None:
    program = "import sys; sys.modules['websockets'] = None; from reasoningbank.cli import main; main()"
    command: Sequence[str] = [sys.executable, "-c", program, "serve", "--web", "--http", "127.0.0.1:0"]
    found = subprocess.run(
        command, env=clean_environment(tmp_path), cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert found.returncode != 0
    assert "the extra `web`" in found.stderr and "pip install websockets" in found.stderr
    assert "Traceback" not in found.stderr
