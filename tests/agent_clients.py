"""Real agents' clients for tests, and a server on this machine that they take for their model.

The clients are installed with npm into the folder that ``AGENT_CLIENTS`` names, at the versions below; without it, or
where that does not work, a test that needs one is skipped and says why.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from llm.replay_server import Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A client's package: its name, version, program and the script that puts the program in its place."""

    name: str
    version: str
    program: str
    script: str = ""


PACKAGES: Mapping[str, Package] = {
    "claude-code": Package(name="@anthropic-ai/claude-code", version="2.1.197", program="claude", script="install.cjs"),
    "codex": Package(name="@openai/codex", version="0.169.0", program="codex"),
    "gemini": Package(name="@google/gemini-cli", version="0.61.0", program="gemini"),
    "opencode": Package(name="opencode-ai", version="1.18.33", program="opencode", script="postinstall.mjs"),
    "copilot": Package(name="@github/copilot", version="1.0.102", program="copilot"),
}


@functools.cache
def installed(client: str) -> Path:
    """Return the folder of a client's program; skip the test where it cannot be installed."""
    package = PACKAGES[client]
    folder = os.environ.get("AGENT_CLIENTS")
    if not folder:
        pytest.skip(f"needs {package.name} {package.version}: set AGENT_CLIENTS to a folder to install it into")
    place = Path(folder).absolute()
    manifest = place / "node_modules" / package.name / "package.json"
    if not manifest.exists() or json.loads(manifest.read_text())["version"] != package.version:
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm is not installed")
        wanted = f"{package.name}@{package.version}"
        made = _run(npm, "install", "--prefix", str(place), "--ignore-scripts", wanted)
        if made.returncode == 0 and package.script:
            made = _run("node", package.script, directory=manifest.parent)
        if made.returncode:
            pytest.skip(f"{wanted} cannot be installed: {made.stderr[-300:]}")
    return place / "node_modules" / ".bin"


def _run(*command: str, directory: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=600, check=False)


def client_environment(client: str, home: Path, url: str) -> dict[str, str]:
    """Return the environment of a client that is set up for a model at the URL, and for nobody else."""
    home.mkdir(parents=True, exist_ok=True)
    variables = {
        "HOME": str(home),
        "PATH": f"{installed(client)}{os.pathsep}{os.environ['PATH']}",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "no-key",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "GEMINI_API_KEY": "no-key",
        "GOOGLE_GEMINI_BASE_URL": url,
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_MODEL": "here",
        "NO_COLOR": "1",
    }
    if client == "codex":
        provider = (
            f'name = "here"\nbase_url = "{url}/v1"\nwire_api = "responses"\nexperimental_bearer_token = "no-key"\n'
        )
        _written(
            home / ".codex" / "config.toml",
            f'model = "here"\nmodel_provider = "here"\n[model_providers.here]\n{provider}',
        )
    elif client == "gemini":
        settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "model": {"name": "gemini-2.5-flash"}}
        _written(home / ".gemini" / "settings.json", json.dumps(settings))
        _written(home / ".gemini" / ".env", f"GEMINI_API_KEY=no-key\nGOOGLE_GEMINI_BASE_URL={url}\n")
    elif client == "opencode":
        options = {"baseURL": f"{url}/v1", "apiKey": "no-key"}
        provider_of = {"npm": "@ai-sdk/openai-compatible", "name": "here", "options": options, "models": {"m": {}}}
        config = {"model": "here/m", "small_model": "here/m", "provider": {"here": provider_of}}
        _written(home / ".config" / "opencode" / "opencode.json", json.dumps(config))
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(
            ("REASONINGBANK_", "CLAUDE", "ANTHROPIC", "CODEX", "COPILOT", "GEMINI", "OPENCODE", "XDG_")
        )
    }
    return kept | variables


def _written(path: Path, text: str) -> None:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class ShellCall:
    """A command that the model asks its client to run.

    Attributes:
        command: The command line.
        number: Which call of the session it is, from 0.
    """

    command: str
    number: int


def shell_session(commands: Sequence[str], end: str) -> Callable[[Asked], str | ShellCall]:
    """Return a model that has its client run the commands one after the other, and then says that it is done.

    A request that offers no tools, as for a session's title, is answered with a text.
    """

    def next_of(asked: Asked) -> str | ShellCall:
        if not asked.body.get("tools"):
            return "A title"
        done = _answered(asked)
        return ShellCall(commands[done], done) if done < len(commands) else end

    return next_of


