"""What each tool does: checked arguments in, one verb of the bank, an answer out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from reasoningbank.errors import MemoryNotFound, NegativeLimit
from reasoningbank.mcp.arguments import Arguments
from reasoningbank.mcp.calls import Answer, Caller
from reasoningbank.mcp.schemas import DELETE, FEEDBACK, GET, OUTCOME, RECORD, SEARCH, STATS
from reasoningbank.mcp.text import memory_text, search_text
from reasoningbank.operations.fields import DeleteAnswer, feedback_answer, outcome_answer, record_answer, stats_answer
from reasoningbank.search.searches import checked_question
from reasoningbank.types.belief import MIN_CONFIDENCE
from reasoningbank.types.recall import Recall

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.mcp.banks import Banks

    Verb: TypeAlias = Callable[[Banks, Caller, Arguments], Answer]

DEFAULT_LIMIT = 5
MAX_LIMIT = 50
"""Most proven hits of one answer: more would not fit into what clients accept."""
MAX_UNPROVEN = 10


def search(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Find what is relevant to a task; an answer holds at most ``MAX_LIMIT`` proven memories."""
    limit, unproven = arguments.whole("limit", DEFAULT_LIMIT), arguments.whole("unproven", 1)
    if unproven < 0:
        raise NegativeLimit(f"unproven cannot be negative: {unproven}")
    query, outcome = arguments.text("query"), arguments.optional_text("outcome")
    least, tags = arguments.number("min_confidence", MIN_CONFIDENCE), arguments.texts("tags")
    session = arguments.session(caller.session)
    limit, unproven = min(limit, MAX_LIMIT), min(unproven, MAX_UNPROVEN)
    named = arguments.optional_text("project_id")
    if named is not None and not banks.has(caller.tenant, banks.project(named)):
        checked_question(query, limit=limit, min_confidence=least, outcome=outcome, tags=tags, unproven=unproven)
        return search_text(Recall(session=session, message=unknown_project(named)))
    with banks.use(caller.tenant, banks.project(named)) as bank:
        recall = bank.search(
            query,
            limit=limit,
            min_confidence=least,
            outcome=outcome,
            tags=tags,
            unproven=unproven,
            session=session,
        )
    return search_text(recall)


def record(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Store a lesson; one that orders its reader about is kept aside, and the answer says why."""
    from reasoningbank.memories.admission import why_held

    with banks.use(caller.tenant, banks.project(arguments.optional_text("project_id"))) as bank:
        memory = bank.record(
            title=arguments.text("title"),
            content=arguments.text("content"),
            outcome=arguments.text("outcome"),
            description=arguments.optional_text("description") or "",
            tags=arguments.texts("tags"),
            session=arguments.session(caller.session),
            source="mcp",
        )
    if said := why_held(memory):
        return Answer(
            fields={**record_answer(memory), "state": memory.state, "message": said},
            text=f"{memory.id}: {said}",
        )
    return Answer(
        fields={**record_answer(memory)},
        text=f"Recorded {memory.id} with confidence {memory.confidence:.2f}; searches find it from now on.",
    )


def feedback(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Rate a memory for an agent: once per memory and session."""
    with _own(banks, caller) as bank:
        rating = bank.feedback(
            arguments.text("memory_id"),
            helpful=arguments.flag("helpful"),
            session=arguments.session(caller.session),
            rater="agent",
        )
    return Answer(fields={**feedback_answer(rating)}, text=rating.message)


def outcome(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Report how a task ended that used a memory: once per memory and session."""
    with _own(banks, caller) as bank:
        report = bank.outcome(
            arguments.text("memory_id"),
            succeeded=arguments.flag("succeeded"),
            session=arguments.session(caller.session),
            rater="agent",
        )
    return Answer(fields={**outcome_answer(report)}, text=report.message)


def get(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Read one memory; of the project named, when one is named."""
    with _own(banks, caller) as bank:
        memory = bank.get(arguments.text("memory_id"))
        _check_project(memory.id, memory.project, arguments)
    return memory_text(memory)


def delete(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Erase one memory; of the project named, when one is named."""
    memory_id = arguments.text("memory_id")
    with _own(banks, caller) as bank:
        if arguments.optional_text("project_id") is not None:
            _check_project(memory_id, bank.get(memory_id).project, arguments)
        bank.delete(memory_id)
    return Answer(fields={**DeleteAnswer(deleted=True, memory_id=memory_id)}, text=f"Deleted {memory_id}.")


def stats(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Return facts about one project's bank."""
    named = arguments.optional_text("project_id")
    if named is not None and not banks.has(caller.tenant, banks.project(named)):
        nothing = {"project": named, "memories": 0, "proven": 0, "unproven": 0, "weights": {}}
        return Answer(fields=nothing, text=unknown_project(named))
    with banks.use(caller.tenant, banks.project(named)) as bank:
        facts = bank.admin.stats()
    weights = ", ".join(f"{name} {weight:.2f}" for name, weight in facts.weights.items())
    return Answer(
        fields={**stats_answer(facts)},
        text=(
            f"{facts.memories} memories in project {facts.project}: {facts.proven} proven, {facts.unproven} not. "
            f"Weights of evidence: {weights}. A search delivers {facts.mean_recall_tokens:.0f} tokens on average. "
            f"Embedder: {facts.embedder}."
        ),
    )


def unknown_project(named: str) -> str:
    """Return what is said instead of making a bank for a project that has none."""
    return f"Nothing is known of project {named[:80]!r} yet."


@contextmanager
def _own(banks: Banks, caller: Caller) -> Iterator[Bank]:
    """Give a bank of the caller's tenant; it finds a memory in any project of the tenant (DESIGN D9)."""
    with banks.use(caller.tenant, banks.any_project(caller.tenant)) as bank:
        yield bank


def _check_project(memory_id: str, project: str, arguments: Arguments) -> None:
    wanted = arguments.optional_text("project_id")
    if wanted is not None and wanted != project:
        raise MemoryNotFound(
            f"no memory {memory_id[:80]!r} in project {wanted[:80]!r}",
            hint="Leave project_id out to look in every project, or search for the memory.",
        )


VERBS: Mapping[str, Verb] = MappingProxyType(
    {
        SEARCH.name: search,
        RECORD.name: record,
        FEEDBACK.name: feedback,
        OUTCOME.name: outcome,
        GET.name: get,
        DELETE.name: delete,
        STATS.name: stats,
    }
)
"""What runs for each tool, by its name."""
