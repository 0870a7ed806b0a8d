"""Near-duplicates made one, and undone."""

from __future__ import annotations

from promised.promise import Promise

CONSOLIDATING: tuple[Promise, ...] = (
    Promise(
        "consolidating:golden",
        "spec/contextd 1.4",
        "The confidence of what is consolidated is the formula's; its golden values are exact.",
    ),
    Promise(
        "consolidating:every-pair",
        "issue 4",
        "Every pair of a cluster is above the threshold, and no two clusters that are left could be joined.",
    ),
    Promise(
        "consolidating:one-outcome",
        "issue 4",
        "A cluster holds one outcome; opposite ones are reported as contradictions.",
    ),
    Promise("consolidating:recallable-only", "issue 4", "Archived and quarantined memories take no part in clusters."),
    Promise(
        "consolidating:no-drift", "issue 4", "A consolidated memory joins only what all its sources are similar to."
    ),
    Promise("consolidating:no-op", "issue 4", "A run without news changes nothing, forced or not."),
    Promise(
        "consolidating:through-the-index",
        "issue 4",
        "Close pairs come from blocked products with a bound; none is missed, and the closest stay when there are too many.",
    ),
    Promise(
        "consolidating:scale",
        "issue 4",
        "A threshold means the same for models whose cosines are closer, and is never weaker than it says.",
    ),
    Promise(
        "consolidating:claims",
        "DESIGN D8",
        "Every claim of a merged text cites its sources by number; the attribution is kept.",
    ),
    Promise(
        "consolidating:lies",
        "DESIGN D8",
        "A merged text that says what its sources do not, or turns them around, is refused.",
    ),
    Promise(
        "consolidating:sources-are-data", "DESIGN D10", "Sources are shown to the model as quoted data without secrets."
    ),
    Promise(
        "consolidating:failed-merge",
        "issue 4",
        "A refused merge leaves everything as it was and does not stamp the window.",
    ),
    Promise(
        "consolidating:all-or-nothing",
        "issue 4",
        "A merge that is killed, raced or overtaken is there whole or not at all.",
    ),
    Promise(
        "consolidating:evidence-once",
        "DESIGN D5",
        "The evidence of a consolidated memory is the union of its sources', each signal once.",
    ),
    Promise("consolidating:undo-exact", "issue 4", "After an undo the export is what it was, byte for byte."),
    Promise(
        "consolidating:undo-evidence",
        "issue 4",
        "Evidence that came since goes to the source that was shown, or in equal shares to all; no weight is lost or doubled.",
    ),
    Promise(
        "consolidating:undo-order",
        "issue 4",
        "What cannot be undone says why, edits are kept, and chains are undone from the top.",
    ),
    Promise("consolidating:undone-stays", "issue 4", "What a person took apart stays apart until a run is forced."),
    Promise("consolidating:window", "issue 4", "The window of 24 hours is kept in the bank and ignored when forced."),
    Promise("consolidating:dry-run", "issue 4", "A dry run writes nothing, asks no model and does not stamp."),
    Promise("consolidating:contradictions", "issue 4", "Contradictions are linked and shown, never averaged."),
    Promise(
        "consolidating:reviewed-scenario",
        "issue 4",
        "Three overlapping lessons become one at 0.8554, hide their sources, and become three again.",
    ),
    Promise(
        "consolidating:scheduler-all-projects",
        "seed 004",
        "The scheduler consolidates all projects of the tenant by default.",
    ),
    Promise(
        "consolidating:scheduler-waits", "spec/contextd row 58", "Stopping the scheduler waits for the run under way."
    ),
    Promise(
        "consolidating:cli", "issue 4", "rbank consolidate and rbank undo have the promised options, fields and errors."
    ),
    Promise(
        "consolidating:tool",
        "issue 4",
        "memory_consolidate is in a profile of its own; the core keeps its seven tools.",
    ),
    Promise("consolidating:async", "issue 4", "The asynchronous bank consolidates and undoes as the bank does."),
    Promise(
        "storage:close-pairs",
        "issue 4",
        "A store gives exactly the pairs above a threshold that meet a condition, closest first.",
    ),
)
