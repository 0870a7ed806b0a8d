"""The scheduler: it runs at its interval, survives failures, and stops only when its run has ended."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from datetime import timedelta

import pytest

from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import InvalidInput
from reasoningbank.jobs.schedule import INTERVAL, ConsolidationScheduler
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.types.consolidation import ConsolidationOptions
from reasoningbank.types.ports import Prompt
from recorded_memories import said

SOON = timedelta(milliseconds=20)
OPTIONS = ConsolidationOptions(similarity_threshold=0.7, force_all=True)
PAIR = ("Close the file before it is moved away", "Close the file before it is moved")


def eventually(true: Callable[[], bool]) -> None:
    """Waits until it is true."""
    until = time.monotonic() + 20
    while not true():
        assert time.monotonic() < until
        time.sleep(0.005)


def filled(banks: Iterable[Bank]) -> None:
    """Two memories that are alike in each."""
    for bank in banks:
        for text in PAIR:
            said(bank, text)


def merged(prompt: Prompt) -> str:
    """An answer that both sources make."""
    claims = [{"text": "Close the file before it is moved.", "sources": [1, 2]}]
    return json.dumps({"title": "A lesson", "description": "", "claims": claims, "outcome": "success"})


@promise("contextd:58", "Consolidation as specified.", source="spec/contextd row 58")
def test_it_starts_once_stops_twice_and_starts_again(open_bank_in_session: OpenBank) -> None:
    scheduler = ConsolidationScheduler(open_bank_in_session())
    assert timedelta(hours=24) == INTERVAL
    assert not scheduler.running
    scheduler.stop()
    scheduler.start()
    with pytest.raises(InvalidInput):
        scheduler.start()
    scheduler.stop()
    scheduler.stop()
    assert not scheduler.running
    scheduler.start()
    scheduler.stop()
    with pytest.raises(InvalidInput):
        ConsolidationScheduler(open_bank_in_session(), interval=timedelta(0))


@promise("contextd:58")
@promise(
    "consolidating:scheduler-all-projects",
    "The scheduler consolidates all projects of the tenant by default.",
    source="seed 004",
)
def test_it_consolidates_all_projects_at_its_interval(open_bank_in_session: OpenBank) -> None:
    first, second = open_bank_in_session("first"), open_bank_in_session("second")
    filled([first, second])
    scheduler = ConsolidationScheduler(first, interval=SOON, options=OPTIONS)
    scheduler.start()
    eventually(lambda: scheduler.runs > 2)
    scheduler.stop()
    for bank in (first, second):
        assert bank.memories.count(states=("archived",)) == 2
    ran = scheduler.runs
    time.sleep(0.1)
    assert scheduler.runs == ran


@promise("contextd:58")
def test_no_projects_means_no_run_and_a_failure_is_survived(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session()
    filled([bank])
    idle = ConsolidationScheduler(bank, interval=SOON, projects=[], options=OPTIONS)
    idle.start()
    time.sleep(0.2)
    idle.stop()
    assert (idle.runs, bank.memories.count(states=("archived",))) == (0, 0)
    failing = ConsolidationScheduler(bank, interval=SOON, projects=["nowhere"], options=OPTIONS)
    failing.start()
    eventually(lambda: failing.runs > 2)
    failing.stop()
    assert failing.last_error is not None
    assert failing.last_result is None


@promise("contextd:58")
@promise(
    "consolidating:scheduler-waits",
    "Stopping the scheduler waits for the run under way.",
    source="spec/contextd row 58",
)
def test_stop_waits_for_the_run_under_way(open_bank_in_session: OpenBank) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def slowly(prompt: Prompt) -> str:
        inside.set()
        assert go_on.wait(20)
        return merged(prompt)

    bank = open_bank_in_session(model=ScriptedModel(slowly))
    filled([bank])
    scheduler = ConsolidationScheduler(bank, interval=SOON, options=OPTIONS)
    scheduler.start()
    assert inside.wait(20)
    threading.Timer(0.1, go_on.set).start()
    scheduler.stop()
    assert go_on.is_set()
    assert scheduler.last_result is not None
    assert len(scheduler.last_result.created_memories) == 1


@promise("contextd:59", "Consolidation as specified.", source="spec/contextd row 59")
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_scheduled_run_asks_the_model_and_a_dry_one_does_not(open_bank_in_session: OpenBank, dry_run: bool) -> None:
    model = ScriptedModel(merged)
    bank = open_bank_in_session(model=model)
    filled([bank])
    options = ConsolidationOptions(similarity_threshold=0.7, dry_run=dry_run)
    scheduler = ConsolidationScheduler(bank, interval=SOON, options=options)
    scheduler.start()
    eventually(lambda: scheduler.runs > 0)
    scheduler.stop()
    assert len(model.prompts) == (0 if dry_run else 1)
