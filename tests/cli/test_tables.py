"""Tables and colours: on a person's terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from promises import promise
from reasoningbank import Bank
from reasoningbank.settings import Settings
from sessions.learned_sessions import environment

RBANK = str(Path(sys.executable).parent / "rbank")
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
SCOPE = ("--tenant", "acme", "--project", "shop")
TITLE = "Retry [bold]flaky[/bold] calls \N{WARNING SIGN}"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with two memories."""
    place = tmp_path_factory.mktemp("tables") / "home"
    with Bank.open(tenant="acme", project="shop", settings=Settings(home=place)) as bank:
        bank.record(title=TITLE, content="Back off, then retry the call.", outcome="success", vouched=True)
        bank.record(title="Warm the cache", content="Fill it before traffic comes.", outcome="failure")
    return place


def on_terminal(
    home: Path, *words: str, columns: int = 160, variables: Mapping[str, str] = MappingProxyType({})
) -> str:
    """What a command writes to a terminal of this width."""
    main, side = pty.openpty()
    given = {**environment(home), "TERM": "xterm-256color", "COLUMNS": str(columns), **variables}
    with subprocess.Popen(
        [RBANK, *SCOPE, *words], stdout=side, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=given
    ) as process:
        os.close(side)
        found = b""
        while True:
            try:
                part = os.read(main, 65_536)
            except OSError:
                break
            if not part:
                break
            found += part
        assert process.wait(60) == 0, process.stderr.read() if process.stderr else b""
    os.close(main)
    return found.decode().replace("\r\n", "\n")


def in_pipe(home: Path, *words: str) -> str:
    """What a command writes into a pipe."""
    given = {**environment(home), "TERM": "xterm-256color"}
    done = subprocess.run([RBANK, *SCOPE, *words], env=given, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


@promise(
    "cli:tables",
    "On a terminal `list`, `sessions` and `metrics` are tables and `search`, `status` and `stats` have colours; in "
    "pipes, with NO_COLOR and with TERM=dumb the text is the plain one.",
    source="issue 16, Terminal",
)
def test_a_terminal_gets_tables_and_colours(home: Path) -> None:
    listed = on_terminal(home, "list")
    assert "\x1b[" in listed
    lines = ESCAPE.sub("", listed).splitlines()
    assert lines[0].split() == ["id", "confidence", "outcome", "state", "standing", "title"]
    assert [line for line in lines if line.rstrip().endswith(TITLE)]
    narrow = ESCAPE.sub("", on_terminal(home, "list", columns=70))
    assert max(map(len, narrow.splitlines())) <= 70
    assert re.search(r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3} ", narrow, re.MULTILINE)
    assert "SC-006" in ESCAPE.sub("", on_terminal(home, "metrics"))
    assert on_terminal(home, "sessions") == in_pipe(home, "sessions") == "0 sessions\n"
    for words in (("stats",), ("search", "retry the calls that fail now and then", "--unproven", "0")):
        shown = on_terminal(home, *words, columns=60)
        assert "\x1b[" in shown
        assert ESCAPE.sub("", shown) == in_pipe(home, *words)


@promise("cli:tables")
@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"CLAUDECODE": "1"}])
def test_who_wants_none_gets_the_plain_text(home: Path, variables: dict[str, str]) -> None:
    plain = in_pipe(home, "list")
    assert "\x1b" not in plain
    assert on_terminal(home, "list", variables=variables) == plain


@promise("cli:tables")
def test_rich_is_imported_only_for_a_terminal(home: Path) -> None:
    code = (
        "import sys\nfrom reasoningbank.cli import main\n"
        f"try:\n    main([*{SCOPE!r}, 'list'])\nexcept SystemExit:\n    pass\nprint('rich' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(home), capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "False"
