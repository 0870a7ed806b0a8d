"""Sessions, what was made of them and background work, as text for people: one function per type of result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reasoningbank.types.quantity import counted

if TYPE_CHECKING:
    from reasoningbank.jobs.worker import WorkReport
    from reasoningbank.operations import composed
    from reasoningbank.types.matts import Scaled
    from reasoningbank.types.records import ErasedSessions, TrajectoryEntry
    from reasoningbank.types.session import (
        CaptureReport,
        DistilReport,
        Judgement,
        Refusal,
        SaidBy,
        SessionState,
        Verdict,
    )

_TASK = 80
_SHOWN = 400


def ended_text(verdict: Verdict, said_by: SaidBy) -> str:
    """Return how a session ended and who says so: ``success (person)``."""
    return f"{verdict} ({said_by})" if said_by else verdict


def sessions_text(found: Sequence[SessionState]) -> str:
    """Return two lines a session: where it stands and what it was about, and what it waits for."""
    lines = []
    for one in found:
        ended = ended_text(one.verdict, one.said_by)
        lines.append(f"{one.state:9}  {ended:18}  {one.shown:2} shown  {one_line(one.task)}")
        lines.append(f"    {one.id or 'not captured yet'}  {one.reason}")
    return "\n".join([*lines, counted(len(found), "session")])


def capture_text(report: CaptureReport) -> str:
    """Return what was stored, one line a session."""
    lines = [
        f"{one.id}  {_verdict(one.verdict, one.probability)}  {one.steps:4} steps  "
        f"{'known    ' if one.duplicate else ''}{one_line(one.task)}"
        for one in report.trajectories
    ]
    counts = f"{report.captured} captured, {report.duplicates} known already, {report.skipped_lines} skipped"
    if replaced := sum(one.secrets for one in report.trajectories):
        counts += f", {replaced} secrets replaced" if replaced > 1 else ", 1 secret replaced"
    return "\n".join([*lines, counts])


def erased_sessions_text(erased: ErasedSessions) -> str:
    """Return what was erased, and that nothing was where that is so."""
    if not erased.some:
        return "Nothing was there."
    parts = (
        counted(erased.searches, "logged search", "logged searches"),
        counted(erased.exposures, "note of what was shown", "notes of what was shown"),
        counted(erased.trajectories, "captured session"),
        counted(erased.workflows, "workflow"),
    )
    held = counted(erased.signals, "rating or outcome stays as a sum", "ratings and outcomes stay as sums")
    return f"Erased: {', '.join(parts)}. {held}, and no confidence has changed."


def trajectories_text(entries: Sequence[TrajectoryEntry]) -> str:
    """Return one line a session."""
    lines = []
    for one in entries:
        judged = one.judgement is not None and one.judgement.verdict == one.verdict
        probability = f"{one.judgement.probability:.2f}" if one.judgement is not None and judged else ""
        lines.append(
            f"{one.id}  {one.verdict:7} {probability:4} {one.said_by and f'({one.said_by})':10}  {one.steps:4} steps  "
            f"{'distilled' if one.distilled else 'waits    '}  {one_line(one.task)}"
        )
    return "\n".join([*lines, counted(len(entries), "trajectory", "trajectories")])


def captured_session_text(shown: composed.CapturedSession) -> str:
    """Return a session: its task, how it was judged and why, and its steps, each cut to a few lines."""
    trajectory = shown.trajectory
    lines = [trajectory.task, f"  id       {trajectory.id}", f"  session  {trajectory.session or 'none'}"]
    lines += [f"  source   {trajectory.source}, {trajectory.created_at.isoformat()}"]
    for one in shown.judgements:
        lines.append(f"  judged   {_verdict(one.verdict, one.probability)} by {one.judge}: {one.rationale}")
    for fact in trajectory.evidence:
        place = "" if fact.step is None else f" in step {fact.step}"
        lines.append(f"  {'for ' if fact.positive else 'against '}{fact.kind}{place}: {one_line(fact.detail)}")
    for number, step in enumerate(trajectory.steps):
        lines.append(f"\n[{number}] {step.actor} {step.tool}".rstrip())
        said = {
            "user": step.user,
            "thought": step.thought,
            "action": step.action,
            "observation": step.observation,
            "error": step.error,
        }
        lines += [f"  {name}: {_cut(text)}" for name, text in said.items() if text]
    if trajectory.final_answer:
        lines.append(f"\nanswer: {_cut(trajectory.final_answer)}")
    return "\n".join(lines)


def judgement_text(judgement: Judgement) -> str:
    """Return how a session ended."""
    probability = f"{judgement.probability:.2f}"
    return f"{judgement.verdict} (success {probability}, by {judgement.judge}): {judgement.rationale}"


def distilled_text(report: DistilReport) -> str:
    """Return what became of the items, one line each.

    That a memory says the same already is no word for it: the session may be its own, or have been shown it.
    """
    lines = [f"new           {one}" for one in report.distilled]
    lines += [f"known already {one}" for one in report.corroborated]
    lines += [f"refused       {one.reason}: {one_line(one.title)} ({one.detail})" for one in report.refused]
    counts = (
        f"{len(report.distilled)} distilled, {len(report.corroborated)} known already, "
        f"{len(report.refused)} refused, {_waiting(report.pending)}"
    )
    return "\n".join([*lines, counts])


def refusals_text(refused: Sequence[Refusal]) -> str:
    """Return each refused item with its reason."""
    parts = [f"{one.reason}: {one.detail}\n  {one_line(one.title)}\n  {_cut(one.content)}" for one in refused]
    return "\n".join([*parts, f"{len(refused)} refused"])


def scaled_text(scaled: Scaled) -> str:
    """Return each attempt in one line, then which is the best and why, and what was learned."""
    lines = []
    for number, one in enumerate(scaled.rollouts):
        verdict = ("unknown", 0.5) if one.judgement is None else (one.judgement.verdict, one.judgement.probability)
        steps, said = (0, "") if one.trajectory is None else (len(one.trajectory.steps), one.trajectory.final_answer)
        mark = "*" if number == scaled.best else " "
        lines.append(f"{mark} {number + 1}  {_verdict(*verdict)}  {steps:4} steps  {one_line(one.error or said)}")
    return "\n".join([*lines, scaled.reason, distilled_text(scaled.report)])


def jobs_text(jobs: composed.BackgroundWork) -> str:
    """Return what was done and when, what waits, and the jobs that failed for good."""
    lines = list[str]()
    for run in jobs.runs:
        lines += [f"{run.kind:<12} {run.at:%Y-%m-%d %H:%M}  {'failed: ' * run.failed}{run.said or 'done'}"]
    for job in jobs.waiting:
        lines += [f"{job.kind:<12} waits until {job.due:%Y-%m-%d %H:%M}{f', after: {job.error}' * bool(job.error)}"]
    lines += [f"{job.kind} {job.key} after {counted(job.attempts, 'attempt')}: {job.error}" for job in jobs.dead]
    return "\n".join([*lines, f"{len(jobs.dead)} given up, {_waiting(jobs.pending)} to be distilled"])


def work_text(report: WorkReport) -> str:
    """Return what a worker did."""
    return f"{report.done} done, {report.postponed} postponed, {report.buried} given up"


def queued_text(queued: composed.Queued) -> str:
    """Return how many files were queued."""
    return f"{queued.queued} queued"


def _waiting(sessions: int) -> str:
    return counted(sessions, "session waits", "sessions wait")


def _verdict(verdict: str, probability: float) -> str:
    return f"{verdict:7} {probability:.2f}"


def one_line(text: str) -> str:
    """Return the text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _TASK else f"{line[: _TASK - 1]}…"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
