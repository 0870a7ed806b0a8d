"""Results about sharing and copies of banks as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, get_args

from reasoningbank.types.quantity import counted
from reasoningbank.types.transfer import TakenAs

if TYPE_CHECKING:
    from reasoningbank.operations import files
    from reasoningbank.types.memory import ImportReport
    from reasoningbank.types.promotion import Promotion, PromotionCandidate, ShareReport
    from reasoningbank.types.transfer import MarkdownFiles, SkillFiles, TakenOver

_MOST = 20
"""Most memories of one kind that are listed."""


def markdown_files_text(files: MarkdownFiles) -> str:
    """Return what an export as Markdown has written."""
    lines = [
        f"{files.path}: {counted(len(files.written), 'file')} written, {files.unchanged} unchanged"
        + (
            f"; {counted(files.left_out, 'memory is', 'memories are')} archived or in quarantine"
            if files.left_out
            else ""
        )
    ]
    lines += _first(f"left as it is, for its edits were never imported: {name}" for name in files.kept)
    return "\n".join(lines)


def skill_files_text(files: SkillFiles) -> str:
    """Return which skills were written."""
    lines = [f"{files.path}: {counted(len(files.skills), 'skill')} written"]
    lines += _first(files.skills)
    lines += _first(f"taken away, for its memory no longer stands high enough: {name}" for name in files.removed)
    lines += _first(f"left out, for another folder has its name: {name}" for name in files.left_out)
    if not files.skills:
        lines.append("A skill needs a strategy that is confirmed or vouched for, believed with at least 0.7.")
    return "\n".join(lines)


def taken_over_text(report: TakenOver) -> str:
    """Return what became of every text of an import."""
    counts = [f"{report.count(change)} {change}" for change in get_args(TakenAs) if report.count(change)]
    said = "would be " if report.dry_run else ""
    lines = [f"{report.source}: {said}{', '.join(counts)}" if counts else f"{report.source}: nothing in it"]
    shown = [each for each in report.taken if report.dry_run or each.change in {"edited", "conflict", "refused"}]
    lines += _first(
        f"{each.change:9}  {each.place}: {each.title or 'no memory'}{f' ({each.reason})' if each.reason else ''}"
        for each in shown
    )
    lines += _first(f"in quarantine, it looks like a prompt injection: {name}" for name in report.quarantined)
    if report.dry_run:
        lines.append("Nothing was stored.")
    return "\n".join(lines)


def _first(lines: Iterable[str]) -> list[str]:
    """Return the first lines, indented, and how many more there are."""
    found = list(lines)
    more = [f"  ... and {len(found) - _MOST} more"] if len(found) > _MOST else []
    return [f"  {line}" for line in found[:_MOST]] + more


def candidate_text(candidate: PromotionCandidate) -> str:
    """Return a proposal for a person to judge."""
    ids = " ".join(source.reference.id for source in candidate.sources)
    lines = [
        f"to the {candidate.level} {candidate.name}: {candidate.outcome}, alike {candidate.similarity:.3f}, "
        f"would begin at {candidate.confidence:.2f}"
    ]
    lines += [
        f"  from {source.reference.level} {source.reference.name}, {source.memory.confidence:.2f}: "
        f"{source.memory.title}"
        for source in candidate.sources
    ]
    text = candidate.text
    if candidate.reason or text is None:
        lines.append(f"  no text is proposed: {candidate.reason}")
    else:
        lines += [f"  proposed by {text.source}:", f"    {text.title}"]
        if text.description:
            lines.append(f"    when: {text.description}")
        lines += [f"    {line}" for line in text.content.splitlines()]
    lines += [f"  the {candidate.level} says the opposite: {one}" for one in candidate.conflicts]
    lines.append(f"  rbank promote {ids} --to {candidate.level}")
    return "\n".join(lines)


def candidates_text(found: Iterable[PromotionCandidate]) -> str:
    """Return everything that waits for review."""
    return "\n\n".join(map(candidate_text, found)) or "Nothing waits for review."


def promotion_text(promotion: Promotion) -> str:
    """Return a promoted memory in a few lines."""
    memory = promotion.memory
    made = "promoted" if promotion.created else memory.state
    lines = [
        f"{memory.id}  {made} in the {promotion.level} {promotion.name}, confidence {memory.confidence:.2f}",
        f"  {memory.title}",
    ]
    lines += [f"  from {source}" for source in promotion.sources]
    lines += [f"  quarantined: {source}" for source in promotion.doubtful]
    lines += [f"  no longer recalled: {source}" for source in promotion.gone]
    return "\n".join(lines)


def promotions_text(found: Iterable[Promotion]) -> str:
    """Return everything that was promoted."""
    return "\n".join(map(promotion_text, found)) or "Nothing was promoted."


def share_text(report: ShareReport) -> str:
    """Return what sharing did in a few lines."""
    claimed = "" if report.vouched else ": a CLAIM of an import, untested"
    if report.written:
        return "\n".join([*report.files, f"{counted(report.memories, 'memory', 'memories')} written"])
    lines = [f"refused   {one.id}: {one.reason}" for one in report.refused]
    lines += _some("added    ", report.added, claimed)
    lines += _some("updated  ", report.updated, claimed)
    lines += [f"conflict  {one}: the file has another text; the one here was kept" for one in report.conflicts]
    lines += [f"moved     {one.id}: {one.before:.3f} to {one.after:.3f}" for one in report.moved]
    lines.append(
        f"{len(report.added)} added, {len(report.updated)} updated, {len(report.unchanged)} unchanged, "
        f"{len(report.conflicts)} in conflict, {len(report.refused)} refused, "
        f"{counted(report.signals, 'piece')} of evidence"
        + ("" if report.vouched else "; what came with the file is a claim")
    )
    return "\n".join(lines)


def _some(word: str, ids: Sequence[str], claimed: str) -> list[str]:
    """Return one line a memory, of many the first."""
    more = [f"{word} {len(ids) - _MOST} more; --json lists all"] if len(ids) > _MOST else []
    return [*(f"{word} {one}{claimed}" for one in ids[:_MOST]), *more]


def exported_text(exported: files.Exported) -> str:
    """Return where an export lies."""
    return f"{counted(exported.memories, 'memory', 'memories')} in {exported.path}"


def imported_text(report: ImportReport) -> str:
    """Return what an import did."""
    counts = len(report.imported), len(report.unchanged), len(report.conflicts)
    said = "{} imported, {} here already, {} in conflict".format(*counts)
    return said if report.vouched else f"{said}; what came with the file is a claim"


def copy_text(copy: files.Copy) -> str:
    """Return where a backup lies."""
    return copy.path


def restored_text(restored: files.Restored) -> str:
    """Return which backup is the bank now."""
    return f"Restored {counted(restored.memories, 'memory', 'memories')} from {restored.path}."
