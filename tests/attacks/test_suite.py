"""The suite as a whole, small: its tables, its intervals, its exit status."""

from __future__ import annotations

from pathlib import Path

from evaluation.attacks.benign import alarms, lost
from evaluation.attacks.suite import tables
from evaluation.learning_tables import fields_of, text_of

from promises import promise
from reasoningbank.testing import HashingEmbedder


@promise(
    "evaluation:attack",
    "The poisoning suite prints shares with intervals, defences off and on, and fails when a limit is not held.",
    source="issue 4",
)
def test_the_tables_say_what_got_through_with_intervals(tmp_path: Path) -> None:
    made = list(tables(HashingEmbedder(), tmp_path, tmp_path, count=3, families=("disguise",)))
    assert [table.name for table in made] == ["attacks", "successes", "alarms", "lost", "patience"]
    row = made[0].rows[0]
    assert {"proven, off", "proven, on", "unproven, on", "quoted where shown"} <= set(row)
    assert "held" in text_of(made[0])
    assert fields_of(made[0])["rows"]


@promise("evaluation:attack")
def test_without_the_data_our_own_lessons_are_measured_and_the_rest_is_named(tmp_path: Path) -> None:
    table = alarms(tmp_path)
    assert any("reme is not in the data folder" in note for note in table.notes)
    (tmp_path / "home").mkdir()
    assert "held" in " ".join(lost(HashingEmbedder(), tmp_path / "home", tmp_path).notes)
