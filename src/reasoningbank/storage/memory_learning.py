"""Trajectories, what they taught, traces and jobs of a bank in memory: each write checks first, then changes."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import numpy

from reasoningbank.domain.experience import COMPARED_TRACES, COSINE_DIGITS, Trace
from reasoningbank.domain.learning import Origin, Refusal
from reasoningbank.domain.trajectory import Judgement, Trajectory, Verdict
from reasoningbank.errors import InvalidInput, ModelMismatch
from reasoningbank.ports import Job, TrajectoryEntry, Vector
from reasoningbank.storage.learning_rows import error_text, missing, owned
from reasoningbank.storage.learning_writes import with_end_of
from reasoningbank.storage.memory_contents import Contents, check_text
from reasoningbank.storage.memory_documents import MemoryDocumentReads, MemoryDocumentWrites
from reasoningbank.storage.memory_exposures import MemoryExposureReads, MemoryExposureWrites
from reasoningbank.storage.queue import check_kind, check_lease
from reasoningbank.storage.rows import to_microseconds
from reasoningbank.storage.vectors import unit_vector


class MemoryLearningReads(MemoryExposureReads, MemoryDocumentReads, ABC):
    """The StoreReader port with everything about learning."""

    def trajectory(self, trajectory_id: str) -> Trajectory:
        return _kept(self.contents, trajectory_id)

    def entry(self, trajectory_id: str) -> TrajectoryEntry:
        return _entry(self.contents, _kept(self.contents, trajectory_id))

    def trajectories(
        self, *, limit: int, offset: int = 0, verdict: Verdict | None = None, pending: bool | None = None
    ) -> Sequence[TrajectoryEntry]:
        entries = [_entry(self.contents, trajectory) for trajectory in self.contents.trajectories.values()]
        met = [
            entry
            for entry in entries
            if verdict in {None, entry.judgement.verdict if entry.judgement else "unknown"}
            and pending in {None, entry.distilled is None}
        ]
        return met[offset : offset + limit] if limit else met[offset:]

    def captured(self, key: str) -> str | None:
        contents = self.contents
        same = [each.id for each in contents.trajectories.values() if each.digest == key]
        return contents.captured.get(key) or next(iter(same), None)

    def judgements(self, trajectory_id: str) -> Sequence[Judgement]:
        _kept(self.contents, trajectory_id)
        return self.contents.judgements.get(trajectory_id, ())

    def origins(self, *, memory_id: str | None = None, trajectory: str | None = None) -> Sequence[Origin]:
        return [
            origin
            for origin in self.contents.origins.values()
            if memory_id in {None, origin.memory_id} and trajectory in {None, origin.trajectory}
        ]

    def refusals(self, *, trajectory: str | None = None, limit: int = 0) -> Sequence[Refusal]:
        newest = reversed(self.contents.refusals.values())
        found = [refusal for refusal in newest if trajectory in {None, refusal.trajectory}]
        return found[:limit] if limit else found

    def trace(self, trace_id: str) -> Trace:
        found = self.contents.traces.get(trace_id)
        if found is None:
            raise missing("trace", trace_id, self.contents.project)
        return found

    def traces(self, *, session: str | None = None, limit: int = 0) -> Sequence[Trace]:
        newest = reversed(self.contents.traces.values())
        found = [trace for trace in newest if session in {None, trace.session}]
        return found[:limit] if limit else found

    def jobs(self, *, due: datetime) -> Sequence[Job]:
        waiting = [job for job in self.contents.jobs.values() if job.due <= due]
        return sorted(waiting, key=_age)

    def claimable(self, kinds: Sequence[str], *, at: datetime) -> bool:
        to_microseconds(at)
        return bool(_free(self.contents, kinds, at))

    def dead_jobs(self) -> Sequence[Job]:
        dead = sorted(self.contents.dead.values(), key=lambda pair: (pair[1], pair[0].kind, pair[0].key))
        return [job for job, _ in dead]

    def similar_traces(self, vector: Vector, *, limit: int) -> Sequence[tuple[Trace, float]]:
        contents = self.contents
        query = unit_vector(vector).astype(numpy.float64)
        if contents.model is not None and contents.model[1] != len(query):
            raise ModelMismatch(f"the bank's vectors have {contents.model[1]} dimensions, the query's {len(query)}")
        rows = contents.trace_vectors
        newest = [trace for trace in reversed(contents.traces.values()) if trace.id in rows][:COMPARED_TRACES]
        scored = [
            (trace, max(-1.0, min(1.0, round(float(rows[trace.id].astype(numpy.float64) @ query), COSINE_DIGITS))))
            for trace in newest
        ]
        return sorted(scored, key=lambda pair: -pair[1])[: max(0, limit)]


class MemoryLearningWrites(MemoryLearningReads, MemoryExposureWrites, MemoryDocumentWrites, ABC):
    """The Transaction port's writes about learning."""

    def enqueue(self, job: Job) -> bool:
        check_kind(job)
        contents, place = self.contents, (job.kind, job.key)
        to_microseconds(job.due)
        if place in contents.jobs or place in contents.dead:
            return False
        contents.jobs[place] = replace(job, payload=dict(job.payload), lease="")
        return True

    def claim(self, kinds: Sequence[str], *, lease: str, at: datetime, until: datetime) -> Job | None:
        check_lease(lease, at, until)
        contents = self.contents
        free = _free(contents, kinds, at)
        if not free:
            return None
        first = min(free, key=_age)
        claimed = replace(first, lease=lease, attempts=first.attempts + 1)
        contents.jobs[first.kind, first.key], contents.leases[first.kind, first.key] = claimed, until
        return claimed

    def extend(self, job: Job, until: datetime) -> bool:
        to_microseconds(until)
        held = self._held(job)
        if held is not None:
            self.contents.leases[job.kind, job.key] = until
        return held is not None

    def finish(self, job: Job) -> bool:
        if job.lease and self._held(job) is None:
            return False
        self._remove(job)
        return True

    def put_back(self, job: Job, *, due: datetime, error: str) -> bool:
        to_microseconds(due)
        check_kind(job)
        held = self._held(job)
        if held is not None:
            self._remove(held)
            waiting = replace(held, lease="", due=due, attempts=job.attempts, error=error_text(error))
            self.contents.jobs[held.kind, held.key] = waiting
        return held is not None

    def bury(self, job: Job, *, at: datetime, error: str) -> bool:
        to_microseconds(at)
        held = self._held(job)
        if held is not None:
            self._remove(held)
            self.contents.dead[held.kind, held.key] = replace(held, lease="", error=error_text(error)), at
        return held is not None

    def revive(self, kind: str, key: str, *, due: datetime) -> bool:
        to_microseconds(due)
        found = self.contents.dead.pop((kind, key), None)
        if found is not None:
            self.contents.jobs[kind, key] = replace(found[0], due=due, attempts=0)
        return found is not None

    def keep(self, trajectory: Trajectory, *, key: str = "") -> bool:
        contents = self.contents
        kept, _ = owned(trajectory)
        check_text((key,))
        if any(each.digest == kept.digest for each in contents.trajectories.values()):
            return False
        if key and key in contents.captured:
            return False
        if kept.id in contents.trajectories:
            raise InvalidInput(f"a trajectory with the id {kept.id[:80]!r} exists already")
        if key:
            contents.captured[key] = kept.id
        contents.trajectories[kept.id] = kept
        return True

    def erase_trajectory(self, trajectory_id: str) -> None:
        contents = self.contents
        _kept(contents, trajectory_id)
        del contents.trajectories[trajectory_id]
        contents.judgements.pop(trajectory_id, None)
        contents.distilled.pop(trajectory_id, None)
        contents.captured = {key: name for key, name in contents.captured.items() if name != trajectory_id}
        contents.refusals = {
            name: refusal for name, refusal in contents.refusals.items() if refusal.trajectory != trajectory_id
        }

    def judge(self, trajectory_id: str, judgement: Judgement) -> None:
        contents = self.contents
        kept, _ = owned(judgement)
        _kept(contents, trajectory_id)
        contents.judgements[trajectory_id] = (*contents.judgements.get(trajectory_id, ()), kept)

    def mark_distilled(self, trajectory_id: str, at: datetime | None) -> None:
        contents = self.contents
        if at is not None:
            to_microseconds(at)
        _kept(contents, trajectory_id)
        if at is None:
            contents.distilled.pop(trajectory_id, None)
        else:
            contents.distilled[trajectory_id] = at

    def add_origin(self, origin: Origin) -> bool:
        contents = self.contents
        kept, _ = owned(origin)
        contents.memory(kept.memory_id)
        place = (kept.memory_id, kept.trajectory)
        if place in contents.origins:
            return False
        contents.origins[place] = kept
        return True

    def refuse(self, refusal: Refusal) -> None:
        contents = self.contents
        kept, _ = owned(refusal)
        if kept.id in contents.refusals:
            raise InvalidInput(f"a refusal with the id {kept.id[:80]!r} exists already")
        contents.refusals[kept.id] = kept

    def keep_trace(self, trace: Trace, vector: Vector, model_id: str) -> None:
        contents = self.contents
        kept, _ = owned(trace)
        row = self._fit(vector, model_id)
        if kept.id in contents.traces:
            raise InvalidInput(f"a trace with the id {kept.id[:80]!r} exists already")
        self._put_vector(kept.id, row, model_id)
        contents.traces[kept.id] = kept

    def update_trace(self, trace: Trace, vector: Vector | None = None, model_id: str = "") -> None:
        contents = self.contents
        kept, _ = owned(with_end_of(self.trace(trace.id), trace))
        if vector is not None:
            self._put_vector(kept.id, self._fit(vector, model_id), model_id)
        contents.traces[kept.id] = kept

    def _held(self, job: Job) -> Job | None:
        found = self.contents.jobs.get((job.kind, job.key))
        return found if found is not None and job.lease and found.lease == job.lease else None

    def _remove(self, job: Job) -> None:
        contents = self.contents
        for table in (contents.jobs, contents.leases, contents.dead):
            table.pop((job.kind, job.key), None)

    def _fit(self, vector: Vector, model_id: str) -> Vector:
        if not model_id:
            raise InvalidInput("a vector needs the name of its model")
        row = unit_vector(vector)
        self.contents.check_space(model_id, len(row))
        return row

    def _put_vector(self, trace_id: str, row: Vector, model_id: str) -> None:
        row.flags.writeable = False
        self.contents.model = (model_id, len(row))
        self.contents.trace_vectors[trace_id] = row


