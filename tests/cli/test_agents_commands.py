"""What an agent's command never does: replace a bank, erase, let somebody in."""

from __future__ import annotations

from pathlib import Path

import pytest

from promises import promise
from reasoningbank.cli.agents import PERSONAL
from reasoningbank.cli.app import rbank
from reasoningbank.errors import PolicyError
from reasoningbank.operations.table import OPERATIONS

REFUSED = (
    ("restore", "bank.bak", "--yes"),
    ("doctor", "--repair"),
    ("migrate", "sqlite:///one", "sqlite:///two"),
    ("token", "create"),
    ("token", "revoke", "some"),
    ("database", "init", "postgresql://nobody@localhost/none"),
    ("undo", "some"),
    ("promote", "some", "--yes"),
    ("edit", "some"),
)
ARCHIVED = {"delete", "graph delete", "graph delete-edge"}
"""What asks first and keeps for 30 days what an agent takes away."""


@promise("trust:command")
@pytest.mark.parametrize("words", REFUSED, ids=lambda words: "-".join(words[:2]))
def test_an_agent_replaces_no_bank_and_lets_nobody_in(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDECODE", "1")
    with pytest.raises(SystemExit) as left:
        rbank.main([*words])
    assert left.value.code == PolicyError.exit_code
    assert "a person's to do" in capsys.readouterr().err
    assert not (tmp_path / "home").exists()


@promise("trust:command")
def test_every_command_that_asks_before_it_destroys_is_a_persons_or_archives() -> None:
    asked = {each.command.name for each in OPERATIONS if each.command is not None and each.command.confirm}
    assert asked <= PERSONAL.keys() | ARCHIVED
