"""The success criteria: each counted from what the bank has logged, none without enough data."""

from __future__ import annotations

import json
import random
import re
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from curation.test_holdout import lesson
from curation.test_report import BROKEN, PASSED, kept, sessions
from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.cli.app import rbank
from reasoningbank.curation.metrics import Criteria, calibrated, weight_spread
from reasoningbank.mcp.banks import Banks
from reasoningbank.mcp.protocol_sessions import SCOPES
from reasoningbank.settings import Settings
from reasoningbank.testing import FrozenClock
from reasoningbank.types.access import ACCESSES
from reasoningbank.types.metrics import NOT_ENOUGH
from reasoningbank.types.records import WeightChange
from reasoningbank.types.signal import ProjectWeights
from reasoningbank.web.app import build_web
from reasoningbank.web.requests import TENANT

GRAFANA = Path(__file__).parents[2] / "docs" / "how-to" / "grafana-dashboard.json"
IDS = [f"SC-00{number}" for number in range(1, 7)]


@promise(
    "metrics:not-enough",
    "A success criterion with fewer than 20 cases (50 ratings for the weights) has no value and says how many are "
    "missing.",
    source="seed 000, success criteria; issue Metrics",
)
def test_below_twenty_cases_nothing_is_claimed(bank: Bank) -> None:
    memory = bank.record(title="Retry", content="Back off, then retry.", outcome="success")
    bank.briefing(session="s")
    for number in range(19):
        bank.feedback(memory.id, helpful=True, session=f"r{number}", rater="human")
    found = bank.admin.metrics()
    assert [each.id for each in found.all] == IDS
    assert [(each.value, each.interval, each.met) for each in found.all] == [(None, None, None)] * 6
    assert all(each.message.startswith(NOT_ENOUGH) and each.definition for each in found.all)
    assert (found.helpful_rate.sample, found.weight_spread.sample, found.weight_spread.needed) == (19, 19, 50)
    assert (found.calibration.ece, found.calibration.bins) == (None, ())
    bank.feedback(memory.id, helpful=False, session="r19", rater="human")
    assert bank.admin.metrics().helpful_rate.value == 0.95


@promise(
    "metrics:counted",
    "SC-001 to SC-006 are counted from deliveries, ratings, captured sessions, the hold-out and the weights' history, "
    "each with its sample and, where it is a sample, its 95 % interval.",
    source="seed 000, success criteria; issue Metrics",
)
def test_each_criterion_is_counted_from_the_log(open_bank: OpenBank, clock: FrozenClock) -> None:
    bank = open_bank(holdout=0.4)
    warned = lesson(bank, outcome="failure")
    given, held = sessions(80, 0.4)
    tokens = 0
    for number, session in enumerate(given):
        tokens += bank.briefing(session=session).tokens
        bank.sessions.outcome(session, number % 4 > 0)
    for number, session in enumerate(held):
        bank.briefing(session=session)
        bank.sessions.outcome(session, number % 2 > 0)
    unseen = bank.record(title="Nobody was shown this", content="Something else altogether.", outcome="success")
    clock.advance(timedelta(days=1))
    for number in range(40):
        bank.feedback(warned, helpful=number % 10 > 0, session=f"r{number}", rater="human")
        bank.feedback(unseen.id, helpful=False, session=f"r{number}", rater="human")
    for number in range(30):
        kept(bank, f"k{number}", PASSED, task=f"Build part {number}")
        kept(bank, f"f{number}", BROKEN, task=f"Break part {number}")
    found = bank.admin.metrics()
    assert (found.helpful_rate.value, found.helpful_rate.sample, found.helpful_rate.met) == (0.9, 40, True)
    assert found.delivery_tokens.value == pytest.approx(tokens / len(given))
    assert (found.delivery_tokens.sample, found.delivery_tokens.met) == (len(given), True)
    assert (found.learning_rate.value, found.learning_rate.sample, found.learning_rate.met) == (0.0, 30, False)
    failed = sum(number % 4 == 0 for number in range(len(given)))
    failed_without = sum(number % 2 == 0 for number in range(len(held)))
    fewer = 1 - (failed / len(given)) / (failed_without / len(held))
    assert found.fewer_mistakes.value == pytest.approx(fewer)
    assert found.fewer_mistakes.sample == min(len(given), len(held))
    assert found.weight_spread.sample == 80
    assert found.weight_spread.value is not None
    assert found.weight_spread.value < 0.1
    for each in (found.helpful_rate, found.delivery_tokens, found.learning_rate, found.fewer_mistakes):
        assert each.value is not None
        assert each.interval is not None
        assert each.interval[0] <= each.value <= each.interval[1]
    assert found.calibration.cases == 80
    assert found.calibration.ece_interval is not None
    assert sum(each.cases for each in found.calibration.bins) == 80


