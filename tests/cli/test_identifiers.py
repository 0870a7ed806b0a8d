"""The beginning of an id on the command line stands for the id where it is unique."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from promises import promise
from reasoningbank import Bank
from reasoningbank.cli.app import rbank
from reasoningbank.types.memory import Memory

Run = Callable[..., Result]


@pytest.fixture
def bank(home_of_commands: Path) -> Iterator[Bank]:
    """The bank of tenant acme and project shop that the commands work on."""
    assert home_of_commands
    with Bank.open(tenant="acme", project="shop") as opened:
        yield opened


@pytest.fixture
def run(home_of_commands: Path) -> Run:
    """Runs one command line in tenant acme and project shop."""
    assert home_of_commands

    def invoke(*arguments: str, **others: str) -> Result:
        return CliRunner(env=others).invoke(rbank, ["--tenant", "acme", "--project", "shop", *arguments])

    return invoke


def beginning(one: str, other: str) -> str:
    """Return what both texts begin with."""
    return "".join(mine for mine, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def two_memories(bank: Bank) -> tuple[Memory, Memory, str]:
    """Record two memories; return them and the longest text that both ids begin with."""
    first = bank.record(title="Retry flaky calls", content="Back off, then retry.", outcome="success")
    second = bank.record(title="Warm the cache", content="Fill it before traffic.", outcome="success")
    return first, second, beginning(first.id, second.id)


def unique(one: str, *others: str) -> str:
    """Return the shortest beginning of an id that the others have not."""
    return one[: max(4, *(len(beginning(one, other)) + 1 for other in others))]


@promise(
    "cli:short-ids",
    "On the command line the beginning of an id of at least four characters stands for it where it is unique; one of "
    "several ids is refused with what it may mean; MCP tools and REST take whole ids alone.",
    source="issue 16, Terminal",
)
def test_the_beginning_of_a_memorys_id_is_enough(run: Run, bank: Bank) -> None:
    first, second, common = two_memories(bank)
    short = unique(first.id, second.id)
    assert json.loads(run("get", short, "--json").stdout)["id"] == first.id
    assert "confidence rose from" in run("feedback", short, "helpful").stdout
    assert json.loads(run("update", short, "--title", "Retry calls", "--json").stdout)["title"] == "Retry calls"
    assert json.loads(run("versions", short, "--json").stdout)["memory_id"] == first.id
    assert json.loads(run("links", short, "--json").stdout)["id"] == first.id
    held = json.loads(run("quarantine", "--memory", short, "--reason", "a test", "--json").stdout)
    assert run("release", str(held["id"])[:13], "--json").exit_code == 0
    assert run("delete", short).stdout == f"Deleted {first.id}.\n"
    assert len(common) >= 4


@promise("cli:short-ids")
def test_an_ambiguous_beginning_lists_what_it_may_mean(run: Run, bank: Bank) -> None:
    first, second, common = two_memories(bank)
    refused = run("get", common)
    assert refused.exit_code == 2
    for memory in (first, second):
        assert f"  {memory.id}  {memory.title}\n" in refused.stderr
    assert "hint: Write more" in refused.stderr
    for number in range(6):
        bank.record(title=f"Lesson {number}", content=f"Number {number} it is.", outcome="success")
    many = run("delete", common[:4], "--yes")
    assert many.exit_code == 2
    assert many.stderr.count("\n  ") == 6
    assert "\n  ...\n" in many.stderr
    assert len(bank.memories.list()) == 8


@promise("cli:short-ids")
def test_an_ambiguous_beginning_names_the_project_of_what_is_of_another(run: Run, bank: Bank) -> None:
    with Bank.open(tenant="acme", project="garden") as other:
        first, second, common = two_memories(other)
    refused = run("get", common)
    assert refused.exit_code == 2
    for memory in (first, second):
        assert f"  {memory.id}  {memory.title} (project garden)\n" in refused.stderr
    own = bank.record(title="Ours", content="It is of this project.", outcome="success")
    said = run("get", beginning(own.id, common)).stderr
    assert f"  {own.id}  Ours\n" in said


@promise("cli:short-ids")
@pytest.mark.parametrize("given", ["none", "nope-not-here", "019", "%%%%", "____"])
def test_an_unknown_beginning_and_one_too_short_stay_not_found(run: Run, bank: Bank, given: str) -> None:
    two_memories(bank)
    for command in ("get", "history"):
        assert run(command, given).exit_code == 3
    assert run("trajectory", given).exit_code == 3
    assert run("graph", "get", given).exit_code == 3


@promise("cli:short-ids")
def test_a_memory_of_another_project_is_meant_where_the_operation_reaches_it(run: Run, bank: Bank) -> None:
    first, second, common = two_memories(bank)
    with Bank.open(tenant="acme", project="other") as other:
        there = other.record(title="Elsewhere", content="In another project.", outcome="success")
    with Bank.open(tenant="rival", project="shop") as rival:
        rival.record(title="Not ours", content="Of another tenant.", outcome="success")
    short = unique(there.id, first.id, second.id)
    assert json.loads(run("get", short, "--json").stdout)["project"] == "other"
    # Links are those of this project, so that no memory elsewhere makes the beginning of an id ambiguous.
    assert run("links", short).exit_code == 3
    assert "Not ours" not in run("get", common[:4]).stderr
    assert "Elsewhere" in run("get", common[:4]).stderr
    assert first.title in run("get", common[:4]).stderr


@promise("cli:short-ids")
def test_nodes_edges_and_seeds_are_known_by_the_beginning_of_their_ids(run: Run, bank: Bank) -> None:
    for name, said in (("order-service", "Takes orders."), ("order-database", "Holds orders."), ("cart", "A cart.")):
        run("graph", "add", "--label", "DataSource", "--id", name, "--text", said)
    linked = run(
        "graph", "link", "order-s", "order-d", "--id", "writes-to", "--text", "It writes there.", "--weight", "0.9"
    )
    assert linked.exit_code == 0, linked.output
    assert bank.edges.get("writes-to").target == "order-database"
    assert "order-service" in run("graph", "get", "order-s").stdout
    assert "It writes there." in run("graph", "edge", "writ").stdout
    walked = json.loads(run("graph", "walk", "--seed", "order-s=0.9", "--json").stdout)
    assert [each["id"] for each in walked["seeds"]] == ["order-service"]
    assert run("graph", "get", "order").exit_code == 2
    # An id that callers choose is meant whole where it exists, whatever begins like it.
    run("graph", "add", "--label", "DataSource", "--id", "order", "--text", "An order.")
    assert json.loads(run("graph", "get", "order", "--json").stdout)["node"]["id"] == "order"
    assert run("graph", "delete", "order").exit_code == 0
    assert run("graph", "delete", "order-s").exit_code == 3
    assert bank.graph.get("order-service").node.id == "order-service"


@promise("cli:short-ids")
def test_sessions_are_known_by_the_beginning_of_their_ids(run: Run, bank: Bank) -> None:
    name = "3f2a9c10-7c1e-4d7b-9a55-0d3f1c2b4a59"
    bank.record(title="Retry flaky calls", content="Back off, then retry.", outcome="success")
    for session in (name, "run-12"):
        assert bank.briefing("retry flaky calls", session=session).items
    assert "1 credited" in run("session-outcome", "3f2a9", "succeeded").stdout
    # A name that a caller has chosen is never taken for another one that begins like it.
    assert "nothing is known of a session named run-1 here" in run("session-outcome", "run-1", "failed").stdout


@promise("cli:short-ids")
def test_an_agent_is_told_no_title_of_what_is_in_quarantine(run: Run, bank: Bank) -> None:
    first, second, common = two_memories(bank)
    bank.quarantine.add(memory_id=first.id, reason="a test")
    refused = run("get", common, CLAUDECODE="1")
    assert refused.exit_code == 2
    assert first.title not in refused.stderr
    assert second.title in refused.stderr
    assert first.title in run("get", common).stderr
