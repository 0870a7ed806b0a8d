"""The states of a workflow: what each step makes of it. Every step is a function of the workflow before it.

============== ==================== ====================================================
before         step                 after
============== ==================== ====================================================
none           question             running, or waiting_for_input when it is ambiguous
waiting        answer to question   running
running        question             refused (busy)
completed      question             running or waiting_for_input: a new turn
failed         question             a new turn
cancelled      question             a new turn
running        memories found       running, until it is answered
running        answer               completed
running        search impossible    failed
running        cancel               cancelled
waiting        cancel               cancelled
============== ==================== ====================================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import cast

from reasoningbank.documents.documents import to_text
from reasoningbank.errors import WorkflowBusy, WorkflowNotFound
from reasoningbank.memories.admission import keep_record
from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.conversation import EventKind, Turn, Workflow, WorkflowEvent, WorkflowStatus
from reasoningbank.types.document import Document
from reasoningbank.types.memory import new_id

COLLECTION = "reasoningbank.workflows"
"""Where a bank keeps its workflows."""
LEASE = timedelta(minutes=2)
"""How long a search may take before another may take it up."""
MOST_EVENTS, MOST_TURNS = 200, 20
_LONGEST = 500_000
"""Most characters of a workflow as it is kept; older events go first."""


def begun(known: Workflow | None, workflow_id: str, user_input: str, *, user: str, role: str, at: datetime) -> Workflow:
    """Return the workflow once the user has said something: a new turn, or the answer to the question back.

    Raises:
        WorkflowBusy: When a turn is still under way.
    """
    if known is None:
        known = Workflow(id=workflow_id, status="completed", message_id="", user_input="")
    if known.status == "running":
        raise WorkflowBusy(f"workflow {known.id[:80]!r} is running")
    if known.status == "waiting_for_input":
        taken = replace(known, status="running", clarification=user_input, until=at + LEASE)
        return noted(taken, "status", {"status": "running", "message_id": known.message_id}, at)
    fresh = replace(
        known,
        status="running",
        message_id=new_id(),
        user_input=user_input,
        clarification_question="",
        clarification="",
        searched=False,
        until=at + LEASE,
        user=user or known.user,
        role=role or known.role,
    )
    return noted(fresh, "status", {"status": "running", "message_id": fresh.message_id}, at)


def asked_back(known: Workflow, question: str, at: datetime) -> Workflow:
    """Return the workflow once a question back is open."""
    waiting = replace(known, status="waiting_for_input", clarification_question=question, until=None)
    payload = {"status": "waiting_for_input", "message_id": known.message_id, "clarification_question": question}
    return noted(waiting, "status", payload, at)


def found(known: Workflow, memories: Mapping[str, object], at: datetime) -> Workflow:
    """Return the workflow once its memories are found: it waits to be answered."""
    payload = {"message_id": known.message_id, **memories}
    return noted(replace(known, searched=True, until=None), "memories", payload, at)


def failed(known: Workflow, error: str, hint: str, at: datetime) -> Workflow:
    """Return the workflow once it cannot go on; a new question begins a new turn."""
    payload = {"message_id": known.message_id, "message": error, "hint": hint}
    return noted(replace(known, status="failed", until=None), "error", payload, at)


def cancelled(known: Workflow, at: datetime) -> Workflow:
    """Return the workflow once the user wants no answer any more.

    Raises:
        WorkflowBusy: When no turn is under way.
    """
    if known.status not in {"running", "waiting_for_input"}:
        raise WorkflowBusy(f"workflow {known.id[:80]!r} is {known.status}; there is nothing to cancel")
    payload = {"status": "cancelled", "message_id": known.message_id}
    return noted(replace(known, status="cancelled", until=None), "status", payload, at)


def answered(
    known: Workflow,
    message_id: str,
    answer: str,
    *,
    reasoning: str,
    tool_calls: Sequence[Mapping[str, object]],
    remembered: Mapping[str, object],
    at: datetime,
) -> Workflow:
    """Return the workflow once its turn is answered.

    Raises:
        WorkflowBusy: When no turn waits for an answer, or it is another one.
    """
    check_answerable(known, message_id)
    turn = Turn(
        message_id=message_id,
        user_input=known.user_input,
        answer=answer,
        clarification_question=known.clarification_question,
        clarification=known.clarification,
        reasoning=reasoning,
        tool_calls=tuple(tool_calls),
        at=at,
    )
    done = replace(known, status="completed", until=None, turns=(*known.turns, turn)[-MOST_TURNS:])
    payload = {"message_id": message_id, "answer": answer, "remembered": dict(remembered)}
    return noted(done, "complete", payload, at)


def check_answerable(known: Workflow, message_id: str) -> None:
    """Refuse an answer that no turn waits for.

    Raises:
        WorkflowBusy: When no turn waits for an answer, or it is another one.
    """
    if known.status != "running":
        raise WorkflowBusy(f"workflow {known.id[:80]!r} is {known.status}; no turn waits for an answer")
    if message_id != known.message_id:
        raise WorkflowBusy(f"the turn under way is {known.message_id}, not {message_id[:80]!r}")


def noted(known: Workflow, kind: EventKind, payload: Mapping[str, object], at: datetime) -> Workflow:
    """Return the workflow with one more event."""
    event = WorkflowEvent(cursor=known.cursor + 1, kind=kind, payload=dict(payload), at=at)
    return replace(known, events=(*known.events, event)[-MOST_EVENTS:], cursor=event.cursor)


def read_workflow(reader: StoreReader, workflow_id: str) -> Workflow:
    """Return the workflow of an id.

    Raises:
        WorkflowNotFound: When there is none.
    """
    document = reader.documents.document(COLLECTION, (), workflow_id)
    if document is None:
        raise WorkflowNotFound(f"no workflow {workflow_id[:80]!r} in this project")
    return _read(json.loads(document.value))


def write_workflow(transaction: Transaction, workflow: Workflow, model_id: str, at: datetime) -> None:
    """Store a workflow; of one that is too long the oldest events are left out, then the oldest turns."""
    text = to_text(_fields(workflow))
    while len(text) > _LONGEST and (len(workflow.events) > 1 or len(workflow.turns) > 1):
        if len(workflow.events) > 1:
            workflow = replace(workflow, events=workflow.events[1:])
        else:
            workflow = replace(workflow, turns=workflow.turns[1:])
        text = to_text(_fields(workflow))
    document = Document(collection=COLLECTION, path=(), key=workflow.id, value=text, created_at=at, updated_at=at)
    keep_record(transaction, document, model_id)


def _fields(workflow: Workflow) -> dict[str, object]:
    fields = asdict(workflow)
    fields["until"] = None if workflow.until is None else workflow.until.isoformat()
    for name in ("turns", "events"):
        fields[name] = [{**each, "at": each["at"].isoformat()} for each in fields[name]]
    return fields


def _read(fields: dict[str, object]) -> Workflow:
    until = cast("str | None", fields.pop("until"))
    turns = cast("list[dict[str, object]]", fields.pop("turns"))
    events = cast("list[dict[str, object]]", fields.pop("events"))
    return Workflow(
        id=cast(str, fields["id"]),
        status=cast("WorkflowStatus", fields["status"]),
        message_id=cast(str, fields["message_id"]),
        user_input=cast(str, fields["user_input"]),
        clarification_question=cast(str, fields["clarification_question"]),
        clarification=cast(str, fields["clarification"]),
        searched=cast(bool, fields["searched"]),
        until=None if until is None else datetime.fromisoformat(until),
        user=cast(str, fields["user"]),
        role=cast(str, fields["role"]),
        turns=tuple(_turn(each) for each in turns),
        events=tuple(_event(each) for each in events),
        cursor=cast(int, fields["cursor"]),
    )


def _turn(fields: dict[str, object]) -> Turn:
    calls = cast("list[Mapping[str, object]]", fields["tool_calls"])
    texts = {name: cast(str, fields[name]) for name in _TURN_TEXTS}
    return Turn(**texts, tool_calls=tuple(calls), at=datetime.fromisoformat(cast(str, fields["at"])))


_TURN_TEXTS = ("message_id", "user_input", "answer", "clarification_question", "clarification", "reasoning")


def _event(fields: dict[str, object]) -> WorkflowEvent:
    return WorkflowEvent(
        cursor=cast(int, fields["cursor"]),
        kind=cast("EventKind", fields["kind"]),
        payload=cast("dict[str, object]", fields["payload"]),
        at=datetime.fromisoformat(cast(str, fields["at"])),
    )
