"""A reranker puts the best hits into a better order: over the wire of a real server, and when that fails."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from promises import promise
from reasoningbank import Bank
from reasoningbank.embedding import configured_reranker
from reasoningbank.embedding.rerankers import MAX_TEXT, open_reranker
from reasoningbank.errors import ConfigurationError, ModelMissing
from reasoningbank.search.reranker import RERANKED, RERANKER_LEG
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder

pytest.importorskip("httpx2")

_KEY = "rk-a-very-secret-key"
_QUERY = "retry the request that fails"


def _by_words(query: str, text: str) -> float:
    """Score as a scripted model does: texts that name the magic word are best."""
    return 9.5 if "backoff" in text else -float(len(text))


@dataclass
class Endpoint:
    """What the server was asked, and how it answers."""

    url: str = ""
    score: Callable[[str, str], float] = _by_words
    answer: Callable[[list[dict[str, object]]], object] = lambda rows: {"results": rows}
    status: int = 200
    drip: float = 0.0
    requests: list[dict[str, object]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    state = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.requests.append({"path": self.path, **request})
            state.keys.append(self.headers.get("Authorization"))
            rows: list[dict[str, object]] = [
                {"index": place, "relevance_score": state.score(request["query"], text)}
                for place, text in enumerate(request["documents"])
            ]
            rows.sort(key=lambda row: -float(str(row["relevance_score"])))
            body = json.dumps(state.answer(rows[: request["top_n"]])).encode()
            self.send_response(state.status)
            self.end_headers()
            try:
                for start in range(0, len(body), 20) if state.drip else ():
                    self.wfile.write(body[start : start + 20])
                    time.sleep(state.drip)
                if not state.drip:
                    self.wfile.write(body)
            except OSError:
                return

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002, ARG002
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


def _bank(home: Path, **settings: str | float | bool) -> Bank:
    bank = Bank.open(
        tenant="acme",
        project="shop",
        embedder=HashingEmbedder(),
        settings=Settings(home=home, **settings),  # type: ignore[arg-type]
    )
    for number, text in enumerate(
        (
            "Retry the request that fails.",
            "Retry the request that fails at once, three times.",
            "Retry the request that fails with backoff, so that the server can rest for a while.",
        )
    ):
        bank.record(title=f"Lesson {number}", content=text, outcome="success")
    return bank


def _texts(bank: Bank) -> list[str]:
    return [hit.memory.content for hit in bank.search(_QUERY).memories]


@promise(
    "search:reranker",
    "A reranker that the user names puts the best hits of a search and a briefing into its order; without one nothing "
    "is asked and nothing is sent.",
    source="issue 12 (Options)",
)
def test_a_reranker_over_the_wire_changes_the_order_alone(tmp_path: Path, endpoint: Endpoint) -> None:
    with _bank(tmp_path / "plain") as plain:
        before = _texts(plain)
    assert "backoff" not in before[0]
    assert endpoint.requests == []
    with _bank(tmp_path / "a", reranker="openai:scorer", reranker_url=endpoint.url, reranker_key=_KEY) as bank:
        found = bank.search(_QUERY)
        assert {hit.memory.content for hit in found.memories} == set(before)
        assert "backoff" in found.memories[0].memory.content
        assert found.warnings == ()
        legs = [hit.legs[RERANKER_LEG] for hit in found.memories]
        assert [leg.rank for leg in legs] == [1, 2, 3]
        assert legs[0].score == 9.5
        relevances = [hit.relevance for hit in found.memories]
        assert relevances == sorted(relevances, reverse=True)
        assert "backoff" in bank.briefing(_QUERY, limit=1).text
    assert endpoint.keys == [f"Bearer {_KEY}"] * 2
    request = endpoint.requests[0]
    assert request["path"] == "/v1/rerank"
    assert (request["model"], request["query"], request["top_n"]) == ("scorer", _QUERY, 3)


@promise("search:reranker")
def test_it_may_lift_what_the_limit_would_have_cut_off(tmp_path: Path, endpoint: Endpoint) -> None:
    with _bank(tmp_path, reranker="openai:scorer", reranker_url=endpoint.url) as bank:
        (best,) = bank.search(_QUERY, limit=1).memories
        assert "backoff" in best.memory.content
        for number in range(2 * RERANKED):
            bank.record(title=f"More {number}", content=f"Retry the request {number} that fails.", outcome="success")
        assert len(bank.search(_QUERY, limit=5).memories) == 5
        documents = endpoint.requests[-1]["documents"]
        assert isinstance(documents, list)
        assert len(documents) == RERANKED
        assert bank.search(_QUERY, limit=0).memories == ()


@promise(
    "search:reranker-fails",
    "A reranker that fails or takes too long leaves the plain order and is named in the answer; it is then left alone "
    "for a minute.",
    source="issue 12 (Options), DESIGN D8",
)
@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"results": [{"index": 2, "relevance_score": 1.0}]}, 503),
        ({"results": []}, 200),
        ({"results": [{"index": 7, "relevance_score": 1.0}]}, 200),
        ({"results": [{"index": 0, "relevance_score": 1.0}] * 2}, 200),
        ({"results": [{"index": 0, "relevance_score": float("nan")}]}, 200),
        ({"results": [{"index": 0, "relevance_score": "good"}]}, 200),
        ("no", 200),
    ],
)
def test_a_bad_answer_leaves_the_plain_order(
    tmp_path: Path,
    endpoint: Endpoint,
    answer: object,
    status: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with _bank(tmp_path / "plain") as plain:
        before = _texts(plain)
    endpoint.answer, endpoint.status = lambda _: answer, status
    with (
        caplog.at_level(logging.DEBUG),
        _bank(tmp_path / "a", reranker="openai:scorer", reranker_url=endpoint.url, reranker_key=_KEY) as bank,
    ):
        for _ in range(2):
            found = bank.search(_QUERY)
            assert [hit.memory.content for hit in found.memories] == before
            assert [warning[:26] for warning in found.warnings] == ["The order is the plain one"]
            assert _KEY not in repr(found)
    assert len(endpoint.requests) == 1
    assert _KEY not in caplog.text


@promise("search:reranker-fails")
def test_an_answer_that_drips_is_given_up_in_time(tmp_path: Path, endpoint: Endpoint) -> None:
    endpoint.drip = 0.2
    with _bank(tmp_path, reranker="openai:scorer", reranker_url=endpoint.url, reranker_timeout=0.5) as bank:
        started = time.monotonic()
        found = bank.search(_QUERY)
        assert time.monotonic() - started < 1.5
    assert len(found.memories) == 3
    assert "took more than 0.5 seconds" in found.warnings[0]


@promise("search:reranker-fails")
def test_a_server_that_is_not_there_or_may_not_be_called_leaves_the_plain_order(tmp_path: Path) -> None:
    with _bank(tmp_path / "a", reranker="openai:m", reranker_url="http://127.0.0.1:9/v1") as bank:
        assert "never came" in bank.search(_QUERY).warnings[0]
    elsewhere = "http://rerank.example.invalid/v1"
    with _bank(tmp_path / "b", reranker="openai:m", reranker_url=elsewhere, paid_calls=False) as bank:
        assert "paid calls are off" in bank.search(_QUERY).warnings[0]


@promise(
    "search:reranker-redacted",
    "What a reranker is sent holds no secrets, and at most 4,000 characters of each memory.",
    source="issue 12 (Options), DESIGN D10",
)
def test_secrets_do_not_leave(tmp_path: Path, endpoint: Endpoint) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with _bank(tmp_path, reranker="openai:scorer", reranker_url=endpoint.url) as bank:
        content = f"Retry the request that fails with {secret} again. " + "request fails " * 900
        bank.record(title="Long", content=content, outcome="success")
        bank.search(f"{_QUERY} with {secret}")
    sent = json.dumps(endpoint.requests)
    assert endpoint.requests
    assert secret not in sent
    documents = endpoint.requests[0]["documents"]
    assert isinstance(documents, list)
    assert max(map(len, documents)) == MAX_TEXT


@promise("search:reranker")
@pytest.mark.parametrize("shape", ["results", "data", ""])
def test_the_shapes_of_several_servers_are_read(tmp_path: Path, endpoint: Endpoint, shape: str) -> None:
    def answer(rows: list[dict[str, object]]) -> object:
        if shape:
            return {shape: rows[:2]}
        return [{"index": row["index"], "score": row["relevance_score"]} for row in rows[:2]]

    endpoint.answer = answer
    reranker = open_reranker("openai:m", cache=tmp_path, url=endpoint.url)
    assert reranker is not None
    assert reranker.scores("q", ["aaaa", "with backoff", "aa"]) == [None, 9.5, -2.0]
    assert reranker.scores("q", []) == []


@promise("search:reranker")
def test_names_and_settings_are_checked(tmp_path: Path) -> None:
    assert configured_reranker(Settings(home=tmp_path)) is None
    for name in ("rerank", "openai:", "cohere:x", "fastembed:"):
        with pytest.raises(ConfigurationError, match="No reranker"):
            configured_reranker(Settings(home=tmp_path, reranker=name, reranker_url="http://127.0.0.1:9"))
    for wrong in ("", "ftp://x", "http://user:word@host/v1"):
        with pytest.raises(ConfigurationError):
            configured_reranker(Settings(home=tmp_path, reranker="openai:m", reranker_url=wrong))
    with pytest.raises(ConfigurationError):
        configured_reranker(Settings(home=tmp_path, reranker="openai:m", reranker_url="http://h", reranker_timeout=0.0))
    known = Settings(home=tmp_path, reranker="openai:m", reranker_url="http://h", reranker_key=_KEY)
    assert _KEY not in repr(known)
    assert _KEY not in repr(configured_reranker(known))


@promise("search:reranker-fails")
def test_fastembed_that_is_not_installed_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    monkeypatch.setitem(sys.modules, "fastembed.rerank.cross_encoder", None)
    reranker = open_reranker("fastembed:some/model", cache=tmp_path)
    assert reranker is not None
    with pytest.raises(ModelMissing, match="not installed"):
        reranker.scores("q", ["text"])
    with _bank(tmp_path, reranker="fastembed:some/model") as bank:
        found = bank.search(_QUERY)
        assert len(found.memories) == 3
        assert "pip install" in found.warnings[0]
