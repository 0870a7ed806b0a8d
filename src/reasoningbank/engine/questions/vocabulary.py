"""The tags that a graph has: only they may stand in a sub-query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reasoningbank.engine.analysis import STOP_WORDS, analyse
from reasoningbank.engine.graph.energy import plain_tag
from reasoningbank.engine.graph.question_tags import question_tags

MOST_TAGS = 7
"""Most tags of one sub-query (seed 003's system asks for three to seven)."""
_ENDINGS = (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("ss", "ss"), ("s", ""))
"""Endings of a plural, and what takes their place; the first that fits counts."""
_SHORTEST = 3


class Vocabulary:
    """The tags of a graph, the most frequent first, found by their words whatever stands between these.

    Args:
        tags: Every tag with how many nodes and edges carry it.
    """

    def __init__(self, tags: Sequence[tuple[str, int]]) -> None:
        self._counts = dict(tags)
        self._by_words: dict[str, str] = {}
        for tag, _ in tags:
            self._by_words.setdefault(_key(tag), tag)

    def __len__(self) -> int:
        return len(self._counts)

    def known(self, tag: str) -> str:
        """The graph's tag that is meant; empty when it has none."""
        return tag if tag in self._counts else self._by_words.get(_key(tag), "")

    def matching(self, text: str, *, limit: int = MOST_TAGS) -> tuple[str, ...]:
        """The tags whose words stand together in a text: of more words first, then the rarer.

        A tag of function words alone is never meant by a text.
        """
        found = dict.fromkeys(self._by_words.get(_key(phrase), "") for phrase in question_tags(text))
        meant = [tag for tag in found if tag and set(analyse(tag).split()) - STOP_WORDS]
        ranked = sorted(meant, key=lambda tag: (-len(plain_tag(tag).split()), self._counts[tag], tag))
        return tuple(ranked[:limit])

    def frequent(self, limit: int, *, without: Iterable[str] = ()) -> tuple[str, ...]:
        """The tags that are carried most often."""
        left_out = set(without)
        return tuple(tag for tag in self._counts if tag not in left_out)[:limit]


def _key(tag: str) -> str:
    """The words of a tag, each without the ending of its plural."""
    return " ".join(_singular(word) for word in plain_tag(tag).split())


def _singular(word: str) -> str:
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) + len(instead) >= _SHORTEST:
            return word[: -len(ending)] + instead
    return word
