"""``rbank graph search``, ``walk``, ``get`` and ``list``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from reasoningbank.cli.call import Call
from reasoningbank.cli.graph_actions.options import Options, seed_of, subjects_of, unique, walk_parameters
from reasoningbank.cli.output import print_json, print_text

if TYPE_CHECKING:
    from reasoningbank.types.walk import GraphContext, WalkResult


def search(call: Call, subjects: Sequence[str], options: Options) -> None:
    """Finds the nodes that fit a question and the paths that begin there."""
    from reasoningbank.graph.graph import DEFAULT_SEEDS
    from reasoningbank.operations import graph_answers

    (query,) = subjects_of("search", subjects, "a query")
    limit = DEFAULT_SEEDS if options["limit"] is None else options["limit"]
    with call.open_bank() as bank:
        answer = bank.graph.search(
            query,
            limit=limit,
            budget=options["budget"],
            parameters=walk_parameters(options),
            user=options["user"],
            role=options["role"],
        )
    if options["rendering"] in {None, "text"}:
        if call.as_json:
            print_json({**graph_answers.search_fields(answer)})
        else:
            print_text(graph_answers.search_text(answer))
        return
    _render(call, str(options["rendering"]), answer.walk, answer.context)


def walk(call: Call, subjects: Sequence[str], options: Options) -> None:
    """Brings the paths from nodes that are known."""
    from reasoningbank.operations import graph_answers

    if subjects:
        raise click.UsageError("walk takes no argument; name each node to begin at with --seed.")
    if not options["seeds"]:
        raise click.UsageError("walk needs a node to begin at: --seed ID or --seed ID=SCORE.")
    if options["budget"] is not None and options["rendering"] != "llm":
        raise click.UsageError("--budget of walk needs --as llm.")
    seeds, parameters = dict(map(seed_of, options["seeds"])), walk_parameters(options)
    with call.open_bank() as bank:
        result = bank.graph.walk(seeds, parameters)
    if options["rendering"] in {None, "text"}:
        if call.as_json:
            print_json({**graph_answers.walk_fields(result)})
        else:
            print_text(graph_answers.walk_text(result))
        return
    context = None
    if options["rendering"] == "llm":
        from reasoningbank.graph.render import BUDGET, to_llm_context

        context = to_llm_context(result, budget=BUDGET if options["budget"] is None else options["budget"])
    _render(call, str(options["rendering"]), result, context)


def get(call: Call, subjects: Sequence[str], options: Options) -> None:
    """Shows a node with its edges and lessons, or an edge."""
    from reasoningbank.operations.graph_fields import edge_fields, view_fields
    from reasoningbank.operations.graph_text import edge_text, view_text

    (name,) = subjects_of("get", subjects, "the id of a node or, with --edge, of an edge")
    with call.open_bank() as bank:
        if options["edge"]:
            edge = bank.edges.get(name)
            fields, text = edge_fields(edge), edge_text(edge)
        else:
            view = bank.graph.get(name)
            fields, text = view_fields(view), view_text(view)
    if call.as_json:
        print_json(fields)
    else:
        print_text(text)


def list_(call: Call, subjects: Sequence[str], options: Options) -> None:
    """Shows nodes in the order they were stored; those of one conversation in the order they were ingested."""
    from reasoningbank.operations.graph_fields import node_fields
    from reasoningbank.operations.graph_text import nodes_text
    from reasoningbank.types.graph_search import GraphFilter

    subjects_of("list", subjects)
    label = options["label"]
    condition = GraphFilter(
        labels=() if label is None else (label,),  # type: ignore[arg-type]  # one of the labels: a choice of the option
        tags=unique(options["tags"]),
    )
    with call.open_bank() as bank:
        limit, offset = options["limit"] or 0, options["offset"]
        if options["conversation"] is None:
            nodes = bank.graph.list(condition, limit=limit, offset=offset)
        else:
            from reasoningbank.context import checked_limit, checked_offset

            begin, most = checked_offset(offset), checked_limit(limit)
            nodes = tuple(node for node in bank.graph.conversation(options["conversation"]) if condition.accepts(node))
            nodes = nodes[begin : begin + most] if most else nodes[begin:]
        size = bank.graph.size()
    if call.as_json:
        print_json(
            {
                "nodes": [node_fields(node) for node in nodes],
                "count": len(nodes),
                "all_nodes": size.nodes,
                "all_edges": size.edges,
                "pending": size.pending,
            }
        )
    else:
        print_text(nodes_text(nodes))


def _render(call: Call, form: str, result: WalkResult, context: GraphContext | None) -> None:
    """Prints paths for another reader than a person; a D3 graph is JSON in any case."""
    from reasoningbank.graph.render import to_cypher, to_d3, to_mermaid

    if form == "d3":
        print_json({**to_d3(result)})
        return
    text = to_cypher(result) if form == "cypher" else to_mermaid(result) if form == "mermaid" else ""
    text = text if context is None or form != "llm" else context.text
    if call.as_json:
        print_json({"as": form, "text": text})
    else:
        print_text(text.removesuffix("\n"))
