"""The bank's verbs from a session to a lesson, with the real embedder and the real store; nothing is invented."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import (
    BudgetExhausted,
    InvalidInput,
    ModelUnavailable,
    ScopeViolation,
    TrajectoryNotFound,
    Undecided,
    UnreadableTranscript,
)
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.testing import FrozenClock
from reasoningbank.types.memory import Memory
from reasoningbank.types.session import SessionSummary, Step, Trajectory, Verdict
from sessions.made_lessons import DELETED, FROZEN, TASK, broken, lessons, opinion, ran, solved, strategies, undecided
from sessions.recorded_sessions import Turn, claude_code
from sessions.test_capture_safety import SECRETS

MALFORMED = {
    "prose": "I think the session went well and there is little to learn.",
    "truncated": '{"strategies": [{"title": "Freeze the clock", "descr',
    "empty": "",
    "list": "[]",
    "wrong type": '{"strategies": "none", "lessons": []}',
    "wrong item": '{"strategies": ["Freeze the clock in date tests"], "lessons": []}',
    "null": "null",
    "missing": '{"lessons": []}',
    "number": '{"strategies": 3, "lessons": []}',
}


def lessons_of(bank: Bank) -> list[Memory]:
    """The memories that a model distilled, without what the sessions show by themselves."""
    return [memory for memory in bank.memories.list() if memory.provenance["source"] == "distilled"]


@promise(
    "learning:end-to-end",
    "A transcript becomes a lesson by itself, with its provenance, and is found by a search.",
    source="seed 000 P2",
)
def test_a_transcript_becomes_a_lesson_that_a_new_process_would_find(
    open_learning_bank: OpenBank, tmp_path: Path
) -> None:
    model = ScriptedModel({"distil_success": strategies(FROZEN)})
    bank = open_learning_bank(model)
    transcript = tmp_path / "session.jsonl"
    mended = Turn("The clock runs on.", "sed -i 's/now()/clock.now()/' nightly.py", "", 0)
    turns = [step_turn(ran(11, 1)), mended, step_turn(ran(12))]
    transcript.write_text(claude_code(turns, TASK, "All tests pass."), encoding="utf-8")
    report = bank.sessions.capture(transcript)
    assert (report.captured, report.duplicates, report.skipped_lines) == (1, 0, 0)
    (captured,) = report.trajectories
    assert (captured.task, captured.verdict) == (TASK, "success")
    assert captured.probability > 0.85
    assert any(fact.kind == "test_run" and fact.positive for fact in captured.evidence)
    assert bank.memories.count() == 0, "capturing waits for no model"
    assert model.prompts == ()
    assert bank.jobs.work().done == 1
    (memory,) = bank.memories.list()
    assert (memory.title, memory.outcome, memory.state) == (FROZEN["title"], "success", "candidate")
    assert memory.confidence == pytest.approx(0.6, abs=1e-9)
    assert memory.provenance["trajectory"] == captured.id
    assert memory.provenance["task"] == TASK
    assert memory.provenance["model"] == "scripted"
    assert memory.provenance["prompt"].startswith("distil_success@2")
    assert memory.provenance["steps"] == "0,1"
    (origin,) = bank.memories.origins(memory.id)
    assert (origin.kind, origin.trajectory, origin.steps) == ("distilled", captured.id, (0, 1))
    assert model.temperatures == (1.0,)
    other = open_learning_bank()
    assert [hit.id for hit in other.search("a test that fails around midnight").unproven] == [memory.id]


def step_turn(step: Step) -> Turn:
    """A step as a turn of a recorded transcript."""
    return Turn(step.thought, step.action, step.observation, step.exit_code or 0)


@promise("learning:idempotent", "The same session twice, by content or by key, adds nothing.", source="issue Capture")
def test_the_same_session_twice_adds_nothing(open_learning_bank: OpenBank, tmp_path: Path) -> None:
    bank = open_learning_bank(ScriptedModel({"distil_success": strategies(FROZEN)}))
    first = bank.sessions.keep(solved("s1"), key="run-1")
    assert not first.duplicate
    assert bank.sessions.keep(solved("s1")).id == first.id, "by content"
    assert bank.sessions.keep(solved("another", "Quite another task"), key="run-1").id == first.id, "by key"
    bank.jobs.work()
    again = bank.sessions.keep(solved("s1"), key="run-1")
    assert (again.duplicate, again.verdict) == (True, "success")
    assert bank.jobs.work().done == 0
    assert (len(bank.sessions.list()), bank.memories.count()) == (1, 1)
    report = bank.distillation.run(first.id)
    assert (report.distilled, report.pending) == ((), 0)
    assert bank.memories.count() == 1
    bank.sessions.verdict(first.id, "failure")
    assert bank.sessions.keep(solved("s1")).verdict == "failure", "a duplicate tells what is known of the session"


@promise(
    "learning:capture-files", "A file without a session is named, and the others are kept.", source="issue Capture"
)
def test_files_without_a_session_are_named_and_the_others_are_kept(
    open_learning_bank: OpenBank, tmp_path: Path
) -> None:
    bank = open_learning_bank()
    nothing, good = tmp_path / "nothing.jsonl", tmp_path / "good.jsonl"
    nothing.write_text("this is not a transcript\n", encoding="utf-8")
    good.write_text(claude_code(), encoding="utf-8")
    with pytest.raises(UnreadableTranscript):
        bank.sessions.capture(nothing)
    report = bank.sessions.capture(nothing, good, good)
    assert (report.captured, report.duplicates) == (1, 1)
    assert any("nothing.jsonl" in problem for problem in report.problems)


@promise(
    "learning:verdict",
    "A person's verdict stands above evidence and model, and makes the session wait again.",
    source="issue Evidence",
)
def test_a_persons_verdict_stands_above_evidence_and_model(open_learning_bank: OpenBank, clock: FrozenClock) -> None:
    model = ScriptedModel({"distil_success": strategies(FROZEN), "distil_failure": lessons(DELETED)})
    bank = open_learning_bank(model)
    kept = bank.sessions.keep(broken("s1"))
    assert kept.verdict == "failure"
    clock.advance(timedelta(minutes=1))
    said = bank.sessions.verdict(kept.id, "failure", note="The service did not start.")
    assert (said.judge, said.verdict, said.probability) == ("user", "failure", 0.0)
    assert bank.sessions.judge(kept.id) == said, "judging again does not overrule a person"
    assert [one.judge for one in bank.sessions.judgements(kept.id)] == ["evidence", "user"]
    bank.jobs.work()
    (memory,) = bank.memories.list()
    assert memory.outcome == "failure"
    assert "What went wrong" in memory.content
    assert "Do instead" in memory.content
    assert "The service did not start." in model.prompts[-1].material, "the rationale reaches the extractor"
    with pytest.raises(InvalidInput):
        bank.sessions.verdict(kept.id, cast("Verdict", "fine"))
    with pytest.raises(TrajectoryNotFound):
        bank.sessions.verdict("no such", "success")


@promise("learning:verdict")
def test_a_verdict_makes_a_session_wait_again_also_without_a_model(
    open_learning_bank: OpenBank, clock: FrozenClock
) -> None:
    bank = open_learning_bank(ScriptedModel({"distil_success": strategies(FROZEN)}))
    kept = bank.sessions.keep(solved("s1"))
    bank.jobs.work()
    assert bank.sessions.list(pending=True) == ()
    clock.advance(timedelta(minutes=1))
    poor = open_learning_bank("")
    poor.sessions.verdict(kept.id, "partial")
    assert [entry.id for entry in poor.sessions.list(pending=True)] == [kept.id]
    assert poor.distillation.assignment(kept.id).trajectory == kept.id
    clock.advance(timedelta(minutes=1))
    poor.sessions.verdict(kept.id, "unknown")
    assert poor.sessions.list(pending=True) == (), "what nobody can tell teaches nothing, and no model is asked instead"
    assert [(entry.verdict, entry.said_by) for entry in poor.sessions.list()] == [("unknown", "person")]


@promise(
    "learning:outage",
    "An outage of judge or extractor is unknown, never failure; the session waits and is retried.",
    source="DESIGN D8",
)
def test_an_outage_is_unknown_and_pending_and_retried(open_learning_bank: OpenBank, clock: FrozenClock) -> None:
    """The judge's outage and the extractor's; never a failure, never given up at once, and learned from in the end."""
    script: list[str | Exception] = [
        ModelUnavailable("the judge does not answer"),
        opinion(),
        ModelUnavailable("the extractor does not answer"),
        strategies(dict(FROZEN, steps=[0])),
    ]
    model = ScriptedModel(script)
    bank = open_learning_bank(model)
    kept = bank.sessions.keep(undecided("s1"))
    report = bank.jobs.work()
    assert (report.done, report.postponed, report.buried) == (0, 1, 0)
    (entry,) = bank.sessions.list(pending=True)
    assert entry.judgement is not None
    assert entry.judgement.verdict == "unknown"
    clock.advance(timedelta(minutes=2))
    report = bank.jobs.work()
    assert (report.done, report.postponed) == (0, 1)
    assert bank.sessions.list()[0].judgement.verdict == "success"  # type: ignore[union-attr]  # it was judged
    clock.advance(timedelta(minutes=6))
    assert bank.jobs.work().done == 1
    assert (bank.memories.count(), bank.sessions.list(pending=True), bank.jobs.dead()) == (1, (), ())
    assert [one.verdict for one in bank.sessions.judgements(kept.id)] == ["unknown", "success"]


@promise("learning:outage")
def test_a_judge_that_is_asked_by_hand_says_unknown_when_there_is_no_answer(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank(ScriptedModel([ModelUnavailable("no network"), "no JSON"]))
    kept = bank.sessions.keep(undecided("s1"))
    for _ in range(2):
        judged = bank.sessions.judge(kept.id)
        assert (judged.verdict, judged.probability) == ("unknown", 0.5)
    assert bank.memories.count() == 0


@promise("learning:budget", "A spent budget leaves the session waiting for tomorrow.", source="issue Three ways")
def test_a_spent_budget_leaves_the_session_waiting_for_tomorrow(
    open_learning_bank: OpenBank, clock: FrozenClock
) -> None:
    bank = open_learning_bank(ScriptedModel([BudgetExhausted("no tokens are left"), strategies(FROZEN)]))
    bank.sessions.keep(solved("s1"))
    assert bank.jobs.work().postponed == 1
    clock.advance(timedelta(hours=23))
    assert bank.jobs.work().done == 0
    clock.advance(timedelta(hours=1))
    assert bank.jobs.work().done == 2, "the session, and the bank's daily tending"
    assert bank.memories.count() == 1


@promise(
    "learning:malformed",
    "A malformed answer is asked for once more; a second one leaves the session waiting, and nothing is stored of it.",
    source="issue malformed answers",
)
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_answer_leaves_the_session_waiting(
    open_learning_bank: OpenBank, clock: FrozenClock, name: str
) -> None:
    bank = open_learning_bank(ScriptedModel([*[MALFORMED[name]] * 4, strategies(FROZEN)]))
    kept = bank.sessions.keep(solved("s1"))
    assert bank.jobs.work().postponed == 1
    report = bank.distillation.run(kept.id)
    assert (report.distilled, report.pending, len(report.messages)) == ((), 1, 1)
    assert (bank.memories.count(), bank.distillation.refusals()) == (0, ())
    clock.advance(timedelta(minutes=2))
    assert bank.jobs.work().done == 1
    assert bank.memories.count() == 1


@promise(
    "learning:nothing", "Nothing is a good answer; what is refused is kept with the reason.", source="issue Distil"
)
def test_nothing_is_a_good_answer_and_refusals_are_kept(open_learning_bank: OpenBank) -> None:
    useless = dict(
        FROZEN, title="Be careful", description="Always", content="Be careful and test thoroughly at all times."
    )
    bank = open_learning_bank(ScriptedModel([strategies(), strategies(useless)]))
    bank.sessions.keep(solved("s1"))
    bank.sessions.keep(solved("s2", "Make the import of the price list faster"))
    assert bank.jobs.work().done == 2
    assert (len(lessons_of(bank)), bank.sessions.list(pending=True)) == (0, ())
    (refusal,) = bank.distillation.refusals()
    assert (refusal.reason, refusal.title, refusal.model) == ("no_trigger", "Be careful", "scripted")


@promise(
    "learning:no-self-promotion",
    "Successes that a model judged leave a memory at exactly 0.6, however many.",
    source="issue Judge",
)
def test_a_success_that_a_model_judged_never_promotes_a_memory(open_learning_bank: OpenBank) -> None:
    item = dict(FROZEN, steps=[0])
    bank = open_learning_bank(ScriptedModel({"judge": opinion(), "distil_success": strategies(item)}))
    for number in range(4):
        bank.sessions.keep(undecided(f"s{number}"))
    assert bank.jobs.work().done == 4
    (memory,) = bank.memories.list()
    assert [origin.kind for origin in bank.memories.origins(memory.id)] == ["distilled", *["corroborated"] * 3]
    assert memory.confidence == pytest.approx(0.6, abs=1e-12)
    assert (memory.belief.positive, memory.belief.negative) == (0, 0)


@promise("learning:corroboration", "Independent sessions with evidence raise a memory, each once.", source="DESIGN D6")
def test_independent_sessions_with_evidence_raise_a_memory_each_once(
    open_learning_bank: OpenBank, clock: FrozenClock
) -> None:
    bank = open_learning_bank(ScriptedModel({"distil_success": strategies(FROZEN)}))
    levels = []
    for number in range(4):
        bank.sessions.keep(solved(f"s{number}", f"{TASK}, version {number}"))
        bank.jobs.work()
        levels.append(lessons_of(bank)[0].confidence)
        clock.advance(timedelta(hours=1))
    (memory,) = lessons_of(bank)
    assert levels == sorted(set(levels)), "each of them counts"
    assert levels[0] == pytest.approx(0.6, abs=1e-12)
    bank.sessions.keep(solved("s3", f"{TASK}, a second time in session 3"))
    bank.sessions.keep(solved("shown", f"{TASK}, with the memory at hand", memories=[memory.id]))
    assert bank.jobs.work().done == 2
    assert bank.get(memory.id).confidence == levels[-1], "neither the same session nor one that was shown it counts"
    assert len(bank.memories.origins(memory.id)) == 6


@promise(
    "learning:distill-session",
    "A session's own summary becomes lessons without a model, at exactly 0.6; several accounts of one session are all "
    "learned, the same account twice adds nothing.",
    source="seed 000 FR-006",
)
def test_a_summary_becomes_lessons_without_a_model(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank("")

    def summary(session: str, outcome: str, **parts: str) -> SessionSummary:
        given = {
            "task": "Speed up the nightly price import of the shop",
            "approach": "Sent the rows to the database in batches of 500 instead of one by one",
            "result": "The import takes 4 minutes instead of 50",
        } | parts
        return SessionSummary(session_id=session, project_id="shop", outcome=outcome, **given)  # type: ignore[arg-type]

    report = bank.distillation.from_summary(summary("s1", "success"))
    (memory,) = [bank.get(one) for one in report.distilled]
    assert (memory.outcome, memory.state, memory.provenance["model"]) == ("success", "candidate", "template")
    assert memory.confidence == pytest.approx(0.6, abs=1e-12)
    assert "batches of 500" in memory.content
    again = bank.distillation.from_summary(summary("s1", "success"))
    assert (again.distilled, bank.memories.count(), len(bank.sessions.list())) == ((), 1, 1)
    assert "distilled before" in again.messages[0]
    other = bank.distillation.from_summary(
        summary(
            "s1",
            "success",
            task="Show the opening hours of a branch on its page",
            approach="Read the hours from the calendar of the branch and cached them for a day",
            result="Every page shows the hours of today",
        )
    )
    (further,) = [bank.get(one) for one in other.distilled]
    assert ("opening hours" in further.content, other.messages, len(bank.sessions.list())) == (True, (), 2)

    failed = bank.distillation.from_summary(
        summary(
            "s2",
            "failure",
            task="Move the order history to the archive table",
            approach="Copied it with one INSERT over all rows while the shop was open",
            result="The table was locked for eleven minutes and checkout stopped",
        )
    )
    (warning,) = [bank.get(one) for one in failed.distilled]
    assert warning.outcome == "failure"

    partial = bank.distillation.from_summary(
        summary(
            "s3",
            "partial",
            task="Upgrade the payment client and keep refunds working",
            approach="Ran the contract tests of the payment provider against both versions",
            result="Payments work with the new client, refunds still fail with error 422",
            avoid="Do not switch the refund calls before the provider has confirmed their new fields",
        )
    )
    assert sorted(bank.get(one).outcome for one in partial.distilled) == ["failure", "success"]
    assert bank.sessions.list(pending=True) == ()
    with pytest.raises(ScopeViolation):
        bank.distillation.from_summary(
            SessionSummary(session_id="s", project_id="x", outcome="success", task="t", approach="a")
        )


@promise(
    "learning:agent",
    "The calling agent distils for us, checked like a model; a session whose end is open still waits.",
    source="DESIGN D7",
)
def test_the_calling_agent_distills_for_us(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank("")
    kept = bank.sessions.keep(solved("s1"))
    assignment = bank.distillation.assignment(kept.id)
    assert TASK in assignment.record
    assert assignment.instructions
    report = bank.distillation.record(
        kept.id,
        title=str(FROZEN["title"]),
        description=str(FROZEN["description"]),
        content=str(FROZEN["content"]),
        outcome="success",
        steps=[0, 1],
    )
    (memory,) = [bank.get(one) for one in report.distilled]
    assert memory.confidence == pytest.approx(0.6, abs=1e-12)
    assert (memory.provenance["model"], report.pending) == ("agent", 0)
    twice = bank.distillation.record(
        kept.id,
        title=str(FROZEN["title"]),
        description=str(FROZEN["description"]),
        content=str(FROZEN["content"]),
        outcome="success",
    )
    assert (twice.distilled, twice.corroborated, bank.memories.count()) == ((), (memory.id,), 1)
    refused = bank.distillation.record(
        kept.id,
        title="Search the memory",
        description="When it works",
        content="Use memory_search first.",
        outcome="success",
    )
    assert [one.reason for one in refused.refused] == ["about_memory"]
    wrong = bank.distillation.record(
        kept.id,
        title="Deleting tests",
        description="When a test is red at night",
        content="Never delete a red test; the defect stays in the shop.",
        outcome="failure",
        steps=[2],
    )
    assert [one.reason for one in wrong.refused] == ["wrong_outcome"]


@promise("learning:agent")
def test_a_session_whose_end_is_open_teaches_nothing_yet_and_still_waits(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank("")
    kept = bank.sessions.keep(undecided("s1"))
    with pytest.raises(Undecided):
        bank.distillation.record(kept.id, title="t", description="When d", content="c", outcome="success")
    assert [entry.id for entry in bank.sessions.list(pending=True)] == [kept.id]
    report = bank.distillation.run(kept.id)
    assert (report.pending, len(report.messages)) == (1, 1)
    bank.sessions.verdict(kept.id, "success")
    assert bank.distillation.skip(kept.id).pending == 0


@promise("learning:forget", "A forgotten session is in no file of the bank.", source="DESIGN D10")
def test_a_forgotten_session_is_in_no_file(open_learning_bank: OpenBank, home: Path) -> None:
    marker = "zebrafish-quartz-lantern"
    bank = open_learning_bank(ScriptedModel({"distil_success": strategies(FROZEN)}))
    kept = bank.sessions.keep(
        Trajectory(task=TASK, steps=(Step(thought=f"Ask {marker}", action="x"), ran(12)), session=f"s {marker}")
    )
    other = bank.sessions.keep(solved("s2", "Another task altogether"))
    bank.sessions.delete(kept.id)
    with pytest.raises(TrajectoryNotFound):
        bank.sessions.get(kept.id)
    with pytest.raises(TrajectoryNotFound):
        bank.sessions.delete(kept.id)
    report = bank.jobs.work()
    assert (report.done, report.postponed, report.buried) == (2, 0, 0), "its job ends without it"
    assert [entry.id for entry in bank.sessions.list()] == [other.id]
    bank.close()
    assert not [path for path in home.rglob("*") if path.is_file() and marker.encode() in path.read_bytes()]


@promise(
    "learning:secrets",
    "200 planted secrets of 15 kinds are in no file, log, prompt, span or answer.",
    source="issue secrets",
)
def test_two_hundred_planted_secrets_are_nowhere(tmp_path: Path) -> None:
    """Of fifteen kinds, through every verb that takes text: not in files, prompts, spans, logs or answers."""
    done = subprocess.run(
        [sys.executable, "-m", "sessions.planted", str(tmp_path / "home")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])},
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["leaked"] == {place: [] for place in told["leaked"]}
    assert told["redacted"] >= 150
    assert min(told["sizes"][name] for name in ("files", "prompts", "spans", "while it was open")) > 2_000
    assert SECRETS[0][1] not in done.stderr
