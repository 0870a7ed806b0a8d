"""What an agent is shown: a briefing at the start, what fits a prompt, and a warning after a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reasoningbank.surfaces.hooks.answering import Place
from reasoningbank.surfaces.hooks.payloads import Event, Payload

if TYPE_CHECKING:
    from reasoningbank.bank import Bank

START_BUDGET = 500
PROMPT_BUDGET = 600
FAILURE_BUDGET = 300
"""Tokens of what is shown at the start of a session, with a prompt, and after a tool's failure."""
MOST_OF_A_PROMPT = 4_000
"""Characters of a prompt or an error that are searched with."""
MOST_OF_A_SESSION = 500
"""Characters of a client's name for a session."""
_MACHINES = frozenset({"system", "loop_wakeup", "schedule_wakeup", "poll_event"})


def context_for(event: Event, payload: Payload, place: Place) -> str:
    """The text for the agent's context; empty when nothing is relevant or there is no bank yet.

    A server that runs already is asked first; without one the bank is opened here.

    Raises:
        BankError: When the bank cannot be used.
    """
    task = _task(event, payload)
    if task == "":
        return ""
    from reasoningbank.settings import load_settings
    from reasoningbank.surfaces.hooks.asking import Request, ask, fingerprint
    from reasoningbank.surfaces.hooks.scoping import membership_of, scope_of

    settings = load_settings()
    scope, session = scope_of(payload, place, settings), payload.session[:MOST_OF_A_SESSION]
    request = Request(event, task, session, scope, fingerprint(settings, place.url, membership_of(place, settings)))
    text = ask(settings.home, request)
    if text is not None:
        return text
    from reasoningbank.surfaces.hooks.opening import open_bank

    bank = open_bank(payload, place, make=False)
    if bank is None:
        return ""
    with bank:
        return shown(bank, event, task, session)


def shown(bank: Bank, event: Event, task: str | None, session: str) -> str:
    """The text for the agent's context; with a prompt and after a failure only what the session has not seen yet.

    Raises:
        BankError: When the bank cannot be used.
    """
    if task is None:
        return bank.briefing(budget=START_BUDGET, session=session).text
    if event == "PostToolUseFailure":
        return bank.briefing(task, FAILURE_BUDGET, session, outcome="failure", limit=1, repeat=False).text
    return bank.briefing(task, PROMPT_BUDGET, session, limit=5, repeat=False).text


def _task(event: Event, payload: Payload) -> str | None:
    """What to look for: None for whatever is proven, empty for nothing at all."""
    if event == "SessionStart":
        return None
    if event == "UserPromptSubmit":
        command = payload.prompt.lstrip().startswith("/")
        return "" if command or payload.source in _MACHINES else payload.prompt[:MOST_OF_A_PROMPT].strip()
    if payload.interrupted or not payload.error.strip():
        return ""
    return f"{payload.tool} {payload.action}\n{payload.error}"[:MOST_OF_A_PROMPT].strip()
