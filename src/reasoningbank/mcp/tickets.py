"""Tickets that open one WebSocket: a browser cannot send a token with one, and logs keep addresses."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser

TICKET_SECONDS = 30.0
PARAMETER = "ticket"
"""The parameter of a WebSocket's address that holds the ticket."""
TICKETS = "reasoningbank.tickets"
"""Where the gate puts itself in a connection's scope, so that an endpoint can give tickets."""
_MOST = 10_000


class Tickets:
    """Tickets that were given and not used yet, in this process alone."""

    def __init__(self) -> None:
        self._given: OrderedDict[str, tuple[float, AuthenticatedUser]] = OrderedDict()

    def give(self, user: AuthenticatedUser) -> str:
        """Return a ticket for one WebSocket of a known sender."""
        now = time.monotonic()
        while self._given and (len(self._given) >= _MOST or next(iter(self._given.values()))[0] <= now):
            self._given.popitem(last=False)
        ticket = secrets.token_urlsafe(32)
        self._given[ticket] = (now + TICKET_SECONDS, user)
        return ticket

    def taken(self, ticket: str) -> AuthenticatedUser | None:
        """Return who a ticket stands for; None when there is no such ticket, it was used or it is too old."""
        until, user = self._given.pop(ticket, (0.0, None))
        return user if until > time.monotonic() else None
