"""Sessions, models' answers and lessons that the tests of learning are made of."""

from __future__ import annotations

import json
from collections.abc import Sequence

from reasoningbank.types.session import Step, Trajectory

TASK = "Make the nightly checkout test of the shop pass again"
FROZEN: dict[str, object] = {
    "title": "Freeze the clock in date tests",
    "description": "When a test fails only at night or around midnight; not when it fails at any hour",
    "content": "Freeze the clock with a fixture and run the test at 23:59 and 00:01, so that no date decides.",
    "steps": [0, 1],
    "tags": ["pytest", "time"],
}
DELETED: dict[str, object] = {
    "title": "Deleting an applied migration",
    "description": "When a schema migration conflicts with one that production has applied",
    "what_went_wrong": "A migration file that production had applied was deleted, and the service no longer started.",
    "do_instead": "Add a new migration that reverses the old one, and start the service once before handing in.",
    "steps": [0],
    "tags": ["migrations"],
}


def ran(passed: int, failed: int = 0, *, thought: str = "Run the tests.") -> Step:
    """A step in which pytest ran."""
    counts = ", ".join(f"{count} {word}" for count, word in ((failed, "failed"), (passed, "passed")) if count)
    return Step(
        thought=thought,
        tool="bash",
        action="python -m pytest -q",
        observation=f"{'F' * failed}{'.' * passed}\n{counts} in 0.05s",
        exit_code=1 if failed else 0,
    )


def solved(session: str, task: str = TASK, *, memories: Sequence[str] = ()) -> Trajectory:
    """A session whose tests fail first and pass in the end: a success by its evidence."""
    steps = (ran(11, 1), Step(thought="Freeze the clock.", tool="bash", action="edit tests/conftest.py"), ran(12))
    return Trajectory(task=task, steps=steps, final_answer="Done.", session=session, memories=tuple(memories))


def broken(session: str, task: str = "Resolve the conflict of the two schema migrations") -> Trajectory:
    """A session whose tests fail in the end: a failure by its evidence."""
    steps = (Step(thought="Remove one.", tool="bash", action="rm migrations/0007_orders.py"), ran(2, 9))
    return Trajectory(task=task, steps=steps, final_answer="I removed it.", session=session)


def undecided(session: str, task: str = "Explain to the customer how refunds work") -> Trajectory:
    """A session in which nothing proves how it ended."""
    steps = (Step(thought="Read the policy.", tool="read", action="refunds.md", observation="Refunds take 5 days."),)
    return Trajectory(task=task, steps=steps, final_answer="Refunds take five days.", session=session)


def strategies(*items: dict[str, object]) -> str:
    """A model's answer about a session that succeeded."""
    return json.dumps({"strategies": list(items), "lessons": []})


def lessons(*items: dict[str, object]) -> str:
    """A model's answer about a session that failed."""
    return json.dumps({"strategies": [], "lessons": list(items)})


def opinion(verdict: str = "success", probability: float = 0.9) -> str:
    """A model's answer about how a session ended."""
    met = "met" if verdict == "success" else "not met"
    answer = {
        "reason": "Step 0 shows it.",
        "completeness": met,
        "grounding": met,
        "right_target": met,
        "verdict": verdict,
        "probability": probability,
    }
    return json.dumps(answer)


def strategy(title: str, description: str, content: str) -> str:
    """A model's answer to ``extract_strategy``."""
    return json.dumps({"title": title, "description": description, "content": content})


POOL = strategy(
    "Connection pools before timeouts",
    "When a service times out against its database under load",
    "Compare the size of the connection pool with the number of workers first, because waiting for a connection looks "
    "like a slow query. Raise the pool, then measure the timeouts again.",
)
"""What a search about timeouts taught."""
