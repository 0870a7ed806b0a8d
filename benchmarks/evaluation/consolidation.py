"""How well clustering finds what says the same: two real sets loaded as banks, checked against pairs read by hand.

``python -m evaluation.consolidation`` prints, per set, the clusters that ``find_similar_clusters`` finds
at the default threshold in the real store, and how many pairs of the labelled sample the clustering judges as the
reader did, with 95 % intervals. The labels lie beside this module as ids alone; the texts are in the data folder.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import combinations
from pathlib import Path

from evaluation.learning_estimates import share
from evaluation.learning_tables import Cell, Table, absent, fields_of, text_of
from reasoningbank.bank import Bank
from reasoningbank.embedding import open_embedder
from reasoningbank.memories.similarity import least_cosine
from reasoningbank.settings import Settings
from reasoningbank.types.consolidation import SIMILARITY_THRESHOLD, SimilarityCluster
from reasoningbank.types.memory import MAX_TITLE, Outcome
from reasoningbank.types.ports import Embedder
from reasoningbank.types.recall import CONTENT_LEG, Filter

ACE, REME = "ace_playbooks", "reme"
LABELS = "consolidation_labels.json"
"""The labelled pairs, in this package."""
NEAR_MISS = 0.03
"""Pairs whose cosine is at most so far below the threshold are near misses."""
RULE = (
    "Two lessons are the same when an agent that has read one of them would act no differently after reading the other "
    "in the situation that both are about: the same situation and the same main advice. A further detail, example, "
    "reason or step in one of them does not make them different; another step, cause, check or remedy as the main "
    "advice does. What cannot be decided counts as different."
)
"""How the pairs were labelled, written before they were read."""
_BULLET = re.compile(r"\[([a-z]+-\d+)\]\s+(.*)")
_TITLE = 120
_MOST_PAIRS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One lesson of a set, under the id that the set gives it."""

    key: str
    title: str
    content: str
    outcome: Outcome = "success"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two lessons of a set, and whether a person says that they are the same lesson.

    Attributes:
        together: Whether the clustering had put them together when the sample was drawn.
    """

    set: str
    first: str
    second: str
    same: bool
    together: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustered:
    """What the clustering made of a set.

    Attributes:
        inside: Pairs of keys that stand in one cluster.
        near: Pairs of keys of one outcome just below the threshold that do not.
        seconds: Processor time of finding the clusters.
    """

    lessons: int
    clusters: tuple[tuple[str, ...], ...]
    inside: frozenset[tuple[str, str]]
    near: frozenset[tuple[str, str]]
    seconds: float


def ace(data: Path) -> tuple[Lesson, ...]:
    """The bullets of the playbook; their first sentence is the title."""
    path = data / ACE / "appworld_online_trained_playbook.txt"
    if not path.exists():
        return ()
    found: list[tuple[str, str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        match = _BULLET.match(line)
        if match:
            found.append((match[1], match[2]))
        elif found and line.strip() and not line.startswith("##"):
            key, text = found[-1]
            found[-1] = key, f"{text}\n{line}"
    return tuple(Lesson(key=key, title=text.split(". ")[0][:_TITLE], content=text) for key, text in found)


def reme(data: Path) -> tuple[Lesson, ...]:
    """The memory items; when to use one is its title, what was learned from a failure is an anti-pattern."""
    folder = data / REME
    rows = [
        json.loads(line)
        for path in (sorted(folder.glob("*.jsonl")) if folder.is_dir() else ())
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
    return tuple(
        Lesson(
            key=row["memory_id"],
            title=row["when_to_use"][:MAX_TITLE],
            content=row["content"],
            outcome="failure" if row["metadata"].get("category") == "failure" else "success",
        )
        for row in rows
    )


def clustered(lessons: Sequence[Lesson], embedder: Embedder, home: Path, name: str) -> Clustered:
    """Records the lessons in a bank of their own and clusters them."""
    keys: dict[str, str] = {}
    with Bank.open(
        tenant="evaluation", project=name, embedder=embedder, settings=Settings(home=home), by_agent=False
    ) as bank:
        for lesson in lessons:
            made = bank.record(title=lesson.title, content=lesson.content, outcome=lesson.outcome, vouched=True)
            keys[made.id] = lesson.key
        began = time.process_time()
        clusters = bank.curation.clusters()
        seconds = time.process_time() - began
    inside = {_pair(keys[one], keys[two]) for cluster in clusters for one, two in combinations(cluster.ids, 2)}
    near = _near(home, name, embedder, keys, clusters)
    return Clustered(
        lessons=len(lessons),
        clusters=tuple(tuple(keys[one] for one in cluster.ids) for cluster in clusters),
        inside=frozenset(inside),
        near=frozenset(near - inside),
        seconds=seconds,
    )


def _near(
    home: Path, name: str, embedder: Embedder, keys: Mapping[str, str], clusters: Sequence[SimilarityCluster]
) -> set[tuple[str, str]]:
    """Close pairs of one outcome, of different clusters or of none."""
    from reasoningbank.storage import open_storage
    from reasoningbank.types.scope import Scope

    place = {one: number for number, cluster in enumerate(clusters) for one in cluster.ids}
    bar = least_cosine(SIMILARITY_THRESHOLD, embedder.model_id) - NEAR_MISS
    store = open_storage(None, home=home).open(Scope(tenant="evaluation", project=name))
    try:
        pairs = store.search.close_pairs(CONTENT_LEG, bar, Filter(), limit=_MOST_PAIRS)
        outcomes = {memory.id: memory.outcome for memory in store.memories.many(pairs.ids).values()}
    finally:
        store.close()
    found = set()
    for first, second in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True):
        one, two = pairs.ids[first], pairs.ids[second]
        if outcomes[one] == outcomes[two] and (one not in place or place[one] != place.get(two)):
            found.add(_pair(keys[one], keys[two]))
    return found


def _pair(one: str, two: str) -> tuple[str, str]:
    return (one, two) if one < two else (two, one)


def labels() -> tuple[Pair, ...]:
    """The pairs that were read by hand."""
    rows = json.loads(files("evaluation").joinpath(LABELS).read_text(encoding="utf-8"))["pairs"]
    return tuple(Pair(**row) for row in rows)


def sample(found: Mapping[str, Clustered], seed: str, count: int, *, together: bool) -> list[tuple[str, str, str]]:
    """A seeded sample of set and pair: of those that are put together, or of the near misses."""
    pool = sorted((name, *pair) for name, each in found.items() for pair in (each.inside if together else each.near))
    return sorted(random.Random(f"{seed} {together}").sample(pool, min(count, len(pool))))


def tables(data: Path, embedder: Embedder, home: Path) -> Iterator[Table]:
    """The clusters of each set, and how they agree with the labels."""
    sets = {ACE: ace(data), REME: reme(data)}
    title = "Clusters at the default threshold"
    if not any(sets.values()):
        yield absent("clusters", title, ACE, REME)
        return
    found = {name: clustered(lessons, embedder, home, name) for name, lessons in sets.items() if lessons}
    rows: list[Mapping[str, Cell]] = [
        {
            "set": name,
            "lessons": each.lessons,
            "clusters": len(each.clusters),
            "lessons in clusters": sum(map(len, each.clusters)),
            "largest": max(map(len, each.clusters), default=0),
            "pairs together": len(each.inside),
            "near misses": len(each.near),
            "CPU seconds": round(each.seconds, 2),
        }
        for name, each in found.items()
    ]
    yield Table(name="clusters", title=title, rows=tuple(rows))
    yield _agreement(found)


def _agreement(found: Mapping[str, Clustered]) -> Table:
    """Precision of what is put together, and which part of the near misses are the same lesson after all."""
    known = [pair for pair in labels() if pair.set in found]
    rows: list[Mapping[str, Cell]] = []
    for name in (*found, "all"):
        here = [pair for pair in known if name in {pair.set, "all"}]
        drawn = [pair for pair in here if pair.together]
        still = [pair for pair in here if _pair(pair.first, pair.second) in found[pair.set].inside]
        missed = [pair for pair in here if not pair.together]
        rows.append(
            {
                "set": name,
                "precision of the sample": share(sum(pair.same for pair in drawn), len(drawn)),
                "precision of what is together now": share(sum(pair.same for pair in still), len(still)),
                "near misses that are the same": share(sum(pair.same for pair in missed), len(missed)),
            }
        )
    return Table(
        name="agreement",
        title="Pairs read by hand (shares with Wilson 95 % intervals)",
        rows=tuple(rows),
        notes=(RULE,),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the evaluation; returns 0."""
    parser = argparse.ArgumentParser(prog="evaluation.consolidation", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the data")
    parser.add_argument("--embedder", default="local", help="name of the embedder")
    parser.add_argument("--draw", metavar="SEED", help="draw pairs to be labelled by hand and print them with texts")
    parser.add_argument("--count", type=int, default=40, help="pairs to draw")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="reasoningbank-evaluation-") as folder:
        home = Path(folder)
        embedder = open_embedder(options.embedder, cache=home / "models")
        if options.draw:
            return _draw(options.data, embedder, home, options.draw, options.count)
        made = list(tables(options.data, embedder, home))
    if options.json:
        _print(json.dumps({"embedder": embedder.name, "tables": [fields_of(table) for table in made]}, indent=1))
    else:
        _print("\n\n".join(map(text_of, made)))
    return 0


def _draw(data: Path, embedder: Embedder, home: Path, seed: str, count: int) -> int:
    sets = {ACE: ace(data), REME: reme(data)}
    texts = {lesson.key: lesson for lessons in sets.values() for lesson in lessons}
    found = {name: clustered(lessons, embedder, home, name) for name, lessons in sets.items() if lessons}
    for together in (True, False):
        for number, (name, one, two) in enumerate(sample(found, seed, count, together=together)):
            row = {"set": name, "first": one, "second": two, "same": None, "together": together}
            _print(f"{number} {json.dumps(row)}")
            for key in (one, two):
                _print(f"    - {texts[key].title} || {texts[key].content}")
    return 0


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
