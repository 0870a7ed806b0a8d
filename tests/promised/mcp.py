"""The MCP server."""

from __future__ import annotations

from promised.promise import Promise

MCP: tuple[Promise, ...] = (
    Promise(
        "mcp:from-process-start",
        "issue 2",
        "Every tool works as the first call of a fresh process on an empty data directory.",
    ),
    Promise(
        "mcp:loop", "seed 000 MCP Tools", "Record, search, rate, report, read and delete work through the real client."
    ),
    Promise("mcp:eras", "spec/clients 4a", "Both protocol eras are served, on stdio and on HTTP."),
    Promise(
        "mcp:structured",
        "spec/clients 4a",
        "Every answer is structured, fits its output schema and has a text beside it.",
    ),
    Promise(
        "mcp:seed-fields",
        "seed 000 MCP Tools",
        "Inputs and outputs are those of the seed, extended, never renamed; no tool takes a tenant.",
    ),
    Promise("mcp:schema-budget", "issue 2", "The seven tools cost at most 1,500 tokens of schema together."),
    Promise(
        "mcp:annotations",
        "spec/clients 4a",
        "Hints are honest: search leaves usage evidence, only get and stats are read-only.",
    ),
    Promise("mcp:constants", "spec/engineering B.3 (19)", "Tool descriptions are constants; a change is seen."),
    Promise(
        "mcp:feedback-amount",
        "DESIGN D4",
        "A first rating moves a recorded memory from 0.8 by exactly the weight of explicit evidence.",
    ),
    Promise("mcp:once-per-session", "DESIGN D5", "An agent's ratings and outcomes count once per memory and session."),
    Promise("mcp:errors", "issue 2", "An error has isError, its hint for the agent, and stores nothing."),
    Promise(
        "mcp:arguments", "issue 2", "Unknown, missing and wrongly typed arguments are refused, and nothing else is."
    ),
    Promise("mcp:unknown-outcome", "issue 2", "An unknown outcome is an error, not silently a success."),
    Promise("mcp:ids", "issue 2", "Ids with hyphens and capitals work."),
    Promise(
        "mcp:projects", "contextd row 20", "A call may name a project; what another project holds is not found in it."
    ),
    Promise("mcp:no-project", "DESIGN D9", "A server outside a project needs one named in the call."),
    Promise("mcp:no-tenant-argument", "DESIGN D9", "The tenant is never an argument."),
    Promise("mcp:isolation", "DESIGN D9", "No tool reaches another tenant's memory."),
    Promise(
        "mcp:quoted", "DESIGN D10", "Memories are quoted line by line with id, confidence and age, whatever they hold."
    ),
    Promise("mcp:answer-budget", "spec/clients 4a", "No answer exceeds 25,000 tokens; ordinary ones are whole."),
    Promise("mcp:restart", "issue 2", "What one server process recorded the next one finds."),
    Promise("mcp:two-servers", "spec/engineering B.1", "Two servers at once share one bank and lose nothing."),
    Promise(
        "mcp:many-projects",
        "spec/engineering B.1",
        "A bounded number of banks stays open and none is closed under a call.",
    ),
    Promise(
        "mcp:initialize-light", "issue 2", "Initialize is answered before a model, numpy or the store is imported."
    ),
    Promise("mcp:no-bank-unasked", "contextd row 3", "A client that only connects leaves no bank behind."),
    Promise("mcp:stdout", "issue 2", "Nothing but protocol reaches standard output, whatever prints."),
    Promise("mcp:stdin-close", "spec/engineering B.3 (4)", "The stdio server leaves when its input ends."),
    Promise("mcp:drain", "issue 2", "Calls that run when the input ends are answered first."),
    Promise("mcp:sigterm", "issue 2", "A signal ends the stdio server cleanly while its input stays open."),
    Promise("mcp:parent-death", "issue 2", "The stdio server leaves within 3 seconds when its parent is killed."),
    Promise("mcp:configuration", "DESIGN section 4", "A wrong setting ends the start with a hint on standard error."),
    Promise(
        "mcp:fuzz-tools",
        "issue 2",
        "Every tool answers anything its schema allows or forbids, 300 examples each, without an unhandled exception.",
    ),
    Promise("mcp:fuzz-bytes", "issue 2", "Raw bytes on the wire never cause an internal error or end the server."),
    Promise("mcp:http-token", "issue 2", "HTTP answers nothing without a known bearer token, loopback included."),
    Promise(
        "mcp:http-host",
        "spec/engineering B.3 (18)",
        "A foreign Host header is refused with 421, for every listening address.",
    ),
    Promise("mcp:http-origin", "spec/engineering B.3 (18)", "A foreign Origin is refused with 403."),
    Promise("mcp:http-body", "spec/engineering B.3 (18)", "A request beyond 1 MiB is refused with 413."),
    Promise("mcp:http-bodies", "issue 2", "Bodies that are no message are client errors, never server errors."),
    Promise("mcp:http-health", "issue 2", "/health needs no token and says only that the server runs."),
    Promise("mcp:http-tenant", "DESIGN D9", "On HTTP the tenant comes from the token."),
    Promise("mcp:http-session", "spec/engineering B.3 (18)", "A protocol session is no use to another token."),
    Promise(
        "mcp:http-token-files",
        "spec/engineering B.3 (21)",
        "Token files are private plain files; links and files others can read are refused; tokens are never shown.",
    ),
    Promise(
        "mcp:http-refuses-to-start",
        "spec/engineering B.3 (21)",
        "The HTTP server does not start on a token file that others can read.",
    ),
)
