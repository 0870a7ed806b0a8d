"""The fields of the answers about consolidation, once: the MCP tool returns them and the command line prints them."""

from __future__ import annotations

from typing import TypedDict

from reasoningbank.domain.consolidation import ConsolidationResult, UndoReport

_DIGITS = 6


class ContradictionFields(TypedDict):
    """Two memories of nearly the same text and opposite outcome."""

    success: str
    failure: str
    similarity: float


class ConsolidationFields(TypedDict):
    """What a run did."""

    created_memories: list[str]
    archived_memories: list[str]
    skipped_count: int
    total_processed: int
    duration_seconds: float
    contradictions: list[ContradictionFields]
    messages: list[str]


class UndoFields(TypedDict):
    """What undoing a consolidation did."""

    consolidation_id: str
    restored_memories: list[str]
    moved_signals: int
    kept: bool


def consolidation_fields(result: ConsolidationResult) -> ConsolidationFields:
    """The result of a run."""
    return {
        "created_memories": list(result.created_memories),
        "archived_memories": list(result.archived_memories),
        "skipped_count": result.skipped_count,
        "total_processed": result.total_processed,
        "duration_seconds": round(result.duration.total_seconds(), _DIGITS),
        "contradictions": [
            {"success": each.success, "failure": each.failure, "similarity": round(each.similarity, _DIGITS)}
            for each in result.contradictions
        ],
        "messages": list(result.messages),
    }


def undo_fields(report: UndoReport) -> UndoFields:
    """The report of an undo."""
    return {
        "consolidation_id": report.consolidation_id,
        "restored_memories": list(report.restored),
        "moved_signals": report.moved_signals,
        "kept": report.kept,
    }


def consolidation_text(answer: ConsolidationFields) -> str:
    """A run in a few lines."""
    lines = [f"created   {name}" for name in answer["created_memories"]]
    lines += [
        f"opposite  {each['success']} worked, {each['failure']} failed: {each['similarity']:.3f} alike"
        for each in answer["contradictions"]
    ]
    made, archived = len(answer["created_memories"]), len(answer["archived_memories"])
    lines.append(
        f"{made} created of {archived} archived, {answer['skipped_count']} skipped, "
        f"{answer['total_processed']} looked at, {answer['duration_seconds']:.2f} s"
    )
    return "\n".join(lines)
