"""Random curation: whatever is recorded, rated, merged, undone, archived, held, released, promoted, aged or killed.

After every step evidence is conserved, no id is in two states or two banks, every belief follows from its evidence,
and every state from the log. An undo and a release are exact, a search stays inside its scope, and the past stays as it
was.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from curation.curated_banks import FORCED, PROJECTS, TEAM, TEXTS, broken, evidence, exports, opened, stores_of
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import InvalidInput, MemoryNotFound, MemoryQuarantined, StoreBusy
from reasoningbank.memories.states import set_aside
from reasoningbank.testing import FrozenClock
from reasoningbank.types.lifecycle import DecayRules, PruneRules
from reasoningbank.types.memory import Memory
from reasoningbank.types.quarantine import PastMemory
from reasoningbank.types.recall import Filter
from reasoningbank.types.scope import Scope

TESTS = Path(__file__).resolve().parents[1]
places = st.integers(0, 30)
projects = st.sampled_from((0, 1))
sessions = st.sampled_from(("s1", "s2", "s3"))
EDITS = ("text", "revert", "state", "state")
AGEING = ("decay", "prune", "roll up", "")
HOW = ("outcome", "agent", "human")
Seen = tuple[object, ...]


def seen(past: PastMemory) -> Seen:
    """What a view of the past is sure of."""
    memory = past.memory
    return (memory.id, memory.title, memory.content, memory.state, memory.consolidation_id, memory.belief)


class Curation(RuleBasedStateMachine):
    """Two projects of a team, and everything that can be done to their memories."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.home = Path(self._folder.name) / "home"
        self.clock = FrozenClock()
        self.banks = [opened(self.home, name, self.clock, model=name == PROJECTS[0]) for name in PROJECTS]
        self.left: list[Bank] = []
        self.believed = (0, 0)
        self.remembered: list[tuple[int, datetime, list[Seen]]] = []
        self.undone: list[datetime] = []
        self.killed = False

    def teardown(self) -> None:
        try:
            for number, moment, rows in self.remembered:
                self.compare(number, moment, rows)
            for bank in self.banks:
                assert bank.admin.check().problems == ()
        finally:
            for bank in (*self.banks, *self.left):
                bank.close()
            self._folder.cleanup()

    # What is known

    def chosen(self, bank: Bank, place: int, wanted: Callable[[Memory], bool] = lambda _: True) -> Memory | None:
        """A memory of the project that is as wanted."""
        fitting = [memory for memory in bank.memories.list() if wanted(memory)]
        return fitting[place % len(fitting)] if fitting else None

    @staticmethod
    def wanted(place: int) -> Callable[[Memory], bool]:
        """Mostly a memory that went into another: that is where a quarantine spreads from."""
        return lambda memory: place % 3 == 0 or memory.consolidation_id is not None

    def gave(self, bank: Bank) -> None:
        """Evidence was given: there is more of it, and never less."""
        now = evidence(bank)
        assert now[0] >= self.believed[0]
        assert now[1] >= self.believed[1]
        self.believed = now

    # Evidence

    @initialize(
        first=st.lists(st.tuples(st.sampled_from(TEXTS), sessions), min_size=3, max_size=6),
        second=st.lists(st.tuples(st.sampled_from(TEXTS), sessions), min_size=1, max_size=3),
        merged=st.booleans(),
    )
    def begin(self, first: list[tuple[str, str]], second: list[tuple[str, str]], merged: bool) -> None:
        for bank, lessons in zip(self.banks, (first, second), strict=True):
            for text, session in lessons:
                bank.record(title="A lesson", content=text, outcome="success", session=session)
            if merged:
                bank.curation.consolidate(FORCED)

    @rule(project=projects, text=st.sampled_from(TEXTS), session=sessions, confidence=st.sampled_from((0.5, 0.8, 0.9)))
    def record(self, project: int, text: str, session: str, confidence: float) -> None:
        outcome = "failure" if confidence == 0.5 else "success"
        self.banks[project].record(
            title="A lesson", content=text, outcome=outcome, session=session, confidence=confidence
        )

    @rule(project=projects, place=places, good=st.booleans(), session=sessions, how=st.sampled_from(HOW))
    def rate(self, project: int, place: int, good: bool, session: str, how: str) -> None:
        bank = self.banks[project]
        memory = self.chosen(bank, place)
        if memory is None:
            return
        refused = memory.state == "quarantined" and how == "agent"
        with pytest.raises(MemoryQuarantined) if refused else nullcontext():
            if how == "outcome":
                bank.outcome(memory.id, succeeded=good, session=session)
            else:
                bank.feedback(memory.id, helpful=good, session=session, rater="agent" if how == "agent" else "human")
        self.gave(bank)

    @rule(project=projects, text=st.sampled_from(TEXTS), session=sessions)
    def search(self, project: int, text: str, session: str) -> None:
        bank = self.banks[project]
        recall = bank.search(text, session=session, min_confidence=0.3)
        own = {memory.id for memory in bank.memories.list(states=("active", "candidate"))}
        team = Scope(tenant="acme", project=TEAM, level="team")
        for store in stores_of(bank):
            if store.scope == team:
                own |= {memory.id for memory in store.memories.page(Filter(), limit=0, offset=0)}
        assert {hit.id for hit in recall.delivered} <= own
        self.gave(bank)

    # Curation: none of it gives or takes evidence

    @rule(project=projects)
    def merge(self, project: int) -> None:
        result = self.banks[project].curation.consolidate(FORCED)
        assert result.skipped_count == 0, result.messages

    @rule(project=projects, place=places, rated=st.booleans())
    def undo(self, project: int, place: int, rated: bool) -> None:
        bank = self.banks[project]
        memory = self.chosen(bank, place, lambda each: "sources" in each.provenance)
        if memory is None:
            return
        if rated:
            bank.feedback(memory.id, helpful=place % 2 == 0)
            bank.outcome(memory.id, succeeded=True)
            self.gave(bank)
        try:
            bank.curation.undo(memory.id)
        except InvalidInput:
            return
        self.undone.append(self.clock.now())

    @rule(project=projects)
    def merge_and_undo(self, project: int) -> None:
        bank = self.banks[project]
        before = exports(bank, self.home)
        for name in reversed(bank.curation.consolidate(FORCED).created_memories):
            bank.curation.undo(name)
        self.undone.append(self.clock.now())
        assert exports(bank, self.home) == before

    @rule(project=projects, place=places, how=st.sampled_from(EDITS))
    def edit(self, project: int, place: int, how: str) -> None:
        bank = self.banks[project]
        memory = self.chosen(bank, place)
        if memory is None:
            return
        alone = memory.consolidation_id is None and "sources" not in memory.provenance
        if how == "text":
            bank.update(memory.id, content=f"{TEXTS[place % len(TEXTS)]} again")
        elif how == "revert":
            bank.memories.revert(memory.id, 1)
        elif alone and memory.state != "quarantined":
            bank.update(memory.id, state="active" if memory.state == "archived" else "archived")

    @rule(project=projects, place=places, cascade=st.booleans())
    def hold(self, project: int, place: int, cascade: bool) -> None:
        bank = self.banks[project]
        memory = self.chosen(bank, place, self.wanted(place))
        if memory is not None:
            report = bank.quarantine.add(memory_id=memory.id, reason="A memory.", cascade=cascade)
            again = bank.quarantine.add(memory_id=memory.id, reason="Again.", cascade=cascade)
            assert (again.quarantined, again.surfaced) == ((), ())
            assert again.held == report.held + len(report.quarantined)

    @rule(project=projects, session=sessions)
    def hold_a_session(self, project: int, session: str) -> None:
        self.banks[project].quarantine.add(session=session, reason="A session.")
        self.believed = evidence(self.banks[0])  # what the session has said does not count meanwhile

    @rule(project=projects, place=places)
    def set_aside(self, project: int, place: int) -> None:
        bank = self.banks[project]
        memory = self.chosen(bank, place)
        if memory is not None:
            with bank._context.store().transaction() as transaction:
                set_aside(transaction, [memory.id], reason="Harm.", at=self.clock.now())

    @rule(project=projects, place=places)
    def hold_and_release(self, project: int, place: int) -> None:
        bank = self.banks[project]
        memory = self.chosen(bank, place, self.wanted(place))
        if memory is None or memory.state == "quarantined":
            return
        before = exports(bank, self.home)
        report = bank.quarantine.add(memory_id=memory.id, reason="For a moment.")
        if place % 2:
            bank.quarantine.release(quarantine_id=report.id)
        else:
            bank.quarantine.release(memory_id=memory.id)
        assert exports(bank, self.home) == before

    @rule(project=projects, place=places, whole=st.booleans())
    def release(self, project: int, place: int, whole: bool) -> None:
        bank = self.banks[project]
        memory = self.chosen(bank, place, lambda each: each.state == "quarantined")
        held = bank.quarantine.list()
        if whole and held:
            bank.quarantine.release(quarantine_id=held[place % len(held)].id)
        elif memory is not None:
            bank.quarantine.release(memory_id=memory.id)
        self.believed = evidence(self.banks[0])

    @rule(project=projects, first=places, second=places)
    def promote(self, project: int, first: int, second: int) -> None:
        bank, other = self.banks[project], self.banks[1 - project]
        one, two = self.chosen(bank, first), self.chosen(other, second)
        if one is None or two is None:
            return
        try:
            bank.sharing.promote(
                [one.id, two.id], reviewer="me", title="Close things", content=f"Close what is moved, {first} times."
            )
        except (InvalidInput, StoreBusy, MemoryNotFound):
            return

    @rule(project=projects, place=places)
    def demote(self, project: int, place: int) -> None:
        bank = self.banks[project]
        promoted = bank.sharing.promotions()
        if promoted:
            try:
                bank.sharing.demote(promoted[place % len(promoted)].memory.id, reviewer="me", reason="Wrong.")
            except InvalidInput:
                return

    # Time

    @rule(project=projects, days=st.sampled_from((0.01, 1, 20, 45)), then=st.sampled_from(AGEING))
    def wait(self, project: int, days: float, then: str) -> None:
        bank = self.banks[project]
        self.clock.advance(timedelta(days=days))
        if then == "decay":
            bank.curation.decay(DecayRules(recorded=True))
            self.gave(bank)
        elif then == "prune":
            bank.curation.prune(PruneRules(below=0.6, after_days=30))
        elif then == "roll up":
            bank.admin.roll_up()

    @rule(project=projects)
    def remember(self, project: int) -> None:
        self.clock.advance(timedelta(seconds=1))
        rows = [seen(PastMemory(memory=memory)) for memory in self.banks[project].memories.list()]
        self.remembered.append((project, self.clock.now(), rows))
        self.clock.advance(timedelta(seconds=1))

    # What goes wrong

    @rule(project=projects, closed=st.booleans())
    def reopen(self, project: int, closed: bool) -> None:
        old = self.banks[project]
        if closed:
            old.close()
        else:
            self.left.append(old)
        name = PROJECTS[project]
        self.banks[project] = opened(self.home, name, self.clock, model=name == PROJECTS[0])

    @rule(milliseconds=st.sampled_from((None, None, None, None, None, 0, 20, 100, 300)))
    def kill(self, milliseconds: int | None) -> None:
        if milliseconds is None or self.killed:
            return
        self.killed = True
        command = [sys.executable, "-m", "curation.curated_banks", str(self.home)]
        with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            time.sleep(milliseconds / 1_000)
            child.send_signal(signal.SIGKILL)
        self.clock.set(max(self.clock.now(), datetime.now(UTC)) + timedelta(seconds=1))
        self.remembered.clear()

    # What must hold

    @invariant()
    def evidence_is_conserved(self) -> None:
        assert evidence(self.banks[0]) == self.believed

    @invariant()
    def every_fact_holds(self) -> None:
        assert list(broken(self.banks[0])) == []

    def compare(self, number: int, moment: datetime, rows: list[Seen]) -> None:
        """The past is what was remembered of it, where it is known."""
        bank = self.banks[number]
        view, store = bank.at(moment), bank._context.store()
        shown = {past.id: past for past in view.list()}
        assert set(shown) <= {str(row[0]) for row in rows}
        for row in rows:
            past = shown.get(str(row[0]))
            if past is None:
                assert any(moment < undone for undone in self.undone)
            else:
                noticed_late = any(each.type == "disuse" for each in store.evidence.signals(past.id))
                known = past.exact and not noticed_late and not store.evidence.aggregate(past.id).disuse_negative
                assert seen(past)[: len(row) if known else -1] == row[: len(row) if known else -1]


@promise("curation:evidence", "Random curation neither makes nor loses evidence.", source="issue 4")
@promise(
    "curation:states",
    "After any curation no id is in two states or banks, and every state follows from the log.",
    source="issue 4",
)
@promise(
    "curation:exact",
    "In any state of a bank a merge and its undo, and a quarantine and its release, change nothing.",
    source="issue 4",
)
@promise(
    "curation:scope",
    "Whatever was curated, a search delivers only what its scopes hold and may be recalled.",
    source="issue 4",
)
@promise(
    "curation:replay",
    "After every step each belief follows from its evidence, and a killed process leaves a sound bank.",
    source="issue 4",
)
@pytest.mark.timeout(7_200)
def test_random_curation_keeps_every_promise(torture: bool) -> None:
    chosen = settings(max_examples=400 if torture else 20, stateful_step_count=50 if torture else 25)
    run_state_machine_as_test(Curation, settings=chosen)
