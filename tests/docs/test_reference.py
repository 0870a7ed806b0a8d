"""The reference pages are complete and name only what exists."""

from __future__ import annotations

import importlib
import re
from dataclasses import fields
from pathlib import Path

import click
import pytest

from reasoningbank.cli import answers as own_answers
from reasoningbank.cli.app import COMMANDS, rbank
from reasoningbank.cli.clients import InstallAnswer
from reasoningbank.demo.run import DemoAnswer
from reasoningbank.operations import curation_fields as guarding_answers
from reasoningbank.operations import curation_fields as sharing_answers
from reasoningbank.operations import curation_fields as tending_answers
from reasoningbank.operations import fields as answers
from reasoningbank.operations import fields as briefing_answers
from reasoningbank.operations import fields as learning_answers
from reasoningbank.operations import provenance_fields as source_answers
from reasoningbank.settings import PREFIX, Settings

ROOT = Path(__file__).resolve().parents[2]
CLI = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
SEED = (ROOT / "docs" / "reference" / "seed-api.md").read_text(encoding="utf-8")
SHARED = {"--json", "--url", "--tenant", "--project", "--team", "--org"}
ANSWERS: dict[str, type] = {
    "record": answers.RecordAnswer,
    "search": answers.SearchAnswer,
    "feedback": answers.FeedbackAnswer,
    "outcome": answers.OutcomeAnswer,
    "get": answers.MemoryAnswer,
    "list": own_answers.ListAnswer,
    "delete": answers.DeleteAnswer,
    "history": own_answers.HistoryAnswer,
    "stats": answers.StatsAnswer,
    "export": own_answers.ExportAnswer,
    "import": own_answers.ImportAnswer,
    "backup": own_answers.BackupAnswer,
    "restore": own_answers.RestoreAnswer,
    "doctor": own_answers.DoctorAnswer,
    "demo": DemoAnswer,
    "capture": learning_answers.CaptureFields,
    "trajectories": learning_answers.TrajectoriesFields,
    "trajectory": learning_answers.TrajectoryFields,
    "verdict": learning_answers.JudgementFields,
    "judge": learning_answers.JudgementFields,
    "distill": learning_answers.DistillFields,
    "distill-session": learning_answers.DistillFields,
    "experience": learning_answers.ExperienceFields,
    "scale": learning_answers.ScaledFields,
    "worker": learning_answers.WorkFields,
    "decay": tending_answers.DecayFields,
    "prune": tending_answers.PruneFields,
    "versions": guarding_answers.VersionsFields,
    "quarantine": guarding_answers.QuarantineFields,
    "release": guarding_answers.ReleaseFields,
    "stability": tending_answers.StabilityFields,
    "source": source_answers.SourceFields,
    "briefing": briefing_answers.BriefAnswer,
    "session-outcome": briefing_answers.SessionOutcomeAnswer,
    "promote": sharing_answers.PromotionFields,
    "demote": sharing_answers.PromotionFields,
    "share": sharing_answers.ShareFields,
    "install": InstallAnswer,
}


def section(name: str) -> str:
    """What the page says about one command."""
    match = re.search(rf"^## rbank {name}\n(.*?)(?=^## |\Z)", CLI, flags=re.DOTALL | re.MULTILINE)
    assert match, name
    return match.group(1)


@pytest.mark.promise("docs:cli-complete")
@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_option_and_field_is_documented(name: str) -> None:
    command = rbank.get_command(click.Context(rbank), name)
    assert command is not None
    text, shared = section(name), CLI.partition("## Exit status")[0]
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            for flag in parameter.opts:
                assert f"`{flag}" in (shared if flag in SHARED else text), flag
    for field in ANSWERS[name].__annotations__ if name in ANSWERS else ():
        assert f"`{field}`" in text, field


@pytest.mark.promise("docs:cli-complete")
def test_the_page_documents_no_command_or_option_that_is_not_there() -> None:
    assert re.findall(r"^## rbank (\S+)", CLI, flags=re.MULTILINE) == list(COMMANDS)
    for name in COMMANDS:
        command = rbank.get_command(click.Context(rbank), name)
        assert command is not None
        known = {flag for parameter in command.params for flag in parameter.opts} | {"--min-confidence"}
        assert set(re.findall(r"`(--[a-z0-9-]+)", section(name))) <= known


@pytest.mark.promise("docs:settings-complete")
def test_every_setting_is_documented() -> None:
    documented = set(re.findall(rf"^\| `({PREFIX}[A-Z_]+)`", CLI, flags=re.MULTILINE))
    assert documented == {f"{PREFIX}{field.name.upper()}" for field in fields(Settings)}


def seed_rows() -> list[tuple[str, str]]:
    """Go name and counterpart of every row."""
    return re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", SEED, flags=re.MULTILINE)


@pytest.mark.promise("docs:seed-api")
def test_every_counterpart_named_as_present_exists() -> None:
    present = [name for _, cell in seed_rows() for name in re.findall(r"`([^`]+)`", cell)]
    assert len(present) > 100
    for name in sorted(set(present)):
        assert resolved(name) is not None, name


@pytest.mark.promise("docs:seed-api")
def test_every_row_has_a_counterpart_or_a_planned_issue() -> None:
    rows = seed_rows()
    assert len(rows) == len({name for name, _ in rows}) >= 189
    for name, cell in rows:
        assert cell.startswith("`reasoningbank.") or re.fullmatch(r"issue: [a-z ]+ \(planned\)", cell), name
    for name in ("SignalStore", "CosineSimilarity", "Service.GetMemoryVector", "Service.ListMemories", "Service.Stats"):
        assert name in dict(rows)


def resolved(name: str) -> object:
    """The object of a dotted name: the longest module in it, then attributes; a dataclass field counts."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            place: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            place = getattr(place, part)
        return place
    return None
