"""Workflows: conversations that a program drives turn by turn, over any restart.

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
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, cast

from reasoningbank.conversations.questions import DEFAULT_LESSONS, DEFAULT_NODES
from reasoningbank.documents.values import to_text
from reasoningbank.errors import BankError, EmptyContent, InvalidInput, WorkflowBusy, WorkflowNotFound
from reasoningbank.memories.admission import keep_record, sayable, sayable_value
from reasoningbank.safety.checks import MAX_NAME, given_name
from reasoningbank.search.query import usable_query
from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.conversation import (
    ConversationReport,
    QuestionAnswer,
    Turn,
    Workflow,
    WorkflowEvent,
    WorkflowEventKind,
    WorkflowStatus,
)
from reasoningbank.types.document import Document
from reasoningbank.types.memory import new_id
from reasoningbank.types.resource import checked

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.conversations.conversations import Conversations
    from reasoningbank.conversations.questions import Questions

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


def noted(known: Workflow, kind: WorkflowEventKind, payload: Mapping[str, object], at: datetime) -> Workflow:
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


def erase_workflows(transaction: Transaction, sessions: Collection[str], before: datetime | None) -> int:
    """Erase the workflows that are among these sessions, or are older than a time; return how many."""
    found = [
        document
        for document in transaction.documents.below(COLLECTION)
        if session_of_workflow(document.key) in sessions or (before is not None and document.updated_at < before)
    ]
    for document in found:
        transaction.documents.delete_document(*document.place)
    return len(found)


def session_of_workflow(workflow_id: str) -> str:
    """Return what the searches of a workflow count for."""
    return f"workflow-{workflow_id}"[:200]


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
        kind=cast("WorkflowEventKind", fields["kind"]),
        payload=cast("dict[str, object]", fields["payload"]),
        at=datetime.fromisoformat(cast(str, fields["at"])),
    )


MAX_ANSWER = 100_000
_MOST_CALLS = 100
_HISTORY = 5


@checked
class Workflows:
    """Workflows: conversations that a program drives turn by turn."""

    def __init__(self, context: Context, conversations: Conversations, questions: Questions) -> None:
        self._context = context
        self._conversations = conversations
        self._questions = questions

    def execute(
        self, user_input: str, *, workflow_id: str = "", ask: bool = True, user: str = "", role: str = ""
    ) -> Workflow:
        """Begin a turn: the question is planned; when it is ambiguous, the workflow waits for the user's answer.

        Otherwise it is running, and ``search`` finds what is known. Without an id a new workflow begins; with
        the id of one that waits this is the answer to its question back; with that of one that has ended, a new turn.

        Args:
            user_input: What the user says.
            workflow_id: The workflow; empty for a new one.
            ask: Allow a question back.
            user: Who asks, by id.
            role: In which role.

        Raises:
            EmptyQuery: When the user says nothing.
            InvalidInput: When the user's id or role looks like a prompt injection.
            WorkflowNotFound: When there is no such workflow.
            WorkflowBusy: When a turn is still under way.
        """
        said, now = usable_query(user_input), self._context.clock.now()
        names = {"user": given_name(user[:MAX_NAME], "user"), "role": given_name(role[:MAX_NAME], "role")}
        identifier = workflow_id or new_id()

        def begin(known: Workflow | None) -> Workflow:
            return begun(known, identifier, said, **names, at=now)

        if workflow_id:
            read_workflow(self._context.store(), workflow_id)
        workflow = self._workflow_changed(identifier, begin, new=not workflow_id)
        plan = self._questions.plan(
            workflow.user_input,
            ask=ask and not workflow.clarification,
            clarification=workflow.clarification,
            history=_history(workflow),
        )
        turn = workflow.message_id

        def planned(known: Workflow | None) -> Workflow:
            current = _same_turn(known, turn)
            if plan.clarification:
                return asked_back(current, plan.clarification, self._context.clock.now())
            queries = {"graph": len(plan.graph), "bank": len(plan.bank), "tags": list(plan.tags)}
            return noted(current, "progress", {"step": "planned", **queries}, self._context.clock.now())

        return self._workflow_changed(identifier, planned)

    def search(self, workflow_id: str) -> Workflow:
        """Find the memories of a turn that is running and notes them as an event; nothing when they are found already.

        What cannot be searched ends the turn as failed.

        Raises:
            WorkflowNotFound: When there is no such workflow.
        """
        workflow = read_workflow(self._context.store(), workflow_id)
        if workflow.status != "running" or workflow.searched:
            return workflow
        turn = workflow.message_id
        finish: Callable[[Workflow], Workflow]
        try:
            answer = self._questions.ask(
                workflow.user_input,
                ask=False,
                clarification=workflow.clarification,
                history=_history(workflow),
                nodes=DEFAULT_NODES,
                lessons=DEFAULT_LESSONS,
                user=workflow.user,
                role=workflow.role,
                session=session_of_workflow(workflow_id),
            )
        except BankError as error:
            problem = error

            def finish(known: Workflow) -> Workflow:
                return failed(known, problem.message, problem.hint, self._context.clock.now())
        else:

            def finish(known: Workflow) -> Workflow:
                return found(known, _memories(answer), self._context.clock.now())

        def ended(known: Workflow | None) -> Workflow:
            current = _same_turn(known, turn)
            return current if current.status != "running" or current.searched else finish(current)

        return self._workflow_changed(workflow_id, ended)

    def get(self, workflow_id: str) -> Workflow:
        """Return a workflow as it is; raises WorkflowNotFound."""
        return read_workflow(self._context.store(), workflow_id)

    def stalled(self, workflow: Workflow) -> bool:
        """Return whether whoever began the search of a turn no longer answers; then it is begun anew."""
        late = workflow.until is not None and workflow.until < self._context.clock.now()
        return workflow.status == "running" and not workflow.searched and late

    def answer(
        self,
        workflow_id: str,
        message_id: str,
        response: str,
        *,
        reasoning: str = "",
        tool_calls: Sequence[Mapping[str, object]] = (),
    ) -> Workflow:
        """End a turn with what was answered; the request and the answer are remembered as a conversation's.

        An answer that looks like a prompt injection ends the turn and is not remembered; the workflow says in its place
        that it was withheld, and why. So do a reasoning and a call.

        Args:
            workflow_id: The workflow.
            message_id: The turn that is answered.
            response: The answer.
            reasoning: Why it is so.
            tool_calls: What was called for it, as JSON objects.

        Raises:
            EmptyContent: When the answer is blank.
            InvalidInput: When it is too long, or a call is not a JSON object.
            WorkflowNotFound: When there is no such workflow.
            WorkflowBusy: When no turn waits for an answer, or another one does.
        """
        from reasoningbank.documents.values import safe_value, to_text
        from reasoningbank.safety.secrets import redact
        from reasoningbank.safety.stored_text import clean

        texts = {name: redact(clean(text)).text for name, text in (("answer", response), ("reasoning", reasoning))}
        if not texts["answer"]:
            raise EmptyContent("response: an answer cannot be empty")
        calls = tuple(safe_value(each) for each in tool_calls)
        length = sum(map(len, texts.values())) + sum(len(to_text(each)) for each in calls)
        if length > MAX_ANSWER or len(calls) > _MOST_CALLS:
            raise InvalidInput(
                f"response: with reasoning and calls it has at most {MAX_ANSWER:,} characters and {_MOST_CALLS} calls"
            )
        workflow = read_workflow(self._context.store(), workflow_id)
        check_answerable(workflow, message_id)
        remembered = self._workflow_remembered(workflow, texts["answer"])

        def close(known: Workflow | None) -> Workflow:
            return answered(
                _same_turn(known, message_id),
                message_id,
                sayable(texts["answer"]),
                reasoning=sayable(texts["reasoning"]),
                tool_calls=[_call(each) for each in calls],
                remembered=remembered,
                at=self._context.clock.now(),
            )

        return self._workflow_changed(workflow_id, close)

    def cancel(self, workflow_id: str) -> Workflow:
        """End the turn under way without an answer; nothing of it is remembered.

        Raises:
            WorkflowNotFound: When there is no such workflow.
            WorkflowBusy: When no turn is under way.
        """

        def end(known: Workflow | None) -> Workflow:
            if known is None:
                raise WorkflowNotFound(f"no workflow {workflow_id[:80]!r} in this project")
            return cancelled(known, self._context.clock.now())

        return self._workflow_changed(workflow_id, end)

    def _workflow_remembered(self, workflow: Workflow, answer: str) -> Mapping[str, object]:
        """Write the turn back; what cannot be written does not keep the turn from ending, and is said."""
        request = " ".join(part for part in (workflow.user_input, workflow.clarification) if part)
        try:
            report: ConversationReport = self._conversations.remember(
                {
                    "conv_id": workflow.id,
                    "user_id": workflow.user,
                    "user_role": workflow.role,
                    "request": request,
                    "answer": answer,
                }
            )
        except BankError as error:
            return {"nodes": [], "message": error.advice}
        return {"nodes": [node.id for node in report.nodes], "message": report.message}

    def _workflow_changed(
        self, workflow_id: str, change: Callable[[Workflow | None], Workflow], *, new: bool = False
    ) -> Workflow:
        """Read, changes and store a workflow in one transaction."""
        with self._context.store().transaction() as transaction:
            known = None if new else read_workflow(transaction, workflow_id)
            changed = change(known)
            if changed is not known:
                write_workflow(transaction, changed, self._context.embedder.model_id, self._now())
        return changed

    def _now(self) -> datetime:
        return self._context.clock.now()


def _same_turn(known: Workflow | None, message_id: str) -> Workflow:
    """Return the workflow, as long as it is still at this turn."""
    from reasoningbank.errors import WorkflowBusy

    if known is None or known.message_id != message_id:
        raise WorkflowBusy("another turn has begun meanwhile")
    return known


def _call(call: Mapping[str, object]) -> Mapping[str, object]:
    """Return a call as others may read it; one that is withheld whole has its reason alone."""
    value = sayable_value(call)
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {"withheld": value}


def _history(workflow: Workflow) -> list[str]:
    """Return what was said in the turns before, as far as it can help to understand this one."""
    return [f"{sayable(turn.user_input)} {turn.answer}"[:1_000] for turn in workflow.turns[-_HISTORY:]]


def _memories(answer: QuestionAnswer) -> Mapping[str, object]:
    """Return what a program needs to answer: the context, and what it is made of."""
    graph = answer.graph
    return {
        "memories": []
        if graph is None
        else [
            {"id": hit.node.id, "label": hit.node.label, "text": hit.node.text[:1_000], "score": round(hit.score, 6)}
            for hit in graph.seeds
        ],
        "paths": [list(story) for story in answer.sentences],
        "reasoningbank_hits": [
            {
                "rb_id": hit.lesson.rb_id,
                "id": hit.lesson.id,
                "key_lesson": hit.lesson.key_lesson[:4_000],
                "context_to_prefer": hit.lesson.context_to_prefer[:2_000],
                "score": round(hit.score, 6),
            }
            for hit in answer.lessons
        ],
        "context": "" if graph is None else graph.context.text,
        "tokens": 0 if graph is None else graph.context.tokens,
        "message": answer.message,
    }
