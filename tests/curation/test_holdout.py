"""Which sessions are held out, and that nothing is shown to them, counted for them or credited by them."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_processes import clean_environment
from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import ConfigurationError
from reasoningbank.integrations.hook_payload import HookPlace
from reasoningbank.integrations.hooks import run
from reasoningbank.memories.exposure import draw
from reasoningbank.settings import Settings, load_settings
from reasoningbank.testing import FrozenClock
from reasoningbank.types.scope import Scope

SHOP = Scope(tenant="acme", project="shop")


def held(share: float, scope: Scope = SHOP) -> str:
    """A session that is held out at this share."""
    return next(name for name in (f"s{number}" for number in range(1_000)) if draw(scope, name) < share)


def given_memory(share: float, scope: Scope = SHOP) -> str:
    """A session that is not."""
    return next(name for name in (f"s{number}" for number in range(1_000)) if draw(scope, name) >= share)


def lesson(bank: Bank, title: str = "Retry a network call", outcome: str = "success") -> str:
    """A memory that every briefing shows."""
    return bank.record(title=title, content=f"{title}: wait, then try it again.", outcome=outcome).id


@promise(
    "uplift:draw",
    "Which sessions are held out follows from tenant, project and session name alone: the same in every process, in "
    "the share that is set, and independent between projects.",
    source="issue 4 (hold-out)",
)
def test_a_session_is_drawn_the_same_in_every_process(tmp_path: Path) -> None:
    code = (
        "from reasoningbank.types.scope import Scope; from reasoningbank.memories.exposure import draw; "
        "print(draw(Scope(tenant='acme', project='shop'), 'session-ä'))"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=clean_environment(tmp_path) | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    ]
    assert said == [str(draw(SHOP, "session-ä"))] * 2


@promise("uplift:draw")
@pytest.mark.parametrize("share", [0.05, 0.1, 0.5])
def test_the_share_is_the_share_of_the_sessions(share: float) -> None:
    for project in ("shop", "other"):
        drawn = [draw(Scope(tenant="acme", project=project), f"session-{number}") < share for number in range(4_000)]
        assert abs(sum(drawn) / len(drawn) - share) < 4 * (share * (1 - share) / len(drawn)) ** 0.5
    other = Scope(tenant="acme", project="other")
    assert all(draw(SHOP, f"session-{number}") != draw(other, f"session-{number}") for number in range(99))


@promise("uplift:draw")
@given(st.text(), st.text(min_size=1), st.text(min_size=1))
def test_every_name_is_drawn_into_the_unit_interval(session: str, tenant: str, project: str) -> None:
    if tenant.strip() and project.strip():
        scope = Scope(tenant=tenant, project=project)
        assert 0.0 <= draw(scope, session) < 1.0
        assert draw(scope, session) == draw(scope, session)


@promise(
    "uplift:setting",
    "REASONINGBANK_HOLDOUT is a share of at least 0 and below 1, 0 by default; anything else is a configuration error "
    "with a hint.",
    source="issue 4 (REASONINGBANK_HOLDOUT)",
)
@pytest.mark.parametrize("value", ["-0.1", "1", "1.5", "nan", "inf", "often", "-inf"])
def test_a_share_that_is_none_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_settings({"REASONINGBANK_HOME": str(tmp_path), "REASONINGBANK_HOLDOUT": value})
    assert caught.value.hint


@promise("uplift:setting")
def test_there_is_no_hold_out_unless_one_is_asked_for(tmp_path: Path) -> None:
    assert load_settings({"REASONINGBANK_HOME": str(tmp_path)}).holdout == 0.0
    assert load_settings({"REASONINGBANK_HOME": str(tmp_path), "REASONINGBANK_HOLDOUT": "0.1"}).holdout == 0.1
    with pytest.raises(ConfigurationError):
        Settings(home=tmp_path, holdout=1.0)


@promise(
    "uplift:held-out",
    "A held-out session is shown nothing by briefings, gives no usage signal and credits nothing that was withheld; "
    "every other session is shown what it would be without a hold-out.",
    source="issue 4 (hold-out), DESIGN D5",
)
def test_a_held_out_session_is_shown_nothing_and_counts_for_nothing(open_bank: OpenBank) -> None:
    bank = open_bank(holdout=0.5)
    known = lesson(bank)
    before = bank.get(known)
    session = held(0.5)
    for _ in range(2):
        brief = bank.briefing(session=session)
        assert (brief.text, brief.tokens, brief.items) == ("", 0, ())
        assert [(one.id, one.reason) for one in brief.left_out] == [(known, "held out")]
    assert bank.briefing("a network call", session=session).items == ()
    assert bank.sessions.outcome(session, True).credited == ()
    assert bank.get(known) == before
    assert bank._context.store().evidence.signals(known) == []
    exposure = bank._context.store().deliveries.exposure(session)
    assert exposure is not None
    assert (exposure.eligible, exposure.held_out, exposure.share, exposure.tokens) == (True, True, 0.5, 0)
    assert [(one.memory_id, one.how) for one in exposure.shown] == [(known, "withheld")]
    assert (exposure.succeeded, exposure.said_by) == (True, "human")


@promise("uplift:held-out")
def test_the_others_are_shown_what_they_would_be_without_a_hold_out(open_bank: OpenBank) -> None:
    bank = open_bank(holdout=0.5)
    known = lesson(bank)
    session = given_memory(0.5)
    brief = bank.briefing(session=session)
    assert [item.hit.id for item in brief.items] == [known]
    assert brief.text == open_bank(holdout=0.0).briefing(session="another").text
    exposure = bank._context.store().deliveries.exposure(session)
    assert exposure is not None
    assert (exposure.eligible, exposure.held_out, exposure.tokens) == (True, False, brief.tokens)
    assert bank.sessions.outcome(session, True).credited == ()
    bank.briefing("Retry a network call", session=session)
    assert [one.memory_id for one in bank.sessions.outcome(session, True).credited] == [known]


@promise(
    "uplift:eligible",
    "A session is drawn the first time that something would be shown to it, and keeps what it was drawn to be "
    "whatever the share is later.",
    source="issue 4 (eligible sessions)",
)
def test_a_session_is_eligible_only_when_something_would_be_shown(open_bank: OpenBank) -> None:
    bank = open_bank(holdout=0.5)
    assert bank.briefing(session="early").items == ()
    assert bank._context.store().deliveries.exposure("early") is None
    assert bank.sessions.outcome("early", True).credited == ()
    assert bank.report().sessions == 0


@promise("uplift:eligible")
def test_a_session_keeps_what_it_was_drawn_to_be(open_bank: OpenBank) -> None:
    lesson(open_bank(holdout=0.0))
    session = held(0.5)
    assert open_bank(holdout=0.5).briefing(session=session).items == ()
    assert open_bank(holdout=0.0).briefing(session=session).items == ()
    later = next(name for name in (f"t{number}" for number in range(99)) if draw(SHOP, name) < 0.5)
    assert open_bank(holdout=0.0).briefing(session=later).items
    assert open_bank(holdout=0.5).briefing(session=later).items


@promise(
    "uplift:explicit",
    "An explicit search is answered in a held-out session too; the session stays in its arm and the report counts it.",
    source="docs/decisions/0014",
)
def test_an_explicit_question_is_answered_and_noted(open_bank: OpenBank) -> None:
    bank = open_bank(holdout=0.5)
    known = lesson(bank)
    session = held(0.5)
    bank.briefing(session=session)
    assert [hit.id for hit in bank.search("retry a network call", session=session).memories] == [known]
    exposure = bank._context.store().deliveries.exposure(session)
    assert exposure is not None
    assert exposure.held_out
    assert [one.how for one in exposure.shown] == ["asked"]
    bank.sessions.outcome(session, False)
    report = bank.report()
    assert (report.without_memory.failed, report.crossed) == (1, 1)
    assert "searched" in report.message


@promise(
    "uplift:hooks",
    "In a held-out session the hooks at the start, with a prompt and after a failed tool say nothing, and what they "
    "withheld is noted.",
    source="issue 4 (hooks, hold-out)",
)
def test_hooks_say_nothing_in_a_held_out_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scope = Scope(tenant="acme", project="shop")
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REASONINGBANK_TENANT", scope.tenant)
    monkeypatch.setenv("REASONINGBANK_PROJECT", scope.project)
    monkeypatch.setenv("REASONINGBANK_HOLDOUT", "0.5")
    with Bank.open(clock=FrozenClock()) as bank:
        bank.record(title="Retry a network call", content="Wait, then retry the network call.", outcome="success")
        bank.record(title="Network call fails", content="Never retry a network call at once.", outcome="failure")
    events: dict[str, dict[str, object]] = {
        "SessionStart": {},
        "UserPromptSubmit": {"prompt": "The network call fails now and then: retry it?"},
        "PostToolUseFailure": {
            "tool_name": "Bash",
            "tool_input": {"command": "curl"},
            "error": "the network call fails",
        },
    }
    for session, shown in ((held(0.5), False), (given_memory(0.5), True)):
        for event, payload in events.items():
            said = io.StringIO()
            run(event, io.BytesIO(json.dumps({"session_id": session} | payload).encode()), said, HookPlace())
            assert not (event == "SessionStart" and shown) or "additionalContext" in said.getvalue()
            assert shown or "network call" not in said.getvalue()
    with Bank.open() as bank:
        exposures = {one.session: one for one in bank._context.store().deliveries.exposures()}
    assert {session: one.held_out for session, one in exposures.items()} == {held(0.5): True, given_memory(0.5): False}
    assert {one.how for one in exposures[held(0.5)].shown} == {"withheld"}
