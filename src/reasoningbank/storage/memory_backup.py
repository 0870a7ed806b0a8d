"""A bank in memory as one JSON file that proves it is whole."""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import json
import os
from datetime import datetime
from pathlib import Path
from typing import TypedDict, TypeVar, cast

import numpy

from reasoningbank.domain.changes import Erasure, StateChange
from reasoningbank.domain.document import Document
from reasoningbank.domain.experience import Trace
from reasoningbank.domain.learning import Origin, Refusal
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.scope import LEVELS, Level, Membership, Scope
from reasoningbank.domain.signal import Signal, SignalAggregate
from reasoningbank.domain.trajectory import Judgement, Trajectory
from reasoningbank.domain.uplift import Exposure
from reasoningbank.errors import InvalidInput, ScopeViolation, StoreCorrupt, StoreFull, StoreUnavailable
from reasoningbank.ports import Job, Link, RecallLog, Vector, WeightChange, WordsWorth
from reasoningbank.storage.memory_contents import Contents
from reasoningbank.storage.memory_graph_backup import graph_body, take_graph
from reasoningbank.storage.records import Json, from_json, to_json

FORMAT = "reasoningbank memory backup 1"
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
_Record = TypeVar("_Record")


class _Learned(TypedDict):
    """The fields of ``Contents`` about learning."""

    leases: dict[tuple[str, str], datetime]
    dead: dict[tuple[str, str], tuple[Job, datetime]]
    trajectories: dict[str, Trajectory]
    captured: dict[str, str]
    distilled: dict[str, datetime]
    judgements: dict[str, tuple[Judgement, ...]]
    origins: dict[tuple[str, str], Origin]
    refusals: dict[str, Refusal]
    traces: dict[str, Trace]
    trace_vectors: dict[str, Vector]
    words_worth: WordsWorth
    membership: Membership
    exposures: dict[str, Exposure]
    state_changes: tuple[StateChange, ...]
    erasures: tuple[Erasure, ...]
    documents: dict[tuple[str, tuple[str, ...], str], Document]
    document_vectors: dict[tuple[str, tuple[str, ...], str], tuple[Vector, ...]]


def write_backup(scope: Scope, contents: Contents, target: Path) -> None:
    """Writes the file beside its place and renames it, readable by its owner alone.

    Raises:
        StoreUnavailable: When the directory does not exist or cannot be written.
        StoreFull: When no space is left.
    """
    body = json.dumps(_to_body(scope, contents))
    envelope = json.dumps({"format": FORMAT, "sha256": _digest(body), "bank": body})
    partial = target.with_name(target.name + ".partial")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(envelope)
        partial.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        if error.errno in _NO_SPACE:
            raise StoreFull(f"no space is left to write {target}") from error
        raise StoreUnavailable(f"{target} cannot be written: {error.strerror}") from error


def read_backup(scope: Scope, source: Path) -> Contents:
    """The contents of a backup.

    Raises:
        StoreUnavailable: When there is no readable file.
        StoreCorrupt: When it is not what ``write_backup`` wrote.
        ScopeViolation: When it is of another scope.
    """
    try:
        if not source.is_file():
            raise StoreUnavailable(f"there is no backup at {source}", hint="Pass the path that `rbank backup` printed.")
        envelope = json.loads(source.read_text(encoding="utf-8"))
        if envelope["format"] != FORMAT or envelope["sha256"] != _digest(envelope["bank"]):
            raise StoreCorrupt(f"{source.name} does not hold what was written to it")
        body = cast("dict[str, Json]", json.loads(envelope["bank"]))
        owner = Scope(
            tenant=cast(str, body["tenant"]),
            project=cast(str, body["project"]),
            level=LEVELS[LEVELS.index(cast(Level, body.get("level", "project")))],
        )
        contents = _from_body(body)
    except OSError as error:
        raise StoreUnavailable(f"{source} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreCorrupt(f"{source.name} is not a whole backup") from error
    if owner != scope:
        raise ScopeViolation(f"{source.name} is a backup of another tenant or project")
    return contents


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode("utf-8")).hexdigest()


def _to_body(scope: Scope, contents: Contents) -> dict[str, Json]:
    return {
        "tenant": scope.tenant,
        "project": scope.project,
        "level": scope.level,
        "model": to_json(contents.model),
        "memories": to_json(tuple(contents.memories.values())),
        "words": to_json(contents.words),
        "vectors": {
            leg: {memory_id: _text(vector) for memory_id, vector in rows.items()}
            for leg, rows in contents.vectors.items()
        },
        "revisions": to_json(contents.revisions),
        "signals": to_json(tuple(contents.signals.values())),
        "counted": to_json(sorted(contents.counted)),
        "aggregates": to_json(tuple(contents.aggregates.values())),
        "changes": to_json(contents.changes),
        "recalls": to_json(tuple(contents.recalls.values())),
        "links": to_json(tuple(contents.links)),
        "jobs": to_json(tuple(contents.jobs.values())),
        "leases": to_json([(*place, until) for place, until in contents.leases.items()]),
        "dead": to_json(tuple(contents.dead.values())),
        "trajectories": to_json(tuple(contents.trajectories.values())),
        "captured": to_json(contents.captured),
        "distilled": to_json(contents.distilled),
        "judgements": to_json(contents.judgements),
        "origins": to_json(tuple(contents.origins.values())),
        "refusals": to_json(tuple(contents.refusals.values())),
        "traces": to_json(tuple(contents.traces.values())),
        "trace_vectors": {name: _text(vector) for name, vector in contents.trace_vectors.items()},
        "words_worth": to_json(contents.words_worth),
        "membership": to_json(contents.membership),
        "exposures": to_json(tuple(contents.exposures.values())),
        "state_changes": to_json(contents.state_changes),
        "erasures": to_json(contents.erasures),
        "graph": graph_body(contents),
        "documents": to_json(tuple(contents.documents.values())),
        "document_vectors": [
            [_text(vector) for vector in contents.document_vectors.get(place, ())] for place in contents.documents
        ],
    }


