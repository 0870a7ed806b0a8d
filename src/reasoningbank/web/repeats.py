"""Requests that are sent again: an ``Idempotency-Key`` makes a POST count once.

The answer of a request that carried a key is kept for a day, in this process alone: the same request with the same key
gets it again and nothing is done. After a restart of the server the keys are forgotten.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from reasoningbank.errors import InvalidInput
from reasoningbank.mcp.problems import problem
from reasoningbank.mcp.protocol_sessions import principal_in
from reasoningbank.web.requests import RequestHandler, body_of

HEADER = "idempotency-key"
KEPT_SECONDS = 86_400.0
MOST_KEPT = 10_000
"""Most answers that are kept; the oldest go first."""
_MOST_BODY = 1 << 16
_MOST_KEY = 255
_REUSED = (
    "idempotency_key_reused",
    "this Idempotency-Key came with another request before",
    "Use a new key for each request, and the same one only to send it again.",
)
_UNDER_WAY = (
    "request_under_way",
    "the request with this Idempotency-Key is still being done",
    "Wait, then send it again.",
)


@dataclass(slots=True)
class _Kept:
    """What is known of a key.

    Attributes:
        digest: Of the request that it came with.
        at: When, in seconds of a clock that never goes back.
        answer: Status, body and media type; None while the request is being done.
    """

    digest: bytes
    at: float
    answer: tuple[int, bytes, str] | None = None


class Repeats:
    """The answers that were given under idempotency keys."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()

    def once(self, handler: RequestHandler) -> RequestHandler:
        """Return the handler of a POST, which does what comes with one key of one token once.

        Answers that say that something failed are not kept: then the request may be sent again.
        """

        async def handle(request: Request) -> Response:
            key = request.headers.get(HEADER)
            if key is None:
                return await handler(request)
            if not key.strip() or len(key) > _MOST_KEY or not key.isprintable():
                raise InvalidInput(f"an Idempotency-Key has 1 to {_MOST_KEY} printable characters")
            place = (principal_in(request.scope), key)
            digest = await _digest(request)
            known = self._known(place)
            if known is not None and known.digest != digest:
                return problem(422, *_REUSED)
            if known is not None and known.answer is None:
                return problem(409, *_UNDER_WAY)
            if known is not None and known.answer is not None:
                status, body, kind = known.answer
                return Response(body, status, {"Idempotency-Replayed": "true"}, media_type=kind)
            self._note(place, digest)
            try:
                answer = await handler(request)
            except BaseException:
                self._kept.pop(place, None)
                raise
            body = bytes(answer.body)
            kept = self._kept.get(place)
            if kept is not None and answer.status_code < 400 and len(body) <= _MOST_BODY:
                kept.answer = (answer.status_code, body, answer.media_type or "application/json")
            else:
                self._kept.pop(place, None)
            return answer

        return handle

    def _known(self, place: tuple[str, str]) -> _Kept | None:
        """Return what is known of a key; what is too old is forgotten first."""
        now = time.monotonic()
        while self._kept and now - next(iter(self._kept.values())).at > KEPT_SECONDS:
            self._kept.popitem(last=False)
        return self._kept.get(place)

    def _note(self, place: tuple[str, str], digest: bytes) -> None:
        self._kept[place] = _Kept(digest=digest, at=time.monotonic())
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)


async def _digest(request: Request) -> bytes:
    """Return what tells requests apart: method, path, query and what the body says, in whatever spaces and order."""
    place = f"{request.method} {request.url.path}?{request.url.query}\n"
    said = json.dumps(await body_of(request), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(f"{place}{said}".encode()).digest()
