"""The tools of the profile ``curation``: the core, and consolidation."""

from __future__ import annotations

from collections.abc import Mapping

from reasoningbank.mcp.schemas import ToolSpec

_TEXT: Mapping[str, object] = {"type": "string"}
_WHOLE: Mapping[str, object] = {"type": "integer"}
_TEXTS: Mapping[str, object] = {"type": "array", "items": {"type": "string"}}

CONSOLIDATE = ToolSpec(
    name="memory_consolidate",
    description=(
        "Call when you are asked to tidy the memory: makes one memory of several that say nearly the same and archives "
        "them. Pass dry_run first to see what would be done. `rbank undo` takes a created memory apart again."
    ),
    inputs={
        "project_id": _TEXT,
        "similarity_threshold": {"type": "number", "description": "Least cosine, 0 to 1; default 0.8"},
        "max_clusters": {"type": "integer", "description": "Most clusters; default 0 for all"},
        "dry_run": {"type": "boolean"},
        "force_all": {"type": "boolean", "description": "Also within 24 hours of the last run"},
    },
    outputs={
        "created_memories": _TEXTS,
        "archived_memories": _TEXTS,
        "skipped_count": _WHOLE,
        "total_processed": _WHOLE,
        "duration_seconds": {"type": "number"},
        "contradictions": {"type": "array"},
        "messages": _TEXTS,
    },
)
