"""Reasons of opinions that take the answer back, or do not speak for the verdict beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from promises import promise
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.sessions.judge import judge
from reasoningbank.types.session import Step, Trajectory

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SESSION = Trajectory(
    task="Cancel the booking of Ms Sato",
    steps=(
        Step(action="read fare_rules.txt", observation="basic economy: no refund"),
        Step(action="refund R7", observation="refunded; the values are placeholders"),
    ),
    final_answer="The refund is on its way.",
)


def asked(reason: str, verdict: str = "success", changed: Mapping[str, object] | None = None) -> int:
    """How often a model is asked that gives this reason, and then a good one."""
    opinion = {
        "reason": reason,
        "completeness": "met" if verdict == "success" else "not met",
        "grounding": "met",
        "right_target": "met",
        "verdict": verdict,
        "probability": {"success": 0.9, "failure": 0.1}.get(verdict, 0.5),
    }
    good = json.dumps({**opinion, "reason": "Step 1 shows the refund."})
    model = ScriptedModel([json.dumps({**opinion, **(changed or {})}), good])
    assert judge(SESSION, model, at=NOW).verdict == verdict or changed
    return len(model.prompts)


@promise(
    "judging:reasons",
    "A reason that says that it is an example or that its writer did not look, or that concludes with the opposite "
    "verdict is asked for once more; so is a partial end with every check met.",
    source="issue Any model (none filled in wrongly)",
)
@pytest.mark.parametrize(
    "reason",
    [
        "This is only an example.",
        "I did not read the record; this is a placeholder.",
        "I cannot tell from this whether the refund was right.",
        "The verdict below is wrong; the refund was refused.",
        "Dies ist nur ein Beispiel.",
        "Ich habe die Sitzung nicht gelesen.",
        "Ceci n'est qu'un exemple.",
        "Esto es solo un borrador.",
        "\u8fd9\u53ea\u662f\u4e00\u4e2a\u793a\u4f8b\u3002",
        "\u3053\u308c\u306f\u898b\u672c\u3067\u3059\u3002",
        "The task failed: the refund was against the fare rules, so this is a failure.",
        "The refund was against the rules. Overall, a clear failure.",
        "Verdict: failure, the refund of step 1 was against the rules.",
        "The refund of step 1 was against the rules; failure.",
    ],
)
def test_a_reason_that_does_not_stand_is_asked_for_again(reason: str) -> None:
    assert asked(reason) == 2


@promise("judging:reasons")
def test_the_opposite_of_a_failure_and_half_a_success_are_asked_for_again() -> None:
    assert asked("Step 1 refunded it, so this is a success.", "failure") == 2
    assert asked("Step 1 refunded it.", "partial", {"verdict": "partial success", "completeness": "met"}) == 2


@promise(
    "judging:plain-reasons",
    "A reason in the words in which any session is judged, one in any language, one that names a step, and one that "
    "calls a session's own values an example are taken at once.",
    source="issue Any model (answers)",
)
@pytest.mark.parametrize(
    "reason",
    [
        "The agent completed the task successfully.",
        "Everything was done as asked.",
        "Step 1 shows that the values are placeholders.",
        "The first attempt failed, but step 1 refunded it.",
        "It is no failure: the fare rules were read.",
        "I found no mistake in the refund.",
        "Checked and mended, nothing to add.",
        "The last command printed: failure. It was run once more and then passed.",
        "Das Geld kam zur\u00fcck und die Kundin wei\u00df Bescheid.",
        "Bileti iade edildi.",
        "\u9000\u6b3e\u73b0\u5728\u5230\u8d26\u4e86\u3002",
        "Schritt 1 zeigt die Erstattung.",
        "Die Aufgabe wurde vollst\u00e4ndig erledigt.",
        "La tarea se complet\u00f3 con \u00e9xito.",
        "\u4efb\u52a1\u5df2\u6210\u529f\u5b8c\u6210\u3002",
        "\u7b2c1\u6b65\u5b8c\u6210\u4e86\u9000\u6b3e\u3002",
    ],
)
def test_a_plain_reason_is_taken(reason: str) -> None:
    assert asked(reason) == 1
