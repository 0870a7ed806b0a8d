"""The remote embedder against a real HTTP server on the loopback."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy
import pytest

from promises import promise
from reasoningbank.embedding.remote import RemoteEmbedder
from reasoningbank.errors import ConfigurationError, ModelError, ModelMismatch

pytest.importorskip("httpx2")

_KEY = "sk-very-secret-key"


@dataclass
class Endpoint:
    """What the server was asked, and what it is told to answer before it answers properly."""

    url: str = ""
    dimension: int = 16
    faults: list[tuple[int, bytes, dict[str, str]]] = field(default_factory=list)
    requests: list[dict[str, object]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    shuffle: bool = False


def _vector(text: str, dimension: int) -> list[float]:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return [float(value) * 3 for value in numpy.random.default_rng(seed).standard_normal(dimension)]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    state = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.requests.append({"path": self.path, **request})
            state.keys.append(self.headers.get("Authorization"))
            if state.faults:
                self._answer(*state.faults.pop(0))
                return
            data = [
                {"object": "embedding", "index": number, "embedding": _vector(text, state.dimension)}
                for number, text in enumerate(request["input"])
            ]
            if state.shuffle:
                data.reverse()
            self._answer(200, json.dumps({"object": "list", "data": data}).encode(), {})

        def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002, ARG002
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1/"
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def embedder(endpoint: Endpoint, waits: list[float]) -> Iterator[RemoteEmbedder]:
    made = RemoteEmbedder(
        model="m", url=endpoint.url, dimension=16, key=_KEY, timeout=5, sleep=lambda seconds: waits.append(seconds)
    )
    yield made
    made.close()


@promise(
    "embedding:remote",
    "An OpenAI-compatible endpoint is asked in batches; vectors come back in the order of the texts, of unit length; "
    "no proxy stands before one on this machine.",
    source="DESIGN D11",
)
def test_vectors_come_back_in_order_and_of_unit_length(endpoint: Endpoint, embedder: RemoteEmbedder) -> None:
    endpoint.shuffle = True
    texts = [f"text {number}" for number in range(150)]
    vectors = embedder.embed_documents(texts)
    expected = numpy.array([_vector(text, 16) for text in texts])
    expected /= numpy.linalg.norm(expected, axis=1, keepdims=True)
    assert vectors.dtype == numpy.float32
    assert numpy.allclose(vectors, expected, atol=1e-5)
    assert [len(request["input"]) for request in endpoint.requests if isinstance(request["input"], list)] == [
        64,
        64,
        22,
    ]
    assert {request["path"] for request in endpoint.requests} == {"/v1/embeddings"}
    assert set(endpoint.keys) == {f"Bearer {_KEY}"}


@promise("embedding:remote")
def test_no_proxy_stands_before_an_endpoint_on_this_machine(
    endpoint: Endpoint, embedder: RemoteEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert embedder.embed_queries(["text"]).shape == (1, 16)
    assert len(endpoint.requests) == 1


@promise("embedding:remote")
def test_no_text_means_no_request_and_an_empty_text_is_sent(endpoint: Endpoint, embedder: RemoteEmbedder) -> None:
    assert embedder.embed_queries([]).shape == (0, 16)
    assert endpoint.requests == []
    assert embedder.embed_queries(["", "\ud800"]).shape == (2, 16)
    assert endpoint.requests[0]["input"] == [" ", "?"]


@promise(
    "embedding:asked-again",
    "A question that was asked lately is not sent to the endpoint again, nor run by the local model; its vector is the "
    "same. A text to be found is always embedded.",
    source="issue 17 (Embedding)",
)
def test_a_question_is_sent_once(endpoint: Endpoint, embedder: RemoteEmbedder) -> None:
    first = embedder.embed_queries(["one", "two"])
    kept = first.copy()
    first[0] = 0.0
    again = embedder.embed_queries(["two", "three", "one", "two"])
    assert [request["input"] for request in endpoint.requests] == [["one", "two"], ["three"]]
    assert numpy.array_equal(again[[2, 0, 3]], kept[[0, 1, 1]])
    embedder.embed_documents(["one"])
    assert endpoint.requests[2]["input"] == ["one"]
    many = [f"question {number}" for number in range(600)]
    for text in [*many, "one"]:
        embedder.embed_queries([text])
    assert endpoint.requests[-1]["input"] == ["one"], "of many questions the last ones are kept"


@promise(
    "embedding:remote-dimension",
    "Remote vectors of up to 3072 dimensions are accepted; any other than the one set is refused.",
    source="DESIGN D11",
)
def test_3072_dimensions_are_accepted(endpoint: Endpoint) -> None:
    endpoint.dimension = 3072
    large = RemoteEmbedder(model="text-embedding-3-large", url=endpoint.url, dimension=3072)
    vectors = large.embed_queries(["one", "two"])
    large.close()
    assert vectors.shape == (2, 3072)
    assert large.model_id == "openai:text-embedding-3-large/3072"
    assert endpoint.keys == [None]


@promise("embedding:remote-dimension")
def test_another_dimension_is_refused(endpoint: Endpoint, embedder: RemoteEmbedder) -> None:
    endpoint.dimension = 17
    with pytest.raises(ModelMismatch, match="17 dimensions, 16 were expected"):
        embedder.embed_documents(["text"])


@promise(
    "embedding:remote-retry",
    "429, 5xx and broken connections are tried three times in all with growing waits; a refusal is not repeated.",
    source="issue (Embedding)",
)
def test_limits_and_server_errors_are_tried_three_times(
    endpoint: Endpoint, embedder: RemoteEmbedder, waits: list[float]
) -> None:
    endpoint.faults = [(429, b"", {"Retry-After": "7"}), (503, b"", {})]
    assert embedder.embed_queries(["text"]).shape == (1, 16)
    assert waits == [7.0, 1.0]
    endpoint.faults = [(500, b"", {"Retry-After": "soon"}), (502, b"", {"Retry-After": "9999"}), (504, b"", {})]
    with pytest.raises(ModelError, match="status 504, 3 times"):
        embedder.embed_queries(["another text"])
    assert waits == [7.0, 1.0, 0.5, 20.0]


@promise("embedding:remote-retry")
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 302])
def test_a_refusal_is_not_repeated(
    endpoint: Endpoint, embedder: RemoteEmbedder, waits: list[float], status: int
) -> None:
    endpoint.faults = [(status, _KEY.encode(), {})]
    with pytest.raises(ModelError) as caught:
        embedder.embed_queries(["text"])
    assert str(status) in str(caught.value)
    assert len(endpoint.requests) == 1
    assert waits == []
    assert _KEY not in f"{caught.value!r} {caught.value.hint}"


@promise("embedding:remote-retry")
def test_an_endpoint_that_is_not_there_is_a_clear_error(waits: list[float]) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        port = server.server_address[1]
    gone = RemoteEmbedder(
        model="m", url=f"http://127.0.0.1:{port}/v1", dimension=4, key=_KEY, sleep=lambda seconds: waits.append(seconds)
    )
    with pytest.raises(ModelError, match="cannot be reached") as caught:
        gone.embed_queries(["text"])
    gone.close()
    assert waits == [0.5, 1.0]
    assert _KEY not in str(caught.value)


@promise(
    "embedding:remote-answer",
    "A malformed answer of an endpoint is an error with a hint.",
    source="errors.ModelError",
)
@pytest.mark.parametrize(
    "answer",
    [
        b"<html>",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"{}",
        b'{"data": []}',
        b'{"data": [1, 2]}',
        b'{"data": [{"embedding": [1]}, {"embedding": [1]}]}',
        b'{"data": [{"index": 5, "embedding": [1]}, {"index": 0, "embedding": [1]}]}',
        json.dumps({"data": [{"index": 0, "embedding": [1.0] * 16}] * 2}).encode(),
        json.dumps({"data": [{"index": n, "embedding": ["x"] * 16} for n in (0, 1)]}).encode(),
        json.dumps({"data": [{"index": n, "embedding": [None] * 16} for n in (0, 1)]}).encode(),
        json.dumps({"data": [{"index": n, "embedding": [[1.0]] * 16} for n in (0, 1)]}).encode(),
        json.dumps({"data": [{"index": n, "embedding": [0.0] * 16} for n in (0, 1)]}).encode(),
        json.dumps({"data": [{"index": True, "embedding": [1.0] * 16}] * 2}).encode(),
        json.dumps({"data": [{"index": n, "embedding": [float("nan")] * 16} for n in (0, 1)]}).encode(),
    ],
)
def test_a_bad_answer_is_an_error_with_a_hint(endpoint: Endpoint, embedder: RemoteEmbedder, answer: bytes) -> None:
    endpoint.faults = [(200, answer, {})]
    with pytest.raises(ModelError) as caught:
        embedder.embed_documents(["one", "two"])
    assert caught.value.hint
    assert embedder.embed_documents(["one", "two"]).shape == (2, 16)


@promise("embedding:remote-key", "The endpoint's key is in no name, representation or error.", source="issue (Hygiene)")
def test_the_key_is_nowhere_to_be_seen(embedder: RemoteEmbedder) -> None:
    assert _KEY not in f"{embedder!r} {embedder} {embedder.name} {embedder.model_id}"


@promise(
    "embedding:remote-arguments",
    "Unusable URLs, dimensions, keys and timeouts are refused at once, without showing secrets.",
    source="errors.ConfigurationError",
)
@pytest.mark.parametrize(
    ("url", "dimension", "key", "timeout"),
    [
        (None, 16, None, 1.0),
        ("", 16, None, 1.0),
        ("ftp://host/v1", 16, None, 1.0),
        ("http://", 16, None, 1.0),
        ("http://[::1/v1", 16, None, 1.0),
        ("http://user:password@host/v1", 16, None, 1.0),
        ("http://host/v1?api-key=k", 16, None, 1.0),
        ("http://host:99999/v1", 16, None, 1.0),
        ("http://host/v1", None, None, 1.0),
        ("http://host/v1", 0, None, 1.0),
        ("http://host/v1", 3073, None, 1.0),
        ("http://host/v1", 16, "key\nwith newline", 1.0),
        ("http://host/v1", 16, "schlüssel", 1.0),
        ("http://host/v1", 16, None, 0.0),
        ("http://host/v1", 16, None, float("inf")),
    ],
)
def test_unusable_arguments_are_refused_without_showing_secrets(
    url: str | None, dimension: int | None, key: str | None, timeout: float
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        RemoteEmbedder(model="m", url=url, dimension=dimension, key=key, timeout=timeout)
    shown = f"{caught.value} {caught.value.hint}"
    assert "password" not in shown
    assert key is None or key not in shown


@promise("embedding:remote-arguments")
@pytest.mark.parametrize("host", ["a" * 300, "\u200b", ".."])
def test_a_host_that_cannot_exist_is_a_configuration_error(host: str) -> None:
    embedder = RemoteEmbedder(model="m", url=f"http://{host}/v1", dimension=4)
    with pytest.raises(ConfigurationError):
        embedder.embed_queries(["text"])
    embedder.close()
