"""No command of an agent takes away what other clients recorded; a person's takes what it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest
from click.testing import CliRunner, Result

from promises import promise
from reasoningbank import Bank
from reasoningbank.cli.agents import PERSONAL
from reasoningbank.cli.app import rbank
from reasoningbank.memories.standing import speaking
from reasoningbank.operations.table import OPERATIONS
from reasoningbank.types.memory import Memory

FLAGS = {"billing": "pool", "search": "retry", "mail": "quota", "export": "trace", "login": "batch", "audit": "index"}
"""Services and flags of lessons that are worded alike and say different things."""
QUESTION = "deploy a service with its flag and run the smoke test"
LESSON = ("--title", "Warm the cache", "--content", "Fill the cache before the first visitor comes.")
GONE = ("--content", "Read the manual of the freezer.", "--title", "Freezers", "--description", "Kitchens.")
PUT = {
    "distill-session": ("--task", "Deploy", "--approach", "Set it", "--result", "done", "--outcome", "success"),
    "graph add": ("--label", "Event", "--text", "The smoke test failed."),
    "graph link": ("n-1", "n-2", "--text", "It failed after that.", "--weight", "0.5"),
    "record": (*LESSON, "--outcome", "success"),
}
"""What a command needs that is not about a memory."""
UNKNOWN = (
    *("backup", "branch-outcome", "capture", "distill", "graph delete", "graph delete-edge", "graph edit-edge"),
    *("graph edit", "graph import", "graph prefer", "graph remember", "graph restore", "import", "judge"),
    *("session-outcome", "share import", "source", "trace-outcome", "vectors reconcile"),
    "branch-briefing",
)
"""Commands that name no memory: they are run on something that the bank does not know."""
TAKING: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "consolidate": (("--force", "--threshold", "0"), ("--force", "--threshold", "0.8")),
    "delete": (("ID", "--yes"),),
    "feedback": (("ID", "unhelpful"), ("ID", "unhelpful", "--session", "another")),
    "outcome": (("ID", "failed"), ("ID", "failed", "--session", "another")),
    "quarantine": (
        ("--memory", "ID"),
        ("--source", "mcp"),
        ("--session", "session-of-mail"),
        ("--principal", "client-of-mail"),
        ("--since", "2020-01-01"),
    ),
    "update": (("ID", *GONE), ("ID", "--state", "archived"), ("ID", "--outcome", "failure")),
}
"""What an agent would take memories away with; ``ID`` is another client's memory."""
VOTES = {"feedback", "outcome"}
"""Ratings move confidences, as they should: of a claim also below the proven list (``trust:one-voice``)."""
SETTINGS = {"REASONINGBANK_PRUNE_BELOW": "1", "REASONINGBANK_PRUNE_AFTER_DAYS": "1", "REASONINGBANK_DECAY_STEP": "0.9"}


@pytest.fixture
def bank(home_of_commands: Path) -> Iterator[Bank]:
    """The bank of tenant acme and project shop that the commands work on."""
    assert home_of_commands
    with Bank.open(tenant="acme", project="shop", by_agent=False) as opened:
        yield opened


def run(*words: str, agent: bool = True, variables: Mapping[str, str] = MappingProxyType({})) -> Result:
    """Runs a command, as an agent in its client does or as a person."""
    environment = {**variables} | ({"CLAUDECODE": "1"} if agent else {})
    return CliRunner(env=environment).invoke(rbank, ["--tenant", "acme", "--project", "shop", *words])


def of_others(bank: Bank) -> list[Memory]:
    """Lessons of as many other clients."""
    found = []
    for name, flag in FLAGS.items():
        with speaking(f"client-of-{name}"):
            memory = bank.record(
                title=f"Deploy the {name} service with its {flag} flag",
                content=f"Before the {name} service is deployed, set the {flag} flag in its chart and run its smoke "
                "test, else the first request fails.",
                outcome="success",
                source="mcp",
                session=f"session-of-{name}",
            )
        found.append(memory)
    return found


def shown(bank: Bank) -> set[str]:
    """What a default search of another session finds, one that asks for all of them."""
    return {hit.id for hit in bank.search(QUESTION, limit=30, unproven=30, session="reader").delivered}


