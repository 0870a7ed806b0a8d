"""Measure what sessions do to the memory that they were shown: ``python -m evaluation.credit`` below ``benchmarks``.

Each line begins with a memory at 0.800 in a bank of its own, with the real embedder and a clock that is set.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from reasoningbank import Bank, Settings
from reasoningbank.testing import FrozenClock
from reasoningbank.types.session import Evidence, Step, Trajectory

TASK = "the network call to the shop fails now and then"
UNRELATED = "choose a colour for the fence of the garden"


@contextmanager
def bank_with_a_memory() -> Iterator[tuple[Bank, FrozenClock, str]]:
    """Give a fresh bank, its clock, and the id of its memory."""
    clock = FrozenClock()
    with (
        tempfile.TemporaryDirectory() as home,
        Bank.open(
            tenant="acme", project="shop", settings=Settings(home=Path(home)), clock=clock, by_agent=False
        ) as bank,
    ):
        memory = bank.record(title="Retry a network call", content="Back off, then retry the call.", outcome="success")
        yield bank, clock, memory.id


def ended(session: str, succeeded: bool | None) -> Trajectory:
    """Return a session whose tests say how it ended; None for one that nothing is known of."""
    evidence = () if succeeded is None else (Evidence(kind="test_run", positive=succeeded, name="pytest", step=0),)
    return Trajectory(
        task=f"{TASK} ({session})",
        steps=(Step(tool="Bash", action="pytest", thought=session),),
        session=session,
        source="claude-code",
        evidence=evidence,
    )


def searched(bank: Bank, _: FrozenClock) -> None:
    """Search twenty times, eight of them for something else."""
    for number in range(20):
        bank.search(UNRELATED if number % 5 > 2 else TASK, min_confidence=0.0, session=f"s{number}")


def one_failure(bank: Bank, _: FrozenClock) -> None:
    """Run a session that was shown the memory and failed."""
    bank.briefing(TASK, session="s")
    bank.sessions.keep(ended("s", False))


def thirty_failures(bank: Bank, _: FrozenClock) -> None:
    """Run thirty of them in a row."""
    for number in range(30):
        bank.briefing(TASK, session=f"s{number}")
        bank.sessions.keep(ended(f"s{number}", False))


def persons_word(bank: Bank, _: FrozenClock) -> None:
    """Run a session of unknown end, of which a person says that it failed."""
    bank.briefing(TASK, session="s")
    bank.sessions.verdict(bank.sessions.keep(ended("s", None)).id, "failure")


def year(rate: float, known: float) -> Callable[[Bank, FrozenClock], None]:
    """Return a year of three sessions a week that succeed at this rate whatever they are shown."""

    def lived(bank: Bank, clock: FrozenClock) -> None:
        chance = random.Random(11)
        for week in range(52):
            for number in range(3):
                session = f"{week}-{number}"
                clock.advance(timedelta(days=2))
                bank.briefing(TASK, session=session)
                known_end = chance.random() < known
                bank.sessions.keep(ended(session, chance.random() < rate if known_end else None))
            clock.advance(timedelta(days=1))
            bank.admin.roll_up()

    return lived


SCENES: tuple[tuple[str, Callable[[Bank, FrozenClock], None]], ...] = (
    ("shown 20 times, 8 of them to something else", searched),
    ("one session that failed", one_failure),
    ("30 sessions that failed", thirty_failures),
    ("a person says that the session failed", persons_word),
    ("a year, 156 sessions, no end known", year(0.5, 0.0)),
    ("a year, half of the ends known, half of them failures", year(0.5, 0.5)),
    ("a year, all ends known, all failures", year(0.0, 1.0)),
    ("a year, all ends known, all successes", year(1.0, 1.0)),
)


def main() -> None:
    """Print the confidence after each scene."""
    for name, scene in SCENES:
        with bank_with_a_memory() as (bank, clock, memory_id):
            scene(bank, clock)
            print(f"{name:56} 0.800 -> {bank.get(memory_id).confidence:.3f}")


if __name__ == "__main__":
    main()
