"""Plugins, frameworks and hooks."""

from __future__ import annotations

from promised.promise import Promise

FRAMEWORKS: tuple[Promise, ...] = (
    Promise(
        "document:kept",
        "issue 4 (LangGraph); DESIGN D1",
        "A document comes back from its place and from every path above it, after reopening and restoring too; collections do not see each other.",
    ),
    Promise(
        "document:compared",
        "issue 4 (LangGraph); DESIGN D11",
        "Documents are compared with a query by the best cosine of their texts, in the bank's one vector space.",
    ),
    Promise(
        "document:refused",
        "issue 4 (LangGraph)",
        "What cannot be kept faithfully as a document is refused, and nothing of its transaction stays.",
    ),
    Promise(
        "document:lock-step",
        "DESIGN section 5",
        "SQLite and a naive model keep documents alike under random operations.",
    ),
    Promise("document:erased", "issue 4 (LangGraph); DESIGN D10", "A deleted document is gone from the bank's files."),
    Promise(
        "document:export",
        "issue 4 (LangGraph)",
        "An export brings documents along without secrets; an import overwrites none, and refuses broken lines as a whole.",
    ),
    Promise(
        "document:reembed",
        "DESIGN D11",
        "Another embedder is refused for documents too until the bank is embedded again.",
    ),
    Promise(
        "langgraph:differential",
        "issue 4 (LangGraph); spec/clients 4e",
        "Random batches are answered as by LangGraph's own InMemoryStore.",
    ),
    Promise(
        "langgraph:search",
        "spec/clients 4e",
        "A query ranks items by the best of their indexed texts; nothing is left out, items without a text come last.",
    ),
    Promise(
        "langgraph:filters",
        "spec/clients 4e",
        "Filters compare as LangGraph says: equality, nesting, lists and the six operators.",
    ),
    Promise(
        "langgraph:refused",
        "spec/clients 4e",
        "Labels, values, operators and ttl that the interface does not allow are refused; nothing of the batch is written.",
    ),
    Promise(
        "langgraph:secrets", "DESIGN D10", "Secrets are replaced wherever they stand in a value and reach no file."
    ),
    Promise(
        "langgraph:kept",
        "issue 4 (LangGraph)",
        "Items survive reopening, are exported, and keep the time when they were first stored.",
    ),
    Promise(
        "langgraph:apart",
        "issue 4 (LangGraph)",
        "Items are no lessons and files are no items: neither shows up as the other.",
    ),
    Promise("langgraph:async", "spec/clients 4e", "The asynchronous half of the store answers the same."),
    Promise("langgraph:scores", "spec/clients 4e", "The score of an item is the cosine of its text and the query."),
    Promise(
        "memory-tool:strings",
        "issue 4; spec/clients 4d",
        "Every answer and refusal of the memory tool has the exact words of memory_20250818.",
    ),
    Promise(
        "memory-tool:paths",
        "spec/clients 4d",
        "No spelling of a path leads out of /memories: traversal, encoded, full-width, control or invisible characters.",
    ),
    Promise(
        "memory-tool:files",
        "spec/clients 4d",
        "Random commands are answered as by the library's own tool over a directory, and leave the same files.",
    ),
    Promise(
        "memory-tool:memories",
        "issue 4; spec/clients 4d",
        "A file in strategies or failures is a memory: created, edited with its evidence kept, moved to the other outcome, archived when removed.",
    ),
    Promise(
        "memory-tool:gate",
        "DESIGN D10",
        "What is filed goes through the gate of every write: no secret reaches a file, and what cannot be a memory is refused in words.",
    ),
    Promise("memory-tool:together", "DESIGN D1", "Concurrent writers never overwrite each other's change."),
    Promise("memory-tool:async", "spec/clients 4d", "The asynchronous tool answers the same."),
    Promise(
        "memory-tool:loop",
        "spec/clients 4d",
        "The library's own tool runner drives the tool; refusals are errors for the model.",
    ),
    Promise("memory-tool:text", "spec/clients 4d", "Any text becomes a memory whose file reads as it was kept."),
    Promise(
        "frameworks:lazy",
        "DESIGN D12",
        "No framework is imported by the package; without one, its module says what to install.",
    ),
    Promise(
        "plugin:files",
        "issue 4; spec/clients 4b",
        "The plugin's manifest and marketplace have the keys that Claude Code reads, at the package's version.",
    ),
    Promise(
        "plugin:hooks",
        "issue 4; spec/clients 4b",
        "Every hook command of the plugin exists, has a timeout, and answers a real payload from process start.",
    ),
    Promise("plugin:server", "issue 4; spec/clients 4b", "The plugin's MCP server is started by the real client."),
    Promise(
        "plugin:skill",
        "issue 4; spec/clients 4b",
        "The plugin's skill is short and names only tools and commands that exist.",
    ),
    Promise(
        "hook:payloads",
        "issue 4; spec/clients 4b, 4c",
        "Every payload of the clients' conventions is shown, kept or passed over, in the client's own shape.",
    ),
    Promise(
        "hook:desk",
        "DESIGN D12",
        "A hook that finds a running server lets it answer and loads nothing heavy itself; deliveries count for the client's session.",
    ),
    Promise(
        "hook:desk-fallback",
        "issue 4: a hook never blocks",
        "A dead, silent, lying, second or missing server only makes the hook do the work itself, within its time.",
    ),
    Promise(
        "hook:desk-own",
        "DESIGN D9",
        "A server answers only hooks of its own user, tenant, settings and version; nobody else can stand in for it.",
    ),
)
