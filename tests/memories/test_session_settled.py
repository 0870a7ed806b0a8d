"""A session that has ended settles what it was shown, and a later verdict replaces an earlier one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import permutations
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.memories.evidence import MOST_USAGE
from reasoningbank.operations.text import session_outcome_text
from reasoningbank.testing import FrozenClock
from reasoningbank.types.recall import FITTING
from reasoningbank.types.session import Evidence, Step, Trajectory, Verdict
from reasoningbank.types.signal import ProjectWeights, Rater, Signal, replay

TASK = "the network call fails now and then"
Said = tuple[Literal["evidence", "person", "personal report", "report", "memory"], Verdict]


def lesson(bank: Bank, confidence: float = 0.8) -> str:
    return bank.record(
        title="Retry a network call that fails now and then",
        content="Wait with exponential back-off, then retry the call.",
        outcome="success",
        confidence=confidence,
    ).id


def ended(session: str, verdict: Verdict, steps: int = 1) -> Trajectory:
    """A session whose evidence says how it ended."""
    said = {"success": (True,), "failure": (False,), "partial": (True, False)}.get(verdict, ())
    return Trajectory(
        task=TASK,
        steps=tuple(
            Step(thought=f"step {number}", action=f"make part{number}", tool="Bash") for number in range(steps)
        ),
        session=session,
        source="claude-code",
        evidence=tuple(
            Evidence(kind="test_run", positive=one, name=f"pytest {number}", step=steps - 1)
            for number, one in enumerate(said)
        ),
    )


def signals(bank: Bank, memory: str) -> Sequence[Signal]:
    return bank._context.store().evidence.signals(memory)


def replayed(bank: Bank, memory: str) -> float:
    evidence = bank._context.store().evidence
    believed = bank.get(memory).belief
    return replay(believed.initial, evidence.aggregate(memory), evidence.signals(memory), evidence.weights()).score


@promise(
    "credit:verdict",
    "When it is known how a session ended, everything it was shown for its task is credited: success speaks for it, "
    "failure against it, anything else says nothing.",
    source="issue Credit; DESIGN D5",
)
@pytest.mark.parametrize("verdict", ["success", "failure", "partial", "unknown"])
def test_the_verdict_of_a_captured_session_credits_what_it_was_shown(local_bank: Bank, verdict: Verdict) -> None:
    memory = lesson(local_bank)
    assert [hit.id for hit in local_bank.search(TASK, session="s").memories] == [memory]
    local_bank.briefing(session="only briefed")
    before = local_bank.get(memory).confidence
    assert local_bank.sessions.keep(ended("s", verdict)).verdict == verdict
    counted = [(one.type, one.positive) for one in signals(local_bank, memory)]
    outcome = {"success": [("outcome", True)], "failure": [("outcome", False)]}.get(verdict, [])
    usage = [("usage", True)] if verdict in {"success", "partial"} else []
    assert sorted(counted) == sorted(outcome + usage)
    after = local_bank.get(memory).confidence
    assert (after > before, after < before) == (verdict in {"success", "partial"}, verdict == "failure")
    assert replayed(local_bank, memory) == after


@promise(
    "credit:replace",
    "A later verdict on a session replaces the earlier one in the log, whichever came first and however old it is; "
    "what a person says stands above every later automatic one.",
    source="issue Credit; DESIGN D5",
)
@pytest.mark.parametrize("rolled_up", [False, True])
def test_a_persons_verdict_replaces_what_the_evidence_said(
    local_bank: Bank, clock: FrozenClock, rolled_up: bool
) -> None:
    memory = lesson(local_bank)
    start = local_bank.get(memory).confidence
    local_bank.search(TASK, session="s")
    captured = local_bank.sessions.keep(ended("s", "success"))
    assert local_bank.get(memory).confidence > start
    if rolled_up:
        clock.advance(timedelta(days=40))
        assert local_bank.admin.roll_up() == 2
    local_bank.sessions.verdict(captured.id, "failure")
    assert [(one.type, one.positive, one.rater) for one in signals(local_bank, memory)] == [("outcome", False, "human")]
    assert local_bank.get(memory).confidence < start
    assert replayed(local_bank, memory) == local_bank.get(memory).confidence
    assert local_bank.admin.check().problems == ()
    said = local_bank.get(memory).confidence
    local_bank.sessions.keep(ended("s", "success", steps=3))
    assert local_bank.get(memory).confidence == said
    local_bank.sessions.verdict(captured.id, "partial")
    assert [one.type for one in signals(local_bank, memory)] == ["usage"]
    unknown = local_bank.sessions.verdict(captured.id, "unknown")
    assert (unknown.judge, unknown.probability) == ("user", 0.5)
    assert signals(local_bank, memory) == []
    assert local_bank.get(memory).confidence == start
    local_bank.sessions.keep(ended("s", "failure", steps=4))
    assert local_bank.get(memory).confidence == start, "the evidence does not speak where a person knows better"


@settings(max_examples=12)
@given(said=st.permutations([("report", "success"), ("person", "failure"), ("evidence", "success")]))
@promise("credit:replace")
def test_only_the_last_word_of_the_highest_is_counted(said: list[Said], open_fresh: Callable[[], Bank]) -> None:
    with open_fresh() as bank:
        memory = lesson(bank)
        bank.search(TASK, session="s")
        captured = bank.sessions.keep(ended("s", "unknown"))
        steps = 1
        for who, verdict in said:
            if who == "report":
                bank.sessions.outcome("s", verdict == "success", rater="agent")
            elif who == "person":
                bank.sessions.verdict(captured.id, verdict)
            else:
                steps += 1
                bank.sessions.keep(ended("s", verdict, steps))
        outcomes = [one for one in signals(bank, memory) if one.type == "outcome"]
        assert [(one.positive, one.rater) for one in outcomes] == [(False, "human")]
        assert replayed(bank, memory) == bank.get(memory).confidence


@promise("credit:replace")
def test_order_does_not_matter_for_what_several_sessions_say(open_fresh: Callable[[], Bank]) -> None:
    scores = set()
    for order in permutations([("a", True), ("b", False), ("c", True)]):
        with open_fresh() as bank:
            memory = lesson(bank)
            for session, _ in order:
                bank.search(TASK, session=session)
            for session, succeeded in order:
                bank.sessions.outcome(session, succeeded)
            outcomes = [one for one in signals(bank, memory) if one.type == "outcome"]
            scores.add(round(sum((one.weight or 0) * (1 if one.positive else -1) for one in outcomes), 9))
            assert replayed(bank, memory) == bank.get(memory).confidence
    assert len(scores) == 1


@promise(
    "credit:exposure",
    "Thirty sessions in a row that failed lower what they were shown, and twenty searches alone leave it as it was.",
    source="issue Credit",
)
def test_failed_sessions_lower_and_searches_alone_change_nothing(local_bank: Bank) -> None:
    memory = lesson(local_bank)
    for number in range(20):
        local_bank.search(TASK if number % 5 else "how is the weather in the mountains", session=f"asked-{number}")
    assert local_bank.get(memory).confidence == 0.8
    scores = [0.8]
    for number in range(30):
        local_bank.search(TASK, session=f"failed-{number}")
        local_bank.sessions.keep(ended(f"failed-{number}", "failure"))
        scores.append(local_bank.get(memory).confidence)
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] < 0.3


@promise(
    "credit:usage",
    "Use is counted when a session ends that did not fail, for what fitted its question, once per memory and session; "
    "all of it together weighs less than one rating.",
    source="issue Credit; DESIGN D5",
)
def test_all_usage_together_weighs_less_than_one_rating(local_bank: Bank, clock: FrozenClock) -> None:
    memory = lesson(local_bank)
    weights = []
    for number in range(60):
        hit = local_bank.search(TASK, session=f"s{number}").memories[0]
        assert hit.relevance >= FITTING
        local_bank.search(TASK, session=f"s{number}")
        local_bank.sessions.keep(ended(f"s{number}", "partial"))
        if number % 20 == 19:
            clock.advance(timedelta(days=40))
            local_bank.admin.roll_up()
        weights.append(local_bank.get(memory).belief.positive)
    assert weights == sorted(weights)
    assert local_bank._context.store().evidence.aggregate(memory).usage_positive == 60
    assert weights[-1] < MOST_USAGE
    assert local_bank.get(memory).confidence < 0.823


@settings(max_examples=60)
@given(counts=st.lists(st.floats(0.0, 500.0), min_size=4, max_size=4))
@promise("credit:usage")
def test_no_project_learns_ratings_down_to_all_usage(counts: list[float]) -> None:
    learned = ProjectWeights(
        project="p",
        usage_alpha=5 + counts[0],
        usage_beta=5 + counts[1],
        outcome_alpha=5 + counts[2],
        outcome_beta=5 + counts[3],
    )
    assert learned.weight_for("explicit") * 1e9 > MOST_USAGE


@promise("credit:usage")
def test_what_did_not_fit_the_question_was_not_used(local_bank: Bank) -> None:
    memory = lesson(local_bank)
    assert [item.hit.id for item in local_bank.briefing(session="s").items] == [memory]
    local_bank.sessions.outcome("s", True)
    assert signals(local_bank, memory) == []


@promise(
    "credit:for-task",
    "A session's verdict credits what it was shown for its task. What it was shown at its start, before there was a "
    "task, is credited when it fits a later prompt too, and not for having been there.",
    source="DESIGN D5; issue 11, It must show",
)
@pytest.mark.parametrize("verdict", ["success", "failure"])
def test_what_was_shown_before_the_task_is_credited_only_when_it_fits_it(local_bank: Bank, verdict: Verdict) -> None:
    fits = lesson(local_bank)
    other = local_bank.record(title="Water the plants", content="Water them on Mondays.", outcome="success").id
    for session in ("never asked", "asked"):
        shown = local_bank.briefing(session=session)
        assert {item.hit.id for item in shown.items} == {fits, other}
    for _ in range(2):
        assert local_bank.briefing(TASK, session="asked", repeat=False).items == ()
    for session in ("never asked", "asked"):
        assert local_bank.sessions.keep(ended(session, verdict)).verdict == verdict
    assert signals(local_bank, other) == []
    assert local_bank.get(other).confidence == 0.8
    counted = [(one.type, one.positive, one.session) for one in signals(local_bank, fits)]
    success = [("outcome", True, "asked"), ("usage", True, "asked")]
    assert sorted(counted) == (success if verdict == "success" else [("outcome", False, "asked")])


@promise(
    "credit:one-voice",
    "Sessions of agents that were not shown a memory share one voice among them, for it or against it, also after a "
    "roll-up; a session that was shown it has its own.",
    source="DESIGN D5",
)
@pytest.mark.parametrize("succeeded", [True, False])
def test_sessions_that_never_saw_a_memory_share_one_voice(
    local_bank: Bank, clock: FrozenClock, succeeded: bool
) -> None:
    memory = lesson(local_bank)
    agent: Rater = "agent"
    for number in range(15):
        local_bank.outcome(memory, succeeded=succeeded, session=f"a{number}", rater=agent)
        local_bank.feedback(memory, helpful=succeeded, session=f"b{number}", rater=agent)
        clock.advance(timedelta(days=10))
        local_bank.admin.roll_up()
    belief = local_bank.get(memory).belief
    voice = 0.7 / 1.2 * 1e9
    assert 0 < (belief.positive if succeeded else belief.negative) <= voice
    before = local_bank.get(memory).confidence
    local_bank.search(TASK, session="shown")
    local_bank.outcome(memory, succeeded=succeeded, session="shown", rater=agent)
    assert (local_bank.get(memory).confidence > before) == succeeded


@promise(
    "credit:year",
    "A memory that is shown in many sessions and helps in none does not rise in a year.",
    source="issue Credit",
)
def test_a_memory_that_never_helps_does_not_rise_in_a_year(local_bank: Bank, clock: FrozenClock) -> None:
    memory = lesson(local_bank)
    highest = 0.8
    ends: tuple[Verdict, ...] = ("unknown", "unknown", "failure", "unknown")
    for week in range(52):
        clock.advance(timedelta(days=7))
        for number in range(2):
            session = f"{week}-{number}"
            local_bank.search(TASK, session=session)
            local_bank.sessions.keep(ended(session, ends[(2 * week + number) % len(ends)]))
        highest = max(highest, local_bank.get(memory).confidence)
    assert highest == 0.8
    assert local_bank.get(memory).confidence < 0.4


@promise(
    "credit:fitting",
    "How a session ended counts only for memories that fitted its questions, whoever says it: one that a bank of one "
    "memory showed to an unrelated question, or only at the start, stays as it was.",
    source="issue 11; DESIGN D5",
)
@pytest.mark.parametrize("verdict", ["success", "failure"])
def test_what_fitted_no_question_is_not_credited_by_a_verdict(local_bank: Bank, verdict: Verdict) -> None:
    memory = lesson(local_bank)
    (hit,) = local_bank.search("wait for the bus", session="s").memories
    assert 0 < hit.relevance < FITTING
    captured = local_bank.sessions.keep(ended("s", verdict))
    assert captured.verdict == verdict
    assert (signals(local_bank, memory), local_bank.get(memory).confidence) == ([], 0.8)
    local_bank.briefing(session="s")
    assert local_bank.sessions.outcome("s", verdict == "success").credited == ()
    local_bank.sessions.verdict(captured.id, verdict)
    assert (signals(local_bank, memory), local_bank.get(memory).confidence) == ([], 0.8)


# Each person and agent says one thing, so that there is no "latest word"; the transcript grows to three states.
_SAYINGS: tuple[Said, ...] = (
    ("evidence", "failure"),
    ("evidence", "success"),
    ("evidence", "unknown"),
    ("evidence", "partial"),
    ("report", "success"),
    ("report", "failure"),
    ("memory", "success"),
    ("memory", "failure"),
    ("person", "success"),
    ("person", "failure"),
    ("person", "partial"),
    ("personal report", "success"),
    ("personal report", "failure"),
)


@settings(max_examples=25)
@given(
    data=st.data(),
    said=st.lists(
        st.sampled_from(_SAYINGS), min_size=2, max_size=4, unique_by=lambda each: each[0].removesuffix("al report")
    ),
)
@promise(
    "credit:order",
    "What a session was shown has the same evidence in the end, whatever the order in which its transcript is captured "
    "and captured again, its agent reports how it ended, its agent reports about a memory, and a person says it.",
    source="issue 11; DESIGN D5",
)
def test_the_order_of_words_about_a_session_does_not_matter(
    data: st.DataObject, said: list[Said], open_fresh: Callable[[], Bank]
) -> None:
    order = data.draw(st.permutations(said))
    assert _in_the_end(open_fresh, said) == _in_the_end(open_fresh, order)


def _in_the_end(open_fresh: Callable[[], Bank], said: Sequence[Said]) -> list[tuple[str, bool, str, int]]:
    """What counts for two memories of a session, of which one fits it, when all this was said of it."""
    with open_fresh() as bank:
        memory = lesson(bank)
        other = bank.record(title="Water the plants", content="Water them on Mondays.", outcome="success").id
        bank.briefing(session="s")
        bank.search(TASK, session="s", unproven=0)
        steps = 1
        kept = bank.sessions.keep(ended("s", "unknown"))
        for who, verdict in said:
            if who == "evidence":
                steps += 1
                bank.sessions.keep(ended("s", verdict, steps))
            elif who == "memory":
                bank.outcome(memory, succeeded=verdict == "success", session="s", rater="agent")
            elif who == "person":
                bank.sessions.verdict(kept.id, verdict)
            else:
                bank.sessions.outcome("s", verdict == "success", rater="agent" if who == "report" else "human")
        assert signals(bank, other) == []
        assert bank.admin.check().problems == ()
        assert replayed(bank, memory) == bank.get(memory).confidence
        return sorted((one.type, one.positive, one.rater, one.weight or 0) for one in signals(bank, memory))


@promise(
    "credit:undecided",
    "A verdict that says nothing takes back only what an earlier verdict has credited: what an agent has reported "
    "itself about a memory stands.",
    source="DESIGN D5, D8",
)
def test_an_undecided_session_takes_back_no_report_about_a_memory(local_bank: Bank) -> None:
    memory = lesson(local_bank)
    local_bank.search(TASK, session="s")
    local_bank.outcome(memory, succeeded=True, session="s", rater="agent")
    reported = local_bank.get(memory).confidence
    assert reported > 0.8
    assert local_bank.sessions.keep(ended("s", "unknown")).verdict == "unknown"
    assert [(one.type, one.positive) for one in signals(local_bank, memory)] == [("outcome", True)]
    assert local_bank.get(memory).confidence == reported
    local_bank.sessions.keep(ended("s", "failure", steps=2))
    assert local_bank.get(memory).confidence < 0.8
    local_bank.sessions.keep(ended("s", "unknown", steps=3))
    assert local_bank.get(memory).confidence == reported


@promise(
    "credit:person-reports",
    "What a person reports of a session is its verdict, before and after it is captured, and stands above its own "
    "judgement; a later verdict of a person replaces it. Lists say how each session ended and who says so: a person, "
    "its evidence, a model or its agent.",
    source="issue 11",
)
@pytest.mark.parametrize("captured_first", [True, False])
def test_a_persons_report_of_a_session_is_its_verdict(local_bank: Bank, captured_first: bool) -> None:
    memory = lesson(local_bank)
    local_bank.search(TASK, session="s")
    local_bank.briefing(session="s")
    other = local_bank.record(title="Water the plants", content="Water them on Mondays.", outcome="success").id
    local_bank.briefing(session="s")

    def said() -> list[tuple[str, str, str, str]]:
        listed = zip(local_bank.sessions.list(), local_bank.sessions.states(), strict=True)
        return [(one.verdict, one.said_by, state.verdict, state.said_by) for one, state in listed]

    if captured_first:
        local_bank.sessions.keep(ended("s", "failure"))
        assert said() == [("failure", "evidence", "failure", "evidence")]
    local_bank.sessions.outcome("s", True, rater="human")
    if not captured_first:
        assert local_bank.sessions.keep(ended("s", "failure")).verdict == "success"
    assert said() == [("success", "person", "success", "person")]
    assert [entry.verdict for entry in local_bank.sessions.list(verdict="success")] == ["success"]
    assert local_bank.sessions.list(verdict="failure") == ()
    local_bank.sessions.keep(ended("s", "failure", steps=2))
    (entry,) = local_bank.sessions.list()
    assert local_bank.sessions.judge(entry.id).judge == "user"
    assert said() == [("success", "person", "success", "person")]
    assert {each.positive for each in signals(local_bank, memory)} == {True}
    local_bank.sessions.verdict(entry.id, "failure")
    assert said() == [("failure", "person", "failure", "person")]
    assert {each.positive for each in signals(local_bank, memory)} == {False}
    assert signals(local_bank, other) == []
    assert local_bank.report().with_memory.succeeded == 0
    local_bank.sessions.outcome("s", True, rater="human")
    assert said() == [("success", "person", "success", "person")]
    assert local_bank.admin.check().problems == ()


@promise("credit:person-reports")
def test_an_agents_report_is_shown_where_nothing_else_is_known(local_bank: Bank) -> None:
    lesson(local_bank)
    local_bank.search(TASK, session="s")
    local_bank.sessions.keep(ended("s", "unknown"))
    local_bank.sessions.outcome("s", True, rater="agent")
    (entry,) = local_bank.sessions.list(verdict="success")
    assert (entry.verdict, entry.said_by) == ("success", "session")
    local_bank.sessions.keep(ended("s", "failure", steps=2))
    (entry,) = local_bank.sessions.list()
    assert (entry.verdict, entry.said_by) == ("failure", "evidence")


@promise(
    "outcome:said-as-stored",
    "The report of a session's outcome names the confidence that each memory then has.",
    source="issue 11",
)
@pytest.mark.parametrize("succeeded", [True, False])
def test_a_report_names_the_confidence_that_is_stored(local_bank: Bank, succeeded: bool) -> None:
    memory = lesson(local_bank)
    local_bank.search(TASK, session="s")
    local_bank.sessions.outcome("s", True)
    (report,) = local_bank.sessions.outcome("s", succeeded).credited or (None,)
    stored = local_bank.get(memory).confidence
    assert report is None or report.new_confidence == stored
    if not succeeded:
        assert report is not None
        assert f"{stored:.3f}" in report.message


@promise(
    "credit:answer",
    "What session-outcome answers is how things stand after it: each memory that the session's end counts for or "
    "against, from what to what this call moved it and what it would be without the session, in whatever order "
    "verdicts and reports came and however often. Where the call changed nothing it says so, and where what it says "
    "does not count, because a person's word or the evidence stands above it.",
    source="issue 11 Credit",
)
@pytest.mark.parametrize("order", [*permutations(("captured", "agent", "person", "agent again"), 4)])
def test_a_report_answers_how_things_stand_after_it(order: Sequence[str], local_bank: Bank) -> None:
    memory = lesson(local_bank)
    start = local_bank.get(memory).confidence
    local_bank.search(TASK, session="s")
    for said in order:
        if said == "captured":
            local_bank.sessions.keep(ended("s", "success"))
            continue
        rater: Rater = "human" if said == "person" else "agent"
        before = local_bank.get(memory).confidence
        report = local_bank.sessions.outcome("s", said != "person", rater=rater)
        (counted,) = report.counted
        (signal,) = (one for one in signals(local_bank, memory) if one.type == "outcome")
        now = local_bank.get(memory).confidence
        assert (counted.memory_id, counted.succeeded, counted.new_confidence) == (memory, signal.positive, now)
        assert counted.previous_confidence == start
        direction = "for" if signal.positive else "against"
        lines = session_outcome_text(report).splitlines()
        without = f" (without this session it would be {start:.3f})"
        moved = f", confidence {before:.3f} to {now:.3f}{without if before != start else ''}."
        if report.credited:
            assert lines[:2] == [f"{memory}: counts {direction} it{moved}", "1 credited."]
            continue
        why = f"the session counts {direction} it already"
        if counted.succeeded != report.succeeded:
            why = (
                f"the session still counts {direction} it, for a person's word or its evidence stands above this report"
            )
        assert lines[:2] == [f"{memory}: unchanged, confidence {now:.3f}; {why}{without}.", "0 credited, 1 unchanged."]


@promise("credit:answer")
def test_an_end_that_was_judged_before_the_report_is_no_zero(local_bank: Bank) -> None:
    memory = lesson(local_bank)
    local_bank.search(TASK, session="s")
    local_bank.sessions.keep(ended("s", "success"))
    report = local_bank.sessions.outcome("s", True, rater="agent")
    assert report.credited == ()
    assert [one.memory_id for one in report.counted] == [memory]
    assert "0 credited, 1 unchanged." in session_outcome_text(report)
