"""Several attempts at one task."""

from __future__ import annotations

from promised.promise import Promise

SCALING: tuple[Promise, ...] = (
    Promise(
        "matts:parallel",
        "issue MaTTS; spec/paper 1.8",
        "Parallel scaling recalls once, runs k rollouts at the same time (never more than allowed), judges each, and learns once from all of them together with their labels.",
    ),
    Promise(
        "matts:sequential",
        "issue MaTTS; spec/paper 1.8",
        "Sequential scaling lets the agent check and correct its own work with a first and a following instruction, and stops when a round gives the same answer without a further action, or after k rounds.",
    ),
    Promise(
        "matts:contrast",
        "issue MaTTS; spec/paper 1.8",
        "One extraction sees all rollouts, or what each round did in order, with their labels; each lesson is attributed to the rollout and the steps that show it.",
    ),
    Promise(
        "matts:selection",
        "issue MaTTS; spec/paper 1.8",
        "The best rollout is chosen with a reason: proof before opinion, verdict before probability, a model only among equals, then fewest failed steps, fewest steps, the first.",
    ),
    Promise(
        "matts:partial-failure",
        "issue MaTTS; spec/paper 4",
        "A rollout that crashes, runs out of time or cannot be judged keeps its error and loses none of the others; an outage of judge, model or learner loses no trajectory.",
    ),
    Promise(
        "matts:plain-run",
        "issue MaTTS",
        "k = 1 is a plain run: one recall, one rollout, one judgement, one extraction.",
    ),
    Promise(
        "matts:bounds",
        "issue MaTTS",
        "k is a whole number from 1 to 16; what cannot be scaled is refused before anything runs.",
    ),
    Promise(
        "matts:cancellation",
        "issue MaTTS",
        "Cancelling ends every asynchronous rollout, waits for no plain one, leaves no task behind and learns nothing.",
    ),
    Promise(
        "matts:any-agent",
        "issue MaTTS",
        "Any plain or asynchronous callable is an agent, from programs with and without a running event loop.",
    ),
    Promise(
        "matts:leakage",
        "issue MaTTS; spec/paper 4 (11)",
        "With the leakage guard no memory that was learned from the same task, by its text or its id, reaches the agent; without it all do.",
    ),
    Promise(
        "matts:no-secret",
        "DESIGN D10",
        "A secret in what an agent returns reaches neither the judge, the extraction nor the answer.",
    ),
    Promise(
        "agents:mini-swe-agent",
        "issue A real agent",
        "mini-swe-agent works on a real repository with memories, several attempts in copies of their own, and its record becomes a trajectory whose evidence decides.",
    ),
    Promise(
        "agents:injection",
        "issue A real agent; DESIGN D10",
        "Memories are shown as quoted data with id, confidence and age between marks that they cannot close, are never a template, and are taken out of the record again.",
    ),
    Promise(
        "agents:no-secret",
        "issue A real agent; DESIGN D10",
        "Secrets of the environment reach neither the commands of an agent nor its record.",
    ),
    Promise("agents:no-litellm", "DESIGN D7", "mini-swe-agent runs without litellm."),
)
