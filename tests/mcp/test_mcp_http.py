"""The streamable HTTP server: a real process, the real client, and everything that must be refused."""

from __future__ import annotations

import contextlib
import hashlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from mcp_processes import INITIALIZE, INITIALIZED, clean_environment
from promises import promise
from reasoningbank.mcp.http import MAX_BODY, security_of

GLOBEX = "the-token-of-globex-0123456789"
ACCEPT = {"Accept": "application/json, text/event-stream"}
START = "from reasoningbank.mcp import serve_http; serve_http(tenant='Acme', project='Shop', port=0)"
LESSON = {"title": "Retry flaky network calls", "content": "Back off exponentially, then retry.", "outcome": "success"}


@dataclass(frozen=True)
class Served:
    """A running server."""

    url: str
    token: str
    home: Path
    errors: Path

    @property
    def base(self) -> str:
        """The address without the path."""
        return self.url.removesuffix("/mcp")

    @property
    def host(self) -> str:
        """The Host header of an honest client."""
        return self.base.removeprefix("http://")

    def post(self, message: object, **headers: str) -> httpx2.Response:
        """Sends one message with the headers given and no others."""
        return httpx2.post(self.url, headers=ACCEPT | headers, json=message, timeout=30)

    def known(self, token: str | None = None) -> dict[str, str]:
        """The header of a known sender."""
        return {"Authorization": f"Bearer {token or self.token}"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server with two tenants."""
    home = tmp_path_factory.mktemp("http") / "home"
    home.mkdir(mode=0o700)
    tenants = home / "http-tokens.json"
    tenants.write_text(json.dumps([{"tenant": "Globex", "sha256": hashlib.sha256(GLOBEX.encode()).hexdigest()}]))
    tenants.chmod(0o600)
    errors = home.parent / "errors"
    with errors.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-c", START], env=clean_environment(home), cwd=home, stderr=sink, stdin=subprocess.DEVNULL
        )
    try:
        url = _ready(errors, process)
        yield Served(url, (home / "http-token").read_text().strip(), home, errors)
    finally:
        process.send_signal(signal.SIGTERM)
        status = process.wait(timeout=15)
    said = errors.read_text()
    assert status in {0, -signal.SIGTERM}
    assert "Traceback" not in said
    assert (home / "http-token").read_text().strip() not in said
    assert GLOBEX not in said


def _ready(errors: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, errors.read_text()
        said = errors.read_text()
        if "\n" in said:
            url = said.split()[1].rstrip(";")
            with contextlib.suppress(httpx2.TransportError):
                httpx2.get(url.removesuffix("/mcp") + "/health")
                return url
        time.sleep(0.05)
    raise AssertionError("the server did not start")


@asynccontextmanager
async def connected(served: Served, token: str, mode: str = "legacy") -> AsyncIterator[Client]:
    """The real client with a token."""
    async with (
        httpx2.AsyncClient(headers=served.known(token), timeout=60) as sender,
        Client(streamable_http_client(served.url, http_client=sender), mode=mode) as client,
    ):
        yield client


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Runs an asynchronous test."""
    anyio.run(work)


@promise("mcp:http-token", "HTTP answers nothing without a known bearer token, loopback included.", source="issue 2")
def test_without_a_known_token_nothing_is_answered(served: Served) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    for headers in (
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer -"},
        {"Authorization": f"Basic {served.token}"},
        {"Authorization": served.token},
        {"Authorization": f"Bearer {served.token}x"},
        {"Authorization": f"Bearer {served.token[:-1]}"},
        {"Authorization": f"Bearer {hashlib.sha256(GLOBEX.encode()).hexdigest()}"},
    ):
        for method in ("POST", "GET", "DELETE", "OPTIONS"):
            answer = httpx2.request(method, served.url, headers=ACCEPT | headers, json=ping)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer ")
    assert httpx2.get(served.base + "/other").status_code == 401
    twice = [("Authorization", f"Bearer {served.token}"), ("Authorization", "Bearer x"), *ACCEPT.items()]
    assert httpx2.post(served.url, headers=twice, json=ping).status_code == 401
    assert served.post(INITIALIZE, **served.known()).status_code == 200
    assert httpx2.get(served.base + "/other", headers=served.known()).status_code == 404


@promise(
    "mcp:http-host",
    "A foreign Host header is refused with 421, for every listening address.",
    source="spec/engineering B.3 (18)",
)
@promise("mcp:http-origin", "A foreign Origin is refused with 403.", source="spec/engineering B.3 (18)")
def test_foreign_hosts_and_origins_are_refused_even_with_the_token(served: Served) -> None:
    port = served.host.partition(":")[2]
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port}.evil.example", "127.0.0.1:1"):
        assert served.post(INITIALIZE, **served.known(), Host=host).status_code == 421
        assert httpx2.get(served.base + "/health", headers={"Host": host}).status_code == 421
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{port}.evil.example", "http://127.0.0.1"):
        assert served.post(INITIALIZE, **served.known(), Origin=origin).status_code == 403
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        allowed = served.post(INITIALIZE, **served.known(), Host=host, Origin=f"http://{host}")
        assert allowed.status_code == 200


