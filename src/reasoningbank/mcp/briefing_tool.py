"""The tool that briefs an agent: its schema and what it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reasoningbank.mcp.schemas import ToolSpec

if TYPE_CHECKING:
    from reasoningbank.mcp.arguments import Arguments
    from reasoningbank.mcp.banks import Banks
    from reasoningbank.mcp.calls import Answer, Caller

MAX_BUDGET = 6_000
"""Most tokens of one briefing over MCP: clients cut longer answers off."""

_TEXT: Mapping[str, object] = {"type": "string"}
_LIST: Mapping[str, object] = {"type": "array"}

BRIEFING = ToolSpec(
    name="memory_briefing",
    description=(
        "Call once at the start of a task: the best strategies and warnings for it within a token budget, as quoted "
        "evidence. Empty when nothing is relevant."
    ),
    inputs={
        "task": {"type": "string", "description": "The task in words; without it the best proven memories"},
        "budget": {"type": "integer", "default": 500, "description": "Most tokens"},
        "project_id": _TEXT,
        "session_id": _TEXT,
    },
    outputs={
        "text": _TEXT,
        "tokens": {"type": "integer"},
        "items": _LIST,
        "left_out": _LIST,
        "session": _TEXT,
    },
)


def briefing(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Show the best memories within the budget; of a project that has no bank, none, and makes none."""
    from reasoningbank.errors import InvalidInput
    from reasoningbank.mcp.calls import Answer
    from reasoningbank.mcp.memory_tools import unknown_project
    from reasoningbank.operations.fields import brief_answer
    from reasoningbank.search.briefings import DEFAULT_BUDGET
    from reasoningbank.search.searches import checked_question
    from reasoningbank.types.recall import Brief

    task, budget = arguments.optional_text("task"), arguments.whole("budget", DEFAULT_BUDGET)
    session, named = arguments.session(caller.session), arguments.optional_text("project_id")
    if budget < 0:
        raise InvalidInput(f"a budget cannot be negative: {budget}", hint="Name the most tokens, for example 500.")
    project = banks.project(named)
    if named is not None and not banks.has(caller.tenant, project):
        if task is not None:
            checked_question(task)
        brief = Brief(session=session, message=unknown_project(named))
    else:
        with banks.use(caller.tenant, project) as bank:
            brief = bank.briefing(task, min(budget, MAX_BUDGET), session)
    return Answer(fields={**brief_answer(brief)}, text=brief.text or brief.message)
