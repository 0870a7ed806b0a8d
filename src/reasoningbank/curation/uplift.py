"""What memory is worth: both arms of the hold-out, their difference, and memories that do harm."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from reasoningbank.errors import StoreBusy, StoreFull, StoreUnavailable
from reasoningbank.jobs.worker import Handler
from reasoningbank.memories.standing import speaker
from reasoningbank.memories.voices import is_held
from reasoningbank.storage.store import Store, StoreReader
from reasoningbank.telemetry import observed
from reasoningbank.types.belief import beta_cumulative
from reasoningbank.types.memory import RELEASED, Memory, Outcome
from reasoningbank.types.quantity import counted
from reasoningbank.types.records import Job, Run, TrajectoryEntry
from reasoningbank.types.session import USER, Judgement
from reasoningbank.types.uplift import Arm, Exposure, Harm, SessionSource, UpliftReport

if TYPE_CHECKING:
    from reasoningbank.context import Context

EVIDENCE = "evidence"
"""The judge of a trajectory that is believed here beside a person: what the transcript itself proves."""


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
        """Return how the session ended for one memory: as reported about that memory, else as the session did."""
        said = next((one.succeeded for one in self.exposure.shown if one.memory_id == memory_id), None)
        return self.succeeded if said is None else said


def ended(reader: StoreReader) -> Sequence[Ended]:
    """Return every session that met a memory, in the order in which they began.

    The end is, in this order: what a person has said of the session or of its trajectory, what the agent has reported
    of the session, what the evidence in its trajectory proves, and last whether every report about a memory was good.
    """
    return ended_of(reader.deliveries.exposures(), reader.sessions.trajectories(limit=0))


def ended_of(exposures: Sequence[Exposure], trajectories: Sequence[TrajectoryEntry]) -> Sequence[Ended]:
    """Return the same of what was read already: what every session met, and the trajectories."""
    judged = _judged(trajectories)
    return [_ended(exposure, judged.get(exposure.session, {})) for exposure in exposures]


def _judged(trajectories: Sequence[TrajectoryEntry]) -> Mapping[str, Mapping[str, Judgement]]:
    """Return by session and judge the latest judgement that decides; a person's word decides also that nobody knows."""
    found: dict[str, dict[str, Judgement]] = {}
    for entry in trajectories:
        known = entry.judgement
        if known is None or not entry.session:
            continue
        if known.judge == USER or (known.judge == EVIDENCE and known.verdict != "unknown"):
            before = found.setdefault(entry.session, {}).get(known.judge)
            if before is None or before.at <= known.at:
                found[entry.session][known.judge] = known
    return found


def _ended(exposure: Exposure, judged: Mapping[str, Judgement]) -> Ended:
    if exposure.said_by == "human":
        return Ended(exposure=exposure, succeeded=exposure.succeeded, source="session")
    if USER in judged and judged[USER].verdict == "unknown":
        return Ended(exposure=exposure)
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


Z95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""
_STEPS = 60


class Stratum(NamedTuple):
    """Known ends of the sessions that were drawn with one hold-out share, in both arms."""

    with_succeeded: int
    with_known: int
    without_succeeded: int
    without_known: int


def score_interval(rate: float, count: float, z: float = Z95) -> tuple[float, float]:
    """Return the score interval of a rate with continuity correction (Wilson 1927; Newcombe 1998, method 4).

    Args:
        rate: The observed rate.
        count: Of how many; it need not be whole. Without any the interval is (0, 1).
        z: The normal quantile.
    """
    if count <= 0:
        return 0.0, 1.0
    middle, scale = 2 * count * rate + z * z, 2 * (count + z * z)
    below = z * z - 2 - 1 / count + 4 * rate * (count * (1 - rate) + 1)
    above = z * z + 2 - 1 / count + 4 * rate * (count * (1 - rate) - 1)
    low = 0.0 if rate <= 0.0 else max(0.0, (middle - 1 - z * math.sqrt(max(0.0, below))) / scale)
    high = 1.0 if rate >= 1.0 else min(1.0, (middle + 1 + z * math.sqrt(max(0.0, above))) / scale)
    return min(low, rate), max(high, rate)


