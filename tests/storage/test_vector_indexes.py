"""What an index of vectors beside a bank owes: the same answers, tenants apart, and no failure that a person mends."""

from __future__ import annotations

import itertools
import json
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import numpy
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.cli.app import rbank
from reasoningbank.errors import ConfigurationError, StoreUnavailable
from reasoningbank.settings import Settings, absolute_url, shown_url, split_vectors
from reasoningbank.storage import open_storage
from reasoningbank.storage.index_port import INDEX, NO_HEAD, BankPlace, Head, Near, Point, VectorIndex
from reasoningbank.storage.indexed import Beside, close_indexes, index_of
from reasoningbank.storage.sqlite_memory import ProcessStorage
from reasoningbank.storage.store import Store
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.memory import STATES, Memory
from reasoningbank.types.moment import LATEST
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import CONTENT_LEG, DESCRIPTION_LEG, Filter
from reasoningbank.types.records import Indexed, Pool
from reasoningbank.types.scope import Scope
from storage.contract import ADVERSARIAL_NAMES
from storage.contract.base import EVERYTHING, START, fill, lesson
from storage.settled import SettledStorage
from vector_servers import QdrantServer, milvus_lite, proxied, shared_qdrant

_numbers = itertools.count()
WIDTH = 16
SCORES = 1e-3
TAGS = ("plain", 'a" or tenant != "', "\\", "kiwi and true", "日本")
MINE, THEIRS = Scope(tenant="acme", project="shop"), Scope(tenant="acme", project="other")


