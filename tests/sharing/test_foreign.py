"""Memories of other products: files that those products wrote themselves, and what becomes of them here.

``foreign/`` holds what each product wrote when it was run: mem0 2.2.1 (``get_all``), mcp-memory-service 12.4.0 (its
exporter, and its table as SQL), claude-mem 13.25.3 (its tables as SQL) and the reference memory server 0.6.3. The
sentences in them are ours.
"""

from __future__ import annotations

import json
import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.cli.app import rbank
from reasoningbank.errors import BankError, InvalidInput
from reasoningbank.integrations.agents_md import with_block
from reasoningbank.types.transfer import PRODUCTS

HERE = Path(__file__).parent / "foreign"
INSTRUCTIONS = """# Shop

Run the tests with `make test`.
@docs/more.md

## Style

* Two spaces.

```
# no heading
```

## Deploys
"""


def database(folder: Path, name: str) -> Path:
    """The product's tables as a file."""
    path = folder / f"{name}.db"
    with sqlite3.connect(path) as connection:
        connection.executescript((HERE / f"{name}.sql").read_text(encoding="utf-8"))
    connection.close()
    return path


def memory_folder(folder: Path) -> Path:
    """A folder as Claude Code keeps one: an index of links, and a file a memory."""
    place = folder / "memory"
    place.mkdir()
    (place / "MEMORY.md").write_text("- [Database port](database-port.md) — tests need 5433\n- Speak plainly.\n")
    (place / "database-port.md").write_text(
        "---\nname: database-port\ndescription: Which port the tests need\nmetadata:\n  type: project\n---\n\n"
        "The tests need a database on port 5433.\n"
    )
    return place


def instructions(folder: Path) -> Path:
    """A CLAUDE.md with our own block in it."""
    path = folder / "CLAUDE.md"
    path.write_text(with_block(INSTRUCTIONS))
    return path


def answer(folder: Path) -> Path:
    """What contextd's tool memory_search answers."""
    path = folder / "contextd.json"
    lesson = {"title": "Mock the clock", "content": "Never sleep in a test.", "outcome": "failure", "tags": ["tests"]}
    path.write_text(json.dumps({"memories": [{"id": "0a6e", "confidence": 0.9, **lesson}], "count": 1}))
    return path


def source(product: str, folder: Path) -> Path:
    """A file or folder of a product."""
    match product:
        case "claude-md" | "agents-md":
            return instructions(folder)
        case "claude-memory":
            return memory_folder(folder)
        case "claude-mem":
            return database(folder, "claude-mem")
        case "contextd":
            return answer(folder)
        case "memory-server":
            return HERE / "memory-server.jsonl"
        case _:
            return HERE / f"{product}.json"


EXPECTED = {
    "claude-md": {"Shop": "Run the tests with `make test`.", "Shop / Style": "* Two spaces.\n\n```\n# no heading\n```"},
    "agents-md": {"Shop": "Run the tests with `make test`.", "Shop / Style": "* Two spaces.\n\n```\n# no heading\n```"},
    "claude-memory": {
        "Speak plainly": "- Speak plainly.",
        "database-port": "The tests need a database on port 5433.",
    },
    "mem0": {
        "Prefer the staging database for experiments": "Prefer the staging database for experiments.",
        "The invoices of March are booked by hand, because the importer drops their last line": (
            "The invoices of March are booked by hand, because the importer drops their last line."
        ),
    },
    "mcp-memory-service": {
        "Ask before the billing tables are changed": "Ask before the billing tables are changed.",
        "The nightly build needs Java 21; with 17 it stops at the second module": (
            "The nightly build needs Java 21; with 17 it stops at the second module."
        ),
    },
    "claude-mem": {
        "The importer loses its last line": (
            "The importer reads line by line and drops what follows the last line feed.\n\n"
            "- read_line stops at a missing line feed"
        ),
        "The reader drops a line without a line feed at its end": (
            "The reader drops a line without a line feed at its end."
        ),
    },
    "memory-server": {
        "orders-service": (
            "- Its tests need a database on port 5433.\n- Deploys go out on Tuesdays.\n- Mira maintains orders-service."
        ),
        "Mira": "- Reviews every change of the schema.\n- Mira maintains orders-service.",
    },
    "contextd": {"Mock the clock": "Never sleep in a test."},
}


