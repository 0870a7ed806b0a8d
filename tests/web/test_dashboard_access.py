"""Who may look at the dashboard and act there: tokens, links, cookies, forms, Host and Origin."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from mcp_processes import clean_environment
from promises import promise
from web.servers import Served, serving

SignIn = Callable[..., httpx2.Client]
PAGES = (
    "",
    "/memories",
    "/sessions",
    "/refusals",
    "/review",
    "/review/quarantine",
    "/review/merges",
    "/graph",
    "/jobs",
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests of this file."""
    home = tmp_path_factory.mktemp("access") / "home"
    home.mkdir(mode=0o700)
    with serving(home) as server:
        yield server


@pytest.fixture
def sign_in(served: Served) -> Iterator[SignIn]:
    """Makes clients that keep cookies, signed in when their token does that."""
    made: list[httpx2.Client] = []

    def client(token: str | None = None) -> httpx2.Client:
        made.append(httpx2.Client(base_url=served.base, timeout=60, headers={"Origin": served.base}))
        made[-1].post("/dashboard/login", data={"token": token or served.token})
        return made[-1]

    yield client
    for each in made:
        each.close()


def csrf_of(client: httpx2.Client) -> str:
    """What the forms of its pages carry."""
    found = re.search(r'name="csrf" value="([^"]+)"', client.get("/dashboard/memories").text)
    assert found is not None
    return found[1]


@promise(
    "dashboard:access",
    "Nobody sees a page of the dashboard without signing in with a token that allows admin, or by a link that works "
    "once; a browser never learns the token.",
    source="issue 16",
)
def test_a_page_asks_to_sign_in_and_the_cookie_is_no_token(served: Served, sign_in: SignIn) -> None:
    for path in ("/", *(f"/dashboard{page}" for page in PAGES), "/dashboard/settings", "/dashboard/memories/x"):
        answer = httpx2.get(f"{served.base}{path}")
        assert (answer.status_code, answer.headers["location"].split("?")[0]) in {
            (303, "/dashboard"),
            (303, "/dashboard/login"),
        }
        bearer = httpx2.get(f"{served.base}{path}", headers={"Authorization": f"Bearer {served.token}"})
        assert bearer.status_code == 303, "a client's bearer token opens no page"
    signed = httpx2.post(
        f"{served.base}/dashboard/login", data={"token": served.token}, headers={"Origin": served.base}
    )
    cookie = signed.headers["set-cookie"]
    assert signed.status_code == 303
    assert {"HttpOnly", "SameSite=strict", "Path=/dashboard"} <= {part.strip() for part in cookie.split(";")}
    assert served.token not in cookie
    client = sign_in()
    for page in PAGES:
        shown = client.get(f"/dashboard{page}")
        assert shown.status_code == 200, page
        assert served.token not in shown.text


@promise("dashboard:access")
def test_a_token_that_is_unknown_or_does_not_allow_admin_does_not_sign_in(served: Served, sign_in: SignIn) -> None:
    environment = clean_environment(served.home)
    command = (sys.executable, "-m", "reasoningbank.cli", "--tenant", "acme", "token", "create", "--json")
    made = {}
    for scope in ("write", "admin"):
        said = subprocess.run([*command, "--scope", scope], env=environment, capture_output=True, check=True, text=True)
        made[scope] = json.loads(said.stdout)
    for token in ("", "nothing", "x" * 5_000, made["write"]["token"]):
        answer = httpx2.post(f"{served.base}/dashboard/login", data={"token": token}, headers={"Origin": served.base})
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
    client = sign_in(made["admin"]["token"])
    assert client.get("/dashboard/memories").status_code == 200
    revoke = (sys.executable, "-m", "reasoningbank.cli", "--tenant", "acme", "token", "revoke", made["admin"]["id"])
    subprocess.run(revoke, env=environment, capture_output=True, check=True)
    assert client.get("/dashboard/memories").status_code == 303, "a revoked token signs out what it signed in"


