"""Small sessions, labels and answers written for the evaluation of learning."""

from __future__ import annotations

import json
from pathlib import Path

STRATEGY = {
    "title": "Read the fare rules before an upgrade",
    "description": "When a customer wants another cabin class on a booked flight.",
    "content": "Look up the fare rules of the booked ticket first, because a restricted fare refuses the change.",
    "steps": [0],
    "tags": ["airline"],
}
LESSON = {
    "title": "Refund promised without its condition",
    "description": "When a customer asks for money back on a restricted ticket.",
    "what_went_wrong": "A refund was promised although the ticket's fare excludes it.",
    "do_instead": "Check the cancellation condition of the fare before any promise.",
    "steps": [0],
    "tags": ["airline"],
}
NEVER = {**LESSON, "title": "Be careful", "description": "Always.", "what_went_wrong": "Things went badly."}
OPINION = {
    "reason": "Step 0 shows that the promise was never kept.",
    "completeness": "not met",
    "grounding": "not met",
    "right_target": "met",
    "verdict": "failure",
    "probability": 0.1,
}


def chat(opening: str, answer: str, last: str, end: str) -> list[dict[str, str]]:
    """A conversation of two turns."""
    return [
        {"role": "system", "content": "You help customers of an airline."},
        {"role": "user", "content": opening},
        {"role": "assistant", "content": answer},
        {"role": "user", "content": last},
        {"role": "assistant", "content": end},
    ]


def trials() -> list[dict[str, object]]:
    """Two tasks twice: told right, told wrong, told right, and one where nothing tells; one of four succeeded."""
    upgrade, refund = "Please move my flight to the business cabin.", "I want my money back for the cancelled trip."
    conversations = [
        (0, 0, 1.0, chat(upgrade, "Your seat is in the business cabin.", "Thanks, that works perfectly.", "Goodbye.")),
        (0, 1, 0.0, chat(upgrade, "The business cabin is yours now.", "Thanks, that works perfectly.", "Farewell.")),
        (1, 0, 0.0, chat(refund, "It was paid out.", "No, that is wrong, it still fails.", "I am sorry to hear that.")),
        (1, 1, 0.0, chat(refund, "The sum is on its way.", "Which card does it go to?", "The one you paid with.")),
    ]
    return [
        {"task_id": task, "trial": trial, "reward": reward, "info": {"reward_info": "GOLD"}, "traj": conversation}
        for task, trial, reward, conversation in conversations
    ]


def terminal(status: int) -> dict[str, str]:
    """What a terminal answers."""
    words = "execution failed" if status else "execution succeeded"
    return {"name": "Computer_terminal", "role": "user", "content": f"exitcode: {status} ({words})\nCode output: 7"}


def said(name: str, content: str) -> dict[str, str]:
    """What an agent says."""
    return {"name": name, "role": "assistant", "content": content}


def logs() -> dict[str, dict[str, object]]:
    """Three failed logs: facts point at the mistake, at another step, and at nothing."""
    code = "Counting by program.\n```python\nprint({})\n```"
    return {
        "first": {
            "question": "How many rivers cross the county?",
            "ground_truth": "SECRET",
            "history": [said("Planner", code.format("rivers")), terminal(1), said("Checker", "There are nine.")],
            "mistake_agent": "Planner",
            "mistake_step": "1",
            "mistake_reason": "The undefined variable stopped counting and nobody repaired the broken program.",
        },
        "second": {
            "question": "Which lake is the deepest of the region?",
            "ground_truth": "SECRET",
            "history": [
                said("Planner", code.format("lakes")),
                terminal(1),
                said("Planner", code.format("'lakes'")),
                terminal(0),
                said("Map_Expert", "The northern one, I guess."),
                said("Checker", "Confirmed."),
            ],
            "mistake_agent": "Map_Expert",
            "mistake_step": "4",
            "mistake_reason": "Map_Expert guessed depth without measuring soundings from survey charts.",
        },
        "third": {
            "question": "Who painted the ceiling?",
            "ground_truth": "SECRET",
            "history": [
                said("Planner", "Somebody from Verona."),
                said("Checker", "Agreed without looking."),
                said("Planner", "Verona it is."),
            ],
            "mistake_agent": "Checker",
            "mistake_step": "1",
            "mistake_reason": "Approval came blindly, skipping archive verification entirely.",
        },
    }


def write(path: Path, content: object) -> None:
    """Writes JSON."""
    path.write_text(json.dumps(content), encoding="utf-8")
