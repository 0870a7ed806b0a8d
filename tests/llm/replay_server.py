"""A server on this machine that speaks OpenAI's chat completions and answers with what it was given.

For tests of everything between us and a language model: the real client talks to it over a real socket.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from reasoningbank.errors import InvalidInput
from reasoningbank.llm.window import forget_windows


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as it came.

    Attributes:
        path: Path and query.
        headers: Names in lower case.
        body: The JSON object that was sent; empty when there was none.
    """

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, object]

    @property
    def text(self) -> str:
        """All that was said in it, instructions and material."""
        return json.dumps(self.body, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of the server.

    Attributes:
        body: What is sent.
        delay: Seconds to wait before.
        cut: After how many bytes of the body the connection breaks; None sends all.
    """

    body: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int | None = None


Replay = str | Reply | Callable[[Asked], str | Reply]
"""A completion's text, a whole reply, or what makes either from the request."""


def completion(text: str, *, model: str = "replay", input_tokens: int = 10, output_tokens: int = 5) -> Reply:
    """A chat completion with this text; 0 tokens leaves the usage out."""
    answer: dict[str, object] = {
        "id": "replay",
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
    }
    if input_tokens or output_tokens:
        answer["usage"] = {
            "prompt_tokens": input_tokens,
            "completion_tokens": output_tokens,
            "total_tokens": input_tokens + output_tokens,
        }
    return Reply(body=json.dumps(answer))


class ReplayServer:
    """Answers requests in order, or all of them by one function; a context manager.

    Once the answers are used up it says 410 with a sentence, which no client tries again.

    Args:
        replies: One per request, in order, or one function for all.
        facts: What it says of itself, by path, such as ``/props``; nothing else is found there.
    """

    def __init__(
        self, replies: Iterable[Replay] | Callable[[Asked], str | Reply], *, facts: Mapping[str, str] | None = None
    ) -> None:
        self.facts = dict(facts or {})
        self._lock = threading.Lock()
        self._all = replies if callable(replies) else None
        if isinstance(replies, str):
            raise InvalidInput("A replay needs a list of answers.", hint="Put the answer into a list.")
        self._left: list[Replay] = [] if callable(replies) else list(replies)
        self._asked: list[Asked] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.replay = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """Base URL, as ``llm_url`` takes it."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def requests(self) -> tuple[Asked, ...]:
        """What it was asked so far, in order."""
        with self._lock:
            return tuple(self._asked)

    @property
    def left(self) -> int:
        """How many answers were not asked for yet."""
        with self._lock:
            return len(self._left)

    def __enter__(self) -> Self:
        forget_windows(self.url)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply(self, asked: Asked) -> Reply:
        """The answer to one request, which is noted."""
        with self._lock:
            self._asked.append(asked)
            if self._all is not None:
                chosen: Replay = self._all
            elif self._left:
                chosen = self._left.pop(0)
            else:
                message = f"the replay has no answer left for request {len(self._asked)}"
                chosen = Reply(status=410, body=json.dumps({"error": {"message": message}}))
        made = chosen if isinstance(chosen, (str, Reply)) else chosen(asked)
        return completion(made, input_tokens=max(10, len(asked.text) // 3)) if isinstance(made, str) else made


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    replay: ReplayServer

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is what a time-out looks like from here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        """What a server says of itself is no request to the model: it is neither noted nor taken from the answers."""
        facts = self.server.replay.facts
        self._send(Reply(body=facts.get(self.path, "{}"), status=200 if self.path in facts else 404))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(raw) if raw else {}
        self._answer(body if isinstance(body, dict) else {"body": body})

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name http.server calls
        """Says nothing on stderr."""

    def _answer(self, body: Mapping[str, object]) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._send(self.server.replay.reply(Asked(path=self.path, headers=headers, body=body)))

    def _send(self, reply: Reply) -> None:
        if reply.delay:
            time.sleep(reply.delay)
        content = reply.body.encode()
        self.send_response(reply.status)
        for name, value in {"content-type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content if reply.cut is None else content[: reply.cut])
        self.wfile.flush()
        if reply.cut is not None:
            self.close_connection = True
