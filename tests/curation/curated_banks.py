"""Two projects of one team that are curated, what must hold of them, and a process that curates until it dies."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from reasoningbank.bank import Bank
from reasoningbank.curation.quarantine import due
from reasoningbank.errors import InvalidInput
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.memories.evidence import from_text
from reasoningbank.memories.states import holding, placement_of, sources_of
from reasoningbank.settings import Settings
from reasoningbank.storage.store import Store
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.consolidation import ConsolidationOptions
from reasoningbank.types.memory import STATES, Memory, StateChange
from reasoningbank.types.ports import Prompt
from reasoningbank.types.recall import Filter
from reasoningbank.types.signal import replay

PROJECTS = ("shop", "bakery")
TEAM = "kitchen"
FORCED = ConsolidationOptions(force_all=True, similarity_threshold=0.7)
EVERYTHING = Filter(states=STATES)
_CONTRADICTION = re.compile(r'(, )?\{"kind": "contradicts", [^}]*\}')
TEXTS = tuple(
    f"Close the {thing} before it is moved {where}".strip()
    for thing in ("file", "socket")
    for where in ("", "away", "around", "off")
)
"""Two lessons that the embedder tells apart, in four wordings each that it does not."""


def merged(prompt: Prompt) -> str:
    """A model's answer whose one claim every source makes."""
    number = prompt.material.count("SOURCE ")
    thing = "socket" if "socket" in prompt.material else "file"
    text = f"Close the {thing} before it is moved."
    claim = {"text": text, "sources": list(range(1, number + 1))}
    outcome = "failure" if "outcome failure" in prompt.material else "success"
    return json.dumps({"title": text[:-1], "description": "", "claims": [claim], "outcome": outcome})


def opened(home: Path, project: str, clock: FrozenClock | None = None, *, model: bool = False) -> Bank:
    """A project's bank, with a model that writes merges or without."""
    return Bank.open(
        tenant="acme",
        project=project,
        team=TEAM,
        embedder=HashingEmbedder(256),
        model=ScriptedModel(merged) if model else None,
        settings=Settings(home=home),
        clock=clock,
        chance=random.Random(7),
        session="here",
    )


def stores_of(bank: Bank) -> list[Store]:
    """The stores of every scope of the tenant, the bank's own first."""
    return list(bank.quarantine._tenant_stores().values())


def memories_of(store: Store) -> list[Memory]:
    """All memories of a store, whatever their state."""
    return list(store.memories.page(EVERYTHING, limit=0, offset=0))


def evidence(bank: Bank) -> tuple[int, int]:
    """All evidence for and against in every scope, what a consolidation took over from its sources counted once."""
    positive = negative = 0
    for store in stores_of(bank):
        for memory in memories_of(store):
            positive, negative = positive + memory.belief.positive, negative + memory.belief.negative
            if "evidence" in memory.provenance:
                union = from_text(memory.provenance["evidence"], memory.id, memory.project)
                positive, negative = positive - (union.positive or 0), negative - (union.negative or 0)
    return positive, negative


def broken(bank: Bank) -> Iterator[str]:
    """One sentence for each fact that does not hold of any scope."""
    places: dict[str, str] = {}
    for store in stores_of(bank):
        memories = {memory.id: memory for memory in memories_of(store)}
        changes: dict[str, list[StateChange]] = {name: [] for name in memories}
        for change in store.memories.changes():
            changes[change.memory_id].append(change)
        by_state = {state: store.memories.page(Filter(states=(state,)), limit=0, offset=0) for state in STATES}
        for memory in memories.values():
            if memory.id in places:
                yield f"{memory.id} is in {places[memory.id]} and in {store.scope.shown}"
            places[memory.id] = store.scope.shown
            found = [state for state in STATES if memory in by_state[state]]
            if found != [memory.state]:
                yield f"{memory.id} is {memory.state} and found as {found}"
            own = (store.evidence.aggregate(memory.id), store.evidence.signals(memory.id), store.evidence.weights())
            if replay(memory.belief.initial, *own) != memory.belief:
                yield f"the belief of {memory.id} does not follow from its evidence"
            if (memory.state == "quarantined") != bool(holding(changes[memory.id])):
                yield f"{memory.id} is {memory.state} and held by {list(holding(changes[memory.id]))}"
            if due(store, memory) != placement_of(memory):
                yield f"{memory.id} is {placement_of(memory)} and is to be {due(store, memory)}"
            yield from _of_sources(memories, memory)


def _of_sources(memories: dict[str, Memory], memory: Memory) -> Iterator[str]:
    """A memory and what it was made of are never both visible, and every source is in one consolidation at most."""
    if memory.state not in Filter().states:
        return
    for name in sources_of(memory):
        source = memories.get(name)
        if source is not None and source.state in Filter().states and memory.version == 1:
            yield f"{memory.id} is {memory.state} and so is its source {name}"


def exports(bank: Bank, directory: Path) -> list[list[str]]:
    """The lines of the exports of every scope, without the links between contradictions: a run adds what it finds."""
    from reasoningbank.memories.transfer import write_export

    found = []
    for number, store in enumerate(sorted(stores_of(bank), key=lambda store: (store.scope.level, store.scope.project))):
        target = directory / f"export-{number}.jsonl"
        with target.open("w", encoding="utf-8") as file:
            write_export(store, file)
        lines = target.read_text(encoding="utf-8").splitlines()
        found.append([_CONTRADICTION.sub("", line).replace("[, ", "[").replace(", ]", "]") for line in lines])
    return found


@contextmanager
def both(home: Path) -> Iterator[list[Bank]]:
    """Both projects, open."""
    with ExitStack() as stack:
        yield [stack.enter_context(opened(home, project, model=project == PROJECTS[0])) for project in PROJECTS]


def curate(home: Path) -> None:
    """Merges, undoes, holds and releases at random without end; gives no evidence and edits nothing."""
    chance = random.Random()
    with both(home) as banks:
        print("ready", flush=True)
        while True:
            bank = chance.choice(banks)
            memories = bank.memories.list()
            if not memories:
                continue
            memory = chance.choice(memories)
            try:
                match chance.randrange(5):
                    case 0:
                        bank.curation.consolidate(FORCED)
                    case 1 if "sources" in memory.provenance:
                        bank.curation.undo(memory.id)
                    case 2:
                        bank.quarantine.add(memory_id=memory.id, reason="At random.", cascade=chance.random() < 0.7)
                    case 3:
                        bank.quarantine.release(memory_id=memory.id)
                    case _:
                        for held in bank.quarantine.list():
                            bank.quarantine.release(quarantine_id=held.id)
            except InvalidInput:
                continue


if __name__ == "__main__":
    curate(Path(sys.argv[1]))
