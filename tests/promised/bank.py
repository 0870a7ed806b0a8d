"""The bank: verbs, belief, search, isolation, copies, settings and the public interface."""

from __future__ import annotations

from promised.promise import Promise

BANK: tuple[Promise, ...] = (
    Promise(
        "bank:record",
        "seed 000 FR-007",
        "A record is stored at once, at exactly 0.8, and reads back as it was returned.",
    ),
    Promise(
        "bank:validation",
        "seed 004 errors",
        "Bad input is refused by an error of its own with a hint, and nothing is stored.",
    ),
    Promise("bank:delete", "issue Bank", "A deleted memory is in no read, list, count or search."),
    Promise("bank:list", "seed 004 ListMemories", "List gives the order of recording, with limit and offset."),
    Promise(
        "bank:update",
        "issue Bank",
        "An edit keeps creation, evidence and the earlier version; an edit that changes nothing makes none.",
    ),
    Promise("bank:closed", "issue Bank", "A closed bank says so."),
    Promise(
        "bank:owner",
        "DESIGN D9",
        "Feedback takes only an id: the bank finds its project inside the tenant, and never outside.",
    ),
    Promise(
        "belief:feedback",
        "DESIGN D4",
        "A rating moves the confidence by exactly its frozen weight, helpful up, unhelpful down.",
    ),
    Promise(
        "belief:outcome",
        "DESIGN D5",
        "An outcome counts once per memory and session, and every time when no session is named.",
    ),
    Promise("belief:agent-cap", "DESIGN D5", "An agent's ratings count once per memory and session, a human's always."),
    Promise(
        "belief:learning",
        "DESIGN D5",
        "A rating credits what predicted it, positive and negative, and each prediction once.",
    ),
    Promise(
        "belief:frozen",
        "DESIGN D4",
        "Learning changes the weight of future signals only; no memory's confidence moves by it.",
    ),
    Promise(
        "belief:rollup",
        "DESIGN D4",
        "A roll-up changes no confidence, survives a restart and forgets no session it has counted.",
    ),
    Promise("belief:daily", "seed 000 FR-005c", "The roll-up runs by itself once a day."),
    Promise("belief:history", "issue Bank", "History tells every step with the confidence that followed."),
    Promise(
        "search:relevant",
        "seed 000 P1",
        "A task in other words finds its lesson first, with relevance, legs, embedder and tokens.",
    ),
    Promise("search:floor", "issue Recall", "An unrelated query returns nothing and says so, in small banks too."),
    Promise("search:empty-bank", "seed 000 P1", "An empty bank answers empty."),
    Promise("search:validation", "issue Recall", "A search without a query or with unusable arguments is refused."),
    Promise("search:unproven", "DESIGN D6", "Memories below the threshold are offered in a list of their own, marked."),
    Promise("search:promotion", "DESIGN D6", "An unproven lesson that helps is promoted by evidence."),
    Promise("search:draw", "DESIGN D6", "The unproven draw prefers the believed and reaches all."),
    Promise(
        "search:filters",
        "issue Recall",
        "Filters act inside the query: what is filtered away never starves the answer.",
    ),
    Promise(
        "search:collapse", "issue Interface", "Only texts that are the same up to case, space and punctuation collapse."
    ),
    Promise(
        "search:relevance", "issue Recall", "Hits are ordered by relevance; confidence decides the list, not the order."
    ),
    Promise("search:log", "issue Recall", "Every recall is logged with what it delivered."),
    Promise("search:usage", "DESIGN D5", "Usage counts only what was delivered, once per memory and session."),
    Promise("search:model", "DESIGN D11", "Another embedder than the bank's is refused with a hint, never mixed in."),
    Promise(
        "isolation:tenant", "seed 000 FR-010", "No public method shows anything of another tenant, whatever the names."
    ),
    Promise("isolation:project", "seed 000 FR-004", "Projects of one tenant do not mix."),
    Promise("isolation:names", "DESIGN D9", "Different names never share a file."),
    Promise(
        "isolation:fail-closed", "seed 000 FR-010", "Without a tenant or a project nothing opens and nothing is made."
    ),
    Promise(
        "isolation:single-file", "issue Store", "A single file belongs to its first scope; others get files beside it."
    ),
    Promise("isolation:errors", "issue Bank", "An error names no other scope."),
    Promise("async:parity", "issue Bank", "AsyncBank and Bank have the same methods and signatures."),
    Promise("async:works", "issue Bank", "AsyncBank does what Bank does, many calls at once."),
    Promise(
        "telemetry:spans",
        "issue Telemetry",
        "Every operation is a span with a duration and a count, and none holds content or names.",
    ),
    Promise("telemetry:silent", "issue Telemetry", "Without an SDK nothing is said and none is loaded."),
    Promise(
        "telemetry:offline",
        "DESIGN D7",
        "`rbank demo`, `record`, `search`, a hook, `serve` on stdio and a bank in Python open no network socket and look up no name, as the operating system sees it, and leave no file in the home directory beside the bank.",
    ),
    Promise(
        "telemetry:runtime",
        "DESIGN D12",
        "ONNX Runtime's own telemetry is off before it is loaded, whatever the environment says.",
    ),
    Promise(
        "telemetry:watch",
        "DESIGN D12",
        "The watch behind that sees a look-up by C code, on a thread and in a child, and denies every attempt.",
    ),
    Promise(
        "transfer:identity",
        "issue Bank",
        "An import of an export gives the same memories, beliefs, histories and weights.",
    ),
    Promise("transfer:atomic", "issue Bank", "A bad line is named and nothing is imported."),
    Promise(
        "transfer:claims", "DESIGN D4", "An import believes the evidence in the file, not the confidence it claims."
    ),
    Promise(
        "transfer:backup",
        "issue Store",
        "A backup restores exactly; what it replaces is kept; damaged or foreign ones are refused.",
    ),
    Promise("transfer:backup-count", "issue Store", "Only the newest automatic backups are kept."),
    Promise(
        "transfer:reembed",
        "DESIGN D11",
        "A bank can be moved to another embedder in one step; nothing is mixed and no evidence lost.",
    ),
    Promise("interface:exports", "issue Bank", "Every export is importable and described."),
    Promise("interface:light", "DESIGN D12", "Importing the package imports nothing heavy."),
    Promise("interface:errors", "issue Domain", "Every error stands in the drawn tree and has a hint."),
    Promise("interface:files", "DESIGN section 3", "No source file is above 500 lines; the median is at most 200."),
    Promise("interface:typed", "issue Package", "The package says that it is typed."),
    Promise(
        "promises:complete",
        "issue It must show",
        "Every promise has a test, every test a promise, every row of the table is one or the other.",
    ),
    Promise("settings:precedence", "issue Package", "The environment wins over the file, the file over the default."),
    Promise("settings:unknown", "issue Package", "An unknown or unusable setting is an error with a suggestion."),
    Promise("settings:secret", "DESIGN D10", "A key is never shown."),
    Promise(
        "settings:project", "DESIGN D9", "A project is its normalised remote and the path inside, else its real path."
    ),
    Promise("settings:tenant", "DESIGN D9", "The local user is the tenant of a command that names none."),
)
