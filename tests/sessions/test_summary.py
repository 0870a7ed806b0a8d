"""A summary of a session becomes lessons without a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.errors import InvalidInput
from reasoningbank.sessions.assignment import TITLE_CHARACTERS, items_of, shorten
from reasoningbank.sessions.lessons import learn
from reasoningbank.sessions.validation import examine
from reasoningbank.storage import open_storage
from reasoningbank.types.memory import Memory
from reasoningbank.types.ports import Embedder
from reasoningbank.types.session import TEMPLATE, Item, SessionSummary, Verdict
from sessions.lesson_examples import TRAJECTORY
from sessions.stored_trajectories import AT, SCOPE, found, judged, kept

SUMMARY = SessionSummary(
    session_id="s1",
    project_id="shop",
    outcome="success",
    task="fix the slow product search of the web shop",
    approach="Added a covering index on (category, price) and measured with EXPLAIN ANALYZE",
    result="The 95th percentile fell from 900 ms to 40 ms",
    tags=("postgres", "performance"),
)
QUERY = "the product search in the web shop is slow"


def learned(home: Path, embedder: Embedder, summary: SessionSummary) -> tuple[Memory, ...]:
    """The memories that the summary becomes in a store below ``home``."""
    store = open_storage(None, home=home).open(SCOPE)
    trajectory = kept(store, summary.session_id, task=summary.task)
    answer = learn(
        store,
        embedder,
        trajectory,
        judged(summary.outcome, judge="agent"),
        items_of(summary),
        model=TEMPLATE,
        prompt="",
        session=summary.session_id,
        at=AT,
    )
    store.close()
    assert answer.refused == ()
    return answer.memories


@promise("contextd:14", "Distilling needs a project and a session.", source="spec/contextd row 14")
@pytest.mark.parametrize("missing", ["session_id", "project_id", "task", "approach"])
def test_a_summary_needs_its_project_session_task_and_approach(missing: str) -> None:
    texts = {"session_id": "s1", "project_id": "shop", "task": "t", "approach": "a", missing: " "}
    with pytest.raises(InvalidInput):
        SessionSummary(
            session_id=texts["session_id"],
            project_id=texts["project_id"],
            outcome="success",
            task=texts["task"],
            approach=texts["approach"],
        )


@promise("contextd:14")
def test_an_unknown_outcome_is_an_error() -> None:
    with pytest.raises(InvalidInput):
        replace(SUMMARY, outcome="unknown")


@promise("contextd:15", "A successful session gives a strategy that can be found.", source="spec/contextd row 15")
@promise(
    "distil:summary",
    "A summary becomes bounded lessons by template that are found even from a task and an approach alone.",
    source="seed 004 DistillSession",
)
def test_a_success_becomes_a_strategy_that_is_found(tmp_path: Path, local_embedder: Embedder) -> None:
    (memory,) = learned(tmp_path, local_embedder, SUMMARY)
    assert memory.title == "Success: Fix the slow product search of the web shop"
    assert (memory.outcome, memory.confidence, memory.tags) == ("success", 0.6, ("postgres", "performance"))
    assert memory.description == (
        "When a task is like this one: fix the slow product search of the web shop (postgres, performance)"
    )
    for part in (
        "Task: fix the slow",
        "Approach that worked: Added a covering index",
        "Result: The 95th",
        "Tags: postgres, performance",
        "When to use: In a task like this one",
    ):
        assert part in memory.content
    assert found(tmp_path, local_embedder, QUERY) == [(memory.id, True, 0.6)]


@promise("contextd:16", "A failed session gives an anti-pattern that can be found.", source="spec/contextd row 16")
@promise("distil:summary")
def test_a_failure_becomes_an_anti_pattern_that_is_found(tmp_path: Path, local_embedder: Embedder) -> None:
    (memory,) = learned(
        tmp_path, local_embedder, replace(SUMMARY, outcome="failure", result="Writes took twice as long")
    )
    assert memory.title == "Anti-pattern: Fix the slow product search of the web shop"
    assert (memory.outcome, memory.confidence) == ("failure", 0.6)
    assert "What went wrong: Writes took twice as long" in memory.content
    assert "Avoid: Added a covering index" in memory.content
    assert "Do instead" not in memory.content
    assert found(tmp_path, local_embedder, QUERY) == [(memory.id, True, 0.6)]


@promise("contextd:16")
@promise("distil:summary")
def test_a_failure_names_what_to_avoid_when_that_is_not_the_whole_approach() -> None:
    (item,) = items_of(replace(SUMMARY, outcome="failure", avoid="Adding an index without measuring writes", result=""))
    assert "What was tried: Added a covering index" in item.content
    assert "Avoid: Adding an index without measuring writes" in item.content
    assert "What went wrong: The session failed; it did not record how." in item.content


@promise("contextd:17", "A partial session gives both.", source="spec/contextd row 17")
@promise("distil:summary")
def test_a_partial_session_becomes_both_and_both_are_found(tmp_path: Path, local_embedder: Embedder) -> None:
    partial = replace(SUMMARY, outcome="partial", avoid="Dropping the old index while customers search")
    strategy, anti_pattern = learned(tmp_path, local_embedder, partial)
    assert (strategy.outcome, anti_pattern.outcome) == ("success", "failure")
    assert (strategy.confidence, anti_pattern.confidence) == (0.6, 0.6)
    assert "Avoid: Dropping the old index" in anti_pattern.content
    assert {memory for memory, _, _ in found(tmp_path, local_embedder, QUERY)} == {strategy.id, anti_pattern.id}


@promise("contextd:17")
@promise(
    "distil:no-contradiction",
    "The anti-pattern of a partial session never advises against its strategy.",
    source="spec/contextd 1.9",
)
@pytest.mark.parametrize("avoid", ["", " ", SUMMARY.approach, SUMMARY.approach.upper() + " "])
@pytest.mark.parametrize("result", ["", "Search is fast now, suggestions are still slow"])
def test_the_anti_pattern_of_a_partial_session_never_advises_against_its_strategy(avoid: str, result: str) -> None:
    strategy, anti_pattern = items_of(replace(SUMMARY, outcome="partial", avoid=avoid, result=result))
    assert SUMMARY.approach in strategy.content
    assert "avoid:" not in anti_pattern.content.casefold()
    assert "covering index" not in anti_pattern.content
    assert "What went wrong or was left open: " in anti_pattern.content
    assert result in anti_pattern.content


@promise("distil:summary")
@pytest.mark.parametrize("outcome", ["success", "failure", "partial"])
def test_a_task_and_an_approach_are_enough_to_be_found(
    tmp_path: Path, local_embedder: Embedder, outcome: Verdict
) -> None:
    bare = replace(SUMMARY, outcome=outcome, result="", tags=())
    memories = learned(tmp_path, local_embedder, bare)
    for memory in memories:
        assert "Result" not in memory.content and "Tags" not in memory.content
    assert {memory for memory, _, _ in found(tmp_path, local_embedder, QUERY)} == {memory.id for memory in memories}


@promise("distil:title", "Titles are cut at a word, by characters, never inside one.", source="spec/contextd 1.9")
@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("short task", "Short task"),
        ("élan of a task", "Élan of a task"),
        ("ßtraße", "ßtraße"),
        ("重构" * 60, "重构" * 39 + "重…"),
        ("word " * 40, "Word " + "word " * 14 + "word…"),
        ("two\nlines\tand  spaces", "Two lines and spaces"),
        ("x" * 75 + " yyyyyyy", "X" + "x" * 74 + "…"),
        ("a" * 78 + "e\u0301" * 5, None),
        ("👩\u200d💻" * 60, None),
    ],
)
def test_titles_are_cut_at_a_word_by_characters(task: str, expected: str | None) -> None:
    (item,) = items_of(replace(SUMMARY, task=task))
    title = item.title.removeprefix("Success: ")
    assert len(title) <= TITLE_CHARACTERS
    assert expected is None or title == expected
    assert not title.endswith(("\u200d…", "\u0301…")) or expected is None


@promise("distil:title")
@given(text=st.text(max_size=300), characters=st.integers(20, 120))
def test_a_shortened_text_is_short_and_begins_like_the_whole(text: str, characters: int) -> None:
    short = shorten(text, characters)
    assert len(short) <= characters
    assert "\n" not in short


@promise("distil:summary")
@given(
    task=st.text(max_size=3_000).filter(str.strip),
    approach=st.text(max_size=3_000).filter(str.strip),
    result=st.text(max_size=3_000),
    avoid=st.text(max_size=3_000),
    tags=st.lists(st.text(max_size=90), max_size=12).map(tuple),
    outcome=st.sampled_from(["success", "failure", "partial"]),
)
def test_any_summary_becomes_bounded_items(
    task: str, approach: str, result: str, avoid: str, tags: tuple[str, ...], outcome: Verdict
) -> None:
    summary = replace(SUMMARY, outcome=outcome, task=task, approach=approach, result=result, avoid=avoid, tags=tags)
    items: tuple[Item, ...] = items_of(summary)
    assert [item.outcome for item in items] == {
        "success": ["success"],
        "failure": ["failure"],
        "partial": ["success", "failure"],
    }[outcome]
    accepted, refused = examine(items, TRAJECTORY, outcome, model=TEMPLATE, at=AT)
    assert len(accepted) + len(refused) == len(items)
    assert not [
        refusal for refusal in refused if refusal.reason in {"too_long", "incomplete", "no_trigger", "wrong_outcome"}
    ]
