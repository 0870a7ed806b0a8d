"""LangGraph's store over a bank, compared with LangGraph's own store in memory."""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections import UserDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import settings as run_settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, InvalidNamespaceError, Item, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from promises import promise
from reasoningbank import Bank, Settings
from reasoningbank.errors import InvalidInput, ModelMismatch
from reasoningbank.integrations.langgraph import COLLECTION, BankStore
from reasoningbank.testing import HashingEmbedder

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
USERS = ("users", "ada")


def open_bank(home: Path, embedder: HashingEmbedder | None = None) -> Bank:
    """A bank with the fast test embedder."""
    return Bank.open(
        tenant="acme", project="shop", embedder=embedder or HashingEmbedder(), settings=Settings(home=home)
    )


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Bank]:
    """An empty bank."""
    with open_bank(tmp_path / "home") as opened:
        yield opened


WORDS = st.sampled_from(["retry", "network", "paint", "fence", "invoice", "a b", "ü", ""])
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | WORDS
FIELDS = st.sampled_from(["text", "n", "tags", "nested"])
VALUES = st.dictionaries(
    FIELDS, LEAVES | st.lists(LEAVES, max_size=3) | st.dictionaries(FIELDS, LEAVES, max_size=2), max_size=4
)
LABELS = st.sampled_from(["a", "b", "ab", "c d"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
PREFIXES = st.lists(LABELS, max_size=2).map(tuple)
KEYS = st.sampled_from(["1", "2", "k/3"])
OPERATORS = st.dictionaries(st.sampled_from(["$eq", "$ne"]), LEAVES, min_size=1, max_size=2)
FILTERS = st.none() | st.dictionaries(
    FIELDS, LEAVES | OPERATORS | st.lists(LEAVES, max_size=2) | st.dictionaries(FIELDS, LEAVES, max_size=1), max_size=2
)
INDEXES = st.none() | st.just(False) | st.lists(st.sampled_from(["text", "tags[*]", "nested.text", "n"]), max_size=2)
PATTERNS = st.lists(LABELS | st.just("*"), max_size=3).map(tuple)
CONDITIONS = st.lists(st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), PATTERNS), max_size=2).map(tuple)
OPS = st.one_of(
    st.builds(PutOp, NAMESPACES, KEYS, VALUES, INDEXES, ttl=st.none()),
    st.builds(PutOp, NAMESPACES, KEYS, VALUES, INDEXES, ttl=st.none()),
    st.builds(PutOp, NAMESPACES, KEYS, st.none(), st.none(), ttl=st.none()),
    st.builds(GetOp, NAMESPACES, KEYS),
    st.builds(SearchOp, PREFIXES, FILTERS, st.just(50), st.just(0), st.none() | WORDS),
    st.builds(ListNamespacesOp, CONDITIONS, st.none() | st.integers(1, 3), st.integers(1, 9), st.integers(0, 2)),
)


class Repaired(InMemoryStore):
    """LangGraph's own store; the original fails when a text occurs twice among those it embeds at once."""

    def _insertinmem_store(self, to_embed: Any, embeddings: list[list[float]]) -> None:
        for places, embedding in zip(to_embed.values(), embeddings, strict=True):
            for namespace, key, path in places:
                self._vectors[namespace][key][path] = embedding


def reference(embedder: HashingEmbedder) -> InMemoryStore:
    """LangGraph's own store with the same vectors."""

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [[float(number) for number in vector] for vector in embedder.embed_documents(list(texts))]

    return Repaired(index={"dims": embedder.dimension, "embed": embed, "fields": ["$"]})


def prepare(store: InMemoryStore, op: PutOp) -> None:
    """What the reference forgets: a replaced item's vectors, and a namespace that holds nothing any more."""
    store._vectors[op.namespace].pop(op.key, None)


def tidy(store: InMemoryStore) -> None:
    """The same for namespaces, which even a read makes."""
    for namespace in [namespace for namespace, items in store._data.items() if not items]:
        del store._data[namespace]


