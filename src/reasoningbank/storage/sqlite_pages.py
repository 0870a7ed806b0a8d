"""Read the pages of a damaged SQLite file one by one, without SQLite, which refuses a file that it cannot trust.

Formats: https://www.sqlite.org/fileformat2.html, sections 1.3 (header), 1.6 (B-tree pages), 2.1 (records), 4.1 (log).
The package of SQLite that is used brings its own recovery only inside of a program for the terminal, which knows
neither page checksums nor rows that prove themselves.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import apsw

from reasoningbank.storage.rows import Row, Value
from reasoningbank.storage.sqlite_connection import RESERVED_BYTES, checksum_vfs
from reasoningbank.storage.sqlite_log import committed, page_size

MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
_DEFAULT_SIZE = 4_096
_SIZES = tuple(2**power for power in range(9, 17))
_SAMPLE = 64
"""DamagedPages that are looked at to find out how large pages are when the header does not say it."""
_TABLE_LEAF, _TABLE_INNER, _INDEX_LEAF, _INDEX_INNER = 0x0D, 0x05, 0x0A, 0x02
_INNER = frozenset({_TABLE_INNER, _INDEX_INNER})
_WIDTHS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Bytes of an integer by its serial type."""
_FIRST_BLOB = 12

Judge = Callable[[bytes], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRecord:
    """One record of a page.

    Attributes:
        key: The row's number; None in an index and in a table without numbers.
        values: What it holds.
        pages: The pages that hold it.
        proven: True when the checksums of all pages that hold it are right, or pages have none.
    """

    key: int | None
    values: Row
    pages: tuple[int, ...]
    proven: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """The records of one page of a table or an index, and the pages below it.

    Attributes:
        number: The page.
        rows: Its records that can be read.
        children: The pages below it.
        lost: How many of its records cannot be read.
    """

    number: int
    rows: tuple[PageRecord, ...]
    children: tuple[int, ...]
    lost: int


class DamagedPages:
    """The newest image of every page: in the file, or in the part of its log that was committed.

    Args:
        path: The file; its log lies beside it.

    Attributes:
        size: Bytes of a page.
        count: How many pages there are.
    """

    def __init__(self, path: Path) -> None:
        self._content = path.read_bytes()
        log = path.with_name(f"{path.name}-wal")
        self._log = log.read_bytes() if log.is_file() else b""
        with closing(apsw.Connection(":memory:", vfs=checksum_vfs())) as connection:
            judge = _judge(connection)
            self.size, reserved = _layout(self._content, self._log, judge)
            self._usable = self.size - reserved
            written = committed(self._log, self.size, most=-(-len(self._content) // self.size))
            self._newer = written.images
            self.count = max(-(-len(self._content) // self.size), *self._newer.keys(), 0)
            self._outdated = written.damaged
            # A page in the log has no checksum of its own yet: that of its frame covers it.
            self._proven = written.proven | {
                number
                for number in range(1, self.count + 1)
                if number not in self._newer and (not reserved or judge(self._image(number) or b""))
            }

    @property
    def unproven(self) -> int:
        """How many pages are not what was written last, or cannot be told to be."""
        return self.count - len(self._proven - self._outdated)

    @property
    def cut(self) -> bool:
        """Whether the file's first page cannot be read, or the file has fewer pages than that page says.

        The first page names the tables and the pages at which they begin. Without it, or without the pages at the end,
        nothing tells how many rows there were.
        """
        first = self._image(1)
        if first is None or not first.startswith(MAGIC) or self._leaf(1, first) is None:
            return True
        stated = int.from_bytes(first[28:32]) if first[24:28] == first[92:96] else 0
        return any(self._image(number) is None for number in range(1, stated + 1))

    def leaves(self) -> Iterator[Leaf]:
        """Read every page that is one of a table or an index; other pages belong to long rows or are unused."""
        for number in range(1, self.count + 1):
            image = self._image(number)
            if image is not None and (leaf := self._leaf(number, image)) is not None:
                yield leaf

    def _image(self, number: int) -> bytes | None:
        newer = self._newer.get(number)
        if newer is not None:
            return newer
        image = self._content[(number - 1) * self.size : number * self.size]
        return image if len(image) == self.size else None

    def _leaf(self, number: int, image: bytes) -> Leaf | None:
        start = HEADER_BYTES if number == 1 else 0
        kind = image[start]
        if kind not in {_TABLE_LEAF, _TABLE_INNER, _INDEX_LEAF, _INDEX_INNER}:
            return None
        count = int.from_bytes(image[start + 3 : start + 5])
        pointers = start + (12 if kind in _INNER else 8)
        if pointers + 2 * count > self._usable:
            return None
        rows: list[PageRecord] = []
        children = [int.from_bytes(image[start + 8 : start + 12])] if kind in _INNER else []
        lost = 0
        for place in range(pointers, pointers + 2 * count, 2):
            try:
                child, row = self._cell(number, image, kind, int.from_bytes(image[place : place + 2]))
            except (ValueError, IndexError, struct.error, OverflowError):
                lost += 1
                continue
            if child is not None:
                children.append(child)
            if row is not None:
                rows.append(row)
        return Leaf(number=number, rows=tuple(rows), children=tuple(children), lost=lost)

    def _cell(self, number: int, image: bytes, kind: int, place: int) -> tuple[int | None, PageRecord | None]:
        if not HEADER_BYTES * (number == 1) < place < self._usable:
            raise ValueError("a cell outside of its page")
        child: int | None = None
        if kind in _INNER:
            child = int.from_bytes(image[place : place + 4])
            place += 4
            if kind == _TABLE_INNER:
                return child, None
        length, place = _varint(image, place)
        key: int | None = None
        if kind == _TABLE_LEAF:
            unsigned, place = _varint(image, place)
            key = unsigned - 2**64 if unsigned >= 2**63 else unsigned
        payload, further = self._payload(image, place, length, in_table=kind == _TABLE_LEAF)
        pages = (number, *further)
        return child, PageRecord(key=key, values=_record(payload), pages=pages, proven=self._proven.issuperset(pages))

    def _payload(self, image: bytes, place: int, length: int, *, in_table: bool) -> tuple[bytes, list[int]]:
        """Return all bytes of a record, and the pages that it goes on to."""
        usable = self._usable
        if length > self.count * self.size:
            raise ValueError("a record that is longer than its file")
        most = usable - 35 if in_table else (usable - 12) * 64 // 255 - 23
        if length <= most:
            local = length
        else:
            least = (usable - 12) * 32 // 255 - 23
            fitting = least + (length - least) % (usable - 4)
            local = fitting if fitting <= most else least
        if place + local > usable:
            raise ValueError("a record outside of its page")
        parts = [image[place : place + local]]
        left = length - local
        pages: list[int] = []
        following = int.from_bytes(image[place + local : place + local + 4]) if left else 0
        while left:
            further = self._image(following) if following > 0 else None
            if further is None:
                raise ValueError("a record that goes on nowhere")
            pages.append(following)
            taken = min(left, usable - 4)
            parts.append(further[4 : 4 + taken])
            left -= taken
            following = int.from_bytes(further[:4])
        return b"".join(parts), pages


def _judge(connection: apsw.Connection) -> Judge:
    """Return what says whether a page has its own checksum."""
    if checksum_vfs() is None:
        return lambda _: True
    return lambda page: bool(page) and connection.execute("SELECT verify_checksum(?)", (page,)).get == 1


def _layout(content: bytes, log: bytes, judge: Judge) -> tuple[int, int]:
    """Return how large pages are, and how many bytes at the end of each hold its checksum.

    The header says both, and so does the log; where neither is whole, the checksums of the pages do.
    """
    stated = [int.from_bytes(content[16:18]) if content.startswith(MAGIC) else 0]
    stated.append(page_size(log))
    sizes = [65_536 if size == 1 else size for size in stated]
    candidates = list(dict.fromkeys([*(size for size in sizes if size in _SIZES), _DEFAULT_SIZE, *_SIZES]))
    for size in candidates:
        found = len(content) // size
        step = max(1, found // _SAMPLE)
        sample = [content[number * size : (number + 1) * size] for number in range(0, found, step)]
        if checksum_vfs() is not None and any(judge(page) for page in sample if any(page)):
            return size, RESERVED_BYTES
    reserved = content[20] if content.startswith(MAGIC) and content[20] in {0, RESERVED_BYTES} else RESERVED_BYTES
    return candidates[0], reserved


def _varint(content: bytes, place: int) -> tuple[int, int]:
    """Return a number of one to nine bytes and where it ends."""
    value = 0
    for offset in range(8):
        byte = content[place + offset]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + offset + 1
    return value << 8 | content[place + 8], place + 9


def _record(payload: bytes) -> Row:
    """Return the values of a record; raise ValueError when it is none."""
    end, place = _varint(payload, 0)
    kinds: list[int] = []
    while place < end:
        kind, place = _varint(payload, place)
        kinds.append(kind)
    if place != end:
        raise ValueError("a record whose header does not end where it says")
    values: list[Value] = []
    for kind in kinds:
        value, place = _value(payload, place, kind)
        values.append(value)
    if place != len(payload):
        raise ValueError("a record that does not end where it says")
    return tuple(values)


def _value(payload: bytes, place: int, kind: int) -> tuple[Value, int]:
    if kind == 0:
        return None, place
    if kind in {8, 9}:
        return kind - 8, place
    width = 8 if kind == 7 else _WIDTHS.get(kind, (kind - _FIRST_BLOB) // 2)
    raw = payload[place : place + width]
    if len(raw) != width or kind in {10, 11}:
        raise ValueError("a value outside of its record")
    if kind == 7:
        return float(struct.unpack(">d", raw)[0]), place + width
    if kind < _FIRST_BLOB:
        return int.from_bytes(raw, signed=True), place + width
    return (raw.decode("utf-8") if kind % 2 else raw), place + width
