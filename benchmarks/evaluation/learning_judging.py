"""How well a judge without the label tells how a session ended, against always saying what is most frequent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import numpy

from evaluation.learning_estimates import Indexes, auroc, average, brier, resampled, share
from evaluation.learning_sources import AIRLINE, Session, Setup, airline, chosen
from evaluation.learning_tables import Cell, Table, absent
from reasoningbank.sessions.judge import by_evidence, judge
from reasoningbank.types.session import Judgement

_TITLE = "Judging: label taken away before anything read it; truth is the benchmark's reward"
_NOTES = (
    "decided = success or failure; partial and unknown abstain. right of all counts an abstention as wrong.",
    "Shares have Wilson intervals, the others bootstrap intervals over whole tasks; trials of one task are alike, so",
    "the Wilson intervals are too narrow. The majority class is told by the labels themselves: nobody knows it before.",
)


def judging(setup: Setup) -> Iterator[Table]:
    """The judge by evidence, the configured model's judge, and the majority class."""
    sessions = airline(setup)
    if not sessions:
        yield absent("judging", _TITLE, AIRLINE)
        return
    at = datetime.now(UTC)
    rows = [judged("evidence only", sessions, [by_evidence(each.trajectory, at=at) for each in sessions])]
    rows.append(_majority(sessions))
    notes: tuple[str, ...] = _NOTES
    if setup.model is None:
        notes = (*_NOTES, "No language model is configured: its judge was not measured.")
    else:
        asked = chosen(sessions, setup.sample)
        votes = [judge(each.trajectory, setup.model, at=at, votes=setup.votes) for each in asked]
        rows.append(judged(setup.model.name, asked, votes))
        if len(asked) < len(sessions):
            rows.append({**_majority(asked), "judge": "majority class of the same"})
    yield Table(name="judging", title=_TITLE, rows=tuple(rows), notes=notes)


def judged(name: str, sessions: Sequence[Session], judgements: Sequence[Judgement]) -> dict[str, Cell]:
    """The row of one judge; truth is the label of each session."""
    truths = numpy.array([bool(session.succeeded) for session in sessions])
    groups = [session.group for session in sessions]
    decided = [judgement.verdict in {"success", "failure"} for judgement in judgements]
    right = [
        sure and (judgement.verdict == "success") == bool(truth)
        for sure, judgement, truth in zip(decided, judgements, truths, strict=True)
    ]
    probabilities = numpy.array([judgement.probability for judgement in judgements], dtype=numpy.float64)
    usual = _frequent(sessions)

    def separation(chosen_ones: Indexes) -> float:
        return auroc(probabilities[chosen_ones], truths[chosen_ones])

    def distance(chosen_ones: Indexes) -> float:
        return brier(probabilities[chosen_ones], truths[chosen_ones])

    return {
        "judge": name,
        "right of decided": share(sum(right), sum(decided)),
        "abstains": share(len(decided) - sum(decided), len(decided)),
        "right of all": share(sum(right), len(right)),
        "right of all - majority": average(
            [float(sure) - float(bool(truth) == usual) for sure, truth in zip(right, truths, strict=True)], groups
        ),
        "AUROC": resampled(separation, groups),
        "Brier": resampled(distance, groups),
    }


def _majority(sessions: Sequence[Session]) -> dict[str, Cell]:
    usual = _frequent(sessions)
    right = sum(session.succeeded == usual for session in sessions)
    wins = sum(bool(session.succeeded) for session in sessions) / len(sessions)
    return {
        "judge": f"majority class ({'success' if usual else 'failure'})",
        "right of decided": share(right, len(sessions)),
        "abstains": share(0, len(sessions)),
        "right of all": share(right, len(sessions)),
        "right of all - majority": 0.0,
        "AUROC": 0.5,
        "Brier": wins * (1 - wins),
    }


def _frequent(sessions: Sequence[Session]) -> bool:
    """Whether more sessions succeeded than failed."""
    return 2 * sum(bool(session.succeeded) for session in sessions) > len(sessions)
