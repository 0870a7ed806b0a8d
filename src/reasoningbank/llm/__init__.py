"""Language models behind the ``LanguageModel`` port: providers, a token budget per day, a scripted stand-in.

No model is needed (DESIGN D7); nothing of a provider is imported before the first prompt is answered.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import ConfigurationError, ModelUnavailable
from reasoningbank.types.ports import MIN_CONTEXT

if TYPE_CHECKING:
    from reasoningbank.settings import Settings
    from reasoningbank.types.ports import LanguageModel

__all__ = ["CLIENTS", "LEDGER", "MODELS", "model_problem", "open_model"]

MODELS = ("openai:MODEL", "anthropic:MODEL", "google:MODEL")
"""The providers ``open_model`` knows; ``openai:`` with a URL is any server that speaks OpenAI's chat completions."""
CLIENTS = ("claude-code", "codex", "gemini", "opencode")
"""The user's own clients that can be a model: ``client:NAME``, or ``client:NAME/MODEL`` for one of its models."""
LEDGER = "llm-tokens.json"
"""The file below the data directory that counts the tokens of the day."""
CLIENT_LEDGER, SESSION_LEDGER = "client-tokens.json", "client-sessions.json"
"""The files that count the tokens and the sessions of the day of the user's own client."""


def open_model(
    name: str,
    *,
    home: Path,
    url: str = "",
    key: str = "",
    timeout: float = 0.0,
    daily_tokens: int = 0,
    output_tokens: int = 8_192,
    context: int = 0,
    paid_calls: bool = True,
    client_sessions: int = 20,
    client_tokens: int = 500_000,
    client_timeout: float = 180.0,
) -> LanguageModel | None:
    """Return the language model of this name; None for the empty name. Nothing is imported, sent or written yet.

    Args:
        name: One of ``MODELS``, for example ``openai:gpt-5-mini``, or ``client:`` and one of ``CLIENTS``; empty for
            none.
        home: The data directory; the ledger of a budget lies below it and is shared by all models and processes.
        url: Base URL instead of the provider's own, for example ``http://127.0.0.1:8080/v1`` of a local server.
        key: The provider's key; never shown. Empty takes the provider's own variable (as ``OPENAI_API_KEY``), or
            sends none to an OpenAI-compatible URL.
        timeout: Seconds that one attempt may take as a whole; 0 for 600 on this machine, elsewhere for a minute and
            what the prompt and its answer need.
        daily_tokens: Input and output tokens per UTC day that are never exceeded; 0 for no limit.
        output_tokens: Most tokens of one answer, thinking included.
        context: Tokens that the model reads at once, prompt and answer together; 0 asks the server at the URL.
        paid_calls: Allow calls of a URL that is not on this machine, and runs of a client.
        client_sessions: Captured sessions per UTC day that a client is asked about; 0 for no limit.
        client_tokens: Tokens per UTC day that it may use; 0 for no limit.
        client_timeout: Seconds one run of it may take.

    Raises:
        ConfigurationError: No model has this name, or an argument is not usable.
    """
    if not name:
        return None
    provider, _, model = name.partition(":")
    if provider == "client":
        return _client(
            model, home=home, seconds=client_timeout, sessions=client_sessions, tokens=client_tokens, paid=paid_calls
        )
    if provider not in {known.partition(":")[0] for known in MODELS} or not model.strip():
        raise ConfigurationError(
            f"No language model is named {name[:80]!r}.",
            hint=f"Use one of {', '.join(MODELS)}; any OpenAI-compatible server is openai:MODEL with llm_url; your own "
            f"agent is {', '.join(f'client:{client}' for client in CLIENTS)}.",
        )
    if not (math.isfinite(timeout) and timeout >= 0):
        raise ConfigurationError(
            f"A timeout of {timeout} seconds is not usable.",
            hint="Use a positive number, or 0 for as long as is usual.",
        )
    if context < 0 or 0 < context < MIN_CONTEXT:
        raise ConfigurationError(
            f"A context of {context} tokens is not usable.",
            hint=f"Use {MIN_CONTEXT:,} or more, or 0 to ask the server.",
        )
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
        context=context,
    )


def model_problem(settings: Settings) -> str:
    """Return what is wrong with the configured model, with what to do; nothing is asked of it, so it costs nothing."""
    try:
        model = open_model(settings.llm, url=settings.llm_url, key=settings.llm_key, home=settings.home)
        if settings.llm.startswith("client:"):
            from reasoningbank.llm.agent_client import HEADLESS, found_program

            found_program(HEADLESS[settings.llm.partition(":")[2].partition("/")[0]].program)
        elif model is not None and find_spec("pydantic_ai") is None:
            return f"{settings.llm} needs a package that is not installed: pydantic-ai-slim."
    except (ConfigurationError, ModelUnavailable) as error:
        return error.advice
    return ""


def _client(name: str, *, home: Path, seconds: float, sessions: int, tokens: int, paid: bool) -> LanguageModel:
    """Return a client of the user as a model.

    Raises:
        ConfigurationError: No such client can be one, or a limit is not usable.
    """
    client, _, model = name.partition("/")
    if client not in CLIENTS:
        raise ConfigurationError(
            f"No client {client[:80]!r} can be a language model.",
            hint=f"Use one of {', '.join(f'client:{each}' for each in CLIENTS)}.",
        )
    if sessions < 0 or tokens < 0:
        raise ConfigurationError("A daily limit of a client cannot be negative.", hint="Use 0 for no limit.")
    if not (math.isfinite(seconds) and seconds > 0):
        raise ConfigurationError(f"A timeout of {seconds} seconds is not usable.", hint="Use a positive number.")
    from reasoningbank.llm.agent_client import ClientModel
    from reasoningbank.llm.budget import SessionBudget, TokenBudget

    return ClientModel(
        client=client,
        model=model,
        home=home,
        seconds=seconds,
        tokens=TokenBudget(home / CLIENT_LEDGER, tokens, setting="client_daily_tokens") if tokens else None,
        sessions=SessionBudget(home / SESSION_LEDGER, sessions) if sessions else None,
        paid_calls=paid,
    )
