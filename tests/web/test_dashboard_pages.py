"""The dashboard in a real browser, on a bank of ten thousand memories: every page, every action, texts that attack."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from promises import promise
from web.browsers import SCREENSHOTS, Window, browsing, window
from web.dashboard_banks import HOSTILE, TEAM, Filled, fill
from web.servers import Served, serving

MEMORIES = 10_000
_MARKS = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Marks of direction, which are taken out of most texts before anybody reads them."""
_ALL_TEXT = (
    "[document.body.textContent, ...[...document.querySelectorAll('input, textarea')].map(e => e.value)].join(' ')"
)
QUESTION = "Which frost lesson decides when the autumn fern sale may start?"


class Looked(NamedTuple):
    """A browser, the server whose pages it shows, and what the bank holds."""

    browser: Any
    served: Served
    bank: Filled

    @property
    def pages(self) -> dict[str, str]:
        """Every page by its name."""
        bank = self.bank
        return {
            "overview": "",
            "memories": "/memories",
            "search": "/memories?q=the+payment+provider+times+out",
            "memory": f"/memories/{bank.rated}",
            "edit": f"/memories/{bank.edited}/edit",
            "versions": f"/memories/{bank.edited}/versions",
            "sessions": "/sessions",
            "session": f"/sessions/{bank.session}",
            "refusals": "/refusals",
            "review": "/review",
            "quarantine": "/review/quarantine",
            "promotions": "/review/promotions",
            "merges": "/review/merges",
            "graph": f"/graph?q={quote(QUESTION)}",
            "jobs": "/jobs",
            "settings": "/settings",
            "hostile": f"/memories/{quote(hostile_id(0), safe='')}",
            "missing": "/memories/nothing",
        }

    def enter(self, seen: Window) -> None:
        """Sign in by the form."""
        seen.open(f"{self.served.base}/")
        seen.page.fill("#token", self.served.token)
        seen.page.click("button.primary")
        seen.page.wait_for_url("**/dashboard")

    def open(self, seen: Window, path: str) -> None:
        """Show a page of the dashboard."""
        seen.open(f"{self.served.base}/dashboard{path}")


def hostile_id(number: int) -> str:
    """The id of a memory with a hostile text, id and session."""
    return f"hostile-{number}-<'\"&>"


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Looked]:
    """One browser, one server and one bank for all tests of this file."""
    with browsing() as browser:
        home = tmp_path_factory.mktemp("pages") / "home"
        home.mkdir(mode=0o700)
        bank = fill(home, MEMORIES)
        (home / "settings.toml").write_text(f'team = "{TEAM}"\n')
        with serving(home) as served:
            yield Looked(browser, served, bank)


@pytest.fixture
def seen(looked: Looked) -> Iterator[Window]:
    """A window that is signed in; nothing on its pages may have complained."""
    with window(looked.browser) as found:
        looked.enter(found)
        yield found
        assert found.complaints == []


@promise(
    "dashboard:pages",
    "Every page of the dashboard works at desktop and phone width, in light and dark, and axe-core finds no serious "
    "violation on it.",
    source="issue 16",
)
@pytest.mark.parametrize(("name", "width", "dark"), [("desktop", 1280, False), ("phone", 390, True)])
def test_every_page_is_accessible_fits_its_window_and_keeps_the_policy(
    looked: Looked, name: str, width: int, dark: bool
) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    wrong: list[str] = []
    with window(looked.browser, width=width, dark=dark) as seen:
        seen.open(f"{looked.served.base}/")
        wrong += [f"login: {each}" for each in seen.violations()]
        looked.enter(seen)
        for page, path in looked.pages.items():
            looked.open(seen, path)
            seen.page.screenshot(path=SCREENSHOTS / f"{page}-{name}.png")
            # In the other light the same page has other colours.
            wrong += [f"{page}: {each}" for each in seen.violations()]
            seen.page.emulate_media(color_scheme="light" if dark else "dark")
            wrong += [f"{page}, other light: {each}" for each in seen.violations()]
            seen.page.emulate_media(color_scheme="dark" if dark else "light")
            wrong += [f"{page}: {seen.overflow()} pixels too wide"] if seen.overflow() > 0 else []
            wrong += [f"{page}: {each}" for each in seen.complaints]
            seen.complaints.clear()
    assert wrong == []


