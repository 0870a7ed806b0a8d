"""Fusion of the legs and the relevance floor, as rules on numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.memories.words import query_terms
from reasoningbank.search.fusion import (
    CALIBRATIONS,
    FLOOR,
    SMALL_FLOOR,
    TAIL,
    UNKNOWN,
    asked_floor,
    calibration_of,
    fuse,
    identifier_places,
)
from reasoningbank.types.records import LexicalMatches, LexicalTerm, Scored

MINILM = "all-MiniLM-L6-v2-int8/384"
GRANITE = "granite-embedding-30m-english-int8/384"
NOTHING = LexicalMatches()


def matches(scores: dict[str, float], frequencies: list[int], memories: int) -> LexicalMatches:
    """A lexical answer with terms of these document frequencies."""
    hits = tuple(Scored(id=one, score=score) for one, score in sorted(scores.items(), key=lambda item: -item[1]))
    terms = tuple(LexicalTerm(text=f"word{place}", documents=n) for place, n in enumerate(frequencies))
    return LexicalMatches(hits=hits, terms=terms, documents=memories)


def idf(documents: int, memories: int) -> float:
    """FTS5's."""
    return max(1e-6, math.log((memories - documents + 0.5) / (documents + 0.5)))


ids = st.text(alphabet="abcdef-", min_size=1, max_size=4)
cosines = st.dictionaries(ids, st.floats(-1, 1), max_size=30)


@st.composite
def lexical_answers(draw: st.DrawFn) -> LexicalMatches:
    memories = draw(st.integers(0, 5_000))
    frequencies = draw(st.lists(st.integers(0, memories), max_size=8))
    scores = draw(st.dictionaries(ids, st.floats(1e-9, 60), max_size=20))
    return matches(scores, frequencies, memories)


@promise(
    "fusion:total",
    "Any numbers of the legs give one ranking by falling relevance in [0, 1], independent of the order of the input.",
    source="DESIGN D13",
)
@given(cosines, cosines, lexical_answers(), st.sampled_from([MINILM, GRANITE, "other"]))
def test_any_numbers_give_a_ranking(
    content: dict[str, float], description: dict[str, float], lexical: LexicalMatches, model: str
) -> None:
    candidates = {*content, *description, *(hit.id for hit in lexical.hits)}
    everything = fuse(content, description, lexical, model_id=model, floor=0.0)
    shown = fuse(content, description, lexical, model_id=model)
    for fused in (everything, shown):
        relevances = [one.relevance for one in fused]
        assert relevances == sorted(relevances, reverse=True)
        assert all(0.0 <= relevance <= 1.0 for relevance in relevances)
        assert len({one.id for one in fused}) == len(fused)
    assert all(one.relevance >= TAIL for one in shown)
    assert not shown or shown[0].relevance >= FLOOR
    strict = fuse(content, description, lexical, model_id=model, tail=FLOOR)
    assert {one.id for one in strict} <= {one.id for one in shown}
    assert bool(strict) == bool(shown), "the tail never decides whether something is found"
    if lexical.hits and not any(term.documents for term in lexical.terms):
        candidates = {*content, *description}
    assert {one.id for one in everything} == candidates
    order = [one.id for one in everything]
    assert [one.id for one in shown] == [one for one in order if one in {each.id for each in shown}]


@promise("fusion:total")
@given(cosines, cosines, lexical_answers())
def test_the_order_of_the_input_does_not_matter(
    content: dict[str, float], description: dict[str, float], lexical: LexicalMatches
) -> None:
    turned = dict(reversed(list(content.items())))
    assert fuse(content, description, lexical, model_id=MINILM) == fuse(turned, description, lexical, model_id=MINILM)


@promise("fusion:legs-shown", "Every hit shows its rank and score in each leg that knows it.", source="issue")
def test_every_hit_shows_rank_and_score_in_each_leg_that_knows_it() -> None:
    lexical = matches({"b": 6.0, "a": 3.0}, [2, 5], 100)
    fused = {one.id: one for one in fuse({"a": 0.7, "b": 0.6}, {"b": 0.8}, lexical, model_id=MINILM)}
    assert {name: (leg.rank, leg.score) for name, leg in fused["b"].legs.items()} == {
        "content": (2, 0.6),
        "description": (1, 0.8),
        "lexical": (1, 6.0),
    }
    assert set(fused["a"].legs) == {"content", "lexical"}


