"""Language models of providers, through pydantic-ai: addresses, requests, failures, the switch for paid calls."""

from __future__ import annotations

import asyncio
import contextvars
import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit, urlunsplit

from reasoningbank.errors import ConfigurationError, ModelUnavailable, PaidCallRefused
from reasoningbank.llm.budget import Reservation, TokenBudget
from reasoningbank.settings import on_this_machine
from reasoningbank.telemetry import chatted
from reasoningbank.types.ports import Completion, Prompt

if TYPE_CHECKING:
    from httpx2 import AsyncClient
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

_HINT = "Give the base of the API without user, password or query, for example http://127.0.0.1:8080/v1."


def checked(url: str) -> str:
    """Return the URL without a trailing slash.

    Raises:
        ConfigurationError: It is no http or https address, or it holds more than an address; it is not quoted.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.port != 0 else None
    except ValueError:
        host = None
    if not host or parts.scheme not in {"http", "https"}:
        raise ConfigurationError("The language model's URL is not an http or https address.", hint=_HINT)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigurationError("The language model's URL holds more than an address.", hint=_HINT)
    return urlunsplit(parts).rstrip("/")


_lock = threading.Lock()
_refusals = 0


@contextmanager
def no_paid_calls() -> Iterator[None]:
    """Give within it every call of a language model that is not on this machine raises PaidCallRefused.

    It holds for all threads of this process; ``REASONINGBANK_PAID_CALLS=false`` does the same for other processes.
    """
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def paid_calls_refused() -> bool:
    """Return whether a ``no_paid_calls`` is in force."""
    return _refusals > 0


def _count(change: int) -> None:
    global _refusals
    with _lock:
        _refusals += change


_CODE = re.compile(r"[a-z]+(?:_[a-z]+)+")
_INSTALL = "Install it with `pip install 'pydantic-ai-slim[anthropic,google,openai]>=2.68,<3'`."
_UNSENT = ("ConnectError", "ConnectTimeout")
_UNBILLED_STATUS = range(400, 500)
_REJECTED_STATUS = (400, 422)
_REQUEST_TIMEOUT = 408


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One attempt that brought no answer.

    Attributes:
        error: What the caller is told.
        transient: True when a further attempt may succeed.
        unbilled: True when it is certain that it cost nothing: it was never sent, or refused before any work.
        rejected: True when the request itself was refused, as a server does that knows no JSON schemas.
        wait: Seconds that the provider asked to wait; None when it did not say.
    """

    error: ModelUnavailable
    transient: bool = False
    unbilled: bool = False
    rejected: bool = False
    wait: float | None = None


def failure(error: Exception, name: str, timeout: float) -> Failure:
    """Return what an exception of a provider's library means.

    Args:
        error: The exception; no text of it is repeated.
        name: The model's name as the user gave it.
        timeout: Seconds the attempt was allowed.
    """
    if isinstance(error, ImportError):
        return Failure(
            error=ModelUnavailable(f"{name} needs a package that is not installed.", hint=_INSTALL), unbilled=True
        )
    from pydantic_ai import exceptions

    status = error.status_code if isinstance(error, exceptions.ModelHTTPError) else None
    what, hint, transient = _told(error, timeout)
    return Failure(
        error=ModelUnavailable(f"{name} {what}{_details(error, status)}.", hint=hint),
        transient=transient or status == _REQUEST_TIMEOUT,
        unbilled=status in _UNBILLED_STATUS or _never_sent(error) or isinstance(error, exceptions.UserError),
        rejected=status in _REJECTED_STATUS and not isinstance(error, exceptions.ModelContextWindowExceededError),
        wait=error.retry_after if isinstance(error, exceptions.ModelAPIError) else None,
    )


