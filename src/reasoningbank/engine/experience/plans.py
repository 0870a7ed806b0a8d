"""Search strategies with a visible effect, and the choice among them by what similar searches led to.

In the original the chosen strategy was only named and never applied (spec/memoria_haios 7.2, row H11). Here a plan says
which legs propose memories, how many are shown and which are left out; a trace keeps it as it was applied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reasoningbank.domain.experience import SearchMode, Trace
from reasoningbank.domain.memory import Outcome
from reasoningbank.domain.recall import CONTENT_LEG, DESCRIPTION_LEG, LEGS, LEXICAL_LEG, TASK_LEG
from reasoningbank.domain.trajectory import Verdict

MOST_JUDGED = 10
"""So many similar searches decide how the next one is run (seed 002)."""
_CREDIT: Mapping[Verdict, float] = {"success": 1.0, "partial": 0.5, "failure": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a search is run.

    Attributes:
        name: What the answer calls it.
        legs: The legs that propose memories; the task leg alone means whole experiences.
        limit: Most memories that are shown.
        outcome: Only memories of this outcome; None for both.
    """

    name: str
    legs: tuple[str, ...] = LEGS
    limit: int = 10
    outcome: Outcome | None = None

    @property
    def whole_experiences(self) -> bool:
        """Whether it looks for like tasks and brings everything learned from them."""
        return self.legs == (TASK_LEG,)

    @property
    def details(self) -> dict[str, str]:
        """The parameters as a trace keeps them."""
        return {"legs": ",".join(self.legs), "limit": str(self.limit), "outcome": self.outcome or "any"}


DEFAULT = Plan(name="default_hybrid")
PLANS: tuple[Plan, ...] = (
    DEFAULT,
    Plan(name="similar_tasks", legs=(TASK_LEG,)),
    Plan(name="exact_words", legs=(LEXICAL_LEG,)),
    Plan(name="meaning_only", legs=(CONTENT_LEG, DESCRIPTION_LEG)),
    Plan(name="warnings_only", outcome="failure"),
)
"""The plans in the order in which they are tried: the first that nothing speaks against."""


def choose(similar: Sequence[tuple[Trace, float]], mode: SearchMode = "semantic") -> Plan:
    """The plan with the best expected outcome among similar searches; of equals the first.

    Each plan starts at one success in two. A similar search whose outcome is known adds its credit (success 1, partial
    1/2, failure 0), weighted by the cosine of the queries: ``(1 + sum(w c)) / (2 + sum(w))``.

    Args:
        similar: Traces with the cosine of their query and this one, nearest first; the nearest ``MOST_JUDGED`` of this
            mode whose outcome is known count.
        mode: What the search is for; searches of another mode say nothing about it.
    """
    judged = [
        (trace, cosine)
        for trace, cosine in similar
        if trace.outcome in _CREDIT and trace.details.get("mode", "semantic") == mode
    ][:MOST_JUDGED]
    return max(PLANS, key=lambda plan: (expectation(plan, judged), -PLANS.index(plan)))


def expectation(plan: Plan, similar: Sequence[tuple[Trace, float]]) -> float:
    """How often the plan is expected to lead to success, from 0 to 1."""
    judged = [
        (max(0.0, cosine), _CREDIT[trace.outcome])
        for trace, cosine in similar
        if trace.approach == plan.name and trace.outcome in _CREDIT
    ]
    return (1.0 + sum(weight * credit for weight, credit in judged)) / (2.0 + sum(weight for weight, _ in judged))
