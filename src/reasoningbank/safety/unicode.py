"""Which characters a stored text may hold, and how a text reads once its disguise is taken off.

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

An order that is written with look-alike letters, with letters set apart, in HTML entities or in base64 reads the same
to a language model as in plain letters, and differently to every rule. So the rules read the text in several forms: as
it is, and with each disguise taken off. Nothing of this is ever stored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice

from reasoningbank.safety.disguises import decoded_runs, may_be_in_pairs, unfold
from reasoningbank.safety.lookalikes import PLAIN

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
_CONTROLS = bytes(code for code in (*range(32), 127) if chr(code) not in "\n\t")
_CONDITIONAL = re.compile("[\u200c\u200d\ufe0e\ufe0f]")
_LONG_NON_ASCII = re.compile(rf"[^\x00-\x7f]{{{MAX_COMBINING_MARKS + 1},}}")
_JOINING_SCRIPTS = ((0x0600, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x18AF))
_SYMBOLS = frozenset({"So", "Sk", "Sm"})
_LAST_COMBINING_MARK = 0x1EFFF


def normalise(text: str) -> str:
    """Return the same text in Unicode NFC without characters that nobody can see; see the module for the exact choice.

    Promises: any ``str`` is accepted, the result can be encoded as UTF-8, applying it twice changes nothing more, and
    the time is proportional to the length.
    """
    if text.isascii() and len(text.encode("ascii").translate(None, _CONTROLS)) == len(text):
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


_LATIN = re.compile(r"[a-z]", re.IGNORECASE)
_DIGITS = str.maketrans("013457@$", "oieastas")
_LEET = re.compile(r"(?<![\w])(?=\w*[a-z@$])(?=[\w@$]*[0134578@$])[a-z0134578@$]{3,}(?![\w])", re.IGNORECASE)
_SPACED = re.compile(r"(?<![^\W_])(?:[^\W\d_][ .*·_-]{1,2}){4,}[^\W\d_](?![^\W_])")
_BETWEEN_GAPS = re.compile(r"[ .*·_-][^\W\d_][ .*·_-]{1,2}[^\W\d_][ .*·_-]")
_BESIDE_DIGIT = re.compile(r"[0134578@$](?:(?<=[@$])|(?=[a-z])|(?<=[a-z].))", re.IGNORECASE)
_OTHER_LETTERS = re.compile(r"[^\x00-\x7f]+")
_LEAST_ENCODED = 20
"""A word of fewer characters is not looked at as something encoded."""
_WORD = re.compile(r"\S+")
_LETTER = r"[^\W\d_]"
_SIGNS = rf"(?<={_LETTER})[\d_.+~-]+(?={_LETTER})|(?<=[a-z])(?=[A-Z])"
_BORDER = re.compile(rf"{_SIGNS}|(?<=[A-Z])(?=[A-Z][a-z])")
_BORDER_OF_CAPITALS = re.compile(rf"{_SIGNS}|(?<=[A-Z]{{2}})(?=[a-z])")
"""Borders between two words within a run; the two read the last of several capitals otherwise."""
_SHORT_FORMS = frozenset({"e.g", "i.e", "a.m", "p.m", "u.s"})
_LONGEST_PART = 40
_PART_OF_A_SPAN = re.compile(
    r"^\W{0,3}[^\W\d_]\W{0,3}$|[^\W\d_][.*\u00b7_-]{1,2}[^\W\d_](?:[.*\u00b7_-]|$)|^[2-7][0-9a-f](?:[ :]|$)",
    re.IGNORECASE,
)
"""A part of letters that are set apart, or of hexadecimal digits in pairs."""
_WORDS_AROUND = 12
"""Words to each side of joined words that are read with them."""
_GAP = re.compile(r"[ .*·_-]+")
_ENTITY = re.compile(r"&(?:#\w{2,7}|\w{2,8});")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2}){4,}|%20\w+%20")
_ESCAPED = re.compile(r"(?:\\+(?:u\{?[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})\}?){4}")
_DISGUISED = (("&", _ENTITY), ("%", _PERCENT), ("\\", _ESCAPED))
_JOINED = re.compile(r"\s*\n\s*")
_MARKUP = re.compile(r"[*_`~|#<]|^[ \t]*(?:[>+-]|\d{1,3}[.)]|//)", re.MULTILINE)
"""A sign that a text is marked up."""
_LINE_MARK = re.compile(r"^[ \t]*(?:(?:>|#{1,6}|[-*+]|\d{1,3}[.)]|//+|;+|%+)[ \t]+|>+)+", re.MULTILINE)
"""Signs at the beginning of a line: a quotation, a heading, an item of a list, a comment."""
_SHORT_CODE = re.compile(r"`{1,3}((?:[^`\s]+[ \t]?){1,3})`{1,3}")
_TABLE_ROW = re.compile(r"\|((?:[^|\n]*\|)+)[ \t]*$", re.MULTILINE)
_INLINE_MARK = re.compile(
    r"/\*+|\*+/|<!--+|--+>|</?[A-Za-z][^<>\n]{0,80}>|(?<!\w)_{1,3}(?=\w)|(?<=[\w.,!?])_{1,3}(?!\w)|\*{1,3}|~~"
)
"""Comments, tags, emphasis and strikethrough."""
_MOST_ENCODED = 20


def spans_words(word: str) -> bool:
    """Return whether a word between blanks may belong to a disguise that goes over several words.

    Letters that are set apart stand alone or between signs; hexadecimal digits may stand in pairs; what names the
    rotation of letters is about other words. Any other disguise is worn by one word.
    """
    if len(word) == 1 and word.isascii():
        return word.isalpha() and word not in "aAI"
    if word.strip("(,.;:)").lower() in _SHORT_FORMS:
        return False
    return (len(word) < _LONGEST_PART and _PART_OF_A_SPAN.search(word) is not None) or "rot13" in word.lower()


def may_span_words(text: str) -> bool:
    """Return whether a text may wear a disguise over several words: what ``spans_words`` says of one comes together.

    One letter alone is none, nor is a number: letters set apart are two each between gaps.
    """
    if not text.isascii() or any(sign in text for sign, _ in _DISGUISED):
        return True
    wide = _JOINED.sub(" ", text) if "\n" in text else text
    return _BETWEEN_GAPS.search(wide) is not None or may_be_in_pairs(text) or "rot13" in text.lower()


def forms(text: str) -> Iterator[str]:
    """Yield the text in plain characters on one line, and each further form in which it would read differently.

    No disguise is looked for that a text surely does not wear. Letters set apart are two letters each between gaps. A
    word with digits for letters has both side by side, or a sign.
    """
    plain = folded(text)
    wide = _JOINED.sub(" ", plain) if "\n" in plain else plain
    yield wide
    if _BETWEEN_GAPS.search(wide) and (other := _SPACED.sub(_together, wide)) != wide:
        yield other
    if (other := _changed(wide, _BESIDE_DIGIT, _without_digits)) != wide:
        yield other
    if _MARKUP.search(plain) and (" " in wide or "*" in wide or "~~" in wide):
        yield _without_markup(plain)
    if joined := _around_joined_words(wide):
        yield from dict.fromkeys(each.sub(" ", joined) for each in (_BORDER, _BORDER_OF_CAPITALS))
    yield from _decoded(plain)
    if len(plain) < 2_000 and "rot13" in plain.lower():
        yield plain.translate(_ROT13)


def _without_markup(text: str) -> str:
    """Return a text on one line without the signs of Markdown, tables, comments and tags.

    Longer stretches of code keep their marks: what quotes a sentence may be about it.
    """
    bare = _LINE_MARK.sub("", text)
    bare = _TABLE_ROW.sub(lambda row: row.group(1).replace("|", " "), bare)
    bare = _SHORT_CODE.sub(r"\1", bare)
    return " ".join(_INLINE_MARK.sub("", bare).split())


def apart(text: str) -> str:
    """Return the text with a blank between words that are joined by capitals, digits, underscores or hyphens.

    ``IgnoreAllRules``, ``ignore_all_rules`` and ``ignore2all2rules`` read as three words.
    """
    return _BORDER.sub(" ", text)


def _around_joined_words(wide: str) -> str:
    """Return the parts of a text in which joined words may say a sentence, with the words around; empty for none.

    A sentence has three words or more: three that are joined, or two that are joined beside two others.
    """
    parts = wide.split(" ")
    chosen: list[int] = []
    before = 0
    for number, part in enumerate(parts):
        borders = _borders(part)
        if borders > 1 or (borders and before):
            chosen.append(number)
        before = borders
    near: list[str] = []
    done = 0
    for number in chosen:
        first = max(done, number - _WORDS_AROUND)
        done = max(done, number + _WORDS_AROUND + 1)
        near += parts[first:done]
    return " ".join(near)


@lru_cache(maxsize=16_384)
def _borders(part: str) -> int:
    """Return how many borders between words a run without blanks holds."""
    return 0 if part.islower() and part.isalpha() else len(_BORDER.findall(part))


def folded(text: str) -> str:
    """Return the text in plain characters: no compatibility forms, accents, look-alikes, entities, percent signs."""
    plain = unicodedata.normalize("NFKC", text)
    if any(sign in plain and pattern.search(plain) for sign, pattern in _DISGUISED):
        plain = unicodedata.normalize("NFKC", unfold(plain, letters=False).text)
    if plain.isascii():
        return plain
    plain = _OTHER_LETTERS.sub(_without_marks, unicodedata.normalize("NFD", plain))
    return _changed(plain, _OTHER_LETTERS, _unmasked_words)


def _changed(text: str, sign: re.Pattern[str], change: Callable[[str], str]) -> str:
    """Return the text with what stands between two blanks changed wherever it holds a sign."""
    parts: list[str] = []
    done = 0
    while found := sign.search(text, done):
        first = max(done, text.rfind(" ", done, found.start()) + 1)
        last = text.find(" ", found.end())
        last = len(text) if last < 0 else last
        parts += (text[done:first], change(text[first:last]))
        done = last
    return "".join((*parts, text[done:])) if parts else text


def _without_marks(letters: re.Match[str]) -> str:
    """Return letters without accents and without what only formats."""
    return "".join(each for each in letters.group() if unicodedata.category(each) not in {"Mn", "Me", "Cf"})


def _without_digits(part: str) -> str:
    """Return a part of a text with letters for the digits and signs that stand for letters."""
    return _LEET.sub(lambda word: word.group().translate(_DIGITS), part)


def _unmasked_words(part: str) -> str:
    return _WORD.sub(_unmasked, part)


def _unmasked(word: re.Match[str]) -> str:
    """Return a word in Latin letters when it is mixed from several scripts, or made of look-alikes alone."""
    found = word.group()
    if found.isascii():
        return found
    plain = found.translate(PLAIN)
    return plain if plain.isascii() or _LATIN.search(found) else found


def _together(letters: re.Match[str]) -> str:
    return _GAP.sub("", letters.group())


def _decoded(text: str) -> Iterator[str]:
    """Yield what is encoded in base64 or in hexadecimal digits, where it is readable."""
    long = "\n".join([word for word in text.split() if len(word) >= _LEAST_ENCODED])
    if long:
        found = (decoded for _, _, decoded in decoded_runs(text, long))
        yield from islice((decoded for decoded in found if " " in decoded), _MOST_ENCODED)


_ROT13 = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM"
)


_LONG_WORD = re.compile(r"[^\W\d_]{2,}")
_LEAST_WORDS = 3
_MOST_CHARACTERS = 40
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


def speaks(name: str) -> bool:
    """Return whether a name can say a sentence, as a short word or a number cannot: then the gate has to read it.

    A UUID cannot, whatever its digits stand for: no word that a rule asks for is made of them alone.
    """
    if _UUID.fullmatch(name):
        return False
    return len(name) > _MOST_CHARACTERS or len(_LONG_WORD.findall(apart(folded(name)))) >= _LEAST_WORDS
