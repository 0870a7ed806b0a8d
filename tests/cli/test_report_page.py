"""``rbank report --html``: one page that says what memory is worth, with much data and with little."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from promises import promise
from reasoningbank import Bank
from reasoningbank.cli.app import rbank
from reasoningbank.settings import Settings

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)"> \u202egnihtyna & "more" {{ 7*7 }}'


def report(*arguments: str) -> Result:
    """Runs the command on tenant acme's project shop."""
    return CliRunner().invoke(rbank, ["--tenant", "acme", "--project", "shop", "report", *arguments])


class Elements(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.found.append((tag, dict(attrs)))


def fill(home_of_commands: Path, ratings: int) -> None:
    """Record two memories, one with hostile text, and rate them."""
    with Bank.open(tenant="acme", project="shop", settings=Settings(home=home_of_commands, holdout=0.0)) as bank:
        good = bank.record(title=f"Good {HOSTILE}", content="Retry.", outcome="success", vouched=True)
        poor = bank.record(title="Poor advice", content="Delete it all.", outcome="success", vouched=True)
        for number in range(ratings):
            bank.feedback(good.id, helpful=number % 15 != 7, session=f"good-{number}")
            bank.feedback(poor.id, helpful=number % 5 == 0, session=f"poor-{number}")


@promise(
    "report:page",
    "`rbank report --html FILE` writes one page that needs no network and no script: uplift, calibration, the memories "
    "that help most and least, tokens, SC-001 to SC-006; every stored text is escaped.",
    source="issue 16, Reports",
)
def test_the_page_stands_alone_and_shows_hostile_texts_as_texts(home_of_commands: Path) -> None:
    fill(home_of_commands, 30)
    done = report("--html", "team.html", "--json")
    assert done.exit_code == 0, done.output
    written = json.loads(done.stdout)
    page = Path("team.html").read_text(encoding="utf-8")
    assert written["bytes"] == len(page.encode("utf-8"))
    elements = Elements(page).found
    names = {name for name, _ in elements}
    assert not names & {"script", "link", "img", "iframe", "object", "form"}
    given = [(key, value) for _, attributes in elements for key, value in attributes.items()]
    assert not [key for key, _ in given if key in {"src", "href"} or key.startswith("on")]
    assert "url(" not in page
    assert "@import" not in page
    policies = [each["content"] for name, each in elements if name == "meta" and "http-equiv" in each]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 1
    assert "{{ 7*7 }}" in page
    helps, least = page.rsplit("What helps least", 1)
    assert ("Poor advice" in helps, "Poor advice" in least) == (False, True)
    assert "prefers-color-scheme: dark" in page
    assert page.count('class="picture"') == 1
    for number in range(1, 7):
        assert f"SC-00{number}" in page


@promise("report:page")
@pytest.mark.parametrize("ratings", [0, 5])
def test_below_twenty_cases_the_page_says_that_there_is_not_enough_data(home_of_commands: Path, ratings: int) -> None:
    if ratings:
        fill(home_of_commands, ratings)
    done = report("--html", "team.html")
    assert done.stdout.startswith("Wrote ")
    page = Path("team.html").read_text(encoding="utf-8")
    assert re.search(r"not enough data yet: 0 of 20 sessions with memory, 0 of 20 sessions without memory", page)
    assert f"not enough data yet: {2 * ratings} of 20 ratings" in page
    assert 'class="picture"' not in page
    assert home_of_commands.exists() == bool(ratings)


@promise("report:page")
def test_an_unusable_place_is_refused_and_the_plain_report_stays(home_of_commands: Path) -> None:
    assert home_of_commands
    assert report("--html", "nowhere/team.html").exit_code == 5
    assert "met a memory" in report().stdout
