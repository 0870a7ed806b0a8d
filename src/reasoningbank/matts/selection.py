"""The best of several attempts: what is proved decides first, a model only among equals, and always with a reason."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from reasoningbank.errors import BudgetExhausted, InvalidInput, MalformedAnswer, ModelUnavailable
from reasoningbank.llm.exchange import exchange_within
from reasoningbank.safety.quotation import fence, fit
from reasoningbank.safety.stored_text import safe_line
from reasoningbank.sessions.digest import DIGEST_TOKENS, MIN_TOKENS, digest
from reasoningbank.types.matts import Rollout, Selection, Task
from reasoningbank.types.ports import LanguageModel
from reasoningbank.types.quantity import counted
from reasoningbank.types.session import Judgement, Trajectory

SELECT_TOKENS = 24_000
"""Most tokens of all attempts together that a model is shown."""

_MAX_REASON = 500
_PROVED = frozenset({"evidence", "user"})
_UNJUDGED = Judgement(verdict="unknown", probability=0.5, rationale="It was not judged.", judge="")
_STANDING = {
    ("success", True): 6,
    ("success", False): 5,
    ("partial", True): 4,
    ("partial", False): 4,
    ("unknown", True): 3,
    ("unknown", False): 3,
    ("failure", False): 2,
    ("failure", True): 1,
}


class Choice(BaseModel):
    """Choose one attempt."""

    number: int = Field(description="Number of the best attempt.")
    reason: str = Field(description="One sentence: why it is better than the others.")


def select(task: Task, rollouts: Sequence[Rollout], model: LanguageModel | None = None) -> Selection:
    """Return the best rollout.

    Proof (tests, exit codes, a person's verdict) stands above what a judge thinks; a verdict above a probability. Among
    those that are equal in both, the model compares them; without one, or when it does not answer usefully, fewest
    failed steps decide, then fewest steps, then which came first.

    Args:
        task: What was to be done.
        rollouts: All attempts; those that failed to give a trajectory cannot be chosen.
        model: Compares equals.

    Raises:
        InvalidInput: When no rollout has a trajectory.
    """
    usable = [(index, one) for index, one in enumerate(rollouts) if one.trajectory is not None]
    if not usable:
        raise InvalidInput("no rollout can be chosen, because none came to an end")
    if len(usable) == 1:
        lost = f"; {counted(len(rollouts) - 1, 'other')} failed" if len(rollouts) > 1 else ""
        return Selection(index=usable[0][0], reason=f"It is the only rollout that came to an end{lost}.", ground="only")
    best = max(standing(one) for _, one in usable)
    equals = [(index, one) for index, one in usable if standing(one) == best]
    if len(equals) == 1:
        return _by_judgement(*equals[0], of=len(rollouts))
    return _among_equals(task, equals, model)


def standing(rollout: Rollout) -> tuple[int, float]:
    """Return the rank of a rollout's judgement, higher is better: verdict and proof, then probability in %."""
    judgement = rollout.judgement or _UNJUDGED
    return _STANDING[judgement.verdict, judgement.judge in _PROVED], round(judgement.probability, 2)


def _by_judgement(index: int, rollout: Rollout, *, of: int) -> Selection:
    judgement = rollout.judgement or _UNJUDGED
    proved = judgement.judge in _PROVED
    how = "by evidence" if proved else f"as judged by {judgement.judge}" if judgement.judge else "unjudged"
    return Selection(
        index=index,
        reason=(
            f"Rollout {index + 1} of {of} stands above the others: {judgement.verdict} {how}, "
            f"probability {judgement.probability:.2f}. {judgement.rationale}".strip()
        ),
        ground="evidence" if proved else "judge",
    )


def _among_equals(task: Task, equals: Sequence[tuple[int, Rollout]], model: LanguageModel | None) -> Selection:
    trajectories = [(index, one.trajectory) for index, one in equals if one.trajectory is not None]
    verdict = (equals[0][1].judgement or _UNJUDGED).verdict
    equal = f"{len(equals)} rollouts are equal by their judgement ({verdict})"
    if len({(one.final_answer, one.steps) for _, one in trajectories}) == 1:
        return Selection(
            index=trajectories[0][0], reason=f"{equal} and did the same; the first of them.", ground="order"
        )
    silence = ""
    if model is not None:
        try:
            return _compared(task, trajectories, model, equal)
        except (ModelUnavailable, BudgetExhausted, MalformedAnswer) as error:
            silence = f" ({model.name} could not compare them: {error.message})"
    effort = {index: (sum(step.failed for step in one.steps), len(one.steps)) for index, one in trajectories}
    index = min(effort, key=lambda number: (*effort[number], number))
    failed, steps = effort[index]
    if list(effort.values()).count(effort[index]) > 1:
        return Selection(
            index=index, reason=f"{equal}, also in their steps{silence}; the first of them.", ground="order"
        )
    return Selection(
        index=index,
        reason=f"{equal}{silence}; rollout {index + 1} has the fewest failed steps ({failed}), then steps ({steps}).",
        ground="steps",
    )


def _compared(
    task: Task, trajectories: Sequence[tuple[int, Trajectory]], model: LanguageModel, equal: str
) -> Selection:
    count = len(trajectories)

    def material(tokens: int) -> str:
        share = max(MIN_TOKENS, min(DIGEST_TOKENS, (tokens - tokens // 8) // count))
        records = (f"ATTEMPT {number}\n{digest(one, tokens=share)}" for number, (_, one) in enumerate(trajectories, 1))
        goal = fence("the task", fit(task.goal, min(2_000, tokens // 8), characters=8_000))
        return "\n".join((goal, *records))

    answer = exchange_within(model, "select", material, Choice, most=SELECT_TOKENS, least=MIN_TOKENS * (count + 1))
    choice = answer.answer
    if not 1 <= choice.number <= len(trajectories):
        raise MalformedAnswer(f"there is no attempt {choice.number} among {len(trajectories)}")
    index = trajectories[choice.number - 1][0]
    reason = safe_line(choice.reason)[:_MAX_REASON] or "No reason was given."
    return Selection(
        index=index, reason=f"{equal}; {answer.model} prefers rollout {index + 1}: {reason}", ground="model"
    )
