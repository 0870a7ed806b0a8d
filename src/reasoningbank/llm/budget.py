"""A token budget per UTC day that is never exceeded, by any number of threads and processes, also after ``kill -9``.

Before a call the most that it can cost is booked; after it what it did cost replaces that: nothing where a client did
not start or gave no output. A call that dies in between stays booked, and so does one whose cost nobody knows. The
ledger is one file of one line, the day and what is spent of it, locked while it is read and written and forced to the
disk before the call begins. It is shared by all models below one data directory.
A ledger that cannot be read stops all calls, because what was spent is not known then.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from reasoningbank.errors import BudgetExhausted, ModelUnavailable
from reasoningbank.system import open_private

_LINE = 100
_POLL = 0.005
_LONGEST_LEDGER = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Tokens that were booked for one call.

    Attributes:
        day: The UTC day they count for, also when the call ends after midnight.
        tokens: How many.
    """

    day: date
    tokens: int


class TokenBudget:
    """The tokens of a day, input and output together.

    Args:
        ledger: The file that counts them; it and its directory are made when needed, for this user alone.
        daily: How many there are, at least 1.
        now: Tells the time, UTC.
        setting: The setting that says how many, for hints.
    """

    def __init__(
        self,
        ledger: Path,
        daily: int,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        setting: str = "llm_daily_tokens",
    ) -> None:
        self._ledger = ledger
        self._daily = daily
        self._now = now
        self._setting = setting

    def spent(self) -> int:
        """Return tokens of today that are spent or booked."""
        with self._opened() as descriptor:
            return self._read(descriptor)[1]

    def reserve(self, tokens: int) -> Reservation:
        """Return books the most that a call can cost; the booking is on the disk when this returns.

        Raises:
            BudgetExhausted: Today's tokens do not suffice; nothing was booked.
            ModelUnavailable: The ledger cannot be used.
        """
        with self._opened() as descriptor:
            day, spent = self._read(descriptor)
            if spent + tokens > self._daily:
                raise self._exhausted(tokens, spent)
            self._write(descriptor, day, spent + tokens)
        return Reservation(day=day, tokens=tokens)

    def settle(self, reservation: Reservation, used: int) -> None:
        """Replace a booking by what the call did cost; more than was booked counts too.

        Raises:
            ModelUnavailable: The ledger cannot be used; the booking stays.
        """
        with self._opened() as descriptor:
            day, spent = self._read(descriptor)
            difference = used - reservation.tokens
            if day == reservation.day or difference > 0:
                self._write(descriptor, day, max(spent + difference, 0))

    def _exhausted(self, tokens: int, spent: int) -> BudgetExhausted:
        hint = f"Wait until tomorrow (UTC), or raise {self._setting}."
        if tokens > self._daily:
            hint = f"Raise {self._setting} to {tokens:,} or more: this call does not fit into any day."
        left = max(self._daily - spent, 0)
        return BudgetExhausted(
            f"the call could take {tokens:,} tokens and {left:,} of today's {self._daily:,} are left; it was not made",
            hint=hint,
        )

    def _read(self, descriptor: int) -> tuple[date, int]:
        """Return the day that counts and its tokens.

        A clock that was set back does not give a day's tokens a second time.
        """
        today = self._now().astimezone(UTC).date()
        os.lseek(descriptor, 0, os.SEEK_SET)
        text = os.read(descriptor, _LINE * 10)
        if not text:
            return today, 0
        try:
            entry = json.loads(text)
            day, spent = date.fromisoformat(entry["day"]), int(entry["spent"])
        except (ValueError, TypeError, KeyError) as error:
            raise ModelUnavailable(
                f"the ledger of tokens {self._ledger} is damaged, so that what is left for today is not known",
                hint="Delete the file to begin the day's budget anew.",
            ) from error
        return (today, 0) if day < today else (day, spent)

    def _write(self, descriptor: int, day: date, spent: int) -> None:
        line = json.dumps({"day": day.isoformat(), "spent": spent}).ljust(_LINE - 1) + "\n"
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, line.encode())
        os.fsync(descriptor)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        with _locked(self._ledger) as descriptor:
            yield descriptor


_session: ContextVar[str] = ContextVar("budgeted_session", default="")


@contextmanager
def counted_as(session: str) -> Iterator[None]:
    """Count every call of a client's model within it as belonging to this captured session."""
    token = _session.set(session)
    try:
        yield
    finally:
        _session.reset(token)


class SessionBudget:
    """The captured sessions of a day that a client's model is asked about; a call outside of one counts as one.

    Args:
        ledger: The file that notes them, as hashes; it and its directory are made when needed, for this user alone.
        daily: How many there are, at least 1.
        now: Tells the time, UTC.
    """

    def __init__(self, ledger: Path, daily: int, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._ledger = ledger
        self._daily = daily
        self._now = now

    def spent(self) -> int:
        """Return how many sessions of today were asked about."""
        with _locked(self._ledger) as descriptor:
            return len(self._read(descriptor)[1])

    def count(self) -> None:
        """Note the session that is under way; one that is noted already costs nothing more.

        Raises:
            BudgetExhausted: Today's sessions are used up; nothing was noted.
            ModelUnavailable: The ledger cannot be used.
        """
        named = _session.get() or uuid.uuid4().hex
        key = hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        with _locked(self._ledger) as descriptor:
            day, known = self._read(descriptor)
            if key in known:
                return
            if len(known) >= self._daily:
                raise BudgetExhausted(
                    f"today's {self._daily} sessions for the client's model are used up",
                    hint="Wait until tomorrow (UTC), or raise client_daily_sessions.",
                )
            line = json.dumps({"day": day.isoformat(), "sessions": [*known, key]}) + "\n"
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, line.encode())
            os.fsync(descriptor)

    def _read(self, descriptor: int) -> tuple[date, list[str]]:
        """Return the day that counts and its sessions; a clock that was set back gives no day a second time."""
        today = self._now().astimezone(UTC).date()
        text = os.read(descriptor, _LONGEST_LEDGER)
        if not text:
            return today, []
        try:
            entry = json.loads(text)
            day, known = date.fromisoformat(entry["day"]), [str(each) for each in entry["sessions"]]
        except (ValueError, TypeError, KeyError) as error:
            raise ModelUnavailable(
                f"the ledger of sessions {self._ledger} is damaged, so that what is left for today is not known",
                hint="Delete the file to begin the day's budget anew.",
            ) from error
        return (today, []) if day < today else (day, known)


@contextmanager
def _locked(ledger: Path) -> Iterator[int]:
    """Give a ledger, locked; each use opens it anew, so that threads exclude each other like processes."""
    from filelock import lock_descriptor

    try:
        ledger.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = open_private(ledger, os.O_RDWR | os.O_CREAT)
        try:
            lock_descriptor(descriptor, poll_interval=_POLL)
            yield descriptor
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ModelUnavailable(
            f"the ledger {ledger} of what a day may cost cannot be used: {error.strerror}",
            hint="Make the data directory writable, or set the daily limit to 0 for none.",
        ) from error
