"""The behaviours of the studied system, row by row: kept, corrected, or deferred with a reason."""

from __future__ import annotations

from promised.promise import Promise

CONTEXTD: tuple[Promise, ...] = (
    Promise("contextd:1", "spec/contextd row 1", "A bank needs a tenant and a project; it opens with nothing less."),
    Promise("contextd:2", "spec/contextd row 2", "Recording without the needed fields is InvalidMemory."),
    Promise("contextd:3", "spec/contextd row 3", "The first record creates the project's bank."),
    Promise(
        "contextd:4",
        "spec/contextd row 4",
        "A record starts at exactly 0.8; any confidence given is kept, 0.0 and 0.5 too.",
    ),
    Promise("contextd:5", "spec/contextd row 5", "Times are set on record; an edit keeps the time of creation."),
    Promise("contextd:6", "spec/contextd row 6", "A search needs a project and a query."),
    Promise("contextd:7", "spec/contextd row 7", "The proven list holds confidence >= 0.7 only."),
    Promise("contextd:8", "spec/contextd row 8", "A new project answers empty without an error."),
    Promise("contextd:9", "spec/contextd row 9", "Get by id; an empty id and an unknown id are errors of their own."),
    Promise(
        "contextd:10",
        "spec/contextd row 10",
        "Helpful raises the confidence above its previous value, unhelpful lowers it.",
    ),
    Promise(
        "contextd:11",
        "spec/contextd row 11",
        "An outcome moves the confidence; the returned value is the stored one; no session is fine.",
    ),
    Promise("contextd:12", "spec/contextd row 12", "Feedback and outcome on an unknown or empty id are errors."),
    Promise(
        "contextd:13", "spec/contextd row 13", "A deleted memory is not found; deleting an unknown one is an error."
    ),
    Promise("contextd:14", "spec/contextd row 14", "Distilling needs a project and a session."),
    Promise("contextd:15", "spec/contextd row 15", "A successful session gives a strategy that can be found."),
    Promise("contextd:16", "spec/contextd row 16", "A failed session gives an anti-pattern that can be found."),
    Promise("contextd:17", "spec/contextd row 17", "A partial session gives both."),
    Promise("contextd:18", "spec/contextd row 18", "Every field survives the real store, tags included."),
    Promise("contextd:19", "spec/contextd row 19", "Titles and times come back exactly."),
    Promise("contextd:20", "spec/contextd row 20", "Projects are isolated; count, get and delete keep to theirs."),
    Promise(
        "contextd:21",
        "spec/contextd row 21",
        "List pages with limit and offset; beyond the end is empty; negatives are errors.",
    ),
    Promise(
        "contextd:22", "spec/contextd row 22", "A memory's vector equals the embedding of title, blank line, content."
    ),
    Promise("contextd:23", "spec/contextd row 23", "Archived memories are never found, even at 0.95."),
    Promise(
        "contextd:24",
        "spec/contextd row 24",
        "A consolidated memory is preferred by a flag, not by a phrase.",
    ),
    Promise("contextd:25", "spec/contextd row 25", "Sources of a consolidation are hidden, the result is shown."),
    Promise("contextd:26", "spec/contextd row 26", "State and consolidation id survive storage."),
    Promise("contextd:27", "spec/contextd row 27", "Hits of the same text collapse into one."),
    Promise("contextd:28", "spec/contextd row 28", "Relevance is independent of confidence."),
    *(
        Promise(f"contextd:{row}", f"spec/contextd row {row}", text)
        for row, text in (
            (32, "Signals have the three types of the seed and refuse empty ids."),
            (33, "Aggregates count signals by type and polarity."),
            (34, "Weights start at 7:3, 5:5, 5:5 and sum to one."),
            (35, "A correct prediction credits its type, a wrong one debits it, others stay."),
            (36, "Types that predict well gain weight."),
            (37, "A Beta(1, 1) belief is 0.5 and moves by the signal's weight."),
            (38, "Confidence of aggregates and recent signals equals the golden 0.7457."),
            (39, "Signals, aggregates and weights are stored and survive a restart."),
            (40, "A roll-up moves what is older than thirty days, keeps the rest and changes no total."),
            (41, "Cosine similarity keeps its fifteen rules."),
        )
    ),
    *(Promise(f"contextd:{row}", f"spec/contextd row {row}", "Consolidation as specified.") for row in range(42, 60)),
    Promise("contextd:64", "spec/contextd row 64", "Counters and durations are exported with attributes."),
    Promise("contextd:65", "spec/contextd row 65", "The consolidation tool has its defaults and errors."),
    Promise("contextd:66", "spec/contextd row 66", "Without a tenant nothing runs; scope names cannot be injected."),
    Promise("contextd:67", "spec/contextd row 67", "A damaged bank is named by the check and never takes others down."),
    Promise("contextd:68", "spec/contextd row 68", "Session start and end prime and capture."),
)
