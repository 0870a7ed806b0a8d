"""Workflows over REST and WebSocket: begin a turn, follow its events, end it with an answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from reasoningbank.errors import BankError, InvalidInput, MissingTenantError
from reasoningbank.mcp.tickets import PARAMETER, TICKET_SECONDS, TICKETS, Tickets
from reasoningbank.operations.arguments import Arguments
from reasoningbank.operations.json import object_schema, to_json
from reasoningbank.operations.operation import Json
from reasoningbank.types.conversation import Workflow, WorkflowEvent
from reasoningbank.web.requests import BankThreads, body_of, check_query, json_object, query_flag, query_whole, refusal

LOOK_EVERY = 0.1
"""Seconds between two looks for new events; they are read from the bank, so that any process may have made them."""
_MAX_COMMAND = 10_000
_TEXT: Json = {"type": "string"}
EXECUTE: Mapping[str, Json] = {
    "user_input": _TEXT,
    "workflow_id": _TEXT,
    "ask_clarifications": {"type": "boolean", "default": True},
    "user_id": _TEXT,
    "user_role": _TEXT,
    "preferences": {
        "type": "object",
        "properties": {"user_id": _TEXT, "user_role": _TEXT},
        "additionalProperties": True,
        "description": "What the client knows of the user; only these two are read.",
    },
    "project_id": _TEXT,
}
"""What ``POST /workflow/execute`` takes."""
ANSWER: Mapping[str, Json] = {
    "workflow_id": _TEXT,
    "message_id": _TEXT,
    "response": _TEXT,
    "reasoning": _TEXT,
    "tool_calls": {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": True,
            "description": "A call as the client writes it.",
        },
    },
    "project_id": _TEXT,
}
"""What ``POST /workflow/ai-answer`` takes."""
BEGUN = ("workflow_id", "message_id", "status", "clarification_question", "message")
"""What is answered of a workflow when a turn begins or ends."""
REMEMBERED: Json = object_schema({"nodes": {"type": "array", "items": _TEXT}, "message": _TEXT})
"""What is answered of the conversation that a turn's end is remembered as."""
_log = logging.getLogger(__name__)


