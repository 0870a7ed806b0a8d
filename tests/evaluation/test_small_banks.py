"""The evaluation of small banks, of fits and of constants that are chosen without a source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from evaluation.banks import Banks, Vectors
from evaluation.fits import Shown, report_fits
from evaluation.left_out import GRID, SHIPPED, Constants, Trial, Tried, chosen_without, report_left_out, seen
from evaluation.measures import mean
from evaluation.small_banks import (
    ANSWERED,
    FOREIGN,
    QUESTIONS,
    REMOVED,
    SIZES,
    UNANSWERED,
    answers,
    report_small,
    triples,
)

from promises import promise
from reasoningbank.testing import HashingEmbedder


def pools(folder: Path) -> Path:
    """A data folder with a made-up playbook in place of the real one."""
    entries = json.loads(QUESTIONS.read_text(encoding="utf-8"))["pools"]["app"]
    lines = [f"[x-{number}] For tasks of kind {number}: do thing {number}." for number in range(1, 400)]
    path = folder / entries["file"]
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(lines), encoding="utf-8")
    return folder


@promise(
    "evaluation:small-banks",
    "Search is measured on questions to banks of 3 to 50 memories, half of them held out, with and without an answer.",
    source="issue",
)
def test_questions_are_put_to_banks_of_three_to_fifty_memories(tmp_path: Path) -> None:
    data = pools(tmp_path)
    asked = list(triples(data))
    assert asked == list(triples(data))
    assert {each.kind for each in asked} == {ANSWERED, REMOVED, UNANSWERED, FOREIGN}
    assert {each.pool for each in asked} == {"developer", "app"}
    assert all(each.right if each.kind == ANSWERED else not each.right | each.also for each in asked)
    assert all(SIZES[0][0] <= len(each.bank) <= SIZES[1][1] for each in asked if each.kind != REMOVED)
    assert all(each.right | each.also <= {memory.key for memory in each.bank} for each in asked)
    halves = {text: {each.half for each in asked if each.text == text} for text in {each.text for each in asked}}
    assert all(len(of) == 1 for of in halves.values())
    assert 0.4 < mean([max(of) for of in halves.values()]) < 0.6
    assert next(each for each in asked if each.pool == "app").bank[0].description.startswith("For tasks of kind")
    assert {each.pool for each in triples(tmp_path / "absent")} == {"developer"}


@promise(
    "evaluation:small-answers",
    "What a search in a small bank shows is counted against the memories that answer the question.",
    source="DESIGN D13",
)
def test_answers_of_small_banks_are_counted(tmp_path: Path) -> None:
    vectors = Vectors(HashingEmbedder())
    found = []
    for each in answers(tmp_path / "absent", Banks(tmp_path / "banks", vectors), vectors):
        found.append(each)
        if len(found) == 12:
            break
    assert any(each.hits for each in found)
    assert all({hit.id for hit in each.hits} <= {memory.key for memory in each.triple.bank} for each in found)
    assert all(each.early for each in found if each.first)
    lines: list[str] = []
    report_small(found, lines.append)
    assert any(line.startswith(ANSWERED) for line in lines)


def question(best: float, right: bool, shown: int) -> Tried:
    """A question whose measures are the same with every choice."""
    value = (1.0, 1.0, shown) if right else (0.0, 0.0, shown)
    return Tried(best=best, measured={each[:2] + each[3:]: value for each in GRID}, before=value)


@promise(
    "evaluation:left-out",
    "Constants of the search are chosen without the source that they are measured on.",
    source="DESIGN D13",
)
def test_constants_are_chosen_on_the_other_sources_alone() -> None:
    quiet = Trial(
        name="quiet set",
        memories=1_000,
        answerable=[question(0.9, True, 3)],
        strange=[question(0.3, False, 3)],
        legs={},
    )
    loud = Trial(
        name="loud set",
        memories=1_000,
        answerable=[question(0.15, True, 3)],
        strange=[question(0.01, False, 3)],
        legs={},
    )
    assert chosen_without("loud", [quiet, loud]).floor == 0.35
    assert chosen_without("quiet", [quiet, loud]).floor == 0.1
    assert chosen_without("quiet", [quiet]) == SHIPPED
    strict = Constants(words=1.0, function=0.5, floor=0.2, tail=0.02)
    assert (seen(loud, strict).silent.tolist(), seen(quiet, strict).false_hits.tolist()) == ([1.0], [1.0])
    assert seen(loud, None).ndcg.tolist() == [1.0]
    report_left_out([], pytest.fail)


@promise(
    "evaluation:fits",
    "How many hits of each fit have to do with the query is measured, also with a threshold chosen without the source.",
    source="DESIGN D13",
)
def test_a_strong_fit_is_chosen_without_the_source() -> None:
    def hits(source: str, evidence: float, related: int, others: int) -> list[Shown]:
        return [
            Shown(source=source, fit="strong", relevance=0.99, evidence=evidence, gap=0.0, related=place < related)
            for place in range(related + others)
        ]

    shown = [*hits("webarena", 0.2, 5, 5), *hits("webarena", 2.0, 10, 0), *hits("small made", 0.2, 7, 3)]
    lines: list[str] = []
    report_fits(shown, lines.append)
    made = next(line for line in lines if line.startswith("small made"))
    assert "0.70 [" in made and made.endswith("- (evidence 0.5, gap 3)")