@promise("mcp:http-host")
def test_every_address_accepts_its_own_names_only() -> None:
    assert security_of("192.0.2.7", 80).allowed_hosts == ["192.0.2.7:80", "192.0.2.7"]
    assert security_of("::1", 9).allowed_hosts == ["127.0.0.1:9", "localhost:9", "[::1]:9"]
    everywhere = security_of("0.0.0.0", 9, ["memory.example", "proxy:1"])
    assert {"localhost:9", "memory.example", "memory.example:9", "proxy:1"} <= set(everywhere.allowed_hosts)
    for settings in (security_of("0.0.0.0", 9), security_of("memory.internal", 9)):
        assert settings.enable_dns_rebinding_protection
        assert not any("*" in name for name in (*settings.allowed_hosts, *settings.allowed_origins))


@promise("mcp:http-body", "A request beyond 1 MiB is refused with 413.", source="spec/engineering B.3 (18)")
def test_large_requests_are_refused(served: Served) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"y" * MAX_BODY + b'"}}'
    headers = ACCEPT | served.known() | {"Content-Type": "application/json"}
    assert httpx2.post(served.url, headers=headers, content=body).status_code == 413
    chunked = httpx2.post(served.url, headers=headers, content=iter([body[:1000], body[1000:]]))
    assert chunked.status_code == 413


@promise("mcp:http-bodies", "Bodies that are not a message are client errors, never server errors.", source="issue 2")
@pytest.mark.parametrize("version", ["", "2025-11-25", "2026-07-28", "1999-01-01"])
def test_bodies_that_are_no_message_are_client_errors(version: str, served: Served) -> None:
    call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_search","arguments":%s,"_meta":%s}}'
    meta = '{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
    headers = ACCEPT | served.known() | {"Content-Type": "application/json", "Mcp-Method": "tools/call"}
    headers |= {"Mcp-Name": "memory_search"} | ({"MCP-Protocol-Version": version} if version else {})
    for body in (
        "",
        "null",
        "[]",
        "[" * 50_000,
        "9" * 9_999,
        '{"jsonrpc":"2.0","id":1}',
        '{"jsonrpc":"2.0","id":{},"method":"ping"}',
        call % ('{"query":"\\ud800"}', meta),
        call % ('{"\\udfff":1}', meta),
        call % ('{"query":"x","min_confidence":NaN}', meta),
        call % ("[]", "{}"),
        call % ('{"query":"x"}', '{"io.modelcontextprotocol/protocolVersion":7}'),
    ):
        answer = httpx2.post(served.url, headers=headers, content=body.encode())
        assert answer.status_code < 500, body[:80]
        assert "-32603" not in answer.text, body[:80]
    assert httpx2.get(served.base + "/health").status_code == 200


@promise("mcp:http-health", "/health needs no token and says only that the server runs.", source="issue 2")
def test_health_needs_no_token_and_says_nothing_else(served: Served) -> None:
    answer = httpx2.get(served.base + "/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert "server" not in answer.headers
    assert httpx2.post(served.base + "/health").status_code == 401


@promise("mcp:http-tenant", "On HTTP the tenant comes from the token.", source="DESIGN D9")
@promise("mcp:eras", "Both protocol eras are served, on stdio and on HTTP.", source="spec/clients 4a")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_tenant_comes_from_the_token(mode: str, served: Served) -> None:
    async def work() -> None:
        async with connected(served, served.token, mode) as acme, connected(served, GLOBEX, mode) as globex:
            recorded = await acme.call_tool("memory_record", LESSON)
            memory_id = recorded.structured_content["id"]
            for name, arguments in (
                ("memory_get", {}),
                ("memory_delete", {}),
                ("memory_feedback", {"helpful": True}),
                ("memory_outcome", {"succeeded": True}),
            ):
                refused = await globex.call_tool(name, {"memory_id": memory_id, **arguments})
                assert refused.is_error
                assert refused.structured_content["error"] == "memory_not_found"
            query = {"query": "retry a flaky network call"}
            assert (await globex.call_tool("memory_search", query)).structured_content["count"] == 0
            assert (await globex.call_tool("memory_stats", {})).structured_content["tenant"] == "Globex"
            assert (await acme.call_tool("memory_stats", {})).structured_content["tenant"] == "Acme"
            found = (await acme.call_tool("memory_search", query)).structured_content
            assert [hit["id"] for hit in found["memories"]] == [memory_id]
            rating = {"memory_id": memory_id, "helpful": True}
            counted = [
                (await acme.call_tool("memory_feedback", rating)).structured_content["counted"] for _ in range(2)
            ]
            assert counted == [True, False]
            assert not (await acme.call_tool("memory_delete", {"memory_id": memory_id})).is_error

    run(work)


@promise("mcp:http-session", "A protocol session is no use to another token.", source="spec/engineering B.3 (18)")
def test_a_session_is_no_use_to_another_token(served: Served) -> None:
    opened = served.post(INITIALIZE, **served.known())
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    assert served.post(INITIALIZED, **served.known(), **session).status_code == 202
    stats: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "memory_stats"}}
    assert served.post(stats, **served.known(GLOBEX), **session).status_code == 404
    assert served.post(stats, **session).status_code == 401
    answer = served.post(stats, **served.known(), **session).json()
    assert answer["result"]["structuredContent"]["tenant"] == "Acme"


@promise(
    "mcp:http-refuses-to-start",
    "The HTTP server does not start on a token file that others can read.",
    source="spec/engineering B.3 (21)",
)
def test_it_does_not_start_on_a_token_file_that_others_can_read(tmp_path: Path) -> None:
    (tmp_path / "http-token").write_text("a-token-that-others-know\n")
    (tmp_path / "http-token").chmod(0o644)
    done = subprocess.run(
        [sys.executable, "-c", START],
        env=clean_environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "can be read by others" in done.stderr
    assert "a-token-that-others-know" not in done.stderr
