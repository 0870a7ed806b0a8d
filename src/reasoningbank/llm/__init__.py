"""Language models behind the ``LanguageModel`` port: providers, a token budget per day, a scripted stand-in.

No model is needed (DESIGN D7); nothing of a provider is imported before the first prompt is answered.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import ConfigurationError

if TYPE_CHECKING:
    from reasoningbank.types.ports import LanguageModel

__all__ = ["LEDGER", "MODELS", "open_model"]

MODELS = ("openai:MODEL", "anthropic:MODEL", "google:MODEL")
"""The names ``open_model`` knows; ``openai:`` with a URL is any server that speaks OpenAI's chat completions."""
LEDGER = "llm-tokens.json"
"""The file below the data directory that counts the tokens of the day."""


def open_model(
    name: str,
    *,
    home: Path,
    url: str = "",
    key: str = "",
    timeout: float = 60.0,
    daily_tokens: int = 0,
    output_tokens: int = 8_192,
    paid_calls: bool = True,
) -> LanguageModel | None:
    """Return the language model of this name; None for the empty name. Nothing is imported, sent or written yet.

    Args:
        name: One of ``MODELS``, for example ``openai:gpt-5-mini``; empty for none.
        home: The data directory; the ledger of a budget lies below it and is shared by all models and processes.
        url: Base URL instead of the provider's own, for example ``http://127.0.0.1:8080/v1`` of a local server.
        key: The provider's key; never shown. Empty takes the provider's own variable (as ``OPENAI_API_KEY``), or
            sends none to an OpenAI-compatible URL.
        timeout: Seconds that one attempt may take as a whole.
        daily_tokens: Input and output tokens per UTC day that are never exceeded; 0 for no limit.
        output_tokens: Most tokens of one answer, thinking included.
        paid_calls: Whether a URL that is not on this machine may be called.

    Raises:
        ConfigurationError: No model has this name, or an argument is not usable.
    """
    if not name:
        return None
    provider, _, model = name.partition(":")
    if provider not in {known.partition(":")[0] for known in MODELS} or not model.strip():
        raise ConfigurationError(
            f"No language model is named {name[:80]!r}.",
            hint=f"Use one of {', '.join(MODELS)}; any OpenAI-compatible server is openai:MODEL with llm_url.",
        )
    if not (math.isfinite(timeout) and timeout > 0):
        raise ConfigurationError(f"A timeout of {timeout} seconds is not usable.", hint="Use a positive number.")
    if daily_tokens < 0:
        raise ConfigurationError(f"A budget of {daily_tokens} tokens is not usable.", hint="Use 0 for no limit.")
    if output_tokens < 1:
        raise ConfigurationError(f"Answers of {output_tokens} tokens are not usable.", hint="Use at least 1,500.")
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError("The key of the language model has characters that no header can carry.")
    from reasoningbank.llm.budget import TokenBudget
    from reasoningbank.llm.provider import ProviderModel, checked

    budget = TokenBudget(home / LEDGER, daily_tokens) if daily_tokens else None
    return ProviderModel(
        provider=provider,
        model=model,
        url=checked(url) if url else "",
        key=key,
        timeout=timeout,
        budget=budget,
        paid_calls=paid_calls,
        max_output_tokens=output_tokens,
    )
