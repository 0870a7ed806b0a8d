"""Banks as files that a person reviews and git merges: a first line that names the scope, then one memory per line.

Lines are ordered by id and their keys by name, so that the same memories give the same bytes. Left out is what changes
without anybody deciding it: how often and when a memory was used, deliveries, months without use, searches. Left out
too is what cannot be recalled. Evidence stands in its memory's line, ordered by signal id; when git has kept the line
of both sides (``merge=union``), reading unites them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from reasoningbank.domain.consolidation import CONTRADICTS
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.recall import Filter
from reasoningbank.domain.scope import Scope
from reasoningbank.domain.sharing import PROMOTED_FROM, PROMOTED_TO, SHARED, ShareReport
from reasoningbank.domain.signal import Signal, SignalAggregate
from reasoningbank.engine.hygiene import reveal, safe_line
from reasoningbank.engine.index import TASK
from reasoningbank.engine.sharing.trust import INDEPENDENT, independent_part
from reasoningbank.errors import StoreUnavailable
from reasoningbank.ports import Store

FORMAT = "reasoningbank-share"
VERSION = 1
SUFFIX = ".jsonl"
ORIGINAL = "shared_source"
"""The entry of an imported memory's provenance that holds what its source was where it came from."""
KEPT = ("source", TASK, "model", "prompt", "reviewer", "written_by", "promoted_of")
"""The entries of a memory's provenance that are shared."""
LINKS = (PROMOTED_FROM, PROMOTED_TO, CONTRADICTS)
"""The kinds of links that are shared."""
COUNTED = tuple(f"{kind}_{side}" for kind in INDEPENDENT for side in ("positive", "negative"))
"""The rolled-up counts that are shared."""
ATTRIBUTES = ".gitattributes"
_UNION = f"*{SUFFIX} merge=union"
_BATCH = 200

Json = str | int | bool | None | Sequence["Json"] | Mapping[str, "Json"]


def file_of(scope: Scope) -> str:
    """The name of a scope's file: the same wherever the scope has the same name."""
    return (f"project--{scope.file_name}" if scope.level == "project" else scope.file_name) + SUFFIX


def write_shared(stores: Sequence[Store], target: Path) -> ShareReport:
    """Writes one file per bank into a directory, or the first bank into a file whose name ends in ``.jsonl``.

    Raises:
        StoreUnavailable: When it cannot be written.
    """
    into_file = target.suffix == SUFFIX and not target.is_dir()
    report = ShareReport()
    try:
        if not into_file:
            target.mkdir(parents=True, exist_ok=True)
            _have_git_unite(target / ATTRIBUTES)
        for store in stores[:1] if into_file else stores:
            path = target if into_file else target / file_of(store.scope)
            partial = path.with_name(path.name + ".partial")
            count = 0
            with partial.open("w", encoding="utf-8", newline="\n") as file:
                for line in lines_of(store):
                    file.write(line)
                    count += 1
            partial.replace(path)
            report += ShareReport(files=(str(path),), memories=count - 1)
    except OSError as error:
        raise StoreUnavailable(f"{target} cannot be written: {error.strerror}") from error
    return report


def lines_of(store: Store) -> Iterator[str]:
    """The lines of a bank's file, each with its end."""
    scope = store.scope
    yield _line({"format": FORMAT, "version": VERSION, "level": scope.level, "name": scope.project})
    memories: list[Memory] = []
    while batch := store.page(Filter(), limit=_BATCH, offset=len(memories)):
        memories += batch
    for memory in sorted(memories, key=lambda each: each.id):
        yield _line(_fields(store, reveal(memory)))


def _fields(store: Store, memory: Memory) -> dict[str, Json]:
    fields: dict[str, Json] = {
        "id": memory.id,
        "title": memory.title,
        "description": memory.description,
        "content": memory.content,
        "outcome": memory.outcome,
        "tags": list(memory.tags),
        "category": memory.category,
        "state": memory.state,
        "prior": memory.belief.prior,
        "created_at": memory.created_at.isoformat(),
        "updated_at": memory.updated_at.isoformat(),
        "version": memory.version,
        "provenance": _provenance(memory),
        "evidence": [
            _signal(signal)
            for signal in sorted(store.signals(memory.id), key=lambda each: each.id)
            if signal.type in INDEPENDENT
        ],
        "links": [
            [link.kind, link.target]
            for link in sorted(store.links(memory.id), key=lambda each: (each.kind, each.target))
            if link.source == memory.id and link.kind in LINKS
        ],
    }
    rolled_up = _rolled_up(store, store.aggregate(memory.id))
    return fields | ({"rolled_up": rolled_up} if rolled_up else {})


def _provenance(memory: Memory) -> dict[str, Json]:
    """Where the memory came from first, whoever has shared it since."""
    kept = {name: safe_line(memory.provenance[name]) for name in KEPT if name in memory.provenance}
    if kept.get("source") == SHARED:
        kept["source"] = safe_line(memory.provenance.get(ORIGINAL, SHARED))
    return {**kept}


def _signal(signal: Signal) -> dict[str, Json]:
    return {
        "id": signal.id,
        "type": signal.type,
        "positive": signal.positive,
        "session": safe_line(signal.session),
        "rater": signal.rater,
        "at": signal.at.isoformat(),
        "weight": signal.weight or 0,
    }


def _rolled_up(store: Store, aggregate: SignalAggregate) -> dict[str, Json]:
    """The counts of older evidence that no longer names its signals; empty when there is none that is shared."""
    counts: dict[str, Json] = {name: int(getattr(aggregate, name)) for name in COUNTED}
    if aggregate.last_rollup is None or not any(counts.values()):
        return {}
    weights = store.weights()
    return counts | {
        "positive": independent_part(aggregate, weights, "positive"),
        "negative": independent_part(aggregate, weights, "negative"),
        "at": aggregate.last_rollup.isoformat(),
    }


def _have_git_unite(path: Path) -> None:
    """Has git keep the lines of both sides; other lines of the file stay."""
    known = path.read_text(encoding="utf-8") if path.is_file() else ""
    if _UNION not in known.splitlines():
        end = "" if not known or known.endswith("\n") else "\n"
        path.write_text(f"{known}{end}{_UNION}\n", encoding="utf-8")


def _line(value: Mapping[str, Json]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True) + "\n"
