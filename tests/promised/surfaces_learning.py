"""Learning on the command line and over MCP."""

from __future__ import annotations

from promised.promise import Promise

LEARNING_SURFACES: tuple[Promise, ...] = (
    Promise(
        "cli:capture",
        "issue Interface",
        "`rbank capture` tells what was stored, skipped and judged; the same session twice adds nothing.",
    ),
    Promise(
        "cli:capture-unreadable",
        "issue Capture",
        "A file without a session does not stop the others; alone it is an error with a hint.",
    ),
    Promise(
        "cli:distill-waits",
        "DESIGN D8",
        "Without a language model sessions wait, the command says why, and nothing is invented.",
    ),
    Promise(
        "cli:distill",
        "issue Interface; issue It must show",
        "A captured transcript becomes lessons at 0.6 with provenance that a new process finds; a refused item is kept with its reason.",
    ),
    Promise(
        "cli:verdict",
        "issue Evidence",
        "A person's verdict decides what neither evidence nor model can, and the session is distilled by it.",
    ),
    Promise(
        "cli:distill-session",
        "issue Interface; seed 004 DistillSession",
        "A session's own summary becomes lessons without a model; the same session twice adds nothing.",
    ),
    Promise("cli:worker", "issue Jobs", "`rbank worker --once` does what is due; what fails is postponed and said."),
    Promise(
        "cli:worker-stops",
        "issue Jobs",
        "A worker takes up what other processes queue and ends at SIGTERM after the job in hand.",
    ),
    Promise(
        "cli:experience",
        "issue Interface; seed 002",
        "`rbank experience` prints results and reasoning, with unproven hits marked.",
    ),
    Promise(
        "cli:scale",
        "issue MaTTS",
        "`rbank scale` runs a program several times, says which attempt is best and why, and ends with 1 when none ran.",
    ),
    Promise("cli:light", "DESIGN D12", "The help of no learning command imports anything heavy."),
    Promise(
        "mcp:profiles",
        "issue Three ways; seed 002",
        "A profile adds its tools and leaves the seven of the core exactly as they are.",
    ),
    Promise(
        "mcp:profile-unknown",
        "issue Experience search",
        "An unknown profile is refused with the list of profiles, before anything is created.",
    ),
    Promise(
        "mcp:distill",
        "DESIGN D7",
        "memory_distill hands out a redacted digest, schema and instructions; each item recorded with its trajectory is stored at 0.6, corroborates, or is refused with a reason.",
    ),
    Promise(
        "mcp:distill-nothing",
        "issue Distil",
        "A session in which the agent found no lesson no longer waits once it says so.",
    ),
    Promise(
        "mcp:experience-shape",
        "spec/memoria_haios H9",
        "An experience search has one shape for hits, no hits and every kind of error.",
    ),
    Promise(
        "mcp:experience-budget",
        "DESIGN D10",
        "An experience answer keeps to what clients accept, and strategies in it are quoted data.",
    ),
    Promise(
        "mcp:unknown-project",
        "issue Interface",
        "Asking about a project that has no bank makes none, and still checks every argument.",
    ),
    Promise(
        "mcp:worker", "issue Jobs", "A server captures and distills what was queued while its client is connected."
    ),
    Promise(
        "mcp:worker-leaves",
        "issue Jobs",
        "A server leaves with its client while the model still thinks, and the session waits on.",
    ),
    Promise(
        "mcp:learned-from",
        "spec/memoria_haios H7",
        "learned_from is 0 before and 1 after the outcome of an equal search is known, however often it is repeated.",
    ),
    Promise(
        "mcp:allowed-host",
        "issue MCP",
        "A Host that was allowed is accepted, every other one is refused, and a wildcard cannot be allowed.",
    ),
    Promise(
        "command-agent:told",
        "issue MaTTS",
        "A program finds the task and the memories in files; its output is a redacted step without our own block.",
    ),
    Promise(
        "command-agent:failed", "issue MaTTS", "A program that fails is a failed step and evidence against success."
    ),
    Promise(
        "command-agent:transcript",
        "issue MaTTS",
        "A transcript that the program writes is captured instead of its output.",
    ),
    Promise(
        "command-agent:ends",
        "issue MaTTS",
        "A program that takes too long is told to end and then ended, whatever holds its output open.",
    ),
    Promise("command-agent:bounded", "issue MaTTS", "Of a flood of output only both ends are read."),
    Promise("command-agent:refused", "issue MaTTS", "What cannot be run is an error with a hint."),
    Promise(
        "command-agent:scaled",
        "issue MaTTS",
        "Attempts of a program run beside each other; one that fails does not lose the others.",
    ),
    Promise(
        "docs:readme-learning",
        "issue Interface",
        "The page on learning from sessions runs without a model and with one.",
    ),
)