@promise(
    "dashboard:forms",
    "A form of the dashboard is taken only from a page of the same sign-in, from the server's own address.",
    source="issue 16",
)
def test_a_form_without_the_sign_in_its_own_word_or_a_known_origin_changes_nothing(
    served: Served, sign_in: SignIn
) -> None:
    body = {"title": "Prune figs", "content": "Prune figs in late winter.", "outcome": "success"}
    own = served.said("POST", "/api/v1/memories", body, status=201)["id"]
    client, other = sign_in(), sign_in()
    path = f"/dashboard/memories/{own}/state"
    fields = {"state": "archived", "csrf": csrf_of(client)}
    for sent in ({**fields, "csrf": ""}, {**fields, "csrf": csrf_of(other)}, {"state": "archived"}):
        answer = client.post(path, data=sent)
        assert (answer.status_code, "does not come from a page" in answer.text) == (403, True)
    assert httpx2.post(f"{served.base}{path}", data=fields).headers["location"] == "/dashboard/login"
    for headers, status in (
        ({"Origin": "https://elsewhere.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "elsewhere.example"}, 421),
    ):
        for method in ("GET", "POST"):
            assert client.request(method, path, headers=headers, data=fields).status_code == status
    sent_json = client.post(path, content=json.dumps(fields), headers={"Content-Type": "application/json"})
    assert sent_json.status_code == 400
    no_origin = httpx2.post(f"{served.base}/dashboard/login", data={"token": served.token})
    assert no_origin.status_code == 403, "a browser says where a form comes from"
    assert served.said("GET", f"/api/v1/memories/{own}")["state"] == "active"
    done = client.post(path, data=fields)
    assert (done.status_code, done.headers["location"]) == (303, f"/dashboard/memories/{own}")
    assert served.said("GET", f"/api/v1/memories/{own}")["state"] == "archived"
    assert client.post("/dashboard/logout", data={"csrf": csrf_of(client)}).status_code == 303
    assert client.get("/dashboard/memories").status_code == 303


@promise(
    "dashboard:policy",
    "Every answer of the dashboard forbids a browser to run or load anything that the server does not ship.",
    source="issue 16",
)
def test_every_answer_has_a_policy_and_no_page_needs_an_exception(served: Served, sign_in: SignIn) -> None:
    client = sign_in()
    for path in (
        *PAGES,
        "/settings",
        "/login",
        "/memories/nothing",
        "/nowhere",
        "/static/dashboard.css",
        "/static/nothing.js",
    ):
        answer = client.get(f"/dashboard{path}")
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        if "html" in answer.headers["content-type"]:
            assert not re.search(r"<[^>]*(?:\son\w+=|\sstyle=)|<style|(?:src|href|action)=.(?:\w+:|//)", answer.text), (
                path
            )
            assert not re.search(r"<script(?![^>]*(?:\ssrc=|application/json))", answer.text), path
    assert client.get("/dashboard/nowhere").status_code == 404
    assert client.get("/dashboard/memories/nothing").status_code == 404


@promise(
    "dashboard:link",
    "`rbank dashboard` serves the dashboard on this machine and prints a link that signs one browser in, once.",
    source="issue 16",
)
@pytest.mark.skipif(sys.platform == "win32", reason="a process there has no SIGINT of its own")
def test_the_command_prints_a_link_that_works_once_and_no_agent_runs_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    environment = clean_environment(home)
    command = [sys.executable, "-m", "reasoningbank.cli", "--project", "shop", "dashboard", "--no-open"]
    with subprocess.Popen(
        command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            link = process.stdout.readline().strip()
            first = httpx2.get(link, timeout=60)
            assert (first.status_code, first.headers["location"]) == (303, "/dashboard")
            again = httpx2.get(link, timeout=60)
            assert (again.status_code, "set-cookie" in again.headers) == (403, False)
            with httpx2.Client(base_url=link.partition("/dashboard")[0], timeout=60, cookies=first.cookies) as client:
                assert "Nothing is known here yet" in client.get("/dashboard").text
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)
    assert not list(home.rglob("*.db")), "looking makes no bank"
    refused = subprocess.run(
        command, env={**environment, "CLAUDECODE": "1"}, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert refused.returncode == 4
    assert "a person's to do" in refused.stderr
