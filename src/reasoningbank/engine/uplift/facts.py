"""What is known about the sessions of a bank: what they met and how they ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reasoningbank.domain.trajectory import Judgement
from reasoningbank.domain.uplift import Exposure, SessionSource
from reasoningbank.ports import StoreReader

USER, EVIDENCE = "user", "evidence"
"""The judges of a trajectory that are believed here: a person, and what the transcript itself proves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """One session with what is known of its end.

    Attributes:
        exposure: What it met.
        succeeded: How it ended; None when nobody knows. A partial success is none.
        source: Who knows; None when nobody does.
    """

    exposure: Exposure
    succeeded: bool | None = None
    source: SessionSource | None = None

    @property
    def comparable(self) -> bool | None:
        """How it ended as far as a session without memory could know it too; None when only memories tell.

        A session that was shown nothing cannot report about a memory. Were those reports to count, the two arms would
        know their ends in different ways.
        """
        return None if self.source == "memory" else self.succeeded

    def about(self, memory_id: str) -> bool | None:
        """How the session ended for one memory: as it was reported about that memory, else as the session did."""
        said = next((one.succeeded for one in self.exposure.shown if one.memory_id == memory_id), None)
        return self.succeeded if said is None else said


def ended(reader: StoreReader) -> Sequence[Ended]:
    """Every session that met a memory, in the order in which they began.

    The end is, in this order: what a person has said of the session or of its trajectory, what the agent has reported
    of the session, what the evidence in its trajectory proves, and last whether every report about a memory was good.
    """
    judged = _judged(reader)
    return [_ended(exposure, judged.get(exposure.session, {})) for exposure in reader.exposures()]


def _judged(reader: StoreReader) -> Mapping[str, Mapping[str, Judgement]]:
    """By session and judge the latest judgement that decides."""
    found: dict[str, dict[str, Judgement]] = {}
    for entry in reader.trajectories(limit=0):
        known = entry.judgement
        if entry.session and known is not None and known.judge in {USER, EVIDENCE} and known.verdict != "unknown":
            before = found.setdefault(entry.session, {}).get(known.judge)
            if before is None or before.at <= known.at:
                found[entry.session][known.judge] = known
    return found


def _ended(exposure: Exposure, judged: Mapping[str, Judgement]) -> Ended:
    if exposure.said_by == "human":
        return Ended(exposure=exposure, succeeded=exposure.succeeded, source="session")
    if USER in judged:
        return Ended(exposure=exposure, succeeded=judged[USER].verdict == "success", source="verdict")
    if exposure.succeeded is not None:
        return Ended(exposure=exposure, succeeded=exposure.succeeded, source="session")
    if EVIDENCE in judged:
        return Ended(exposure=exposure, succeeded=judged[EVIDENCE].verdict == "success", source="evidence")
    said = [one.succeeded for one in exposure.shown if one.succeeded is not None]
    if said:
        return Ended(exposure=exposure, succeeded=all(said), source="memory")
    return Ended(exposure=exposure)