def _answered(asked: Asked) -> int:
    """Return how many calls of tools have been answered in a request to Gemini's or OpenAI's chat interface."""
    body: Mapping[str, Any] = asked.body
    turns: list[dict[str, Any]] = [*body.get("contents", []), *body.get("messages", [])]
    parts = [part for turn in turns for part in turn.get("parts", [])]
    return len(
        [part for part in parts if "functionResponse" in part] + [1 for turn in turns if turn.get("role") == "tool"]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool that the model asks its client for.

    Attributes:
        tool: The tool's name.
        given: Its arguments; a text for a tool of Codex that takes one.
    """

    tool: str
    given: Mapping[str, object] | str


@dataclass
class AgentServer:
    """Speaks what the clients speak to their models, and answers every request with a text or the call of a tool.

    Attributes:
        answer: The text, or what makes the answer from the request. Commands are for Gemini's and OpenAI's chat
            interface.
        requests: What was asked, in order.
    """

    answer: str | Callable[[Asked], str] | Callable[[Asked], str | ShellCall] | Callable[[Asked], str | Call]
    requests: list[Asked] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def reply(self, asked: Asked) -> tuple[str, bytes]:
        """Return the content type and the body of an answer."""
        if "count" in asked.path.lower() and "okens" in asked.path:
            return "application/json", json.dumps({"input_tokens": 10, "totalTokens": 10}).encode()
        self.requests.append(asked)
        text = self.answer if isinstance(self.answer, str) else self.answer(asked)
        if isinstance(text, ShellCall):
            return "text/event-stream", _sse([("", json.dumps(each)) for each in _call(asked, text)])
        if isinstance(text, Call):
            return "text/event-stream", _sse(_called(asked, text, len(self.requests)))
        events = _events(asked, text)
        if events is None:
            return "application/json", json.dumps(_whole(asked, text)).encode()
        return "text/event-stream", _sse(events)


def _sse(events: Sequence[tuple[str, str]]) -> bytes:
    lines = [(f"event: {kind}\n" if kind else "") + f"data: {data}\n\n" for kind, data in events]
    return "".join(lines).encode()


def _call(asked: Asked, call: ShellCall) -> list[dict[str, object]]:
    """Return the streamed answer that calls the client's shell."""
    if "enerateContent" in asked.path:
        function = {"name": "run_shell_command", "args": {"command": call.command, "description": "Runs it"}}
        content = {"role": "model", "parts": [{"functionCall": function}]}
        return [{"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}]
    arguments = json.dumps({"command": call.command, "description": "Runs it"})
    shell = {"name": "bash", "arguments": arguments}
    calls = [{"index": 0, "id": f"call_{call.number}", "type": "function", "function": shell}]
    end = _chunk({}, "tool_calls")
    return [_chunk({"role": "assistant", "tool_calls": calls}, None), {**end, "usage": _USAGE}]


def _events(asked: Asked, text: str) -> list[tuple[str, str]] | None:
    """Return the events of a streamed answer; None for one that is not streamed."""
    if "/messages" in asked.path:
        if not asked.body.get("stream"):
            return None
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
        return _block(asked, block, delta, "end_turn")
    if "/responses" in asked.path:
        part = {"type": "output_text", "text": text, "annotations": []}
        return _item({"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [part]})
    if "streamGenerateContent" in asked.path:
        return [("", json.dumps(_whole(asked, text)))]
    if asked.body.get("stream"):
        said, end = _chunk({"role": "assistant", "content": text}, None), _chunk({}, "stop")
        return [("", json.dumps(said)), ("", json.dumps({**end, "usage": _USAGE})), ("", "[DONE]")]
    return None


def _called(asked: Asked, call: Call, number: int) -> list[tuple[str, str]]:
    """Return the events of an answer that asks for a tool."""
    written = call.given if isinstance(call.given, str) else json.dumps(call.given)
    if "/messages" in asked.path:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": call.tool, "input": {}}
        return _block(asked, block, {"type": "input_json_delta", "partial_json": written}, "tool_use")
    if "enerateContent" in asked.path:
        content = {"role": "model", "parts": [{"functionCall": {"name": call.tool, "args": call.given}}]}
        return [("", json.dumps({"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}))]
    if "/chat/completions" in asked.path:
        function = {"name": call.tool, "arguments": written}
        calls = [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]
        said = _chunk({"role": "assistant", "tool_calls": calls}, None)
        return [("", json.dumps(each)) for each in (said, {**_chunk({}, "tool_calls"), "usage": _USAGE})]
    assert "/responses" in asked.path, f"no tool can be asked for at {asked.path}"
    item = {"id": f"i{number}", "call_id": f"call_{number}", "name": call.tool, "status": "completed"}
    if isinstance(call.given, str):
        return _item({**item, "type": "custom_tool_call", "input": written})
    return _item({**item, "type": "function_call", "arguments": written})


def _block(
    asked: Asked, block: Mapping[str, object], delta: Mapping[str, object], reason: str
) -> list[tuple[str, str]]:
    message = {**_message(asked, ""), "content": [], "stop_reason": None}
    named: list[tuple[str, dict[str, object]]] = [
        ("message_start", {"message": message}),
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}}),
        ("message_stop", {}),
    ]
    return [(kind, json.dumps({"type": kind, **data})) for kind, data in named]


def _item(item: Mapping[str, object]) -> list[tuple[str, str]]:
    usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
    response = {"id": "r", "object": "response", "status": "completed", "output": [item], "usage": usage}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    begun = {**response, "status": "in_progress", "output": []}
    return [
        ("response.created", json.dumps({"type": "response.created", "response": begun})),
        ("response.output_item.done", json.dumps(done)),
        ("response.completed", json.dumps({"type": "response.completed", "response": response})),
    ]


_USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def _chunk(delta: Mapping[str, object], finish: str | None) -> dict[str, object]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def _message(asked: Asked, text: str) -> dict[str, object]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked.body.get("model"),
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 7},
    }


def _whole(asked: Asked, text: str) -> dict[str, object]:
    if "/messages" in asked.path:
        return _message(asked, text)
    if "enerateContent" in asked.path:
        content = {"role": "model", "parts": [{"text": text}]}
        counted = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
        return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": counted}
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": _USAGE}


def _handler(server: AgentServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            self._send("application/json", b'{"data": [], "models": []}')

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            body = json.loads(raw) if raw[:1] == b"{" else {}
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._send(*server.reply(Asked(path=self.path, headers=headers, body=body)))

        def _send(self, kind: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
