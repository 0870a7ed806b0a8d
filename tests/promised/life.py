"""Decay, prune and code stability."""

from __future__ import annotations

from promised.promise import Promise

LIFECYCLE: tuple[Promise, ...] = (
    Promise(
        "lifecycle:step",
        "issue 4, seed 001",
        "A full month without activity lowers the confidence by exactly the step, to a billionth, and never below the floor.",
    ),
    Promise(
        "lifecycle:floor",
        "issue 4, decision 11",
        "Disuse leaves half of the initial confidence: it alone archives nothing that began at 0.6 or more.",
    ),
    Promise("lifecycle:months", "decision 11", "Only full months of thirty days count."),
    Promise(
        "lifecycle:pauses",
        "issue 4",
        "When decay runs changes nothing: monthly runs, one run after a year, roll-ups between them end at the same belief.",
    ),
    Promise(
        "lifecycle:stopped",
        "issue 4",
        "A use, rating, outcome, edit or commit's fate stops the decay and starts the months anew.",
    ),
    Promise(
        "lifecycle:recorded",
        "issue 4",
        "What a person recorded does not decay unless it is configured; provenance alone tells.",
    ),
    Promise(
        "lifecycle:settings",
        "issue 4",
        "Decay and pruning are configurable, and a number out of range is an error with a hint.",
    ),
    Promise(
        "lifecycle:scope", "issue 4", "Only candidate and active memories decay; time in the archive is no disuse."
    ),
    Promise(
        "lifecycle:replay",
        "DESIGN D4",
        "After decay and roll-up the stored belief equals the one replayed from the evidence.",
    ),
    Promise(
        "lifecycle:exported",
        "issue 4",
        "An export and import keep disuse and stability; exports of earlier versions still import.",
    ),
    Promise(
        "lifecycle:weights",
        "DESIGN D5",
        "A rating learns nothing from disuse or stability; the project's weights stay those of three types.",
    ),
    Promise(
        "lifecycle:consolidated",
        "issue 4",
        "A consolidated memory has its sources' disuse and each commit once, and its floor follows from what it began with.",
    ),
    Promise("lifecycle:processes", "issue 4", "Several banks that decay at once count each month once."),
    Promise(
        "lifecycle:killed",
        "issue 4",
        "A decay that is killed leaves every memory whole, and the next run ends where one run would have.",
    ),
    Promise(
        "lifecycle:pruned",
        "issue 4, spec/contextd 5",
        "Memories below 0.3 without activity for 90 days are archived with the reason, none is deleted, a dry run writes nothing.",
    ),
    Promise(
        "lifecycle:unpruned",
        "issue 4",
        "A pruned memory can be made active again and is then left alone for as long again.",
    ),
    Promise(
        "lifecycle:stability",
        "seed 001",
        "A commit that stood for seven days raises a memory tied to it, a reverted one lowers it, each once per memory and commit.",
    ),
    Promise(
        "lifecycle:fates",
        "issue 4",
        "Git says which commits stood, were reverted, are too young or unknown; reverts of reverts and other branches are told apart.",
    ),
    Promise(
        "lifecycle:read-only",
        "issue 4",
        "Looking at a repository writes nothing there and runs nothing that its configuration names.",
    ),
    Promise("lifecycle:ties", "issue 4", "A strategy is tied to the commits its sessions kept and to those it names."),
    Promise(
        "lifecycle:checked",
        "issue 4",
        "A look at the repository moves each tied memory once, however often it is repeated.",
    ),
    Promise(
        "lifecycle:evaluator",
        "seed 001",
        "What the seed's confidence evaluator takes, feedback, usage, code stability and decay of all, the bank takes itself.",
    ),
    Promise(
        "lifecycle:daily",
        "issue 4",
        "The worker decays, prunes and looks at the configured repository once a day, whichever process does.",
    ),
    Promise(
        "lifecycle:stores", "issue 4", "A bank in a file and one in memory decay, prune and tell the history alike."
    ),
    Promise("lifecycle:cli", "issue 4", "rbank decay, prune and stability have dry runs, JSON and errors with hints."),
    Promise("lifecycle:async", "issue 4", "The asynchronous bank tends as the bank does."),
    Promise(
        "storage:idle",
        "issue 4",
        "A store finds what was not active since a time, in pages, with the time of its last activity, before and after a roll-up.",
    ),
)