@promise(
    "fusion:query-dependent",
    "How much words count depends on the query: coverage of its rare words and how far the best hit stands out.",
    source="DESIGN D13",
)
def test_words_decide_when_the_best_hit_covers_the_rare_ones_and_stands_out() -> None:
    cosine = {f"m{place}": 0.5 - place / 100 for place in range(30)}
    frequencies, memories = [3, 2, 4, 3], 1_000
    mass = sum(idf(n, memories) for n in frequencies)
    telling = matches({"m20": mass, "m21": mass * 0.2}, frequencies, memories)
    flat = matches({f"m{place}": mass * 0.3 - place / 1_000 for place in range(20, 30)}, frequencies, memories)
    assert fuse(cosine, {}, telling, model_id=MINILM)[0].id == "m20"
    assert fuse(cosine, {}, flat, model_id=MINILM)[0].id == "m0"


@promise(
    "fusion:neighbours",
    "The five best memories of a search speak for those that say nearly the same; where memories are unlike each "
    "other, the order stays.",
    source="DESIGN D13, issue 1",
)
def test_the_best_speak_for_what_says_nearly_the_same() -> None:
    """Of two memories equally near the query, the one that the best ones are like comes first; the far one stays."""
    cosine = {"a": 0.80, "b": 0.79, "c": 0.60, "d": 0.60}
    said, other = numpy.eye(3, dtype=numpy.float32)[0], numpy.eye(3, dtype=numpy.float32)[1]
    vectors = {"a": said, "b": said, "c": other, "d": said}
    assert [one.id for one in fuse(cosine, {}, NOTHING, model_id=MINILM)] == ["a", "b", "c", "d"]
    assert [one.id for one in fuse(cosine, {}, NOTHING, model_id=MINILM, vectors=vectors)] == ["a", "b", "d", "c"]


@promise("fusion:neighbours")
@given(st.dictionaries(ids, st.integers(-1_000, 1_000), min_size=1, max_size=30), st.sampled_from([MINILM, GRANITE]))
def test_memories_unlike_each_other_keep_their_order(thousandths: dict[str, int], model: str) -> None:
    """Each speaks for itself alone: what speaks stays ahead of what does not."""
    content = {one: number / 1_000 for one, number in thousandths.items()}
    vectors = dict(zip(content, numpy.eye(len(content), dtype=numpy.float32), strict=True))
    alone = fuse(content, {}, NOTHING, model_id=model, floor=0.0)
    spoken = fuse(content, {}, NOTHING, model_id=model, floor=0.0, vectors=vectors)
    assert [one.id for one in alone] == [one.id for one in spoken]


@promise(
    "fusion:identifiers",
    "A query's identifiers are told from their stemmed parts, stop words inside them included.",
    source="DESIGN D13, issue 1",
)
@pytest.mark.parametrize(
    ("terms", "named"),
    [
        (["pg", "dump", "pgdump"], {0, 1, 2}),
        (["misc", "header", "mischead"], {0, 1, 2}),
        (["ecd", "comment", "ecdcom"], {0, 1, 2}),
        (["traceback", "withtraceback"], {0, 1}),
        (["stack", "stackaft"], {0, 1}),
        (["why", "pg", "dump", "pgdump", "fail"], {1, 2, 3}),
        (["port", "portfolio"], set()),
        (["test", "contest"], set()),
        (["restart", "server", "start"], set()),
        ([], set()),
    ],
)
def test_identifiers_are_told_from_their_stemmed_parts(terms: list[str], named: set[int]) -> None:
    assert identifier_places(terms) == named


@promise("fusion:query-dependent")
def test_the_description_counts_as_much_as_the_content() -> None:
    assert fuse({"a": 0.5, "b": 0.3}, {"b": 0.7}, NOTHING, model_id=MINILM)[0].id == "b"


@promise(
    "floor:unrelated",
    "Distant memories, and those that share one common word of a longer query, are not shown, in banks of any size.",
    source="issue",
)
@pytest.mark.parametrize("memories", [1, 3, 20, 1_000, 50_000])
@pytest.mark.parametrize(("model", "near"), [(MINILM, 0.1), (GRANITE, 0.54)])
def test_distant_memories_are_not_shown(memories: int, model: str, near: float) -> None:
    cosine = {f"m{place}": near - place / 1_000 for place in range(min(memories, 100))}
    nothing = LexicalMatches(terms=(LexicalTerm(text="quiche", documents=0),), documents=memories)
    assert fuse(cosine, {}, nothing, model_id=model) == ()


