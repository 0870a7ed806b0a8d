"""What people read of measurements: what memory is worth, and the success criteria."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reasoningbank.types.quantity import counted

if TYPE_CHECKING:
    from reasoningbank.types.metrics import Metrics
    from reasoningbank.types.uplift import Arm, UpliftReport


def uplift_text(report: UpliftReport) -> str:
    """Return what memory is worth."""
    lines = [
        f"{counted(report.sessions, 'session')} met a memory or would have.",
        _arm("with memory", report.with_memory),
        _arm("without memory", report.without_memory),
        f"Injection adds {report.tokens_added:.0f} tokens to a session on average.",
        report.message,
    ]
    for harm in report.harmful:
        kept = "in use, because one client alone says so: yours to decide" if harm.one_client else "in use"
        state = "set aside" if harm.set_aside else kept
        lines.append(
            f"{harm.memory_id} ({harm.title}), {state}: {harm.succeeded} of {counted(harm.shown, 'session')} succeeded "
            f"({harm.rate:.0%}, at most {harm.upper_bound:.0%}); the project's {harm.base_rate:.0%}."
        )
    return "\n".join(lines)


def metrics_text(metrics: Metrics) -> str:
    """Return the success criteria, one in a line, and below them the reliability diagram."""
    lines = []
    for each in metrics.all:
        mark = {None: "-", True: "met", False: "not met"}[each.met]
        lines.append(f"{each.id}  {mark:7}  {each.name}: {each.message}")
        if each.interval is not None:
            low, high = each.interval
            said = f"{low:.0f} to {high:.0f}" if high > 1.5 else f"{low:.1%} to {high:.1%}"
            lines.append(f"                 95 % interval {said}")
    return "\n".join([*lines, *calibration_lines(metrics)])


def calibration_lines(metrics: Metrics) -> list[str]:
    """Return the reliability diagram in words; nothing without enough ratings."""
    lines: list[str] = []
    known = metrics.calibration
    if known.ece is not None and known.ece_interval is not None:
        low, high = known.ece_interval
        lines.append(
            f"Calibration over {counted(known.cases, 'rating')}: ECE {known.ece:.3f} ({low:.3f} to {high:.3f}), "
            f"Brier {known.brier:.3f}."
        )
        lines += [
            f"  confidence {each.low:.1f} to {each.high:.1f}: {each.helpful:.0%} helpful of {each.cases:,}"
            for each in known.bins
        ]
    return lines


def _arm(name: str, arm: Arm) -> str:
    known = arm.succeeded + arm.failed
    rate = "not known" if arm.rate is None else f"{arm.rate:.1%}"
    sessions = counted(known, "session")
    return f"{name}: {arm.succeeded} of {sessions} succeeded ({rate}), {arm.unknown} more with an unknown end."
