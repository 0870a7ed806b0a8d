"""Scopes on every surface: the command line, the protocol and the tokens of its HTTP server."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import click
import pytest
from click.testing import CliRunner, Result
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.testclient import TestClient

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.cli.app import rbank
from reasoningbank.errors import ConfigurationError
from reasoningbank.integrations.hook_actions import open_bank as open_for_hook
from reasoningbank.integrations.hook_payload import HookPlace, Payload
from reasoningbank.mcp.banks import Banks
from reasoningbank.mcp.calls import Caller
from reasoningbank.mcp.http import Gate, _Callers, security_of
from reasoningbank.mcp.protocol_sessions import OpenSockets
from reasoningbank.mcp.tokens import TENANTS_FILE, TOKEN_FILE, load_grants
from reasoningbank.mcp.tools import Tools
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.ports import Embedder
from reasoningbank.types.scope import Membership
from sharing.scoped import QUERY, RETRY, plant

SHOP = "When a network call of the shop fails now and then, retry it with exponential backoff and jitter, five times."
TEAM = ("--team", "payments", "--org", "globex")
PAYMENTS = Membership(team="payments", org="globex")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory for the command line, without any model."""
    directory = tmp_path / "home"
    for name, value in {"HOME": str(directory), "TENANT": "acme", "PROJECT": "", "LLM": ""}.items():
        monkeypatch.setenv(f"REASONINGBANK_{name}", value)
    return directory


def run(*arguments: str, typed: str | bytes = "") -> Result:
    """One command in this process."""
    return CliRunner().invoke(rbank, arguments, input=typed)


def done(*arguments: str, typed: str = "") -> dict[str, Any]:
    """The answer of a command that goes well."""
    result = run(*arguments, "--json", typed=typed)
    assert result.exit_code == 0, result.output
    return cast("dict[str, Any]", json.loads(result.stdout))


def recorded(project: str, content: str) -> str:
    """A lesson that was recorded on the command line."""
    words = ("record", "--title", RETRY[0], "--content", content, "--outcome", "success", "--project", project)
    return str(done(*words, *TEAM)["id"])


@promise(
    "scopes:cli",
    "Team and org are options of every command and settings; promote, demote and share do on the command line what "
    "the bank does, with their exit statuses.",
    source="issue 4 Scopes",
)
@promise(
    "cli:promote",
    "rbank promote lists, proposes, asks and stores; rbank demote takes out again.",
    source="issue 4 Scopes",
)
def test_promoting_on_the_command_line_from_the_list_to_another_projects_search(place: Path) -> None:
    assert place
    ids = [recorded("shop", SHOP), recorded("till", SHOP.replace("shop", "till"))]
    listed = done("candidates", "--project", "shop", *TEAM)
    assert listed["count"] == 1
    (candidate,) = listed["candidates"]
    assert {source["id"] for source in candidate["sources"]} == set(ids)
    assert "the project" in candidate["content"]
    readable = run("candidates", "--project", "shop", *TEAM)
    assert f"--to {candidate['to']}" in readable.stdout
    arguments = ("promote", *ids, "--project", "shop", *TEAM)
    assert run(*arguments, typed="n\n").exit_code == 1
    assert run(*arguments).exit_code == 1
    unreadable = run(*arguments, "--json", typed=b"\x80\n")
    assert (unreadable.exit_code, unreadable.stdout) == (2, "")
    assert "Answer y" in unreadable.stderr
    made = done(*arguments, "--to", "team", "--reviewer", "dora", "--yes")
    assert (made["created"], made["reviewer"], made["level"]) == (True, "dora", "team")
    assert made["sources"] == [f"project:shop#{ids[0]}", f"project:till#{ids[1]}"]
    found = done("search", QUERY, "--project", "new", *TEAM)
    assert [(hit["id"], hit["scope"], hit["conflicts"]) for hit in found["memories"]] == [(made["id"], "team", [])]
    assert "known in the team" in run("search", QUERY, "--project", "new", *TEAM).stdout
    brief = done("briefing", "--project", "new", *TEAM)
    assert [item["scope"] for item in brief["items"]] == ["team"]
    assert done("search", QUERY, "--project", "new")["memories"] == []
    gone = done("demote", made["id"], "--project", "new", *TEAM, "--reason", "not general")
    assert gone["state"] == "archived"
    assert done("search", QUERY, "--project", "new", *TEAM)["memories"] == []


