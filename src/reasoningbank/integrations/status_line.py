"""``rbank statusline``: one line about memory at the bottom of Claude Code, read from a small file. Light.

The client runs it after every message, so it opens no bank. Hooks have the bank open anyway: they note what there is to
say of a session, as soon as this command has run once in the data directory.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from reasoningbank.bank import Bank

FOLDER = ("run", "status")
"""Where the notes are, below the data directory: one file for each session."""
MAX_INPUT = 1_000_000
_NAME = re.compile(r"[\w-]{1,100}", re.ASCII)
_KEPT_SECONDS = 7 * 86_400.0
_WEEK_DAYS = 7


def main(words: Sequence[str]) -> int:
    """Read the client's JSON from stdin and print the line, an empty one when there is nothing to say.

    Args:
        words: ``--home`` with the data directory, as ``rbank install`` writes it: to find the usual one takes longer.

    Returns:
        0, whatever happens: the client shows nothing of a command that fails.
    """
    _say(_line_for(_home(words), sys.stdin))
    return 0


def _home(words: Sequence[str]) -> Path:
    if len(words) > 1 and words[0] == "--home":
        return Path(words[1])
    from reasoningbank.settings import data_directory

    return data_directory()


def _line_for(home: Path, source: TextIO | None) -> str:
    if source is None or source.isatty():
        return ""
    try:
        given = json.loads(source.buffer.read(MAX_INPUT))
        session = given.get("session_id") if isinstance(given, dict) else None
        if not isinstance(session, str) or not _NAME.fullmatch(session) or not home.is_dir():
            return ""
        folder = home.joinpath(*FOLDER)
        if not folder.is_dir():
            for each in (folder.parent, folder):
                each.mkdir(mode=0o700, exist_ok=True)
            return ""
        noted = json.loads((folder / session).read_bytes())
        return line_of({name: count for name, count in noted.items() if isinstance(count, int)})
    except (OSError, ValueError, RecursionError, AttributeError):
        return ""


def _say(line: str) -> None:
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        # The client has gone away; Python would complain of it once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def line_of(noted: Mapping[str, int]) -> str:
    """Return the line that says the numbers noted of a session, ``shown``, ``helped``, ``misled``, and of its bank."""
    came = [f"{noted[name]} {name}" for name in ("helped", "misled") if noted.get(name)]
    shown = noted.get("shown", 0)
    said = [f"{shown} {'memory' if shown == 1 else 'memories'} shown{''.join(f', {each}' for each in came)}"]
    if learned := noted.get("learned"):
        said.append(f"{learned} learned this week")
    if waiting := noted.get("waiting"):
        said.append(f"{waiting} {'session waits' if waiting == 1 else 'sessions wait'}")
    return f"ReasoningBank: {' | '.join(said)}"


def note_status(bank: Bank, session: str, *, whole: bool) -> None:
    """Note what there is to say of a session, where the command has run; else do nothing.

    Args:
        bank: The session's bank.
        session: The client's name for the session.
        whole: Whether the numbers of the bank are counted, too, which takes longer; else those from before stand.

    Raises:
        BankError: When the bank cannot be read.
        OSError: When the note cannot be written.
    """
    folder = bank.settings.home.joinpath(*FOLDER)
    if not _NAME.fullmatch(session) or not folder.is_dir():
        return
    place = folder / session
    noted: dict[str, int] = {}
    if not whole and place.exists():
        noted = json.loads(place.read_bytes())
    shown = bank.sessions.shown(session)
    noted["shown"] = len(shown)
    noted["helped"] = sum(one.succeeded is True for one in shown)
    noted["misled"] = sum(one.succeeded is False for one in shown)
    if whole:
        noted |= _counted(bank)
        _sweep(folder)
    draft = folder / f"{session}.{os.getpid()}"
    draft.write_text(json.dumps(noted), encoding="ascii")
    draft.chmod(0o600)
    draft.replace(place)


def _counted(bank: Bank) -> dict[str, int]:
    """Return how much the bank has learned in a week, and how many sessions wait to be made into lessons."""
    from datetime import UTC, datetime, timedelta

    news = bank.memories.news(datetime.now(UTC) - timedelta(days=_WEEK_DAYS), limit=1)
    return {"learned": news.recorded, "waiting": len(bank.sessions.list(pending=True))}


def _sweep(folder: Path) -> None:
    """Remove the notes of sessions of which nothing was heard for a week."""
    oldest = time.time() - _KEPT_SECONDS
    for path in folder.iterdir():
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)
