"""The command line, the demo, the documentation and the package."""

from __future__ import annotations

from promised.promise import Promise

CLI: tuple[Promise, ...] = (
    Promise(
        "cli:interface",
        "issue, Interface exactly",
        "The command line has the commands, options and defaults that other programs rely on.",
    ),
    Promise(
        "outside:unchanged",
        "issue, Interface exactly",
        "Help texts, tools, endpoints, what a story answers as JSON, and public signatures are those of the golden files.",
    ),
    Promise(
        "cli:json-fields",
        "issue, CLI; seed 000 MCP tools",
        "With --json a command prints exactly the fields of the MCP answer.",
    ),
    Promise("cli:own-fields", "issue, CLI", "Commands without a tool print documented JSON fields."),
    Promise(
        "cli:readable",
        "issue, CLI",
        "Without --json an answer is compact text that names ids, confidence and what happened.",
    ),
    Promise(
        "cli:streams",
        "issue, CLI; spec/clients 4e",
        "Data goes to stdout, everything else to stderr; an error leaves stdout empty and names a hint.",
    ),
    Promise(
        "cli:exit-codes",
        "issue, CLI",
        "Every class of error has its documented exit status, with --json an error object on stderr.",
    ),
    Promise(
        "cli:tenant-fails-closed",
        "seed 000 FR-010; DESIGN D9",
        "A blank tenant is refused by every command before anything is touched.",
    ),
    Promise("cli:tenant-default", "DESIGN D9", "The tenant is the option, then the setting, then the local user."),
    Promise(
        "cli:scope-options",
        "issue, Interface exactly",
        "--url, --tenant and --project stand before the command, or after it.",
    ),
    Promise(
        "cli:settings-checked",
        "spec/engineering C.4",
        "An unknown setting or value is an error with a suggestion, never ignored.",
    ),
    Promise("cli:home-unusable", "issue, CLI", "A data directory that is none is an error with a hint."),
    Promise(
        "cli:unwritable-home", "issue, CLI", "A data directory that cannot be written is a store error with a hint."
    ),
    Promise(
        "cli:doctor",
        "issue, CLI",
        "doctor shows engine, checksums, embedder, places, permissions and derivations; it ends with 1 when something is wrong.",
    ),
    Promise("cli:reembed", "DESIGN D11", "doctor names a change of embedder, and doctor --reembed heals it."),
    Promise(
        "cli:help",
        "DESIGN section 5; issue, CLI",
        "Every command and option has help, and --help documents the exit statuses.",
    ),
    Promise("cli:help-is-light", "DESIGN D12; issue", "rbank --help imports no command and nothing heavy."),
    Promise(
        "cli:search-filters",
        "issue, Recall",
        "search obeys limit, confidence, outcome, tags and unproven from the command line.",
    ),
    Promise(
        "cli:content-from-stdin",
        "issue, CLI",
        "A content of - is read from stdin as UTF-8, and is an error when it is none.",
    ),
    Promise("cli:import-elsewhere", "issue, CLI", "What one project exported another one imports."),
    Promise(
        "cli:from-process-start",
        "issue, It must show",
        "Every command works from process start, and a memory lives through processes.",
    ),
    Promise("cli:nothing-found", "issue, Recall", "A search that is related to nothing says so and ends with 0."),
    Promise(
        "cli:serve",
        "issue, MCP server",
        "rbank serve answers initialize with protocol alone on stdout and ends with its input.",
    ),
    Promise("cli:entry-points", "issue, CLI", "rbank, reasoningbank and python -m are the same command."),
    Promise("cli:at-once", "issue, Durability", "Two processes record into one new bank at once without an error."),
    Promise("cli:broken-pipe", "issue, CLI", "A reader that goes away ends the command quietly with 141."),
    Promise("cli:interrupt", "issue, CLI", "Ctrl-C ends the command with 130 and without a traceback."),
    Promise("cli:asks-on-a-terminal", "issue, CLI", "delete asks on a terminal and only there; a no changes nothing."),
    Promise("cli:fuzz", "issue, Fuzz", "No command line at all ends in a traceback."),
    Promise(
        "demo:real-session",
        "issue, It must show",
        "The demo's session is a small record of commands that really ran, without machine paths.",
    ),
    Promise(
        "demo:recorder", "issue, It must show", "Recording the session again gives the same commands and exit statuses."
    ),
    Promise(
        "demo:provenance",
        "issue, It must show",
        "Every lesson of the demo names the steps it comes from; one is a success and one a failure.",
    ),
    Promise(
        "demo:main-job",
        "issue, It must show",
        "rbank demo records, searches, rates and reports through the real MCP server and client, and checks each step.",
    ),
    Promise(
        "demo:readable", "issue, It must show", "The demo prints how each confidence moved, why, and what to do next."
    ),
    Promise(
        "docs:readme-python", "issue, README", "The Python quick start of the README has at most 20 lines and runs."
    ),
    Promise(
        "docs:readme-shell",
        "issue, README",
        "The README has at most 250 lines; its transcript of an agent that does better the second time is run and compared.",
    ),
    Promise(
        "docs:transcripts",
        "issue, README",
        "Every command and program of the README, the tutorial and the how-to pages runs and prints what the page shows.",
    ),
    Promise(
        "docs:pages",
        "issue, README",
        "Every page is listed in the index, every link leads to what exists, and one thing has one name.",
    ),
    Promise(
        "docs:readme-clients",
        "issue, README; spec/clients 4a",
        "The page on installing has the configurations of five MCP clients in their exact formats.",
    ),
    Promise(
        "docs:readme-commands", "issue, README", "The README names the two commands and links only files that exist."
    ),
    Promise(
        "docs:guarantees",
        "issue, README; DESIGN section 5",
        "The table of guarantees is generated from the promises and up to date, and its sources are words that a user knows.",
    ),
    Promise(
        "docs:cli-complete",
        "DESIGN section 5",
        "Every command, option and answer field is documented, and nothing that is not there.",
    ),
    Promise("docs:settings-complete", "spec/clients 4e", "Every setting is documented with its variable."),
    Promise(
        "docs:seed-api",
        "issue, Domain; seed 004",
        "Every public name of seed 004 has a counterpart that exists or an issue that will bring it.",
    ),
    Promise(
        "package:licence",
        "issue, Package",
        "LICENSE is Apache-2.0 word for word; NOTICE names the origin of bundled data.",
    ),
    Promise(
        "package:lock",
        "issue, Package",
        "The lock files pin every dependency by hash and name no index address or path.",
    ),
    Promise("package:typed", "issue, Package", "The package is typed and ships the demo's data."),
    Promise("package:make", "issue, Package", "make lists every target with its help."),
)