@promise("scopes:cli")
@promise("cli:promote")
def test_a_typed_yes_and_an_edited_text_are_taken(place: Path) -> None:
    assert place
    memory_id = recorded("shop", SHOP)
    arguments = ("promote", memory_id, "--project", "shop", *TEAM)
    bad = run(*arguments, "--title", "Retry", "--content", "The shop retries.", "--yes", "--json")
    assert bad.exit_code == 2
    assert "project" in json.loads(bad.stderr)["message"]
    made = done(*arguments, "--title", "Retry", "--content", "Retry with backoff what fails now and then.", typed="y\n")
    assert made["content"] == "Retry with backoff what fails now and then."


@promise("scopes:cli")
@promise("cli:promote")
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("promote",), 2),
        (("candidates", "x"), 2),
        (("promote",), 2),
        (("promote", "x", "--team", "t", "--yes"), 3),
        (("promote", "x", "--to", "galaxy", "--yes"), 2),
        (("demote", "x"), 3),
        (("share", "export", "x", "--other-project"), 2),
        (("share", "burn", "x"), 2),
        (("share", "import", "nowhere"), 5),
        (("search", "q", "--team", " "), 2),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_status(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], status: int
) -> None:
    assert place
    monkeypatch.chdir(tmp_path)
    assert run(*arguments, "--project", "shop").exit_code == status


@promise("scopes:cli")
@promise("cli:share", "rbank share export and import.", source="issue 4 Scopes")
def test_sharing_on_the_command_line(place: Path, tmp_path: Path) -> None:
    assert place
    memory_id = recorded("shop", SHOP)
    directory = str(tmp_path / "share")
    written = done("share", "export", directory, "--project", "shop")
    assert written["memories"] == 1
    taken = done("share", "import", directory, "--project", "shop", "--tenant", "bob")
    assert taken["added"] == [memory_id]
    assert done("share", "import", directory, "--project", "shop", "--tenant", "bob")["unchanged"] == 1
    assert "0 added" in run("share", "import", directory, "--project", "shop", "--tenant", "bob").stdout
    assert run("share", "import", directory, "--project", "till").exit_code == 4
    assert done("share", "import", directory, "--project", "till", "--other-project")["added"] == [memory_id]


@promise("scopes:cli")
def test_team_and_org_are_options_of_every_command_and_settings(
    place: Path, monkeypatch: pytest.MonkeyPatch, local_embedder: Embedder
) -> None:
    for name in ("search", "briefing", "serve", "hook", "promote"):
        command = rbank.get_command(click.Context(rbank), name)
        assert command is not None
        assert {"team", "org"} <= {parameter.name for parameter in command.params}
    plant(place, local_embedder, "team", "payments", title=RETRY[0], content=RETRY[1])
    before = ("--team", "payments", "search", QUERY, "--project", "new")
    assert [hit["scope"] for hit in done(*before)["memories"]] == ["team"]
    assert done(*before, "--team", "")["memories"] == []
    monkeypatch.setenv("REASONINGBANK_TEAM", "payments")
    assert [hit["scope"] for hit in done("search", QUERY, "--project", "new")["memories"]] == ["team"]


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Tools]:
    """The tools over a team that knows something."""
    home = tmp_path / "home"
    plant(home, HashingEmbedder(256), "team", "payments", title=RETRY[0], content=RETRY[1])
    made = Tools(Banks(Settings(home=home), project="shop", embedder=HashingEmbedder(256)), profile="briefing")
    yield made
    made.close()


@promise(
    "scopes:mcp",
    "MCP labels hits with their scope and takes the team from the caller alone, never from an argument; the core "
    "tools are unchanged.",
    source="issue 4 Scopes; DESIGN D9",
)
def test_the_protocol_shows_the_scope_of_a_hit_and_takes_the_team_from_the_caller_alone(tools: Tools) -> None:
    member = Caller(tenant="acme", session="s", membership=PAYMENTS)
    stranger = Caller(tenant="acme", session="t", membership=Membership(team="web"))
    found = tools.call("memory_search", {"query": QUERY}, member)
    (hit,) = cast("list[dict[str, object]]", found.fields["memories"])
    assert (hit["scope"], hit["conflicts"]) == ("team", [])
    assert "from the team" in found.text
    for caller in (
        stranger,
        Caller(tenant="acme", session="u"),
        Caller(tenant="bob", session="v", membership=PAYMENTS),
    ):
        assert tools.call("memory_search", {"query": QUERY}, caller).fields["memories"] == []
    named = tools.call("memory_search", {"query": QUERY, "team": "payments"}, stranger)
    assert named.failed
    rated = tools.call("memory_feedback", {"memory_id": hit["id"], "helpful": True}, member)
    assert rated.fields["counted"]
    brief = tools.call("memory_briefing", {"task": QUERY}, member)
    assert [item["scope"] for item in cast("list[dict[str, object]]", brief.fields["items"])] == ["team"]
    again = tools.call("memory_search", {"query": QUERY}, member)
    assert len(cast("list[object]", again.fields["memories"])) == 1


