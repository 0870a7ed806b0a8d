"""The graph on the command line."""

from __future__ import annotations

from promised.promise import Promise

GRAPH_SURFACES: tuple[Promise, ...] = (
    Promise(
        "graph:story-from-cli",
        "issue 5, spec/memoria_haios row P16",
        "From process start, with the installed embedder, example, import and search answer the shipped question: the story's sentences are printed in order.",
    ),
    Promise(
        "graph:cli-example",
        "issue 5",
        "The shipped graph is written where one says, with its question and the commands to ask it; another file is never overwritten.",
    ),
    Promise(
        "graph:cli-edit",
        "spec/memoria_haios row P26",
        "On the command line nodes and edges are looked at, made, linked, edited and pruned; an edit's new words are found and its old ones not.",
    ),
    Promise(
        "graph:cli-renderings",
        "spec/memoria_haios row P23",
        "Paths are printed as sentences, as a model's context, as a D3 graph, as Cypher and as Mermaid.",
    ),
    Promise(
        "graph:cli-reminders",
        "spec/memoria_haios rows P17-P20",
        "Preferences, events, sources and actions are kept and asked for on the command line.",
    ),
    Promise(
        "graph:cli-lessons",
        "spec/memoria_haios rows P1-P7",
        "Lessons are added, shown, changed, linked, searched with weights and per-leg scores, listed and erased on the command line.",
    ),
    Promise(
        "graph:cli-options",
        "issue 5",
        "An option or argument that an action lacks or does not have is refused with a hint; every field of every answer is documented.",
    ),
)
