"""One request to one provider through pydantic-ai: which client, which way to JSON, what came back."""

from __future__ import annotations

import asyncio
import contextvars
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from reasoningbank.llm.address import on_this_machine
from reasoningbank.ports import Prompt

if TYPE_CHECKING:
    from httpx2 import AsyncClient
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

Way = Literal["native", "prompted"]
"""How JSON is asked for: by the provider's schema parameter, or in the instructions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
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
class Answer:
    """What one attempt brought.

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


def ask(question: Question) -> Answer:
    """Sends one request and waits for its answer, with no attempt after it; raises whatever the libraries raise."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_ask(question))
    with ThreadPoolExecutor(1) as elsewhere:
        return elsewhere.submit(contextvars.copy_context().run, lambda: asyncio.run(_ask(question))).result()


async def _ask(question: Question) -> Answer:
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
    return Answer(
        text=response.text or "",
        model=response.model_name or question.model,
        way=way,
        input_tokens=response.usage.input_tokens,
        output_tokens=response.usage.output_tokens,
        finish=response.finish_reason or "",
    )


def _settings(question: Question, model: Model) -> ModelSettings:
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


def _model(question: Question, client: AsyncClient) -> Model:
    """The provider's model; only its own library is imported."""
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
    """The text without halves of characters, which no request can carry."""
    return text.encode("utf-8", "replace").decode()
