"""Tell from the runs of letters and digits in a text which of many words it may hold.

To look for two hundred words one by one takes two hundred passes over a text. It is cut into its runs once instead, and
nearly all of them were seen before: what they may belong to is remembered. A digit counts as any digit, so that numbers
and dates are one run. That a word may be there does not say that it is; who asks has to look.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_RUN = re.compile(b"[a-z0]+")
_MOST_KNOWN = 16_384
_LONGEST_KNOWN = 60
_BEGINNING = 2
_FREQUENT = frozenset(
    b"content key agent server authentication token connect credentials user auth client string create step local basic"
    b" computer ext pass split shared pre header request install plus password enable begin svn link mod cli key sae"
    b" set get add new open use name value default code service version test template query with in as on"
    b" mit".split()
)
"""Words that many texts hold."""


def _plain(code: int) -> int:
    character = chr(code).lower() if code < 128 else " "
    return ord("0" if character.isdigit() else character if character.isalpha() else " ")


_PLAIN = bytes(map(_plain, range(256)))


class Word(NamedTuple):
    """A word that is looked for.

    Attributes:
        text: In any case; it may hold signs and white space.
        inside: True when a letter or digit may stand before it.
    """

    text: str
    inside: bool = False


class Anchors:
    """Hold words by a run of each, and what is known of the runs of texts.

    Args:
        words: What is looked for.
    """

    def __init__(self, words: Iterable[Word]) -> None:
        self._whole: dict[bytes, set[str]] = {}
        self._parts: dict[bytes, set[str]] = {}
        for word in words:
            anchor = _anchor(word)
            run = anchor.strip()
            if len(anchor) == len(run) + 2:
                self._whole.setdefault(run, set()).add(word.text)
            else:
                self._parts.setdefault(anchor, set()).add(word.text)
        self._beginnings: dict[bytes, list[bytes]] = {}
        self._others: list[bytes] = []
        for part in self._parts:
            if part.startswith(b" ") and len(part) > _BEGINNING:
                self._beginnings.setdefault(part[1 : _BEGINNING + 1], []).append(part)
            else:
                self._others.append(part)
        self._harmless: set[bytes] = set()
        self._telling: dict[bytes, set[str]] = {}

    def there(self, lowered: str) -> set[str]:
        """Return the words that a text may hold: all that it holds, and perhaps others.

        Args:
            lowered: The text in lower case.
        """
        runs = set(lowered.encode("utf-8", "replace").translate(_PLAIN).split())
        telling = self._telling
        rest = runs - self._harmless
        new = rest.difference(telling)
        found = self._told(new) if new else set()
        return found.union(*map(telling.__getitem__, rest - new))

    def _told(self, new: set[bytes]) -> set[str]:
        """Return the words of runs that are not known, and remember what each tells."""
        joined = b" %b " % b" ".join(new)
        beginnings = {run[:_BEGINNING] for run in new} & self._beginnings.keys()
        likely = [part for beginning in beginnings for part in self._beginnings[beginning]] + self._others
        parts = [part for part in likely if part in joined]
        telling = {run: set(self._whole[run]) for run in new & self._whole.keys()}
        for run in new if parts else ():
            bordered = b" %b " % run
            for part in parts:
                if part in bordered:
                    telling.setdefault(run, set()).update(self._parts[part])
        if len(self._harmless) + len(self._telling) > _MOST_KNOWN:
            self._harmless, self._telling = set(), {}
        self._harmless.update([run for run in new if run not in telling and len(run) <= _LONGEST_KNOWN])
        self._telling.update({run: words for run, words in telling.items() if len(run) <= _LONGEST_KNOWN})
        return set().union(*telling.values())


def _anchor(word: Word) -> bytes:
    """Return the rarest run of a word, a long one, with a blank at each side where it surely ends there."""
    plain = word.text.lower().encode().translate(_PLAIN)
    runs = [*_RUN.finditer(plain)]
    run = max(runs, key=lambda run: (run.group() not in _FREQUENT, len(run.group().replace(b"0", b""))))
    before = b" " if run.start() or not word.inside else b""
    after = b" " if run.end() < len(plain) else b""
    return before + run.group() + after