@promise("metrics:counted")
def test_what_was_believed_before_a_rating_survives_the_roll_up_of_older_evidence(
    bank: Bank, clock: FrozenClock
) -> None:
    memory = bank.record(title="Retry", content="Back off, then retry.", outcome="success")
    for number in range(30):
        bank.feedback(memory.id, helpful=False, session=f"old{number}", rater="human")
    clock.advance(timedelta(days=31))
    bank.admin.roll_up()
    believed = bank.get(memory.id).confidence
    for number in range(20):
        bank.feedback(memory.id, helpful=True, session=f"new{number}", rater="human")
    found = bank.admin.metrics()
    assert (found.calibration.cases, found.weight_spread.sample) == (20, 50)
    assert min(each.confidence for each in found.calibration.bins) >= believed
    assert found.helpful_rate.sample == 0


@promise(
    "metrics:fresh",
    "A new rating is in the success criteria at once, whoever stored it, and within a minute where counting takes a "
    "tenth of a second or more; a bank that was not written is not counted again for a minute.",
    source="issue Metrics",
)
def test_a_new_rating_counts_at_once_and_an_unchanged_bank_is_not_counted_again(
    bank: Bank, open_bank: OpenBank, clock: FrozenClock
) -> None:
    memory = bank.record(title="Retry", content="Back off, then retry.", outcome="success")
    for number in range(25):
        bank.feedback(memory.id, helpful=True, session=f"r{number}", rater="human")
    first = bank.admin.metrics()
    clock.advance(timedelta(seconds=30))
    assert bank.admin.metrics() is first
    bank.feedback(memory.id, helpful=False, session="new", rater="human")
    assert bank.admin.metrics().calibration.cases == 26
    other = open_bank()
    assert other.admin.metrics().calibration.cases == 26
    other.feedback(memory.id, helpful=False, session="elsewhere", rater="human")
    assert bank.admin.metrics().calibration.cases == 27
    clock.advance(timedelta(days=31))
    assert bank.admin.metrics().calibration.cases == 0
    assert other.admin.metrics().weight_spread.sample == 27


@promise("metrics:fresh")
def test_a_bank_that_takes_long_to_count_is_counted_again_within_a_minute(bank: Bank, clock: FrozenClock) -> None:
    memory = bank.record(title="Retry", content="Back off, then retry.", outcome="success")
    for number in range(25):
        bank.feedback(memory.id, helpful=True, session=f"r{number}", rater="human")
    store, at_once, later = bank._context.store(), Criteria(), Criteria(dear=0.0)
    first = later.measured(store, clock.now())
    assert at_once.measured(store, clock.now()) == first
    bank.feedback(memory.id, helpful=False, session="new", rater="human")
    assert at_once.measured(store, clock.now()).calibration.cases == 26
    assert later.measured(store, clock.now()) is first
    clock.advance(timedelta(minutes=1))
    assert later.measured(store, clock.now()).calibration.cases == 26


@promise("metrics:counted")
def test_the_interval_of_many_ratings_is_that_of_drawing_them_one_by_one() -> None:
    """Above 2,000 ratings the sums of the bins are drawn: beside the border both ways give nearly the same."""
    choice = random.Random(5)
    cases = [(each := choice.random(), choice.random() < each * 0.9) for _ in range(2_001)]
    few, many = calibrated(cases[:2_000]).ece_interval, calibrated(cases).ece_interval
    assert few is not None
    assert many is not None
    assert few == pytest.approx(many, abs=0.004)
    assert many[1] - many[0] > 0.01


