"""Tell whether a session met what a recipe is for: only then does its end say anything about the recipe (DESIGN D5).

A fix and a dead end name an error. A session that was shown them beside others, and in which that error never came, was
helped or misled by something else. A project fact names a command, and says nothing to a session that did not run it.
"""

from __future__ import annotations

from collections.abc import Iterable

from reasoningbank.sessions.changes import cut
from reasoningbank.sessions.signatures import Signature, is_near, read_signature
from reasoningbank.storage.store import StoreReader
from reasoningbank.types.memory import MAX_TITLE, Memory
from reasoningbank.types.session import RECIPE

_ABOUT_ERRORS = frozenset(("fix", "dead-end"))


def unmet_recipes(reader: StoreReader, session: str, memories: Iterable[Memory]) -> frozenset[str]:
    """Return the ids of the recipes among these memories whose error, or command, the session did not meet.

    An error was met when a step of the session failed with it, or when a failed tool had its recipes looked up. As
    there, the very error counts, in whatever words, and one that is near. What is not a recipe is never in the answer.

    Args:
        reader: Where the session's steps and deliveries are.
        session: As it is named there.
        memories: What the session was shown.
    """
    made = [memory for memory in memories if memory.provenance.get("source") == RECIPE]
    if not made:
        return frozenset()
    from reasoningbank.sessions.recipes import ran_and_failed

    entries = reader.sessions.trajectories(limit=0, session=session)
    done = [ran_and_failed(reader.sessions.trajectory(entry.id)) for entry in entries]
    ran = {command for commands, _ in done for command in commands}
    failed = [signature for _, failures in done for signature in failures]
    asked = [log for log in reader.deliveries.recalls(limit=0, session=session) if log.query]
    signatures = [*failed, *(read_signature(log.query) for log in asked)]
    keys = {f"{kind}:{key}" for kind in _ABOUT_ERRORS for signature in failed for key in signature.keys}
    named = {link.source for link in reader.memories.links_from([each.id for each in made]) if link.target in keys}
    named |= {
        entry.memory_id for log in asked for entry in log.entries if not entry.legs
    }  # looked up, not searched for
    return frozenset(each.id for each in made if each.id not in named and not _is_met(each, ran, signatures))


def _is_met(memory: Memory, ran: Iterable[str], signatures: Iterable[Signature]) -> bool:
    if memory.category in _ABOUT_ERRORS:
        title = memory.title.casefold()
        own = read_signature(memory.title)
        return any(cut(each.text, MAX_TITLE).casefold() == title or is_near(own, each) for each in signatures)
    return any(f"`{command}`" in memory.title for command in ran)
