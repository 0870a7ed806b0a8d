"""What became of texts that came from files: Markdown of this bank, and files of other products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Product: TypeAlias = Literal[
    "claude-md", "agents-md", "claude-memory", "mem0", "mcp-memory-service", "claude-mem", "memory-server", "contextd"
]
"""Whose file it is; ``memory-server`` is the reference memory server of the Model Context Protocol."""
PRODUCTS: tuple[Product, ...] = (
    "claude-md",
    "agents-md",
    "claude-memory",
    "mem0",
    "mcp-memory-service",
    "claude-mem",
    "memory-server",
    "contextd",
)
TakenAs: TypeAlias = Literal["added", "edited", "unchanged", "known", "conflict", "refused"]
"""added: a new memory; edited: a new version; known: another memory has the same text; conflict: both sides were
changed; refused: it is not a memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Hold what became of one text of a file.

    Attributes:
        place: Where it stands: the file, and what names it there.
        change: What became of it, or would.
        id: The memory; empty when there is none.
        title: Its title.
        reason: Why, where that needs saying.
    """

    place: str
    change: TakenAs
    id: str = ""
    title: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenOver:
    """Hold what became of every text of an import.

    Attributes:
        source: Where it came from.
        dry_run: True when nothing was stored.
        taken: Each text, in the order of the files.
        quarantined: Ids of those that look like a prompt injection: no search finds them.
    """

    source: str
    dry_run: bool = False
    taken: tuple[Taken, ...] = ()
    quarantined: tuple[str, ...] = ()

    def count(self, change: TakenAs) -> int:
        """Return of how many texts this became."""
        return sum(each.change == change for each in self.taken)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownFiles:
    """Hold what an export as Markdown has written.

    Attributes:
        path: The directory.
        written: Names of files that are new or say something else now.
        unchanged: How many said the same already.
        kept: Files with edits that were never imported; they were left as they are.
        left_out: How many memories are in quarantine or archived, and have no file.
    """

    path: str
    written: tuple[str, ...] = ()
    unchanged: int = 0
    kept: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFiles:
    """Hold which Agent Skills were written.

    Attributes:
        path: The directory.
        skills: Names of the skills; each is a folder with a SKILL.md.
        removed: Skills of earlier exports whose memory is no longer confirmed, vouched or recallable.
        left_out: Names of folders that something else owns; they were left as they are.
    """

    path: str
    skills: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
