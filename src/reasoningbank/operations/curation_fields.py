"""Fields of results about quarantine, lifecycle, sharing and uplift."""

from __future__ import annotations

from typing import TypedDict

from reasoningbank.operations.fields import MemoryAnswer, memory_answer
from reasoningbank.past import Past
from reasoningbank.types.lifecycle import DecayReport, PruneReport, StabilityCheck
from reasoningbank.types.memory import Memory
from reasoningbank.types.quarantine import Isolated, PastMemory, Quarantine, QuarantineReport, ReleaseReport
from reasoningbank.types.sharing import Promotion, PromotionCandidate, ShareReport
from reasoningbank.types.uplift import Arm, Harm, UpliftReport


class IsolatedFields(TypedDict):
    """One memory in quarantine: where it lies, what it was until then, and for whose sake it is held."""

    id: str
    title: str
    scope: str
    project: str
    before: str
    because: list[str]


class QuarantineFields(TypedDict):
    """What a quarantine did, or would do."""

    id: str
    reason: str
    by: str
    at: str
    quarantined: list[IsolatedFields]
    held: int
    surfaced: list[str]
    dry_run: bool


class HeldFields(TypedDict):
    """A quarantine that holds memories now."""

    id: str
    reason: str
    by: str
    at: str
    members: list[IsolatedFields]


class QuarantinesFields(TypedDict):
    """All of them, oldest first."""

    quarantines: list[HeldFields]
    count: int


class KeptFields(TypedDict):
    """A memory that was not given back, and why."""

    id: str
    reason: str


class ReleaseFields(TypedDict):
    """What a release did."""

    released: list[str]
    hidden: list[str]
    kept: list[KeptFields]


class VersionsFields(TypedDict):
    """Every version of a memory, oldest first, the current one last."""

    memory_id: str
    versions: list[MemoryAnswer]
    count: int


class PastMemoryFields(MemoryAnswer):
    """A memory as it was, and what of it cannot be known any more."""

    unknown: list[str]


class PastFields(TypedDict):
    """Memories as they were, and what of the bank as a whole cannot be known any more."""

    as_of: str
    memories: list[PastMemoryFields]
    count: int
    notes: list[str]


def quarantine_fields(report: QuarantineReport) -> QuarantineFields:
    """Return the report of a quarantine."""
    return {
        "id": report.id,
        "reason": report.reason,
        "by": report.by,
        "at": report.at.isoformat(),
        "quarantined": [_isolated(one) for one in report.quarantined],
        "held": report.held,
        "surfaced": list(report.surfaced),
        "dry_run": report.dry_run,
    }


def quarantines_fields(found: tuple[Quarantine, ...]) -> QuarantinesFields:
    """Return the quarantines that hold memories now."""
    listed: list[HeldFields] = [
        {
            "id": one.id,
            "reason": one.reason,
            "by": one.by,
            "at": one.at.isoformat(),
            "members": [_isolated(member) for member in one.members],
        }
        for one in found
    ]
    return {"quarantines": listed, "count": len(listed)}


def release_fields(report: ReleaseReport) -> ReleaseFields:
    """Return the report of a release."""
    return {
        "released": list(report.released),
        "hidden": list(report.hidden),
        "kept": [{"id": name, "reason": why} for name, why in report.kept],
    }


def versions_fields(memory_id: str, versions: tuple[Memory, ...]) -> VersionsFields:
    """Return the versions of a memory."""
    return {
        "memory_id": memory_id,
        "versions": [memory_answer(version) for version in versions],
        "count": len(versions),
    }


def past_fields(view: Past, memories: tuple[PastMemory, ...]) -> PastFields:
    """Return memories of a view of the past."""
    return {
        "as_of": view.moment.isoformat(),
        "memories": [{**memory_answer(past.memory), "unknown": list(past.unknown)} for past in memories],
        "count": len(memories),
        "notes": list(view.notes),
    }


def quarantine_text(answer: QuarantineFields) -> str:
    """Return a quarantine in a few lines."""
    word = "would hold" if answer["dry_run"] else "holds"
    lines = [_line(word, one) for one in answer["quarantined"]]
    lines += [f"visible again  {name}" for name in answer["surfaced"]]
    lines.append(f"{answer['id']} {word} {len(answer['quarantined'])} more, {answer['held']} as before")
    return "\n".join(lines)


