"""Requests and answers in JSON: who asks, what was sent, and an error of the tree as a status with code and hint."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar, cast

from anyio import CapacityLimiter, to_thread
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response

from reasoningbank.errors import (
    BankError,
    InvalidInput,
    MissingTenantError,
    ModelError,
    NotFound,
    PolicyError,
    StoreBusy,
    StoreError,
    WorkflowBusy,
    WrongMediaType,
)
from reasoningbank.mcp.problems import problem
from reasoningbank.mcp.protocol_sessions import principal_in, scopes_in, session_of_day
from reasoningbank.mcp.server import AT_ONCE
from reasoningbank.types.access import check_access
from reasoningbank.types.scope import Membership

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.mcp.banks import Banks

Answer = TypeVar("Answer")
RequestHandler = Callable[[Request], Awaitable[Response]]

PROJECT = "project_id"
"""The parameter of every query that names the project."""
_JSON = "application/json"
_MOST_DIGITS = 15
TENANT, MEMBERSHIP = "reasoningbank.tenant", "reasoningbank.membership"
"""What the gate notes in a connection's scope."""
_STATUS: tuple[tuple[type[BankError], int], ...] = (
    (WrongMediaType, 415),
    (NotFound, 404),
    (WorkflowBusy, 409),
    (InvalidInput, 400),
    (MissingTenantError, 401),
    (PolicyError, 403),
    (StoreBusy, 503),
    (StoreError, 500),
    (ModelError, 502),
)
_log = logging.getLogger(__name__)


class BankThreads:
    """The banks of a server, and the threads in which they are used.

    Args:
        banks: The banks.
    """

    def __init__(self, banks: Banks) -> None:
        self._banks = banks
        self._places: CapacityLimiter | None = None

    async def use(
        self,
        connection: HTTPConnection,
        work: Callable[[Bank], Answer],
        project: str | None = None,
        *,
        makes: bool = False,
        reads: bool = False,
        admin: bool = False,
        person: bool = False,
    ) -> Answer:
        """Do something with the bank of whom the connection's token stands for.

        Args:
            connection: A request or a WebSocket.
            work: Told the bank, gives the answer; runs in a thread.
            project: The project; None for the query parameter ``project_id``, else the server's.
            makes: Whether it stores something new, so that a named project without a bank gets one.
            reads: Whether it only reads, so that the server's project without a bank is an empty one.
            admin: Whether it takes a token with the scope ``admin``.
            person: Whether a person does it, who is signed in to the dashboard, and not an agent.

        Raises:
            AccessDenied: When the connection's token does not allow it.
        """
        check_access(scopes_in(connection.scope), "admin" if admin else "read" if reads else "write")
        if self._places is None:
            self._places = CapacityLimiter(AT_ONCE)

        def used() -> Answer:
            with self._bank(connection, project, makes=makes, reads=reads, person=person) as bank:
                return work(bank)

        return await to_thread.run_sync(used, limiter=self._places)

    @contextmanager
    def _bank(
        self, connection: HTTPConnection, project: str | None, *, makes: bool, reads: bool, person: bool
    ) -> Iterator[Bank]:
        from reasoningbank.mcp.banks import belonging
        from reasoningbank.memories.standing import speaking

        tenant = connection.scope.get(TENANT)
        if not isinstance(tenant, str):
            raise MissingTenantError("no tenant: the request came without a token")
        named = project if project is not None else connection.query_params.get(PROJECT)
        if named and not makes and not self._banks.has(tenant, self._banks.project(named)):
            close = get_close_matches(named, self._banks.existing(tenant), n=3)
            meant = f"Did you mean {' or '.join(close)}?"
            raise NotFound(
                f"there is no project {named[:80]!r}",
                hint=meant if close else "A project is made by what is first stored in it.",
            )
        membership = cast("Membership", connection.scope.get(MEMBERSHIP, Membership()))
        with (
            belonging(membership),
            nullcontext()
            if person
            else speaking(principal_in(connection.scope), session_of_day(connection.scope), "rest"),
            self._banks.use(tenant, self._banks.project(named or None), reads=reads or not makes) as bank,
        ):
            yield bank


