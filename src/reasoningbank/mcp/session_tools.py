"""What the tools of the further profiles do."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput, TrajectoryNotFound
from reasoningbank.mcp.arguments import Arguments
from reasoningbank.mcp.briefing_tool import BRIEFING, briefing
from reasoningbank.mcp.calls import Answer, Caller
from reasoningbank.mcp.curation_schemas import CONSOLIDATE
from reasoningbank.mcp.curation_tools import consolidate
from reasoningbank.mcp.graph_tools import GRAPH_VERBS
from reasoningbank.mcp.learning_schemas import DISTILL, EXPERIENCE, RECORD_LESSON
from reasoningbank.mcp.memory_tools import MAX_LIMIT, VERBS, record, unknown_project
from reasoningbank.mcp.text import assignment_text, experience_text
from reasoningbank.operations.fields import record_answer
from reasoningbank.search.experience import checked_mode
from reasoningbank.search.searches import checked_question
from reasoningbank.types.experience import ExperienceAnswer, Reasoning

if TYPE_CHECKING:
    from reasoningbank.mcp.banks import Banks
    from reasoningbank.mcp.memory_tools import Verb
    from reasoningbank.types.session import DistilReport, Judgement

NOTHING_WAITS = "No session waits to be distilled."


def distill(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Hand out a captured session for the calling agent to distill: the one named, else the one that waits longest."""
    named, done = arguments.optional_text("trajectory_id"), arguments.optional_text("nothing_in")
    project = banks.project(arguments.optional_text("project_id"))
    if not banks.has(caller.tenant, project):
        if named is not None or done is not None:
            raise TrajectoryNotFound(unknown_project(project))
        return _nothing_waits(0)
    with banks.use(caller.tenant, project) as bank:
        if done is not None:
            bank.distillation.skip(done)
        pending = bank.sessions.list(pending=True)
        waiting = [entry.id for entry in pending if _known(entry.judgement)]
        if named is None and not waiting:
            return _nothing_waits(len(pending))
        assignment = bank.distillation.assignment(named if named is not None else waiting[0])
    left = len([one for one in waiting if one != assignment.trajectory])
    message = (
        f"Record each item with memory_record and this trajectory_id. When there is none, call memory_distill with "
        f"nothing_in={assignment.trajectory}, so that the session no longer waits. Beside it, {left} wait."
    )
    fields = {
        "trajectory_id": assignment.trajectory,
        "instructions": assignment.instructions,
        "digest": assignment.record,
        "schema": dict(assignment.schema),
        "pending": len(waiting),
        "message": message,
    }
    return Answer(fields=fields, text=assignment_text(assignment, message))


def record_lesson(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Store a lesson; one that names a trajectory is checked and believed like any distilled one."""
    trajectory = arguments.optional_text("trajectory_id")
    if trajectory is None:
        if arguments.has("steps"):
            raise InvalidInput("steps belong to a trajectory", hint="Name the trajectory_id from memory_distill.")
        return record(banks, caller, arguments)
    project = banks.project(arguments.optional_text("project_id"))
    if not banks.has(caller.tenant, project):
        raise TrajectoryNotFound(unknown_project(project), hint="Name the project_id that memory_distill was given.")
    with banks.use(caller.tenant, project) as bank:
        report = bank.distillation.record(
            trajectory,
            title=arguments.text("title"),
            content=arguments.text("content"),
            outcome=arguments.text("outcome"),
            description=arguments.optional_text("description") or "",
            tags=arguments.texts("tags"),
            steps=arguments.whole_numbers("steps"),
        )
        stored = bank.get(report.distilled[0]) if report.distilled else None
    if stored is None:
        return _not_stored(report)
    said = f"Recorded {stored.id} with confidence {stored.confidence:.2f}; it rises as it proves itself."
    return Answer(fields={**record_answer(stored), "stored": "new", "message": said}, text=said)


def experience(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Search with the experience of earlier searches; the answer has one shape, errors included (row H9)."""
    limit = min(arguments.whole("limit", 0), MAX_LIMIT) if arguments.has("limit") else None
    query, session = arguments.text("query"), arguments.session(caller.session)
    named, mode = arguments.optional_text("project_id"), checked_mode(arguments.optional_text("mode") or "semantic")
    if named is not None and not banks.has(caller.tenant, banks.project(named)):
        checked_question(query, limit=limit or 0)
        return experience_text(_nothing_known(named))
    with banks.use(caller.tenant, banks.project(named)) as bank:
        answer = bank.experience.search(query, limit=limit, session=session, mode=mode)
    return experience_text(answer)


def _nothing_waits(undecided: int) -> Answer:
    said = NOTHING_WAITS
    if undecided:
        said += f" Of {undecided} it is not known how they ended; a person says so with `rbank verdict`."
    return Answer(fields={"trajectory_id": "", "pending": 0, "message": said}, text=said)


def _not_stored(report: DistilReport) -> Answer:
    if report.corroborated:
        known = report.corroborated[0]
        said = f"Memory {known} says the same already; nothing new was stored."
        return Answer(fields={"id": known, "stored": "corroborated", "message": said}, text=said)
    first = report.refused[0]
    hint = "Change the item and record it again, or leave it: recording nothing is a good answer."
    fields = {"error": "refused", "reason": first.reason, "message": f"Not stored: {first.detail}", "hint": hint}
    return Answer(fields=fields, text=f"Not stored ({first.reason}): {first.detail} {hint}", failed=True)


def _nothing_known(project: str) -> ExperienceAnswer:
    return ExperienceAnswer(
        results=(),
        reasoning=Reasoning(
            strategy_used="",
            learned_from=0,
            outcome="unknown",
            execution_time_ms=0,
            message=unknown_project(project),
        ),
    )


def _known(judgement: Judgement | None) -> bool:
    return judgement is not None and judgement.verdict != "unknown"


LEARNING_VERBS: Mapping[str, Verb] = MappingProxyType(
    {
        **VERBS,
        RECORD_LESSON.name: record_lesson,
        DISTILL.name: distill,
        EXPERIENCE.name: experience,
        BRIEFING.name: briefing,
        CONSOLIDATE.name: consolidate,
        **GRAPH_VERBS,
    }
)
"""What runs for each tool of every profile, by its name."""
