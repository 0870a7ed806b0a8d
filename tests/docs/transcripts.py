"""Run the commands and programs of a documentation page and compare what they print with what the page shows.

A page is Markdown. What runs:

* A ``console`` block is a transcript: ``$ `` begins a command, ``> `` continues it, the other lines are its output. A
  line ``...`` in the output stands for any number of lines. ``[exit status 1]`` ends the output of a failing command.
* A ``python`` block is a program. A ``text`` block after it is its output.

All blocks of a page run in order, in one shell, in an empty home and an empty git repository. A block after a line that
begins with ``*Not run in the tests:`` is passed over; that line says why. What differs between two runs (ids, times,
digests) may differ; an id that the page shows stands for the id of the run in every later command.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from shared_servers import end_servers_at

SKIPPED = "*Not run in the tests:"
HOME, PORT = "/home/dana", "8765"
PATIENCE = 120.0
BIN = f"{HOME}/.local/bin"
_END = "@@end of output"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NAMES = ("id", "session", "digest")
_VOLATILE = re.compile(
    r"(?P<id>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
    r"|(?P<session>session-[0-9a-f]{12})"
    r"|(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:\+00:00|Z)?)"
    r"|(?P<minute>\d{4}-\d\d-\d\d \d\d:\d\d)(?!\d)"
    r"|(?P<stamp>\d{8}T\d{12})"
    r"|(?P<digest>[0-9a-f]{16})\b"
    r"|(?P<tokens>\d+ tokens(?=, session))"
    r"|(?P<seconds>\d+\.\d+ s\b)"
)


@dataclass
class Command:
    """Hold one command of a transcript and the output that the page shows for it."""

    text: str
    output: list[str]


@dataclass
class Block:
    """Hold one fenced block of a page: its language, what is in it, where it stands, and whether it runs."""

    language: str
    text: str
    start: int
    end: int
    skipped: str


@dataclass
class Difference:
    """Describe a command whose output is not what the page shows."""

    command: str
    expected: list[str]
    actual: list[str]

    def __str__(self) -> str:
        """Show both outputs."""
        return "\n".join(
            [f"$ {self.command}", "--- the page shows", *self.expected, "--- the run printed", *self.actual]
        )


@dataclass
class Ran:
    """Hold what a run found: the differences, and the page with the outputs of this run."""

    differences: list[Difference] = field(default_factory=list)
    text: str = ""


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    found = []
    for match in _FENCE.finditer(text):
        before = text[: match.start()].rstrip().rpartition("\n\n")[2]
        reason = before.removeprefix(SKIPPED).strip(" *\n") if before.startswith(SKIPPED) else ""
        found.append(Block(match.group(1), match.group(2), match.start(2), match.end(2), reason))
    return found


def commands(text: str) -> list[Command]:
    """Return the commands of a transcript with their outputs.

    Raises:
        ValueError: When the transcript does not begin with a command.
    """
    found: list[Command] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:], []))
        elif not found:
            raise ValueError(f"a transcript begins with a command, not with: {line}")
        elif (line == ">" or line.startswith("> ")) and not found[-1].output:
            found[-1].text += "\n" + line[2:]
        else:
            found[-1].output.append(line)
    return found


class Run:
    """Run the blocks of pages in one shell with a home and a git repository of their own."""

    def __init__(self, directory: Path) -> None:
        self._home = directory / "home"
        work = self._home / "shop"
        work.mkdir(parents=True)
        self._known: dict[str, str] = {}
        self._port = _free_port()
        binaries = Path(sys.executable).parent
        self._places = ((str(binaries), BIN), (str(self._home), HOME), (self._port, PORT))
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("REASONINGBANK_", "XDG_", "GIT_", "PYTEST_", "COV_"))
        }
        self._shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=work,
            text=True,
            start_new_session=True,
            env={
                **kept,
                "HOME": str(self._home),
                "USER": "dana",
                "LOGNAME": "dana",
                "PATH": f"{binaries}{os.pathsep}{kept.get('PATH', '')}",
                "COLUMNS": "100",
                "REASONINGBANK_PAID_CALLS": "false",
                "REASONINGBANK_SHARED": "false",
            },
        )
        self._execute("git init --quiet . && git remote add origin https://github.com/acme/shop.git")

    def close(self) -> None:
        """End the shell and what it has started."""
        end_servers_at(self._home)
        if self._shell.poll() is None:
            os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.communicate(timeout=30)

    def page(self, text: str) -> Ran:
        """Run a page."""
        ran, written, at = Ran(), [], 0
        found = blocks(text)
        for number, block in enumerate(found):
            if block.skipped:
                continue
            after = found[number + 1] if number + 1 < len(found) else None
            if block.language == "console":
                new = "".join(self._command(command, ran) for command in commands(block.text))
                written += [text[at : block.start], new]
                at = block.end
            elif block.language == "python":
                shown = after.text.splitlines() if after and after.language == "text" else []
                program = f"python -W error - <<'END_OF_PROGRAM'\n{block.text}END_OF_PROGRAM"
                output = self._compared(Command(program, shown), ran)
                if after and after.language == "text":
                    written += [text[at : after.start], "".join(f"{line}\n" for line in output)]
                    at = after.end
        ran.text = "".join(written) + text[at:]
        return ran

    def _command(self, command: Command, ran: Ran) -> str:
        output = self._compared(command, ran)
        first, *more = command.text.split("\n")
        return "".join(f"{line}\n" for line in [f"$ {first}", *(f"> {line}".rstrip() for line in more), *output])

    def _compared(self, command: Command, ran: Ran) -> list[str]:
        """Return the output that the page should show: what it shows where that fits, else what was printed."""
        actual = self._execute(self._local(command.text))
        if self._fits(command.output, actual):
            return command.output
        for shown, printed in zip(_ids(command.output), _ids(actual), strict=False):
            self._known.setdefault(shown, printed)
        named = {printed: shown for shown, printed in self._known.items()}
        fitting = [_replaced(line, named) for line in actual]
        ran.differences.append(Difference(command.text, command.output, fitting))
        return fitting

    def _local(self, text: str) -> str:
        for here, shown in self._places:
            text = text.replace(shown, here)
        return _replaced(text, self._known)

    def _fits(self, shown: list[str], actual: list[str]) -> bool:
        """Say whether an output is the one that a page shows, and remember which ids stand for which."""
        pairs = _pairs(shown, actual)
        if pairs is None:
            return False
        known = dict(self._known)
        for expected, printed in pairs:
            for one, other in zip(_ids([expected]), _ids([printed]), strict=True):
                if known.setdefault(one, other) != other:
                    return False
        if len(set(known.values())) < len(known):
            return False
        self._known = known
        return True

    def _execute(self, text: str) -> list[str]:
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(f"{{\n{text}\n}} </dev/null\nprintf '\\n{_END} %s\\n' $?\n")
        self._shell.stdin.flush()
        lines: list[str] = []
        watchdog = threading.Timer(PATIENCE, os.killpg, (self._shell.pid, signal.SIGKILL))
        watchdog.start()
        for line in self._shell.stdout:
            if line.startswith(_END):
                break
            for here, shown in self._places:
                line = line.replace(here, shown)
            lines.append(line.rstrip())
        else:
            raise RuntimeError(f"the shell ended, or was ended after {PATIENCE} seconds, in: {text}")
        watchdog.cancel()
        while lines and not lines[-1]:
            lines.pop()
        status = line.split()[-1]
        return lines if status == "0" else [*lines, f"[exit status {status}]"]


def _pairs(shown: list[str], actual: list[str]) -> list[tuple[str, str]] | None:
    """Return which line of a page is which printed line, or nothing when the two do not fit."""
    if not shown:
        return None if actual else []
    if shown[0].strip() == "...":
        for skipped in range(len(actual) + 1):
            rest = _pairs(shown[1:], actual[skipped:])
            if rest is not None:
                return rest
        return None
    if not actual or _masked(shown[0].rstrip()) != _masked(actual[0]):
        return None
    rest = _pairs(shown[1:], actual[1:])
    return None if rest is None else [(shown[0], actual[0]), *rest]


def _masked(line: str) -> str:
    return _VOLATILE.sub(lambda match: f"<{match.lastgroup}>", line)


def _ids(lines: list[str]) -> list[str]:
    return [match.group() for line in lines for match in _VOLATILE.finditer(line) if match.lastgroup in _NAMES]


def _replaced(text: str, names: dict[str, str]) -> str:
    return _VOLATILE.sub(lambda match: names.get(match.group(), match.group()), text)


def _free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])
