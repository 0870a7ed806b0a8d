"""Language models of providers, through pydantic-ai."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from reasoningbank.errors import PaidCallRefused
from reasoningbank.llm.address import on_this_machine
from reasoningbank.llm.asking import Answer, Question, ask
from reasoningbank.llm.budget import Reservation, TokenBudget
from reasoningbank.llm.failures import Failure, failure
from reasoningbank.llm.paid import paid_calls_refused
from reasoningbank.ports import Completion, Prompt
from reasoningbank.telemetry import chatted

MAX_OUTPUT_TOKENS = 8_192
"""Most tokens of one answer, thinking included: five lessons need 1,500, a reasoning model thinks before it writes."""
ATTEMPTS = 4
"""Most attempts at one prompt."""
LONGEST_WAIT = 30.0
"""Seconds between two attempts at most; a provider that asks for more is not asked again now."""

_OVERHEAD = 1_024
_BREAKABLE = "<[]"


class ProviderModel:
    """A model of a provider, behind the ``LanguageModel`` port. Safe to use from several threads.

    Rate limits, server errors and broken connections are tried four times in all, after 1, 2 and 4 seconds, each up to
    half as much again at random, or after what ``Retry-After`` says; a wrong key, an unknown model, a refused request
    and a time-out are not. A server that refuses JSON schemas is asked once more with the schema in words. Every
    failure is ModelUnavailable with a hint. The key and what was sent are in no error, representation, log of ours or
    span.

    Args:
        provider: openai, anthropic or google.
        model: The provider's name of the model.
        url: Base URL instead of the provider's own; empty for that.
        key: The key; empty for the provider's own variable, or for none at a URL.
        timeout: Seconds of one attempt as a whole.
        budget: The tokens of the day; None for no limit.
        paid_calls: Whether a URL that is not on this machine may be called.
        max_output_tokens: Most tokens of one answer.
        sleep: Waits between attempts.
    """

    def __init__(
        self,
        *,
        provider: str,
        model: str,
        url: str = "",
        key: str = "",
        timeout: float = 60.0,
        budget: TokenBudget | None = None,
        paid_calls: bool = True,
        max_output_tokens: int = MAX_OUTPUT_TOKENS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._provider = provider
        self._model = model
        self._url = url
        self._key = key
        self._timeout = timeout
        self._budget = budget
        self._paid_calls = paid_calls
        self._max_output_tokens = max_output_tokens
        self._sleep = sleep
        self._prompted = False

    def __repr__(self) -> str:
        return f"ProviderModel({self.name!r}, url={self._url!r})"

    @property
    def name(self) -> str:
        """Provider and model, the name a user chooses it by."""
        return f"{self._provider}:{self._model}"

    def complete(self, prompt: Prompt, schema: Mapping[str, object], *, temperature: float = 0.0) -> Completion:
        """The answer, as it came; models that cannot be told a temperature choose their own.

        Raises:
            PaidCallRefused: Paid calls are switched off and the URL is not on this machine; nothing was sent.
            BudgetExhausted: The call could exceed the tokens of the day; nothing was sent.
            ModelUnavailable: There was no answer, also after the attempts.
        """
        if not on_this_machine(self._url) and (not self._paid_calls or paid_calls_refused()):
            raise PaidCallRefused(f"a call of {self.name} may cost money and paid calls are switched off")
        with chatted(
            provider=self._provider,
            model=self._model,
            temperature=temperature,
            max_tokens=self._max_output_tokens,
            server=urlsplit(self._url).hostname or "",
        ) as chat:
            answer = self._answered(prompt, schema, temperature)
            chat.answered(
                model=answer.model,
                input_tokens=answer.input_tokens,
                output_tokens=answer.output_tokens,
                finish=answer.finish,
            )
        return Completion(
            text=answer.text,
            model=self.name,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
        )

    def _answered(self, prompt: Prompt, schema: Mapping[str, object], temperature: float) -> Answer:
        """The answer of the first attempt that brings one."""
        most = _most_tokens(prompt, schema) + self._max_output_tokens
        prompted = self._prompted
        attempt = 0
        while True:
            attempt += 1
            result = self._attempted(self._question(prompt, schema, temperature, prompted=prompted), most)
            if isinstance(result, Answer):
                self._prompted = prompted
                return result
            if result.rejected and not prompted:
                prompted = True
            elif result.transient and attempt < ATTEMPTS and (result.wait or 0.0) <= LONGEST_WAIT:
                self._sleep(_pause(attempt, result.wait))
            else:
                raise result.error

    def _question(
        self, prompt: Prompt, schema: Mapping[str, object], temperature: float, *, prompted: bool
    ) -> Question:
        return Question(
            provider=self._provider,
            model=self._model,
            url=self._url,
            key=self._key,
            prompt=prompt,
            schema=schema,
            temperature=temperature,
            max_tokens=self._max_output_tokens,
            timeout=self._timeout,
            prompted=prompted,
        )

    def _attempted(self, question: Question, most: int) -> Answer | Failure:
        """One attempt within the budget. What it may have cost stays booked unless it is known that it did not."""
        booked = self._budget.reserve(most) if self._budget is not None else None
        try:
            result: Answer | Failure = ask(question)
        except Exception as error:  # noqa: BLE001 - told as ModelUnavailable, without the words: they may hold the key
            result = failure(error, self.name, self._timeout)
        if self._budget is not None and booked is not None:
            self._settle(self._budget, booked, result)
        return result

    def _settle(self, budget: TokenBudget, booked: Reservation, result: Answer | Failure) -> None:
        if isinstance(result, Failure):
            if result.unbilled:
                budget.settle(booked, 0)
        elif result.input_tokens and result.output_tokens:
            budget.settle(booked, result.input_tokens + result.output_tokens)


def _most_tokens(prompt: Prompt, schema: Mapping[str, object]) -> int:
    """Most input tokens: no token is shorter than a byte; the schema counts twice, as it may be said in words too.

    pydantic-ai breaks what looks like a model's control token with a mark of three bytes behind its first character.
    """
    text = prompt.instructions + prompt.material
    breaks = sum(text.count(character) for character in _BREAKABLE)
    written = len(json.dumps(dict(schema), ensure_ascii=False).encode("utf-8", "replace"))
    return len(text.encode("utf-8", "replace")) + 3 * breaks + 2 * written + _OVERHEAD


def _pause(attempt: int, asked: float | None) -> float:
    base = asked if asked is not None else 2.0 ** (attempt - 1)
    return base * (1.0 + random.random() / 2.0)  # noqa: S311 - spreads the retries of many processes
