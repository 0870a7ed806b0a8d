"""Review: claims that wait for a person, what is in quarantine, what may be promoted, and what was merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput
from reasoningbank.settings import local_tenant
from reasoningbank.types.quantity import counted
from reasoningbank.web.dashboard.pages import Done

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.web.dashboard.pages import PageRequest, PageValues

PAGE = 20


def claims(bank: Bank, _: PageRequest) -> PageValues:
    """Read what agents recorded and nobody has confirmed, what was shown most first."""
    return {"review": bank.quarantine.review(limit=PAGE), "tab": "claims"}


def quarantines(bank: Bank, _: PageRequest) -> PageValues:
    """Read what is held back, and why."""
    return {"quarantines": bank.quarantine.list(), "tab": "quarantine"}


def promotions(bank: Bank, _: PageRequest) -> PageValues:
    """Read what several projects have learned, and what was promoted."""
    member = bool(bank.membership)
    return {
        "member": member,
        "candidates": bank.sharing.candidates() if member else (),
        "promotions": bank.sharing.promotions() if member else (),
        "tab": "promotions",
    }


def merges(bank: Bank, asked: PageRequest) -> PageValues:
    """Read what was made of several memories, beside them."""
    number = asked.whole("page", 1, most=10**6, least=1)
    found = bank.curation.merges(limit=PAGE + 1, offset=(number - 1) * PAGE)
    return {"merges": found[:PAGE], "number": number, "more": len(found) > PAGE, "tab": "merges"}


def decide(bank: Bank, asked: PageRequest) -> Done:
    """Approve or reject claims."""
    chosen = asked.all("id")
    if not chosen:
        return Done(to="review", said="Nothing was chosen. Mark the claims first.")
    if asked.text("decision") == "approve":
        bank.quarantine.review(approve=chosen, limit=1)
        return Done(to="review", said=f"You stand by {counted(len(chosen), 'memory', 'memories')} now.")
    if asked.text("decision") == "reject":
        bank.quarantine.review(reject=chosen, reason=asked.text("reason") or "A person rejected it.", limit=1)
        said = f"{counted(len(chosen), 'memory is', 'memories are')} in quarantine with what was made of them."
        return Done(to="review", said=said)
    raise InvalidInput("a claim is approved or rejected", hint="Use one of the two buttons.")


def release(bank: Bank, asked: PageRequest) -> Done:
    """Let memories out of a quarantine."""
    quarantine, memory = asked.text("quarantine") or None, asked.text("memory") or None
    report = bank.quarantine.release(quarantine_id=None if memory else quarantine, memory_id=memory)
    kept = f" {counted(len(report.kept), 'memory stays', 'memories stay')} where they are." if report.kept else ""
    said = f"{counted(len(report.released), 'memory is', 'memories are')} released.{kept}"
    return Done(to="review/quarantine", said=said)


def promote(bank: Bank, asked: PageRequest) -> Done:
    """Store a reviewed lesson in the team or the org."""
    found = next((each for each in bank.sharing.candidates() if each.id == asked.text("candidate")), None)
    if found is None:
        raise InvalidInput("the proposal has changed meanwhile", hint="Look at the list again.")
    made = bank.sharing.promote(
        found,
        reviewer=local_tenant(),
        to=found.level,
        title=_instead(asked.given("title"), found.text.title if found.text else ""),
        description=_instead(asked.given("description"), found.text.description if found.text else ""),
        content=_instead(asked.given("content"), found.text.content if found.text else ""),
    )
    return Done(to="review/promotions", said=f"Promoted to the {made.level} {made.name}: {made.memory.title}")


def demote(bank: Bank, asked: PageRequest) -> Done:
    """Take a promoted lesson out of its team or org."""
    made = bank.sharing.demote(asked.text("memory"), reviewer=local_tenant(), reason=asked.text("reason"))
    return Done(to="review/promotions", said=f"No longer in the {made.level} {made.name}: {made.memory.title}")


def undo(bank: Bank, asked: PageRequest) -> Done:
    """Take a merge apart again."""
    report = bank.curation.undo(asked.text("merge"))
    said = f"{counted(len(report.restored), 'memory is', 'memories are')} as before the merge."
    return Done(to="review/merges", said=said)


def _instead(written: str | None, proposed: str) -> str | None:
    """Return what a reviewer wrote instead of the proposal; None when it is the proposal."""
    return None if written is None or written == proposed else written
