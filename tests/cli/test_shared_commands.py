"""Commands that a running shared server does, and what they do without one."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy
import pytest
from numpy.typing import NDArray

from mcp_processes import shared_in
from promises import promise
from reasoningbank import Bank, Settings
from reasoningbank.integrations.shared_server import place_of
from reasoningbank.testing import HashingEmbedder
from sessions.learned_sessions import PROJECT, TENANT, rbank
from shared_servers import run_directory, running, servers_in

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="the system has no sockets in directories")

RECORD = ("record", "--title", "Retry flaky calls", "--content", "Back off.", "--outcome", "success")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the servers of a test are."""
    with run_directory() as made, shared_in(made):
        yield made


@promise(
    "cli:shared",
    "A command that needs the embedding model is done by the shared server when that runs, and prints the same, errors "
    "and exit status included; it starts none.",
    source="issue 11, Starts at once",
)
def test_a_command_is_done_by_the_running_server_and_prints_the_same(tmp_path: Path, folder: Path) -> None:
    home = tmp_path / "home"
    settings = Settings(home=home, run_directory=str(folder), paid_calls=False)
    with Bank.open(tenant=TENANT, project=PROJECT, embedder=HashingEmbedder(), settings=settings) as bank:
        known = bank.record(title="Retry flaky calls", content="Back off.", outcome="success")
    server = running(settings)
    with_server = rbank(home, "search", "retry flaky calls", "--json")
    assert with_server.returncode == 0, with_server.stderr
    found = json.loads(with_server.stdout)
    assert [each["id"] for each in found["memories"]] == [known.id]
    assert found["embedder"] == "hashing"
    again = rbank(home, "record", "--title", "Second", *RECORD[3:], "--json")
    stored = json.loads(again.stdout)
    with Bank.open(tenant=TENANT, project=PROJECT, embedder=HashingEmbedder(), settings=settings) as bank:
        assert bank.get(stored["id"]).provenance["source"] == "cli"
        assert len({bank.get(each).provenance["session"] for each in (known.id, stored["id"])}) == 2
    shown = rbank(home, "search", "retry flaky calls", "--limit", "-1")
    refused = rbank(home, "record", "--title", " ", "--content", "x", "--outcome", "success", "--json")
    server.stop()
    alone = rbank(home, "search", "retry flaky calls", "--limit", "-1")
    assert (shown.returncode, shown.stderr) == (alone.returncode, alone.stderr)
    assert refused.returncode == 2
    assert json.loads(refused.stderr)["error"] == "empty_title"
    assert folder.is_dir() and not any(folder.iterdir()), "a named directory stays, with nothing in it"


@promise("cli:shared")
def test_a_command_starts_no_server(tmp_path: Path, folder: Path) -> None:
    home = tmp_path / "home"
    assert rbank(home, *RECORD, embedder="minilm").returncode == 0
    assert "Retry flaky calls" in rbank(home, "search", "flaky calls", embedder="minilm").stdout
    assert servers_in(folder) == []


@promise(
    "cli:shared-once",
    "When the shared server ends while a command writes, the command says that it is not known whether it was done "
    "and does not do it again; one that reads does it itself.",
    source="issue 11, Starts at once",
)
@pytest.mark.parametrize("writes", [True, False])
def test_a_command_whose_server_ends_is_not_done_twice(tmp_path: Path, folder: Path, writes: bool) -> None:
    home = tmp_path / "home"
    settings = Settings(home=home, run_directory=str(folder), paid_calls=False, embedder="minilm")
    with Bank.open(tenant=TENANT, project=PROJECT, settings=settings) as bank:
        bank.record(title="Known", content="What is known.", outcome="success")
    place = place_of(settings)
    assert place is not None
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(os.fspath(place.socket))
    listener.listen(1)

    def hang_up() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1_000_000)

    thread = threading.Thread(target=hang_up)
    thread.start()
    done = rbank(home, *(RECORD if writes else ("search", "what is known")), embedder="minilm")
    thread.join(10)
    listener.close()
    with Bank.open(tenant=TENANT, project=PROJECT, settings=settings) as bank:
        assert len(bank.memories.list()) == 1
    if writes:
        assert done.returncode == 5
        assert "not known whether" in done.stderr
    else:
        assert "Known" in done.stdout


class Breaking(HashingEmbedder):
    """A user's embedder with a defect."""

    def _embed(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        raise RuntimeError(f"no vectors for {len(texts)} texts")


@promise("cli:shared-once")
def test_a_write_that_breaks_in_the_server_is_reported_and_not_done_twice(tmp_path: Path, folder: Path) -> None:
    home = tmp_path / "home"
    settings = Settings(home=home, run_directory=str(folder), paid_calls=False)
    home.mkdir(mode=0o700)
    server = running(settings, Breaking())
    broken = rbank(home, *RECORD, "--json")
    assert broken.returncode == 5
    assert "not known whether" in json.loads(broken.stderr)["message"]
    assert rbank(home, "list", "--json").stdout.count('"id"') == 0
    read = rbank(home, "search", "retry flaky calls", "--json")
    assert (read.returncode, json.loads(read.stdout)["count"]) == (0, 0)
    server.stop()
    assert rbank(home, *RECORD).returncode == 0
