"""The server of one client over standard input and output; it lives exactly as long as its client."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

import anyio

from reasoningbank.domain.identity import new_session
from reasoningbank.domain.scope import Membership
from reasoningbank.settings import local_tenant
from reasoningbank.surfaces.hooks.desk import Desk
from reasoningbank.surfaces.mcp.banks import Banks
from reasoningbank.surfaces.mcp.calls import Caller
from reasoningbank.surfaces.mcp.server import Context, build_server
from reasoningbank.surfaces.mcp.tools import Tools
from reasoningbank.surfaces.mcp.warming import WarmUp
from reasoningbank.surfaces.mcp.wire import open_channel

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

    from reasoningbank.settings import Settings

PARENT_POLL_SECONDS = 0.25
LEAVE_SECONDS = 1.5
"""How long running calls may hold up a server that was told to stop or whose parent is gone."""

_log = logging.getLogger(__name__)


def run(
    settings: Settings,
    source: int,
    sink: int,
    *,
    parent: int,
    url: str | None,
    tenant: str | None,
    project: str | None,
    profile: str | None = None,
    membership: Membership | None = None,
) -> None:
    """Serves until the input ends, the parent is gone, or SIGTERM or SIGINT arrives.

    Args:
        settings: The configuration.
        source: The descriptor to read from.
        sink: The descriptor to write to.
        parent: The process whose end is the server's end.
        url: Instead of the configured place of the banks.
        tenant: Instead of the configured tenant or the local user.
        project: Instead of the configured project or the working directory's.
        profile: Instead of the configured profile.
        membership: Instead of the configured team and org.
    """
    caller = Caller(
        tenant=tenant if tenant is not None else settings.tenant or local_tenant(),
        session=new_session(),
        membership=Membership(team=settings.team, org=settings.org) if membership is None else membership,
    )
    banks = Banks(settings, url=url, project=project)
    tools = Tools(banks, profile=settings.profile if profile is None else profile)
    warm_up = WarmUp(tools)

    def who(_: Context) -> Caller:
        return caller

    def arrived(caller: Caller) -> None:
        warm_up.start(caller)
        desk.start()

    desk = Desk(banks, caller, settings, url=url)
    server = build_server(tools, who, on_arrival=arrived)
    threading.Thread(target=_watch, args=(parent,), name="reasoningbank-parent", daemon=True).start()
    anyio.run(_serve, server, source, sink)
    desk.stop()
    if warm_up.busy or tools.busy:
        sys.stderr.flush()
        os._exit(0)


async def _serve(server: Server[None], source: int, sink: int) -> None:
    async with anyio.create_task_group() as group:
        if os.name == "posix":
            group.start_soon(_stop_on_signal, group.cancel_scope)
        async with open_channel(source, sink) as channel:
            await server.run(channel.incoming, channel.outgoing, server.create_initialization_options())
        group.cancel_scope.cancel()


async def _stop_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            deadline = threading.Timer(LEAVE_SECONDS, os._exit, args=(0,))
            deadline.daemon = True
            deadline.start()
            scope.cancel()
            return


def _watch(parent: int) -> None:
    """Stops the process when its parent is gone: clients that crash leave the pipe to others open."""
    while os.getppid() == parent:
        time.sleep(PARENT_POLL_SECONDS)
    _log.warning("the client is gone; leaving")
    os.kill(os.getpid(), signal.SIGTERM)
