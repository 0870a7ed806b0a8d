"""Decay: a step for every full month without activity, down to the floor, stopped by any use."""

from __future__ import annotations

import json
import tempfile
from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import settings as run_settings
from hypothesis import strategies as st

from curation.aged_banks import DAY, EXACT, MONTH, exported, made, told
from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import ConfigurationError, InvalidInput
from reasoningbank.settings import Settings, load_settings
from reasoningbank.testing import FrozenClock
from reasoningbank.types.belief import PRIOR_STRENGTH, UNIT, Belief
from reasoningbank.types.lifecycle import DecayRules, by_person, disuse_weight, floor_of, months_between

REST = 2e-8
"""What is so close to the floor counts as being there."""
beliefs = st.builds(
    Belief,
    prior=st.integers(0, PRIOR_STRENGTH * UNIT),
    positive=st.integers(0, 200 * UNIT),
    negative=st.integers(0, 200 * UNIT),
)


@promise(
    "lifecycle:step",
    "A full month without activity lowers the confidence by exactly the step, to a billionth, and never below the "
    "floor.",
    source="issue 4, seed 001",
)
@given(belief=beliefs, step=st.sampled_from([0.001, 0.05, 0.1, 0.5]), share=st.sampled_from([0.1, 0.5, 1.0]))
@example(belief=Belief.starting_at(0.8), step=0.05, share=0.5)
@example(belief=Belief.starting_at(0.0), step=0.05, share=0.5)
@example(belief=Belief(prior=1, positive=0, negative=0), step=0.05, share=0.5)
def test_a_month_lowers_the_score_by_the_step_to_a_billionth_and_never_below_the_floor(
    belief: Belief, step: float, share: float
) -> None:
    floor = floor_of(Fraction(belief.prior, PRIOR_STRENGTH * UNIT), share)
    weight = disuse_weight(belief, step, floor)
    after = belief.with_evidence(positive=False, weight=weight)
    assert after.score <= belief.score
    assert after.score >= min(belief.score, float(floor))
    if belief.score > float(floor) + REST:
        assert after.score == pytest.approx(max(belief.score - step, float(floor)), abs=EXACT)
    else:
        assert after.score == pytest.approx(belief.score, abs=REST)


@promise("lifecycle:months", "Only full months of thirty days count.", source="decision 11")
def test_only_full_months_count() -> None:
    start = FrozenClock().now()
    assert months_between(start, start - MONTH) == ()
    assert months_between(start, start + MONTH - timedelta(microseconds=1)) == ()
    assert months_between(start, start + MONTH) == (start + MONTH,)
    assert months_between(start, start + 2.5 * MONTH) == (start + MONTH, start + 2 * MONTH)


@promise("lifecycle:step")
@promise(
    "lifecycle:floor",
    "Disuse leaves half of the initial confidence: it alone archives nothing that began at 0.6 or more.",
    source="issue 4, decision 11",
)
def test_an_unused_memory_falls_by_a_twentieth_a_month_to_half_of_what_it_began_with(
    open_bank_in_session: OpenBank, clock: FrozenClock
) -> None:
    bank = open_bank_in_session()
    memory = told(bank)
    clock.advance(MONTH - timedelta(seconds=1))
    assert bank.curation.decay().decayed == ()
    clock.advance(timedelta(seconds=1))
    expected = [0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4, 0.4, 0.4]
    for confidence in expected:
        report = bank.curation.decay()
        assert bank.get(memory.id).confidence == pytest.approx(confidence, abs=EXACT)
        assert len(report.decayed) == (1 if confidence > 0.4 or clock.now() - memory.created_at == 8 * MONTH else 0)
        assert bank.curation.decay().decayed == ()
        clock.advance(MONTH)
    assert bank.admin.check().problems == ()
    assert [event.kind for event in bank.memories.history(memory.id)] == ["recorded"] + ["disuse"] * 8
    assert bank.memories.history(memory.id)[3].confidence == pytest.approx(0.65, abs=EXACT)
    assert bank.memories.history(memory.id)[3].at == memory.created_at + 3 * MONTH


