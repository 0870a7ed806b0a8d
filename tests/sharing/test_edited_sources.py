"""A file of another product that was edited and is imported again: what changed comes in, all else stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.types.memory import State
from reasoningbank.types.transfer import Product, TakenOver

FIRST = "# Tests\n\nRun the tests with `make test`.\n\n# Deploys\n\nDeploy on Tuesdays, after the backup.\n"
SECOND = FIRST.replace("on Tuesdays", "on Fridays")
USED: tuple[State, ...] = ("active", "candidate")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A CLAUDE.md with two sections."""
    path = tmp_path / "CLAUDE.md"
    path.write_text(FIRST)
    return path


def became(report: TakenOver) -> dict[str, str]:
    """What became of each section, by its heading."""
    return {each.title: each.change for each in report.taken}


@promise(
    "import:edited-source",
    "A file of another product that was edited since it was taken over can be imported again: a changed entry is a new "
    "version of the claim that it was, or a claim in its place once sessions were shown it; unchanged entries are not "
    "touched.",
    source="outside test of issue 16",
)
def test_an_entry_that_changed_is_a_new_version_of_its_claim(bank: Bank, path: Path) -> None:
    first = {each.title: each.id for each in bank.sharing.import_from("claude-md", path).taken}
    tests = bank.get(first["Tests"])
    path.write_text(SECOND)
    assert became(bank.sharing.import_from("claude-md", path, dry_run=True)) == {
        "Tests": "unchanged",
        "Deploys": "edited",
    }
    assert bank.get(first["Deploys"]).version == 1
    assert became(bank.sharing.import_from("claude-md", path)) == {"Tests": "unchanged", "Deploys": "edited"}
    deploys = bank.get(first["Deploys"])
    assert (deploys.content, deploys.version) == ("Deploy on Fridays, after the backup.", 2)
    assert (deploys.standing, deploys.state, deploys.confidence) == ("claim", "candidate", 0.6)
    assert bank.get(first["Tests"]) == tests
    assert set(became(bank.sharing.import_from("claude-md", path)).values()) == {"unchanged"}
    path.write_text(FIRST)
    assert became(bank.sharing.import_from("claude-md", path))["Deploys"] == "edited"
    assert bank.get(deploys.id).content == "Deploy on Tuesdays, after the backup."
    assert bank.memories.count() == 2


@promise("import:edited-source")
def test_an_entry_that_sessions_were_shown_is_replaced_by_a_claim_without_its_evidence(bank: Bank, path: Path) -> None:
    first = {each.title: each.id for each in bank.sharing.import_from("claude-md", path).taken}
    bank.feedback(first["Deploys"], helpful=True, session="one", rater="agent")
    for text in ("Ask Mira before anything is deployed.", "Nobody deploys by hand any more."):
        path.write_text(FIRST.replace("Deploy on Tuesdays, after the backup.", text))
        report = bank.sharing.import_from("claude-md", path)
        assert report.count("conflict") == 0
        assert report.count("unchanged") == 1
        found = [memory.content for memory in bank.memories.list(states=USED) if memory.title == "Deploys"]
        assert found == [text]
    assert bank.get(first["Deploys"]).state == "archived"


@promise(
    "import:edited-source-stays",
    "What a person vouched for since is not overwritten by its file that was edited: the edit stands beside it "
    "as a claim, and the report says so; a person who stands by the file makes it the new version.",
    source="outside test of issue 16",
)
@pytest.mark.parametrize("vouched", [False, True])
def test_what_a_person_vouched_for_is_not_overwritten(bank: Bank, path: Path, vouched: bool) -> None:
    first = {each.title: each.id for each in bank.sharing.import_from("claude-md", path).taken}
    bank.quarantine.review(approve=[first["Deploys"]])
    before = bank.get(first["Deploys"])
    path.write_text(SECOND)
    report = bank.sharing.import_from("claude-md", path, vouched=vouched)
    taken = next(each for each in report.taken if each.title == "Deploys")
    if vouched:
        assert (taken.change, taken.id, bank.get(taken.id).version) == ("edited", before.id, 2)
        assert (bank.get(taken.id).belief, bank.get(taken.id).standing) == (before.belief, "vouched")
        return
    assert taken.change == "added"
    assert "which is vouched, stays" in taken.reason
    assert "--vouched" in taken.reason
    assert bank.get(before.id) == before
    assert bank.get(taken.id).standing == "claim"
    assert became(bank.sharing.import_from("claude-md", path))["Deploys"] == "unchanged"


@promise("import:edited-source-stays")
def test_what_a_person_changed_here_stays_when_its_file_is_imported_again(bank: Bank, path: Path) -> None:
    first = {each.title: each.id for each in bank.sharing.import_from("claude-md", path).taken}
    bank.update(first["Deploys"], content="Deploy when Mira says so.")
    again = bank.sharing.import_from("claude-md", path)
    assert became(again) == {"Tests": "unchanged", "Deploys": "unchanged"}
    path.write_text(SECOND)
    (stopped,) = [each for each in bank.sharing.import_from("claude-md", path, vouched=True).taken if each.reason][-1:]
    assert (stopped.change, f"rbank edit {first['Deploys']}" in stopped.reason) == ("conflict", True)
    assert bank.get(first["Deploys"]).content == "Deploy when Mira says so."


@promise("import:edited-source")
def test_sections_and_files_of_the_same_name_are_not_taken_for_edits_of_each_other(bank: Bank, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    below = tmp_path / "web"
    below.mkdir()
    (tmp_path / "CLAUDE.md").write_text("# Tests\n\nRun `make test`.\n\n# Tests\n\nNever skip one.\n")
    (below / "CLAUDE.md").write_text("# Tests\n\nRun `npm test`.\n")
    for _ in range(2):
        reports = [
            bank.sharing.import_from("claude-md", each) for each in (tmp_path / "CLAUDE.md", below / "CLAUDE.md")
        ]
        assert len({each.id for report in reports for each in report.taken}) == 3
    assert {each.change for report in reports for each in report.taken} == {"unchanged"}
    assert bank.memories.count() == 3


@promise(
    "import:own-file",
    "A file is never taken for an edit of another file that has its name, wherever the two lie: both are imported.",
    source="issue 16 (Memory that moves)",
)
@pytest.mark.parametrize("vouched", [False, True])
@pytest.mark.parametrize("form", ["claude-md", "memory-server", "markdown"])
def test_files_of_one_name_are_told_apart_wherever_they_lie(
    bank: Bank, tmp_path: Path, form: Product | Literal["markdown"], *, vouched: bool
) -> None:
    texts = ("Run make test before a commit.", "A token lives for an hour.")
    for folder, text in zip(("a", "b"), texts, strict=True):
        (tmp_path / folder / ".git").mkdir(parents=True)
        entity = {"type": "entity", "name": "Tests", "entityType": "note", "observations": [text]}
        written = json.dumps(entity) if form == "memory-server" else f"# Tests\n\n{text}\n"
        file = tmp_path / folder / ("memory.json" if form == "memory-server" else "CLAUDE.md")
        file.write_text(written)
        took = (
            bank.sharing.import_markdown(file.parent, vouched=vouched)
            if form == "markdown"
            else bank.sharing.import_from(form, file, vouched=vouched)
        )
        assert [each.change for each in took.taken] == ["added"]
    kept = bank.memories.list(states=("active", "candidate"))
    assert all(any(text in memory.content for memory in kept) for text in texts)
    assert bank.memories.count() == 2
