"""The vectors of the questions that were asked last: the same question is often asked again.

A hook asks with the prompt that the agent then searches for; each page of an answer, and each of several banks, is
asked the same. A vector that is remembered costs no run of the model and no request.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

_REMEMBERED = 512
"""So many questions; with 384 numbers each that is less than a megabyte."""
_FEW = 16
"""Whoever embeds more at once works through a list that nobody asks again, so none of it is remembered."""
_LONGEST = 2_000
"""Characters of a question that is remembered."""


class QueryVectors:
    """Embed questions, those that were asked lately from memory. Threads may share it.

    Args:
        embed: Returns vectors of questions: shape (len(texts), dimension).
    """

    def __init__(self, embed: Callable[[Sequence[str]], NDArray[numpy.float32]]) -> None:
        self._embed = embed
        self._known: OrderedDict[str, NDArray[numpy.float32]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Return vectors of questions, the caller's own: shape (len(texts), dimension). Raise as ``embed``."""
        import numpy

        if not 0 < len(texts) <= _FEW:
            return self._embed(texts)
        with self._lock:
            rows = {text: self._known[text] for text in texts if text in self._known}
            for text in rows:
                self._known.move_to_end(text)
        if missing := [text for text in dict.fromkeys(texts) if text not in rows]:
            fresh = {text: row.copy() for text, row in zip(missing, self._embed(missing), strict=True)}
            rows |= fresh
            with self._lock:
                self._known.update({text: row for text, row in fresh.items() if len(text) <= _LONGEST})
                while len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
        return numpy.stack([rows[text] for text in texts])
