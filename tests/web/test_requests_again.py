"""REST beside its operations: problem details, pages, idempotency keys, and tickets for WebSockets of browsers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import httpx2
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from promises import promise
from reasoningbank.mcp import tickets
from web.servers import GLOBEX, Served, next_events, serving, with_tenants

LESSON = {"title": "Prune figs", "content": "Cut them in winter.", "outcome": "success"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests of this file."""
    with serving(with_tenants(tmp_path_factory.mktemp("again") / "home")) as server:
        yield server


@promise(
    "web:problems",
    "Every error of the server is a problem of RFC 9457 with type, title, status and detail, beside the code, message "
    "and hint that every surface has.",
    source="issue, REST",
)
@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/api/v1/memories/nobody", {}, 404),
        ("GET", "/api/v1/memories?limit=many", {}, 400),
        ("GET", "/api/v1/memories/search?q=figs&q=plums", {}, 400),
        ("GET", "/nowhere", {}, 404),
        ("PUT", "/api/v1/memories", {}, 405),
        ("GET", "/api/v1/memories", {"Authorization": "Bearer nobody"}, 401),
        ("GET", "/api/v1/memories", {"Host": "evil.example"}, 421),
        ("GET", "/api/v1/memories", {"Origin": "http://evil.example"}, 403),
    ],
)
def test_errors_are_problems(served: Served, method: str, path: str, headers: dict[str, str], status: int) -> None:
    answer = served.call(method, path, **headers)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    said = answer.json()
    assert said["status"] == status
    assert said["type"] == f"urn:reasoningbank:error:{said['error']}"
    assert said["detail"] == said["message"]
    assert said["title"]
    assert said["hint"]


@promise(
    "web:media-type",
    "A body is taken as JSON alone: one that is sent as text, as a form or without a Content-Type is refused with "
    "415, and nothing is stored.",
    source="issue 16 REST",
)
@pytest.mark.parametrize("said", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "json", ""])
@pytest.mark.parametrize("key", [{}, {"Idempotency-Key": "once"}])
def test_a_body_says_that_it_is_json(served: Served, said: str, key: dict[str, str]) -> None:
    before = served.call("GET", "/api/v1/memories").json()["count"]
    headers = {"Authorization": f"Bearer {served.token}", **key} | ({"Content-Type": said} if said else {})
    place = f"{served.base}/api/v1/memories"
    answer = httpx2.post(place, headers=headers, content=json.dumps(LESSON).encode(), timeout=30)
    assert (answer.status_code, answer.headers["content-type"]) == (415, "application/problem+json")
    assert answer.json()["error"] == "wrong_media_type"
    assert served.call("GET", "/api/v1/memories").json()["count"] == before


@promise(
    "web:pages",
    "A list that is longer than its limit says in its Link header where the next page is.",
    source="issue, REST",
)
def test_a_list_is_read_page_by_page(served: Served) -> None:
    for number in range(5):
        served.said("POST", "/api/v1/memories?project_id=pages", {**LESSON, "title": f"Fig {number}"}, status=201)
    path, seen = "/api/v1/memories?limit=2&project_id=pages", []
    while path:
        answer = served.call("GET", path)
        seen += [each["title"] for each in answer.json()["memories"]]
        link = answer.headers.get("link", "")
        assert link.endswith('>; rel="next"') or not link
        path = link.removeprefix("<").removesuffix('>; rel="next"')
    assert sorted(seen) == [f"Fig {number}" for number in range(5)]
    assert "link" not in served.call("GET", "/api/v1/memories?project_id=pages").headers


@promise(
    "web:idempotency",
    "A POST that is sent again with the same Idempotency-Key is done once and gets the same answer; another request "
    "with that key is refused, and a key is its token's own.",
    source="issue, REST",
)
def test_a_request_that_is_sent_again_is_done_once(served: Served) -> None:
    def sent(body: object, key: str, **more: str) -> tuple[int, dict[str, object], str]:
        answer = served.call("POST", "/api/v1/memories", body, **{"Idempotency-Key": key}, **more)
        return answer.status_code, answer.json(), answer.headers.get("idempotency-replayed", "")

    status, first, replayed = sent(LESSON, "k-1")
    assert (status, replayed) == (201, "")
    assert sent(LESSON, "k-1") == (201, first, "true")
    assert sent({**LESSON, "title": "Other"}, "k-1")[:1] == (422,)
    assert sent({**LESSON, "title": "Other"}, "k-2")[1]["id"] != first["id"]
    assert sent(LESSON, "k-1", token=GLOBEX)[1]["id"] != first["id"]
    assert sent({"title": 1}, "k-3")[0] == 400
    assert sent(LESSON, "k-3")[0] == 201
    assert sent(LESSON, "x" * 256)[0] == 400


