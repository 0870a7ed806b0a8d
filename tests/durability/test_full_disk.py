"""A full disk neither shows what is to be withheld nor hides the report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from curation.test_holdout import SHOP, held, lesson
from durability.faulty_disk import NAME, Disk, FailingSystem
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.context import Context
from reasoningbank.settings import Settings
from reasoningbank.storage.sqlite_file import SqliteStorage
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.uplift import Exposure, Shown


@pytest.fixture
def disk() -> Iterator[Disk]:
    """A disk that can be full, as a file system of this process."""
    if NAME in apsw.vfs_names():
        pytest.skip("the failing file system is in use")
    state = Disk(seed=3)
    system = FailingSystem(state)
    yield state
    system.unregister()


@promise("uplift:held-out")
@promise("harm:set-aside")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_on_a_full_disk_a_held_out_session_stays_without_and_the_report_comes(disk: Disk, tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "bank.db", vfs=NAME)
    settings = Settings(home=tmp_path / "home", holdout=0.5)
    with Bank(Context(storage, SHOP, HashingEmbedder(), settings=settings, clock=FrozenClock())) as bank:
        good, harm = lesson(bank), lesson(bank, "Skip the tests")
        with bank._context.store().transaction() as transaction:
            for number in range(120):
                met = (Shown(memory_id=harm if number % 3 == 0 else good, how="asked"),)
                end = Exposure(session=f"x{number}", at=bank._context.clock.now(), shown=met, succeeded=number % 3 > 0)
                transaction.deliveries.expose(end)
        disk.share = 1.0
        brief = bank.briefing(session=held(0.5))
        assert (brief.text, brief.items) == ("", ())
        assert "was not noted" in brief.warnings[0]
        report = bank.report()
        assert [(one.memory_id, one.set_aside) for one in report.harmful] == [(harm, False)]
        assert "could not be set aside" in report.message
        disk.share = 0.0
        assert [one.set_aside for one in bank.report().harmful] == [True]
        assert bank.briefing(session=held(0.5)).items == ()
