"""Which team and org a project belongs to: from settings and arguments, remembered in its bank."""

from __future__ import annotations

from pathlib import Path

import pytest

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.context import Context
from reasoningbank.errors import EmptyProjectId, InvalidInput
from reasoningbank.settings import Settings, load_settings
from reasoningbank.storage import open_storage
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.scope import LEVELS, Membership, Scope, directory_name, session_in


@promise(
    "scopes:membership",
    "Team and org come from the argument, then the settings; the project's bank remembers them and they are readable "
    "for all projects of a tenant; without them nothing is remembered or forgotten, and a bank that cannot note them "
    "opens and says so.",
    source="issue 4 Scopes",
)
def test_team_and_org_come_from_the_argument_then_the_settings_and_are_remembered(home: Path) -> None:
    settings = load_settings(
        {
            "REASONINGBANK_HOME": str(home),
            "REASONINGBANK_TENANT": "acme",
            "REASONINGBANK_TEAM": "payments",
            "REASONINGBANK_ORG": "globex",
        }
    )
    with Bank.open(project="shop", embedder=HashingEmbedder(), settings=settings) as bank:
        assert bank.membership == Membership(team="payments", org="globex")
    with Bank.open(project="till", team="desk", org="", embedder=HashingEmbedder(), settings=settings) as bank:
        assert bank.membership == Membership(team="desk")
        assert bank.sharing.memberships() == {
            "shop": Membership(team="payments", org="globex"),
            "till": Membership(team="desk"),
        }
    home.joinpath("settings.toml").write_text('team = "web"\n', encoding="utf-8")
    assert load_settings({"REASONINGBANK_HOME": str(home)}).team == "web"


@promise("scopes:membership")
def test_without_a_team_nothing_is_remembered_and_nothing_forgotten(home: Path) -> None:
    settings = Settings(home=home)
    for team in ("payments", ""):
        with Bank.open(tenant="acme", project="shop", team=team, embedder=HashingEmbedder(), settings=settings) as bank:
            assert bank.sharing.memberships() == {"shop": Membership(team="payments")}
    with Bank.open(tenant="acme", project="shop", team="web", embedder=HashingEmbedder(), settings=settings) as bank:
        assert bank.sharing.memberships() == {"shop": Membership(team="web")}
    assert [path.name for path in (home / "banks").rglob("*.db")] == [f"{directory_name('shop')}.db"]


@promise("scopes:membership")
@pytest.mark.parametrize(("name", "error"), [(" ", EmptyProjectId), ("x" * 2_000, InvalidInput)])
def test_an_unusable_team_is_refused_before_anything_is_made(home: Path, name: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        Bank.open(tenant="acme", project="shop", team=name, embedder=HashingEmbedder(), settings=Settings(home=home))
    assert not home.exists()


@promise(
    "scopes:places",
    "A project, a team and an org of one name share no file, row or process memory in any storage layout; projects "
    "keep their places.",
    source="issue 4 Scopes; DESIGN D9",
)
@pytest.mark.parametrize("url", [None, "sqlite:///{home}/notes.db", "memory://{home}"])
def test_a_project_a_team_and_an_org_of_one_name_share_nothing(home: Path, url: str | None) -> None:
    home.mkdir()
    storage = open_storage(None if url is None else url.format(home=home), home=home)
    held = storage.open(Scope(tenant="globex", project="core"))  # or memory would end with the bank that is closed last
    embedder = HashingEmbedder()
    scopes = [Scope(tenant="acme", project="core", level=level) for level in reversed(LEVELS)]
    for scope in scopes:
        assert not storage.has(scope)
        bank = Bank(Context(storage, scope, embedder, settings=Settings(home=home)))
        bank.record(title=f"Only the {scope.level} knows", content="Its own canary.", outcome="success")
        bank.close()
    assert list(storage.scopes("acme")) == list(reversed(scopes))
    for scope in scopes:
        assert storage.has(scope)
        store = storage.open(scope)
        bank = Bank(Context(storage, scope, embedder, settings=Settings(home=home)))
        assert [memory.title for memory in bank.memories.list()] == [f"Only the {scope.level} knows"]
        assert bank.search("Only knows own canary", min_confidence=0.0).delivered[0].scope == scope.level
        bank.close()
        store.close()
    held.close()


@promise("scopes:places")
def test_a_team_never_takes_the_file_that_was_named_for_projects(home: Path) -> None:
    home.mkdir()
    storage = open_storage(f"sqlite:///{home}/notes.db", home=home)
    storage.open(Scope(tenant="acme", project="core", level="team")).close()
    assert not (home / "notes.db").exists()
    storage.open(Scope(tenant="acme", project="core")).close()
    assert (home / "notes.db").exists()


@promise("scopes:places")
def test_names_of_projects_never_reach_a_team(home: Path) -> None:
    team = Scope(tenant="acme", project="core", level="team")
    for name in ("team--core", f"team--{directory_name('core')}", f"{team.file_name}", "../core", "team/core"):
        project = Scope(tenant="acme", project=name)
        assert project.file_name != team.file_name
        assert "--" not in project.file_name


@promise(
    "scopes:sessions",
    "A team or org knows a session only by a digest: the same one each time, another one for another project, and "
    "nothing of its name.",
    source="issue 4 Scopes; DESIGN D5",
)
def test_a_session_is_known_in_a_team_by_a_name_that_tells_nothing() -> None:
    shop, till = (Scope(tenant="acme", project=name) for name in ("shop", "till"))
    team = Scope(tenant="acme", project="core", level="team")
    named = session_in(team, "deploy of alice", shop)
    assert named == session_in(team, "deploy of alice", shop) != session_in(team, "deploy of alice", till)
    assert "alice" not in named
    assert "shop" not in named
    assert session_in(till, "deploy of alice", shop) == "deploy of alice"
    assert session_in(team, "", shop) == ""


@promise("scopes:membership")
def test_a_bank_that_cannot_note_its_team_opens_and_says_so(home: Path) -> None:
    storage, scope = open_storage(f"memory://{home}", home=home), Scope(tenant="acme", project="shop")
    store, team, settings = storage.open(scope), Membership(team="payments"), Settings(home=home)
    with store.transaction():
        bank = Bank(Context(storage, scope, HashingEmbedder(), settings=settings, membership=team))
    assert bank.membership == team
    assert store.membership == Membership()
    assert "team" in " ".join(bank.admin.check().problems)
    again = Bank(Context(storage, scope, HashingEmbedder(), settings=settings, membership=team))
    assert store.membership == team
    assert again.admin.check().healthy
