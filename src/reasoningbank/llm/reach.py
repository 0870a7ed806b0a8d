"""Tell whether a configured model could be asked: its key is there and its server answers. No prompt is sent."""

from __future__ import annotations

from collections.abc import Mapping
from http.client import HTTPException
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from reasoningbank.settings import child_environment, on_this_machine

if TYPE_CHECKING:
    from reasoningbank.settings import Settings

SECONDS = 3.0
"""A server answers within so many seconds, else it is taken for absent."""
_KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "openai": ("OPENAI_API_KEY",),
        "anthropic": ("ANTHROPIC_API_KEY",),
        "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    }
)
"""The providers' own variables for a key."""
_PLACES: Mapping[str, str] = MappingProxyType(
    {
        "openai": "https://api.openai.com/v1",
        "anthropic": "https://api.anthropic.com/v1",
        "google": "https://generativelanguage.googleapis.com/v1beta",
    }
)


class _NoRedirect(HTTPRedirectHandler):
    """Takes a redirect as an answer: the request stays where it was sent."""

    def redirect_request(self, *_: object) -> None:
        """Follow nothing."""


def reach(settings: Settings, *, elsewhere: bool) -> tuple[str, str]:
    """Return what was found out about the model's server, and what is wrong with it; both may be empty.

    Args:
        settings: A model is configured, and its name is known to be good.
        elsewhere: Ask a server that is not on this machine too. No key is sent.
    """
    provider = settings.llm.partition(":")[0]
    if provider == "client":
        return "the program is there; it was not run", ""
    names = _KEYS[provider]
    keyless = provider == "openai" and bool(settings.llm_url)
    if not keyless and not settings.llm_key and not any(map(child_environment({}).get, names)):
        return "not asked", (
            f"{settings.llm} has no key: set llm_key (REASONINGBANK_LLM_KEY) or {' or '.join(names)}, or for a server "
            "of your own llm_url (REASONINGBANK_LLM_URL)."
        )
    url = settings.llm_url or _PLACES[provider]
    if not elsewhere and not on_this_machine(url):
        return "not asked, as it is not on this machine: rbank doctor --ask-model asks whether it answers", ""
    opener = build_opener(_NoRedirect(), *([ProxyHandler({})] if on_this_machine(url) else []))
    try:
        with opener.open(Request(f"{url.rstrip('/')}/models"), timeout=SECONDS):  # noqa: S310 - a checked http address
            pass
    except HTTPError as error:
        error.close()
    except (OSError, HTTPException) as error:
        return "does not answer", (
            f"{settings.llm}: nothing answers at {url} ({type(getattr(error, 'reason', error)).__name__}): start the "
            "server, or check llm_url (REASONINGBANK_LLM_URL)."
        )
    return "answers; the model and its key were not tried", ""
