"""Who looks at the dashboard: a person who signed in with a token, or came by a one-time link, and a browser's cookie.

A cookie names a sign-in that this process keeps; the token itself is never sent to the browser. Whoever signs in acts
as a person (DESIGN D16), so the token must allow ``admin``: a client's token of fewer scopes does not sign in.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection
    from starlette.types import Scope

    from reasoningbank.mcp.tokens import Grants

HOME = "/dashboard"
"""Where the pages begin; the cookie is sent nowhere else."""
COOKIE = "reasoningbank"
SIGNED_IN = "reasoningbank.signed_in"
"""Where the gate notes the sign-in of a request."""
SIGN_IN_SECONDS = 12 * 3_600.0
LINK_SECONDS = 600.0
"""Seconds in which a one-time link opens the dashboard."""
NEEDED = "admin"
"""The scope that a token must allow to sign in."""
_MOST = 1_000
_NOTES = 5


@dataclass(slots=True)
class SignedIn:
    """One browser of a person.

    Attributes:
        user: Whom its token stands for.
        csrf: What every form of its pages carries.
        until: When it ends, by the clock of this process.
        token: What is checked again at every request; empty for the server's own token.
        notes: What the next page tells about what was done.
    """

    user: AuthenticatedUser
    csrf: str
    until: float
    token: str = ""
    notes: list[str] = field(default_factory=list)

    def carries(self, csrf: str) -> bool:
        """Return whether a form comes from a page of this browser."""
        return hmac.compare_digest(csrf.encode("utf-8", "surrogatepass"), self.csrf.encode())

    def note(self, text: str) -> None:
        """Tell something on the next page."""
        self.notes = [*self.notes, text][-_NOTES:]

    def told(self) -> list[str]:
        """Return what is to be told, once."""
        notes, self.notes = self.notes, []
        return notes


def of_dashboard(path: str) -> bool:
    """Return whether a path belongs to the dashboard."""
    return path in {"/", HOME} or path.startswith(f"{HOME}/")


def signed_in(scope: Scope) -> SignedIn | None:
    """Return the sign-in that the gate has noted."""
    found = scope.get(SIGNED_IN)
    return found if isinstance(found, SignedIn) else None


class Browsers:
    """The browsers that are signed in, and the links that open one; both end with the process.

    Args:
        grants: The tokens.
    """

    def __init__(self, grants: Grants) -> None:
        self._grants = grants
        self._known: OrderedDict[str, SignedIn] = OrderedDict()
        self._links: OrderedDict[str, float] = OrderedDict()

    def link(self) -> str:
        """Return the key of a new link, which signs one browser in as the server's own tenant."""
        key = secrets.token_urlsafe(32)
        self._links[_digest(key)] = time.monotonic() + LINK_SECONDS
        while len(self._links) > _MOST:
            self._links.popitem(last=False)
        return key

    async def by_token(self, token: str) -> str | None:
        """Return the cookie of a new sign-in; None when the token is not known or does not allow ``admin``."""
        found = await self._grants.verify_token(token)
        if found is None or NEEDED not in found.scopes:
            return None
        return self._begin(AuthenticatedUser(found), token.strip())

    def by_link(self, key: str) -> str | None:
        """Return the cookie of a new sign-in; None when there is no such link, it was used or it is too old."""
        if self._links.pop(_digest(key), 0.0) <= time.monotonic():
            return None
        return self._begin(AuthenticatedUser(self._grants.own), "")

    async def of(self, connection: HTTPConnection) -> SignedIn | None:
        """Return the sign-in of a request; None without one, or when its token was revoked meanwhile."""
        name = _digest(connection.cookies.get(COOKIE, ""))
        found = self._known.get(name)
        if found is None:
            return None
        revoked = bool(found.token) and await self._grants.verify_token(found.token) is None
        if revoked or found.until <= time.monotonic():
            self._known.pop(name, None)
            return None
        return found

    def end(self, connection: HTTPConnection) -> None:
        """Sign a browser out."""
        self._known.pop(_digest(connection.cookies.get(COOKIE, "")), None)

    def _begin(self, user: AuthenticatedUser, token: str) -> str:
        cookie = secrets.token_urlsafe(32)
        until = time.monotonic() + SIGN_IN_SECONDS
        self._known[_digest(cookie)] = SignedIn(user, secrets.token_urlsafe(32), until, token)
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
        return cookie


def _digest(secret: str) -> str:
    """Return what is kept of a secret, so that looking it up takes a time that tells nothing of it."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
