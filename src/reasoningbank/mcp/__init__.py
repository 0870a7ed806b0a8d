"""Memory over the Model Context Protocol: the tools of a profile on stdio and streamable HTTP.

Importing this package costs nothing; the protocol SDK is imported when a server starts.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from reasoningbank.mcp.banks import Banks
    from reasoningbank.mcp.http import MakeDashboard
    from reasoningbank.settings import Settings
    from reasoningbank.types.scope import Membership

__all__ = ["serve_http", "serve_stdio"]


def serve_stdio(
    *,
    url: str | None = None,
    tenant: str | None = None,
    project: str | None = None,
    profile: str | None = None,
    membership: Membership | None = None,
    settings: Settings | None = None,
    shared: bool = True,
) -> None:
    """Serve one client over standard input and output until it is gone.

    Unless it is switched off, this process is a relay to the one server that all clients of the user share, and that
    server is started when there is none. Where that cannot be, this process serves by itself.

    Args:
        url: Where banks live; None for the configured place.
        tenant: The owner of everything the client sees; None for the configured tenant, else the local user.
        project: The project of calls that name none; None for the configured one, else the working directory's.
        profile: Which tools there are; None for the configured profile.
        membership: The team and org of the projects; None for the configured ones.
        settings: Instead of the environment and the settings file; then the server is not shared.
        shared: Allow a shared server; the setting of that name must allow it too.

    Raises:
        ConfigurationError: When a setting is not usable.
    """
    from reasoningbank.mcp.standard_streams import private_descriptors
    from reasoningbank.settings import load_settings

    parent = os.getppid()
    shared = shared and settings is None
    settings = settings or load_settings()
    with private_descriptors() as (source, sink):
        if shared and _relayed(settings, source, sink, parent, url, tenant, project, profile, membership):
            return
        with _collecting_nothing():
            from reasoningbank.mcp.stdio import run

        run(
            settings,
            source,
            sink,
            parent=parent,
            url=url,
            tenant=tenant,
            project=project,
            profile=profile,
            membership=membership,
        )


def _relayed(
    settings: Settings,
    source: int,
    sink: int,
    parent: int,
    url: str | None,
    tenant: str | None,
    project: str | None,
    profile: str | None,
    membership: Membership | None,
) -> bool:
    """Be a relay to the shared server until the client is gone; False at once where there can be none."""
    from reasoningbank.client_sessions import Connection
    from reasoningbank.integrations.shared_server import Greeting, join, place_of
    from reasoningbank.mcp.schemas import tools_of
    from reasoningbank.processes import process_of
    from reasoningbank.settings import absolute_url, local_tenant

    wanted = settings.profile if profile is None else profile
    tools = tools_of(wanted)
    banks = url or settings.url
    banks = absolute_url(banks) if banks else ""
    place = place_of(settings, banks)
    if place is None:
        return False
    Connection(settings.home, parent, banks).note()  # a client is answered before the shared server knows of it
    try:
        directory = os.getcwd()  # noqa: PTH109 - a text is wanted
        connection = join(place, start=True)
    except OSError:
        return False
    assert connection is not None
    greeting = Greeting(
        kind="mcp",
        tenant=tenant if tenant is not None else settings.tenant or local_tenant(),
        project=settings.project if project is None else project,
        directory=directory,
        profile=wanted,
        team=settings.team if membership is None else membership.team,
        org=settings.org if membership is None else membership.org,
        url=banks,
        parent=process_of(parent),
    )
    from reasoningbank.mcp.relay import relayed

    relayed(source, sink, place, greeting, tools, connection)
    return True


def serve_http(
    *,
    url: str | None = None,
    tenant: str | None = None,
    project: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8765,
    allowed_hosts: Sequence[str] = (),
    profile: str | None = None,
    membership: Membership | None = None,
    web: Callable[[Banks], ASGIApp] | None = None,
    settings: Settings | None = None,
    dashboard: MakeDashboard | None = None,
    on_ready: Callable[[str, str], None] | None = None,
) -> None:
    """Serve clients over streamable HTTP at ``/mcp`` until it is stopped; every request needs a bearer token.

    Args:
        url: Where banks live; None for the configured place.
        tenant: Whom the generated token stands for; None for the configured tenant, else the local user.
        project: The project of calls that name none; None for the configured one, else the working directory's.
        host: The address to listen on.
        port: The port; 0 for any free one.
        allowed_hosts: Further values of the Host header to accept, as ``name`` or ``name:port``.
        profile: Which tools there are; None for the configured profile.
        membership: The team and org of the generated token's projects; None for the configured ones.
        web: Makes the REST and WebSocket endpoints to serve too: ``reasoningbank.web.app.build_web``.
        settings: Instead of the environment and the settings file.
        dashboard: Makes the pages for people at ``/``: ``reasoningbank.web.dashboard.routes.dashboard_of``.
        on_ready: Told the address, and a link that opens the dashboard once; None says the address on standard error.

    Raises:
        ConfigurationError: When a setting, the address or a token file is not usable.
    """
    from reasoningbank.mcp.http import run
    from reasoningbank.settings import load_settings

    run(
        settings or load_settings(),
        url=url,
        tenant=tenant,
        project=project,
        host=host,
        port=port,
        allowed_hosts=tuple(allowed_hosts),
        profile=profile,
        membership=membership,
        web=web,
        dashboard=dashboard,
        on_ready=on_ready,
    )


@contextmanager
def _collecting_nothing() -> Iterator[None]:
    """Hold the garbage collector back: importing the SDK makes only objects that stay, and a client is waiting."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
