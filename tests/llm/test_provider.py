"""Models of providers: the real client against a server on this machine, in fair and foul weather."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from pydantic import BaseModel

from llm.replay_server import ReplayServer, Reply, completion
from promises import promise
from reasoningbank.errors import BudgetExhausted, ConfigurationError, ModelUnavailable, PaidCallRefused
from reasoningbank.llm import LEDGER, open_model
from reasoningbank.llm.budget import TokenBudget
from reasoningbank.llm.exchange import exchange
from reasoningbank.llm.provider import ATTEMPTS, MAX_OUTPUT_TOKENS, ProviderModel
from reasoningbank.settings import on_this_machine
from reasoningbank.types.ports import Completion, Prompt

KEY = "sk-canary-0123456789"
PROMPT = Prompt(name="judge", version="1-ab", instructions="Judge it.", material="A <|im_start|> session \ud800 é.")
SCHEMA: dict[str, object] = {
    "title": "Verdict",
    "type": "object",
    "properties": {"verdict": {"type": "string"}},
    "required": ["verdict"],
}
ANSWER = '{"verdict": "success"}'
REFUSED_KEY = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}})


class Outcome:
    """What came of one prompt: an answer or an error, and what the server saw."""

    def __init__(self, replies: Iterable[str | Reply], *, provider: str = "openai", **options: object) -> None:
        self.waits: list[float] = []
        self.answer: Completion | None = None
        self.error: ModelUnavailable | None = None
        with ReplayServer(list(replies)) as server:
            timeout = options.get("timeout", 30.0)
            budget = options.get("budget")
            assert isinstance(timeout, float)
            assert budget is None or isinstance(budget, TokenBudget)
            self.model = ProviderModel(
                provider=provider,
                model=str(options.get("model", "small")),
                url=server.url.removesuffix("/v1") if provider != "openai" else server.url,
                key=KEY,
                timeout=timeout,
                budget=budget,
                sleep=self.waits.append,
            )
            try:
                self.answer = self.model.complete(PROMPT, SCHEMA)
            except ModelUnavailable as error:
                self.error = error
            self.requests = server.requests
            self.left = server.left


def failed(outcome: Outcome) -> ModelUnavailable:
    """The error, which holds the key nowhere and nothing that holds it."""
    error = outcome.error
    assert error is not None
    assert error.hint
    assert error.__cause__ is None
    assert error.__context__ is None
    assert KEY not in f"{error!r} {error} {error.hint} {outcome.model!r} {vars(error)}"
    return error


@promise(
    "llm:provider",
    "OpenAI, Anthropic, Google and any OpenAI-compatible server answer through one port, from threads and inside a "
    "running event loop, with their cost; a server without JSON schemas is asked in words.",
    source="issue Three ways; DESIGN D7",
)
def test_an_answer_comes_with_its_cost_and_the_request_says_what_is_wanted() -> None:
    outcome = Outcome([completion(ANSWER, input_tokens=70, output_tokens=9)])
    assert outcome.answer == Completion(text=ANSWER, model="openai:small", input_tokens=70, output_tokens=9)
    (request,) = outcome.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body["temperature"] == 0.0
    assert request.body["max_tokens"] == MAX_OUTPUT_TOKENS
    assert "json_schema" in json.dumps(request.body["response_format"])
    messages = request.body["messages"]
    assert isinstance(messages, list)
    assert [message["role"] for message in messages] == ["system", "user"]
    assert messages[0]["content"] == "Judge it."
    assert "session" in messages[1]["content"]


@promise("llm:provider")
def test_how_long_an_answer_may_be_can_be_set(tmp_path: Path) -> None:
    with ReplayServer([completion(ANSWER)]) as server:
        model = open_model("openai:small", url=server.url, output_tokens=900, home=tmp_path)
        assert model is not None
        model.complete(PROMPT, SCHEMA)
        (request,) = server.requests
    assert request.body["max_tokens"] == 900
    with pytest.raises(ConfigurationError):
        open_model("openai:small", output_tokens=0, home=tmp_path)


@promise(
    "llm:provider-errors",
    "Every failure of a provider, a wrong key, an unknown model, a limit, a time-out, no network or garbage, is "
    "ModelUnavailable with a hint, without the key, and never another exception.",
    source="issue Three ways; DESIGN D8",
)
@pytest.mark.parametrize(
    ("replies", "requests", "told", "hint"),
    [
        ([Reply(status=401, body=REFUSED_KEY)], 1, "refused the key (HTTP 401, invalid_api_key)", "llm_key"),
        ([Reply(status=403, body=REFUSED_KEY)], 1, "refused the key", "llm_key"),
        ([Reply(status=404, body='{"error": {"code": "model_not_found"}}')], 1, "not known", "model's name"),
        ([Reply(status=404, body="<html>nothing here</html>")], 1, "HTTP 404", "/v1"),
        ([Reply(status=429, body="{}", headers={"retry-after": "600"})], 1, "rate limit", "later"),
        ([Reply(status=429, body="{}")] * ATTEMPTS, ATTEMPTS, "rate limit", "later"),
        ([Reply(status=429, body='{"error": {"code": "insufficient_quota"}}')], 1, "quota", "Top up"),
        ([Reply(status=500, body="oops")] * ATTEMPTS, ATTEMPTS, "HTTP 500", "later"),
        ([Reply(status=503, body="")] * ATTEMPTS, ATTEMPTS, "HTTP 503", "later"),
        ([Reply(status=400, body='{"error": {"message": "no"}}')], 1, "refused the request", "key"),
        ([Reply(status=422, body='{"detail": "temperature must be 1"}')] * 2, 2, "refused the request", "key"),
        ([Reply(status=418, body="tea")], 1, "HTTP 418", "llm_url"),
        ([Reply(status=302, body="", headers={"location": "http://127.0.0.1:9/"})], 1, "not a completion", "/v1"),
        ([Reply(body="{}")], 1, "not a completion", "/v1"),
        ([Reply(body="[1, 2]")], 1, "not a completion", "/v1"),
        ([Reply(body="not json at all")], 1, "not a completion", "/v1"),
        ([Reply(body="<html></html>", headers={"content-type": "text/html"})], 1, "not a completion", "/v1"),
        ([Reply(body=completion(ANSWER).body, cut=40)] * ATTEMPTS, ATTEMPTS, "cannot be reached", "network"),
        ([], 1, "HTTP 410", ""),
    ],
)
def test_every_failure_is_told_with_a_hint_and_without_the_key(
    replies: list[Reply], requests: int, told: str, hint: str
) -> None:
    outcome = Outcome(replies)
    error = failed(outcome)
    assert told in error.message
    assert hint in error.hint
    assert len(outcome.requests) == requests


@promise(
    "llm:provider-retries",
    "Rate limits, server errors and broken connections are tried four times in all with growing random waits or as "
    "Retry-After says; a refused key, an unknown model and a time-out are not tried again.",
    source="issue Three ways (timeouts, retries)",
)
def test_limits_errors_and_broken_connections_are_tried_again_with_growing_waits() -> None:
    broken = Reply(body=completion(ANSWER).body, cut=40)
    outcome = Outcome([Reply(status=429, body="{}"), Reply(status=500, body=""), broken, ANSWER])
    assert outcome.answer is not None
    assert len(outcome.requests) == ATTEMPTS
    for wait, base in zip(outcome.waits, (1.0, 2.0, 4.0), strict=True):
        assert base <= wait <= 1.5 * base
    asked = Outcome([Reply(status=429, body="{}", headers={"retry-after": "7"}), ANSWER])
    assert asked.answer is not None
    assert 7.0 <= asked.waits[0] <= 10.5


@promise("llm:provider-errors")
def test_a_server_that_does_not_answer_in_time_and_one_that_is_not_there() -> None:
    late = Outcome([Reply(body=completion(ANSWER).body, delay=1.5)], timeout=0.3)
    assert "within 0.3 s" in failed(late).message
    assert len(late.requests) == 1
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    waits: list[float] = []
    model = ProviderModel(provider="openai", model="m", url=f"http://127.0.0.1:{port}/v1", key=KEY, sleep=waits.append)
    with pytest.raises(ModelUnavailable) as caught:
        model.complete(PROMPT, SCHEMA)
    assert "cannot be reached" in caught.value.message
    assert len(waits) == ATTEMPTS - 1


@promise("llm:provider")
def test_a_server_without_schemas_is_asked_in_words_and_then_always() -> None:
    refusal = Reply(status=400, body='{"error": {"message": "response_format is not supported"}}')
    with ReplayServer([refusal, ANSWER, ANSWER, refusal, ANSWER, ANSWER]) as server:
        model = ProviderModel(provider="openai", model="small", url=server.url)
        for _ in range(4):
            assert model.complete(PROMPT, SCHEMA).text == ANSWER
        requests = server.requests
    formats = [json.dumps(request.body.get("response_format")) for request in requests]
    assert ["json_schema" in each for each in formats] == [True, *[False] * 5]
    assert ["json_object" in each for each in formats] == [False, True, True, True, False, False]
    assert formats[-1] == "null"
    for request in requests[1:]:
        assert "verdict" in json.dumps(request.body["messages"])


@promise(
    "llm:ways",
    "A server is asked for JSON in another way only when it says that it does not know this one; any other refusal is "
    "an error at once.",
    source="issue Any model (answers)",
)
@pytest.mark.parametrize(
    "said",
    [
        "This model does not support response format `json_schema`.",
        "'response_format.type' must be 'json_schema' or 'text'",
        "Failed to parse grammar",
        "Structured output is not available for this model",
        "JSON mode is not enabled for this model",
        "Unsupported parameter: 'response_format'",
        "body.response_format: Extra inputs are not permitted",
        "The specified schema produces a constraint that has too many states",
    ],
)
def test_the_way_to_ask_for_json_changes_only_when_that_was_refused(said: str) -> None:
    refusal = Reply(status=400, body=json.dumps({"error": {"message": said}}))
    outcome = Outcome([refusal, refusal, ANSWER])
    assert outcome.answer is not None
    assert outcome.answer.text == ANSWER
    always = Outcome([refusal] * 4)
    assert "refused the request" in failed(always).message
    assert len(always.requests) == 3


@promise("llm:ways")
@pytest.mark.parametrize(
    ("status", "said"),
    [
        (501, "response_format is not implemented"),
        (500, "Failed to initialize samplers: failed to parse grammar"),
        (500, "failed to parse grammar"),
        (405, "json_schema is not available for this model"),
        (404, "No endpoints found that support structured outputs"),
        (404, "No endpoints found that can handle the requested parameters."),
        (501, "Not Implemented"),
        (415, "Unsupported response_format"),
    ],
)
def test_a_refusal_of_the_format_is_one_whichever_status_it_has(status: int, said: str) -> None:
    outcome = Outcome([Reply(status=status, body=json.dumps({"error": {"message": said}})), ANSWER])
    assert (outcome.answer is not None, len(outcome.requests), outcome.waits) == (True, 2, [])
    assert outcome.requests[1].body["response_format"] == {"type": "json_object"}
    for other in (Reply(status=503, body=said), Reply(status=500, body="the database is locked")):
        formats = [str(request.body["response_format"])[:24] for request in Outcome([other, ANSWER]).requests]
        assert len(formats) == 2
        assert formats[0] == formats[1]


@promise("llm:ways")
def test_prose_twice_under_a_format_is_a_refusal_of_it() -> None:
    replies = ["It went well.", "It went well.", ANSWER, "It went well.", ANSWER]
    with ReplayServer(replies) as server:
        for _ in replies:
            ProviderModel(provider="openai", model="small", url=server.url).complete(PROMPT, SCHEMA)
        formats = [json.dumps(request.body["response_format"]) for request in server.requests]
    assert ["json_schema" in each for each in formats] == [True, True, False, False, False]
    assert all("json_object" in each for each in formats[2:])


@promise("llm:ways")
@pytest.mark.parametrize("named", ["stream_options", "parallel_tool_calls", "user", "stream", "temperature"])
@pytest.mark.parametrize(
    "said",
    [
        "Unrecognized request argument supplied: {}",
        "Unsupported parameter: '{}' is not supported with this model.",
        "got an unexpected keyword argument '{}'",
        "{}: Extra inputs are not permitted",
        "Unknown field `{}`. Known fields: messages, response_format",
    ],
)
def test_an_argument_that_is_not_known_does_not_cost_the_format(said: str, named: str) -> None:
    outcome = Outcome([Reply(status=400, body=json.dumps({"error": {"message": said.format(named)}})), ANSWER])
    left_out = named in ("stream", "temperature")
    assert (outcome.answer is not None, len(outcome.requests)) == (left_out, 1 + left_out)
    assert all("json_schema" in str(request.body["response_format"]) for request in outcome.requests)
    assert not left_out or named not in outcome.requests[1].body


@promise(
    "llm:refused-answers",
    "When a server says that the model's answer is not the JSON that was asked for, it is asked once more; after two "
    "such answers JSON is asked for in the next way.",
    source="issue Any model (answers)",
)
@pytest.mark.parametrize(
    "error",
    [
        {"message": "Failed to generate JSON. See 'failed_generation'.", "code": "json_validate_failed"},
        {"message": "Failed to validate JSON", "failed_generation": "prompt too long, unknown parameter 'x'"},
        {"message": "Parsing failed.", "code": "output_parse_failed"},
        {"message": "The model generated invalid JSON"},
    ],
)
def test_an_answer_that_a_server_refuses_is_asked_for_once_more(error: Mapping[str, str]) -> None:
    class Opinion(BaseModel):
        verdict: str

    refusal = Reply(status=400, body=json.dumps({"error": error}))
    for refused, formats in ((1, ["json_schema", "json_schema"]), (2, ["json_schema", "json_schema", "json_object"])):
        with ReplayServer([*[refusal] * refused, ANSWER]) as server:
            model = ProviderModel(provider="openai", model="m", url=server.url)
            assert exchange(model, PROMPT, Opinion).answer.verdict == "success"
            assert [json.loads(each.text)["response_format"]["type"] for each in server.requests] == formats
            assert ["could not be used" in each.text for each in server.requests] == [False, *[True] * refused]
            assert {each.body["max_tokens"] for each in server.requests} == {MAX_OUTPUT_TOKENS}
    cut = {"message": "max completion tokens reached before generating valid JSON", "code": "json_validate_failed"}
    answer = Outcome([Reply(status=400, body=json.dumps({"error": cut}))]).answer
    assert answer is not None
    assert (answer.text, answer.cut) == ("", True)


@promise(
    "llm:system-role",
    "A model whose chat template knows no system role is told its instructions in the user's message, at that URL "
    "from then on, in whatever way JSON is asked for.",
    source="issue Any model (answers)",
)
@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "System role not supported"),
        (500, "Jinja Exception: System role not supported"),
        (400, "Unsupported value: 'messages[0].role' does not support 'system' with this model."),
        (400, "Developer instruction is not enabled for models/gemma-3-1b-it"),
        (400, "Conversation roles must alternate user/assistant/user/assistant/..."),
        (400, "Only user and assistant roles are supported!"),
        (422, "messages.0.role: Input should be 'user' or 'assistant'"),
        (400, "This model does not support system messages"),
        (400, "Unexpected message role."),
    ],
)
def test_a_template_without_a_system_role_is_told_all_as_the_user(status: int, said: str) -> None:
    refusal = Reply(status=status, body=json.dumps({"error": {"message": said}}))
    formats = Reply(status=400, body='{"error": {"message": "response_format is not supported"}}')
    with ReplayServer([refusal, ANSWER, formats, formats, ANSWER, *[refusal] * ATTEMPTS]) as server:
        for _ in range(2):
            model = ProviderModel(provider="openai", model="m", url=server.url, sleep=lambda _: None)
            assert model.complete(PROMPT, SCHEMA).text == ANSWER
        with pytest.raises(ModelUnavailable):
            model.complete(PROMPT, SCHEMA)
        told = [json.loads(request.text)["messages"] for request in server.requests]
    assert [[each["role"] for each in messages] for messages in told] == [["system", "user"], *[["user"]] * 5]
    for messages in told[1:]:
        assert messages[0]["content"].startswith("Judge it.")
        assert "session" in messages[0]["content"]
    assert ["verdict" in str(messages) for messages in told] == [False, False, False, True, True, True]


@promise(
    "llm:withheld",
    "An answer that a provider's filter has cut or replaced is none, and what it used is booked.",
    source="issue Any model (answers)",
)
def test_an_answer_that_a_filter_stopped_is_none(tmp_path: Path) -> None:
    body = json.loads(completion(ANSWER, input_tokens=70, output_tokens=9).body)
    body["choices"][0]["finish_reason"] = "content_filter"
    budget = TokenBudget(tmp_path / "ledger", 100_000)
    outcome = Outcome([Reply(body=json.dumps(body))], budget=budget)
    assert "refused to speak" in failed(outcome).message
    assert (len(outcome.requests), budget.spent()) == (1, 79)


@promise(
    "llm:usage",
    "An answer whose usage is empty or not whole is read like any other; what is reported is booked, a total alone "
    "too, the larger one where total and parts differ, and only what is not reported is counted by us.",
    source="issue Any model (budget)",
)
@pytest.mark.parametrize(
    ("usage", "booked"),
    [
        ({"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}, 0),
        ({"total_tokens": 90}, 90),
        ({"prompt_tokens": 70, "completion_tokens": 20}, 90),
        ({"prompt_tokens": 70, "total_tokens": 90}, 90),
        ({"completion_tokens": 20, "total_tokens": 90}, 90),
        ({"input_tokens": 70, "output_tokens": 20}, 90),
        ({"prompt_tokens": 70, "completion_tokens": 20, "total_tokens": 290}, 290),
        ({"prompt_tokens": 70, "completion_tokens": 20, "total_tokens": 20}, 90),
        ({"input_tokens": 70, "output_tokens": 20, "total_tokens": 290}, 290),
        ({}, 0),
        (None, 0),
    ],
)
def test_an_answer_is_read_whatever_its_usage_says(usage: object, booked: int, tmp_path: Path) -> None:
    body = {**json.loads(completion(ANSWER).body), "usage": usage}
    budget = TokenBudget(tmp_path / "ledger", 100_000)
    answer = Outcome([Reply(body=json.dumps(body))], budget=budget).answer
    assert answer is not None
    assert (answer.text, answer.input_tokens + answer.output_tokens) == (ANSWER, booked)
    assert budget.spent() == (booked or budget.spent()) > 0


@promise(
    "llm:usage-without-answer",
    "What a body without an answer reports of its usage is booked, also of a server on this machine.",
    source="issue Any model (budget)",
)
@pytest.mark.parametrize("choices", [[], None, [{}]])
def test_the_usage_of_a_body_without_an_answer_is_booked(choices: object, tmp_path: Path) -> None:
    body = {"choices": choices, "usage": {"prompt_tokens": 900, "completion_tokens": 60, "total_tokens": 960}}
    budget = TokenBudget(tmp_path / "ledger", 100_000)
    assert Outcome([Reply(body=json.dumps(body))], budget=budget).answer is None
    assert budget.spent() == 960


@promise(
    "llm:renamed-limit",
    "A server that wants the longest answer as `max_completion_tokens` is told it so from then on.",
    source="issue Any model (length)",
)
def test_the_limit_of_an_answer_takes_the_name_that_a_server_asks_for() -> None:
    said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    with ReplayServer([Reply(status=400, body=json.dumps({"error": {"message": said}})), ANSWER, ANSWER]) as server:
        for _ in range(2):
            model = ProviderModel(provider="openai", model="m", url=server.url)
            assert model.complete(PROMPT, SCHEMA).text == ANSWER
        names = [[name for name in request.body if name.startswith("max_")] for request in server.requests]
        formats = {str(request.body.get("response_format"))[:24] for request in server.requests}
    assert names == [["max_tokens"], ["max_completion_tokens"], ["max_completion_tokens"]]
    assert len(formats) == 1


@promise(
    "llm:refused-parameters",
    "A temperature, a limit of the answer or another parameter that a model refuses is left out, for that model at "
    "that URL from then on; how JSON is asked for stays what it was.",
    source="issue Any model (answers)",
)
@pytest.mark.parametrize(
    ("said", "left_out"),
    [
        (
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is.",
            "temperature",
        ),
        ("`temperature` is deprecated for this model.", "temperature"),
        ("temperature: Extra inputs are not permitted", "temperature"),
        ("invalid temperature: only 1 is allowed for this model", "temperature"),
        ("This model does not support the temperature parameter", "temperature"),
        ("Unsupported parameter: 'max_tokens' is not supported with this model.", "max_tokens"),
        ("Unrecognized request argument supplied: max_tokens", "max_tokens"),
    ],
)
def test_a_parameter_that_is_refused_is_left_out_from_then_on(said: str, left_out: str) -> None:
    for body in ({"error": {"message": said}}, {"error": {"message": "Unsupported value", "param": left_out}}):
        refusal = Reply(status=400, body=json.dumps(body))
        with ReplayServer([refusal, ANSWER, ANSWER]) as server:
            for _ in range(2):
                model = ProviderModel(provider="openai", model="m", url=server.url)
                assert model.complete(PROMPT, SCHEMA).text == ANSWER
            named = [left_out in request.body for request in server.requests]
            formats = {str(request.body.get("response_format"))[:24] for request in server.requests}
        assert named == [True, False, False]
        assert len(formats) == 1


@promise("llm:refused-parameters")
def test_a_server_that_knows_no_limit_of_the_answer_is_sent_none() -> None:
    refusals = [
        Reply(
            status=422, body=json.dumps({"detail": [{"loc": ["body", name], "msg": "Extra inputs are not permitted"}]})
        )
        for name in ("max_tokens", "max_completion_tokens")
    ]
    with ReplayServer([*refusals, ANSWER]) as server:
        ProviderModel(provider="openai", model="m", url=server.url).complete(PROMPT, SCHEMA)
        names = [[name for name in request.body if name.startswith("max_")] for request in server.requests]
    assert names == [["max_tokens"], ["max_completion_tokens"], []]


@promise(
    "llm:answer-limit",
    "A model that limits its answers alone is asked again with the limit that it names, else with half, and from then "
    "on with that.",
    source="issue Any model (length)",
)
@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ("max_tokens must be at most 512", 512),
        ("max_completion_tokens is too large: 8192. This model supports at most 512 completion tokens, whereas you "
         "provided 8192.", 512),
        ("The maximum output length is 512", 512),
        ("max_tokens: 8192 > 512, which is the maximum allowed number of output tokens for claude-20240229", 512),
        ("Input validation error: `max_new_tokens` must be <= 512. Given: 8192", 512),
        ("maxOutputTokens value of 8192 but the supported range is from 1 (inclusive) to 513 (exclusive)", 512),
        ("The maximum tokens you requested exceeds the model limit of 512. Try a value lower than 512.", 512),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 512]", 512),
        ("max_tokens 参数非法。取值范围 [1,512]", 512),
        ("max_tokens (8192) exceeds the model's output token limit", 4_096),
        ("max_tokens is too large", 4_096),
    ],
)  # fmt: skip
def test_a_limit_of_the_answer_is_kept_to(said: str, limit: int) -> None:
    refusal = Reply(status=400, body=json.dumps({"error": {"code": 400, "message": said}}))
    with ReplayServer([refusal, ANSWER, ANSWER]) as server:
        for _ in range(2):
            model = ProviderModel(provider="openai", model="m", url=server.url)
            assert model.complete(PROMPT, SCHEMA).text == ANSWER
        lengths = [int(str(request.body["max_tokens"])) for request in server.requests]
    assert lengths[0] == MAX_OUTPUT_TOKENS
    assert limit - 1 <= lengths[1] == lengths[2] <= limit
    for other in ("max_tokens must be at least 1", "You exceeded your maximum tokens per minute"):
        assert len(Outcome([Reply(status=400, body=json.dumps({"error": {"message": other}}))]).requests) == 1
    stubborn = Outcome([Reply(status=400, body='{"error": {"message": "max_tokens is too large"}}')] * 12)
    assert (len(failed(stubborn).message) > 0, stubborn.left) == (True, 5)


@promise(
    "llm:replay",
    "Any server that speaks OpenAI's chat completions can be the model: its answers come back word for word in the "
    "order of the prompts, and one that says it has no more is not asked again.",
    source="issue 3 (a local OpenAI-compatible server, in CI one that replays recorded answers)",
)
def test_any_openai_compatible_server_is_a_model_until_it_has_no_answer_left() -> None:
    waits: list[float] = []
    with ReplayServer(
        ["one", lambda asked: f"two: {'session' in asked.text}", Reply(status=503, body="later")]
    ) as server:
        assert server.url.startswith("http://127.0.0.1:")
        model = ProviderModel(provider="openai", model="small", url=server.url, sleep=waits.append)
        assert [model.complete(PROMPT, {}).text for _ in range(2)] == ["one", "two: True"]
        assert server.left == 1
        with pytest.raises(ModelUnavailable, match="HTTP 410"):
            model.complete(PROMPT, {})
        assert (len(server.requests), len(waits), server.left) == (4, 1, 0)


@promise("llm:provider")
def test_anthropic_and_google_answer_through_the_same_port() -> None:
    claude = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "text", "text": ANSWER}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }
    gemini = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": ANSWER}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7},
        "modelVersion": "gemini",
    }
    for provider, model, body in (
        ("anthropic", "claude-haiku-4-5", claude),
        ("google", "gemini-2.5-flash", gemini),
    ):
        outcome = Outcome([Reply(body=json.dumps(body))], provider=provider, model=model)
        assert outcome.error is None, outcome.error
        assert outcome.answer == Completion(text=ANSWER, model=f"{provider}:{model}", input_tokens=3, output_tokens=4)
        refused = Outcome([Reply(status=401, body=REFUSED_KEY)], provider=provider, model=model)
        assert "refused the key" in failed(refused).message
        assert len(refused.requests) == 1


@promise("llm:provider")
def test_it_answers_inside_a_running_event_loop_and_in_many_threads() -> None:
    import asyncio

    answers: list[str] = []
    with ReplayServer(lambda asked: ANSWER if "session" in asked.text else "?") as server:
        model = ProviderModel(provider="openai", model="small", url=server.url)

        async def inside() -> str:
            return model.complete(PROMPT, SCHEMA).text

        answers.append(asyncio.run(inside()))
        threads = [
            threading.Thread(target=lambda: answers.append(model.complete(PROMPT, SCHEMA).text)) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == [ANSWER] * 5


@promise("llm:budget")
def test_the_budget_is_kept_before_each_call_and_settled_after_it(tmp_path: Path) -> None:
    budget = TokenBudget(tmp_path / "ledger", 30_000)
    Outcome([completion(ANSWER, input_tokens=70, output_tokens=30)], budget=budget)
    assert budget.spent() == 100
    Outcome([Reply(status=401, body=REFUSED_KEY)], budget=budget)
    assert budget.spent() == 100
    unknown = Outcome([completion(ANSWER, input_tokens=0, output_tokens=0)], budget=budget)
    assert unknown.answer is not None
    kept = budget.spent()
    assert 100 < kept < 150
    Outcome([Reply(body=completion(ANSWER).body, delay=1.0)], budget=budget, timeout=0.2)
    Outcome([Reply(status=503, body="")] * ATTEMPTS, budget=budget)
    assert budget.spent() == kept
    late = Outcome(
        [
            Reply(status=503, body=""),
            Reply(status=503, body=""),
            completion(ANSWER, input_tokens=900, output_tokens=80),
        ],
        budget=budget,
    )
    assert late.answer is not None
    assert budget.spent() == kept + 980
    with pytest.raises(BudgetExhausted):
        Outcome([ANSWER], budget=TokenBudget(tmp_path / "small", MAX_OUTPUT_TOKENS))


@promise("llm:budget")
def test_without_tokens_left_nothing_is_sent(tmp_path: Path) -> None:
    with ReplayServer([ANSWER]) as server:
        model = open_model("openai:small", url=server.url, daily_tokens=500, home=tmp_path)
        assert model is not None
        with pytest.raises(BudgetExhausted):
            model.complete(PROMPT, SCHEMA)
        assert not server.requests
    assert (tmp_path / LEDGER).exists()


@promise(
    "llm:paid",
    "With paid calls switched off, by setting or by no_paid_calls(), a call of a model that is not on this machine "
    "raises PaidCallRefused and sends nothing.",
    source="issue (an accidental paid call in tests is an error)",
)
def test_a_paid_call_in_a_test_is_an_error_whatever_the_settings_say(tmp_path: Path) -> None:
    for name, url in (
        ("openai:gpt-5-mini", ""),
        ("anthropic:claude-haiku-4-5", ""),
        ("google:gemini-2.5-flash", ""),
        ("openai:x", "http://192.0.2.1/v1"),
        ("openai:x", "http://localhost.example.org/v1"),
    ):
        model = open_model(name, url=url, key=KEY, home=tmp_path, daily_tokens=100_000)
        assert model is not None
        with pytest.raises(PaidCallRefused):
            model.complete(PROMPT, SCHEMA)
    assert not (tmp_path / LEDGER).exists()
    assert all(map(on_this_machine, ("http://localhost:1/v1", "http://127.9.9.9/v1", "http://[::1]:8080")))


@promise("llm:paid")
def test_the_setting_refuses_paid_calls_in_another_process(tmp_path: Path) -> None:
    program = """
