"""What a writer is that gets killed: how its bank is made, what it does without end, and what must hold afterwards."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy

from reasoningbank.bank import Bank
from reasoningbank.memories.admission import index
from reasoningbank.settings import Settings
from reasoningbank.storage import open_storage
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.memory import STATES, Memory
from reasoningbank.types.ports import Clock
from reasoningbank.types.recall import DENSE_LEGS, Filter
from reasoningbank.types.scope import Scope

EVERYTHING = Filter(states=STATES)
SCRATCH = (".partial", ".restoring", ".repairing", ".erasing")
"""What the names of files end with that are there only while somebody works at them."""

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Hold what a process saw of its own work before it was killed.

    Attributes:
        done: What was acknowledged, in order.
        pending: What was under way; None when nothing was.
    """

    done: Sequence[str] = ()
    pending: str | None = None

    @property
    def maybe(self) -> Sequence[str]:
        """What was acknowledged, and what was under way after it."""
        return self.done if self.pending is None else (*self.done, self.pending)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Describe one way to write to a bank.

    Attributes:
        name: What a reader of the results calls it.
        prepare: Makes a data directory.
        write: Works there without end or until nothing is left; reports ``ready``, then ``begin WHAT`` and
            ``done WHAT`` around each step.
        check: Asserts what must hold in a directory whose writer was killed.
        steps: A kill comes at most about so many steps after the first began.
    """

    name: str
    prepare: Callable[[Path], None]
    write: Callable[[Path, Report], None]
    check: Callable[[Path, Seen], None]
    steps: int = 3


@contextmanager
def step(report: Report, what: str) -> Iterator[None]:
    """Report one step of a writer: begun when the block begins, done when it has ended without an error."""
    report(f"begin {what}")
    yield
    report(f"done {what}")


def opened(home: Path, project: str = "shop", *, clock: Clock | None = None, dimension: int = 64, **more: str) -> Bank:
    """A bank of the data directory."""
    return Bank.open(
        tenant="acme",
        project=project,
        team=more.get("team", ""),
        embedder=HashingEmbedder(dimension),
        settings=Settings(home=home),
        clock=clock,
        chance=random.Random(7),
        session=more.get("session", "here"),
    )


def bank_file(home: Path, project: str = "shop") -> Path:
    """The file of a project's bank."""
    scope = Scope(tenant="acme", project=project)
    place = open_storage(None, home=home).file_of(scope)  # type: ignore[attr-defined]  # files have one
    assert isinstance(place, Path)
    return place


def word(name: str) -> str:
    """A word that belongs to one name alone, and that no other word resembles."""
    return f"w{zlib.crc32(name.encode()):08x}q"


def content(name: str, version: int = 1) -> str:
    """What the memory of a name says in one of its versions."""
    filling = "remember this as well " * (zlib.crc32(name.encode()) % 40)
    return f"Turn {word(f'{name}/{version}')} before {word(name)}. {filling}It is version {version}."


def recorded(bank: Bank, name: str) -> Memory:
    """The memory of a name, newly recorded."""
    return bank.record(title=f"Lesson {name}", content=content(name), description=f"when {name}", outcome="success")


def by_name(memories: Iterable[Memory]) -> dict[str, Memory]:
    """Memories by the name that their title gives; each name once."""
    found: dict[str, Memory] = {}
    for memory in memories:
        name = memory.title.removeprefix("Lesson ")
        assert name not in found, f"twice: {name}"
        found[name] = memory
    return found


def check_sound(bank: Bank) -> None:
    """Asserts that the check of the whole bank finds nothing."""
    problems = bank.admin.check().problems
    assert problems == (), problems


def check_indexed(bank: Bank, memory: Memory) -> None:
    """Asserts that the words and the vectors of a memory are those of its text, and of no earlier one."""
    search, name = bank._context.store().search, memory.title.removeprefix("Lesson ")
    hits = search.matching(word(f"{name}/{memory.version}"), EVERYTHING, 3).hits
    assert [hit.id for hit in hits] == [memory.id], f"torn text index: {name}"
    assert not search.matching(word(f"{name}/{memory.version - 1}"), EVERYTHING, 3).hits, f"old text: {name}"
    (made,) = index([memory], bank.embedder)
    for leg in DENSE_LEGS:
        stored = search.vector(leg, memory.id)
        assert stored is not None, f"lost vector: {name}"
        assert numpy.array_equal(stored, made.vectors[leg]), f"a vector of another text or embedder: {name}"


def left_over(home: Path) -> list[str]:
    """Names of files that should be there only while somebody works at them."""
    return sorted(path.name for path in home.rglob("*") if any(part in path.name for part in SCRATCH))


def holding(home: Path, text: str) -> list[str]:
    """Names of the files whose bytes hold a text."""
    wanted = text.encode()
    return [path.name for path in home.rglob("*") if path.is_file() and wanted in path.read_bytes()]
