"""Several HTTP servers as one service: tokens with scopes, limits per tenant, health, and one PostgreSQL for all."""

from __future__ import annotations

import json
import signal
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from many_servers import HttpServer, http_server, rbank, token_of, wait_until
from postgres_servers import PostgresServer, shared_server, why_none
from promises import promise
from reasoningbank.errors import AccessDenied
from reasoningbank.mcp.tenant_limits import TenantLimits
from reasoningbank.mcp.tokens import FRESH_SECONDS, TENANTS_FILE
from reasoningbank.types.access import ACCESSES, check_access

STATELESS = {"http_stateless": "true"}


def lesson(number: int = 0) -> dict[str, str]:
    """A memory as REST and tools take it."""
    return {
        "title": f"Retry flaky network calls {number}",
        "content": f"Back off exponentially, then retry call {number} once more.",
        "outcome": "success",
    }


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """One server over files, whose tokens are in a file."""
    with http_server(tmp_path_factory.mktemp("alone") / "home", http_stateless="true", profile="core,admin") as server:
        yield server


@promise(
    "tokens:create",
    "`rbank token create` shows a token once and keeps only its hash; `list` never shows it; a running server takes a "
    "new token and refuses a revoked one without a restart.",
    source="issue 15 Many servers",
)
def test_a_token_is_made_listed_and_revoked_while_the_server_runs(alone: HttpServer) -> None:
    token, token_id = token_of(alone.home, "laptop", "--scope", "read")
    assert alone.status("/api/v1/memories/search?q=kiwi", token) == 200
    file = alone.home / TENANTS_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert token not in file.read_text()
    listed = rbank(alone.home, "token", "list")
    assert token not in json.dumps(listed)
    assert [(each["id"], each["scopes"], each["name"]) for each in listed["tokens"]][-1] == (
        token_id,
        ["read"],
        "laptop",
    )
    assert rbank(alone.home, "token", "revoke", token_id[:6]) == {"revoked": token_id}
    assert alone.status("/api/v1/memories/search?q=kiwi", token) == 401
    assert rbank(alone.home, "token", "revoke", token_id, status=3)["error"] == "not_found"
    assert rbank(alone.home, "token", "create", "--scope", "all", status=2)["error"] == "invalid_input"


@promise(
    "tokens:scopes",
    "A token with the scope read cannot write, and one with write cannot delete, erase or quarantine, over MCP, REST "
    "and WebSocket alike; admin may do all.",
    source="issue 15 Many servers",
)
def test_scopes_hold_on_every_entrance(alone: HttpServer) -> None:
    tokens: dict[str, str] = {scope: token_of(alone.home, "--scope", scope)[0] for scope in ACCESSES}
    for scope, statuses in {"read": (403, 403), "write": (201, 403), "admin": (201, 200)}.items():
        written = alone.call("POST", "/api/v1/memories", tokens[scope], lesson(ACCESSES.index(scope)))
        assert written.status_code == statuses[0], written.text
        made = alone.call("POST", "/api/v1/memories", tokens["admin"], lesson(10 + ACCESSES.index(scope))).json()
        assert alone.status(f"/api/v1/memories/{made['id']}", tokens[scope]) == 200
        gone = alone.call("DELETE", f"/api/v1/memories/{made['id']}", tokens[scope])
        assert gone.status_code == statuses[1], gone.text
        for path, body in (
            ("/api/v1/sessions/erase", {"session": "none"}),
            ("/api/v1/quarantines", {"reason": "x", "session": "y"}),
        ):
            answer = alone.call("POST", path, tokens[scope], body)
            assert (answer.status_code == 403) is (scope != "admin"), answer.text
        assert (
            "isError" not in (found := alone.tool(tokens[scope], "memory_search", {"query": "retry"}))
            or not found["isError"]
        )
        said = alone.tool(tokens[scope], "memory_record", lesson(20 + ACCESSES.index(scope)))
        assert said["isError"] is (scope == "read"), said
        made = alone.call("POST", "/api/v1/memories", tokens["admin"], lesson(30 + ACCESSES.index(scope))).json()
        said = alone.tool(tokens[scope], "memory_delete", {"memory_id": made["id"]})
        assert said["isError"] is (scope != "admin"), said
        assert scope == "admin" or said["structuredContent"]["error"] == "access_denied"


@promise("tokens:scopes")
def test_a_reader_follows_a_workflow_on_a_socket_and_cannot_cancel_it(alone: HttpServer) -> None:
    reader, writer = token_of(alone.home, "--scope", "read")[0], token_of(alone.home, "--scope", "write")[0]
    refused = alone.call("POST", "/workflow/execute", reader, {"user_input": "How do I retry?"})
    assert refused.status_code == 403, refused.text
    begun = alone.call("POST", "/workflow/execute", writer, {"user_input": "How do I retry?"})
    assert begun.status_code in {200, 201}, begun.text
    place = f"{alone.base.replace('http', 'ws', 1)}/workflow/ws/{begun.json()['workflow_id']}"
    with connect(place, additional_headers={"Authorization": f"Bearer {reader}"}) as socket:
        socket.send('{"command": "cancel"}')
        answer: dict[str, Any] = {"event": ""}
        while answer["event"] != "error":
            answer = json.loads(socket.recv(timeout=30))
        assert answer["payload"]["error"] == "access_denied"
    with pytest.raises(InvalidStatus) as caught, connect(place, additional_headers={"Authorization": "Bearer no"}):
        pass
    assert caught.value.response.status_code == 401


