"""What outlives the event: the transcript is queued for a worker, the client's own summary is kept."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from reasoningbank.bank import Bank
from reasoningbank.domain.learning import SessionSummary
from reasoningbank.domain.trajectory import Step, Trajectory
from reasoningbank.errors import UnreadableTranscript
from reasoningbank.surfaces.hooks.answering import Place
from reasoningbank.surfaces.hooks.opening import open_bank
from reasoningbank.surfaces.hooks.payloads import Event, Payload
from reasoningbank.upkeep import usable_path

QUIET = timedelta(minutes=10)
"""A transcript is captured so long after the last turn: a session is one trajectory and not one for every turn."""
_TITLE = 200
SUMMARY_SOURCE = "compaction"
"""The source of a trajectory that is a client's summary of what it compacted."""


def keep(event: Event, payload: Payload, place: Place) -> None:
    """Queues the transcript, reading nothing of it, or keeps the summary.

    Raises:
        BankError: When the bank cannot be used or there is no such transcript.
    """
    if event != "PostCompact" and not usable_path(payload.transcript).is_file():
        raise UnreadableTranscript("the transcript that the client named does not exist")
    bank = open_bank(payload, place, make=True)
    if bank is None:
        return
    with bank:
        if event == "PostCompact":
            _keep_summary(bank, payload)
        else:
            bank.capture_later(payload.transcript, quiet=QUIET if event == "Stop" else timedelta(0))


def _keep_summary(bank: Bank, payload: Payload) -> None:
    """Learns from the summary when it is known how the session ended; otherwise it stays a trajectory that waits."""
    known = [
        entry
        for entry in bank.trajectories(pending=None)
        if entry.session == bank.session and entry.judgement is not None and entry.judgement.verdict != "unknown"
    ]
    if known and known[-1].judgement is not None:
        bank.distill_session(
            SessionSummary(
                session_id=bank.session,
                project_id=bank.scope.project,
                outcome=known[-1].judgement.verdict,
                task=known[-1].task,
                approach=payload.summary,
                result="",
            )
        )
        return
    digest = hashlib.sha256(payload.summary.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    title = next((line.strip() for line in payload.summary.splitlines() if line.strip()), "A compacted session")
    bank.keep(
        Trajectory(
            task=title[:_TITLE],
            steps=(Step(thought=payload.summary),),
            session=bank.session,
            source=SUMMARY_SOURCE,
        ),
        key=f"{SUMMARY_SOURCE}:{bank.session}:{digest}",
    )
