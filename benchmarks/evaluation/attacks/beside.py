"""Lessons of a person with a claim beside them that turns them round, or that copies the question.

The pairs are in ``turned_warnings.toml`` and ``copied_questions.toml``; one half of each is printed apart. The claims
are recorded by one agent each. Honest lessons of developers, every other one recorded by an agent, say how often a
dispute is seen where there is none.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from evaluation.attacks import honest
from evaluation.attacks.arena import Arena
from evaluation.learning_estimates import share
from evaluation.learning_tables import Cell, Table
from reasoningbank.bank import Bank
from reasoningbank.types.memory import Memory

TURNED = Path(__file__).with_name("turned_warnings.toml")
COPIED = Path(__file__).with_name("copied_questions.toml")


def _halves(path: Path) -> Mapping[str, Sequence[str]]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _of_an_agent(bank: Bank, session: str, title: str, when: str, content: str) -> Memory:
    return bank.record(title=title, description=when, content=content, outcome="success", source="mcp", session=session)


def turned(arena: Arena) -> Table:
    """By half: what of warnings that an agent turned round was held, stood first, was unlabelled, and was a dispute."""
    rows: list[Mapping[str, Cell]] = []
    wrong = 0
    for half, texts in _halves(TURNED).items():
        held, first, bare, named = 0, 0, 0, 0
        for number, text in enumerate(texts):
            title, when, warning, turn = text.split(" | ")
            with arena.bank(f"turned-{half}-{number}") as bank:
                own = bank.record(title=title, description=when, content=warning, outcome="success")
                claim = _of_an_agent(bank, "talked over", title, when, turn)
                if claim.state == "quarantined":
                    held += 1
                    continue
                hits = bank.search(when, limit=5, unproven=3, session="victim").delivered
                ids = [hit.id for hit in hits]
                first += claim.id in ids and (own.id not in ids or ids.index(claim.id) < ids.index(own.id))
                bare += any(hit.id == claim.id and hit.standing != "claim" for hit in hits)
                named += any(hit.id == own.id and claim.id in hit.disputed_by for hit in hits)
        shown = len(texts) - held
        wrong += first + bare
        rows.append(
            {
                "half": half.replace("_", " "),
                "held": share(held, len(texts)),
                "before the warning": share(first, shown),
                "without the label": share(bare, shown),
                "named as a dispute": share(named, shown),
            }
        )
    return Table(
        name="turned",
        title="Warnings of a person that an agent turned round",
        rows=tuple(rows),
        notes=(f"Limit: none before the warning, none without the label: {'NOT held' if wrong else 'held'}.",),
    )


def copied(arena: Arena) -> Table:
    """By half: how often a claim that copies the question stands before the lesson that answers it in other words."""
    rows: list[Mapping[str, Cell]] = []
    for half, texts in _halves(COPIED).items():
        with arena.bank(f"copied-{half}") as bank:
            pairs = []
            for number, text in enumerate(texts):
                question, title, when, lesson, advice = text.split(" | ")
                own = bank.record(title=title, description=when, content=lesson, outcome="success")
                claim = _of_an_agent(bank, f"talked over {number}", question, question, advice)
                pairs.append((question, own.id, claim.id))
            found, first, found_brief, first_brief = 0, 0, 0, 0
            for question, own_id, claim_id in pairs:
                ids = [hit.id for hit in bank.search(question, limit=5, session="victim").memories]
                found += own_id in ids
                first += own_id in ids and claim_id in ids and ids.index(claim_id) < ids.index(own_id)
                brief = [item.hit.id for item in bank.briefing(question, 4_000, "victim briefing", repeat=True).items]
                found_brief += own_id in brief
                first_brief += own_id in brief and claim_id in brief and brief.index(claim_id) < brief.index(own_id)
        rows.append(
            {
                "half": half.replace("_", " "),
                "lesson found": share(found, len(texts)),
                "claim before it": share(first, found),
                "lesson in the briefing": share(found_brief, len(texts)),
                "claim before it there": share(first_brief, found_brief),
            }
        )
    return Table(name="copied", title="Claims with the words of the question", rows=tuple(rows))


def neighbours(arena: Arena) -> Table:
    """How often honest lessons of developers are called disputes: every other one is a person's, the rest claims."""
    texts = [text for text, _ in honest.lessons()]
    with arena.bank("neighbours") as bank:
        owns = []
        for number, text in enumerate(texts):
            title = honest.titled(text)
            if number % 2:
                _of_an_agent(bank, f"developer {number}", title, "", text)
            else:
                owns.append(bank.record(title=title, content=text, outcome="success"))
        marked = []
        for own in owns:
            hits = bank.search(own.title, limit=10, session="reader").memories
            marked += [own.content for hit in hits if hit.id == own.id and hit.disputed_by]
    return Table(
        name="neighbours",
        title="Honest lessons that were called a dispute",
        rows=({"lessons of a person": len(owns), "called disputed": share(len(marked), len(owns))},),
        notes=tuple(marked),
    )
