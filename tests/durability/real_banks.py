"""A bank as a project has it: memories, evidence, sessions, searches, documents, a graph; what it answers and holds."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from durability.whole_rows import Rows, row_pages, stored_rows
from durability.writers import bank_file, opened, recorded, word
from reasoningbank.bank import Bank
from reasoningbank.errors import BankError, MemoryNotFound
from reasoningbank.storage.sqlite_connection import checksum_vfs
from reasoningbank.testing import FrozenClock
from reasoningbank.types.document import DocumentChange
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.memory import STATES
from reasoningbank.types.session import Step, Trajectory

OLD, NEW = 40, 14

Question = Callable[[Bank], object]


@dataclass
class RealBank:
    """Hold the files of a bank that is in use, a part of it in the log, and what is known of it.

    Attributes:
        home: The data directory; nobody has it open.
        name: The bank file, relative to it.
        files: The bytes of each file, by its relative name.
        held: Every row that the bank has ever held, by table.
        last: Every row that it holds.
        pages: On which pages each row lies.
        edges: Every edge with its ends.
        questions: Everything that is asked of it.
        answers: What it answers while it is whole.
    """

    home: Path
    name: Path = field(init=False)
    files: dict[Path, bytes] = field(init=False)
    held: dict[str, set[tuple[object, ...]]] = field(default_factory=dict)
    last: Rows = field(init=False)
    pages: object = field(init=False)
    edges: set[tuple[str, str, str]] = field(default_factory=set)
    questions: Sequence[Question] = ()
    answers: Sequence[object] = ()

    def lay_out(self, home: Path, changed: dict[Path, bytes]) -> None:
        """Write the files into a directory, some of them with other bytes or, where there are none, not at all."""
        shutil.rmtree(home, ignore_errors=True)
        for name, original in self.files.items():
            contents = changed.get(name, original)
            (home / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if contents or name not in changed:
                (home / name).write_bytes(contents)


def opened_at(home: Path) -> Bank:
    """The bank, at the same time and with the same chance whenever it is asked."""
    return opened(home, clock=FrozenClock())


def made(home: Path) -> RealBank:
    """Makes such a bank."""
    found = RealBank(home)
    with opened_at(home) as bank:
        for number in range(OLD):
            recorded(bank, f"x{number}")
        for _ in _work(bank, 0):
            _remember(bank, home, found)
    file = bank_file(home)
    with closing(apsw.Connection(str(file), vfs=checksum_vfs())) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    with opened_at(home) as bank:
        for number in range(OLD, OLD + NEW):
            recorded(bank, f"x{number}")
            for _ in _work(bank, number):
                _remember(bank, home, found)
        found.files = {path.relative_to(home): path.read_bytes() for path in home.rglob("*") if path.is_file()}
    found.name = file.relative_to(home)
    found.lay_out(home, {})
    found.last, found.pages = stored_rows(file), row_pages(file)
    found.lay_out(home, {})
    with opened_at(home) as bank:
        found.questions, found.edges = _questions(bank), edges(bank)
    found.lay_out(home, {})
    with opened_at(home) as bank:
        found.answers = [answer(bank, question) for question in found.questions]
    found.lay_out(home, {})
    return found


def edges(bank: Bank) -> set[tuple[str, str, str]]:
    """Every edge of the graph with its ends."""
    return {(edge.id, edge.source, edge.target) for edge in bank._context.store().graph.edge_page(limit=0)}


def _work(bank: Bank, turn: int) -> Iterator[None]:
    """Does what a project does: edits, ratings, deletions, sessions, searches, documents, nodes; stops after each."""
    yield
    memories = bank.memories.list(limit=0)
    bank.update(memories[turn % 7].id, content=f"{memories[turn % 7].content} Seen again in turn {turn}.")
    yield
    bank.feedback(memories[(3 * turn + 1) % 20].id, helpful=bool(turn % 3))
    yield
    if turn % 4 == 0:
        bank.delete(memories[-3].id)
        yield
    steps = tuple(Step(action=f"make {number}", observation="x" * 400) for number in range(1 + turn % 4))
    bank.sessions.keep(Trajectory(id=f"t{turn}", task=f"Task {turn}", steps=steps, session=f"s{turn}"))
    yield
    bank.search(f"turn before {word(f'x{turn}')}", session=f"s{turn}")
    yield
    note = {"turn": turn, "text": "y" * 300}
    bank.documents.keep("notes", [DocumentChange(path=("a",), key=f"k{turn % 5}", value=note)])
    yield
    nodes = [Node(id=f"g{turn}-{each}", label="AgentAnswer", text=f"Answer {each} of {turn}.") for each in range(3)]
    bank.graph.add(nodes, [Edge(id=f"e{turn}", source=nodes[0].id, target=nodes[1].id, text="Explains.", weight=0.5)])
    yield


def _remember(bank: Bank, home: Path, found: RealBank) -> None:
    copy = home.with_name("copy.db")
    bank.admin.backup(copy)
    for table, rows in stored_rows(copy).items():
        found.held.setdefault(table, set()).update(rows)
    copy.unlink()


def _questions(bank: Bank) -> list[Question]:
    """Everything that a user can ask about what this bank holds."""
    ids = sorted(memory.id for memory in bank.memories.list(states=STATES, limit=0))
    sessions = sorted(entry.id for entry in bank.sessions.list())
    found: list[Question] = [
        lambda bank: bank.memories.list(states=STATES, limit=0),
        lambda bank: bank.admin.stats().by_outcome,
        lambda bank: [(entry.id, entry.judgement) for entry in bank.sessions.list()],
        lambda bank: bank.graph.list(),
        lambda bank: bank.documents.list("notes", ("a",)),
        lambda bank: bank.documents.get("notes", ("a",), "k3"),
    ]
    found += [lambda bank, one=one: bank.get(one) for one in ids]  # type: ignore[misc]
    found += [lambda bank, one=one: bank.memories.versions(one) for one in ids[::3]]  # type: ignore[misc]
    found += [lambda bank, one=one: bank.sessions.get(one) for one in sessions]  # type: ignore[misc]
    asked = [f"turn {word(f'x{number}/1')} before {word(f'x{number}')}" for number in (2, 11, OLD + 5)]
    found += [
        lambda bank, text=text: [(hit.title, hit.content) for hit in bank.search(text).memories]  # type: ignore[misc]
        for text in asked
    ]
    return found


def answer(bank: Bank, question: Question) -> object:
    """What a bank answers; an error that says what to do is None.

    Raises:
        AssertionError: When an error does not say what to do.
    """
    try:
        return question(bank)
    except MemoryNotFound as error:
        return str(error)
    except BankError as error:
        assert str(error), "an error that says nothing"
        assert error.hint, f"an error that does not say what to do: {error}"
        return None
