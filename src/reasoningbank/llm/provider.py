"""Language models of providers, through pydantic-ai: addresses, requests, failures, the switch for paid calls."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import json
import math
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

from reasoningbank.errors import ConfigurationError, ContextExceeded, ModelUnavailable, PaidCallRefused
from reasoningbank.llm.budget import Reservation, TokenBudget
from reasoningbank.llm.completion_bodies import error_in, plain_completion, used_tokens
from reasoningbank.llm.refusals import (
    answer_limit,
    answer_was_cut,
    refused_parameter,
    refuses_answer,
    refuses_format,
    refuses_system,
    renames_limit,
)
from reasoningbank.llm.token_count import count_tokens
from reasoningbank.llm.window import (
    OTHER_TOKENIZERS,
    answer_beside,
    context_in_error,
    is_of_a_prompt,
    is_of_a_time,
    is_overflow,
    learned_window,
    needed_context,
    prompt_in_error,
    told_context,
    was_truncated,
)
from reasoningbank.settings import on_this_machine
from reasoningbank.telemetry import chatted
from reasoningbank.types.ports import Completion, Prompt

if TYPE_CHECKING:
    from httpx2 import AsyncClient
    from openai.types.chat import ChatCompletion
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.models.openai import OpenAIChatModel
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
_UNKNOWN_STATUS = (408, 504, 524)
"""Statuses of something in between that waited too long: what stands behind it may have answered and billed."""
_REJECTED_STATUS = (400, 422)
_TOO_LARGE_STATUS = 413
"""Also of a proxy before the server, and of what is longer than a minute's tokens: less of it may pass."""
_REQUEST_TIMEOUT, _TOO_MANY_STATUS = 408, 429
_NOT_FOUND_STATUS = 404
_UNSUPPORTED_STATUS = 501
"""The server has not been taught what the request asks for: less of it may be known."""
_BUSY_STATUS = (401, 403, _NOT_FOUND_STATUS, _REQUEST_TIMEOUT, _TOO_MANY_STATUS, 502, 503, *_UNKNOWN_STATUS)
"""Statuses whose words are about a key, a place or the moment, not about the request."""
_USED = "reported_tokens"
"""Name of what an error carries of the usage of a body without an answer."""
_UNPARSED = re.compile(
    r"produced output that does not match the expected|failed to parse (?:the )?(?:model )?output", re.I
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One attempt that brought no answer.

    Attributes:
        error: What the caller is told.
        transient: True when a further attempt may succeed.
        unbilled: True when it cost nothing: it was never sent, the server answered with an error, or it is on this
            machine, where nobody bills.
        rejected: True when the way in which JSON is asked for was refused, as a server does that knows no schemas.
        narrow: True when the model's context was exceeded, not a proxy's bytes or the tokens of a minute.
        renamed: True when the server wants the answer's longest length as ``max_completion_tokens``.
        answer_limit: Tokens of the longest answer that the model gives, when more were asked for; 0 when not.
        parameter: The parameter that was refused and can be left out; empty when none was.
        unparsed: True when the model answered and its server could not make out what, as llama.cpp's says of an
            answer that was cut.
        unread: True when the model answered and its server says that this is not the JSON that was asked for.
        cut: True when that answer was longer than it was allowed to be.
        system_refused: True when the model takes no instructions but from the user.
        wait: Seconds that the provider asked to wait; None when it did not say.
        prompt_tokens: Tokens of a prompt that was too long, as the server counts them; 0 when it did not say.
        used: Tokens that the server reported although it brought no answer; 0 when it did not.
    """

    error: ModelUnavailable
    transient: bool = False
    unbilled: bool = False
    rejected: bool = False
    narrow: bool = False
    renamed: bool = False
    answer_limit: int = 0
    parameter: str = ""
    unparsed: bool = False
    unread: bool = False
    cut: bool = False
    system_refused: bool = False
    wait: float | None = None
    prompt_tokens: int = 0
    used: int = 0


def failure(error: Exception, name: str, timeout: float, *, local: bool = False, asked: int = 0) -> Failure:
    """Return what an exception of a provider's library means.

    Args:
        error: The exception; no text of it is repeated.
        name: The model's name as the user gave it.
        timeout: Seconds the attempt was allowed.
        local: The server is on this machine.
        asked: Tokens of the longest answer that was asked for; 0 when it does not matter.
    """
    if isinstance(error, ImportError):
        return Failure(
            error=ModelUnavailable(f"{name} needs a package that is not installed.", hint=_INSTALL), unbilled=True
        )
    from pydantic_ai import exceptions

    status = error.status_code if isinstance(error, exceptions.ModelHTTPError) else None
    what, hint, transient = _told(error, timeout)
    said = f"{getattr(error, 'body', None) or ''} {error}"
    about_request = status is not None and status not in _BUSY_STATUS
    # First, because such an error may hold what the model wrote, in which any word may stand.
    if about_request and refuses_answer(said):
        told = ModelUnavailable(f"{name} {what}{_details(error, status)}.", hint=hint)
        return Failure(error=told, unbilled=True, unread=True, cut=answer_was_cut(said))
    if (
        isinstance(error, exceptions.ModelContextWindowExceededError)
        or status == _TOO_LARGE_STATUS
        or is_overflow(said)
    ):
        what = f"cannot read that much at once{_details(error, status)}"
        return Failure(
            error=ContextExceeded(f"{name} {what}.", context=context_in_error(said)),
            unbilled=True,
            narrow=status != _TOO_MANY_STATUS
            and not is_of_a_time(said)
            and (status != _TOO_LARGE_STATUS or is_of_a_prompt(said)),
            prompt_tokens=prompt_in_error(said),
        )
    unparsed = _UNPARSED.search(said) is not None
    refused = status is not None and status not in _UNKNOWN_STATUS
    rejected = status in _REJECTED_STATUS
    renamed = rejected and renames_limit(said)
    about_request = about_request and not is_of_a_time(said)
    limit = answer_limit(said, asked) if about_request and not renamed else 0
    system_refused = about_request and refuses_system(said)
    parameter = refused_parameter(said) if rejected and not (renamed or limit) else ""
    names_format = status == _UNSUPPORTED_STATUS or (
        (about_request or status == _NOT_FOUND_STATUS) and not rejected and refuses_format(said, named=True)
    )
    return Failure(
        error=ModelUnavailable(f"{name} {what}{_details(error, status)}.", hint=hint),
        transient=(transient or status == _REQUEST_TIMEOUT)
        and not (unparsed or limit or system_refused or names_format),
        unparsed=unparsed,
        unbilled=local or refused or _never_sent(error) or isinstance(error, exceptions.UserError),
        renamed=renamed,
        answer_limit=limit,
        parameter=parameter,
        system_refused=system_refused,
        rejected=not (unparsed or limit) and (names_format or (rejected and refuses_format(said))),
        wait=error.retry_after if isinstance(error, exceptions.ModelAPIError) else None,
        used=getattr(error, _USED, 0),
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
            "Set llm_timeout to more seconds, or choose a faster model.",
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
            "answered with something that is not a completion",
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


Way = Literal["native", "object", "plain"]
"""How JSON is asked for: by the provider's schema parameter, as any JSON object with the schema in the instructions, or
in the instructions alone."""
WAYS: tuple[Way, ...] = ("native", "object", "plain")
"""In this order: a server that refuses one is asked in the next."""


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
    max_thoughts: int
    timeout: float
    way: Way = "native"
    renamed: bool = False
    joined: bool = False
    dropped: frozenset[str] = frozenset()

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
    way = question.way
    async with AsyncClient(timeout=question.timeout, trust_env=not direct) as client:
        model = _model(question, client)
        if way == "native" and not model.profile.get("supports_json_schema_output", False):
            way = "object"
        response = await model_request(
            model,
            [
                ModelRequest.user_text_prompt(_joined(question, way))
                if question.joined
                else ModelRequest.user_text_prompt(
                    _sendable(question.prompt.material), instructions=_sendable(question.prompt.instructions)
                )
            ],
            model_settings=_settings(question, model),
            model_request_parameters=ModelRequestParameters(
                output_mode="native" if way == "native" else "prompted",
                prompted_output_template=False if question.joined else None,
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


def _joined(question: ProviderRequest, way: Way) -> str:
    """Return all that is said as one text, for models that take instructions from nobody but the user."""
    from pydantic_ai.profiles import DEFAULT_PROMPTED_OUTPUT_TEMPLATE

    said = [question.prompt.instructions]
    if way != "native":
        said.append(DEFAULT_PROMPTED_OUTPUT_TEMPLATE.format(schema=_schema_words(question.schema)).strip())
    return _sendable("\n\n".join((*said, question.prompt.material)))


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
    if not fixed and "temperature" not in question.dropped:
        settings["temperature"] = question.temperature
    if always_reasons:
        settings["max_tokens"] = question.max_thoughts
    if {"max_tokens", "max_completion_tokens"} <= question.dropped:
        del settings["max_tokens"]
    if question.provider == "openai" and "stream" in question.dropped:
        from openai import Omit

        settings["extra_body"] = {"stream": Omit()}
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
    return _tolerant_model()(
        question.model,
        provider=OpenAICompatibleProvider(
            "openai-compatible",
            base_url=question.url,
            api_key=key,
            http_client=client,
            profile=OpenAIModelProfile(
                openai_chat_supports_max_completion_tokens=question.renamed,
                supports_json_object_output=question.way != "plain",
                openai_supports_strict_tool_definition="strict" not in question.dropped,
                openai_chat_supports_multiple_system_messages=False,
                # The library keeps thoughts that never end as text and drops their mark, by which we refuse them.
                thinking_tags=("\0", "\0"),
            ),
        ),
    )


@functools.cache
def _tolerant_model() -> type[OpenAIChatModel]:
    """Return the model of compatible servers; its library is imported only when one is asked."""
    from openai.types.chat import ChatCompletion as ChatCompletionBody
    from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior
    from pydantic_ai.models.openai import OpenAIChatModel

    class TolerantModel(OpenAIChatModel):
        """Reads bodies of any shape that hold an answer; what is not reported of its usage is counted by us."""

        def _process_response(self, response: ChatCompletion | str, **options: bool) -> ModelResponse:
            body = response.model_dump(warnings=False) if isinstance(response, ChatCompletionBody) else {}
            if error := error_in(body):
                raise ModelHTTPError(error[0], self.model_name, error[1])
            plain = plain_completion(body, self.model_name)
            if plain is None:
                empty = UnexpectedModelBehavior("The body holds no message.")
                setattr(empty, _USED, used_tokens(body))
                raise empty
            return super()._process_response(ChatCompletionBody.model_validate(plain), **options)

    return TolerantModel


def _sendable(text: str) -> str:
    """Return the text without halves of characters, which no request can carry."""
    return text.encode("utf-8", "replace").decode()


MAX_OUTPUT_TOKENS = 8_192
"""Most tokens of one answer, thinking included: five lessons need 1,500, a reasoning model thinks before it writes."""
ATTEMPTS = 4
"""Most attempts at one prompt."""
LONGEST_WAIT = 30.0
"""Seconds between two attempts at most; a provider that asks for more is not asked again now."""

LOCAL_SECONDS = 600.0
"""Seconds for one answer of a server on this machine: a small computer reads 6,000 tokens in minutes."""
_BASE_SECONDS, _READ_A_SECOND, _WRITTEN_A_SECOND = 60.0, 200.0, 25.0
"""Seconds for one answer elsewhere: a minute, and what a slow provider needs to read the prompt and to write."""

_ASKS = 2
"""Attempts to ask a server for its context."""
_OVERHEAD = 1_024
_BREAKABLE = "<[]"
_SHORTEST_ANSWER = 64
_WORDS_AROUND_SCHEMA = 48
"""Tokens of what the library says beside a schema that is put into words."""


class ProviderModel:
    """A model of a provider, behind the ``LanguageModel`` port. Safe to use from several threads.

    Rate limits, server errors and broken connections are tried four times in all, after 1, 2 and 4 seconds, each up to
    half as much again at random, or after what ``Retry-After`` says; a wrong key, an unknown model, a refused request
    and a time-out are not. A server that refuses JSON schemas is asked for any JSON object, and one that refuses that
    is asked in words; one that refuses a temperature, or so long an answer, is asked without it, and from then on. One
    that cannot read so much, or has read much less than was sent, raises ContextExceeded. Every failure is
    ModelUnavailable with a hint. The key and what was sent are in no error, representation, log of ours or span.

    Args:
        provider: openai, anthropic or google.
        model: The provider's name of the model.
        url: Base URL instead of the provider's own; empty for that.
        key: The key; empty for the provider's own variable, or for none at a URL.
        timeout: Seconds of one attempt as a whole; 0 for 600 on this machine, else as long as the prompt needs.
        budget: The tokens of the day; None for no limit.
        paid_calls: Allow calls of a URL that is not on this machine.
        max_output_tokens: Most tokens of one answer.
        context: Tokens that the model reads at once; 0 asks the server at the URL.
        sleep: Waits between attempts.
    """

    def __init__(
        self,
        *,
        provider: str,
        model: str,
        url: str = "",
        key: str = "",
        timeout: float = 0.0,
        budget: TokenBudget | None = None,
        paid_calls: bool = True,
        max_output_tokens: int = MAX_OUTPUT_TOKENS,
        context: int = 0,
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
        self._context = context
        self._asks_left = 0 if context or not url else _ASKS
        self._learned = learned_window(url or provider, model)
        self._sleep = sleep
        self._thinks = False

    def __repr__(self) -> str:
        return f"ProviderModel({self.name!r}, url={self._url!r})"

    @property
    def name(self) -> str:
        """Provider and model, the name a user chooses it by."""
        return f"{self._provider}:{self._model}"

    @property
    def thinks(self) -> bool:
        """True when an answer was cut before anything of it was written."""
        return self._thinks

    def context(self) -> int:
        """Return how many tokens the model reads at once, as set or as its server says; 0 when nobody says.

        What a refusal has taught since this process began counts where it is less, and where nobody says it. The server
        is asked with the first prompt that is made to fit, and once more with the next one when it could not say it:
        some load a model only when it is asked something.

        Raises:
            PaidCallRefused: Paid calls are switched off and the URL is not on this machine; nothing was sent.
        """
        if self._asks_left:
            self._check_paid()
            self._context = told_context(self._url, self._model, self._key)
            self._asks_left = 0 if self._context else self._asks_left - 1
        return self._in_our_tokens(self._learned.context(self._context))

    def _in_our_tokens(self, size: int) -> int:
        """Return a context by our count of tokens; one that was guessed from refusals is so already."""
        return self._learned.in_our_tokens(size) if size in (self._context, self._learned.named) else size

    def complete(self, prompt: Prompt, schema: Mapping[str, object], *, temperature: float = 0.0) -> Completion:
        """Return the answer, as it came; models that cannot be told a temperature choose their own.

        Raises:
            PaidCallRefused: Paid calls are switched off and the URL is not on this machine; nothing was sent.
            BudgetExhausted: The call could exceed the tokens of the day; nothing was sent.
            ContextExceeded: The prompt is longer than the model's context, or was cut by its server.
            ModelUnavailable: There was no answer, also after the attempts.
        """
        self._check_paid()
        longest = self._longest_answer(prompt, schema)
        with chatted(
            provider=self._provider,
            model=self._model,
            temperature=temperature,
            max_tokens=longest,
            server=urlsplit(self._url).hostname or "",
        ) as chat:
            answer = self._answered(prompt, schema, temperature, longest)
            chat.answered(
                model=answer.model,
                input_tokens=answer.input_tokens,
                output_tokens=answer.output_tokens,
                finish=answer.finish,
            )
        cut = answer.finish == "length"
        if cut and "{" not in answer.text:
            self._thinks = True
        return Completion(
            text=answer.text,
            model=self.name,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            cut=cut,
        )

    def _check_paid(self) -> None:
        if not on_this_machine(self._url) and (not self._paid_calls or paid_calls_refused()):
            raise PaidCallRefused(f"a call of {self.name} may cost money and paid calls are switched off")

    def _longest_answer(self, prompt: Prompt, schema: Mapping[str, object]) -> int:
        """Return the most tokens of the answer: the prompt's own limit, as far as the context holds it with reserve.

        A context that was only guessed from refusals keeps no answer below the prompt's own limit.
        """
        most = min(self._max_output_tokens, self._learned.answer_limit or self._max_output_tokens)
        longest = min(prompt.answer_tokens or most, most)
        written = _counted(prompt) + count_tokens(_schema_words(schema))
        named = self._learned.named
        known = min(self._context or named, named or self._context)
        if known:
            longest = min(longest, max(_SHORTEST_ANSWER, answer_beside(known, written)))
        if context := self._learned.context(self._context):
            least = min(prompt.answer_tokens or _SHORTEST_ANSWER, most)
            longest = min(longest, max(least, answer_beside(context, written)))
        return longest

    def _answered(
        self, prompt: Prompt, schema: Mapping[str, object], temperature: float, longest: int
    ) -> ProviderAnswer:
        """Return the answer of the first attempt that brings one."""
        most = _most_tokens(prompt, schema) + max(longest, self._max_output_tokens if not self._url else 0)
        needed = needed_context(_counted(prompt), min(longest, prompt.answer_tokens))
        ways = WAYS if self._provider == "openai" else WAYS[:2]
        way = ways[min(self._learned.formats, len(ways) - 1)]
        attempt = 1
        while True:
            question = self._question(prompt, schema, temperature, longest, way)
            result = self._attempted(question, most)
            if isinstance(result, ProviderAnswer):
                if self._url:
                    self._check_whole(question, result, needed)
                self._learned.read(needed)
                self._learned.counted(_sent(question), result.input_tokens)
                self._learned.answer_read(True)
                if result.text.strip() and result.finish != "length":
                    has_json = any(mark in result.text for mark in "{[")
                    self._learned.wrote(json=has_json, formats=ways.index(result.way) + 1)
                if result.finish == "content_filter":
                    raise ModelUnavailable(
                        f"{self.name} refused to speak about this text.", hint="Choose another model."
                    )
                return result
            again = self._learned.unread and way != ways[-1]
            if result.unread and not again:
                self._learned.answer_read(False)
                finish = "length" if result.cut else "error"
                return ProviderAnswer(
                    text="", model=self._model, way=way, input_tokens=0, output_tokens=0, finish=finish
                )
            if result.unparsed:
                return ProviderAnswer(
                    text="", model=self._model, way=way, input_tokens=0, output_tokens=0, finish="length"
                )
            if self._changed(result, question):
                longest = min(longest, self._learned.answer_limit or longest)
            elif (result.rejected or result.unread) and way != ways[-1]:
                self._learned.answer_read(True)
                said_before, way = way != "native", ways[ways.index(way) + 1]
                self._learned.format_refused(ways.index(way))
                if prompt.flexible and self._learned.overflowed and not said_before:
                    raise ContextExceeded(
                        f"{self.name} wants the schema in words, and the prompt has no room for it.",
                        excess=count_tokens(json.dumps(dict(schema))) + _WORDS_AROUND_SCHEMA,
                    )
            elif result.transient and attempt < ATTEMPTS and (result.wait or 0.0) <= LONGEST_WAIT:
                self._sleep(_pause(attempt, result.wait))
                attempt += 1
            else:
                if result.narrow and isinstance(result.error, ContextExceeded):
                    self._learned.counted(_sent(question), result.prompt_tokens)
                    self._learned.refused(needed_context(_counted(prompt), longest), result.error.context)
                    context = self._in_our_tokens(min(result.error.context, self._learned.named))
                    raise ContextExceeded(result.error.message, context=context, answer=longest)
                raise result.error

    def _check_whole(self, question: ProviderRequest, answer: ProviderAnswer, needed: int) -> None:
        """Raise ContextExceeded where the server has cut the prompt, or may have.

        A round number of tokens, more than ever before, is no proof: less is sent once, and nothing is learned of it.
        """
        prompt, read, sent = question.prompt, answer.input_tokens, _sent(question)
        context = 0
        if was_truncated(_said(prompt), _counted(prompt), read) or self._learned.is_cut(sent, read):
            self._learned.refused(needed)
            known = self._learned.cut(sent, read)
            context = self._in_our_tokens(self._learned.named) if known else read + answer.output_tokens
        elif not (prompt.flexible and not self._context and self._learned.is_round(read)):
            return
        raise ContextExceeded(
            f"{self.name} read {read:,} tokens of about {_counted(prompt):,} sent: "
            "its server cuts what is longer than its context.",
            context=context,
        )

    def _changed(self, result: Failure, question: ProviderRequest) -> bool:
        """Return whether a refusal taught something that changes the next request; it holds for later ones too."""
        if result.renamed and not question.renamed:
            self._learned.limit_renamed()
            return True
        if result.system_refused and not question.joined:
            self._learned.system_refused()
            return True
        if 0 < result.answer_limit < max(question.max_tokens, question.max_thoughts):
            self._learned.answer_refused(result.answer_limit)
            return True
        named = result.parameter
        if not named or named in question.dropped:
            return False
        self._learned.parameter_refused(named)
        if named == "max_tokens" and not question.renamed:
            self._learned.limit_renamed()
        elif named == "max_completion_tokens" and question.renamed:
            self._learned.limit_renamed(back=True)
        return True

    def _question(
        self, prompt: Prompt, schema: Mapping[str, object], temperature: float, longest: int, way: Way
    ) -> ProviderRequest:
        return ProviderRequest(
            provider=self._provider,
            model=self._model,
            url=self._url,
            key=self._key,
            prompt=prompt,
            schema=schema,
            temperature=temperature,
            max_tokens=longest,
            max_thoughts=min(self._max_output_tokens, self._learned.answer_limit or self._max_output_tokens),
            timeout=self._timeout or self._seconds(prompt, longest),
            way=way,
            renamed=self._learned.renamed,
            joined=self._learned.joined,
            dropped=self._learned.dropped,
        )

    def _seconds(self, prompt: Prompt, longest: int) -> float:
        """Return how long an answer may take when the user has not said it."""
        if on_this_machine(self._url):
            return LOCAL_SECONDS
        return _BASE_SECONDS + math.ceil(_counted(prompt) / _READ_A_SECOND + longest / _WRITTEN_A_SECOND)

    def _attempted(self, question: ProviderRequest, most: int) -> ProviderAnswer | Failure:
        """Return one attempt within the budget; afterwards what was used is booked."""
        booked = self._budget.reserve(most) if self._budget is not None else None
        try:
            result: ProviderAnswer | Failure = ask(question)
        except Exception as error:  # noqa: BLE001 - told as ModelUnavailable, without the words: they may hold the key
            local, asked = on_this_machine(self._url), question.max_tokens
            result = failure(error, self.name, question.timeout, local=local, asked=asked)
        if self._budget is not None and booked is not None:
            self._settle(self._budget, booked, question, result)
        return result

    def _settle(
        self, budget: TokenBudget, booked: Reservation, question: ProviderRequest, result: ProviderAnswer | Failure
    ) -> None:
        """Book what was used: what was reported, and what was not as it comes to by our own count."""
        sent = _sent(question)
        if isinstance(result, ProviderAnswer):
            read, written = result.input_tokens or sent, result.output_tokens or count_tokens(result.text)
            budget.settle(booked, read + written)
        elif result.used:
            budget.settle(booked, result.used)
        elif result.unbilled:
            budget.settle(booked, 0)
        else:
            budget.settle(booked, min(booked.tokens, math.ceil(sent * OTHER_TOKENIZERS) + question.max_tokens))


def _said(prompt: Prompt) -> str:
    return f"{prompt.instructions}\n{prompt.material}"


def _counted(prompt: Prompt) -> int:
    return count_tokens(_said(prompt))


def _sent(question: ProviderRequest) -> int:
    """Return the tokens that are sent, by our count."""
    schema = "" if question.way == "native" else _schema_words(question.schema)
    return _counted(question.prompt) + count_tokens(schema)


def _schema_words(schema: Mapping[str, object]) -> str:
    return json.dumps(dict(schema), ensure_ascii=False, separators=(",", ":"))


def _most_tokens(prompt: Prompt, schema: Mapping[str, object]) -> int:
    """Return most input tokens: what other tokenizers count at most, and no token is shorter than a byte.

    The schema counts twice, as it may be said in words too.

    pydantic-ai breaks what looks like a model's control token with a mark of three bytes behind its first character.
    """
    text = prompt.instructions + prompt.material
    breaks = sum(text.count(character) for character in _BREAKABLE)
    said = _schema_words(schema)
    longest = len(text.encode("utf-8", "replace")) + 2 * len(said.encode("utf-8", "replace"))
    counted = math.ceil((_counted(prompt) + 2 * count_tokens(said)) * OTHER_TOKENIZERS)
    return min(longest, counted) + 3 * breaks + _OVERHEAD


def _pause(attempt: int, asked: float | None) -> float:
    base = asked if asked is not None else 2.0 ** (attempt - 1)
    return base * (1.0 + random.random() / 2.0)  # noqa: S311 - spreads the retries of many processes
