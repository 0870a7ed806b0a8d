"""Which memories are two lessons though their vectors are close.

Texts from one mould have all but the same vector, whatever word they differ in: "the most followed artist" and "the
least followed artist". So where one memory has only the one word of a pair of opposites and another has only the other
word, they are never put together; a memory that has both words, as "add or remove", speaks of both.

Texts of one subject are close too, though one says "read the format first" and the other "split at the markers". Where
the model's closeness was measured (module ``scale``), memories of one lesson have many words in common as well: a third
of all their words where their cosine is that of near-duplicates (module ``near``), 0.42 where it is less, and any
number where it leaves no doubt. Chosen on 200 pairs read by hand, 8 to 13 % of which, put together by the cosine alone,
were two lessons; ``make eval-consolidation`` checks it on pairs drawn afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy
from numpy.typing import NDArray

from reasoningbank.domain.memory import Memory
from reasoningbank.engine.consolidating.scale import family
from reasoningbank.engine.distilling.near import threshold
from reasoningbank.engine.distilling.validate import terms
from reasoningbank.ports import ClosePairs

NEAR_SHARE, SHARE_OF_WORDS = 1 / 3, 0.42
"""Least share of all words of two memories, stop words aside, that both have: near-duplicates, and others."""
CERTAIN = 0.97
"""Cosines from here on need no common words."""

_OPPOSITES = (
    "most/least highest/lowest maximum,max/minimum,min largest,biggest/smallest longest/shortest newest,latest/oldest,"
    "earliest fastest/slowest ascending/descending increase,increasing,increases/decrease,decreasing,decreases "
    "add,adding,adds/remove,removing,removes create,creating,creates/delete,deleting,deletes "
    "enable,enabling,enables/disable,disabling,disables send,sending,sent/receive,receiving,received "
    "upload,uploading/download,downloading import,importing/export,exporting install,installing/uninstall,uninstalling "
    "follow,following/unfollow,unfollowing like,liked,liking/unlike,unliked,disliked lock,locking,locked/unlock,"
    "unlocking,unlocked mount,mounting/unmount,unmounting open,opening/close,closing start,starting/stop,stopping "
    "approve,approving/deny,denying,reject,rejecting accept,accepting/decline,declining buy,buying/sell,selling "
    "deposit,depositing/withdraw,withdrawing encode,encoding/decode,decoding encrypt,encrypting/decrypt,decrypting "
    "public/private next/previous include,including/exclude,excluding allow,allowing/forbid,forbidding,block,blocking "
    "always/never positive/negative left/right horizontal,rows/vertical,columns uppercase/lowercase morning/evening "
    "yesterday/tomorrow incoming/outgoing internal/external synchronous/asynchronous online/offline "
    "prepend,prepending/append,appending expand,expanding/collapse,collapsing"
)
_PAIRS = tuple(tuple(side.split(",") for side in pair.split("/")) for pair in _OPPOSITES.split())
_SIDES = {
    word: (side, numpy.uint64(1 << number))
    for number, pair in enumerate(_PAIRS)
    for side, words in enumerate(pair)
    for word in words
}
_WORD = re.compile(r"[a-z]+")

Flags = NDArray[numpy.bool_]


def two_lessons(pairs: ClosePairs, memories: Sequence[Memory | None], model_id: str | None) -> Flags:
    """For each pair whether its memories are two lessons all the same.

    Args:
        pairs: The pairs.
        memories: The memory of each id of the pairs; None for one that is gone.
        model_id: The model their vectors come from.
    """
    apart = opposed(pairs, memories)
    if family(model_id) is None:
        return apart
    words: dict[int, frozenset[str]] = {}
    near = threshold(model_id or "")
    for place in numpy.flatnonzero(~apart & (pairs.scores < CERTAIN)).tolist():
        one, other = (_words(words, memories, int(index[place])) for index in (pairs.first, pairs.second))
        share = NEAR_SHARE if pairs.scores[place] >= near else SHARE_OF_WORDS
        apart[place] = len(one & other) < share * len(one | other)
    return apart


def _words(known: dict[int, frozenset[str]], memories: Sequence[Memory | None], place: int) -> frozenset[str]:
    if place not in known:
        memory = memories[place]
        known[place] = frozenset() if memory is None else frozenset(terms(f"{memory.title}\n{memory.content}"))
    return known[place]


def opposed(pairs: ClosePairs, memories: Sequence[Memory | None]) -> Flags:
    """For each pair whether its memories stand on opposite sides of a pair of words."""
    one, other = (numpy.zeros(len(memories), dtype=numpy.uint64) for _ in range(2))
    for place, memory in enumerate(memories):
        if memory is not None:
            first, second = _sides(f"{memory.title}\n{memory.content}")
            one[place], other[place] = first & ~second, second & ~first
    left, right = pairs.first, pairs.second
    found: Flags = ((one[left] & other[right]) | (other[left] & one[right])) != 0
    return found


def _sides(text: str) -> tuple[numpy.uint64, numpy.uint64]:
    sides = [numpy.uint64(0), numpy.uint64(0)]
    for word in set(_WORD.findall(text.lower())) & _SIDES.keys():
        side, bit = _SIDES[word]
        sides[side] |= bit
    return sides[0], sides[1]