def quarantines_text(answer: QuarantinesFields) -> str:
    """Return all quarantines with what they hold."""
    if not answer["quarantines"]:
        return "Nothing is in quarantine."
    lines = []
    for one in answer["quarantines"]:
        lines.append(f"{one['id']}  {one['at'][:19]}  {one['by']}: {one['reason']}")
        lines += [f"  {_line('holds', member)}" for member in one["members"]]
    return "\n".join(lines)


def release_text(answer: ReleaseFields) -> str:
    """Return a release in a few lines."""
    lines = [f"released  {name}" for name in answer["released"]]
    lines += [f"hidden    {name}" for name in answer["hidden"]]
    lines += [f"kept      {one['id']}: {one['reason']}" for one in answer["kept"]]
    return "\n".join(lines) or "Nothing was in quarantine."


def versions_text(answer: VersionsFields) -> str:
    """Return one paragraph a version."""
    return "\n".join(
        f"{version['version']}  {version['updated_at'][:19]}  {version['outcome']:<7}  {version['title']}\n"
        f"   {' '.join(version['content'].split())[:160]}"
        for version in answer["versions"]
    )


def _isolated(one: Isolated) -> IsolatedFields:
    return {
        "id": one.id,
        "title": one.title,
        "scope": one.level,
        "project": one.name,
        "before": one.before,
        "because": list(one.because),
    }


def _line(word: str, one: IsolatedFields) -> str:
    because = f", made of {', '.join(one['because'])}" if one["because"] else ""
    return f"{word}  {one['id']}  was {one['before']}  {one['title']}{because}"


_SHARING_DIGITS = 6


class SourceFields(TypedDict):
    """One memory that is proposed."""

    id: str
    level: str
    name: str
    title: str
    content: str
    confidence: float


class CandidateFields(TypedDict):
    """A lesson that waits for review; without a text ``reason`` says why there is none."""

    candidate_id: str
    to: str
    name: str
    outcome: str
    similarity: float
    confidence: float
    title: str
    description: str
    content: str
    written_by: str
    reason: str
    conflicts: list[str]
    sources: list[SourceFields]


class CandidatesFields(TypedDict):
    """Everything that waits for review."""

    candidates: list[CandidateFields]
    count: int


class PromotionFields(TypedDict):
    """A memory of a team or an org, what it was made of and how that is now."""

    id: str
    level: str
    name: str
    title: str
    content: str
    confidence: float
    state: str
    reviewer: str
    created: bool
    sources: list[str]
    doubtful: list[str]
    gone: list[str]


class RefusedFields(TypedDict):
    """One memory of a shared file that was not stored."""

    id: str
    reason: str


class MovedFields(TypedDict):
    """A confidence that shared evidence has moved."""

    id: str
    before: float
    after: float


class ShareFields(TypedDict):
    """What was written to shared files, or taken over from them."""

    files: list[str]
    memories: int
    added: list[str]
    updated: list[str]
    unchanged: int
    conflicts: list[str]
    signals: int
    moved: list[MovedFields]
    refused: list[RefusedFields]
    messages: list[str]


def candidate_fields(candidate: PromotionCandidate) -> CandidateFields:
    """Return a proposal with all that a reviewer has to see."""
    text = candidate.text
    return {
        "candidate_id": candidate.id,
        "to": candidate.level,
        "name": candidate.name,
        "outcome": candidate.outcome,
        "similarity": round(candidate.similarity, _SHARING_DIGITS),
        "confidence": round(candidate.confidence, _SHARING_DIGITS),
        "title": "" if text is None else text.title,
        "description": "" if text is None else text.description,
        "content": "" if text is None else text.content,
        "written_by": "" if text is None else text.source,
        "reason": candidate.reason,
        "conflicts": list(candidate.conflicts),
        "sources": [
            {
                "id": source.reference.id,
                "level": source.reference.level,
                "name": source.reference.name,
                "title": source.memory.title,
                "content": source.memory.content,
                "confidence": round(source.memory.confidence, _SHARING_DIGITS),
            }
            for source in candidate.sources
        ],
    }


