"""Banks carried between places and engines, and what the command says of them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from many_servers import rbank
from mcp_processes import clean_environment
from postgres_servers import shared_server
from promises import promise
from reasoningbank.errors import StoreCorrupt
from reasoningbank.storage import open_storage
from reasoningbank.storage.migration import STEPS, BankMigration
from reasoningbank.storage.store import Storage
from reasoningbank.types.memory import Memory
from reasoningbank.types.scope import Scope
from storage.contract.base import EVERYTHING, fill, indexed, lesson

SCOPES = (
    Scope(tenant="acme", project="shop"),
    Scope(tenant="acme", project="shop", level="team"),
    Scope(tenant="acme", project="n\u00efve \U0001f95d 'quoted'"),
)


@pytest.fixture
def places(tmp_path: Path) -> Iterator[list[str]]:
    """A directory of banks with three scopes of acme and one of another tenant, a database, and another directory."""
    (tmp_path / "home").mkdir()
    for scope in (*SCOPES, Scope(tenant="evil", project="shop")):
        with closing(opened(f"sqlite:///{tmp_path}/one").open(scope)) as store:
            fill(store, [(of(scope, number), indexed("kiwi \x00 \x01")) for number in range(12)])
            with store.transaction() as transaction:
                transaction.memories.delete("m3")
    with shared_server().place() as url:
        yield [f"sqlite:///{tmp_path}/one", url, f"sqlite:///{tmp_path}/two"]


def of(scope: Scope, number: int) -> Memory:
    """A memory of a scope."""
    return replace(lesson(f"m{number}"), project=scope.project)


def opened(url: str) -> Storage:
    """The banks of a place."""
    return open_storage(url, home=Path("unused"))


def ids(url: str, scope: Scope) -> list[str]:
    """The memories of a bank."""
    with closing(opened(url).open(scope)) as store:
        assert store.check().problems == ()
        assert store.search.matching("kiwi", EVERYTHING, 99).documents == 11
        return [memory.id for memory in store.memories.page(EVERYTHING, limit=0, offset=0)]


@promise(
    "migrate:any-engines",
    "`rbank migrate FROM TO` carries all banks of a tenant, projects, teams and orgs, between files and PostgreSQL, "
    "and counts and checksums of every table are the same at both ends; begun again it passes over what has arrived.",
    source="issue 15 Moving",
)
def test_banks_are_carried_to_another_engine_and_back(tmp_path: Path, places: list[str]) -> None:
    home = tmp_path / "home"
    sums = []
    for source, target in (places[:2], places[1:]):
        said = rbank(home, "migrate", source, target)
        assert {bank["status"] for bank in said["banks"]} == {"copied"}
        assert [(bank["level"], bank["project"]) for bank in said["banks"]] == [
            (scope.level, scope.project) for scope in opened(source).scopes("acme")
        ]
        assert len(said["banks"]) == len(SCOPES)
        again = rbank(home, "migrate", source, target)
        assert {bank["status"] for bank in again["banks"]} == {"there"}
        assert [bank["sha256"] for bank in again["banks"]] == [bank["sha256"] for bank in said["banks"]]
        sums.append([(bank["rows"], bank["sha256"]) for bank in said["banks"]])
        for scope in SCOPES:
            assert ids(target, scope) == ids(source, scope)
    assert sums[0] == sums[1]
    assert opened(places[2]).scopes("evil") == []


@promise(
    "migrate:not-lost",
    "A migration does not write over another bank of the same name unless told to, and one that was killed is finished "
    "by running it again; what arrives otherwise than it was is an error.",
    source="issue 15 Moving",
)
def test_a_migration_writes_over_nothing_and_goes_on_after_a_kill(tmp_path: Path, places: list[str]) -> None:
    home, source, target = tmp_path / "home", places[0], places[1]
    with closing(opened(target).open(SCOPES[0])) as store:
        fill(store, [lesson("theirs")])
    refused = rbank(home, "--project", "shop", "migrate", source, target, status=2)
    assert "--replace" in refused["hint"]
    with closing(opened(target).open(SCOPES[0])) as store:
        assert [memory.id for memory in store.memories.page(EVERYTHING, limit=0, offset=0)] == ["theirs"]
    assert rbank(home, "--project", "shop", "migrate", source, target, "--replace")["banks"][0]["status"] == "copied"
    words = ("--tenant", "acme", "migrate", source, target)
    for delay in (0.3, 0.6, 0.9):
        process = subprocess.Popen(
            [sys.executable, "-m", "reasoningbank.cli", *words], env=clean_environment(home), stderr=subprocess.DEVNULL
        )
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(rbank(home, "migrate", source, target)["banks"]) == len(SCOPES)
    for scope in SCOPES:
        assert ids(target, scope) == ids(source, scope)
    rbank(home, "--project", "none", "migrate", source, target, status=3)
    rbank(home, "migrate", source, source, status=2)


class Lossy:
    """A place that loses a memory of each bank that is restored there."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def restore(self, scope: Scope, source: Path) -> None:
        """Restores, and forgets a rating of nothing but the eleventh memory."""
        self._storage.restore(scope, source)
        with closing(self._storage.open(scope)) as store, store.transaction() as transaction:
            transaction.memories.delete("m11")


@promise("migrate:not-lost")
def test_a_bank_that_arrives_otherwise_is_an_error(tmp_path: Path) -> None:
    source, target = opened(f"sqlite:///{tmp_path}/one"), opened(f"sqlite:///{tmp_path}/two")
    with closing(source.open(SCOPES[0])) as store:
        fill(store, [(lesson(f"m{number}"), indexed("kiwi")) for number in range(12)])
    steps: list[int] = []
    with pytest.raises(StoreCorrupt, match="memories"):
        BankMigration(source, Lossy(target)).carry(SCOPES[0])
    BankMigration(source, target, replace=True).carry(SCOPES[0], lambda: steps.append(1))
    assert len(steps) == STEPS


@promise(
    "migrate:progress", "`rbank migrate` draws a progress bar on a terminal, on stderr alone.", source="issue 15 Moving"
)
def test_a_terminal_shows_how_far_it_is(tmp_path: Path) -> None:
    with closing(opened(f"sqlite:///{tmp_path}/one").open(SCOPES[0])) as store:
        fill(store, [(lesson("m1"), indexed("kiwi"))])
    pty = pytest.importorskip("pty")
    terminal, end = pty.openpty()
    words = ("--tenant", "acme", "migrate", f"sqlite:///{tmp_path}/one", f"sqlite:///{tmp_path}/two")
    done = subprocess.run(
        [sys.executable, "-m", "reasoningbank.cli", *words],
        env=clean_environment(tmp_path / "home"),
        stdout=subprocess.PIPE,
        stderr=end,
        check=True,
        timeout=60,
    )
    os.close(end)
    shown = os.read(terminal, 65_536).decode()
    os.close(terminal)
    assert re.findall(r"migrating \[[#-]{30}\] (\d)/4", shown) == ["1", "2", "3", "4"]
    assert re.fullmatch(r"project shop: \d+ rows, copied and compared\n", done.stdout.decode())
