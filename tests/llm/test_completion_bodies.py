"""Bodies of completions in every shape that servers send: read, or a clear error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from llm.replay_server import ReplayServer, Reply, completion
from promises import promise
from reasoningbank.errors import ContextExceeded, ModelUnavailable
from reasoningbank.llm.budget import TokenBudget
from reasoningbank.llm.provider import ProviderModel
from reasoningbank.llm.token_count import count_tokens
from reasoningbank.types.ports import Completion, Prompt

PROMPT = Prompt(name="judge", version="1-ab", instructions="Judge it.", material="A session.")
SCHEMA: dict[str, object] = {
    "title": "Verdict",
    "type": "object",
    "properties": {"verdict": {"type": "string"}},
    "required": ["verdict"],
}
ANSWER = '{"verdict": "success"}'


def asked(body: object, budget: TokenBudget | None = None) -> Completion:
    """What a model answers whose server sends this body."""
    with ReplayServer(lambda _: Reply(body=json.dumps(body))) as server:
        model = ProviderModel(provider="openai", model="small", url=server.url, budget=budget)
        return model.complete(PROMPT, SCHEMA)


@promise("llm:usage")
@pytest.mark.parametrize(
    ("usage", "read", "written"),
    [
        ({"prompt_tokens": 5000}, 5000, 0),
        ({"completion_tokens": 500}, 0, 500),
        ({"output_tokens": "500"}, 0, 500),
        ({"prompt_tokens": 70.0, "completion_tokens": 20.0}, 70, 20),
    ],
)
def test_what_is_reported_is_booked_and_only_the_rest_counted(
    usage: object, read: int, written: int, tmp_path: Path
) -> None:
    body = {**json.loads(completion(ANSWER).body), "usage": usage}
    budget = TokenBudget(tmp_path / "ledger", 100_000)
    answer = asked(body, budget)
    assert (answer.input_tokens, answer.output_tokens) == (read, written)
    sent = count_tokens(f"{PROMPT.instructions}\n{PROMPT.material}")
    assert budget.spent() == (read or sent) + (written or count_tokens(ANSWER))


CALL = {"id": "1", "type": "function", "function": {"name": "answer", "arguments": ANSWER}}
PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "{hm"}]}, {"type": "text", "text": ANSWER}]


@promise(
    "llm:body-shapes",
    "An answer is read from parts of text without the thoughts among them, from the arguments of a call and from a "
    "JSON object; any other body is a clear error, and no body ends in a TypeError.",
    source="issue Any model (answers)",
)
@pytest.mark.parametrize(
    "message",
    [
        {"content": PARTS},
        {"content": [{"type": "text", "text": ANSWER[:4]}, {"type": "text", "text": ANSWER[4:]}]},
        {"content": [ANSWER]},
        {"content": {"type": "text", "text": ANSWER}},
        {"content": json.loads(ANSWER)},
        {"content": None, "tool_calls": [CALL]},
        {"content": "", "tool_calls": [{"function": {"name": "answer", "arguments": json.loads(ANSWER)}}]},
        {"content": None, "function_call": {"name": "answer", "arguments": ANSWER}},
        {"content": ANSWER, "annotations": "x", "reasoning_content": ["y"]},
    ],
)
def test_an_answer_is_read_from_every_shape_of_message(message: Mapping[str, object]) -> None:
    body = json.loads(completion(ANSWER).body)
    body["choices"][0] = {"message": {"role": "assistant", **message}}
    answer = asked({**body, "created": None, "id": None})
    assert json.loads(answer.text) == json.loads(ANSWER)


NO_CHOICES: tuple[object, ...] = ([], None, {}, {"0": {}}, "x", [None], [1], [{}], [{"message": 7}])
NO_CALLS: tuple[object, ...] = ("x", [None], [[]], {})


@promise("llm:body-shapes")
@pytest.mark.parametrize(
    "body",
    [
        *({"choices": choices} for choices in NO_CHOICES),
        *({"choices": [{"message": {"content": content}}]} for content in ([], [None, 3, {"type": "text"}], None)),
        *({"choices": [{"message": {"content": None, "tool_calls": calls}}]} for calls in NO_CALLS),
        {"choices": [{"message": {"content": ""}}], "usage": [1]},
        {},
        [],
        "x",
        None,
    ],
)
def test_a_body_without_an_answer_is_a_clear_error(body: object) -> None:
    try:
        assert asked(body).text == ""
    except ModelUnavailable as error:
        assert "something that is not a completion" in error.message


@promise("llm:body-shapes")
def test_an_error_that_comes_as_a_good_answer_is_one() -> None:
    said = {"error": {"message": "This model's maximum context length is 4096 tokens.", "code": 400}}
    with pytest.raises(ContextExceeded) as refused:
        asked(said)
    assert refused.value.context == 4096
