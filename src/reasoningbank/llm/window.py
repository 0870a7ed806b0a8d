"""How much a model reads at once: what its server says of it, and how servers say that a request was too long."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from reasoningbank.llm.token_count import count_tokens
from reasoningbank.settings import on_this_machine

if TYPE_CHECKING:
    from reasoningbank.types.ports import LanguageModel

SECONDS = 3.0
"""A server says its context within so many seconds, else it is not known."""
RESERVE = 0.15
"""The share of the context that stays free: other tokenizers count up to 13 % more than ours on English prose. On code
they count up to half more; then the server refuses, and half is sent."""
SHORT_BELOW = 8_192
"""Models with at most this context are asked with the short prompts."""

_LEAST, _MOST = 256, 20_000_000
_LONGEST_REPLY = 1_000_000
_LONGEST_ERROR = 8_000
_CONTEXT_KEYS = ("n_ctx", "max_model_len", "loaded_context_length", "context_length", "context_window")
_TOO_LONG = re.compile(
    r"exceed_context_size|context_length_exceeded|string_above_max_length|model_context_window_exceeded"
    r"|exceeds? (?:the )?(?:available |max(?:imum)? |model'?s? )*context"
    r"|exceeded (?:the )?(?:max(?:imum)? )?context|larger than the max(?:imum)? context"
    r"|context (?:size|length|window)[^.\n]{0,40}(?:exceeded|too small|overflow)|context overflow"
    r"|greater than the context length|context the overflows|reached context length"
    r"|maximum context length|maximum model length|max_model_len"
    r"|prompt (?:is )?too (?:long|large|big)|input (?:is )?too (?:long|large|big)|too big compared to kv"
    r"|failed to find free space in the kv cache"
    r"|input tokens exceed|input token count[^\n]{0,60}exceeds|exceed(?:s|ed)? (?:the )?context (?:limit|window|size)"
    r"|inputs?.{0,20}tokens.{0,40}must be <=|reduce the length of (?:the|your) (?:messages|prompt|input)"
    r"|too many (?:input )?tokens (?:in|for) (?:the )?(?:prompt|request|model|context)"
    r"|too many (?:input )?tokens[.:] (?:max|size|total)|input tokens exceeded|maximum prompt length"
    r"|longer than the model'?s? (?:context|input)|larger than the model input length"
    r"|(?:input|prompt) length[^.\n]{0,60}exceeds|prompt exceeds max|exceed(?:s|ed)? (?:the )?model'?s? token"
    r"|context window exceeds|model'?s context length is only|n_keep[^\n]{0,20}>= ?n_ctx"
    r"|(?:prompt|input)[^.\n]{0,40} is too long|range of input length|string too long|must have less than \d+ tokens"
    r"|input token count[^\n]{0,60}only supports|request too large|request_too_large",
    re.IGNORECASE,
)
_SAID = (
    re.compile(r"[\"']?n_ctx[\"']?\s*[:=(]\s*(\d{3,8})"),
    re.compile(r"(?:maximum allowed length|model'?s context length|max_num_tokens) \((\d[\d,]{2,9})", re.I),
    re.compile(r"maximum (?:prompt|context) length(?: is|:)? (\d[\d,]{2,9})", re.I),
    re.compile(r"(?:exceeds|input length) limit (?:of )?(\d[\d,]{2,9})", re.I),
    re.compile(r"(?:max input tokens|token limit): (\d[\d,]{2,9})|while limit is (\d[\d,]{2,9})", re.I),
    re.compile(r"less than (\d[\d,]{2,9}) tokens", re.I),
    re.compile(r"range of input length should be \[\d+, (\d[\d,]{2,9})\]|only supports up to (\d[\d,]{2,9})", re.I),
    re.compile(r"tokens allowed (\d[\d,]{2,9})", re.I),
    re.compile(
        r"context (?:size|length|window|limit)(?: is| of)?(?: only)?\s*\(?\s*(\d[\d,]{2,9})\)?(?: tokens)?", re.I
    ),
    re.compile(r"maximum model length(?: of| is)?\s*\(?(\d[\d,]{2,9})", re.I),
    re.compile(r"\((?:max_model_len=)?(\d[\d,]{2,9}) tokens\)", re.I),
    re.compile(r">\s*(\d[\d,]{2,9}) maximum|with (\d[\d,]{2,9}) maximum context", re.I),
    re.compile(r"tokens allowed \((\d[\d,]{2,9})\)|configured limit of (\d[\d,]{2,9})", re.I),
    re.compile(r"exceed context limit:[^>\n]{0,60}>\s*(\d[\d,]{2,9})", re.I),
    re.compile(r"must be <= (\d[\d,]{2,9})", re.I),
)


class _NoRedirect(HTTPRedirectHandler):
    """Takes a redirect as an answer: the key stays where it was meant to go."""

    def redirect_request(self, *_: object) -> None:
        """Follow nothing."""


def told_context(url: str, model: str, key: str = "") -> int:
    """Return how many tokens the model behind an OpenAI-compatible URL reads at once; 0 when its server does not say.

    llama.cpp says it at ``/props``, vLLM and routers in the list of models, LM Studio in a list of its own, and Ollama
    in the list of the models that are loaded: of one that is not, nothing is known.

    Args:
        url: Base of the API.
        model: The model's name there.
        key: Sent to the list of models; empty sends none.
    """
    base = url.rstrip("/")
    props = _reply(f"{base.removesuffix('/v1')}/props", base, "")
    if isinstance(props, dict):
        made = props.get("default_generation_settings")
        for each in (made, props):
            if isinstance(each, dict) and (known := _context_in(each)):
                return known
    root = base.removesuffix("/v1")
    for address in (f"{base}/models", f"{root}/api/v0/models", f"{root}/api/ps"):
        if size := _context_listed(_reply(address, base, key), model):
            return size
    return 0


def _context_listed(listed: object, model: str) -> int:
    """Return the context of a model in a list of models; of the only one when none has its name."""
    entries = (listed.get("data") or listed.get("models")) if isinstance(listed, dict) else None
    models = [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []
    names = {model, f"{model}:latest"}
    own = [each for each in models if each.get("id") in names or each.get("name") in names]
    return next((size for each in own or models[:1] * (len(models) == 1) if (size := _context_in(each))), 0)


def _context_in(entry: Mapping[str, object]) -> int:
    for name in _CONTEXT_KEYS:
        size = entry.get(name)
        if isinstance(size, int) and not isinstance(size, bool) and _LEAST <= size <= _MOST:
            return size
    return 0


def _reply(url: str, base: str, key: str) -> object:
    opener = build_opener(_NoRedirect(), *([ProxyHandler({})] if on_this_machine(base) else []))
    request = Request(url, headers={"authorization": f"Bearer {key}"} if key else {})  # noqa: S310 - a checked address
    try:
        with opener.open(request, timeout=SECONDS) as reply:
            return json.loads(reply.read(_LONGEST_REPLY))
    except (OSError, HTTPException, ValueError):
        return None


def is_overflow(said: str) -> bool:
    """Return whether a server says that the request is longer than the model's context."""
    return _TOO_LONG.search(said[:_LONGEST_ERROR]) is not None


