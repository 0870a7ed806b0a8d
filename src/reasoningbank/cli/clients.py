"""What ``rbank install`` and ``rbank uninstall`` share: the places, and how a change is said."""

from __future__ import annotations

import difflib
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from reasoningbank.errors import InvalidInput

if TYPE_CHECKING:
    from reasoningbank.integrations.clients import Change, Where


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
    """The places that a client's files are relative to.

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
    """The fields of an installation."""
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
    """One line a file; of a dry run the lines that would change."""
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
    """The installed ``rbank``, with its directory: clients that are started from a desktop have another search path."""
    beside = Path(sys.executable).with_name("rbank.exe" if sys.platform == "win32" else "rbank")
    return str(beside) if beside.exists() else shutil.which("rbank") or "rbank"
