"""Memories: every validation rule of seed 004, our bounds, and texts that read the same."""

from __future__ import annotations

import string
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank import errors
from reasoningbank.errors import BankError
from reasoningbank.types.belief import Belief
from reasoningbank.types.memory import (
    MAX_CATEGORY,
    MAX_CONTENT,
    MAX_DESCRIPTION,
    MAX_ID,
    MAX_TAG,
    MAX_TAGS,
    MAX_TITLE,
    OUTCOMES,
    STATES,
    Memory,
    check_memory_id,
    check_outcome,
    fingerprint,
    new_id,
    new_session,
)
from reasoningbank.types.recall import Filter

GOOD = Memory(project="shop", title="Retry flaky calls", content="Back off, then try again.", outcome="success")
NAIVE = datetime(2026, 1, 1)
words = st.text(alphabet=string.ascii_letters + string.digits + "äßéИ東", min_size=1, max_size=20)
separators = st.text(alphabet=" \t\n.,;:!?-_'\"()[]/\u00a0\u2014", min_size=1, max_size=4)


@promise(
    "memory:defaults",
    "A new memory is active, believed at 0.8, immutable, and has an id and times with a zone.",
    source="seed 004 NewMemory; DESIGN D4",
)
def test_a_new_memory_is_active_believed_at_eight_tenths_and_has_an_id() -> None:
    assert (GOOD.confidence, GOOD.state, GOOD.version, GOOD.usage_count) == (0.8, "active", 1, 0)
    assert (GOOD.tags, GOOD.description, GOOD.last_used, GOOD.consolidation_id) == ((), "", None, None)
    assert GOOD.created_at.tzinfo is not None
    with pytest.raises(FrozenInstanceError):
        GOOD.title = "Another"  # type: ignore[misc]


