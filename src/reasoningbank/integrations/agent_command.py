"""Any program as an agent of ``bank.matts.scale``, and memories as the block that it reads."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from reasoningbank.errors import InvalidInput, UnreadableTranscript
from reasoningbank.safety.quotation import fitting
from reasoningbank.sessions.readers import Skipped, prepare, read
from reasoningbank.settings import child_environment
from reasoningbank.types.matts import Task
from reasoningbank.types.recall import BriefItem, Hit
from reasoningbank.types.session import Step, Trajectory

BLOCK_TOKENS = 6_000
"""Most tokens of a block; what does not fit is left out."""


def block(memories: Sequence[Hit], *, now: datetime | None = None, tokens: int = BLOCK_TOKENS) -> str:
    """Return the memories between the marks by which capture knows its own words again; empty without memories.

    Args:
        memories: What was recalled, best first.
        now: When the block is read; it decides the ages.
        tokens: Most tokens of the block (cl100k).
    """
    return fitting([BriefItem(hit=hit) for hit in memories], now or datetime.now(UTC), tokens)[2]


MAX_OUTPUT = 200_000
"""Most bytes of a program's output that are read; its trajectory keeps less."""
_ANSWER = 4_000
_GRACE_SECONDS = 2.0

TASK, MEMORIES, TRANSCRIPT = "RBANK_TASK", "RBANK_MEMORIES", "RBANK_TRANSCRIPT"
"""Variables with the path of the task, of the memories, and of the transcript that the program may write."""


class CommandAgent:
    """Runs a program once per attempt, without a shell, in a directory of the caller's.

    The program finds three paths in its environment: ``RBANK_TASK`` holds the task, ``RBANK_MEMORIES`` the memories as
    quoted data, and a transcript in any format that is captured may be written to ``RBANK_TRANSCRIPT``. Without a
    transcript its output, its errors and its exit status are the one step of the trajectory.

    Args:
        command: The program and its arguments.
        directory: Where it runs; None for the working directory.
        seconds: Most seconds of one attempt; then it is told to end, and soon after it is ended. None sets no limit.
    """

    def __init__(
        self, command: Sequence[str], *, directory: str | Path | None = None, seconds: float | None = None
    ) -> None:
        if not command:
            raise InvalidInput("an agent needs a command to run")
        self._command = tuple(command)
        self._directory = directory
        self._seconds = seconds

    def __call__(self, task: Task, memories: Sequence[Hit]) -> Trajectory:
        """Return what the program did.

        Raises:
            InvalidInput: When the program cannot be started, does not end in time, or leaves a transcript that holds no
                session.
        """
        with tempfile.TemporaryDirectory(prefix="rbank-") as folder:
            place = Path(folder)
            paths = {TASK: place / "task.md", MEMORIES: place / "memories.md", TRANSCRIPT: place / "transcript"}
            paths[TASK].write_text(task.text, encoding="utf-8", errors="replace")
            paths[MEMORIES].write_text(block(memories), encoding="utf-8")
            with (place / "output").open("w+b") as output, (place / "errors").open("w+b") as errors:
                status = self._run({name: str(path) for name, path in paths.items()}, output, errors)
                said, complained = _ends(output), _ends(errors)
            written = self._transcript(paths[TRANSCRIPT])
        if written is not None:
            return written
        step = Step(
            tool="command",
            action=shlex.join(self._command),
            observation=said,
            error=complained if status else "",
            exit_code=status,
        )
        return prepare(Trajectory(task=task.goal, steps=(step,), final_answer=said[-_ANSWER:], source="command"))

    def _run(self, variables: dict[str, str], output: BinaryIO, errors: BinaryIO) -> int:
        """Run the program to its end and return its exit status."""
        name = self._command[0][:80]
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command
                self._command,
                env=child_environment(variables),
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
            )
        except OSError as error:
            raise InvalidInput(f"{name!r} cannot be run: {error.strerror}") from error
        except ValueError as error:
            raise InvalidInput(f"{name!r} cannot be run: {error}") from error
        try:
            return process.wait(self._seconds)
        except subprocess.TimeoutExpired as error:
            raise InvalidInput(f"{name!r} did not end within {self._seconds:g} seconds") from error
        finally:
            _end(process)

    @staticmethod
    def _transcript(path: Path) -> Trajectory | None:
        """Return the first session of the transcript, None when there is none."""
        if not path.exists() or not path.stat().st_size:
            return None
        try:
            return next((one for one in read(path) if not isinstance(one, Skipped)), None)
        except UnreadableTranscript as error:
            raise InvalidInput(f"the transcript in {TRANSCRIPT} cannot be read: {error.message}") from error


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program that still runs: it is asked to, so that it can end what it has started, then it has to."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _ends(written: BinaryIO) -> str:
    """Return what a program wrote; of more than ``MAX_OUTPUT`` bytes the first and the last half."""
    size = written.seek(0, os.SEEK_END)
    written.seek(0)
    if size <= MAX_OUTPUT:
        return written.read().decode("utf-8", "replace")
    head = written.read(MAX_OUTPUT // 2)
    written.seek(-(MAX_OUTPUT // 2), os.SEEK_END)
    left_out = f"\n[... {size - MAX_OUTPUT} bytes left out ...]\n".encode()
    return (head + left_out + written.read()).decode("utf-8", "replace")
