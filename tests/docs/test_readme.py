"""The README does what it says: its examples run, its client configurations are exact, its table is up to date."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from learned_sessions import REPAIRED, model
from reasoningbank.testing.replay import ReplayServer

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SERVE = {"command": "rbank", "args": ["serve"]}


def blocks(language: str) -> list[str]:
    """The fenced examples in a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def environment(home: Path) -> dict[str, str]:
    """A home of its own and the installed commands first on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REASONINGBANK_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    return {**kept, "REASONINGBANK_HOME": str(home), "PATH": path}


@pytest.mark.promise("docs:readme-python")
def test_the_python_quick_start_runs(tmp_path: Path) -> None:
    (example,) = blocks("python")
    assert len(example.splitlines()) <= 20
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        env=environment(tmp_path / "home"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, *events = done.stdout.splitlines()
    assert first.endswith("0.80  Retry flaky network calls")
    assert events[0].startswith("0.800  ")
    assert len(events) == 4


@pytest.mark.promise("docs:readme-shell")
def test_the_command_line_quick_start_runs(tmp_path: Path) -> None:
    (example,) = [block for block in blocks("sh") if "rbank record" in block]
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", example],
        env=environment(tmp_path / "home"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "1. Pin the time zone in date tests" in done.stdout
    assert "Everything is in order." in done.stdout


@pytest.mark.promise("docs:readme-learning")
def test_the_sessions_quick_start_runs_without_a_model_and_with_one(tmp_path: Path) -> None:
    (tmp_path / "session.jsonl").write_text(REPAIRED, encoding="utf-8")
    (waits,) = [block for block in blocks("sh") if "rbank capture" in block]
    (learns,) = [block for block in blocks("sh") if "rbank worker" in block]
    url = "http://127.0.0.1:11434/v1"
    assert url in learns

    def ran(example: str) -> str:
        done = subprocess.run(
            ["/bin/sh", "-e", "-c", example],
            env=environment(tmp_path / "home"),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    said = ran(waits)
    assert "1 captured, 0 known already, 0 skipped" in said
    assert "0 distilled, 0 corroborated, 0 refused, 1 session waits" in said
    assert "2 distilled" in said
    assert "Move the shop to a new host" in said.rpartition("distilled")[2]
    with ReplayServer(model) as replay:
        assert ran(learns.replace(url, replay.url)).startswith("1 done, 0 postponed, 0 given up")


@pytest.mark.promise("docs:readme-shell")
def test_the_blocks_on_curation_and_on_the_graph_run(tmp_path: Path) -> None:
    """In a bank of its own each; the graph answers the question that the README asks with the story behind it."""
    examples = [block for block in blocks("sh") if "rbank consolidate" in block or "rbank graph" in block]
    said = []
    for number, example in enumerate(examples):
        (tmp_path / str(number)).mkdir()
        done = subprocess.run(
            ["/bin/sh", "-e", "-c", example],
            env=environment(tmp_path / f"home{number}"),
            cwd=tmp_path / str(number),
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    curation, graph = said
    assert curation.startswith("0 created of 0 archived")
    assert "No session has met a memory yet." in curation
    assert "frost" in graph.lower()


@pytest.mark.promise("docs:readme-clients")
def test_the_configurations_of_five_clients_are_in_their_formats() -> None:
    documents = [json.loads(block) for block in blocks("json")]
    in_servers = [document["mcpServers"]["reasoningbank"] for document in documents if "mcpServers" in document]
    assert in_servers.count(SERVE) == 2
    assert {server["command"] for server in in_servers} == {"rbank"}
    assert all(server["args"][-1] == "serve" for server in in_servers)
    assert len(in_servers) == 3
    (code,) = [document for document in documents if "servers" in document]
    assert code == {"servers": {"reasoningbank": {"type": "stdio", **SERVE}}, "inputs": []}
    (codex,) = [tomllib.loads(block) for block in blocks("toml")]
    assert codex == {"mcp_servers": {"reasoningbank": SERVE}}
    for client in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Codex"):
        assert client in README


@pytest.mark.promise("docs:readme-commands")
def test_the_readme_names_the_two_commands_and_links_files_that_exist() -> None:
    assert "make demo" in README
    assert "make test" in README
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).is_file(), target
