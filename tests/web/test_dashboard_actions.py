"""Actions of the dashboard at phone width, on a small bank whose team has something to promote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.memories.standing import speaking
from reasoningbank.settings import Settings
from reasoningbank.types.session import Step, Trajectory
from web.browsers import Window, browsing, window
from web.dashboard_banks import PROJECT, TEAM, TENANT
from web.servers import serving

TITLE, CONTENT = "Run migrations in two steps", "Add the column first, and use it in the next release."


def filled(home: Path) -> None:
    """Two projects of a team that have learned the same, a claim, and a session that nobody has judged."""
    for project in ("garden", PROJECT):
        with Bank.open(tenant=TENANT, project=project, team=TEAM, settings=Settings(home=home)) as bank:
            bank.record(title=TITLE, content=CONTENT, outcome="success")
            if project == PROJECT:
                with speaking("a client"):
                    bank.record(
                        title="Ask for the time zone",
                        content="Ask for the time zone before dates are compared.",
                        outcome="success",
                        source="mcp",
                    )
                bank.sessions.keep(Trajectory(task="Write the report", steps=(Step(thought="Done."),), session="s-1"))


@pytest.fixture(scope="module")
def phone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Window, str]]:
    """A narrow window that is signed in, and the address of its dashboard; nothing on its pages may have complained."""
    home = tmp_path_factory.mktemp("actions") / "home"
    home.mkdir(mode=0o700)
    with browsing() as browser:
        filled(home)
        (home / "settings.toml").write_text(f'team = "{TEAM}"\n')
        with serving(home) as served, window(browser, width=390, dark=True) as found:
            found.open(f"{served.base}/")
            found.page.fill("#token", served.token)
            found.page.click("button.primary")
            found.page.wait_for_url("**/dashboard")
            yield found, f"{served.base}/dashboard"
            assert found.complaints == []


@promise(
    "dashboard:promotions",
    "A person promotes a lesson that two projects have learned, in words of their own, and takes it back.",
    source="issue 16",
)
def test_a_lesson_is_promoted_in_other_words_and_taken_back(phone: tuple[Window, str]) -> None:
    seen, dashboard = phone
    page = seen.page
    seen.open(f"{dashboard}/review/promotions")
    assert page.input_value("#t1") == TITLE
    assert "2 sources" in page.inner_text("main details summary")
    page.fill("#t1", "Add a column before it is used")
    page.click("text=Promote")
    assert "Promoted to the team north: Add a column before it is used" in page.inner_text(".note")
    assert page.inner_text(".entry h3") == "Add a column before it is used"
    assert "Nothing is proposed" in page.inner_text("main")
    assert seen.overflow() == 0
    page.click("text=Take back")
    assert "No longer in the team north" in page.inner_text(".note")
    assert "archived" in page.inner_text(".entry .facts")
    assert page.query_selector("text=Take back") is None
    assert seen.overflow() == 0


@promise("dashboard:pages")
def test_claims_memories_and_sessions_are_judged_at_phone_width(phone: tuple[Window, str]) -> None:
    seen, dashboard = phone
    page = seen.page
    seen.open(f"{dashboard}/review")
    page.check("#c1")
    page.click("text=Approve the marked")
    assert "You stand by 1 memory" in page.inner_text(".note")
    assert seen.overflow() == 0
    seen.open(f"{dashboard}/memories")
    page.click("#results .entry h3 >> nth=0")
    page.wait_for_selector(".belief.wide b")
    before = page.inner_text(".belief.wide b")
    page.click("text=It helped")
    assert page.inner_text(".belief.wide b") > before
    assert seen.overflow() == 0
    page.click("button[value=archived]")
    assert "archived" in page.inner_text(".title .facts")
    seen.open(f"{dashboard}/sessions")
    page.click("text=Write the report")
    page.click("button[value=failure]")
    assert "Your verdict counts: failure" in page.inner_text(".note")
    assert seen.overflow() == 0
