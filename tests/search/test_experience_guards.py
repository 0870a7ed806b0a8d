"""What keeps an experience search fast, safe and clean (rows H16 to H20), and recall by the likeness of tasks."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy
import pytest
from numpy.typing import NDArray

from opened_banks import OpenBank
from promises import promise
from reasoningbank.context import SystemClock
from reasoningbank.errors import BankError, InvalidInput, ModelMismatch
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.mcp.schemas import tools_by_profile
from reasoningbank.search.experience import PLANS
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.ports import Embedder, Prompt
from reasoningbank.types.session import Step, Trajectory
from search.searched_tasks import ELSEWHERE, QUERY, stocked, taught
from sessions.made_lessons import FROZEN, POOL, ran, solved, strategies
from sessions.recorded_sessions import Turn, claude_code

PROFILES = tools_by_profile()
TESTS_RUN = "`python -m pytest -q` runs the tests here"
"""The recipe of the second session that ran these tests."""


@promise("haios:H16", "No tool takes SQL, and SQL in a text changes nothing.", source="memoria_haios H16")
def test_h16_no_tool_takes_sql_and_sql_in_a_text_is_only_a_text(open_learning_bank: OpenBank) -> None:
    """There is no db_query: what it was refused for cannot be asked for at all. A real client is in tests/surfaces."""
    for tools in PROFILES.values():
        for name, spec in tools.items():
            words = f"{name} {spec.description} {' '.join(spec.inputs)}".lower()
            assert not any(word in words for word in ("sql", "db_query", "pragma", "statement", "schema_info"))
    bank = open_learning_bank(ScriptedModel({"strategy_success": POOL}))
    known = stocked(bank)
    for attack in (
        "x'; DELETE FROM memories; --",
        "WITH gone AS (SELECT 1) DELETE FROM memories",
        'PRAGMA writable_schema = 1; "; DROP TABLE traces',
        "') OR 1=1; ATTACH DATABASE 'x' AS y --",
    ):
        answer = bank.experience.search(attack, session=attack, tags=[attack])
        bank.experience.report(answer.reasoning.trace_id, "failure", details=attack)
        bank.search(attack, by="experience", category=attack)
    assert bank.memories.count() == len(known)
    assert bank.admin.check().problems == ()


@promise(
    "haios:H17",
    "Search p95 is below 150 ms while a model takes 5 s; the strategy appears afterwards.",
    source="memoria_haios H17",
)
def test_h17_a_slow_model_slows_no_search(open_learning_bank: OpenBank) -> None:
    """The model takes five seconds; searches meanwhile do not, and the lesson is there afterwards."""
    began = threading.Event()

    def slowly(prompt: Prompt) -> str:
        began.set()
        time.sleep(5)
        return POOL

    bank = open_learning_bank(ScriptedModel({"strategy_success": slowly}), clock=SystemClock())
    stocked(bank)
    answer = bank.experience.search(QUERY, session="s1")
    started = time.perf_counter()
    bank.outcome(answer.results[0].id, succeeded=True, session="s1")
    assert time.perf_counter() - started < 1.0
    stop = threading.Event()
    worker = threading.Thread(target=bank.jobs.work_until, args=(stop,), kwargs={"poll": 0.05})
    worker.start()
    try:
        assert began.wait(10)
        took = []
        for number in range(60):
            started = time.perf_counter()
            found = bank.experience.search(f"{QUERY}, case {number}", session=f"during {number}")
            took.append(time.perf_counter() - started)
            assert found.results
            assert found.reasoning.learned_from == 0
            assert found.reasoning.execution_time_ms <= 1_000 * took[-1] + 1
        stop.set()
    finally:
        worker.join(30)
    p95 = float(numpy.quantile(took, 0.95))
    print(f"search p95 {1_000 * p95:.0f} ms while the model took 5 s")
    assert p95 < 0.150
    assert bank.experience.search(QUERY).reasoning.learned_from == 1


@promise(
    "haios:H18",
    "Another embedder is refused until memories, tasks and traces are embedded again; then every probe is found.",
    source="memoria_haios H18",
)
def test_h18_another_embedder_is_refused_until_everything_is_embedded_again(
    open_learning_bank: OpenBank, local_embedder: Embedder
) -> None:
    """Memories, the tasks they came from, and the queries of searches."""
    old = open_learning_bank(
        ScriptedModel({"strategy_success": POOL, "distil_success": strategies(FROZEN)}), embedder=HashingEmbedder(64)
    )
    known = stocked(old)
    taught(old)
    task = "The nightly checkout test of the shop is red"
    old.sessions.keep(solved("s9", task))
    old.jobs.work()
    count = old.memories.count()
    old.close()

    bank = open_learning_bank("")
    for probe in (
        lambda: bank.search(QUERY),
        lambda: bank.search(QUERY, by="experience"),
        lambda: bank.experience.search(QUERY),
    ):
        with pytest.raises(ModelMismatch) as refused:
            probe()
        assert "reembed" in refused.value.hint
    assert any("reembed" in problem for problem in bank.admin.check().problems)
    assert bank.admin.reembed() == count
    assert bank.admin.check().problems == ()
    for memory in known.values():
        found = bank.search(f"{memory.title}. {memory.content}", min_confidence=0.0, limit=1)
        assert [hit.id for hit in found.memories] == [memory.id], "a known item is found again"
    (listed,) = bank.experience.search(QUERY).reasoning.relevant_strategies
    assert listed.similarity == 1.0
    (frozen,) = bank.search(task, by="experience").delivered
    assert frozen.title == FROZEN["title"]
    assert frozen.legs["task"].score > 0.9


@promise(
    "haios:H19",
    "A chat is skipped with the reason, a session counts once, and sessions are not search strategies.",
    source="memoria_haios H19",
)
def test_h19_transcripts_qualify_count_once_and_are_no_search_strategies(
    open_learning_bank: OpenBank, tmp_path: Path
) -> None:
    bank = open_learning_bank(
        ScriptedModel({"distil_partial": strategies(FROZEN), "distil_success": strategies(FROZEN)})
    )
    talk, work = tmp_path / "talk.jsonl", tmp_path / "work.jsonl"
    talk.write_text(claude_code([], "What is a mutex?", "A lock for one thread at a time."), encoding="utf-8")
    turns = [Turn("Look.", f"cat part{number}.py", "x = 1") for number in range(9)]
    work.write_text(claude_code([*turns, Turn("Look.", "cat part9.py", "No such file", 1)]), encoding="utf-8")
    report = bank.sessions.capture(talk, work)
    assert (report.captured, report.skipped_lines >= 1) == (1, True)
    assert any("talk.jsonl" in problem for problem in report.problems)
    (captured,) = report.trajectories
    assert captured.verdict == "partial"
    assert bank.sessions.capture(work).duplicates == 1
    bank.jobs.work()
    assert len(bank.sessions.list()) == 1
    assert bank.experience.traces() == (), "a session is not a search"
    names = {plan.name for plan in PLANS}
    for query in ("Used tools: Bash, Read", "cat part9.py", QUERY):
        answer = bank.experience.search(query)
        assert answer.reasoning.strategy_used in names
        assert not any("Used tools" in hit.content for hit in answer.results)


class Wrong(HashingEmbedder):
    """An embedder that returns what it is told to, for texts that say so."""

    def __init__(self, *, row: NDArray[numpy.float64] | None = None) -> None:
        super().__init__(64)
        self.row = row

    def _embed(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        rows = super()._embed(texts)
        return rows if self.row is None else numpy.stack([self.row] * len(texts)).astype(numpy.float32)


@promise(
    "haios:H20",
    "Bad vectors are refused, long ones normalised, other projects invisible.",
    source="memoria_haios H20",
)
@pytest.mark.parametrize(
    "row",
    [numpy.full(64, numpy.nan), numpy.zeros(64), numpy.full(64, numpy.inf), numpy.ones(32)],
    ids=["nan", "zero", "infinite", "short"],
)
def test_h20_bad_vectors_are_refused_and_nothing_is_stored(
    open_learning_bank: OpenBank, row: NDArray[numpy.float64]
) -> None:
    embedder = Wrong()
    bank = open_learning_bank(ScriptedModel({"distil_success": strategies(FROZEN)}), embedder=embedder)
    stocked(bank)
    count, traces = bank.memories.count(), len(bank.experience.traces())
    embedder.row = row
    for call in (
        lambda: bank.record(title="t", content="c", outcome="success"),
        lambda: bank.experience.search(QUERY),
        lambda: bank.experience.ingest("A raw lesson about vectors."),
    ):
        with pytest.raises(BankError):
            call()
    bank.sessions.keep(solved("s1"))
    assert bank.jobs.work().postponed == 1
    embedder.row = None
    assert (bank.memories.count(), len(bank.experience.traces())) == (count, traces)
    assert bank.admin.check().problems == ()
    assert bank.experience.search(QUERY).results


@promise("haios:H20")
def test_h20_long_vectors_are_normalised_and_other_projects_are_invisible(open_learning_bank: OpenBank) -> None:
    embedder = Wrong()
    bank = open_learning_bank("", embedder=embedder)
    embedder.row = numpy.full(64, 15.9)
    memory = bank.record(title="Norm", content="Its vector is far too long.", outcome="success")
    stored = bank.memories.vector(memory.id)
    assert stored is not None
    assert float(numpy.linalg.norm(stored)) == pytest.approx(1.0, abs=1e-6)
    bank.experience.search("a query that is too long as well")
    embedder.row = None
    trial = open_learning_bank(ScriptedModel({"strategy_success": POOL}), project="trial", embedder=embedder)
    stocked(trial)
    taught(trial)
    real = open_learning_bank("", project="real", embedder=embedder)
    answer = real.experience.search(QUERY)
    assert (answer.results, answer.reasoning.learned_from, len(real.experience.traces())) == ((), 0, 1)


@promise(
    "experience:by-task",
    "The nearest experiences come whole, with what they found again; nothing when none is near.",
    source="paper 3.2",
)
@promise(
    "issue3:by-experience",
    "search(by='experience', k) brings k whole experiences and nothing irrelevant.",
    source="issue Recall by task",
)
def test_the_nearest_experience_comes_whole_and_nothing_when_none_is_near(open_learning_bank: OpenBank) -> None:
    """k experiences with all their items, in the order of learning, proven or not, whatever the limits."""
    second = dict(
        FROZEN,
        title="Quarantine is not a repair",
        description="When a test is red only at times",
        content="Find what the red runs have in common before a test is skipped; a skipped test proves nothing.",
    )
    pages = dict(
        FROZEN,
        title="Count both ends",
        description="When a page of results lacks its last row",
        content="Compare the bounds of the loop with the size of a page, and test a page that is exactly full.",
    )
    model = ScriptedModel([strategies(FROZEN, second), strategies(pages), strategies(second, pages)])
    bank = open_learning_bank(model)
    bank.sessions.keep(solved("s1", "The checkout test of the shop is red at night"))
    bank.sessions.keep(solved("s2", "The export of orders drops the last row of every page"))
    bank.jobs.work()
    night = bank.search("checkout test fails every night", by="experience", limit=1)
    assert [hit.title for hit in night.delivered] == [FROZEN["title"], second["title"], TESTS_RUN]
    assert (night.memories, len(night.unproven)) == ((), 3)
    assert all(hit.unproven and hit.legs.keys() == {"task"} for hit in night.unproven)
    assert bank.search(ELSEWHERE, by="experience", k=5).delivered == ()
    assert bank.search("checkout test fails every night", by="experience", k=0).delivered == ()
    assert bank.search("checkout test fails every night", by="experience", outcome="failure").delivered == ()

    bank.sessions.keep(solved("s3", "Invoices of the wholesale customers are missing a line"))
    bank.jobs.work()
    expected = {FROZEN["title"], second["title"], pages["title"], TESTS_RUN}
    assert {memory.title for memory in bank.memories.list()} == expected
    assert bank.memories.count() == 4, "both of its lessons were known, and its command"
    bank.sessions.verdict(bank.sessions.list()[0].id, "success")
    whole = bank.search("the export loses the last row of a page of orders", by="experience", k=1)
    assert [hit.title for hit in whole.delivered] == [TESTS_RUN, pages["title"]]
    with pytest.raises(InvalidInput):
        bank.search(QUERY, by="session")  # type: ignore[arg-type]  # no such way


@promise("experience:by-task")
def test_an_experience_brings_along_what_it_only_found_again(open_learning_bank: OpenBank) -> None:
    own = dict(
        FROZEN,
        title="Count both ends",
        description="When a page of results lacks its last row",
        content="Compare the bounds of the loop with the size of a page, and test a page that is exactly full.",
    )
    bank = open_learning_bank(ScriptedModel([strategies(FROZEN), strategies(FROZEN, own)]))
    bank.sessions.keep(solved("s1", "The checkout test of the shop is red at night"))
    bank.jobs.work()
    bank.sessions.keep(solved("s2", "The export of orders drops the last row of every page"))
    bank.jobs.work()
    found = bank.search("orders export drops the last row of each page", by="experience")
    assert {hit.title for hit in found.delivered} == {own["title"], FROZEN["title"], TESTS_RUN}
    assert len(found.delivered) == 3


@promise("experience:no-mixing", "Traces, sessions and memories are kept apart.", source="issue Experience search")
def test_traces_sessions_and_memories_are_kept_apart(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank(ScriptedModel({"strategy_success": POOL, "distil_success": strategies(FROZEN)}))
    marker = "zygomorphic"
    answer = bank.experience.search(f"{marker} orders time out")
    bank.sessions.keep(
        Trajectory(task=f"{marker} task", steps=(Step(thought=marker, action=marker), ran(2)), session="s")
    )
    assert bank.search(f"{marker} orders", min_confidence=0.0, unproven=5).delivered == ()
    assert bank.memories.count() == 0
    assert [trace.id for trace in bank.experience.traces()] == [answer.reasoning.trace_id]
    assert [entry.task for entry in bank.sessions.list()] == [f"{marker} task"]
