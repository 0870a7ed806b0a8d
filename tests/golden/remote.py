"""Stories over HTTP: every tool of a profile of the protocol, and every endpoint of REST and WebSocket."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from golden.normal import Normaliser
from golden.outside import SCOPE, Served, enter, rbank, serving
from golden.story import CONVERSATION, NOBODY, NODES, REPAIRED

PROFILES = ("core", "briefing", "curation", "learning", "experience", "admin", "graph")
Step = dict[str, object]
_TEXT = {"title": "Retry flaky network calls", "description": "When a call over the network fails now and then"}
_RECORD = {**_TEXT, "content": "Wait twice as long after each failure.", "outcome": "success", "tags": ["network"]}
_LESSON = {
    "title": "Count the rows of one page in a test",
    "description": "When a paged export loses rows; not when whole pages are missing",
    "content": "Write a test that counts the rows of one page, make the range inclusive, and run the test again.",
    "outcome": "success",
    "steps": [1, 2, 3],
}
_CONCERNS = "The demand doubled because the heat wave dried the soil within two days."
_ENOUGH = 30.0


class Protocol:
    """A session with a server of the protocol, and its record.

    Args:
        served: The server.
        normaliser: What replaces that which differs from run to run.
    """

    def __init__(self, served: Served, normaliser: Normaliser) -> None:
        self._served = served
        self._normaliser = normaliser
        self.steps: list[Step] = []
        self.called: set[str] = set()

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool, note the answer, and return its structured content."""
        self.called.add(tool)
        answer = self._served.rpc("tools/call", {"name": tool, "arguments": arguments})
        step: Step = {"tool": tool, "arguments": self._normaliser.replace(arguments)}
        result = answer.get("result")
        if result is None:
            step["error"] = self._normaliser.replace(answer["error"])
            self.steps.append(step)
            return {}
        step["isError"] = result["isError"]
        step["structuredContent"] = self._normaliser.replace(result["structuredContent"])
        step["text"] = [self._normaliser.text_or_json(content["text"]) for content in result["content"]]
        self.steps.append(step)
        return dict(result["structuredContent"])


def profile_story(folder: Path, profile: str, patch: pytest.MonkeyPatch) -> tuple[object, list[Step]]:
    """Return what a profile says about itself and lists, and the record of calls of each of its tools."""
    enter(patch, folder)
    captured = folder / "project" / "good.jsonl"
    captured.write_text(json.dumps(REPAIRED), encoding="utf-8")
    assert rbank(*SCOPE, "capture", str(captured)).status == 0
    normaliser = Normaliser({folder: "<folder>"})
    with serving(folder / "home", "--profile", profile) as served:
        hello = served.rpc("initialize")["result"]
        listed = served.rpc("tools/list")["result"]
        listed["tools"].sort(key=lambda tool: tool["name"])
        protocol = Protocol(served, normaliser)
        (_graph if profile == "graph" else _memories)(protocol, {tool["name"] for tool in listed["tools"]})
        for tool in listed["tools"]:
            protocol.call(tool["name"], nonsense=1)
            if needed := tool["inputSchema"].get("required", ()):
                protocol.call(tool["name"], **{needed[0]: "one argument, and no other"})
                protocol.call(tool["name"], **{name: {"no": "such type"} for name in needed})
        protocol.call("no_such_tool")
        assert protocol.called == {tool["name"] for tool in listed["tools"]} | {"no_such_tool"}
    return normaliser.replace({"initialize": hello, "list": listed}), protocol.steps


