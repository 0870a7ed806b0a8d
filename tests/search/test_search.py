"""Searching through the Bank: real store, real embeddings, real text index."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import (
    EmptyQuery,
    InvalidConfidence,
    InvalidInput,
    InvalidOutcome,
    ModelMismatch,
    NegativeLimit,
)
from reasoningbank.search.fusion import FLOOR
from reasoningbank.settings import Settings
from reasoningbank.testing import FrozenClock, HashingEmbedder

LESSONS = (
    (
        "Retry flaky network calls",
        "Wrap the call and back off exponentially after every timeout.",
        "success",
        ("network",),
    ),
    (
        "Handle Go errors with context",
        "Wrap errors with fmt.Errorf and %w so that callers can inspect them.",
        "success",
        ("go",),
    ),
    (
        "Do not mutate default arguments",
        "A list as a default argument is shared between calls in Python.",
        "failure",
        ("python",),
    ),
    (
        "Index foreign keys in Postgres",
        "Joins over an unindexed foreign key scan the whole table.",
        "success",
        ("sql",),
    ),
    ("Freeze time in date tests", "Tests that read the clock fail at midnight; inject a clock.", "success", ("tests",)),
    ("Never force-push a shared branch", "It rewrites the history that others build on.", "failure", ("git",)),
)


def fill(bank: Bank) -> dict[str, str]:
    """Records the lessons; returns their ids by title."""
    return {
        title: bank.record(title=title, content=content, outcome=outcome, tags=tags).id
        for title, content, outcome, tags in LESSONS
    }


@promise(
    "search:relevant",
    "A task in other words finds its lesson first, with relevance, legs, embedder and tokens.",
    source="seed 000 P1",
)
@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("HTTP requests fail now and then with a timeout", "Retry flaky network calls"),
        ("fix error handling in the auth service written in Go", "Handle Go errors with context"),
        ("the query joining orders and customers is slow", "Index foreign keys in Postgres"),
        ("unit test breaks around midnight", "Freeze time in date tests"),
        ("may I rewrite history of the main branch with git push --force", "Never force-push a shared branch"),
    ],
)
def test_a_task_in_other_words_finds_its_lesson_first(local_bank: Bank, query: str, title: str) -> None:
    fill(local_bank)
    recall = local_bank.search(query)
    assert recall.memories[0].title == title
    assert 0.0 < recall.memories[0].relevance <= 1.0
    assert recall.memories[0].legs["content"].rank == 1
    assert recall.embedder == local_bank.embedder.name
    assert recall.tokens == sum(hit.memory.tokens for hit in recall.delivered) > 0


@promise("search:floor", "An unrelated query returns nothing and says so, in small banks too.", source="issue Recall")
@pytest.mark.parametrize(
    "query",
    [
        "what should I cook for dinner with leftover rice",
        "zebra migration patterns in the Serengeti",
        "qwxz vrtk plmn",
        "the opening hours of the municipal swimming pool",
    ],
)
def test_an_unrelated_query_finds_nothing_and_says_so(local_bank: Bank, query: str) -> None:
    fill(local_bank)
    recall = local_bank.search(query, unproven=3)
    assert recall.memories == ()
    assert recall.unproven == ()
    assert "Nothing relevant" in recall.message


@promise(
    "search:weak",
    "A small bank that knows nothing better shows who asks a weak hit, proven or not, and says so; a briefing does not,"
    " and such a hit earns nothing.",
    source="issue Search",
)
@pytest.mark.parametrize("confidence", [0.8, 0.6])
@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("the download stops halfway", "Retry flaky network calls"),
        ("lost work of a teammate after rebase", "Never force-push a shared branch"),
    ],
)
def test_a_small_bank_shows_who_asks_a_weak_hit(local_bank: Bank, query: str, title: str, confidence: float) -> None:
    for name, content, outcome, _ in LESSONS:
        local_bank.record(title=name, content=content, outcome=outcome, confidence=confidence)
    recall = local_bank.search(query, session="asked")
    (hit,) = recall.delivered
    assert (hit.memory.title, hit.fit, hit.unproven) == (title, "weak", confidence < 0.7)
    assert hit.relevance < FLOOR
    assert recall.message == "Nothing that fits this query well is known; 1 weak hit to judge with care."
    assert local_bank.briefing(query).items == ()
    assert local_bank.sessions.outcome("asked", succeeded=True).credited == ()
    assert local_bank.get(hit.id).confidence == hit.confidence


@promise("contextd:8", "A new project answers empty without an error.", source="spec/contextd row 8")
@promise("search:empty-bank", "An empty bank answers empty.", source="seed 000 P1")
def test_an_empty_bank_answers_empty_and_makes_up_nothing(local_bank: Bank) -> None:
    recall = local_bank.search("anything at all")
    assert (recall.memories, recall.unproven, recall.count, recall.tokens) == ((), (), 0, 0)


@promise("contextd:6", "A search needs a project and a query.", source="spec/contextd row 6")
@promise("search:validation", "A search without a query or with unusable arguments is refused.", source="issue Recall")
def test_a_search_needs_a_query_and_usable_arguments(local_bank: Bank) -> None:
    for empty in ("", "   ", "\u200b\n"):
        with pytest.raises(EmptyQuery):
            local_bank.search(empty)
    with pytest.raises(NegativeLimit):
        local_bank.search("x", limit=-1)
    for call in (lambda: local_bank.search("x", limit=101), lambda: local_bank.graph.search("x", limit=101)):
        with pytest.raises(InvalidInput, match="limit must be at most 100, not 101"):
            call()
    with pytest.raises(InvalidConfidence):
        local_bank.search("x", min_confidence=float("nan"))
    with pytest.raises(InvalidOutcome):
        local_bank.search("x", outcome="maybe")
    with pytest.raises(InvalidInput):
        local_bank.search("x" * 100_000)
    assert local_bank.search("retry", limit=0, unproven=0).delivered == ()


@promise("contextd:7", "The proven list holds confidence >= 0.7 only.", source="spec/contextd row 7")
@promise(
    "search:unproven",
    "Memories below the threshold are offered in a list of their own, marked.",
    source="DESIGN D6",
)
def test_unproven_knowledge_is_reachable_in_a_list_of_its_own(local_bank: Bank) -> None:
    low = local_bank.record(title=LESSONS[0][0], content=LESSONS[0][1], outcome="success", confidence=0.6)
    high = local_bank.record(
        title="Retry network calls at most five times", content="Back off, then give up.", outcome="success"
    )
    recall = local_bank.search("network call times out, retry?")
    assert [hit.id for hit in recall.memories] == [high.id]
    assert [(hit.id, hit.unproven) for hit in recall.unproven] == [(low.id, True)]
    assert local_bank.search("network call times out, retry?", unproven=0).unproven == ()
    assert {hit.id for hit in local_bank.search("network call times out", min_confidence=0.0).memories} == {
        low.id,
        high.id,
    }


@promise("search:promotion", "An unproven lesson that helps is promoted by evidence.", source="DESIGN D6")
def test_an_unproven_lesson_is_promoted_by_evidence(local_bank: Bank) -> None:
    lesson = local_bank.record(title=LESSONS[2][0], content=LESSONS[2][1], outcome="failure", confidence=0.6)
    for session in range(4):
        found = local_bank.search("default argument list shared between calls", session=f"s{session}")
        assert lesson.id in [hit.id for hit in found.delivered]
        local_bank.outcome(lesson.id, succeeded=True, session=f"s{session}")
    assert local_bank.get(lesson.id).confidence >= 0.7
    assert [hit.id for hit in local_bank.search("default argument list shared between calls").memories] == [lesson.id]


@promise(
    "search:best-unproven",
    "Where nothing proven answers, a search shows the three best-ranked unproven memories, each marked.",
    source="DESIGN D6",
)
def test_where_nothing_proven_answers_the_best_ranked_unproven_memories_come_first(local_bank: Bank) -> None:
    query = "the network call times out under load"
    texts = ["Retry the call with a backoff.", "Count them.", "Log it.", "Ask the team."]
    best = local_bank.record(title=query, content="Cache it under load.", outcome="failure", confidence=0.6).id
    for text in texts:
        local_bank.record(title="The call over the network", content=text, outcome="failure", confidence=0.6)
    found = [local_bank.search(query, session="same") for _ in range(20)]
    assert all(recall.memories == () and len(recall.unproven) == 3 for recall in found)
    assert {recall.unproven[0].id for recall in found} == {best}
    assert len({tuple(hit.id for hit in recall.unproven) for recall in found}) == 1
    assert all(hit.unproven for recall in found for hit in recall.unproven)
    assert len(local_bank.search(query, unproven=5).unproven) == 5
    assert len(local_bank.search(query, unproven=1).unproven) == 1


@promise(
    "search:outranks",
    "An unproven memory that is more relevant than every proven one is shown every time, beside them.",
    source="DESIGN D6",
)
def test_what_outranks_everything_proven_is_not_left_to_chance(local_bank: Bank) -> None:
    query = "the login page redirects in a loop behind the proxy"
    needed = local_bank.record(
        title=query, content="Trust the forwarded protocol header.", outcome="failure", confidence=0.6
    ).id
    local_bank.record(title="A login page behind a proxy", content="Check the cookie's domain.", outcome="success")
    for number in range(4):
        local_bank.record(
            title="The login page in a loop", content=f"Idea number {number}.", outcome="failure", confidence=0.69
        )
    for _ in range(30):
        recall = local_bank.search(query, session="same")
        assert recall.count == 1
        assert [hit.id for hit in recall.unproven] == [needed]


@promise("search:draw", "The unproven draw prefers the believed and reaches all.", source="DESIGN D6")
def test_the_unproven_draw_prefers_the_believed_but_reaches_all(local_bank: Bank) -> None:
    local_bank.record(title="Retry the network call", content="Retry the network call!", outcome="success")
    ids = {
        local_bank.record(
            title=f"Retry idea {number}",
            content=f"Retry the network call in manner {number}.",
            outcome="success",
            confidence=confidence,
        ).id: confidence
        for number, confidence in enumerate((0.65, 0.4, 0.2))
    }
    drawn = [local_bank.search("retry the network call", session="same").unproven[0].id for _ in range(60)]
    counts = {name: drawn.count(name) for name in ids}
    assert all(counts.values())
    best = max(ids, key=lambda name: ids[name])
    assert counts[best] == max(counts.values())


@promise(
    "search:filters",
    "Filters act inside the query: what is filtered away never starves the answer.",
    source="issue Recall",
)
def test_filters_are_applied_inside_the_query(local_bank: Bank, clock: FrozenClock) -> None:
    for number in range(150):
        local_bank.record(
            title=f"Retry network call {number}",
            content=f"Network retry variant number {number}.",
            outcome="success",
            tags=["common"],
        )
    clock.advance(timedelta(days=2))
    rare = local_bank.record(
        title="Retry network call rarely",
        content="A network retry that failed.",
        outcome="failure",
        tags=["common", "rare"],
        category="debugging",
    )
    for wanted in (
        {"outcome": "failure"},
        {"tags": ["rare", "common"]},
        {"category": "debugging"},
        {"created_after": clock.now() - timedelta(hours=1)},
    ):
        assert [hit.id for hit in local_bank.search("retry a network call", limit=5, **wanted).memories] == [rare.id]
    before = local_bank.search("retry a network call", limit=100, created_before=clock.now() - timedelta(hours=1))
    assert rare.id not in [hit.id for hit in before.memories]
    assert before.count == 100
    assert local_bank.search("retry a network call", tags=["nowhere"]).delivered == ()
    with pytest.raises(InvalidInput):
        local_bank.search("x", created_after=clock.now().replace(tzinfo=None))


@promise("contextd:23", "Archived memories are never found, even at 0.95.", source="spec/contextd row 23")
@promise("contextd:26", "State and consolidation id survive storage.", source="spec/contextd row 26")
def test_archived_memories_are_never_found(local_bank: Bank) -> None:
    memory = local_bank.record(title="Retry network calls", content="Back off.", outcome="success", confidence=0.95)
    assert local_bank.search("retry network calls").count == 1
    local_bank.update(memory.id, state="archived")
    assert local_bank.search("retry network calls", min_confidence=0.0).delivered == ()
    assert local_bank.get(memory.id).state == "archived"
    assert local_bank.memories.count(states=("active",)) == 0


@promise("contextd:27", "Hits of the same text collapse into one.", source="spec/contextd row 27")
@promise(
    "search:collapse",
    "Only texts that are the same up to case, space and punctuation collapse.",
    source="issue Interface",
)
def test_the_same_text_up_to_case_space_and_punctuation_is_shown_once(local_bank: Bank) -> None:
    first = local_bank.record(title="Retry network calls!", content="Back off, then retry.", outcome="success")
    second = local_bank.record(title="retry  Network calls", content="back off then RETRY", outcome="success")
    other = local_bank.record(title="Retry network calls!", content="Back off, then retry twice.", outcome="success")
    recall = local_bank.search("retry network calls")
    assert len(recall.memories) == 2
    shown = next(hit for hit in recall.memories if hit.id != other.id)
    assert {shown.id, *shown.duplicates} == {first.id, second.id}


@promise(
    "search:opposite-text",
    "Of two memories that say the same and tell opposite outcomes both are shown: neither hides the other's warning.",
    source="issue 13 item 8",
)
def test_a_warning_is_not_hidden_by_the_same_text_that_worked(local_bank: Bank) -> None:
    worked = local_bank.record(title="Retry network calls", content="Back off, then retry.", outcome="success")
    failed = local_bank.record(title="Retry network calls", content="Back off, then retry.", outcome="failure")
    hits = local_bank.search("retry network calls").memories
    assert {hit.id for hit in hits} == {worked.id, failed.id}
    assert [hit.duplicates for hit in hits] == [(), ()]
    shown = local_bank.briefing("retry network calls", 2_000)
    assert {item.hit.id for item in shown.items} == {worked.id, failed.id}


@promise(
    "search:nothing-asked",
    "A search that asks for no proven memory says so, and not that nothing is known.",
    source="issue 13 item 8",
)
def test_a_search_for_no_memory_does_not_say_that_nothing_is_known(local_bank: Bank) -> None:
    local_bank.record(title="Retry network calls", content="Back off, then retry.", outcome="success")
    recall = local_bank.search("retry network calls", limit=0)
    assert (recall.delivered, recall.message) == ((), "No proven memory was asked for.")
    local_bank.record(title="Retry calls", content="Back off a while.", outcome="failure", confidence=0.6)
    assert "unproven to test" in local_bank.search("retry network calls", limit=0).message


@promise("contextd:28", "Relevance is independent of confidence.", source="spec/contextd row 28")
@promise(
    "search:relevance",
    "Hits are ordered by relevance; confidence decides the list, not the order.",
    source="issue Recall",
)
def test_relevance_orders_and_confidence_does_not(local_bank: Bank) -> None:
    near = local_bank.record(
        title="Retry flaky network calls", content="Back off after a timeout.", outcome="success", confidence=0.71
    )
    far = local_bank.record(
        title="Handle network partitions",
        content="Queue writes until peers return.",
        outcome="success",
        confidence=0.99,
    )
    recall = local_bank.search("retry flaky network calls after a timeout")
    assert recall.memories[0].id == near.id
    before = {hit.id: hit.relevance for hit in recall.memories}
    for _ in range(3):
        local_bank.feedback(near.id, helpful=False)
    after = {
        hit.id: hit.relevance
        for hit in local_bank.search("retry flaky network calls after a timeout", min_confidence=0.0).memories
    }
    assert after[near.id] == pytest.approx(before[near.id])
    assert far.id in after or far.id not in before


@promise("search:log", "Every recall is logged with what it delivered.", source="issue Recall")
@promise(
    "search:usage",
    "Only what was delivered is counted as a delivery, and a delivery changes no confidence.",
    source="DESIGN D5",
)
def test_only_what_was_delivered_is_counted_and_no_delivery_is_evidence(local_bank: Bank) -> None:
    ids = fill(local_bank)
    found = local_bank.search("HTTP requests fail with a timeout", limit=1, session="s1")
    delivered = {hit.id for hit in found.delivered}
    first = {name: local_bank.get(name) for name in ids.values()}
    assert {name for name, memory in first.items() if memory.usage_count} == delivered
    local_bank.search("HTTP requests fail with a timeout", limit=1, session="s1")
    again = {name: local_bank.get(name) for name in delivered}
    assert all(again[name].usage_count == 2 for name in delivered)
    assert all(again[name].confidence == first[name].confidence for name in delivered)
    local_bank.search("HTTP requests fail with a timeout", limit=1, session="s2")
    assert all(local_bank.get(name).confidence == first[name].confidence for name in delivered)
    assert local_bank.admin.stats().recalls == 3
    assert local_bank.admin.stats().last_confidence == found.memories[0].confidence == 0.8


@promise(
    "search:last-confidence",
    "The counts name the confidence of what was found last, also in a process that has searched nothing itself.",
    source="seed 004 Stats",
)
def test_the_last_confidence_outlives_the_process_that_searched(open_bank: Callable[..., Bank]) -> None:
    with open_bank() as bank:
        fill(bank)
        assert bank.admin.stats().last_confidence == 0.0
        found = bank.search("HTTP requests fail with a timeout", limit=1, session="s1")
    with open_bank() as later:
        assert later.admin.stats().last_confidence == found.memories[0].confidence > 0.0


@promise(
    "search:model", "Another embedder than the bank's is refused with a hint, never mixed in.", source="DESIGN D11"
)
def test_another_embedder_is_refused_with_a_hint(local_bank: Bank, open_local_bank: Callable[..., Bank]) -> None:
    fill(local_bank)
    home = local_bank._context.settings.home
    with (
        Bank.open(tenant="acme", project="shop", embedder=HashingEmbedder(), settings=Settings(home=home)) as other,
        pytest.raises(ModelMismatch) as caught,
    ):
        other.search("network")
    assert caught.value.hint
    with (
        Bank.open(tenant="acme", project="shop", embedder=HashingEmbedder(), settings=Settings(home=home)) as other,
        pytest.raises(ModelMismatch),
    ):
        other.record(title="t", content="c", outcome="success")
    assert local_bank.memories.count() == len(LESSONS)
