"""``rbank serve``, ``hook`` and ``worker``: what runs beside an agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, command
from reasoningbank.cli.output import Seconds, print_json, print_note, print_text
from reasoningbank.operations.operation import PROFILES

if TYPE_CHECKING:
    from reasoningbank.jobs.rounds import Rounds
    from reasoningbank.types.scope import Membership, Scope


@command(
    "serve",
    COMMANDS["serve"],
    click.Option(
        ["--http", "address"], default=None, metavar="HOST:PORT", help="Streamable HTTP at /mcp instead of stdio."
    ),
    click.Option(
        ["--profile"],
        default=None,
        metavar="NAME[,NAME]",
        help=f"Which tools: {', '.join(PROFILES)}; several as in core,graph. Default: the setting.",
    ),
    click.Option(
        ["--allowed-host", "allowed_hosts"],
        multiple=True,
        metavar="HOST[:PORT]",
        help="A further Host header to accept with --http, as behind a proxy; may be given several times.",
    ),
    click.Option(["--web"], is_flag=True, help="REST and WebSocket besides; without --http at 127.0.0.1:8765."),
    click.Option(
        ["--no-shared"], is_flag=True, help="On stdio: serve in this process, not through the user's shared server."
    ),
)
def serve(
    call: Call, *, address: str | None, profile: str | None, allowed_hosts: tuple[str, ...], web: bool, no_shared: bool
) -> None:
    """Answer MCP clients until they go away; the tenant is fixed for the server's life."""
    from reasoningbank.mcp import serve_http, serve_stdio
    from reasoningbank.settings import load_settings

    place = host_and_port(address or "127.0.0.1:8765") if address is not None or web else None
    if place is None and allowed_hosts:
        raise click.UsageError("--allowed-host belongs to --http.")
    settings = load_settings()
    tenant, membership = call.owner(settings), call.membership(settings)
    if place is None:
        serve_stdio(
            url=call.url,
            tenant=tenant,
            project=call.project,
            profile=profile,
            membership=membership,
            shared=not no_shared,
        )
    else:
        from reasoningbank.web.dashboard.routes import dashboard_of

        if web:
            from reasoningbank.web.app import build_web
        serve_http(
            url=call.url,
            tenant=tenant,
            project=call.project,
            host=place[0],
            port=place[1],
            allowed_hosts=allowed_hosts,
            profile=profile,
            membership=membership,
            web=build_web if web else None,
            dashboard=dashboard_of,
        )


@command(
    "dashboard",
    COMMANDS["dashboard"],
    click.Option(
        ["--http", "address"],
        default="127.0.0.1:0",
        metavar="HOST:PORT",
        help="Where it listens. Default: this machine alone, any free port.",
    ),
    click.Option(["--no-open", "no_open"], is_flag=True, help="Only print the link."),
)
def dashboard(call: Call, *, address: str, no_open: bool) -> None:
    """Serve the dashboard until you stop it, and open it with a link that works once, within ten minutes.

    It shows what was learned, helped and harmed, and what waits for you; memories are searched, rated, edited, approved
    and taken back there, as you do it. An agent cannot run this command.
    """
    from reasoningbank.mcp import serve_http
    from reasoningbank.settings import load_settings
    from reasoningbank.web.dashboard.routes import dashboard_of

    host, port = host_and_port(address)
    settings = load_settings()

    def ready(base: str, link: str) -> None:
        if call.as_json:
            print_json({"address": base, "link": link})
        else:
            print_text(link)
        print_note(f"The dashboard runs at {base} until you press Ctrl-C. The link opens it once.")
        if not no_open:
            click.launch(link)

    serve_http(
        url=call.url,
        tenant=call.owner(settings),
        project=call.project,
        host=host,
        port=port,
        membership=call.membership(settings),
        dashboard=dashboard_of,
        on_ready=ready,
    )


