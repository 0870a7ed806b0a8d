"""The evaluation of what agents send: wrappings hold their question, and a wrapped question is found."""

from __future__ import annotations

from pathlib import Path

from evaluation.agent_queries import BARE, found, measure, report
from evaluation.agent_translations import REWORDED
from evaluation.agent_wrappings import WRAPPINGS
from evaluation.banks import Banks, Vectors
from evaluation.sets import Document, LabelledSet, Query

from evaluation import growth
from promises import promise
from reasoningbank.testing import HashingEmbedder

_TEXTS = {
    "invoice": "take invoice numbers from a sequence inside of the transaction",
    "deploy": "deploy the worker before the web server, because its migrations run first",
    "cache": "clear the thumbnail cache after the colour profile was changed",
}


def _made() -> LabelledSet:
    documents = tuple(Document(key=key, content=text) for key, text in _TEXTS.items())
    queries = tuple(Query(text=text, relevant=frozenset({key})) for key, text in _TEXTS.items())
    return LabelledSet(name="made", domain="made", documents=documents, queries=queries)


@promise(
    "evaluation:agent-queries",
    "Retrieval is measured on what agents send too: questions wrapped in instructions, traces, files and chats, in "
    "other languages and in three words, and on banks as they grow.",
    source="issue 12 (What agents send, Weight of words)",
)
def test_every_wrapping_holds_the_question_and_more() -> None:
    assert len({each.name for each in WRAPPINGS}) == len(WRAPPINGS)
    assert sum(each.held_out for each in WRAPPINGS) >= len(WRAPPINGS) // 2
    for each in WRAPPINGS:
        text = each.around("What is asked here?")
        assert text.count("What is asked here?") == 1
        assert len(text.split()) > 40
    longest = max(len(each.around("q").split()) for each in WRAPPINGS)
    assert 7_900 < longest < 8_100


@promise("evaluation:agent-queries")
def test_at_least_forty_questions_have_other_words() -> None:
    known = [words for questions in REWORDED.values() for words in questions.values()]
    assert len(known) >= 40
    assert all(len(words.short.split()) == 3 for words in known)
    assert all(any("\u4e00" <= letter <= "\u9fff" for letter in words.chinese) for words in known)


@promise("evaluation:agent-queries")
def test_wrapped_questions_are_measured_beside_bare_ones(tmp_path: Path) -> None:
    vectors, lines = Vectors(HashingEmbedder()), list[str]()
    banks = Banks(tmp_path, vectors)
    outcomes = list(measure([_made()], banks, vectors))
    assert {each.way for each in outcomes} == {BARE, *(each.name for each in WRAPPINGS)}
    assert [each.hit for each in outcomes if each.way == BARE and each.related] == [1.0, 1.0, 1.0]
    for each in WRAPPINGS:
        assert sum(one.way == each.name and one.related for one in outcomes) == 3
    with banks.holding(_made().documents) as store:
        around = WRAPPINGS[0].around
        assert found(store, vectors, around(_TEXTS["cache"])) == found(store, vectors, _TEXTS["cache"])
    report(outcomes, lines.append)
    assert any(line.startswith("  bare") and "1.000" in line for line in lines)
    assert sum(line.startswith("* ") for line in lines) == sum(each.held_out for each in WRAPPINGS)


@promise("evaluation:agent-queries")
def test_growing_banks_learn_and_are_measured(tmp_path: Path) -> None:
    vectors, lines = Vectors(HashingEmbedder()), list[str]()
    texts = [f"first case{n} of alpha{n} here. second case{n} of beta{n}. third gamma{n} word{n}." for n in range(60)]
    documents = tuple(Document(key=f"d{n}", content=text) for n, text in enumerate(texts))
    queries = tuple(Query(text=f"case{n} beta{n}", relevant=frozenset({f"d{n}"})) for n in range(60))
    labelled = LabelledSet(name="made", domain="made", documents=documents, queries=queries)
    outcomes = list(growth.measure([labelled], Banks(tmp_path, vectors), vectors))
    assert [(each.size, each.factor) for each in outcomes] == [(50, 1.0), (50, 1.0)]
    growth.report([*outcomes, growth.Learned(bank="made", size=200, factor=0.5, changes=(0.1, 0.3))], lines.append)
    assert any("x 0.5" in line and "+0.200" in line for line in lines)
    assert "  banks of 50: 0 of 2 learned another weight; mean change +0.0000" in lines
