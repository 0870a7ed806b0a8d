"""What may cross from a scope into a wider one, who said so, and how both sides name each other.

A memory that was promoted has links in both banks. A link's other end is a reference: ``LEVEL:NAME#ID`` with name and
id percent-encoded, for example ``project:github.com/acme/shop#0193...``. In the wider bank the link runs from the
promoted memory to each source (``promoted_from``), in each source's bank from the source to the promoted memory
(``promoted_to``). Links of all other kinds hold plain ids of their own bank.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from reasoningbank.errors import InvalidInput
from reasoningbank.types.memory import Memory, Outcome
from reasoningbank.types.scope import LEVELS, Level, Scope

PROMOTED_FROM = "promoted_from"
"""The kind of link from a promoted memory to what it was made of: ``target`` is a ``Reference`` as text."""
PROMOTED_TO = "promoted_to"
"""The kind of link from a memory to what was made of it: ``target`` is a ``Reference`` as text."""
PROMOTED = "promoted"
"""The ``source`` in the provenance of a promoted memory."""
SHARED = "shared"
"""The ``source`` in the provenance of a memory that came out of a shared file."""

PROMOTION_CONFIDENCE = 0.8
"""The least confidence of what is proposed for promotion (spec/contextd section 5)."""
PROMOTION_COSINE = 0.85
"""Memories of different scopes are the same lesson above this cosine, on the scale of all-MiniLM (decision 0010)."""
CONFLICT_COSINE = 0.9
"""Memories of opposite outcome contradict each other above this cosine, on the same scale."""
LEAST_SCOPES = 2
"""In so many distinct projects or teams a lesson must be known to be proposed."""

NARROWER: Mapping[Level, Level] = {"team": "project", "org": "team"}
"""From where memories may be promoted."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Reference:
    """One memory of one scope, named from another bank of the same tenant."""

    level: Level
    name: str
    id: str

    def __str__(self) -> str:
        return f"{self.level}:{quote(self.name, safe='/')}#{quote(self.id, safe='')}"

    @classmethod
    def to(cls, scope: Scope, memory_id: str) -> Reference:
        """Return the reference to a memory of the scope."""
        return cls(level=scope.level, name=scope.project, id=memory_id)

    @classmethod
    def parse(cls, text: str) -> Reference:
        """Return the inverse of ``str``.

        Raises:
            InvalidInput: When the text is not a reference.
        """
        place, _, memory_id = text.partition("#")
        named, _, name = place.partition(":")
        level = next((known for known in LEVELS if known == named), None)
        if level is None or not name or not memory_id:
            raise InvalidInput(f"{text[:80]!r} names no memory of a scope")
        return cls(level=level, name=unquote(name), id=unquote(memory_id))

    def scope(self, tenant: str) -> Scope:
        """Return the scope that is named, in a tenant."""
        return Scope(tenant=tenant, project=self.name, level=self.level)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralText:
    """A text that may stand in a wider scope.

    Attributes:
        source: ``reviewer``, ``model`` or ``rules``: who took out what belongs to one project alone.
        model: The language model; empty without one.
        prompt: Name and version of the prompt.
    """

    title: str
    description: str
    content: str
    tags: tuple[str, ...] = ()
    category: str = ""
    source: str = "rules"
    model: str = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionSource:
    """One memory that is proposed for promotion, as it was when it was proposed."""

    reference: Reference
    memory: Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionCandidate:
    """A lesson that several scopes have learned, waiting for a person's review; nothing is stored of it.

    Attributes:
        level: Where it would go: ``team`` or ``org``.
        name: Of that team or org.
        sources: What it would be made of, of one outcome.
        similarity: The least cosine of any two sources; 1 for a single one.
        confidence: What it would start with.
        text: The proposed text; None when none can be proposed, and the reviewer has to write it.
        reason: Why none could be proposed; empty when there is one.
        conflicts: Ids of memories of the wider scope that say the opposite.
    """

    level: Level
    name: str
    sources: tuple[PromotionSource, ...]
    similarity: float
    confidence: float
    text: GeneralText | None = None
    reason: str = ""
    conflicts: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The same for the same sources and the same wider scope."""
        named = "\n".join([f"{self.level}:{self.name}", *sorted(str(source.reference) for source in self.sources)])
        return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def outcome(self) -> Outcome:
        """The one outcome of all sources."""
        return self.sources[0].memory.outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A memory that stands in a wider scope, and what it was made of.

    Attributes:
        memory: The memory of the team or org.
        level: Of its scope.
        name: Of its scope.
        sources: What it was made of.
        reviewer: Who approved it.
        doubtful: Sources that are quarantined now: a reason to look at the promoted memory again.
        gone: Sources that no longer exist or are archived.
        created: True when this call made it; False when the same sources had been promoted before.
    """

    memory: Memory
    level: Level
    name: str
    sources: tuple[Reference, ...]
    reviewer: str = ""
    doubtful: tuple[Reference, ...] = ()
    gone: tuple[Reference, ...] = ()
    created: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """One line of a shared file that was not stored, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A confidence that shared evidence has moved."""

    id: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareReport:
    """Hold what importing shared files did, or what exporting wrote.

    Attributes:
        files: The files that were read or written.
        memories: How many memories they hold.
        added: Ids of memories that are new here.
        updated: Ids of memories whose newer text was taken over; the earlier version is kept.
        unchanged: Ids of memories that were here with all they have.
        conflicts: Ids of memories that have another text here, of the same or a later version; it was kept.
        signals: How many pieces of evidence are new here.
        moved: Memories that were here and whose confidence the evidence has moved.
        refused: What was not stored, with the reason.
        messages: One sentence for everything else that a person should know.
        vouched: Whether a person stands by the files that were read.
        written: Whether files were written and none was read.
    """

    files: tuple[str, ...] = ()
    memories: int = 0
    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    signals: int = 0
    moved: tuple[Moved, ...] = ()
    refused: tuple[Refused, ...] = ()
    messages: tuple[str, ...] = field(default=())
    vouched: bool = False
    written: bool = False

    def __add__(self, other: ShareReport) -> ShareReport:
        return ShareReport(
            files=self.files + other.files,
            memories=self.memories + other.memories,
            added=self.added + other.added,
            updated=self.updated + other.updated,
            unchanged=self.unchanged + other.unchanged,
            conflicts=self.conflicts + other.conflicts,
            signals=self.signals + other.signals,
            moved=self.moved + other.moved,
            refused=self.refused + other.refused,
            messages=self.messages + other.messages,
            vouched=self.vouched or other.vouched,
            written=self.written or other.written,
        )
