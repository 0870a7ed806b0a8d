"""What became of the code that a lesson is tied to, read from git, as evidence about the lesson (seed 001).

The repository's own configuration is not trusted: nothing it names is run, nothing is fetched, and no lock is taken.

A lesson is tied to a commit when a session that taught it kept that commit, or when the lesson names it. Only
strategies are looked at: that the commits of a failed session stand says nothing about the warning learned from it.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput, StoreUnavailable, TrajectoryNotFound
from reasoningbank.memories.evidence import proven
from reasoningbank.settings import child_environment
from reasoningbank.storage.store import Store, StoreReader, Transaction
from reasoningbank.telemetry import observed
from reasoningbank.types.belief import to_units
from reasoningbank.types.lifecycle import (
    STABILITY_SHARE,
    STABLE_AFTER,
    Fate,
    StabilityCheck,
    StabilityReport,
    commit_key,
)
from reasoningbank.types.memory import PROVEN, Cause, Memory
from reasoningbank.types.recall import Filter
from reasoningbank.types.signal import Rater, Signal

if TYPE_CHECKING:
    from reasoningbank.context import Context

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
_COMMIT_NAME = re.compile(r"[0-9a-f]{4,64}")
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
        """Return what became of each of these commits until now; names may be cut as git cuts them.

        A commit counts as reverted when a later commit of the branch says in git's own words that it reverts it, unless
        that one was reverted in turn. A name that is not in the branch's history, or stands for several commits, is
        unknown.

        Raises:
            InvalidInput, StoreUnavailable: As above.
        """
        names = [name for name in dict.fromkeys(commits) if _COMMIT_NAME.fullmatch(name)]
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
        """Return the commits that the names stand for; a name of nothing or of several things is left out."""
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
        """Return those of the commits that the current branch contains."""
        if not wanted:
            return set()
        return wanted & set(self._ask("rev-list", self._head).split())

    def _reverted(self) -> set[str]:
        """Return every commit that the branch reverts and does not bring back by reverting that revert."""
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


_PAGE = 500
_NAME = re.compile(r"[0-9a-f]{6,40}")
_NAMED = re.compile(r"(?<![0-9A-Za-z_/.#-])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,40}(?![0-9A-Za-z_/-])")


def report_stability(
    transaction: Transaction,
    memory_id: str,
    *,
    reverted: bool,
    commit: str,
    session: str,
    rater: Rater,
    at: datetime,
) -> StabilityReport:
    """Store that a commit has stood or was reverted: each once per memory and commit.

    The weight is two thirds of an explicit rating's at that time, as +0.2 is of the seed's +0.3.

    Args:
        transaction: Where it is written.
        memory_id: The memory that is tied to the commit.
        reverted: True when it was reverted, False when it has stood.
        commit: Its name, whole or cut; empty when it is not known: then it counts once per session.
        session: Who says so.
        rater: Who reports it: a person or a program.
        at: When.
    """
    memory = transaction.memories.get(memory_id)
    weight = round(STABILITY_SHARE * to_units(transaction.evidence.weights().weight_for("explicit")))
    place = commit_key(commit) or session
    signal = Signal(
        memory_id=memory.id,
        project=memory.project,
        type="stability",
        positive=not reverted,
        session=f"{place} reverted" if reverted else place,
        rater=rater,
        at=at,
        weight=weight,
    )
    counted = not _known(transaction, memory.id, signal.session) and transaction.evidence.add_signal(signal, once=True)
    believed = memory
    if counted:
        belief = memory.belief.with_evidence(positive=not reverted, weight=weight)
        believed = proven(replace(memory, belief=belief))
        transaction.memories.update_state(believed, cause=Cause(at=at, kind=PROVEN))
    return _reported(memory, believed, commit=commit, reverted=reverted, counted=counted, weight=weight)


def foreseen(store: Store, memory: Memory, *, reverted: bool, commit: str) -> StabilityReport:
    """Return what ``report_stability`` would do."""
    weight = round(STABILITY_SHARE * to_units(store.evidence.weights().weight_for("explicit")))
    place = f"{commit_key(commit)} reverted" if reverted else commit_key(commit)
    known = _known(store, memory.id, place)
    belief = memory.belief if known else memory.belief.with_evidence(positive=not reverted, weight=weight)
    return _reported(
        memory, replace(memory, belief=belief), commit=commit, reverted=reverted, counted=not known, weight=weight
    )


def _known(reader: StoreReader, memory_id: str, place: str) -> bool:
    """Return whether it was counted here, or in the bank that the memory was imported from."""
    return reader.evidence.counted(memory_id, "stability", place) or any(
        signal.type == "stability" and signal.session == place for signal in reader.evidence.signals(memory_id)
    )


def ties(store: StoreReader) -> Mapping[str, Sequence[str]]:
    """Return the commits that each recallable strategy is tied to, by memory id; a commit of one memory once."""
    kept: dict[str, tuple[str, ...]] = {}
    found: dict[str, dict[str, str]] = {}
    taught: dict[str, list[str]] = {}
    for origin in store.sessions.origins():
        taught.setdefault(origin.memory_id, []).append(origin.trajectory)
    for memory in _strategies(store):
        names = list(_NAMED.findall(f"{memory.title}\n{memory.description}\n{memory.content}"))
        for trajectory in taught.get(memory.id, ()):
            if trajectory not in kept:
                kept[trajectory] = _kept(store, trajectory)
            names += kept[trajectory]
        for name in names:
            tied = found.setdefault(memory.id, {})
            key = commit_key(name)
            tied[key] = max(tied.get(key, ""), name, key=len)
    return {memory_id: tuple(tied.values()) for memory_id, tied in found.items()}


def _kept(store: StoreReader, trajectory: str) -> tuple[str, ...]:
    """Return the commits that a session made and kept; none when it is no longer there."""
    try:
        evidence = store.sessions.trajectory(trajectory).evidence
    except TrajectoryNotFound:
        return ()
    return tuple(
        fact.name for fact in evidence if fact.kind == "commit" and fact.positive and _NAME.fullmatch(fact.name)
    )


def _strategies(store: StoreReader) -> Iterator[Memory]:
    condition, offset = Filter(outcome="success"), 0
    while page := store.memories.page(condition, limit=_PAGE, offset=offset):
        yield from page
        offset += len(page)


def _reported(
    memory: Memory, believed: Memory, *, commit: str, reverted: bool, counted: bool, weight: int
) -> StabilityReport:
    fate = "was reverted" if reverted else "has stood"
    named = f"Commit {commit}" if commit else "The code"
    message = f"{named} {fate}: not counted, for that was known."
    if counted:
        direction = "fell" if reverted else "rose"
        message = (
            f"{named} {fate}: confidence {direction} from {memory.confidence:.3f} to {believed.confidence:.3f} "
            f"(stability evidence of weight {weight / 1e9:.3f})."
        )
    return StabilityReport(
        memory_id=memory.id,
        reverted=reverted,
        commit=commit,
        previous_confidence=memory.confidence,
        new_confidence=believed.confidence,
        counted=counted,
        message=message,
    )


def check(context: Context, repository: Path, *, dry_run: bool = False) -> StabilityCheck:
    """Look up what became of the commits of the project's strategies; see ``Curation.check_stability``."""
    store, now = context.store(), context.clock.now()
    with observed("check_stability", store=context.place):
        tied = ties(store)
        names = list(dict.fromkeys(name for each in tied.values() for name in each))
        fates = Repository(repository).fates(names, now=now)
        reports: list[StabilityReport] = []
        known = store.memories.many(list(tied))
        for memory_id, commits in tied.items():
            for commit in commits:
                if memory_id not in known or fates[commit] not in {"stood", "reverted"}:
                    continue
                reverted = fates[commit] == "reverted"
                if dry_run:
                    reports.append(foreseen(store, known[memory_id], reverted=reverted, commit=commit))
                    continue
                with store.transaction() as transaction:
                    report = report_stability(
                        transaction,
                        memory_id,
                        reverted=reverted,
                        commit=commit,
                        session=context.session,
                        rater="agent",
                        at=now,
                    )
                reports.append(report)
    count = list(fates.values()).count
    return StabilityCheck(
        reports=tuple(report for report in reports if report.counted),
        commits=len(names),
        waiting=count("waiting"),
        unknown=count("unknown"),
        dry_run=dry_run,
    )
