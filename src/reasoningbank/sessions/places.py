"""Tell which test runs are of another folder than the one that the session is about.

Tests of ``svc-b`` say nothing of ``svc-a``: not when it is ``svc-a`` whose tests failed, nor when the task names it.
They count when the session changed something in ``svc-b``, or the task names that, too. Folders that only hold builds
or tests are not part of their own.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

from reasoningbank.sessions.changes import Doing
from reasoningbank.sessions.commands import Program, command, parts, vocabulary
from reasoningbank.sessions.test_runs import TestRun
from reasoningbank.types.session import Step

_NO_PART = vocabulary(
    "src lib app tests test spec specs e2e integration build out dist target bin docs doc scripts tools "
    "cmake-build-debug "
    "cmake-build-release _build packages services apps crates modules libs"
)
_IN_FOLDER = vocabulary("-C --prefix --cwd --dir --directory --project-dir -f --manifest-path")
_LEAST_NAME = 3


def folders_of(steps: Sequence[Step]) -> list[str]:
    """Return the folder in which each step ran its last program, as far as the session says it; empty when it does not.

    A folder above (``../svc-b``) is one beside the folder in which the step before ran.
    """
    found = []
    last = ""
    for step in steps:
        folder = ""
        for part in parts(command(step)):
            if part.program == "cd" and part.word(1):
                folder = _joined(last, part.folder)
                last = folder
            elif named := _option(part):
                folder = _joined(folder, named)
        found.append(folder)
    return found


def same_folder(one: str, other: str) -> bool:
    """Return whether two folders may be the same: one that is not said may be any."""
    return not one or not other or f"/{one}".endswith(f"/{_bare(other)}") or f"/{other}".endswith(f"/{_bare(one)}")


def elsewhere(
    asked: str, steps: Sequence[Step], runs: Mapping[int, TestRun], doings: Sequence[Doing]
) -> tuple[frozenset[int], str]:
    """Return the passing runs of another part than the one that the session is about, and which part that is.

    Args:
        asked: What the person asked for.
        steps: The session.
        runs: Its test runs by step.
        doings: What each step did.
    """
    folders = folders_of(steps)
    if not any(folders[index] for index in runs):
        return frozenset(), ""
    edited = [change.file for doing in doings for change in doing.changes if change.file]
    meant = {folders[index] for index, run in runs.items() if not run.succeeded and folders[index]}
    near = {folder for folder in folders if folder} | {_joined("", posixpath.dirname(file)) for file in edited}
    meant |= {part for folder in near for part in _parts(folder) if _names(asked, part)}
    away = {
        index: other
        for index, run in runs.items()
        if run.succeeded
        and folders[index]
        and _is_part(folders[index])
        and not _names(asked, folders[index])
        and not any(_lies_in(file, folders[index]) for file in edited)
        and (other := next((each for each in sorted(meant) if _is_beside(each, folders[index])), ""))
    }
    return frozenset(away), next(iter(away.values()), "")


def _option(part: Program) -> str:
    words = part.words
    return next((words[place + 1].strip("'\"") for place, word in enumerate(words[:-1]) if word in _IN_FOLDER), "")


def _joined(folder: str, named: str) -> str:
    plain = named.strip("'\"").rstrip("/")
    if not plain or plain.startswith(("$", "~", "-")):
        return plain
    whole = posixpath.normpath(posixpath.join(folder, plain) if plain.startswith("..") and folder else plain)
    return "" if whole == "." else whole


def _parts(folder: str) -> list[str]:
    """Return the folder and the folders that it lies in."""
    pieces = folder.split("/")
    return [found for end in range(1, len(pieces) + 1) if (found := "/".join(pieces[:end]))]


def _is_part(folder: str) -> bool:
    return posixpath.basename(folder) not in _NO_PART


def _names(asked: str, folder: str) -> bool:
    base = posixpath.basename(folder)
    if base in _NO_PART or len(base) < _LEAST_NAME:
        return "/" in folder and re.search(rf"(?<![\w-]){re.escape(folder)}(?![\w-])", asked) is not None
    return re.search(rf"(?<![\w-]){re.escape(base)}(?![\w-]|\.\w)", asked) is not None


def _lies_in(file: str, folder: str) -> bool:
    return f"/{folder.strip('/')}/" in f"/{file.lstrip('./')}"


def _is_beside(one: str, other: str) -> bool:
    """Return whether neither folder lies in the other, and both lie in the same one as far as they say it."""
    if one.startswith("/") != other.startswith("/"):
        return False
    first, second = _bare(one), _bare(other)
    if not first or not second or not _is_part(first):
        return False
    inside = f"{first}/".startswith(f"{second}/") or f"{second}/".startswith(f"{first}/")
    return not inside and posixpath.dirname(first) == posixpath.dirname(second)


def _bare(folder: str) -> str:
    return re.sub(r"^(?:\.\./)+", "", folder)
