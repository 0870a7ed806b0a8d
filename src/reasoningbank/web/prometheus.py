"""The numbers of a bank as Prometheus reads them (text format 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from reasoningbank.web.requests import BankThreads, RequestHandler, check_query

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.types.metrics import Metrics

PATH = "/metrics"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPED = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """One metric with its samples.

    Attributes:
        name: Its name; a number without a unit unless the name ends in one.
        help: What it says.
        samples: Each with its labels.
    """

    name: str
    help: str
    samples: Sequence[tuple[Mapping[str, str], float]]


def exposition(bank: Bank) -> str:
    """Return the success criteria and the counts of a bank's project."""
    stats = bank.admin.stats()
    criteria = bank.admin.metrics()
    project = {"project": bank.scope.project}
    return written(
        [
            Gauge(
                name="reasoningbank_memories",
                help="Memories by state.",
                samples=[({**project, "state": state}, count) for state, count in stats.by_state.items()],
            ),
            Gauge(
                name="reasoningbank_signal_weight",
                help="Learned weight of each kind of signal.",
                samples=[({**project, "signal": name}, weight) for name, weight in stats.weights.items()],
            ),
            *_criteria(criteria, project),
        ]
    )


def _criteria(criteria: Metrics, project: Mapping[str, str]) -> Iterator[Gauge]:
    labelled = [({**project, "id": each.id}, each) for each in criteria.all]
    yield Gauge(
        name="reasoningbank_criterion_value",
        help="Success criteria SC-001 to SC-006; absent while there is not enough data.",
        samples=[(labels, each.value) for labels, each in labelled if each.value is not None],
    )
    for place, bound in enumerate(("low", "high")):
        yield Gauge(
            name=f"reasoningbank_criterion_{bound}",
            help=f"The {bound} end of the 95 % interval of a success criterion.",
            samples=[(labels, each.interval[place]) for labels, each in labelled if each.interval is not None],
        )
    yield Gauge(
        name="reasoningbank_criterion_sample",
        help="How many cases a success criterion is made of.",
        samples=[(labels, each.sample) for labels, each in labelled],
    )
    known = criteria.calibration
    for name, what, value in (
        ("ece", "Expected calibration error of confidence.", known.ece),
        ("brier", "Mean squared difference of confidence and rating.", known.brier),
    ):
        yield Gauge(
            name=f"reasoningbank_calibration_{name}", help=what, samples=[] if value is None else [(project, value)]
        )


def written(gauges: Sequence[Gauge]) -> str:
    """Return gauges in the text format; one without samples is left out."""
    lines = []
    for each in gauges:
        if each.samples:
            lines += [f"# HELP {each.name} {each.help}", f"# TYPE {each.name} gauge"]
            for labels, value in each.samples:
                named = ",".join(f'{name}="{text.translate(_ESCAPED)}"' for name, text in labels.items())
                lines.append(f"{each.name}{{{named}}} {float(value)!r}")
    return "\n".join([*lines, ""])


def endpoint(desk: BankThreads) -> RequestHandler:
    """Return the endpoint that Prometheus asks."""

    async def handle(request: Request) -> Response:
        check_query(request, f"GET {PATH}", ())
        return Response(await desk.use(request, exposition, reads=True), media_type=CONTENT_TYPE)

    return handle
