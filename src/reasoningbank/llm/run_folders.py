"""Folders for single runs of other programs: below the data directory, and gone when their process is.

A folder is named by the id of the process that made it. A process that is killed cannot remove it; the next one that
needs such a folder, or the next server, does.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reasoningbank.system import is_running

FOLDER = "runs"
"""Where they are, below the data directory."""
_NAMED = re.compile(r"^(?P<process>\d{1,10})-")


@contextmanager
def run_folder(home: Path) -> Iterator[Path]:
    """Give an empty folder that only the user can read, and remove it afterwards.

    Args:
        home: The data directory.

    Raises:
        OSError: When it cannot be made.
    """
    remove_left_over(home)
    place = home / FOLDER
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{os.getpid()}-", dir=place, ignore_cleanup_errors=True) as made:
        yield Path(made)


def remove_left_over(home: Path) -> int:
    """Remove the folders of processes that are gone; return how many there were. What cannot be removed stays."""
    removed = 0
    try:
        found = [*(home / FOLDER).iterdir()]
    except OSError:
        return 0
    for path in found:
        match = _NAMED.match(path.name)
        if match is not None and not is_running(int(match["process"])):
            shutil.rmtree(path, ignore_errors=True)
            removed += not path.exists()
    return removed
