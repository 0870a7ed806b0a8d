"""Files that are there only while a process works at them; their names say whose they are.

What a killed process leaves behind is removed by the next that opens the bank: the name holds the process id, and only
what belongs to a process that has ended is taken. A number that another process has by now keeps a file until that one
has ended, too.
"""

from __future__ import annotations

import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from reasoningbank.system import is_running

Purpose = Literal["partial", "restoring", "repairing", "erasing"]

COMPANIONS = ("", "-journal", "-wal", "-shm")
"""What the names of the files that SQLite makes beside a database add to its name."""
_NAME = re.compile(
    r"\.(?:(?P<process>\d+)-)?[0-9a-f]{12}\.(?:partial|restoring|repairing|erasing)(?:-journal|-wal|-shm)?$"
)
_OLD_SECONDS = 86_400
"""What an earlier version left behind names no process; it is removed when nobody has written to it for a day."""


@contextmanager
def scratch_file(target: Path, purpose: Purpose) -> Iterator[Path]:
    """Give a new, private file beside the target, which is gone after the block unless it was renamed."""
    path = _name(target, purpose)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield path
    finally:
        for suffix in COMPANIONS:
            path.with_name(path.name + suffix).unlink(missing_ok=True)


@contextmanager
def scratch_folder(target: Path, purpose: Purpose) -> Iterator[Path]:
    """Give a new, private folder beside the target, which is gone after the block with all that is in it."""
    path = _name(target, purpose)
    path.mkdir(mode=0o700)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def remove_abandoned(folder: Path, start: str = "") -> None:
    """Remove from a folder what ended processes have left in it; what cannot be removed stays.

    Args:
        folder: Where it lies; it may not exist.
        start: Only of the files whose names begin so.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _NAME.search(entry.name) if entry.name.startswith(start) else None
            if found is None or not _is_abandoned(entry, found["process"]):
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with suppress(OSError):
                    os.unlink(entry.path)  # noqa: PTH108 - an entry of scandir


def _is_abandoned(entry: os.DirEntry[str], process: str | None) -> bool:
    if process is not None:
        return not is_running(int(process))
    return entry.stat(follow_symlinks=False).st_mtime < time.time() - _OLD_SECONDS


def _name(target: Path, purpose: Purpose) -> Path:
    return target.with_name(f"{target.name}.{os.getpid()}-{uuid.uuid4().hex[:12]}.{purpose}")
