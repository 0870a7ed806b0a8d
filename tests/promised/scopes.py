"""Projects, teams and orgs."""

from __future__ import annotations

from promised.promise import Promise

SCOPES: tuple[Promise, ...] = (
    Promise(
        "scopes:membership",
        "issue 4 Scopes",
        "Team and org come from the argument, then the settings; the project's bank remembers them and they are readable for all projects of a tenant; without them nothing is remembered or forgotten, and a bank that cannot note them opens and says so.",
    ),
    Promise(
        "scopes:places",
        "issue 4 Scopes; DESIGN D9",
        "A project, a team and an org of one name share no file, row or process memory in any storage layout; projects keep their places.",
    ),
    Promise(
        "scopes:storage",
        "issue 4 Scopes",
        "Every store keeps projects, teams and orgs of equal names apart, lists them by level, answers whether one exists without making it, and keeps a project's membership with its transactions and backups.",
    ),
    Promise(
        "scopes:sessions",
        "issue 4 Scopes; DESIGN D5",
        "A team or org knows a session only by a digest: the same one each time, another one for another project, and nothing of its name.",
    ),
    Promise(
        "scopes:cascade",
        "spec/contextd section 5",
        "A search looks into project, team and org with weights 1.0 / 0.9 / 0.8, labels each hit, embeds the query once, and holds limit, filters, floor and unproven draw for the whole answer.",
    ),
    Promise(
        "scopes:same-text",
        "spec/contextd section 5",
        "Of one text in two scopes, and of a promoted memory and its source, the most specific is shown and names the other.",
    ),
    Promise(
        "scopes:conflict",
        "spec/contextd section 5",
        "What says the opposite of a more specific, believed memory gives way and is named in the hit or in the warnings.",
    ),
    Promise(
        "scopes:own-bank",
        "issue 4 Scopes",
        "Deliveries, ratings and outcomes are logged and counted in the memory's own bank, once per session, without the query; a session's outcome is shared over all scopes.",
    ),
    Promise(
        "scopes:briefing",
        "issue 4 Injection",
        "A briefing cascades with and without a task and prints each item's scope.",
    ),
    Promise(
        "scopes:robust",
        "issue 4 Scopes",
        "A team or org that is damaged, busy or of another embedder is left out and named; the project's answer stands.",
    ),
    Promise(
        "scopes:free",
        "issue 4 Scopes",
        "Searching makes no bank, and a team or org costs a search no statement until it has a bank.",
    ),
    Promise(
        "scopes:crossing",
        "issue 4 Scopes",
        "Nothing crosses a scope unless it was promoted, whatever operations run in whatever order.",
    ),
    Promise(
        "scopes:cli",
        "issue 4 Scopes",
        "Team and org are options of every command and settings; promote, demote and share do on the command line what the bank does, with their exit statuses.",
    ),
    Promise(
        "scopes:mcp",
        "issue 4 Scopes; DESIGN D9",
        "MCP labels hits with their scope and takes the team from the caller alone, never from an argument; the core tools are unchanged.",
    ),
    Promise(
        "scopes:tokens",
        "issue 4 Scopes; DESIGN D9",
        "A bearer token carries the team and org of its projects; nothing in a request changes them.",
    ),
    Promise(
        "scopes:hooks",
        "issue 4 Hooks",
        "A hook of a project without a bank opens it when its team or org knows something.",
    ),
    Promise("scopes:async", "issue 4 Scopes", "A bank in memory cascades and promotes like one on the disk."),
    Promise(
        "isolation:levels",
        "DESIGN D9",
        "No project name reaches a team's or org's bank, and no tenant promotes, demotes or shares into another.",
    ),
    Promise(
        "promotion:candidates",
        "seed 001 layer 3",
        "Lessons of confidence >= 0.8, one outcome and a cosine above 0.85 (scaled) in >= 2 projects of a team, or >= 2 teams of an org, are proposed through the vector index; nothing is stored.",
    ),
    Promise(
        "promotion:org",
        "seed 001 layer 3",
        "What two teams know goes to the org without names of teams or their projects.",
    ),
    Promise(
        "promotion:review",
        "issue 4 Scopes",
        "Promotion needs a reviewer, links both sides, leaves the sources alone, and of the same sources happens once.",
    ),
    Promise(
        "promotion:text",
        "issue 4 Scopes; DESIGN D10",
        "A model's general text must stand in its sources; changed sources and memories of other teams are refused.",
    ),
    Promise(
        "promotion:private",
        "issue 4 Scopes; DESIGN D10",
        "No project name, path, host, user or secret of a source is left in a promoted text, whoever wrote it; the rules refuse rather than change a command.",
    ),
    Promise(
        "promotion:prior",
        "issue 4 Scopes; DESIGN D5",
        "A promoted memory begins with the pooled mean of its sources' independent evidence, each signal once; no signal is copied.",
    ),
    Promise(
        "promotion:demotion",
        "issue 4 Scopes",
        "A demoted memory is archived with its links, its sources stay, and it is not proposed again.",
    ),
    Promise(
        "promotion:doubt",
        "issue 4 Scopes",
        "A quarantined source makes its promoted copy show up, and the copy is not shown in that project.",
    ),
    Promise(
        "promotion:interrupted",
        "DESIGN D1",
        "A promotion that was stopped between the banks is completed by the next one, without a second memory.",
    ),
    Promise(
        "promotion:links",
        "issue 4 Scopes",
        "Links across banks name scope and id and come back whole whatever the names are.",
    ),
    Promise(
        "share:stable",
        "issue 4 Scopes",
        "The same memories give the same shared bytes on every machine, whatever was searched, shown or used.",
    ),
    Promise(
        "share:idempotent",
        "issue 4 Scopes",
        "Importing a shared file twice changes nothing; what came says that it was shared.",
    ),
    Promise(
        "share:git",
        "issue 4 Scopes",
        "git merges disjoint changes of two people without a conflict, with the written attributes also changes of one memory, and both sides' evidence is kept.",
    ),
    Promise(
        "share:union",
        "issue 4 Scopes",
        "Uniting lines of one memory is commutative, associative and idempotent and keeps every signal once.",
    ),
    Promise(
        "share:gate",
        "issue 4 Scopes; DESIGN D10",
        "Shared texts go through redaction, hygiene and injection patterns; an unusable line stores nothing of its file.",
    ),
    Promise(
        "share:trust",
        "issue 4 Scopes",
        "A shared file moves trust only by evidence, every movement is reported, and what was counted up here is not counted again.",
    ),
    Promise(
        "share:conflict",
        "issue 4 Scopes",
        "A different text of no later version is kept and reported; a later version is taken over with the earlier one kept.",
    ),
    Promise(
        "share:scopes",
        "issue 4 Scopes",
        "A directory holds one file per scope and each goes into its own bank only; a foreign scope's file stores nothing.",
    ),
    Promise(
        "cli:promote", "issue 4 Scopes", "rbank promote lists, proposes, asks and stores; rbank demote takes out again."
    ),
    Promise("cli:share", "issue 4 Scopes", "rbank share export and import."),
)