def promotion_fields(promotion: Promotion) -> PromotionFields:
    """Return a promoted memory."""
    memory = promotion.memory
    return {
        "id": memory.id,
        "level": promotion.level,
        "name": promotion.name,
        "title": memory.title,
        "content": memory.content,
        "confidence": round(memory.confidence, _SHARING_DIGITS),
        "state": memory.state,
        "reviewer": promotion.reviewer,
        "created": promotion.created,
        "sources": [str(source) for source in promotion.sources],
        "doubtful": [str(source) for source in promotion.doubtful],
        "gone": [str(source) for source in promotion.gone],
    }


def share_fields(report: ShareReport) -> ShareFields:
    """Return what sharing did."""
    return {
        "files": list(report.files),
        "memories": report.memories,
        "added": list(report.added),
        "updated": list(report.updated),
        "unchanged": len(report.unchanged),
        "conflicts": list(report.conflicts),
        "signals": report.signals,
        "moved": [
            {"id": one.id, "before": round(one.before, _SHARING_DIGITS), "after": round(one.after, _SHARING_DIGITS)}
            for one in report.moved
        ],
        "refused": [{"id": one.id, "reason": one.reason} for one in report.refused],
        "messages": list(report.messages),
    }


def candidate_text(answer: CandidateFields) -> str:
    """Return a proposal for a person to judge."""
    ids = " ".join(source["id"] for source in answer["sources"])
    lines = [
        f"to the {answer['to']} {answer['name']}: {answer['outcome']}, alike {answer['similarity']:.3f}, "
        f"would begin at {answer['confidence']:.2f}"
    ]
    lines += [
        f"  from {source['level']} {source['name']}, {source['confidence']:.2f}: {source['title']}"
        for source in answer["sources"]
    ]
    if answer["reason"]:
        lines.append(f"  no text is proposed: {answer['reason']}")
    else:
        lines += [f"  proposed by {answer['written_by']}:", f"    {answer['title']}"]
        if answer["description"]:
            lines.append(f"    when: {answer['description']}")
        lines += [f"    {line}" for line in answer["content"].splitlines()]
    lines += [f"  the {answer['to']} says the opposite: {one}" for one in answer["conflicts"]]
    lines.append(f"  rbank promote {ids} --to {answer['to']}")
    return "\n".join(lines)


def promotion_text(answer: PromotionFields) -> str:
    """Return a promoted memory in a few lines."""
    made = "promoted" if answer["created"] else answer["state"]
    lines = [
        f"{answer['id']}  {made} in the {answer['level']} {answer['name']}, confidence {answer['confidence']:.2f}",
        f"  {answer['title']}",
    ]
    lines += [f"  from {source}" for source in answer["sources"]]
    lines += [f"  quarantined: {source}" for source in answer["doubtful"]]
    lines += [f"  no longer recalled: {source}" for source in answer["gone"]]
    return "\n".join(lines)


def share_text(answer: ShareFields, *, written: bool) -> str:
    """Return what sharing did in a few lines."""
    if written:
        return "\n".join([*answer["files"], f"{answer['memories']} memories written"])
    lines = [f"refused   {one['id']}: {one['reason']}" for one in answer["refused"]]
    lines += [f"kept      {one}: another text here, of the same or a later version" for one in answer["conflicts"]]
    lines += [f"moved     {one['id']}: {one['before']:.3f} to {one['after']:.3f}" for one in answer["moved"]]
    lines.append(
        f"{len(answer['added'])} added, {len(answer['updated'])} updated, {answer['unchanged']} unchanged, "
        f"{answer['signals']} pieces of evidence"
    )
    return "\n".join(lines)


_LIFECYCLE_DIGITS = 9


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
    """Return the report of a run."""
    return {
        "decayed": [
            {
                "id": each.memory_id,
                "months": each.months,
                "unused_since": each.unused_since.isoformat(),
                "previous_confidence": round(each.previous_confidence, _LIFECYCLE_DIGITS),
                "new_confidence": round(each.new_confidence, _LIFECYCLE_DIGITS),
            }
            for each in report.decayed
        ],
        "examined": report.examined,
        "recorded": report.recorded,
        "dry_run": report.dry_run,
    }


def prune_fields(report: PruneReport) -> PruneFields:
    """Return the report of a run."""
    return {
        "pruned": [
            {
                "id": each.memory_id,
                "confidence": round(each.confidence, _LIFECYCLE_DIGITS),
                "unused_since": each.unused_since.isoformat(),
                "reason": each.reason,
            }
            for each in report.pruned
        ],
        "dry_run": report.dry_run,
    }


