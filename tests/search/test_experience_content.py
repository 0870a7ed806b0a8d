"""Retrieval modes (row H14), and what texts name and claim (row H15)."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from opened_banks import OpenBank
from promises import promise
from reasoningbank.cli.app import rbank
from reasoningbank.errors import InvalidInput, ModelUnavailable
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.mcp.banks import Banks
from reasoningbank.mcp.calls import Caller
from reasoningbank.mcp.schemas import tools_by_profile
from reasoningbank.mcp.tools import Tools
from reasoningbank.memories.admission import index
from reasoningbank.settings import Settings
from reasoningbank.testing import FrozenClock
from reasoningbank.types.consolidation import CONSOLIDATION
from reasoningbank.types.content import Content
from reasoningbank.types.experience import KNOWLEDGE_CATEGORIES
from reasoningbank.types.memory import Memory
from reasoningbank.types.ports import Embedder
from search.searched_tasks import QUERY, stocked

EXPERIENCE = tools_by_profile()["experience"]["memory_search_with_experience"]


@promise("haios:H14", "Every mode filters inside every leg; an unknown mode is an error.", source="memoria_haios H14")
def test_h14_every_mode_is_asserted(open_learning_bank: OpenBank, clock: FrozenClock, local_embedder: Embedder) -> None:
    bank = open_learning_bank("")
    synthesis = [
        Memory(
            project="shop",
            title=f"Insight {number} about the order service",
            content=f"Requests of the order service time out against its database under load, says insight {number}.",
            outcome="success",
            provenance={CONSOLIDATION: "synthesized"},
            created_at=clock.now(),
            updated_at=clock.now(),
        )
        for number in range(60)
    ]
    with bank._context.store().transaction() as transaction:
        for memory, derived in zip(synthesis, index(synthesis, local_embedder), strict=True):
            transaction.memories.insert(memory, derived)
    older = bank.record(title="Order service", content="Its database timed out under load in March.", outcome="success")
    clock.advance(timedelta(days=30))
    decision = bank.record(
        title="Pool of the order service",
        content="We decided on twenty database connections for the order service under load.",
        outcome="success",
        category="decision",
    )
    clock.advance(timedelta(days=1))
    today = bank.record(
        title="Today", content="The order service timed out at its database again today.", outcome="success"
    )

    everything = bank.experience.search(QUERY)
    assert {hit.memory.title[:7] for hit in everything.results} == {"Insight"}, "syntheses crowd out what is specific"
    recovered = bank.experience.search(QUERY, mode="session_recovery")
    assert [hit.id for hit in recovered.results] == [today.id, decision.id, older.id]
    known = bank.experience.search(QUERY, mode="knowledge_lookup")
    assert [hit.id for hit in known.results] == [decision.id]
    assert {hit.memory.category for hit in known.results} <= set(KNOWLEDGE_CATEGORIES)
    assert [trace.details["mode"] for trace in bank.experience.traces()] == [
        "knowledge_lookup",
        "session_recovery",
        "semantic",
    ]
    for wrong in ("semantics", "", "SEMANTIC"):
        with pytest.raises(InvalidInput, match="session_recovery"):
            bank.experience.search(QUERY, mode=wrong)
    assert len(bank.experience.traces()) == 3


@promise("haios:H14")
def test_h14_what_failed_in_one_mode_says_nothing_about_another(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank("")
    stocked(bank)
    failed = bank.experience.search(QUERY, mode="session_recovery")
    bank.experience.report(failed.reasoning.trace_id, "failure")
    assert bank.experience.search(QUERY).reasoning.strategy_used == "default_hybrid"
    again = bank.experience.search(QUERY, mode="session_recovery")
    assert again.reasoning.strategy_used == "similar_tasks"


@promise("haios:H14")
def test_h14_the_mode_reaches_the_bank_through_the_command_line_and_the_tool(
    open_learning_bank: OpenBank, home: Path, local_embedder: Embedder
) -> None:
    bank = open_learning_bank("")
    stocked(bank)
    decided = bank.record(
        title="Pool of the order service",
        content="We decided on twenty database connections for the order service under load.",
        outcome="success",
        category="decision",
    )
    banks = Banks(Settings(home=home), project="shop", embedder=local_embedder)
    caller = Caller(tenant="acme", session="s")
    tools = Tools(banks, profile="experience")
    answer = tools.call(EXPERIENCE.name, {"query": QUERY, "mode": "knowledge_lookup"}, caller)
    results = answer.fields["results"]
    assert isinstance(results, list)
    assert [hit["id"] for hit in results] == [decided.id]
    refused = tools.call(EXPERIENCE.name, {"query": QUERY, "mode": "knowledge"}, caller)
    assert (refused.failed, refused.fields["error"]) == (True, InvalidInput.code)
    banks.close()

    runner, at_home = CliRunner(), {"REASONINGBANK_HOME": str(home)}
    where = ["--tenant", "acme", "--project", "shop", "experience", QUERY, "--json", "--mode"]
    told = runner.invoke(rbank, [*where, "knowledge_lookup"], env=at_home)
    assert told.exit_code == 0, told.output
    assert [hit["id"] for hit in json.loads(told.stdout)["results"]] == [decided.id]
    wrong = runner.invoke(rbank, [*where, "knowledge"], env=at_home)
    assert wrong.exit_code == 2
    assert "session_recovery" in wrong.output


NOTES = """# Notes of the third of May
We decided to keep the retry limit at 3 in src/shop/retry.py.
- The problem with the old client is that it swallows timeouts!
Currently the migration job is running on host 4.
We read the file, then we parse it. See https://example.org/a/b.py and/or ask @anna.
How about a queue? Always pin the version, as ADR-037 says. Anti-pattern: God Object"""


@promise(
    "haios:H15",
    "Entities and concepts stand verbatim in the text; a raw lesson is kept also when nothing was extracted.",
    source="memoria_haios H15",
)
def test_h15_entities_and_concepts_stand_in_the_text_where_they_are_said_to(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank("")
    found = bank.experience.extract_content(NOTES)
    spans = (*found.entities, *found.concepts)
    assert all(NOTES[span.start : span.end] == span.text for span in spans)
    assert [(span.kind, span.text) for span in found.entities] == [
        ("Filepath", "src/shop/retry.py"),
        ("User", "@anna"),
        ("ADR", "ADR-037"),
        ("AntiPattern", "God Object"),
    ]
    assert [(span.kind, span.text[:20]) for span in found.concepts] == [
        ("Decision", "We decided to keep t"),
        ("Critique", "The problem with the"),
        ("Proposal", "How about a queue?"),
        ("Directive", "Always pin the versi"),
    ]
    assert not any("running" in span.text or "parse" in span.text for span in found.concepts)
    assert bank.experience.extract_content(NOTES, "entities_only").concepts == ()
    assert bank.experience.extract_content(NOTES, mode="concepts_only").entities == ()
    with pytest.raises(InvalidInput):
        bank.experience.extract_content(NOTES, "everything")
    assert (bank.memories.count(), bank.experience.extract_content("").empty) == (0, True)


@promise("haios:H15")
def test_h15_a_models_span_that_is_not_in_the_text_is_dropped(open_learning_bank: OpenBank) -> None:
    answer = (
        '{"entities": [{"kind": "Filepath", "text": "src/shop/retry.py"}, {"kind": "Filepath", "text": "src/other.py"},'
        ' {"kind": "Planet", "text": "queue"}, {"kind": "user", "text": "@anna"}],'
        ' "concepts": [{"kind": "Decision", "text": "We decided to keep the retry limit at 3"},'
        ' {"kind": "Decision", "text": "Currently the migration job is running on host 4."},'
        ' {"kind": "Critique", "text": "The old client is bad"}]}'
    )
    token = "gh" + "p_" + "Ab1" * 12
    model = ScriptedModel([answer, ModelUnavailable("down"), "[]", "[]", answer])
    bank = open_learning_bank(model)
    found = bank.experience.extract_content(NOTES)
    assert found.model == "scripted"
    assert [(span.kind, span.text) for span in found.entities] == [("Filepath", "src/shop/retry.py"), ("User", "@anna")]
    assert [span.text for span in found.concepts] == ["We decided to keep the retry limit at 3"]
    assert all(NOTES[span.start : span.end] == span.text for span in (*found.entities, *found.concepts))
    for _ in range(2):
        fallen: Content = bank.experience.extract_content(NOTES)
        assert (fallen.model, len(fallen.concepts)) == ("", 4)
        assert "Rules were used" in fallen.message
    redacted = bank.experience.extract_content(f"The key {token} is in src/shop/retry.py")
    assert token not in redacted.text
    assert token not in model.prompts[-1].material
    assert redacted.text[redacted.entities[0].start : redacted.entities[0].end] == "src/shop/retry.py"


@promise("haios:H15")
def test_h15_a_raw_lesson_is_kept_also_when_nothing_is_extracted_and_that_is_said(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank("")
    kept = bank.experience.ingest(NOTES, source="notes/may.md")
    assert kept.memory.content == NOTES
    assert (kept.memory.category, kept.memory.state, kept.known) == ("decision", "candidate", False)
    assert {"decision", "critique", "filepath", "src/shop/retry.py"} <= set(kept.memory.tags)
    assert kept.memory.provenance["origin"] == "notes/may.md"
    assert kept.memory.title == "Notes of the third of May"
    assert kept.memory.outcome == "failure", "it names a practice as harmful"
    assert "4 concepts and 4 entities" in kept.message
    plain = bank.experience.ingest("Water the plants of the third floor on Mondays.")
    assert plain.content.empty
    assert "Nothing was extracted" in plain.message
    assert bank.get(plain.memory.id).content == "Water the plants of the third floor on Mondays."
    again = bank.experience.ingest("Water the plants of the third floor on Mondays.")
    assert (again.known, again.memory.id, bank.memories.count()) == (True, plain.memory.id, 2)
    assert [hit.id for hit in bank.search("who waters the plants").unproven] == [plain.memory.id]
    with pytest.raises(InvalidInput):
        bank.experience.ingest("  \u200b ")
