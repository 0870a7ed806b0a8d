"""Addresses outside: what a text that an agent records may send its readers to.

An order that is phrased like advice escapes every rule about orders. But to fetch, to give away or to redirect it has
to name a place, and a lesson hardly ever names one. So what an agent records with an address begins unproven, however
it is phrased. Places that every developer visits, reserved names and private networks are none; registries of packages
are some, for anybody may upload to them.
"""

from __future__ import annotations

import re

from reasoningbank.engine.gate.folding import folded

_PUBLIC = (
    "localhost example.com example.org example.net github.com githubusercontent.com gitlab.com bitbucket.org "
    "python.org nodejs.org rust-lang.org golang.org go.dev docker.com docker.io stackoverflow.com readthedocs.io "
    "readthedocs.org mozilla.org w3.org ietf.org "
    "wikipedia.org microsoft.com google.com googleapis.com apple.com amazon.com amazonaws.com debian.org ubuntu.com "
    "postgresql.org sqlite.org apache.org kernel.org gnu.org anthropic.com openai.com huggingface.co"
)
_KNOWN = frozenset(_PUBLIC.split())
_LAST = (
    r"com|net|org|io|dev|app|ai|co|me|info|biz|xyz|site|online|top|club|cloud|sh|ru|cn|uk|de|fr|eu|us|in|jp|br|tk|ly"
    r"|example"
)
_ADDRESS = re.compile(
    rf"\b(?:https?|ftp|ssh|wss?)://(?P<host>[^\s/:?#\"'<>()\[\]]+)"
    rf"|(?<![\w.])[\w.+-]{{1,64}}@(?P<mail>[\w-]+(?:\.[\w-]+)*\.[a-z]{{2,12}})\b"
    rf"|(?<![\w./@-])(?P<name>(?:[\w-]+\.)+(?:{_LAST}))(?![\w-])(?!\()"
    r"|(?<![\w.])(?P<number>(?:\d{1,3}\.){3}\d{1,3})(?![\w.])",
    re.IGNORECASE,
)
_PRIVATE = re.compile(r"(?:127|10|0)\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|255\.")


def find_address(*texts: str) -> str:
    """The first place outside that the texts name; empty when there is none."""
    for match in _ADDRESS.finditer(folded("\n".join(texts))):
        name = next(part for part in match.groups() if part).lower().rpartition("@")[2].rstrip(".")
        if not _is_known(name):
            return name[:80]
    return ""


def _is_known(name: str) -> bool:
    if _PRIVATE.match(name) or "." not in name or name.startswith(("{", "$", "<", "[")):
        return True
    parts = name.split(".")
    return parts[-1] in {"local", "localhost", "internal", "test", "invalid"} or ".".join(parts[-2:]) in _KNOWN
