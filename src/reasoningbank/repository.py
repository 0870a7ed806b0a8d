"""What became of commits, asked of the git repository they were made in: read only, each question with a time limit.

The repository's own configuration is not trusted: nothing it names is run, nothing is fetched, and no lock is taken.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from reasoningbank.domain.lifecycle import STABLE_AFTER, Fate
from reasoningbank.errors import InvalidInput, StoreUnavailable
from reasoningbank.settings import child_environment

TIMEOUT = 60.0
"""Seconds that one question to git may take."""
_OPTIONS = (
    "--no-pager",
    "-c",
    "log.showSignature=false",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
)
_VARIABLES = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
_REVERT = re.compile(r"^This reverts commit ([0-9a-f]{40,64})\b", re.MULTILINE)
_NAME = re.compile(r"[0-9a-f]{4,64}")
_HASH, _MOMENT, _MESSAGE = "%H", "%ct", "%B"
_FIELD, _RECORD = "\x1f", "\x1e"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Commit:
    name: str
    at: datetime


class Repository:
    """A git repository on this machine, as its current branch stands.

    Args:
        path: A directory inside it.

    Raises:
        InvalidInput: When the path is in no git repository that has a commit, or git refuses to read it.
        StoreUnavailable: When git is not installed or takes too long.
    """

    def __init__(self, path: Path, *, timeout: float = TIMEOUT) -> None:
        self._path = path
        self._timeout = timeout
        self._head = self._ask("rev-parse", "--verify", "HEAD^{commit}").strip()

    def fates(self, commits: Sequence[str], *, now: datetime) -> Mapping[str, Fate]:
        """What became of each of these commits until now; names may be cut as git cuts them.

        A commit counts as reverted when a later commit of the branch says in git's own words that it reverts it, unless
        that one was reverted in turn. A name that is not in the branch's history, or stands for several commits, is
        unknown.

        Raises:
            InvalidInput, StoreUnavailable: As above.
        """
        names = [name for name in dict.fromkeys(commits) if _NAME.fullmatch(name)]
        if not names:
            return dict.fromkeys(commits, "unknown")
        resolved = self._resolved(names)
        history = self._history({commit.name for commit in resolved.values()})
        reverted = self._reverted()
        found: dict[str, Fate] = dict.fromkeys(commits, "unknown")
        for name, commit in resolved.items():
            if commit.name not in history:
                continue
            if commit.name in reverted:
                found[name] = "reverted"
            else:
                found[name] = "stood" if now - commit.at >= STABLE_AFTER else "waiting"
        return found

    def _resolved(self, names: Sequence[str]) -> Mapping[str, _Commit]:
        """The commits that the names stand for; a name of nothing or of several things is left out."""
        answer = self._ask("cat-file", "--batch-check=%(objectname) %(objecttype)", given="\n".join(names) + "\n")
        whole: dict[str, str] = {}
        for name, line in zip(names, answer.splitlines(), strict=False):
            parts = line.split()
            if len(parts) == 2 and parts[1] == "commit":
                whole[name] = parts[0]
        if not whole:
            return {}
        told = self._ask(
            "log", "--no-walk=unsorted", "--stdin", f"--format={_HASH} {_MOMENT}", given="\n".join(set(whole.values()))
        )
        moments = dict(line.split() for line in told.splitlines())
        return {
            name: _Commit(name=commit, at=datetime.fromtimestamp(int(moments[commit]), UTC))
            for name, commit in whole.items()
            if commit in moments
        }

    def _history(self, wanted: set[str]) -> set[str]:
        """Those of the commits that the current branch contains."""
        if not wanted:
            return set()
        return wanted & set(self._ask("rev-list", self._head).split())

    def _reverted(self) -> set[str]:
        """Every commit that a commit of the branch reverts and that was not brought back by reverting that one."""
        told = self._ask(
            "log",
            "--fixed-strings",
            "--grep=This reverts commit",
            f"--format={_HASH}{_FIELD}{_MESSAGE}{_RECORD}",
            self._head,
        )
        gone: set[str] = set()
        for record in told.split(_RECORD):
            name, _, message = record.strip().partition(_FIELD)
            if name and name not in gone:
                gone.update(_REVERT.findall(message))
        return gone

    def _ask(self, *arguments: str, given: str = "") -> str:
        try:
            answer = subprocess.run(  # noqa: S603 - fixed program, no shell; names were checked to be hexadecimal
                ["git", "-C", str(self._path), *_OPTIONS, *arguments],  # noqa: S607 - the user's own git
                input=given,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=self._timeout,
                check=False,
                env=child_environment(_VARIABLES),
            )
        except subprocess.TimeoutExpired as error:
            raise StoreUnavailable(
                f"git took longer than {self._timeout:.0f} s in {self._path}",
                hint="Try again when the machine is idle.",
            ) from error
        except (OSError, ValueError) as error:
            raise StoreUnavailable(f"git cannot be run: {error}", hint="Install git, or name another path.") from error
        if answer.returncode != 0:
            said = answer.stderr.strip().splitlines()
            raise InvalidInput(
                f"git does not read {self._path}: {said[-1][:200] if said else 'no reason given'}",
                hint="Name a directory inside a git repository that has a commit.",
            )
        return answer.stdout