def _memories(protocol: Protocol, tools: set[str]) -> None:
    call = protocol.call
    call("memory_search", query="a call over the network fails", unproven=0)
    kept = call("memory_record", **_RECORD)["id"]
    other = call("memory_record", title="Never migrate the live database", content="It locks.", outcome="failure")["id"]
    call("memory_search", query="a call over the network fails now and then", unproven=0, session_id="m-1")
    call("memory_search", query="network", outcome="failure", tags=["network"], limit=1, unproven=0)
    call("memory_search", query="network", project_id="nowhere")
    call("memory_search", query=" ")
    call("memory_feedback", memory_id=kept, helpful=True, session_id="m-1")
    call("memory_feedback", memory_id=kept, helpful=True, session_id="m-1")
    call("memory_feedback", memory_id=NOBODY, helpful=True)
    call("memory_outcome", memory_id=kept, succeeded=True, session_id="m-1")
    call("memory_outcome", memory_id=NOBODY, succeeded=True)
    call("memory_get", memory_id=kept)
    call("memory_get", memory_id=NOBODY)
    if "memory_stats" in tools:
        call("memory_stats")
        call("memory_stats", project_id="nowhere")
        call("memory_delete", memory_id=other)
        call("memory_delete", memory_id=other)
    if "memory_briefing" in tools:
        call("memory_briefing", task="a call over the network fails now and then", session_id="m-2")
        call("memory_briefing", budget=-1)
    if "memory_distill" in tools:
        waiting = call("memory_distill")["trajectory_id"]
        call("memory_record", **_LESSON, trajectory_id=waiting)
        call("memory_record", **_LESSON, trajectory_id=waiting)
        call("memory_record", **{**_LESSON, "steps": [99]}, trajectory_id=waiting)
        call("memory_record", **_LESSON, trajectory_id=NOBODY)
        call("memory_distill", nothing_in=waiting)
        call("memory_distill", trajectory_id=NOBODY)
    if "memory_search_with_experience" in tools:
        call("memory_search_with_experience", query="a call over the network fails now and then", session_id="m-3")
        call("memory_search_with_experience", query="network", mode="knowledge_lookup", limit=1, session_id="m-4")
        call("memory_search_with_experience", query="network", mode="psychic")
    if "memory_consolidate" in tools:
        for number in (1, 2):
            call("memory_record", **{**_RECORD, "title": f"Retry flaky network calls {number}"})
        call("memory_consolidate", dry_run=True)
        call("memory_consolidate", similarity_threshold=0.8)
        call("memory_consolidate")
        call("memory_consolidate", similarity_threshold=3)


def _graph(protocol: Protocol, _: set[str]) -> None:
    call = protocol.call
    call("graph_search", query="Why did the greenhouse need more water?")
    for node in NODES["nodes"]:
        call("graph_add", **node)
    call("graph_add", **NODES["nodes"][0])
    call("graph_add", label="Dream", text="t")
    call("graph_link", source="a-1", target="e-1", text=_CONCERNS, weight=0.9, tags=["heat"])
    call("graph_link", source="a-1", target="e-1", text="related to", weight=0.9)
    call("graph_link", source="a-1", target="nobody", text=_CONCERNS, weight=0.9)
    call("graph_get", id="a-1")
    call("graph_get", conv_id="c-1")
    call("graph_get", id="nobody")
    call("graph_get")
    call("graph_paths", seeds=["a-1"], tags=["heat"])
    call("graph_paths", seeds=[])
    call("remember_conversation", conversation=CONVERSATION)
    call("remember_conversation", conversation=CONVERSATION)
    call("remember_conversation", conversation={"conv_id": "c-9", "nonsense": 1})
    call("graph_search", query="How much did the fern sale bring in?", user_id="ada", session_id="g-1")
    call("graph_search", query="What about it?", ask=True)
    call("graph_search", query="What about it?", ask=True, clarification="The fern sale of April 2021")
    call("graph_search", query=" ")
    call("lesson_search", query="What did the sale bring in?", session_id="g-1")
    call("lesson_search", query=" ")


class Web:
    """A client of REST and WebSocket, and its record.

    Args:
        served: The server.
        normaliser: What replaces that which differs from run to run.
    """

    def __init__(self, served: Served, normaliser: Normaliser) -> None:
        self._served = served
        self.normaliser = normaliser
        self.steps: list[Step] = []

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        """Send a request, note both, and return the answer's JSON."""
        answer = self._served.request(method, path, body, **headers)
        step: Step = {"request": f"{method} {self.normaliser.replace(path)}", "status": answer.status_code}
        if body is not None:
            step["body"] = self.normaliser.replace(body)
        if answer.text:
            step["answer"] = self.normaliser.text_or_json(answer.text)
        self.steps.append(step)
        return answer.json() if answer.headers.get("content-type") == "application/json" else None

    def until_searched(self, workflow: str) -> None:
        """Wait until the memories of a turn are there, without a note of how often that was asked."""
        deadline = time.monotonic() + _ENOUGH
        while not self._served.request("GET", f"/workflow/{workflow}").json()["searched"]:
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def follow(self, path: str, events: int, *commands: object) -> None:
        """Follow a workflow: note so many events, then the answer to each command."""
        address = f"{self._served.base.replace('http', 'ws', 1)}{path}"
        step: Step = {"request": f"WS {self.normaliser.replace(path)}"}
        try:
            with connect(address, additional_headers={"Authorization": f"Bearer {self._served.token}"}) as socket:
                step["events"] = [self._received(socket.recv(timeout=_ENOUGH)) for _ in range(events)]
                said = []
                for command in commands:
                    socket.send(json.dumps(command))
                    said.append({"command": command, "answer": self._answer(socket)})
                step["commands"] = said
        except InvalidStatus as refused:
            step["status"] = refused.response.status_code
            step["answer"] = self.normaliser.text_or_json((refused.response.body or b"").decode())
        self.steps.append(step)

    def _answer(self, socket: ClientConnection) -> object:
        """Return the answer to a command; events, which have a cursor, may come before it."""
        while "cursor" in (message := json.loads(socket.recv(timeout=_ENOUGH))):
            pass
        return self.normaliser.replace(message)

    def _received(self, message: str | bytes) -> object:
        return self.normaliser.replace(json.loads(message))


