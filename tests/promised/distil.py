"""Sessions to lessons."""

from __future__ import annotations

from promised.promise import Promise

DISTILLING: tuple[Promise, ...] = (
    Promise(
        "distil:digest-whole",
        "issue 3",
        "A session that fits is shown whole: task, numbered steps, sub-agents, evidence, answer, judgement.",
    ),
    Promise(
        "distil:digest-cut",
        "issue 3",
        "A cut record keeps the ends, failures, repairs and evidence, and says what is left out.",
    ),
    Promise("distil:digest-bound", "issue 3", "A record never exceeds its tokens."),
    Promise(
        "distil:digest-quoted",
        "DESIGN D10",
        "No text of a session can leave its quotation or forge a heading, a judgement or the closing line.",
    ),
    Promise("distil:secrets", "DESIGN D10", "No secret reaches the record, an accepted item or a refused one."),
    Promise(
        "distil:prompts",
        "issue 3, paper 1.4",
        "Each end of a session has its own versioned prompt; the judge's rationale is given; temperature 1.",
    ),
    Promise(
        "distil:lesson-form",
        "issue 3",
        "A lesson says what went wrong and, only when that is known, what to do instead.",
    ),
    Promise("distil:nothing", "issue 3, paper 5", "Nothing is a good answer of an extractor."),
    Promise(
        "distil:empty-session",
        "spec/paper defect 13",
        "No lesson is made of a session in which nothing happened; no model is asked.",
    ),
    Promise("distil:unknown", "DESIGN D8", "A session that ended unknown teaches nothing."),
    Promise(
        "distil:malformed",
        "issue 3, spec/memoria_haios H5",
        "A malformed answer of an extractor is an error, never a lesson; a readable one loses no item.",
    ),
    Promise(
        "distil:outage",
        "DESIGN D8, spec/memoria_haios H4",
        "An outage or a spent budget is passed on by the extractor; nothing is made up.",
    ),
    Promise(
        "distil:contrast",
        "issue 3, paper 1.8",
        "Runs of a task are contrasted in one call with their labels, and each item belongs to the run it came from.",
    ),
    Promise(
        "distil:assignment",
        "DESIGN D7",
        "A calling agent gets record, instructions and schema in at most 8,000 tokens.",
    ),
    Promise(
        "distil:validator",
        "issue 3",
        "The validator refuses by every reason there is, keeps the refused with it, and lets good lessons pass (90 examples).",
    ),
    Promise(
        "distil:validator-total",
        "issue 3",
        "The validator never raises, loses no item and is quick on hostile texts; what it accepts it accepts again.",
    ),
    Promise(
        "distil:limit",
        "paper A.1",
        "At most three items of a trajectory are stored, also when an agent answers item by item.",
    ),
    Promise("distil:same-text", "issue 3", "An item that says what an earlier one of its trajectory says is refused."),
    Promise(
        "distil:own-part",
        "issue 3",
        "A failure teaches no strategy; a partial session teaches strategies only from steps that worked; an unknown one nothing.",
    ),
    Promise("distil:step-numbers", "issue 3", "Step numbers that do not exist are dropped, none is invented."),
    Promise("distil:template-words", "seed 004", "A summary may name its own task; it may not order its reader about."),
    Promise(
        "distil:provenance",
        "issue 3",
        "A lesson is a candidate at 0.6 that knows trajectory, steps, session, task, model, prompt and memories in context.",
    ),
    Promise("distil:refusals-kept", "issue 3", "Refused items are kept with the reason, once."),
    Promise(
        "distil:once",
        "issue 3",
        "Learning the same trajectory twice adds nothing; of two workers with one job one learns.",
    ),
    Promise(
        "distil:near-duplicate",
        "DESIGN D6",
        "A near-duplicate is not stored but corroborates; other outcome, opposite advice or other numbers are no duplicate.",
    ),
    Promise(
        "distil:independent",
        "DESIGN D6",
        "Corroboration is evidence once per session, only when independent and judged by facts or a person.",
    ),
    Promise("distil:atomic", "issue 3", "Lessons, origins, refusals and the mark are stored together or not at all."),
    Promise(
        "distil:one-stores",
        "issue 3",
        "Of many workers that learn the same lesson at once, one stores it and the others corroborate it.",
    ),
    Promise("distil:kill", "issue 3", "A worker that is killed with kill -9 loses no lesson and doubles none."),
    Promise("distil:found", "seed 000 P2, P3", "What was learned is found by search in a new process."),
    Promise(
        "distil:summary",
        "seed 004 DistillSession",
        "A summary becomes bounded lessons by template that are found even from a task and an approach alone.",
    ),
    Promise(
        "distil:no-contradiction",
        "spec/contextd 1.9",
        "The anti-pattern of a partial session never advises against its strategy.",
    ),
    Promise("distil:title", "spec/contextd 1.9", "Titles are cut at a word, by characters, never inside one."),
)
