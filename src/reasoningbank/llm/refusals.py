"""What a server says when it refuses a request for something other than the prompt's length.

Three things can be changed and asked again: how JSON is asked for, how long the answer may be, and a parameter that the
server or the model does not know, such as a temperature that a reasoning model has fixed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LEAST_ANSWER = 16
"""No answer of fewer tokens is asked for."""
_LEAST_GUESSED = 128
"""Nor one of fewer where the server names no number: then something else is the matter."""
OPTIONAL = ("temperature", "top_p", "seed", "max_completion_tokens", "max_tokens")
"""Parameters without which a request means the same; a longer name stands before one that it holds."""
_LONGEST = 8_000

_FORMAT = re.compile(
    r"response[ _-]?(?:format|schema|json|mime)|json[ _-]?(?:schema|object|mode)|\bschemas?\b|grammar|guided[ _-]?"
    r"|structured[ _-]?(?:output|response|generation)|output[ _-]?(?:format|config|schema)"
    r"|(?:unsupported|unknown|unrecognized|unexpected)[ _-]?(?:request )?(?:parameter|argument|field|option)"
    r"|(?:parameter|argument|field|option)s?\b[^\n]{0,60}\b(?:not|isn't|un)[ -]?(?:supported|allowed|permitted|known)"
    r"|extra (?:inputs?|fields?)",
    re.IGNORECASE,
)
_RENAMED = re.compile(
    r"\buse\b[^\n]{0,40}max_completion_tokens|max_completion_tokens[^\n]{0,40}\binstead", re.IGNORECASE
)
_UNKNOWN = (
    r"(?:unsupported|not (?:be )?(?:supported|permitted|allowed|available|compatible|valid|recogni[sz]ed|used|set)"
    r"|(?:does|do|is|are)(?: not|n't)|un(?:known|recogni[sz]ed|expected)|forbidden|deprecated"
    r"|incompatible|extra)"
)
_REFUSING = rf"(?:{_UNKNOWN}|invalid|illegal|must|only|cannot|can't|should|fixed)"
_LENGTH = (
    r"(?:max[_ ]?(?:completion|new|output|gen(?:eration)?|response)?[_ ]?(?:tokens?|length)(?:_to_sample)?"
    r"|n_?predict|num_predict|maximum (?:number of )?(?:completion |output |new |response )?tokens"
    r"|(?:completion|output|generated|new|response|generation)[ _](?:tokens?|length)|输出(?:长度|token)|最大输出)"
)
_BOUND = (
    r"(?:too (?:large|high|big|long|many)|at most|exceed|must be|should be|cannot be|can't be|less than|fewer"
    r"|lower than|smaller than|below|above|<=?|>|\u2264|up to|range|maximum|limit|greater than|larger than|more than"
    r"|between|invalid|\bmax\b"
    r"|不能超过|最大|范围|超过)"
)
_ANSWER_BOUNDED = re.compile(rf"{_LENGTH}[^\n]{{0,160}}?{_BOUND}|{_BOUND}[^\n]{{0,120}}?{_LENGTH}", re.IGNORECASE)
_TOO_SHORT = re.compile(
    r"(?:(?:at least|greater than or equal to|>=?|more than|larger than|greater than|above) ?(?:0|1|zero|one|16)\b"
    r"|positive)"
    r"(?![^\n]*(?:at most|maximum|supported range|less than))",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.\[-])\d{1,3}(?:,\d{3})+(?![\w-])|(?<![\w.-])\d{2,7}(?![\w-]|\.\d)")
_STATUS = re.compile(r"(?:status(?:_code)?|code|http)[\"']?\s*[:=]\s*[\"']?\d{3}\b", re.IGNORECASE)


def refuses_format(said: str) -> bool:
    """Return whether a server does not know how JSON is asked for; any other refusal would be the same without."""
    return _FORMAT.search(said) is not None


def renames_limit(said: str) -> bool:
    """Return whether a server wants the answer's longest length as ``max_completion_tokens``."""
    return _RENAMED.search(said) is not None


def refused_parameter(said: str) -> str:
    """Return the optional parameter that a server refuses; empty when it names none, or another one first."""
    beginning = said[:_LONGEST]
    exact = re.search(r"[\"']param[\"']\s*:\s*[\"']([\w.]+)[\"']", beginning) or re.search(
        r"[\"']loc[\"']\s*:\s*[\[(][^\])]*?[\"'](?!body\b)(\w+)[\"']", beginning
    )
    if exact and (named := exact[1].split(".")[0]) != "messages":
        return named if named in OPTIONAL else ""
    places: dict[str, int] = {}
    for name in (*OPTIONAL, "response_format"):
        refusing = _UNKNOWN if name.startswith("max_") else _REFUSING
        near = rf"(?<![\w.]){name}(?!\w)"
        found = re.search(
            rf"{near}[^\n]{{0,60}}?\b{refusing}\b|\b{refusing}\b[^\n]{{0,60}}?{near}", beginning, re.IGNORECASE
        )
        if found:
            places[name] = found.start() + re.sub(r"(?i)\W+", " ", found.group()).casefold().find(name)
    first = min(places, key=lambda name: places[name], default="")
    return first if first in OPTIONAL else ""


def answer_limit(said: str, asked: int) -> int:
    """Return how long an answer may be where a server says that the one asked for is too long; 0 when it does not.

    Where it names no smaller number, it is half of what was asked for.

    Args:
        said: The server's words, of which none is about the prompt's length.
        asked: Tokens of the longest answer that was asked for.
    """
    beginning = _STATUS.sub(" ", said[:_LONGEST])
    if asked <= LEAST_ANSWER or _ANSWER_BOUNDED.search(beginning) is None or _TOO_SHORT.search(beginning) is not None:
        return 0
    named = [number for number in _limits(beginning) if LEAST_ANSWER <= number < asked]
    if not named and asked not in _numbers(beginning) and _TOO_LONG.search(beginning) is None:
        return 0
    if not named and asked // 2 < _LEAST_GUESSED:
        return 0
    return max(named, default=asked // 2)


_TOO_LONG = re.compile(r"too (?:large|high|big|long|many)|exceed|超过", re.IGNORECASE)


def _numbers(said: str) -> Iterator[int]:
    for found in _NUMBER.finditer(said):
        yield int(found.group().replace(",", ""))


def _limits(said: str) -> Iterator[int]:
    """Yield all numbers that may be a limit; one that is to be stayed below is less by one."""
    for found in _NUMBER.finditer(said):
        below = _BELOW.search(said[: found.start()]) or _EXCLUSIVE.match(said, found.end())
        yield int(found.group().replace(",", "")) - bool(below)


_BELOW = re.compile(r"(?:(?:less|lower|smaller) than|below)\W{0,3}\Z", re.IGNORECASE)
_EXCLUSIVE = re.compile(r" ?\(exclusive\)", re.IGNORECASE)
