"""Any program as an agent: what it is told, what is made of what it did, and when it is ended."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.errors import InvalidInput
from reasoningbank.integrations.agent_command import MAX_OUTPUT, MEMORIES, TRANSCRIPT, CommandAgent
from reasoningbank.integrations.agent_command import TASK as TASK_VARIABLE
from reasoningbank.types.matts import Task
from reasoningbank.types.memory import Memory
from reasoningbank.types.recall import Hit
from reasoningbank.types.session import Trajectory
from sessions.learned_sessions import bank_of
from sessions.recorded_sessions import ANSWER, TASK, claude_code

SECRET = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
HIT = Hit(
    memory=Memory(project="shop", title="Page bounds", content="Use inclusive bounds.", outcome="success"),
    relevance=0.9,
    legs={},
)


def program(text: str, **options: float) -> CommandAgent:
    """An agent that runs Python code."""
    return CommandAgent([sys.executable, "-c", text], seconds=options.get("seconds"))


def ran(agent: CommandAgent, text: str = "Repair the export.") -> Trajectory:
    """What the agent did with one memory."""
    return agent(Task(text=text), (HIT,))


@promise(
    "command-agent:told",
    "A program finds the task and the memories in files; its output is a redacted step without our own block.",
    source="issue MaTTS",
)
def test_a_program_finds_the_task_and_the_memories_and_its_words_become_a_step() -> None:
    text = f"import os; print(open(os.environ['{TASK_VARIABLE}']).read(), open(os.environ['{MEMORIES}']).read())"
    done = ran(program(text + f"; print('{SECRET}')"), "Repair the export of ümläuts \udc80.")
    (step,) = done.steps
    assert done.task.startswith("Repair the export of ümläuts")
    assert "Repair the export of ümläuts" in step.observation
    assert (step.tool, step.exit_code, step.error) == ("command", 0, "")
    assert SECRET not in repr(done)
    assert "[REDACTED" in done.final_answer
    assert "inclusive bounds" not in step.observation, "what the bank itself said is not an observation"
    assert done.memories == (HIT.id,)


@promise(
    "command-agent:failed",
    "A program that fails is a failed step and evidence against success.",
    source="issue MaTTS",
)
def test_a_program_that_fails_is_a_failed_step_and_evidence_against_success() -> None:
    done = ran(program("import sys; print('I tried'); sys.exit('the disk is full')"))
    (step,) = done.steps
    assert (step.exit_code, step.failed) == (1, True)
    assert "the disk is full" in step.error
    assert [fact.positive for fact in done.evidence] == [False]


@promise(
    "command-agent:transcript",
    "A transcript that the program writes is captured instead of its output.",
    source="issue MaTTS",
)
def test_a_transcript_that_the_program_writes_is_captured_instead(tmp_path: Path) -> None:
    source = tmp_path / "recorded.jsonl"
    source.write_text(claude_code(), encoding="utf-8")
    done = ran(program(f"import os, shutil; shutil.copy({str(source)!r}, os.environ['{TRANSCRIPT}']); print('x')"))
    assert (done.task, done.final_answer, len(done.steps)) == (TASK, ANSWER, 5)
    assert "test_run" in {fact.kind for fact in done.evidence}
    empty = ran(program(f"import os; open(os.environ['{TRANSCRIPT}'], 'w').close(); print('only this')"))
    assert empty.final_answer.strip() == "only this"
    with pytest.raises(InvalidInput, match=TRANSCRIPT):
        ran(program(f"import os; open(os.environ['{TRANSCRIPT}'], 'w').write('no session')"))


@promise(
    "command-agent:ends",
    "A program that takes too long is told to end and then ended, whatever holds its output open.",
    source="issue MaTTS",
)
def test_a_program_that_takes_too_long_is_ended_with_what_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "ended"
    leaving = f"lambda *_: (open({str(mark)!r}, 'w'), sys.exit())"
    polite = f"import signal, sys, time; signal.signal(15, {leaving}); time.sleep(60)"
    began = time.monotonic()
    with pytest.raises(InvalidInput, match="did not end within"):
        ran(program(polite, seconds=1.5))
    assert mark.exists()
    # A child that keeps the output open, and a program that will not listen, hold nothing up.
    deaf = (
        "import signal, subprocess, sys, time; signal.signal(15, signal.SIG_IGN)\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(20)']); time.sleep(60)"
    )
    with pytest.raises(InvalidInput, match="did not end within"):
        ran(program(deaf, seconds=1.0))
    assert time.monotonic() - began < 18


@promise("command-agent:bounded", "Of a flood of output only both ends are read.", source="issue MaTTS")
def test_a_flood_of_output_is_read_at_both_ends_only() -> None:
    text = "import sys\nprint('begin')\nfor _ in range(300): sys.stdout.write('y' * 100_000)\nprint('end')"
    (step,) = ran(program(text)).steps
    assert step.observation.startswith("begin")
    assert step.observation.rstrip().endswith("end")
    assert len(step.observation) <= MAX_OUTPUT
    bytes_only = ran(program("import sys; sys.stdout.buffer.write(bytes(range(256)))"))
    assert bytes_only.steps[0].exit_code == 0


@promise("command-agent:refused", "What cannot be run is an error with a hint.", source="issue MaTTS")
@pytest.mark.parametrize("command", [["/no/such/program"], [""], ["nul\0byte"], ["/"]])
def test_what_cannot_be_run_is_an_error_with_a_hint(command: list[str]) -> None:
    with pytest.raises(InvalidInput, match="cannot be run") as caught:
        ran(CommandAgent(command))
    assert caught.value.hint
    with pytest.raises(InvalidInput, match="needs a command"):
        CommandAgent([])


@promise(
    "command-agent:scaled",
    "Attempts of a program run beside each other; one that fails does not lose the others.",
    source="issue MaTTS",
)
def test_attempts_run_beside_each_other_and_one_that_fails_does_not_lose_the_others(tmp_path: Path) -> None:
    text = (
        "import os, pathlib, sys, time\n"
        f"number = len(list(pathlib.Path({str(tmp_path)!r}).glob('run*')))\n"
        f"pathlib.Path({str(tmp_path)!r}, f'run{{os.getpid()}}').touch(); time.sleep(0.5)\n"
        "print('attempt of', os.getpid()); sys.exit(number == 0)"
    )
    before = set(threading.enumerate())
    with bank_of(tmp_path / "home") as bank:
        scaled = bank.matts.scale("Repair the export.", program(text), 3)
        assert len(scaled.rollouts) == 3
        assert scaled.best is not None
        best = scaled.rollouts[scaled.best].trajectory
        assert best is not None
        assert best.steps[0].exit_code == 0
        assert len(bank.sessions.list()) == 3
    assert len(set(threading.enumerate()) - before) < 20