def web_story(folder: Path, patch: pytest.MonkeyPatch) -> tuple[object, list[Step]]:
    """Return the routes of the server with REST and WebSocket, and the record of a run over all of them."""
    enter(patch, folder)
    with serving(folder / "home", "--web") as served:
        web = Web(served, Normaliser({folder: "<folder>"}))
        for part in (_gate, _graph_endpoints, _memory_endpoints, _questions, _workflows):
            part(web)
    return sorted({(kind, *methods, path) for kind, methods, path in served.routes}), web.steps


def _gate(web: Web) -> None:
    web.ask("GET", "/health", Authorization="")
    web.ask("GET", "/api/v1/graph/nodes", Authorization="Bearer nonsense")
    web.ask("GET", "/api/v1/graph/nodes", Host="example.org")
    web.ask("GET", "/api/v1/graph/nodes", Origin="https://example.org")
    web.ask("GET", "/nowhere")
    web.ask("PUT", "/api/v1/graph/nodes", {})
    web.ask("GET", "/api/v1/graph/nodes?project_id=nowhere")


def _graph_endpoints(web: Web) -> None:
    ask = web.ask
    for node in NODES["nodes"]:
        ask("POST", "/api/v1/graph/nodes", node)
    ask("POST", "/api/v1/graph/nodes", NODES["nodes"][0])
    ask("POST", "/api/v1/graph/nodes", {"label": "AgentAnswer", "text": "The well was dry.", "tags": ["water"]})
    ask("POST", "/api/v1/graph/nodes", {"label": "Dream", "text": "t"})
    ask("POST", "/api/v1/graph/nodes", {"nonsense": 1})
    ask("GET", "/api/v1/graph/nodes?limit=2&offset=1")
    ask("GET", "/api/v1/graph/nodes?label=Event&tag=heat&conv_id=c-1")
    ask("GET", "/api/v1/graph/nodes?limit=many")
    ask(
        "PATCH", "/api/v1/graph/nodes/e-1", {"text": "A heat wave lay over the whole valley.", "end_date": "2021-07-10"}
    )
    ask("PATCH", "/api/v1/graph/nodes/nobody", {"text": "t"})
    ask("POST", "/api/v1/graph/edges", NODES["edges"][0])
    ask("POST", "/api/v1/graph/edges", NODES["edges"][0])
    ask("POST", "/api/v1/graph/edges", {"source": "a-1", "target": "e-1", "text": "related to", "weight": 0.5})
    ask("POST", "/api/v1/graph/edges", {"source": "a-1", "target": "nobody", "text": _CONCERNS, "weight": 0.5})
    ask("GET", "/api/v1/graph/edges/x-1")
    ask("GET", "/api/v1/graph/edges/nobody")
    ask("PATCH", "/api/v1/graph/edges/x-1", {"weight": 0.8, "tags": ["soil"]})
    ask("PATCH", "/api/v1/graph/edges/x-1", {"weight": "much"})
    ask("GET", "/api/v1/graph/nodes/a-1")
    ask("GET", "/api/v1/graph/nodes/nobody")
    ask("GET", "/api/v1/graph/search?q=heat%20wave%20and%20water&limit=1&budget=500")
    ask("GET", "/api/v1/graph/search?q=")
    ask("POST", "/api/v1/graph/walk", {"seeds": {"a-1": 1.0}, "tags": ["heat"], "max_depth": 2})
    ask("POST", "/api/v1/graph/walk", {"seeds": {"a-1": 0.8}, "preset": "memoria", "max_paths": 1})
    ask("POST", "/api/v1/graph/walk", {})
    ask("DELETE", "/api/v1/graph/edges/x-1")
    ask("DELETE", "/api/v1/graph/edges/x-1")
    ask("DELETE", "/api/v1/graph/nodes/q-1")
    ask("DELETE", "/api/v1/graph/nodes/q-1")


