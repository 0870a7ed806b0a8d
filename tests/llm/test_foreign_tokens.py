"""Servers that count other tokens than we do, or name a context that is not theirs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest

from llm.replay_server import Asked, ReplayServer, Reply, completion
from llm.test_window import LONG, NOW, OPINION, SUCCESS, fitting, messages
from promises import promise
from reasoningbank.llm.provider import ProviderModel
from reasoningbank.llm.token_count import count_tokens
from reasoningbank.llm.window import LearnedWindow, prompt_in_error
from reasoningbank.sessions.judge import judge
from reasoningbank.sessions.lessons import extract
from reasoningbank.types.session import Step, Trajectory

CHINESE = Trajectory(
    task="\u66f4\u6539\u9884\u8ba2\u7684\u7968\u4ef7",
    steps=tuple(
        Step(
            action="get_page",
            observation=f"{number} \u7968\u4ef7\u5f88\u4f4e\u800c\u4e14\u6ca1\u6709\u8d39\u7528\u3002" * 60,
        )
        for number in range(60)
    ),
    final_answer="\u7968\u4ef7\u5df2\u66f4\u6539\u3002",
)
CODE = Trajectory(
    task="Mend the parser",
    steps=tuple(
        Step(thought=f"page {number}", action="cat x.py", observation="for(i=0;i<n;i++){a[i]^=b[j]&0xff;}\n" * 40)
        for number in range(60)
    ),
    final_answer="Fixed the parser.",
)
LLAMA = '{{"error": {{"type": "exceed_context_size_error", "n_prompt_tokens": {prompt}, "n_ctx": {size}}}}}'
VLLM = (
    '{{"error": {{"message": "This model\'s maximum context length is {size} tokens. However, you requested {both} '
    'tokens ({prompt} in the messages, {answer} in the completion)."}}}}'
)


def sent(
    size: int,
    count: Callable[[str], float],
    words: str,
    session: Trajectory,
    *,
    both: bool,
    named: int = 0,
    facts: Mapping[str, str] | None = None,
) -> list[tuple[int, int]]:
    """Prompt and longest answer of each request of three sessions by the server's count; no usage with facts."""
    requests: list[tuple[int, int]] = []

    def serve(asked: Asked) -> Reply:
        prompt = int(sum(count(str(each["content"])) for each in messages(asked)))
        answer = int(str(asked.body["max_tokens"]))
        requests.append((prompt, answer))
        if prompt + answer * both > size:
            said = words.format(prompt=prompt, size=named or size, answer=answer, both=prompt + answer)
            return Reply(status=400, body=said)
        return completion(
            fitting(asked, OPINION), input_tokens=0 if facts else prompt, output_tokens=0 if facts else 60
        )

    with ReplayServer(serve, facts=facts) as server:
        for _ in range(3):
            model = ProviderModel(provider="openai", model="m", url=server.url)
            assert judge(session, model, at=NOW).verdict == "success"
            assert extract(session, SUCCESS, model).items == ()
    return requests


@promise(
    "llm:foreign-tokens",
    "Where a refusal or a usage names the server's tokens of a prompt, its ratio to ours is learned for that URL and "
    "model: after one refusal nothing is refused again, also where one token is one byte.",
    source="issue Any model (context)",
)
@pytest.mark.parametrize("size", [4_096, 8_192])
@pytest.mark.parametrize(("words", "both"), [(LLAMA, False), (VLLM, True)])
@pytest.mark.parametrize("count", [lambda text: len(text.encode()), lambda text: 1.3 * len(text)])
def test_a_server_of_other_tokens_refuses_once(
    size: int, words: str, both: bool, count: Callable[[str], float]
) -> None:
    requests = sent(size, count, words, CHINESE, both=both)
    assert [prompt + answer * both > size for prompt, answer in requests] == [True] + [False] * (len(requests) - 1)


@promise("llm:foreign-tokens")
def test_a_refusal_far_below_the_context_that_it_names_teaches_the_smaller_one() -> None:
    requests = sent(3_000, count_tokens, VLLM, LONG, both=False, named=131_072)
    first = next(place for place, (prompt, _) in enumerate(requests) if prompt <= 3_000)
    assert all(prompt <= 3_000 for prompt, _ in requests[first:])
    assert first <= 2


@promise("llm:foreign-tokens")
def test_what_is_saved_of_a_prompt_is_not_given_to_the_answer() -> None:
    listed = {"/v1/models": json.dumps({"data": [{"id": "m", "max_model_len": 2_048}]})}
    words = '{{"error": {{"message": "input is too long"}}}}'
    requests = sent(2_048, lambda text: 2 * count_tokens(text), words, CODE, both=True, facts=listed)
    totals = [prompt + answer for prompt, answer in requests]
    refused = [place for place, total in enumerate(totals) if total > 2_048]
    assert refused
    for place in refused:
        assert totals[place + 1] <= 2_048
        assert requests[place + 1][1] <= requests[place][1]


@promise("llm:foreign-tokens")
def test_the_ratio_is_bounded_and_only_of_long_prompts() -> None:
    window = LearnedWindow()
    for ours, theirs in ((1_000, 700), (1_000, 0), (50, 5_000)):
        window.counted(ours, theirs)
    assert window.in_our_tokens(8_192) == 8_192
    window.counted(1_000, 2_064)
    assert window.in_our_tokens(8_192) == int(8_192 / 1.7)
    window.counted(1_000, 90_000)
    assert window.in_our_tokens(8_192) == int(8_192 / 3.4)


@promise("llm:foreign-tokens")
@pytest.mark.parametrize(
    "said",
    [
        "{'n_prompt_tokens': 5432, 'n_ctx': 4096}",
        "you requested 6,432 tokens (5,432 in the messages, 1,000 in the completion)",
        "the request (5432 tokens) exceeds the available context size (4096 tokens)",
        "your messages resulted in 5432 tokens",
        "your prompt contains at least 5432 input tokens",
        "prompt is too long: 5432 tokens > 4096 maximum",
        "The input token count (5432) exceeds the maximum number of tokens allowed (4096).",
    ],
)
def test_the_tokens_of_a_prompt_are_read_from_a_refusal(said: str) -> None:
    assert prompt_in_error(said) == 5_432
