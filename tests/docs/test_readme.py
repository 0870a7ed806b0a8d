"""The README is short, the configurations of clients are exact, and the sessions page runs with a model."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from docs.pages import DOCS, ROOT
from docs.transcripts import Run, blocks
from llm.replay_server import ReplayServer
from promises import promise
from sessions.learned_sessions import model

README = (ROOT / "README.md").read_text(encoding="utf-8")
SERVE = {"command": "rbank", "args": ["serve"]}


@promise(
    "docs:readme-python",
    "The Python quick start of the README has at most 20 lines and runs.",
    source="issue, README",
)
def test_the_python_quick_start_is_short() -> None:
    (example,) = [block.text for block in blocks(README) if block.language == "python"]
    assert len(example.splitlines()) <= 20


@promise(
    "docs:readme-shell",
    "The README has at most 250 lines; its transcript of an agent that does better the second time is run and "
    "compared.",
    source="issue, README",
)
def test_the_readme_is_short_and_its_agent_does_better_the_second_time() -> None:
    assert len(README.splitlines()) <= 250
    first, second = README.partition("$ rbank demo")[2].split("\nA WEEK LATER")
    attempts = r"^  \$ python -m unittest \S+   \[(.*)\]$"
    error = "exit 1, FileNotFoundError: [Errno 2] No such file or directory: 'local.ini'"
    assert re.findall(attempts, first, flags=re.MULTILINE) == [error, "exit 1, the same error", "OK"]
    assert re.findall(attempts, second, flags=re.MULTILINE) == [error, "OK"]
    assert "| - ran: cp local.example.ini local.ini" in second


@promise("docs:readme-shell")
def test_the_readme_has_five_measured_facts_with_links() -> None:
    facts = README.partition("## Five measured facts")[2].partition("\n## ")[0]
    numbered = re.split(r"^\d\. ", facts, flags=re.MULTILINE)[1:]
    assert len(numbered) == 5
    for fact in numbered:
        assert re.search(r"\d.*\]\(docs/", fact, flags=re.DOTALL), fact


@promise(
    "docs:readme-learning",
    "The page on learning from sessions runs without a model and with one.",
    source="issue Interface",
)
def test_the_sessions_page_runs_with_a_model(tmp_path: Path) -> None:
    """Without a model the page runs as every page does; here its model is one that gives recorded answers."""
    page = (DOCS / "how-to" / "learn-from-sessions.md").read_text(encoding="utf-8")
    url = "http://127.0.0.1:11434/v1"
    (learns,) = [block for block in blocks(page) if block.skipped]
    before = page[: page.index("## Distill with a language model")]
    assert url in learns.text
    run = Run(tmp_path)
    try:
        assert not run.page(before).differences
        with ReplayServer(model) as replay:
            said = run.page(f"```console\n{learns.text.replace(url, replay.url)}```\n").text
    finally:
        run.close()
    assert "\n1 done, 0 postponed, 0 given up\n" in said


@promise(
    "docs:readme-clients",
    "The page on installing has the configurations of five MCP clients in their exact formats.",
    source="issue, README; spec/clients 4a",
)
def test_the_configurations_of_five_clients_are_in_their_formats() -> None:
    page = (DOCS / "how-to" / "install-into-a-client.md").read_text(encoding="utf-8")
    documents = [json.loads(block.text) for block in blocks(page) if block.language == "json"]
    in_servers = [document["mcpServers"]["reasoningbank"] for document in documents if "mcpServers" in document]
    assert in_servers.count(SERVE) == 2
    assert {server["command"] for server in in_servers} == {"rbank"}
    assert all(server["args"][-1] == "serve" for server in in_servers)
    assert len(in_servers) == 3
    (code,) = [document for document in documents if "servers" in document]
    assert code == {"servers": {"reasoningbank": {"type": "stdio", **SERVE}}, "inputs": []}
    (codex,) = [tomllib.loads(block.text) for block in blocks(page) if block.language == "toml"]
    assert codex == {"mcp_servers": {"reasoningbank": SERVE}}
    for client in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Codex"):
        assert client in page


@promise(
    "docs:readme-commands",
    "The README names the two commands and links only files that exist.",
    source="issue, README",
)
def test_the_readme_names_the_two_commands_and_links_files_that_exist() -> None:
    assert "make demo" in README
    assert "make test" in README
    for target in re.findall(r"\]\(([^)#:]+)[^)]*\)", README):
        assert (ROOT / target).is_file(), target
