"""The shape of a promise."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Promise:
    """One promised behaviour."""

    id: str
    source: str
    text: str
    deferred: str = ""