def _memory_endpoints(web: Web) -> None:
    ask = web.ask
    texts = {"content": "Water the ferns before sunrise.", "description": "When a heat wave is near"}
    memory = {"title": "Early water", "outcome": "success", **texts}
    added = ask("POST", "/api/v1/memories", {**memory, "tags": ["heat"], "link_nodes": ["e-1"]})
    ask("POST", "/api/v1/memories", {**memory, "link_nodes": ["nobody"]})
    ask("POST", "/api/v1/memories", {"nonsense": 1})
    ask("GET", "/api/v1/memories?tag=heat&linked_to=e-1&limit=1")
    ask("GET", "/api/v1/memories/search?q=water%20ferns%20in%20a%20heat%20wave&limit=1")
    ask("GET", "/api/v1/memories/search?q=water%20ferns&by=lesson&linked_to=e-1")
    ask("GET", "/api/v1/memories/search?q=")
    own = f"/api/v1/memories/{added['id']}"
    ask("GET", own)
    ask("GET", f"{own}/links")
    ask("GET", "/api/v1/memories/1/links")
    ask("GET", "/api/v1/memories/99")
    ask("PATCH", own, {"description": "On hot days", "tags": []})
    ask("PATCH", "/api/v1/memories/99", {"tags": []})
    ask("DELETE", own)
    ask("DELETE", own)


def _questions(web: Web) -> None:
    ask = web.ask
    ask("POST", "/api/v1/conversations", CONVERSATION)
    ask("POST", "/api/v1/conversations", CONVERSATION)
    ask("POST", "/api/v1/conversations", {"conv_id": "c-9", "nonsense": 1})
    ask("GET", "/api/v1/conversations/c-2")
    ask("GET", "/api/v1/conversations/nobody")
    ask("POST", "/api/v1/questions", {"question": "How much did the fern sale bring in?", "user_id": "ada", "limit": 2})
    ask("POST", "/api/v1/questions", {"question": "What about it?"})
    ask("POST", "/api/v1/questions", {"question": "What about it?", "clarification": "The fern sale", "budget": 300})
    ask("POST", "/api/v1/questions", {"question": " "})


def _workflows(web: Web) -> None:
    ask = web.ask
    web.normaliser.derived = True
    ask("POST", "/workflow/execute", {"user_input": " "})
    ask("GET", "/workflow/nobody")
    ask("POST", "/workflow/ai-answer", {"response": "The heat wave."})
    begun = ask(
        "POST", "/workflow/execute", {"user_input": "Why did the greenhouse need more water?", "user_id": "ada"}
    )
    name = begun["workflow_id"]
    ask("POST", "/workflow/execute", {"user_input": "And now?", "workflow_id": name})
    web.until_searched(name)
    ask("GET", f"/workflow/{name}")
    answer = {"workflow_id": name, "message_id": begun["message_id"], "response": "The heat wave dried the soil."}
    calls = [{"name": "sql", "arguments": {"query": "SELECT 1"}}]
    done = ask("POST", "/workflow/ai-answer", {**answer, "reasoning": "The node says so.", "tool_calls": calls})
    assert done["status"] == "completed"
    ask("POST", "/workflow/ai-answer", {**answer, "message_id": NOBODY})
    cursor = ask("GET", f"/workflow/{name}")["cursor"]
    web.follow(f"/workflow/ws/{name}", cursor, {"command": "get_final"}, {"command": "dance"}, ["no", "command"])
    web.follow(f"/workflow/ws/{name}?cursor={cursor - 1}&final_only=true", 1)
    web.follow(f"/workflow/ws/{name}?cursor=soon", 0)
    web.follow("/workflow/ws/nobody", 0)
    vague = ask("POST", "/workflow/execute", {"user_input": "What's the best product?"})
    cursor = ask("GET", f"/workflow/{vague['workflow_id']}")["cursor"]
    web.follow(f"/workflow/ws/{vague['workflow_id']}", cursor, {"command": "cancel"})
    ask("GET", f"/workflow/{vague['workflow_id']}")