@promise(
    "lifecycle:pauses",
    "When decay runs changes nothing: monthly runs, one run after a year, roll-ups between them end at the same "
    "belief.",
    source="issue 4",
)
@run_settings(max_examples=20)
@given(
    durable=st.booleans(),
    runs=st.lists(st.integers(0, 500), max_size=12),
    confidence=st.sampled_from([0.0, 0.05, 0.3, 0.6, 0.9, 1.0]),
    roll_up=st.booleans(),
)
def test_when_it_runs_changes_nothing(durable: bool, runs: list[int], confidence: float, roll_up: bool) -> None:
    """Runs on any days, and roll-ups between them, end where a single run after 500 days ends."""
    with tempfile.TemporaryDirectory() as folder:
        clocks = FrozenClock(), FrozenClock()
        urls = [None if durable else f"memory://{Path(folder).name}{number}" for number in range(2)]
        often, once = (made(Path(folder) / str(n), each, url=urls[n]) for n, each in enumerate(clocks))
        with often, once:
            start = clocks[0].now()
            memories = [told(bank, confidence=confidence) for bank in (often, once)]
            for day in sorted(runs):
                clocks[0].advance(start + day * DAY - clocks[0].now())
                often.curation.decay()
                if roll_up:
                    often.admin.roll_up()
            for bank, each in zip((often, once), clocks, strict=True):
                each.advance(start + 500 * DAY - each.now())
                bank.curation.decay()
                assert bank.admin.check().problems == ()
            first, second = (bank.get(memory.id).belief for bank, memory in zip((often, once), memories, strict=True))
            assert first == second
            assert first.score >= min(confidence, max(confidence / 2, 0.01)) - EXACT


@promise(
    "lifecycle:stopped",
    "A use, rating, outcome, edit or commit's fate stops the decay and starts the months anew.",
    source="issue 4",
)
@pytest.mark.parametrize("way", ["search", "rate", "outcome", "edit", "stability"])
def test_any_activity_starts_the_months_anew(open_bank_in_session: OpenBank, clock: FrozenClock, way: str) -> None:
    bank = open_bank_in_session()
    memory = told(bank, "Retry flaky network calls with backoff.")
    clock.advance(MONTH)
    assert len(bank.curation.decay().decayed) == 1
    clock.advance(20 * DAY)
    if way == "search":
        assert bank.search("retry flaky network calls", session="another").delivered
    elif way == "rate":
        bank.feedback(memory.id, helpful=True)
    elif way == "outcome":
        bank.outcome(memory.id, succeeded=False, session="s")
    elif way == "edit":
        bank.update(memory.id, description="When the network fails.")
    else:
        bank.curation.report_stability(memory.id, reverted=False, commit="abcdef1")
    before = bank.get(memory.id).confidence
    clock.advance(MONTH - timedelta(seconds=1))
    assert bank.curation.decay().decayed == ()
    clock.advance(timedelta(seconds=1))
    (fallen,) = bank.curation.decay().decayed
    assert (fallen.months, fallen.unused_since) == (1, clock.now() - MONTH)
    assert bank.get(memory.id).confidence == pytest.approx(before - 0.05, abs=EXACT)
    clock.advance(MONTH)
    bank.admin.roll_up()
    assert len(bank.curation.decay().decayed) == 1


