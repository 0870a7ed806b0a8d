"""Where each session stands on its way from a transcript to lessons, and what it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from reasoningbank.sessions.ends import end_of
from reasoningbank.storage.store import StoreReader
from reasoningbank.types.moment import LATEST
from reasoningbank.types.records import Job, TrajectoryEntry
from reasoningbank.types.session import CAPTURE, DISTILL, SUMMARY_SOURCE, Progress, SessionState

_WORKER = "waits for a worker or a server, which do it within a minute"
NO_MODEL = "waits for a model: none configured"


def states(reader: StoreReader, *, now: datetime, has_model: bool) -> Sequence[SessionState]:
    """Return the state of every session, the newest first; queued transcripts come before all.

    Args:
        reader: The bank.
        now: The time.
        has_model: Whether this bank's workers can distil with a language model.
    """
    waiting, dead = reader.jobs.waiting(due=LATEST), reader.jobs.dead_jobs()
    queued = [_queued(job, now) for job in waiting if job.kind == CAPTURE]
    queued += [_given_up(job) for job in dead if job.kind == CAPTURE]
    jobs = {job.key: job for job in waiting if job.kind == DISTILL}
    buried = {job.key: job for job in dead if job.kind == DISTILL}
    entries = reversed(reader.sessions.trajectories(limit=0))
    known = [
        _known(reader, entry, jobs.get(entry.id), buried.get(entry.id), now=now, has_model=has_model)
        for entry in entries
    ]
    return [*queued, *known]


def _queued(job: Job, now: datetime) -> SessionState:
    reason = _WORKER
    if job.lease:
        reason = "is being captured"
    elif job.due > now:
        reason = f"waits {'for another attempt' if job.error else 'for quiet'} until {_time(job.due)}"
    if job.error:
        reason = f"{reason}: {job.error}"
    return SessionState(state="queued", reason=reason, task=Path(job.payload.get("path", job.key)).name, at=job.due)


def _given_up(job: Job) -> SessionState:
    name = Path(job.payload.get("path", job.key)).name
    return SessionState(state="queued", reason=f"was given up: {job.error}", task=name, at=job.due)


def _known(
    reader: StoreReader,
    entry: TrajectoryEntry,
    job: Job | None,
    buried: Job | None,
    *,
    now: datetime,
    has_model: bool,
) -> SessionState:
    taught = reader.sessions.origins(trajectory=entry.id)
    exposure = reader.deliveries.exposure(entry.session) if entry.session else None
    verdict, said_by = end_of(entry, exposure)
    state = SessionState(
        state="distilled",
        reason=f"taught {len(taught)}" if taught else "taught nothing new",
        id=entry.id,
        session=entry.session,
        task=entry.task,
        steps=entry.steps,
        verdict=verdict,
        judge="" if entry.judgement is None else entry.judgement.judge,
        said_by=said_by,
        shown=0 if exposure is None else sum(one.how != "withheld" for one in exposure.shown),
        taught=len(taught),
        at=entry.at,
    )
    if entry.distilled is not None:
        return state
    waits = _waits(job, buried, now=now, has_model=has_model, taught=bool(taught))
    name: Progress = "captured" if job is not None and job.due > now and not job.error else "waiting"
    if entry.source == SUMMARY_SOURCE and job is None:
        waits = "waits for a verdict"
    return replace(state, state=name, reason=waits)


def _waits(job: Job | None, buried: Job | None, *, now: datetime, has_model: bool, taught: bool) -> str:
    if buried is not None:
        return f"was given up: {buried.error}"
    if job is not None and not job.error and job.due > now:
        return f"waits for quiet until {_time(job.due)}"
    if not has_model:
        return f"{NO_MODEL}; its recipes were learned" if taught else NO_MODEL
    if job is None:
        return _WORKER
    if job.lease:
        return "is being distilled"
    if job.error:
        return f"waits for another attempt until {_time(job.due)}: {job.error}"
    return _WORKER


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
