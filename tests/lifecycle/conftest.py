"""Banks whose clock moves when it is told to, over the real store, and memories that an agent recorded."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reasoningbank.bank import Bank
from reasoningbank.settings import Settings
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.memory import Memory

DAY = timedelta(days=1)
MONTH = timedelta(days=30)
EXACT = 1e-9

OpenBank = Callable[..., Bank]


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that moves when it is told to."""
    return FrozenClock()


@pytest.fixture
def open_bank(tmp_path: Path, clock: FrozenClock) -> Iterator[OpenBank]:
    """Opens banks that share the data directory and the clock, and closes them."""
    opened: list[Bank] = []

    def open_one(project: str = "shop", **configured: object) -> Bank:
        bank = made(tmp_path / "home", clock, project=project, settings=configured)
        opened.append(bank)
        return bank

    yield open_one
    for bank in opened:
        bank.close()


def made(
    home: Path,
    clock: FrozenClock,
    *,
    project: str = "shop",
    url: str | None = None,
    embedder: str = "",
    settings: Mapping[str, object] | None = None,
) -> Bank:
    """A bank with these settings."""
    return Bank.open(
        url,
        tenant="acme",
        project=project,
        embedder=embedder or HashingEmbedder(64),
        settings=Settings(home=home, **(settings or {})),  # type: ignore[arg-type]  # names of settings
        clock=clock,
        chance=random.Random(7),
        session="here",
    )


def told(bank: Bank, content: str = "Retry with backoff.", **more: object) -> Memory:
    """A memory that an agent recorded: it decays."""
    fields: dict[str, object] = {"title": "A lesson", "outcome": "success", "source": "mcp", **more}
    return bank.record(content=content, **fields)  # type: ignore[arg-type]  # arguments of record


def exported(bank: Bank, directory: Path, name: str = "export.jsonl") -> str:
    """The text of the bank's export."""
    target = directory / name
    target.unlink(missing_ok=True)
    bank.admin.export(target)
    return target.read_text(encoding="utf-8")


class Git:
    """A real git repository whose commits bear the times that a test wants."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.run("init", "-q", "-b", "main", at=datetime(2026, 1, 1, tzinfo=UTC))

    def run(self, *arguments: str, at: datetime) -> str:
        """One command of git at that time."""
        moment = at.isoformat()
        done = subprocess.run(
            ["git", "-C", str(self.path), *arguments],
            env={
                "PATH": "/usr/bin:/bin:/usr/local/bin",
                "HOME": str(self.path),
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_AUTHOR_NAME": "A",
                "GIT_AUTHOR_EMAIL": "a@example.org",
                "GIT_COMMITTER_NAME": "A",
                "GIT_COMMITTER_EMAIL": "a@example.org",
                "GIT_AUTHOR_DATE": moment,
                "GIT_COMMITTER_DATE": moment,
            },
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self, text: str, *, at: datetime) -> str:
        """The full name of a new commit that changes a file of its own."""
        name = f"{len(list(self.path.glob('*.txt')))}.txt"
        (self.path / name).write_text(text, encoding="utf-8")
        self.run("add", name, at=at)
        self.run("commit", "-q", "-m", text, at=at)
        return self.run("rev-parse", "HEAD", at=at)

    def revert(self, commit: str, *, at: datetime) -> str:
        """The full name of the commit that reverts another one."""
        self.run("revert", "--no-edit", commit, at=at)
        return self.run("rev-parse", "HEAD", at=at)


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """An empty repository."""
    return Git(tmp_path / "repository")