@promise(
    "lifecycle:recorded",
    "What a person recorded does not decay unless it is configured; provenance alone tells.",
    source="issue 4",
)
def test_what_a_person_recorded_does_not_decay_unless_it_is_wanted(
    open_bank_in_session: OpenBank, clock: FrozenClock
) -> None:
    bank = open_bank_in_session()
    by_hand = [bank.record(title=f"From {s}", content=s, outcome="success", source=s).id for s in ("api", "cli")]
    by_agent = told(bank).id
    clock.advance(MONTH)
    report = bank.curation.decay(dry_run=True)
    assert (report.examined, report.recorded, [each.memory_id for each in report.decayed]) == (3, 2, [by_agent])
    assert bank.curation.decay(DecayRules(step=0.0)).examined == 0
    everything = bank.curation.decay(DecayRules(recorded=True), dry_run=True)
    assert [each.memory_id for each in everything.decayed] == [*by_hand, by_agent]
    assert [each.confidence for each in bank.memories.list()] == [0.8] * 3
    for source, person in (("api", True), ("cli", True), ("mcp", False), ("distilled", False), ("", False)):
        assert by_person({"source": source}) == person
    assert not by_person({})


@promise(
    "lifecycle:settings",
    "Decay and pruning are configurable, and a number out of range is an error with a hint.",
    source="issue 4",
)
def test_the_settings_decide_and_wrong_ones_are_refused(
    open_bank_in_session: OpenBank, clock: FrozenClock, tmp_path: Path
) -> None:
    bank = open_bank_in_session(decay_step=0.1, decay_floor=0.75, decay_recorded=True)
    memory = bank.record(title="By hand", content="Content.", outcome="success")
    clock.advance(12 * MONTH)
    assert bank.curation.decay().decayed[0].months == 2
    assert bank.get(memory.id).confidence == pytest.approx(0.6, abs=EXACT)
    environment = {
        "REASONINGBANK_HOME": str(tmp_path),
        "REASONINGBANK_DECAY_STEP": "0.02",
        "REASONINGBANK_DECAY_RECORDED": "true",
        "REASONINGBANK_PRUNE_AFTER_DAYS": "30",
    }
    read = load_settings(environment)
    assert (read.decay_step, read.decay_recorded, read.prune_after_days) == (0.02, True, 30)
    for name, value in (
        ("DECAY_STEP", "1.5"),
        ("DECAY_STEP", "nan"),
        ("DECAY_FLOOR", "0"),
        ("PRUNE_BELOW", "-1"),
        ("PRUNE_AFTER_DAYS", "0"),
    ):
        with pytest.raises(ConfigurationError) as caught:
            load_settings({"REASONINGBANK_HOME": str(tmp_path), f"REASONINGBANK_{name}": value})
        assert caught.value.hint
    with pytest.raises(InvalidInput):
        DecayRules(step=-0.1)
    with pytest.raises(ConfigurationError):
        Settings(home=tmp_path, decay_floor=2.0)


@promise(
    "lifecycle:scope",
    "Only candidate and active memories decay; time in the archive is not disuse.",
    source="issue 4",
)
def test_only_recallable_memories_decay(open_bank_in_session: OpenBank, clock: FrozenClock) -> None:
    bank = open_bank_in_session()
    memories = [told(bank, f"Content {n}.") for n in range(3)]
    bank.update(memories[1].id, state="archived")
    bank.update(memories[2].id, state="quarantined")
    clock.advance(6 * MONTH)
    assert [each.memory_id for each in bank.curation.decay().decayed] == [memories[0].id]
    bank.update(memories[1].id, state="active")
    clock.advance(MONTH)
    fallen = {each.memory_id: each.months for each in bank.curation.decay().decayed}
    assert fallen == {memories[0].id: 1, memories[1].id: 1}


