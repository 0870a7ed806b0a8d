"""What is asked in a long query: agents send instructions, stack traces, files and the chat so far around a question.

A model makes one vector of the first few hundred words of a text, and the lexical leg takes its first 64 words: of a
system prompt with a question at its end neither sees the question. So a query of more than :data:`SHORT` words, or with
several lines of code, of a trace or of speakers, is taken apart into passages that could be what is asked, each with
how likely that is by where and how it stands:

* last 2, last but one 0.6, first 1; code, traces and errors are none, except one or two lines by themselves, which may
  be an identifier or an error: last 1.6, first 1.2;
* 3 more behind the last "User:", "Question:" or the like, 0.5 more for a question or an imperative, 0.4 more beside
  code, 0.6 with a blank line between; 2 less for what says how to answer, 0.5 less for a rule ("never", "you are");
* what stands behind the last of them and says only that help is wanted, or how to answer, is left out;
* of a passage of several sentences also its last ones, 0.25 less for each that is added or left out; 1.5 for a text of
  at most :data:`WHOLE` words as a whole, 1 where prose stands apart from code.

Which of them is asked, the bank says: :data:`EVIDENCE` times the log-odds of the relevance of what each finds best,
within :data:`MOST_EVIDENCE`, is added, and the largest sum wins. So what stands last is asked, unless something that
could as well be asked finds much more. The constants were chosen on half of the wrappings of
``benchmarks/evaluation/agent_wrappings.py``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from reasoningbank.memories.words import STOP_WORDS, analyse

SHORT = 100
"""A query of at most so many words without code is asked as it is."""
WHOLE = 350
"""A text of at most so many words may be asked as a whole; models read hardly more."""
MOST = 6
"""So many passages are tried at most."""
EVIDENCE, MOST_EVIDENCE = 0.2, 0.8
_LONGEST = 100
_LINES_OF_CODE = 4
_IDENTIFIER_LINES = 2
_SPEAKERS = 3
_BESIDE = 1.5
_MANY_SIGNS = 0.12
_LONGEST_LINE = 300
_LONGEST_REMARK = 12
_SAYS_LITTLE = (
    "please help fix solve thank thanks idea ideas think thinking step steps happen happens happening wrong problem "
    "issue question explain answer advise advice suggest suggestion suggestions look try way know tell go ahead"
)
"""Words of a remark that no question is about when nothing else is said."""

_FENCE = re.compile(r"\s*(?:```|~~~)")
_TRACE = re.compile(
    r"""\s*(?:File\ ".*",\ line\ \d|at\ [\w$.<]+[\w$>]*[ (:]|Traceback\ |\.\.\.\ \d+\ more|Caused\ by:|[~^ ]+$|npm\ ERR!
    |Exception\ in\ thread|During\ handling\ of\ the|The\ above\ exception\ was|Require\ stack|goroutine\ \d|-\ /
    |diff\ --git|index\ [\da-f]{7}|@@\ |[-+]{3}\ |[-+]\s{2}|[-+]$|={9}|_{9}
    |\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\#\d+\ |node:|Node\.js\ v\d)""",
    re.VERBOSE,
)
_CODE = re.compile(
    r"""\s*(?:(?:async\ def|def|class)\ \w|import\ [\w.]+(?:\ as\ \w+|,.*|;)?\s*$|from\ \S+\ import\ |@\w|\#include|\#!
    |(?:return|elif|except|if|for|while|with|public|private|protected|const|let|var|function|export|package|namespace
    |using|struct|fn|impl|func|throw|SELECT|INSERT|UPDATE)\b[^?]*[=({;:][^?]*$
    |else:|try:|[\])}{(<]|//|/?\*\ |\#\ |\"{3}|'{3}|[\w.\[\]"']+\s*(?:=|\+=|:=)\s|.*[;{]\s*$|.*\)\s*:\s*$)
    |(?:\s{2,}|\t)(?![-*\d\u2022])\S""",
    re.VERBOSE,
)
_ERROR = re.compile(
    r"\s*(?:E\s+)?(?:[\w.$]*(?:Error|Exception|Warning|Failure)|FAILED|ERROR|fatal|error|panic|warning)"
    r"(?:\[\w+\])?\s*[:( ]"
)
_SIGN = re.compile(r"[(){}\[\]=;<>|&\\]")
_ROLE = re.compile(
    r"""\s*(?:\#{1,6}\s*|\*\*|[<\[(]\s*)?
    (?:user(?:[ _](?:query|request|prompt|question|message|input))?|human|question|query|task|request|problem|prompt
    |frage|aufgabe|utilisateur|t\u00e2che|\u7528\u6237|\u95ee\u9898|\u4efb\u52a1)
    \s*(?:\*\*\s*:?|:\s*\*\*|[>\])]\s*:?|[:\uff1a]|\s*$)\s*""",
    re.VERBOSE | re.IGNORECASE,
)
_OTHER_ROLE = re.compile(
    r"\s*(?:\*\*|[<\[(]\s*)?(?:assistant|ai|bot|system|model|tool)\s*(?:\*\*|[>\])]|:)", re.IGNORECASE
)
_TAG = re.compile(r"\s*</?[A-Za-z][\w-]*>\s*$")
_CLOSING_TAG = re.compile(r"</\s*[\w-]+\s*>\s*$")
_HOW_TO_ANSWER = re.compile(
    r"""\W*(?:please\s+)?(?:(?:answer|respond|reply|output|format|explain|keep|return|give|use|write)\b.{0,40}
    \b(?:json|english|german|french|short|brief|briefly|concise|concisely|format|only|bullets?|markdown|answer|response)
    |think\s+step|let's\s+think|take\s+your\s+time|thanks?\b|be\s+(?:brief|concise|short)|assistant:?\s*$)""",
    re.VERBOSE | re.IGNORECASE,
)
_ASKS = re.compile(
    r"""\W*(?:how|what|why|where|when|which|who|can|could|should|does|do|is|are|will|would|find|fix|add|make|write|help
    |please|implement|create|show|tell|explain|get|list|check|update|remove|change|run|set|wie|was|warum|wo|wann|welche
    |kann|comment|pourquoi|o\u00f9|quand|quel|quelle|est-ce)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_RULE = re.compile(
    r"\W*(?:do\ not|don't|never|always|you\ (?:are|must|should|have|will|can)|refuse|prefer)\b",
    re.VERBOSE | re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=[\u3002\uff01\uff1f])")
_SPACELESS = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")


class Passage(NamedTuple):
    """A part of a query that could be what is asked, on one line, and how likely it is by where it stands."""

    text: str
    likelihood: float


@dataclass(slots=True)
class _Paragraph:
    """Lines that stand together: whether they are code, stand beside code, or behind "User:"."""

    lines: list[str] = field(default_factory=list)
    code: bool = False
    marked: bool = False
    beside_code: float = 0.0

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.lines).split())


def passages(text: str) -> tuple[Passage, ...]:
    """Return what may be asked in a text, the likeliest first; of a short one the text itself."""
    words = _size(text)
    lines = text.splitlines()
    if words <= SHORT and sum(map(_is_code, lines)) < _LINES_OF_CODE and sum(map(_is_role, lines)) < _SPEAKERS:
        return (Passage(text, 0.0),)
    paragraphs = _paragraphs(lines)
    found = sorted(_candidates(paragraphs), key=lambda each: -each.likelihood)
    if words <= WHOLE:
        found.append(Passage(" ".join(text.split()), _whole(paragraphs, found)))
    first: dict[str, Passage] = {}
    for each in found:
        first.setdefault(each.text, each)
    return tuple(first.values())[:MOST] or (Passage(text, 0.0),)


def asked(found: Sequence[tuple[Passage, float]]) -> int:
    """Return which of the passages is asked, given the relevance of what each finds best."""

    def worth(place: int) -> float:
        passage, relevance = found[place]
        chance = min(max(relevance, 1e-9), 1.0 - 1e-9)
        evidence = EVIDENCE * math.log(chance / (1.0 - chance))
        return passage.likelihood + min(max(evidence, -MOST_EVIDENCE / 2), MOST_EVIDENCE / 2)

    return max(range(len(found)), key=worth)


def _whole(paragraphs: Sequence[_Paragraph], found: Sequence[Passage]) -> float:
    """Return how likely the text is asked as a whole: less where prose stands apart from code."""
    apart = any(each.code for each in paragraphs) and any(each.likelihood > _BESIDE for each in found)
    return 1.0 if apart else 1.5


def _without_remarks(paragraphs: Sequence[_Paragraph]) -> Sequence[_Paragraph]:
    """Return the paragraphs up to the last that says something: "Please help." asks for what stands before it."""
    end = len(paragraphs)
    while end > 1 and _is_remark(paragraphs[end - 1]):
        end -= 1
    return paragraphs[:end] if any(not each.code and not _is_remark(each) for each in paragraphs[:end]) else paragraphs


def _is_remark(paragraph: _Paragraph) -> bool:
    """Return whether a paragraph says only that help is wanted, or how to answer."""
    words = analyse(paragraph.text).split()
    if paragraph.code or paragraph.marked or len(words) > _LONGEST_REMARK:
        return False
    return bool(_HOW_TO_ANSWER.match(paragraph.text)) or not {*words} - STOP_WORDS - _said_little()


@cache
def _said_little() -> frozenset[str]:
    return frozenset(analyse(_SAYS_LITTLE).split())


def _candidates(paragraphs: Sequence[_Paragraph]) -> Iterator[Passage]:
    paragraphs = _without_remarks(paragraphs)
    asked = [place for place, each in enumerate(paragraphs) if not each.code or len(each.lines) <= _IDENTIFIER_LINES]
    marked = max((place for place in asked if paragraphs[place].marked), default=-1)
    last = len(paragraphs) - 1
    for place in asked:
        each = paragraphs[place]
        if each.code:
            likelihood = {last: 1.6, 0: 1.2}.get(place, 0.0) + 3.0 * (place == marked)
        else:
            likelihood = max({last: 2.0, last - 1: 0.6}.get(place, 0.0), float(place == 0)) + 3.0 * (place == marked)
            likelihood += each.beside_code
        if likelihood == 0.0:
            continue
        rule = bool(_RULE.match(each.text)) and not each.text.endswith("?")
        likelihood -= 0.5 * rule
        likelihood += 0.5 * bool((not rule and _ASKS.match(each.text)) or each.text.endswith(("?", "\uff1f")))
        likelihood -= 2.0 * bool(_HOW_TO_ANSWER.match(each.text))
        yield from _parts(each.text, likelihood, ends=place in {last, marked})


def _parts(text: str, likelihood: float, *, ends: bool) -> Iterator[Passage]:
    """Yield a paragraph, unless it is long, and its last sentences where it ends what was said, else its first ones."""
    sentences = [part for part in _SENTENCE.split(text) if part.strip()]
    if _size(text) <= _LONGEST:
        yield Passage(text, likelihood)
        if ends:
            for left_out in range(1, min(3, len(sentences))):
                yield Passage(" ".join(sentences[left_out - min(3, len(sentences)) :]), likelihood - 0.25 * left_out)
        return
    if ends:
        for count in (1, 2, 3):
            yield Passage(" ".join(sentences[-count:]), likelihood - 0.25 * (count - 1))
    else:
        yield Passage(" ".join(sentences[:2]), likelihood - 1.0)


def _paragraphs(lines: Sequence[str]) -> list[_Paragraph]:
    """Return the paragraphs of prose and of code; a blank line, a speaker's name and the other kind end one."""
    found: list[_Paragraph] = []
    fences = [place for place, line in enumerate(lines) if _FENCE.match(line)]
    opened = {*fences[: len(fences) // 2 * 2]}  # one that is never closed holds nothing
    fenced = False
    fresh = True
    for place, line in enumerate(lines):
        if _FENCE.match(line) or not line.strip():
            fenced, fresh = fenced ^ (place in opened), True
            continue
        role = None if fenced else _ROLE.match(line)
        if role is None and not fenced and _TAG.match(line):
            fresh = True
            continue
        code = fenced or (role is None and _is_code(line))
        said = _CLOSING_TAG.sub("", line[role.end() :] if role else line).strip()
        if fresh or role or _OTHER_ROLE.match(line) or found[-1].code != code:
            beside = 0.0
            if found and found[-1].code != code:
                beside = found[-1].beside_code = 0.6 if fresh else 0.4
            found.append(_Paragraph(code=code, marked=role is not None, beside_code=beside))
        if said:
            found[-1].lines.append(said)
        fresh = False if said else fresh
    return _merged(found)


def _merged(found: Sequence[_Paragraph]) -> list[_Paragraph]:
    """Return the paragraphs that say something; one that stands alone behind a name belongs to the name."""
    kept: list[_Paragraph] = []
    marked = False
    for each in found:
        if not each.lines:
            marked = marked or each.marked
            continue
        each.marked, marked = each.marked or marked, False
        kept.append(each)
    return kept


def _is_role(line: str) -> bool:
    """Return whether a line begins with who says it."""
    return bool(_ROLE.match(line) or _OTHER_ROLE.match(line))


def _is_code(line: str) -> bool:
    """Return whether a line is code, part of a trace or of a log."""
    if len(line) > 12 and len(_SIGN.findall(line)) > _MANY_SIGNS * len(line):
        return True
    return len(line) <= _LONGEST_LINE and bool(_TRACE.match(line) or _CODE.match(line) or _ERROR.match(line))


def _size(text: str) -> int:
    """Return the number of words; two characters of a script without spaces count as one."""
    return len(text.split()) + len(_SPACELESS.findall(text)) // 2