@promise(
    "dashboard:hostile",
    "Stored text with HTML, scripts, marks of direction or huge words is shown as it is, and neither runs nor breaks a "
    "page.",
    source="issue 16",
)
def test_hostile_texts_are_shown_as_text(looked: Looked, seen: Window) -> None:
    looked.open(seen, "/memories?order=shown")
    for number, title in enumerate(HOSTILE):
        path = f"/memories/{quote(hostile_id(number), safe='')}"
        for page in (path, f"{path}/edit", f"{path}/versions", f"/memories?tag={quote(title[:60], safe='')}"):
            looked.open(seen, page)
            assert seen.overflow() <= 0, page
            assert _MARKS.sub("", title)[:40] in _MARKS.sub("", seen.page.evaluate(_ALL_TEXT)), page
        looked.open(seen, f"/memories?q={quote(title, safe='')}")
        looked.open(seen, f"/graph?q={quote(title, safe='')}&tag={quote(title[:60], safe='')}")
    assert not seen.page.evaluate("Boolean(window.attacked)")


@promise(
    "dashboard:memories",
    "A person searches as an agent would, without that counting as a delivery, filters and orders memories, rates, "
    "edits, archives and restores one, and brings an earlier version back.",
    source="issue 16",
)
def test_a_memory_is_found_rated_edited_compared_archived_and_restored(looked: Looked, seen: Window) -> None:
    page, bank = seen.page, looked.bank
    looked.open(seen, "/memories")
    assert "10," in page.inner_text("#results > p")
    with page.expect_response(lambda answer: "q=payment" in answer.url):
        page.fill("#q", "payment provider times out")
    page.wait_for_selector("text=This look counts as no delivery")
    assert page.inner_text("#results .entry h3 >> nth=0") == "Pause and retry when the payment provider times out"
    looked.open(seen, "/memories?outcome=failure&level=proven&order=confidence")
    assert {each.inner_text() for each in page.query_selector_all(".entry .badge.bad")} == {"anti-pattern"}
    shown = [float(each.inner_text()) for each in page.query_selector_all(".entry .belief b")]
    assert shown == sorted(shown, reverse=True)
    assert min(shown) >= 0.7
    page.click("text=Next")
    assert "Page 2 of" in page.inner_text(".pager")

    looked.open(seen, f"/memories/{bank.rated}")
    assert int(page.get_attribute(".chart", "data-drawn")) >= 5
    before, times = page.inner_text(".belief.wide b"), page.inner_text("dt:has-text('Shown') + dd")
    page.click("text=It helped")
    assert "confidence" in page.inner_text(".note").lower()
    assert page.inner_text(".belief.wide b") > before
    assert page.inner_text("dt:has-text('Shown') + dd") == times
    assert "by human" in page.inner_text(".events li >> nth=0")
    assert page.query_selector("text=session-23") is not None, "who was shown it"

    looked.open(seen, f"/memories/{bank.edited}/edit")
    page.fill("#content", "Change the template, generate, and look at the difference.")
    page.click("button.primary")
    assert "version 4" in page.inner_text(".note")
    page.click("text=Compare versions")
    assert "look at the difference" in page.inner_text("ins >> nth=-1") or page.query_selector("ins") is not None
    page.select_option("#before", "1")
    page.wait_for_url("**before=1**")
    page.click("text=Bring version 1 back")
    assert "version 5" in page.inner_text(".note")
    assert page.query_selector("text=Change the template and generate again.") is not None
    page.click("button[value=archived]")
    assert page.inner_text(".title .facts").count("archived") == 1
    page.click("button[value=active]")
    assert page.inner_text(".title .facts").count("active") == 1


