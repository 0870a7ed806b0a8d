"""Undo: exact when nothing came since, and no evidence lost or doubled when something did."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.context import Context
from reasoningbank.errors import InvalidInput, MemoryNotFound
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.memories.evidence import counts_once
from reasoningbank.settings import Settings
from reasoningbank.storage.sqlite_memory import ProcessStorage
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.consolidation import ConsolidationOptions
from reasoningbank.types.memory import STATES, Memory
from reasoningbank.types.scope import Scope
from reasoningbank.types.session import Origin
from recorded_memories import exported, said

FORCED = ConsolidationOptions(force_all=True, similarity_threshold=0.7)
TEXTS = (
    "Close the file before it is moved away",
    "Close the file before it is moved",
    "Close the file before it is moved around",
    "Pin every dependency in the lock file",
    "Pin each dependency in the lock file",
)


def evidence(bank: Bank) -> tuple[int, int]:
    """All weights for and against, in billionths, of the memories that can be recalled."""
    memories = bank.memories.list(states=("active", "candidate"))
    return sum(each.belief.positive for each in memories), sum(each.belief.negative for each in memories)


def merged(prompt_sources: int) -> str:
    """An answer whose one claim all sources make."""
    return json.dumps(
        {
            "title": "Close the file before it is moved",
            "description": "",
            "claims": [
                {"text": "Close the file before it is moved.", "sources": list(range(1, prompt_sources + 1))},
            ],
            "outcome": "success",
        }
    )


@promise(
    "consolidating:undo-evidence",
    "Evidence that came since goes to the source that was shown, or in equal shares to all; no weight is lost or "
    "doubled.",
    source="issue 4",
)
def test_what_came_since_goes_to_the_source_whose_words_were_shown(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session()
    kept, other = (said(bank, text, confidence=c) for text, c in zip(TEXTS[:2], (0.9, 0.8), strict=True))
    made = bank.curation.consolidate(FORCED).created_memories[0]
    bank.search("close the file before it is moved away", session="later")
    bank.feedback(made, helpful=True, session="later")
    bank.outcome(made, succeeded=False, session="later")
    after = bank.get(made)
    report = bank.curation.undo(made)
    assert report.moved_signals == 2
    assert bank.get(kept.id).belief.positive == after.belief.positive > 0
    assert bank.get(kept.id).belief.negative == after.belief.negative > 0
    assert bank.get(kept.id).usage_count == 1
    assert bank.get(other.id) == other
    again = bank.outcome(kept.id, succeeded=True, session="later")
    assert not again.recorded


@promise("consolidating:undo-evidence")
def test_of_a_models_text_every_source_gets_its_equal_share(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session(model=ScriptedModel([merged(3)]))
    sources = [said(bank, text) for text in TEXTS[:3]]
    result = bank.curation.consolidate(FORCED)
    assert result.created_memories, result.messages
    made = result.created_memories[0]
    bank.feedback(made, helpful=True)
    gained = bank.get(made).belief.positive
    bank.curation.undo(made)
    shares = [bank.get(source.id).belief.positive for source in sources]
    assert sum(shares) == gained
    assert max(shares) - min(shares) <= 1
    assert bank.admin.check().problems == ()


@promise("consolidating:undo-evidence")
def test_evidence_that_was_rolled_up_meanwhile_comes_back_too(
    open_bank_in_session: OpenBank, clock: FrozenClock, tmp_path: Path
) -> None:
    bank = open_bank_in_session()
    kept, other = (said(bank, text, confidence=c) for text, c in zip(TEXTS[:2], (0.9, 0.8), strict=True))
    bank.feedback(other.id, helpful=False)
    before = evidence(bank)
    made = bank.curation.consolidate(FORCED).created_memories[0]
    clock.advance(timedelta(days=1))
    bank.feedback(made, helpful=True)
    since = bank.get(made).belief.positive
    clock.advance(timedelta(days=40))
    bank.admin.roll_up()
    bank.outcome(made, succeeded=True)
    newest = bank.get(made).belief.positive - since
    report = bank.curation.undo(made)
    assert report.moved_signals == 2
    assert bank.get(kept.id).belief.positive == since + newest
    assert bank.get(other.id).belief == other.belief.with_evidence(positive=False, weight=before[1])
    assert bank.admin.check().problems == ()


@promise("consolidating:undo-evidence")
def test_what_was_said_of_an_archived_source_stays_with_it(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session()
    kept, other = (said(bank, text, confidence=c) for text, c in zip(TEXTS[:2], (0.9, 0.8), strict=True))
    made = bank.curation.consolidate(FORCED).created_memories[0]
    bank.feedback(other.id, helpful=False)
    bank.curation.undo(made)
    assert bank.get(kept.id) == kept
    assert bank.get(other.id).belief.negative > 0


@promise("consolidating:evidence-once")
def test_one_delivery_of_two_memories_in_one_session_is_one_piece_of_evidence(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session()
    one, other = (said(bank, text) for text in TEXTS[:2])
    bank.search("close the file before it is moved", session="s")
    bank.sessions.outcome("s", True)
    bank.feedback(one.id, helpful=True, rater="human")
    bank.feedback(other.id, helpful=True, rater="human")
    made = bank.get(bank.curation.consolidate(FORCED).created_memories[0])
    signals = bank._context.store().evidence.signals(made.id)
    assert Counter(signal.type for signal in signals) == {"usage": 1, "outcome": 1, "explicit": 2}
    assert made.belief.positive == sum(signal.weight or 0 for signal in signals)
    bank.search("close the file before it is moved", session="s")
    for succeeded in (True, False):
        bank.sessions.outcome("s", succeeded)
    assert Counter(signal.type for signal in bank._context.store().evidence.signals(made.id))["usage"] == 1
    assert bank.admin.check().problems == ()


@promise(
    "consolidating:undo-order",
    "What cannot be undone says why, edits are kept, and chains are undone from the top.",
    source="issue 4",
)
def test_a_consolidation_of_consolidations_is_undone_from_the_top(
    open_bank_in_session: OpenBank, tmp_path: Path
) -> None:
    bank = open_bank_in_session()
    for text in TEXTS[:2]:
        said(bank, text)
    before = exported(bank, tmp_path)
    first = bank.curation.consolidate(FORCED).created_memories[0]
    between = exported(bank, tmp_path)
    third = said(bank, TEXTS[2])
    second = bank.curation.consolidate(FORCED).created_memories[0]
    assert bank.get(first).consolidation_id == second
    with pytest.raises(InvalidInput) as caught:
        bank.curation.undo(first)
    assert second in caught.value.hint
    bank.curation.undo(second)
    assert bank.get(third.id).state == "active"
    bank.delete(third.id)
    assert exported(bank, tmp_path) == between
    bank.curation.undo(first)
    assert exported(bank, tmp_path) == before


@promise("consolidating:undo-order")
def test_what_cannot_be_undone_says_why(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session()
    one, _ = (said(bank, text) for text in TEXTS[:2])
    with pytest.raises(InvalidInput):
        bank.curation.undo(one.id)
    with pytest.raises(MemoryNotFound):
        bank.curation.undo("no-such-memory")
    made = bank.curation.consolidate(FORCED).created_memories[0]
    bank.update(made, content="Close the file, then move it")
    report = bank.curation.undo(made)
    assert report.kept
    assert bank.get(made).state == "archived"
    assert bank.get(one.id).state == "active"
    with pytest.raises(InvalidInput):
        bank.curation.undo(made)


@promise("consolidating:undo-order")
def test_a_source_that_was_deleted_or_taken_up_by_hand_is_left_as_it_is(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session()
    sources = [said(bank, text) for text in TEXTS[:3]]
    made = bank.curation.consolidate(FORCED).created_memories[0]
    bank.feedback(made, helpful=True)
    bank.delete(sources[0].id)
    bank.update(sources[1].id, state="quarantined")
    report = bank.curation.undo(made)
    assert set(report.restored) == {sources[1].id, sources[2].id}
    assert bank.get(sources[1].id).state == "quarantined"
    assert bank.get(sources[2].id).state == "active"
    assert bank.admin.check().problems == ()


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["rate", "outcome", "search", "consolidate", "undo", "roll up", "record"]),
        st.integers(0, 9),
        st.booleans(),
    ),
    max_size=14,
)


@promise("consolidating:undo-exact")
@promise("consolidating:evidence-once")
@promise("contextd:49")
@settings(max_examples=40)
@given(ACTS, st.booleans())
def test_whatever_happens_evidence_is_conserved_and_undo_is_exact(
    acts: list[tuple[str, int, bool]], by_model: bool
) -> None:
    """Over a bank in memory, whose check replays every belief from its evidence.

    Undoing everything at the end leaves every memory in the state it began in; a consolidation that is undone at once
    leaves no trace.
    """
    clock = FrozenClock()
    bank = Bank(
        Context(
            ProcessStorage(),
            Scope(tenant="acme", project="shop"),
            HashingEmbedder(256),
            settings=Settings(home=Path("unused")),
            clock=clock,
            model=ScriptedModel(lambda prompt: merged(prompt.material.count("SOURCE "))) if by_model else None,
        )
    )
    recorded: list[Memory] = [said(bank, text) for text in TEXTS]
    for act, number, positive in acts:
        clock.advance(timedelta(days=number))
        shown = bank.memories.list(states=("active", "candidate"))
        one = shown[number % len(shown)]
        if act == "rate":
            bank.feedback(one.id, helpful=positive, session=f"s{number}", rater="human" if number % 2 else "agent")
        elif act == "outcome":
            bank.outcome(one.id, succeeded=positive, session=f"s{number}" if number % 3 else None)
        elif act == "search":
            bank.search(one.content, session=f"s{number}")
        elif act == "roll up":
            bank.admin.roll_up()
        elif act == "record":
            recorded.append(said(bank, f"{TEXTS[number % len(TEXTS)]} {'again' if positive else ''}"))
        elif act == "consolidate":
            before = _all(bank)
            made = bank.curation.consolidate(FORCED).created_memories
            assert not bank.curation.consolidate(FORCED).created_memories
            for name in made:
                _check_union(bank, name)
            if positive:
                for name in reversed(made):
                    bank.curation.undo(name)
                assert _all(bank) == before
        elif "consolidation" in one.provenance:
            before_all = _total(bank)
            bank.curation.undo(one.id)
            assert _total(bank) >= before_all
        assert bank.admin.check().problems == ()
        assert len({memory.id for memory in bank.memories.list()}) == bank.memories.count()
    while standing := [
        m for m in bank.memories.list(states=("active", "candidate")) if "consolidation" in m.provenance
    ]:
        bank.curation.undo(standing[0].id)
    assert {memory.id: memory.state for memory in bank.memories.list()} == {memory.id: "active" for memory in recorded}
    for memory in bank.memories.list():
        first = next(each for each in recorded if each.id == memory.id)
        assert (memory.title, memory.content, memory.belief.prior, memory.version) == (
            first.title,
            first.content,
            first.belief.prior,
            1,
        )
    assert bank.admin.check().problems == ()
    bank.close()


def _all(bank: Bank) -> list[tuple[Memory, tuple[object, ...], tuple[object, ...]]]:
    """Every memory with its signals and links."""
    store = bank._context.store()
    return [
        (memory, tuple(store.evidence.signals(memory.id)), tuple(store.memories.links(memory.id)))
        for memory in bank.memories.list()
    ]


def _total(bank: Bank) -> int:
    return sum(evidence(bank))


def _check_union(bank: Bank, name: str) -> None:
    """The evidence of a consolidated memory is that of its sources, each signal once."""
    store = bank._context.store()
    memory = bank.get(name)
    sources = [each for each in bank.memories.list(states=STATES) if each.consolidation_id == name]
    own = [signal for source in sources for signal in store.evidence.signals(source.id)]
    free = [signal for signal in own if not counts_once(signal)]
    once = {(signal.type, signal.session, signal.positive) for signal in own if counts_once(signal)}
    copied = store.evidence.signals(name)
    assert len(copied) == len(free) + len(once)
    rolled = sum((store.evidence.aggregate(source.id).positive or 0) for source in sources)
    assert memory.belief.positive == rolled + sum(signal.weight or 0 for signal in copied if signal.positive)


@promise("consolidating:evidence-once")
def test_what_taught_the_sources_has_taught_the_memory_that_stands_for_them(open_bank_in_session: OpenBank) -> None:
    """So neither its sessions nor one that was shown a source can corroborate it as if they were independent."""
    bank = open_bank_in_session()
    learned, recorded = (said(bank, text, session=f"session {number}") for number, text in enumerate(TEXTS[:2]))
    with bank._context.store().transaction() as transaction:
        transaction.sessions.add_origin(
            Origin(memory_id=learned.id, trajectory="t1", kind="distilled", session="earlier")
        )
    made = bank.curation.consolidate(FORCED).created_memories[0]
    origins = {(origin.trajectory, origin.kind, origin.session) for origin in bank.memories.origins(made)}
    assert origins == {("t1", "distilled", "earlier"), (recorded.id, "corroborated", "session 1")}
    with bank._context.store().transaction() as transaction:
        transaction.sessions.add_origin(Origin(memory_id=made, trajectory="t2", kind="corroborated", session="later"))
    heir, other = bank.get(bank.get(made).provenance["verbatim"]).id, {learned.id, recorded.id}
    bank.curation.undo(made)
    taught = {name: [origin.trajectory for origin in bank.memories.origins(name)] for name in other}
    assert taught[heir].pop() == "t2"
    assert taught == {learned.id: ["t1"], recorded.id: []}
