"""Transcripts to trajectories."""

from __future__ import annotations

from promised.promise import Promise

CAPTURE: tuple[Promise, ...] = (
    Promise(
        "capture:formats",
        "issue 3 Capture; DESIGN 1 capture",
        "Transcripts of Claude Code, rollouts of Codex, .traj of SWE-agent, .traj.json of mini-swe-agent, lists of messages (bare, in objects, in arrays or lines of objects, logs of agents) and the plain JSON lines give the same session: task, ordered steps with thought, action, tool, observation and exit code, final answer and evidence.",
    ),
    Promise(
        "capture:detected",
        "issue 3 Capture (auto-detected)",
        "The format of a file is told by its content, whatever its name, byte order mark or line ends; naming it gives the same; an unknown name is refused with the known ones.",
    ),
    Promise(
        "capture:task",
        "issue 3 Capture",
        "The task is what a person said first; meta, command, hook, reminder and summary texts are not a person's, and the words of a slash command count only when nobody said more.",
    ),
    Promise(
        "capture:failures",
        "issue 3 Capture (error, exit code)",
        "Errors and exit codes are read from every shape in which Claude Code and Codex write them, and are left open where they are not told.",
    ),
    Promise(
        "capture:sub-agents",
        "issue 3 Capture (sub-agents)",
        "What sub-agents did is told apart by actor: side chains and agent ids of Claude Code, rollouts of Codex's sub-agents, speakers of a log of agents; a sub-agent's own file is a session of its own.",
    ),
    Promise(
        "capture:plain",
        "issue 3 Capture (plain generic JSONL)",
        "The plain format carries every field of a step and of a session, as lines of steps, lines of sessions or one object.",
    ),
    Promise(
        "capture:short-chats",
        "spec/memoria_haios H19",
        "A chat of two messages without any action is skipped with that reason.",
    ),
    Promise(
        "capture:same-twice",
        "spec/memoria_haios H19; issue 3 Capture (de-duplicated)",
        "The same transcript read twice is one trajectory: its digest is equal and a store keeps it once.",
    ),
    Promise(
        "capture:labels",
        "shared data README; issue 3 It must show (label stripped)",
        "Rewards, gold actions and patches, ground truth and marks of mistakes beside a session never reach its trajectory.",
    ),
    Promise(
        "capture:broken-lines",
        "issue 3 Capture (broken lines reported and skipped)",
        "A line, element or end that cannot be read, or is too long, is reported with its place and a reason, and everything else of the file counts.",
    ),
    Promise(
        "capture:no-session",
        "issue 3 Capture",
        "A file that cannot be opened, is empty or has no known format is refused with a hint.",
    ),
    Promise(
        "capture:any-bytes",
        "issue 3 Capture",
        "Whatever bytes or JSON values a file holds, reading it gives sessions and reports or that refusal, never another error.",
    ),
    Promise(
        "capture:time",
        "issue 3 Capture; seed 000 P (bounded work)",
        "The time to read a session grows with its length and no faster, also for texts made of half-open marks, blanks and nested brackets.",
    ),
    Promise(
        "capture:memory",
        "issue 3 Capture (200 MB in bounded memory)",
        "Reading a transcript or a document takes memory that does not grow with the file: at most 120 MiB for 200 MB.",
    ),
    Promise(
        "capture:secrets",
        "issue 3 It must show (200 secrets of 15 kinds); DESIGN D10",
        "Of 200 secrets of 15 kinds planted in thoughts, actions, observations, task and answer of every format none is in any text of the trajectory, nor a piece of one beside a cut, nor in names and given facts.",
    ),
    Promise(
        "capture:echo",
        "issue 3 Capture (echo guard); DESIGN D10",
        "The bank's own blocks, and the answers of its tools and its command line, are taken out of a session; the memories they showed are listed.",
    ),
    Promise(
        "capture:bounds",
        "issue 3 Capture",
        "Texts, steps and whole trajectories are bounded; beginning and end are kept, and what was cut is said.",
    ),
    Promise(
        "capture:prepare",
        "issue 3 Capture; plan prepare()",
        "A trajectory that an application made is prepared as one that was read, facts of its steps before given ones, and preparing twice changes nothing more.",
    ),
    Promise(
        "capture:real-data",
        "issue 3 It must show",
        "Every file of tau_bench_airline, swe_agent, claude_code and who_and_when parses where it is; skipped with a message where it is absent.",
    ),
    Promise(
        "capture:reference",
        "issue 3 Interface",
        "The reference page of capture names every format, the plain format and every bound as the code has them.",
    ),
)
