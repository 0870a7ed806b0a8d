"""What sessions were shown, what they were kept from, and how they ended."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import cast

from promises import promise
from reasoningbank.errors import InvalidInput
from reasoningbank.types.uplift import Exposure, How, Shown
from storage.contract.base import SCOPE, START, Conformance, fill, lesson, refuses


class ExposureConformance(Conformance):
    """What a store owes to the measure of memory's worth."""

    @promise(
        "uplift:exposures",
        "What each session was shown or kept from, by which way, and how it ended is kept durably, comes back whole "
        "in every store and after a restore, and loses erased memories.",
        source="issue 4 (uplift), DESIGN D5",
    )
    def test_an_exposure_comes_back_whole(self) -> None:
        """By its session, in a transaction and outside; all in the order in which they began, however they change."""
        first, second = exposure("s-1"), exposure("s-2 ü\x00", held_out=True, succeeded=False, said_by="human")
        with self.fresh() as store:
            assert store.deliveries.exposure("s-1") is None
            assert list(store.deliveries.exposures()) == []
            fill(store, [lesson("m1"), lesson("m2"), lesson("m3")])
            with store.transaction() as transaction:
                transaction.deliveries.expose(first)
                transaction.deliveries.expose(second)
                assert transaction.deliveries.exposure("s-1") == first
            assert list(store.deliveries.exposures()) == [first, second]
            shown = (*reversed(first.shown), Shown(memory_id="m3", how="asked"))
            changed = replace(first, shown=shown, tokens=7, succeeded=True, said_by="agent", eligible=False)
            with store.transaction() as transaction:
                transaction.deliveries.expose(changed)
            assert list(store.deliveries.exposures()) == [changed, second]
            assert store.deliveries.exposure(second.session) == second
            assert store.check().problems == ()

    @promise("uplift:exposures")
    def test_what_is_said_of_some_memories_leaves_the_others_as_they_were(self) -> None:
        """In the order of meeting, whether or not they are read before they are written."""
        with self.fresh() as store:
            fill(store, [lesson(f"m{number}") for number in range(1, 6)])
            with store.transaction() as transaction:
                transaction.deliveries.expose(exposure("s-1"))
            before = store.deliveries.exposure("s-1")
            assert before is not None
            named = ("m2", "m4", "missing")
            with store.transaction() as transaction:
                known, memories = transaction.deliveries.exposure_among("s-1", named)
                assert known == replace(before, shown=tuple(one for one in before.shown if one.memory_id == "m2"))
                assert set(memories) == {"m2", "m4"}
                fourth = Shown(memory_id="m4", how="asked")
                transaction.deliveries.expose(replace(known, shown=(*known.shown, fourth), tokens=9), among=named)
            with store.transaction() as transaction:
                fifth = Shown(memory_id="m5", how="injected")
                transaction.deliveries.expose(replace(before, shown=(fifth,), tokens=9), among=("m5",))
            assert store.deliveries.exposure("s-1") == replace(before, shown=(*before.shown, fourth, fifth), tokens=9)
            with store.transaction() as transaction:
                assert transaction.deliveries.exposure_among("new", ("m1",))[0] is None
                transaction.deliveries.expose(exposure("new", shown=(fifth,)), among=("m5",))
            assert store.deliveries.exposure("new") == exposure("new", shown=(fifth,))
            assert store.check().problems == ()

    @promise("uplift:exposures")
    def test_erased_memories_are_gone_from_exposures(self) -> None:
        """And those that never were are left out; the session stays."""
        with self.fresh() as store:
            fill(store, [lesson("m1"), lesson("m2")])
            with store.transaction() as transaction:
                transaction.deliveries.expose(exposure("s-1"))
                transaction.deliveries.expose(exposure("s-2", shown=(Shown(memory_id="gone", how="injected"),)))
                transaction.memories.delete("m1")
            kept = store.deliveries.exposure("s-1")
            assert kept is not None
            assert [one.memory_id for one in kept.shown] == ["m2"]
            assert store.deliveries.exposure("s-2") == exposure("s-2", shown=())
            assert store.check().problems == ()

    @promise("uplift:exposures")
    def test_an_unusable_exposure_changes_nothing(self) -> None:
        """A way of meeting that nobody knows, a text that is not Unicode, or a transaction that fails."""
        with self.fresh() as store:
            fill(store, [lesson("m1"), lesson("m2")])
            with store.transaction() as transaction:
                transaction.deliveries.expose(exposure("s-1"))
            strange = (Shown(memory_id="m1", how=cast(How, "guessed")),)
            for wrong in (exposure("s-1", shown=strange), exposure("\ud800")):
                with refuses(InvalidInput), store.transaction() as transaction:
                    transaction.deliveries.expose(wrong)
            try:
                with store.transaction() as transaction:
                    transaction.deliveries.expose(exposure("s-1", tokens=9))
                    raise KeyError
            except KeyError:
                pass
            assert list(store.deliveries.exposures()) == [exposure("s-1")]

    @promise("uplift:exposures")
    def test_exposures_are_part_of_a_backup(self) -> None:
        """A restored bank has those of its backup and no others."""
        storage = self.storage()
        store = storage.open(SCOPE)
        with self.directory() as folder:
            fill(store, [lesson("m1"), lesson("m2")])
            with store.transaction() as transaction:
                transaction.deliveries.expose(exposure("s-1"))
            store.backup(folder / "copy")
            with store.transaction() as transaction:
                transaction.deliveries.expose(exposure("s-2"))
            store.close()
            storage.restore(SCOPE, folder / "copy")
            again = storage.open(SCOPE)
            assert list(again.deliveries.exposures()) == [exposure("s-1")]
            again.close()


def exposure(session: str, **changes: object) -> Exposure:
    """An exposure of this session that met two memories."""
    plain = Exposure(
        session=session,
        at=START + timedelta(hours=1),
        eligible=True,
        share=0.1,
        tokens=120,
        shown=(Shown(memory_id="m2", how="injected", succeeded=True), Shown(memory_id="m1", how="withheld")),
    )
    changed: Exposure = replace(plain, **changes)  # type: ignore[arg-type]  # names of fields
    return changed
