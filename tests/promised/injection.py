"""Briefings and hooks."""

from __future__ import annotations

from promised.promise import Promise

INJECTION: tuple[Promise, ...] = (
    Promise(
        "inject:evidence",
        "issue Injection; DESIGN D10",
        "A briefing is quoted evidence: each memory with id, kind, confidence with its 90 % interval, age and scope, anti-patterns as warnings, every line of its text behind a bar.",
    ),
    Promise(
        "inject:echo",
        "DESIGN D10; issue Injection",
        "Capture finds every memory of a briefing by its id and takes the block out again; no memory can close its block; the tool and the command are known as the bank's own.",
    ),
    Promise(
        "inject:nothing",
        "issue Injection",
        "Nothing is shown rather than the irrelevant: with a task only what is above the relevance floor, without one only proven memories, the highest lower bound first and then the latest.",
    ),
    Promise("inject:states", "DESIGN 2", "What is archived or in quarantine is never shown."),
    Promise(
        "inject:diverse",
        "issue Injection",
        "Near-duplicates and equal texts are shown once; a strategy and the anti-pattern of the same situation are both shown.",
    ),
    Promise(
        "inject:left-out",
        "issue Injection",
        "What was considered and is not shown is named with the reason: budget, limit, near-duplicate, same text, shown before.",
    ),
    Promise(
        "inject:arguments",
        "issue Injection",
        "Blank tasks, negative budgets, impossible shares and unnamed sessions are refused; a bank of another embedder says so.",
    ),
    Promise("inject:isolation", "DESIGN D9", "Nothing of another project or tenant is shown or credited."),
    Promise("inject:no-secret", "DESIGN D10", "No secret is shown even when a stored row holds one."),
    Promise(
        "inject:budget",
        "issue Injection",
        "The text never has more cl100k tokens than the budget, whatever the memories hold, and says how many it has.",
    ),
    Promise(
        "inject:credit",
        "issue Injection; DESIGN D5",
        "A session's outcome credits exactly what briefings and searches have shown in it, once per memory and session, whatever the order of calls.",
    ),
    Promise(
        "inject:credit-shared",
        "issue Injection",
        "The weight of one session's outcome is shared in equal parts by everything that was shown.",
    ),
    Promise(
        "inject:usage",
        "DESIGN D5",
        "A briefing without a task is no evidence of use; one with a task counts once per memory and session.",
    ),
    Promise("inject:repeat", "issue Hooks", "On demand a briefing leaves out what the session was shown before."),
    Promise(
        "inject:branch",
        "issue Injection; seed 001 layer 1",
        "A branch of a folded context gets its share of the budget, credits only what it was shown, and its account becomes one lesson.",
    ),
    Promise(
        "inject:command",
        "issue, Interface exactly",
        "rbank briefing and rbank session-outcome have the options and JSON fields that other programs rely on.",
    ),
    Promise(
        "inject:tool",
        "issue Injection",
        "memory_briefing is offered by the profile briefing; the core keeps its seven tools.",
    ),
    Promise(
        "hook:session-start",
        "issue Hooks; spec/clients 4b",
        "SessionStart is answered with a briefing as additionalContext.",
    ),
    Promise(
        "hook:prompt",
        "issue Hooks; spec/clients 4b",
        "UserPromptSubmit brings what is relevant to the prompt and was not shown in the session, and nothing otherwise.",
    ),
    Promise(
        "hook:tool-failure",
        "issue Hooks; spec/clients 4b",
        "PostToolUseFailure brings a matching anti-pattern and nothing else.",
    ),
    Promise("hook:other-clients", "spec/clients 4c", "Codex, Cursor and Copilot CLI are answered in their own JSON."),
    Promise(
        "hook:capture",
        "issue Hooks",
        "Stop, SessionEnd and PreCompact queue the transcript, which a worker captures; the hook reads nothing of it.",
    ),
    Promise(
        "hook:real-transcripts",
        "issue, It must show",
        "Real Claude Code transcripts go from the hook's process to trajectories.",
    ),
    Promise(
        "hook:compaction",
        "issue Hooks",
        "The client's own summary becomes a lesson when it is known how the session ended and waits as a trajectory otherwise, each once.",
    ),
    Promise(
        "hook:skipped",
        "spec/clients 4b",
        "Events of sub-agents, continued turns, machines' prompts, slash commands, interrupted tools and unknown events change nothing.",
    ),
    Promise("hook:no-litter", "issue Hooks", "Reading events make no bank where there is none."),
    Promise(
        "hook:never-blocks",
        "issue Hooks",
        "Whatever fails, a hook ends with 0, gives the client's neutral answer, says nothing on stderr and notes the failure without a word of the payload in a small private log.",
    ),
    Promise(
        "hook:light",
        "DESIGN D12",
        "The end of a turn is answered without importing anything heavy, for less CPU than --help, and kept by a detached process.",
    ),
    Promise(
        "hook:spellings",
        "spec/clients 4b, 4c",
        "Events are known in the spelling of Claude Code, Codex, Cursor and Copilot CLI.",
    ),
    Promise(
        "hook:project",
        "DESIGN D9",
        "The project is the client's project directory, not the directory the agent is in at the moment.",
    ),
    Promise(
        "install:byte-identical",
        "issue Hooks, It must show",
        "Install and uninstall leave every byte of a JSON configuration, comments, trailing commas, line ends and byte order mark included; a second install changes nothing.",
    ),
    Promise(
        "install:adds-only-ours", "issue Hooks", "What an installation adds to a JSON file is exactly our entries."
    ),
    Promise(
        "install:creates-and-removes",
        "issue Hooks",
        "For every client and level a dry run says what will be done and does nothing; files that were made go again.",
    ),
    Promise(
        "install:update",
        "issue Hooks",
        "An entry of ours is brought up to date, one written by hand is refused, and what others add meanwhile stays.",
    ),
    Promise(
        "install:refuses", "issue Hooks", "A file that is not understood is left as it is with an error that names it."
    ),
    Promise(
        "install:files",
        "issue Hooks",
        "Links stay links, permissions stay, the newest five private copies are kept and no litter is left.",
    ),
    Promise(
        "install:toml",
        "spec/clients 4a, 4c",
        "Codex gets its server's table and hooks switched on in a marked block; every other byte stays, and what is appended later survives.",
    ),
    Promise(
        "install:agents-md",
        "spec/clients 4c",
        "The block of AGENTS.md is kept once between its marks and the rest stays.",
    ),
    Promise(
        "install:command",
        "issue, Interface exactly",
        "rbank install, uninstall and agents-md work from process start, for the user and for a project.",
    ),
)
