"""The fields of the answers about promotion and shared files, as the command line prints them with ``--json``."""

from __future__ import annotations

from typing import TypedDict

from reasoningbank.domain.sharing import Promotion, PromotionCandidate, ShareReport

_DIGITS = 6


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
    """A proposal with all that a reviewer has to see."""
    text = candidate.text
    return {
        "candidate_id": candidate.id,
        "to": candidate.level,
        "name": candidate.name,
        "outcome": candidate.outcome,
        "similarity": round(candidate.similarity, _DIGITS),
        "confidence": round(candidate.confidence, _DIGITS),
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
                "confidence": round(source.memory.confidence, _DIGITS),
            }
            for source in candidate.sources
        ],
    }


def promotion_fields(promotion: Promotion) -> PromotionFields:
    """A promoted memory."""
    memory = promotion.memory
    return {
        "id": memory.id,
        "level": promotion.level,
        "name": promotion.name,
        "title": memory.title,
        "content": memory.content,
        "confidence": round(memory.confidence, _DIGITS),
        "state": memory.state,
        "reviewer": promotion.reviewer,
        "created": promotion.created,
        "sources": [str(source) for source in promotion.sources],
        "doubtful": [str(source) for source in promotion.doubtful],
        "gone": [str(source) for source in promotion.gone],
    }


def share_fields(report: ShareReport) -> ShareFields:
    """What sharing did."""
    return {
        "files": list(report.files),
        "memories": report.memories,
        "added": list(report.added),
        "updated": list(report.updated),
        "unchanged": len(report.unchanged),
        "conflicts": list(report.conflicts),
        "signals": report.signals,
        "moved": [
            {"id": one.id, "before": round(one.before, _DIGITS), "after": round(one.after, _DIGITS)}
            for one in report.moved
        ],
        "refused": [{"id": one.id, "reason": one.reason} for one in report.refused],
        "messages": list(report.messages),
    }


def candidate_text(answer: CandidateFields) -> str:
    """A proposal for a person to judge."""
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
    """A promoted memory in a few lines."""
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
    """What sharing did in a few lines."""
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
