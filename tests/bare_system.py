"""Start the program with what only Unix has taken away before anything is imported, as Windows begins."""

from __future__ import annotations

import sys

TAKEN = """
import builtins, os, sys
imported = builtins.__import__
def without(name, globals=None, *rest, **named):
    ours = (globals or {}).get("__name__", "").startswith(("reasoningbank", "getpass"))
    if ours and name in {"fcntl", "pwd", "grp", "resource", "termios"}:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return imported(name, globals, *rest, **named)
builtins.__import__ = without
for name in (
    "fork", "forkpty", "posix_spawn", "posix_spawnp", "setsid", "geteuid", "getegid", "killpg",
    "fchmod", "pread", "pwrite", "lockf", "mkfifo", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY",
):
    delattr(os, name)
import _socket
for name in ("AF_UNIX", "SO_PEERCRED", "socketpair"):
    delattr(_socket, name)
"""
"""``socket`` then makes its pairs of sockets as it does on Windows.

Our own modules find no ``fcntl``; libraries that ask which system this is may have it.
"""
RUN = f"{TAKEN}\nfrom reasoningbank.cli import main\nmain()"
IMPORT_ALL = f"""{TAKEN}
import importlib, pkgutil, reasoningbank
names = [each.name for each in pkgutil.walk_packages(reasoningbank.__path__, "reasoningbank.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names))
"""

AS_WINDOWS = """
import fcntl, os, struct, sys, types
import reasoningbank.system
class Stand:
    LK_UNLCK, LK_NBLCK = 0, 2
    @staticmethod
    def locking(descriptor, mode, count):
        place = os.lseek(descriptor, 0, os.SEEK_CUR)
        assert place > 1_000, "what is locked cannot be read"
        kind = fcntl.F_UNLCK if mode == Stand.LK_UNLCK else fcntl.F_WRLCK
        try:
            fcntl.fcntl(descriptor, 37, struct.pack("hhqqi4x", kind, os.SEEK_SET, place, count, 0))
        except BlockingIOError as error:
            raise PermissionError(13, "Permission denied") from error
sys.modules["msvcrt"] = Stand
sys.platform, real = "win32", sys.platform
import reasoningbank.lock_file
sys.platform = real
as_it_is = reasoningbank.lock_file.open_lock
def opened(path):
    sys.platform = "win32"
    try:
        return as_it_is(path)
    finally:
        sys.platform = real
reasoningbank.lock_file.open_lock = opened
"""
"""``msvcrt.locking`` by the locks of Linux that belong to an opening of a file, as those of Windows do (37: SETLK)."""


def bare(program: str, *words: str) -> list[str]:
    """The command that runs a program without what only Unix has."""
    return [sys.executable, "-c", program, *words]
