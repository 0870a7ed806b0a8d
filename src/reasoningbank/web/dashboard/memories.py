"""Memories: a search as an agent would see it, and a list with filters and an order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reasoningbank.types.memory import ORDERS, OUTCOMES, STATES, Order, State

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.web.dashboard.pages import PageRequest, PageValues

PAGE = 50
"""Memories on one page of the list."""
FOUND = 10
"""Memories that a search shows, as many as an agent gets by default."""
_MOST_PAGES = 1_000_000
_USUAL: tuple[State, ...] = ("active", "candidate")
_LEVELS = {"": None, "proven": 0.7, "sure": 0.85}


def listed(bank: Bank, asked: PageRequest) -> PageValues:
    """Read what a search finds, or a page of the list."""
    chosen = {
        "q": asked.text("q"),
        "outcome": asked.text("outcome") if asked.text("outcome") in OUTCOMES else "",
        "state": asked.text("state") if asked.text("state") in {*STATES, "all"} else "",
        "tag": asked.text("tag"),
        "level": asked.text("level") if asked.text("level") in _LEVELS else "",
        "order": asked.text("order") if asked.text("order") in ORDERS else "newest",
    }
    shared = {"chosen": chosen, "recall": None, "memories": (), "count": 0, "number": 1, "pages": 1}
    outcome, tags = chosen["outcome"] or None, [chosen["tag"]] if chosen["tag"] else []
    if chosen["q"]:
        recall = bank.search(chosen["q"], limit=FOUND, outcome=outcome, tags=tags, logged=False)
        return {**shared, "recall": recall, "states": STATES, "orders": ORDERS}
    states = _states(chosen["state"])
    least = _LEVELS[chosen["level"]]
    count = bank.memories.count(outcome=outcome, tags=tags, states=states, min_confidence=least)
    pages = max(1, -(-count // PAGE))
    number = min(asked.whole("page", 1, most=_MOST_PAGES, least=1), pages)
    memories = bank.memories.list(
        limit=PAGE,
        offset=(number - 1) * PAGE,
        outcome=outcome,
        tags=tags,
        states=states,
        min_confidence=least,
        order=_order(chosen["order"]),
    )
    return {
        **shared,
        "memories": memories,
        "count": count,
        "number": number,
        "pages": pages,
        "states": STATES,
        "orders": ORDERS,
    }


def _states(chosen: str) -> tuple[State, ...]:
    if chosen == "all":
        return STATES
    return tuple(state for state in STATES if state == chosen) or _USUAL


def _order(chosen: str) -> Order:
    return next((order for order in ORDERS if order == chosen), "newest")