def learning_problems(contents: Contents) -> list[str]:
    """What does not belong together."""
    newest = list(contents.traces)[-COMPARED_TRACES:]
    return [
        *(
            f"an origin names memory {name!r}, which is gone"
            for name, _ in contents.origins
            if name not in contents.memories
        ),
        *(f"trace {name!r} has no vector" for name in newest if name not in contents.trace_vectors),
    ]


def _kept(contents: Contents, trajectory_id: str) -> Trajectory:
    found = contents.trajectories.get(trajectory_id)
    if found is None:
        raise missing("trajectory", trajectory_id, contents.project)
    return found


def _entry(contents: Contents, trajectory: Trajectory) -> TrajectoryEntry:
    judged = contents.judgements.get(trajectory.id, ())
    return TrajectoryEntry(
        id=trajectory.id,
        task=trajectory.task,
        session=trajectory.session,
        source=trajectory.source,
        steps=len(trajectory.steps),
        at=trajectory.created_at,
        judgement=judged[-1] if judged else None,
        distilled=contents.distilled.get(trajectory.id),
    )


def _free(contents: Contents, kinds: Sequence[str], at: datetime) -> list[Job]:
    return [
        job
        for place, job in contents.jobs.items()
        if job.kind in kinds and job.due <= at and (not job.lease or contents.leases[place] <= at)
    ]


def _age(job: Job) -> tuple[datetime, str, str]:
    return (job.due, job.kind, job.key)