@pytest.fixture(params=["qdrant", "milvus"])
def vectors(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an index that nobody else uses."""
    return index_url(request.param, tmp_path)


def index_url(engine: str, folder: Path) -> str:
    """The URL of a new index."""
    if engine == "qdrant":
        return f"{shared_qdrant().url}/own{next(_numbers)}"
    milvus_lite()
    return f"milvus:///{quote(str(folder))}/own-{next(_numbers)}.db"


def opened(folder: Path, vectors: str, scope: Scope = MINE) -> Store:
    """The store of a scope whose index has to be brought up to date by its job."""
    return open_storage(f"sqlite:///{folder}/banks", home=folder, vectors=vectors).open(scope)


def beside(store: Store) -> Beside:
    """What keeps its index."""
    assert isinstance(store.index, Beside)
    return store.index


def place(scope: Scope = MINE) -> BankPlace:
    """Where a bank lies in an index."""
    return BankPlace(scope, WIDTH)


def memories(count: int, seed: int = 1) -> list[tuple[Memory, Indexed]]:
    """Memories of all kinds with vectors in clusters."""
    numbers = numpy.random.default_rng(seed)
    middles = numbers.normal(size=(5, WIDTH))
    found = []
    for number in range(count):
        derived: dict[str, Vector] = {CONTENT_LEG: unit(middles[number % 5] + numbers.normal(size=WIDTH))}
        if number % 3:
            derived[DESCRIPTION_LEG] = unit(numbers.normal(size=WIDTH))
        memory = lesson(
            f"m{number}",
            description="when it rains" if number % 3 else "",
            state=STATES[number % len(STATES)],
            outcome="success" if number % 2 else "failure",
            category=("", "network", 'x" or true')[number % 3],
            tags=tuple(TAGS[each] for each in range(len(TAGS)) if number >> each & 1),
        )
        found.append((memory, Indexed(text="rain", model_id="random/16", vectors=derived)))
    return found


def unit(row: numpy.typing.NDArray[numpy.float64]) -> Vector:
    """The row at length 1."""
    found: Vector = (row / numpy.linalg.norm(row)).astype(numpy.float32)
    return found


FILTERS = st.builds(
    Filter,
    states=st.lists(st.sampled_from(STATES), min_size=1, unique=True).map(tuple),
    outcome=st.sampled_from([None, "success", "failure"]),
    tags=st.lists(st.sampled_from(TAGS), max_size=2, unique=True).map(tuple),
    category=st.sampled_from([None, "network", 'x" or true', "absent"]),
    categories=st.sampled_from([None, (), ("", "network")]),
    consolidated=st.sampled_from([None, False, True]),
    min_confidence=st.sampled_from([None, 0.5, 0.51]),
    below_confidence=st.sampled_from([None, 0.5, 0.51]),
    created_after=st.sampled_from([None, START.replace(microsecond=0), lesson("m20").created_at]),
    created_before=st.sampled_from([None, lesson("m30").created_at]),
)


@promise(
    "vectors:same-answers",
    "With an index of vectors in Qdrant or Milvus a search gives the same memories for the same filters as without "
    "one, with the same scores to a thousandth.",
    source="issue 15 Hypothesis",
)
@pytest.mark.parametrize("engine", ["qdrant", "milvus"])
def test_engines_give_the_same_ids_and_scores_for_the_same_filters(
    engine: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("engines")
    with closing(ProcessStorage().open(MINE)) as exact, closing(opened(folder, index_url(engine, folder))) as store:
        for each in (exact, store):
            fill(each, memories(120))
        beside(store).follow()
        recalls: list[float] = []

        @settings(max_examples=40, suppress_health_check=list(HealthCheck))
        @given(condition=FILTERS, seed=st.integers(0, 99), limit=st.sampled_from([1, 10, 200]))
        def alike(condition: Filter, seed: int, limit: int) -> None:
            query = unit(numpy.random.default_rng(seed).normal(size=WIDTH))
            for leg in (CONTENT_LEG, DESCRIPTION_LEG):
                wanted = exact.search.nearest(leg, query, condition, limit)
                found = store.search.nearest(leg, query, condition, limit)
                assert [each.id for each in found] == [each.id for each in wanted]
                assert numpy.allclose([e.score for e in found], [e.score for e in wanted], atol=SCORES)
                named = near(index(store), leg, query, condition, 10)
                ten = {each.id for each in exact.search.nearest(leg, query, condition, 10)}
                if ten:
                    recalls.append(len({f"m{key - 1}" for key in named} & ten) / len(ten))
            pools = [Pool(condition=condition, dense=10, lexical=10)]
            assert [dense(each.dense) for each in store.search.candidates(query, "rain", pools)] == [
                dense(each.dense) for each in exact.search.candidates(query, "rain", pools)
            ]

        alike()
        assert sum(recalls) / len(recalls) >= 0.98
        assert beside(store).usable and not beside(store).failure


def dense(legs: object) -> object:
    """The scores of the legs, rounded."""
    assert hasattr(legs, "items")
    return {leg: {name: round(score, 3) for name, score in scores.items()} for leg, scores in legs.items()}


def index(store: Store) -> VectorIndex:
    """The index beside a store."""
    return beside(store).index


def near(found: VectorIndex, leg: str, query: Vector, condition: Filter, limit: int, scope: Scope = MINE) -> list[int]:
    """The keys that an index names."""
    _, [named] = found.near(place(scope), [Near(leg=leg, vector=query, condition=condition, limit=limit)])
    return list(named.keys)


@promise(
    "vectors:queue",
    "A change of a memory and the job that takes it to the index of vectors are one transaction; until the job is done "
    "a search compares what was changed itself.",
    source="issue 15 Qdrant and Milvus",
)
def test_a_change_and_its_job_are_written_together_and_found_at_once(tmp_path: Path, vectors: str) -> None:
    with closing(opened(tmp_path, vectors)) as store:
        with pytest.raises(RuntimeError), store.transaction() as transaction:
            transaction.memories.insert(*memories(1)[0])
            raise RuntimeError
        assert not store.jobs.waiting(due=LATEST)
        known = memories(40)
        fill(store, known)
        assert [job.kind for job in store.jobs.waiting(due=LATEST)] == [INDEX]
        query = known[7][1].vectors[CONTENT_LEG]
        assert index(store).head(place()) == NO_HEAD
        assert store.search.nearest(CONTENT_LEG, query, EVERYTHING, 1)[0].id == "m7"
        report = beside(store).follow()
        assert (report.memories, report.written, report.removed) == (40, 40, 0)
        assert not beside(store).behind()
        with store.transaction() as transaction:
            transaction.memories.delete("m7")
            transaction.memories.update_state(replace(known[8][0], state="archived"))
        assert "m7" not in [each.id for each in store.search.nearest(CONTENT_LEG, query, EVERYTHING, 40)]
        archived = Filter(states=("archived",))
        assert "m8" in [each.id for each in store.search.nearest(CONTENT_LEG, query, archived, 40)]
        report = beside(store).follow()
        assert (report.memories, report.written, report.removed) == (39, 1, 1)
        assert 8 not in dict(index(store).stamps(place()))


@promise(
    "vectors:converges",
    "A process that is killed between writing to the bank and to its index, or in the middle of the index, leaves "
    "nothing that the next run of the job does not put right.",
    source="issue 15 a crash between the two writes converges",
)
@pytest.mark.parametrize("written", [0, 25, 50])
def test_a_crash_between_the_two_writes_converges(
    tmp_path: Path, vectors: str, written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(opened(tmp_path, vectors)) as store:
        fill(store, memories(30))
        beside(store).follow()
        with store.transaction() as transaction:
            for memory, derived in memories(50, seed=2)[20:]:
                if int(memory.id[1:]) < 30:
                    transaction.memories.update(memory, derived)
                else:
                    transaction.memories.insert(memory, derived)
        real = index(store).put

        def killed(where: BankPlace, points: list[Point]) -> None:
            real(where, points[:written])
            raise StoreUnavailable("killed")

        with monkeypatch.context() as patched:
            patched.setattr(index(store), "put", killed)
            with pytest.raises(StoreUnavailable):
                beside(store).follow()
    with closing(opened(tmp_path, vectors)) as store, closing(ProcessStorage().open(MINE)) as exact:
        fill(exact, memories(30)[:20] + memories(50, seed=2)[20:])
        for _ in range(2):
            query = memories(50, seed=2)[40][1].vectors[CONTENT_LEG]
            wanted = [each.id for each in exact.search.nearest(CONTENT_LEG, query, EVERYTHING, 50)]
            assert [each.id for each in store.search.nearest(CONTENT_LEG, query, EVERYTHING, 50)] == wanted
            beside(store).follow()
        assert beside(store).reconcile().written == 0


@promise("vectors:reconcile")
def test_a_comparison_finds_what_others_have_changed_in_the_index(tmp_path: Path, vectors: str) -> None:
    with closing(opened(tmp_path, vectors)) as store:
        fill(store, memories(30))
        beside(store).follow()
        stranger = Point(
            key=999, stamp="", fields=_fields(), lesson="", context="", vectors={CONTENT_LEG: unit(numpy.ones(WIDTH))}
        )
        index(store).put(place(), [stranger])
        index(store).remove(place(), [3, 4])
        report = beside(store).reconcile()
        assert (report.memories, report.written, report.removed) == (30, 2, 1)


def _fields(**changes: object) -> dict[str, str | int | float | bool | list[str]]:
    fields: dict[str, str | int | float | bool | list[str]] = {
        "state": "active",
        "outcome": "success",
        "category": "",
        "consolidated": False,
        "confidence": 0.9,
        "created": 0,
        "tags": [],
        "standing": "vouched",
        "link_nodes": [],
    }
    fields.update(changes)  # type: ignore[arg-type]  # values of those types
    return fields


@promise(
    "vectors:tenants-apart",
    "In a collection that many tenants share no name, tag, identifier or payload of one tenant reaches what another "
    "one has, and the index shows nothing that the bank itself does not hold.",
    source="issue 15 Isolation",
)
@pytest.mark.parametrize("engine", ["qdrant", "milvus"])
def test_a_forged_tenant_reaches_nothing_of_another_one(engine: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("forged")
    url = index_url(engine, folder)
    names = st.sampled_from([*ADVERSARIAL_NAMES, "acme", 'acme" or tenant != "', "acme' OR 1=1 --", "*"]) | st.text(
        min_size=1, max_size=20
    ).filter(lambda name: bool(name.strip()) and name.isprintable())
    with closing(opened(folder, url)) as store:
        known = memories(20)
        fill(store, known)
        beside(store).follow()
        before = dict(index(store).stamps(place()))
        query = known[0][1].vectors[CONTENT_LEG]

        @settings(max_examples=25, suppress_health_check=list(HealthCheck))
        @given(tenant=names, project=names, tag=names, key=st.integers(1, 25))
        def apart(tenant: str, project: str, tag: str, key: int) -> None:
            if not (tenant.strip() and project.strip()) or (tenant, project) == (MINE.tenant, MINE.project):
                return
            scope = Scope(tenant=tenant, project=project)
            # A payload that claims to be of another tenant, under a key that the other bank has too.
            forged = _fields(tags=[tag], tenant=place().tenant, bank=place().bank)
            if engine == "milvus":
                forged = _fields(tags=[tag])
            point = Point(key=key, stamp="x", fields=forged, lesson=tag, context=tag, vectors={CONTENT_LEG: query})
            theirs = place(scope)
            index(store).put(theirs, [point])
            index(store).put_head(theirs, Head("forged", 2**40))
            asking = Filter(states=STATES, tags=(tag,))
            assert near(index(store), CONTENT_LEG, query, asking, 50, scope) == [key]
            tagged = {number + 1 for number, (memory, _) in enumerate(known) if tag in memory.tags}
            assert set(near(index(store), CONTENT_LEG, query, asking, 50)) == tagged
            assert index(store).head(place()) != Head("forged", 2**40)
            index(store).remove(theirs, [key])
            index(store).drop(theirs)
            assert dict(index(store).stamps(place())) == before

        apart()
        # What has been written straight into the bank's own place names nothing that the bank does not hold.
        wanted = [each.id for each in store.search.nearest(CONTENT_LEG, query, Filter(), 50)]
        lies = [
            Point(key=key, stamp="", fields=_fields(), lesson="", context="", vectors={CONTENT_LEG: query})
            for key in (3, 4, 999)
        ]
        index(store).put(place(), lies)
        assert [each.id for each in store.search.nearest(CONTENT_LEG, query, Filter(), 50)] == wanted


def bank_url(folder: Path, vectors: str) -> str:
    """The URL of banks with an index."""
    return f"sqlite:///{folder}/banks?vectors={quote(vectors, safe='')}"


def a_bank(folder: Path, vectors: str) -> Bank:
    """A bank as a user opens it."""
    return Bank.open(
        bank_url(folder, vectors),
        tenant="acme",
        project="shop",
        embedder=HashingEmbedder(),
        settings=Settings(home=folder),
    )


def _record(bank: Bank, number: int) -> None:
    bank.record(
        title=f"Retry the parcel service number {number}",
        content=f"The parcel service number {number} drops connections: retry with backoff.",
        outcome="success",
    )


@promise(
    "vectors:down",
    "When the index of vectors does not answer, a search compares the vectors of the bank and says so in a warning; it "
    "is no error, and nothing that was written is lost.",
    source="issue 15 when the index is down",
)
def test_a_killed_server_costs_a_warning_and_the_index_recovers_by_itself(tmp_path: Path) -> None:
    server = QdrantServer()
    try:
        with a_bank(tmp_path, f"{server.url}?timeout=1") as bank:
            for number in range(4):
                _record(bank, number)
            assert bank.jobs.work().done
            answer = bank.search("retry the parcel service number 2")
            assert answer.count and not answer.warnings
            server.kill()
            _record(bank, 4)
            answer = bank.search("retry the parcel service number 4")
            assert "number 4" in answer.memories[0].title
            assert len(answer.warnings) == 1 and "compared without its index" in answer.warnings[0]
            assert bank.jobs.work().postponed == 1
            server.start()
            assert bank.jobs.work().done
            report = bank.jobs.reconcile_vectors()
            assert (report.memories, report.written) == (5, 0)
            answer = bank.search("retry the parcel service number 4")
            assert "number 4" in answer.memories[0].title and not answer.warnings
    finally:
        server.stop()


@promise(
    "vectors:deleted",
    "An index of vectors that somebody has deleted is made again by the background work, and searches miss nothing "
    "meanwhile.",
    source="issue 15 Faults",
)
def test_a_deleted_index_is_made_again_by_the_background_work(tmp_path: Path, vectors: str) -> None:
    with a_bank(tmp_path, vectors) as bank:
        for number in range(4):
            _record(bank, number)
        bank.jobs.work()
        width = bank.embedder.dimension
        found, where = index_of(vectors), BankPlace(Scope(tenant="acme", project="shop"), width)
        assert len(dict(found.stamps(where))) == 4
        if vectors.startswith("qdrant"):
            collection = f"{vectors.removeprefix('qdrant+').rpartition('/')[0]}/collections/"
            collection += f"{vectors.rpartition('/')[2]}_{width}"
            urllib.request.urlopen(urllib.request.Request(collection, method="DELETE")).read()
        else:
            found.drop(where)
        assert "number 3" in bank.search("retry the parcel service number 3").memories[0].title
        assert bank.jobs.work().done
        assert len(dict(found.stamps(where))) == 4


@promise("vectors:down")
def test_a_network_that_is_cut_holds_no_search_for_long(tmp_path: Path) -> None:
    with proxied(shared_qdrant().port) as proxy:
        url = f"qdrant+http://127.0.0.1:{proxy.port}/cut{next(_numbers)}?timeout=0.4"
        with a_bank(tmp_path, url) as bank:
            _record(bank, 1)
            bank.jobs.work()
            assert not bank.search("retry the parcel service").warnings
            proxy.cut()
            begun = time.monotonic()
            answers = [bank.search("retry the parcel service") for _ in range(5)]
            assert time.monotonic() - begun < 3.0
            assert all(answer.count == 1 and answer.warnings for answer in answers)
            proxy.mend()
            bank.jobs.work()
            assert bank.jobs.reconcile_vectors().memories == 1
            assert not bank.search("retry the parcel service").warnings


@promise("vectors:converges")
def test_a_restored_bank_is_compared_anew(tmp_path: Path, vectors: str) -> None:
    place_ = SettledStorage(open_storage(f"sqlite:///{tmp_path}/banks", home=tmp_path, vectors=vectors))
    with closing(place_.open(MINE)) as store:
        fill(store, memories(10))
        store.backup(tmp_path / "backup")
        with store.transaction() as transaction:
            transaction.memories.update(*memories(10, seed=9)[2])
            transaction.memories.insert(*memories(12, seed=9)[11])
    place_.restore(MINE, tmp_path / "backup")
    with closing(place_.open(MINE)) as store:
        assert beside(store).behind()
        beside(store).follow()
        query = memories(10)[2][1].vectors[CONTENT_LEG]
        assert near(index(store), CONTENT_LEG, query, EVERYTHING, 1) == [3]
        assert len(dict(index(store).stamps(place()))) == 10


@promise(
    "vectors:reconcile",
    "`rbank vectors reconcile` compares every memory with the index and makes the index equal to the bank.",
    source="issue 15 rbank vectors reconcile",
)
def test_the_command_reconciles_and_says_what_it_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = index_url("qdrant", tmp_path)
    with a_bank(tmp_path, url) as bank:
        _record(bank, 1)
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path))
    monkeypatch.setenv("REASONINGBANK_URL", f"sqlite:///{tmp_path}/banks")
    command = ["vectors", "reconcile", "--tenant", "acme", "--project", "shop"]
    refused = CliRunner().invoke(rbank, [*command, "--json"])
    assert "REASONINGBANK_VECTORS" in refused.output
    monkeypatch.setenv("REASONINGBANK_VECTORS", url)
    done = CliRunner().invoke(rbank, [*command, "--json"])
    answer = json.loads(done.stdout)
    assert (answer["memories"], answer["written"], answer["removed"]) == (1, 1, 0)
    assert "1 memory, as the bank does: 0 written" in CliRunner().invoke(rbank, command).stdout


@promise(
    "vectors:urls",
    "The URL of an index of vectors may stand beside or inside the URL of the banks; a wrong one is refused, and its "
    "key is never shown.",
    source="issue 15 by REASONINGBANK_VECTORS or ?vectors= in the URL",
)
def test_the_urls_of_indexes_are_read_and_shown_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert split_vectors("postgresql://h/d?vectors=qdrant%2Bhttp://q:1&sslmode=require") == (
        "postgresql://h/d?sslmode=require",
        "qdrant+http://q:1",
    )
    assert split_vectors("sqlite:///x.db?vectors=qdrant+http://q:1") == ("sqlite:///x.db", "qdrant+http://q:1")
    assert split_vectors(absolute_url("sqlite:///x?vectors=milvus:///v.db")) == (
        f"sqlite:///{tmp_path}/x",
        "milvus:///v.db",
    )
    assert shown_url("sqlite:///x?vectors=qdrant+http://:key@q:1") == "sqlite:///x?vectors=qdrant+http://q:1"
    for wrong in ("qdrant://q", "qdrant+http:///x", "milvus://h/x", "qdrant+http://q?other=1", "qdrant+http://q/a b"):
        with pytest.raises(ConfigurationError):
            index_of(wrong)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    close_indexes()
