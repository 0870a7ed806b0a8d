"""Records the session that the demo learns from, by doing the work again: every command runs, every output is real.

The task: the daily totals of a shop are right on a laptop in Berlin and wrong on the build server. The project and the
commands are below; what they print is not. Each command runs in a scratch directory, and its exit status and output
go to a JSON lines file: one line for the task, then one per step. Paths of this machine are replaced by names.

Usage: python tools/record_session.py [FILE]     (needs pytest and a time zone database)
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

TARGET = Path(__file__).resolve().parents[1] / "src/reasoningbank/demo/session.jsonl"
TASK = "CI fails in test_totals.py, on my laptop in Berlin every test passes. Find out why and fix it."
PROJECT = {
    "totals.py": '''\
"""Daily totals of a shop in Berlin."""

from collections import Counter
from datetime import datetime


def local_day(timestamp: float) -> str:
    """The calendar day in the shop on which a payment arrived."""
    return datetime.fromtimestamp(timestamp).strftime("%Y-%m-%d")


def daily_totals(payments: list[tuple[float, int]]) -> dict[str, int]:
    """Cents per day."""
    totals: Counter[str] = Counter()
    for timestamp, cents in payments:
        totals[local_day(timestamp)] += cents
    return dict(totals)
''',
    "test_totals.py": """\
from datetime import datetime, timezone

from totals import daily_totals


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()


def test_noon_in_winter():
    assert daily_totals([(at("2026-01-15T11:00"), 500)]) == {"2026-01-15": 500}


def test_after_midnight_in_winter():
    assert daily_totals([(at("2026-01-15T23:30"), 500)]) == {"2026-01-16": 500}


def test_after_midnight_in_summer():
    assert daily_totals([(at("2026-07-15T22:30"), 700)]) == {"2026-07-16": 700}
""",
}
FIXED_OFFSET = (
    "sed -i -e 's/from datetime import datetime/from datetime import datetime, timedelta, timezone/' "
    "-e 's/fromtimestamp(timestamp)/fromtimestamp(timestamp, timezone(timedelta(hours=1)))/' totals.py"
)
NAMED_ZONE = (
    "sed -i -e 's/from datetime import datetime/from datetime import datetime\\nfrom zoneinfo import ZoneInfo/' "
    "-e 's|fromtimestamp(timestamp)|fromtimestamp(timestamp, ZoneInfo(\"Europe/Berlin\"))|' totals.py"
)
STEPS = (
    ("Read the code.", "cat totals.py"),
    ("Read the tests.", "cat test_totals.py"),
    ("See the failure as CI sees it: its machines run in UTC.", "TZ=UTC python -m pytest -q --tb=short"),
    ("Run the same tests as the laptop does.", "TZ=Europe/Berlin python -m pytest -q --tb=short"),
    ("The result depends on the machine's time zone. First idea: Berlin is one hour ahead of UTC.", FIXED_OFFSET),
    ("Does it hold?", "TZ=UTC python -m pytest -q --tb=short"),
    ("In summer Berlin is two hours ahead. Take it back.", "git checkout -q totals.py && git status --short"),
    ("Second idea: name the shop's zone and let the zone database know about summer.", NAMED_ZONE),
    ("Does it hold in UTC?", "TZ=UTC python -m pytest -q --tb=short"),
    ("And on a machine far away?", "TZ=America/New_York python -m pytest -q --tb=short"),
    ("And on the laptop?", "TZ=Europe/Berlin python -m pytest -q --tb=short"),
    ("What changed in the end?", "git diff --stat && git diff totals.py"),
)


class Step(TypedDict):
    """One command that ran."""

    step: int
    thought: str
    command: str
    exit_code: int
    output: str


def main() -> None:
    """Does the work in a scratch directory and writes the record."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch).resolve() / "shop"
        directory.mkdir()
        for name, text in PROJECT.items():
            (directory / name).write_text(text, encoding="utf-8")
        (directory / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n", encoding="utf-8")
        prepare = "git init -q && git add . && git -c user.name=shop -c user.email=shop@example.org commit -q -m Start"
        _run(prepare, directory)
        steps = [_step(number, *step, directory) for number, step in enumerate(STEPS, start=1)]
    head = {
        "task": TASK,
        "recorded": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "recorder": "tools/record_session.py",
        "steps": len(steps),
    }
    lines = [json.dumps(line, ensure_ascii=False) for line in (head, *steps)]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(steps)} steps in {target}, {target.stat().st_size} bytes\n")


def _step(number: int, thought: str, command: str, directory: Path) -> Step:
    exit_code, output = _run(command, directory)
    return Step(step=number, thought=thought, command=command, exit_code=exit_code, output=output)


def _run(command: str, directory: Path) -> tuple[int, str]:
    """Runs one command line with this Python first on the path and nothing of the user's settings."""
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(directory.parent),
        "LC_ALL": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, _without_machine(done.stdout, directory)


def _without_machine(text: str, directory: Path) -> str:
    """The text with this machine's directories replaced by names."""
    text = text.replace(str(directory), "shop").replace(str(directory.parent), "scratch")
    text = text.replace(sys.prefix, "python").replace(sys.base_prefix, "python").replace(str(Path.home()), "home")
    return re.sub(r"(?m)[ \t]+$", "", text)


if __name__ == "__main__":
    main()
