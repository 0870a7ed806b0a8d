"""What differs between Linux, macOS and Windows: private files, users, processes and command lines. Light."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

_ALWAYS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
"""Windows cannot be told to refuse links, and translates line ends unless it is told not to."""
_NAME = re.compile(r"[\w.-]+")
_BARE = re.compile(r"[\w@+=:,./-]+")
_BEFORE_QUOTE = re.compile(r'(\\*)("|$)')


def open_private(path: Path, flags: int) -> int:
    """Open a file of ours as bytes, never through a link, and return its descriptor.

    Args:
        path: The file; made for its owner alone when the flags say so.
        flags: How it is opened, as ``os.open`` has it.

    Raises:
        OSError: When it cannot be opened.
    """
    return os.open(path, flags | _ALWAYS, 0o600)


def user_id() -> int | None:
    """Return the number of the user who runs this process; None where users have none."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def shell_line(words: Sequence[str], *, windows: bool = sys.platform == "win32") -> str:
    """Return words as one line for the shell that clients run it with.

    Args:
        words: The program and its arguments.
        windows: Whether the shell is one of Windows: ``cmd``, or Git's ``bash``, which takes bare backslashes away.
    """
    if not windows:
        return shlex.join(words)
    program = words[0].replace("\\", "/")
    first = program if _NAME.fullmatch(program) else f'"{program}"'
    rest = [word if _BARE.fullmatch(word) else f'"{_BEFORE_QUOTE.sub(_escaped, word)}"' for word in words[1:]]
    return " ".join([first, *rest])


def _escaped(found: re.Match[str]) -> str:
    """Return backslashes before a quotation mark twice, and the mark, when there is one, behind one more."""
    backslashes, mark = found.groups()
    return f"{backslashes * 2}{mark and chr(92) + mark}"


if sys.platform == "win32":
    import ctypes
    import subprocess

    _SYNCHRONIZE = 0x0010_0000
    _STILL_RUNNING = 0x102
    _ACCESS_DENIED = 5
    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)

    def is_running(process: int) -> bool:
        """Return whether there is a process of this number; Windows knows no signal that only asks."""
        handle = _kernel.OpenProcess(_SYNCHRONIZE, False, process)
        if not handle:
            return ctypes.get_last_error() == _ACCESS_DENIED
        try:
            return bool(_kernel.WaitForSingleObject(handle, 0) == _STILL_RUNNING)
        finally:
            _kernel.CloseHandle(handle)

    def end_family(process: int) -> None:
        """End a process and what it has started, at once; one that is gone is not an error."""
        words = ["taskkill", "/T", "/F", "/PID", str(process)]
        subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603 - a number
else:
    import signal

    def is_running(process: int) -> bool:
        """Return whether there is a process of this number, this user's or another's."""
        try:
            os.kill(process, 0)
        except (ProcessLookupError, OverflowError):
            return False
        except PermissionError:
            return True
        return True

    def end_family(process: int) -> None:
        """End a process that leads a session of its own and what it has started; one that is gone is not an error."""
        try:
            os.killpg(process, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return
