"""What was delivered is logged and counted where it lives: each memory in the bank of its own scope.

A team's or org's log learns that one of its memories was shown, in which session by a name that says nothing, and how
well it fitted; never the query, nor the project's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from reasoningbank.domain.answers import OutcomeReport
from reasoningbank.domain.recall import Recall
from reasoningbank.domain.scope import Level, Scope, session_in
from reasoningbank.domain.signal import Rater
from reasoningbank.engine.evidence import count_delivery, report_outcome
from reasoningbank.errors import MemoryNotFound, StoreError
from reasoningbank.ports import Store


def of_level(answer: Recall, level: Level) -> Recall:
    """The answer with the hits of one scope alone; its tokens stay those of all it delivered."""
    if all(hit.scope == level for hit in answer.delivered):
        return answer
    return replace(
        answer,
        memories=tuple(hit for hit in answer.memories if hit.scope == level),
        unproven=tuple(hit for hit in answer.unproven if hit.scope == level),
    )


def shown_in(store: Store, session: str, origin: Scope) -> list[str]:
    """Ids of what a wider scope has shown a session of the project, in that order."""
    logs = store.recalls(limit=0, session=session_in(store.scope, session, origin))
    return [*store.many([*dict.fromkeys(entry.memory_id for log in reversed(logs) for entry in log.entries)])]


def credit(
    store: Store, session: str, origin: Scope, *, succeeded: bool, rater: Rater, at: datetime, shared_by: int
) -> list[OutcomeReport]:
    """Reports in a wider scope how a session ended for everything it has shown it, all of it or nothing.

    Args:
        store: The team's or the org's.
        session: As the project names it.
        origin: The project.
        succeeded: How the session ended.
        rater: Who says so.
        at: When.
        shared_by: How many memories of all scopes share the weight of the outcome.
    """
    place = session_in(store.scope, session, origin)
    reports = []
    with store.transaction() as transaction:
        for memory_id in shown_in(store, session, origin):
            try:
                report = report_outcome(
                    transaction,
                    memory_id,
                    succeeded=succeeded,
                    session=place,
                    rater=rater,
                    at=at,
                    shared_by=shared_by,
                )
            except MemoryNotFound:
                continue
            reports.append(report)
    return reports


def log_wider(stores: Sequence[Store], answer: Recall, origin: Scope, *, usage: bool) -> tuple[str, ...]:
    """Logs and counts what each wider scope has delivered; returns what could not be logged.

    Args:
        stores: The team's and the org's.
        answer: The whole answer.
        origin: The project that asked.
        usage: Whether the delivery is evidence.
    """
    warnings: list[str] = []
    for store in stores:
        part = of_level(answer, store.scope.level)
        if not part.delivered:
            continue
        session = session_in(store.scope, answer.session, origin)
        tokens = sum(hit.memory.tokens for hit in part.delivered)
        logged = replace(part, query="", session=session, tokens=tokens, message="", warnings=())
        try:
            with store.transaction() as transaction:
                transaction.log_recall(logged)
                if usage:
                    count_delivery(transaction, [hit.id for hit in part.delivered], session=session, at=answer.at)
        except (StoreError, MemoryNotFound) as error:
            warnings.append(f"The delivery of the {store.scope.shown} was not logged: {error} {error.hint}")
    return tuple(warnings)
