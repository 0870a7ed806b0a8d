"""A search writes a handful of statements and commits once, however many memories the bank holds or it delivers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import Any

import apsw
import pytest
from click.testing import CliRunner

from promises import promise
from reasoningbank import Bank
from reasoningbank.cli.app import rbank
from reasoningbank.memories.admission import index
from reasoningbank.memories.standing import speaking
from reasoningbank.search.search import By
from reasoningbank.settings import Settings
from reasoningbank.storage import open_storage
from reasoningbank.storage.vector_search import SNAPSHOT_MIN_ROWS
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.belief import Belief
from reasoningbank.types.graph import Node
from reasoningbank.types.memory import Memory
from reasoningbank.types.recall import Recall
from reasoningbank.types.scope import LEVELS, Scope
from reasoningbank.types.session import Verdict
from reasoningbank.types.standing import VOUCHED

MOST = 15
"""Statements of one search or briefing, with the beginnings and the ends of its two transactions."""
LAST_OF_OPENING = "SELECT name, value FROM meta WHERE name IN ('tenant'"
"""How the last statement begins with which a bank's file is opened."""
KINDS: tuple[By, ...] = ("memory", "lesson", "experience")
WORDS = [
    *("retry", "timeout", "postgres", "pool", "cache", "login", "token", "queue", "page", "file", "socket", "json"),
    *("yaml", "test", "build", "deploy", "merge", "branch", "commit", "lint", "type", "error", "stack", "trace"),
]
QUERY = "retry timeout postgres pool cache"


class Statements:
    """Every statement that SQLite runs on any connection to a bank's file, a row of values being a run of its own."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self.banks: list[str] = []

    def watch(self, connection: apsw.Connection) -> None:
        """Listens to a connection; what a statement runs inside of SQLite is a part of it."""
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, partial(self._note, connection.filename), id=id(self))

    def _note(self, bank: str, event: Mapping[str, Any]) -> None:
        if bank and not event["trigger"]:
            self.all.append(event["sql"])
            self.banks.append(bank)

    def of(self, bank: Bank, session: str | None, limit: int = 10, by: By = "memory") -> tuple[Recall, int, int]:
        """Returns what a search delivers, how many statements it runs, and how often it commits a write."""
        self.clear()
        answer = bank.search(QUERY, session=session, limit=limit, by=by)
        return answer, len(self.all), sum(each == "BEGIN IMMEDIATE" for each in self.all)

    def clear(self) -> None:
        """Forgets what was run."""
        self.all.clear()
        self.banks.clear()

    def of_each_bank(self) -> Mapping[str, tuple[int, int]]:
        """Returns how many statements each bank's file ran after it was opened, and how many commits of a write."""
        run: dict[str, list[str]] = {}
        for bank, sql in zip(self.banks, self.all, strict=True):
            run.setdefault(bank, []).append(sql)
            if sql.startswith(LAST_OF_OPENING):
                run[bank].clear()
        return {bank: (len(all_of_it), all_of_it.count("BEGIN IMMEDIATE")) for bank, all_of_it in run.items()}


@pytest.fixture
def statements() -> Iterator[Statements]:
    seen = Statements()
    apsw.connection_hooks.append(seen.watch)
    yield seen
    apsw.connection_hooks.remove(seen.watch)


def opened(path: Path) -> Bank:
    """Returns the bank of a folder."""
    return Bank.open(f"sqlite:///{path}", tenant="me", project="demo", embedder=HashingEmbedder())


def filled(path: Path, size: int) -> Bank:
    """Returns a bank of that many memories, candidates of agents among them."""
    chance = random.Random(size)
    bank = opened(path)
    for number in range(5):
        bank.experience.ingest(f"Always retry the timeout of pool {number} {' '.join(chance.sample(WORDS, 6))}.")
    for number in range(size - 5):
        bank.record(
            title=f"Strategy {number} {' '.join(chance.sample(WORDS, 3))}",
            content=f"{' '.join(chance.sample(WORDS, 8))} number {number}",
            outcome="success",
            confidence=0.6 if number % 3 == 0 else 0.8,
        )
    return bank


