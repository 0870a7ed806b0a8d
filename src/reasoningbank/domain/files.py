"""Files that an agent keeps: paths, what may stand in them, and what is to become of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from reasoningbank.domain.memory import Outcome

FOLDERS: Mapping[str, Outcome] = MappingProxyType({"strategies": "success", "failures": "failure"})
"""The directories whose ``NAME.md`` files are memories, with the outcome of those."""
SUFFIX = ".md"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What is to become of files; paths are relative to the root, parts joined by ``/``.

    Attributes:
        writes: The new text of files, by path.
        removed: Files that go.
        moved: Files that get another path, by the old one; their text stays.
        quarantined: What was written or moved but can be read by nobody, because it looks like a prompt injection: by
            path why, and what to do. Only the answer to a change has any.
    """

    writes: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    moved: Mapping[str, str] = field(default_factory=dict)
    quarantined: Mapping[str, str] = field(default_factory=dict)

    @property
    def touched(self) -> frozenset[str]:
        """Every path that is named."""
        return frozenset((*self.writes, *self.removed, *self.moved, *self.moved.values()))


def outcome_of(path: str) -> Outcome | None:
    """The outcome of the memory that a file at this path is; None for a file that is no memory."""
    folder, _, name = path.partition("/")
    if folder in FOLDERS and "/" not in name and name.endswith(SUFFIX) and name != SUFFIX:
        return FOLDERS[folder]
    return None