@promise(
    "dashboard:review",
    "A person approves and rejects claims, releases what is in quarantine, and undoes a merge beside its sources.",
    source="issue 16",
)
def test_claims_are_approved_and_rejected_quarantines_released_and_merges_undone(looked: Looked, seen: Window) -> None:
    page = seen.page
    looked.open(seen, "/review")
    first, second = (page.query_selector_all(".choice h2")[number].inner_text() for number in (0, 1))
    assert second.startswith("\"><svg onload=alert('svg')>")
    page.keyboard.press("n")
    page.keyboard.press("x")
    assert page.is_checked("#c1")
    page.click("text=Approve the marked")
    assert "You stand by 1 memory" in page.inner_text(".note")
    assert page.query_selector_all(".choice h2")[0].inner_text() == second != first
    page.check("#c1")
    page.fill("#reason", "It is made up.")
    page.click("text=Reject the marked")
    assert "in quarantine" in page.inner_text(".note")
    looked.open(seen, "/review/quarantine")
    card = page.locator(".card", has_text="It is made up.")
    assert card.count() == 1
    card.locator("text=Release all").click()
    assert "1 memory is released" in page.inner_text(".note")
    looked.open(seen, "/review/merges")
    assert page.query_selector("ins, del") is not None
    merged = page.get_attribute("main a[href*='/memories/']", "href")
    assert merged is not None
    looked.open(seen, merged[merged.index("/memories/") :].partition("?")[0])
    came_from = page.locator("section[aria-labelledby=origin]")
    assert came_from.inner_text().count("was merged into it") == 2
    came_from.locator("a").first.click()
    assert page.locator("section[aria-labelledby=origin]").count() == 1
    looked.open(seen, "/review/merges")
    page.click("text=Undo")
    assert "2 memories are as before" in page.inner_text(".note")
    assert "Nothing was merged" in page.inner_text("main")
    looked.open(seen, "/review/promotions")
    assert "Nothing is proposed" in page.inner_text("main")


@promise(
    "dashboard:sessions",
    "A session shows its steps, the reasons of its judgements, what it taught and what was refused; a person says how "
    "it ended.",
    source="issue 16",
)
def test_a_session_shows_steps_reasons_and_refusals_and_takes_a_verdict(looked: Looked, seen: Window) -> None:
    page = seen.page
    looked.open(seen, "/sessions?state=waiting")
    page.click("text=Repair the checkout sums, part 12")
    assert len(page.query_selector_all(".steps > li")) == 5
    assert "I looked at the totals myself." in page.inner_text("main")
    assert "retold" in page.inner_text("main")
    page.fill("#note", "The totals are wrong in March.")
    page.click("button[value=failure]")
    assert "Your verdict counts: failure" in page.inner_text(".note")
    assert "The totals are wrong in March." in page.inner_text("main")
    assert page.inner_text(".title .badge >> nth=0") == "failure"


@promise(
    "dashboard:graph",
    "The walk of a question is drawn, played back hop by hop, and told in the sentences of its edges.",
    source="issue 16",
)
def test_a_walk_is_drawn_played_back_and_told(looked: Looked, seen: Window) -> None:
    page = seen.page
    looked.open(seen, "/graph")
    assert "63 nodes, 80 edges" in page.inner_text("main")
    page.fill("#q", QUESTION)
    page.click("button.primary")
    page.wait_for_selector("#graph[data-drawn]")
    assert int(page.get_attribute("#graph", "data-drawn")) >= 10
    sentence = page.inner_text(".path .sentence >> nth=0")
    page.hover(".path >> nth=0")
    assert len(sentence) > 20
    page.click("#play")
    assert page.get_attribute("#play", "aria-pressed") == "true"
    told = page.inner_text("#caption")
    page.wait_for_function("told => document.getElementById('caption').textContent !== told", arg=told)
    page.click("#play")
    assert page.get_attribute("#play", "aria-pressed") == "false"
    page.select_option("#direction", "along")
    page.select_option("#depth", "1")
    page.click("button.primary")
    assert all(len(path.query_selector_all(".hop")) <= 1 for path in page.query_selector_all(".path"))


@promise(
    "dashboard:keys",
    "The dashboard is used with the keyboard alone: keys lead to every page, to the search, and through a list.",
    source="issue 16",
)
def test_keys_lead_to_pages_to_the_search_and_through_a_list(looked: Looked, seen: Window) -> None:
    page = seen.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    for key, section in (("m", "memories"), ("s", "sessions"), ("j", "jobs"), ("t", "settings"), ("r", "review")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"**/dashboard/{section}")
    looked.open(seen, "/memories")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.keyboard.press("n")
    assert page.evaluate("[...document.querySelectorAll('[data-entry]')].findIndex(e => e.matches('.here'))") == 1
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/dashboard/memories/.+"))
    page.keyboard.press("?")
    assert page.is_visible("dialog#keys")
