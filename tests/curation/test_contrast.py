"""Close vectors that are two lessons all the same, and the evaluation on real sets."""

from __future__ import annotations

from pathlib import Path

import pytest
from evaluation.consolidation import ace, labels, tables

from promises import promise
from reasoningbank.embedding import open_embedder
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.ports import Embedder

MOULD = "For the {0} followed artist collect all followed artists with pagination, then take the {1} follower count."


@promise(
    "consolidation:two-lessons",
    "Memories on opposite sides of a pair of words are never put together, nor close ones with few common words.",
    source="issue 4",
)
@pytest.mark.parametrize("kind", ["hashing", "local"])
def test_opposite_words_keep_lessons_apart(open_bank_in_session: object, local_embedder: Embedder, kind: str) -> None:
    embedder = HashingEmbedder() if kind == "hashing" else local_embedder
    assert callable(open_bank_in_session)
    bank = open_bank_in_session(embedder=embedder)
    for most, largest in (("most", "maximum"), ("least", "minimum"), ("most", "largest")):
        bank.record(title="Followed artists", content=MOULD.format(most, largest), outcome="success")
    clusters = bank.curation.clusters(0.8)
    together = [{memory.content for memory in cluster.members} for cluster in clusters]
    assert all(not any("least" in text for text in texts) for texts in together)
    assert any(len(texts) == 2 for texts in together)


@promise("consolidation:two-lessons")
def test_a_memory_of_both_words_goes_with_either(open_bank_in_session: object) -> None:
    assert callable(open_bank_in_session)
    bank = open_bank_in_session(embedder=HashingEmbedder())
    bank.record(
        title="Songs", content="Check the list of songs before you add or remove one of them.", outcome="success"
    )
    bank.record(title="Songs", content="Check the list of songs before you add one of them.", outcome="success")
    assert len(bank.curation.clusters(0.5)) == 1


@promise(
    "evaluation:consolidation",
    "Real sets are clustered as banks and checked against pairs labelled by hand; what is absent is said.",
    source="issue 4",
)
def test_the_labels_are_ids_and_the_sets_are_read_as_lessons(tmp_path: Path) -> None:
    pairs = labels()
    assert sum(pair.together for pair in pairs) == 40
    assert sum(not pair.together for pair in pairs) == 40
    assert all(" " not in pair.first + pair.second for pair in pairs)
    folder = tmp_path / "ace_playbooks"
    folder.mkdir()
    text = "## RULES\n[a-00001] Check the page. Then go on.\n[a-00002] Check the page. Then go\non.\n"
    (folder / "appworld_online_trained_playbook.txt").write_text(text)
    assert [lesson.title for lesson in ace(tmp_path)] == ["Check the page", "Check the page"]
    (tmp_path / "home").mkdir()
    made = list(tables(tmp_path, open_embedder("local", cache=tmp_path / "models"), tmp_path / "home"))
    assert made[0].rows[0]["clusters"] == 1
    assert next(tables(tmp_path / "nowhere", HashingEmbedder(), tmp_path / "home")).skipped