def seen(result: object) -> object:
    """A result without times; search results in an order of their own, with their scores rounded."""
    if isinstance(result, list) and result and hasattr(result[0], "score"):
        rows = [
            (each.namespace, each.key, repr(each.value), None if each.score is None else round(each.score, 4))
            for each in result
        ]
        return sorted(rows)
    if isinstance(result, Item):
        return (result.namespace, result.key, result.value)
    return result


@promise(
    "langgraph:differential",
    "Random batches are answered as by LangGraph's own InMemoryStore.",
    source="issue 4 (LangGraph); spec/clients 4e",
)
@run_settings(max_examples=25)
@given(batches=st.lists(st.lists(OPS, min_size=1, max_size=5), min_size=1, max_size=6))
def test_every_batch_is_answered_as_by_langgraphs_own_store(batches: list[list[Any]]) -> None:
    embedder = HashingEmbedder()
    own = reference(embedder)
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch) / "home"
        for half in (batches[:3], batches[3:]):
            with open_bank(home, embedder) as bank:
                for batch in half:
                    ours = [seen(each) for each in BankStore(bank).batch(batch)]
                    assert ours == [seen(each) for each in answers(own, batch)], batch
                assert bank.admin.check().problems == ()
                assert bank.memories.count() == 0


def answers(store: InMemoryStore, batch: list[Any]) -> list[Any]:
    """What the reference answers: every operation that reads, then the last write of each place."""
    results = []
    for op in batch:
        tidy(store)
        results.append(None if isinstance(op, PutOp) else store.batch([op])[0])
    for op in {(op.namespace, op.key): op for op in batch if isinstance(op, PutOp)}.values():
        prepare(store, op)
        store.batch([op])
    return results


@promise(
    "langgraph:search",
    "A query ranks items by the best of their indexed texts; nothing is left out, items without a text come last.",
    source="spec/clients 4e",
)
def test_a_query_ranks_by_the_best_text_and_leaves_nothing_out(bank: Bank) -> None:
    store = BankStore(bank, index=["text", "parts[*].title"])
    store.put(USERS, "a", {"text": "retry the network call", "parts": [{"title": "paint the fence"}]})
    store.put(USERS, "b", {"text": "send an invoice"})
    store.put(USERS, "hidden", {"text": "retry the network call"}, index=False)
    store.put(("other",), "c", {"text": "retry the network call"})
    store.put(USERS, "own", {"note": "a cat on the roof", "text": "x"}, index=["note"])
    found = store.search(USERS, query="retry the network call")
    assert found[0].key == "a"
    assert found[0].score == pytest.approx(1.0, abs=1e-4)
    assert {each.key for each in found} == {"a", "b", "hidden", "own"}
    assert (found[-1].key, found[-1].score) == ("hidden", None)
    assert store.search(USERS, query="paint the fence", limit=1)[0].key == "a"
    assert store.search(USERS, query="a cat on the roof", limit=1)[0].key == "own"
    assert [each.key for each in store.search((), query="retry the network call", limit=2)] == ["a", "c"]
    assert [
        each.key for each in store.search(USERS, query="retry the network call", filter={"text": "send an invoice"})
    ] == ["b"]
    pages = [each.key for offset in range(4) for each in store.search(USERS, query="retry", limit=1, offset=offset)]
    assert pages == [each.key for each in store.search(USERS, query="retry")]
    for query in ("", "  "):
        assert [(each.key, each.score) for each in store.search(USERS, query=query)] == [
            ("a", None),
            ("b", None),
            ("hidden", None),
            ("own", None),
        ]
    off = BankStore(bank, index=False)
    assert [each.score for each in off.search(USERS, query="retry")] == [None] * 4
    off.put(USERS, "a", {"text": "retry the network call"})
    assert store.search(USERS, query="retry the network call")[0].key != "a"


