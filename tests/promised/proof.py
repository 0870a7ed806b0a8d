"""What memory is worth."""

from __future__ import annotations

from promised.promise import Promise

UPLIFT: tuple[Promise, ...] = (
    Promise(
        "uplift:exposures",
        "issue 4 (uplift), DESIGN D5",
        "What each session was shown or kept from, by which way, and how it ended is kept durably, comes back whole in every store and after a restore, and loses erased memories.",
    ),
    Promise(
        "uplift:draw",
        "issue 4 (hold-out)",
        "Which sessions are held out follows from tenant, project and session name alone: the same in every process, in the share that is set, and independent between projects.",
    ),
    Promise(
        "uplift:setting",
        "issue 4 (REASONINGBANK_HOLDOUT)",
        "REASONINGBANK_HOLDOUT is a share of at least 0 and below 1, 0 by default; anything else is a configuration error with a hint.",
    ),
    Promise(
        "uplift:held-out",
        "issue 4 (hold-out), DESIGN D5",
        "A held-out session is shown nothing by briefings, gives no usage signal and credits nothing that was withheld; every other session is shown what it would be without a hold-out.",
    ),
    Promise(
        "uplift:eligible",
        "issue 4 (eligible sessions)",
        "A session is drawn the first time that something would be shown to it, and keeps what it was drawn to be whatever the share is later.",
    ),
    Promise(
        "uplift:explicit",
        "docs/decisions/0014",
        "An explicit search is answered in a held-out session too; the session stays in its arm and the report counts it.",
    ),
    Promise(
        "uplift:hooks",
        "issue 4 (hooks, hold-out)",
        "In a held-out session the hooks at the start, with a prompt and after a failed tool say nothing, and what they withheld is noted.",
    ),
    Promise(
        "uplift:report",
        "issue 4 (rbank report)",
        "The report compares drawn sessions by how they were drawn, with success rates, the difference and its 95 % interval and the tokens that injection adds; it is the same after a restart, after a restore and from the asynchronous bank.",
    ),
    Promise(
        "uplift:ends",
        "issue 4 (uplift)",
        "How a session ended is a person's word, then the agent's report on the session, then the evidence in its transcript; reports about single memories are in no rate, because a session without memory cannot make them.",
    ),
    Promise(
        "uplift:not-enough",
        "issue 4 (uplift)",
        "When an arm has no session with a known end there is no uplift, the interval is [-1, 1], and the report says what is missing.",
    ),
    Promise(
        "uplift:interval",
        "issue 4 (95 % interval)",
        "The interval of the difference is Newcombe's hybrid score interval with continuity correction, agrees with his published examples, holds the difference, and turns with the arms.",
    ),
    Promise(
        "uplift:coverage",
        "issue 4 (95 % interval)",
        "Computed exactly over all outcomes, the interval covers the true difference in at least 93 % of cases also with 1 to 20 sessions in an arm.",
    ),
    Promise(
        "uplift:strata",
        "docs/decisions/0014",
        "When the hold-out share was changed, each share is compared by itself, so that a change of the project is not taken for an effect of memory.",
    ),
    Promise(
        "harm:bounds",
        "issue 4 (harm rate per memory)",
        "The bounds of a memory's success rate hold the observed rate, mirror each other, and find a harmful memory among two hundred.",
    ),
    Promise(
        "harm:anytime",
        "issue 4 (harm rate per memory)",
        "Looking after every session is wrong no more often than looking once: a 5 % bound is ever crossed by chance in at most 5 % of sequences.",
    ),
    Promise(
        "harm:chance",
        "issue 4 (set aside by itself)",
        "Chance alone sets no good memory aside, however many memories a project has and however often it looks.",
    ),
    Promise(
        "harm:set-aside",
        "issue 4 (set aside by itself and listed)",
        "A memory whose upper bound is below the base rate is quarantined by the report with its numbers as the reason, is no longer shown, and is listed.",
    ),
    Promise(
        "harm:worker",
        "issue 4 (set aside by itself)",
        "The worker looks for harmful memories once a day, also after a restart.",
    ),
    Promise(
        "harm:released",
        "docs/decisions/0014",
        "A memory that a person has released is not set aside again by the same evidence, but by new evidence it is.",
    ),
    Promise(
        "harm:fair",
        "docs/decisions/0014",
        "Anti-patterns are compared with sessions that met anti-patterns, and a memory that held-out sessions did no better without is not set aside.",
    ),
    Promise(
        "cli:report",
        "issue 4 (interface)",
        "rbank report --json prints exactly sessions, with_memory, without_memory, uplift, interval, tokens_added and harmful.",
    ),
    Promise(
        "loop:plan",
        "issue 4 (closed loop)",
        "The tasks of the closed loop are drawn by a seed, no sentence comes twice, the working strategy is nowhere in the text, and every family's strategy changes.",
    ),
    Promise(
        "loop:agent",
        "issue 4 (closed loop)",
        "The agent of the closed loop follows what memory says worked, avoids what it says failed, else guesses, and reports and records through the real tools.",
    ),
    Promise(
        "loop:curve",
        "issue 4 (closed loop)",
        "The curve averages over lives with an interval, and the target counts as reached only when the rest of the curve keeps it.",
    ),
    Promise(
        "loop:picture",
        "issue 4 (closed loop)",
        "The picture is an SVG image that shows both curves, their intervals and the change.",
    ),
    Promise(
        "loop:data",
        "issue 4 (closed loop), shared/data/README",
        "Without the data the evaluation says that it is skipped; what was used for building and what is reported share no intent.",
    ),
    Promise(
        "loop:learns",
        "issue 4 (closed loop)",
        "Over a real server process an agent comes from guessing to mostly right on a small task set.",
    ),
)
