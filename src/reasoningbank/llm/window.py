"""How much a model reads at once: what its server says of it, and how servers say that a request was too long."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from reasoningbank.llm.token_count import count_tokens
from reasoningbank.settings import on_this_machine
from reasoningbank.types.ports import MIN_CONTEXT, SizedModel, ThinkingModel

if TYPE_CHECKING:
    from reasoningbank.types.ports import LanguageModel

SECONDS = 3.0
"""A server says its context within so many seconds, else it is not known."""
RESERVE = 0.15
"""The share of the context that stays free: other tokenizers count up to 13 % more than ours on English prose. On code
they count up to half more; then the server refuses, and half is sent."""
SHORT_BELOW = 8_192
"""Models with at most this context are asked with the short prompts."""
OTHER_TOKENIZERS = 1.6
"""No tokenizer that was tried counts more than 1.51 times what ours does."""

_LEAST, _MOST = 256, 20_000_000
_LONGEST_REPLY = 1_000_000
_LONGEST_ERROR = 8_000
_CONTEXT_KEYS = ("n_ctx", "max_model_len", "loaded_context_length", "context_length", "context_window")
_TOO_LONG = re.compile(
    r"exceed_context_size|context_length_exceeded|model_context_window_exceeded"
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
    r"|(?:larger|longer|greater|more) than the model(?:'?s)? (?:input|capacity|context)"
    r"|(?:prompt|input|tokens)[^.\n]{0,60} exceed(?:s|ed|ing)? (?:the )?(?:model(?:'?s)?|context) capacity"
    r"|(?:input|prompt) length[^.\n]{0,60}exceeds|prompt exceeds max|exceed(?:s|ed)? (?:the )?model'?s? token"
    r"|context window exceeds|model'?s context length is only|n_keep[^\n]{0,20}>= ?n_ctx"
    r"|(?:prompt|input)[^.\n]{0,40} is too long|range of input length|must have less than \d+ tokens"
    r"|input token count[^\n]{0,60}only supports|request (?:body )?too large|request_too_large"
    r"|context_?window_?exceeded|context_?length_?exceeded|tokens_limit_reached|max_prompt_tokens_exceeded"
    r"|expected maxlength"
    r"|(?:less|greater|longer|larger) than (?:the )?max_seq_len|than (?:the )?max(?:imum)? context"
    r"|but the configured context size|(?:prompt|input)[ _]tokens? too long"
    r"|(?:prompt|input|context|输入|上下文|提示词?)\s*[^\s,.]{0,10}(?:超长|过长|太长|超出|超过)"
    r"|context shift is (?:disabled|not (?:supported|enabled))|(?:kv[ -]cache|slot|context) is full"
    r"|no kv[ -]?cache slot"
    r"|(?:could not|failed to|unable to) find (?:a )?(?:memory |kv )?slot"
    r"|too (?:long|large|big|many tokens) for (?:the |this )?(?:model(?:'?s)? )?context"
    r"|prompt_too_long|max(?:imum)? (?:input |prompt )?tokens (?:of \d+ )?(?:is |was )?exceeded",
    re.IGNORECASE,
)
_LONG_STRING = re.compile(r"string too long|string_above_max_length", re.IGNORECASE)
_SHORT_FIELD = re.compile(
    r"(?:\bfor|\binvalid|\bparam\w*|\bfield)\W{1,8}(?:user|model|name|stop|metadata|seed|tools?|functions?"
    r"|response_format|safety_identifier|prompt_cache_key)\b",
    re.IGNORECASE,
)
"""A field of a request that is no part of the prompt."""
_EXCEEDS = re.compile(
    r"exceed(?:s|ed|ing)?\b[^\n]{0,80}?\b(?:context(?! deadline| cancel)|window\b"
    r"|(?<!output )(?<!completion )tokens?[ _]limit|max(?:imum)? (?:message|input|prompt) tokens)"
    r"|(?:prompt|input|request(?:ed)?) tokens?(?: count)?\b[^\n]{0,60}exceed"
    r"|context limit[^.\n]{0,40}(?:exceeded|reached)",
    re.IGNORECASE,
)
"""Words of any server; a rate, a quota or a time that was exceeded may be told in the same words."""
_OF_A_TIME = re.compile(
    r"per[ _-]?(?:second|minute|hour|day|month)|\b[tr]p[mds]\b|rate[ _-]?limit|quota|daily|monthly|too many requests"
    r"|time[ -]?out|timed out|deadline",
    re.IGNORECASE,
)
_SAID = (
    re.compile(r"[\"']?n_ctx[\"']?\s*[:=(]\s*(\d{3,8})"),
    re.compile(r"(?:maximum allowed length|model'?s context length|max_num_tokens) \((\d[\d,]{2,9})", re.I),
    re.compile(r"(?:model'?s?|context) (?:capacity|input length limit)(?: of| is|:)?\s*\(?(\d[\d,]{2,9})", re.I),
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
    re.compile(r"max(?:imum)? context(?: length)?: (\d[\d,]{2,9})|context window limit \((\d[\d,]{2,9})\)", re.I),
    re.compile(r"max_seq_len[ :=(]+(\d[\d,]{2,9})|exceeds? the (?:total tokens )?limit (?:of )?(\d[\d,]{2,9})", re.I),
    re.compile(r"total tokens limit (\d[\d,]{2,9})|token count[^\n]{0,40}cannot exceed (\d[\d,]{2,9})", re.I),
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
    beginning = said[:_LONGEST_ERROR]
    if _TOO_LONG.search(beginning) is not None:
        return True
    if _LONG_STRING.search(beginning) is not None:
        return _SHORT_FIELD.search(beginning) is None
    return _EXCEEDS.search(beginning) is not None and _OF_A_TIME.search(beginning) is None


_OF_A_PROMPT = re.compile(r"prompt|context|\btokens?\b", re.IGNORECASE)


def is_of_a_prompt(said: str) -> bool:
    """Return whether a server says that the prompt is too long, not that a body has too many bytes."""
    beginning = said[:_LONGEST_ERROR]
    return is_overflow(beginning) and _OF_A_PROMPT.search(beginning) is not None


def context_in_error(said: str) -> int:
    """Return the context that such an error names; 0 when it names none."""
    return next((size for size in _sizes(said[:_LONGEST_ERROR]) if _LEAST <= size <= _MOST), 0)


_PROMPT_SAID = (
    re.compile(r"n_prompt_tokens[\"']?\s*[:=]\s*(\d{3,8})"),
    re.compile(r"\(?(\d[\d,]{2,9})(?: tokens)? (?:in|from|for) the (?:messages|prompt|input)", re.I),
    re.compile(
        r"(?:request|prompt|input|messages) \((\d[\d,]{2,9}) tokens\)|input token count \((\d[\d,]{2,9})\)", re.I
    ),
    re.compile(
        r"(?:messages|prompt|input|request)(?: has| have| contains?| resulted in| is| length)(?: of| at least)?"
        r" (\d[\d,]{2,9}) (?:input )?tokens",
        re.I,
    ),
    re.compile(r"(?:prompt|input) is too long: (\d[\d,]{2,9}) tokens", re.I),
)


def prompt_in_error(said: str) -> int:
    """Return the tokens of the prompt that such an error names; 0 when it names none."""
    for pattern in _PROMPT_SAID:
        if found := pattern.search(said[:_LONGEST_ERROR]):
            return int(next(filter(None, found.groups())).replace(",", ""))
    return 0


def _sizes(said: str) -> Iterator[int]:
    for pattern in _SAID:
        for found in pattern.finditer(said):
            yield int(next(filter(None, found.groups())).replace(",", ""))


def is_of_a_time(said: str) -> bool:
    """Return whether a server speaks of the tokens of a minute or a day, not of what the model reads at once."""
    return _OF_A_TIME.search(said[:_LONGEST_ERROR]) is not None


class LearnedWindow:
    """Limits of a model that refusals have taught: how much it reads and writes, what its server refuses.

    Safe to use from several threads.

    A request counts with its longest answer and with the reserve, as a context that it needs. Where a server names its
    context, that is it; else it is the longest request that was read since something was refused, and at first half of
    what was refused.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._named = self._refused = self._read = self._formats = self._answer_limit = 0
        self._renamed = self._joined = self._unread = False
        self._dropped: frozenset[str] = frozenset()
        self._ratio = 1.0
        self._prose = 0
        self._cut = self._most = 0
        self._most_ours = (0, 0)

    def counted(self, ours: int, theirs: int) -> None:
        """Note how many tokens a prompt has by our count and by the server's, which is 0 where it does not say."""
        if ours >= _SHORTEST:
            with self._lock:
                self._ratio = max(self._ratio, min((theirs - _TEMPLATE) / ours, _MOST_RATIO))

    @property
    def share(self) -> float:
        """The tokens of the server for one of ours, beyond the reserve; 1 or more."""
        return max(1.0, self._ratio * (1 - RESERVE))

    def in_our_tokens(self, size: int) -> int:
        """Return a context of the server so that a prompt of our tokens fits into it."""
        return min(size, max(math.floor(size / self.share), _LEAST if self._cut else MIN_CONTEXT))

    def cut(self, ours: int, theirs: int) -> bool:
        """Note that a server cut a prompt to so many of its tokens; return whether that is what it reads at most.

        It is not where it was seen to read more: what it keeps from an earlier prompt may not be counted.

        Args:
            ours: The prompt's tokens by our count.
            theirs: Those that the server read.
        """
        with self._lock:
            if theirs < max(_LEAST, self._most):
                return False
            self._cut = min(self._cut or theirs, theirs)
            self._named = min(self._named or theirs, theirs)
        self.counted(ours, theirs)
        return True

    def is_cut(self, ours: int, theirs: int) -> bool:
        """Return whether a prompt was read up to the number at which the server cuts; what was read whole is noted.

        The number is known from a cut before, or because prompts of clearly different lengths were read as the same
        number of tokens, and none as more.

        Args:
            ours: The prompt's tokens by our count.
            theirs: Those that the server reports; 0 when it does not.
        """
        with self._lock:
            if self._cut:
                return theirs >= self._cut
            if ours < _SHORTEST or theirs < max(_LEAST, self._most):
                return False
            shortest, longest = self._most_ours if theirs == self._most else (ours, ours)
            self._most, self._most_ours = theirs, (min(shortest, ours), max(longest, ours))
            return self._most_ours[0] < self._most_ours[1] * (1 - _SAME_LENGTH)

    def is_round(self, theirs: int) -> bool:
        """Return whether so many tokens may be a whole context: a round number, and no prompt was read as more."""
        return theirs >= max(MIN_CONTEXT // 2, self._most) and any(not theirs % each for each in _ROUND)

    def refused(self, needed: int, named: int = 0) -> None:
        """Note a request that was too long, and the context that the server named; 0 when it named none.

        One that no tokenizer makes so long was refused for a smaller context than the named one.
        """
        with self._lock:
            named = named if needed * max(OTHER_TOKENIZERS, self._ratio) >= named else 0
            self._named = min(self._named or named, named) if named else self._named
            self._refused = min(self._refused or needed, needed)
            if self._read >= self._refused:
                self._read = 0

    def read(self, needed: int) -> None:
        """Note a request that was read."""
        with self._lock:
            if needed < self._refused:
                self._read = max(self._read, needed)

    def format_refused(self, formats: int) -> None:
        """Note how many of the ways in which JSON is asked for were refused so far."""
        with self._lock:
            self._formats = max(self._formats, formats)

    def wrote(self, *, json: bool, formats: int) -> None:
        """Note whether an answer has JSON in it; two without in a row are a refusal of the way that it was asked for.

        Args:
            json: Whether it has.
            formats: How many of the ways would be refused then.
        """
        with self._lock:
            self._prose = 0 if json else self._prose + 1
            if self._prose > 1:
                self._prose, self._formats = 0, max(self._formats, formats)

    @property
    def formats(self) -> int:
        """The number of ways in which JSON is asked for that were refused."""
        return self._formats

    @property
    def overflowed(self) -> bool:
        """True when a request was too long since this process began."""
        return self._refused > 0

    def answer_refused(self, limit: int) -> None:
        """Note how long the model's answers may be at most."""
        with self._lock:
            self._answer_limit = min(self._answer_limit or limit, limit)

    @property
    def answer_limit(self) -> int:
        """The longest answer that the model gives, in tokens; 0 when it has not refused one."""
        return self._answer_limit

    def parameter_refused(self, name: str) -> None:
        """Note a parameter that is to be left out."""
        with self._lock:
            self._dropped |= {name}

    @property
    def dropped(self) -> frozenset[str]:
        """Names of parameters that were refused."""
        return self._dropped

    def system_refused(self) -> None:
        """Note that the model takes no instructions but from the user."""
        self._joined = True

    @property
    def joined(self) -> bool:
        """True when the instructions stand in the user's message."""
        return self._joined

    def answer_read(self, read: bool) -> None:
        """Note whether the server could make out the model's last answer as the JSON that was asked for."""
        self._unread = not read

    @property
    def unread(self) -> bool:
        """True when the server refused the model's last answer."""
        return self._unread

    def limit_renamed(self, *, back: bool = False) -> None:
        """Note that the server wants the answer's longest length under its newer name, or under the older one."""
        self._renamed = not back

    @property
    def renamed(self) -> bool:
        """True when the answer's longest length is called ``max_completion_tokens`` there."""
        return self._renamed

    @property
    def named(self) -> int:
        """The smallest context that the server has named; 0 when it has named none."""
        return self._named

    def context(self, known: int) -> int:
        """Return the context to keep to.

        Args:
            known: What is set or said by the server; 0 when nobody knows. What refusals without a number teach counts
                only beside nothing, or where no tokenizer makes that request so long.
        """
        with self._lock:
            if self._named:
                return min(known or self._named, self._named)
            if not self._refused or (known and self._refused * OTHER_TOKENIZERS > known):
                return known
            return max(self._read, self._refused // 2, MIN_CONTEXT)


_SAME_LENGTH = 0.03
"""Two prompts whose lengths differ by more than this share are clearly of different length."""
_ROUND = (1_000, 1_024)
"""People choose contexts that are multiples of these."""
_TEMPLATE = 64
"""Tokens that a chat template may add to a prompt."""
_MOST_RATIO = 4.0
"""No tokenizer counts more for one of our tokens over a whole prompt; what says so counts something else."""

_windows: dict[tuple[str, str], LearnedWindow] = {}
_windows_lock = threading.Lock()


def learned_window(place: str, model: str) -> LearnedWindow:
    """Return what this process has learned of a model at a place: the URL, or the provider's name."""
    with _windows_lock:
        return _windows.setdefault((place, model), LearnedWindow())


def forget_windows(place: str) -> None:
    """Forget what was learned of all models at a place, because another server answers there."""
    with _windows_lock:
        for key in [key for key in _windows if key[0] == place]:
            del _windows[key]


def needed_context(counted: int, answer: int) -> int:
    """Return the context that a request needs, so that ``room_beside`` leaves room for its tokens."""
    return math.ceil(counted / (1 - RESERVE)) + answer


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
    return model.context() if isinstance(model, SizedModel) else 0


def thinks_first(model: LanguageModel) -> bool:
    """Return whether a model was seen to think before it answers, so that its answers need more room."""
    return isinstance(model, ThinkingModel) and model.thinks


def is_small(model: LanguageModel) -> bool:
    """Return whether the model's context is known to be so small that the short prompts fit it better."""
    return 0 < context_of(model) <= SHORT_BELOW


def room_beside(context: int, *written: str, answer: int) -> int:
    """Return the tokens that are left for material, by our vocabulary, beside what is written and the answer."""
    return math.floor((context - answer) * (1 - RESERVE)) - sum(map(count_tokens, written))


def answer_beside(context: int, written: int) -> int:
    """Return the tokens that a context leaves for the answer beside so many written ones and their reserve."""
    return context - math.ceil(written / (1 - RESERVE))
