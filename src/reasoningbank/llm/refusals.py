"""The words in which a server refuses a request for something other than the prompt's length.

Four things can be changed and asked again: how JSON is asked for, how long the answer may be, who gives the
instructions, and a parameter that the server or the model does not know, such as a temperature that a reasoning model
has fixed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LEAST_ANSWER = 16
"""No answer of fewer tokens is asked for."""
_LEAST_GUESSED = 128
"""Nor one of fewer where the server names no number: then something else is the matter."""
OPTIONAL = ("temperature", "top_p", "seed", "max_completion_tokens", "max_tokens", "stream", "strict")
"""Parameters without which a request means the same; a longer name stands before one that it holds."""
_FREE = ("stream", "strict")
"""Those of them that any sentence about a value may speak of."""
_LONGEST = 8_000

_FORMAT = re.compile(
    r"response[ _-]?(?:format|schema|json|mime)|json[ _-]?(?:schema|object|mode)|\bschemas?\b|grammar|guided[ _-]?"
    r"|structured[ _-]?(?:output|response|generation)|output[ _-]?(?:format|config|schema)"
    r"|initiali[sz]e (?:the )?samplers?"
    r"|(?:handle|support|accept|provide|match)(?:s|es|ing)? (?:all |any )?(?:of )?(?:the |your )?(?:requested|required)"
    r" (?:parameters?|features?|capabilit(?:y|ies))",
    re.IGNORECASE,
)
_UNKNOWN_ARGUMENT = re.compile(
    r"(?:unsupported|unknown|unrecognized|unexpected)[ _-]?(?:request )?(?:parameter|argument|field|option)"
    r"|(?:parameter|argument|field|option)s?\b[^\n]{0,60}\b(?:not|isn't|un)[ -]?(?:supported|allowed|permitted|known)"
    r"|extra (?:inputs?|fields?)",
    re.IGNORECASE,
)
_ARGUMENT_NAMED = re.compile(
    r"(?:unsupported|unknown|unrecogni[sz]ed|unexpected|extra)[ _-]?(?:keyword |request |body )?"
    r"(?:parameter|argument|field|option|input|key|property|propertie)s?(?: supplied| received| provided| found)?"
    r"(?:\s*[:=]\s*[\[(]?[`'\"]?|\s*[`'\"])(?P<behind>[a-z_][\w.]*)"
    r"|(?P<before>[a-z_][\w.]*)[`'\"]?\s*[:=]?\s*extra (?:inputs?|fields?)"
    r"|(?:parameter|argument|field|option)s?\s*:?\s*[`'\"](?P<quoted>[a-z_][\w.]*)[`'\"]\s*(?:is|are) (?:not|un)",
    re.IGNORECASE,
)
_FORMAT_PART = re.compile(
    r"response_?(?:format|schema|json|mime)|json|schema|grammar|guided|structured|output_(?:config|format)|strict"
    r"|\A(?:format|type)\Z",
    re.IGNORECASE,
)
_SYSTEM_REFUSED = re.compile(
    r"(?:system|developer)[`'\"]?[ _-](?:role|message|prompt|instruction)s?\b[^\n.]{0,40}"
    r"(?:\bnot\b|n't\b|\bunsupported|\binvalid|\bunknown|\bdisabled|\bcannot\b)"
    r"|(?:not|n't|cannot|un)[ -]?(?:support|accept|allow|permit|know|recogni[sz]e)\w*[^\n.]{0,30}"
    r"(?:[`'\"](?:system|developer)[`'\"]|\b(?:system|developer)[ _-](?:role|message|prompt|instruction))"
    r"|(?:invalid|unexpected|unknown|unsupported|illegal)(?: message)? role\b"
    r"[^\n\w]{0,6}(?:system|developer|\Z|[.!\"'])"
    r"|(?<!system message, )(?:conversation )?roles must alternate"
    r"|only (?:the )?[`'\"]?user[`'\"]?(?:,| and| or)(?: the)? [`'\"]?(?:assistant|model)[`'\"]?[^\n]{0,30} roles?"
    r"|(?:input|role) (?:should|must) be (?:one of )?[`'\"]?user[`'\"]?(?:,| or) [`'\"]?(?:assistant|model)\b",
    re.IGNORECASE,
)
"""Words of chat templates, and of servers of models, that know no instructions beside what the user says."""
_UNREAD = re.compile(
    r"json_validate_failed|failed_generation|output_parse_failed|failed to (?:generate|validate) (?:valid )?json"
    r"|(?:model|generated|generation)\b[^\n.]{0,40}(?:not (?:a )?valid|invalid) json",
    re.IGNORECASE,
)
_CUT = re.compile(r"max(?:imum)? (?:completion |output |new )?tokens? (?:limit )?(?:was |were )?reached", re.IGNORECASE)
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


def refuses_format(said: str, *, named: bool = False) -> bool:
    """Return whether a server does not know how JSON is asked for; any other refusal would be the same without.

    Args:
        said: The server's words.
        named: Something of the format must be named; else it may also be any parameter that is not known.
    """
    unknown = [next(filter(None, found.groups())) for found in _ARGUMENT_NAMED.finditer(said)]
    if unknown:
        return any(_FORMAT_PART.search(each) for each in unknown)
    if _FORMAT.search(said) is not None:
        return True
    if named:
        return False
    exact = _exact_parameter(said)
    return _UNKNOWN_ARGUMENT.search(said) is not None and (not exact or _FORMAT_PART.search(exact) is not None)


def refuses_system(said: str) -> bool:
    """Return whether a model takes no instructions but from the user, as some chat templates do."""
    return _SYSTEM_REFUSED.search(said[:_LONGEST]) is not None


def refuses_answer(said: str) -> bool:
    """Return whether a server says that the model answered, and that the answer is not the JSON that was asked for."""
    return _UNREAD.search(said) is not None


def answer_was_cut(said: str) -> bool:
    """Return whether such an answer was longer than it was allowed to be."""
    return _CUT.search(said) is not None


def renames_limit(said: str) -> bool:
    """Return whether a server wants the answer's longest length as ``max_completion_tokens``."""
    return _RENAMED.search(said) is not None


def refused_parameter(said: str) -> str:
    """Return the optional parameter that a server refuses; empty when it names none, or another one first."""
    beginning = said[:_LONGEST]
    if (named := _exact_parameter(beginning)) and named != "messages":
        return named if named in OPTIONAL else ""
    places: dict[str, int] = {}
    for name in (*OPTIONAL, "response_format"):
        refusing = _UNKNOWN if name in _FREE or name.startswith("max_") else _REFUSING
        near = rf"(?<![\w.]){name}(?!\w)"
        found = re.search(
            rf"{near}[^\n]{{0,60}}?\b{refusing}\b|\b{refusing}\b[^\n]{{0,60}}?{near}", beginning, re.IGNORECASE
        )
        if found:
            places[name] = found.start() + re.sub(r"(?i)\W+", " ", found.group()).casefold().find(name)
    first = min(places, key=lambda name: places[name], default="")
    return first if first in OPTIONAL else ""


def _exact_parameter(said: str) -> str:
    """Return the parameter that an error names in a place of its own; empty when there is none."""
    exact = re.search(r"[\"']param[\"']\s*:\s*[\"']([\w.]+)[\"']", said) or re.search(
        r"[\"']loc[\"']\s*:\s*[\[(][^\])]*?[\"'](?!body\b)(\w+)[\"']", said
    )
    return exact[1].split(".")[0] if exact else ""


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
