"""Cursor's sessions: its transcript says what was called, its hooks alone say what came of it.

The hooks of shell commands note each outcome in a file of the session below the data directory, for its user alone.
When a turn or the session ends, a copy of the transcript with the outcomes behind it is what is captured. Both files
are removed a week after the session was last heard of.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.processes import private_folder
from reasoningbank.safety.file_access import open_regular
from reasoningbank.system import open_private
from reasoningbank.types.session import CURSOR_SESSION, TOOL_OUTCOME

if TYPE_CHECKING:
    from reasoningbank.integrations.hook_payload import HookEvent, Payload

FOLDER = "cursor-sessions"
"""The directory below the data directory."""
KEPT_DAYS = 7
MOST_OF_AN_OUTPUT = 24_000
"""Characters of a command's output that are kept: both ends."""
MOST_OF_A_TRANSCRIPT = 200_000_000
"""Bytes of a transcript that are copied; of a longer one the end is left out."""
SETTLED_SECONDS, PATIENCE_SECONDS = 1.0, 5.0
"""A transcript that was written to a moment ago may not be complete yet: it is waited for, but not for long."""


def note_outcome(home: Path, event: HookEvent, payload: Payload) -> None:
    """Note what a command did, where there is a data directory.

    Raises:
        OSError: When the file cannot be written.
    """
    if not payload.session or not payload.action or not home.is_dir():
        return
    outcome = {
        "type": TOOL_OUTCOME,
        "tool": payload.tool,
        "action": payload.action,
        "output": _both_ends(payload.error),
        "exit_code": payload.exit_code,
        "failed": event == "PostToolUseFailure" and payload.exit_code is None,
    }
    _append(_place(home, payload.session, "outcomes"), json.dumps(outcome))


def kept_session(home: Path, payload: Payload, transcript: Path) -> Path:
    """Write the copy of a transcript with the outcomes behind it, and return where it is.

    Raises:
        StoreUnavailable: When the transcript cannot be read.
        OSError: When the copy cannot be written.
    """
    _settle(transcript)
    outcomes, copy = (_place(home, payload.session, kind) for kind in ("outcomes", "session"))
    head = {
        "type": CURSOR_SESSION,
        "session": payload.session,
        "directory": payload.directory,
        "version": payload.version,
        "model": payload.model,
    }
    with open_regular(transcript) as source:
        said = source.read(MOST_OF_A_TRANSCRIPT)
    noted = outcomes.read_bytes() if outcomes.exists() else b""
    draft = copy.with_suffix(f".{os.getpid()}")
    descriptor = open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with os.fdopen(descriptor, "wb") as file:
        file.write(b"\n".join((json.dumps(head).encode(), said.rstrip(b"\n"), noted)))
    draft.replace(copy)
    _forget(copy.parent)
    return copy


def _settle(transcript: Path) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.time() - transcript.stat().st_mtime < SETTLED_SECONDS and time.monotonic() < end:
        time.sleep(SETTLED_SECONDS / 4)


def _place(home: Path, session: str, kind: str) -> Path:
    folder = home / FOLDER
    private_folder(folder)
    name = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return folder / f"{name}.{kind}.jsonl"


def _append(path: Path, line: str) -> None:
    descriptor = open_private(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with os.fdopen(descriptor, "ab") as file:
        file.write(line.encode("utf-8", "replace") + b"\n")


def _forget(folder: Path) -> None:
    oldest = time.time() - KEPT_DAYS * 86_400
    for path in folder.iterdir():
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)


def _both_ends(text: str) -> str:
    half = MOST_OF_AN_OUTPUT // 2
    if len(text) <= MOST_OF_AN_OUTPUT:
        return text
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
