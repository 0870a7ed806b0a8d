"""The suite as a whole, small: its tables, its intervals, its exit status."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluation.attacks.benign import alarms, lost
from evaluation.attacks.kept import Kept
from evaluation.attacks.suite import tables

from promises import promise
from reasoningbank.testing import HashingEmbedder


@promise(
    "evaluation:attack",
    "The poisoning suite prints shares with intervals, defences off and on, and fails when a limit is not held.",
    source="issue 4",
)
def test_the_tables_say_what_got_through_with_intervals(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "kept", "today")

    def made(home: str) -> tuple[list[Mapping[str, Any]], list[str]]:
        said: list[str] = []
        (tmp_path / home).mkdir()
        found = tables(
            HashingEmbedder(), tmp_path / home, tmp_path, kept, count=3, names=("disguise",), say=said.append
        )
        return [*found], said

    first, _ = made("first")
    assert [table["fields"]["name"] for table in first] == ["attacks", "successes", "alarms", "lost", "patience"]
    row = first[0]["fields"]["rows"][0]
    assert {"proven, off", "proven, on", "unproven, on", "quoted where shown"} <= set(row)
    assert "held" in first[0]["text"]
    (tmp_path / "kept" / "alarms.json").unlink()
    again, said = made("again")
    assert again == first
    assert not list((tmp_path / "again").glob("o*/*")), "what is kept is not carried out again"
    assert said[-1].startswith("patience: ")


@promise("evaluation:attack")
def test_without_the_data_our_own_lessons_are_measured_and_the_rest_is_named(tmp_path: Path) -> None:
    table = alarms(tmp_path)
    assert any("reme is not in the data folder" in note for note in table.notes)
    (tmp_path / "home").mkdir()
    assert "held" in " ".join(lost(HashingEmbedder(), tmp_path / "home", tmp_path).notes)
