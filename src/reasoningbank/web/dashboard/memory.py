"""One memory: its confidence over time, its standing, where it comes from, who was shown it; and what a person does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput, NotFound
from reasoningbank.types.memory import MAX_CONTENT, MAX_DESCRIPTION, MAX_TITLE, OUTCOMES, STATES
from reasoningbank.types.session import Origin, Step
from reasoningbank.types.signal import RECENT_DAYS
from reasoningbank.types.standing import CONFIRMED, ENTERED, INHERITED, VOUCHED
from reasoningbank.web.dashboard.pages import Done

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.types.memory import Event, Memory
    from reasoningbank.web.dashboard.pages import PageRequest, PageValues

_MEETINGS = 25
_EVIDENCE = frozenset({"recorded", "rolled_up", "explicit", "usage", "outcome", "stability", "disuse"})
_REASONS = {VOUCHED: "A person stands by it", CONFIRMED: "Confirmed by", ENTERED: "It came from", INHERITED: "Made of"}


def one(bank: Bank, asked: PageRequest) -> PageValues:
    """Read everything about a memory."""
    memory = bank.get(asked.path["id"])
    events = bank.memories.history(memory.id)
    return {
        "memory": memory,
        "interval": memory.belief.interval(),
        "events": list(reversed(events)),
        "chart": _chart(events),
        "reasons": [(said, memory.provenance[key]) for key, said in _REASONS.items() if key in memory.provenance],
        "origins": [_origin(bank, each) for each in bank.memories.origins(memory.id)],
        "links": _linked(bank, memory),
        "meetings": bank.memories.meetings(memory.id, limit=_MEETINGS),
        "merged": next(iter(bank.curation.merges(memory.id)), None),
    }


def edited(bank: Bank, asked: PageRequest) -> PageValues:
    """Read what the form of a memory holds."""
    return {
        "memory": bank.get(asked.path["id"]),
        "outcomes": OUTCOMES,
        "most": {"title": MAX_TITLE, "description": MAX_DESCRIPTION, "content": MAX_CONTENT},
    }


def compared(bank: Bank, asked: PageRequest) -> PageValues:
    """Read two versions of a memory; without others named the newest one and the one before it."""
    versions = bank.memories.versions(asked.path["id"])
    known = {version.version: version for version in versions}
    after = known.get(asked.whole("after", versions[-1].version, most=10**9), versions[-1])
    earlier = [version for version in versions if version.version < after.version]
    usual = earlier[-1] if earlier else after
    before = known.get(asked.whole("before", usual.version, most=10**9), usual)
    return {"memory": versions[-1], "versions": versions, "before": before, "after": after}


def rate(bank: Bank, asked: PageRequest) -> Done:
    """Rate a memory as a person."""
    helpful = asked.text("helpful") == "yes"
    return Done(to=_back(asked), said=bank.feedback(asked.path["id"], helpful=helpful, rater="human").message)


def edit(bank: Bank, asked: PageRequest) -> Done:
    """Keep what a person wrote as the newest version."""
    known = bank.get(asked.path["id"])
    if asked.text("version") != str(known.version):
        raise InvalidInput(
            "the memory was changed while you edited it, and nothing was stored",
            hint="Go back, copy your text, and open the editor again.",
        )
    written = asked.given("tags")
    same = written is None or written == ", ".join(known.tags)  # a tag may hold a comma
    tags = None if same else [tag.strip() for tag in str(written).split(",") if tag.strip()]
    memory = bank.update(
        known.id,
        title=asked.given("title"),
        description=asked.given("description"),
        content=asked.given("content"),
        outcome=asked.given("outcome"),
        category=asked.given("category"),
        tags=tags,
    )
    stored = f"Stored as version {memory.version}; {_stands(memory)}"
    return Done(to=f"memories/{memory.id}", said="Nothing was changed." if memory == known else stored)


def set_state(bank: Bank, asked: PageRequest) -> Done:
    """Archive a memory, or bring it back."""
    wanted = next((state for state in STATES if state == asked.text("state")), None)
    if wanted not in {"active", "archived"}:
        raise InvalidInput("a memory is made active or archived here", hint="Use the buttons of its page.")
    memory = bank.update(asked.path["id"], state=wanted)
    said = (
        "Archived: no search finds it until you restore it." if wanted == "archived" else "Restored: searches find it."
    )
    return Done(to=f"memories/{memory.id}", said=said)


def revert(bank: Bank, asked: PageRequest) -> Done:
    """Make an earlier text the newest version."""
    memory = bank.memories.revert(asked.path["id"], asked.whole("version", 0, most=10**9))
    said = f"The earlier text is back as version {memory.version}; {_stands(memory)}"
    return Done(to=f"memories/{memory.id}", said=said)


def hold(bank: Bank, asked: PageRequest) -> Done:
    """Put a memory into quarantine, with what was made of it."""
    reason = asked.text("reason") or "A person held it back in the dashboard."
    report = bank.quarantine.add(memory_id=asked.path["id"], reason=reason)
    return Done(
        to=f"memories/{asked.path['id']}", said=f"In quarantine with {len(report.quarantined)} in all: {reason}"
    )


def _stands(memory: Memory) -> str:
    """Return what became of a text that a person has written: they stand by it, but the gate may have held it."""
    if memory.state == "quarantined":
        return "it is in quarantine, no search finds it, and an agent is never shown it until you release it."
    return "you stand by its text."


def _back(asked: PageRequest) -> str:
    """Return the page that an action of a list leads back to: the list, or the memory."""
    return "review" if asked.text("from") == "review" else f"memories/{asked.path['id']}"


def _chart(events: Sequence[Event]) -> dict[str, object]:
    """Return the confidence after every piece of evidence, for the drawing."""
    shown = [event for event in events if event.kind in _EVIDENCE]
    at: list[float] = []
    for event in shown:
        # What was rolled up was given at least so long before: its time is that of the roll-up.
        moment = event.at - timedelta(days=RECENT_DAYS) if event.kind == "rolled_up" else event.at
        at.append(max(moment.timestamp(), at[-1] if at else 0.0))
    return {
        "at": at,
        "confidence": [round(event.confidence, 4) for event in shown],
        "said": [event.detail for event in shown],
    }


def _origin(bank: Bank, origin: Origin) -> dict[str, object]:
    """Return what taught a memory, with the steps that it was learned from; erased sessions have none."""
    try:
        trajectory = bank.sessions.get(origin.trajectory)
    except NotFound:
        return {"origin": origin, "task": "", "steps": [], "source": _source(bank, origin)}
    steps: list[tuple[int, Step]] = [
        (index, trajectory.steps[index]) for index in origin.steps if 0 <= index < len(trajectory.steps)
    ]
    return {"origin": origin, "task": trajectory.task, "steps": steps, "source": None}


def _source(bank: Bank, origin: Origin) -> Memory | None:
    """Return the recorded memory that a merged one was made of, which stands for its session; None when it is gone."""
    try:
        return bank.get(origin.trajectory)
    except NotFound:
        return None


def _linked(bank: Bank, memory: Memory) -> list[dict[str, str]]:
    """Return the nodes of the graph that a memory is linked with."""
    try:
        names = bank.memories.links(memory.id).link_nodes
    except NotFound:  # it is of another project of the tenant, whose graph is not this one's
        return []
    found = []
    for name in names:
        node = bank.graph.get(name).node
        found.append({"id": node.id, "label": node.label, "text": node.text})
    return found