def difference(strata: Sequence[Stratum], z: float = Z95) -> tuple[float, tuple[float, float]] | None:
    """Return the difference of two success rates with its interval; None when no stratum has both arms.

    One stratum: Newcombe's hybrid score interval with continuity correction (1998, method 11; without it the interval
    covers too rarely where an arm has few sessions, see docs/decisions/0014). Several, because the hold-out share was
    changed: the rates are averaged with Mantel-Haenszel weights, so that a change of the project over time is not taken
    for an effect, and the interval of each average is taken at its effective count ``1 / sum(w_i^2 / n_i)``.
    """
    both = [one for one in strata if one.with_known and one.without_known]
    if not both:
        return None
    sizes = [one.with_known * one.without_known / (one.with_known + one.without_known) for one in both]
    weights = [size / sum(sizes) for size in sizes]
    with_rate = sum(w * one.with_succeeded / one.with_known for w, one in zip(weights, both, strict=True))
    without_rate = sum(w * one.without_succeeded / one.without_known for w, one in zip(weights, both, strict=True))
    with_count = 1 / sum(w * w / one.with_known for w, one in zip(weights, both, strict=True))
    without_count = 1 / sum(w * w / one.without_known for w, one in zip(weights, both, strict=True))
    with_low, with_high = score_interval(with_rate, with_count, z)
    without_low, without_high = score_interval(without_rate, without_count, z)
    gap = with_rate - without_rate
    low = gap - math.hypot(with_rate - with_low, without_high - without_rate)
    high = gap + math.hypot(with_high - with_rate, without_rate - without_low)
    return gap, (max(-1.0, low), min(1.0, high))


def log_evidence_below(rate: float, succeeded: int, count: int) -> float:
    """Return the logarithm of the evidence that a true success rate is below ``rate``: a test martingale's value.

    The likelihood ratio of rates below to ``rate`` itself, averaged evenly over [0, rate]:
    ``B(s+1, n-s+1) I_rate(s+1, n-s+1) / (rate^(s+1) (1-rate)^(n-s))``. While the true rate is ``rate`` or more it ever
    exceeds ``log(1/a)`` with a probability of at most ``a``, however often one looks (Ville's inequality).
    """
    if count == 0 or rate <= 0.0:
        return 0.0
    failed = count - succeeded
    if rate >= 1.0:
        return math.inf if failed else 0.0
    share = beta_cumulative(rate, succeeded + 1.0, failed + 1.0)
    if share <= 0.0:
        return -math.inf
    whole = math.lgamma(succeeded + 1) + math.lgamma(failed + 1) - math.lgamma(count + 2)
    return whole + math.log(share) - (succeeded + 1) * math.log(rate) - failed * math.log1p(-rate)


def upper_bound(succeeded: int, count: int, error: float) -> float:
    """Return what a true success rate is at most.

    Wrong at any time of a sequence with a probability of at most ``error``.
    """
    limit = -math.log(error)
    low, high = (succeeded / count if count else 1.0), 1.0
    if log_evidence_below(high, succeeded, count) < limit:
        return 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if log_evidence_below(middle, succeeded, count) < limit:
            low = middle
        else:
            high = middle
    return high


def lower_bound(succeeded: int, count: int, error: float) -> float:
    """Return what a true success rate is at least, on the same terms."""
    return 1.0 - upper_bound(count - succeeded, count, error)


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

    def __sub__(self, part: Tally) -> Tally:
        return Tally(succeeded=self.succeeded - part.succeeded, known=self.known - part.known)


