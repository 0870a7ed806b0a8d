"""Text analysis of the lexical leg: which words a text is found by.

Both sides of the index go through here, so a memory and a query agree on what a word is:

* Compatibility forms are unified (NFKC), case is folded, accents are left to the index (``remove_diacritics 2``), marks
  that no longer belong to a letter (vowel signs of Indic scripts) are dropped rather than allowed to split a word.
* An identifier gives its parts, then itself: ``getUserName`` -> ``get user name getusername``, ``HTTPServer`` ->
  ``http server httpserver``, ``pg_dump`` -> ``pg dump pgdump``, ``os.path.join`` -> ``os path join ospathjoin``,
  ``self.retry_count`` -> ``self retry count retrycount selfretrycount``. So the plain words find it, and who writes it
  exactly finds it first, because the whole is rare. Humps are told by ASCII capitals.
* Scripts written without spaces (Han, kana, Thai, Lao, Khmer, Burmese) and Hangul, whose particles hang on the word,
  give their characters and their overlapping pairs: a query of one character is found as well as a phrase.

Everything here is linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

MAX_QUERY_TERMS = 64
"""A query is at most this many terms; the first ones count."""
MAX_WORD = 64
"""Words are cut to this many characters, whole identifiers beyond it are given by their parts only."""

_PIECE = 256  # characters normalised at once: bounds the quadratic sorting of stacked combining marks
_WORDS_WITHOUT_SPACES = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1100-\u11ff\uac00-\ud7ff"  # Hangul
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3040-\u31ff"  # iteration marks, kana, bopomofo
    "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])['\u2019](?=(?:s|t|re|ve|ll|d|m)\b)", re.IGNORECASE)
_CHUNK = re.compile(rf"\S{{1,{_PIECE}}}")
_COMPOUND = re.compile(r"\w+(?:(?:[./\\\-]|::)\w+)*")
_SEGMENT = re.compile(r"[^./\\:]+")
_PART = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^A-Z]+|[A-Z]+")
_CAMEL = re.compile(r"[^A-Z][A-Z]|[A-Z]{2}[a-z]")
_SPACELESS = re.compile(rf"[{_WORDS_WITHOUT_SPACES}]+|[^{_WORDS_WITHOUT_SPACES}]+")
_HAS_SPACELESS = re.compile(rf"[{_WORDS_WITHOUT_SPACES}]")

_FUNCTION_WORDS = (
    "a about actually after again all almost already also although always am an and another any anybody anyone "
    "anything are arent as at away be became because become been before being between both but by came can "
    "cannot cant come could couldnt did didnt do does doesnt doing done dont down during each either else "
    "enough ever every everybody everyone everything exactly for from further gave get gets getting give gives "
    "go goes going gone got had hadnt has hasnt have havent having he her here hers herself hes hi hello him "
    "himself his how hows i id if ill im in into is isnt it its itself ive just kind know let lets like likely "
    "look make makes many may maybe me mean might mine more most much must my myself need needs neither never "
    "no nobody none nor not nothing now of off often on once one ones only onto or other others our ours "
    "ourselves out over own per perhaps please possible quite rather really same see seem seems shall she shes "
    "should shouldnt so some somebody someone something sometimes still such take tell than thank thanks that "
    "thats the their theirs them themselves then there theres these they theyll theyre theyve thing things "
    "this those though through thus to together too toward towards try trying under until up upon us use used "
    "uses using very via want wants was wasnt way we well were werent weve what whatever whats when whenever "
    "where wheres whether which while who whoever whom whos whose why will with within without wont would "
    "wouldnt yes yet you youd youll your youre yours yourself youve "
)
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English function words, question words and the filling of questions, as they leave the analysis."""


def analyse(text: str) -> str:
    """Return the words a text is found by, separated by single spaces.

    Words are letters and digits only, lower case, in the order of the text, with repetitions: their number is what BM25
    counts. Identifiers give their parts, then themselves. Safe as input of an FTS5 ``porter unicode61`` tokenizer.
    """
    if text.isascii() and text.islower() and text.replace(" ", "").isalpha():
        return " ".join(token[:MAX_WORD] for token in text.split())
    known = _words_of
    parts = [known.get(token) or _learned(token) for token in _tokens(text)]
    return " ".join(filter(None, parts))


_MOST_KNOWN = 16_384
_words_of: dict[str, str] = {}
"""The words of tokens that were seen before: most come again and again."""


def _learned(token: str) -> str:
    """Return the words of a token, and remember those of a short one."""
    if token.islower() and token.isalnum() and token.isascii():
        words = token[:MAX_WORD]
    else:
        words = " ".join(_spread(token, pairs_only=False))
    if len(token) <= MAX_WORD:
        if len(_words_of) >= _MOST_KNOWN:
            _words_of.clear()
        _words_of[token] = words
    return words


