"""Memories whose sessions end worse than those of the project, beyond what chance does to a thousand memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from reasoningbank.domain.memory import Memory
from reasoningbank.domain.uplift import Harm
from reasoningbank.engine.uplift.facts import Ended
from reasoningbank.engine.uplift.intervals import lower_bound, upper_bound

ERROR = 0.05
"""How likely it is at most that any memory of a project that does no harm is ever found harmful."""
LEAST_WITHHELD = 5
"""From so many held-out sessions on, a memory is compared with those that were kept from it as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Sessions with a known end, and how many of them succeeded."""

    succeeded: int = 0
    known: int = 0

    @property
    def rate(self) -> float:
        """The share that succeeded; 1 when none is known."""
        return self.succeeded / self.known if self.known else 1.0

    def __add__(self, end: bool) -> Tally:
        return Tally(succeeded=self.succeeded + end, known=self.known + 1)


def harmful(
    sessions: Sequence[Ended],
    memories: Callable[[Sequence[str]], Mapping[str, Memory]],
    released: Callable[[str], datetime | None],
    *,
    error: float = ERROR,
) -> tuple[Harm, ...]:
    """The memories beyond the harm bound, the worst first.

    A memory is beyond it when the upper bound of the success rate of the sessions that were shown it lies below the
    lower bound of the base rate. Half of ``error`` is for the base rate, the other half is shared by all memories that
    any session with a known end was shown. Both bounds hold at every time at once, so that looking every day finds no
    more by chance than looking once.

    The base rate is that of all sessions with a known end; for an anti-pattern, which is shown when something has
    failed already, that of sessions which met any anti-pattern. Where enough sessions were held out from a memory, it
    must also have done worse than they did: a memory about hard tasks is no harm.

    Args:
        sessions: All sessions, in the order in which they began.
        memories: The memories of ids, those that exist.
        released: When a person has released a memory last: only sessions that began later count.
        error: See ``ERROR``.
    """
    shown = Counter(
        one.memory_id
        for session in sessions
        for one in session.exposure.shown
        if one.how != "withheld" and session.about(one.memory_id) is not None
    )
    known = memories([*shown])
    bases = {outcome: _base(sessions, known, outcome) for outcome in ("success", "failure")}
    bounds = {outcome: lower_bound(base.succeeded, base.known, error / 2) for outcome, base in bases.items()}
    each = error / 2 / max(1, len(shown))
    tallies = _tallies(sessions)
    found: list[Harm] = []
    for memory_id, memory in known.items():
        base, bound = bases[memory.outcome], bounds[memory.outcome]
        if memory.state == "archived" or not _beyond(tallies[memory_id][0], bound, each):
            continue
        tally, withheld = tallies[memory_id]
        since = released(memory_id)
        if since is not None:
            later = [session for session in sessions if session.exposure.at > since]
            tally, withheld = _tallies(later).get(memory_id, (Tally(), Tally()))
        if not _beyond(tally, bound, each) or (withheld.known >= LEAST_WITHHELD and withheld.rate <= tally.rate):
            continue
        found.append(
            Harm(
                memory_id=memory_id,
                title=memory.title,
                shown=tally.known,
                succeeded=tally.succeeded,
                upper_bound=upper_bound(tally.succeeded, tally.known, each),
                base_rate=base.rate,
                base_bound=bound,
                withheld=withheld.known,
                withheld_succeeded=withheld.succeeded,
                set_aside=memory.state == "quarantined",
            )
        )
    return tuple(sorted(found, key=lambda harm: (harm.upper_bound, harm.memory_id)))


def noted(harms: Sequence[Harm], set_aside: Sequence[str]) -> tuple[Harm, ...]:
    """The same after these memories were set aside."""
    return tuple(replace(harm, set_aside=True) if harm.memory_id in set_aside else harm for harm in harms)


def reason(harm: Harm) -> str:
    """Why a memory is set aside, with its numbers, for a person."""
    return (
        f"Of {harm.shown} sessions that were shown it {harm.succeeded} succeeded ({harm.rate:.0%}, at most "
        f"{harm.upper_bound:.0%}); in the project {harm.base_rate:.0%} do (at least {harm.base_bound:.0%})."
    )


def _beyond(tally: Tally, bound: float, error: float) -> bool:
    if not tally.known or tally.rate >= bound:
        return False
    return upper_bound(tally.succeeded, tally.known, error) < bound


def _base(sessions: Sequence[Ended], known: Mapping[str, Memory], outcome: str) -> Tally:
    """The ends of all sessions, or of those that met an anti-pattern."""
    base = Tally()
    for session in sessions:
        met = (known.get(one.memory_id) for one in session.exposure.shown)
        if session.succeeded is None:
            continue
        if outcome == "success" or any(memory is not None and memory.outcome == outcome for memory in met):
            base += session.succeeded
    return base


def _tallies(sessions: Sequence[Ended]) -> dict[str, tuple[Tally, Tally]]:
    """By memory the ends of sessions that were shown it, and of those that were kept from it."""
    found: dict[str, tuple[Tally, Tally]] = {}
    for session in sessions:
        for one in session.exposure.shown:
            end = session.about(one.memory_id)
            if end is None:
                continue
            shown, withheld = found.get(one.memory_id, (Tally(), Tally()))
            found[one.memory_id] = (shown, withheld + end) if one.how == "withheld" else (shown + end, withheld)
    return found