@promise(
    "metrics:same-numbers",
    "The success criteria are the same from `rbank metrics --json`, REST and `/metrics` for Prometheus.",
    source="issue Metrics",
)
def test_the_command_rest_and_prometheus_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(home=tmp_path / "home")
    with Bank.open(tenant="acme", project='sh"op', settings=settings) as bank:
        memory = bank.record(title="Retry", content="Back off, then retry.", outcome="success")
        bank.briefing(session="s")
        for number in range(25):
            bank.feedback(memory.id, helpful=number % 5 > 0, session=f"r{number}", rater="human")
    monkeypatch.setenv("REASONINGBANK_HOME", str(settings.home))
    said = CliRunner().invoke(rbank, ["--tenant", "acme", "--project", 'sh"op', "metrics", "--json"])
    command = json.loads(said.stdout)
    assert [name for name in command if name.startswith("SC")] == IDS
    assert (command["SC-001"]["value"], command["SC-001"]["sample"]) == (0.8, 25)
    assert command["SC-006"]["bins"]
    text = CliRunner().invoke(rbank, ["--tenant", "acme", "--project", 'sh"op', "metrics"]).stdout
    assert re.search(r"^SC-001  not met  helpful rate: 20 of 25 \(80.0%\)", text, flags=re.MULTILINE)
    assert "SC-003  -        sessions that yield: not enough data yet" in text
    banks = Banks(settings, project='sh"op')
    try:
        endpoints = build_web(banks)

        async def owned(scope, receive, send):  # type: ignore[no-untyped-def]  # an ASGI application
            await endpoints({**scope, TENANT: "acme", SCOPES: ACCESSES}, receive, send)

        rest = TestClient(owned).get("/api/v1/metrics").json()
        scraped = TestClient(owned).get("/metrics")
    finally:
        banks.close()
    assert {name: rest[name] for name in IDS} == {name: command[name] for name in IDS}
    assert scraped.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    samples = dict(line.rsplit(" ", 1) for line in scraped.text.splitlines() if not line.startswith("#"))
    for name in IDS:
        labels = f'{{project="sh\\"op",id="{name}"}}'
        assert float(samples[f"reasoningbank_criterion_sample{labels}"]) == command[name]["sample"]
        value = command[name]["value"]
        assert (f"reasoningbank_criterion_value{labels}" in samples) == (value is not None)
    assert float(samples['reasoningbank_calibration_ece{project="sh\\"op"}']) == pytest.approx(
        command["SC-006"]["ece"], abs=1e-5
    )
    assert samples['reasoningbank_memories{project="sh\\"op",state="active"}'] == "1.0"
    queried = set(re.findall(r"reasoningbank_\w+(?=\{)", GRAFANA.read_text(encoding="utf-8")))
    assert queried == set(re.findall(r"^# TYPE (\w+) gauge$", scraped.text, flags=re.MULTILINE))


@promise("metrics:counted")
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=20, max_size=200))
def test_the_calibration_error_is_a_mean_of_distances(cases: list[tuple[float, bool]]) -> None:
    found = calibrated(cases)
    assert found.ece is not None
    assert found.brier is not None
    assert 0 <= found.ece <= 1
    assert 0 <= found.brier <= 1
    assert sum(each.cases for each in found.bins) == len(cases)
    assert all(each.low <= each.confidence <= each.high for each in found.bins)
    whole = abs(sum(confidence - helpful for confidence, helpful in cases)) / len(cases)
    assert found.ece >= whole - 1e-9


@promise("metrics:counted")
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 50)), max_size=20))
def test_weights_that_did_not_change_for_a_week_do_not_vary(changes: list[tuple[int, int]]) -> None:
    start = FrozenClock().now()
    history = [
        WeightChange(
            at=start + timedelta(days=day), weights=ProjectWeights(project="p", usage_alpha=float(alpha)), signal_id="s"
        )
        for day, alpha in sorted(changes)
    ]
    assert weight_spread(history, start + timedelta(days=28)) == pytest.approx(0.0, abs=1e-9)
    assert weight_spread(history, start + timedelta(days=20)) >= 0.0
