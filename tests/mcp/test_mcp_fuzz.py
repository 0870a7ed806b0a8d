"""Whatever a client sends: never an unhandled exception, never an internal error, and the server lives on."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it has no types of its own
import mcp.types as types
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.client.client import Client

from mcp_processes import RawServer, StartServer
from promises import promise
from reasoningbank import Bank, Settings
from reasoningbank.errors import InvalidInput
from reasoningbank.mcp.banks import Banks
from reasoningbank.mcp.calls import Caller
from reasoningbank.mcp.schemas import ToolSpec, tools_by_profile
from reasoningbank.mcp.server import build_server
from reasoningbank.mcp.tools import Tools
from reasoningbank.operations.arguments import Arguments
from reasoningbank.testing import HashingEmbedder
from sessions.learned_sessions import REPAIRED, UNDECIDED, written

PROFILES = tools_by_profile()
TOOLS = tools_by_profile()["core"]

EXAMPLES = 300
CALLER = Caller(tenant="acme", session="fuzz")
KNOWN = "known"
SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]

_TEXTS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["", " ", "\x00", "\u202e\u200b", "a" * 25_000, "../..", "'; DROP TABLE memory;--", "My-Project_1"]
    ),
    st.sampled_from(["retry the flaky network call", "deploy to the cluster", "AKIAIOSFODNN7EXAMPLE"]),
)
_BY_NAME: dict[str, st.SearchStrategy[Any]] = {
    "memory_id": st.one_of(st.just(KNOWN), _TEXTS),
    "trajectory_id": st.one_of(st.just(KNOWN), st.just(KNOWN), _TEXTS),
    "nothing_in": st.one_of(st.just(KNOWN), _TEXTS),
    "project_id": st.sampled_from(["Shop-API", "a/B_c", "..", "CON", " ", "\x00", "\u202e", "p" * 2_000, "é́"]),
    "outcome": st.one_of(st.sampled_from(["success", "failure"]), _TEXTS),
    "limit": st.one_of(st.integers(-2, 120), st.integers(), st.just(1e300)),
    "unproven": st.one_of(st.integers(-2, 120), st.integers()),
    "weight": st.floats(-1, 2),
    "label": st.one_of(st.sampled_from(["AgentAnswer", "AgentAction", "Event", "DataSource"]), _TEXTS),
    "min_confidence": st.one_of(st.floats(0, 1), st.floats(allow_nan=False, allow_infinity=False)),
}
_BY_TYPE: dict[object, st.SearchStrategy[Any]] = {
    "string": _TEXTS,
    "boolean": st.booleans(),
    "array": st.lists(_TEXTS, max_size=40),
    "number": st.floats(-1, 2),
    "object": st.dictionaries(
        st.sampled_from(["conv_id", "request", "answer", "messages", "nodes", "lesson", "x"]),
        _TEXTS
        | st.none()
        | st.lists(st.dictionaries(st.sampled_from(["role", "content", "label"]), _TEXTS), max_size=2),
        max_size=5,
    ),
}
_STEPS = st.lists(st.one_of(st.integers(-3, 9), st.integers()), max_size=40)
OFFERED = [("core", name) for name in TOOLS] + [
    (profile, name)
    for profile in PROFILES
    for name in PROFILES[profile]
    if PROFILES[profile][name] is not TOOLS.get(name)
]
"""Every tool of every profile; those of the core are the same objects in the others."""
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), _TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=10), inner, max_size=4)),
    max_leaves=8,
)


def arguments_of(tool: ToolSpec) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments that the tool's input schema allows."""
    made = {name: _BY_NAME.get(name, _BY_TYPE.get(schema.get("type"), _TEXTS)) for name, schema in tool.inputs.items()}
    if "steps" in made:
        made["steps"] = _STEPS
    needed = {name: made[name] for name in tool.required}
    return st.fixed_dictionaries(needed, optional={name: made[name] for name in made if name not in needed})


@pytest.fixture
def portal() -> Iterator[BlockingPortal]:
    """An event loop for the client."""
    with start_blocking_portal() as started:
        yield started


@pytest.fixture
def client(offered: Tools, portal: BlockingPortal) -> Iterator[Client]:
    """The real client, connected to the server in memory."""
    with portal.wrap_async_context_manager(Client(build_server(offered, lambda _: CALLER), mode="legacy")) as connected:
        yield connected


@pytest.fixture
def offered(profile: str, tmp_path: Path) -> Iterator[Tools]:
    """The tools of a profile over the real store, in which two sessions wait, one of them undecided."""
    home = tmp_path / "home"
    files = written(tmp_path, {"repaired": REPAIRED, "undecided": UNDECIDED})
    with Bank.open(
        tenant=CALLER.tenant, project="Shop-API", embedder=HashingEmbedder(), settings=Settings(home=home)
    ) as bank:
        bank.sessions.capture(*files)
    made = Tools(Banks(Settings(home=home), project="Shop-API", embedder=HashingEmbedder()), profile=profile)
    yield made
    made.close()