@promise(
    "web:tickets",
    "A browser opens a WebSocket with a ticket: a POST gives one, it opens one WebSocket within thirty seconds, and it "
    "opens nothing else.",
    source="issue, REST",
)
def test_a_ticket_opens_one_websocket(served: Served) -> None:
    begun = served.said("POST", "/workflow/execute", {"user_input": "Why prune figs?"}, status=201)
    given = served.said("POST", "/workflow/ticket", status=201)
    assert given["seconds"] == 30.0
    place = f"{served.base.replace('http', 'ws', 1)}/workflow/ws/{begun['workflow_id']}"
    with connect(f"{place}?ticket={given['ticket']}", origin=Origin(served.base), open_timeout=30) as socket:
        assert next_events(socket, "memories")[-1]["event"] == "memories"
    for wrong in (f"?ticket={given['ticket']}", "?ticket=nobody", ""):
        with pytest.raises(InvalidStatus) as refused:
            connect(f"{place}{wrong}", open_timeout=30)
        assert refused.value.response.status_code == 401
    other = served.said("POST", "/workflow/ticket", status=201)["ticket"]
    answer = served.call("GET", f"/api/v1/memories?ticket={other}", Authorization="")
    assert answer.status_code == 401
    with pytest.raises(InvalidStatus) as refused:
        connect(f"{place}?ticket={other}", origin=Origin("http://evil.example"), open_timeout=30)
    assert refused.value.response.status_code == 403


@promise("web:tickets")
def test_a_ticket_ends_after_thirty_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    kept = tickets.Tickets()
    user = AuthenticatedUser(AccessToken(token="t", client_id="c", scopes=[]))
    first, second = kept.give(user), kept.give(user)
    now[0] += 29.0
    assert kept.taken(first) is user
    assert kept.taken(first) is None
    now[0] += 2.0
    assert kept.taken(second) is None


@promise("web:idempotency")
def test_the_description_names_the_key_and_the_problem(served: Served) -> None:
    described = served.said("GET", "/openapi.json")
    record = described["paths"]["/api/v1/memories"]["post"]
    assert "Idempotency-Key" in json.dumps(record["parameters"])
    assert list(record["responses"]["default"]["content"]) == ["application/problem+json"]
    assert "text/plain" in described["paths"]["/metrics"]["get"]["responses"]["200"]["content"]


@promise(
    "web:methods",
    "An endpoint that does not have a method names in its Allow header all that its path has.",
    source="issue, REST",
)
@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/api/v1/memories", {"GET", "HEAD", "POST"}),
        ("/api/v1/memories/m", {"GET", "HEAD", "PATCH", "DELETE"}),
        ("/api/v1/graph/nodes", {"GET", "HEAD", "POST"}),
        ("/api/v1/graph/nodes/n", {"GET", "HEAD", "PATCH", "DELETE"}),
        ("/api/v1/graph/edges/e", {"GET", "HEAD", "PATCH", "DELETE"}),
        ("/api/v1/quarantines", {"GET", "HEAD", "POST"}),
        ("/workflow/w", {"GET", "HEAD"}),
        ("/workflow/execute", {"POST"}),
        ("/api/v1/sessions/erase", {"POST"}),
    ],
)
def test_a_refused_method_names_all_methods_of_the_path(served: Served, path: str, methods: set[str]) -> None:
    for method in ("PUT", "OPTIONS"):
        answer = served.call(method, path)
        assert (answer.status_code, set(answer.headers["allow"].split(", "))) == (405, methods)


@promise("web:errors")
@pytest.mark.parametrize("query", ["offset=", "limit=", "limit=%20"])
def test_a_number_of_the_query_that_is_empty_is_refused(served: Served, query: str) -> None:
    assert "must be a whole number" in served.said("GET", f"/api/v1/graph/nodes?{query}", status=400)["message"]


@promise("web:idempotency")
def test_the_same_request_in_other_spaces_is_the_same_and_another_body_is_not(served: Served) -> None:
    known = {"Authorization": f"Bearer {served.token}", "Content-Type": "application/json", "Idempotency-Key": "spaced"}
    lesson = {**LESSON, "title": "Water figs"}

    def sent(content: str) -> httpx2.Response:
        return httpx2.post(f"{served.base}/api/v1/memories", headers=known, content=content, timeout=30)

    first, again = sent(json.dumps(lesson)), sent(json.dumps(dict(reversed(lesson.items())), indent=2))
    assert (first.status_code, again.status_code, again.headers["Idempotency-Replayed"]) == (201, 201, "true")
    assert again.json() == first.json()
    assert sent(json.dumps({**lesson, "title": "Water  figs"})).status_code == 422
