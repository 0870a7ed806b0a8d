"""``rbank serve``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command


@bank_command("serve", COMMANDS["serve"])
@click.option("--http", "address", default=None, metavar="HOST:PORT", help="Streamable HTTP at /mcp instead of stdio.")
@click.option(
    "--profile",
    default=None,
    metavar="NAME",
    help="Which tools: core, learning (and distilling), experience (and its search), graph. Default: the setting.",
)
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="HOST[:PORT]",
    help="A further Host header to accept with --http, as behind a proxy; may be given several times.",
)
@click.option("--web", is_flag=True, help="REST and WebSocket besides; without --http at 127.0.0.1:8765.")
def command(call: Call, *, address: str | None, profile: str | None, allowed_hosts: tuple[str, ...], web: bool) -> None:
    """Answers MCP clients until they go away; the tenant is fixed for the server's life."""
    from reasoningbank.mcp import serve_http, serve_stdio
    from reasoningbank.settings import load_settings

    place = host_and_port(address or "127.0.0.1:8765") if address is not None or web else None
    if place is None and allowed_hosts:
        raise click.UsageError("--allowed-host belongs to --http.")
    settings = load_settings()
    tenant, membership = call.owner(settings), call.membership(settings)
    if place is None:
        serve_stdio(url=call.url, tenant=tenant, project=call.project, profile=profile, membership=membership)
    else:
        serve_http(
            url=call.url,
            tenant=tenant,
            project=call.project,
            host=place[0],
            port=place[1],
            allowed_hosts=allowed_hosts,
            profile=profile,
            membership=membership,
            web=web,
        )


def host_and_port(address: str) -> tuple[str, int]:
    """Splits ``127.0.0.1:8000``, ``[::1]:8000`` or ``:8000``, whose host is the loopback."""
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65_535 or any(c.isspace() for c in host):
        raise click.UsageError(f"{address!r} is not HOST:PORT; for example 127.0.0.1:8765.")
    return host, int(port)
