"""``rbank graph`` and links of memories as a person uses them: asking, editing, pruning, preferences, events."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from promises import promise
from reasoningbank.cli.app import command_of, rbank
from reasoningbank.cli.built import Day
from reasoningbank.demo.graph import PROJECT, QUESTION, STORY, shop_graph
from reasoningbank.operations.composed import special_fields
from reasoningbank.types.graph import LABELS

Run = Callable[..., Result]
RBANK = Path(sys.executable).parent / "rbank"
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
BY_ID = {"lessons", "legs"}
"""Fields whose own fields are ids or the names of legs."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command line over a home of its own."""
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def invoke(*line: str, text: str | None = None) -> Result:
        return CliRunner().invoke(rbank, ["--tenant", "acme", "--project", "shop", *line], input=text)

    return invoke


@pytest.fixture
def shop(run: Run) -> Run:
    """The same with the shipped graph."""
    assert run("graph", "example").exit_code == 0
    assert run("graph", "import", "shop_graph.json").exit_code == 0
    return run


def answer(result: Result) -> dict[str, Any]:
    """The JSON object that a command has printed."""
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def names(value: object, name: str = "") -> Iterator[str]:
    """Every field of an answer, however deep."""
    if isinstance(value, dict):
        for key, each in value.items():
            if not (name in BY_ID and not isinstance(each, list)):
                yield key
            yield from names(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from names(each)


def documented(name: str, fields: set[str]) -> None:
    """Checks that the reference names every field among the commands of a group."""
    text = "".join(re.findall(rf"^## rbank {name}.*?(?=^## |\Z)", PAGE, flags=re.DOTALL | re.MULTILINE))
    assert {field for field in fields if f"`{field}`" not in text} == set()


@promise(
    "graph:story-from-cli",
    "From process start, with the installed embedder, example, import and search answer the shipped question: the "
    "story's sentences are printed in order.",
    source="issue 5, spec/memoria_haios row P16",
)
@promise("memoria:P16")
def test_the_shipped_question_is_answered_from_process_start(tmp_path: Path) -> None:
    """example, import, search and walk, each a process of its own, with the embedder that is installed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REASONINGBANK_")}
    environment = {**kept, "REASONINGBANK_HOME": str(tmp_path / "home"), "REASONINGBANK_SHARED": "false"}

    def run(*line: str) -> str:
        done = subprocess.run(
            [str(RBANK), "--tenant", "acme", "--project", "shop", "graph", *line],
            env=environment,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    told = json.loads(run("example", "--json"))
    assert told["question"] == QUESTION
    assert tuple(told["story"]) == STORY
    assert QUESTION in run("example", "again.json")
    run("import", told["path"])
    edges = {(edge["source"], edge["target"]): edge["text"] for edge in json.loads(shop_graph())["edges"]}
    story = [f"CLAIM of an import, untested: {edges[pair]}" for pair in pairwise(STORY)]

    found = run("search", told["question"])
    (path,) = [part for part in re.split(r"^\d+\. ", found, flags=re.MULTILINE) if all(text in part for text in story)]
    assert [line.strip()[3:].partition(" (")[0] for line in path.splitlines() if " <- " in line][:4] == story[::-1]

    own = ["rbank", "--project", PROJECT, "graph"]
    assert [shlex.split(command)[:4] for command in told["commands"]] == [own] * 3
    walked = run(*shlex.split(told["commands"][2])[4:])
    (path, *_) = [
        part for part in re.split(r"^\d+\. ", walked, flags=re.MULTILINE) if all(text in part for text in story)
    ]
    assert [line.strip()[3:].partition(" (")[0] for line in path.splitlines() if " -> " in line][:4] == story


@promise(
    "graph:cli-example",
    "The shipped graph is written where one says, with its question and the commands to ask it; another file is never "
    "overwritten.",
    source="issue 5",
)
def test_the_example_never_overwrites_something_else(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text("{}", encoding="utf-8")
    assert run("graph", "example", "mine.json").exit_code == 2
    assert (tmp_path / "mine.json").read_text(encoding="utf-8") == "{}"
    assert answer(run("graph", "example", "--json"))["path"] == str(tmp_path / "shop_graph.json")
    assert run("graph", "example").exit_code == 0
    assert run("graph", "example", "no/folder/here.json").exit_code == 5
    assert run("graph", "example", "a", "b").exit_code == 2


@promise(
    "graph:cli-edit",
    "On the command line nodes and edges are looked at, made, linked, edited and pruned; an edit's new words are "
    "found and its old ones not.",
    source="spec/memoria_haios row P26",
)
@promise("memoria:P26")
def test_a_person_finds_edits_and_prunes_a_node(shop: Run) -> None:
    """New words are found and old ones not; deleting takes edges, links, words and vector along."""
    old_words = ("graph", "search", "ferns and calatheas die below four degrees", "--limit", "9", "--json")
    assert answer(shop(*old_words))["seeds"][0]["id"] == "pk-107"
    changed = answer(shop("graph", "edit", "pk-107", "--text", "Zucchini zeppelins zigzag.", "--no-tags", "--json"))
    assert (changed["text"], changed["tags"], changed["label"]) == ("Zucchini zeppelins zigzag.", [], "AgentAnswer")
    assert changed["update_time"] > changed["ingestion_time"]
    new = answer(shop("graph", "search", "zucchini zeppelins", "--limit", "1", "--json"))["seeds"]
    assert [hit["id"] for hit in new] == ["pk-107"]
    assert set(new[0]["legs"]) == {"text", "lexical"}
    assert "pk-107" not in [hit["id"] for hit in answer(shop(*old_words))["seeds"]]

    view = answer(shop("graph", "get", "pk-107", "--json"))
    assert len(view["edges"]) == 7
    assert len(view["lessons"]) == len(view["node"]["reasoning_pointer_ids"]) == 4
    gone = answer(shop("graph", "delete", "pk-107", "--yes", "--json"))
    assert gone["edges"] == [edge["id"] for edge in view["edges"]]
    assert gone["unlinked_lessons"] == 4
    assert shop("graph", "get", "pk-107").exit_code == 3
    assert shop("graph", "edge", gone["edges"][0]).exit_code == 3
    after = answer(shop("graph", "search", "zucchini zeppelins zigzag", "--limit", "20", "--json"))["seeds"]
    assert "pk-107" not in [hit["id"] for hit in after]
    lesson = answer(shop("links", next(iter(view["lessons"])), "--json"))
    assert "pk-107" not in lesson["link_nodes"]
    assert answer(shop("graph", "list", "--json"))["all_edges"] == 80 - 7


@promise("graph:cli-edit")
def test_nodes_and_edges_are_made_changed_and_erased(run: Run) -> None:
    made = (
        "graph",
        "add",
        "--label",
        "AgentAction",
        "--text",
        "-",
        "--field",
        "status=failed",
        "--tag",
        "sql",
        "--json",
    )
    first = answer(run(*made, text="Asked the depot for its temperatures."))
    again = answer(run(*made, text="Asked the depot for its temperatures."))
    assert (first["new"], again["new"], first["id"]) == (True, False, again["id"])
    assert first["status"] == "failed"
    second = answer(
        run("graph", "add", "--label", "AgentAnswer", "--text", "It was cold.", "--id", "B", "--conversation", "c1",
            "--field", "metrics=hours", "--field", "metrics=degrees", "--json")
    )  # fmt: skip
    assert second["metrics"] == ["hours", "degrees"]
    link = ("graph", "link", first["id"], "B", "--text", "The refused call left the answer without a number.")
    edge = answer(run(*link, "--weight", "0.8", "--tag", "cause", "--json"))
    assert (edge["source"], edge["target"], edge["band"], edge["new"]) == (first["id"], "B", "strong-to-direct", True)
    assert answer(run(*link, "--weight", "0.8", "--tag", "cause", "--json"))["new"] is False
    assert run("graph", "link", first["id"], "B", "--text", "related", "--weight", "0.5").exit_code == 2
    assert run(*link, "--weight", "1.2", "--id", "other").exit_code == 2
    assert run("graph", "link", "B", "nobody", "--text", link[5], "--weight", "0.5").exit_code == 3
    lighter = answer(run("graph", "edit-edge", edge["id"], "--weight", "0.3", "--json"))
    assert (lighter["weight"], lighter["band"], lighter["text"]) == (0.3, "weak", edge["text"])
    moved = answer(run("graph", "edit", "B", "--conversation", "c2", "--field", "metrics=hours", "--json"))
    assert (moved["conv_id"], moved["metrics"]) == ("c2", ["hours"])
    assert "It was cold." in run("graph", "get", "B").stdout
    assert edge["text"] in run("graph", "edge", edge["id"]).stdout
    assert [each["id"] for each in answer(run("graph", "list", "--conversation", "c2", "--json"))["nodes"]] == ["B"]
    assert [each["id"] for each in answer(run("graph", "list", "--label", "AgentAction", "--json"))["nodes"]] == [
        first["id"]
    ]
    assert answer(run("graph", "list", "--offset", "1", "--limit", "1", "--json"))["count"] == 1
    assert answer(run("graph", "delete-edge", edge["id"], "--json"))["edge_id"] == edge["id"]
    assert answer(run("graph", "get", "B", "--json"))["edges"] == []


@promise(
    "graph:cli-renderings",
    "Paths are printed as sentences, as a model's context, as a D3 graph, as Cypher and as Mermaid.",
    source="spec/memoria_haios row P23",
)
@promise("memoria:P23")
def test_paths_are_rendered_for_models_browsers_and_graph_databases(shop: Run) -> None:
    for line in (("walk", "--seed", "pk-104"), ("search", "frost damage in winter")):
        whole = answer(shop("graph", *line, "--as", "text", "--json"))
        nodes = {name for path in whole["paths"] for name in path["nodes"]}
        drawn = answer(shop("graph", *line, "--as", "d3"))
        assert drawn == answer(shop("graph", *line, "--as", "d3", "--json"))
        assert {node["id"] for node in drawn["nodes"]} == nodes
        assert {edge[end] for edge in drawn["edges"] for end in ("source", "target")} <= nodes
        for form, begin in (("cypher", "MATCH p = "), ("mermaid", "flowchart LR"), ("llm", "<reasoningbank-memories")):
            text = shop("graph", *line, "--as", form).stdout
            assert text.startswith(begin)
            rendered = answer(shop("graph", *line, "--as", form, "--json"))
            assert (rendered["as"], rendered["text"].strip()) == (form, text.strip())
    short = shop("graph", "walk", "--seed", "pk-104", "--as", "llm", "--budget", "600").stdout
    assert 0 < short.count("[SEED]") < shop("graph", "walk", "--seed", "pk-104", "--as", "llm").stdout.count("[SEED]")
    assert shop("graph", "walk", "--seed", "pk-104", "--budget", "600").exit_code == 2
    assert shop("graph", "walk", "--seed", "nobody", "--as", "cypher").exit_code == 3


@promise(
    "graph:cli-reminders",
    "Preferences, events, sources and actions are kept and asked for on the command line.",
    source="spec/memoria_haios rows P17-P20",
)
@promise("memoria:P17")
@promise("memoria:P18")
@promise("memoria:P19")
@promise("memoria:P20")
def test_preferences_events_sources_and_actions_are_asked_for(shop: Run) -> None:
    prefer = ("graph", "prefer", "--type", "report_style", "--user", "ines")
    first = answer(shop(*prefer, "tables, no pie charts, dark theme", "--json"))
    second = answer(shop(*prefer, "light theme from now on", "--json"))
    holds = answer(shop("graph", "preferences", "--user", "ines", "--type", "report_style", "--json"))["preferences"]
    assert [each["id"] for each in holds] == [second["id"]]
    past = answer(shop("graph", "preferences", "--user", "ines", "--type", "report_style", "--history", "--json"))
    assert [(each["id"], each["replaced_by"]) for each in past["preferences"]][1:] == [(first["id"], second["id"])]
    other = answer(shop("graph", "preferences", "--user", "somebody", "--json"))["preferences"]
    assert second["id"] not in [each["id"] for each in other]
    context = shop("graph", "search", "frost", "--user", "ines", "--as", "llm").stdout
    assert "light theme from now on" in context
    assert "light theme" not in shop("graph", "search", "frost", "--as", "llm").stdout

    cold = answer(shop("graph", "events", "--since", "2026-01-17", "--until", "2026-01-22", "--json"))
    assert [each["id"] for each in cold["events"]] == ["pk-104"]
    assert "pk-107" in [each["id"] for each in cold["events"][0]["answers"]]
    instant = answer(shop("graph", "events", "--until", "2026-01-17T00:00:00", "--json"))
    assert "pk-104" not in [each["id"] for each in instant["events"]]
    rests = answer(shop("graph", "sources", "pk-107", "--json"))["sources"]
    assert {each["doc_pointer"] for each in rests} >= {"exports/claims/2026-01.csv"}
    assert all(1 <= len(each["path"]["edges"]) <= 3 for each in rests)
    stored = {node["id"]: node for node in json.loads(shop_graph())["nodes"]}
    failed = answer(shop("graph", "actions", "--outcome", "failure", "--json"))["actions"]
    assert failed
    assert all(each["parameters"] == stored[each["id"]]["parameter_field"] for each in failed)
    assert "pk-105 FAILED" in shop("graph", "actions", "--conversation", "packing/frost-claims").stdout
    assert len(answer(shop("graph", "actions", "--limit", "2", "--json"))["actions"]) == 2


@promise(
    "graph:cli-lessons",
    "Memories are recorded with links, shown, changed, searched by lesson with weights and per-leg scores, listed and "
    "erased on the command line.",
    source="spec/memoria_haios rows P1-P7",
)
@promise("memoria:P1")
@promise("memoria:P5")
@promise("memoria:P6")
@promise("memoria:P7")
def test_lessons_are_kept_linked_found_and_erased(run: Run) -> None:
    for name in ("N1", "N2"):
        run("graph", "add", "--label", "UserRequest", "--text", f"A question about {name}.", "--id", name)
    strategy = ("record", "--outcome", "success", "--title")
    add = (*strategy, "Carbon", "--content", "-", "--description", "Carbon audit, tCO2e per SKU-mile.", "--tag", "co2")
    memory = answer(run(*add, "--link-node", "N1", "--link-node", "N2", "--json", text="Weigh emissions by distance."))
    kept = answer(run("links", memory["id"], "--json"))
    assert isinstance(kept["rb_id"], int)
    assert (kept["key_lesson"], kept["tags"], kept["link_nodes"]) == (
        "Weigh emissions by distance.",
        ["co2"],
        ["N1", "N2"],
    )
    number = str(kept["rb_id"])
    assert answer(run("links", number, "--json")) == kept
    assert (kept["id"], kept["context_to_prefer"]) == (memory["id"], memory["description"])
    assert answer(run("graph", "get", "N2", "--json"))["lessons"] == {number: kept["id"]}
    slides = ("Slides", "--content", "Put the number first.", "--description", "Slides for directors.")
    run(*strategy, *slides, "--tag", "style")
    assert answer(run("list", "--json"))["count"] == 2
    linked = answer(run("list", "--linked-to", "N2", "--json"))["memories"]
    assert [each["id"] for each in linked] == [kept["id"]]
    assert answer(run("list", "--tag", "style", "--limit", "1", "--offset", "1", "--json"))["count"] == 0

    weights = ("--lesson-weight", "0", "--context-weight", "0", "--bm25-weight", "1")
    by_lesson = ("search", "--by", "lesson")
    (hit,) = answer(run(*by_lesson, "SKU-mile", *weights, "--json"))["memories"]
    assert (hit["id"], set(hit["legs"])) == (kept["id"], {"bm25"})
    assert 0.0 < hit["relevance"] <= 1.0
    ranked = answer(run(*by_lesson, "emissions by distance", "--fusion", "rrf", "--tag", "co2", "--json"))
    assert [each["id"] for each in ranked["memories"]] == [kept["id"]]
    assert kept["id"] in run(*by_lesson, "emissions by distance").stdout
    assert "(rank 1)" in run(*by_lesson, "emissions by distance").stdout
    none = answer(run(*by_lesson, "emissions", "--min-score", "1", "--json"))
    assert (none["memories"], bool(none["message"])) == ([], True)
    no_weights = ("--lesson-weight", "0", "--context-weight", "0", "--bm25-weight", "0")
    assert run(*by_lesson, "emissions", *no_weights).exit_code == 2

    own = kept["id"]
    changed = answer(run("update", own, "--description", "Green logistics.", "--link-node", "N2", "--json"))
    assert (changed["description"], answer(run("links", own, "--json"))["link_nodes"]) == ("Green logistics.", ["N2"])
    assert (changed["content"], changed["tags"]) == (kept["key_lesson"], kept["tags"])
    bare = answer(run("update", own, "--no-tags", "--no-link-nodes", "--json"))
    assert (bare["tags"], answer(run("links", own, "--json"))["link_nodes"]) == ([], [])
    assert answer(run("delete", own, "--yes", "--json"))["deleted"] is True
    assert run("links", number).exit_code == 3


@promise(
    "graph:cli-options",
    "An option or argument that an action lacks or does not have is refused with a hint; every field of every answer "
    "is documented.",
    source="issue 5",
)
@pytest.mark.parametrize(
    "line",
    [
        ("graph", "import", "f", "--tag", "x"),
        ("graph", "get"),
        ("graph", "get", "a", "b"),
        ("graph", "link", "a"),
        ("graph", "link", "a", "b", "--text", "The one explains why the other happened."),
        ("graph", "add", "--label", "Event"),
        ("graph", "add", "--label", "Fact", "--text", "t"),
        ("graph", "add", "--label", "AgentAction", "--text", "t"),
        ("graph", "add", "--label", "Event", "--text", "t", "--field", "nothing"),
        ("graph", "add", "--label", "Event", "--text", "t", "--field", "status=x"),
        (
            "graph",
            "add",
            "--label",
            "Event",
            "--text",
            "t",
            "--field",
            "start_date=2026-01-02",
            "--field",
            "start_date=x",
        ),
        ("graph", "edit", "a"),
        ("graph", "edit", "a", "--weight", "1"),
        ("graph", "edit-edge", "a", "--field", "x=y"),
        ("graph", "edit", "a", "--tag", "x", "--no-tags"),
        ("graph", "prefer", "t", "--user", "u"),
        ("graph", "prefer", "t", "--type", "x"),
        ("graph", "prefer", "t", "--type", "x", "--user", "u", "--role", "r"),
        ("graph", "preferences"),
        ("graph", "events", "--since", "yesterday"),
        ("graph", "events", "--since", "2026-02-01", "--until", "2026-01-01"),
        ("graph", "actions", "--outcome", "good"),
        ("graph", "actions", "--limit", "-1"),
        ("graph", "walk", "--seed", "x", "--as", "png"),
        ("graph", "list", "x"),
        ("links",),
        ("links", "1", "--tag", "x"),
        ("update", "1"),
        ("update", "1", "--link-node", "x", "--no-link-nodes"),
        ("search", "q", "--by", "words"),
        ("search", "q", "--by", "lesson", "--fusion", "best"),
        ("search", "q", "--by", "lesson", "--bm25-weight", "2"),
        ("search", "q", "--bm25-weight", "1"),
        ("search", "q", "--linked-to", "x"),
        ("search", "q", "--by", "lesson", "--as-of", "2026-01-01"),
        ("list", "--linked-to", "x", "--as-of", "2026-01-01"),
        ("list", "--offset", "-1"),
    ],
)
def test_what_an_action_lacks_or_does_not_have_is_refused(run: Run, line: tuple[str, ...]) -> None:
    result = run(*line)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "hint" in result.stderr


@promise("graph:cli-options")
def test_options_read_labels_fields_and_days() -> None:
    for action in ("add", "list"):
        command = command_of(f"graph {action}")
        assert command is not None
        (labels,) = [each.type.choices for each in command.params if each.name == "label"]  # type: ignore[attr-defined]
        assert tuple(labels) == LABELS
    assert special_fields(["status=a=b"]) == {"status": "a=b"}
    assert str(Day().convert("2026-03-01", None, None)) == "2026-03-01"
    assert str(Day().convert("2026-03-01T10:00", None, None)) == "2026-03-01 10:00:00+00:00"


@promise("graph:cli-options")
@promise(
    "docs:cli-complete",
    "Every command, option and answer field is documented, and nothing that is not there.",
    source="DESIGN section 5",
)
def test_every_field_is_documented(shop: Run) -> None:
    shop("graph", "prefer", "tables", "--type", "style", "--user", "u")
    lines = [
        ("example", "again.json"),
        ("search", "frost damage in winter"),
        ("walk", "--seed", "pk-104"),
        ("walk", "--seed", "pk-104", "--as", "llm"),
        ("get", "pk-104"),
        ("edge", "pk-e01"),
        ("list", "--limit", "5"),
        ("edit", "pk-104", "--tag", "x"),
        ("add", "--label", "UserRequest", "--text", "t"),
        ("preferences", "--user", "u"),
        ("events",),
        ("sources", "pk-107"),
        ("actions",),
        ("delete", "pk-104"),
    ]
    special = {"user_role", "user_id", "preference_type", "analysis_types", "metrics", "parameter_field", "start_date"}
    special |= {"end_date"}
    fields = {name for line in lines for name in names(answer(shop("graph", *line, "--json")))}
    documented("graph", fields - special)
    documented("links", set(names(answer(shop("links", "1", "--json")))))
