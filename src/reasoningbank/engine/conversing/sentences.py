"""Whether an edge's text says why: a bare "related to" connects nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reasoningbank.engine.analysis import STOP_WORDS, analyse

LEAST_WORDS = 3
"""A sentence has at least so many words."""
_SAYING_LITTLE = (
    "related relates relate relation relationship relationships linked links link connected connects connect "
    "connection connections associated associates associate association similar similarity likewise also same "
    "topic topics topical theme subject matter concerns concern concerning regarding mention mentions mentioned "
    "both another other two node nodes edge edges item items thing things context contextual generally somehow "
    "reference references refers refer see belongs belong together corresponding corresponds correlated strongly "
    "weakly closely directly indirectly semantically request answer action event source preference neighbour"
)
_EMPTY = frozenset(_SAYING_LITTLE.split())
_WORD = re.compile(r"\w+")


def why_bare(text: str, names: Sequence[str] = ()) -> str:
    """Why a text is no reason for an edge, as the rest of a sentence; empty when it gives one.

    It gives one when it has at least three words, and at least one that is neither a function word, nor a name of its
    ends, nor a word that only says that there is some relation.

    Args:
        text: The edge's text.
        names: What its ends are called.
    """
    if len(_WORD.findall(text)) < LEAST_WORDS:
        return "its text is no sentence"
    own = set(" ".join(analyse(name) for name in names).split())
    said = {word for word in analyse(text).split() if word not in STOP_WORDS and word not in own}
    if not said - _EMPTY:
        return "its text says only that there is a relation, not which"
    return ""
