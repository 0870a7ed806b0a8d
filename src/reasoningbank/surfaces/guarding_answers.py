"""The fields of the answers about quarantine, time and versions."""

from __future__ import annotations

from typing import TypedDict

from reasoningbank.domain.memory import Memory
from reasoningbank.domain.past import PastMemory
from reasoningbank.domain.quarantine import Isolated, Quarantine, QuarantineReport, ReleaseReport
from reasoningbank.past import Past
from reasoningbank.surfaces.answers import MemoryAnswer, memory_answer


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
    """The report of a quarantine."""
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
    """The quarantines that hold memories now."""
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
    """The report of a release."""
    return {
        "released": list(report.released),
        "hidden": list(report.hidden),
        "kept": [{"id": name, "reason": why} for name, why in report.kept],
    }


def versions_fields(memory_id: str, versions: tuple[Memory, ...]) -> VersionsFields:
    """The versions of a memory."""
    return {
        "memory_id": memory_id,
        "versions": [memory_answer(version) for version in versions],
        "count": len(versions),
    }


def past_fields(view: Past, memories: tuple[PastMemory, ...]) -> PastFields:
    """Memories of a view of the past."""
    return {
        "as_of": view.moment.isoformat(),
        "memories": [{**memory_answer(past.memory), "unknown": list(past.unknown)} for past in memories],
        "count": len(memories),
        "notes": list(view.notes),
    }


def quarantine_text(answer: QuarantineFields) -> str:
    """A quarantine in a few lines."""
    word = "would hold" if answer["dry_run"] else "holds"
    lines = [_line(word, one) for one in answer["quarantined"]]
    lines += [f"visible again  {name}" for name in answer["surfaced"]]
    lines.append(f"{answer['id']} {word} {len(answer['quarantined'])} more, {answer['held']} as before")
    return "\n".join(lines)


def quarantines_text(answer: QuarantinesFields) -> str:
    """All quarantines with what they hold."""
    if not answer["quarantines"]:
        return "Nothing is in quarantine."
    lines = []
    for one in answer["quarantines"]:
        lines.append(f"{one['id']}  {one['at'][:19]}  {one['by']}: {one['reason']}")
        lines += [f"  {_line('holds', member)}" for member in one["members"]]
    return "\n".join(lines)


def release_text(answer: ReleaseFields) -> str:
    """A release in a few lines."""
    lines = [f"released  {name}" for name in answer["released"]]
    lines += [f"hidden    {name}" for name in answer["hidden"]]
    lines += [f"kept      {one['id']}: {one['reason']}" for one in answer["kept"]]
    return "\n".join(lines) or "Nothing was in quarantine."


def versions_text(answer: VersionsFields) -> str:
    """One paragraph a version."""
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
