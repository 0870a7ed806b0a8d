"""Quarantine: which memories are held back, why, and what was derived from them; a memory at an earlier moment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from reasoningbank.errors import InvalidInput
from reasoningbank.types.memory import Memory, State
from reasoningbank.types.scope import Level
from reasoningbank.types.session import Origin

Reader = Literal["human", "agent"]
"""The reader of a text: a person, who reviews what is in quarantine, or an agent, who gets nothing of it."""
SPREADING, SINGLE = "quarantine-", "single-"
"""How the ids of quarantines begin that reach what was made of their memories, and of those that do not."""
_SOURCES = ("source", "model", "trajectory", "trace", "prompt")
"""The entries of a memory's provenance that name a source."""


def unquoted(finding: str) -> str:
    """Return what the gate has found without the words that it quotes: whoever sent them learns nothing from it."""
    return finding.partition(":")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineSelection:
    """Hold what is put into quarantine: the memories that meet every condition that is set.

    Attributes:
        memory_id: This memory.
        session: What this session recorded or taught.
        principal: What this client recorded or taught, whatever it called its sessions.
        source: What came from this source: a surface, a kind of origin, a language model, a prompt, a trajectory or a
            search.
        since, until: Recorded at this time or later, and before this one.

    Raises:
        InvalidInput: When nothing is set, a name is blank, or a time has no time zone.
    """

    memory_id: str | None = None
    session: str | None = None
    source: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    principal: str | None = None

    def __post_init__(self) -> None:
        if not self._set():
            raise InvalidInput(
                "nothing is selected", hint="Name a memory, a session, a source or a time; everything is never meant."
            )
        for name in ("memory_id", "session", "source", "principal"):
            value = getattr(self, name)
            if value is not None and not value.strip():
                raise InvalidInput(f"the {name.removesuffix('_id')} cannot be empty")
        for moment in (self.since, self.until):
            if moment is not None and moment.tzinfo is None:
                raise InvalidInput("times must carry a time zone", hint="Use for example 2026-03-01T12:00:00+00:00.")

    def quarantine_id(self, *, cascade: bool) -> str:
        """Return the quarantine's id: the same for the same conditions, so that asking twice is one quarantine."""
        named = {key: value.isoformat() if isinstance(value, datetime) else value for key, value in self._set().items()}
        text = json.dumps(named, sort_keys=True).encode("utf-8", "surrogatepass")
        return f"{SPREADING if cascade else SINGLE}{hashlib.sha256(text).hexdigest()[:16]}"

    def covers(self, memory: Memory, origins: Sequence[Origin], spoken: Collection[str] = ()) -> bool:
        """Return whether the memory meets every condition.

        Args:
            memory: The memory.
            spoken: The sessions of the principal.
            origins: What taught it. A trajectory that only said the same later does not make it a suspect.
        """
        taught = [origin for origin in origins if origin.kind == "distilled"]
        provenance = memory.provenance
        sessions = {provenance.get("session", ""), *(origin.session for origin in taught)}
        sources = {provenance.get(name, "") for name in _SOURCES}
        sources |= {text for origin in taught for text in (origin.trajectory, origin.model, origin.prompt)}
        return (
            self.memory_id in {None, memory.id}
            and (self.session is None or self.session in sessions)
            and (self.source is None or self.source in sources)
            and (
                self.principal is None
                or self.principal in {provenance.get("principal", ""), *sessions}
                or not sessions.isdisjoint(spoken)
            )
            and (self.since is None or memory.created_at >= self.since)
            and (self.until is None or memory.created_at < self.until)
        )

    def __str__(self) -> str:
        parts = (
            f"{name.removesuffix('_id')} {value.isoformat() if isinstance(value, datetime) else value}"
            for name, value in self._set().items()
        )
        return ", ".join(parts)

    def _set(self) -> dict[str, str | datetime]:
        named = {
            "memory_id": self.memory_id,
            "session": self.session,
            "source": self.source,
            "since": self.since,
            "until": self.until,
            "principal": self.principal,
        }
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolated:
    """One memory in quarantine.

    Attributes:
        id: The memory.
        level, name: Of the scope it lies in.
        before: What it was until then.
        because: The memories it was made of that are in quarantine; empty when it was selected itself.
        title: Of the memory, for a person.
    """

    id: str
    level: Level
    name: str
    before: State
    because: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineReport:
    """Hold what a quarantine did, or would do.

    Attributes:
        id: What ``release`` takes.
        reason: Why.
        by: Who.
        at: When.
        quarantined: Memories that it holds now and did not hold before.
        held: How many it held already.
        surfaced: Sources of quarantined consolidations that are visible again, because nothing is wrong with them.
        votes: How much of what was said in those sessions stops to count: ratings, outcomes and uses.
        dry_run: True when nothing was written.
    """

    id: str
    reason: str
    by: str
    at: datetime
    quarantined: tuple[Isolated, ...] = ()
    held: int = 0
    surfaced: tuple[str, ...] = ()
    dry_run: bool = False
    votes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """A quarantine that holds memories now.

    Attributes:
        id: What ``release`` takes.
        reason, by, at: Of its newest part.
        members: What it holds.
        votes: How much of what was said in its sessions does not count meanwhile.
    """

    id: str
    reason: str
    by: str
    at: datetime
    members: tuple[Isolated, ...]
    votes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StillHeld:
    """A memory that was not released, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseReport:
    """Hold what a release did.

    Attributes:
        released: Ids of memories that are what they were before.
        hidden: Sources that had become visible and went back into their consolidation.
        kept: Memories that stay in quarantine or archived, each with the reason.
        votes: How much of what was said in its sessions counts again.
    """

    released: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()
    votes: int = 0

    @property
    def still_held(self) -> tuple[StillHeld, ...]:
        """The memories that were not released."""
        return tuple(StillHeld(id=name, reason=reason) for name, reason in self.kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastMemory:
    """A memory with the text, state and belief it had then.

    Attributes:
        memory: What is known; its belief counts only evidence whose time is known.
        unknown: One sentence for each thing that cannot be known any more; empty when the memory is exact.
    """

    memory: Memory
    unknown: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    @property
    def exact(self) -> bool:
        """Return whether everything is as it was."""
        return not self.unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem:
    """What an agent recorded and nobody has confirmed.

    Attributes:
        memory: The memory, secrets removed.
        shown: How often a search has delivered it.
        source: Who it comes from: the client that recorded it, else the session.
    """

    memory: Memory
    shown: int
    source: str

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """Hold what waits for a person, and what the person has said.

    Attributes:
        items: What waits, that which was shown most first.
        waiting: How many wait in all.
        approved: Ids that a person stands by from now on.
        rejected: Ids that are in quarantine from now on, with what was made of them.
    """

    items: tuple[ReviewItem, ...] = ()
    waiting: int = 0
    approved: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