def harmful(
    sessions: Sequence[Ended],
    memories: Callable[[Sequence[str]], Mapping[str, Memory]],
    released: Callable[[str], datetime | None],
    *,
    speakers: Callable[[Collection[str]], Mapping[str, str]] = lambda _: {},
    error: float = ERROR,
) -> tuple[Harm, ...]:
    """Return the memories beyond the harm bound, the worst first.

    A memory is beyond it when the upper bound of the success rate of the sessions that were shown it lies below the
    lower bound of the base rate. Half of ``error`` is for the base rate, the other half is shared by all memories that
    any session with a known end was shown. Both bounds hold at every time at once, so that looking every day finds no
    more by chance than looking once.

    The base rate is that of all sessions with a known end; for an anti-pattern, which is shown when something has
    failed already, that of sessions which met any anti-pattern. Where enough sessions were held out from a memory, it
    must also have done worse than they did: a memory about hard tasks does no harm.

    What a person stands by and what is confirmed is not taken out of use by one client, which names as many sessions as
    it likes (DESIGN D16): it is found, and marked, when without the sessions of some one client it would not be.

    Args:
        sessions: All sessions, in the order in which they began.
        memories: The memories of ids, those that exist.
        released: When a person has released a memory last: only sessions that began later count.
        speakers: Returns who speaks in sessions, of those that do not stand for themselves.
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
        since, counting = released(memory_id), sessions
        if since is not None:
            counting = [session for session in sessions if session.exposure.at > since]
            tally, withheld = _tallies(counting).get(memory_id, (Tally(), Tally()))
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
                one_client=memory.state != "quarantined"
                and is_held(memory)
                and _by_one(memory_id, tally, counting, (base, sessions, known, memory.outcome), speakers, each, error),
            )
        )
    return tuple(sorted(found, key=lambda harm: (harm.upper_bound, harm.memory_id)))


def _by_one(
    memory_id: str,
    tally: Tally,
    counting: Sequence[Ended],
    whole: tuple[Tally, Sequence[Ended], Mapping[str, Memory], Outcome],
    speakers: Callable[[Collection[str]], Mapping[str, str]],
    each: float,
    error: float,
) -> bool:
    """Return whether a memory is not beyond the bound without the sessions of some one client."""
    base, sessions, known, outcome = whole
    named = speakers([session.exposure.session for session in sessions])

    def voice(session: Ended) -> str:
        own = session.exposure.session
        return own if session.exposure.said_by == "human" or session.source == "verdict" else named.get(own, own)

    own_base: defaultdict[str, Tally] = defaultdict(Tally)
    own_tally: defaultdict[str, Tally] = defaultdict(Tally)
    for session in sessions:
        if (end := _in_base(session, known, outcome)) is not None:
            own_base[voice(session)] += end
    for session in counting:
        if (end := session.about(memory_id)) is not None and _was_shown(session, memory_id):
            own_tally[voice(session)] += end
    parts = {(own_base[name], own_tally[name]) for name in {*own_base, *own_tally}}
    return any(
        not _beyond(tally - of_tally, lower_bound(rest.succeeded, rest.known, error / 2), each)
        for rest, of_tally in ((base - of_base, of_tally) for of_base, of_tally in parts)
    )


def noted(harms: Sequence[Harm], set_aside: Sequence[str]) -> tuple[Harm, ...]:
    """Return the same after these memories were set aside."""
    return tuple(replace(harm, set_aside=True) if harm.memory_id in set_aside else harm for harm in harms)


def reason(harm: Harm) -> str:
    """Return why a memory is set aside, with its numbers, for a person."""
    return (
        f"Of {harm.shown} sessions that were shown it {harm.succeeded} succeeded ({harm.rate:.0%}, at most "
        f"{harm.upper_bound:.0%}); in the project {harm.base_rate:.0%} do (at least {harm.base_bound:.0%})."
    )


def _beyond(tally: Tally, bound: float, error: float) -> bool:
    if not tally.known or tally.rate >= bound:
        return False
    return upper_bound(tally.succeeded, tally.known, error) < bound


def _base(sessions: Sequence[Ended], known: Mapping[str, Memory], outcome: str) -> Tally:
    """Return the ends of all sessions, or of those that met an anti-pattern."""
    base = Tally()
    for session in sessions:
        if (end := _in_base(session, known, outcome)) is not None:
            base += end
    return base


def _in_base(session: Ended, known: Mapping[str, Memory], outcome: str) -> bool | None:
    """Return how a session ended that the base rate counts; None for any other."""
    met = (known.get(one.memory_id) for one in session.exposure.shown)
    counts = outcome == "success" or any(memory is not None and memory.outcome == outcome for memory in met)
    return session.succeeded if counts else None


def _was_shown(session: Ended, memory_id: str) -> bool:
    return any(one.memory_id == memory_id and one.how != "withheld" for one in session.exposure.shown)


def _tallies(sessions: Sequence[Ended]) -> dict[str, tuple[Tally, Tally]]:
    """Return by memory the ends of sessions that were shown it, and of those that were kept from it."""
    found: dict[str, tuple[Tally, Tally]] = {}
    for session in sessions:
        for one in session.exposure.shown:
            end = session.about(one.memory_id)
            if end is None:
                continue
            shown, withheld = found.get(one.memory_id, (Tally(), Tally()))
            found[one.memory_id] = (shown, withheld + end) if one.how == "withheld" else (shown + end, withheld)
    return found


def reported(sessions: Sequence[Ended], harms: Sequence[Harm]) -> UpliftReport:
    """Return what the sessions say, by how they were drawn and not by what they did afterwards.

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
            f"{counted(report.crossed, 'held-out session')} searched for memories and found some, so the true "
            "difference is rather larger."
        )
    if only_memories:
        yield (
            f"Of {counted(only_memories, 'session')} only reports about single memories are known; a session without "
            "memory cannot make those, so they are in no rate."
        )
    if report.not_drawn:
        yield f"{counted(report.not_drawn, 'session')} from before the hold-out are in no rate."