def _told(error: Exception, timeout: float) -> tuple[str, str, bool]:
    """Return what happened, what to do, and whether to try again by ourselves; the most special kinds first."""
    from pydantic_ai import exceptions as kinds

    table: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str, str, bool], ...] = (
        (kinds.ModelAuthenticationError, "refused the key", "Check llm_key (REASONINGBANK_LLM_KEY).", False),
        (
            kinds.ModelNotFoundError,
            "is not known there",
            "Check the model's name in llm, and that llm_url is the base of the API, usually ending in /v1.",
            False,
        ),
        (
            kinds.ModelContextWindowExceededError,
            "cannot read that much at once",
            "Choose a model with a longer context.",
            False,
        ),
        (
            kinds.ModelQuotaExceededError,
            "has no credit or quota left",
            "Top up the provider's account, or choose another model.",
            False,
        ),
        (
            kinds.ModelRateLimitError,
            "is at its rate limit",
            "Try again later; what was to be learned waits.",
            True,
        ),
        (
            (kinds.ModelRequestTimeout, kinds.ModelTimeoutError),
            f"did not answer within {timeout:g} s",
            "Raise llm_timeout, or choose a faster model.",
            False,
        ),
        (
            kinds.ModelConnectionError,
            "cannot be reached",
            "Check the network and llm_url, and that a local server is running.",
            True,
        ),
        (
            (kinds.ModelServerError, kinds.ModelUnavailableError),
            "is out of order at the moment",
            "Try again later; what was to be learned waits.",
            True,
        ),
        (
            kinds.ModelRequestRejectedError,
            "refused the request",
            "Check the key and the model's name; a model that cannot answer with JSON is refused too.",
            False,
        ),
        (kinds.ContentFilterError, "refused to speak about this text", "Choose another model.", False),
        (kinds.ModelHTTPError, "did not answer", "Check llm_url and what stands between here and there.", False),
        (
            (kinds.UnexpectedModelBehavior, kinds.ModelAPIError),
            "answered with something that is no completion",
            "Check that llm_url is the base of an OpenAI-compatible API, usually ending in /v1.",
            False,
        ),
        (kinds.UserError, "is not usable", "Check llm, and give its key as llm_key (REASONINGBANK_LLM_KEY).", False),
    )
    for kind, what, hint, transient in table:
        if isinstance(error, kind):
            return what, hint, transient
    return f"did not answer ({type(error).__name__})", "Check llm and llm_url with `rbank doctor`.", False


def _details(error: Exception, status: int | None) -> str:
    """Return HTTP status and the provider's own code, when that is plain words: a key is not."""
    code = getattr(error, "provider_error_code", None) or getattr(error, "provider_error_type", None)
    known = [f"HTTP {status}"] if status else []
    if isinstance(code, str) and len(code) <= 60 and _CODE.fullmatch(code):
        known.append(code)
    return f" ({', '.join(known)})" if known else ""


def _never_sent(error: BaseException | None) -> bool:
    while error is not None:
        if type(error).__name__ in _UNSENT:
            return True
        error = error.__cause__ or error.__context__
    return False


Way = Literal["native", "prompted"]
"""How JSON is asked for: by the provider's schema parameter, or in the instructions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRequest:
    """All that one attempt sends, and where."""

    provider: str
    model: str
    url: str
    key: str
    prompt: Prompt
    schema: Mapping[str, object]
    temperature: float
    max_tokens: int
    timeout: float
    prompted: bool = False

    def __repr__(self) -> str:
        return f"Question({self.provider}:{self.model}, {self.prompt.label})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderAnswer:
    """Hold what one attempt brought.

    Attributes:
        way: How JSON was asked for.
        input_tokens: As the provider counted them; 0 when it did not.
        finish: Why the model stopped; empty when it did not say.
    """

    text: str
    model: str
    way: Way
    input_tokens: int
    output_tokens: int
    finish: str


def ask(question: ProviderRequest) -> ProviderAnswer:
    """Send one request and waits for its answer, with no attempt after it; raise whatever the libraries raise."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_ask(question))
    with ThreadPoolExecutor(1) as elsewhere:
        return elsewhere.submit(contextvars.copy_context().run, lambda: asyncio.run(_ask(question))).result()


async def _ask(question: ProviderRequest) -> ProviderAnswer:
    from httpx2 import AsyncClient
    from pydantic_ai import ModelRequest
    from pydantic_ai.direct import model_request
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    direct = on_this_machine(question.url)
    async with AsyncClient(timeout=question.timeout, trust_env=not direct) as client:
        model = _model(question, client)
        native = not question.prompted and bool(model.profile.get("supports_json_schema_output", False))
        way: Way = "native" if native else "prompted"
        response = await model_request(
            model,
            [
                ModelRequest.user_text_prompt(
                    _sendable(question.prompt.material), instructions=_sendable(question.prompt.instructions)
                )
            ],
            model_settings=_settings(question, model),
            model_request_parameters=ModelRequestParameters(
                output_mode=way,
                output_object=OutputObjectDefinition(
                    json_schema=dict(question.schema), name=re.sub(r"\W+", "_", question.prompt.name)[:64] or "answer"
                ),
            ),
            instrument=False,
        )
    return ProviderAnswer(
        text=response.text or "",
        model=response.model_name or question.model,
        way=way,
        input_tokens=response.usage.input_tokens,
        output_tokens=response.usage.output_tokens,
        finish=response.finish_reason or "",
    )


