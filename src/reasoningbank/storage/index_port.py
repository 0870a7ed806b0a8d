"""The port of an index of vectors beside the relational truth, and what a search asks of it (DESIGN D1)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from reasoningbank.types.recall import Filter
from reasoningbank.types.records import IndexReport
from reasoningbank.types.scope import Scope

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """What a search wants of an index: the best of a leg that meet a condition.

    Attributes:
        leg: The leg.
        vector: Compared in it.
        condition: What a memory must be.
        limit: Most memories; an index may name more.
        text: The words of the query, for an index that names what they find too.
    """

    leg: str
    vector: NDArray[numpy.float32]
    condition: Filter
    limit: int
    text: str = ""

    def widened(self, more: int) -> Near:
        """Return the same with a larger limit."""
        return replace(self, limit=self.limit + more)


UNKNOWN = float("nan")
"""The least score of what an index has named for several wishes at once, when it may hold others."""


class Named(NamedTuple):
    """The memories that an index names.

    Attributes:
        keys: Their keys.
        least: The least score among them, or UNKNOWN; None when the index holds no others that meet the condition.
    """

    keys: Sequence[int]
    least: float | None


class Head(NamedTuple):
    """What an index says of a bank that it holds.

    Attributes:
        mark: Of which bank, and of which state of its vectors; another one is of no use.
        change: It holds every change of the bank up to this one.
    """

    mark: str
    change: int


INDEX = "index_vectors"
"""The kind of job that brings the index of vectors up to date."""
INDEX_KEY = "pending"
DOWN_HINT = "Searches compare the vectors of the bank itself until the index answers; then it is brought up to date."
NO_HEAD = Head("", -1)
"""What an index says that knows nothing of a bank."""


def digest(text: str) -> str:
    """Return what stands for a text in conditions: nothing in it can end one."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class BankPlace:
    """Where a bank lies in an index.

    Attributes:
        scope: Whose bank it is.
        dimension: The length of its vectors.
    """

    scope: Scope
    dimension: int

    @property
    def tenant(self) -> str:
        """What stands for the tenant in conditions: nothing in it can end one."""
        return hashlib.sha256(self.scope.tenant.encode()).hexdigest()

    @property
    def bank(self) -> str:
        """What stands for the bank in conditions."""
        whole = "\0".join((self.scope.tenant, self.scope.level, self.scope.project))
        return hashlib.sha256(whole.encode()).hexdigest()

    def name(self, key: int | str) -> str:
        """Return the identifier of a point: no other bank has one that is equal."""
        return hashlib.sha256(f"{self.bank} {key}".encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One memory as an index holds it.

    Attributes:
        key: Its key in the bank.
        stamp: Another one once anything of the point is another.
        fields: What conditions are about, by name, and what people read of it.
        lesson: Its title and content.
        context: When it applies.
        vectors: The vector of each leg that it has one in.
    """

    key: int
    stamp: str
    fields: Mapping[str, str | int | float | bool | Sequence[str]]
    lesson: str
    context: str
    vectors: Mapping[str, NDArray[numpy.float32]]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexUrl:
    """Where an index is, and how its collections are named.

    Attributes:
        shown: The URL for people to read, without a password.
        base: What its client connects to.
        user, password: What its client proves itself with; empty for nothing.
        prefix: How the names of its collections begin.
        per_project: A collection for each bank instead of one for all banks of a dimension.
        seconds: How long an answer may take.
    """

    shown: str
    base: str
    user: str = ""
    password: str = ""
    prefix: str = "reasoningbank"
    per_project: bool = False
    seconds: float = 5.0

    def collection(self, place: BankPlace) -> str:
        """Return the name of the collection that a bank is in."""
        shared = f"{self.prefix}_{place.dimension}"
        return f"{shared}_{place.bank[:32]}" if self.per_project else shared

    def may_hold(self, collection: str, place: BankPlace) -> bool:
        """Return whether a collection, of whatever dimension, may hold the bank."""
        own = re.escape(self.prefix) + r"_\d+" + (f"_{place.bank[:32]}" if self.per_project else "")
        return re.fullmatch(own, collection) is not None


class VectorIndex(Protocol):
    """An index for the banks of many tenants. Every condition and every deletion is about one bank of one tenant.

    Each call raises StoreUnavailable when the index cannot be reached or refuses. Threads may share it.
    """

    @property
    def shown(self) -> str:
        """Where it is, for people to read."""

    def near(self, place: BankPlace, asked: Sequence[Near]) -> tuple[Head, Sequence[Named]]:
        """Return what it says of the bank, and the best of each wish; nothing where it does not know the bank."""

    def head(self, place: BankPlace) -> Head:
        """Return what it says of the bank; NO_HEAD when it does not know the bank."""

    def put_head(self, place: BankPlace, head: Head) -> None:
        """Replace what it says of the bank."""

    def put(self, place: BankPlace, points: Sequence[Point]) -> None:
        """Add points, or replace those of the same keys; the place is made when there is none."""

    def remove(self, place: BankPlace, keys: Sequence[int]) -> None:
        """Remove the points of these keys as far as they exist."""

    def stamps(self, place: BankPlace) -> Iterator[tuple[int, str]]:
        """Yield the key and the stamp of every point of the bank."""

    def drop(self, place: BankPlace, *, others: bool = False) -> None:
        """Remove all that it holds of the bank; with ``others`` only what has vectors of other dimensions."""

    def close(self) -> None:
        """Release its connections; a second time does nothing."""


class Answer(NamedTuple):
    """What an index has said to a search.

    Attributes:
        change: It holds every change of the bank up to this one.
        named: What it names for each wish.
    """

    change: int
    named: Sequence[Named]


class Nearby(Protocol):
    """The index of one bank, as a search asks it."""

    @property
    def usable(self) -> bool:
        """Whether it is worth asking now: it is not while it has just failed."""

    @property
    def failure(self) -> str:
        """Why it is not."""

    @property
    def most_changed(self) -> int:
        """So many memories that it does not know yet are compared beside it at most."""

    def near(self, asked: Sequence[Near], facts: Mapping[str, str]) -> Answer:
        """Return what it names.

        Args:
            asked: The wishes.
            facts: What the bank says of itself in the state that is searched.

        Raises:
            StoreUnavailable: When it does not answer.
        """

    def check_behind(self, changed: int) -> None:
        """Raise StoreUnavailable when so many changes are too many to be compared beside it."""

    def failed(self, error: Exception) -> str:
        """Take note that it has failed; return a warning for the answer."""


class IndexKeeper(Protocol):
    """Keeps the index of one bank equal to the bank."""

    @property
    def shown(self) -> str:
        """Where the index is, for people to read."""

    def behind(self) -> bool:
        """Return whether the index answers, and lacks changes of the bank."""

    def follow(self) -> IndexReport:
        """Take over what was changed since what the index knows; all of it when it does not know this bank.

        Raises:
            StoreUnavailable: When the index does not answer; what it has taken by then it keeps.
        """

    def reconcile(self) -> IndexReport:
        """Compare every memory of the bank with the index, and make the index equal to it.

        Raises:
            StoreUnavailable: When the index does not answer; what it has taken by then it keeps.
        """
