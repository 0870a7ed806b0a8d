"""A command that needs the embedding model lets the user's shared server do it, when that runs: its model is loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import BankError
from reasoningbank.operations.said import Said

if TYPE_CHECKING:
    from reasoningbank.cli.call import Call
    from reasoningbank.operations.operation import Operation

ANSWER_SECONDS = 60.0


def served(call: Call, operation: Operation, values: Mapping[str, object]) -> Said | None:
    """Return what the shared server says to a command; None when the command has to do the work itself.

    No server is started for a command: one that runs once would gain nothing.

    Raises:
        StoreError: When the server was asked to write and did not answer, so that doing it here could do it twice.
        BankError: What the operation raised there.
    """
    from reasoningbank.client_sessions import client_process, session_of
    from reasoningbank.integrations.shared_server import Unanswered, ask, question, undone
    from reasoningbank.settings import load_settings, project_of
    from reasoningbank.types.scope import Scope

    settings = load_settings()
    try:
        json.dumps([*values.values()])
    except (TypeError, ValueError):
        return None
    if not settings.shared or not settings.home.is_dir():
        return None
    project = settings.project if call.project is None else call.project
    scope = Scope(tenant=call.owner(settings), project=project or project_of(Path.cwd()))
    session = session_of(settings.home, client_process())
    body = {"method": operation.method, "values": dict(values), "as_json": call.as_json, "session": session}
    asked = question("command", scope, call.membership(settings), call.url or settings.url, body)
    writes = not operation.reads
    try:
        answer = ask(settings, asked, start=False, seconds=ANSWER_SECONDS)
    except Unanswered as error:
        if writes:
            raise undone("the shared server ended before it answered") from error
        return None
    if answer is None:
        return None
    told = answer.get("error")
    if isinstance(told, dict):
        raise _error(told)
    said = Said.read(answer)
    if said is None and answer and writes:
        raise undone("the shared server gave an answer that cannot be read")
    return said


def _error(fields: Mapping[str, object]) -> BankError:
    """Return the error that was raised in the server, as one of this process."""
    kinds: list[type[BankError]] = [BankError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    found = next((kind for kind in kinds if kind.code == fields.get("error")), BankError)
    error = found.__new__(found)
    BankError.__init__(error, str(fields.get("message", "")), hint=str(fields.get("hint", "")))
    return error
