"""The states of a workflow in the bank itself, and any order of steps: no state is left that nothing leads out of."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.conversations import workflows as states
from reasoningbank.errors import EmptyContent, InvalidInput, ModelUnavailable, WorkflowBusy, WorkflowNotFound
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.settings import Settings
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.conversation import Workflow

AT = datetime(2026, 9, 1, tzinfo=UTC)
CLEAR = "Why did demand for bottled water double in July?"
VAGUE = "What's the best product?"


class Steps(RuleBasedStateMachine):
    """Any steps in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.flow = states.begun(None, "w", CLEAR, user="", role="", at=AT)
        self.seen = list(self.flow.events)

    def step(self, change: Callable[[Workflow], Workflow], allowed: bool) -> None:
        """A step is done when the state allows it, and refused without a trace when not."""
        if not allowed:
            with pytest.raises(WorkflowBusy):
                change(self.flow)
            return
        after = change(self.flow)
        assert after.cursor == self.flow.cursor + 1
        self.seen.append(after.events[-1])
        self.flow = after

    @rule(said=st.sampled_from([CLEAR, VAGUE]))
    def ask(self, said: str) -> None:
        """The user says something."""
        waiting, turn = self.flow.status == "waiting_for_input", self.flow.message_id
        self.step(lambda flow: states.begun(flow, "w", said, user="", role="", at=AT), self.flow.status != "running")
        if waiting:
            assert (self.flow.message_id, self.flow.clarification) == (turn, said)

    @rule()
    def ask_back(self) -> None:
        """A question back, once a turn."""
        if self.flow.status == "running" and not self.flow.clarification and not self.flow.searched:
            self.step(lambda flow: states.asked_back(flow, "Which?", AT), True)

    @rule()
    def find(self) -> None:
        """Memories are found."""
        if self.flow.status == "running" and not self.flow.searched:
            self.step(lambda flow: states.found(flow, {"memories": []}, AT), True)

    @rule(own=st.booleans())
    def answer(self, own: bool) -> None:
        """An answer, to this turn or another one."""
        name = self.flow.message_id if own else "other"
        self.step(
            lambda flow: states.answered(flow, name, "So.", reasoning="", tool_calls=(), remembered={}, at=AT),
            own and self.flow.status == "running",
        )

    @rule()
    def cancel(self) -> None:
        """The user goes away."""
        self.step(lambda flow: states.cancelled(flow, AT), self.flow.status in {"running", "waiting_for_input"})

    @invariant()
    def events_are_numbered_and_none_is_lost(self) -> None:
        """A cursor gives exactly what is later; results are a part of it."""
        assert [event.cursor for event in self.seen] == list(range(1, self.flow.cursor + 1))
        middle = self.flow.cursor // 2
        kept = [event for event in self.seen if event.cursor > middle][-states.MOST_EVENTS :]
        assert list(self.flow.after(middle)) == kept
        assert {event.kind for event in self.flow.after(0, final_only=True)} <= {"memories", "complete"}

    @invariant()
    def it_is_the_same_after_it_was_stored(self) -> None:
        """What is written is what is read."""
        assert states._read(states._fields(self.flow)) == self.flow
        assert len(self.flow.turns) <= states.MOST_TURNS


TestSteps = promise("workflow:states")(Steps.TestCase)
TestSteps.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