def context_in_error(said: str) -> int:
    """Return the context that such an error names; 0 when it names none."""
    return next((size for size in _sizes(said[:_LONGEST_ERROR]) if _LEAST <= size <= _MOST), 0)


def _sizes(said: str) -> Iterator[int]:
    for pattern in _SAID:
        for found in pattern.finditer(said):
            yield int(next(filter(None, found.groups())).replace(",", ""))


_ASCII = 0.9
_FEWEST, _FEWEST_ELSEWHERE = 0.75, 0.4
_SHORTEST = 200


def was_truncated(sent: str, counted: int, read: int) -> bool:
    """Return whether a server that read so few tokens cannot have read the whole request.

    On text in Latin letters current tokenizers count at least 90 % of what ours counts; in Chinese and Japanese half.

    Args:
        sent: What was sent.
        counted: Its tokens by our vocabulary.
        read: The tokens that the server reports; 0 when it reports none.
    """
    if not read or counted < _SHORTEST:
        return False
    plain = sum(character.isascii() for character in sent) >= _ASCII * len(sent)
    return read < counted * (_FEWEST if plain else _FEWEST_ELSEWHERE)


def context_of(model: LanguageModel) -> int:
    """Return how many tokens a model reads at once; 0 when nobody knows."""
    from reasoningbank.types.ports import SizedModel

    return model.context() if isinstance(model, SizedModel) else 0


def is_small(model: LanguageModel) -> bool:
    """Return whether the model's context is known to be so small that the short prompts fit it better."""
    return 0 < context_of(model) <= SHORT_BELOW


def room_beside(context: int, *written: str, answer: int) -> int:
    """Return the tokens that are left for material, by our vocabulary, beside what is written and the answer."""
    return math.floor((context - answer) * (1 - RESERVE)) - sum(map(count_tokens, written))
