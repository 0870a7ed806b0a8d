"""``rbank graph edit`` and ``delete``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from reasoningbank.cli.call import Call
from reasoningbank.cli.graph_actions.options import Options, fields_of, subjects_of, unique
from reasoningbank.cli.output import print_json, print_text


def edit(call: Call, subjects: Sequence[str], options: Options) -> None:
    """Changes a node or an edge; what is not named stays, and new words are found at once."""
    from reasoningbank.cli.output import text_or_stdin
    from reasoningbank.operations.graph_fields import edge_fields, node_fields
    from reasoningbank.operations.graph_text import edge_text, node_text

    (name,) = subjects_of("edit", subjects, "the id of a node or, with --edge, of an edge")
    if options["tags"] and options["no_tags"]:
        raise click.UsageError("--tag and --no-tags contradict each other.")
    tags = unique(options["tags"]) if options["tags"] or options["no_tags"] else None
    text, fields, edge = options["text"], fields_of(options["fields"]), options["edge"]
    if edge and (fields or options["conversation"] is not None):
        raise click.UsageError("--field and --conversation belong to nodes.")
    if not edge and options["weight"] is not None:
        raise click.UsageError("--weight belongs to edges: name --edge.")
    if not fields and {text, tags, options["conversation"], options["weight"]} == {None}:
        raise click.UsageError("Nothing to change: name at least one of the options.")
    text = None if text is None else text_or_stdin(text)
    with call.open_bank() as bank:
        if edge:
            changed = bank.edges.update(name, text=text, weight=options["weight"], tags=tags)
            answer, shown = edge_fields(changed), edge_text(changed)
        else:
            node = bank.graph.update(name, text=text, tags=tags, fields=fields or None, conv_id=options["conversation"])
            answer, shown = node_fields(node), node_text(node)
    if call.as_json:
        print_json(answer)
    else:
        print_text(shown)


def delete(call: Call, subjects: Sequence[str], options: Options) -> None:
    """Erases a node with everything that hangs on it, or an edge; on a terminal it asks first."""
    from reasoningbank.cli.output import confirmed
    from reasoningbank.operations.graph_text import short

    (name,) = subjects_of("delete", subjects, "the id of a node or, with --edge, of an edge")
    with call.open_bank() as bank:
        if options["edge"]:
            edge = bank.edges.get(name)
            edges, lessons, what = [edge.id], 0, f"the edge {short(edge.text)!r}"
        else:
            view = bank.graph.get(name)
            edges, lessons = [each.id for each in view.edges], len(view.lessons)
            what = f"{short(view.node.text)!r}, {len(edges)} edges and {lessons} links to lessons"
        if not options["yes"]:
            confirmed(f"Erase {what}?")
        if options["edge"]:
            bank.edges.delete(name)
        else:
            bank.graph.delete(name)
    if call.as_json:
        print_json({"deleted": True, "id": name, "edges": edges, "unlinked_lessons": lessons})
    else:
        print_text(f"Deleted {what}.")
