"""Secrets in sentences, chats, logs and tables: what stands beside a word for a secret and reads like one.

This is the last net, behind formats, names and positions. A word for a password asks for a value that somebody chose, a
word for a token for one that a machine drew, a word for a code for digits. Beside the word a weaker sign is enough than
further away in its line. Hashes, versions, identifiers and the names of things are none.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Set
from importlib.resources import files
from typing import NamedTuple

from reasoningbank.safety.anchors import Word
from reasoningbank.safety.secret_formats import SecretSpan, is_sample
from reasoningbank.safety.secret_values import (
    REFERENCE,
    is_chosen,
    is_generated,
    is_hexadecimal,
    is_reference,
    is_strong,
    is_words_with_number,
)

RANK_SENTENCE = 7

_DATA = tomllib.loads(files("reasoningbank.safety").joinpath("secret_words.toml").read_text(encoding="utf-8"))
_CODES: dict[str, int] = {word: number for number, word in enumerate(_DATA["codes"])}
"""Words for codes, by their order."""
_PASS_CODES = frozenset(word for word in _CODES if word.startswith("pass"))
_OTHER_CODES: tuple[str, ...] = tuple(_DATA["other_codes"])
_OWNED = frozenset(_DATA["owned"])
_PAIRS = frozenset(_DATA["pairs"])
_INSIDE = {"pass": "password", "secret": "token", "token": "token", "key": "token"}
"""The words that stand inside of names, too."""
_WHOLE = {
    **dict.fromkeys((*_DATA["passwords"], *_DATA["pairs"]), "password"),
    **dict.fromkeys(_DATA["tokens"], "token"),
}
_WORDS = {**_INSIDE, **_WHOLE}
_OTHERS = {**dict.fromkeys(_DATA["other_passwords"], "password"), **dict.fromkeys(_DATA["other_tokens"], "token")}
_END = re.compile(r"(?<=pass)(?:word|wd|phrase|wort|ord|code|e)?|")
_NOT_PASS = ("by", "com", "sur", "tres", "tran", "en")
SENTENCE_WORDS = (
    *(Word(word, inside=True) for word in _INSIDE),
    *(Word(word) for word in (*_WHOLE, *_CODES) if "pass" not in word),
)
"""The words of ASCII letters without which no sentence speaks of a secret."""

_DELIMITERS = str.maketrans(dict.fromkeys("\"'`,;<>(){}[]|\\*", " "))
_NO_ASCII = re.compile(r"[^ -~]")
_SENTENCE_END = re.compile(r"[.!?;](?:\s|\Z)|[\u3002\uff01\uff1f]|\\n|\n")
_OPENING = r"\s*_`\"'\u300c\u300e\u201c\u2018\u00ab(\["
_LINK = re.compile(
    r"[\s*_`\"'>\u00bb\u201d\u300d)\]]{0,6}(?:[^\n.;!?]{0,48}?[^\w\n.;!?])??(?:"
    + "|".join(map(re.escape, _DATA["signs"]))
    + rf"|(?<![^\W\d_])(?:{'|'.join(_DATA['links'])})(?![^\W\d_])|[{''.join(_DATA['joined'])}])[{_OPENING}]{{0,6}}"
    rf"\Z|[^\n.;!?:]{{0,48}}[:=][{_OPENING}]{{0,6}}[\w.@-]{{2,40}} ?/ ?\Z"
)
_FILE_NAME = re.compile(r"\.[a-z]{2,5}\Z")
_TAG = re.compile("<[^<>]{1,20}>")
_ADJACENT = re.compile(rf"[{_OPENING}]{{1,6}}\Z")
_HASHES = re.compile("|".join(_DATA["hashes"]))
_BEFORE = re.compile(
    r"(?<![\w.$/{<-])[\"'`]?(?P<value>[A-Za-z0-9!#%^&*+~@?$._/=-]{4,512})[\"'`]?,?"
    r" (?:as|is|was|for|to be) (?:[\w'-]{1,14} ){0,4}\Z"
)
_PAIR = re.compile(r"(?<![\w.@:/-])[\w.@-]{2,40}(?P<joint>[:/])(?P<value>[^\s:/\"'`,;()<>|]{6,64})\Z")
_DIGITS = re.compile(r"(?<![\w.:/#-])(?:[A-Z]-)?(?P<value>[0-9]{4,10}|[0-9]{3}[ -][0-9]{3})(?![\w:/%-]|\.[0-9])")
_CODE_OWNER = re.compile("|".join(_DATA["owners"]))
_CODE_LINK = re.compile(
    r"s?[\"'`*]{0,3}(?: (?:token|code|pin))?(?: (?:is|was|(?:for|of) [\w .-]{1,24}?))?"
    r"[ \t\u00a0]{0,3}(?:[:=\uff1a]|is|was|lautet|ist|est|es|->|\u2192|#)?[\s\"'`*]{0,4}\Z"
)
_GROUP = "[A-Za-z0-9]{4,8}"
_GROUPS = re.compile(
    rf"(?<![\w/.-]){_GROUP}(?:[ -]{_GROUP}){{1,12}}"
    rf"(?:(?:[\s,;]|\\n|[0-9]{{1,2}}[.)]){{1,5}}{_GROUP}(?:-{_GROUP}){{1,8}}){{0,20}}(?![\w/.])"
)
_BASE32 = re.compile(
    r"(?<![\w/+=-])(?:[A-Z2-7]{16,128}|[A-Z2-7]{4}(?:[ -][A-Z2-7]{4}){3,15}|[a-z2-7]{4}(?: [a-z2-7]{4}){3,15})"
    r"(?![\w/+=-])"
)
_RECOVERY = re.compile(r"[ _-]?(?:codes?|keys?|passwords?|phrase|tokens?)")
_LINKS_GROUPS = re.compile(
    r"[^\n:=]{0,24}[:=]?(?:\s|\\n|[-*\"'`]|[0-9]{1,2}[.)]){0,12}|[\s\S]{0,3}[0-9]?[:=]?[\s\"'`]{0,4}"
)
_DIGITS_BEFORE = re.compile(
    r"(?<![\w.:/#-])(?:[A-Z]-)?(?P<value>[0-9]{4,10})[\"'`]? (?:is|as) (?:your|the|my|our)(?: [\w-]{1,16}){0,3}[ -]?\Z"
)
_PARAMETER = re.compile(r"&[A-Za-z_.-]{1,40}=")
_DIGIT = re.compile("[0-9]")
_LONG = re.compile("[A-Za-z0-9_+/=.~-]{20}")
_REST = re.compile(r"[A-Za-z0-9!#%^&*+~@?$._/=:-]{0,480}")
_ALONE = re.compile(
    r"[0-9][a-zA-Z]+[0-9]|[!#%^&*+~@?$]|[-_.][a-z]+[-_.][0-9]{2,}\Z"
    r"|\A[a-z]+[-_.][A-Z][a-z]+[0-9]+\Z|\A[A-Z][a-z]+[-_.][a-z]+[0-9]+\Z"
)
_LEAST = 5
_OWNER_REACH = 24
_NEAR = 64
_REACH = 100
_BACK = 90


class _Word(NamedTuple):
    """A word for a secret where it stands in a text."""

    start: int
    end: int
    kind: str


def find_mentions(text: str, lowered: str, there: Set[str]) -> Iterator[SecretSpan]:
    """Yield the values that stand beside a word for a password, a token or a code.

    Args:
        text: The text.
        lowered: The text in lower case, of the same length.
        there: The words that may be in it.
    """
    words = {word: _WORDS[word] for word in _WORDS.keys() & there}
    if not text.isascii():
        words |= {word: kind for word, kind in _OTHERS.items() if word in lowered}
    for word, kind in words.items():
        for place in _places(lowered, word, kind):
            yield from _beside(text, lowered, place)
    codes = _CODES.keys() & (there | _PASS_CODES if "pass" in words else there)
    others = [] if text.isascii() else [word for word in _OTHER_CODES if word in lowered]
    for word in (*sorted(codes, key=_CODES.__getitem__), *others):
        for place in _places(lowered, word, "code"):
            yield from _codes(text, lowered, place)


def _places(lowered: str, word: str, kind: str) -> Iterator[_Word]:
    """Yield where a word stands by itself, or as a part of a name where it may be one."""
    position = lowered.find(word)
    while position >= 0:
        end = position + len(word)
        if word == "pass":
            ending = _END.match(lowered, end)
            end = end if ending is None else ending.end()
            alone = end > position + 4 or not lowered.endswith(_NOT_PASS, 0, position)
            if alone and not lowered[end : end + 1].isalpha():
                yield _Word(position, end, kind)
        elif (
            word in _INSIDE
            or not word.isascii()
            or not (lowered[position - 1 : position].isalpha() or lowered[end : end + 1].isalpha())
        ):
            yield _Word(position, end, kind)
        position = lowered.find(word, end)


def _beside(text: str, lowered: str, word: _Word) -> Iterator[SecretSpan]:
    start = max(text.rfind("\n", 0, word.start) + 1, word.start - _BACK)
    if word.kind == "token" and _LONG.search(text, start, word.end + _REACH) is None:
        return
    if word.start - start > _LEAST and _DIGIT.search(text, start, word.start) is not None:
        yield from _before(text, lowered, word, start)
    stop = min(len(text), word.end + _REACH)
    if _DIGIT.search(text, word.end, stop) is None:
        return
    ending = _SENTENCE_END.search(text, word.end, stop)
    stop = stop if ending is None else ending.start() + (ending.group()[0] in ".!?;")
    if stop - word.end > _LEAST:
        yield from _after(text, lowered, word, stop)


def _after(text: str, lowered: str, word: _Word, stop: int) -> Iterator[SecretSpan]:
    for start, piece in _candidates(text, word.end, stop):
        if start == word.end and piece[0].isalnum():
            continue  # the word goes on, as in a path "/login2"
        end = start + len(piece)
        if end == stop and (more := _REST.match(text, stop)) is not None:
            end = more.end()
        value = _PARAMETER.split(text[start:end].lstrip("=:"))[0].rstrip(".:?,")
        start = end - len(text[start:end].lstrip("=:"))
        head, joint, tail = value.partition("=")
        if joint and tail and (head.isidentifier() or REFERENCE.match(head) is not None):
            start, value = start + len(head) + 1, tail
        lead = start
        pair = _PAIR.match(value) if word.kind == "password" else None
        if pair is not None:
            start, value = start + pair.start("value"), pair["value"].rstrip(".:?")
        elif lowered[word.start : word.end] in _PAIRS:
            continue
        if (
            value[:1] in ("$", ".", "/", "@", "-", "%")
            or text[end : end + 1] in ("(", "[", "{", "\\")
            or text[start - 1] in ("{", "<")
        ):
            continue
        if _FILE_NAME.search(value) is not None or "ENC[" in text[word.end : start]:
            continue
        between = _TAG.sub("|", text[word.end : lead])
        near = len(between) < _NEAR and (_LINK.match(between) is not None or _ADJACENT.match(between) is not None)
        if _is_secret(word.kind, value, lowered, word, near=near):
            yield SecretSpan(start, start + len(value), word.kind, RANK_SENTENCE)
            if word.kind == "password":
                return


def _candidates(text: str, start: int, stop: int) -> Iterator[tuple[int, str]]:
    """Yield the words with a digit in a stretch of a text and where they begin."""
    window = text[start:stop]
    plain = (window if window.isascii() else _NO_ASCII.sub(" ", window)).translate(_DELIMITERS)
    position = 0
    for piece in plain.split():
        if len(piece) > _LEAST and not piece.isalpha() and _DIGIT.search(piece) is not None:
            position = plain.index(piece, position)
            yield start + position, piece
            position += len(piece)


def _before(text: str, lowered: str, word: _Word, start: int) -> Iterator[SecretSpan]:
    stretch = lowered[start : word.start]
    if not (" as " in stretch or " is " in stretch or " for " in stretch or " was " in stretch or " to be " in stretch):
        return
    match = _BEFORE.search(text, start, word.start)
    if match is not None:
        value = match["value"].rstrip(".:?,")
        if _is_secret(word.kind, value, lowered, word, near=True):
            yield SecretSpan(match.start("value"), match.start("value") + len(value), word.kind, RANK_SENTENCE)


def _is_secret(kind: str, value: str, lowered: str, word: _Word, *, near: bool) -> bool:
    if len(value) < 6 or is_reference(value) or is_sample(value):
        return False
    if near and kind == "password" and is_words_with_number(value):
        return True
    if REFERENCE.match(value) is not None:
        return False
    if kind == "password":
        return (
            is_strong(value)
            or (near and is_chosen(value) and "/" not in value and is_alone(value))
            or is_generated(value)
        )
    if is_generated(value):
        mixed = any(map(str.islower, value)) and any(map(str.isupper, value))
        line_start = lowered.rfind("\n", 0, word.start) + 1
        return (
            (mixed or near)
            and len(value) >= 20
            and _HASHES.search(lowered, max(line_start, word.start - 60), word.end + 40) is None
        )
    if near and is_hexadecimal(value) and len(value.removeprefix("0x")) in (32, 40, 48, 64, 96, 128):
        line_start = lowered.rfind("\n", 0, word.start) + 1
        return _HASHES.search(lowered, max(line_start, word.start - 60), word.end + 40) is None
    return False


def is_alone(value: str) -> bool:
    """Return whether a value is no name with a number such as ``server-01`` or ``test_2``."""
    return is_strong(value) or _ALONE.search(value) is not None


def _codes(text: str, lowered: str, word: _Word) -> Iterator[SecretSpan]:
    name = lowered[word.start : word.end]
    owned = name not in _OWNED or _is_owned(lowered[max(0, word.start - _OWNER_REACH) : word.start])
    if not (owned or name in ("pin", "recovery", "backup")):
        return
    start = max(lowered.rfind("\n", 0, word.start) + 1, word.start - _BACK)
    stop = min(len(text), word.end + 160)
    if _DIGIT.search(text, start, stop) is None:
        return
    if name in ("2fa", "mfa", "totp", "otp", "authenticator"):
        for seed in _BASE32.finditer(text, word.end, stop):
            if _DIGIT.search(seed.group()) is not None and "\n" not in text[word.end : seed.start()]:
                yield SecretSpan(*seed.span(), "one-time-password-seed", RANK_SENTENCE)
    if name in ("recovery", "backup", "unseal") and (noun := _RECOVERY.match(lowered, word.end)) is not None:
        groups = _GROUPS.search(text, noun.end(), noun.end() + 400)
        digits = 0 if groups is None else len(_DIGIT.findall(groups.group()))
        if groups is not None and digits > 1 and _LINKS_GROUPS.fullmatch(text, noun.end(), groups.start()) is not None:
            yield SecretSpan(*groups.span(), "recovery-code", RANK_SENTENCE)
        return
    after = _DIGITS.search(text, word.end, stop)
    if after is not None and _CODE_LINK.match(text[word.end : after.start()]) is not None:
        says = name != "pin" or owned or " is " in text[word.end : after.start()]
        if says and (name != "otp" or len(after["value"]) >= 6):
            yield SecretSpan(*after.span("value"), "one-time-password", RANK_SENTENCE)
        return
    before = _DIGITS_BEFORE.search(text, start, word.start) if owned else None
    if before is not None:
        yield SecretSpan(*before.span("value"), "one-time-password", RANK_SENTENCE)


def _is_owned(before: str) -> bool:
    """Return whether the word before a code says that somebody gets in with it."""
    if before[-1:] not in (" ", "_", "-"):
        return False
    words = before.replace("_", " ").replace("-", " ").split()
    return bool(words) and _CODE_OWNER.match(words[-1]) is not None