@promise(
    "search:delivery-log",
    "A search of any bank runs at most 15 SQL statements and one commit, by memory, lesson or experience, what it "
    "delivered and counted and the ends of its transactions included: also the first of a process, and after another "
    "process has written, and one that has a vector file written for over 4,096 new memories.",
    source="issue 10",
)
@pytest.mark.parametrize("by", KINDS)
@pytest.mark.parametrize("size", [10, 300, 3_000])
def test_a_search_runs_few_statements_and_commits_once(
    statements: Statements, tmp_path: Path, size: int, by: By
) -> None:
    def check(session: str | None, limit: int = 10, by: By = by) -> Recall:
        answer, count, commits = statements.of(bank, session, limit, by)
        assert count <= MOST, (session, limit, by, statements.all)
        assert commits == 1
        assert len(answer.memories) <= limit or by == "experience"
        return answer

    with filled(tmp_path, size) as bank:
        answer = check("a", by="memory")
        assert answer.delivered and not answer.warnings
        assert bool(list(tmp_path.rglob("*.vectors"))) == (size > SNAPSHOT_MIN_ROWS)
        for session, limit in (("b", 10), ("b", 10), ("b", 100), ("c", 100), ("d", 1), ("e", 0), (None, 10)):
            check(session, limit)
        bank.record(title="One more", content="retry it once more", outcome="success")
        check("f")
        with opened(tmp_path) as other:
            other.record(title="Two more", content="retry it twice more", outcome="success")
            other.search(QUERY, session="g")
        check("h")
    for session, limit in (("i", 1), ("j", 10), ("k", 100)):
        with opened(tmp_path) as bank:
            check(session, limit)
        with opened(tmp_path) as bank, opened(tmp_path) as other:
            other.record(title=f"{session} more", content=f"retry the {session} more", outcome="success")
            other.search(QUERY, session=session, by=by)
            check(f"{session}{session}", limit)


@promise(
    "past:few-statements",
    "A search of the past, or a list of it, runs at most 15 SQL statements and commits nothing, however many memories "
    "the bank holds and however many were changed, rated or put in quarantine since.",
    source="issue 10",
)
@pytest.mark.parametrize("size", [10, 300, 3_000])
def test_a_search_of_the_past_runs_few_statements(statements: Statements, tmp_path: Path, size: int) -> None:
    with filled(tmp_path, size) as bank:
        memories = bank.memories.list()
        early = bank.get(memories[-1].id).created_at
        changed = memories[5:25]
        for number, memory in enumerate(changed):
            bank.update(memory.id, content=f"Drain the postgres pool {number} before the cache is filled")
            bank.feedback(memory.id, helpful=number % 2 == 0, session=f"rated {number}")
        for memory in changed[:3]:
            bank.quarantine.add(memory_id=memory.id, reason="It was poisoned.")
        late = bank.get(changed[-1].id).updated_at
    for moment in (early, late):
        with opened(tmp_path) as bank:
            view = bank.at(moment)
            for ask in (
                lambda: view.search(QUERY).memories,  # noqa: B023 - called in this round
                lambda: view.search(QUERY, limit=100, min_confidence=0.0).memories,  # noqa: B023
                lambda: view.list(min_confidence=0.5),  # noqa: B023
                lambda: [view.get(memories[-1].id)],  # noqa: B023
            ):
                statements.clear()
                assert ask()
                (count, commits), *others = statements.of_each_bank().values()
                assert not others
                assert (count <= MOST, commits) == (True, 0), (count, statements.all)


@promise("search:delivery-log")
def test_a_search_that_has_a_vector_file_written_runs_few_statements(statements: Statements, tmp_path: Path) -> None:
    shared(tmp_path, 4_200, levels=1)
    with Bank.open(f"sqlite:///{tmp_path}", tenant="me", project="project", embedder=HashingEmbedder()) as bank:
        for session in "ab":
            answer, count, commits = statements.of(bank, session)
            assert answer.delivered and list(tmp_path.rglob("*.vectors"))
            assert (count <= MOST, commits) == (True, 1), (count, statements.all)


@promise("search:delivery-log")
def test_a_search_of_many_memories_of_one_text_runs_few_statements(statements: Statements, tmp_path: Path) -> None:
    with opened(tmp_path) as bank:
        for _ in range(60):
            bank.record(title="Retry", content="retry the timeout of the postgres pool cache", outcome="success")
            bank.record(title="R", content="retry the pool cache", outcome="success", confidence=0.6)
        _, first, commits = statements.of(bank, "a")
        assert (first <= MOST, commits) == (True, 1), statements.all
        with opened(tmp_path) as other:
            other.search(QUERY, session="b")
        answer, count, commits = statements.of(bank, "c")
        assert (count <= MOST, commits) == (True, 1), statements.all
        assert len(answer.memories) == 1 and len(answer.memories[0].duplicates) > 20


