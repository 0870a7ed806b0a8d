"""Which characters a stored text may hold: visible ones, line feeds and tabs.

Invisible characters hide instructions from the person who reviews a memory and split secrets so that no rule finds
them. What is removed, and what is kept on purpose:

* removed: terminal escape sequences, control characters, zero-width and filler characters, bidirectional controls, the
  tag block U+E0000 to U+E0FFF (so the three flags written with tags become a black flag);
* turned into a line feed: CR LF, CR, vertical tab, form feed, U+0085, U+2028, U+2029;
* turned into U+FFFD: surrogates without a partner;
* kept: one zero-width joiner between two parts of an emoji, one joiner or non-joiner between two characters of a script
  that is written with them (Arabic to Mongolian), one variation selector after a symbol or in a keycap;
* cut: more than 30 combining marks in a row, the bound of the Stream-Safe Text Format (Unicode Annex 15), because the
  normalisation sorts such runs in quadratic time.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

MAX_COMBINING_MARKS = 30

_LINE_ENDS = dict.fromkeys((0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029), "\n")
_REMOVED_RANGES = (
    (0x00, 0x08),
    (0x0E, 0x1F),
    (0x7F, 0x84),
    (0x86, 0x9F),
    (0xAD, 0xAD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200B),
    (0x200E, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0D),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
_TABLE: dict[int, str | None] = {
    **{code: None for first, last in _REMOVED_RANGES for code in range(first, last + 1)},
    **_LINE_ENDS,
}
_REMOVED_CLASS = "".join(f"{chr(first)}-{chr(last)}" for first, last in _REMOVED_RANGES)
_UNWANTED = re.compile(f"[{_REMOVED_CLASS}{''.join(map(chr, _LINE_ENDS))}\u200c\u200d\ufe0e\ufe0f\ud800-\udfff]")
_ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[(?!REDACTED:)[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_CONDITIONAL = re.compile("[\u200c\u200d\ufe0e\ufe0f]")
_LONG_NON_ASCII = re.compile(rf"[^\x00-\x7f]{{{MAX_COMBINING_MARKS + 1},}}")
_JOINING_SCRIPTS = ((0x0600, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x18AF))
_SYMBOLS = frozenset({"So", "Sk", "Sm"})
_LAST_COMBINING_MARK = 0x1EFFF


def normalise(text: str) -> str:
    """The same text in Unicode NFC without characters that nobody can see; see the module for the exact choice.

    Promises: any ``str`` is accepted, the result can be encoded as UTF-8, applying it twice changes nothing more, and
    the time is proportional to the length.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    if _UNWANTED.search(text) is None and unicodedata.is_normalized("NFC", text) and not _LONG_NON_ASCII.search(text):
        return text
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    while (settled := _normalise_once(text)) != text:
        text = settled
    return text


def _normalise_once(text: str) -> str:
    if "\x1b" in text:
        text = _ESCAPE_SEQUENCE.sub("", text)
    text = text.replace("\r\n", "\n").translate(_TABLE)
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _without_stray_joiners(_with_bounded_marks(text)))


def _with_bounded_marks(text: str) -> str:
    if _LONG_NON_ASCII.search(text) is None:
        return text
    return _combining_run().sub(lambda run: run.group()[:MAX_COMBINING_MARKS], text)


@lru_cache(maxsize=1)
def _combining_run() -> re.Pattern[str]:
    marks = "".join(chr(code) for code in range(0x300, _LAST_COMBINING_MARK + 1) if unicodedata.combining(chr(code)))
    return re.compile(f"[{marks}]{{{MAX_COMBINING_MARKS + 1},}}")


def _without_stray_joiners(text: str) -> str:
    pieces: list[str] = []
    position = 0
    before = ""
    for match in _CONDITIONAL.finditer(text):
        if match.start() > position:
            pieces.append(text[position : match.start()])
            before = text[match.start() - 1]
        after = text[match.end()] if match.end() < len(text) else ""
        if _belongs(before, match.group(), after):
            pieces.append(match.group())
            before = match.group()
        position = match.end()
    pieces.append(text[position:])
    return "".join(pieces)


def _belongs(before: str, character: str, after: str) -> bool:
    if not before:
        return False
    if character in "\ufe0e\ufe0f":
        return unicodedata.category(before) in _SYMBOLS or before in "\u203c\u2049" or after == "\u20e3"
    if not after:
        return False
    if _is_joining(before) and _is_joining(after):
        return True
    emoji_before = before == "\ufe0f" or unicodedata.category(before) in _SYMBOLS
    return character == "\u200d" and emoji_before and unicodedata.category(after) in _SYMBOLS


def _is_joining(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _JOINING_SCRIPTS)