def stability_fields(check: StabilityCheck) -> StabilityFields:
    """Return the report of a look."""
    return {
        "counted": [
            {
                "id": each.memory_id,
                "commit": each.commit,
                "reverted": each.reverted,
                "previous_confidence": round(each.previous_confidence, _LIFECYCLE_DIGITS),
                "new_confidence": round(each.new_confidence, _LIFECYCLE_DIGITS),
            }
            for each in check.reports
        ],
        "commits": check.commits,
        "waiting": check.waiting,
        "unknown": check.unknown,
        "dry_run": check.dry_run,
    }


def decay_text(answer: DecayFields) -> str:
    """Return one line a memory."""
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
    """Return one line a memory with its reason."""
    lines = [f"{each['id']}  {each['reason']}" for each in answer["pruned"]]
    lines.append(f"{len(answer['pruned'])} {'would be archived' if answer['dry_run'] else 'archived'}")
    return "\n".join(lines)


def stability_text(answer: StabilityFields) -> str:
    """Return one line a commit that counts."""
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


_UPLIFT_DIGITS = 6


class ArmAnswer(TypedDict):
    """One side of the comparison: ``rate`` is the share that succeeded of those whose end is known, or null."""

    sessions: int
    succeeded: int
    failed: int
    unknown: int
    rate: float | None


class HarmAnswer(TypedDict):
    """One memory whose sessions end worse than the project's beyond chance."""

    id: str
    title: str
    shown: int
    succeeded: int
    rate: float
    upper_bound: float
    base_rate: float
    set_aside: bool


class UpliftAnswer(TypedDict):
    """What memory is worth; ``uplift`` is null and ``interval`` [-1, 1] as long as nothing can be compared."""

    sessions: int
    with_memory: ArmAnswer
    without_memory: ArmAnswer
    uplift: float | None
    interval: list[float]
    tokens_added: float
    harmful: list[HarmAnswer]


def uplift_answer(report: UpliftReport) -> UpliftAnswer:
    """Return the fields of a report."""
    return UpliftAnswer(
        sessions=report.sessions,
        with_memory=_arm(report.with_memory),
        without_memory=_arm(report.without_memory),
        uplift=_rounded(report.uplift),
        interval=[round(bound, _UPLIFT_DIGITS) for bound in report.interval],
        tokens_added=round(report.tokens_added, 1),
        harmful=[_harm(harm) for harm in report.harmful],
    )


def uplift_lines(report: UpliftReport) -> list[str]:
    """Return the report for a person."""
    lines = [
        f"{report.sessions} {'session' if report.sessions == 1 else 'sessions'} met a memory or would have.",
        _arm_line("with memory", report.with_memory),
        _arm_line("without memory", report.without_memory),
        f"Injection adds {report.tokens_added:.0f} tokens to a session on average.",
        report.message,
    ]
    for harm in report.harmful:
        state = "set aside" if harm.set_aside else "in use"
        lines.append(
            f"{harm.memory_id} ({harm.title}), {state}: {harm.succeeded} of {harm.shown} sessions succeeded "
            f"({harm.rate:.0%}, at most {harm.upper_bound:.0%}); the project's {harm.base_rate:.0%}."
        )
    return lines


def _arm(arm: Arm) -> ArmAnswer:
    return ArmAnswer(
        sessions=arm.sessions,
        succeeded=arm.succeeded,
        failed=arm.failed,
        unknown=arm.unknown,
        rate=_rounded(arm.rate),
    )


def _arm_line(name: str, arm: Arm) -> str:
    known = arm.succeeded + arm.failed
    rate = "not known" if arm.rate is None else f"{arm.rate:.1%}"
    return f"{name}: {arm.succeeded} of {known} sessions succeeded ({rate}), {arm.unknown} more with an unknown end."


def _harm(harm: Harm) -> HarmAnswer:
    return HarmAnswer(
        id=harm.memory_id,
        title=harm.title,
        shown=harm.shown,
        succeeded=harm.succeeded,
        rate=round(harm.rate, _UPLIFT_DIGITS),
        upper_bound=round(harm.upper_bound, _UPLIFT_DIGITS),
        base_rate=round(harm.base_rate, _UPLIFT_DIGITS),
        set_aside=harm.set_aside,
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _UPLIFT_DIGITS)
