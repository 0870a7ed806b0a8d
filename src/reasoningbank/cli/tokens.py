"""``rbank token create``, ``list`` and ``revoke``: what the clients of the HTTP server identify themselves with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reasoningbank.cli.call import Call, command
from reasoningbank.cli.output import print_json, print_note, print_text

if TYPE_CHECKING:
    from reasoningbank.types.access import BearerToken, TokenRegister

_SCOPES = ("read", "write", "admin")
_UNTIL_SEEN = "Servers that run already notice it within seconds."


@command(
    "create",
    "Make a token for the HTTP server and show it once.",
    click.Argument(["name"], required=False, default=""),
    click.Option(
        ["--scope", "scopes"],
        multiple=True,
        metavar="SCOPE",
        help=f"What it allows: {', '.join(_SCOPES)}, each with those before it; may be given several times. "
        "Default: write.",
    ),
)
def create(call: Call, *, name: str, scopes: tuple[str, ...]) -> None:
    """Make a token of the tenant and print it; only its hash is kept, so it is never shown again.

    NAME says what it is for. With --team and --org its projects belong to these. ``read`` searches and looks,
    ``write`` records and rates as well, ``admin`` deletes, erases and quarantines too.
    """
    from datetime import UTC, datetime

    from reasoningbank.mcp.tokens import new_token
    from reasoningbank.settings import load_settings

    settings = load_settings()
    text, token = new_token(
        call.owner(settings),
        scopes=scopes or ("write",),
        name=name,
        membership=call.membership(settings),
        created=datetime.now(UTC),
    )
    _register(call).add(token)
    if call.as_json:
        print_json({"token": text, **_shown(token)})
        return
    print_text(text)
    print_note(f"Token {token.id} of tenant {token.tenant} may {', '.join(token.scopes)}. It is not shown again.")


@command("list", "List the tokens of the tenant; never the tokens themselves.")
def listed(call: Call) -> None:
    """List the tokens of the tenant that ``rbank token create`` has made: id, scopes, name, when."""
    from reasoningbank.settings import load_settings

    tokens = _register(call).tokens(call.owner(load_settings()))
    if call.as_json:
        print_json({"tokens": [_shown(token) for token in tokens]})
        return
    lines = [
        f"{token.id}  {','.join(token.scopes):<16}  {f'{token.created:%Y-%m-%d}' if token.created else '-':<10}  "
        f"{token.name}".rstrip()
        for token in tokens
    ]
    print_text("\n".join(lines) or "There is no token; `rbank token create` makes one.")


@command("revoke", "Let a token be refused from now on.", click.Argument(["token_id"], metavar="ID"))
def revoke(call: Call, *, token_id: str) -> None:
    """Remove a token of the tenant by its ID, as ``rbank token list`` shows it; a unique beginning is enough."""
    from reasoningbank.cli.identifiers import only
    from reasoningbank.errors import NotFound
    from reasoningbank.settings import load_settings
    from reasoningbank.types.identifier import SHORTEST_BEGINNING, Identified

    tenant, register = call.owner(load_settings()), _register(call)
    if len(token_id) >= SHORTEST_BEGINNING:
        meant = [each for each in register.tokens(tenant) if each.id.startswith(token_id)]
        token_id = only([Identified(id=each.id, title=each.name) for each in meant], token_id, by_agent=False)
    if not register.revoke(tenant, token_id):
        raise NotFound(f"tenant {tenant[:80]!r} has no token {token_id[:80]!r}", hint="`rbank token list` lists them.")
    if call.as_json:
        print_json({"revoked": token_id})
        return
    print_text(f"Token {token_id} is revoked. {_UNTIL_SEEN}")


def _register(call: Call) -> TokenRegister:
    from reasoningbank.mcp.tokens import register_of
    from reasoningbank.settings import load_settings

    settings = load_settings()
    return register_of(call.url or settings.url or None, settings.home)


def _shown(token: BearerToken) -> dict[str, object]:
    """Return a token for people and programs, without its digest."""
    return {
        "id": token.id,
        "tenant": token.tenant,
        "scopes": list(token.scopes),
        "name": token.name,
        "team": token.membership.team,
        "org": token.membership.org,
        "created": token.created.isoformat() if token.created else None,
    }