@promise("search:delivery-log")
@pytest.mark.parametrize("by", KINDS)
def test_a_search_that_one_source_has_flooded_runs_few_statements(
    statements: Statements, tmp_path: Path, by: By
) -> None:
    with filled(tmp_path, 40) as bank, speaking("flood"):
        for number in range(80):
            bank.record(
                title=f"{QUERY} {number}", content=f"{QUERY} {number} {number}", outcome="success", source="mcp"
            )
    for session, limit in (("a", 1), ("b", 5), ("c", 10), ("d", 100)):
        with opened(tmp_path) as bank:
            for _ in range(2):
                answer, count, commits = statements.of(bank, session, limit, by)
                assert (count <= MOST, commits) == (True, 1), (session, count, statements.all)
                flooded = [hit for hit in answer.delivered[:5] if hit.standing == "claim"]
                assert by == "experience" or len(flooded) <= 2


@promise("search:delivery-log")
def test_every_hit_of_a_search_is_logged_and_counted_and_changes_no_belief(
    statements: Statements, tmp_path: Path
) -> None:
    with filled(tmp_path, 300) as bank:
        first, _, _ = statements.of(bank, "a", 50)
        second, _, _ = statements.of(bank, "a", 50)
        assert len(first.memories) == 50
        for hit in first.memories:
            again = bank.get(hit.id)
            times = 1 + (hit.id in {each.id for each in second.delivered})
            assert again.usage_count == hit.memory.usage_count + times
            assert again.belief == hit.memory.belief
    store = open_storage(f"sqlite:///{tmp_path}", home=tmp_path).open(Scope(tenant="me", project="demo"))
    try:
        assert [len(log.entries) for log in store.deliveries.recalls(limit=2)] == [
            len(second.delivered),
            len(first.delivered),
        ]
        assert store.check().problems == ()
    finally:
        store.close()


SCOPES = tuple(Scope(tenant="me", project=name, level=name) for name in LEVELS)


