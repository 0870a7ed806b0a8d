"""What the tool of the profile ``curation`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reasoningbank.mcp.arguments import Arguments
from reasoningbank.mcp.calls import Answer, Caller
from reasoningbank.mcp.memory_tools import unknown_project
from reasoningbank.operations.fields import consolidation_fields, consolidation_text
from reasoningbank.types.consolidation import SIMILARITY_THRESHOLD, ConsolidationOptions, ConsolidationResult

if TYPE_CHECKING:
    from reasoningbank.mcp.banks import Banks


def consolidate(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Consolidate a project; one that has no memories yet has nothing to consolidate."""
    options = ConsolidationOptions(
        similarity_threshold=arguments.number("similarity_threshold", SIMILARITY_THRESHOLD),
        max_clusters_per_run=arguments.whole("max_clusters", 0),
        dry_run=arguments.has("dry_run") and arguments.flag("dry_run"),
        force_all=arguments.has("force_all") and arguments.flag("force_all"),
    )
    project = banks.project(arguments.optional_text("project_id"))
    if not banks.has(caller.tenant, project):
        return _answer(ConsolidationResult(messages=(unknown_project(project),)))
    with banks.use(caller.tenant, project) as bank:
        return _answer(bank.curation.consolidate(options))


def _answer(result: ConsolidationResult) -> Answer:
    fields = consolidation_fields(result)
    text = "\n".join([*fields["messages"], consolidation_text(fields)])
    return Answer(fields={**fields}, text=text)