@promise(
    "memoria:P25",
    "Workflow states over REST and WebSocket: running, waiting, 409 when busy, only later events after a cursor, "
    "memories and complete alone when final, an answer ends the turn, 404 for an unknown id.",
    source="spec/memoria_haios P25",
)
def test_the_bank_takes_a_turn_from_question_to_remembered_answer(open_bank: OpenBank) -> None:
    bank = open_bank()
    waiting = bank.workflows.execute(VAGUE, user="dana")
    assert waiting.status == "waiting_for_input"
    assert bank.workflows.search(waiting.id) == waiting
    run = bank.workflows.execute("frost on ferns", workflow_id=waiting.id)
    assert run.status == "running"
    searched = bank.workflows.search(run.id)
    assert searched.searched
    assert bank.workflows.search(run.id) == searched
    done = bank.workflows.answer(run.id, run.message_id, "Heat packs.", reasoning="Cold nights.", tool_calls=[{"a": 1}])
    assert done.status == "completed"
    assert open_bank().workflows.get(run.id) == done
    (turn,) = done.turns
    assert (turn.clarification_question, turn.clarification) == (waiting.clarification_question, "frost on ferns")
    assert [node.text for node in bank.graph.conversation(run.id)] == [f"{VAGUE} frost on ferns", "Heat packs."]
    with pytest.raises(WorkflowBusy):
        bank.workflows.answer(run.id, run.message_id, "Again.")
    with pytest.raises(WorkflowNotFound):
        bank.workflows.get("nowhere")
    with pytest.raises(EmptyContent):
        bank.workflows.answer(run.id, run.message_id, " ")
    with pytest.raises(InvalidInput):
        bank.workflows.answer(run.id, run.message_id, "x" * 200_000)


@promise(
    "workflow:history",
    "A later turn understands what it points at from the turns before.",
    source="spec/memoria_haios 5.2",
)
def test_a_later_turn_knows_what_it_points_at(open_bank: OpenBank) -> None:
    bank = open_bank()
    first = bank.workflows.execute(CLEAR)
    bank.workflows.answer(first.id, first.message_id, "The heat wave of July.")
    second = bank.workflows.execute("Why did it hurt?", workflow_id=first.id)
    assert second.status == "running"
    alone = bank.workflows.execute("Why did it hurt?")
    assert alone.status == "waiting_for_input"


@promise("workflow:secrets", "No secret of what was said or answered is kept in a workflow.", source="DESIGN D10")
def test_no_secret_is_kept_of_what_was_said(open_bank: OpenBank, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    bank = open_bank(
        model=ScriptedModel({"questions": ModelUnavailable("down"), "conversation": ModelUnavailable("down")})
    )
    run = bank.workflows.execute(f"Why does {secret} fail for bottled water?")
    done = bank.workflows.answer(run.id, run.message_id, f"Use {secret}.", tool_calls=[{"token": secret}])
    assert secret not in repr(done)
    assert secret.encode() not in bank.admin.backup(tmp_path / "copy.db").read_bytes()


@promise("workflow:lease", "A search that nobody ends is known as stalled after its time.", source="issue 5")
def test_a_search_that_nobody_ends_is_stalled_after_its_time(open_bank: OpenBank, clock: FrozenClock) -> None:
    bank = open_bank()
    run = bank.workflows.execute(CLEAR)
    assert not bank.workflows.stalled(run)
    clock.advance(timedelta(minutes=3))
    assert bank.workflows.stalled(run)
    assert not bank.workflows.stalled(bank.workflows.search(run.id))


@promise(
    "workflow:states",
    "Any order of steps leaves a workflow in a documented state; events are numbered without gaps; two processes "
    "cannot both begin a turn.",
    source="spec/memoria_haios P25",
)
def test_two_processes_cannot_both_begin_a_turn(open_bank: OpenBank) -> None:
    first, second = open_bank(), open_bank()
    run = first.workflows.execute(CLEAR)
    with pytest.raises(WorkflowBusy):
        second.workflows.execute(CLEAR, workflow_id=run.id)
    assert second.workflows.cancel(run.id).status == "cancelled"
    assert first.workflows.execute(CLEAR, workflow_id=run.id).status == "running"


@promise("workflow:size", "A long workflow keeps its last events and turns and can always be stored.", source="issue 5")
def test_long_workflows_keep_their_last_events_and_stay_storable() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings_ = Settings(home=Path(folder))
        with Bank.open(tenant="t", project="p", embedder=HashingEmbedder(), settings=settings_) as bank:
            flow = bank.workflows.execute(CLEAR)
            for _ in range(8):
                flow = bank.workflows.answer(flow.id, flow.message_id, "word " * 19_000)
                flow = bank.workflows.execute(CLEAR, workflow_id=flow.id)
            assert len(flow.turns) >= 1
            assert bank.workflows.get(flow.id).events[-1].cursor == flow.cursor
