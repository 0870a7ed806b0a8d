"""Consolidation from outside: the command line and the tool, with their defaults, fields and errors."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from promises import promise
from reasoningbank.aio import AsyncBank
from reasoningbank.bank import Bank
from reasoningbank.cli.app import rbank
from reasoningbank.mcp.banks import Banks
from reasoningbank.mcp.calls import Caller
from reasoningbank.mcp.schemas import tools_by_profile
from reasoningbank.mcp.tools import Tools
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.consolidation import ConsolidationOptions

CONSOLIDATE = tools_by_profile()["curation"]["memory_consolidate"]
PROFILES = tools_by_profile()

PAIR = (
    "When a network call fails now and then, retry it with exponential backoff and jitter, at most five times.",
    "A network call that fails now and then should be retried with exponential backoff and jitter, five times.",
)
FIELDS = {"created_memories", "archived_memories", "skipped_count", "total_processed", "duration_seconds"}
CALLER = Caller(tenant="acme", session="s")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory for the command line, without any model."""
    directory = tmp_path / "home"
    for name, value in {"HOME": str(directory), "TENANT": "acme", "PROJECT": "shop", "LLM": ""}.items():
        monkeypatch.setenv(f"REASONINGBANK_{name}", value)
    return directory


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Tools]:
    """The tools of the profile over a bank with a pair of memories."""
    home = tmp_path / "home"
    with Bank.open(
        tenant="acme",
        project="shop",
        embedder=HashingEmbedder(256),
        settings=Settings(home=home),
        chance=random.Random(1),
    ) as bank:
        for text in ("Close the file before it is moved away", "Close the file before it is moved"):
            bank.record(title="A lesson", content=text, outcome="success")
    made = Tools(Banks(Settings(home=home), project="shop", embedder=HashingEmbedder(256)), profile="curation")
    yield made
    made.close()


def answered(result: Result) -> dict[str, Any]:
    """The JSON object of a command that went well."""
    assert result.exit_code == 0, result.output + result.stderr
    fields: dict[str, Any] = json.loads(result.stdout)
    return fields


def run(*arguments: str) -> Result:
    """A command."""
    return CliRunner().invoke(rbank, [*arguments, "--json"])


@promise(
    "consolidating:cli",
    "rbank consolidate and rbank undo have the promised options, fields and errors.",
    source="issue 4",
)
@promise("consolidating:reviewed-scenario")
def test_the_command_line_consolidates_and_undoes(home: Path, tmp_path: Path) -> None:
    ids = [
        answered(run("record", "--title", "Retry", "--content", text, "--outcome", "success"))["id"] for text in PAIR
    ]
    exports = [tmp_path / "before", tmp_path / "after"]
    answered(run("export", str(exports[0])))
    dry = answered(run("consolidate", "--dry-run"))
    assert dry.keys() >= FIELDS
    assert (dry["created_memories"], set(dry["archived_memories"])) == (["dry-run-cluster-1"], set(ids))
    assert answered(run("consolidate", "--threshold", "1.0", "--dry-run"))["total_processed"] == 0
    done = answered(run("consolidate", "--max-clusters", "1"))
    assert (len(done["created_memories"]), done["skipped_count"], done["total_processed"]) == (1, 0, 2)
    assert done["duration_seconds"] > 0
    window = run("consolidate")
    assert answered(window)["total_processed"] == 0
    assert "window" in window.stderr
    assert answered(run("consolidate", "--force"))["total_processed"] == 0
    undone = answered(run("undo", done["created_memories"][0]))
    assert set(undone["restored_memories"]) == set(ids)
    answered(run("export", str(exports[1])))
    assert exports[0].read_bytes() == exports[1].read_bytes()
    shown = CliRunner().invoke(rbank, ["consolidate", "--force"])
    assert "1 created of 2 archived" in shown.stdout


@promise("consolidating:cli")
@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (("consolidate", "--threshold", "1.5"), 2, "invalid_input"),
        (("consolidate", "--threshold", "nan"), 2, "invalid_input"),
        (("consolidate", "--max-clusters", "-1"), 2, "invalid_input"),
        (("undo", "nobody"), 3, "memory_not_found"),
        (("undo",), 2, "usage"),
    ],
)
def test_what_the_command_line_refuses(home: Path, arguments: tuple[str, ...], status: int, error: str) -> None:
    result = run(*arguments)
    assert result.exit_code == status
    assert json.loads(result.stderr)["error"] == error


@promise("contextd:65", "The consolidation tool has its defaults and errors.", source="spec/contextd row 65")
@promise(
    "consolidating:tool",
    "memory_consolidate is one of the seven tools of the core.",
    source="issue 4",
)
def test_the_tool_is_in_the_core_with_the_seeds_fields() -> None:
    assert CONSOLIDATE.name == "memory_consolidate"
    assert CONSOLIDATE.name in PROFILES["core"]
    assert len(PROFILES["core"]) == 7
    assert PROFILES["curation"].keys() == PROFILES["core"].keys()
    assert CONSOLIDATE.outputs.keys() >= FIELDS
    assert CONSOLIDATE.inputs.keys() >= {"project_id", "similarity_threshold", "dry_run", "max_clusters"}


@promise("contextd:65")
@promise("consolidating:tool")
def test_the_tool_consolidates_with_its_defaults_and_options(tools: Tools) -> None:
    dry = tools.call("memory_consolidate", {"dry_run": True}, CALLER)
    assert not dry.failed
    assert dry.fields["created_memories"] == ["dry-run-cluster-1"]
    strict = tools.call("memory_consolidate", {"similarity_threshold": 0.999, "dry_run": True}, CALLER)
    assert strict.fields["total_processed"] == 0
    done = tools.call("memory_consolidate", {"max_clusters": 5}, CALLER)
    created = done.fields["created_memories"]
    assert isinstance(created, list)
    assert len(created) == 1
    assert "1 created of 2 archived" in done.text
    assert tools.call("memory_consolidate", {}, CALLER).fields["total_processed"] == 0


@promise("contextd:65")
@promise("consolidating:tool")
def test_the_tools_errors_say_what_to_do(tools: Tools) -> None:
    for arguments in ({"similarity_threshold": 2}, {"max_clusters": -1}, {"threshold": 0.8}):
        answer = tools.call("memory_consolidate", arguments, CALLER)
        assert answer.failed
        assert answer.fields["hint"]
    nothing = tools.call("memory_consolidate", {"project_id": "elsewhere"}, CALLER)
    assert not nothing.failed
    assert nothing.fields["created_memories"] == []


async def _async_bank(bank: Bank) -> None:
    alike = AsyncBank(bank)
    (cluster,) = await alike.curation.clusters(0.7)
    made = await alike.curation.merge(cluster)
    assert (await alike.curation.undo(made.id)).consolidation_id == made.id
    loose = ConsolidationOptions(similarity_threshold=0.7, force_all=True)
    assert len((await alike.curation.consolidate(loose)).created_memories) == 1
    assert (await alike.curation.consolidate_all(options=loose)).total_processed == 0
    assert await alike.curation.contradictions() == ()


@promise("consolidating:async", "The asynchronous bank consolidates and undoes as the bank does.", source="issue 4")
def test_the_asynchronous_bank_does_the_same(tmp_path: Path) -> None:
    with Bank.open(
        tenant="acme", project="shop", embedder=HashingEmbedder(256), settings=Settings(home=tmp_path)
    ) as bank:
        for text in ("Close the file before it is moved away", "Close the file before it is moved"):
            bank.record(title="A lesson", content=text, outcome="success")
        asyncio.run(_async_bank(bank))
