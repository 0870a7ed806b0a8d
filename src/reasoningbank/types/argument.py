"""Check that the arguments of a Python program have the types that they are annotated with, before anything is done.

Commands, tools and endpoints check theirs by the signature (``operations/arguments.py``). A program that is not
type-checked gets an error of the tree here, not one of the interpreter from deep inside; and a text that is given as a
list of texts is not taken apart into its letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, TypeAlias, TypeVar

from reasoningbank.errors import InvalidInput

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

    ``checked`` (``types/resource.py``) refuses every other one.

    Attributes:
        least: The smallest; None when there is none.
        most: The largest; None when there is none.
        error: What is raised for another number.
    """

    least: float | None = None
    most: float | None = None
    error: type[InvalidInput] = InvalidInput

    def check(self, value: float, name: str) -> None:
        """Refuse a number outside."""
        if self.least is not None and self.most is not None and not self.least <= value <= self.most:
            raise self.error(f"{name} must be between {self.least} and {self.most}, not {cut(value)}")
        if self.least == 0 and value < 0:
            raise self.error(f"{name} cannot be negative: {cut(value)}")
        if self.least is not None and value < self.least:
            raise self.error(f"{name} must be at least {self.least}, not {cut(value)}")
        if self.most is not None and value > self.most:
            raise self.error(f"{name} must be at most {self.most}, not {cut(value)}")


Budget: TypeAlias = Annotated[int, Between(0)]
"""Most tokens of a text."""
