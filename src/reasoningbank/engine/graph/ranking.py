"""Which paths are worth showing first: those that add most to what is shown already."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from reasoningbank.domain.graph import Label, Node
from reasoningbank.domain.walk import WalkPath


def ranked(paths: Sequence[WalkPath], total: Mapping[str, float], limit: int) -> list[WalkPath]:
    """The paths in the order in which they should be read, each with its score; those that add nothing are left out.

    A path's score is the activation of all its nodes that no better path shows. So paths of all seeds stand in one
    order, a path that tells what another told comes late, and a budget cut anywhere keeps the most. The gain of a path
    only falls as others are taken (the coverage is submodular), so the best is found without scoring all again each
    time (Minoux' lazy evaluation). Of paths that add the same, the shorter one comes first, then the one that is walked
    more often as its sentences read.
    """
    shown: set[str] = set()
    heap = [(-_gain(path, total, shown), _plainness(path), path) for path in paths]
    heapq.heapify(heap)
    chosen: list[WalkPath] = []
    while heap and len(chosen) < limit:
        _, plainness, path = heapq.heappop(heap)
        gain = _gain(path, total, shown)
        if gain <= 0.0:
            continue
        if heap and (-gain, plainness) > heap[0][:2]:
            heapq.heappush(heap, (-gain, plainness, path))
            continue
        shown.update(path.nodes)
        chosen.append(replace(path, score=gain))
    return chosen


def ending_with(paths: Iterable[WalkPath], labels: Sequence[Label], nodes: Mapping[str, Node]) -> list[WalkPath]:
    """The paths cut after their last node of one of the labels; each way once, those without such a node not at all."""
    cut: dict[tuple[str, tuple[str, ...]], WalkPath] = {}
    for path in paths:
        length = max(
            (number for number, name in enumerate(path.nodes) if nodes[name].label in labels),
            default=None,
        )
        if length is not None:
            shorter = replace(path, hops=path.hops[:length])
            cut.setdefault((shorter.seed, shorter.edges), shorter)
    return list(cut.values())


def _gain(path: WalkPath, total: Mapping[str, float], shown: set[str]) -> float:
    return math.fsum(total[name] for name in path.nodes if name not in shown)


def _plainness(path: WalkPath) -> tuple[int, int, tuple[str, ...], tuple[str, ...]]:
    """What decides between paths that add the same; no two paths of a walk have it in common."""
    return len(path.hops), sum(hop.reversed for hop in path.hops), path.nodes, path.edges