@promise("floor:unrelated")
@pytest.mark.parametrize("memories", [1, 3, 20, 1_000])
@pytest.mark.parametrize(("model", "near"), [(MINILM, 0.12), (GRANITE, 0.53)])
def test_one_shared_common_word_of_six_is_not_enough(memories: int, model: str, near: float) -> None:
    shared = max(1, memories // 5)
    lexical = matches({"m0": idf(shared, memories)}, [shared, 0, 0, 0, 0, 0], memories)
    assert fuse({"m0": near}, {}, lexical, model_id=model) == ()


@promise(
    "floor:gate",
    "The relevance floor decides whether a question finds anything; once its best memory reaches it, weaker ones are "
    "shown too.",
    source="DESIGN D13",
)
@pytest.mark.parametrize(("best", "shown"), [(0.3, ["best", "weaker"]), (0.12, [])])
def test_weaker_memories_are_shown_beside_one_that_reaches_the_floor(best: float, shown: list[str]) -> None:
    cosines = {"best": best, "weaker": 0.15, "distant": 0.0}
    assert [one.id for one in fuse(cosines, {}, NOTHING, model_id=MINILM)] == shown


@promise(
    "fusion:function-words",
    "Function words of a question help to order what it matches; they make nothing relevant.",
    source="DESIGN D13",
)
def test_function_words_order_but_make_nothing_relevant() -> None:
    cosine = {f"m{place}": 0.5 for place in range(30)}
    plain = matches({"m1": 3.0, "m2": 3.0}, [20], 1_000)
    told = replace(plain, hits=(Scored(id="m2", score=5.0), Scored(id="m1", score=3.0)), function_words={"m2": 2.0})
    assert [one.id for one in fuse(cosine, {}, plain, model_id=MINILM)][:2] == ["m1", "m2"]
    before, after = (
        {one.id: one.relevance for one in fuse(cosine, {}, each, model_id=MINILM)} for each in (plain, told)
    )
    assert [one.id for one in fuse(cosine, {}, told, model_id=MINILM)][:2] == ["m2", "m1"]
    assert before == after


@promise(
    "floor:asked",
    "The floor of a question that somebody asks rises with the bank, from 0.05 at 50 memories to 0.2 at 200.",
    source="issue Search",
)
def test_the_floor_of_a_question_rises_with_the_bank() -> None:
    assert [asked_floor(memories) for memories in (0, 3, 50)] == [SMALL_FLOOR] * 3
    assert asked_floor(100) == pytest.approx(0.1)
    assert [asked_floor(memories) for memories in (200, 100_000)] == [FLOOR] * 2


@promise("floor:exact-identifier", "The only mention of an identifier is found whatever its cosine.", source="issue")
@pytest.mark.parametrize("memories", [1, 2, 3, 20, 1_000, 50_000])
@pytest.mark.parametrize(("model", "near"), [(MINILM, 0.0), (GRANITE, 0.5)])
@pytest.mark.parametrize("query", ["ECONNRESET", "pg_dump"])
def test_the_only_mention_of_an_identifier_is_found_whatever_its_cosine(
    memories: int, model: str, near: float, query: str
) -> None:
    terms = tuple(LexicalTerm(text=term, documents=1) for term in query_terms(query))
    score = 0.8 * len(terms) * idf(1, memories)
    lexical = LexicalMatches(hits=(Scored(id="m1", score=score),), terms=terms, documents=memories)
    cosine = {f"m{place}": near for place in range(min(memories, 100))} | {"m1": near}
    assert [one.id for one in fuse(cosine, {}, lexical, model_id=model)] == ["m1"]


@promise(
    "floor:common-word",
    "Among few memories, one that only shares a word with the question is not called a strong fit.",
    source="DESIGN D13",
)
@pytest.mark.parametrize("memories", [5, 20, 50])
def test_a_shared_word_among_few_memories_is_no_strong_fit(memories: int) -> None:
    cosine = {f"m{place}": 0.5 for place in range(memories)}
    shared = matches({"m1": 0.8 * idf(1, memories)}, [1], memories)
    found = fuse(cosine, {}, shared, model_id=GRANITE)
    assert [(one.id, one.fit) for one in found] in ([("m1", "weak")], [("m1", "fair")])
    twice = matches({"m1": 0.8 * idf(2, memories), "m2": 0.8 * idf(2, memories)}, [2], memories)
    assert not fuse(cosine, {}, twice, model_id=GRANITE)


@promise(
    "floor:fit",
    "A fit says strong only near the best hit, and asks for more the more memories there are.",
    source="DESIGN D13",
)
def test_a_fit_asks_for_more_in_larger_banks_and_compares_with_the_best() -> None:
    def fits(memories: int, *near: float) -> list[str]:
        cosine = {f"m{place}": each for place, each in enumerate(near)}
        lexical = LexicalMatches(documents=memories)
        return [one.fit for one in fuse(cosine, {}, lexical, model_id=MINILM)]

    assert fits(5, 0.5) == ["strong"]
    assert fits(5, 0.5, 0.5, 0.15) == ["strong", "strong", "weak"]
    assert fits(1_000, 0.5) == ["weak"]
    assert fits(1_000, 0.8) == ["fair"]
    assert fits(1_000, 0.95) == ["strong"]
    assert fits(5, 0.95, 0.7) == ["strong", "fair"]


@promise(
    "fusion:few",
    "Among few memories the words of a question count less: each of them is rare there.",
    source="DESIGN D13",
)
def test_words_count_less_among_few_memories() -> None:
    def first(memories: int) -> str:
        cosine = {"worded": 0.2, "meant": 0.4} | {f"m{place}": 0.0 for place in range(20)}
        worded = matches({"worded": 3 * idf(1, memories)}, [1, 1, 1], memories)
        return fuse(cosine, {}, worded, model_id=MINILM, floor=0.0)[0].id

    assert first(5) == "meant"
    assert first(2_000) == "worded"


@promise("floor:related", "A paraphrase that shares no word is shown.", source="issue")
@pytest.mark.parametrize(("memories", "near"), [(1, 0.4), (3, 0.4), (100, 0.5), (10_000, 0.7)])
def test_a_paraphrase_without_a_shared_word_is_shown(memories: int, near: float) -> None:
    unheard = LexicalMatches(terms=(LexicalTerm(text="orders", documents=0),), documents=memories)
    for model, cosine in ((MINILM, near), (GRANITE, 0.5 + near / 2)):
        assert [one.id for one in fuse({"m": cosine}, {}, unheard, model_id=model)] == ["m"]


@promise(
    "floor:per-model",
    "Cosines are read by the family of the embedding model; an unknown one hides less.",
    source="DESIGN D11 / D13",
)
def test_cosines_are_read_by_model_family() -> None:
    assert {calibration_of(GRANITE).family, calibration_of(MINILM).family} == {"granite", "minilm"}
    assert calibration_of("text-embedding-3-small/1536") is UNKNOWN
    assert UNKNOWN.background <= min(known.background for known in CALIBRATIONS)
    assert fuse({"m": 0.55}, {}, NOTHING, model_id=MINILM)
    assert not fuse({"m": 0.55}, {}, NOTHING, model_id=GRANITE)


@promise("floor:monotone", "A closer memory is never less relevant.", source="DESIGN D13")
@given(st.floats(-1, 1), st.floats(0, 0.5), st.integers(1, 10_000))
def test_a_closer_memory_is_never_less_relevant(cosine: float, more: float, memories: int) -> None:
    lexical = LexicalMatches(documents=memories)
    far = fuse({"m": cosine}, {}, lexical, model_id=MINILM, floor=0.0)[0].relevance
    near = fuse({"m": min(1.0, cosine + more)}, {}, lexical, model_id=MINILM, floor=0.0)[0].relevance
    assert near >= far


@promise(
    "fusion:words-worth",
    "A bank may learn from its own memories that words are worth less in it; without evidence nothing changes.",
    source="DESIGN D13",
)
@given(cosines, cosines, lexical_answers())
def test_words_that_are_worth_nothing_leave_the_order_to_the_dense_legs(
    content: dict[str, float], description: dict[str, float], lexical: LexicalMatches
) -> None:
    order = [one.id for one in fuse(content, description, lexical, model_id=MINILM, floor=0.0, words_worth=0.0)]
    near = [max(content.get(one, -1.0), description.get(one, -1.0)) for one in order]
    assert near == pytest.approx(sorted(near, reverse=True), abs=1e-9)
    assert fuse(content, description, lexical, model_id=MINILM, words_worth=1.0) == fuse(
        content, description, lexical, model_id=MINILM
    )
