"""``rbank graph ask`` and ``rbank graph remember``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from promises import promise
from reasoningbank.cli import app as group
from reasoningbank.demo.graph import QUESTION, copy_shop_graph

pytestmark = pytest.mark.usefixtures("home_of_commands")


def graph(*line: str, given: str | None = None) -> Result:
    """Runs ``rbank graph``."""
    return CliRunner().invoke(group.rbank, ["--tenant", "acme", "--project", "shop", "graph", *line], input=given)


@promise(
    "cli:graph-remember",
    "`rbank graph remember` stores the conversation of a file or stdin once.",
    source="issue 5",
)
@promise(
    "memoria:P24",
    "A finished conversation gives its request, actions, sources, answer, sentences with weights and at most one "
    "lesson with its nodes; the same again adds nothing.",
    source="spec/memoria_haios P24",
)
def test_remember_stores_a_file_or_stdin_once(tmp_path: Path, finished_conversation: Mapping[str, object]) -> None:
    file = tmp_path / "conversation.json"
    file.write_text(json.dumps(finished_conversation), encoding="utf-8")
    first = json.loads(graph("remember", str(file), "--json").stdout)
    assert {node["label"] for node in first["nodes"]} >= {"UserRequest", "AgentAction", "DataSource", "AgentAnswer"}
    assert first["lesson"]["key_lesson"].startswith("Set reorder points")
    assert first["new"]
    assert json.loads(graph("remember", "-", "--json", given=json.dumps(finished_conversation)).stdout)["new"] == []
    said = graph("remember", str(file)).stdout
    assert "0 entries are new" in said
    assert "lesson 1: CLAIM of one agent session, untested, from conversation: Set reorder points" in said


@promise("cli:graph-remember")
def test_an_unusable_file_is_refused_with_a_hint(tmp_path: Path) -> None:
    cases = {"missing.json": None, "list.json": "[]", "broken.json": "{", "empty.json": "{}", "long.json": '{"x": 1}'}
    for name, text in cases.items():
        if text is not None:
            (tmp_path / name).write_text(text, encoding="utf-8")
        done = graph("remember", str(tmp_path / name), "--json")
        assert done.exit_code == (5 if text is None else 2)
        assert json.loads(done.stderr)["hint"]


@promise(
    "cli:graph-ask",
    "`rbank graph ask` prints paths as sentences and lessons, or one question back.",
    source="issue 5",
)
@promise(
    "memoria:P21",
    "A vague question gets one question back and nothing is searched; after the answer graph and bank are searched "
    "with tags of the graph alone; ask=False never asks; it works without a model.",
    source="spec/memoria_haios P21",
)
def test_ask_prints_paths_as_sentences_or_one_question(tmp_path: Path) -> None:
    copy_shop_graph(tmp_path / "shop.json")
    assert graph("import", str(tmp_path / "shop.json")).exit_code == 0
    answer = json.loads(graph("ask", QUESTION, "--budget", "700", "--json").stdout)
    assert answer["tokens"] <= 700
    assert max(len(path["sentences"]) for path in answer["paths"]) >= 3
    assert answer["lessons"]
    said = graph("ask", QUESTION).stdout
    assert any(sentence in said for sentence in answer["paths"][0]["sentences"])
    assert "lesson " in said
    vague = "What's the best product?"
    asked = graph("ask", vague).stdout
    assert asked.count("?") == 1 + vague.count("?") - 1
    assert "best product" in asked
    plan = json.loads(graph("ask", vague, "--no-question", "--json").stdout)
    assert plan["clarification"] == ""
    clear = json.loads(graph("ask", vague, "--clarification", "frost on ferns", "--json").stdout)
    assert clear["seeds"]
    assert graph("ask").exit_code == 2
