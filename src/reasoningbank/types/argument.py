"""Check that the arguments of a Python program have the types that they are annotated with, before anything is done.

Commands, tools and endpoints check theirs by the signature (``operations/arguments.py``). A program that is not
type-checked gets an error of the tree here, not one of the interpreter from deep inside; and a text that is given as a
list of texts is not taken apart into its letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from reasoningbank.errors import InvalidInput

Kind = TypeVar("Kind")


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
    raise InvalidInput(f"{name} must be a text, not {_shown(value)}", hint=f"Pass {name} as a str.")


def check_texts(values: object, name: str) -> Iterator[str]:
    """Yield the texts of a list, a tuple or another iterable; one text alone is no list.

    Raises:
        InvalidInput: When it is none, or something in it is no text.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInput(f"{name} must be a list of texts, not {_shown(values)}", hint=f'Pass {name} as ["one"].')
    return (check_text(value, name) for value in values)


def check_whole(value: int, name: str) -> int:
    """Return a whole number.

    Raises:
        InvalidInput: When it is none; a truth value is none either.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise InvalidInput(f"{name} must be a whole number, not {_shown(value)}", hint=f"Pass {name} as an int.")


def check_flag(value: bool, name: str) -> bool:
    """Return a truth value: ``"no"`` would count as yes.

    Raises:
        InvalidInput: When it is none.
    """
    if isinstance(value, bool):
        return value
    raise InvalidInput(f"{name} must be True or False, not {_shown(value)}", hint=f"Pass {name} as a bool.")


def check_kind(value: Kind, kind: type, name: str) -> Kind:
    """Return a value of a class, such as the options of an operation.

    Raises:
        InvalidInput: When it is none.
    """
    if isinstance(value, kind):
        return value
    raise InvalidInput(f"{name} must be {_named(kind)}, not {_shown(value)}", hint=f"Pass {name} as {_named(kind)}.")


def check_kinds(values: Iterable[Kind], kind: type, name: str) -> Iterator[Kind]:
    """Yield the values of a list or another iterable, each of a class.

    Raises:
        InvalidInput: When it is no list, or something in it is of another class.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInput(
            f"{name} must be a list of {kind.__name__}, not {_shown(values)}", hint=f"Pass {name} as a list."
        )
    return (check_kind(value, kind, f"each of {name}") for value in values)


def _named(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 40 else f'{text[:40]}...'} ({type(value).__name__})"
