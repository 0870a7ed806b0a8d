"""The tokens of a day: never exceeded, by whomever and however it ends."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.errors import BudgetExhausted, ModelUnavailable
from reasoningbank.llm.budget import TokenBudget
from reasoningbank.testing import FrozenClock

WORKER = """
import os, sys
from pathlib import Path
from reasoningbank.errors import BudgetExhausted
from reasoningbank.llm.budget import TokenBudget
budget = TokenBudget(Path(sys.argv[1]), int(sys.argv[2]))
calls = os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while True:
    try:
        booked = budget.reserve(10)
    except BudgetExhausted:
        break
    os.write(calls, b"call")
    budget.settle(booked, 7)
"""


@promise(
    "llm:budget",
    "A call that could exceed the day's tokens is refused before anything is sent; its upper bound is booked on disk "
    "before it and replaced by its real cost after it, across threads and processes.",
    source="issue Three ways (a token budget per day that is never exceeded)",
)
def test_a_call_that_could_exceed_the_day_is_refused_and_books_nothing(tmp_path: Path) -> None:
    budget = TokenBudget(tmp_path / "home" / "ledger", 100)
    booked = budget.reserve(90)
    with pytest.raises(BudgetExhausted) as caught:
        budget.reserve(11)
    assert "10 of today's 100" in caught.value.message
    assert budget.spent() == 90
    budget.settle(booked, 20)
    assert budget.spent() == 20
    assert (tmp_path / "home" / "ledger").stat().st_mode & 0o777 == 0o600
    with pytest.raises(BudgetExhausted) as caught:
        budget.reserve(101)
    assert "does not fit into any day" in caught.value.hint


@promise(
    "llm:budget-day",
    "Each UTC day has its own tokens; a clock that is set back gives none a second time.",
    source="issue Three ways (a token budget per day)",
)
def test_each_utc_day_has_its_own_tokens_and_a_clock_set_back_gives_none_twice(tmp_path: Path) -> None:
    clock = FrozenClock(datetime(2026, 1, 1, 23, 59, tzinfo=UTC))
    budget = TokenBudget(tmp_path / "ledger", 100, now=clock.now)
    before = budget.reserve(100)
    clock.advance(timedelta(minutes=2))
    assert budget.spent() == 0
    today = budget.reserve(60)
    budget.settle(before, 5)
    assert budget.spent() == 60
    budget.settle(today, 80)
    assert budget.spent() == 80
    clock.advance(timedelta(days=-1))
    with pytest.raises(BudgetExhausted):
        budget.reserve(30)


@promise("llm:budget")
def test_threads_share_the_tokens(tmp_path: Path) -> None:
    made: list[int] = []

    def work() -> None:
        budget = TokenBudget(tmp_path / "ledger", 1_000)
        try:
            while True:
                budget.reserve(10)
                made.append(1)
        except BudgetExhausted:
            return

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 100


@promise(
    "llm:budget-killed",
    "Processes killed with kill -9 between booking and cost never let the day exceed its tokens; what they booked "
    "stays spent.",
    source="issue Three ways (never exceeded)",
)
@pytest.mark.skipif(os.name == "nt", reason="kill -9 is a POSIX signal")
def test_killed_processes_never_exceed_the_tokens_and_what_they_booked_stays_spent(tmp_path: Path) -> None:
    ledger, calls, daily = tmp_path / "ledger", tmp_path / "calls", 4_000
    draw = random.Random(7)

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", WORKER, str(ledger), str(daily), str(calls)])

    budget = TokenBudget(ledger, daily)
    workers = [start() for _ in range(3)]
    while not calls.exists():
        time.sleep(0.01)
    for _ in range(6):
        time.sleep(draw.uniform(0.02, 0.1))
        victim = workers.pop(0)
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        workers.append(start())
        made = calls.stat().st_size // len(b"call")
        assert 7 * made <= budget.spent() <= daily
    for worker in workers:
        assert worker.wait(60) == 0
    made = calls.stat().st_size // len(b"call")
    assert 7 * made <= budget.spent() <= daily
    assert budget.spent() > daily - 10
    with pytest.raises(BudgetExhausted):
        budget.reserve(10)


@promise("llm:budget")
@pytest.mark.parametrize("content", ["{", "[]", '{"day": "x", "spent": 1}', '{"day": "2026-01-01"}', "\x00" * 100])
def test_a_damaged_ledger_stops_all_calls(tmp_path: Path, content: str) -> None:
    (tmp_path / "ledger").write_text(content, encoding="utf-8")
    with pytest.raises(ModelUnavailable) as caught:
        TokenBudget(tmp_path / "ledger", 100).reserve(1)
    assert "damaged" in caught.value.message
    (tmp_path / "directory").mkdir()
    with pytest.raises(ModelUnavailable):
        TokenBudget(tmp_path / "directory", 100).reserve(1)


@promise("llm:budget")
@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 60), st.booleans()), max_size=12))
def test_what_is_spent_is_never_more_than_the_day_has(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[int, int, bool]]
) -> None:
    budget = TokenBudget(tmp_path_factory.mktemp("budget") / "ledger", 100)
    spent = 0
    for most, cost, answered in calls:
        try:
            booked = budget.reserve(most)
        except BudgetExhausted:
            assert spent + most > 100
            continue
        spent += min(cost, most) if answered else most
        if answered:
            budget.settle(booked, min(cost, most))
        assert budget.spent() == spent <= 100
