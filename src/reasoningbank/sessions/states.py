"""Where each session stands on its way from a transcript to lessons, and what it waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from reasoningbank.sessions.ends import end_of
from reasoningbank.storage.store import StoreReader
from reasoningbank.types.moment import LATEST
from reasoningbank.types.records import Job, TrajectoryEntry
from reasoningbank.types.session import CAPTURE, DISTILL, RECIPES, SUMMARY_SOURCE, SessionState

_WORKER = "waits for a worker or a server, which do it within a minute"
NO_MODEL = "waits for a model: none configured"
_OPEN_END = "; how it ended is not known: rbank verdict says it"


def states(reader: StoreReader, *, now: datetime, has_model: bool) -> Sequence[SessionState]:
    """Return the state of every session, the newest first; queued transcripts come before all.

    Args:
        reader: The bank.
        now: The time.
        has_model: Whether this bank's workers can distil with a language model.
    """
    # Captures are read before the sessions and their jobs after them: whatever a worker does between two readings, no
    # session is missing, and none is said to have no job whose job was not read yet.
    captures, given_up = _jobs(reader, CAPTURE)
    entries = tuple(reversed(reader.sessions.trajectories(limit=0)))
    jobs = {kind: _jobs(reader, kind) for kind in (RECIPES, DISTILL)}
    queued = [_queued(job, now) for job in captures.values()] + [_given_up(job) for job in given_up.values()]
    return [*queued, *(_known(reader, entry, jobs, now=now, has_model=has_model) for entry in entries)]


def _jobs(reader: StoreReader, kind: str) -> tuple[dict[str, Job], dict[str, Job]]:
    """Return the jobs of a kind that wait and those that were given up, by what they are for."""
    waiting, dead = reader.jobs.waiting(due=LATEST), reader.jobs.dead_jobs()
    return {job.key: job for job in waiting if job.kind == kind}, {job.key: job for job in dead if job.kind == kind}


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
    jobs: Mapping[str, tuple[Mapping[str, Job], Mapping[str, Job]]],
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
    (recipes, no_recipes), (distil, not_distilled) = jobs[RECIPES], jobs[DISTILL]
    early, job = recipes.get(entry.id), distil.get(entry.id)
    first = early or job
    if first is not None and not first.error and first.due > now:
        return replace(state, state="captured", reason=f"waits for quiet until {_time(first.due)}")
    if early is not None:
        return replace(state, state="captured", reason=_attempted(early, "its recipes are being made"))
    if entry.source == SUMMARY_SOURCE and job is None:
        return replace(state, state="waiting", reason="waits for a verdict")
    buried = not_distilled.get(entry.id) or no_recipes.get(entry.id)
    if buried is not None:
        return replace(state, state="waiting", reason=f"was given up: {buried.error}")
    if not has_model:
        reason = f"{NO_MODEL}; its recipes were learned" if taught else NO_MODEL
        return replace(state, state="waiting", reason=reason if verdict != "unknown" else f"{reason}{_OPEN_END}")
    return replace(state, state="waiting", reason=_WORKER if job is None else _attempted(job, "is being distilled"))


def _attempted(job: Job, doing: str) -> str:
    """Return what a job that is due waits for, or that it is being done."""
    if job.lease:
        return doing
    return f"waits for another attempt until {_time(job.due)}: {job.error}" if job.error else _WORKER


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
