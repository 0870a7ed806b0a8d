"""Read the write-ahead log of a damaged SQLite file frame by frame.

SQLite reads a log up to its first damaged frame. Each frame carries a checksum that goes on from that of the frame
before it, so that a frame behind a damaged one can be told to be whole, too.
Format: https://www.sqlite.org/fileformat2.html, section 4.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

_BIG, _LITTLE = 0x377F0683, 0x377F0682
"""How a log begins whose checksums are made of big-endian words, and of little-endian ones."""
_LOG_HEADER, _FRAME_HEADER = 32, 24
_WORD = 2**32
_MOST_GUESSES = 2
"""So many checksums that a damaged frame may have had are tried with the frame behind it."""

Sum = tuple[int, int]
FrameState = Literal["whole", "damaged", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedPages:
    """Hold the newest committed images of pages in a log.

    Attributes:
        images: By page; none of them is known to be damaged.
        proven: The pages whose image is what was written.
        damaged: Pages of which a newer image is in the log, and damaged.
    """

    images: Mapping[int, bytes]
    proven: frozenset[int]
    damaged: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    page: int
    commits: bool
    salt: bytes
    image: bytes
    state: FrameState


def page_size(log: bytes) -> int:
    """Return the size of a page as a log says it, 0 when it says none."""
    return int.from_bytes(log[8:12]) if int.from_bytes(log[:4]) in {_BIG, _LITTLE} else 0


def committed(log: bytes, size: int, *, most: int) -> CommittedPages:
    """Return the newest committed image of each page in a log.

    Args:
        log: Its bytes.
        size: Bytes of a page.
        most: Pages of the database file; each frame can have added one.
    """
    orders = {_BIG: ">", _LITTLE: "<"}
    stated = orders.get(int.from_bytes(log[:4]))
    found = [_frames(log, size, order) for order in ([stated] if stated else orders.values())]
    frames = max(found, key=lambda frames: sum(frame.state == "whole" for frame in frames))
    run = _run(frames, log[16:24] if stated else b"")
    images: dict[int, _Frame] = {}
    waiting: dict[int, _Frame] = {}
    damaged: set[int] = set()
    for frame in frames:
        if frame.salt != run or not 0 < frame.page <= most + len(frames):
            continue
        if frame.state == "damaged":
            damaged.add(frame.page)
            continue
        waiting[frame.page] = frame
        damaged.discard(frame.page)
        if frame.commits:
            images |= waiting
            waiting.clear()
    return CommittedPages(
        images={page: frame.image for page, frame in images.items()},
        proven=frozenset(page for page, frame in images.items() if frame.state == "whole"),
        damaged=frozenset(damaged),
    )


def _frames(log: bytes, size: int, order: str) -> Sequence[_Frame]:
    """Return all frames of a log, each with what its checksum says of it."""
    before: set[Sum] = {_sum_of(log[:24], order, (0, 0)), _stored(log, 24)}
    known = len(before) == 1
    frames: list[_Frame] = []
    step = _FRAME_HEADER + size
    for place in range(_LOG_HEADER, len(log) - step + 1, step):
        head, image = log[place : place + _FRAME_HEADER], log[place + _FRAME_HEADER : place + step]
        page, commit = struct.unpack_from(">II", head)
        own = _stored(head, 16)
        made = {_sum_of(head[:8] + image, order, seed) for seed in before}
        state: FrameState = "whole" if own in made else "damaged" if known else "unknown"
        frames.append(_Frame(page=page, commits=commit > 0, salt=head[8:16], image=image, state=state))
        # Of a frame that is not whole, either its checksum may be right or all that it is made of.
        known = own in made
        before = {own} if known else {own, *sorted(made)[:_MOST_GUESSES]}
    return frames


def _run(frames: Sequence[_Frame], stated: bytes) -> bytes:
    """Return what the frames of the newest run of a log have in common: behind them lie those of earlier runs."""
    salts = [frame.salt for frame in frames]
    if stated in salts:
        return stated
    whole = [frame.salt for frame in frames if frame.state == "whole"]
    return whole[0] if whole else Counter(salts).most_common(1)[0][0] if salts else b""


def _stored(head: bytes, place: int) -> Sum:
    return int.from_bytes(head[place : place + 4]), int.from_bytes(head[place + 4 : place + 8])


def _sum_of(content: bytes, order: str, seed: Sum) -> Sum:
    first, second = seed
    words = struct.unpack(f"{order}{len(content) // 4}I", content[: len(content) // 4 * 4])
    for one, other in zip(words[::2], words[1::2], strict=False):
        first = (first + one + second) % _WORD
        second = (second + other + first) % _WORD
    return first, second
