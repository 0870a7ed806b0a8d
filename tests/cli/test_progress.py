"""Progress bars on a terminal: on stderr alone, so that answers stay what they are."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

from promises import promise
from reasoningbank import Bank
from reasoningbank.settings import Settings
from sessions.learned_sessions import REPAIRED, environment

RBANK = str(Path(sys.executable).parent / "rbank")
LESSONS = (
    ("Close the file before it is moved away", "Close it first: a file that is open cannot be moved."),
    ("Close the file before it is moved", "Close it first: a file that is open cannot be moved away."),
)


def drawn(home: Path, *words: str) -> str:
    """What a command draws on the terminal that its stderr is."""
    main, side = pty.openpty()
    subprocess.run(
        [RBANK, "--tenant", "acme", "--project", "shop", *words],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=side,
        check=True,
        timeout=120,
    )
    os.close(side)
    found = os.read(main, 65_536).decode() if words else ""
    os.close(main)
    return found


@promise(
    "cli:progress",
    "Capturing several files, distilling, consolidating, importing files of every kind and making vectors anew draw a "
    "progress bar on a terminal.",
    source="issue 16, Terminal",
)
def test_capture_and_consolidate_show_how_far_they_are(tmp_path: Path) -> None:
    home = tmp_path / "home"
    files = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for file in files:
        file.write_text(REPAIRED)
    shown = drawn(home, "capture", *map(str, files))
    assert re.findall(r"capture \[[#-]{30}\] (\d)/2", shown) == ["1", "2"]
    with Bank.open(tenant="acme", project="shop", settings=Settings(home=home)) as bank:
        for title, content in LESSONS:
            bank.record(title=title, content=content, outcome="success", vouched=True)
        bank.admin.export(tmp_path / "all.jsonl")
    assert re.findall(r"consolidate \[#{30}\] (\d)/1", drawn(home, "consolidate", "--force")) == ["1"]
    assert re.search(r"import \[#{30}\] (\d)/\1", drawn(tmp_path / "other", "import", str(tmp_path / "all.jsonl")))
    assert re.search(r"re-embedding \[#{30}\] (\d)/\1", drawn(home, "reembed"))
    assert re.findall(r"distill \[[#-]{30}\] (\d)/1", drawn(home, "distill", "--pending")) == ["1"]


@promise("cli:progress")
def test_imports_of_other_files_show_how_far_they_are(tmp_path: Path) -> None:
    home, folder, rules = tmp_path / "home", tmp_path / "memories", tmp_path / "CLAUDE.md"
    with Bank.open(tenant="acme", project="shop", settings=Settings(home=home)) as bank:
        for title, content in LESSONS:
            bank.record(title=title, content=content, outcome="success", vouched=True)
        bank.sharing.export_markdown(folder)
    first = next(iter(sorted(folder.glob("*.md"))))
    first.write_text(first.read_text().replace("cannot be moved", "is not moved"))
    (folder / "new.md").write_text("# Lock the table first\n\nLock the table before its rows are counted.\n")
    shown = drawn(home, "import", "--vouched", "--markdown", str(folder))
    assert re.findall(r"import \[[#-]{30}\] (\d)/3", shown) == ["1", "2", "3"]
    rules.write_text("# Tests\n\n- Run the tests before every commit.\n- Never edit generated files.\n")
    assert re.search(r"import \[#{30}\] (\d)/\1", drawn(home, "import", "--from", "claude-md", str(rules)))
