"""Completion in real shells: what each of them offers for a word that is begun."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from promises import promise

PROGRAMS = Path(sys.executable).parent
BASH = """
source <("$PROGRAM" completion bash)
for line in "$@"; do
  read -ra COMP_WORDS <<< "$line"
  [[ "$line" == *" " ]] && COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  _rbank_completion rbank
  echo "${COMPREPLY[@]}"
done
"""
ZSH = """
compdef() { :; }
source <("$PROGRAM" completion zsh)
print -r -- $(COMP_WORDS="$1" COMP_CWORD=1 _RBANK_COMPLETE=zsh_complete rbank)
"""
FISH = """
"$PROGRAM" completion fish | source
complete --do-complete $argv[1]
"""


def in_shell(words: list[str], home: Path) -> str:
    """What a shell prints that runs a script with the program on its path."""
    environment = {
        "PATH": f"{PROGRAMS}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "PROGRAM": str(PROGRAMS / "rbank"),
        "HOME": str(home),
        "REASONINGBANK_HOME": str(home / "data"),
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@promise(
    "cli:completion",
    "`rbank completion bash|zsh|fish` prints a script with which the shell completes commands, groups, options "
    "and choices; nothing is made for that.",
    source="issue 16, Terminal",
)
def test_bash_completes_commands_options_and_choices(tmp_path: Path) -> None:
    lines = ["rbank sea", "rbank graph wa", "rbank search --out", "rbank --proj", "rbank list --order ne"]
    lines += ["rbank feedback 0199 unh", "rbank completion f", "rbank install claude-code --scope ", "rbank install ge"]
    said = in_shell(["bash", "--norc", "-c", BASH, "bash", *lines], tmp_path).splitlines()
    assert said == [
        "search",
        "walk",
        "--outcome",
        "--project",
        "newest",
        "unhelpful",
        "fish",
        "user project",
        "gemini",
    ]
    assert not (tmp_path / "data").exists()


@promise("cli:completion")
@pytest.mark.parametrize(("shell", "script"), [("zsh", ZSH), ("fish", FISH)])
def test_zsh_and_fish_complete_commands(tmp_path: Path, shell: str, script: str) -> None:
    said = in_shell([str(PROGRAMS / "rbank"), "completion", shell], tmp_path)
    assert f"{shell}_complete" in said
    if found := shutil.which(shell):
        assert "search" in in_shell([found, "-c", script, *([shell] if shell == "zsh" else []), "rbank sea"], tmp_path)