def recorded(tools: Tools) -> str:
    """The id of a memory that was recorded just now."""
    lesson = {"title": "Retry", "content": "Back off.", "outcome": "success"}
    return str(tools.call("memory_record", lesson, CALLER).fields["id"])


@promise(
    "mcp:fuzz-tools",
    "Every tool answers anything its schema allows or forbids, 300 examples each, without an unhandled exception.",
    source="issue 2",
)
@pytest.mark.parametrize(("profile", "name"), OFFERED)
def test_every_tool_answers_everything_its_schema_allows(
    profile: str, name: str, client: Client, offered: Tools, portal: BlockingPortal
) -> None:
    specs = PROFILES[profile]
    tool = specs[name]
    known = [recorded(offered)] if "memory_record" in specs else [""]
    captured = (
        offered.call("memory_distill", {}, CALLER).fields["trajectory_id"]
        if "memory_distill" in PROFILES[profile]
        else ""
    )

    @settings(max_examples=EXAMPLES, suppress_health_check=SHARED)
    @given(arguments_of(tool))
    def check(arguments: dict[str, Any]) -> None:
        if arguments.get("memory_id") == KNOWN:
            arguments["memory_id"] = known[0]
        for argument in ("trajectory_id", "nothing_in"):
            if arguments.get(argument) == KNOWN:
                arguments[argument] = captured
        result = portal.call(client.call_tool, name, arguments)
        assert isinstance(result, types.CallToolResult)
        fields = result.structured_content
        assert isinstance(fields, dict)
        if result.is_error:
            own = {"reason"} if fields["error"] == "refused" else set()
            assert set(fields) == {"error", "message", "hint"} | set(tool.blank) | own
            assert fields["error"] != "error", fields
            assert fields["hint"]
        elif name == "memory_delete":
            known[0] = recorded(offered)
        else:
            assert set(tool.blank) <= set(fields)

    check()


@promise("mcp:fuzz-tools")
@promise(
    "mcp:arguments",
    "Unknown, missing and wrongly typed arguments are refused, and nothing else is.",
    source="issue 2",
)
@pytest.mark.parametrize(("profile", "name"), OFFERED)
def test_every_tool_refuses_what_its_schema_forbids_and_nothing_else(profile: str, name: str, offered: Tools) -> None:
    tool = PROFILES[profile][name]
    accepts = jsonschema.Draft202012Validator(_without_values(tool.input_schema)).is_valid
    allows = jsonschema.Draft202012Validator(tool.input_schema).is_valid
    keys = st.sampled_from([*tool.inputs, "tenant", "projectId"])

    @settings(max_examples=EXAMPLES, suppress_health_check=SHARED)
    @given(st.one_of(st.dictionaries(keys, JSON, max_size=4), st.tuples(arguments_of(tool), keys, JSON).map(_replaced)))
    def check(arguments: dict[str, Any]) -> None:
        given_values = {key: value for key, value in arguments.items() if value is not None or key not in tool.inputs}
        try:
            Arguments(name, tool.inputs, tool.required, arguments)
        except InvalidInput as error:
            assert error.hint
            numbers = [
                one for value in given_values.values() for one in (value if isinstance(value, list) else [value])
            ]
            too_large = any(
                isinstance(value, int | float) and not isinstance(value, bool) and abs(value) > 10**9
                for value in numbers
            )
            assert too_large or not accepts(given_values)
        else:
            assert accepts(given_values)
        answer = offered.call(name, arguments, CALLER)
        assert answer.fields.get("error") != "error"
        # A project without a bank has nothing that a threshold could be used for: it is said to be unknown at once.
        assert answer.failed or allows(given_values) or "Nothing is known of project" in answer.text
        json.dumps(answer.fields)

    check()


@promise("mcp:arguments")
@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, 10**5000, -(10**5000), "\ud800", ["\udfff"]],
    ids=["nan", "infinity", "minus infinity", "huge", "minus huge", "half a pair", "half a pair in a list"],
)
@pytest.mark.parametrize(("profile", "name"), OFFERED)
def test_values_that_json_cannot_carry_faithfully_are_refused(
    profile: str, name: str, value: object, offered: Tools
) -> None:
    tool = PROFILES[profile][name]
    for argument in tool.inputs:
        given_values = dict.fromkeys(tool.required, "x") | {argument: value}
        answer = offered.call(name, given_values, CALLER)
        assert answer.failed
        assert answer.fields["error"] != "error"
        json.dumps(answer.fields).encode()
        answer.text.encode()


BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})