def _settings(question: ProviderRequest, model: Model) -> ModelSettings:
    settings: ModelSettings = {
        "max_tokens": question.max_tokens,
        "timeout": question.timeout,
        "request_timeout": question.timeout,
        "max_retries": 0,
    }
    profile: Mapping[str, object] = dict(model.profile)
    always_reasons = profile.get("thinking_always_enabled") or profile.get("thinking_enabled_by_default")
    fixed = profile.get("anthropic_disallows_sampling_settings") or (
        profile.get("openai_supports_reasoning") and always_reasons
    )
    if not fixed:
        settings["temperature"] = question.temperature
    return settings


def _model(question: ProviderRequest, client: AsyncClient) -> Model:
    """Return the provider's model; only its own library is imported."""
    key = question.key or None
    if question.provider == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(
            question.model,
            provider=AnthropicProvider(api_key=key, base_url=question.url or None, http_client=client),
        )
    if question.provider == "google":
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel(
            question.model,
            provider=GoogleProvider(api_key=key, base_url=question.url or None, http_client=client),
        )
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    if not question.url:
        return OpenAIChatModel(question.model, provider=OpenAIProvider(api_key=key, http_client=client))
    return OpenAIChatModel(
        question.model,
        provider=OpenAICompatibleProvider(
            "openai-compatible",
            base_url=question.url,
            api_key=key,
            http_client=client,
            profile=OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False),
        ),
    )


def _sendable(text: str) -> str:
    """Return the text without halves of characters, which no request can carry."""
    return text.encode("utf-8", "replace").decode()


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
        paid_calls: Allow calls of a URL that is not on this machine.
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
        """Return the answer, as it came; models that cannot be told a temperature choose their own.

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

    def _answered(self, prompt: Prompt, schema: Mapping[str, object], temperature: float) -> ProviderAnswer:
        """Return the answer of the first attempt that brings one."""
        most = _most_tokens(prompt, schema) + self._max_output_tokens
        prompted = self._prompted
        attempt = 0
        while True:
            attempt += 1
            result = self._attempted(self._question(prompt, schema, temperature, prompted=prompted), most)
            if isinstance(result, ProviderAnswer):
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
    ) -> ProviderRequest:
        return ProviderRequest(
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

    def _attempted(self, question: ProviderRequest, most: int) -> ProviderAnswer | Failure:
        """Return one attempt within the budget.

        What it may have cost stays booked unless it is known that it did not.
        """
        booked = self._budget.reserve(most) if self._budget is not None else None
        try:
            result: ProviderAnswer | Failure = ask(question)
        except Exception as error:  # noqa: BLE001 - told as ModelUnavailable, without the words: they may hold the key
            result = failure(error, self.name, self._timeout)
        if self._budget is not None and booked is not None:
            self._settle(self._budget, booked, result)
        return result

    def _settle(self, budget: TokenBudget, booked: Reservation, result: ProviderAnswer | Failure) -> None:
        if isinstance(result, Failure):
            if result.unbilled:
                budget.settle(booked, 0)
        elif result.input_tokens and result.output_tokens:
            budget.settle(booked, result.input_tokens + result.output_tokens)


def _most_tokens(prompt: Prompt, schema: Mapping[str, object]) -> int:
    """Return most input tokens: no token is shorter than a byte.

    The schema counts twice, as it may be said in words too.

    pydantic-ai breaks what looks like a model's control token with a mark of three bytes behind its first character.
    """
    text = prompt.instructions + prompt.material
    breaks = sum(text.count(character) for character in _BREAKABLE)
    written = len(json.dumps(dict(schema), ensure_ascii=False).encode("utf-8", "replace"))
    return len(text.encode("utf-8", "replace")) + 3 * breaks + 2 * written + _OVERHEAD


def _pause(attempt: int, asked: float | None) -> float:
    base = asked if asked is not None else 2.0 ** (attempt - 1)
    return base * (1.0 + random.random() / 2.0)  # noqa: S311 - spreads the retries of many processes
