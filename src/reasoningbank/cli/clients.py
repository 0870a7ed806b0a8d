"""``rbank install``, ``uninstall`` and ``agents-md``: the configuration of an agent's client."""

from __future__ import annotations

import difflib
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, command
from reasoningbank.cli.output import print_json, print_text
from reasoningbank.errors import InvalidInput

if TYPE_CHECKING:
    from reasoningbank.integrations.clients import Change, Where


def _places() -> list[click.Parameter]:
    return [
        click.Argument(["client"], metavar="CLIENT"),
        click.Option(["--user"], is_flag=True, help="Your own configuration, for every project; the default."),
        click.Option(
            ["--project", "project_only"],
            is_flag=True,
            help="The configuration of the working directory's project.",
        ),
        click.Option(["--dry-run"], is_flag=True, help="Only say what would be done."),
    ]


@command("install", COMMANDS["install"], *_places(), own_project=True)
def install(call: Call, *, client: str, user: bool, project_only: bool, dry_run: bool) -> None:
    """Put the MCP server, and hooks where the client has them, into its configuration; everything else stays.

    CLIENT is claude-code, codex, cursor, vscode, gemini, copilot or opencode. A second time changes nothing; files are
    copied below the data directory before they change.
    """
    from reasoningbank.integrations.clients import install as put
    from reasoningbank.integrations.clients import targets_of
    from reasoningbank.settings import data_directory

    place = where(user=user, project=project_only)
    changes = put(targets_of(client, place), data_directory(), dry_run=dry_run)
    _say(call, client, place, changes, dry_run=dry_run)


@command("uninstall", COMMANDS["uninstall"], *_places(), own_project=True)
def uninstall(call: Call, *, client: str, user: bool, project_only: bool, dry_run: bool) -> None:
    """Take the MCP server and hooks out of a client's configuration; everything else stays byte for byte."""
    from reasoningbank.integrations.clients import targets_of
    from reasoningbank.integrations.clients import uninstall as take
    from reasoningbank.settings import data_directory

    place = where(user=user, project=project_only)
    changes = take(targets_of(client, place), data_directory(), dry_run=dry_run)
    _say(call, client, place, changes, dry_run=dry_run)


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


def _say(call: Call, client: str, place: Where, changes: Sequence[Change], *, dry_run: bool) -> None:
    if call.as_json:
        print_json({**install_answer(client, place.level, changes, dry_run=dry_run)})
    else:
        print_text(install_text(changes, dry_run=dry_run))


class FileAnswer(TypedDict):
    """What was done to one file, or would be: create, change, delete or none."""

    path: str
    action: str
    backup: str
    advice: str


class InstallAnswer(TypedDict):
    """What was done for one client."""

    client: str
    level: str
    dry_run: bool
    files: list[FileAnswer]


def where(*, user: bool, project: bool) -> Where:
    """Return the places that a client's files are relative to.

    Raises:
        InvalidInput: When both levels are asked for.
    """
    from reasoningbank.integrations.clients import Where

    if user and project:
        raise InvalidInput("--user and --project exclude each other", hint="Name one of them.")
    return Where(
        level="project" if project else "user",
        home=Path.home(),
        project=Path.cwd(),
        command="rbank" if project else _program(),
    )


def install_answer(client: str, level: str, changes: Sequence[Change], *, dry_run: bool) -> InstallAnswer:
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


def install_text(changes: Sequence[Change], *, dry_run: bool) -> str:
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


def _difference(change: Change) -> list[str]:
    before = change.path.read_text(encoding="utf-8") if change.path.exists() else ""
    found = difflib.unified_diff(before.splitlines(), change.text.splitlines(), "before", "after", n=1, lineterm="")
    return [f"  {line}" for line in found]


def _program() -> str:
    """Return the installed ``rbank`` with its directory: clients started from a desktop have another search path."""
    beside = Path(sys.executable).with_name("rbank.exe" if sys.platform == "win32" else "rbank")
    return str(beside) if beside.exists() else shutil.which("rbank") or "rbank"