def answering(handler: RequestHandler) -> RequestHandler:
    """Return the handler with every error as JSON: ``error``, ``message``, ``hint`` and the status of its class."""

    async def answer(request: Request) -> Response:
        try:
            return await handled(handler, request)
        except BankError as error:
            return refusal(error)

    return answer


async def handled(handler: RequestHandler, request: Request) -> Response:
    """Return what the handler answers; a defect of ours is an error of the tree, told apart in the log.

    Raises:
        BankError: Whatever went wrong.
    """
    try:
        return await handler(request)
    except BankError:
        raise
    except Exception as error:
        _log.exception("%s %s failed", request.method, request.url.path)
        raise BankError(
            f"the server failed: {type(error).__name__}", hint="This is a defect of the server; its log says where."
        ) from error


def refusal(error: BankError) -> JSONResponse:
    """Return an error as an answer."""
    return problem(status_of(error), error.code, str(error), error.hint)


def status_of(error: BankError) -> int:
    """Return the HTTP status of an error; 500 for what has none of its own."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


async def body_of(request: Request) -> Mapping[str, object]:
    """Return the JSON object that was sent.

    Raises:
        WrongMediaType: When it is not said to be JSON: a page of another site can send such a body unasked.
        InvalidInput: When it is not a JSON object, or names a field of an object twice.
    """
    said = request.headers.get("content-type", "")
    if said.partition(";")[0].strip().lower() != _JSON:
        named = f"{said[:80]!r}" if said else "nothing"
        raise WrongMediaType(f"the request body must be {_JSON}; Content-Type says {named}")
    return json_object(await request.body(), "the request body")


def json_object(sent: str | bytes, what: str) -> Mapping[str, object]:
    """Return the JSON object of a body or a message.

    Args:
        sent: What was sent.
        what: What it is called in an error.

    Raises:
        InvalidInput: When it is not a JSON object, or names a field of an object twice: parsers differ in which of the
            two they take.
    """

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        value: dict[str, object] = {}
        for name, each in pairs:
            if name in value:
                raise InvalidInput(
                    f"{what} has the field {name[:80]!r} twice in one object", hint="Send each field once."
                )
            value[name] = each
        return value

    try:
        value = json.loads(sent, object_pairs_hook=unique)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except InvalidInput:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} is not JSON", hint="Send one JSON object in UTF-8.") from error
    if not isinstance(value, dict):
        raise InvalidInput(f"{what} must be a JSON object", hint="Send one JSON object.")
    return value


def check_query(connection: HTTPConnection, place: str, known: Sequence[str], lists: Sequence[str] = ()) -> None:
    """Refuse a parameter of the query that an endpoint does not have, and one that is given twice and is no list.

    Args:
        connection: The request, or the WebSocket.
        place: The endpoint, as its description names it.
        known: Its own parameters; every endpoint has ``project_id`` as well.
        lists: Those of them that may be given several times.

    Raises:
        InvalidInput: When there is one, or one is given twice that is no list; the message names it.
    """
    for name in connection.query_params:
        if name not in {PROJECT, *known}:
            raise InvalidInput(
                f"there is no parameter {name[:80]!r} of {place}",
                hint=f"The parameters of its query are {', '.join([PROJECT, *known])}.",
            )
        if name not in lists and len(connection.query_params.getlist(name)) > 1:
            raise InvalidInput(f"{name} is given twice", hint=f"Give {name} once; it is no list.")


def query_whole(connection: HTTPConnection, name: str, default: int) -> int:
    """Return a whole number of the query.

    Raises:
        InvalidInput: When it is none.
    """
    text = connection.query_params.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.removeprefix("-").isdigit():
        raise InvalidInput(f"{name}: must be a whole number, not {text[:40]!r}")
    if len(text) > _MOST_DIGITS:
        raise InvalidInput(f"{name}: must be a whole number of at most {_MOST_DIGITS} digits, not {text[:40]!r}")
    return int(text)


def query_flag(connection: HTTPConnection, name: str) -> bool:
    """Return whether a parameter of the query says yes.

    Raises:
        InvalidInput: When it says neither yes nor no.
    """
    text = connection.query_params.get(name, "").casefold()
    if text in {"", "0", "false", "no"}:
        return False
    if text in {"1", "true", "yes"}:
        return True
    raise InvalidInput(f"{name}: must be true or false, not {text[:40]!r}")
