"""Votes: one principal has one voice for a memory, and none alone takes away what a person stands by (DESIGN D5)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.memories.standing import speaking
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.belief import MIN_CONFIDENCE, Belief
from reasoningbank.types.memory import Memory

TITLE, CONTENT = "Retry a network call that fails now and then", "Wait with exponential back-off, then retry the call."
QUESTION = "the network call fails now and then"
CLIENTS = ("client-1", "client-2")


def recorded(bank: Bank, *, source: str = "api", session: str = "author") -> Memory:
    """A lesson of a person, or with another source of an agent."""
    return bank.record(title=TITLE, content=CONTENT, outcome="success", source=source, session=session)


def asked(bank: Bank, memory_id: str, session: str) -> None:
    """A session is shown the lesson for its question."""
    assert memory_id in [item.hit.id for item in bank.briefing(QUESTION, session=session).items]


def shown(bank: Bank, memory_id: str, client: str, sessions: Sequence[str]) -> None:
    """Sessions of a client are shown the lesson."""
    with speaking(client):
        for session in sessions:
            asked(bank, memory_id, session)


def denied(bank: Bank, memory_id: str, client: str, sessions: Sequence[str]) -> None:
    """Everything that a client can say against a memory, under many names."""
    with speaking(client):
        for session in sessions:
            bank.feedback(memory_id, helpful=False, session=session, rater="agent")
            bank.outcome(memory_id, succeeded=False, session=session, rater="agent")
            bank.sessions.outcome(session, False, rater="agent")


@promise(
    "trust:one-voice",
    "A client has one voice for a memory and one against it, whatever its sessions are called and however often it "
    "speaks: what one client says alone never takes what a person recorded, or what is confirmed, below 0.7. Two "
    "clients that were shown it do, and a person alone does.",
    source="issue Trust; DESIGN D5, D16",
)
@pytest.mark.parametrize("seen", [False, True])
def test_one_client_lowers_what_a_person_recorded_and_does_not_bury_it(local_bank: Bank, seen: bool) -> None:
    memory, names = recorded(local_bank), [f"name {number}" for number in range(6)]
    if seen:
        shown(local_bank, memory.id, CLIENTS[0], names)
    denied(local_bank, memory.id, CLIENTS[0], names)
    assert MIN_CONFIDENCE <= local_bank.get(memory.id).confidence < 0.8
    assert [hit.id for hit in local_bank.search(QUESTION, session="later").memories] == [memory.id]


@promise("trust:one-voice")
def test_two_clients_that_were_shown_a_wrong_lesson_vote_it_out(local_bank: Bank) -> None:
    memory = recorded(local_bank)
    for client in CLIENTS:
        with speaking(client):
            asked(local_bank, memory.id, f"task of {client}")
            said = local_bank.feedback(memory.id, helpful=False, session=f"task of {client}", rater="agent")
        assert said.new_confidence < said.previous_confidence
    assert said.new_confidence < MIN_CONFIDENCE


@promise("trust:one-voice")
def test_clients_that_were_not_shown_a_lesson_do_not_vote_it_out(local_bank: Bank) -> None:
    memory = recorded(local_bank)
    for number in range(6):
        denied(local_bank, memory.id, f"client {number}", [f"session {number}"])
    assert local_bank.get(memory.id).confidence >= MIN_CONFIDENCE


@promise("trust:one-voice")
def test_a_person_alone_votes_a_lesson_out(local_bank: Bank) -> None:
    memory = recorded(local_bank)
    local_bank.feedback(memory.id, helpful=False)
    assert local_bank.get(memory.id).confidence < MIN_CONFIDENCE


@promise("trust:one-voice")
def test_praise_that_is_taken_back_does_not_bury_a_lesson(local_bank: Bank) -> None:
    memory = recorded(local_bank)
    shown(local_bank, memory.id, CLIENTS[0], ["praise", "denial"])
    with speaking(CLIENTS[0]):
        local_bank.sessions.outcome("praise", True, rater="agent")
        local_bank.feedback(memory.id, helpful=False, session="denial", rater="agent")
        local_bank.sessions.outcome("praise", False, rater="agent")
    assert local_bank.get(memory.id).confidence >= MIN_CONFIDENCE


_SESSIONS = ("asked", "asked again", "elsewhere")
_SAID = st.tuples(
    st.sampled_from(["rating", "outcome", "end", "silenced", "heard"]), st.sampled_from(_SESSIONS), st.booleans()
)


@promise("trust:one-voice")
@given(said=st.lists(_SAID, min_size=1, max_size=9))
@example(said=[("end", "asked", True), ("rating", "elsewhere", False), ("end", "asked", False)])
@example(said=[("rating", "asked", True), ("rating", "elsewhere", False), ("silenced", "asked", True)])
@settings(max_examples=60, deadline=None, derandomize=True)
def test_nothing_that_one_client_says_in_any_order_buries_a_lesson(said: list[tuple[str, str, bool]]) -> None:
    with Bank.open("memory://", tenant="t", project="p", embedder=HashingEmbedder()) as bank:
        memory = recorded(bank)
        shown(bank, memory.id, CLIENTS[0], _SESSIONS[:2])
        for what, session, good in said:
            if what in {"silenced", "heard"}:
                _held(bank, session, what)
                continue
            with speaking(CLIENTS[0]):
                if what == "rating":
                    bank.feedback(memory.id, helpful=good, session=session, rater="agent")
                elif what == "outcome":
                    bank.outcome(memory.id, succeeded=good, session=session, rater="agent")
                else:
                    bank.sessions.outcome(session, good, rater="agent")
            assert bank.get(memory.id).confidence >= MIN_CONFIDENCE
        assert bank.get(memory.id).confidence >= MIN_CONFIDENCE
        assert bank.admin.check().problems == ()


def _held(bank: Bank, session: str, what: str) -> None:
    """A person holds what was said in a session, or lets it count again."""
    held = [each.id for each in bank.quarantine.list()]
    if what == "silenced":
        bank.quarantine.add(session=session, reason="It lies.")
    elif held:
        bank.quarantine.release(quarantine_id=held[0])


@promise("trust:one-voice")
def test_what_is_left_of_two_voices_is_bounded_as_one(local_bank: Bank) -> None:
    memory = recorded(local_bank)
    for client in CLIENTS:
        shown(local_bank, memory.id, client, [f"task of {client}"])
        with speaking(client):
            local_bank.feedback(memory.id, helpful=False, session=f"task of {client}", rater="agent")
    assert local_bank.get(memory.id).confidence < MIN_CONFIDENCE
    local_bank.quarantine.add(session=f"task of {CLIENTS[0]}", reason="It lies.")
    assert MIN_CONFIDENCE <= local_bank.get(memory.id).confidence < memory.confidence
    assert local_bank.admin.check().problems == ()


@promise("trust:one-voice")
def test_nobody_votes_under_the_name_of_another_clients_session(local_bank: Bank) -> None:
    memory = recorded(local_bank)
    shown(local_bank, memory.id, CLIENTS[0], ["first"])
    shown(local_bank, memory.id, CLIENTS[1], ["second"])
    with speaking(CLIENTS[1]):
        for session in ("first", "second"):
            local_bank.feedback(memory.id, helpful=False, session=session, rater="agent")
    assert local_bank.get(memory.id).confidence >= MIN_CONFIDENCE


@promise("trust:one-voice")
def test_the_praise_of_one_client_is_one_voice(local_bank: Bank) -> None:
    memory, names = recorded(local_bank), [f"name {number}" for number in range(4)]
    shown(local_bank, memory.id, CLIENTS[0], names)
    with speaking(CLIENTS[0]):
        first = local_bank.feedback(memory.id, helpful=True, session=names[0], rater="agent")
        for name in names[1:]:
            again = local_bank.feedback(memory.id, helpful=True, session=name, rater="agent")
    assert first.new_confidence > first.previous_confidence
    assert again.new_confidence == first.new_confidence
    assert "One client has one voice" in again.message


@promise("trust:one-voice")
def test_the_uses_of_one_client_count_within_its_voice(local_bank: Bank) -> None:
    with speaking("author"):
        memory = local_bank.record(title=TITLE, content=CONTENT, outcome="success", source="mcp", session="author's")
    found = []
    for number in range(8):
        shown(local_bank, memory.id, CLIENTS[0], [f"name {number}"])
        with speaking(CLIENTS[0]):
            local_bank.feedback(memory.id, helpful=True, session=f"name {number}", rater="agent")
            local_bank.sessions.outcome(f"name {number}", True, rater="agent")
        found.append(local_bank.get(memory.id).confidence)
    assert found[0] > memory.confidence
    assert found == [found[0]] * len(found)


@promise("trust:one-voice")
def test_the_agents_of_one_project_do_not_vote_out_a_lesson_of_the_team(open_team_bank: OpenBank) -> None:
    banks = [open_team_bank(name) for name in ("shop", "till")]
    local = recorded(banks[0])
    banks[0].sharing.promote([local.id], reviewer="a person")
    (lesson,) = [hit for hit in banks[1].search(QUESTION, session="any").memories if hit.scope == "team"]
    for number in range(4):
        with speaking(f"client {number}"):
            asked(banks[1], lesson.id, f"session {number}")
            banks[1].feedback(lesson.id, helpful=False, session=f"session {number}", rater="agent")
    assert banks[1].get(lesson.id).confidence >= MIN_CONFIDENCE


@promise(
    "trust:votes-withdrawn",
    "Quarantine of a session, of a client or of a source takes what its agents said of memories out of what counts, "
    "rolled up or not; a release lets it count again, and every confidence is what it was.",
    source="issue Trust",
)
@pytest.mark.parametrize("days", [0, 40])
@pytest.mark.parametrize("by", ["principal", "session"])
def test_no_vote_is_left_of_what_is_in_quarantine(
    open_local_bank: OpenBank, clock: FrozenClock, by: str, days: int
) -> None:
    bank = open_local_bank()
    lesson, candidate = recorded(bank), recorded(bank, source="mcp", session="other")
    names = [f"name {number}" for number in range(3)] if by == "principal" else ["name"]
    shown(bank, lesson.id, CLIENTS[0], names)
    with speaking(CLIENTS[0]):
        for name in names:
            bank.feedback(lesson.id, helpful=False, session=name, rater="agent")
            bank.outcome(candidate.id, succeeded=True, session=name, rater="agent")
    clock.advance(timedelta(days=days))
    bank.admin.roll_up()
    voted = {each: bank.get(each) for each in (lesson.id, candidate.id)}
    assert all(voted[each.id].confidence != each.confidence for each in (lesson, candidate))
    if by == "principal":
        report = bank.quarantine.add(principal=CLIENTS[0], reason="It lies.")
    else:
        report = bank.quarantine.add(session="name", reason="It lies.")
    assert report.votes >= 2
    assert {each: bank.get(each).belief for each in voted} == {lesson.id: lesson.belief, candidate.id: candidate.belief}
    assert bank.admin.check().problems == ()
    assert [each.votes for each in bank.quarantine.list()] == [report.votes]
    assert bank.quarantine.release(quarantine_id=report.id).votes == report.votes
    assert {each: bank.get(each).belief for each in voted} == {key: each.belief for key, each in voted.items()}
    assert bank.admin.check().problems == ()
    assert bank.quarantine.list() == ()


@promise(
    "trust:later-votes",
    "What agents say in a session or through a client that a person holds in quarantine does not count from then on, "
    "and the answer says so; after the release they have their voice again. A quarantine that an agent asked for "
    "silences nobody.",
    source="issue Trust",
)
@pytest.mark.parametrize("by", ["principal", "session"])
def test_later_votes_of_what_is_in_quarantine_do_not_count(local_bank: Bank, by: str) -> None:
    lesson = recorded(local_bank)
    with speaking(CLIENTS[0]):
        recorded(local_bank, source="mcp", session="name")

    def said() -> tuple[bool, bool]:
        with speaking(CLIENTS[0]):
            rating = local_bank.feedback(lesson.id, helpful=False, session="name", rater="agent")
            return rating.counted, local_bank.outcome(
                lesson.id, succeeded=False, session="name", rater="agent"
            ).recorded

    chosen: dict[str, Any] = {"principal": CLIENTS[0]} if by == "principal" else {"session": "name"}
    report = local_bank.quarantine.add(**chosen, reason="It lies.")
    assert (report.votes, said(), local_bank.get(lesson.id).belief) == (0, (False, False), lesson.belief)
    with speaking(CLIENTS[1]):
        assert local_bank.feedback(lesson.id, helpful=False, session="other", rater="agent").counted
    local_bank.quarantine.release(quarantine_id=report.id)
    assert local_bank.quarantine.list() == ()
    assert said() == (True, True)
    assert local_bank.admin.check().problems == ()


@promise("trust:later-votes")
def test_an_agents_quarantine_silences_nobody(local_bank: Bank) -> None:
    lesson = recorded(local_bank)
    recorded(local_bank, source="mcp", session="name")
    with speaking(CLIENTS[1]):
        local_bank.quarantine.add(session="name", reason="It lies.", reader="agent")
    with speaking(CLIENTS[0]):
        assert local_bank.feedback(lesson.id, helpful=False, session="name", rater="agent").counted


@promise("trust:one-voice")
@given(prior=st.floats(0.0, 1.0), positive=st.integers(0, 10**10), negative=st.integers(0, 10**10))
@settings(max_examples=200)
def test_the_room_against_a_belief_is_the_most_that_leaves_it_where_it_is(
    prior: float, positive: int, negative: int
) -> None:
    belief = Belief(prior=Belief.starting_at(prior).prior, positive=positive, negative=negative)
    room = belief.room_against(MIN_CONFIDENCE)
    if belief.score >= MIN_CONFIDENCE:
        assert belief.with_evidence(positive=False, weight=room).score >= MIN_CONFIDENCE
        assert belief.with_evidence(positive=False, weight=room + 10).score < MIN_CONFIDENCE
    else:
        assert room == 0
