"""``python -m durability.killed_writers NAME``: forks a process for each task, which writes until it is killed.

The parent has done all that its children do once, so that a child begins to work at once and a kill meets work.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from durability.bank_writers import BANK_WRITERS
from durability.curation_writers import CURATION_WRITERS
from durability.nursery import Task, fork_for_each_line, reporting
from durability.upkeep_writers import UPKEEP_WRITERS
from durability.writers import Writer

WRITERS = {writer.name: writer for writer in (*BANK_WRITERS, *CURATION_WRITERS, *UPKEEP_WRITERS)}
WARM = 8


class _Warm(Exception):
    """Ends a writer that has done enough to have everything loaded."""


def _warm_up(writer: Writer) -> None:
    left = WARM

    def report(event: str) -> None:
        nonlocal left
        left -= event.startswith("done")
        if not left:
            raise _Warm

    with TemporaryDirectory() as scratch:
        home = Path(scratch) / "home"
        writer.prepare(home)
        try:
            writer.write(home, report)
        except _Warm:
            return


def _write(task: Task) -> None:
    with reporting(task) as report:
        WRITERS[task.role].write(Path(task.bank), report)
        report("end")
        time.sleep(60)


def main(name: str) -> None:
    """Forks writers of one kind."""
    _warm_up(WRITERS[name])
    fork_for_each_line(_write)


if __name__ == "__main__":
    main(sys.argv[1])
