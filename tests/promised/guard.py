"""Quarantine, the past and versions."""

from __future__ import annotations

from promised.promise import Promise

GUARDING: tuple[Promise, ...] = (
    Promise("guard:hidden", "issue 4", "What is in quarantine is in no search, briefing or consolidation."),
    Promise(
        "guard:exact",
        "issue 4",
        "A release gives back exactly what was there, byte for byte in the export when nothing else happened.",
    ),
    Promise(
        "guard:selection",
        "issue 4",
        "Quarantine is by memory, session, source and time, all conditions together, and never of everything.",
    ),
    Promise(
        "guard:cascade",
        "issue 4",
        "Quarantine reaches consolidations, promoted copies and lessons of sessions that were shown a memory; clean sources are visible again.",
    ),
    Promise(
        "guard:again",
        "issue 4",
        "The same quarantine again changes nothing, adds what came since, and a dry run writes nothing.",
    ),
    Promise(
        "guard:meanwhile",
        "issue 4",
        "Evidence, edits, merges, undos and erasures during a quarantine have their place after the release.",
    ),
    Promise(
        "guard:people-alone",
        "DESIGN D10",
        "Only a person's release leads out of quarantine; no tool of an agent holds or releases.",
    ),
    Promise("guard:audit", "issue 4", "Who held or released a memory, when and why, stays in its history."),
    Promise(
        "guard:carried",
        "issue 4",
        "An export carries quarantines, and a release after the import does what it would have done before.",
    ),
    Promise(
        "guard:single",
        "issue 4",
        "Single memories are set aside inside a transaction, without anything that was made of them.",
    ),
    Promise(
        "guard:versions",
        "issue 4",
        "Every edit keeps its predecessor, and an earlier text can be made the newest; evidence and state stay.",
    ),
    Promise(
        "guard:cli",
        "issue 4",
        "quarantine, release, versions and revert on the command line, with their fields and exit statuses.",
    ),
    Promise("guard:async", "issue 4", "The asynchronous bank holds, releases and shows the past too."),
    Promise("guard:relearned", "issue 4", "A lesson in quarantine does not come back by being distilled again."),
    Promise("past:state", "issue 4", "as_of shows texts, states, beliefs and evidence as they were at that moment."),
    Promise(
        "past:unknown",
        "issue 4",
        "What cannot be known any more of the past is said with the answer and never guessed.",
    ),
    Promise(
        "past:search",
        "issue 4",
        "A search of the past finds what it would have found; of the present it finds what the bank finds.",
    ),
    Promise("past:read-only", "issue 4", "Nothing can be written to the past, and its arguments are checked."),
    Promise("past:cli", "issue 4", "list and search take --as-of."),
    Promise(
        "storage:changes",
        "issue 4",
        "Every change of a state is logged with its time and cause, and comes back from a backup.",
    ),
    Promise("storage:erasures", "issue 4", "Of an erased memory two times are left and nothing else."),
    Promise("curation:evidence", "issue 4", "Random curation neither makes nor loses evidence."),
    Promise(
        "curation:states",
        "issue 4",
        "After any curation no id is in two states or banks, and every state follows from the log.",
    ),
    Promise(
        "curation:exact",
        "issue 4",
        "In any state of a bank a merge and its undo, and a quarantine and its release, change nothing.",
    ),
    Promise(
        "curation:scope",
        "issue 4",
        "Whatever was curated, a search delivers only what its scopes hold and may be recalled.",
    ),
    Promise(
        "curation:replay",
        "issue 4",
        "After every step each belief follows from its evidence, and a killed process leaves a sound bank.",
    ),
)