class WorkflowEndpoints:
    """The endpoints of workflows.

    Args:
        desk: Where the banks are.
    """

    def __init__(self, desk: BankThreads) -> None:
        self._desk = desk
        self._searches: set[asyncio.Task[None]] = set()

    async def execute(self, request: Request) -> Response:
        """Handle ``POST /workflow/execute``: 201 with the turn that was begun, 409 while another one is under way."""
        check_query(request, "POST /workflow/execute", ())
        fields = Arguments("POST /workflow/execute", EXECUTE, (), await body_of(request))
        preferences, project = fields.get("preferences", {}), fields.optional_text("project_id")
        user = fields.get("user_id", "") or _named(preferences, "user_id")
        role = fields.get("user_role", "") or _named(preferences, "user_role")
        said, workflow_id = fields.get("user_input", ""), fields.get("workflow_id", "")
        asks = fields.get("ask_clarifications", True)
        workflow = await self._desk.use(
            request,
            lambda bank: bank.workflows.execute(said, workflow_id=workflow_id, ask=asks, user=user, role=role),
            project,
            makes=True,
        )
        if workflow.status == "running":
            self._search(request, workflow.id, project)
        return JSONResponse(_begun(workflow), status_code=201)

    async def answer(self, request: Request) -> Response:
        """Handle ``POST /workflow/ai-answer``: ends the turn."""
        check_query(request, "POST /workflow/ai-answer", ())
        fields = Arguments("POST /workflow/ai-answer", ANSWER, ("workflow_id",), await body_of(request))
        workflow = await self._desk.use(
            request,
            lambda bank: bank.workflows.answer(
                fields.get("workflow_id", ""),
                fields.get("message_id", ""),
                fields.get("response", ""),
                reasoning=fields.get("reasoning", ""),
                tool_calls=fields.get("tool_calls", ()),
            ),
            fields.optional_text("project_id"),
        )
        return JSONResponse({**_begun(workflow), "remembered": dict(workflow.events[-1].payload)["remembered"]})

    async def ticket(self, request: Request) -> Response:
        """Handle ``POST /workflow/ticket``: 201 with a ticket that opens one WebSocket within thirty seconds."""
        check_query(request, "POST /workflow/ticket", ())
        await self._desk.use(request, lambda bank: bank.scope, reads=True)  # who may not read is given none
        given, user = request.scope.get(TICKETS), request.scope.get("user")
        if not isinstance(given, Tickets) or not isinstance(user, AuthenticatedUser):
            raise MissingTenantError("no ticket: the request came without a token")
        return JSONResponse({"ticket": given.give(user), "seconds": TICKET_SECONDS}, status_code=201)

    async def get(self, request: Request) -> Response:
        """Handle ``GET /workflow/{workflow_id}``: the workflow as it is, its turns included."""
        workflow_id = request.path_params["workflow_id"]
        check_query(request, "GET /workflow/{workflow_id}", ())
        workflow = await self._desk.use(request, lambda bank: bank.workflows.get(workflow_id), reads=True)
        await self._resume(request, workflow)
        return JSONResponse(to_json(workflow))

    async def follow(self, socket: WebSocket) -> None:
        """Handle ``WS /workflow/ws/{workflow_id}``: events later than ``cursor`` as they come; or results alone."""
        workflow_id = socket.path_params["workflow_id"]
        try:
            check_query(socket, "WS /workflow/ws/{workflow_id}", ("cursor", "final_only", PARAMETER))
            cursor, final_only = query_whole(socket, "cursor", 0), query_flag(socket, "final_only")
            workflow = await self._desk.use(socket, lambda bank: bank.workflows.get(workflow_id), reads=True)
        except BankError as error:
            await socket.send_denial_response(refusal(error))
            return
        await socket.accept()
        await self._resume(socket, workflow)
        listening = asyncio.create_task(self._listen(socket, workflow_id))
        try:
            while not listening.done():
                for event in workflow.after(cursor, final_only=final_only):
                    await socket.send_json(to_json(event))
                cursor = max(cursor, workflow.cursor)
                await asyncio.wait({listening}, timeout=LOOK_EVERY)
                workflow = await self._desk.use(socket, lambda bank: bank.workflows.get(workflow_id), reads=True)
        except (WebSocketDisconnect, RuntimeError):
            return
        except BankError as error:
            await _closed(socket, error)
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _listen(self, socket: WebSocket, workflow_id: str) -> None:
        """Do what the client commands, until it goes away."""
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            try:
                answer = await self._commanded(socket, workflow_id, message.get("text") or "")
            except BankError as error:
                answer = {"event": "error", "payload": to_json(error)}
            if socket.application_state is not WebSocketState.CONNECTED:
                return
            await socket.send_json(answer)

    async def _commanded(self, socket: WebSocket, workflow_id: str, text: str) -> Mapping[str, object]:
        command = _command(text)
        if command == "get_final":
            workflow = await self._desk.use(socket, lambda bank: bank.workflows.get(workflow_id), reads=True)
            final = [to_json(event) for event in workflow.events if event.final and _of_turn(event, workflow)]
            return {"event": "final", "payload": {"status": workflow.status, "events": final}}
        workflow = await self._desk.use(socket, lambda bank: bank.workflows.cancel(workflow_id))
        return {"event": "cancelled", "payload": {"status": workflow.status, "message_id": workflow.message_id}}

    def _search(self, connection: HTTPConnection, workflow_id: str, project: str | None) -> None:
        """Find the memories of a turn besides."""

        async def search() -> None:
            try:
                await self._desk.use(connection, lambda bank: bank.workflows.search(workflow_id), project)
            except BankError as error:
                _log.warning("workflow %s was not searched: %s", workflow_id, error.advice)

        task = asyncio.create_task(search())
        self._searches.add(task)
        task.add_done_callback(self._searches.discard)

    async def _resume(self, connection: HTTPConnection, workflow: Workflow) -> None:
        """Take up a search that somebody has begun who no longer answers."""
        if await self._desk.use(connection, lambda bank: bank.workflows.stalled(workflow), reads=True):
            self._search(connection, workflow.id, None)


def _begun(workflow: Workflow) -> dict[str, object]:
    """Return a workflow without its turns."""
    answer = to_json(workflow)
    return {name: answer[name] for name in BEGUN}


def _command(text: str) -> str:
    if len(text) > _MAX_COMMAND:
        raise InvalidInput(f"a command has at most {_MAX_COMMAND} characters", hint='Send {"command": "get_final"}.')
    sent = Arguments("a command", {"command": _TEXT}, ("command",), json_object(text, "a command"))
    command: str = sent.value("command")
    if command not in {"get_final", "cancel"}:
        raise InvalidInput(f"there is no command {command[:40]!r}", hint="The commands are get_final and cancel.")
    return command


def _of_turn(event: WorkflowEvent, workflow: Workflow) -> bool:
    return event.payload.get("message_id") == workflow.message_id


def _named(preferences: Mapping[str, object], name: str) -> str:
    value = preferences.get(name, "")
    return value if isinstance(value, str) else ""


async def _closed(socket: WebSocket, error: BankError) -> None:
    if socket.application_state is WebSocketState.CONNECTED:
        await socket.send_json({"event": "error", "payload": to_json(error)})
        await socket.close(code=1011)
