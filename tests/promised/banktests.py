"""The bank's learning verbs."""

from __future__ import annotations

from promised.promise import Promise

LEARNING: tuple[Promise, ...] = (
    Promise(
        "worker:lease", "DESIGN D8", "A job belongs to one worker until its lease has run out, then to the next one."
    ),
    Promise(
        "worker:heartbeat",
        "issue Jobs",
        "A job that takes longer than its lease stays with its worker as long as that lives.",
    ),
    Promise(
        "worker:backoff", "issue Jobs", "A job that fails waits 1, 4, 16, 64 and 256 minutes, a fifth more or less."
    ),
    Promise(
        "worker:dead",
        "issue Jobs",
        "A job that failed six times, or whose workers died six times, is buried with its error.",
    ),
    Promise(
        "worker:budget", "issue Jobs", "A spent budget waits for the next UTC day, and waiting for it is no attempt."
    ),
    Promise(
        "worker:errors",
        "issue Jobs",
        "An unexpected error of one job is kept without secrets and does not end the worker.",
    ),
    Promise("worker:other-kinds", "issue Jobs", "A worker leaves jobs alone that it cannot do."),
    Promise("worker:many", "issue Jobs", "Workers that share a bank do every job exactly once."),
    Promise("worker:stop", "issue Jobs", "A worker that is told to stop finishes what it has in hand."),
    Promise("worker:busy", "issue Jobs", "A busy bank is waited for."),
    Promise("worker:lost-lease", "issue Jobs", "A worker that lost its lease adds nothing to what the other has done."),
    Promise("worker:newer-verdict", "DESIGN D8", "A verdict that comes while a job runs decides what is learned."),
    Promise(
        "worker:revived",
        "issue Jobs",
        "A verdict takes up a job that was given up; nothing is asked again without a reason.",
    ),
    Promise("worker:kill", "issue Jobs", "Workers that are killed at any moment lose no job and do none twice."),
    Promise(
        "issue3:kill-worker",
        "issue Jobs",
        "Forty sessions give forty lessons and an empty queue however often the workers are killed.",
    ),
    Promise(
        "learning:end-to-end",
        "seed 000 P2",
        "A transcript becomes a lesson by itself, with its provenance, and is found by a search.",
    ),
    Promise("learning:idempotent", "issue Capture", "The same session twice, by content or by key, adds nothing."),
    Promise("learning:capture-files", "issue Capture", "A file without a session is named, and the others are kept."),
    Promise(
        "learning:verdict",
        "issue Evidence",
        "A person's verdict stands above evidence and model, and makes the session wait again.",
    ),
    Promise(
        "learning:outage",
        "DESIGN D8",
        "An outage of judge or extractor is unknown, never failure; the session waits and is retried.",
    ),
    Promise("learning:budget", "issue Three ways", "A spent budget leaves the session waiting for tomorrow."),
    Promise(
        "learning:malformed",
        "issue malformed answers",
        "A malformed answer leaves the session waiting; nothing is stored of it.",
    ),
    Promise("learning:nothing", "issue Distil", "Nothing is a good answer; what is refused is kept with the reason."),
    Promise(
        "learning:no-self-promotion",
        "issue Judge",
        "Successes that a model judged leave a memory at exactly 0.6, however many.",
    ),
    Promise("learning:corroboration", "DESIGN D6", "Independent sessions with evidence raise a memory, each once."),
    Promise(
        "learning:distill-session",
        "seed 000 FR-006",
        "A session's own summary becomes lessons without a model, at exactly 0.6.",
    ),
    Promise(
        "learning:agent",
        "DESIGN D7",
        "The calling agent distils for us, checked like a model; a session whose end is open still waits.",
    ),
    Promise("learning:forget", "DESIGN D10", "A forgotten session is in no file of the bank."),
    Promise(
        "learning:secrets",
        "issue secrets",
        "200 planted secrets of 15 kinds are in no file, log, prompt, span or answer.",
    ),
    Promise(
        "experience:by-task",
        "paper 3.2",
        "The nearest experiences come whole, with what they found again; nothing when none is near.",
    ),
    Promise(
        "issue3:by-experience",
        "issue Recall by task",
        "search(by='experience', k) brings k whole experiences and nothing irrelevant.",
    ),
    Promise("experience:no-mixing", "issue Experience search", "Traces, sessions and memories are kept apart."),
    Promise(
        "haios:H1",
        "memoria_haios H1",
        "An extracted strategy has title, description, content, model and prompt version.",
    ),
    Promise(
        "haios:H2", "memoria_haios H2", "What succeeded teaches about the work; lessons about searching are refused."
    ),
    Promise(
        "haios:H3",
        "memoria_haios H3",
        "What failed becomes a preventive lesson, stored as failure and shown as a warning.",
    ),
    Promise(
        "haios:H4",
        "memoria_haios H4",
        "Without a usable answer the search succeeds, the trace waits, and the default is never stored.",
    ),
    Promise("haios:H5", "memoria_haios H5", "Eight malformed answers are each read or wait."),
    Promise(
        "haios:H6",
        "memoria_haios H6",
        "Similar searches are near in meaning and in scope; other embedding models are refused.",
    ),
    Promise(
        "haios:H7",
        "memoria_haios H7",
        "learned_from is the number of distinct strategies listed, 1 after fifty repetitions.",
    ),
    Promise(
        "haios:H8",
        "memoria_haios H8",
        "At most three distinct strategies are listed, with id, condition and support, or a reason why none.",
    ),
    Promise("haios:H9", "memoria_haios H9", "Hits, no hits and errors have one shape."),
    Promise("haios:H10", "memoria_haios H10", "Results alone are no success; a later verdict changes what is counted."),
    Promise(
        "haios:H11",
        "memoria_haios H11",
        "The strategy that is named is applied, changes the results, and is recorded as it was applied.",
    ),
    Promise("haios:H12", "memoria_haios H12", "Strategies shown are logged and counted; unrelated tasks get nothing."),
    Promise(
        "haios:H13",
        "memoria_haios H13",
        "Twice called noise a strategy is not shown any more; called helpful it rises.",
    ),
    Promise("haios:H14", "memoria_haios H14", "Every mode filters inside every leg; an unknown mode is an error."),
    Promise(
        "haios:H15",
        "memoria_haios H15",
        "Entities and concepts stand verbatim in the text; a raw lesson is kept also when nothing was extracted.",
    ),
    Promise("haios:H16", "memoria_haios H16", "No tool takes SQL, and SQL in a text changes nothing."),
    Promise(
        "haios:H17",
        "memoria_haios H17",
        "Search p95 is below 150 ms while a model takes 5 s; the strategy appears afterwards.",
    ),
    Promise(
        "haios:H18",
        "memoria_haios H18",
        "Another embedder is refused until memories, tasks and traces are embedded again; then every probe is found.",
    ),
    Promise(
        "haios:H19",
        "memoria_haios H19",
        "A chat is skipped with the reason, a session counts once, and sessions are no search strategies.",
    ),
    Promise(
        "haios:H20", "memoria_haios H20", "Bad vectors are refused, long ones normalised, other projects invisible."
    ),
    Promise(
        "scale:parallel",
        "issue MaTTS",
        "Parallel attempts share one recall and teach together, each lesson from a run that can have taught it.",
    ),
    Promise("issue3:matts-parallel", "issue MaTTS", "One recall, k rollouts, one contrast, one choice with a reason."),
    Promise("scale:crash", "issue MaTTS", "A crashing attempt does not lose the others."),
    Promise("issue3:matts-crash", "issue MaTTS", "One crashed rollout is kept as its error."),
    Promise(
        "scale:sequential",
        "issue MaTTS",
        "Refinement checks its own work, stops when stable, and its corrections teach.",
    ),
    Promise("issue3:matts-sequential", "issue MaTTS", "Self-refinement with a check instruction through the bank."),
    Promise("scale:one", "issue MaTTS", "One attempt is a plain run."),
    Promise(
        "scale:leakage",
        "issue MaTTS",
        "When evaluating, the task's own lessons are withheld, named, and not counted as used.",
    ),
    Promise(
        "issue3:matts-leakage", "issue MaTTS", "A leakage guard keeps the same task's own lessons out of the memories."
    ),
    Promise("scale:waits", "DESIGN D8", "Without a model or its answer the attempts wait and nothing is lost."),
    Promise("scale:async", "issue MaTTS", "An asynchronous agent runs on its caller's loop."),
    Promise(
        "scale:limit",
        "issue MaTTS",
        "At most five items are kept of all attempts together; the others are refused and kept aside.",
    ),
)
