"""Rerankers by name: an endpoint that speaks ``/rerank``, or a cross-encoder of ``fastembed``. None by default."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.embedding.remote import check_access, checked_url, client_library
from reasoningbank.embedding.runtime import fastembed_reranker
from reasoningbank.errors import ConfigurationError, ModelError, ModelMissing, PaidCallRefused
from reasoningbank.settings import on_this_machine

if TYPE_CHECKING:
    from httpx2 import Client

    from reasoningbank.embedding.runtime import TextCrossEncoder
    from reasoningbank.types.ports import Reranker

RERANKERS = ("openai:MODEL", "fastembed:MODEL")
"""The names ``open_reranker`` knows; ``openai:`` is any server with ``/rerank`` in the manner of Cohere and Jina."""
MAX_TEXT = 4_000
"""Characters of one text that are sent; cross-encoders read hardly more."""
_MOST_BYTES = 4_000_000


def open_reranker(
    name: str,
    *,
    cache: Path,
    url: str | None = None,
    key: str | None = None,
    timeout: float = 3.0,
    paid_calls: bool = True,
) -> Reranker | None:
    """Return the reranker of this name; None for the empty name.

    Args:
        name: One of ``RERANKERS``; empty for none.
        cache: Directory that holds the weights of ``fastembed`` below ``fastembed``.
        url: Base URL of the endpoint, for example ``http://127.0.0.1:8080/v1``; only for ``openai:``.
        key: Its bearer token; never shown.
        timeout: Seconds that one answer may take as a whole.
        paid_calls: Whether an endpoint that is not on this machine may be called.

    Raises:
        ConfigurationError: No reranker has this name, or an argument is not usable.
    """
    if not name:
        return None
    kind, _, model = name.partition(":")
    if kind == "openai" and model.strip():
        return RemoteReranker(model=model, url=url, key=key, timeout=timeout, paid_calls=paid_calls)
    if kind == "fastembed" and model.strip():
        return FastReranker(model=model, cache=cache)
    raise ConfigurationError(f"No reranker is named {name[:80]!r}.", hint=f"Use one of: {', '.join(RERANKERS)}.")


class RemoteReranker:
    """A model behind ``POST {url}/rerank``, as Cohere, Jina, vLLM, llama.cpp and Text Embeddings Inference offer it.

    Promises of the ``Reranker`` port, and: nothing is sent before the first question; one attempt, whose answer has
    arrived whole within the time limit or is given up; the key is in no error, name or representation. Safe to use
    from several threads.

    Args:
        model: The model's name at the endpoint.
        url: Base URL, for example ``http://127.0.0.1:8080/v1``; no user and password in it.
        key: Sent as a bearer token; None sends none.
        timeout: Seconds that one answer may take as a whole.
        paid_calls: Whether an endpoint that is not on this machine may be called.

    Raises:
        ConfigurationError: An argument is missing or not usable.
    """

    def __init__(
        self, *, model: str, url: str | None, key: str | None = None, timeout: float = 3.0, paid_calls: bool = True
    ) -> None:
        check_access(key, timeout, "reranker")
        self._model = model
        self._url = checked_url(url, "reranker")
        self._key = key
        self._timeout = timeout
        self._refused = not paid_calls and not on_this_machine(self._url)
        self._client: Client | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"RemoteReranker(model={self._model!r}, url={self._url!r})"

    @property
    def name(self) -> str:
        """``openai:MODEL``, the name a user chooses it by."""
        return f"openai:{self._model}"

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float | None]:
        """Return what the endpoint says of each text.

        Raises:
            PaidCallRefused: It is not on this machine and may not be called.
            ModelMissing: The extra ``remote`` is not installed.
            ModelError: It cannot be reached, refuses, takes too long, or its answer is not usable.
        """
        if self._refused:
            raise PaidCallRefused(
                f"The reranker at {self._url} is not on this machine, and paid calls are off.",
                hint="Set paid_calls, or choose one on this machine.",
            )
        if not texts:
            return []
        documents = [_encodable(text) for text in texts]
        request = {"model": self._model, "query": _encodable(query), "documents": documents, "top_n": len(documents)}
        try:
            answer: object = json.loads(self._answer(request))
        except ValueError as error:
            raise self._bad("is not JSON") from error
        return self._read(answer, len(documents))

    def close(self) -> None:
        """Close the connections; the next question opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _answer(self, request: dict[str, object]) -> bytes:
        """Return the body of the answer, read within the time limit."""
        httpx2 = client_library("rerankers")
        end = time.monotonic() + self._timeout
        body = bytearray()
        try:
            with self._connected().stream("POST", "rerank", json=request) as response:
                if response.status_code != 200:
                    raise self._bad(f"has status {response.status_code}")
                for part in response.iter_bytes():
                    body += part
                    if time.monotonic() > end:
                        raise self._bad(f"took more than {self._timeout:g} seconds")
                    if len(body) > _MOST_BYTES:
                        raise self._bad("is too long")
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise self._bad("never came, because the URL names no host") from error
        except httpx2.HTTPError as error:
            raise self._bad(f"never came ({type(error).__name__})") from error
        return bytes(body)

    def _connected(self) -> Client:
        with self._lock:
            if self._client is None:
                headers = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
                self._client = client_library("rerankers").Client(
                    base_url=self._url,
                    headers=headers,
                    timeout=self._timeout,
                    trust_env=not on_this_machine(self._url),
                )
            return self._client

    def _read(self, answer: object, count: int) -> list[float | None]:
        """Return the scores by place; ``results`` of Cohere and Jina, ``data`` of Voyage, or the list of TEI."""
        rows = answer.get("results", answer.get("data")) if isinstance(answer, dict) else answer
        if not isinstance(rows, list) or not rows:
            raise self._bad("holds no results")
        found: list[float | None] = [None] * count
        for row in rows:
            fields = row if isinstance(row, dict) else {}
            place, score = fields.get("index"), fields.get("relevance_score", fields.get("score"))
            if type(place) is not int or not 0 <= place < count or found[place] is not None:
                raise self._bad("has a result whose index is not that of a text, or comes twice")
            if isinstance(score, bool) or not isinstance(score, (int, float)) or not math.isfinite(score):
                raise self._bad("has a relevance_score that is not a number")
            found[place] = float(score)
        return found

    def _bad(self, what: str) -> ModelError:
        return ModelError(
            f"The answer of the reranker at {self._url} {what}.",
            hint="Check the model's name, the key, and that the URL with /rerank behind it is the endpoint.",
        )


