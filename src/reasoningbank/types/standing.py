"""Standing: where a memory comes from and what became of it, beside how far it is believed (DESIGN D16).

It follows from entries of a memory's provenance, which state facts: how the text entered the bank, that a person stands
by it, what confirmed it, and the standing of what it was made of. No word of the text counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from reasoningbank.errors import InvalidInput

Standing = Literal["claim", "observed", "confirmed", "vouched"]
"""claim: one agent session's word, an import, or a merge of such. observed: the bank itself saw it once (a recipe).
confirmed: two independent principals, or an outcome in another session. vouched: a person recorded or released it.
"""
STANDINGS: tuple[Standing, ...] = get_args(Standing)
"""From the least to the most."""

ENTERED = "entered"
"""The entry that names how the text entered the bank, such as ``person``, ``agent``, ``recipe`` or ``import``."""
VOUCHED = "vouched"
"""The entry that says how a person came to stand by the text."""
CONFIRMED = "confirmed"
"""The entry that says what confirmed it."""
INHERITED = "inherited"
"""The entry with the least standing of what a memory was made of."""
ENTRIES = frozenset({ENTERED, VOUCHED, CONFIRMED, INHERITED})
"""Entries that only the bank itself writes: none is taken from a file."""

SOURCE = "source"
"""The entry that names the surface or the file that it came through."""
ECHO_OF = "echo_of"
"""The entry that names the memory that a session was shown before it recorded nearly the same."""
SESSION = "session"
"""The entry that names the session that it was entered in."""
TRAJECTORY = "trajectory"
"""The entry that names the captured session that it was made of."""

_OBSERVED = "recipe"
_PERSON = "person"


def standing_in(provenance: Mapping[str, str]) -> Standing:
    """Return the standing that follows from a memory's provenance."""
    if VOUCHED in provenance or provenance.get(ENTERED) == _PERSON:
        return "vouched"
    if CONFIRMED in provenance:
        return "confirmed"
    for known in STANDINGS:
        if provenance.get(INHERITED) == known:
            return known
    return "observed" if provenance.get(ENTERED) == _OBSERVED else "claim"


_CLAIMED_BY = {
    "import": "an import",
    "consolidation": "a merge of claims",
    "promotion": "a promotion of claims",
}


def claim_of(provenance: Mapping[str, str]) -> str:
    """Return what a text is shown as that is no more than a claim; empty for what stands higher."""
    if standing_in(provenance) != "claim":
        return ""
    whom = _CLAIMED_BY.get(provenance.get(ENTERED, ""), "one agent session")
    return f"CLAIM of {whom}, untested"


def shown_claim(provenance: Mapping[str, str]) -> str:
    """Return the same with the surface that it came through, where that is known."""
    claim, source = claim_of(provenance), " ".join(provenance.get(SOURCE, "").split())
    return f"{claim}, from {source}" if claim and source else claim


def rank_of(standing: Standing) -> int:
    """Return the place of a standing, 0 for a claim."""
    return STANDINGS.index(standing)


def least_of(standings: Iterable[Standing]) -> Standing:
    """Return the least of several standings: what is made of a claim is one."""
    return min(standings, key=rank_of)


def check_standing(name: str) -> Standing:
    """Return the standing of this name.

    Raises:
        InvalidInput: When there is none.
    """
    for known in STANDINGS:
        if name == known:
            return known
    raise InvalidInput(f"there is no standing {name[:80]!r}", hint=f"Use one of {', '.join(STANDINGS)}.")
