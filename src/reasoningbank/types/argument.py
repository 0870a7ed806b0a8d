"""Check that the arguments of a Python program have the types that they are annotated with, before anything is done.

Commands, tools and endpoints check theirs by the signature (``operations/arguments.py``). A program that is not
type-checked gets an error of the tree here, not one of the interpreter from deep inside; and a text that is given as a
list of texts is not taken apart into its letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, TypeAlias, TypeVar

from reasoningbank.errors import InvalidConfidence, InvalidEdge, InvalidInput, NegativeLimit, NegativeOffset

Kind = TypeVar("Kind")
LARGEST = 2**63 - 1
"""The largest whole number that a bank can keep."""


def check_text(value: object, name: str) -> str:
    """Return a text.

    Args:
        value: What was given.
        name: The argument, for the message.

    Raises:
        InvalidInput: When it is none.
    """
    if isinstance(value, str):
        return value
    raise InvalidInput(f"{name} must be a text, not {shown(value)}", hint=f"Pass {name} as a str.")


def check_texts(values: object, name: str) -> Iterator[str]:
    """Yield the texts of a list, a tuple or another iterable; one text alone is no list.

    Raises:
        InvalidInput: When it is none, or something in it is no text.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInput(f"{name} must be a list of texts, not {shown(values)}", hint=f'Pass {name} as ["one"].')
    return (check_text(value, name) for value in values)


def check_whole(value: int, name: str) -> int:
    """Return a whole number.

    Raises:
        InvalidInput: When it is none; a truth value is none either.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise InvalidInput(f"{name} must be a whole number, not {shown(value)}", hint=f"Pass {name} as an int.")


def check_flag(value: bool, name: str) -> bool:
    """Return a truth value: ``"no"`` would count as yes.

    Raises:
        InvalidInput: When it is none.
    """
    if isinstance(value, bool):
        return value
    raise InvalidInput(f"{name} must be True or False, not {shown(value)}", hint=f"Pass {name} as a bool.")


def check_kind(value: Kind, kind: type, name: str) -> Kind:
    """Return a value of a class, such as the options of an operation.

    Raises:
        InvalidInput: When it is none.
    """
    if isinstance(value, kind):
        return value
    raise InvalidInput(
        f"{name} must be {named_kind(kind)}, not {shown(value)}", hint=f"Pass {name} as {named_kind(kind)}."
    )


def check_kinds(values: Iterable[Kind], kind: type, name: str) -> Iterator[Kind]:
    """Yield the values of a list or another iterable, each of a class.

    Raises:
        InvalidInput: When it is no list, or something in it is of another class.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInput(
            f"{name} must be a list of {kind.__name__}, not {shown(values)}", hint=f"Pass {name} as a list."
        )
    return (check_kind(value, kind, f"each of {name}") for value in values)


def cut(value: object) -> str:
    """Return a value as text that is short enough for a message."""
    text = repr(value) if not isinstance(value, int) or abs(value) < LARGEST else "a number of many digits"
    return text if len(text) <= 80 else f"{text[:80]}..."


def named_kind(kind: type) -> str:
    """Return a class with its article."""
    return f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"


def shown(value: object) -> str:
    """Return a value and its kind for a message."""
    text = repr(value)
    return f"{text if len(text) <= 40 else f'{text[:40]}...'} ({type(value).__name__})"


@dataclass(frozen=True, slots=True)
class Between:
    """The numbers that an argument may be, written once: ``Annotated[int, Between(0, 100)]``.

    ``checked`` (``types/resource.py``) refuses every other one, and the schemas of tools and endpoints show them.

    Attributes:
        least: The smallest; None when there is none.
        most: The largest; None when there is none.
        above, below: What it must be larger and smaller than; None when there is nothing.
        error: What is raised for another number.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    error: type[InvalidInput] = InvalidInput

    def check(self, value: float, name: str) -> None:
        """Refuse a number outside; one that is none is outside, too."""
        if (
            (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        ):
            return
        if self.least == 0 and self.most is self.below is None:
            raise self.error(f"{name} cannot be negative: {cut(value)}")
        raise self.error(f"{name} must be {self.words}, not {cut(value)}")

    @property
    def words(self) -> str:
        """Return the bounds in words, for a message."""
        if self.least is not None and self.most is not None:
            return f"between {_said(self.least)} and {_said(self.most)}"
        parts = (("at least", self.least), ("above", self.above), ("at most", self.most), ("below", self.below))
        return " and ".join(f"{word} {_said(bound)}" for word, bound in parts if bound is not None)

    @property
    def schema(self) -> dict[str, object]:
        """The bounds as JSON Schema has them."""
        parts = {
            "minimum": self.least,
            "exclusiveMinimum": self.above,
            "maximum": self.most,
            "exclusiveMaximum": self.below,
        }
        return {
            name: int(bound) if bound == int(bound) else bound for name, bound in parts.items() if bound is not None
        }


def _said(bound: float) -> str:
    return f"{bound:,}"


MAX_SEARCH_LIMIT = 100
"""The most that a search may find."""

Budget: TypeAlias = Annotated[int, Between(0)]
"""Most tokens of a text."""
Limit: TypeAlias = Annotated[int, Between(0, error=NegativeLimit)]
"""Most of a list or a run."""
Offset: TypeAlias = Annotated[int, Between(0, error=NegativeOffset)]
"""The number of entries of a list that are left out first."""
SearchLimit: TypeAlias = Annotated[int, Between(0, error=NegativeLimit), Between(most=MAX_SEARCH_LIMIT)]
"""Most that a search finds."""
Confidence: TypeAlias = Annotated[float, Between(0.0, 1.0, error=InvalidConfidence)]
"""How much a memory is believed."""
Share: TypeAlias = Annotated[float, Between(0.0, 1.0)]
"""A part of the whole: a weight, a score, a similarity."""
PositiveShare: TypeAlias = Annotated[float, Between(above=0.0, most=1.0)]
"""A part of the whole that is not nothing."""
EdgeWeight: TypeAlias = Annotated[float, Between(0.0, 1.0, error=InvalidEdge)]
"""How strong a connection is."""