class FastReranker:
    """A cross-encoder of ``fastembed`` whose weights are here already; nothing is downloaded.

    Promises of the ``Reranker`` port; constructing it imports nothing. Safe to use from several threads.

    Args:
        model: The model's name in ``fastembed``, for example ``Xenova/ms-marco-MiniLM-L-6-v2``.
        cache: Directory that holds the weights below ``fastembed``.
    """

    def __init__(self, *, model: str, cache: Path) -> None:
        self._model_name = model
        self._cache = cache
        self._model: TextCrossEncoder | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """``fastembed:MODEL``, the name a user chooses it by."""
        return f"fastembed:{self._model_name}"

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float | None]:
        """Return what the model says of each text.

        Raises:
            ModelMissing: The extra ``fastembed`` is not installed, or the weights are not here.
            ModelError: The model failed.
        """
        if not texts:
            return []
        model = self._loaded()
        try:
            found = [float(score) for score in model.rerank(_encodable(query), [_encodable(text) for text in texts])]
        except Exception as error:
            raise ModelError(f"The reranker {self.name} failed: {str(error)[:300]}") from error
        if len(found) != len(texts) or not all(map(math.isfinite, found)):
            raise ModelError(f"The reranker {self.name} gave no score for every text.")
        return found

    def _loaded(self) -> TextCrossEncoder:
        with self._lock:
            if self._model is None:
                try:
                    library = fastembed_reranker()
                except ImportError as error:
                    raise ModelMissing(
                        "The package fastembed is not installed.",
                        hint="Install it with `pip install 'fastembed>=0.7'`.",
                    ) from error
                folder = str(self._cache / "fastembed")
                try:
                    self._model = library(self._model_name, cache_dir=folder, threads=1, local_files_only=True)
                except Exception as error:
                    raise ModelMissing(
                        f"fastembed cannot load {self._model_name!r}: {str(error)[:300]}",
                        hint=f"Its weights must be in {folder}; a search downloads nothing.",
                    ) from error
            return self._model


def _encodable(text: str) -> str:
    return text[:MAX_TEXT].encode("utf-8", "replace").decode()