@promise("tokens:scopes")
@given(had=st.sets(st.sampled_from(ACCESSES)), needed=st.sampled_from(ACCESSES))
def test_a_scope_allows_what_those_before_it_allow(had: set[str], needed: Any) -> None:
    enough = any(ACCESSES.index(scope) >= ACCESSES.index(needed) for scope in had)
    if enough:
        check_access(had, needed)
    else:
        with pytest.raises(AccessDenied):
            check_access(had, needed)


@promise(
    "servers:tenant-limits",
    "One tenant is answered at most so many requests and bytes a minute, with 429 and Retry-After beyond; another "
    "tenant's allowance is its own.",
    source="issue 15 Many servers",
)
@given(steps=st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 90), st.integers(0, 300)), max_size=60))
def test_no_tenant_gets_more_than_its_allowance(steps: list[tuple[str, float, int]]) -> None:
    now = 0.0
    limits = TenantLimits(requests=10, size=1_000, clock=lambda: now)
    taken: dict[str, list[tuple[float, int]]] = {"a": [], "b": []}
    for tenant, pause, size in steps:
        now += pause
        wait = limits.wait(tenant, requests=1, size=size)
        if wait:
            now += wait + 1e-6
            assert limits.wait(tenant, requests=1, size=size) == 0
        taken[tenant].append((now, size))
    for times in taken.values():
        for start, _ in times:
            within = [size for at, size in times if start <= at < start + 60]
            assert len(within) <= 20 + 1
            assert sum(within) <= 2_000 + 300


@promise("servers:tenant-limits")
def test_a_tenant_beyond_its_allowance_hears_when_to_come_again(tmp_path: Path) -> None:
    with http_server(tmp_path / "home", http_tenant_requests="5", http_tenant_megabytes="1") as server:
        token, other = (server.home / "http-token").read_text().strip(), token_of(server.home)[0]
        rbank(server.home, "--tenant", "globex", "token", "list")
        entries = json.loads((server.home / TENANTS_FILE).read_text())
        foreign = {"tenant": "globex", "token": "the-token-of-globex-industries"}
        (server.home / TENANTS_FILE).write_text(json.dumps([*entries, foreign]))
        answers = [server.call("GET", "/api/v1/memories", (token, other)[number % 2]) for number in range(8)]
        assert [answer.status_code for answer in answers[:5]] == [200] * 5
        assert {answer.status_code for answer in answers[5:]} == {429}
        assert 1 <= int(answers[-1].headers["Retry-After"]) <= 60
        assert answers[-1].json()["error"] == "too_many_requests"
        assert server.status("/healthz") == 200
        place = f"{server.base.replace('http', 'ws', 1)}/workflow/ws/none"
        with (
            pytest.raises(InvalidStatus) as caught,
            connect(place, additional_headers={"Authorization": f"Bearer {token}"}),
        ):
            pass
        assert caught.value.response.status_code == 429
        assert server.call("GET", "/api/v1/memories", foreign["token"]).status_code == 200
        big = server.call("POST", "/api/v1/memories", foreign["token"], lesson() | {"content": "x" * 900_000})
        assert big.status_code == 400
        assert (
            server.call("POST", "/api/v1/memories", foreign["token"], lesson() | {"content": "x" * 900_000}).status_code
            == 429
        )


@promise(
    "servers:graceful",
    "A server that is told to end answers what it has begun: whatever a client was told is stored, and no request is "
    "cut in the middle.",
    source="issue 15 Many servers",
)
def test_a_server_told_to_end_answers_what_it_has_begun(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    cut: list[str] = []
    with http_server(tmp_path / "home") as server:
        token = (server.home / "http-token").read_text().strip()
        server.call("POST", "/api/v1/memories", token, lesson(-1))

        def work(worker: int) -> None:
            for number in range(10_000):
                try:
                    answer = server.call("POST", "/api/v1/memories", token, lesson(worker * 10_000 + number))
                except (httpx2.ConnectError, httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError) as error:
                    if not isinstance(error, httpx2.ConnectError):
                        cut.append(repr(error))
                    return
                if answer.status_code != 201:
                    assert answer.status_code == 503, answer.text
                    return
                acknowledged.append(answer.json()["id"])

        workers = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for worker in workers:
            worker.start()
        wait_until(lambda: len(acknowledged) > 12)
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(timeout=15)
        for worker in workers:
            worker.join()
    # A connection that was opened and had not been read yet is closed; its request had not begun.
    assert len(cut) <= len(workers)
    kept = {each["id"] for each in rbank(tmp_path / "home", "--project", "shop", "list", "--limit", "0")["memories"]}
    assert set(acknowledged) <= kept
    assert len(kept) <= len(acknowledged) + 1 + len(cut)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HttpServer, HttpServer, str]]:
    """Two stateless servers, with nothing in common but one PostgreSQL."""
    folder = tmp_path_factory.mktemp("pair")
    with shared_server().place() as url:
        common = {"url": url, **STATELESS, "profile": "core,admin"}
        with http_server(folder / "one", **common) as one, http_server(folder / "two", **common) as two:
            yield one, two, url


