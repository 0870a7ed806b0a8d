"""A process that is killed while it merges or undoes leaves every cluster whole: merged, or as it was."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from curation.merger import FORCED, opened
from promises import promise
from recorded_memories import exported, said

KILLS = 12
TORTURE_KILLS = 200
TESTS = Path(__file__).resolve().parents[1]


@promise("consolidating:all-or-nothing")
@promise("consolidating:undo-exact")
def test_a_killed_merge_leaves_all_or_nothing(tmp_path: Path, torture: bool) -> None:
    with opened(tmp_path) as bank:
        for group in range(6):
            for number in range(3):
                said(bank, f"group {group} has the words w{group}a w{group}b w{group}c w{group}d and {number}")
        bank.feedback(bank.memories.list()[0].id, helpful=True)
        before = exported(bank, tmp_path)
    chance = random.Random(5)
    merged = 0
    for _ in range(TORTURE_KILLS if torture else KILLS):
        child = subprocess.Popen(
            [sys.executable, "-m", "curation.merger", str(tmp_path)], cwd=TESTS, stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        with child:
            assert child.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0.0, 0.5))
            child.send_signal(signal.SIGKILL)
        with opened(tmp_path) as bank:
            assert bank.admin.check().problems == ()
            recallable = bank.memories.list(states=("active",))
            made = [memory for memory in recallable if "consolidation" in memory.provenance]
            archived = bank.memories.list(states=("archived",))
            merged += len(made)
            assert {memory.consolidation_id for memory in archived} == {memory.id for memory in made}
            assert len(archived) == 3 * len(made)
            assert len(recallable) == 18 - 2 * len(made)
            for memory in made:
                bank.curation.undo(memory.id)
            assert exported(bank, tmp_path) == before
    with opened(tmp_path) as bank:
        assert len(bank.curation.consolidate(FORCED).created_memories) == 6
    print(f"{merged} merges found after kills")