@promise(
    "memory:validation",
    "Every broken rule has an error of its own with a hint, named in the seed's order.",
    source="seed 004 Validate and errors",
)
@promise("contextd:2")
@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"project": ""}, errors.EmptyProjectId, "project ID cannot be empty"),
        ({"project": " \t"}, errors.EmptyProjectId, "project ID cannot be empty"),
        ({"title": ""}, errors.EmptyTitle, "memory title cannot be empty"),
        ({"title": "\n \u00a0"}, errors.EmptyTitle, "memory title cannot be empty"),
        ({"content": ""}, errors.EmptyContent, "memory content cannot be empty"),
        ({"content": "  "}, errors.EmptyContent, "memory content cannot be empty"),
        ({"outcome": "partial"}, errors.InvalidOutcome, "outcome must be 'success' or 'failure'"),
        ({"outcome": ""}, errors.InvalidOutcome, "outcome must be 'success' or 'failure'"),
        ({"outcome": "Success"}, errors.InvalidOutcome, "outcome must be 'success' or 'failure'"),
        ({"id": ""}, errors.EmptyMemoryId, "memory ID cannot be empty"),
        ({"id": "   "}, errors.EmptyMemoryId, "memory ID cannot be empty"),
        ({"id": "a\nb"}, errors.InvalidInput, "printable"),
        ({"id": "a\x00b"}, errors.InvalidInput, "printable"),
        ({"id": "x" * (MAX_ID + 1)}, errors.InvalidInput, str(MAX_ID)),
        ({"state": "deleted"}, errors.InvalidMemory, "state must be one of"),
        ({"usage_count": -1}, errors.InvalidMemory, "usage count cannot be negative"),
        ({"version": 0}, errors.InvalidMemory, "versions start at 1"),
        ({"title": "x" * (MAX_TITLE + 1)}, errors.TextTooLong, f"the limit is {MAX_TITLE}"),
        ({"description": "x" * (MAX_DESCRIPTION + 1)}, errors.TextTooLong, f"the limit is {MAX_DESCRIPTION}"),
        ({"content": "x" * (MAX_CONTENT + 1)}, errors.TextTooLong, f"the limit is {MAX_CONTENT}"),
        ({"category": "x" * (MAX_CATEGORY + 1)}, errors.TextTooLong, f"the limit is {MAX_CATEGORY}"),
        ({"tags": ("x" * (MAX_TAG + 1),)}, errors.TextTooLong, f"the limit is {MAX_TAG}"),
        ({"tags": tuple(str(n) for n in range(MAX_TAGS + 1))}, errors.InvalidMemory, f"at most {MAX_TAGS} tags"),
        ({"tags": ("ok", " ")}, errors.InvalidMemory, "a tag cannot be empty"),
        ({"created_at": NAIVE}, errors.InvalidMemory, "time zone"),
        ({"updated_at": NAIVE}, errors.InvalidMemory, "time zone"),
        ({"last_used": NAIVE}, errors.InvalidMemory, "time zone"),
    ],
)
def test_every_rule_has_an_error_of_its_own(changes: dict[str, Any], error: type[BankError], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        replace(GOOD, **changes)
    assert caught.value.hint
    assert isinstance(caught.value, errors.InvalidInput)
    assert isinstance(caught.value, ValueError)


@promise("memory:validation")
def test_the_first_broken_rule_is_named_in_the_order_of_the_seed() -> None:
    broken: dict[str, Any] = {"project": "", "title": "", "content": "", "outcome": ""}
    for name, error in (
        ("project", errors.EmptyProjectId),
        ("title", errors.EmptyTitle),
        ("content", errors.EmptyContent),
        ("outcome", errors.InvalidOutcome),
    ):
        with pytest.raises(error):
            replace(GOOD, **broken)
        del broken[name]
    assert replace(GOOD, **broken) == GOOD


@promise(
    "memory:bounds",
    "Lengths are bounded with a clear error; the longest allowed texts are allowed.",
    source="issue 2 Hygiene",
)
def test_the_longest_texts_that_are_allowed_are_allowed() -> None:
    full = replace(
        GOOD,
        id="ä" * MAX_ID,
        title="\U0001f9e0" * MAX_TITLE,
        description="x" * MAX_DESCRIPTION,
        content="x" * MAX_CONTENT,
        category="x" * MAX_CATEGORY,
        tags=tuple(f"{n}".ljust(MAX_TAG, "x") for n in range(MAX_TAGS)),
    )
    assert len(full.title) == MAX_TITLE
    for outcome in OUTCOMES:
        for state in STATES:
            assert replace(GOOD, outcome=outcome, state=state).state == state


@promise(
    "memory:ids",
    "Ids with hyphens, capitals and spaces work; new ids are UUIDv7 and sort by time.",
    source="issue 2 MCP server",
)
@pytest.mark.parametrize(
    "name", ["My-App_42", "AB-cd", "01890a5d-ac96-774b-bcce-b302099a8057", "x", "mémoire 1", "a/b"]
)
def test_ids_with_hyphens_capitals_and_spaces_work(name: str) -> None:
    assert check_memory_id(name) == name


@promise("memory:ids")
def test_new_ids_are_uuids_of_version_seven_and_sort_by_time() -> None:
    made = [new_id() for _ in range(300)]
    assert len(set(made)) == 300
    assert all(name[14] == "7" and name[19] in "89ab" and len(name) == 36 for name in made)
    assert [name[:13] for name in made] == sorted(name[:13] for name in made)
    assert new_session() != new_session()


@promise(
    "memory:outcome",
    "An outcome that is neither success nor failure is never taken for a success.",
    source="issue 2 MCP server",
)
@given(st.text(max_size=12))
def test_an_unknown_outcome_is_never_taken_for_a_success(outcome: str) -> None:
    if outcome in OUTCOMES:
        assert check_outcome(outcome) == outcome
    else:
        with pytest.raises(errors.InvalidOutcome):
            check_outcome(outcome)


@promise(
    "memory:confidence",
    "No confidence has a hidden meaning and none lies outside 0 and 1.",
    source="seed 004 ErrInvalidConfidence; spec/contextd row 4",
)
@pytest.mark.parametrize("value", [float("nan"), -0.1, 1.1, float("inf")])
def test_no_memory_has_a_confidence_outside_zero_and_one(value: float) -> None:
    with pytest.raises(errors.InvalidConfidence, match=r"between 0\.0 and 1\.0"):
        replace(GOOD, belief=Belief.starting_at(value))


@promise("memory:confidence")
@pytest.mark.parametrize("value", [0.0, 0.5, 0.6, 0.8, 1.0])
def test_no_confidence_has_a_hidden_meaning(value: float) -> None:
    assert replace(GOOD, belief=Belief.starting_at(value)).confidence == value


@promise(
    "memory:fingerprint",
    "Texts have one fingerprint exactly when they are the same up to case, space and punctuation.",
    source="issue 2 Interface",
)
@given(st.lists(words, min_size=1, max_size=8), st.data())
def test_texts_that_read_the_same_have_one_fingerprint(parts: list[str], data: st.DataObject) -> None:
    text = " ".join(parts)
    spaced = "".join(data.draw(separators) + part for part in parts) + data.draw(separators)
    assert fingerprint(text) == fingerprint(spaced) == fingerprint(text.upper().lower()) == fingerprint(text.swapcase())


@promise("memory:fingerprint")
@given(words, words)
def test_texts_that_read_differently_have_different_fingerprints(one: str, other: str) -> None:
    def letters(text: str) -> str:
        return text.casefold()

    assert (fingerprint(one) == fingerprint(other)) == (letters(one) == letters(other))


@promise("memory:fingerprint")
def test_text_does_not_flow_from_one_field_into_the_next() -> None:
    assert replace(GOOD, title="ab", content="c").fingerprint != replace(GOOD, title="a", content="bc").fingerprint
    assert replace(GOOD, description="x").fingerprint != GOOD.fingerprint
    assert replace(GOOD, tags=("t",), outcome="failure", id="other").fingerprint == GOOD.fingerprint
    assert fingerprint("use v1.2") == fingerprint("USE V12")
    assert fingerprint("caf\u00e9") == fingerprint("cafe\u0301")
    assert fingerprint("cafe") != fingerprint("café")
    assert len(GOOD.fingerprint) == 16
    assert len(fingerprint("lone \ud800")) == 16


@promise("memory:validation")
def test_a_filter_needs_times_with_a_zone() -> None:
    assert Filter(created_after=datetime.now(UTC) - timedelta(days=1)).states == ("active", "candidate")
    for name in ("created_after", "created_before"):
        with pytest.raises(errors.InvalidInput, match="time zone"):
            Filter(**{name: NAIVE})  # type: ignore[arg-type]
