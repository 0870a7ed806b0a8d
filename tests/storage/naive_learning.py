"""The naive model's trajectories and what was made of them, traces, exposures, documents and jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from reasoningbank.errors import InvalidInput, ModelMismatch, TrajectoryNotFound
from reasoningbank.storage.delivery_tables import owned_exposure
from reasoningbank.storage.document_tables import owned_document
from reasoningbank.storage.job_tables import check_kind, check_lease, error_text
from reasoningbank.storage.rows import owned
from reasoningbank.storage.vector_file import unit_vector
from reasoningbank.types.document import Document
from reasoningbank.types.experience import COMPARED_TRACES, COSINE_DIGITS, Trace
from reasoningbank.types.ports import Vector
from reasoningbank.types.records import Job, TrajectoryEntry
from reasoningbank.types.session import Judgement, Origin, Refusal, Trajectory, Verdict
from reasoningbank.types.uplift import Exposure
from storage.naive_state import NaiveState, check_text, product


class NaiveLearning(NaiveState):
    """Everything about learning, documents and jobs."""

    # Trajectories

    def trajectory(self, trajectory_id: str) -> Trajectory:
        if trajectory_id not in self.kept:
            raise TrajectoryNotFound(trajectory_id)
        return self.kept[trajectory_id]

    def entry(self, trajectory_id: str) -> TrajectoryEntry:
        trajectory = self.trajectory(trajectory_id)
        return TrajectoryEntry(
            id=trajectory.id,
            task=trajectory.task,
            session=trajectory.session,
            source=trajectory.source,
            steps=len(trajectory.steps),
            at=trajectory.created_at,
            judgement=next(reversed(self.verdicts.get(trajectory_id, ())), None),
            distilled=self.distilled.get(trajectory_id),
        )

    def trajectories(
        self, *, limit: int, offset: int = 0, verdict: Verdict | None = None, pending: bool | None = None
    ) -> Sequence[TrajectoryEntry]:
        met = [
            entry
            for entry in map(self.entry, self.kept)
            if verdict in {None, entry.judgement.verdict if entry.judgement else "unknown"}
            and pending in {None, entry.distilled is None}
        ]
        return met[offset : offset + limit] if limit else met[offset:]

    def captured(self, key: str) -> str | None:
        return self.keys.get(key) or next((each.id for each in self.kept.values() if each.digest == key), None)

    def keep(self, trajectory: Trajectory, *, key: str = "") -> bool:
        kept, _ = owned(trajectory)
        check_text([key])
        if key in self.keys or any(each.digest == kept.digest for each in self.kept.values()):
            return False
        if kept.id in self.kept:
            raise InvalidInput(f"{kept.id} exists already")
        if key:
            self.keys[key] = kept.id
        self.kept[kept.id] = kept
        return True

    def erase_trajectory(self, trajectory_id: str) -> None:
        self.trajectory(trajectory_id)
        del self.kept[trajectory_id]
        self.verdicts.pop(trajectory_id, None)
        self.distilled.pop(trajectory_id, None)
        self.keys = {key: name for key, name in self.keys.items() if name != trajectory_id}
        self.refused = {name: each for name, each in self.refused.items() if each.trajectory != trajectory_id}

    def judgements(self, trajectory_id: str) -> Sequence[Judgement]:
        self.trajectory(trajectory_id)
        return self.verdicts.get(trajectory_id, ())

    def judge(self, trajectory_id: str, judgement: Judgement) -> None:
        kept, _ = owned(judgement)
        self.verdicts[trajectory_id] = (*self.judgements(trajectory_id), kept)

    def mark_distilled(self, trajectory_id: str, at: datetime | None) -> None:
        self.trajectory(trajectory_id)
        self.distilled.pop(trajectory_id, None)
        if at is not None:
            self.distilled[trajectory_id] = at

    def origins(self, *, memory_id: str | None = None, trajectory: str | None = None) -> Sequence[Origin]:
        return [
            origin
            for origin in self.taught.values()
            if memory_id in {None, origin.memory_id} and trajectory in {None, origin.trajectory}
        ]

    def add_origin(self, origin: Origin) -> bool:
        kept, _ = owned(origin)
        self.get(kept.memory_id)
        place = (kept.memory_id, kept.trajectory)
        new = place not in self.taught
        self.taught.setdefault(place, kept)
        return new

    def refusals(self, *, trajectory: str | None = None, limit: int = 0) -> Sequence[Refusal]:
        newest = [refusal for refusal in reversed(self.refused.values()) if trajectory in {None, refusal.trajectory}]
        return newest[:limit] if limit else newest

    def refuse(self, refusal: Refusal) -> None:
        kept, _ = owned(refusal)
        if kept.id in self.refused:
            raise InvalidInput(f"{kept.id} exists already")
        self.refused[kept.id] = kept

    # Traces

    def trace(self, trace_id: str) -> Trace:
        if trace_id not in self.trace_log:
            raise TrajectoryNotFound(trace_id)
        return self.trace_log[trace_id]

    def traces(self, *, session: str | None = None, limit: int = 0) -> Sequence[Trace]:
        newest = [trace for trace in reversed(self.trace_log.values()) if session in {None, trace.session}]
        return newest[:limit] if limit else newest

    def similar_traces(self, vector: Vector, *, limit: int) -> Sequence[tuple[Trace, float]]:
        query = unit_vector(vector)
        self.check_query(query)
        newest = [trace for trace in reversed(self.trace_log.values()) if trace.id in self.trace_vectors]
        scored = [
            (trace, max(-1.0, min(1.0, round(product(self.trace_vectors[trace.id], query), COSINE_DIGITS))))
            for trace in newest[:COMPARED_TRACES]
        ]
        return sorted(scored, key=lambda pair: -pair[1])[: max(0, limit)]

    def keep_trace(self, trace: Trace, vector: Vector, model_id: str) -> None:
        kept, _ = owned(trace)
        rows = self.fit([vector], model_id)
        if kept.id in self.trace_log:
            raise InvalidInput(f"{kept.id} exists already")
        self.note_space(rows, model_id)
        self.trace_log[kept.id], self.trace_vectors[kept.id] = kept, rows[0]

    def update_trace(self, trace: Trace, vector: Vector | None = None, model_id: str = "") -> None:
        ended = {
            name: getattr(trace, name) for name in ("outcome", "failure_reason", "state", "strategies")
        }  # nothing else of a trace ever changes
        kept, _ = owned(replace(self.trace(trace.id), **ended))
        if vector is not None:
            rows = self.fit([vector], model_id)
            self.note_space(rows, model_id)
            self.trace_vectors[kept.id] = rows[0]
        self.trace_log[kept.id] = kept

    # Exposures

    def exposure(self, session: str) -> Exposure | None:
        return self.met.get(session)

    def exposures(self) -> Sequence[Exposure]:
        return list(self.met.values())

    def expose(self, exposure: Exposure) -> None:
        kept, _ = owned_exposure(exposure)
        shown = tuple(one for one in kept.shown if one.memory_id in self.held)
        self.met[kept.session] = replace(kept, shown=shown)

    # Documents

    def document(self, collection: str, path: Sequence[str], key: str) -> Document | None:
        return self.filed.get((collection, tuple(path), key))

    def below(self, collection: str | None = None, path: Sequence[str] = ()) -> Sequence[Document]:
        return [
            document
            for document in self.filed.values()
            if collection in {None, document.collection} and document.path[: len(path)] == tuple(path)
        ]

    def compared_documents(
        self, collection: str, path: Sequence[str], vector: Vector
    ) -> Sequence[tuple[Document, float | None]]:
        query = unit_vector(vector)
        found: list[tuple[Document, float | None]] = []
        for document in self.below(collection, path):
            rows = self.filed_vectors.get(document.place, [])
            if any(len(row) != len(query) for row in rows):
                raise ModelMismatch("another dimension")
            found.append((document, max((min(1.0, product(row, query)) for row in rows), default=None)))
        return found

    def put_document(self, document: Document, vectors: Sequence[Vector] = (), model_id: str = "") -> None:
        kept, _ = owned_document(document, vectors)
        rows = self.fit(vectors, model_id)
        self.note_space(rows, model_id)
        self.filed[kept.place] = kept
        self.filed_vectors.pop(kept.place, None)
        if rows:
            self.filed_vectors[kept.place] = rows

    def delete_document(self, collection: str, path: Sequence[str], key: str) -> bool:
        place = (collection, tuple(path), key)
        self.filed_vectors.pop(place, None)
        return self.filed.pop(place, None) is not None

    # Jobs

    def waiting(self, *, due: datetime) -> Sequence[Job]:
        return sorted((job for job in self.queue.values() if job.due <= due), key=_age)

    def claimable(self, kinds: Sequence[str], *, at: datetime) -> bool:
        return bool(self._free(kinds, at))

    def dead_jobs(self) -> Sequence[Job]:
        return [job for _, job in sorted(self.dead.values(), key=lambda pair: (pair[0], pair[1].kind, pair[1].key))]

    def enqueue(self, job: Job) -> bool:
        check_kind(job)
        place = (job.kind, job.key)
        if place in self.queue or place in self.dead:
            return False
        self.queue[place] = replace(job, payload=dict(job.payload), lease="")
        return True

    def claim(
        self, kinds: Sequence[str], *, lease: str, at: datetime, until: datetime, key: str | None = None
    ) -> Job | None:
        check_lease(lease, at, until)
        free = [job for job in self._free(kinds, at) if key is None or job.key == key]
        first = min(free, key=lambda job: (bool(job.lease), _age(job)), default=None)
        if first is None:
            return None
        claimed = replace(first, lease=lease, attempts=first.attempts + 1)
        self.queue[first.kind, first.key], self.leases[first.kind, first.key] = claimed, until
        return claimed

    def extend(self, job: Job, until: datetime) -> bool:
        if self._held(job) is None:
            return False
        self.leases[job.kind, job.key] = until
        return True

    def finish(self, job: Job) -> bool:
        if job.lease and self._held(job) is None:
            return False
        self._forget_job(job)
        return True

    def put_back(self, job: Job, *, due: datetime, error: str) -> bool:
        check_kind(job)
        held = self._held(job)
        if held is None:
            return False
        self._forget_job(held)
        waiting = replace(held, lease="", due=due, attempts=job.attempts, error=error_text(error))
        self.queue[held.kind, held.key] = waiting
        return True

    def bury(self, job: Job, *, at: datetime, error: str) -> bool:
        held = self._held(job)
        if held is None:
            return False
        self._forget_job(held)
        self.dead[held.kind, held.key] = (at, replace(held, lease="", error=error_text(error)))
        return True

    def revive(self, kind: str, key: str, *, due: datetime) -> bool:
        if (kind, key) not in self.dead:
            return False
        _, job = self.dead.pop((kind, key))
        self.queue[kind, key] = replace(job, due=due, attempts=0)
        return True

    def _free(self, kinds: Sequence[str], at: datetime) -> list[Job]:
        return [
            job
            for place, job in self.queue.items()
            if job.kind in kinds and job.due <= at and (not job.lease or self.leases[place] <= at)
        ]

    def _held(self, job: Job) -> Job | None:
        found = self.queue.get((job.kind, job.key))
        return found if found is not None and job.lease and found.lease == job.lease else None

    def _forget_job(self, job: Job) -> None:
        self.queue.pop((job.kind, job.key), None)
        self.leases.pop((job.kind, job.key), None)
        self.dead.pop((job.kind, job.key), None)


def _age(job: Job) -> tuple[datetime, str, str]:
    return (job.due, job.kind, job.key)
