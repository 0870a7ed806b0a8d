"""What each tool does: checked arguments in, one verb of the bank, an answer out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reasoningbank.domain.belief import MIN_CONFIDENCE
from reasoningbank.errors import BankError, MemoryNotFound, NegativeLimit
from reasoningbank.surfaces.answers import (
    DeleteAnswer,
    error_answer,
    feedback_answer,
    outcome_answer,
    record_answer,
    stats_answer,
)
from reasoningbank.surfaces.mcp.arguments import Arguments
from reasoningbank.surfaces.mcp.rendering import Answer, memory_text, search_text
from reasoningbank.surfaces.mcp.schemas import DELETE, FEEDBACK, GET, OUTCOME, RECORD, SEARCH, STATS, TOOLS

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.surfaces.mcp.banks import Banks

DEFAULT_LIMIT = 5
MAX_LIMIT = 50
"""Most proven hits of one answer: more would not fit into what clients accept."""
MAX_UNPROVEN = 10

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls: never taken from an argument, except the session, which a call may name.

    Attributes:
        tenant: From the token on HTTP, from the local user on stdio (DESIGN D9).
        session: What a call counts for when it names no session.
    """

    tenant: str
    session: str


class Tools:
    """The tools of the core profile over the banks of a server. Thread-safe."""

    def __init__(self, banks: Banks) -> None:
        self._banks = banks
        self._verbs: Mapping[str, Callable[[Caller, Arguments], Answer]] = {
            SEARCH.name: self._search,
            RECORD.name: self._record,
            FEEDBACK.name: self._feedback,
            OUTCOME.name: self._outcome,
            GET.name: self._get,
            DELETE.name: self._delete,
            STATS.name: self._stats,
        }

    def call(self, name: str, arguments: Mapping[str, object] | None, caller: Caller) -> Answer:
        """Runs a tool of ``TOOLS``; an error becomes an answer that says what to do next."""
        try:
            return self._verbs[name](caller, Arguments(TOOLS[name], arguments))
        except BankError as error:
            return failure(error)
        except Exception as error:
            _log.exception("%s failed", name)
            return failure(
                BankError(
                    f"{name} failed: {type(error).__name__}",
                    hint="This is a defect of the server; its log says where. Run `rbank doctor`, then try again.",
                )
            )

    def warm(self, tenant: str) -> None:
        """Opens the server's own bank and loads the embedder, so that the first search need not wait for it."""
        try:
            with self._banks.use(tenant, self._banks.project(None)) as bank:
                bank.embedder.embed_queries(["warm up"])
        except BankError as error:
            _log.warning("not ready yet: %s %s", error, error.hint)

    def close(self) -> None:
        """Closes the banks."""
        self._banks.close()

    def _search(self, caller: Caller, arguments: Arguments) -> Answer:
        limit, unproven = arguments.whole("limit", DEFAULT_LIMIT), arguments.whole("unproven", 1)
        if unproven < 0:
            raise NegativeLimit(f"unproven cannot be negative: {unproven}")
        with self._banks.use(caller.tenant, self._project(arguments)) as bank:
            recall = bank.search(
                arguments.text("query"),
                limit=min(limit, MAX_LIMIT),
                min_confidence=arguments.number("min_confidence", MIN_CONFIDENCE),
                outcome=arguments.optional_text("outcome"),
                tags=arguments.texts("tags"),
                unproven=min(unproven, MAX_UNPROVEN),
                session=arguments.session(caller.session),
            )
        return search_text(recall)

    def _record(self, caller: Caller, arguments: Arguments) -> Answer:
        with self._banks.use(caller.tenant, self._project(arguments)) as bank:
            memory = bank.record(
                title=arguments.text("title"),
                content=arguments.text("content"),
                outcome=arguments.text("outcome"),
                description=arguments.optional_text("description") or "",
                tags=arguments.texts("tags"),
                session=arguments.session(caller.session),
                source="mcp",
            )
        return Answer(
            fields={**record_answer(memory)},
            text=f"Recorded {memory.id} with confidence {memory.confidence:.2f}; searches find it from now on.",
        )

    def _feedback(self, caller: Caller, arguments: Arguments) -> Answer:
        with self._own(caller) as bank:
            rating = bank.feedback(
                arguments.text("memory_id"),
                helpful=arguments.flag("helpful"),
                session=arguments.session(caller.session),
                rater="agent",
            )
        return Answer(fields={**feedback_answer(rating)}, text=rating.message)

    def _outcome(self, caller: Caller, arguments: Arguments) -> Answer:
        with self._own(caller) as bank:
            report = bank.outcome(
                arguments.text("memory_id"),
                succeeded=arguments.flag("succeeded"),
                session=arguments.session(caller.session),
                rater="agent",
            )
        return Answer(fields={**outcome_answer(report)}, text=report.message)

    def _get(self, caller: Caller, arguments: Arguments) -> Answer:
        with self._own(caller) as bank:
            memory = bank.get(arguments.text("memory_id"))
            _check_project(memory.id, memory.project, arguments)
        return memory_text(memory)

    def _delete(self, caller: Caller, arguments: Arguments) -> Answer:
        memory_id = arguments.text("memory_id")
        with self._own(caller) as bank:
            if arguments.optional_text("project_id") is not None:
                _check_project(memory_id, bank.get(memory_id).project, arguments)
            bank.delete(memory_id)
        return Answer(fields={**DeleteAnswer(deleted=True, memory_id=memory_id)}, text=f"Deleted {memory_id}.")

    def _stats(self, caller: Caller, arguments: Arguments) -> Answer:
        with self._banks.use(caller.tenant, self._project(arguments)) as bank:
            stats = bank.stats()
        weights = ", ".join(f"{name} {weight:.2f}" for name, weight in stats.weights.items())
        return Answer(
            fields={**stats_answer(stats)},
            text=(
                f"{stats.memories} memories in project {stats.project}: {stats.proven} proven, {stats.unproven} unproven. "
                f"Weights of evidence: {weights}. A search delivers {stats.mean_recall_tokens:.0f} tokens on average. "
                f"Embedder: {stats.embedder}."
            ),
        )

    def _project(self, arguments: Arguments) -> str:
        return self._banks.project(arguments.optional_text("project_id"))

    @contextmanager
    def _own(self, caller: Caller) -> Iterator[Bank]:
        """A bank of the caller's tenant; it finds a memory in any project of the tenant (DESIGN D9)."""
        with self._banks.use(caller.tenant, self._banks.any_project(caller.tenant)) as bank:
            yield bank


def failure(error: BankError) -> Answer:
    """An error as an answer: what happened and what to do next."""
    return Answer(fields={**error_answer(error)}, text=f"{error} {error.hint}", failed=True)


def _check_project(memory_id: str, project: str, arguments: Arguments) -> None:
    wanted = arguments.optional_text("project_id")
    if wanted is not None and wanted != project:
        raise MemoryNotFound(
            f"no memory {memory_id[:80]!r} in project {wanted[:80]!r}",
            hint="Leave project_id out to look in every project, or search for the memory.",
        )