def shared(path: Path, size: int, *, levels: int = 3) -> None:
    """Fills the banks of a project, its team and its org, or the first of these, some memories the same or opposed."""
    chance = random.Random(size)
    embedder = HashingEmbedder()
    texts = [f"{QUERY} {' '.join(chance.sample(WORDS, 4))} number {number}" for number in range(size)]
    for scope, part in zip(SCOPES[:levels], (10, 2, 1)[-levels:], strict=True):
        memories = [
            Memory(
                project=scope.project,
                title=f"Strategy {number}",
                content=text if number % 3 == 0 else f"{text} of the {scope.level}",
                outcome="failure" if number % 5 == LEVELS.index(scope.level) else "success",
                belief=Belief.starting_at(0.6 if number % 4 == 0 else 0.8),
                provenance={VOUCHED: "recorded by a person"},
            )
            for number, text in enumerate(texts[: size // part])
        ]
        store = open_storage(f"sqlite:///{path}", home=path).open(scope)
        with closing(store), store.transaction() as transaction:
            for memory, indexed in zip(memories, index(memories, embedder), strict=True):
                transaction.memories.insert(memory, indexed)


@promise(
    "search:delivery-log-shared",
    "A search of a project with a team and an org runs at most 15 SQL statements in each of their banks, and commits "
    "once in each that delivers: however many memories they hold or it delivers.",
    source="issue 10",
)
@pytest.mark.parametrize("size", [30, 600])
@pytest.mark.parametrize("limit", [10, 100])
def test_a_search_of_all_scopes_runs_few_statements_in_each(
    statements: Statements, tmp_path: Path, size: int, limit: int
) -> None:
    shared(tmp_path, size)

    def asked(session: str) -> None:
        answer, _, _ = statements.of(bank, session, limit)
        assert all(each.endswith("says the opposite.") for each in answer.warnings)
        counts = statements.of_each_bank()
        levels = {hit.scope for hit in answer.delivered}
        assert 2 * len(answer.memories) >= min(limit, size) and len(levels) > 1 - (limit < 100)
        assert max(count for count, _ in counts.values()) <= MOST, (session, counts, statements.all)
        assert sorted(commits for _, commits in counts.values()) == sorted(int(each in levels) for each in LEVELS)

    for turn in range(2):
        with Bank.open(
            f"sqlite:///{tmp_path}",
            tenant="me",
            project="project",
            team="team",
            org="org",
            embedder=HashingEmbedder(),
        ) as bank:
            for session in ("a", "b", "b"):
                asked(f"{session}{turn}")


def taught(path: Path, size: int) -> None:
    """Fills a bank with what sessions at three tasks in a hundred taught, three memories of each session."""
    memories = [
        Memory(
            project="demo",
            title=f"Strategy {number}",
            content=f"{QUERY} number {number}",
            outcome="success",
            provenance={"task": f"{QUERY} of task {number // 3 % 100}", "trajectory": f"t{number // 3}"},
        )
        for number in range(size)
    ]
    store = open_storage(f"sqlite:///{path}", home=path).open(Scope(tenant="me", project="demo"))
    with closing(store), store.transaction() as transaction:
        for memory, indexed in zip(memories, index(memories, HashingEmbedder()), strict=True):
            transaction.memories.insert(memory, indexed)


@promise("search:delivery-log")
@pytest.mark.parametrize("size", [60, 1_500])
def test_a_search_for_experiences_runs_few_statements(statements: Statements, tmp_path: Path, size: int) -> None:
    taught(tmp_path, size)

    def check(session: str, limit: int = 10) -> None:
        answer, count, commits = statements.of(bank, session, limit, "experience")
        assert len(answer.memories) >= 3
        assert (count <= MOST, commits) == (True, 1), (session, count, statements.all)

    for turn in range(2):
        with opened(tmp_path) as bank:
            for session in ("a", "b", "b"):
                check(f"{session}{turn}")
            with opened(tmp_path) as other:
                other.record(title="One more", content="retry it once more", outcome="success")
                other.search(QUERY, session="c", by="experience", limit=3)
            check(f"d{turn}")


@promise(
    "search:delivery-log-trace",
    "A search with experience (`bank.experience.search`) runs at most 15 SQL statements and one commit, its trace "
    "included, however many strategies similar searches have taught, in a bank of any size: also the first of a "
    "process, where files of vectors are lost, damaged or not current, after another process has written or made all "
    "vectors anew, and one that looks for whole experiences.",
    source="issue 10",
)
@pytest.mark.parametrize("strategies", [0, 1, 40])
def test_a_search_with_experience_runs_few_statements(statements: Statements, tmp_path: Path, strategies: int) -> None:
    with filled(tmp_path, 300) as bank:
        taught = [memory.id for memory in bank.memories.list()][:strategies]
        bank.experience.search(QUERY, session="first")
    store = open_storage(f"sqlite:///{tmp_path}", home=tmp_path).open(Scope(tenant="me", project="demo"))
    with closing(store), store.transaction() as transaction:
        (trace,) = transaction.sessions.traces()
        transaction.sessions.update_trace(replace(trace, strategies=tuple(taught)))
    for turn in range(2):
        with opened(tmp_path) as bank:
            for session in ("a", "b", "b", "c"):
                if session == "c":
                    with opened(tmp_path) as other:
                        other.admin.reembed()
                statements.clear()
                answer = bank.experience.search(QUERY, session=f"{session}{turn}", limit=100)
                assert answer.results and len(answer.reasoning.relevant_strategies) == min(strategies, 3)
                assert len(statements.all) <= MOST, (session, statements.all)
                assert statements.all.count("BEGIN IMMEDIATE") == 1


def learned(path: Path, size: int) -> None:
    """Fills a bank that has vector files of all legs, and traces that taught."""
    embedder = HashingEmbedder()
    memories = [
        Memory(
            project="demo",
            title=f"Strategy {number}",
            description=f"When the {WORDS[number % len(WORDS)]} of part {number} fails",
            content=f"{QUERY} number {number}",
            outcome="success",
            provenance={"task": f"{QUERY} of task {number // 3 % 100}", "trajectory": f"t{number // 3}"},
        )
        for number in range(size)
    ]
    store = open_storage(f"sqlite:///{path}", home=path).open(Scope(tenant="me", project="demo"))
    with closing(store), store.transaction() as transaction:
        for memory, indexed in zip(memories, index(memories, embedder), strict=True):
            transaction.memories.insert(memory, indexed)
    with opened(path) as bank:
        bank.search(QUERY, session="first")
        for session in "ab":
            bank.search(QUERY, session=session, by="experience")
        for number in range(3):
            bank.experience.search(QUERY, session=f"taught {number}")
    store = open_storage(f"sqlite:///{path}", home=path).open(Scope(tenant="me", project="demo"))
    with closing(store), store.transaction() as transaction:
        for trace in transaction.sessions.traces():
            taught = tuple(memory.id for memory in memories[:40])
            transaction.sessions.update_trace(replace(trace, strategies=taught))


def judged(path: Path, outcome: Verdict) -> None:
    """Says how the tasks ended that all searches so far were for."""
    store = open_storage(f"sqlite:///{path}", home=path).open(Scope(tenant="me", project="demo"))
    with closing(store), store.transaction() as transaction:
        for trace in transaction.sessions.traces():
            transaction.sessions.update_trace(replace(trace, outcome=outcome))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a bank of more memories than searches read without vector files."""
    path = tmp_path_factory.mktemp("large")
    learned(path, SNAPSHOT_MIN_ROWS + 300)
    assert len(list(path.rglob("*.vectors/*.vectors"))) == 3
    return path


def change_bytes(file: Path) -> None:
    """Changes the end of a vector file."""
    content = file.read_bytes()
    file.write_bytes(content[:-4] + bytes(4))


@promise("search:delivery-log-trace")
@promise("search:delivery-log")
@pytest.mark.parametrize(("outcome", "approach"), [("success", "default_hybrid"), ("failure", "similar_tasks")])
@pytest.mark.parametrize(
    ("legs", "harm"),
    [
        ("", Path.unlink),
        ("content", Path.unlink),
        ("description task", change_bytes),
        ("content description task", Path.unlink),
    ],
)
def test_the_first_search_of_a_process_runs_few_statements_whatever_vector_files_are_left(
    statements: Statements,
    tmp_path: Path,
    large: Path,
    outcome: Verdict,
    approach: str,
    legs: str,
    harm: Callable[[Path], None],
) -> None:
    copytree(large, tmp_path, dirs_exist_ok=True)
    judged(tmp_path, outcome)
    for file in tmp_path.rglob("*.vectors/*.vectors"):
        if file.name.split("-")[0] in legs.split():
            harm(file)

    def check(bank: Bank, session: str) -> None:
        statements.clear()
        answer = bank.experience.search(QUERY, session=session, limit=100)
        assert answer.results and answer.reasoning.strategy_used == approach
        assert len(answer.reasoning.relevant_strategies) == 3
        assert len(statements.all) <= MOST, (session, len(statements.all), statements.all)
        assert statements.all.count("BEGIN IMMEDIATE") == 1

    with opened(tmp_path) as bank:
        check(bank, "a")
        check(bank, "b")
        with opened(tmp_path) as other:
            other.record(title="One more", content="retry it once more", outcome="success")
            other.search(QUERY, session="c", by="experience")
        check(bank, "d")
    for by in KINDS:
        with opened(tmp_path) as bank:
            _, count, commits = statements.of(bank, f"by {by}", by=by)
            assert (count <= MOST, commits) == (True, 1), (by, count, statements.all)


@promise("search:delivery-log-trace")
def test_a_search_with_experience_after_many_new_memories_runs_few_statements(
    statements: Statements, tmp_path: Path, large: Path
) -> None:
    copytree(large, tmp_path, dirs_exist_ok=True)

    def check(session: str) -> None:
        statements.clear()
        assert bank.experience.search(QUERY, session=session, limit=100).results
        assert len(statements.all) <= MOST, (session, len(statements.all), statements.all)

    with opened(tmp_path) as bank:
        check("a")
        taught(tmp_path, SNAPSHOT_MIN_ROWS + 50)
        check("b")
        check("c")


@promise(
    "search:delivery-log-briefing-shared",
    "A briefing of a project with a team and an org runs at most 15 SQL statements in each of their banks and commits "
    "once in each that shows something, also where it repeats nothing: also the first of a process, which reads "
    "vectors.",
    source="issue 10",
)
@pytest.mark.parametrize("task", [QUERY, None])
@pytest.mark.parametrize("repeat", [True, False])
def test_a_briefing_of_all_scopes_runs_few_statements_in_each(
    statements: Statements, tmp_path: Path, task: str | None, repeat: bool
) -> None:
    shared(tmp_path, 60)
    for turn in range(2):
        with Bank.open(
            f"sqlite:///{tmp_path}",
            tenant="me",
            project="project",
            team="team",
            org="org",
            embedder=HashingEmbedder(),
        ) as bank:
            for session in ("a", "b", "b"):
                statements.clear()
                brief = bank.briefing(task, session=f"{session}{turn}", repeat=repeat)
                counts = statements.of_each_bank()
                levels = {item.scope for item in brief.items}
                assert brief.items and max(count for count, _ in counts.values()) <= MOST, (session, counts)
                assert sum(commits for _, commits in counts.values()) <= len({*levels, "project"})


@promise(
    "search:delivery-log-briefing",
    "A briefing runs at most 15 SQL statements and one commit, in a session that is held out too, and where it repeats "
    "nothing.",
    source="issue 10",
)
@pytest.mark.parametrize("repeat", [True, False])
@pytest.mark.parametrize("holdout", [0.0, 0.999])
def test_a_briefing_runs_few_statements_and_commits_once(
    statements: Statements, tmp_path: Path, holdout: float, repeat: bool
) -> None:
    with filled(tmp_path, 300) as bank:
        bank.record(title="One more", content="retry it once more", outcome="success")
    shown = 0
    for task in (QUERY, None):
        with Bank.open(
            f"sqlite:///{tmp_path}",
            tenant="me",
            project="demo",
            embedder=HashingEmbedder(),
            settings=Settings(home=tmp_path, holdout=holdout),
        ) as bank:
            for session in ("a", "b", "b", "c"):
                statements.clear()
                brief = bank.briefing(task, session=session, repeat=repeat)
                shown += len(brief.items)
                assert len(statements.all) <= MOST, (task, session, statements.all)
                assert statements.all.count("BEGIN IMMEDIATE") <= 1, (task, session, statements.all)
    assert (shown > 0) == (holdout == 0.0)


@promise(
    "search:long-session",
    "A briefing that repeats nothing runs as many SQL statements after sixty searches of its session as after one.",
    source="issue 10",
)
def test_a_briefing_in_a_long_session_runs_no_more_statements(statements: Statements, tmp_path: Path) -> None:
    with filled(tmp_path, 40) as bank:
        counts = []
        for searches in (1, 60):
            for _ in range(searches):
                bank.search(QUERY, session="long", limit=3)
            statements.clear()
            bank.briefing(QUERY, session="long", repeat=False)
            counts.append(len(statements.all))
    assert counts[1] <= counts[0] + 2, counts


@promise("search:delivery-log")
def test_a_command_that_searches_runs_few_statements(
    statements: Statements, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    usual = ["--tenant", "me", "--project", "demo", "--url", f"sqlite:///{tmp_path}/banks"]
    record = ["record", "--title", "Retry", "--content", QUERY, "--outcome", "success"]
    assert CliRunner().invoke(rbank, [*usual, *record]).exit_code == 0
    for _ in range(2):
        statements.clear()
        result = CliRunner().invoke(rbank, [*usual, "search", QUERY])
        assert result.exit_code == 0 and "Retry" in result.output
        run = statements.of_each_bank()
        assert [commits for _, commits in run.values()] == [1]
        assert max(count for count, _ in run.values()) <= MOST, statements.all


@promise("search:delivery-log")
def test_a_search_of_linked_lessons_runs_few_statements(statements: Statements, tmp_path: Path) -> None:
    with filled(tmp_path, 40) as bank:
        node = Node(id="pool", label="Event", text="the pool of connections")
        bank.graph.add([node])
        for hit in bank.search(QUERY, limit=5).memories:
            bank.memories.link(hit.id, [node.id])
    for session in "ab":
        with opened(tmp_path) as bank:
            statements.clear()
            answer = bank.search(QUERY, session=session, by="lesson", linked_to=[node.id])
            assert len(answer.delivered) == 5
            assert len(statements.all) <= MOST, statements.all
