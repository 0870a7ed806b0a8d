"""The judge: evidence first; a language model only where that does not decide; uncertain is unknown.

The session reaches the model as quoted data between marks that the session cannot contain, never among the
instructions, and the answer is read as a whole object with a closed set of verdicts: no word inside a sentence, of the
session or of the model, is ever taken for a verdict (paper.md, section 3, defects 6 to 11).
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import fmean

from reasoningbank.domain.trajectory import Judgement, Trajectory, Verdict
from reasoningbank.engine.distilling.digest import digest
from reasoningbank.engine.hygiene import clean_line, safe_line
from reasoningbank.engine.judging.facts import facts
from reasoningbank.engine.judging.opinion import Opinion
from reasoningbank.engine.judging.verdict import by_evidence
from reasoningbank.engine.prompts import prompt
from reasoningbank.engine.reading import read_answer
from reasoningbank.errors import BudgetExhausted, InvalidInput, MalformedAnswer, ModelUnavailable
from reasoningbank.ports import LanguageModel, Prompt

PROMPT = "judge"
"""Name of the prompt that asks for an opinion."""
MAX_VOTES = 9
_MAX_RATIONALE = 2_000


@dataclass(frozen=True, slots=True)
class _Vote:
    verdict: Verdict
    probability: float
    reason: str


@functools.cache
def schema() -> dict[str, object]:
    """The JSON schema of the answer that is asked for."""
    return Opinion.model_json_schema()


def judge(
    trajectory: Trajectory,
    model: LanguageModel | None,
    *,
    at: datetime,
    votes: int = 1,
    tokens: int = 6_000,
    patient: bool = False,
) -> Judgement:
    """How the session ended: by evidence where that decides, else by the model's opinion.

    Promises: evidence that says success or failure is never overruled, the model is not even asked. Without a model,
    or for a session in which nothing happened, the evidence's judgement is the answer. No answer, a malformed one and
    a spent budget leave it unknown at 0.5 with the reason, never a failure. Temperature is 0.

    Args:
        trajectory: The session.
        model: Who is asked where evidence does not decide; None asks nobody.
        at: The time of the judgement.
        votes: How often the model is asked, at most ``MAX_VOTES``: more than half of the votes decide, anything else
            is unknown; the probability is the mean. More than one guards against a provider whose answers vary.
        tokens: Most tokens of the session that the model is shown.
        patient: Whether somebody will ask again later: then no answer is an error, and so is one that cannot be read
            and leaves it unknown, instead of a judgement.

    Raises:
        ModelUnavailable, BudgetExhausted, MalformedAnswer: Only when ``patient``.
        InvalidInput: A number of votes below 1 or above ``MAX_VOTES``.
    """
    if not 1 <= votes <= MAX_VOTES:
        raise InvalidInput(f"a judge is asked 1 to {MAX_VOTES} times, not {votes}")
    proven = by_evidence(trajectory, at=at)
    if model is None or proven.verdict in {"success", "failure"} or not _happened(trajectory):
        return proven
    shown = trajectory if trajectory.evidence else replace(trajectory, evidence=facts(trajectory.steps))
    question = prompt(PROMPT, digest(shown, tokens=tokens))
    cast: list[_Vote] = []
    malformed: MalformedAnswer | None = None
    for _ in range(votes):
        try:
            cast.append(_ask(model, question))
        except (ModelUnavailable, BudgetExhausted) as error:
            if patient:
                raise
            return _unknown(proven, model, f"The model gave no answer, so nothing was judged: {error.message}")
        except MalformedAnswer as error:
            malformed = error
            cast.append(_Vote("unknown", 0.5, f"The model's answer could not be read: {error.message}"))
    counted = _counted(cast, proven, model)
    if patient and malformed is not None and counted.verdict == "unknown":
        raise malformed
    return counted


def _happened(trajectory: Trajectory) -> bool:
    """Whether there is anything to judge: an environment that never started teaches nothing (defect 13)."""
    return bool(trajectory.final_answer.strip()) or any(
        step.action.strip() or step.thought.strip() or step.observation.strip() for step in trajectory.steps
    )


def _ask(model: LanguageModel, question: Prompt) -> _Vote:
    answer = model.complete(question, schema(), temperature=0.0)
    opinion = read_answer(answer.text, Opinion)
    doubt = opinion.doubt
    reason = clean_line(opinion.reason)[:_MAX_RATIONALE]
    if doubt:
        return _Vote("unknown", 0.5, f"{reason} (Not taken as {opinion.verdict}: {doubt}.)")
    return _Vote(opinion.verdict, opinion.probability, reason)


def _counted(cast: Sequence[_Vote], proven: Judgement, model: LanguageModel) -> Judgement:
    """The majority: more than half of the votes for one verdict, else unknown."""
    verdict, count = Counter(vote.verdict for vote in cast).most_common(1)[0]
    decided = 2 * count > len(cast)
    if not decided:
        verdict = "unknown"
    reason = next((vote.reason for vote in cast if vote.verdict == verdict), cast[0].reason)
    if len(cast) > 1:
        tally = f"{count} of {len(cast)} votes for {verdict}" if decided else f"No majority of {len(cast)} votes"
        reason = f"{tally}. {reason}"
    return replace(
        proven,
        verdict=verdict,
        probability=fmean(vote.probability for vote in cast),
        rationale=reason[:_MAX_RATIONALE],
        judge=model.name,
    )


def _unknown(proven: Judgement, model: LanguageModel, reason: str) -> Judgement:
    return replace(
        proven, verdict="unknown", probability=0.5, rationale=safe_line(reason)[:_MAX_RATIONALE], judge=model.name
    )
