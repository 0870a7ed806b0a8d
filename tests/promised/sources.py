"""What sources name and state."""

from __future__ import annotations

from promised.promise import Promise

SOURCES: tuple[Promise, ...] = (
    Promise(
        "sources:places",
        "seed 002; spec/memoria_haios H15",
        "What a source names and states is found with its exact place; words that do not stand in the source are left out and counted.",
    ),
    Promise("sources:data", "DESIGN D10", "A source is material for the model, never instructions, whatever it says."),
    Promise(
        "sources:stored",
        "issue 5; seed 002",
        "What a source names becomes its tags, what it states becomes nodes that cite their place; a source that says nothing is stored and that is said.",
    ),
    Promise("sources:idempotent", "issue 5", "The same source a second time changes nothing."),
    Promise(
        "sources:nothing-invented",
        "DESIGN D7, D8",
        "Without a model, or without a usable answer, the source is stored, nothing is invented, and its mentions wait for a model.",
    ),
    Promise("sources:secrets", "DESIGN D10", "A secret in a source reaches neither the model nor the graph."),
    Promise("sources:cli", "issue 5", "`rbank source` keeps a file or stdin as a source and says what waits."),
)
