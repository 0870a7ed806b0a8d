"""The demonstration: what it ships is a real record, and what it does is checked by itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.demo.run import load_lessons, load_session

RBANK = Path(sys.executable).parent / "rbank"
ROOT = Path(__file__).resolve().parents[2]


@promise(
    "demo:real-session",
    "The demo's session is a small record of commands that really ran, without machine paths.",
    source="issue, It must show",
)
def test_the_session_is_a_small_record_without_machine_paths() -> None:
    folder = ROOT / "src" / "reasoningbank" / "demo"
    for file in (folder / "session.jsonl", folder / "lessons.json"):
        text = file.read_text(encoding="utf-8")
        assert len(text.encode()) < 30_000
        assert not re.search(r"/(home|root|tmp|Users|usr|opt|work)/", text)
    session = load_session()
    assert [step["step"] for step in session.steps] == list(range(1, len(session.steps) + 1))
    tests = [step for step in session.steps if "pytest" in step["command"]]
    assert {step["exit_code"] for step in tests} == {0, 1}
    for step in tests:
        assert ("failed" in step["output"]) == (step["exit_code"] == 1)
    assert tests[-1]["exit_code"] == 0


@promise(
    "demo:provenance",
    "Every lesson of the demo names the steps it comes from; one is a success and one a failure.",
    source="issue, It must show",
)
def test_every_lesson_names_the_steps_it_comes_from() -> None:
    steps = {step["step"]: step for step in load_session().steps}
    lessons = load_lessons()
    assert 2 <= len(lessons) <= 4
    assert {lesson.outcome for lesson in lessons} == {"success", "failure"}
    for lesson in lessons:
        assert lesson.steps
        assert set(lesson.steps) <= set(steps)
    (failure,) = [lesson for lesson in lessons if lesson.outcome == "failure"]
    assert any(steps[number]["exit_code"] for number in failure.steps)


@promise(
    "demo:recorder",
    "Recording the session again gives the same commands and exit statuses.",
    source="issue, It must show",
)
@pytest.mark.skipif(not Path("/usr/share/zoneinfo/Europe/Berlin").exists(), reason="needs the time zone database")
def test_the_recorder_makes_the_same_record_again(tmp_path: Path) -> None:
    target = tmp_path / "session.jsonl"
    recorder = [sys.executable, str(ROOT / "tools" / "record_session.py"), str(target)]
    subprocess.run(recorder, check=True, capture_output=True, timeout=120)
    again = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()[1:]]
    shipped = load_session().steps
    assert [(step["command"], step["exit_code"]) for step in again] == [
        (step["command"], step["exit_code"]) for step in shipped
    ]


@promise(
    "demo:main-job",
    "rbank demo records, searches, rates and reports through the real MCP server and client, and checks each step.",
    source="issue, It must show",
)
def test_the_demo_does_the_main_job_through_the_real_server(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REASONINGBANK_")}
    environment |= {"TMPDIR": str(tmp_path), "REASONINGBANK_HOME": str(tmp_path / "untouched")}
    done = subprocess.run(
        [str(RBANK), "demo", "--json"], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    answer = json.loads(done.stdout)
    assert answer["ok"] is True
    assert len(answer["checks"]) == 9
    assert Path(answer["home"]).parent == tmp_path
    assert not (tmp_path / "untouched").exists()
    assert len(answer["tools"]) <= 7
    assert [lesson["memory"]["confidence"] for lesson in answer["recorded"]] == [0.8, 0.8, 0.8]
    assert answer["unrelated"]["memories"] == []
    assert answer["unrelated"]["unproven"] == []
    assert answer["outcomes"][0]["new_confidence"] > answer["feedback"]["new_confidence"] > 0.8
    for history in answer["histories"]:
        assert history["confidence"] == pytest.approx(history["alpha"] / (history["alpha"] + history["beta"]), abs=1e-5)


@promise(
    "demo:readable",
    "The demo prints how each confidence moved, why, and what to do next.",
    source="issue, It must show",
)
def test_the_demo_prints_provenance_formula_and_what_to_do_next(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REASONINGBANK_")}
    done = subprocess.run(
        [str(RBANK), "demo"],
        env={**environment, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for expected in ("(steps 3, 8, 9, 10, 11)", "alpha / (alpha + beta) =", "Nothing relevant is known", "Next:"):
        assert expected in done.stdout
    assert "FAILED" not in done.stdout
