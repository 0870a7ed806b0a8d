"""Find the question of a long query: agents send instructions, stack traces, files and the chat so far around it.

A model makes one vector of the first few hundred words of a text, and the lexical leg takes its first 64 words: of a
system prompt with a question at its end neither sees the question. So a query that holds more than one paragraph, or
more than :data:`SHORT` words, is taken apart (``search/paragraphs.py``) into what could be what is asked: its
paragraphs of prose, of a long one also sentences, and a text of at most :data:`WHOLE` words as a whole. Each has signs
of being asked or not, by how and where it stands, and each sign adds to its likelihood (:data:`_WORTH`):

* it is a question, begins like a question or an order, or has no full stop, as what is typed; it says a rule, or how
  to answer; it is a list, a heading, or has no word that only prose has;
* it is what the last user said to whom nobody has answered yet, or stands below "Question:" or in such a tag; it stands
  below another name, in another tag, in what was said before;
* it stands last, before the last, first, beside what is no prose, or is the only prose; in the middle it is less likely
  the more paragraphs stand there (by the binary logarithm of their number).

What says only that help is wanted is left out. So is what is so much less likely than the best that no answer of the
bank could make up for it, and at most :data:`MOST` are tried: mostly one. Which of them is asked, the bank says:
:data:`EVIDENCE` times the log-odds of the relevance of what each finds best, within :data:`MOST_EVIDENCE`, is added,
and the largest sum wins. The constants were fitted, and then rounded by hand, on one half of the forms of
``benchmarks/evaluation/agent_contexts.py`` and of the questions there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from reasoningbank.memories.words import STOP_WORDS, analyse
from reasoningbank.search.paragraphs import Paragraph, paragraphs

SHORT = 100
"""One paragraph of at most so many words is asked as it is."""
WHOLE = 350
"""A text of at most so many words may be asked as a whole; models read hardly more."""
MOST = 3
"""So many passages are tried at most."""
EVIDENCE, MOST_EVIDENCE = 0.2, 0.8
_LONGEST = 100
_LONGEST_REMARK = 12
_FEW_LINES = 2
_MOST_SENTENCES = 3
_LEAST_WORDS = 3
_SAYS_LITTLE = (
    "please help fix solve thank thanks idea ideas think thinking step steps happen happens happening wrong problem "
    "issue question explain answer advise advice suggest suggestion suggestions look try way know tell go ahead"
)
"""Words of a remark that no question is about when nothing else is said."""
_HOW_TO_ANSWER = re.compile(
    r"""\W*(?:please\s+)?(?:(?:answer|respond|reply|output|format|explain|keep|return|give|use|write)\b.{0,40}
    \b(?:json|english|german|french|short|brief|briefly|concise|concisely|format|only|bullets?|markdown|answer|response)
    |think\s+step|let's\s+think|take\s+your\s+time|thanks?\b|be\s+(?:brief|concise|short)|assistant:?\s*$)""",
    re.VERBOSE | re.IGNORECASE,
)
_ASKS = re.compile(
    r"""\W*(?:how|what|why|where|when|which|who|can|could|should|does|do|is|are|will|would
    |wie|was|warum|wo|wann|welche|kann|comment|pourquoi|o\u00f9|quand|quel|quelle|est-ce)\b(?!.*[.:]\W*$)""",
    re.VERBOSE | re.IGNORECASE,
)
_WANTS = re.compile(
    r"""\W*(?:find|fix|add|make|write|help|please|implement|create|show|tell|explain|get|list|check|update|remove|change|run
    |set|let's|i\ (?:need|want|would|have|am|get|keep|see)|i'm|i'd|we\ (?:need|want|have|are|get)|my|our)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_RULE = re.compile(
    r"""\W*(?:do\ not|don't|never|always|you(?:'re|\ (?:are|must|should|have|will|can|may))|act\ as|refuse|prefer|avoid
    |make\ sure|be\ sure|remember|note\ that)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_MARKED = re.compile(r"<\||\[INST\]|[\"']\s*:|^\W*(?:user|human|question|task|query)\b\W*:", re.IGNORECASE)
"""Signs that one line may say more than what is asked."""
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=[\u3002\uff01\uff1f])")
_FULL_STOP = re.compile(r"[.!:;,\u3002\uff01][\"')\]*]*\s*$")
_SPACELESS = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")

