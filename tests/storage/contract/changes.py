"""What a store logs of its memories' states, with times and causes, and of memories that were erased."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from promises import promise
from reasoningbank.errors import InvalidInput, MemoryNotFound
from reasoningbank.types.memory import Cause, Erasure, State, StateChange, change_of
from storage.contract.base import SCOPE, START, Conformance, fill, indexed, lesson, refuses

LATER = START + timedelta(days=1)
CAUSE = Cause(at=LATER, kind="quarantined", reference="q1", reason="Poisoned.", by="me", because=("m0",))


class ChangeConformance(Conformance):
    """The log of states, and the one of erasures."""

    @promise(
        "storage:changes",
        "Every change of a state is logged with its time and cause, and comes back from a backup.",
        source="issue 4",
    )
    def test_a_new_state_is_logged_with_its_cause_and_nothing_else_is(self) -> None:
        """Use, evidence and edits of the text leave the log as it is; what a memory went into does not."""
        with self.fresh() as store:
            fill(store, [lesson("m1"), lesson("m2")])
            assert list(store.memories.changes()) == []
            assert store.memories.changes_since() is None
            with store.transaction() as transaction:
                transaction.memories.update(replace(lesson("m1"), usage_count=3))
                transaction.memories.update(replace(lesson("m1"), title="Edited", version=2), indexed(), revision=True)
                assert list(transaction.memories.changes()) == []
                transaction.memories.update(lesson("m1", state="quarantined"), cause=CAUSE)
                transaction.memories.update(
                    lesson("m2", state="archived", consolidation_id="m9"), cause=replace(CAUSE, at=START)
                )
                expected = [
                    change_of(lesson("m1"), lesson("m1", state="quarantined"), CAUSE),
                    change_of(
                        lesson("m2"), lesson("m2", state="archived", consolidation_id="m9"), replace(CAUSE, at=START)
                    ),
                ]
                assert list(transaction.memories.changes()) == expected
            assert list(store.memories.changes()) == expected
            with store.transaction() as transaction:
                transaction.memories.update(lesson("m2", state="archived"), cause=Cause(at=LATER, kind="undone"))
            assert store.memories.changes()[-1] == StateChange(
                memory_id="m2", at=LATER, before="archived", after="archived", kind="undone", merged_before="m9"
            )

    @promise("storage:changes")
    def test_the_log_is_read_by_memory_by_reference_and_from_a_time_on(self) -> None:
        """In the order it was written, whatever the times; a time itself is left out."""
        with self.fresh() as store:
            fill(store, [lesson("m1"), lesson("m2")])
            with store.transaction() as transaction:
                for number, name in enumerate(("m1", "m2", "m1")):
                    at = START + timedelta(days=5 - number)
                    memory = transaction.memories.get(name)
                    state: State = "archived" if memory.state == "active" else "candidate"
                    cause = Cause(at=at, kind="edited", reference="r" if number else "")
                    transaction.memories.update(replace(memory, state=state), cause=cause)
            assert [(each.memory_id, each.after) for each in store.memories.changes()] == [
                ("m1", "archived"),
                ("m2", "archived"),
                ("m1", "candidate"),
            ]
            assert [each.after for each in store.memories.changes(memory_id="m1")] == ["archived", "candidate"]
            assert [each.memory_id for each in store.memories.changes(reference="r")] == ["m2", "m1"]
            referring = [each for each in store.memories.changes() if each.reference]
            assert 0 < len(referring) < len(store.memories.changes())
            assert list(store.memories.changes(referring=True)) == referring
            assert [each.memory_id for each in store.memories.changes(memory_id="m1", reference="r")] == ["m1"]
            assert [each.memory_id for each in store.memories.changes(since=START + timedelta(days=3))] == ["m1", "m2"]
            assert (
                list(store.memories.changes(memory_id="nobody"))
                == list(store.memories.changes(reference="nothing"))
                == []
            )

    @promise("storage:changes")
    def test_without_a_cause_a_change_happens_now(self) -> None:
        """No change of a state is lost for want of a reason."""
        with self.fresh() as store:
            fill(store, [lesson("m1")])
            before = datetime.now(tz=START.tzinfo)
            with store.transaction() as transaction:
                transaction.memories.update(lesson("m1", state="archived"))
            (change,) = store.memories.changes()
            assert (change.before, change.after, change.kind) == ("active", "archived", "changed")
            assert before <= change.at <= datetime.now(tz=START.tzinfo)

    @promise("storage:changes")
    def test_a_note_changes_no_state_and_names_a_memory(self) -> None:
        """What cannot be stored is refused, and then nothing was written."""
        with self.fresh() as store:
            fill(store, [lesson("m1")])
            with store.transaction() as transaction:
                transaction.memories.note(change_of(lesson("m1"), lesson("m1"), CAUSE))
                with refuses(MemoryNotFound):
                    transaction.memories.note(change_of(lesson("m2"), lesson("m2"), CAUSE))
                with refuses(InvalidInput):
                    transaction.memories.note(
                        change_of(lesson("m1"), lesson("m1"), replace(CAUSE, at=LATER.replace(tzinfo=None)))
                    )
                with refuses(InvalidInput):
                    transaction.memories.note(change_of(lesson("m1"), lesson("m1"), replace(CAUSE, reason="\ud800")))
            assert [each.kind for each in store.memories.changes()] == ["quarantined"]
            assert store.memories.get("m1") == lesson("m1")
            with refuses(InvalidInput), store.transaction() as transaction:
                bad = replace(CAUSE, at=LATER.replace(tzinfo=None))
                transaction.memories.update(lesson("m1", state="archived"), cause=bad)
            assert store.memories.get("m1").state == "active"

    @promise("storage:changes")
    @promise("storage:erasures", "Of an erased memory two times are left and nothing else.", source="issue 4")
    def test_of_an_erased_memory_two_times_are_left(self) -> None:
        """When it was made and when it went; its changes are erased with it."""
        with self.fresh() as store:
            fill(store, [lesson("m1"), lesson("m2")])
            with store.transaction() as transaction:
                transaction.memories.update(lesson("m1", state="quarantined"), cause=CAUSE)
                transaction.memories.delete("m1", at=LATER)
                transaction.memories.delete("m2", at=LATER + timedelta(days=1))
            assert list(store.memories.changes()) == []
            assert list(store.memories.erasures(since=START)) == [
                Erasure(created_at=lesson("m1").created_at, at=LATER),
                Erasure(created_at=lesson("m2").created_at, at=LATER + timedelta(days=1)),
            ]
            assert [each.at for each in store.memories.erasures(since=LATER)] == [LATER + timedelta(days=1)]

    @promise("storage:changes")
    def test_the_log_comes_back_from_a_backup(self) -> None:
        """With everything in it."""
        with self.directory() as folder:
            storage = self.storage()
            store = storage.open(SCOPE)
            fill(store, [lesson("m1"), lesson("m2")])
            with store.transaction() as transaction:
                transaction.memories.update(lesson("m1", state="quarantined"), cause=CAUSE)
                transaction.memories.delete("m2", at=LATER)
            changes, erasures = list(store.memories.changes()), list(store.memories.erasures(since=START))
            store.backup(folder / "copy")
            with store.transaction() as transaction:
                transaction.memories.delete("m1", at=LATER)
            store.close()
            storage.restore(SCOPE, folder / "copy")
            again = storage.open(SCOPE)
            assert list(again.memories.changes()) == changes
            assert list(again.memories.erasures(since=START)) == erasures
            again.close()
