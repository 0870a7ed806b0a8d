"""What the bearer of a token may do: read, write, or all that a tenant may."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from reasoningbank.errors import AccessDenied
from reasoningbank.types.scope import Membership

Access: TypeAlias = Literal["read", "write", "admin"]
ACCESSES: tuple[Access, ...] = ("read", "write", "admin")
"""The scopes of a token; each allows all that those before it allow.

``read`` searches and looks, ``write`` records and rates as well, ``admin`` deletes, erases and quarantines too.
"""


def allows(scopes: Collection[str], needed: Access) -> bool:
    """Return whether one of these scopes allows what needs this one."""
    return any(scope in scopes for scope in ACCESSES[ACCESSES.index(needed) :])


def check_access(scopes: Collection[str], needed: Access) -> None:
    """Refuse what needs a scope that a token does not have.

    Raises:
        AccessDenied: When none of its scopes allows it.
    """
    if not allows(scopes, needed):
        had = ", ".join(scopes) or "none"
        raise AccessDenied(
            f"this needs a token with the scope {needed}; the token has {had}",
            hint=f"Ask for one of `rbank token create --scope {needed}`.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerToken:
    """A bearer token as it is kept: the token itself is not.

    Attributes:
        id: What people name it by.
        sha256: The SHA-256 of the token, in hexadecimal digits.
        tenant: Whom it stands for.
        scopes: What it allows.
        name: What it is for, for people.
        membership: The team and org of its projects.
        created: When it was made; None where that is not known.
    """

    id: str
    sha256: str
    tenant: str
    scopes: tuple[Access, ...] = ACCESSES
    name: str = ""
    membership: Membership = field(default_factory=Membership)
    created: datetime | None = None


class TokenRegister(Protocol):
    """The tokens of all tenants in one place, which any number of servers read."""

    def tokens(self, tenant: str) -> list[BearerToken]:
        """Return the tokens of a tenant, oldest first."""

    def add(self, token: BearerToken) -> None:
        """Keep a new token."""

    def revoke(self, tenant: str, token_id: str) -> bool:
        """Remove a tenant's token; return whether there was one."""

    def found(self, place: str, sha256: str) -> BearerToken | None:
        """Return the token of this digest.

        Args:
            place: The digest of the tenant's name as the token claims it; what it does not hold is not found.
            sha256: The digest of the token.
        """
