"""Embeddings from an endpoint that speaks OpenAI's ``/embeddings``."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit, urlunsplit

from reasoningbank.embedding.onnx_session import unit_rows
from reasoningbank.embedding.query_vectors import QueryVectors
from reasoningbank.errors import ConfigurationError, ModelError, ModelMismatch, ModelMissing
from reasoningbank.settings import on_this_machine

if TYPE_CHECKING:
    import numpy
    from httpx2 import Client, Response
    from numpy.typing import NDArray

MAXIMUM_DIMENSION = 3072
"""The longest vector accepted from an endpoint."""

_ATTEMPTS = 3
_BATCH = 64
_LONGEST_WAIT = 20.0
_URL_HINT = "Give the base of an OpenAI-compatible API, for example http://127.0.0.1:8080/v1."


class Sleep(Protocol):
    """Waits for a number of seconds."""

    def __call__(self, seconds: float, /) -> None:
        """Return after that time."""


class RemoteEmbedder:
    """A model behind an OpenAI-compatible endpoint: ``POST {url}/embeddings``.

    Promises of the ``Embedder`` port, and: no request is sent before the first text; an answer of another dimension
    is refused; 429, 5xx and a broken connection are tried three times in all, with growing waits or as long as
    ``Retry-After`` says (20 seconds at most); the key is in no error, name or representation. Safe to use from several
    threads.

    Args:
        model: The model's name at the endpoint.
        url: Base URL, for example ``http://127.0.0.1:8080/v1``; no user and password in it.
        dimension: Length of the vectors, 1 to 3072.
        key: Sent as a bearer token; None sends none.
        timeout: Seconds that one attempt may take to connect, and between two bytes of its answer.
        sleep: Waits between attempts.

    Raises:
        ConfigurationError: An argument is missing or not usable.
    """

    def __init__(
        self,
        *,
        model: str,
        url: str | None,
        dimension: int | None,
        key: str | None = None,
        timeout: float = 30.0,
        sleep: Sleep = time.sleep,
    ) -> None:
        if not model:
            raise ConfigurationError("The remote embedder has no model.", hint="Use openai:MODEL.")
        if dimension is None or not 1 <= dimension <= MAXIMUM_DIMENSION:
            raise ConfigurationError(
                f"The remote embedder needs a dimension from 1 to {MAXIMUM_DIMENSION}, not {dimension}.",
                hint="Give the length of the model's vectors, for example 1536 for text-embedding-3-small.",
            )
        check_access(key, timeout, "remote embedder")
        self._model = model
        self._url = checked_url(url, "remote embedder")
        self._dimension = dimension
        self._key = key
        self._timeout = timeout
        self._sleep = sleep
        self._client: Client | None = None
        self._lock = threading.Lock()
        self._questions = QueryVectors(self._embed)

    def __repr__(self) -> str:
        return f"RemoteEmbedder(model={self._model!r}, url={self._url!r}, dimension={self._dimension})"

    @property
    def name(self) -> str:
        """``openai:MODEL``, the name a user chooses it by."""
        return f"openai:{self._model}"

    @property
    def model_id(self) -> str:
        """The vector space: model and dimension. The same model at another address is the same space."""
        return f"openai:{self._model}/{self._dimension}"

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._dimension

    def embed_queries(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Return vectors of questions: shape (len(texts), dimension), unit rows; one asked lately is not sent again.

        Raises:
            ModelMissing: The extra ``remote`` is not installed.
            ModelMismatch: The endpoint's vectors have another dimension.
            ModelError: The endpoint cannot be reached, refuses, or its answer is not usable.
        """
        return self._questions.of(texts)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Return vectors of texts to be found: shape (len(texts), dimension), unit rows; raises as ``embed_queries``.

        An empty text is sent as one space, because endpoints refuse the empty string.
        """
        return self._embed(texts)

    def close(self) -> None:
        """Close the connections; the next text opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _embed(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        import numpy

        result = numpy.empty((len(texts), self._dimension), dtype=numpy.float32)
        for start in range(0, len(texts), _BATCH):
            batch = [text.encode("utf-8", "replace").decode() or " " for text in texts[start : start + _BATCH]]
            rows = self._vectors(self._answer(batch), len(batch))
            result[start : start + len(batch)] = unit_rows(rows, self.model_id)
        return result

    def _answer(self, batch: Sequence[str]) -> object:
        request = {"model": self._model, "input": list(batch), "encoding_format": "float"}
        response = self._post(request)
        try:
            answer: object = response.json()
        except ValueError as error:
            raise self._bad("is not JSON") from error
        return answer

    def _post(self, request: Mapping[str, object]) -> Response:
        httpx2 = client_library("remote embedders")
        reason = ""
        for wait in _waits():
            retry_after = None
            try:
                response = self._connected().post("embeddings", json=request)
            except httpx2.TransportError as error:
                reason = f"cannot be reached ({type(error).__name__})"
            except (httpx2.InvalidURL, UnicodeError) as error:
                raise ConfigurationError("The remote embedder's URL names no host.", hint=_URL_HINT) from error
            except httpx2.HTTPError as error:
                raise self._bad(f"failed ({type(error).__name__})") from error
            else:
                if response.status_code == 200:
                    return response
                reason = f"answered with status {response.status_code}"
                if response.status_code != 429 and response.status_code < 500:
                    raise ModelError(f"The embedding endpoint {self._url} {reason}.", hint=_advice(response))
                retry_after = _seconds(response.headers.get("retry-after"))
            if wait is not None:
                self._sleep(min(retry_after if retry_after is not None else wait, _LONGEST_WAIT))
        raise ModelError(
            f"The embedding endpoint {self._url} {reason}, {_ATTEMPTS} times.",
            hint="Check that the endpoint runs and its limits, then try again; nothing was stored.",
        )

    def _connected(self) -> Client:
        with self._lock:
            if self._client is None:
                httpx2 = client_library("remote embedders")
                headers = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
                self._client = httpx2.Client(
                    base_url=self._url,
                    headers=headers,
                    timeout=self._timeout,
                    trust_env=not on_this_machine(self._url),
                )
            return self._client

    def _vectors(self, answer: object, count: int) -> NDArray[numpy.float32]:
        import numpy

        items = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(items, list) or len(items) != count:
            raise self._bad(f"does not hold {count} vectors")
        rows = numpy.empty((count, self._dimension), dtype=numpy.float32)
        places = set()
        for item in items:
            place, vector = (item.get("index"), item.get("embedding")) if isinstance(item, dict) else (None, None)
            if type(place) is not int or not 0 <= place < count or not isinstance(vector, list):
                raise self._bad("has an item without index and embedding")
            if len(vector) != self._dimension:
                raise ModelMismatch(
                    f"The model {self._model} gave {len(vector)} dimensions, {self._dimension} were expected.",
                    hint="Set the embedder's dimension to that of the model, or choose the other model.",
                )
            try:
                rows[place] = vector
            except (TypeError, ValueError, OverflowError) as error:
                raise self._bad("has a vector that is not made of numbers") from error
            places.add(place)
        if len(places) != count:
            raise self._bad("has two vectors for one text")
        return rows

    def _bad(self, what: str) -> ModelError:
        return ModelError(
            f"The answer of the embedding endpoint {self._url} {what}.",
            hint="Check that the URL is the base of an OpenAI-compatible API, usually ending in /v1.",
        )


def checked_url(url: str | None, whose: str) -> str:
    """Return the base of an endpoint without a slash at its end.

    Raises:
        ConfigurationError: It is missing, no http or https address, or holds more than an address.
    """
    if not url:
        raise ConfigurationError(f"The {whose} has no URL.", hint=_URL_HINT)
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.port != 0 else None
    except ValueError as error:
        raise ConfigurationError(f"The {whose}'s URL is not one.", hint=_URL_HINT) from error
    if parts.scheme not in {"http", "https"} or not host:
        raise ConfigurationError(f"The {whose}'s URL is not an http or https address.", hint=_URL_HINT)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigurationError(f"The {whose}'s URL holds more than an address; pass a key as key.", hint=_URL_HINT)
    return urlunsplit(parts).rstrip("/")


def check_access(key: str | None, timeout: float, whose: str) -> None:
    """Raise ConfigurationError when no header can carry the key, or the time limit is not a number of seconds."""
    if not (math.isfinite(timeout) and timeout > 0):
        raise ConfigurationError(f"A timeout of {timeout} seconds is not usable.", hint="Use a positive number.")
    if key is not None and not (key.isascii() and key.isprintable()):
        raise ConfigurationError(f"The key of the {whose} has characters that no header can carry.")


def _waits() -> Iterator[float | None]:
    yield from (0.5 * 2**attempt for attempt in range(_ATTEMPTS - 1))
    yield None


def _seconds(header: str | None) -> float | None:
    try:
        seconds = float(header) if header is not None else None
    except ValueError:
        return None
    return seconds if seconds is not None and 0 <= seconds < math.inf else None


def _advice(response: Response) -> str:
    if response.status_code in {401, 403}:
        return "Check the key of the embedding endpoint."
    if response.status_code == 404:
        return "Check the model's name and that the URL is the base of the API, usually ending in /v1."
    return "Check the model's name and the endpoint's limits on the length of a text."


def client_library(whose: str) -> ModuleType:
    """Return the HTTP client; raise ModelMissing when it is not installed."""
    try:
        import httpx2
    except ImportError as error:
        raise ModelMissing(
            f"The HTTP client of {whose} is not installed.",
            hint="Install it with `pip install 'httpx2>=2.16,<3'`.",
        ) from error
    return httpx2
