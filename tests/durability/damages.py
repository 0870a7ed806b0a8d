"""Damage that disks, crashes and other programs do to a database file."""

from __future__ import annotations

import random
from collections.abc import Callable

PAGE = 4_096
Damage = Callable[[bytearray, random.Random], None]


def overwrite(content: bytearray, chance: random.Random) -> None:
    """Overwrites pages with nothing or with noise."""
    for _ in range(chance.randrange(1, 6)):
        start = PAGE * chance.randrange(len(content) // PAGE)
        content[start : start + PAGE] = chance.choice((bytes(PAGE), chance.randbytes(PAGE)))


def scatter(content: bytearray, chance: random.Random) -> None:
    """Flips bits all over the file."""
    for _ in range(chance.randrange(1, 40)):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def cut(content: bytearray, chance: random.Random) -> None:
    """Cuts the file off."""
    del content[chance.randrange(1, len(content)) :]


def clear_header(content: bytearray, chance: random.Random) -> None:
    """Overwrites the header of the database."""
    content[:100] = chance.choice((bytes(100), chance.randbytes(100)))


def lose_first_page(content: bytearray, chance: random.Random) -> None:
    """Overwrites the first page."""
    content[:PAGE] = chance.choice((bytes(PAGE), chance.randbytes(PAGE)))


def fill_middle(content: bytearray, chance: random.Random) -> None:
    """Writes noise over a stretch."""
    start = chance.randrange(len(content))
    end = min(len(content), start + chance.randrange(1, 20 * PAGE))
    content[start:end] = chance.randbytes(end - start)


def swap(content: bytearray, chance: random.Random) -> None:
    """Swaps two pages."""
    first, second = (PAGE * chance.randrange(len(content) // PAGE) for _ in range(2))
    one, other = content[first : first + PAGE], content[second : second + PAGE]
    content[first : first + PAGE], content[second : second + PAGE] = other, one


DAMAGES: tuple[Damage, ...] = (overwrite, scatter, cut, clear_header, lose_first_page, fill_middle, swap)
