"""Exports onto files that are not theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.test_cli_processes import rbank
from promises import promise


@promise(
    "export:never-a-bank",
    "An export onto a bank, or onto a file that belongs to one, is refused, and the bank stays; what else is there "
    "stays until the export is whole.",
    source="issue 13",
)
@pytest.mark.parametrize("command", ["export", "share export"])
def test_an_export_onto_a_bank_is_refused(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, command: str
) -> None:
    home = tmp_path_factory.mktemp("exported") / "home"
    words = ("--title", "Use tabs", "--content", "Makefiles need tabs.", "--outcome", "success")
    assert rbank(home, "record", *words).returncode == 0
    (bank,) = home.glob("banks/**/*.db")
    before = bank.read_bytes()
    for ending in ("", "-wal", "-shm", ".lock"):
        name = f"{bank}{ending}"
        target = tmp_path / f"link{ending}.jsonl"
        target.symlink_to(name)
        if command == "export":
            done = rbank(home, "export", name)
            assert (done.returncode, "which would be lost" in done.stderr) == (2, True), done
        assert rbank(home, *command.split(), str(target)).returncode in {2, 5}
        target.unlink()
    assert bank.read_bytes() == before
    assert "Use tabs" in rbank(home, "list").stdout
    elsewhere = tmp_path / "memories.jsonl"
    (tmp_path / "memories.jsonl.partial").write_text("of a process that was killed")
    assert rbank(home, *command.split(), str(elsewhere)).returncode == 0
    assert "Use tabs" in elsewhere.read_text()
    assert [*tmp_path.iterdir()] == [elsewhere]
