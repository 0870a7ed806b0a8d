"""A reliability diagram and the weights over a year, each as SVG: a file of its own, or a part of a page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from xml.sax.saxutils import escape

from reasoningbank.types.metrics import CalibrationReport
from reasoningbank.types.records import WeightChange
from reasoningbank.types.signal import SIGNAL_TYPES

_SIZE, _LEFT, _TOP, _BOTTOM, _RIGHT = 460, 56, 36, 48, 20
_COLOURS = ("#1f6f8b", "#b05b3b", "#5b8c3a")


def _across(share: float) -> float:
    return _LEFT + (_SIZE - _LEFT - _RIGHT) * share


def _down(share: float) -> float:
    return _TOP + (_SIZE - _TOP - _BOTTOM) * (1 - share)


def _frame(title: str, below: str, ticks: Sequence[tuple[float, str]]) -> list[str]:
    parts = [
        f'<svg class="picture" role="img" aria-label="{escape(title)}" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {_SIZE} {_SIZE}" font-family="sans-serif" '
        'font-size="11">',
        f'<rect class="paper" width="{_SIZE}" height="{_SIZE}" fill="white"/>',
        f'<text x="{_LEFT}" y="20" font-size="14">{escape(title)}</text>',
        f'<text x="{_across(0.5):.0f}" y="{_SIZE - 10}" text-anchor="middle">{escape(below)}</text>',
    ]
    for step in range(6):
        share = step / 5
        parts.append(
            f'<line x1="{_across(0):.1f}" y1="{_down(share):.1f}" x2="{_across(1):.1f}" y2="{_down(share):.1f}" '
            'class="rule" stroke="#dddddd"/>'
        )
        parts.append(f'<text x="{_LEFT - 6}" y="{_down(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for share, text in ticks:
        parts.append(f'<text x="{_across(share):.1f}" y="{_SIZE - 28}" text-anchor="middle">{escape(text)}</text>')
    return parts


def _legend(names: Sequence[str]) -> list[str]:
    parts = []
    for place, name in enumerate(names):
        down = _TOP + 16 + 16 * place
        parts.append(f'<rect x="{_LEFT + 10}" y="{down - 9}" width="10" height="10" fill="{_COLOURS[place]}"/>')
        parts.append(f'<text x="{_LEFT + 26}" y="{down}">{escape(name)}</text>')
    return parts


def reliability(curves: Sequence[tuple[str, CalibrationReport]]) -> str:
    """Return a reliability diagram: on the diagonal confidence is what truly helped; a dot grows with its cases."""
    parts = _frame(
        "Confidence and what truly helped", "confidence", [(step / 5, f"{step / 5:.1f}") for step in range(6)]
    )
    parts.append(
        f'<line x1="{_across(0):.1f}" y1="{_down(0):.1f}" x2="{_across(1):.1f}" y2="{_down(1):.1f}" stroke="#888888" '
        'stroke-dasharray="6 4"/>'
    )
    for place, (_, found) in enumerate(curves):
        colour = _COLOURS[place]
        points = [(_across(each.confidence), _down(each.helpful), each.cases) for each in found.bins]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        most = max(cases for _, _, cases in points)
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2 + 6 * (cases / most) ** 0.5:.1f}" fill="{colour}" opacity="0.6"/>'
            for x, y, cases in points
        ]
    names = [f"{name}: ECE {found.ece:.3f}" for name, found in curves]
    return "\n".join([*parts, *_legend(names), "</svg>", ""])


def weights_over_time(history: Sequence[WeightChange], ended: datetime) -> str:
    """Return how the three learned weights went from the first change to the end."""
    began = history[0].at
    whole = (ended - began).total_seconds()
    ticks = [(month / 12, str(month)) for month in range(0, 13, 2)]
    parts = _frame("Learned weights over a year, honest raters", "month", ticks)
    for place, name in enumerate(SIGNAL_TYPES):
        points, last = [], None
        for change in history:
            across, down = _across((change.at - began).total_seconds() / whole), _down(change.shares[name])
            if last is not None:
                points.append(f"{across:.1f},{last:.1f}")
            points.append(f"{across:.1f},{down:.1f}")
            last = down
        points.append(f"{_across(1):.1f},{last:.1f}")
        parts.append(
            f'<polyline points="{" ".join(points)}" fill="none" stroke="{_COLOURS[place]}" stroke-width="1.5"/>'
        )
    return "\n".join([*parts, *_legend(SIGNAL_TYPES), "</svg>", ""])
