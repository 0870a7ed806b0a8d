"""What a command does when it cannot say its answer, and when it meets an error that nobody foresaw."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from cli.test_cli_processes import RBANK, SCOPE, environment, rbank
from promises import promise

DEFECT = """
import difflib


def broken(*given, **named):
    raise ZeroDivisionError("hunter2 was typed")


difflib.get_close_matches = broken
"""
"""What breaks the command line from outside: a function that it calls for a command that there is not."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bank with one memory."""
    place = tmp_path_factory.mktemp("outputs") / "home"
    done = rbank(place, "record", "--title", "Use tabs", "--content", "Makefiles need tabs.", "--outcome", "success")
    assert done.returncode == 0, done.stderr
    return place


def shell(home: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which ``$R`` is our command."""
    words = " ".join([str(RBANK), *SCOPE])
    return subprocess.run(
        ["sh", "-c", line],
        env=environment(home) | {"R": words},
        cwd=home.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@promise(
    "cli:output",
    "A command whose answer cannot be written, because its output is full or closed, says so and ends with 5, help and "
    "version too; without stderr a command has the same exit status; none of it ends in a traceback.",
    source="issue 13",
)
@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("$R list >/dev/full", 5),
        ("$R list --json >/dev/full", 5),
        ("$R list >&-", 5),
        ("$R list --help >/dev/full", 5),
        (f"{RBANK} --help >/dev/full", 5),
        (f"{RBANK} --version >/dev/full", 5),
        ("$R list 2>&- >/dev/null", 0),
        ("$R list <&- >/dev/null", 0),
        ("$R list --limit 2>/dev/full", 2),
        ("$R get nothing >/dev/null 2>/dev/full", 3),
        ("$R get nothing >&- 2>&-", 3),
        ("$R hook session-start >&-", 0),
        ("$R hook session-start <&- >/dev/null", 0),
        ("$R serve >&-", 2),
    ],
)
def test_an_output_that_takes_nothing_is_an_error_of_its_own(home: Path, line: str, status: int) -> None:
    done = shell(home, line)
    assert (done.returncode, "Traceback" in done.stderr, "Exception ignored" in done.stderr) == (status, False, False)
    if status == 5:
        assert "the answer cannot be written" in done.stderr


@promise(
    "cli:few-descriptors",
    "With only a few open files allowed, five to fifteen, a command does its work or ends with one message.",
    source="issue 13",
)
@pytest.mark.parametrize("files", [5, 6, 7, 8, 9, 10, 12, 15])
def test_a_command_with_few_open_files_ends_in_order(home: Path, files: int) -> None:
    for command in ("list", "doctor", "search tabs"):
        done = shell(home, f"ulimit -n {files}; $R {command}")
        assert "Traceback" not in done.stderr
        if command == "doctor" and done.returncode == 1:
            assert "1 problem." in done.stdout
        else:
            assert done.returncode == 0 or (done.returncode in {5, 6} and done.stderr.startswith("error: ")), done


@promise(
    "cli:defect",
    "An error that nobody foresaw ends a command with 70 and a message that has the id of a report; the report in "
    "errors.log says which command, which error and where in the code, and quotes no text.",
    source="issue 13",
)
@pytest.mark.parametrize("as_json", [False, True])
def test_an_unforeseen_error_becomes_a_message_and_a_report(tmp_path: Path, as_json: bool) -> None:
    (tmp_path / "sitecustomize.py").write_text(DEFECT)
    home = tmp_path / "home"
    words = ["hunter3", *(["--json"] if as_json else [])]
    places = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")]))

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(RBANK), *words],
            env=environment(home) | {"PYTHONPATH": places},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    done = run()
    assert (done.returncode, done.stdout) == (70, "")
    said = json.loads(done.stderr)["message"] if as_json else done.stderr.splitlines()[0]
    identifier = re.search(r"ZeroDivisionError was not foreseen \(report ([0-9a-f]{8})\)", said)
    assert identifier is not None
    (report,) = (home / "errors.log").read_text().splitlines()
    assert identifier[1] in report
    assert "ZeroDivisionError at " in report
    assert "app.py:" in report
    assert (home / "errors.log").stat().st_mode & 0o777 == 0o600
    assert "hunter" not in done.stderr + report

    (home / "errors.log").unlink()
    (home / "errors.log").mkdir()
    done = run()
    assert done.returncode == 70
    assert "its report cannot be written to" in done.stderr
    assert "Traceback" not in done.stderr