@promise(
    "servers:one-postgresql",
    "Servers that share one PostgreSQL are stateless: a token of the database holds on each of them, the next request "
    "of a client may go to any, and what one has stored, changed or deleted is so for the others at once.",
    source="issue 15 Many servers",
)
def test_what_one_server_has_changed_is_so_for_the_other(pair: tuple[HttpServer, HttpServer, str]) -> None:
    one, two, url = pair
    token, _ = token_of(one.home, "--scope", "admin", url=url)
    assert not (one.home / TENANTS_FILE).exists()

    def found(server: HttpServer, query: str) -> list[str]:
        answer = server.call("GET", f"/api/v1/memories/search?q={query}", token)
        assert answer.status_code == 200, answer.text
        return [hit["content"] for hit in answer.json()["memories"]]

    for round_number in range(3):
        writer, reader = (one, two) if round_number % 2 else (two, one)
        word = ("kiwi", "mango", "papaya")[round_number]
        assert not any(word in text for text in found(reader, f"peel+the+{word}"))
        made = writer.tool(
            token, "memory_record", lesson() | {"title": f"Peel the {word}", "content": f"A {word} peels."}
        )
        assert not made["isError"], made
        assert any(word in text for text in found(reader, f"peel+the+{word}"))
        changed = reader.call(
            "PATCH", f"/api/v1/memories/{made['structuredContent']['id']}", token, {"content": f"Boil a {word} first."}
        )
        assert changed.status_code == 200, changed.text
        assert f"Boil a {word} first." in found(writer, f"peel+the+{word}")
        assert reader.call("DELETE", f"/api/v1/memories/{changed.json()['id']}", token).status_code == 200
        assert f"Boil a {word} first." not in found(writer, f"peel+the+{word}")
        assert writer.call("GET", f"/api/v1/memories/{changed.json()['id']}", token).json()["state"] == "archived"


@promise("servers:one-postgresql")
def test_a_revoked_token_of_the_database_is_refused_by_every_server(pair: tuple[HttpServer, HttpServer, str]) -> None:
    one, two, url = pair
    token, token_id = token_of(two.home, url=url)
    other, _ = token_of(one.home, url=url)
    assert one.status("/api/v1/memories", token) == two.status("/api/v1/memories", token) == 200
    rbank(one.home, "token", "revoke", token_id, url=url)
    wait_until(
        lambda: one.status("/api/v1/memories", token) == two.status("/api/v1/memories", token) == 401, FRESH_SECONDS + 3
    )
    forged = token[:30] + ("A" if token[30] != "A" else "B") + token[31:]
    assert one.status("/api/v1/memories", forged) == 401
    assert one.status("/api/v1/memories", other) == 200
    # The tenant that a token claims is where it is looked for: of another tenant it is none.
    rbank(one.home, "--tenant", "globex", "token", "revoke", token_id, url=url, status=3)


@promise(
    "servers:readiness",
    "/healthz says that a server runs and /readyz that it can use its banks, by any Host header and without a token; "
    "while the database is away /readyz and requests are answered with an error, and then all is well again.",
    source="issue 15 Many servers",
)
def test_a_server_whose_database_is_away_is_not_ready_and_comes_back(tmp_path: Path) -> None:
    if reason := why_none():
        pytest.skip(reason)
    database = PostgresServer(durable=True)
    try:
        url = database.url("prepared", database.role())
        with http_server(tmp_path / "home", url=url, **STATELESS) as server:
            token, _ = token_of(server.home, url=url)
            foreign = httpx2.get(f"{server.base}/readyz", headers={"Host": "10.1.2.3:8765"})
            assert (foreign.status_code, foreign.json()) == (200, {"status": "ok"})
            assert server.status("/health") == server.status("/healthz") == 200
            assert server.call("POST", "/api/v1/memories", token, lesson()).status_code == 201
            database.kill()
            wait_until(lambda: server.status("/readyz") == 503)
            assert server.status("/healthz") == 200
            wait_until(lambda: server.status("/api/v1/memories", token) == 503)
            said = httpx2.get(f"{server.base}/readyz").json()
            assert said == {"status": "unavailable", "message": "the banks cannot be used: store_unavailable"}
            database.start()
            wait_until(lambda: server.status("/readyz") == 200)
            assert len(server.call("GET", "/api/v1/memories", token).json()["memories"]) == 1
    finally:
        database.stop()
