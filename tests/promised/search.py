"""One snapshot per search."""

from __future__ import annotations

from promised.promise import Promise

SEARCHING: tuple[Promise, ...] = (
    Promise(
        "storage:candidates",
        "issue 2 Recall; make bench",
        "One call answers all that a fused search needs, exactly what the legs answer one by one, in one state of the bank.",
    ),
    Promise(
        "storage:lexical-fts",
        "DESIGN D3",
        "Lexical scores and order are those of FTS5's bm25(), to the bit, after every change.",
    ),
    Promise(
        "evaluation:shipped",
        "DESIGN D13",
        "The evaluation ranks with the code of the search: what is measured is what is answered.",
    ),
)