@promise(
    "import:foreign",
    "Memories of CLAUDE.md, AGENTS.md, Claude Code's memory folder, mem0, mcp-memory-service, claude-mem, the "
    "reference memory server and contextd are taken over as claims that say where they come from; a dry run stores "
    "nothing, and nothing is taken twice.",
    source="issue, Memory that moves",
)
@pytest.mark.parametrize("product", PRODUCTS)
def test_what_another_product_wrote_becomes_claims(product: str, bank: Bank, tmp_path: Path) -> None:
    path = source(product, tmp_path)
    planned = bank.sharing.import_from(product, path, dry_run=True)
    assert planned.count("added") == len(planned.taken) == len(EXPECTED[product])
    assert bank.memories.count() == 0
    report = bank.sharing.import_from(product, path)
    memories = [bank.get(each.id) for each in report.taken]
    digests = {sha256(each.read_bytes()).hexdigest() for each in (path.glob("*.md") if path.is_dir() else [path])}
    assert {each.title: each.content for each in memories} == EXPECTED[product]
    for each in memories:
        assert (each.standing, each.confidence, each.state) == ("claim", 0.6, "candidate")
        assert each.provenance["source"] == product
        assert each.provenance["place"]
        assert each.provenance["file_sha256"] in digests
    again = bank.sharing.import_from(product, path)
    assert again.count("unchanged") == len(again.taken)
    assert bank.memories.count() == len(EXPECTED[product])


@promise("import:foreign")
def test_details_of_other_products_are_kept(bank: Bank, tmp_path: Path) -> None:
    service = bank.sharing.import_from("mcp-memory-service", database(tmp_path, "mcp-memory-service"))
    assert service.count("added") == 2
    assert bank.sharing.import_from("mcp-memory-service", HERE / "mcp-memory-service.json").count("unchanged") == 2
    build = next(bank.get(each.id) for each in service.taken if "Java" in each.title)
    assert build.tags == ("build", "java", "observation")
    assert build.provenance["written"].startswith("2026-11-26T12:24:44")
    lesson = bank.get(bank.sharing.import_from("contextd", answer(tmp_path)).taken[0].id)
    assert (lesson.outcome, lesson.tags) == ("failure", ("tests",))
    note = bank.sharing.import_from("claude-memory", memory_folder(tmp_path)).taken[1]
    assert (bank.get(note.id).description, bank.get(note.id).tags) == ("Which port the tests need", ("project",))


@promise("import:foreign")
@pytest.mark.parametrize("product", PRODUCTS)
def test_what_is_no_file_of_the_product_is_refused_as_a_whole(product: str, bank: Bank, tmp_path: Path) -> None:
    with pytest.raises(BankError, match="there is no"):
        bank.sharing.import_from(product, tmp_path / "nothing")
    for text in (
        "{",
        '["a"]',
        "[1]",
        '{"results": [{"id": 1}]}',
        '{"memories": 5}',
        "\x00\x01",
        "SQLite format 3\x00...",
    ):
        path = tmp_path / "file.json"
        path.write_text(text)
        try:
            report = bank.sharing.import_from(product, path, dry_run=True)
        except InvalidInput as error:
            assert "file.json" in str(error) or "read" in str(error), text
        else:
            assert product in {"claude-md", "agents-md", "claude-memory"}
            assert len(report.taken) <= 1
    assert bank.memories.count() == 0


@promise("import:foreign")
def test_the_command_takes_over_a_file_and_says_what_it_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "home"))
    line = ["--tenant", "acme", "--project", "shop", "import", "--from", "mem0", str(HERE / "mem0.json")]
    planned = CliRunner().invoke(rbank, [*line, "--dry-run"])
    assert "mem0: would be 2 added" in planned.stdout
    done = CliRunner().invoke(rbank, [*line, "--json"])
    assert [each["change"] for each in json.loads(done.stdout)["taken"]] == ["added", "added"]
    assert "mem0: 2 unchanged" in CliRunner().invoke(rbank, line).stdout
    assert CliRunner().invoke(rbank, [*line[:-2], "no-product", "x"]).exit_code == 2


@promise("import:foreign")
@pytest.mark.parametrize("shape", ["content", "result", "structured"])
def test_an_answer_of_contextd_is_read_out_of_the_envelope_of_its_protocol(
    shape: str, bank: Bank, tmp_path: Path
) -> None:
    path = answer(tmp_path)
    told = path.read_text()
    called = {"content": [{"type": "text", "text": told}]}
    envelopes = {
        "content": called,
        "result": {"jsonrpc": "2.0", "id": 1, "result": called},
        "structured": {**called, "structuredContent": json.loads(told)},
    }
    path.write_text(json.dumps(envelopes[shape]))
    report = bank.sharing.import_from("contextd", path)
    assert {each.title: each.change for each in report.taken} == {"Mock the clock": "added"}
    path.write_text(json.dumps({"content": [{"type": "text", "text": "no memory was found"}]}))
    with pytest.raises(InvalidInput, match="no JSON"):
        bank.sharing.import_from("contextd", path)
    path.write_text("{}")
    with pytest.raises(InvalidInput, match="no memories of contextd"):
        bank.sharing.import_from("contextd", path)
