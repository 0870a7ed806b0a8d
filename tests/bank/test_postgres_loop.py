"""The daily loop of a bank, from the first record to a restored backup, over a real PostgreSQL."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from postgres_servers import shared_server
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.graph import Edge, Node
from sessions.made_lessons import solved

TITLE, TASK = "Retry a flaky network call", "a network call is flaky, retry it"


@pytest.fixture
def url() -> Iterator[str]:
    """An empty database for banks."""
    with shared_server().place() as place:
        yield place


def bank_at(url: str | None, home: Path) -> Bank:
    """The bank of one project."""
    return Bank.open(
        url, tenant="acme", project="shop", session="s1", embedder=HashingEmbedder(), settings=Settings(home=home)
    )


@promise(
    "postgres:loop",
    "The daily loop of a bank is the same over PostgreSQL: record, search, briefing, feedback, outcome, capture, jobs, "
    "graph, export, check, and a backup that goes from one engine to the other and back.",
    source="issue 15 It must show",
)
def test_the_daily_loop_over_postgresql(url: str, tmp_path: Path) -> None:
    with bank_at(url, tmp_path) as bank:
        kept = bank.record(
            title=TITLE,
            description="When a network call fails now and then.",
            content="Retry the call three times and wait longer each time.",
            outcome="success",
            tags=["network"],
        )
        found = bank.search(TASK)
        assert [hit.id for hit in found.memories] == [kept.id]
        assert TITLE in bank.briefing(TASK, session="s2").text
        assert bank.feedback(kept.id, helpful=True).new_confidence > kept.confidence
        before = bank.get(kept.id).confidence
        assert bank.outcome(kept.id, succeeded=True, session="s2").new_confidence >= before
        assert bank.update(kept.id, title="Retry a flaky call").version == 2
        assert bank.memories.list(order="changed")[0].id == kept.id
        assert [move.id for move in bank.memories.news("2020-01-01").moves] == [kept.id]
        assert {one.session for one in bank.memories.meetings(kept.id)} == {"s1", "s2"}
        assert (bank.quarantine.review().waiting, bank.curation.merges()) == (0, ())
        assert not bank.sessions.keep(solved("s3", "Repair the purple tractor")).duplicate
        assert bank.sessions.keep(solved("s3", "Repair the purple tractor")).duplicate
        assert bank.jobs.work().buried == 0
        nodes = [Node(id=name, label="UserRequest", text=f"word{name}", conv_id="talk") for name in "abc"]
        bank.graph.add(nodes, [Edge(id="ab", source="a", target="b", text="Leads to it.", weight=0.9)])
        bank.jobs.work()
        assert "a" in {hit.node.id for hit in bank.graph.search("worda").seeds}
        assert bank.admin.export(tmp_path / "shop.jsonl") >= 1
        assert bank.admin.check().problems == ()
        copy = bank.admin.backup(tmp_path / "shop.db")
        saved = (bank.get(kept.id), bank.graph.size(), [hit.id for hit in bank.search(TASK).memories])
        gone = bank.record(title="A mistake", content="It should not have been stored.", outcome="failure")
        bank.admin.restore(copy)
        [replaced] = (tmp_path / "backups").rglob("*.before-restore-*")
        assert b"should not have been stored" in replaced.read_bytes()
        assert b"purple tractor" in bank.admin.backup().read_bytes()
        bank.admin.erase(session="s3")
        copies = [file for file in (tmp_path / "backups").rglob("*") if file.is_file()]
        assert len(copies) == 2
        assert not [file for file in copies if b"purple tractor" in file.read_bytes()]
        bank.admin.restore(copy)
        assert gone.id not in {memory.id for memory in bank.memories.list()}
        assert (bank.get(kept.id), bank.graph.size(), [hit.id for hit in bank.search(TASK).memories]) == saved
    with bank_at(None, tmp_path / "files") as files:
        files.admin.restore(copy)
        assert files.get(kept.id) == saved[0]
        assert files.admin.check().problems == ()
        back = files.admin.backup(tmp_path / "back.db")
    with bank_at(url, tmp_path) as bank:
        bank.admin.restore(back)
        assert bank.get(kept.id) == saved[0]
        assert bank.admin.check().problems == ()


@promise("postgres:loop")
def test_commands_keep_banks_in_postgresql(url: str, tmp_path: Path) -> None:
    def said(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "reasoningbank.cli", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "REASONINGBANK_URL": url, "REASONINGBANK_TENANT": "t"},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    said("record", "--outcome", "success", "--title", TITLE, "--content", "Retry the call three times.")
    assert TITLE in said("search", TASK)
    assert json.loads(said("search", TASK, "--json"))["count"] == 1
    facts = said("doctor")
    assert "in order" in facts
    assert "reasoningbank_prepared" not in facts, "whoever reads facts need not know the role or its password"
    assert not list(tmp_path.rglob("*.db"))