import sys
from reasoningbank.errors import PaidCallRefused
from reasoningbank.llm import open_model
from reasoningbank.types.ports import Prompt
from reasoningbank.settings import load_settings
settings = load_settings()
model = open_model("openai:x", url="http://192.0.2.1/v1", home=settings.home, paid_calls=settings.paid_calls)
try:
    model.complete(Prompt(name="n", version="1", instructions="i", material="m"), {})
except PaidCallRefused:
    print("refused")
"""
    environment = {**os.environ, "REASONINGBANK_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60, env=environment
    )
    assert done.stdout == "refused\n"


@promise(
    "llm:names",
    "A language model is chosen by name; a wrong name, URL, key, timeout or budget is an error when it is opened, and "
    "the empty name is none.",
    source="DESIGN D7",
)
def test_names_and_arguments_are_checked_when_the_model_is_opened(tmp_path: Path) -> None:
    assert open_model("", home=tmp_path) is None
    model = open_model("openai:qwen3:4b", url="http://127.0.0.1:8080/v1/", home=tmp_path)
    assert model is not None
    assert model.name == "openai:qwen3:4b"
    assert "127.0.0.1:8080/v1'" in repr(model)
    for name in ("gpt-5", "openai:", "openai: ", "cohere:x", ":x"):
        with pytest.raises(ConfigurationError) as caught:
            open_model(name, home=tmp_path)
        assert "anthropic:MODEL" in caught.value.hint
    for url in ("ftp://x", "x", "http://", "http://user:pass@x/v1", "http://x/v1?key=1", "http://x:0/"):
        with pytest.raises(ConfigurationError) as caught:
            open_model("openai:x", url=url, home=tmp_path)
        assert "pass@" not in caught.value.message
    for timeout in (-1.0, float("nan")):
        with pytest.raises(ConfigurationError):
            open_model("openai:x", timeout=timeout, home=tmp_path)
    with pytest.raises(ConfigurationError):
        open_model("openai:x", daily_tokens=-1, home=tmp_path)
    with pytest.raises(ConfigurationError) as caught:
        open_model("openai:x", key=f"{KEY}\n", home=tmp_path)
    assert KEY not in caught.value.message


SPANS = """
import json, logging, sys
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([reader]))

