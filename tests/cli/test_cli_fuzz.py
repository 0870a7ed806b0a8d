"""Any command line at all: an answer or an error with a hint, never a traceback."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from promises import promise
from reasoningbank.cli.app import COMMANDS, rbank
from sessions.recorded_sessions import claude_code

STATUSES = {0, 1, 2, 3, 4, 5, 6}
STARTS_SERVERS = {"serve", "dashboard", "demo"}
LEAVES_ITS_DIRECTORY = {"hook", "install", "uninstall"}
WORDS = st.text(
    st.characters(exclude_characters="\0/", exclude_categories=["Cs"]) | st.sampled_from("\udc80\udcff\u202e\u200b"),
    max_size=30,
)
ANYWHERE = ["", "-", "--", "-1", "0", "1e309", "nan", "x" * 20_001, "session.jsonl"]
CHOICES = ["success", "failure", "partial", "helpful", "failed", "active", "auto", "sequential"]
VALUES = WORDS | st.sampled_from([*ANYWHERE, *CHOICES])
PROGRAMS = st.sampled_from(["true", "false", "", "/", "no-such-program", "\udc80"])
ALWAYS = {"worker": ("--once",)}
"""What keeps a command from running for ever, and ``scale`` runs nothing but ``PROGRAMS``."""
NUMBERS = st.integers(-(2**70), 2**70).map(str) | st.floats().map(str)
URLS = WORDS | st.sampled_from(
    ["memory://a", "sqlite:///", "http://[::1", "postgresql://h/d", "file:x", ":", "memory:"]
)


def _parameters(name: str) -> list[click.Parameter]:
    command = rbank.get_command(click.Context(rbank), name)
    assert command is not None
    return command.params


def _choices(parameter: click.Parameter) -> st.SearchStrategy[str]:
    """What a parameter with a list of choices accepts; nothing for all others."""
    return st.sampled_from(list(parameter.type.choices)) if isinstance(parameter.type, click.Choice) else st.nothing()


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """A command with options and arguments that fit it more or less."""
    name = draw(st.sampled_from([name for name in COMMANDS if name not in STARTS_SERVERS | LEAVES_ITS_DIRECTORY]))
    line: list[str] = []
    if draw(st.integers(0, 9)) == 0:
        line += [draw(st.sampled_from(["--tenant", "--project"])), draw(VALUES)]
    line.append(name)
    for parameter in _parameters(name):
        wanted = parameter.required or draw(st.integers(0, 3)) == 0
        if not wanted or parameter.name == "url":
            continue
        if isinstance(parameter, click.Argument):
            line.append(draw(PROGRAMS if parameter.name == "agent" else _choices(parameter) | VALUES))
        elif isinstance(parameter, click.Option):
            line.append(parameter.opts[0])
            if not parameter.is_flag:
                is_number = parameter.type.name.split()[0] in {"integer", "float"}
                line.append(draw(NUMBERS if is_number else _choices(parameter) | VALUES))
    if draw(st.integers(0, 9)) == 0:
        line += ["--url", draw(URLS)]
    if draw(st.integers(0, 9)) == 0 and name != "scale":
        line.append(draw(VALUES))
    return [*line, *ALWAYS.get(name, ())]


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    """A working directory and a home that the module's command lines may fill."""
    before, here = os.environ.copy(), Path.cwd()
    with tempfile.TemporaryDirectory() as scratch:
        for name in before:
            if name.startswith("REASONINGBANK_"):
                del os.environ[name]
        os.environ["REASONINGBANK_HOME"] = str(Path(scratch) / "home")
        os.environ["HOME"] = scratch
        os.chdir(scratch)
        Path("session.jsonl").write_text(claude_code(), encoding="utf-8")
        yield Path(scratch)
        os.chdir(here)
        os.environ.clear()
        os.environ.update(before)


@promise("cli:fuzz", "No command line at all ends in a traceback.", source="issue, Fuzz")
@settings(max_examples=300)
@given(line=command_lines(), text=st.binary(max_size=200))
def test_no_command_line_ends_in_a_traceback(directory: Path, line: list[str], text: bytes) -> None:
    result = CliRunner().invoke(rbank, line, input=text)
    assert directory
    assert result.exception is None or isinstance(result.exception, SystemExit), (line, result.exception)
    assert result.exit_code in STATUSES
    if result.exit_code not in {0, 1}:
        assert "hint" in result.stderr
        assert result.stdout == ""


@promise("cli:fuzz")
@settings(max_examples=150)
@given(line=st.lists(VALUES | st.sampled_from(["--help", "--version", "--json", "--tenant", "--url"]), max_size=6))
def test_no_list_of_words_ends_in_a_traceback(directory: Path, line: list[str]) -> None:
    result = CliRunner().invoke(rbank, line)
    assert directory
    assert result.exception is None or isinstance(result.exception, SystemExit), (line, result.exception)
    assert result.exit_code in STATUSES
