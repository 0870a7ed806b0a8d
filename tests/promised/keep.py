"""Trajectories, judgements, traces and jobs in the store."""

from __future__ import annotations

from promised.promise import Promise

KEEPING: tuple[Promise, ...] = (
    Promise(
        "learning:round-trip",
        "issue 3 Capture; DESIGN D8",
        "A trajectory comes back step by step as it was captured, and its judgements in the order they were given.",
    ),
    Promise(
        "learning:once",
        "issue 3 Capture; memoria H19",
        "The same session is kept once, by its idempotency key and by its content, and what is kept never changes.",
    ),
    Promise(
        "learning:list",
        "issue 3 Jobs, Distil",
        "Trajectories are listed by their latest verdict and by what waits to be distilled, page by page.",
    ),
    Promise(
        "learning:not-found",
        "DESIGN section 3",
        "An unknown trajectory or trace raises TrajectoryNotFound on every verb that needs it and changes nothing.",
    ),
    Promise(
        "learning:origins",
        "issue 3 Distil; DESIGN D6",
        "A trajectory teaches a memory once; the origin goes with its memory and outlives its trajectory.",
    ),
    Promise("learning:refusals", "issue 3 Distil", "A refused item is kept with its reason, newest first."),
    Promise(
        "learning:erase",
        "DESIGN D1",
        "An erased trajectory leaves no byte of itself, its judgements or its refusals in any file; its memories stay.",
    ),
    Promise(
        "learning:refused-write",
        "issue 3; memoria H20",
        "What could not be read back is refused before anything is written: bad texts, types, times and vectors.",
    ),
    Promise(
        "learning:traces",
        "seed 002; issue 3 Experience search",
        "A trace comes back as it was run; only how it ended and what was made of it change later.",
    ),
    Promise(
        "learning:similar-traces",
        "memoria H6",
        "Similar traces are those of the exact cosine among the newest 10,000; an equal query has exactly 1.",
    ),
    Promise(
        "learning:concurrent-traces",
        "DESIGN D1; memoria H6",
        "A search among traces sees what another process has written and what a restore took away.",
    ),
    Promise(
        "learning:model",
        "DESIGN D11; memoria H18",
        "Vectors of traces and memories are of one model; others are refused until the bank forgets its vectors.",
    ),
    Promise("learning:unit", "memoria H20", "Vectors are kept at unit length; one that points nowhere is refused."),
    Promise(
        "learning:task-leg",
        "issue 3 Recall by task",
        "A memory is found by the task it came from, in a leg of its own that the fused search does not use.",
    ),
    Promise(
        "learning:task-vector",
        "issue 3 Recall by task",
        "A distilled memory gets a vector of its source task; one task is embedded once.",
    ),
    Promise(
        "learning:atomic",
        "DESIGN D1, D8",
        "A lesson, its origin, refusals, judgement, mark and trace are stored together or not at all, and survive backup and restore.",
    ),
    Promise(
        "learning:damage",
        "DESIGN D2",
        "A row of learning that is not what was written is never an answer; the check names it and everything that hangs on nothing.",
    ),
    Promise(
        "learning:migration",
        "DESIGN section 5; memoria H1",
        "A bank of the first schema is migrated with a backup beside it and keeps its memories and jobs.",
    ),
    Promise(
        "learning:lock-step",
        "DESIGN section 5",
        "SQLite and a naive model answer alike after any sequence of learning and queue operations.",
    ),
    Promise(
        "learning:reembed",
        "memoria H18",
        "Re-embedding gives traces new vectors too, and every query finds its trace again.",
    ),
    Promise("memoria:H1", "spec/memoria_haios H1", "The migration of an old bank keeps its rows."),
    Promise(
        "memoria:H18",
        "spec/memoria_haios H18",
        "Another model fails loudly; re-embedding restores every known-item probe.",
    ),
    Promise(
        "transfer:origins",
        "issue 3 Distil",
        "Origins travel with their memories in an export, trajectories do not; a forged origin is refused with its line.",
    ),
    Promise(
        "jobs:claim",
        "issue 3 Jobs",
        "The job that has been due longest is handed out to one worker, with its attempts counted up.",
    ),
    Promise(
        "jobs:lease",
        "issue 3 Jobs",
        "A lease that runs out frees the job, and its former holder can change nothing more.",
    ),
    Promise(
        "jobs:put-back", "issue 3 Jobs", "A failed job waits for its next attempt with its error and its attempts."
    ),
    Promise(
        "jobs:dead",
        "issue 3 Jobs",
        "A buried job is seen with its error, is not handed out, and begins anew when it is revived.",
    ),
    Promise("jobs:once", "issue 3 Jobs", "A job that is waiting, running or dead is not stored again."),
    Promise(
        "jobs:finish",
        "seed 004 roll-up",
        "A job without a lease is finished whoever holds it, as the daily roll-up is.",
    ),
    Promise("jobs:atomic", "DESIGN D1", "A step of a job that is not committed never happened."),
    Promise("jobs:refused", "issue 3 Jobs", "An unusable job or claim is refused with a clear error."),
    Promise("jobs:threads", "issue 3 Jobs", "No job is done twice by eight workers, and none is left."),
    Promise("jobs:durable", "issue 3 Jobs", "Held and dead jobs are the same after reopening and after a restore."),
    Promise(
        "durability:kill-jobs",
        "issue 3 Jobs",
        "Workers killed at any moment lose no session and no job, and no job is done twice.",
    ),
)
