"""What memory is worth: which sessions were shown memories and which were kept without, and how they ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from reasoningbank.errors import InvalidInput
from reasoningbank.types.signal import Rater

How = Literal["injected", "asked", "withheld"]
"""How a session met a memory: shown without being asked, found by a search of its own, or kept from it."""
HOWS: tuple[How, ...] = ("injected", "asked", "withheld")
SessionSource = Literal["session", "verdict", "evidence", "memory"]
"""Who knows how a session ended: a report about the session, a person's verdict on its trajectory, the evidence in its
trajectory, or only reports about single memories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One memory that a session met.

    Attributes:
        memory_id: The memory.
        how: How it met it.
        succeeded: What the session itself has reported about the memory; None when nothing.
    """

    memory_id: str
    how: How
    succeeded: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """Hold what one session was shown, and whether it was held out.

    Attributes:
        session: The session.
        at: When it first met a memory, or would have.
        eligible: True when a memory was to be injected at any time; only then it belongs to the experiment.
        share: The hold-out share in force when it became eligible; 0 when nothing was drawn.
        held_out: True when it was drawn to stay without injected memories; fixed for its life.
        tokens: cl100k tokens that were injected.
        shown: Every memory that it met, once, in the order of meeting.
        succeeded: How it ended, as reported for the whole session; None when nobody has said so.
        said_by: Who said so; None when nobody has.
    """

    session: str
    at: datetime
    eligible: bool = False
    share: float = 0.0
    held_out: bool = False
    tokens: int = 0
    shown: tuple[Shown, ...] = ()
    succeeded: bool | None = None
    said_by: Rater | None = None

    def __post_init__(self) -> None:
        if not self.session.strip():
            raise InvalidInput("an exposure belongs to a session", hint="Name the session.")
        if self.at.tzinfo is None:
            raise InvalidInput("times must carry a time zone")
        if len({one.memory_id for one in self.shown}) < len(self.shown):
            raise InvalidInput("a session meets a memory once", hint="Change the memory that it met.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """How one session met a memory, and how it ended.

    Attributes:
        session: The session.
        at: When it first met a memory, or would have.
        how: Whether it was shown this one unasked, has found it, or was kept from it.
        helped: What the session itself has reported about the memory; None when nothing.
        succeeded: How the session ended, as reported for the whole of it; None when nobody has said so.
    """

    session: str
    at: datetime
    how: How
    helped: bool | None = None
    succeeded: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """The sessions of one side of the comparison.

    Attributes:
        sessions: How many were drawn.
        succeeded: How many of them succeeded.
        failed: How many did not; a partial success is none.
    """

    sessions: int = 0
    succeeded: int = 0
    failed: int = 0

    @property
    def unknown(self) -> int:
        """Sessions of which nobody knows how they ended; they are in no rate."""
        return self.sessions - self.succeeded - self.failed

    @property
    def rate(self) -> float | None:
        """The share that succeeded of those that are known; None when none is."""
        known = self.succeeded + self.failed
        return self.succeeded / known if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Harm:
    """A memory whose sessions end worse than the project's, beyond chance.

    Attributes:
        memory_id: The memory.
        title: Its title; empty when it was deleted.
        shown: Sessions that were shown it and whose end is known, since a person released it last.
        succeeded: How many of them succeeded.
        upper_bound: What its true success rate is at most, with all memories and all looks taken together at 95 %.
        base_rate: The success rate of the project.
        base_bound: What the project's true rate is at least, on the same terms.
        withheld: Sessions that were held out from it and whose end is known.
        withheld_succeeded: How many of them succeeded.
        set_aside: True when it is out of use now.
        one_client: True when the sessions of one client decide that a memory that a person stands by, or that is
            confirmed, does harm: then it stays in use, and a person decides.
    """

    memory_id: str
    title: str
    shown: int
    succeeded: int
    upper_bound: float
    base_rate: float
    base_bound: float
    withheld: int = 0
    withheld_succeeded: int = 0
    set_aside: bool = False
    one_client: bool = False

    @property
    def rate(self) -> float:
        """The share of its sessions that succeeded."""
        return self.succeeded / self.shown


@dataclass(frozen=True, slots=True, kw_only=True)
class UpliftReport:
    """Hold what injected memories have done for a project.

    Attributes:
        sessions: Sessions that met a memory, or would have.
        with_memory: Drawn sessions that memories were injected into.
        without_memory: Drawn sessions that were held out.
        uplift: Success rate with memory minus without; None when either is not known.
        interval: Its 95 % interval; (-1, 1) when nothing is known.
        tokens_added: Tokens that injection has added to a session on average; 0 without such sessions.
        harmful: Memories beyond the harm bound, the worst first.
        crossed: Held-out sessions that have searched for memories by themselves; they count as held out all the same.
        not_drawn: Sessions that were shown memories while there was no hold-out; they are in no rate.
        message: What this says, in one or two sentences, and what is missing.
    """

    sessions: int = 0
    with_memory: Arm = Arm()
    without_memory: Arm = Arm()
    uplift: float | None = None
    interval: tuple[float, float] = (-1.0, 1.0)
    tokens_added: float = 0.0
    harmful: tuple[Harm, ...] = ()
    crossed: int = 0
    not_drawn: int = 0
    message: str = ""
