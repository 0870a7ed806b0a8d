"""Shows every attempt of a program and its children to reach a network, as the kernel sees it.

``python network_watch.py REPORT COMMAND ...`` runs a command under a seccomp filter, which every process that it starts
inherits and none can take off. The kernel asks this program about each system call that could lead to a network; the
attempt is noted in REPORT, one JSON object a line, and denied. It needs no rights and nothing that is installed, and
it sees what a C library does on a thread of its own, which a replaced ``socket`` module does not.

An attempt is a socket of any family but AF_UNIX, so every look-up of a name by the C library too; a connection to
systemd's resolver, which looks names up for others; and io_uring, which opens sockets without such a call. The watched
processes inherit no socket, so that whoever sends has opened one.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import platform
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple


class _Machine(NamedTuple):
    """Numbers of the kernel's interface that differ between processors."""

    audit: int
    socket: int
    connect: int
    seccomp: int


_MACHINES = {
    "x86_64": _Machine(audit=0xC000003E, socket=41, connect=42, seccomp=317),
    "aarch64": _Machine(audit=0xC00000B7, socket=198, connect=203, seccomp=277),
}
_IO_URING_SETUP = 425
_X32 = 0x40000000
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_SECCOMP_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
_ALLOW, _NOTIFY, _KILL = 0x7FFF0000, 0x7FC00000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_CALL_OFFSET, _AUDIT_OFFSET, _FIRST_ARGUMENT_OFFSET = 0, 4, 16
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE = 1
_NOTICE = struct.Struct("=QIIiIQ6Q")
_REPLY = struct.Struct("=QqiI")
_RESOLVERS = ("/run/systemd/resolve/", "/var/run/systemd/resolve/")

AVAILABLE = sys.platform == "linux" and platform.machine() in _MACHINES
"""Whether this system has what watching needs. On Linux its absence is a failure, never a reason to skip."""


class Attempt(NamedTuple):
    """One attempt to reach a network.

    Attributes:
        program: The name of the thread that made it.
        call: The system call.
        target: The family of addresses, or the path of a resolver.
    """

    program: str
    call: str
    target: str


@dataclass(frozen=True)
class Watched:
    """A command that is run and watched."""

    report: Path
    command: Sequence[str]

    @property
    def arguments(self) -> list[str]:
        """What to start instead of the command; it has the same streams and the same exit status."""
        return [sys.executable, "-I", __file__, str(self.report), *self.command]

    def run(self, *, env: Mapping[str, str], cwd: Path, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        return subprocess.run(
            self.arguments, env=env, cwd=cwd, input=text, capture_output=True, text=True, timeout=120, check=False
        )

    def attempts(self) -> list[Attempt]:
        """Return what was noted so far, in order."""
        return [Attempt(**json.loads(line)) for line in self.report.read_text(encoding="utf-8").splitlines()]


def watch(report: Path, command: Sequence[str]) -> int:
    """Run a command, note and deny every attempt, and return its exit status, 128 + n when signal n ended it."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        _become(command, theirs)
    theirs.close()
    _, listeners, _, _ = socket.recv_fds(ours, 1, 1)
    if not listeners:
        return _ended(child)
    (listener,) = listeners
    exited = os.pidfd_open(child)
    waiting = select.poll()
    waiting.register(listener, select.POLLIN)
    waiting.register(exited, select.POLLIN)
    with report.open("a", encoding="utf-8", buffering=1) as notes:
        while True:
            ready = dict(waiting.poll())
            if ready.get(listener, 0) & select.POLLIN:
                _answer(listener, notes)
            elif listener in ready:
                waiting.unregister(listener)
            elif exited in ready:
                return _ended(child)


def _ended(child: int) -> int:
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status if status >= 0 else 128 - status


def _become(command: Sequence[str], supervisor: socket.socket) -> None:
    try:
        socket.send_fds(supervisor, [b"."], [_filtered()])
        os.execvp(command[0], [*command])
    except OSError as error:
        print(f"cannot watch {command[0]}: {error}", file=sys.stderr)
        sys.stderr.flush()
        os._exit(127)


def _filtered() -> int:
    """Put this process under the filter and return the descriptor where the kernel asks."""
    library = ctypes.CDLL(None, use_errno=True)
    machine = _MACHINES[platform.machine()]
    steps = [
        (_LOAD, 0, 0, _AUDIT_OFFSET),
        (_EQUAL, 0, 8, machine.audit),
        (_LOAD, 0, 0, _CALL_OFFSET),
        (_AT_LEAST, 6, 0, _X32),
        (_EQUAL, 4, 0, _IO_URING_SETUP),
        (_EQUAL, 3, 0, machine.connect),
        (_EQUAL, 0, 4, machine.socket),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_OFFSET),
        (_EQUAL, 2, 0, socket.AF_UNIX),
        (_RETURN, 0, 0, _NOTIFY),
        (_RETURN, 0, 0, _KILL),
        (_RETURN, 0, 0, _ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(code)))
    for option, value in ((_PR_SET_PDEATHSIG, signal.SIGKILL), (_PR_SET_NO_NEW_PRIVS, 1)):
        if library.prctl(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3):
            raise OSError(ctypes.get_errno(), "prctl")
    call, mode, flags = (ctypes.c_long(n) for n in (machine.seccomp, _SECCOMP_SET_MODE_FILTER, _NEW_LISTENER))
    listener: int = library.syscall(call, mode, flags, ctypes.byref(program))
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return listener


def _answer(listener: int, notes: IO[str]) -> None:
    """Take one question of the kernel, note what is an attempt, and say whether the call may go on."""
    machine = _MACHINES[platform.machine()]
    notice = bytearray(_NOTICE.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, notice, True)
        asked, thread, _, call, _, _, *arguments = _NOTICE.unpack(notice)
        attempt: Attempt | None
        if call == _IO_URING_SETUP:
            attempt = _named(thread, "io_uring_setup", "any")
        elif call == machine.socket:
            attempt = _named(thread, "socket", _family(arguments[0] & 0xFFFFFFFF))
        else:
            attempt = _connection(thread, arguments[1], arguments[2])
        if attempt is None:
            reply = _REPLY.pack(asked, 0, 0, _CONTINUE)
        else:
            notes.write(json.dumps(attempt._asdict()) + "\n")
            reply = _REPLY.pack(asked, 0, -errno.EACCES, 0)
        fcntl.ioctl(listener, _SEND, reply)
    except FileNotFoundError:
        # The thread was killed before it had its answer: the kernel, or /proc, knows it no more.
        return


def _connection(thread: int, address: int, size: int) -> Attempt | None:
    """Read where a thread connects to; None for a socket in a directory, unless it is one that resolves names."""
    with Path(f"/proc/{thread}/mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        raw = memory.read(min(size, 128))
    family = int.from_bytes(raw[:2], sys.byteorder)
    if family != socket.AF_UNIX:
        return _named(thread, "connect", _family(family))
    path = raw[2:].split(b"\0", 1)[0].decode("utf-8", "replace")
    return _named(thread, "connect", path) if path.startswith(_RESOLVERS) else None


def _named(thread: int, call: str, target: str) -> Attempt:
    return Attempt(Path(f"/proc/{thread}/comm").read_text(encoding="utf-8").strip(), call, target)


def _family(number: int) -> str:
    known = {family.value: family.name for family in socket.AddressFamily}
    return known.get(number, str(number))


if __name__ == "__main__":
    sys.exit(watch(Path(sys.argv[1]), sys.argv[2:]))
