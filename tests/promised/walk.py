"""Walks through the graph."""

from __future__ import annotations

from promised.promise import Promise

WALKING: tuple[Promise, ...] = (
    Promise(
        "memoria:P13",
        "spec/memoria_haios P13",
        "The preset memoria walks exactly as the studied system: its published paths to 0.001, its unit vectors to 0.000001, and a plain reference on any graph.",
    ),
    Promise(
        "memoria:P14",
        "spec/memoria_haios P14",
        "Depth, branches, least activation and floor are respected and checked; a seed that does not exist is named seed_not_found and stops no other.",
    ),
    Promise(
        "memoria:P15",
        "spec/memoria_haios P15",
        "In the default walk a matching tag raises the energy and no tag lowers it; with tags the right path comes first and walks reach three hops and more.",
    ),
    Promise(
        "memoria:P16",
        "spec/memoria_haios P16",
        "The shipped question is answered by a path through several conversations, told in whole sentences.",
    ),
    Promise(
        "memoria:P17",
        "spec/memoria_haios P17",
        "Events of a window are found with the answers they led to; recency decides between equals, and only when it is on.",
    ),
    Promise(
        "memoria:P18",
        "spec/memoria_haios P18",
        "Preferences belong to a user or a role, are shown to nobody else, and a newer one takes the place of an older one that is kept and linked.",
    ),
    Promise(
        "memoria:P19",
        "spec/memoria_haios P19",
        "An answer is traced to its data sources in at most three hops, each with its document and the relevant parts.",
    ),
    Promise(
        "memoria:P20",
        "spec/memoria_haios P20",
        "The parameters of an action come back word for word, and an action that failed is shown as failed.",
    ),
    Promise(
        "memoria:P22",
        "spec/memoria_haios P22",
        "The context for a model keeps its token budget, quotes everything, marks the seed once a path, and every id of a path is in its attributes.",
    ),
    Promise(
        "memoria:P23",
        "spec/memoria_haios P23",
        "Pictures are whole graphs with one seed marked, and the debug query returns exactly the paths, whatever ids hold.",
    ),
    Promise(
        "graph:walk-meets",
        "issue 5",
        "Energy from several seeds and over ways that meet adds up, whatever their order.",
    ),
    Promise(
        "graph:walk-bounded",
        "issue 5",
        "A walk reads edges once a level however many seeds it has, and its work is bounded on any graph.",
    ),
    Promise(
        "graph:walk-direction",
        "issue 5",
        "Hops against an edge are told, keep the sentence's subject, and can be refused.",
    ),
    Promise("graph:walk-labels", "issue 5", "Labels say which nodes may be reached and with which a path ends."),
    Promise(
        "graph:question-tags",
        "issue 5",
        "Without given tags the question's own words serve, and those that are no tags change nothing.",
    ),
    Promise(
        "graph:shipped-data",
        "issue 5",
        "The package ships a graph of its own with 63 nodes of 13 conversations, 80 edges of all bands and 32 lessons, without a loose end.",
    ),
)