@promise(
    "langgraph:filters",
    "Filters compare as LangGraph says: equality, nesting, lists and the six operators.",
    source="spec/clients 4e",
)
@pytest.mark.parametrize(
    ("condition", "keys"),
    [
        ({"n": 2}, "b"),
        ({"n": {"$eq": 2}}, "b"),
        ({"n": {"$ne": 2}}, "acde"),
        ({"n": {"$gt": 1}}, "bc"),
        ({"n": {"$gte": 2, "$lt": 3}}, "b"),
        ({"n": {"$lte": 1}}, "a"),
        ({"n": {"$gt": "1.5"}}, "bc"),
        ({"n": None}, "e"),
        ({"tags": ["x", "y"]}, "a"),
        ({"tags": ["y", "x"]}, ""),
        ({"nested": {"k": "v"}}, "b"),
        ({"nested": {"k": {"$ne": "v"}}}, "c"),
        ({"n": 1, "tags": ["x", "y"]}, "a"),
        ({"missing": {"$gt": 1}}, ""),
        ({"n": {"$gt": None}}, ""),
        ({"nested": {"$eq": {"k": "v"}}}, "b"),
        ({}, "abcde"),
    ],
)
def test_filters_compare_as_langgraph_says(bank: Bank, condition: dict[str, Any], keys: str) -> None:
    store = BankStore(bank)
    values: dict[str, dict[str, object]] = {
        "a": {"n": 1, "tags": ("x", "y")},
        "b": {"n": 2, "nested": {"k": "v"}},
        "c": {"n": 3.5, "nested": {"k": 1}},
        "d": {"n": "no number"},
        "e": {"nested": [1]},
    }
    store.batch([PutOp(USERS, key, value) for key, value in values.items()])
    assert "".join(each.key for each in store.search(USERS, filter=condition)) == keys
    assert store.search(USERS, filter=condition, limit=1, offset=1) == store.search(USERS, filter=condition)[1:2]


@promise(
    "langgraph:refused",
    "Labels, values, operators and ttl that the interface does not allow are refused; nothing of the batch is written.",
    source="spec/clients 4e",
)
def test_what_the_interface_does_not_allow_is_refused_and_nothing_is_written(bank: Bank) -> None:
    store = BankStore(bank)
    seed, good = PutOp(("seed",), "s", {"a": 1}), PutOp(USERS, "good", {"a": 1})
    store.batch([seed])
    for bad in (
        PutOp(USERS, "x", {"a": object()}),
        PutOp(USERS, "x", {"a": math.nan}),
        PutOp(USERS, "x", {"a": 10**5_000}),
        PutOp(USERS, "x", {"a": {1: 2}}),
        PutOp(USERS, "x", {"a": b"bytes"}),
        PutOp(USERS, "x", {"a": {1, 2}}),
        PutOp(USERS, "x", {"a": "x" * 1_000_001}),
        PutOp(USERS, "x", {"a": 1}, ttl=5.0),
        PutOp(USERS, "x", {SECRET: 1}),
        PutOp(USERS, SECRET, {"a": 1}),
        PutOp((*USERS, SECRET), "x", {"a": 1}),
        PutOp(USERS, "k" * 501, {"a": 1}),
        PutOp(USERS, "\ud800", {"a": 1}),
        PutOp(USERS, "x", {"\ud800": 1}),
        SearchOp((), {"a": {"$no": 1}}),
        ("unknown",),
        ListNamespacesOp((MatchCondition("middle", ("a",)),)),  # type: ignore[arg-type]  # what a caller may get wrong
        PutOp(USERS, "x", {"a": [[]] * 1 + [_nested(200)]}),
    ):
        with pytest.raises(InvalidInput) as caught:
            store.batch([PutOp(USERS, "first", {"a": 1}), bad, good])  # type: ignore[list-item]  # as above
        assert caught.value.hint
        assert [each.key for each in store.search(())] == ["s"]
    for namespace in ((), ("a.b",), ("",), ("a\x00",), ("langgraph", "x")):
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {"a": 1})
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "k", {"a": 1})])
    with pytest.raises(NotImplementedError, match="TTL is not supported by BankStore"):
        store.put(USERS, "k", {"a": 1}, ttl=1.0)
    assert store.supports_ttl is False
    with pytest.raises(InvalidInput, match="index is a list of fields"):
        BankStore(bank, index="text")
    assert [each.key for each in store.search(())] == ["s"]


