"""The tools of the further profiles: distilling by the calling agent, and experience search."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from reasoningbank.errors import ConfigurationError
from reasoningbank.mcp.briefing_tool import BRIEFING
from reasoningbank.mcp.curation_schemas import CONSOLIDATE
from reasoningbank.mcp.schemas import GRAPH_TOOLS, RECORD, TOOLS, ToolSpec
from reasoningbank.types.experience import SEARCH_MODES

_TEXT: Mapping[str, object] = {"type": "string"}
_LIST: Mapping[str, object] = {"type": "array"}
_OBJECT: Mapping[str, object] = {"type": "object"}

DISTILL = ToolSpec(
    name="memory_distill",
    description=(
        "Call when you are asked to distill, or when sessions wait: gives a captured session's digest, a schema and "
        "instructions. Record each item with memory_record and its trajectory_id; when there is none, pass nothing_in."
    ),
    inputs={
        "trajectory_id": {"type": "string", "description": "Default: the one that waits longest"},
        "nothing_in": {"type": "string", "description": "The trajectory_id of a session that taught nothing"},
        "project_id": _TEXT,
    },
    outputs={
        "trajectory_id": _TEXT,
        "instructions": _TEXT,
        "digest": _TEXT,
        "schema": _OBJECT,
        "pending": {"type": "integer"},
        "message": _TEXT,
    },
    repeatable=True,
)

RECORD_LESSON = ToolSpec(
    name=RECORD.name,
    description=RECORD.description,
    inputs={
        **RECORD.inputs,
        "trajectory_id": {"type": "string", "description": "From memory_distill: the session it was learned from"},
        "steps": {"type": "array", "items": {"type": "integer"}},
    },
    required=RECORD.required,
    outputs={**RECORD.outputs, "stored": _TEXT, "message": _TEXT},
)

EXPERIENCE = ToolSpec(
    name="memory_search_with_experience",
    description=(
        "Like memory_search, but searches the way that served similar tasks best and adds the strategies those taught. "
        "Report the outcome with memory_outcome in the same session: that is what it learns from."
    ),
    inputs={
        "query": {"type": "string", "description": "The task or problem in words"},
        "project_id": _TEXT,
        "limit": {"type": "integer"},
        "mode": {"type": "string", "enum": list(SEARCH_MODES)},
        "session_id": _TEXT,
    },
    required=("query",),
    blank={
        "results": [],
        "reasoning": {
            "strategy_used": "",
            "learned_from": 0,
            "outcome": "unknown",
            "execution_time_ms": 0,
            "relevant_strategies": [],
            "message": "",
            "trace_id": "",
        },
    },
    outputs={
        "results": _LIST,
        "reasoning": {
            "type": "object",
            "properties": {
                "strategy_used": _TEXT,
                "learned_from": {"type": "integer"},
                "outcome": _TEXT,
                "execution_time_ms": {"type": "integer"},
                "relevant_strategies": _LIST,
                "message": _TEXT,
            },
        },
    },
)

PROFILES: Mapping[str, Mapping[str, ToolSpec]] = MappingProxyType(
    {
        "core": TOOLS,
        "briefing": MappingProxyType({**TOOLS, BRIEFING.name: BRIEFING}),
        "curation": MappingProxyType({**TOOLS, CONSOLIDATE.name: CONSOLIDATE}),
        "learning": MappingProxyType({**TOOLS, RECORD.name: RECORD_LESSON, DISTILL.name: DISTILL}),
        "experience": MappingProxyType(
            {**TOOLS, RECORD.name: RECORD_LESSON, DISTILL.name: DISTILL, EXPERIENCE.name: EXPERIENCE}
        ),
        "graph": GRAPH_TOOLS,
    }
)
"""Which tools a server offers, by the name of its profile."""


def tools_of(profile: str) -> Mapping[str, ToolSpec]:
    """Return the tools of a profile, by name.

    Raises:
        ConfigurationError: When there is no such profile.
    """
    if profile not in PROFILES:
        raise ConfigurationError(
            f"there is no profile {profile[:80]!r}", hint=f"The profiles are {', '.join(PROFILES)}."
        )
    return PROFILES[profile]
