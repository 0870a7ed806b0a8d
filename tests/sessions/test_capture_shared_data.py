"""Real sessions of many agents, where they are: every file gives sessions. They are not part of the project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.sessions.readers import Skipped, prepare, read
from reasoningbank.types.session import Trajectory

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def files(folder: str) -> list[Path]:
    """The files of one folder; the test is skipped where it is absent."""
    if not (DATA / folder).is_dir():
        pytest.skip(f"../shared/data/{folder} is not here: its real sessions are not part of the project")
    return sorted(path for path in (DATA / folder).iterdir() if path.is_file())


def trajectories(path: Path) -> list[Trajectory]:
    """The sessions of a file."""
    found = [result for result in read(path) if isinstance(result, Trajectory)]
    assert found, path.name
    return found


@promise(
    "capture:real-data",
    "Every file of tau_bench_airline, swe_agent, claude_code and who_and_when parses where it is; skipped with a "
    "message where it is absent.",
    source="issue 3 It must show",
)
@pytest.mark.parametrize(
    ("folder", "formats"),
    [
        ("tau_bench_airline", {"messages"}),
        ("swe_agent", {"swe-agent", "mini-swe-agent"}),
        ("claude_code", {"claude-code"}),
        ("who_and_when", {"messages"}),
    ],
)
def test_every_file_parses(folder: str, formats: set[str]) -> None:
    seen = set()
    for path in files(folder):
        for trajectory in trajectories(path):
            seen.add(trajectory.source)
            assert trajectory.steps
            assert trajectory.task.strip()
    assert seen == formats


@promise("capture:real-data")
def test_every_trial_of_the_airline_is_one_trajectory_without_its_label() -> None:
    (path,) = files("tau_bench_airline")
    found = [*read(path)]
    assert not [result for result in found if isinstance(result, Skipped)]
    raw = json.loads(path.read_text(encoding="utf-8"))
    assert len(found) == len(raw) == 100
    for result, entry in zip(found, raw, strict=True):
        assert isinstance(result, Trajectory)
        assert (result.metadata["task_id"], result.metadata["trial"]) == (str(entry["task_id"]), str(entry["trial"]))
        calls = sum(len(message.get("tool_calls") or ()) for message in entry["traj"])
        assert len([step for step in result.steps if step.tool]) == calls
        whole = repr(result)
        assert entry["info"]["task"]["instruction"][:80] not in whole
        assert "reward" not in whole
    assert len({result.digest for result in found if isinstance(result, Trajectory)}) == 100


@promise("capture:real-data")
def test_the_logs_of_agents_parse_whole_and_without_their_marks() -> None:
    for path in files("who_and_when"):
        (result,) = read(path)
        assert isinstance(result, Trajectory)
        raw = json.loads(path.read_text(encoding="utf-8"))
        assert raw["mistake_reason"] not in repr(result)
        assert {step.actor for step in result.steps} <= {message["name"] for message in raw["history"]}
        ran = [message for message in raw["history"] if str(message["content"]).startswith("exitcode: ")]
        assert len([step for step in result.steps if step.exit_code is not None]) == len(ran)
        assert prepare(result) == result


@promise("capture:real-data")
def test_only_the_lines_that_are_broken_are_skipped() -> None:
    skipped = {
        path.name: [result.place for result in read(path) if isinstance(result, Skipped)]
        for path in files("claude_code")
    }
    assert {name: places for name, places in skipped.items() if places} == {
        "edge_cases.jsonl": [10, 11, 13, 14, 15, 16, 18, 17]
    }
