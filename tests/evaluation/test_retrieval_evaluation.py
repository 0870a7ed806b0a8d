"""The evaluation measures what it says, through real stores."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy
import pytest
from evaluation.banks import Banks, Vectors
from evaluation.floor import EVERYDAY, FLOORS, measure, strange
from evaluation.measures import interval, mean, ndcg, recall
from evaluation.rankings import LEGS, LIMIT, PLAIN, fusions, ours, reciprocal_rank, search, weighted
from evaluation.retrieval import better_leg, judge, main, report, report_floor, report_plain
from evaluation.sets import Document, LabelledSet, Query, half, labelled_sets, sample

from promises import promise
from reasoningbank.search.fusion import FLOOR
from reasoningbank.search.recall import Question
from reasoningbank.search.recall import recall as answer
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.recall import CONTENT_LEG, DESCRIPTION_LEG, Filter

TOPICS = {
    "network": "retry the failed network call after a timeout with backoff",
    "database": "index the foreign key of the database table before joining",
    "clock": "inject a clock so that tests about dates do not fail at midnight",
    "git": "never rewrite the history of a shared branch by force pushing",
}


def made() -> LabelledSet:
    """A small set: three wordings of four topics, two of them with a description."""
    documents, queries = [], []
    for topic, text in TOPICS.items():
        words = text.split()
        keys = frozenset(f"{topic}{number}" for number in range(3))
        for number in range(3):
            content = " ".join(words[number:] + words[:number]) + f" case{number}"
            described = f"when the {topic} is in trouble" if number else ""
            documents.append(Document(key=f"{topic}{number}", content=content, description=described))
        queries += [Query(text=" ".join(words[start : start + 5]), relevant=keys) for start in range(4)]
    return LabelledSet(name="made", domain="made", documents=tuple(documents), queries=tuple(queries))


def other() -> LabelledSet:
    """A set of another domain."""
    documents = tuple(Document(key=f"d{number}", content=text) for number, text in enumerate(EVERYDAY))
    queries = tuple(Query(text=each.content, relevant=frozenset({each.key})) for each in documents)
    return LabelledSet(name="other", domain="everyday", documents=documents, queries=queries)


@promise("evaluation:measures", "nDCG, recall and the bootstrap interval have their known values.", source="DESIGN D13")
def test_the_measures_have_their_known_values() -> None:
    relevant = frozenset({"a", "b"})
    assert ndcg(["a", "b", "c"], relevant) == 1.0
    assert ndcg(["c", "a"], relevant) == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)))
    assert ndcg(["c"] * 10 + ["a"], relevant) == 0.0
    assert recall(["a", "c"], relevant) == 0.5
    assert recall([f"k{place}" for place in range(10)], frozenset(f"k{place}" for place in range(40))) == 1.0
    low, high = interval(numpy.arange(100) / 100)
    assert low < mean(numpy.arange(100) / 100) < high
    assert high - low == pytest.approx(4 * 0.029, abs=0.02)
    assert interval([0.5] * 50) == (0.5, 0.5)


@promise("evaluation:real-store", "The evaluation asks the three legs of a real store.", source="DESIGN D13")
def test_a_search_asks_the_three_legs_of_a_real_store(tmp_path: Path) -> None:
    labelled, vectors = made(), Vectors(HashingEmbedder(dimension=64))
    with Banks(tmp_path, vectors).holding(labelled.documents) as store:
        query = labelled.queries[0]
        found = search(store, query.text, vectors.queries([query.text])[query.text], itself="network0")
    assert "network0" not in {*found.content, *found.description, *found.words}
    assert set(found.content) == {each.key for each in labelled.documents} - {"network0"}
    assert set(found.description) == {each.key for each in labelled.documents if each.description}
    assert set(found.words) >= {"network1", "network2"}
    assert found.candidates.lexical.documents == 12
    assert max(reciprocal_rank(found), key=lambda one: reciprocal_rank(found)[one]) in query.relevant
    assert set(weighted(1.0)(found).values()) >= {0.0, 1.0}
    assert {CONTENT_LEG, DESCRIPTION_LEG} == {"content", "description"}


@promise(
    "evaluation:shipped",
    "The evaluation ranks with the code of the search: what is measured is what is answered.",
    source="DESIGN D13",
)
def test_what_is_measured_is_what_a_search_answers(tmp_path: Path) -> None:
    labelled, embedder = made(), HashingEmbedder(dimension=64)
    vectors = Vectors(embedder)
    answered = 0
    with Banks(tmp_path, vectors).holding(labelled.documents) as store:
        for query in labelled.queries:
            question = Question(text=query.text, condition=Filter(), limit=LIMIT, min_confidence=0.0, unproven=0)
            hits, *_ = answer(store, embedder, question, random.Random(1))
            measured = ours(
                search(store, query.text, vectors.queries([query.text])[query.text]), embedder.model_id, FLOOR
            )
            assert [hit.id for hit in hits] == measured[:LIMIT]
            answered += bool(hits)
    assert answered


@promise("evaluation:tables", "The evaluation names every leg, fusion and floor.", source="issue")
def test_the_tables_name_every_leg_fusion_and_floor(tmp_path: Path) -> None:
    sets, vectors = [made(), other()], Vectors(HashingEmbedder(dimension=64))
    holder = Banks(tmp_path, vectors)
    results = [judge(labelled, holder, vectors) for labelled in sets]
    assert set(results[0].values["nDCG@10"]) == {*LEGS, *PLAIN, *fusions("hashing/64")}
    assert "description" not in results[1].values["nDCG@10"]
    assert all(mean(result.of("recall@10", better_leg(result, "recall@10"))) > 0.5 for result in results)
    lines: list[str] = []
    report(results, lines.append)
    report_plain(results, lines.append)
    outcomes = list(measure(sets, holder, vectors))
    assert all(len(each.kept or each.silent) == len(FLOORS) for each in outcomes)
    assert all(list(each.kept) == sorted(each.kept, reverse=True) for each in outcomes)
    report_floor(outcomes, lines.append)
    text = "\n".join(lines)
    for name in (
        "BM25",
        "RRF 60",
        "z-score",
        "shipped",
        "plain dense",
        "made",
        "other",
        "certainly below it",
        "whole sets",
    ):
        assert name in text


@promise(
    "evaluation:halves",
    "Halves and samples of a set are fixed by hash, unrelated queries come from other domains.",
    source="issue",
)
def test_halves_and_samples_are_fixed_and_even() -> None:
    queries = [Query(text=f"query {number}", relevant=frozenset({"a"})) for number in range(2_000)]
    assert sample(queries, 100) == sample(list(reversed(queries)), 100)
    assert 0.45 < sum(half(query.text) for query in queries) / len(queries) < 0.55


@promise("evaluation:halves")
def test_unrelated_queries_come_from_other_domains_only() -> None:
    texts = strange(made(), [made(), other()], 30, random.Random(1))
    own = {query.text for query in made().queries}
    assert texts
    assert not own & set(texts)


@promise(
    "evaluation:absent-data",
    "Without the data folder the evaluation says so and measures the standard library.",
    source="shared data",
)
def test_without_the_data_the_standard_library_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluation.sets.CODE_MODULES", ("argparse", "shlex", "no_such_module"))
    names = [labelled.name for labelled in labelled_sets(tmp_path / "absent")]
    assert names == ["code docstrings", "code errors", "code identifiers"]


@promise("evaluation:absent-data")
def test_the_command_says_that_the_data_is_absent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluation.sets.CODE_MODULES", ("bisect",))
    assert main(["--data", str(tmp_path / "absent"), "--sets", "no such set"]) == 0
    assert "is not here" in capsys.readouterr().out
