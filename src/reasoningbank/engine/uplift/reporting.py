"""The report: both arms of the hold-out, their difference with its interval, and what is missing to know more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from reasoningbank.domain.uplift import Arm, Harm, UpliftReport
from reasoningbank.engine.uplift.facts import Ended
from reasoningbank.engine.uplift.intervals import Stratum, difference


def reported(sessions: Sequence[Ended], harms: Sequence[Harm]) -> UpliftReport:
    """What the sessions say, by how they were drawn and not by what they did afterwards.

    Only drawn sessions are compared, each share of the hold-out by itself. When there never was a hold-out the side
    with memory shows what is known of the sessions that were shown memories, and nothing is compared.
    """
    eligible = [session for session in sessions if session.exposure.eligible]
    drawn = [session for session in eligible if session.exposure.share > 0.0]
    held = [session for session in drawn if session.exposure.held_out]
    given = [session for session in drawn if not session.exposure.held_out]
    compared = difference(_strata(drawn))
    injected = [session.exposure.tokens for session in eligible if session.exposure.tokens]
    report = UpliftReport(
        sessions=len(sessions),
        with_memory=_arm(given if drawn else eligible),
        without_memory=_arm(held),
        uplift=None if compared is None else compared[0],
        interval=(-1.0, 1.0) if compared is None else compared[1],
        tokens_added=sum(injected) / len(injected) if injected else 0.0,
        harmful=tuple(harms),
        crossed=sum(any(one.how == "asked" for one in session.exposure.shown) for session in held),
        not_drawn=len(eligible) - len(drawn) if drawn else 0,
    )
    only_memories = sum(session.source == "memory" for session in eligible)
    return replace(report, message=" ".join(_said(report, bool(drawn), only_memories)))


def _strata(drawn: Iterable[Ended]) -> list[Stratum]:
    counts: dict[float, list[int]] = {}
    for session in drawn:
        end = session.comparable
        if end is not None:
            count = counts.setdefault(session.exposure.share, [0, 0, 0, 0])
            place = 2 if session.exposure.held_out else 0
            count[place] += end
            count[place + 1] += 1
    return [Stratum(*count) for _, count in sorted(counts.items())]


def _arm(sessions: Sequence[Ended]) -> Arm:
    ends = [session.comparable for session in sessions]
    return Arm(sessions=len(sessions), succeeded=ends.count(True), failed=ends.count(False))


def _said(report: UpliftReport, drawn: bool, only_memories: int) -> Iterable[str]:
    if not report.sessions:
        yield "No session has met a memory yet."
    elif not drawn:
        yield (
            "No session was held out, so there is nothing to compare with: set holdout, for example "
            "REASONINGBANK_HOLDOUT=0.1."
        )
    elif report.uplift is None:
        named = "with memory" if report.with_memory.rate is None else "without memory"
        yield (
            f"Not enough to compare: of no drawn session {named} it is known how it ended. "
            "Capture transcripts, or report ends with `rbank session-outcome`."
        )
    else:
        low, high = report.interval
        yield (
            f"With memory {report.uplift:+.1%} of sessions succeed, 95 % interval from {low:+.1%} to {high:+.1%}"
            f"{'; that may be chance.' if low <= 0.0 <= high else '.'}"
        )
    if report.crossed:
        yield (
            f"{_sessions(report.crossed, 'held-out session')} searched for memories and found some, so the true "
            "difference is rather larger."
        )
    if only_memories:
        yield (
            f"Of {_sessions(only_memories, 'session')} only reports about single memories are known; a session without "
            "memory cannot make those, so they are in no rate."
        )
    if report.not_drawn:
        yield f"{_sessions(report.not_drawn, 'session')} from before the hold-out are in no rate."


def _sessions(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