@promise(
    "lifecycle:replay",
    "After decay and roll-up the stored belief equals the one replayed from the evidence.",
    source="DESIGN D4",
)
@promise(
    "lifecycle:exported",
    "An export and import keep disuse and stability; exports of earlier versions still import.",
    source="issue 4",
)
@pytest.mark.parametrize("rolled", [False, True])
def test_an_export_and_import_keep_the_belief_and_the_months(
    open_bank_in_session: OpenBank, clock: FrozenClock, tmp_path: Path, rolled: bool
) -> None:
    bank = open_bank_in_session()
    memory = told(bank)
    bank.feedback(memory.id, helpful=True)
    clock.advance(3.5 * MONTH)
    bank.curation.decay()
    if rolled:
        assert bank.admin.roll_up() == 3
        assert bank.memories.history(memory.id)[1].detail.count("from disuse") == 1
    text = exported(bank, tmp_path)
    (tmp_path / "again.jsonl").write_text(text, encoding="utf-8")
    other = open_bank_in_session("other")
    assert other.admin.import_(tmp_path / "again.jsonl", vouched=True).imported == (memory.id,)
    assert other.get(memory.id).belief == bank.get(memory.id).belief
    assert other.admin.check().problems == ()
    old = [json.loads(line) for line in text.splitlines()]
    for line in old:
        for name in ("stability_positive", "stability_negative", "disuse_negative", "last_activity", "last_disuse"):
            (line.get("aggregate") or {}).pop(name, None)
    (tmp_path / "old.jsonl").write_text("\n".join(map(json.dumps, old)) + "\n", encoding="utf-8")
    third = open_bank_in_session("third")
    third.admin.import_(tmp_path / "old.jsonl", vouched=True)
    assert third.get(memory.id).belief == bank.get(memory.id).belief


@promise(
    "lifecycle:weights",
    "A rating learns nothing from disuse or stability; the project's weights stay those of three types.",
    source="DESIGN D5",
)
def test_a_rating_learns_nothing_from_disuse_or_stability(open_bank_in_session: OpenBank, clock: FrozenClock) -> None:
    bank = open_bank_in_session()
    memory = told(bank)
    clock.advance(MONTH)
    bank.curation.decay()
    bank.curation.report_stability(memory.id, reverted=True, commit="abcdef1")
    before = dict(bank.admin.stats().weights)
    bank.feedback(memory.id, helpful=False)
    bank.feedback(memory.id, helpful=True)
    assert dict(bank.admin.stats().weights) == before
    assert set(before) == {"explicit", "usage", "outcome"}


@promise(
    "lifecycle:consolidated",
    "A consolidated memory has its sources' disuse and each commit once, and its floor follows from what it began "
    "with.",
    source="issue 4",
)
def test_a_consolidated_memory_begins_with_what_its_sources_were_worth(
    open_bank_in_session: OpenBank, clock: FrozenClock
) -> None:
    bank = open_bank_in_session()
    text = "Retry a flaky network call with exponential backoff and jitter, at most five times in a row"
    sources = [told(bank, f"{text} {n}", title="Retry flaky calls") for n in (1, 2)]
    clock.advance(2 * MONTH)
    bank.curation.decay()
    for source in sources:
        for session in "abcdefgh":
            bank.outcome(source.id, succeeded=True, session=session + source.id)
    (created,) = bank.curation.consolidate().created_memories
    made_at = bank.get(created).confidence
    assert bank.admin.check().problems == ()
    clock.advance(30 * MONTH)
    bank.curation.decay()
    assert bank.get(created).confidence == pytest.approx(made_at / 2, abs=1e-6)
    report = bank.curation.undo(created)
    assert set(report.restored) == {source.id for source in sources}
    assert bank.admin.check().problems == ()
    bank.admin.roll_up()
    assert bank.admin.check().problems == ()


@promise("lifecycle:processes", "Several banks that decay at once count each month once.", source="issue 4")
def test_two_banks_at_once_count_a_month_once(open_bank_in_session: OpenBank, clock: FrozenClock) -> None:
    from concurrent.futures import ThreadPoolExecutor

    banks: list[Bank] = [open_bank_in_session() for _ in range(3)]
    for number in range(40):
        told(banks[0], f"Content {number}.")
    clock.advance(2 * MONTH)
    with ThreadPoolExecutor(3) as pool:
        reports = list(pool.map(lambda bank: bank.curation.decay(), banks))
    assert sum(len(report.decayed) for report in reports) == 40
    assert {round(memory.confidence, 9) for memory in banks[0].memories.list()} == {0.7}
    assert banks[0].admin.check().problems == ()