HARM = "harm"
"""The kind of job that looks for memories that do harm."""
HARM_EVERY = timedelta(hours=24)


class Uplift:
    """Measure what memory is worth, and hold back what does harm."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def report(self) -> UpliftReport:
        """Return how sessions end with memories and without, what that costs, and which memories do harm.

        Compared are sessions by how they were drawn (setting ``holdout``), whatever they did afterwards. Harmful
        memories are set aside at once, as the worker does every day, unless an agent asks; when the bank cannot be
        written the report says so. Nothing is invented: without enough sessions the uplift is None and the interval
        (-1, 1).

        Raises:
            StoreError: When the bank cannot be read.
        """
        with observed("report_uplift", store=self._context.place):
            store = self._context.store()
            sessions = ended(store)
            harms = self._harms(store, sessions)
            if speaker():
                return reported(sessions, harms)
            try:
                return reported(sessions, self._set_aside(store, harms))
            except (StoreFull, StoreBusy, StoreUnavailable) as error:
                report = reported(sessions, harms)
                said = f"Harmful memories could not be set aside: {error.advice}"
                return replace(report, message=f"{report.message} {said}")

    def queue_due(self) -> None:
        """Queue the daily look for harmful memories when sessions were shown any."""
        store, now = self._context.store(), self._context.clock.now()
        if (
            not any(job.kind == HARM for job in store.jobs.waiting(due=now + 2 * HARM_EVERY))
            and store.deliveries.exposures()
        ):
            with store.transaction() as transaction:
                transaction.jobs.enqueue(_look(now + HARM_EVERY))

    def handlers(self) -> Mapping[str, Handler]:
        """Return the function that does each kind of job."""
        return {HARM: self._harm_job}

    def _harm_job(self, job: Job) -> None:
        """Set aside what does harm; the next look comes a day later."""
        store = self._context.store()
        harms = self._set_aside(store, self._harms(store, ended(store)))
        now = self._context.clock.now()
        with store.transaction() as transaction:
            transaction.note_run(Run(kind="harm-check", at=now, said=f"{len(harms)} found harmful"))
            transaction.jobs.enqueue(_look(max(job.due, self._context.clock.now()) + HARM_EVERY))

    @staticmethod
    def _harms(store: Store, sessions: Sequence[Ended]) -> tuple[Harm, ...]:

        return harmful(
            sessions,
            store.memories.many,
            lambda memory_id: _released(store, memory_id),
            speakers=store.evidence.principals,
        )

    def _set_aside(self, store: Store, harms: Sequence[Harm]) -> tuple[Harm, ...]:
        from reasoningbank.memories.states import set_aside

        new = [harm for harm in harms if not harm.set_aside and not harm.one_client]
        if not new:
            return tuple(harms)
        with store.transaction() as transaction:
            for harm in new:
                set_aside(transaction, [harm.memory_id], reason=reason(harm), at=self._context.clock.now())
        return noted(harms, [harm.memory_id for harm in new])


def _look(due: datetime) -> Job:
    """Return the look for harm of one day: its key is the day, so that there is one."""
    return Job(kind=HARM, key=f"{due:%Y-%m-%d}", due=due)


def _released(reader: StoreReader, memory_id: str) -> datetime | None:
    """Return when the memory was last released by a person."""
    return max(
        (change.at for change in reader.memories.changes(memory_id=memory_id) if change.kind == RELEASED), default=None
    )
