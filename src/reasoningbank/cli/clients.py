"""``rbank install``, ``uninstall`` and ``agents-md``: the configuration of an agent's client."""

from __future__ import annotations

import difflib
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, command
from reasoningbank.cli.output import print_json, print_text
from reasoningbank.errors import InvalidInput

if TYPE_CHECKING:
    from reasoningbank.integrations.clients import InstallationChange, InstallLevel, Where


def _known(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Return the clients that a name on the command line may become."""
    from reasoningbank.integrations.clients import CLIENTS

    return [name for name in CLIENTS if name.startswith(begun)]


def _places() -> list[click.Parameter]:
    return [
        click.Argument(["client"], metavar="CLIENT", shell_complete=_known),
        click.Option(
            ["--scope"],
            type=click.Choice(["user", "project"]),
            default="user",
            show_default=True,
            help="Your own configuration, for every project, or that of the working directory's project.",
        ),
        click.Option(["--dry-run"], is_flag=True, help="Only say what would be done."),
    ]


@command(
    "install",
    COMMANDS["install"],
    *_places(),
    click.Option(["--profile"], default=None, metavar="NAME[,NAME]", help="Which tools the server offers."),
    click.Option(
        ["--distill"],
        default=None,
        metavar="WHO",
        help="Who makes lessons of sessions: client (this one, costs your subscription), agent, none, or a MODEL.",
    ),
)
def install(
    call: Call, *, client: str, scope: InstallLevel, dry_run: bool, profile: str | None, distill: str | None
) -> None:
    """Put the MCP server, and hooks where the client has them, into its configuration; everything else stays.

    CLIENT is claude-code, codex, cursor, vscode, gemini, copilot or opencode. What is named here, the tenant and the
    like, is written with it. A second time changes nothing; files are copied below the data directory before they
    change. On a terminal it asks who makes lessons of sessions, unless that is said. The client is asked whether it
    shows the server then; exit status 1 when it does not and nothing was left to change.
    """
    from reasoningbank.integrations.clients import install as put
    from reasoningbank.integrations.clients import targets_of
    from reasoningbank.integrations.registration import asked, check_single, to_do
    from reasoningbank.mcp.schemas import profiles_of
    from reasoningbank.settings import data_directory

    if profile is not None:
        profiles_of(profile)
    place = where(call, scope, profile=profile or "")
    targets = targets_of(client, place)
    check_single(client, place)
    chosen = _chosen(client, distill, ask=not (dry_run or call.as_json))
    changes = put(targets, data_directory(), dry_run=dry_run)
    distilled = "" if chosen is None or dry_run else _set(chosen)
    registration = None if dry_run else asked(client, place.project)
    changed = any(change.action != "none" for change in changes)
    still = to_do(client, place.level, registration, changed=changed)
    if call.as_json:
        answer = install_answer(client, place.level, changes, dry_run=dry_run)
        checked = {} if registration is None else {"registration": asdict(registration)}
        print_json({**answer, **checked, "distill": distilled, "to_do": [*still]})
    else:
        said = [install_text(changes, dry_run=dry_run)]
        if registration is not None:
            said += [] if changed or distilled else ["Nothing was changed."]
            said += [registration.says] if registration.command else []
            said += [distilled, *(f"To do: {each}" for each in still)]
        print_text("\n".join(filter(None, said)))
    if registration is not None and registration.refuted and not changed:
        sys.exit(1)


@command("uninstall", COMMANDS["uninstall"], *_places())
def uninstall(call: Call, *, client: str, scope: InstallLevel, dry_run: bool) -> None:
    """Take the MCP server and hooks out of a client's configuration; everything else stays byte for byte."""
    from reasoningbank.integrations.clients import targets_of
    from reasoningbank.integrations.clients import uninstall as take
    from reasoningbank.settings import data_directory

    place = where(call, scope)
    changes = take(targets_of(client, place), data_directory(), dry_run=dry_run)
    if call.as_json:
        print_json({**install_answer(client, place.level, changes, dry_run=dry_run)})
    else:
        print_text(install_text(changes, dry_run=dry_run))


def _chosen(client: str, distill: str | None, *, ask: bool) -> Mapping[str, str | bool] | None:
    """Return the settings that say who makes lessons of sessions; None leaves them as they are.

    Raises:
        InvalidInput: When this client cannot be run without a person.
        ConfigurationError: When there is no such model.
    """
    from reasoningbank.llm import CLIENTS, open_model
    from reasoningbank.settings import load_settings

    settings = load_settings()
    if distill is None and ask and not settings.llm and settings.reminders and sys.stdin.isatty():
        options = ["agent", "none", *(["client"] if client in CLIENTS else [])]
        limits = f"{settings.client_daily_sessions} sessions, {settings.client_daily_tokens:,} tokens a day at most"
        own = f" client: {client} in the background, at the cost of its subscription ({limits})."
        distill = click.prompt(
            "Who makes lessons of captured sessions? agent: the one at work, when it is asked to."
            f"{own if client in CLIENTS else ''} none: nobody.",
            type=click.Choice(options),
            default="agent",
            err=True,
        )
    if distill is None:
        return None
    if distill in {"agent", "none"}:
        return {"llm": "", "reminders": distill == "agent"}
    if distill == "client" and client not in CLIENTS:
        raise InvalidInput(
            f"{client} cannot be run without a person",
            hint=f"Name one that can: {', '.join(f'--distill client:{each}' for each in CLIENTS)}.",
        )
    model = f"client:{client}" if distill == "client" else distill
    open_model(model, home=settings.home)
    return {"llm": model, "reminders": True}


def _set(chosen: Mapping[str, str | bool]) -> str:
    """Write the choice into the settings and return what holds from now on."""
    from reasoningbank.settings import data_directory, write_setting

    for name, value in chosen.items():
        write_setting(data_directory(), name, value)
    if chosen["llm"]:
        return f"Lessons are made by {chosen['llm']}."
    if chosen["reminders"]:
        return "Lessons are made by the agent at work, with memory_distill."
    return "No lessons are made of sessions; what they show by themselves is kept without a model."


@command(
    "agents-md",
    COMMANDS["agents-md"],
    click.Option(["--write"], is_flag=True, help="Keep the block in the file instead of printing it."),
    click.Option(["--file"], default="AGENTS.md", show_default=True, metavar="FILE", help="Which file."),
)
def agents_md(call: Call, *, write: bool, file: str) -> None:
    """Print the block that tells agents about the bank, or keep it in a file; the rest of the file stays as it is."""
    from reasoningbank.integrations.agents_md import BLOCK, with_block
    from reasoningbank.integrations.clients import rewrite

    path = Path(file)
    changed = rewrite(path, with_block) if write else False
    if call.as_json:
        print_json({"path": str(path), "changed": changed, "block": BLOCK})
    elif write:
        print_text(f"{path}: {'changed' if changed else 'as it was'}")
    else:
        print_text(BLOCK.rstrip("\n"))


class FileAnswer(TypedDict):
    """Hold what was done to one file, or would be: create, change, delete or none."""

    path: str
    action: str
    backup: str
    advice: str


class InstallAnswer(TypedDict):
    """Hold what was done for one client."""

    client: str
    level: str
    dry_run: bool
    files: list[FileAnswer]


def where(call: Call, scope: InstallLevel, *, profile: str = "") -> Where:
    """Return the places that a client's files are relative to, and what is written with the entries.

    Raises:
        InvalidInput: When a shared file would hold a password, or an option stands where a value belongs.
        ConfigurationError: When the URL names no store that exists.
    """
    from reasoningbank.integrations.clients import Where
    from reasoningbank.settings import absolute_url, named_home, secret_variables

    if scope == "project" and call.url and secret_variables({"value": call.url}):
        raise InvalidInput("the url holds a password, and a project's files are shared", hint="Use --scope user.")
    if call.project is not None and call.project.startswith("--"):
        raise InvalidInput(
            "--project takes the project's name", hint="--scope project writes into the project's files."
        )
    url = absolute_url(call.url) if call.url else None
    named = {"url": url, "tenant": call.tenant, "project": call.project, "team": call.team, "org": call.org}
    return Where(
        level=scope,
        home=Path.home(),
        project=Path.cwd(),
        command="rbank" if scope == "project" else _program(),
        options=tuple(word for name, value in named.items() if value is not None for word in (f"--{name}", value)),
        profile=profile,
        data=named_home(),
    )


def install_answer(client: str, level: str, changes: Sequence[InstallationChange], *, dry_run: bool) -> InstallAnswer:
    """Return the fields of an installation."""
    return InstallAnswer(
        client=client,
        level=level,
        dry_run=dry_run,
        files=[
            FileAnswer(
                path=str(change.path),
                action=change.action,
                backup=str(change.backup or ""),
                advice=change.advice,
            )
            for change in changes
        ],
    )


def install_text(changes: Sequence[InstallationChange], *, dry_run: bool) -> str:
    """Return one line a file; of a dry run the lines that would change."""
    words = {"create": "created", "change": "changed", "delete": "deleted", "none": "as it was"}
    lines: list[str] = []
    for change in changes:
        would = "would be " if dry_run and change.action != "none" else ""
        lines.append(f"{change.path}: {would}{words[change.action]}")
        if change.backup:
            lines.append(f"  before: {change.backup}")
        if change.advice:
            lines.append(f"  {change.advice}")
        if dry_run:
            lines += _difference(change)
    return "\n".join(lines)


def _difference(change: InstallationChange) -> list[str]:
    before = change.path.read_text(encoding="utf-8") if change.path.exists() else ""
    found = difflib.unified_diff(before.splitlines(), change.text.splitlines(), "before", "after", n=1, lineterm="")
    return [f"  {line}" for line in found]


def _program() -> str:
    """Return the installed ``rbank`` with its directory: clients started from a desktop have another search path."""
    beside = Path(sys.executable).with_name("rbank.exe" if sys.platform == "win32" else "rbank")
    return str(beside) if beside.exists() else shutil.which("rbank") or "rbank"
