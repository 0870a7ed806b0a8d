"""The curve as a picture: an SVG file of its own, which any browser shows."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from evaluation.loop_curve import TARGET, Window

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 860, 420, 64, 40, 24, 56
_COLOURS = ("#1f6f8b", "#b05b3b")


def picture(title: str, curves: Sequence[tuple[str, Sequence[Window]]], change: int) -> str:
    """The SVG text: each curve with its interval as a band, the change and the target as dashed lines.

    Args:
        title: What it shows.
        curves: At most two, each with its name.
        change: After so many tasks the strategies changed.
    """
    last = max(window.last for _, found in curves for window in found)

    def across(task: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * task / last

    def down(rate: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - rate)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="22" font-size="15">{escape(title)}</text>',
    ]
    for step in range(6):
        rate = step / 5
        parts.append(_line(_LEFT, down(rate), _WIDTH - _RIGHT, down(rate), "#dddddd"))
        parts.append(f'<text x="{_LEFT - 8}" y="{down(rate) + 4:.1f}" text-anchor="end">{rate:.0%}</text>')
    for step in range(6):
        task = last * step / 5
        parts.append(f'<text x="{across(task):.1f}" y="{_HEIGHT - 34}" text-anchor="middle">{task:.0f}</text>')
    parts.append(f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 12}" text-anchor="middle">tasks</text>')
    parts.append(_line(_LEFT, down(TARGET), _WIDTH - _RIGHT, down(TARGET), "#888888", dashed=True))
    if 0 < change < last:
        parts.append(_line(across(change), _TOP, across(change), down(0), "#888888", dashed=True))
        parts.append(f'<text x="{across(change) + 6:.1f}" y="{_TOP + 12}">every strategy changes</text>')
    for place, (name, found) in enumerate(curves):
        colour = _COLOURS[place % len(_COLOURS)]
        middles = [across((window.first + window.last - 1) / 2) for window in found]
        upper = [f"{x:.1f},{down(window.high):.1f}" for x, window in zip(middles, found, strict=True)]
        lower = [f"{x:.1f},{down(window.low):.1f}" for x, window in zip(middles, found, strict=True)]
        points = [f"{x:.1f},{down(window.rate):.1f}" for x, window in zip(middles, found, strict=True)]
        parts.append(f'<polygon points="{" ".join([*upper, *reversed(lower)])}" fill="{colour}" opacity="0.18"/>')
        parts.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        legend = _TOP + 30 + 18 * place
        parts.append(_line(_WIDTH - 190, legend, _WIDTH - 160, legend, colour))
        parts.append(f'<text x="{_WIDTH - 154}" y="{legend + 4}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _line(left: float, top: float, right: float, bottom: float, colour: str, *, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="6 4"' if dashed else ""
    return (
        f'<line x1="{left:.1f}" y1="{top:.1f}" x2="{right:.1f}" y2="{bottom:.1f}" stroke="{colour}" '
        f'stroke-width="1.5"{dash}/>'
    )