def _without_values(schema: dict[str, object]) -> dict[str, object]:
    """The schema without enumerations, bounds and the inside of objects: these are the bank's to say, as its error."""
    properties = schema["properties"]
    assert isinstance(properties, dict)
    free = {
        name: {"type": "string"}
        if "enum" in one
        else {"type": "object"}
        if one.get("type") == "object"
        else {key: value for key, value in one.items() if key not in BOUNDS}
        for name, one in properties.items()
    }
    return {**schema, "properties": free}


def _replaced(parts: tuple[dict[str, Any], str, Any]) -> dict[str, Any]:
    arguments, key, value = parts
    return {**arguments, key: value}


METHODS = st.sampled_from(
    [
        "initialize",
        "ping",
        "tools/list",
        "tools/call",
        "resources/list",
        "prompts/get",
        "server/discover",
        "subscriptions/listen",
        "logging/setLevel",
        "completion/complete",
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/progress",
        "",
    ]
)
META = st.dictionaries(
    st.sampled_from(["io.modelcontextprotocol/protocolVersion", "progressToken", "traceparent", "tracestate", "x"]),
    JSON,
    max_size=3,
)
PARAMS = st.one_of(
    JSON,
    st.fixed_dictionaries({"name": st.sampled_from([*TOOLS, "nothing"]), "arguments": JSON}, optional={"_meta": META}),
    st.fixed_dictionaries({"_meta": META}),
    st.fixed_dictionaries({"requestId": JSON, "progressToken": JSON}),
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.one_of(st.just("2.0"), JSON),
        "id": JSON,
        "method": st.one_of(METHODS, JSON),
        "params": PARAMS,
        "result": JSON,
        "error": JSON,
    },
)
GARBAGE = st.one_of(
    st.binary(max_size=200),
    st.sampled_from(
        [b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe", b"null", b'{"jsonrpc":"2.0","id":1e999}', b"9" * 9_999]
    ),
    JSON.map(lambda value: json.dumps(value).encode()),
    MESSAGES.map(lambda value: json.dumps(value).encode()),
    st.builds(
        lambda identifier, method, params: json.dumps(
            {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}
        ).encode(),
        st.integers(1_000, 2_000),
        METHODS,
        PARAMS,
    ),
).map(lambda line: line.replace(b"\n", b" "))


@promise("mcp:fuzz-bytes", "Raw bytes on the wire never cause an internal error or end the server.", source="issue 2")
@pytest.mark.parametrize("handshake", [True, False])
def test_raw_bytes_never_cause_an_internal_error(handshake: bool, start_server: StartServer, tmp_path: Path) -> None:
    with (tmp_path / "errors").open("wb") as errors:
        server = start_server(errors=errors.fileno())
        if handshake:
            server.hello()
        numbers = itertools.count()

        @settings(max_examples=EXAMPLES, suppress_health_check=SHARED)
        @given(st.lists(GARBAGE, min_size=1, max_size=3))
        def check(lines: list[bytes]) -> None:
            server.send(*lines)
            _still_there(server, f"still there {next(numbers)}")

        check()
        assert server.end() == 0
    assert b"Traceback" not in (tmp_path / "errors").read_bytes()


@promise("mcp:fuzz-bytes")
def test_a_message_beyond_the_limit_is_refused_and_skipped(start_server: StartServer) -> None:
    server = start_server()
    server.hello()
    server.send(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"' + b"y" * (5 * 2**20) + b'"}}')
    assert "longer" in server.until(None)[-1]["error"]["message"]
    _still_there(server, "after")
    server.tell({"jsonrpc": "2.0", "id": "list", "method": "tools/call", "params": ["memory_stats"]})
    assert server.until("list")[-1]["error"]["code"] == types.INVALID_REQUEST


@promise(
    "mcp:halves",
    "A message with half of a surrogate pair is refused with the reason, and the next one is answered.",
    source="issue Hard to break 7",
)
def test_half_of_a_character_is_named_as_the_reason(start_server: StartServer) -> None:
    server = start_server()
    server.hello()
    half = {"name": "memory_search", "arguments": {"query": "cut \ud83d"}}
    server.tell({"jsonrpc": "2.0", "id": "half", "method": "tools/call", "params": half})
    error = server.until("half")[-1]["error"]
    assert error["code"] == types.INVALID_PARAMS
    assert "halves of surrogate pairs" in error["message"]
    _still_there(server, "after")


def _still_there(server: RawServer, name: str) -> None:
    """A ping must be answered, and nothing before it may be an internal error."""
    server.tell({"jsonrpc": "2.0", "id": name, "method": "ping"})
    for message in server.until(name):
        assert message["jsonrpc"] == "2.0"
        if "error" in message:
            assert message["error"]["code"] not in {0, types.INTERNAL_ERROR}, message
