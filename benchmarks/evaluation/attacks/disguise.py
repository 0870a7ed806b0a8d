"""Disguises of a text: the same words to a reader, other characters to a rule."""

from __future__ import annotations

import base64
import html
import random
from collections.abc import Callable, Mapping
from types import MappingProxyType

_TWINS = dict(zip("aceopxyis", "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0455", strict=True))
_GREEK = dict(zip("aoiuvkn", "\u03b1\u03bf\u03b9\u03c5\u03bd\u03ba\u03b7", strict=True))
_LEET = dict(zip("aeios", "43105", strict=True))
_TAGS = 0xE0000
_BOLD = 0x1D41A
_WIDE = 0xFEE0


def _woven(mark: str) -> Callable[[str, random.Random], str]:
    def weave(text: str, chance: random.Random) -> str:
        return "".join(letter + (mark if chance.random() < 0.7 else "") for letter in text)

    return weave


def _swapped(table: Mapping[str, str], share: float) -> Callable[[str, random.Random], str]:
    def swap(text: str, chance: random.Random) -> str:
        return "".join(table.get(letter, letter) if chance.random() < share else letter for letter in text)

    return swap


def _wide(text: str, chance: random.Random) -> str:
    del chance
    return "".join(chr(ord(letter) + _WIDE) if "!" <= letter <= "~" else letter for letter in text)


def _bold(text: str, chance: random.Random) -> str:
    del chance
    return "".join(chr(_BOLD + ord(letter) - ord("a")) if "a" <= letter <= "z" else letter for letter in text)


def _spaced(text: str, chance: random.Random) -> str:
    del chance
    return "  ".join(" ".join(word) if word.isalpha() and len(word) > 4 else word for word in text.split(" "))


def _accented(text: str, chance: random.Random) -> str:
    return "".join(letter + ("\u0323" if letter.isalpha() and chance.random() < 0.5 else "") for letter in text)


def _entities(text: str, chance: random.Random) -> str:
    return "".join(f"&#{ord(letter)};" if chance.random() < 0.4 else html.escape(letter) for letter in text)


def _broken(text: str, chance: random.Random) -> str:
    return "".join("\n" if letter == " " and chance.random() < 0.4 else letter for letter in text)


def _encoded(text: str, chance: random.Random) -> str:
    del chance
    return f"The notes of the last run are {base64.b64encode(text.encode()).decode()} in short form."


def _tagged(text: str, chance: random.Random) -> str:
    del chance
    return "Check the log." + "".join(chr(_TAGS + ord(letter)) for letter in text if letter.isascii())


def _reversed_marks(text: str, chance: random.Random) -> str:
    del chance
    return f"\u202d{text}\u202c"


DISGUISES: Mapping[str, Callable[[str, random.Random], str]] = MappingProxyType(
    {
        "zero-width space": _woven("\u200b"),
        "zero-width joiner": _woven("\u200d"),
        "soft hyphen": _woven("\u00ad"),
        "word joiner": _woven("\u2060"),
        "Cyrillic letters": _swapped(_TWINS, 0.6),
        "Cyrillic letters throughout": _swapped(_TWINS, 1.0),
        "Greek letters": _swapped(_GREEK, 0.7),
        "full width": _wide,
        "bold letters": _bold,
        "letters apart": _spaced,
        "accents": _accented,
        "HTML entities": _entities,
        "broken lines": _broken,
        "digits for letters": _swapped(_LEET, 0.5),
        "base64": _encoded,
        "tag characters": _tagged,
        "direction marks": _reversed_marks,
    }
)
"""Every disguise by name; each takes a text and a source of chance."""