def host_and_port(address: str) -> tuple[str, int]:
    """Split ``127.0.0.1:8000``, ``[::1]:8000`` or ``:8000``, whose host is the loopback."""
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65_535 or any(c.isspace() for c in host):
        raise click.UsageError(f"{address!r} is not HOST:PORT; for example 127.0.0.1:8765.")
    return host, int(port)


@command("hook", COMMANDS["hook"], click.Argument(["event"], metavar="EVENT"))
def hook(call: Call, *, event: str) -> None:
    """Answer a client's hook: its JSON on stdin, its JSON on stdout, exit status 0 whatever happens.

    EVENT in any client's spelling: session-start, user-prompt-submit, tool-failure, stop, session-end, pre-compact,
    post-compact. Failures are noted in hooks.log below the data directory.
    """
    from reasoningbank.integrations.hook_payload import HookPlace
    from reasoningbank.integrations.hooks import run_on_standard_streams

    place = HookPlace(url=call.url, tenant=call.tenant, project=call.project, team=call.team, org=call.org)
    run_on_standard_streams(event, place)


@command(
    "statusline",
    COMMANDS["statusline"],
    click.Option(["--home"], default=None, metavar="DIRECTORY", help="The data directory; default: the usual one."),
)
def statusline(call: Call, *, home: str | None) -> None:  # noqa: ARG001 - one line has no JSON and needs no bank
    """Print one line about this session's memory: the client's JSON on stdin, exit status 0 whatever happens.

    What the session was shown and what it said of that, what was learned this week, and the sessions that wait. The
    hooks note it; the line is empty until one has, and where there is no bank. `rbank install claude-code` sets it as
    the status line of your own configuration when there is none; with --scope project it does not, for a project's
    files are shared.
    """
    from reasoningbank.integrations.status_line import main

    main(["--home", home] if home else [])


@command(
    "worker",
    COMMANDS["worker"],
    click.Option(["--once"], is_flag=True, help="Do what is due now and stop."),
    click.Option(
        ["--poll"],
        default=1.0,
        show_default=True,
        metavar="SECONDS",
        type=Seconds(0.05, 3_600),
        help="How often to look for work when there is none.",
    ),
)
def worker(call: Call, *, once: bool, poll: float) -> None:
    """Do the background work of all your banks until stopped; several workers may share a bank.

    With --project only of that one. Projects whose banks are made meanwhile are looked after too. Told to end, it
    finishes the job in hand when that takes few seconds; the next worker takes up what it left.
    """
    from reasoningbank.integrations.end import told_to_end
    from reasoningbank.operations.json import to_json
    from reasoningbank.operations.session_text import work_text

    with told_to_end() as stop:
        rounds = _rounds(call)
        report = rounds.finish(stop) if once else rounds.run(stop, poll=poll)
    for message in report.messages:
        print_note(message)
    if call.as_json:
        print_json(to_json(report))
    else:
        print_text(work_text(report))


def _rounds(call: Call) -> Rounds:
    """Return the rounds over all banks of the call's tenant, or over the one project that it names.

    Each bank is opened for a look and closed after it; the embedder and the model are the same for all.
    """
    from reasoningbank.bank import Bank
    from reasoningbank.jobs.rounds import Rounds
    from reasoningbank.settings import load_settings
    from reasoningbank.storage import open_storage

    settings = load_settings()
    tenant = call.owner(settings)
    if not settings.llm:
        print_note("note: no language model is configured, so sessions wait to be distilled.")
    opened: list[Bank] = []

    @contextmanager
    def use(scope: Scope, membership: Membership) -> Iterator[Bank]:
        with Bank.open(
            call.url,
            tenant=scope.tenant,
            project=scope.project,
            team=membership.team if call.team is None else call.team,
            org=membership.org if call.org is None else call.org,
            embedder=opened[0].embedder if opened else None,
            model=opened[0].model if opened else None,
            settings=settings,
            level=scope.level,
            by_agent=False,
        ) as bank:
            if not opened:
                opened.append(bank)
            yield bank

    storage = open_storage(call.url or settings.url or None, home=settings.home)
    return Rounds(storage, lambda: (tenant,), use, project=call.project)