@promise(
    "trust:others",
    "No agent takes out of the searches what other clients recorded: in a command it deletes and holds back only what "
    "its own client recorded, what it makes of another client's claim stands beside that, and prune, decay and "
    "stability are a person's; below the default threshold it consolidates near-duplicates alone.",
    source="issue 14",
)
@pytest.mark.parametrize(("name", "words"), [(name, words) for name, lines in TAKING.items() for words in lines])
def test_no_command_of_an_agent_takes_others_memories_away(bank: Bank, name: str, words: tuple[str, ...]) -> None:
    others = of_others(bank)
    reason = ("--reason", "They are wrong.") if name == "quarantine" else ()
    for memory in others if "ID" in words else others[:1]:
        run(name, *(memory.id if word == "ID" else word for word in words), *reason)
    assert [(each.state, each.title, each.content, each.outcome) for each in map(bank.get, (m.id for m in others))] == [
        (each.state, each.title, each.content, each.outcome) for each in others
    ]
    assert name in VOTES or {each.id for each in others} <= shown(bank)


@promise("trust:others")
@pytest.mark.parametrize("name", ["prune", "decay", "stability"])
def test_no_setting_of_an_agents_command_ages_memories(bank: Bank, name: str) -> None:
    of_others(bank)
    refused = run(name, variables=SETTINGS)
    assert refused.exit_code == 4
    assert "a person's to do" in refused.stderr
    assert name == "stability" or run(name, agent=False).exit_code == 0, "a person may"


@promise("trust:others")
def test_every_command_that_changes_something_is_tried() -> None:
    changing = {each.command.name for each in OPERATIONS if each.command is not None and not each.reads}
    assert changing == {*(PERSONAL.keys() & changing), *TAKING, *PUT, *UNKNOWN}


@promise("trust:others")
def test_no_tool_or_route_without_admin_takes_memories_away() -> None:
    """Each that changes something is named here with a test of its own elsewhere; a new one has to be looked at."""
    changing = [each for each in OPERATIONS if not each.reads and not each.admin]
    tools = {each.tool.name for each in changing if each.tool is not None}
    routes = {f"{each.route.method} {each.route.path}" for each in changing if each.route is not None}
    assert tools == {
        *("memory_record", "memory_feedback", "memory_outcome", "memory_distill", "memory_consolidate"),
        *("remember_conversation", "graph_add", "graph_link"),
    }
    assert not [each for each in routes if each.startswith("DELETE")]
    assert {each for each in routes if each.startswith("PATCH")} == {
        "PATCH /memories/{id}",
        "PATCH /graph/nodes/{id:path}",
        "PATCH /graph/edges/{id:path}",
    }


@promise("trust:others")
def test_no_other_command_of_an_agent_takes_a_memory_away(bank: Bank) -> None:
    """Each is run with words that the bank does not know, or as far as it needs none."""
    others = of_others(bank)
    commands = {each.command.name: each.command for each in OPERATIONS if each.command is not None}
    for name in (*PUT, *UNKNOWN):
        command = commands[name]
        given: Sequence[str] = [
            command.words[each][0] if each in command.words else "unknown" for each in command.arguments
        ]
        run(*name.split(), *PUT.get(name, given))
    assert {each.id for each in others} <= shown(bank)


@promise("trust:others")
@pytest.mark.parametrize("words", [("delete", "ID", "--yes"), ("quarantine", "--memory", "ID", "--reason", "Wrong.")])
def test_an_agent_takes_back_what_its_own_client_recorded(bank: Bank, words: tuple[str, ...]) -> None:
    assert run("record", *LESSON, "--outcome", "success").exit_code == 0
    [own] = bank.memories.list()
    assert own.standing == "claim"
    taken = run(*(own.id if word == "ID" else word for word in words))
    assert taken.exit_code == 0, taken.stderr
    assert bank.get(own.id).state in {"archived", "quarantined"}


@promise("trust:others")
def test_a_person_takes_away_what_any_client_recorded(bank: Bank) -> None:
    others = of_others(bank)
    assert bank.quarantine.add(source="mcp", reason="They are wrong.").votes == 0
    assert not shown(bank) & {each.id for each in others}


@promise("trust:others")
def test_an_agent_does_not_hold_back_what_others_made_of_its_own_memory(bank: Bank) -> None:
    run("record", *LESSON, "--outcome", "success")
    [own] = bank.memories.list()
    with speaking("client-of-mail"):
        bank.search("warm the cache", session="session-of-mail")
        echo = bank.record(
            title="Warm the cache again",
            content="Fill the cache before the first visitor comes.",
            outcome="success",
            source="mcp",
            session="session-of-mail",
        )
    words = ("quarantine", "--memory", own.id, "--reason", "It is wrong.")
    assert run(*words).exit_code == 4
    assert (bank.get(own.id).state, bank.get(echo.id).state) == ("active", "candidate")
    assert run(*words, "--no-cascade").exit_code == 0
    assert (bank.get(own.id).state, bank.get(echo.id).state) == ("quarantined", "candidate")
