"""Damaged files: a bank answers exactly what was recorded, or says that it is damaged; it never guesses."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy
import pytest

from durability.workload import EVERYTHING, SCOPE, Model, check_gone, check_whole, operations, read_back, vector, word
from promises import promise
from reasoningbank.errors import StoreCorrupt, StoreError
from reasoningbank.storage import vector_index as dense
from reasoningbank.storage.sqlite_file import SqliteStorage
from reasoningbank.storage.store import Store
from reasoningbank.types.recall import DENSE_LEGS
from torture_results import Tally

CORRUPTIONS = 300
TORTURE_CORRUPTIONS = 600
SETTLED_CORRUPTIONS = 100
MISDIRECTED = 40
TORTURE_MISDIRECTED = 200
OLD_OPERATIONS = 34
NEW_OPERATIONS = 14
PAGE = 4_096

Damage = Callable[[bytearray, random.Random], None]


def _flip_bit(content: bytearray, chance: random.Random) -> None:
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def _flip_early_bit(content: bytearray, chance: random.Random) -> None:
    content[chance.randrange(min(100, len(content)))] ^= 1 << chance.randrange(8)


def _zero_range(content: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(content))
    end = min(len(content), start + chance.choice((16, 512, PAGE, 5 * PAGE)))
    content[start:end] = bytes(end - start)


def _zero_page(content: bytearray, chance: random.Random) -> None:
    start = PAGE * chance.randrange(max(1, len(content) // PAGE))
    content[start : start + PAGE] = bytes(len(content[start : start + PAGE]))


def _scramble(content: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(content))
    end = min(len(content), start + 64)
    content[start:end] = chance.randbytes(end - start)


def _truncate(content: bytearray, chance: random.Random) -> None:
    del content[chance.choice((chance.randrange(len(content)), len(content) // PAGE // 2 * PAGE)) :]


def _empty(content: bytearray, chance: random.Random) -> None:
    content.clear()


def _copy_page(content: bytearray, chance: random.Random) -> None:
    """Puts one page in the place of another, as a misdirected write does."""
    pages = max(1, len(content) // PAGE)
    source, target = PAGE * chance.randrange(pages), PAGE * chance.randrange(pages)
    content[target : target + PAGE] = content[source : source + PAGE]


DAMAGES: tuple[Damage, ...] = (
    _flip_bit,
    _flip_bit,
    _flip_early_bit,
    _zero_range,
    _zero_page,
    _scramble,
    _truncate,
    _empty,
)


class Specimen:
    """A bank whose main file, write-ahead log and sidecars all hold something, and what it holds."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.directory = directory
        self.bank = directory / "bank.db"
        self.model = model = Model()
        steps = operations(seed, "c", model)
        store = SqliteStorage(self.bank).open(SCOPE)
        for number in range(OLD_OPERATIONS + NEW_OPERATIONS):
            operation, memory_id = next(steps)
            if operation == "delete" and number >= OLD_OPERATIONS:
                operation = "signal"
            with store.transaction() as transaction:
                model.perform(transaction, operation, memory_id)
            model.apply(operation, memory_id)
            if number == OLD_OPERATIONS:
                self._search(store)
                store.close()
                store = SqliteStorage(self.bank).open(SCOPE)
        self._search(store)
        self.files = {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
        store.close()

    @staticmethod
    def _search(store: Store) -> None:
        for leg in DENSE_LEGS:
            store.search.nearest(leg, vector("any", 1, leg), EVERYTHING, 1)

    def names(self, part: str) -> list[Path]:
        """The files of one part."""
        if part == "sidecar":
            return sorted(name for name in self.files if name.suffix == ".vectors")
        return [Path("bank.db" + {"main": "", "log": "-wal", "shared": "-shm"}[part])]

    def lay_out(self, directory: Path, name: Path, content: bytes) -> None:
        """Writes the bank's files into a directory, one of them with other content."""
        shutil.rmtree(directory, ignore_errors=True)
        for each, original in {**self.files, name: content}.items():
            (directory / each).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            (directory / each).write_bytes(original)


@pytest.fixture
def specimens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Specimen, Specimen]:
    """Two banks of the same scope with different content, small enough to be damaged hundreds of times."""
    monkeypatch.setattr(dense, "SNAPSHOT_MIN_ROWS", 8)
    found = Specimen(tmp_path / "first", 1), Specimen(tmp_path / "second", 2)
    assert all(len(specimen.names("sidecar")) == len(DENSE_LEGS) for specimen in found)
    assert all(len(specimen.files[Path("bank.db-wal")]) > 100_000 for specimen in found)
    return found


@promise(
    "durability:corruption",
    "Random damage to the main file, the log, the shared memory or the sidecars (foreign ones included) gives the "
    "right answer or a StoreError that names it: never a traceback, never a wrong answer, never silently a shorter "
    "history.",
    source="issue 2; spec/engineering B.2",
)
@pytest.mark.timeout(3_600)
def test_a_damaged_bank_never_gives_a_wrong_answer(
    specimens: tuple[Specimen, Specimen], tmp_path: Path, torture: bool, tally: Tally
) -> None:
    """Main file, log, shared memory and sidecars, damaged at random: the right answer, or a named defect."""
    chance = random.Random(23)
    specimen, other = specimens
    counts = {"unharmed": 0, "named": 0}
    for number in range(TORTURE_CORRUPTIONS if torture else CORRUPTIONS):
        part = ("main", "main", "log", "sidecar", "shared", "swapped")[number % 6]
        name = chance.choice(specimen.names("sidecar" if part == "swapped" else part))
        content = bytearray(specimen.files[name])
        if part == "swapped":
            content = bytearray(chance.choice([other.files[each] for each in other.names("sidecar")]))
        else:
            chance.choice(DAMAGES)(content, chance)
        specimen.lay_out(tmp_path / "damaged", name, bytes(content))
        found = _examined(tmp_path / "damaged" / "bank.db", specimen)
        counts[found] += 1
        if part in {"sidecar", "shared", "swapped"}:
            assert found == "unharmed", f"{part}: {found}"
    tally.add("corruptions", "file, log, shared memory or sidecars of a store", sum(counts.values()), **counts, wrong=0)
    assert counts["named"] > 50


