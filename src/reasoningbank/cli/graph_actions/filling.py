"""``rbank graph import``, ``example``, ``add`` and ``link``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reasoningbank.cli.call import Call
from reasoningbank.cli.graph_actions.options import Options, fields_of, subjects_of, unique
from reasoningbank.cli.output import print_json, print_note, print_text
from reasoningbank.errors import InvalidInput, StoreUnavailable

if TYPE_CHECKING:
    from reasoningbank.types.graph import Label

DEFAULT_EXAMPLE = "shop_graph.json"
"""The file that ``rbank graph example`` writes when none is named."""


def import_(call: Call, subjects: Sequence[str], options: Options) -> None:
    """Adds the nodes, edges and lessons of a file."""
    from reasoningbank.operations import graph_answers

    (source,) = subjects_of("import", subjects, "a file")
    with call.open_bank() as bank:
        report = bank.graph.import_(source, format=options["form"])
    for message in report.messages:
        print_note(message)
    if call.as_json:
        print_json({**graph_answers.import_fields(report)})
    else:
        print_text(graph_answers.import_text(report))


def example(call: Call, subjects: Sequence[str], options: Options) -> None:  # noqa: ARG001 - it has none of its own
    """Writes the shipped graph to a file, and says which question it answers and how to ask it."""
    from reasoningbank.context import usable_path
    from reasoningbank.demo.shop import QUESTION, SEEDS, STORY, TAGS, copy_shop_graph, shop_graph

    if len(subjects) > 1:
        raise click.UsageError("example takes at most one file.")
    name = subjects[0] if subjects else DEFAULT_EXAMPLE
    path = usable_path(name)
    try:
        if path.is_file() and path.read_bytes() != shop_graph().encode("utf-8"):
            raise InvalidInput(f"{name[:80]!r} is there already and holds something else", hint="Name another file.")
        copy_shop_graph(path)
    except OSError as error:
        raise StoreUnavailable(f"{name[:80]!r} cannot be written: {error.strerror}") from error
    seeds = " ".join(f"--seed {seed}={score}" for seed, score in SEEDS.items())
    commands = [
        f"rbank graph import {_quoted(path)}",
        f'rbank graph search "{QUESTION}"',
        f"rbank graph walk {seeds} {' '.join(f'--tag {tag}' for tag in TAGS)}",
    ]
    if call.as_json:
        print_json({"path": str(path), "question": QUESTION, "commands": commands, "story": list(STORY)})
    else:
        print_text("\n".join((f"Wrote {path}. Its question: {QUESTION}", *commands)))


def add(call: Call, subjects: Sequence[str], options: Options) -> None:
    """Keeps one node; without an id it gets one that follows from its contents, so that a second time adds nothing."""
    from reasoningbank.cli.output import text_or_stdin
    from reasoningbank.conversations.format import derived_id
    from reasoningbank.operations.graph_fields import node_fields
    from reasoningbank.operations.graph_text import node_text
    from reasoningbank.types.graph import Node

    subjects_of("add", subjects)
    label: Label | None = options["label"]  # type: ignore[assignment]  # one of the labels: a choice of the option
    if label is None or options["text"] is None:
        raise click.UsageError("add needs --label and --text.")
    text, conversation = text_or_stdin(options["text"]), options["conversation"] or ""
    node = Node(
        id=derived_id("n", label, conversation, text) if options["name"] is None else options["name"],
        label=label,
        text=text,
        conv_id=conversation,
        tags=unique(options["tags"]),
        fields=fields_of(options["fields"]),
    )
    with call.open_bank() as bank:
        added = bank.graph.add(nodes=[node])
    (kept,) = added.nodes
    if call.as_json:
        print_json({**node_fields(kept), "new": bool(added.new)})
    else:
        print_text(node_text(kept) if added.new else f"Known already: {node_text(kept)}")


def link(call: Call, subjects: Sequence[str], options: Options) -> None:
    """Connects two nodes by a whole sentence; the same sentence a second time adds nothing."""
    from reasoningbank.cli.output import text_or_stdin
    from reasoningbank.conversations.format import derived_id
    from reasoningbank.conversations.remember import why_bare
    from reasoningbank.operations.graph_fields import edge_fields
    from reasoningbank.operations.graph_text import edge_text
    from reasoningbank.types.graph import Edge

    source, target = subjects_of("link", subjects, "the id of a node", "the id of another")
    if options["text"] is None or options["weight"] is None:
        raise click.UsageError("link needs --text and --weight.")
    text = text_or_stdin(options["text"])
    if problem := why_bare(text, (source, target)):
        raise InvalidInput(f"text: {problem}", hint="Say in a whole sentence why and how they belong together.")
    edge = Edge(source=source, target=target, text=text, weight=options["weight"], tags=unique(options["tags"]))
    edge = replace(edge, id=derived_id("e", source, target, text) if options["name"] is None else options["name"])
    with call.open_bank() as bank:
        added = bank.graph.add(edges=[edge])
    (kept,) = added.edges
    if call.as_json:
        print_json({**edge_fields(kept), "new": bool(added.new)})
    else:
        print_text(edge_text(kept) if added.new else f"Known already: {edge_text(kept)}")


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))
