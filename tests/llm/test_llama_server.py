"""A real llama.cpp server with a model of random weights: the wire, the context, the time and the budget."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from llm.random_model import write_random_model
from opened_banks import OpenBank
from promises import promise
from reasoningbank.errors import ContextExceeded, MalformedAnswer
from reasoningbank.llm.budget import TokenBudget
from reasoningbank.llm.provider import ProviderModel
from reasoningbank.llm.window import told_context
from reasoningbank.sessions.judge import judge
from reasoningbank.sessions.lessons import contrast
from reasoningbank.types.ports import Completion, Prompt
from reasoningbank.types.session import Judgement, Step, Trajectory

xllamacpp = pytest.importorskip(
    "xllamacpp", reason="xllamacpp, which carries llama.cpp's server, cannot be installed on this platform"
)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
CODE = "for (int i=0;i<n;++i){ if(a[i]!=b[i]){ return {.at=i,.left=a[i],.right=b[i]}; } }  // 0x7f3a9c01\n"
PROSE = "The agent read the fare rules of the booking and told the customer what a change would cost. "
CHINESE = "代理先查看预订的票价规则, 然后告诉客户更改的费用。"


def session(text: str, steps: int) -> Trajectory:
    return Trajectory(
        task=f"Change the fare of the booking. {text}",
        steps=tuple(
            Step(thought=f"Page {number}: {text * 2}", action=f"get_page {number}", tool="get", observation=text * 12)
            for number in range(steps)
        ),
        final_answer="The fare was changed.",
    )


SESSIONS = (session(PROSE, 3), session(CODE, 60), session(CHINESE, 60))
TOO_LONG = {4_096: SESSIONS[1:], 8_192: SESSIONS[2:]}
"""Whose first prompt a context does not hold when nobody knows its size."""
FAILED = Judgement(verdict="failure", probability=0.1, rationale="Nothing was changed.", judge="user", at=NOW)


MERGED = (
    "Wait until the lock file of the first installer is gone.",
    "Wait until the first installer's lock file is gone.",
)
TALK = {
    "conv_id": "talk",
    "messages": [
        {"role": "user", "text": "Why did the nightly export fail?"},
        *({"role": "assistant", "text": f"{PROSE * 12}{CHINESE * 12}"} for _ in range(20)),
    ],
}


class Watched:
    """The model, with what each call cost or why it brought nothing."""

    def __init__(self, model: ProviderModel) -> None:
        self._model = model
        self.used = 0
        self.sent: list[int] = []
        self.refused = 0

    @property
    def name(self) -> str:
        return self._model.name

    def context(self) -> int:
        return self._model.context()

    def complete(self, prompt: Prompt, schema: Mapping[str, object], *, temperature: float = 0.0) -> Completion:
        self.sent.append(len(prompt.material))
        try:
            answer = self._model.complete(prompt, schema, temperature=temperature)
        except ContextExceeded:
            self.refused += 1
            raise
        self.used += answer.input_tokens + answer.output_tokens
        return answer


@contextmanager
def served(model: Path, context: int) -> Iterator[str]:
    """The server, as the base of its API."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = xllamacpp.CommonParams()
    settings.model.path = str(model)
    settings.n_ctx, settings.n_parallel, settings.port = context, 1, port
    settings.cpuparams.n_threads = settings.n_threads_http = 2
    settings.warmup = False
    settings.sampling.seed = 1
    server = xllamacpp.Server(settings)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server


@pytest.fixture(scope="module")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_model(tmp_path_factory.mktemp("model") / "random.gguf")


@promise(
    "llm:llama-server",
    "Against a real llama.cpp server with 4,096, 8,192 and 16,384 tokens of context, sessions of prose, code and "
    "Chinese are judged and contrasted without a time-out and without an overflow that is left unhandled; what is "
    "booked is exactly what the server reports.",
    source="issue Any model (it must show)",
)
@pytest.mark.parametrize("context", [4_096, 8_192, 16_384])
def test_a_real_server_is_never_asked_too_much(random_model: Path, tmp_path: Path, context: int) -> None:
    budget = TokenBudget(tmp_path / "ledger", 10_000_000)
    with served(random_model, context) as url:
        assert told_context(url, "random") == context
        for trajectory in SESSIONS:
            for told in (True, False):
                model = Watched(
                    ProviderModel(provider="openai", model="random", url=url, budget=budget, max_output_tokens=24)
                )
                if not told:
                    model.context = lambda: 0  # type: ignore[method-assign]
                before = budget.spent()
                judgement = judge(trajectory, model, at=NOW)
                for problem in ("cannot read that much", "did not answer within"):
                    assert problem not in judgement.rationale
                if told:
                    with suppress(MalformedAnswer):
                        contrast([(trajectory, FAILED), (trajectory, FAILED)], model)
                else:
                    assert model.sent == sorted(model.sent, reverse=True)
                    assert model.refused or trajectory not in TOO_LONG.get(context, ())
                assert budget.spent() - before == model.used > 0


@promise(
    "llm:llama-server-writes",
    "A consolidation and a conversation that is told to the bank ask a real llama.cpp server with 4,096 tokens no more "
    "than it reads; an answer that cannot be used changes nothing, and exactly what the server reports is booked.",
    source="issue Any model (harness)",
)
def test_merging_and_write_back_fit_a_real_server(random_model: Path, tmp_path: Path, open_bank: OpenBank) -> None:
    budget = TokenBudget(tmp_path / "ledger", 10_000_000)
    with served(random_model, 4_096) as url:
        model = Watched(ProviderModel(provider="openai", model="random", url=url, budget=budget, max_output_tokens=24))
        bank = open_bank(model=model)
        for text in MERGED:
            bank.record(title="Wait for the lock", content=text, outcome="success", description="When it is locked")
        bank.curation.consolidate()
        report = bank.conversations.remember(TALK)
    assert len(model.sent) >= 3, "the merge, the conversation, and what could not be read once more"
    assert not model.refused
    assert budget.spent() == model.used > 0
    assert report.waiting
    assert {memory.content for memory in bank.memories.list()} == set(MERGED)