@promise(
    "durability:misdirected",
    "A page written to a wrong place, which no page checksum can see, is named by the check.",
    source="spec/engineering B.2",
)
@pytest.mark.timeout(3_600)
def test_a_page_that_was_written_to_a_wrong_place_is_named_by_the_check(
    specimens: tuple[Specimen, Specimen], tmp_path: Path, torture: bool, tally: Tally
) -> None:
    """A page's checksum does not know its place: what no single read can see, the check of the whole bank sees."""
    chance = random.Random(29)
    specimen = specimens[0]
    name = specimen.names("main")[0]
    counts = {"unharmed": 0, "named": 0, "named_by_check_alone": 0}
    for _ in range(TORTURE_MISDIRECTED if torture else MISDIRECTED):
        content = bytearray(specimen.files[name])
        _copy_page(content, chance)
        specimen.lay_out(tmp_path / "damaged", name, bytes(content))
        try:
            counts[_examined(tmp_path / "damaged" / "bank.db", specimen)] += 1
        except AssertionError:
            store = SqliteStorage(tmp_path / "damaged" / "bank.db").open(SCOPE)
            assert _problems(store)
            store.close()
            counts["named_by_check_alone"] += 1
    tally.add("corruptions", "pages written to a wrong place", sum(counts.values()), **counts)


@promise(
    "durability:corruption-without-log",
    "Damage to a bank whose log another program has emptied and removed is named too: its page checksums are renewed "
    "only when every row, every index and the structure of the file are whole.",
    source="issue 13",
)
@pytest.mark.timeout(3_600)
def test_damage_after_another_program_has_closed_the_bank_is_named(
    specimens: tuple[Specimen, Specimen], tmp_path: Path, torture: bool, tally: Tally
) -> None:
    """Such a bank has stale page checksums everywhere, so that only its rows and its structure tell what is damaged."""
    chance = random.Random(31)
    specimen = specimens[0]
    settled = tmp_path / "settled"
    name = specimen.names("main")[0]
    specimen.lay_out(settled, name, specimen.files[name])
    with closing(sqlite3.connect(settled / name)) as other_program:
        other_program.execute("SELECT count(*) FROM memories").fetchone()
    assert not (settled / "bank.db-wal").exists()
    whole = (settled / name).read_bytes()
    counts = {"unharmed": 0, "named": 0}
    for _ in range(TORTURE_CORRUPTIONS if torture else SETTLED_CORRUPTIONS):
        content = bytearray(whole)
        chance.choice(DAMAGES)(content, chance)
        specimen.lay_out(tmp_path / "damaged", name, bytes(content))
        for part in ("log", "shared"):
            (tmp_path / "damaged" / specimen.names(part)[0]).unlink()
        counts[_examined(tmp_path / "damaged" / "bank.db", specimen)] += 1
    tally.add("corruptions", "a file whose log another program has emptied", sum(counts.values()), **counts, wrong=0)
    assert counts["named"] > SETTLED_CORRUPTIONS // 4


def _examined(bank: Path, specimen: Specimen) -> str:
    """Asks everything; each answer must be right or a StoreError.

    Returns:
        "unharmed" when every answer was right, "named" when an error or the check named the damage.
    """
    last = specimen.model
    try:
        store = SqliteStorage(bank).open(SCOPE)
    except StoreCorrupt:
        return "named"
    try:
        try:
            found = read_back(store)
            assert (found.versions, found.signals) == (last.versions, last.signals)
            _search_everything(store, last)
        except StoreError:
            _ask_one_by_one(store, last)
            assert _problems(store), "an error, but the check names no problem"
            return "named"
        return "named" if _problems(store) else "unharmed"
    finally:
        store.close()


def _search_everything(store: Store, state: Model) -> None:
    """The dense legs rank exactly as the vectors say; the lexical leg finds every memory."""
    for leg in DENSE_LEGS:
        query = vector("question", 1, leg)
        hits = store.search.nearest(leg, query, EVERYTHING, 1_000)
        expected = {name: float(vector(name, version, leg) @ query) for name, version in state.versions.items()}
        assert {hit.id for hit in hits} == set(expected)
        assert numpy.allclose([hit.score for hit in hits], [expected[hit.id] for hit in hits], atol=1e-5)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert {hit.id for hit in store.search.matching("common", EVERYTHING, 1_000).hits} == set(state.versions)
    for memory_id in state.deleted:
        check_gone(store, memory_id)


def _ask_one_by_one(store: Store, last: Model) -> None:
    """Where something is damaged, every single answer is still right or an error."""
    for memory_id, version in last.versions.items():
        try:
            memory = store.memories.get(memory_id)
            assert memory.version == version
            check_whole(store, memory)
            best = store.search.nearest("content", vector(memory_id, version, "content"), EVERYTHING, 1)
            assert best[0].id == memory_id
            found = store.search.matching(word(memory_id, version), EVERYTHING, 5).hits
            assert [hit.id for hit in found] == [memory_id]
        except StoreError:
            continue


def _problems(store: Store) -> tuple[str, ...]:
    try:
        return store.check().problems
    except StoreError as error:
        return (str(error),)
