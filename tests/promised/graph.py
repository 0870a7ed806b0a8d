"""The contextual graph."""

from __future__ import annotations

from promised.promise import Promise

GRAPH: tuple[Promise, ...] = (
    Promise(
        "memoria:P1",
        "spec/memoria_haios row P1",
        "A lesson is added, read, changed and erased by an integer id; its links must exist; texts, tags and links are bounded.",
    ),
    Promise(
        "memoria:P2",
        "spec/memoria_haios row P2",
        "A paraphrase finds a lesson by its meaning among 36 and more, without a word of its context.",
    ),
    Promise(
        "memoria:P3",
        "spec/memoria_haios row P3",
        "The context of a lesson is searched by itself; switching that leg off drops what only it found.",
    ),
    Promise(
        "memoria:P4",
        "spec/memoria_haios row P4",
        "BM25 looks at the context alone: a rare word wins, words that every text has find nothing.",
    ),
    Promise(
        "memoria:P5",
        "spec/memoria_haios row P5",
        "The fused score is the seed's formula over the sum of the weights; each leg's rank and score are shown, one leg suffices, and an empty answer says why.",
    ),
    Promise(
        "memoria:P6",
        "spec/memoria_haios row P6",
        "Lessons are filtered by tags and by linked nodes, and both directions name the same pairs.",
    ),
    Promise(
        "memoria:P7",
        "spec/memoria_haios row P7",
        "Links of nodes and lessons are one relation: either end takes them along, and none dangles.",
    ),
    Promise(
        "memoria:P8",
        "spec/memoria_haios row P8",
        "A node has exactly one of six labels with its special fields; a broken rule names the field.",
    ),
    Promise(
        "memoria:P9",
        "spec/memoria_haios row P9",
        "Ids are unique, times are the bank's, editing moves the update time alone, a conversation is seen in order.",
    ),
    Promise(
        "memoria:P10",
        "spec/memoria_haios row P10",
        "An edge is a sentence whose direction stays, whichever way it is walked.",
    ),
    Promise(
        "memoria:P11",
        "spec/memoria_haios row P11",
        "Every weight from 0 to 1 has one band, the seed's gaps included; any other weight is refused.",
    ),
    Promise(
        "memoria:P12",
        "spec/memoria_haios row P12",
        "A second import adds nothing; an edge id on other ends is reported and loses nothing.",
    ),
    Promise(
        "memoria:P26",
        "spec/memoria_haios row P26",
        "An edited text is found and the old one is not; a deletion takes edges, words, vectors and links, and leaves no byte.",
    ),
    Promise(
        "graph:store",
        "issue 5",
        "Nodes and edges come back whole from every store, in the order they were stored, and are part of a backup.",
    ),
    Promise(
        "graph:integrity", "issue 5", "Edges and links to what does not exist are refused; a check finds what dangles."
    ),
    Promise(
        "graph:model",
        "issue 5",
        "Through any order of writes, imports and failures both stores show the same graph, and nothing dangles.",
    ),
    Promise(
        "graph:search",
        "issue 5",
        "Nodes and edges are found by words and vectors, filtered inside each leg by label, tag, conversation and time of events.",
    ),
    Promise(
        "graph:space",
        "DESIGN D11",
        "The graph's vectors are of the bank's model and dimension, up to 3,072; a re-embedding includes them.",
    ),
    Promise(
        "graph:pending",
        "decision 15",
        "Large imports are found by words at once; missing vectors are counted and made by a durable job.",
    ),
    Promise(
        "graph:formats",
        "issue 5",
        "JSON, JSON lines, CSV and the Cypher subset give the same graph, told by name or by contents.",
    ),
    Promise(
        "graph:import-atomic",
        "issue 5",
        "An unusable record is named with its field, and nothing of the file is stored.",
    ),
    Promise(
        "graph:dangling", "issue 5", "Edges and pointers of an import that name nothing are listed and not stored."
    ),
    Promise(
        "graph:conflicts",
        "decision 15",
        "What the bank holds under an id with other contents is kept, unless the import's node is newer.",
    ),
    Promise("graph:ids", "issue 5", "An id that is not given follows from the contents."),
    Promise("graph:times", "issue 5", "Imports keep the times of a file; everything else gets the bank's."),
    Promise("graph:lessons-import", "issue 5", "Lessons of a file become memories with their links, each text once."),
    Promise(
        "graph:windows",
        "spec/memoria_haios row P17",
        "An event is found by exactly the time windows that it touches; its last day is included.",
    ),
    Promise(
        "graph:hygiene",
        "DESIGN D10",
        "No secret or invisible character is stored in the graph or leaves it; ids that hold one are refused.",
    ),
    Promise("graph:transfer", "issue 5", "Exports and backups carry nodes, edges and links."),
    Promise("graph:processes", "DESIGN D1", "Another handle sees every change of the graph, in searches and walks."),
    Promise(
        "graph:one-noun",
        "DESIGN section 2",
        "Every memory can be read and found as a lesson, and every lesson is a memory with belief, feedback and quarantine.",
    ),
    Promise(
        "graph:cli",
        "issue 5",
        "rbank graph import, search and walk have exactly the interface of the issue, and answer the shipped question.",
    ),
    Promise(
        "memoria:P27",
        "memoria_haios P27",
        "A question to a large graph reads what it touches: as many rows in a graph four times as large, and no statement goes through a whole table; make bench holds the times.",
    ),
)
