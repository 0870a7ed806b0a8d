"""Banks of any size for the benchmarks: real sentences of the interpreter's own documentation, clustered vectors."""

from __future__ import annotations

import ast
import random
import re
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy
from numpy.typing import NDArray

from reasoningbank.memories.words import analyse
from reasoningbank.storage import open_storage
from reasoningbank.storage.store import Store
from reasoningbank.types.belief import Belief
from reasoningbank.types.memory import Memory
from reasoningbank.types.recall import DENSE_LEGS, Filter
from reasoningbank.types.records import Indexed
from reasoningbank.types.scope import Scope

DIMENSION = 384
MODEL = "benchmark/384"
CLUSTERS = 200
_SENTENCE = re.compile(r"[A-Z][^.\n]{30,200}\.")


@cache
def sentences() -> tuple[str, ...]:
    """Sentences of the standard library's docstrings, in a fixed order."""
    found: set[str] = set()
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
                text = " ".join((ast.get_docstring(node) or "").split())
                found.update(_SENTENCE.findall(text))
    return tuple(sorted(found))


@cache
def centres() -> NDArray[numpy.float32]:
    """The centres of the vectors' clusters."""
    return unit(numpy.random.default_rng(1).standard_normal((CLUSTERS, DIMENSION)).astype(numpy.float32))


def unit(vectors: NDArray[numpy.float32]) -> NDArray[numpy.float32]:
    """Rows of length one."""
    scaled: NDArray[numpy.float32] = vectors / numpy.linalg.norm(vectors, axis=-1, keepdims=True)
    return scaled


def vectors(count: int, seed: int) -> NDArray[numpy.float32]:
    """Clustered unit vectors."""
    random_numbers = numpy.random.default_rng(seed)
    noise = random_numbers.standard_normal((count, DIMENSION)).astype(numpy.float32)
    return unit(centres()[random_numbers.integers(CLUSTERS, size=count)] + 0.08 * noise)


def memories(count: int, *, described: bool, project: str = "bench") -> Iterator[tuple[Memory, Indexed]]:
    """Memories with a title, three sentences of content and, where asked for, a description of one sentence."""
    choice = random.Random(3)
    pool = sentences()
    content_vectors = vectors(count, 5)
    description_vectors = vectors(count, 7)
    for number in range(count):
        title, *body, description = choice.choices(pool, k=5)
        memory = Memory(
            project=project,
            title=title[:200],
            description=description if described else "",
            content=f"{' '.join(body)} See case {number}.",
            outcome="success" if number % 3 else "failure",
            tags=(f"area{number % 17}",),
            belief=Belief.starting_at(0.8 if number % 4 else 0.6),
            tokens=120,
        )
        legs = {"content": content_vectors[number]}
        if described:
            legs["description"] = description_vectors[number]
        text = analyse("\n".join((memory.title, memory.description, memory.content, *memory.tags)))
        yield memory, Indexed(text=text, model_id=MODEL, vectors=legs)


def fill(store: Store, count: int, *, described: bool) -> None:
    """Stores that many memories, a thousand in a transaction."""
    batch: list[tuple[Memory, Indexed]] = []
    for entry in memories(count, described=described, project=store.scope.project):
        batch.append(entry)
        if len(batch) == 1_000:
            _store(store, batch)
            batch.clear()
    _store(store, batch)


def _store(store: Store, batch: list[tuple[Memory, Indexed]]) -> None:
    with store.transaction() as transaction:
        for memory, indexed in batch:
            transaction.memories.insert(memory, indexed)


def questions(count: int) -> list[str]:
    """Queries of six to twelve words taken out of sentences."""
    choice = random.Random(11)
    found = []
    for sentence in choice.choices(sentences(), k=count):
        words = sentence.split()
        size = choice.randint(6, 12)
        start = choice.randrange(max(1, len(words) - size))
        found.append(" ".join(words[start : start + size]))
    return found


def filled(home: Path, size: int) -> Store:
    """A store below ``home`` with that many memories, its sidecar written."""
    store = open_storage(None, home=home).open(Scope(tenant="bench", project=f"memories-{size}"))
    fill(store, size, described=True)
    for leg in DENSE_LEGS:
        store.search.nearest(leg, vectors(1, 9)[0], Filter(), 1)
    return store