from pydantic_ai import Agent
from reasoningbank.errors import BankError
from reasoningbank.llm.provider import ProviderModel
from reasoningbank.types.ports import Prompt
from llm.replay_server import ReplayServer, Reply, completion

Agent.instrument_all()
prompt = Prompt(name="judge", version="1", instructions="canary instructions", material="canary material")
replies = [completion('{"canary": "answer"}'), Reply(status=401, body='{"error": {"message": "canary-key"}}')]
with ReplayServer(replies) as server:
    model = ProviderModel(provider="openai", model="small", url=server.url, key="canary-key")
    model.complete(prompt, {"type": "object", "properties": {"canary": {"type": "string"}}})
    try:
        model.complete(prompt, {})
    except BankError:
        pass
told = [json.loads(span.to_json()) for span in spans.get_finished_spans()]
print(json.dumps({"spans": told, "metrics": json.loads(reader.get_metrics_data().to_json())}))
"""


@promise(
    "telemetry:chat",
    "Each call of a language model is one span and two metrics under the GenAI conventions, with its tokens and "
    "without content or key.",
    source="DESIGN 3 telemetry; GenAI semantic conventions",
)
def test_each_call_is_a_span_with_its_tokens_and_without_content() -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    environment["PYTHONPATH"] = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", SPANS], capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert "canary" not in done.stdout
    answered, refused = told["spans"]
    assert [answered["name"], refused["name"]] == ["chat small"] * 2
    assert answered["kind"] == "SpanKind.CLIENT"
    for name, value in {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "small",
        "gen_ai.response.model": "replay",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "server.address": "127.0.0.1",
    }.items():
        assert answered["attributes"][name] == value
    assert refused["attributes"]["error.type"] == "model_unavailable"
    for name in ("gen_ai.client.operation.duration", "gen_ai.client.token.usage"):
        assert name in done.stdout


@promise(
    "llm:key",
    "The provider's key is in no log, also at the lowest level, and in no error, representation or span.",
    source="DESIGN D10",
)
@pytest.mark.parametrize(
    ("provider", "model"), [("openai", "small"), ("anthropic", "claude-haiku-4-5"), ("google", "gemini-2.5-flash")]
)
def test_the_key_is_in_no_log_even_at_the_lowest_level(
    provider: str, model: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        outcome = Outcome([Reply(status=401, body=REFUSED_KEY)], provider=provider, model=model)
    failed(outcome)
    assert any(KEY in value for value in outcome.requests[0].headers.values())
    assert caplog.records
    assert KEY not in caplog.text
