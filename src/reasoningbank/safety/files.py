"""Open files that a user, a hook or another program names: regular files only, of a bounded size."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from reasoningbank.errors import InvalidInput, StoreUnavailable


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
            raise StoreUnavailable(
                f"{path} cannot be read: it is not a regular file", hint="Name a file, not a pipe or a device."
            )
        if most is not None and state.st_size > most:
            raise InvalidInput(f"{path.name[:80]} has more than {most >> 20} MiB", hint="Split the file.")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


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
        return raw.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path.name[:80]} is not UTF-8 text") from error


def _unavailable(path: Path, error: Exception) -> StoreUnavailable:
    reason = getattr(error, "strerror", None) or "its name is not usable"
    return StoreUnavailable(f"{str(path)[:200]} cannot be read: {reason}", hint="Name a file that you may read.")