def _nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@promise(
    "langgraph:secrets",
    "Secrets are replaced wherever they stand in a value and reach no file.",
    source="DESIGN D10",
)
def test_secrets_are_replaced_wherever_they_stand_in_a_value(bank: Bank, tmp_path: Path) -> None:
    store = BankStore(bank, index=["password", "$"])
    password = "hunter2x9"
    store.put(USERS, "k", {"password": password, "deep": [{"api_key": [SECRET]}], "text": f"use\u200b {SECRET} twice"})
    item = store.get(USERS, "k")
    assert item is not None
    assert item.value == {
        "password": "[REDACTED:password]",
        "deep": [{"api_key": ["[REDACTED:github-token]"]}],
        "text": "use [REDACTED:github-token] twice",
    }
    assert bank.admin.export(tmp_path / "export.jsonl") == 0
    bank.close()
    for file in tmp_path.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert SECRET.encode() not in content
            assert password.encode() not in content


@promise(
    "langgraph:kept",
    "Items survive reopening, are exported, and keep the time when they were first stored.",
    source="issue 4 (LangGraph)",
)
@promise(
    "document:erased",
    "A deleted document is gone from the bank's files.",
    source="issue 4 (LangGraph); DESIGN D10",
)
def test_items_survive_and_deleted_ones_are_gone_from_the_files(tmp_path: Path) -> None:
    home, canary = tmp_path / "home", "canaryzebra"
    with open_bank(home) as bank:
        store = BankStore(bank)
        store.put(USERS, "gone", {"text": canary})
        store.put(
            USERS, "kept", MappingProxyType({"a": UserDict({"b": (1, "ü\n  x ")}), "t": True, "f": 1.5, "n": None})
        )
        made = store.get(USERS, "kept")
        assert made is not None
        store.put(USERS, "kept", made.value)
        store.delete(USERS, "gone")
    assert not [file for file in home.rglob("*") if file.is_file() and canary.encode() in file.read_bytes()]
    with open_bank(home) as bank:
        item = BankStore(bank).get(USERS, "kept")
        assert item is not None
        assert item.value == {"a": {"b": [1, "ü\n  x "]}, "t": True, "f": 1.5, "n": None}
        assert item.created_at == made.created_at
        assert item.updated_at >= made.updated_at
        assert BankStore(bank).get(USERS, "gone") is None


@promise("langgraph:kept")
@promise(
    "document:export",
    "An export brings documents along without secrets; an import overwrites none, and refuses broken lines as a whole.",
    source="issue 4 (LangGraph)",
)
def test_an_export_brings_the_items_along_and_overwrites_none(tmp_path: Path) -> None:
    with open_bank(tmp_path / "one") as bank:
        store = BankStore(bank)
        store.put(USERS, "a", {"text": "retry the network call", "z": 1, "a": 2})
        store.put(USERS, "b", {"text": "paint"}, index=False)
        bank.record(title="A lesson", content="Do it.", outcome="success")
        assert bank.admin.export(tmp_path / "export.jsonl") == 1
        exported = bank.documents.list(COLLECTION)
    with open_bank(tmp_path / "two") as bank:
        store = BankStore(bank)
        store.put(USERS, "b", {"text": "mine"})
        bank.admin.import_(tmp_path / "export.jsonl")
        assert bank.documents.get(COLLECTION, USERS, "a") == exported[0]
        assert store.search(USERS, query="retry the network call")[0].key == "a"
        mine = store.get(USERS, "b")
        assert mine is not None
        assert mine.value == {"text": "mine"}
    lines = (tmp_path / "export.jsonl").read_text().splitlines()
    place = next(number for number, line in enumerate(lines) if '"document"' in line)
    for broken in ('{"document": 1}', '{"document": {"path": []}}', lines[place].replace('"text\\"', '"text'), "[]"):
        (tmp_path / "broken.jsonl").write_text("\n".join([*lines[:place], broken]))
        with open_bank(tmp_path / "three") as bank:
            with pytest.raises(InvalidInput, match=f"line {place + 1}"):
                bank.admin.import_(tmp_path / "broken.jsonl")
            assert bank.memories.count() == 0
            assert bank.documents.list(COLLECTION) == ()