_WORTH: Mapping[str, float] = {
    "question": 1.5,
    "request": 1.0,
    "no full stop": 1.0,
    "rule": -2.2,
    "how to answer": -1.0,
    "remark": -4.0,
    "terse": -3.5,
    "list": -1.7,
    "heading": -1.9,
    "asked here": 3.0,
    "said here": 1.5,
    "elsewhere": -2.5,
    "last": 1.2,
    "before the last": 0.8,
    "first": 1.0,
    "one of many": -0.4,
    "beside": 1.8,
    "only prose": 2.0,
    "long": -1.2,
    "mixed": -1.2,
    "from a short one": -1.6,
    "from a mixed one": -1.0,
    "from a long one": -1.4,
    "sentences added": -1.1,
    "says little": -1.5,
    "whole": 2.0,
    "whole, short": 1.8,
    "whole, apart": -2.0,
}
"""The share of each sign in the likelihood that a passage is asked; the docstring above says what they mean."""


class Passage(NamedTuple):
    """A part of a query that could be what is asked, on one line, and how likely it is by where it stands."""

    text: str
    likelihood: float


class Candidate(NamedTuple):
    """A passage with how often it bears each sign."""

    text: str
    signs: Mapping[str, int]

    @property
    def passage(self) -> Passage:
        """The passage, as likely as its signs say."""
        return Passage(self.text, sum(_WORTH[sign] * count for sign, count in self.signs.items()))


def passages(text: str) -> tuple[Passage, ...]:
    """Return what may be asked in a text, the likeliest first; of one short paragraph the text itself."""
    short = _size(text) <= SHORT
    if short and "\n" not in text.strip() and not _MARKED.search(text) and not _instructs(text):
        return (Passage(text, 0.0),)
    found = paragraphs(text)
    if short and len(found) == 1 and not found[0].asked and not _instructs(text):
        return (Passage(text, 0.0),)
    first: dict[str, Passage] = {}
    for each in sorted((each.passage for each in candidates(text, found)), key=lambda each: -each.likelihood):
        first.setdefault(each.text, each)
    best = next(iter(first.values()), None)
    if best is None:
        return (Passage(text, 0.0),)
    return tuple(each for each in first.values() if each.likelihood > best.likelihood - MOST_EVIDENCE)[:MOST]


def _instructs(text: str) -> bool:
    """Return whether one paragraph begins with a rule and ends with something else."""
    sentences = _sentences(text)
    return _is_rule(sentences[0]) and not _is_rule(sentences[-1])


def asked(found: Sequence[tuple[Passage, float]]) -> int:
    """Return which of the passages is asked, given the relevance of what each finds best."""

    def worth(place: int) -> float:
        passage, relevance = found[place]
        chance = min(max(relevance, 1e-9), 1.0 - 1e-9)
        evidence = EVIDENCE * math.log(chance / (1.0 - chance))
        return passage.likelihood + min(max(evidence, -MOST_EVIDENCE / 2), MOST_EVIDENCE / 2)

    return max(range(len(found)), key=worth)


def candidates(text: str, found: Sequence[Paragraph]) -> Iterator[Candidate]:
    """Yield everything in a text that could be what is asked, with its signs, given its paragraphs."""
    kept = _without_remarks(found)
    prose = [each for each in kept if not each.code and not each.elsewhere and not each.listed and not each.heading]
    says = any(not each.code and not _is_remark(each) for each in kept)
    middle = sum(not each.code and not each.elsewhere for each in kept[1:-1])
    for place, each in enumerate(kept):
        ends = place in {0, len(kept) - 1}
        if each.code:
            if ends and len(each.lines) <= _FEW_LINES and not each.said_before:
                yield Candidate(each.text, {"first" if place == 0 else "last": 1})
            continue
        signs = {
            "remark": not says and _is_remark(each),
            "list": each.listed,
            "heading": each.heading,
            "asked here": each.asked,
            "said here": each.said and not each.asked,
            "elsewhere": each.elsewhere,
            "last": place == len(kept) - 1,
            "before the last": place == len(kept) - 2 and place > 0,
            "first": place == 0,
            "beside": any(other.code != each.code for other in kept[max(0, place - 1) : place + 2]),
            "only prose": len(kept) > 1 and len(prose) == 1 and prose[0] is each,
        }
        many = 0 if ends or each.asked else round(math.log2(max(1, middle)))
        yield from _parts(each.text, {sign: 1 for sign, holds in signs.items() if holds} | {"one of many": many})
    if _size(text) <= WHOLE:
        apart = any(map(_is_apart, kept)) and says and not all(each.code or _is_terse(each.text) for each in kept)
        short = not apart and _size(text) <= SHORT and not any(each.code for each in kept)
        yield Candidate(" ".join(text.split()), {"whole": 1, "whole, apart": int(apart), "whole, short": int(short)})


