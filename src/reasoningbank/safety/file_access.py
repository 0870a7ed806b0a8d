"""Read and write files that a user, a hook or another program names.

What is read is a regular file of a bounded size. What is written appears as a whole, and never in the place of a bank.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from reasoningbank.errors import InvalidInput, StoreUnavailable
from reasoningbank.system import open_private

_DATABASE = b"SQLite format 3\0"
"""The first bytes of every SQLite file. Source: "Database File Format", section 1.3, sqlite.org."""
_PART = 1 << 20
_BESIDE_A_DATABASE = ("-wal", "-shm", "-journal", ".lock", ".lock.turn")


def open_regular(path: Path, *, most: int | None = None, follow: bool = True) -> BinaryIO:
    """Open a regular file for reading, without waiting for anybody.

    A named pipe would wait for a writer, a device would never end, and a directory has no text.

    Args:
        path: The file.
        most: Bytes that it may have; None for a file that is read piece by piece.
        follow: Whether its name may be a symbolic link; False for files in a directory that others write to.

    Raises:
        StoreUnavailable: When it cannot be opened or is not a regular file.
        InvalidInput: When it has more bytes.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    if not follow:
        if path.is_symlink():
            raise StoreUnavailable(f"{path} is a symbolic link", hint="Put the file itself there.")
        flags |= getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError) as error:
        raise _unavailable(path, error) from error
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise _not_regular(path)
        if most is not None and state.st_size > most:
            raise InvalidInput(f"{path.name[:80]} has more than {most >> 20} MiB", hint="Split the file.")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def refuse_special_source(path: Path) -> None:
    """Refuse to read later what ``open_regular`` would not open: a pipe, a socket, a device or a directory.

    A file that is not there yet may come.

    Raises:
        StoreUnavailable: When such a thing is there.
    """
    if path.exists() and not path.is_file():
        raise _not_regular(path)


def digest_of(file: BinaryIO) -> str:
    """Return the SHA-256 of a file, read in parts."""
    digest = hashlib.sha256()
    while part := file.read(_PART):
        digest.update(part)
    return digest.hexdigest()


def digest_at(path: Path) -> str:
    """Return the SHA-256 of a regular file.

    Raises:
        StoreUnavailable: When it cannot be opened or is not a regular file.
    """
    with open_regular(path) as file:
        return digest_of(file)


def read_text(path: Path, *, most: int, follow: bool = True) -> str:
    """Return the text of a regular file, its lines ended by a line feed.

    Args:
        path: The file.
        most: Bytes that it may have.
        follow: Whether its name may be a symbolic link.

    Raises:
        StoreUnavailable: When it cannot be read or is not a regular file.
        InvalidInput: When it has more bytes, or is not UTF-8 text.
    """
    try:
        with open_regular(path, most=most, follow=follow) as file:
            # A file that grows meanwhile is not read further than it may be.
            raw = file.read(most + 1)
    except OSError as error:
        raise _unavailable(path, error) from error
    if len(raw) > most:
        raise InvalidInput(f"{path.name[:80]} has more than {most >> 20} MiB", hint="Split the file.")
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path.name[:80]} is not UTF-8 text") from error


@contextmanager
def write_whole(path: Path) -> Iterator[TextIO]:
    """Write a text file that replaces what was there when the block ends well, and only then.

    Until then the text is in ``NAME.partial`` beside it, which only its owner can read; what a killed process left
    there goes with the next writing.

    Args:
        path: The file; its directory exists.

    Raises:
        InvalidInput: When a database, or a file that belongs to one, is there.
        StoreUnavailable: When it cannot be written, or what is there is no regular file.
    """
    refuse_special(path)
    if _is_database(path):
        raise InvalidInput(f"{path} is a database, which would be lost", hint="Name another file.")
    partial = path.with_name(f"{path.name}.partial")
    try:
        # What lies there, a link for instance, is removed and not written through.
        partial.unlink(missing_ok=True)
        descriptor = open_private(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            yield file
        partial.replace(path)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)


def refuse_special(path: Path) -> None:
    """Refuse a place where something else than a regular file is: a pipe, a socket, a device, a link or a directory.

    A file that is put in its place would take it from whoever uses it.

    Raises:
        StoreUnavailable: When such a thing is there, or the place cannot be looked at.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is not usable"
        raise StoreUnavailable(f"{str(path)[:200]} cannot be written: {reason}", hint="Name another file.") from error
    if stat.S_ISLNK(mode):
        raise StoreUnavailable(f"{path} cannot be written: it is a symbolic link", hint="Name the file itself.")
    if not stat.S_ISREG(mode):
        raise StoreUnavailable(
            f"{path} cannot be written: it is not a regular file",
            hint="Name a file, not a directory, a pipe or a device.",
        )


def append_line(path: Path, line: str, *, most: int) -> None:
    """Append a line to a log that only its owner can read.

    Args:
        path: The log; its directory is made when it is missing.
        line: The line, without its end.
        most: Bytes at which the log becomes ``NAME.1`` and a new one begins.

    Raises:
        OSError: When it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > most:
        path.replace(path.with_name(f"{path.name}.1"))
    with os.fdopen(
        open_private(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "a", encoding="utf-8", errors="backslashreplace"
    ) as log:
        log.write(f"{line}\n")


def _is_database(path: Path) -> bool:
    """Return whether a file is an SQLite database, or one of the files that SQLite and this bank keep beside it."""
    endings = ("", *_BESIDE_A_DATABASE)
    names = [path.name.removesuffix(ending) for ending in endings if path.name.endswith(ending)]
    for name in filter(None, names):
        try:
            with open_regular(path.with_name(name)) as file:
                if file.read(len(_DATABASE)) == _DATABASE:
                    return True
        except StoreUnavailable:
            continue
    return False


def _not_regular(path: Path) -> StoreUnavailable:
    return StoreUnavailable(
        f"{path} cannot be read: it is not a regular file", hint="Name a file, not a directory, a pipe or a device."
    )


def _unavailable(path: Path, error: Exception) -> StoreUnavailable:
    reason = getattr(error, "strerror", None) or "its name is not usable"
    return StoreUnavailable(f"{str(path)[:200]} cannot be read: {reason}", hint="Name a file that you may read.")