@promise("langgraph:kept")
@promise(
    "document:reembed",
    "Another embedder is refused for documents too until the bank is embedded again.",
    source="DESIGN D11",
)
def test_another_embedder_is_refused_until_the_bank_is_reembedded(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with open_bank(home) as bank:
        BankStore(bank).put(USERS, "a", {"text": "retry the network call"})
    other = HashingEmbedder(dimension=32)
    with open_bank(home, other) as bank:
        store = BankStore(bank, index=["text"])
        with pytest.raises(ModelMismatch):
            store.search(USERS, query="retry")
        with pytest.raises(ModelMismatch):
            store.put(USERS, "b", {"text": "paint"})
        assert [each.key for each in store.search(())] == ["a"]
        bank.admin.reembed()
        store.put(USERS, "b", {"text": "paint"})
        assert [each.key for each in store.search(USERS, query="paint")] == ["b", "a"]
        assert bank.admin.check().problems == ()


@promise(
    "langgraph:apart",
    "Items are not lessons and files are not items: neither shows up as the other.",
    source="issue 4 (LangGraph)",
)
def test_items_are_no_lessons_and_files_are_no_items(bank: Bank) -> None:
    store = BankStore(bank)
    store.put(USERS, "a", {"text": "Retry the network call"})
    assert bank.search("Retry the network call", min_confidence=0.0).delivered == ()
    assert bank.briefing().items == ()
    assert (bank.memories.count(), bank.memories.list(), bank.documents.files()) == (0, (), {})
    bank.record(title="Retry", content="Back off.", outcome="success")
    assert [each.key for each in store.search(())] == ["a"]
    assert store.list_namespaces() == [USERS]
    assert BankStore(bank).get(USERS, "nothing") is None
    assert store.list_namespaces() == [USERS]


@promise("langgraph:async", "The asynchronous half of the store answers the same.", source="spec/clients 4e")
def test_the_asynchronous_half_answers_the_same(bank: Bank) -> None:
    async def work() -> list[Any]:
        store = BankStore(bank)
        await asyncio.gather(*(store.aput(USERS, str(number), {"n": number}) for number in range(8)))
        await store.adelete(USERS, "3")
        return [
            len(await store.asearch(USERS, limit=20)),
            await store.aget(USERS, "3"),
            await store.alist_namespaces(prefix=("users", "*"), suffix=("*",), max_depth=1),
            [each.value for each in await store.asearch((), filter={"n": {"$gte": 6}}, query="7")],
        ]

    count, gone, namespaces, found = asyncio.run(work())
    assert (count, gone, namespaces) == (7, None, [("users",)])
    assert sorted(each["n"] for each in found) == [6, 7]


@promise("langgraph:scores", "The score of an item is the cosine of its text and the query.", source="spec/clients 4e")
def test_scores_are_cosines(bank: Bank) -> None:
    store, embedder = BankStore(bank, index=["text"]), bank.embedder
    store.put(USERS, "a", {"text": "send an invoice to the customer"})
    (found,) = store.search(USERS, query="an invoice is late")
    one, other = (
        embedder.embed_documents(["send an invoice to the customer"])[0],
        embedder.embed_queries(["an invoice is late"])[0],
    )
    exact = float(numpy.dot(one, other) / (numpy.linalg.norm(one) * numpy.linalg.norm(other)))
    assert found.score == pytest.approx(exact, abs=1e-5)
