"""``rbank report --html``: one page for a team that needs no server, no network and no script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from markupsafe import Markup

from reasoningbank.types.metrics import LEAST_SAMPLE, NOT_ENOUGH
from reasoningbank.web.dashboard.environment import STATIC, page_environment
from reasoningbank.web.pictures import reliability

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.types.memory import Memory, State
    from reasoningbank.types.uplift import Arm, UpliftReport

_FEW = 5
_LOOKED_AT = 200
"""So many memories at each end are looked at for those that evidence has moved."""
_STATES: Sequence[State] = ("active", "candidate")


def report_page(bank: Bank, said: Callable[[str], str] = str) -> str:
    """Return the page: uplift, calibration, the best and the worst memories, tokens, and the success criteria.

    Args:
        bank: The bank.
        said: What is written of a title; for an agent what it may read.

    Raises:
        StoreError: When the bank cannot be read.
    """
    report, metrics = bank.report(), bank.admin.metrics()
    calibration = metrics.calibration
    return (
        page_environment()
        .get_template("team_report.html")
        .render(
            project=bank.scope.project,
            at=datetime.now(UTC),
            style=Markup((STATIC / "dashboard.css").read_text(encoding="utf-8")),  # noqa: S704 - a file of ours
            picture=Markup(reliability([(bank.scope.project, calibration)])) if calibration.bins else "",  # noqa: S704 - as above
            report=report,
            arms=(("with memory", report.with_memory), ("without memory", report.without_memory)),
            missing=_missing(report),
            metrics=metrics.all,
            calibration=calibration,
            best=_moved(bank, up=True),
            worst=_moved(bank, up=False),
            said=said,
            needed=LEAST_SAMPLE,
            not_enough=NOT_ENOUGH,
        )
    )


def _missing(report: UpliftReport) -> str:
    """Return what the comparison lacks; empty when both sides have enough sessions whose end is known."""
    few = [
        f"{_known(arm)} of {LEAST_SAMPLE} sessions {name} memory"
        for name, arm in (("with", report.with_memory), ("without", report.without_memory))
        if _known(arm) < LEAST_SAMPLE
    ]
    return f"{NOT_ENOUGH}: {', '.join(few)}" if few else ""


def _known(arm: Arm) -> int:
    return arm.succeeded + arm.failed


def _moved(bank: Bank, *, up: bool) -> list[Memory]:
    """Return the memories of the highest confidence that evidence has raised, or of the lowest that it has lowered."""
    start = 0 if up else max(0, bank.memories.count(states=_STATES) - _LOOKED_AT)
    found = bank.memories.list(limit=_LOOKED_AT, offset=start, states=_STATES, order="confidence")
    if up:
        return [memory for memory in found if memory.confidence > memory.belief.initial][:_FEW]
    return [memory for memory in found[::-1] if memory.confidence < memory.belief.initial][:_FEW]
