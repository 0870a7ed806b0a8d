"""Experience search, row by row (spec/memoria_haios, H1 to H13): what must be seen, with real parts."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # it has no types of its own
import pytest

from opened_banks import OpenBank
from promises import promise
from reasoningbank.errors import EmptyQuery, InvalidInput, ModelMismatch, ModelUnavailable
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.mcp.schemas import tools_by_profile
from reasoningbank.mcp.text import experience_text
from reasoningbank.testing import FrozenClock, HashingEmbedder
from search.searched_tasks import ALIKE, AVOID, ELSEWHERE, QUERY, stocked, taught
from sessions.made_lessons import DELETED, FROZEN, POOL, broken, lessons, solved, strategies, strategy

EXPERIENCE = tools_by_profile()["experience"]["memory_search_with_experience"]

MALFORMED = {
    "fenced": (f"```json\n{POOL}\n```", True),
    "prefixed": (f"Here is the strategy:\n{POOL}", True),
    "extra keys": (POOL.replace('{"title"', '{"confidence": 1, "title"'), True),
    "truncated": (POOL[:80], False),
    "list": (f"[{POOL}]", True),
    "wrong types": ('{"title": 3, "description": [], "content": null}', False),
    "empty": ("", False),
    "prose": ("Look at the pool of connections first.", False),
}


@promise(
    "haios:H1",
    "An extracted strategy has title, description, content, model and prompt version.",
    source="memoria_haios H1",
)
def test_h1_a_strategy_has_all_its_columns_with_model_and_prompt(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank(ScriptedModel({"strategy_success": POOL, "strategy_failure": AVOID}))
    won, lost = taught(bank), taught(bank, "Speed up the nightly invoice export", "failure", session="s2")
    memories = [bank.get(one) for trace in (won, lost) for one in trace.strategies]
    assert [memory.outcome for memory in memories] == ["success", "failure"]
    for memory, trace, prompt in zip(memories, (won, lost), ("strategy_success", "strategy_failure"), strict=True):
        assert all((memory.title, memory.description, memory.content))
        assert memory.provenance["model"] == "scripted"
        assert memory.provenance["prompt"].startswith(f"{prompt}@1")
        assert (memory.provenance["trace"], memory.provenance["session"]) == (trace.id, trace.session)
        assert memory.state == "candidate"
        assert memory.confidence == pytest.approx(0.6, abs=1e-12)
        assert trace.state == "extracted"
    assert (won.failure_reason, lost.failure_reason) == ("", "Requests still fail after 30 seconds.")


@promise(
    "haios:H2",
    "What succeeded teaches about the work; lessons about searching are refused.",
    source="memoria_haios H2",
)
def test_h2_what_succeeded_teaches_about_the_work_and_nothing_about_searching(open_learning_bank: OpenBank) -> None:
    searching = dict(
        FROZEN,
        title="Search the memory first",
        content="When a test is flaky, use memory_search with a broad query before anything else.",
    )
    names = dict(FROZEN, title="Look at the file", content="tests/test_checkout.py::test_total 7f3a9c1e")
    model = ScriptedModel({"distil_success": strategies(searching, FROZEN, names), "strategy_success": POOL})
    bank = open_learning_bank(model)
    bank.sessions.keep(solved("s1"))
    bank.jobs.work()
    (memory,) = bank.memories.list()
    assert "clock" in memory.content
    assert "night" in memory.description
    assert "search" not in f"{memory.title} {memory.content}".lower()
    assert sorted(refusal.reason for refusal in bank.distillation.refusals()) == ["about_memory", "only_names"]
    stocked(bank)
    taught(bank)
    asked = model.prompts[-1]
    assert "Never write about searching" in asked.instructions
    assert "pool of database connections" in asked.material, "the model sees what was at hand, not only ids"


@promise("haios:H2")
@promise(
    "haios:H8",
    "At most three distinct strategies are listed, with id, condition and support, or a reason why none.",
    source="memoria_haios H8",
)
def test_h2_a_strategy_about_searching_is_refused_with_the_reason(open_learning_bank: OpenBank) -> None:
    useless = strategy(
        "Leverage hybrid search",
        "When a query is broad",
        "Use memory_search with a broad query, then narrow the search.",
    )
    bank = open_learning_bank(ScriptedModel({"strategy_success": useless}))
    trace = taught(bank)
    assert (trace.state, trace.strategies, bank.memories.count()) == ("nothing", (), 0)
    (refusal,) = bank.distillation.refusals(trajectory=trace.id)
    assert refusal.reason == "about_memory"
    assert bank.experience.search(QUERY).reasoning.learned_from == 0


@promise(
    "haios:H3",
    "What failed becomes a preventive lesson, stored as failure and shown as a warning.",
    source="memoria_haios H3",
)
def test_h3_what_failed_becomes_a_warning(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank(ScriptedModel({"distil_failure": lessons(DELETED)}))
    bank.sessions.keep(broken("s1"))
    bank.jobs.work()
    (memory,) = bank.memories.list()
    assert memory.outcome == "failure"
    assert memory.content.startswith("What went wrong: A migration file")
    assert "Do instead: Add a new migration" in memory.content
    answer = bank.experience.search("two schema migrations are in conflict")
    assert [hit.id for hit in answer.results] == [memory.id]
    assert "WARNING, what to avoid" in experience_text(answer).text


@promise(
    "haios:H4",
    "Without a usable answer the search succeeds, the trace waits, and the default is never stored.",
    source="memoria_haios H4",
)
@pytest.mark.parametrize(
    "answer", [ModelUnavailable("no network"), "no JSON at all", "[]"], ids=["down", "bad", "list"]
)
def test_h4_without_a_usable_answer_the_search_succeeds_and_the_trace_waits(
    open_learning_bank: OpenBank, clock: FrozenClock, answer: str | Exception
) -> None:
    asked = 2 if isinstance(answer, str) else 1
    bank = open_learning_bank(ScriptedModel([*[answer] * asked, POOL]))
    stocked(bank)
    before = bank.memories.count()
    trace = taught(bank)
    assert (trace.state, trace.strategies, bank.memories.count()) == ("waiting", (), before)
    again = bank.experience.search(QUERY)
    assert again.results
    assert (again.reasoning.learned_from, again.reasoning.relevant_strategies) == (0, ())
    clock.advance(timedelta(minutes=2))
    assert bank.jobs.work().done == 1
    assert bank.experience.search(QUERY).reasoning.learned_from == 1


@promise("haios:H4")
def test_h4_the_structured_default_is_answered_and_never_stored(open_learning_bank: OpenBank) -> None:
    for bank in (
        open_learning_bank(""),
        open_learning_bank(ScriptedModel([ModelUnavailable("down")]), project="other"),
    ):
        found = bank.experience.extract_strategy("Q" * 300, "exact_words", "failure", "nothing", "timeout")
        assert (found.title, found.description) == ("Failure trace", "exact_words")
        assert found.content == f"Outcome: failure. Query: {'Q' * 100}"
        assert found.extraction_model == ""
        assert (bank.memories.count(), bank.experience.traces()) == (0, ())
    good = open_learning_bank(ScriptedModel([POOL])).experience.extract_strategy(
        QUERY, "read the logs", "success", "pool of 5, 20 workers"
    )
    assert good.extraction_model == "scripted"
    assert good.title == "Connection pools before timeouts"
    with pytest.raises(InvalidInput):
        open_learning_bank("").experience.extract_strategy(QUERY, "a", "partial_success")  # type: ignore[arg-type]  # not a verdict


@promise("haios:H5", "Eight malformed answers are each read or wait.", source="memoria_haios H5")
@pytest.mark.parametrize("name", MALFORMED)
def test_h5_every_answer_is_read_or_waits(open_learning_bank: OpenBank, name: str) -> None:
    answer, usable = MALFORMED[name]
    bank = open_learning_bank(ScriptedModel([answer]))
    trace = taught(bank)
    assert (trace.state, bank.memories.count()) == (("extracted", 1) if usable else ("waiting", 0))
    assert bank.jobs.dead() == ()


@promise(
    "haios:H6",
    "Similar searches are near in meaning and in scope; other embedding models are refused.",
    source="memoria_haios H6",
)
def test_h6_similar_searches_are_near_in_meaning_and_in_this_scope_only(
    open_learning_bank: OpenBank, home: Path
) -> None:
    bank = open_learning_bank(ScriptedModel({"strategy_success": POOL}))
    taught(bank)
    (same,) = bank.experience.search(QUERY).reasoning.relevant_strategies
    assert same.similarity == 1.0
    (like,) = bank.experience.search(ALIKE).reasoning.relevant_strategies
    assert 0.5 < like.similarity < 1.0
    unrelated = bank.experience.search(ELSEWHERE).reasoning
    assert (unrelated.learned_from, unrelated.relevant_strategies) == (0, ())
    assert unrelated.message
    other = open_learning_bank(project="other")
    assert other.experience.search(QUERY).reasoning.learned_from == 0
    assert len(other.experience.traces()) == 1
    with pytest.raises(ModelMismatch, match="hashing/64"):
        open_learning_bank(embedder=HashingEmbedder(64)).experience.search(QUERY)


@promise(
    "haios:H7",
    "learned_from is the number of distinct strategies listed, 1 after fifty repetitions.",
    source="memoria_haios H7",
)
def test_h7_learned_from_counts_the_distinct_strategies_that_are_listed(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank(ScriptedModel({"strategy_success": POOL}))
    counts = []
    for number in range(51):
        answer = bank.experience.search(QUERY, session=f"s{number}")
        counts.append(answer.reasoning.learned_from)
        assert answer.reasoning.learned_from == len({one.id for one in answer.reasoning.relevant_strategies})
        if number < 5:
            bank.experience.report(answer.reasoning.trace_id, "success")
            bank.jobs.work()
    assert counts == [0, *[1] * 50]
    (listed,) = bank.experience.search(QUERY).reasoning.relevant_strategies
    assert listed.supported == 5
    assert bank.memories.count() == 1


@promise("haios:H8")
def test_h8_listed_strategies_are_few_distinct_and_usable(open_learning_bank: OpenBank) -> None:
    subjects = (
        "the connection pool",
        "the index of the orders table",
        "the locks of long transactions",
        "the disk queue",
    )
    found = [
        strategy(
            f"Look at {subject}",
            f"When requests time out and {subject} may be the cause",
            f"Measure {subject} while requests wait, change only that, and measure the timeouts of the service again.",
        )
        for subject in subjects
    ]
    bank = open_learning_bank(ScriptedModel(found))
    assert bank.experience.search(QUERY).reasoning.message
    for number in range(len(subjects)):
        taught(bank, session=f"s{number}")
    reasoning = bank.experience.search(QUERY).reasoning
    assert len(reasoning.relevant_strategies) == len({one.id for one in reasoning.relevant_strategies}) == 3
    for one in reasoning.relevant_strategies:
        assert all((one.id, one.title, one.description, one.content))
        assert one.supported == 1
        assert one.confidence > 0.59
    assert reasoning.message == ""


@promise("haios:H9", "Hits, no hits and errors have one shape.", source="memoria_haios H9")
def test_h9_hits_no_hits_and_errors_have_one_shape(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank()
    nothing = experience_text(bank.experience.search(ELSEWHERE)).fields
    stocked(bank)
    hits = experience_text(bank.experience.search(QUERY)).fields
    error = {**EXPERIENCE.blank, "error": "empty_query", "message": "query cannot be empty", "hint": "Say what."}
    schema = {**EXPERIENCE.output_schema, "required": ["results", "reasoning"]}
    for fields in (nothing, hits, error):
        jsonschema.validate({**fields}, schema)
        reasoning = fields["reasoning"]
        assert isinstance(reasoning, dict)
        wanted = {"strategy_used", "learned_from", "outcome", "execution_time_ms", "relevant_strategies"}
        assert wanted <= reasoning.keys()
        assert reasoning["outcome"] in {"success", "partial", "failure", "unknown"}
    assert hits["results"]
    with pytest.raises(EmptyQuery):
        bank.experience.search(" ")


@promise(
    "haios:H10",
    "Results alone are not success; a later verdict changes what is counted.",
    source="memoria_haios H10",
)
def test_h10_results_alone_are_no_success_and_a_later_verdict_is_what_counts(
    open_learning_bank: OpenBank, clock: FrozenClock
) -> None:
    bank = open_learning_bank(ScriptedModel({"strategy_success": POOL, "strategy_failure": AVOID}))
    known = stocked(bank)
    answer = bank.experience.search(QUERY, session="s1")
    assert answer.results
    assert answer.reasoning.outcome == bank.experience.traces()[0].outcome == "unknown"
    assert bank.jobs.work().done == 0, "nothing is extracted from what nobody has judged"
    bank.outcome(answer.results[0].id, succeeded=True, session="s1")
    bank.jobs.work()
    assert bank.experience.traces()[0].outcome == "success"
    (first,) = bank.experience.search(QUERY, session="s2").reasoning.relevant_strategies
    assert (first.title, first.supported) == ("Connection pools before timeouts", 1)
    clock.advance(timedelta(hours=1))
    changed = bank.experience.report(answer.reasoning.trace_id, "failure", details="It broke again at night.")
    assert (changed.outcome, changed.state, changed.strategies) == ("failure", "waiting", ())
    assert bank.experience.search(QUERY, session="s3").reasoning.learned_from == 0, "it counts no more"
    bank.jobs.work()
    (second,) = bank.experience.search(QUERY, session="s4").reasoning.relevant_strategies
    assert second.title == "Raising the timeout hides the cause"
    assert bank.get(first.id).id == first.id, "the memory itself stays"
    taken_back = bank.experience.report(answer.reasoning.trace_id, "unknown")
    assert (taken_back.outcome, taken_back.strategies) == ("unknown", ())
    with pytest.raises(InvalidInput):
        bank.experience.report(answer.reasoning.trace_id, "fine")  # type: ignore[arg-type]  # not a verdict
    assert known


@promise(
    "haios:H11",
    "The strategy that is named is applied, changes the results, and is recorded as it was applied.",
    source="memoria_haios H11",
)
def test_h11_the_strategy_that_is_named_is_applied_and_recorded(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank("")
    known = stocked(bank)
    exact = bank.record(
        title="Zebra protocol", content="Code ORD-4711 means that the pool is empty.", outcome="success"
    )
    unnamed = bank.record(
        title="Requests pile up",
        content="A backend at its capacity answers late: shed traffic early.",
        outcome="success",
    )
    query = "What does ORD-4711 mean for the order service under load"
    first = bank.experience.search(query, session="s1")
    assert first.reasoning.strategy_used == "default_hybrid"
    seen = [first.reasoning.strategy_used]
    answers = [first]
    for number in range(2, 5):
        bank.experience.report(answers[-1].reasoning.trace_id, "failure")
        answers.append(bank.experience.search(query, session=f"s{number}"))
        seen.append(answers[-1].reasoning.strategy_used)
    assert seen == ["default_hybrid", "similar_tasks", "exact_words", "meaning_only"]
    assert answers[1].results == (), "nothing here was learned from a task"
    words, meaning = ({hit.id for hit in answers[number].results} for number in (2, 3))
    assert exact.id in words
    assert unnamed.id in meaning - words
    assert all("lexical" not in hit.legs or hit.legs.keys() != {"lexical"} for hit in answers[3].results)
    details = [trace.details for trace in reversed(bank.experience.traces())]
    assert [one["legs"] for one in details] == ["content,description,lexical", "task", "lexical", "content,description"]
    bank.experience.report(answers[-1].reasoning.trace_id, "success")
    last = bank.experience.search(query, limit=1, min_confidence=0.5, tags=())
    assert last.reasoning.strategy_used == "meaning_only", "what served is used again"
    assert len(last.results) == 1
    assert bank.experience.traces(limit=1)[0].details == {
        "legs": "content,description",
        "limit": "1",
        "outcome": "any",
        "mode": "semantic",
        "min_confidence": "0.5",
        "tags": "",
    }
    assert bank.experience.search(query, limit=0).results == ()
    assert bank.experience.search(ELSEWHERE).reasoning.strategy_used == "default_hybrid"
    assert known


@promise("haios:H11")
def test_h11_warnings_only_shows_warnings_only(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank("")
    stocked(bank)
    warning = bank.record(
        title="A larger timeout", content="A larger database timeout hides the cause.", outcome="failure"
    )
    for number in range(4):
        answer = bank.experience.search(QUERY, session=f"s{number}")
        bank.experience.report(answer.reasoning.trace_id, "failure")
    answer = bank.experience.search(QUERY, session="last")
    assert answer.reasoning.strategy_used == "warnings_only"
    assert [hit.id for hit in answer.results] == [warning.id]
    assert bank.experience.traces(limit=1)[0].details["outcome"] == "failure"


@promise(
    "haios:H12",
    "Strategies shown are logged and counted; unrelated tasks get nothing.",
    source="memoria_haios H12",
)
def test_h12_what_was_shown_is_logged_and_unrelated_tasks_get_nothing(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank(ScriptedModel({"strategy_success": POOL}))
    stocked(bank)
    taught(bank)
    answer = bank.experience.search(ALIKE, session="s2")
    (shown,) = answer.reasoning.relevant_strategies
    trace = bank.experience.traces(limit=1)[0]
    assert shown.id in trace.results
    assert set(trace.results) == {*(hit.id for hit in answer.results), shown.id}
    assert bank.get(shown.id).usage_count >= 1
    bank.outcome(shown.id, succeeded=True, session="s2")
    assert bank.experience.traces(limit=1)[0].outcome == "success", (
        "the outcome of a strategy that was shown is the search's"
    )
    unrelated = bank.experience.search(ELSEWHERE)
    assert (unrelated.results, unrelated.reasoning.relevant_strategies) == ((), ())


@promise(
    "haios:H13",
    "Twice called noise a strategy is not shown any more; called helpful it rises.",
    source="memoria_haios H13",
)
def test_h13_noise_makes_a_strategy_disappear_and_help_makes_it_rise(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank(ScriptedModel([POOL, AVOID.replace("Raising", "Measure before raising")]))
    taught(bank, QUERY, session="s1")
    taught(bank, ALIKE, session="s2")
    first, second = bank.experience.search(QUERY, session="s3").reasoning.relevant_strategies
    for _ in range(2):
        bank.feedback(second.id, helpful=True)
    risen = bank.experience.search(QUERY, session="s4").reasoning.relevant_strategies
    assert [one.id for one in risen] == [second.id, first.id]
    assert risen[0].confidence > second.confidence
    bank.feedback(first.id, helpful=False)
    assert len(bank.experience.search(QUERY, session="s5").reasoning.relevant_strategies) == 2
    bank.feedback(first.id, helpful=False)
    for number in range(6, 9):
        left = bank.experience.search(QUERY, session=f"s{number}").reasoning
        assert [one.id for one in left.relevant_strategies] == [second.id]
        assert left.learned_from == 1
    bank.feedback(first.id, helpful=True)
    assert len(bank.experience.search(QUERY, session="s9").reasoning.relevant_strategies) == 2