class QueryWords(NamedTuple):
    """The words of a query, each once, in the order they first appear.

    Attributes:
        content: What a memory must hold to match: the words that are not stop words, or all when there is nothing else.
        function: The stop words beside them, which only help to order what matches.
    """

    content: tuple[str, ...]
    function: tuple[str, ...] = ()


def query_words(text: str) -> QueryWords:
    """Return the words of a query, of either kind at most ``MAX_QUERY_TERMS``.

    Runs of a script without spaces give their overlapping pairs alone: single characters would match nearly everything.
    """
    content: dict[str, None] = {}
    function: dict[str, None] = {}
    for token in _tokens(text):
        for word in _spread(token, pairs_only=True):
            (function if word in STOP_WORDS else content)[word] = None
        if len(content) >= MAX_QUERY_TERMS:
            break
    if not content:
        return QueryWords(tuple(function)[:MAX_QUERY_TERMS])
    return QueryWords(tuple(content)[:MAX_QUERY_TERMS], tuple(function)[:MAX_QUERY_TERMS])


def query_terms(text: str) -> tuple[str, ...]:
    """Return the words of a query that a memory must hold to match."""
    return query_words(text).content


def _tokens(text: str) -> Iterable[str]:
    """Compound of word characters as written, compatibility forms unified."""
    if not text.isascii():
        return _unified_tokens(text)
    tokens: list[str] = _COMPOUND.findall(_APOSTROPHE.sub("", text) if "'" in text else text)
    return tokens


def _unified_tokens(text: str) -> Iterator[str]:
    for chunk in _CHUNK.finditer(text):
        piece = chunk.group()
        if not piece.isascii():
            piece = unicodedata.normalize("NFKC", piece)
            piece = "".join(each for each in piece if not unicodedata.category(each).startswith("M"))
        yield from _COMPOUND.findall(_APOSTROPHE.sub("", piece))


def _spread(token: str, *, pairs_only: bool) -> Iterator[str]:
    """Yield the words of one compound: its parts, the whole of every segment that has several, the whole compound."""
    if token.isascii() and token.isalnum() and token.islower():
        yield token[:MAX_WORD]
        return
    if _HAS_SPACELESS.search(token):
        for part in _PART.findall(token):
            for run in _SPACELESS.findall(part):
                if _HAS_SPACELESS.match(run):
                    yield from _characters(run, pairs_only=pairs_only)
                else:
                    yield from _whole([run])
        return
    segments = [_PART.findall(segment) for segment in _SEGMENT.findall(token)]
    for parts in segments:
        words = [hump for part in parts for hump in (_HUMP.findall(part) if _CAMEL.search(part) else (part,))]
        for word in words:
            yield from _folded(word)
        if len(words) > 1:
            yield from _whole(words)
    if len(segments) > 1:
        yield from _whole([part for parts in segments for part in parts])


def _whole(words: list[str]) -> Iterator[str]:
    """Yield the identifier as one word, unless it is too long to be looked for."""
    whole = "".join(words)
    if len(words) == 1 or len(whole) <= MAX_WORD:
        yield from _folded(whole)


def _characters(run: str, *, pairs_only: bool) -> Iterator[str]:
    if not pairs_only or len(run) == 1:
        yield from run
    for first, second in pairwise(run):
        yield first + second


def _folded(word: str) -> tuple[str, ...]:
    """Return the word in lower case; nothing when folding leaves no letter or digit."""
    if word.isascii():
        return (word.lower()[:MAX_WORD],)
    folded = unicodedata.normalize("NFKC", word[:MAX_WORD].casefold())
    return tuple(_PART.findall("".join(each for each in folded if not unicodedata.category(each).startswith("M")))[:1])


_AGAINST = re.compile(
    r"\b(?:never|do not|don't|must not|mustn't|should not|shouldn't|cannot|nunca|niemals|jamais)\b"
    r"|(?:^|[.;:!?\n]\s*)avoid\b",
    re.IGNORECASE,
)


def terms(text: str) -> list[str]:
    """Return the words a text is found by, in order, without stop words."""
    return [word for word in analyse(text).split() if word not in STOP_WORDS]


def polarity(text: str) -> bool:
    """Return whether the text advises against something; "to avoid errors" does not."""
    return _AGAINST.search(text) is not None


def overlap(new: Iterable[str], known: Iterable[str]) -> float:
    """Return which share of the new words the known ones hold, from 0 to 1."""
    fresh, held = set(new), set(known)
    return len(fresh & held) / len(fresh) if fresh else 0.0
