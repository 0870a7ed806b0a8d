"""The fields of the report about memory's worth."""

from __future__ import annotations

from typing import TypedDict

from reasoningbank.domain.uplift import Arm, Harm, UpliftReport

_DIGITS = 6


class ArmAnswer(TypedDict):
    """One side of the comparison: ``rate`` is the share that succeeded of those whose end is known, or null."""

    sessions: int
    succeeded: int
    failed: int
    unknown: int
    rate: float | None


class HarmAnswer(TypedDict):
    """One memory whose sessions end worse than the project's beyond chance."""

    id: str
    title: str
    shown: int
    succeeded: int
    rate: float
    upper_bound: float
    base_rate: float
    set_aside: bool


class UpliftAnswer(TypedDict):
    """What memory is worth; ``uplift`` is null and ``interval`` [-1, 1] as long as nothing can be compared."""

    sessions: int
    with_memory: ArmAnswer
    without_memory: ArmAnswer
    uplift: float | None
    interval: list[float]
    tokens_added: float
    harmful: list[HarmAnswer]


def uplift_answer(report: UpliftReport) -> UpliftAnswer:
    """The fields of a report."""
    return UpliftAnswer(
        sessions=report.sessions,
        with_memory=_arm(report.with_memory),
        without_memory=_arm(report.without_memory),
        uplift=_rounded(report.uplift),
        interval=[round(bound, _DIGITS) for bound in report.interval],
        tokens_added=round(report.tokens_added, 1),
        harmful=[_harm(harm) for harm in report.harmful],
    )


def uplift_lines(report: UpliftReport) -> list[str]:
    """The report for a person."""
    lines = [
        f"{report.sessions} {'session' if report.sessions == 1 else 'sessions'} met a memory or would have.",
        _arm_line("with memory", report.with_memory),
        _arm_line("without memory", report.without_memory),
        f"Injection adds {report.tokens_added:.0f} tokens to a session on average.",
        report.message,
    ]
    for harm in report.harmful:
        state = "set aside" if harm.set_aside else "in use"
        lines.append(
            f"{harm.memory_id} ({harm.title}), {state}: {harm.succeeded} of {harm.shown} sessions succeeded "
            f"({harm.rate:.0%}, at most {harm.upper_bound:.0%}); the project's {harm.base_rate:.0%}."
        )
    return lines


def _arm(arm: Arm) -> ArmAnswer:
    return ArmAnswer(
        sessions=arm.sessions,
        succeeded=arm.succeeded,
        failed=arm.failed,
        unknown=arm.unknown,
        rate=_rounded(arm.rate),
    )


def _arm_line(name: str, arm: Arm) -> str:
    known = arm.succeeded + arm.failed
    rate = "not known" if arm.rate is None else f"{arm.rate:.1%}"
    return f"{name}: {arm.succeeded} of {known} sessions succeeded ({rate}), {arm.unknown} more with an unknown end."


def _harm(harm: Harm) -> HarmAnswer:
    return HarmAnswer(
        id=harm.memory_id,
        title=harm.title,
        shown=harm.shown,
        succeeded=harm.succeeded,
        rate=round(harm.rate, _DIGITS),
        upper_bound=round(harm.upper_bound, _DIGITS),
        base_rate=round(harm.base_rate, _DIGITS),
        set_aside=harm.set_aside,
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
