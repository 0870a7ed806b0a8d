"""Who calls a tool and what the tool says; light, so that a server can answer before anything else is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reasoningbank.types.access import ACCESSES
from reasoningbank.types.scope import Membership

if TYPE_CHECKING:
    from reasoningbank.mcp.banks import UsualProject


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls: never taken from an argument, except the session, which a call may name.

    Attributes:
        tenant: From the token on HTTP, from the local user on stdio (DESIGN D9).
        membership: The team and org, from the token on HTTP, from the configuration on stdio.
        session: What a call counts for when it names no session.
        usual: The project of calls that name none; None for the server's.
        principal: Who speaks, whatever the sessions are called: the client's process or the token; empty where the
            session itself is all that is known (DESIGN D16).
        scopes: What the token allows on HTTP; on stdio everything.
    """

    tenant: str
    session: str
    membership: Membership = field(default_factory=Membership)
    usual: UsualProject | None = None
    principal: str = ""
    scopes: tuple[str, ...] = ACCESSES


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """Hold what a tool says.

    Attributes:
        fields: The structured content.
        text: The same for a reader.
        failed: True when it is an error.
    """

    fields: Mapping[str, object]
    text: str
    failed: bool = False
