"""``rbank graph``: its options; what its actions do is in ``surfaces/cli/graph_actions``."""

from __future__ import annotations

import importlib
from typing import Unpack

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.graph_actions.options import Options, check_options

ACTIONS: dict[str, str] = {
    "import": "filling",
    "example": "filling",
    "remember": "asking",
    "ask": "asking",
    "search": "looking",
    "walk": "looking",
    "get": "looking",
    "list": "looking",
    "add": "filling",
    "link": "filling",
    "edit": "changing",
    "delete": "changing",
    "prefer": "reminding",
    "preferences": "reminding",
    "events": "reminding",
    "sources": "reminding",
    "actions": "reminding",
}
"""Every action and the module of ``graph_actions`` that has the function of its name."""
_FUNCTIONS = {"import": "import_", "list": "list_"}
_LABELS = ["UserRequest", "UserPreference", "AgentAnswer", "AgentAction", "Event", "DataSource"]


@bank_command("graph", COMMANDS["graph"])
@click.argument("action", type=click.Choice(list(ACTIONS)), metavar="ACTION")
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
@click.option(
    "--format", "form", default=None, metavar="F", help="import: json, jsonl, csv or cypher; default: by the file."
)
@click.option(
    "--limit",
    default=None,
    metavar="N",
    type=int,
    help="search, ask: most nodes to begin at, default 3; events, actions: most, default 20; list: default all.",
)
@click.option("--offset", default=0, metavar="N", type=int, help="list: how many to leave out first.")
@click.option("--budget", default=None, metavar="TOKENS", type=int, help="Most tokens of the context for a model.")
@click.option(
    "--as",
    "rendering",
    default=None,
    type=click.Choice(["text", "llm", "d3", "cypher", "mermaid"]),
    help="search, walk: the paths as sentences, as a model's context, as a graph, a query or a picture.",
)
@click.option(
    "--seed", "seeds", multiple=True, metavar="ID[=SCORE]", help="walk: where to begin, and with what energy."
)
@click.option("--tag", "tags", multiple=True, metavar="X", help="A tag, or a word of the question; may be repeated.")
@click.option("--no-tags", is_flag=True, help="edit: take all tags away.")
@click.option("--preset", default="default", show_default=True, metavar="default|memoria", help="How to walk.")
@click.option("--depth", default=5, show_default=True, metavar="N", type=int, help="Most hops of a path.")
@click.option("--branches", default=3, show_default=True, metavar="N", type=int, help="Most hops onward from one node.")
@click.option(
    "--min-activation", default=0.005, show_default=True, metavar="E", type=float, help="Reached with more than this."
)
@click.option("--label", default=None, type=click.Choice(_LABELS), help="add, list: what a node is.")
@click.option("--text", default=None, metavar="TEXT", help="add, edit, link: what it says; - reads it from stdin.")
@click.option("--id", "name", default=None, metavar="ID", help="add, link: its id; default: made of its contents.")
@click.option("--conversation", default=None, metavar="ID", help="The conversation that nodes are a part of.")
@click.option(
    "--field", "fields", multiple=True, metavar="NAME=VALUE", help="add, edit: a special field; may be repeated."
)
@click.option("--weight", default=None, metavar="W", type=float, help="link, edit: how strong, from 0 to 1.")
@click.option("--edge", is_flag=True, help="get, edit, delete: the id is that of an edge.")
@click.option("--yes", is_flag=True, help="delete: do not ask. Without a terminal nothing is asked anyway.")
@click.option("--type", "kind", default="", metavar="T", help="prefer, preferences: what the preference is about.")
@click.option("--user", default="", metavar="ID", help="Whose preference, or who asks.")
@click.option("--role", default="", metavar="ROLE", help="Which role's preference, or in which role it is asked.")
@click.option("--history", is_flag=True, help="preferences: also those that were replaced.")
@click.option("--since", default=None, metavar="DAY", help="events: the first day, or a time.")
@click.option("--until", default=None, metavar="DAY", help="events: the last day, or a time.")
@click.option("--recency", is_flag=True, help="events: among equals the later ones first.")
@click.option(
    "--outcome", default=None, type=click.Choice(["success", "failure", "unknown"]), help="actions: how they ended."
)
@click.option("--no-question", "silent", is_flag=True, help="ask: never ask back, take the likeliest meaning.")
@click.option("--clarification", default="", metavar="TEXT", help="ask: your answer to the question back.")
def command(call: Call, *, action: str, subjects: tuple[str, ...], **options: Unpack[Options]) -> None:
    """Fills the contextual graph, asks it, and changes it by hand.

    \b
    import FILE         add nodes, edges and lessons of a file
    example [FILE]      write the shipped graph and say what to ask it
    remember FILE       store a finished conversation, once
    ask QUESTION        plan what to look up and answer, or ask back
    search QUERY        find nodes, and the paths that begin there
    walk --seed ID      show the paths from known nodes
    get ID              show a node with its edges and lessons
    list                show nodes in the order they were stored
    add --label L --text T
                        keep a node
    link A B --text S --weight W
                        connect two nodes by a sentence
    edit ID             change a node, or with --edge an edge
    delete ID           erase a node with its edges, or an edge
    prefer TEXT --type T --user U
                        keep how a user or a role wants things
    preferences --user U
                        show what holds for a user or a role
    events              show what happened in a window of time
    sources ID          show what an answer rests on
    actions             show how things were done
    """  # noqa: D301 - click looks for the character itself
    check_options(click.get_current_context(), action)
    module = importlib.import_module(f"reasoningbank.cli.graph_actions.{ACTIONS[action]}")
    getattr(module, _FUNCTIONS.get(action, action))(call, subjects, options)
