"""The fields of the answers about decay, pruning and code stability, and the same as text for people."""

from __future__ import annotations

from typing import TypedDict

from reasoningbank.domain.lifecycle import DecayReport, PruneReport, StabilityCheck

_DIGITS = 9


class DecayedFields(TypedDict):
    """One memory that lost confidence."""

    id: str
    months: int
    unused_since: str
    previous_confidence: float
    new_confidence: float


class DecayFields(TypedDict):
    """What a run of decay did."""

    decayed: list[DecayedFields]
    examined: int
    recorded: int
    dry_run: bool


class PrunedFields(TypedDict):
    """One memory that was archived."""

    id: str
    confidence: float
    unused_since: str
    reason: str


class PruneFields(TypedDict):
    """What a run of pruning did."""

    pruned: list[PrunedFields]
    dry_run: bool


class FateFields(TypedDict):
    """What a commit did to one memory."""

    id: str
    commit: str
    reverted: bool
    previous_confidence: float
    new_confidence: float


class StabilityFields(TypedDict):
    """What a look at the repository found."""

    counted: list[FateFields]
    commits: int
    waiting: int
    unknown: int
    dry_run: bool


def decay_fields(report: DecayReport) -> DecayFields:
    """The report of a run."""
    return {
        "decayed": [
            {
                "id": each.memory_id,
                "months": each.months,
                "unused_since": each.unused_since.isoformat(),
                "previous_confidence": round(each.previous_confidence, _DIGITS),
                "new_confidence": round(each.new_confidence, _DIGITS),
            }
            for each in report.decayed
        ],
        "examined": report.examined,
        "recorded": report.recorded,
        "dry_run": report.dry_run,
    }


def prune_fields(report: PruneReport) -> PruneFields:
    """The report of a run."""
    return {
        "pruned": [
            {
                "id": each.memory_id,
                "confidence": round(each.confidence, _DIGITS),
                "unused_since": each.unused_since.isoformat(),
                "reason": each.reason,
            }
            for each in report.pruned
        ],
        "dry_run": report.dry_run,
    }


def stability_fields(check: StabilityCheck) -> StabilityFields:
    """The report of a look."""
    return {
        "counted": [
            {
                "id": each.memory_id,
                "commit": each.commit,
                "reverted": each.reverted,
                "previous_confidence": round(each.previous_confidence, _DIGITS),
                "new_confidence": round(each.new_confidence, _DIGITS),
            }
            for each in check.reports
        ],
        "commits": check.commits,
        "waiting": check.waiting,
        "unknown": check.unknown,
        "dry_run": check.dry_run,
    }


def decay_text(answer: DecayFields) -> str:
    """One line a memory."""
    lines = [
        f"{each['id']}  {each['previous_confidence']:.3f} -> {each['new_confidence']:.3f}  "
        f"{each['months']} months, unused since {each['unused_since'][:10]}"
        for each in answer["decayed"]
    ]
    verb = "would decay" if answer["dry_run"] else "decayed"
    lines.append(
        f"{len(answer['decayed'])} {verb} of {answer['examined']} that nobody used for a month; "
        f"{answer['recorded']} of these were recorded by a person and keep their confidence"
    )
    return "\n".join(lines)


def prune_text(answer: PruneFields) -> str:
    """One line a memory with its reason."""
    lines = [f"{each['id']}  {each['reason']}" for each in answer["pruned"]]
    lines.append(f"{len(answer['pruned'])} {'would be archived' if answer['dry_run'] else 'archived'}")
    return "\n".join(lines)


def stability_text(answer: StabilityFields) -> str:
    """One line a commit that counts."""
    lines = [
        f"{each['id']}  {each['previous_confidence']:.3f} -> {each['new_confidence']:.3f}  "
        f"commit {each['commit']} {'was reverted' if each['reverted'] else 'has stood'}"
        for each in answer["counted"]
    ]
    verb = "would count" if answer["dry_run"] else "counted"
    lines.append(
        f"{len(answer['counted'])} {verb}; of {answer['commits']} commits {answer['waiting']} are younger than seven "
        f"days and {answer['unknown']} are not in the history of the current branch"
    )
    return "\n".join(lines)