@promise(
    "scopes:tokens",
    "A bearer token carries the team and org of its projects; nothing in a request changes them.",
    source="issue 4 Scopes; DESIGN D9",
)
def test_a_token_carries_the_team_and_org_of_its_projects(tmp_path: Path) -> None:
    load_grants(tmp_path, "acme")
    file = tmp_path / TENANTS_FILE
    entries = [
        {"tenant": "acme", "token": "x" * 20, "team": "payments", "org": "globex"},
        {"tenant": "bob", "sha256": hashlib.sha256(b"y" * 20).hexdigest(), "team": "web"},
        {"tenant": "carol", "token": "z" * 20},
    ]
    file.write_text(json.dumps(entries), encoding="utf-8")
    file.chmod(0o600)
    grants = load_grants(tmp_path, "acme", Membership(team="own"))
    own = grants.of((tmp_path / TOKEN_FILE).read_text(encoding="utf-8").strip())
    memberships = [grant.membership for token in ("x" * 20, "y" * 20, "z" * 20) if (grant := grants.of(token))]
    assert memberships == [PAYMENTS, Membership(team="web"), Membership()]
    assert own is not None
    assert own.membership == Membership(team="own")
    for wrong in ({"team": 5}, {"team": " "}, {"galaxy": "x"}, {"org": None}):
        file.write_text(json.dumps([{"tenant": "acme", "token": "x" * 20, **wrong}]), encoding="utf-8")
        with pytest.raises(ConfigurationError):
            load_grants(tmp_path, "acme")


@promise("scopes:tokens")
def test_the_gate_of_the_http_server_hands_on_the_membership_of_the_token(tmp_path: Path) -> None:
    load_grants(tmp_path, "acme")
    file = tmp_path / TENANTS_FILE
    file.write_text(json.dumps([{"tenant": "bob", "token": "x" * 20, "team": "payments"}]), encoding="utf-8")
    file.chmod(0o600)
    callers: list[Caller] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        context = SimpleNamespace(request=Request(scope))
        callers.append(_Callers().of(cast(Any, context)))
        await JSONResponse({})(scope, receive, send)

    security = security_of("127.0.0.1", 80)
    gate = Gate(app, load_grants(tmp_path, "acme", Membership(team="own")), security, OpenSockets(1))
    client = TestClient(gate, base_url="http://127.0.0.1")
    own = (tmp_path / TOKEN_FILE).read_text(encoding="utf-8").strip()
    for token in ("x" * 20, own):
        headers = {"Authorization": f"Bearer {token}", "X-Team": "web"}
        assert client.get("/mcp?team=web", headers=headers).status_code == 200
    assert [(caller.tenant, caller.membership) for caller in callers] == [
        ("bob", Membership(team="payments")),
        ("acme", Membership(team="own")),
    ]


@promise(
    "scopes:hooks",
    "A hook of a project without a bank opens it when its team or org knows something.",
    source="issue 4 Hooks",
)
def test_a_hook_of_a_new_project_opens_its_bank_for_what_the_team_knows(place: Path, local_embedder: Embedder) -> None:
    payload = Payload(directory=str(place), session="s")
    options = HookPlace(tenant="acme", project="new", team="payments")
    assert open_for_hook(payload, options, make=False) is None
    plant(place, local_embedder, "team", "payments", title=RETRY[0], content=RETRY[1])
    bank = open_for_hook(payload, options, make=False)
    assert bank is not None
    assert [item.scope for item in bank.briefing(QUERY).items] == ["team"]
    bank.close()
    assert open_for_hook(payload, HookPlace(tenant="acme", project="other"), make=False) is None


@promise("scopes:async", "A bank in memory cascades and promotes like one on the disk.", source="issue 4 Scopes")
def test_a_bank_in_memory_cascades_and_promotes_like_one_on_the_disk(tmp_path: Path) -> None:
    url = f"memory://{tmp_path}"
    banks = [
        Bank.open(
            url,
            tenant="acme",
            project=name,
            team="payments",
            embedder=HashingEmbedder(256),
            settings=Settings(home=tmp_path),
            chance=random.Random(1),
        )
        for name in ("shop", "till", "new")
    ]
    for bank in banks[:2]:
        bank.record(title=RETRY[0], content=RETRY[1], outcome="success")
    made = banks[0].sharing.promote(banks[0].sharing.candidates()[0], reviewer="dora")
    assert [hit.id for hit in banks[2].search(QUERY).memories] == [made.memory.id]
    for bank in banks:
        bank.close()
