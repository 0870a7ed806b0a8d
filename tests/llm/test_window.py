"""What a model reads at once: asked for, kept to, and found out when a server says that it was too much."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from llm.replay_server import Asked, ReplayServer, Reply, completion
from promises import promise
from reasoningbank.errors import ConfigurationError, ContextExceeded, MalformedAnswer
from reasoningbank.llm import open_model
from reasoningbank.llm.budget import TokenBudget
from reasoningbank.llm.provider import LOCAL_SECONDS, ProviderModel
from reasoningbank.llm.token_count import count_tokens
from reasoningbank.llm.window import (
    LearnedWindow,
    context_in_error,
    is_overflow,
    learned_window,
    told_context,
    was_truncated,
)
from reasoningbank.sessions.judge import judge
from reasoningbank.sessions.lessons import extract
from reasoningbank.types.ports import MIN_CONTEXT, Completion, Prompt
from reasoningbank.types.session import Judgement, Step, Trajectory

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OPINION = json.dumps(
    {
        "reason": "Step 0 shows it.",
        "completeness": "met",
        "grounding": "met",
        "right_target": "met",
        "verdict": "success",
        "probability": 0.9,
    }
)
NOTHING = '{"strategies": []}'
LONG = Trajectory(
    task="Change the fare of the booking",
    steps=tuple(
        Step(
            thought=f"I look at page {number}", action="get_page", tool="get_page", observation="The fare is low. " * 60
        )
        for number in range(60)
    ),
    final_answer="The fare was changed.",
)
SUCCESS = Judgement(verdict="success", probability=0.9, rationale="It worked.", judge="user", at=NOW)
OVERFLOWS = {
    "llama.cpp": '{"error":{"code":400,"message":"the request exceeds the available context size (4096 tokens), try '
    'increasing it","type":"exceed_context_size_error","n_prompt_tokens":5012,"n_ctx":4096}}',
    "llama.cpp, older": '{"error":{"message":"the request exceeds the available context size. try '
    "increasing the context "
    'size or enable context shift"}}',
    "llama.cpp, cache": '{"error":{"message":"failed to find free space in the KV cache, retrying with '
    'smaller batch"}}',
    "Ollama": '{"error":{"message":"the input length exceeds the context length","type":"api_error"}}',
    "Ollama, max": '{"error":"prompt too long; exceeded max context length by 812 tokens"}',
    "LM Studio": '{"error":"Trying to keep the first 5342 tokens when context the overflows. However, the '
    "model is loaded "
    'with context length of only 4096 tokens, which is not enough."}',
    "LM Studio, keep": '{"error":"The number of tokens to keep from the initial prompt is greater than the '
    'context length"}',
    "LM Studio, end": '{"error":"Reached context length of 4096 tokens with this model, but this model does '
    "not currently "
    'support mid-generation context overflow"}',
    "vLLM": '{"object":"error","message":"This model\'s maximum context length is 4096 tokens. However, you '
    "requested 5400 "
    'tokens (4200 in the messages, 1200 in the completion)."}',
    "vLLM, model length": '{"message":"The decoder prompt (length 6012) is longer than the maximum model '
    'length of 4096."}',
    "OpenAI": '{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens.","code":'
    '"context_length_exceeded"}}',
    "Anthropic": '{"error":{"type":"invalid_request_error","message":"prompt is too long: 210042 tokens > '
    '200000 maximum"}}',
    "Anthropic, answer": '{"error":{"message":"input length and `max_tokens` exceed context limit: 199000 + '
    '8192 > 200000"}}',
    "Google": '{"error":{"message":"The input token count (1200000) exceeds the maximum number of tokens allowed '
    '(1048576).","status":"INVALID_ARGUMENT"}}',
    "Mistral": '{"message":"Prompt contains 40012 tokens, too large for model with 32768 maximum context length"}',
    "Groq": '{"error":{"message":"Please reduce the length of the messages or completion.","code":'
    '"context_length_exceeded"}}',
    "TGI": '{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"}',
    "Bedrock": '{"message":"Input is too long for requested model."}',
    "SGLang": "The input (6170 tokens) is longer than the model's context length (4096 tokens).",
    "SGLang, pool": "Input length (7001 tokens) exceeds the maximum allowed length (5368 tokens).",
    "LM Studio, n_keep": '{"error":"Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"}',
    "vLLM, scheduler": "Input prompt (3524 tokens) is too long and exceeds limit of 1000",
    "vLLM, passed": "You passed 9001 input tokens. However, the model's context length is only 8192 tokens.",
    "OpenRouter": "This endpoint's maximum context length is 32768 tokens. However, you requested about 42832.",
    "Groq, minute": "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7029.",
    "Cohere": "too many tokens: size limit exceeded by 500 tokens.",
    "Fireworks": "The prompt is too long: 5000, model maximum context length: 4096",
    "xAI": "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    "Bedrock, Titan": "Too many input tokens. Max input tokens: 8192, request input token count: 9000",
    "Bedrock, Nova": "Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
    "Anthropic, bytes": '{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
    "Cerebras": "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
    "llama-cpp-python": "Requested tokens (5000) exceed context window of 4096",
    "Zhipu": "Prompt exceeds max length",
    "Moonshot": "Your request exceeded model token limit: 131072",
    "DashScope": "Range of input length should be [1, 30720]",
    "MiniMax": "invalid params, context window exceeds limit",
    "Vertex": "the input token count is 40000 but model only supports up to 32768",
    "LiteLLM": '{"error":{"message":"litellm.ContextWindowExceededError: the request failed","code":"400"}}',
    "LiteLLM, code": '{"error":{"type":"context_window_exceeded","message":"failed"}}',
    "OpenAI, window": '{"error":{"message":"Your input exceeds the context window of this model."}}',
    "DeepSeek": "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens.",
    "Together": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 9000 `inputs` "
    "tokens and 1400 `max_new_tokens`",
    "TGI, inputs": "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
    "SGLang, total": "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested "
    "a total of 33000 tokens",
    "llamafile": '{"error":{"message":"Input prompt is too big compared to KV size. Please try increasing KV size."}}',
    "GPT4All": "ERROR: The prompt size exceeds the context window size and cannot be processed.",
    "RKLLama": "prompt gather than max context (prompt: 1299 tokens, max context: 1020)",
    "Bedrock, limit": "The request payload size has exceed context limit.",
    "Bedrock, schema": "Malformed input request: #/prompt: expected maxLength: 8000, actual: 9000",
    "Vertex, unnamed": "The input token count exceeds the maximum number of tokens allowed 1048576.",
    "Cloudflare": "5021: The estimated number of input and maximum output tokens (8810) exceeded this model context "
    "window limit (8192)",
    "GitHub Models": '{"error":{"code":"tokens_limit_reached","message":"Request body too large for m. Max size: 8000 '
    'tokens."}}',
    "Copilot": '{"error":{"message":"prompt token count of 130000 exceeds the limit of 128000","code":'
    '"model_max_prompt_tokens_exceeded"}}',
    "watsonx": "the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model",
    "Ark": "InvalidParameter: Total tokens of image and text exceed max message tokens.",
    "SiliconFlow": "length of prompt_tokens (40000) must be less than max_seq_len (32768).",
    "DS4": "Prompt has 9,000 tokens, but the configured context size is 8,192 tokens",
    "any": "the conversation exceeds what fits into the window",
    "Zhipu, Chinese": '{"error":{"code":"1261","message":"Prompt 超长"}}',
    "DeepSpeed": "The prompt length 5000 is greater than max_seq_len 4096",
    "OpenAI, string": "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576.",
    "llama.cpp, shift": '{"error":{"code":500,"message":"context shift is disabled","type":"server_error"}}',
    "llama.cpp, slots": '{"error":{"message":"failed to find a memory slot for batch of size 512"}}',
    "llama.cpp, full": '{"error":{"message":"the KV cache is full - try increasing it via the context size"}}',
    "MLC": "Request prompt has 5000 tokens in total, larger than the model input length limit 4096.",
    "MLC, capacity": "Request prompt has 9000 tokens in total, larger than the model capacity 8192.",
    "any, capacity": "The input of 9,000 tokens exceeds the model's capacity of 8,192 tokens.",
}
SIZES = {"llama.cpp": 4096, "LM Studio": 4096, "LM Studio, end": 4096, "vLLM": 4096, "vLLM, model length": 4096}
SIZES |= {"OpenAI": 272_000, "Anthropic": 200_000, "Anthropic, answer": 200_000, "Google": 1_048_576, "TGI": 4096}
SIZES |= {"Mistral": 32_768, "SGLang": 4096, "SGLang, pool": 5368, "LM Studio, n_keep": 7424, "vLLM, scheduler": 1000}
SIZES |= {"vLLM, passed": 8192, "OpenRouter": 32_768, "Fireworks": 4096, "xAI": 131_072, "Bedrock, Titan": 8192}
SIZES |= {"Cerebras": 8192, "llama-cpp-python": 4096, "Moonshot": 131_072, "DashScope": 30_720, "Vertex": 32_768}
SIZES |= {"MLC": 4096, "DeepSeek": 65_536, "Together": 4097, "TGI, inputs": 4095, "SGLang, total": 32_768}
SIZES |= {"RKLLama": 1020, "Vertex, unnamed": 1_048_576, "Cloudflare": 8192, "Copilot": 128_000, "watsonx": 8192}
SIZES |= {"SiliconFlow": 32_768, "DS4": 8192, "DeepSpeed": 4096, "MLC, capacity": 8192, "any, capacity": 8192}


@promise(
    "llm:overflow-words",
    "A request that is too long is recognised in the words of llama.cpp, Ollama, LM Studio, vLLM, OpenAI, Anthropic, "
    "Google and others, with the context where it is named; other errors are not taken for it.",
    source="issue Any model (context)",
)
@pytest.mark.parametrize("name", OVERFLOWS)
def test_servers_words_for_too_long_are_known(name: str) -> None:
    assert is_overflow(OVERFLOWS[name])
    assert context_in_error(OVERFLOWS[name]) == SIZES.get(name, 0)


@promise("llm:overflow-words")
@pytest.mark.parametrize(
    "said",
    [
        "Rate limit reached: 30000 tokens per minute",
        "response_format is not supported",
        "The model `x` does not exist",
        "max_tokens must be at least 1",
        "Invalid context: no such session",
        "Loading model",
        "Rate limit reached: Limit 30000, Used 29000, Requested 2000. Please try again in 2s.",
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
        "Resource has been exhausted (e.g. check quota).",
        "timeout exceeded while awaiting headers",
        "You exceeded your current token limit per day",
        "Rate limit exceeded for this window, try again in 20 s",
        "Post /v1/chat/completions: deadline exceeded: context deadline exceeded",
        "max_tokens exceeds the model's output token limit of 4096",
        "You exceeded your current quota, please check your plan",
        "temperature exceeds the maximum of 2",
        "Invalid 'user': string too long. Expected a string with maximum length 64, but got one with length 90.",
        "string too long: at most 64 characters for user",
        "The model is at capacity; try again later",
        "The rate of requests exceeds the model's capacity at the moment",
    ],
)
def test_other_errors_are_no_overflow(said: str) -> None:
    assert not is_overflow(said)


def fitting(asked: Asked, answer: str) -> str:
    """The answer; where it is an opinion and a distiller asks, no strategy."""
    return NOTHING if answer == OPINION and "completeness" not in asked.text else answer


class Window:
    """A server whose context is limited, and which says so in some way.

    Args:
        size: Tokens that it reads.
        factor: Its tokens for one of ours.
        words: How it refuses; empty cuts silently.
    """

    def __init__(
        self, size: int, *, factor: float = 1.0, words: str = OVERFLOWS["Ollama"], answer: str = OPINION
    ) -> None:
        self.size = size
        self.factor = factor
        self.words = words
        self.answer = answer
        self.counted: list[int] = []

    def __call__(self, asked: Asked) -> Reply:
        messages = asked.body["messages"]
        assert isinstance(messages, list)
        tokens = int(sum(count_tokens(str(each["content"])) for each in messages) * self.factor)
        self.counted.append(tokens)
        if tokens > self.size and self.words:
            return Reply(status=400, body=self.words)
        return completion(fitting(asked, self.answer), input_tokens=min(tokens, self.size), output_tokens=60)


@promise(
    "llm:fits",
    "A digest gets what the context leaves beside instructions, schema and answer, with 15 % in reserve; "
    "the context is "
    "set, or asked of the server in the ways of llama.cpp, vLLM, LM Studio and Ollama.",
    source="issue Any model (context)",
)
@pytest.mark.parametrize("size", [4_096, 8_192, 16_384])
def test_a_digest_fits_into_a_context_that_the_server_says(size: int) -> None:
    props = {"/props": json.dumps({"default_generation_settings": {"n_ctx": size}})}
    listed = {"/v1/models": json.dumps({"data": [{"id": "other"}, {"id": "m", "max_model_len": size}]})}
    shown = {"/api/v0/models": json.dumps({"data": [{"id": "m", "loaded_context_length": size}]})}
    loaded = {"/api/ps": json.dumps({"models": [{"name": "m:latest", "context_length": size}]})}
    for facts in (props, listed, shown, loaded):
        window = Window(size, factor=1.1)
        with ReplayServer(window, facts=facts) as server:
            assert told_context(server.url, "m") == size
            model = ProviderModel(provider="openai", model="m", url=server.url)
            assert judge(LONG, model, at=NOW).verdict == "success"
            (request,) = server.requests
        assert len(window.counted) == 1
        assert window.counted[0] < size - int(str(request.body["max_tokens"]))
        short = "Check three things; each is" in request.text
        assert short is (size <= 8_192)


@promise("llm:fits")
def test_a_context_that_is_set_is_not_asked_for(tmp_path: Path) -> None:
    window = Window(4_096)
    with ReplayServer(window) as server:
        model = open_model("openai:m", url=server.url, context=4_096, home=tmp_path)
        assert model is not None
        assert judge(LONG, model, at=NOW).verdict == "success"
    assert max(window.counted) < 4_096
    with pytest.raises(ConfigurationError, match="context of 12"):
        open_model("openai:m", context=12, home=tmp_path)


@promise(
    "llm:halved",
    "When a server says that a prompt is too long, half of the digest is sent, and half again; after that no prompt "
    "is longer than the one before, also when an answer is asked for again, and when nothing fits the session waits. "
    "Where nothing was refused and the context holds it, the second question has the whole session.",
    source="issue Any model (context)",
)
@pytest.mark.parametrize("words", ["Ollama", "LM Studio, keep", "llama.cpp", "vLLM"])
def test_what_is_too_long_is_halved_and_asked_again(words: str) -> None:
    window = Window(2_600, words=OVERFLOWS[words])
    with ReplayServer(window) as server:
        model = ProviderModel(provider="openai", model="m", url=server.url)
        assert judge(LONG, model, at=NOW).verdict == "success"
    assert len(window.counted) > 1
    assert window.counted == sorted(window.counted, reverse=True)
    tiny = Window(300, words=OVERFLOWS[words])
    with ReplayServer(tiny) as server:
        model = ProviderModel(provider="openai", model="m", url=server.url)
        judgement = judge(LONG, model, at=NOW)
        assert (judgement.verdict, judgement.probability) == ("unknown", 0.5)
        assert "cannot read that much" in judgement.rationale
        with pytest.raises(ContextExceeded) as caught:
            judge(LONG, model, at=NOW, patient=True)
    assert "longer context" in caught.value.hint
    assert tiny.counted[:3] == sorted(tiny.counted[:3], reverse=True)


@promise("llm:halved")
@pytest.mark.parametrize("size", [0, 2_600, 4_096])
@pytest.mark.parametrize("steps", [1, 60])
def test_a_question_after_an_unreadable_answer_is_no_longer_than_the_one_that_fitted(size: int, steps: int) -> None:
    window = Window(size or 1_000_000, words=OVERFLOWS["Ollama"], answer="I think it went well.")
    facts = {"/props": json.dumps({"n_ctx": size})} if size == 4_096 else {}
    with ReplayServer(window, facts=facts) as server:
        model = ProviderModel(provider="openai", model="m", url=server.url)
        session = replace(LONG, steps=LONG.steps[:steps])
        assert judge(session, model, at=NOW).verdict == "unknown"
        judged = len(window.counted)
        with pytest.raises(MalformedAnswer):
            extract(session, SUCCESS, model)
        said = ["could not be used" in request.text for request in server.requests]
    for exchange, corrections in ((window.counted[:judged], said[:judged]), (window.counted[judged:], said[judged:])):
        assert corrections[-2:] == [False, True]
        if size and max(exchange) > size:
            assert exchange == sorted(exchange, reverse=True)
        elif size == 4_096:
            assert exchange[-1] < size - 1_400 or exchange == sorted(exchange, reverse=True)


@promise("llm:halved")
@pytest.mark.parametrize("size", [0, 16_384])
def test_a_second_question_shows_the_whole_session_where_nothing_forbids_it(size: int) -> None:
    facts = {"/props": json.dumps({"n_ctx": size})} if size else {}
    with ReplayServer(["I think it went well.", OPINION], facts=facts) as server:
        model = ProviderModel(provider="openai", model="m", url=server.url)
        assert judge(LONG, model, at=NOW).verdict == "success"
        first, second = ([str(each["content"]) for each in messages(request)] for request in server.requests)
    assert first[-1] == second[-1]
    assert "could not be used" in second[0]


def messages(asked: Asked) -> list[dict[str, object]]:
    said = asked.body["messages"]
    assert isinstance(said, list)
    return said


class Counting:
    """A server that counts prompt, template and the longest answer against its context, as vLLM and TGI do.

    Args:
        size: Tokens of its context.
        needs: Tokens that the model writes before its answer is whole.
        words: How it refuses.
        answer: The whole answer.
        factor: Its tokens for one of ours.
    """

    def __init__(
        self, size: int, *, needs: int, words: str, begun: str, answer: str = OPINION, factor: float = 1.0
    ) -> None:
        self.size = size
        self.needs = needs
        self.words = words
        self.begun = begun
        self.answer = answer
        self.factor = factor
        self.totals: list[int] = []

    def __call__(self, asked: Asked) -> Reply:
        prompt = int(sum(count_tokens(str(each["content"])) for each in messages(asked)) * self.factor) + 12
        longest = int(str(asked.body["max_tokens"]))
        self.totals.append(prompt + longest)
        if prompt + longest > self.size:
            return Reply(status=400, body=self.words)
        if longest < self.needs:
            cut = completion(self.begun, input_tokens=prompt, output_tokens=longest)
            return replace(cut, body=cut.body.replace('"stop"', '"length"'))
        return completion(fitting(asked, self.answer), input_tokens=prompt, output_tokens=self.needs)


@promise(
    "llm:answer-room",
    "A longer answer after one that was cut is asked for only as far as the context holds it with the reserve, and the "
    "material makes room for it; a refusal takes it back before it halves the material, and is not repeated.",
    source="issue Any model (length)",
)
@pytest.mark.parametrize("size", [4_096, 8_192])
@pytest.mark.parametrize("begun", ["<think>I look at it", '{"reason": "I'])
@pytest.mark.parametrize("told", ["said", "named", "unnamed"])
def test_longer_answers_fit_into_a_context_that_counts_them(size: int, begun: str, told: str) -> None:
    named = f"This model's maximum context length is {size} tokens. However, you requested more."
    words = json.dumps({"error": {"message": OVERFLOWS["Ollama"] if told == "unnamed" else named}})
    window = Counting(size, needs=700, words=words, begun=begun, factor=1.12)
    facts = {"/v1/models": json.dumps({"data": [{"id": "m", "max_model_len": size}]})} if told == "said" else {}
    with ReplayServer(window, facts=facts) as server:
        model = ProviderModel(provider="openai", model="m", url=server.url)
        for _ in range(3):
            assert judge(LONG, model, at=NOW).verdict == "success"
            assert extract(LONG, SUCCESS, model).items == ()
    refused = [total for total in window.totals if total > size]
    assert len(refused) <= (told != "said")


@promise("llm:answer-room")
@pytest.mark.parametrize("length", [1, 5])
def test_a_longer_answer_that_is_refused_takes_no_step_from_a_short_session(length: int) -> None:
    steps = tuple(replace(step, observation=f"Fare {number}. " * 20) for number, step in enumerate(LONG.steps[:length]))
    words = json.dumps({"error": {"message": "This model's maximum context length is 4096 tokens."}})
    window = Counting(4_096, needs=700, words=words, begun="<think>well", factor=1.12)
    with ReplayServer(window) as server:
        model = ProviderModel(provider="openai", model="m", url=server.url)
        assert judge(replace(LONG, steps=steps), model, at=NOW).verdict == "success"
        sent = [request.text for request in server.requests]
    assert len([total for total in window.totals if total > window.size]) == 1
    for number in range(length):
        assert sent[0].count(f"Fare {number}.") == sent[-1].count(f"Fare {number}.") == 20


@promise("llm:reading")
@pytest.mark.parametrize("draft", ["<think>maybe {} hmm, step 2", "<think>{}", "<think>{}</think>"])
def test_a_draft_among_thoughts_is_no_answer_on_the_wire_either(draft: str) -> None:
    failed = json.dumps({**json.loads(OPINION), "completeness": "not met", "verdict": "failure", "probability": 0.1})
    answers = [completion(draft.format(OPINION), input_tokens=6_001), completion(failed, input_tokens=6_301)]
    with ReplayServer(answers) as server:
        assert judge(LONG, ProviderModel(provider="openai", model="m", url=server.url), at=NOW).verdict == "failure"
        assert len(server.requests) == 2


@promise("llm:halved")
def test_a_second_question_that_is_too_long_is_halved_with_the_first() -> None:
    refused = Reply(status=400, body=OVERFLOWS["Ollama"])
    with ReplayServer(["?", refused, "?", OPINION]) as server:
        assert judge(LONG, ProviderModel(provider="openai", model="m", url=server.url), at=NOW).verdict == "success"
        lengths = [len(request.text) for request in server.requests]
    assert lengths[1:] == sorted(lengths[1:], reverse=True)
    assert lengths[2] < 0.7 * lengths[0]


@promise("llm:answer-room")
def test_prompt_and_answer_shrink_together_at_each_refusal() -> None:
    words = json.dumps({"error": {"message": "This model's maximum context length is 4096 tokens."}})
    window = Counting(4_096, needs=700, words=words, begun="<think>well", factor=1.5)
    with ReplayServer(window) as server:
        model = ProviderModel(provider="openai", model="m", url=server.url)
        assert judge(LONG, model, at=NOW).verdict == "success"
        refused = [total for total in window.totals if total > window.size]
        assert refused == sorted(set(refused), reverse=True)
        assert window.totals[-1] < refused[-1]


@promise(
    "llm:refused-format",
    "A format that a server refused is not asked for again by this process, and after a refusal the schema in words "
    "takes its room from the material.",
    source="issue Any model (answers)",
)
def test_a_refused_format_is_remembered_and_its_words_take_room() -> None:
    counted: list[tuple[int, str]] = []
    read: list[int] = []

    def answer(asked: Asked) -> Reply:
        tokens = sum(count_tokens(str(each["content"])) for each in messages(asked))
        kind = asked.body.get("response_format")
        kind = str(kind["type"]) if isinstance(kind, dict) else ""
        counted.append((tokens, kind))
        if tokens > 1_200:
            return Reply(status=400, body=OVERFLOWS["Ollama"])
        if kind == "json_schema":
            return Reply(status=400, body='{"error":{"message":"response_format json_schema is not supported"}}')
        read.append(tokens)
        return completion("well" if len(read) == 1 else OPINION, input_tokens=tokens)

    with ReplayServer(answer) as server:
        model = ProviderModel(provider="openai", model="m", url=server.url)
        judge(LONG, model, at=NOW)
        again = ProviderModel(provider="openai", model="m", url=server.url)
        judge(LONG, again, at=NOW)
    formats = [kind for _, kind in counted]
    first = formats.index("json_object")
    assert formats == ["json_schema"] * first + ["json_object"] * (len(formats) - first)
    sizes = [tokens for tokens, _ in counted]
    assert sizes[: first + 2] == sorted(sizes[: first + 2], reverse=True)
    assert len([size for size in sizes if size <= 1_200]) >= 4
    assert all(size < sizes[first - 2] for size in sizes[first:])


@promise("llm:halved")
@pytest.mark.parametrize(("size", "steps"), [(3_000, 60), (2_600, 60), (1_700, 60), (1_500, 6)])
def test_no_prompt_grows_where_a_format_is_refused_after_the_length(size: int, steps: int) -> None:
    window = Window(size, words='{"error":{"message":"context shift is disabled"}}')

    def answer(asked: Asked) -> Reply:
        reply = window(asked)
        if reply.status == 400:
            return replace(reply, status=500)
        kind = asked.body.get("response_format")
        known = isinstance(kind, dict) and kind["type"] != "json_object"
        return Reply(status=400, body='{"error":{"message":"response_format: no json_schema"}}') if known else reply

    with ReplayServer(answer) as server:
        model = ProviderModel(provider="openai", model="m", url=server.url)
        assert judge(replace(LONG, steps=LONG.steps[:steps]), model, at=NOW).verdict == "success"
    assert window.counted == sorted(window.counted, reverse=True)
    assert len(window.counted) > 2


@promise(
    "llm:learned-window",
    "What a refusal teaches about a model's context holds for every later prompt of the process, also of another "
    "session; a proxy that takes no more bytes and a limit of tokens per minute teach nothing.",
    source="issue Any model (context)",
)
@pytest.mark.parametrize("words", ["Ollama", "vLLM", ""])
def test_what_a_refusal_has_taught_is_not_asked_again(words: str) -> None:
    window = Window(4_096, words=OVERFLOWS[words] if words else "")
    with ReplayServer(window) as server:
        for _ in range(3):
            model = ProviderModel(provider="openai", model="m", url=server.url)
            assert judge(LONG, model, at=NOW).verdict == "success"
            assert extract(LONG, SUCCESS, model).items == ()
        assert 2_048 <= model.context() <= 6_000
        other = ProviderModel(provider="openai", model="other", url=server.url)
        assert other.context() == 0
    assert [tokens > 4_096 for tokens in window.counted] == [True, *[False] * (len(window.counted) - 1)]
    assert len(window.counted) == 7


@promise("llm:learned-window")
@pytest.mark.parametrize(
    "refusal",
    [
        Reply(status=413, body="<html>Request Entity Too Large</html>"),
        Reply(status=400, body=OVERFLOWS["Groq, minute"]),
    ],
)
def test_the_bytes_of_a_proxy_and_the_tokens_of_a_minute_teach_nothing(refusal: Reply) -> None:
    with ReplayServer([refusal, OPINION, OPINION]) as server:
        model = ProviderModel(provider="openai", model="m", url=server.url)
        assert [judge(LONG, model, at=NOW).verdict for _ in range(2)] == ["success", "success"]
        assert model.context() == 0
        first, second, third = (len(request.text) for request in server.requests)
    assert second < 0.7 * first
    assert third == first


@promise("llm:learned-window")
def test_a_number_that_a_server_names_corrects_what_was_set_and_a_tokenizer_does_not() -> None:
    window = LearnedWindow()
    assert (window.context(0), window.context(8_192)) == (0, 8_192)
    window.refused(7_000)
    assert (window.context(0), window.context(8_192), window.context(32_768)) == (3_500, 8_192, 3_500)
    window.read(5_000)
    window.read(9_000)
    assert window.context(0) == 5_000
    window.refused(4_500)
    assert window.context(0) == 2_250
    window.refused(100)
    assert window.context(0) == MIN_CONTEXT
    window.refused(6_000, 4_096)
    assert (window.context(0), window.context(32_768), window.context(2_500)) == (4_096, 4_096, 2_500)


@promise(
    "llm:truncated",
    "An answer to a prompt of which the server read far fewer tokens than were sent gives no verdict; half "
    "of it is sent.",
    source="issue Any model (context)",
)
def test_a_server_that_cuts_in_silence_gives_no_verdict() -> None:
    window = Window(2_600, words="")
    with ReplayServer(window) as server:
        model = ProviderModel(provider="openai", model="m", url=server.url)
        assert judge(LONG, model, at=NOW).verdict == "success"
    assert window.counted[0] > 2_600 > window.counted[-1]
    deaf = Window(100, words="")
    with ReplayServer(deaf) as server:
        judgement = judge(LONG, ProviderModel(provider="openai", model="m", url=server.url), at=NOW)
    assert judgement.verdict == "unknown"
    assert "cuts what is longer" in judgement.rationale
    assert not was_truncated("word " * 1_000, 1_000, 950)
    assert was_truncated("word " * 1_000, 1_000, 700)
    assert not was_truncated("记忆" * 1_000, 2_000, 1_100)
    assert not was_truncated("word", 1_000, 0)


def judged_whole(window: Window, steps: Iterable[int]) -> list[bool]:
    """Whether each of some sessions was judged by a prompt that the server had read whole."""
    whole = []
    with ReplayServer(window) as server:
        for number in steps:
            model = ProviderModel(provider="openai", model="m", url=server.url)
            assert judge(replace(LONG, steps=LONG.steps[:number]), model, at=NOW).verdict == "success"
            whole.append(window.counted[-1] <= window.size)
    return whole


@promise(
    "llm:too-large-prompt",
    "HTTP 413 teaches as 400 does where its words speak of the prompt, the context or tokens; bytes, and the tokens of "
    "a minute, teach nothing.",
    source="issue Any model (context)",
)
@pytest.mark.parametrize(
    ("said", "taught"),
    [
        ("Prompt too long", True),
        ("This is too long for the context window.", True),
        ("maximum context length is 4096 tokens", True),
        ("Request Entity Too Large", False),
        ("Request too large", False),
        ("Request too large: limit of 6000 tokens per minute (TPM)", False),
    ],
)
def test_a_413_about_the_prompt_teaches(said: str, taught: bool) -> None:
    with ReplayServer([Reply(status=413, body=json.dumps({"error": {"message": said}})), OPINION]) as server:
        judge(LONG, ProviderModel(provider="openai", model="m", url=server.url), at=NOW)
        assert learned_window(server.url, "m").overflowed is taught


@promise(
    "llm:cut-number",
    "The number of tokens to which a server cuts prompts is remembered for its URL and model: known from one cut, from "
    "prompts of different lengths that are read as the same number, or supposed where it is round; no later prompt is "
    "longer.",
    source="issue Any model (context)",
)
@pytest.mark.parametrize("factor", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("size", [2_048, 5_000])
def test_no_verdict_is_taken_of_a_prompt_that_was_cut_to_a_known_number(size: int, factor: float) -> None:
    window = Window(size, factor=factor, words="")
    assert all(judged_whole(window, (60, 30, 45, 20, 60, 12)))
    asked = len(window.counted)
    assert all(judged_whole(Window(size, factor=factor, words=""), (5, 60, 7, 60)))
    assert asked <= 12


@promise("llm:cut-number")
@pytest.mark.parametrize("factor", [1.0, 1.5, 2.0])
def test_prompts_of_different_lengths_that_count_the_same_were_cut(factor: float) -> None:
    window = Window(int(3_001 * factor), factor=factor, words="")
    whole = judged_whole(window, (24, 26, 60, 22, 60))
    assert all(whole[2:])
    assert window.counted[-1] <= window.size


@promise("llm:cut-number")
def test_a_number_below_what_was_read_whole_is_no_cut() -> None:
    window = LearnedWindow()
    assert not window.is_cut(4_000, 4_400)
    assert not window.is_cut(3_000, 3_100)
    assert not window.is_cut(3_600, 3_100)
    assert not window.is_cut(3_950, 4_400)
    assert not window.cut(4_000, 500)
    assert window.context(0) == 0
    assert not window.is_round(4_096)
    assert window.is_round(5_000)
    assert window.is_cut(5_000, 4_400)
    assert window.cut(5_000, 4_400)
    assert window.context(0) == 4_400
    assert window.is_cut(2_000, 4_500)
    assert not window.is_cut(4_000, 4_399)


@promise(
    "llm:patience",
    "A server on this machine has 600 seconds for an answer, others a minute and what the prompt needs; a time that is "
    "set counts as it is.",
    source="issue Any model (time)",
)
def test_time_grows_with_the_prompt_and_a_local_server_has_ten_minutes() -> None:
    asked = Prompt(name="judge", version="1", instructions="Judge it.", material="word " * 6_000, answer_tokens=400)
    short = Prompt(name="judge", version="1", instructions="Judge it.", material="", answer_tokens=400)

    def seconds(url: str, prompt: Prompt, timeout: float = 0.0) -> float:
        model = ProviderModel(provider="openai", model="m", url=url, timeout=timeout)
        return model._question(prompt, {}, 0.0, 400, "native").timeout

    assert seconds("http://127.0.0.1:1/v1", asked) == seconds("http://localhost:1/v1", short) == LOCAL_SECONDS
    assert 60 < seconds("https://example.org/v1", short) < seconds("https://example.org/v1", asked) < LOCAL_SECONDS
    assert seconds("http://127.0.0.1:1/v1", asked, 7.0) == 7.0


@promise(
    "llm:answer-length",
    "Each prompt says how long its answer may be, judges 400 tokens and distillers 1,400; an answer that was cut keeps "
    "its whole items, and one of which nothing is left is asked for again at the model's full length.",
    source="issue Any model (length)",
)
def test_answers_have_their_own_length_and_cut_ones_keep_whole_items() -> None:
    item = {
        "title": "Read the fare rules",
        "description": "When a fare is changed",
        "content": "Look first, then change.",
    }
    text = json.dumps({"strategies": [{**item, "steps": [1], "tags": []}, item]})

    def cut(answer: str, read: int = 9_001) -> Reply:
        return Reply(body=completion(answer, input_tokens=read).body.replace('"stop"', '"length"'))

    with ReplayServer([cut(text[:-20]), OPINION, cut("<think>well", 8_001), OPINION, OPINION]) as server:
        model = ProviderModel(provider="openai", model="m", url=server.url)
        assert len(extract(LONG, SUCCESS, model).items) == 1
        assert judge(LONG, model, at=NOW).verdict == "success"
        assert judge(LONG, model, at=NOW).verdict == "success"
        assert judge(LONG, model, at=NOW).verdict == "success"
        longest = [request.body["max_tokens"] for request in server.requests]
    assert longest == [1_400, 400, 400, 8_192, 8_192]
    assert Completion(text="", model="m").cut is False
    with ReplayServer([cut("{"), cut("{", 9_301)]) as server, pytest.raises(MalformedAnswer, match="cut off"):
        extract(LONG, SUCCESS, ProviderModel(provider="openai", model="m", url=server.url))


@promise("llm:answer-length")
def test_an_answer_that_its_server_cannot_make_out_is_asked_for_again() -> None:
    lost = Reply(
        status=500,
        body='{"error":{"code":500,"message":"The model produced output that does not match the expected peg-native '
        'format","type":"server_error"}}',
    )
    with ReplayServer([lost, OPINION]) as server:
        assert judge(LONG, ProviderModel(provider="openai", model="m", url=server.url), at=NOW).verdict == "success"
        assert [request.body["max_tokens"] for request in server.requests] == [400, 8_192]


@promise("llm:fits")
def test_a_server_that_loads_its_model_late_is_asked_for_the_context_again() -> None:
    window = Window(4_096, words="")

    def answer(asked: Asked) -> Reply:
        server.facts["/api/ps"] = json.dumps({"models": [{"name": "m", "context_length": 4_096}]})
        return window(asked)

    with ReplayServer(answer) as server:
        model = ProviderModel(provider="openai", model="m", url=server.url)
        assert [judge(LONG, model, at=NOW).verdict for _ in range(2)] == ["success", "success"]
        assert model.context() == 4_096
    assert window.counted[0] > 4_096 > window.counted[-1]


@promise("llm:halved")
def test_what_is_too_large_for_a_proxy_is_halved_too() -> None:
    with ReplayServer([Reply(status=413, body="<html>Request Entity Too Large</html>"), OPINION]) as server:
        assert judge(LONG, ProviderModel(provider="openai", model="m", url=server.url), at=NOW).verdict == "success"
        first, second = (len(request.text) for request in server.requests)
    assert second < 0.7 * first


@promise("llm:budget")
def test_what_a_whole_exchange_cost_is_booked_to_the_token(tmp_path: Path) -> None:
    budget = TokenBudget(tmp_path / "ledger", 1_000_000)
    cut = Reply(body=completion("{", input_tokens=2_700, output_tokens=400).body.replace('"stop"', '"length"'))
    replies = [
        Reply(status=429, body="{}", headers={"retry-after": "0"}),
        Reply(status=400, body=OVERFLOWS["vLLM"]),
        Reply(status=503, body=""),
        cut,
        completion(OPINION, input_tokens=1_600, output_tokens=60),
    ]
    with ReplayServer(replies) as server:
        model = ProviderModel(provider="openai", model="m", url=server.url, budget=budget, sleep=lambda _: None)
        assert judge(LONG, model, at=NOW).verdict == "success"
        assert len(server.requests) == len(replies)
    assert budget.spent() == 2_700 + 400 + 1_600 + 60


@promise(
    "llm:reserved",
    "Before a call no more is reserved than what other tokenizers may count of it, with the longest answer; a session "
    "of 6,000 tokens is judged within a budget of 20,000.",
    source="issue Any model (budget)",
)
def test_a_call_is_made_where_its_reservation_fits_the_day(tmp_path: Path) -> None:
    budget = TokenBudget(tmp_path / "ledger", 20_000)
    held: list[int] = []

    def answer(asked: Asked) -> Reply:
        held.append(budget.spent())
        tokens = sum(count_tokens(str(each["content"])) for each in messages(asked))
        return completion(OPINION, input_tokens=tokens, output_tokens=60)

    with ReplayServer(answer) as server:
        model = ProviderModel(provider="openai", model="m", url=server.url, budget=budget)
        assert judge(LONG, model, at=NOW).verdict == "success"
    assert 1.5 * budget.spent() < held[0] < 2.2 * budget.spent()
