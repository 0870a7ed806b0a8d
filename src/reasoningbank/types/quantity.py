"""A number of things in words, as every message says it."""

from __future__ import annotations


def counted(count: int, one: str, several: str = "") -> str:
    """Return a number with what is counted: ``1 session``, ``2 sessions``.

    Args:
        count: How many.
        one: What one of them is called, with its verb where there is one.
        several: What several are called; empty adds an s to one.
    """
    return f"{count} {one if count == 1 else several or f'{one}s'}"