def _from_body(body: dict[str, Json]) -> Contents:
    model = cast("list[str | int] | None", body["model"])
    jobs = _records(Job, body["jobs"])
    words = cast("dict[str, list[str]]", body["words"])
    vectors = cast("dict[str, dict[str, str]]", body["vectors"])
    revisions = cast("dict[str, Json]", body["revisions"])
    contents = Contents(
        project=cast(str, body["project"]),
        model=None if model is None else (str(model[0]), int(model[1])),
        memories={memory.id: memory for memory in _records(Memory, body["memories"])},
        words={memory_id: tuple(listed) for memory_id, listed in words.items()},
        vectors={leg: {memory_id: _vector(text) for memory_id, text in rows.items()} for leg, rows in vectors.items()},
        revisions={memory_id: _records(Memory, versions) for memory_id, versions in revisions.items()},
        signals={signal.id: signal for signal in _records(Signal, body["signals"])},
        counted={(place[0], place[1], place[2]) for place in cast("list[list[str]]", body["counted"])},
        aggregates={aggregate.memory_id: aggregate for aggregate in _records(SignalAggregate, body["aggregates"])},
        changes=_records(WeightChange, body["changes"]),
        recalls={log.id: log for log in _records(RecallLog, body["recalls"])},
        links=set(_records(Link, body["links"])),
        jobs={(job.kind, job.key): job for job in jobs},
        **_learned(body),
    )
    take_graph(contents, body.get("graph"))
    return contents


def _learned(body: dict[str, Json]) -> _Learned:
    """What a backup of the first version does not hold yet."""
    leases = cast("list[tuple[str, str, str]]", body.get("leases", []))
    dead = [(from_json(Job, pair[0]), pair[1]) for pair in cast("list[tuple[Json, str]]", body.get("dead", []))]
    origins = _records(Origin, body.get("origins", []))
    judgements = cast("dict[str, Json]", body.get("judgements", {}))
    distilled = cast("dict[str, str]", body.get("distilled", {}))
    vectors = cast("dict[str, str]", body.get("trace_vectors", {}))
    documents = _records(Document, body.get("documents", []))
    document_rows = cast("list[list[str]]", body.get("document_vectors", []))
    return {
        "leases": {(kind, key): datetime.fromisoformat(until) for kind, key, until in leases},
        "dead": {(job.kind, job.key): (job, datetime.fromisoformat(at)) for job, at in dead},
        "trajectories": {each.id: each for each in _records(Trajectory, body.get("trajectories", []))},
        "captured": dict(cast("dict[str, str]", body.get("captured", {}))),
        "distilled": {name: datetime.fromisoformat(at) for name, at in distilled.items()},
        "judgements": {name: _records(Judgement, listed) for name, listed in judgements.items()},
        "origins": {(origin.memory_id, origin.trajectory): origin for origin in origins},
        "refusals": {refusal.id: refusal for refusal in _records(Refusal, body.get("refusals", []))},
        "traces": {trace.id: trace for trace in _records(Trace, body.get("traces", []))},
        "trace_vectors": {name: _vector(text) for name, text in vectors.items()},
        "words_worth": from_json(WordsWorth, body.get("words_worth", {})),
        "membership": from_json(Membership, body.get("membership", {})),
        "exposures": {each.session: each for each in _records(Exposure, body.get("exposures", []))},
        "state_changes": _records(StateChange, body.get("state_changes", [])),
        "erasures": _records(Erasure, body.get("erasures", [])),
        "documents": {document.place: document for document in documents},
        "document_vectors": {
            document.place: tuple(_vector(text) for text in rows)
            for document, rows in zip(documents, document_rows, strict=True)
            if rows
        },
    }


def _records(kind: type[_Record], values: Json) -> tuple[_Record, ...]:
    if not isinstance(values, list):
        raise InvalidInput("a list was expected")
    return tuple(from_json(kind, value) for value in values)


def _text(vector: Vector) -> str:
    return base64.b64encode(vector.tobytes()).decode("ascii")


def _vector(text: str) -> Vector:
    vector: Vector = numpy.frombuffer(base64.b64decode(text), dtype=numpy.float32)
    return vector
