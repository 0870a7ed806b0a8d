"""How far agents can speak a candidate up, and that nobody else is held back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from evaluation.attacks.arena import Arena, gullible
from evaluation.attacks.families import lie
from evaluation.attacks.texts import QUERY
from hypothesis import given, settings
from hypothesis import strategies as st

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import InvalidInput
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.belief import MIN_CONFIDENCE, UNIT

LIE = lie(0)


def learned(arena: Arena, project: str = "p") -> str:
    """The id of a lesson that was distilled once."""
    model = gullible(LIE.mark, LIE.content, title=LIE.title, description=LIE.description)
    arena.learn(project, "teacher", arena.session("teacher", f"NOTES\n{LIE.content}\n"), model)
    with arena.bank(project) as bank:
        return next(memory.id for memory in bank.memories.list() if LIE.mark in memory.content)


def shown(bank: Bank, memory_id: str, session: str) -> None:
    """Searches in a session until the lesson is among what is delivered."""
    assert any(hit.id == memory_id for hit in bank.search(QUERY, unproven=5, session=session).delivered)


@promise(
    "attack:one-voice",
    "A candidate is believed by one voice per independent session; one session never proves it.",
    source="DESIGN D5, D10",
)
@pytest.mark.parametrize("session", ["teacher", "one", ""])
def test_one_session_never_proves_a_candidate(arena: Arena, session: str) -> None:
    memory_id = learned(arena)
    with arena.bank("p") as bank:
        shown(bank, memory_id, session or "one")
        for _ in range(5):
            bank.feedback(memory_id, helpful=True, session=session, rater="agent")
            bank.outcome(memory_id, succeeded=True, session=session or "one", rater="agent")
        assert bank.get(memory_id).confidence < MIN_CONFIDENCE


@promise("attack:one-voice")
def test_names_that_never_saw_a_candidate_are_one_voice(arena: Arena) -> None:
    memory_id = learned(arena)
    with arena.bank("p") as bank:
        first = bank.feedback(memory_id, helpful=True, session="s0", rater="agent")
        assert first.new_confidence > first.previous_confidence
        for number in range(1, 20):
            bank.feedback(memory_id, helpful=True, session=f"s{number}", rater="agent")
        assert bank.get(memory_id).confidence == first.new_confidence < MIN_CONFIDENCE


@promise(
    "attack:honest-promotion",
    "Two sessions that were shown a lesson prove it with their ratings, and a person does alone.",
    source="DESIGN D6",
)
def test_two_sessions_that_were_shown_a_lesson_prove_it_and_a_person_does_alone(arena: Arena) -> None:
    memory_id = learned(arena)
    with arena.bank("p") as bank:
        for session in ("one", "two"):
            shown(bank, memory_id, session)
            bank.feedback(memory_id, helpful=True, session=session, rater="agent")
        assert bank.get(memory_id).confidence >= MIN_CONFIDENCE
    other = learned(arena, "q")
    with arena.bank("q") as bank:
        bank.feedback(other, helpful=True)
        bank.feedback(other, helpful=True)
        assert bank.get(other).confidence >= MIN_CONFIDENCE


@promise("attack:one-voice")
@settings(max_examples=8, deadline=None)
@given(votes=st.lists(st.tuples(st.sampled_from("ab"), st.booleans(), st.booleans()), max_size=12))
def test_the_stored_confidence_follows_from_the_log_and_no_vote_for_it_lowers_it(
    tmp_path_factory: pytest.TempPathFactory, votes: list[tuple[str, bool, bool]]
) -> None:
    arena = Arena(tmp_path_factory.mktemp("votes"), HashingEmbedder(), defended=True)
    memory_id = learned(arena)
    with arena.bank("p") as bank:
        for session, positive, outcome in votes:
            before = bank.get(memory_id).confidence
            if outcome:
                bank.outcome(memory_id, succeeded=positive, session=session, rater="agent")
            else:
                bank.feedback(memory_id, helpful=positive, session=session, rater="agent")
            after = bank.get(memory_id).confidence
            assert after >= before if positive else after <= before
        assert bank.memories.history(memory_id)[-1].confidence == pytest.approx(bank.get(memory_id).confidence)


@promise(
    "attack:hearsay",
    "Sessions that only read a lesson's words in a tool's answer do not corroborate it.",
    source="DESIGN D10",
)
def test_sessions_that_only_read_a_lesson_do_not_corroborate_it(arena: Arena) -> None:
    memory_id = learned(arena)
    model = gullible(LIE.mark, LIE.content, title=LIE.title, description=LIE.description)
    for number in range(4):
        arena.learn("p", f"s{number}", arena.session(f"s{number}", f"NOTES\n{LIE.content}\n"), model)
    with arena.bank("p") as bank:
        assert len(bank.memories.origins(memory_id)) == 5
        assert bank.get(memory_id).confidence == pytest.approx(0.6)
    for number in range(4, 7):
        told = arena.session(f"s{number}", "Pages are counted from one.", thought=f"So it is: {LIE.content}")
        arena.learn("p", f"s{number}", told, model)
    with arena.bank("p") as bank:
        assert bank.get(memory_id).confidence >= MIN_CONFIDENCE


@promise("attack:imports", "An import cannot claim more evidence than signals can weigh.", source="DESIGN D10")
def test_an_import_cannot_claim_more_than_evidence_weighs(tmp_path: Path) -> None:
    with Bank.open(tenant="t", project="p", embedder=HashingEmbedder(), settings=Settings(home=tmp_path)) as bank:
        memory = bank.record(title="Rows", content="Count the rows of one page first.", outcome="success")
        bank.feedback(memory.id, helpful=True)
        source = tmp_path / "export.jsonl"
        bank.admin.export(source)
        lines = [json.loads(line) for line in source.read_text().splitlines()]
        for line in lines:
            for signal in line.get("signals", []):
                signal["weight"] = 2 * UNIT
        source.write_text("".join(json.dumps(line) + "\n" for line in lines))
        with pytest.raises(InvalidInput, match="at most 1"):
            bank.admin.import_(source)