def _is_apart(paragraph: Paragraph) -> bool:
    """Return whether a paragraph is of another kind than what is asked."""
    return paragraph.code or paragraph.listed or paragraph.elsewhere or any(map(_is_rule, _sentences(paragraph.text)))


def _parts(text: str, signs: Mapping[str, int]) -> Iterator[Candidate]:
    """Yield a paragraph, unless it is long, and its first and last sentences."""
    sentences = _sentences(text)
    count, whole = len(sentences), _size(text) <= _LONGEST
    if whole:
        mixed = _is_mixed(sentences)
        yield Candidate(text, {**signs, **_own_signs(sentences, signs), "mixed": int(mixed)})
        if count == 1 or "list" in signs or not (mixed or signs.keys() & {"last", "first", "asked here"}):
            return
    most = min(_MOST_SENTENCES, count)
    for size in range(1, most + 1):
        for start in {0, count - size}:
            if whole and size == count:
                continue
            left_out = "from a mixed one" if whole and mixed else "from a short one" if whole else "from a long one"
            here = {
                **signs,
                **_own_signs(sentences[start : start + size], signs),
                left_out: 1,
                "sentences added": size - 1,
            }
            if _says_little(sentences[start : start + size]):
                here["says little"] = 1
            if start > 0:
                here.pop("first", None)
            if start + size < count:
                here.pop("last", None)
            yield Candidate(" ".join(sentences[start : start + size]), here)


def _says_little(sentences: Sequence[str]) -> bool:
    """Return whether sentences hold too few words to be found by: "Can you do that for me?"."""
    return len({*analyse(" ".join(sentences)).split()} - STOP_WORDS) < _LEAST_WORDS


def _is_mixed(sentences: Sequence[str]) -> bool:
    """Return whether some of several sentences are rules and others are not."""
    return len({_is_rule(each) for each in sentences}) > 1


def _own_signs(sentences: Sequence[str], signs: Mapping[str, int]) -> Mapping[str, int]:
    """Return the signs that sentences bear by what they say, given how they stand.

    Words without prose are a command or a name where code stands beside them, but a query where they are asked.
    """
    questions = sum(each.rstrip("\"')]* ").endswith(("?", "\uff1f")) for each in sentences)
    rules = sum(_is_rule(each) for each in sentences)
    terse = "beside" in signs and "asked here" not in signs and not questions and _is_terse(" ".join(sentences))
    signs = {
        "question": questions > 0,
        "request": any((_ASKS.match(each) or _WANTS.match(each)) and not _is_rule(each) for each in sentences),
        "no full stop": len(sentences) == 1 and not questions and not terse and not _FULL_STOP.search(sentences[0]),
        "rule": rules > 0,
        "how to answer": bool(_HOW_TO_ANSWER.match(sentences[0])),
        "terse": terse,
        "long": _size(" ".join(sentences)) > _LONGEST // 2,
    }
    return {sign: 1 for sign, holds in signs.items() if holds}


def _is_terse(text: str) -> bool:
    """Return whether a text holds no word that only prose has: a command, an identifier, a name."""
    return not _WANTS.match(text) and STOP_WORDS.isdisjoint(analyse(text).split())


def _is_rule(sentence: str) -> bool:
    return bool(_RULE.match(sentence)) and not sentence.rstrip().endswith("?")


def _sentences(text: str) -> list[str]:
    return [part for part in _SENTENCE.split(text) if part.strip()] or [text]


def _without_remarks(found: Sequence[Paragraph]) -> Sequence[Paragraph]:
    """Return the paragraphs up to the last that says something: "Please help." asks for what stands before it."""
    end = len(found)
    while end > 1 and _is_remark(found[end - 1]):
        end -= 1
    return found[:end] if any(not each.code and not _is_remark(each) for each in found[:end]) else found


def _is_remark(paragraph: Paragraph) -> bool:
    """Return whether a paragraph says only that help is wanted, or how to answer."""
    words = analyse(paragraph.text).split()
    if paragraph.code or paragraph.asked or len(words) > _LONGEST_REMARK:
        return False
    return bool(_HOW_TO_ANSWER.match(paragraph.text)) or not {*words} - STOP_WORDS - _said_little()


@cache
def _said_little() -> frozenset[str]:
    return frozenset(analyse(_SAYS_LITTLE).split())


def _size(text: str) -> int:
    """Return the number of words; two characters of a script without spaces count as one."""
    return len(text.split()) + len(_SPACELESS.findall(text)) // 2
