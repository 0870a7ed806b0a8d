"""Addresses of language models: which are usable, and which cannot cost money."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit, urlunsplit

from reasoningbank.errors import ConfigurationError

_HINT = "Give the base of the API without user, password or query, for example http://127.0.0.1:8080/v1."


def checked(url: str) -> str:
    """The URL without a trailing slash.

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


def on_this_machine(url: str) -> bool:
    """Whether the URL names the loopback interface: nobody bills for that."""
    host = (urlsplit(url).hostname or "") if url else ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
