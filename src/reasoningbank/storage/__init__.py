"""Stores: the relational truth and what is derived from it. The only room that speaks SQL."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from reasoningbank.errors import ConfigurationError
from reasoningbank.storage.store import Storage

SQLITE = "sqlite:///"


BANKS = "banks"
"""The directory below the data directory in which the files of banks are."""


def open_storage(url: str | None, *, home: Path) -> Storage:
    """Return the place where banks live.

    Args:
        url: ``None`` for the embedded default below ``home``; ``sqlite:///PATH`` for a file or directory (as usual, an
            absolute path makes four slashes, a relative one three); ``memory://`` for banks that end with the process.
        home: The data directory of the embedded default.

    Raises:
        ConfigurationError: When the URL names no store that exists.
    """
    if url is None:
        from reasoningbank.storage.sqlite_file import SqliteStorage

        return SqliteStorage(home / BANKS)
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ConfigurationError(
            f"{url!r} is no URL: {error}", hint="Use sqlite:///PATH, memory:// or no URL for the embedded default."
        ) from error
    path = unquote(url.removeprefix(SQLITE)) if url.startswith(SQLITE) else ""
    if path:
        from reasoningbank.storage.sqlite_file import SqliteStorage

        if _lacks_a_slash(path):
            raise ConfigurationError(
                f"{url!r} is a path below the working directory, which has no such directory; perhaps /{path} is meant",
                hint=f"Use {SQLITE}/{path} for the absolute path, or {SQLITE}./{path} for the relative one.",
            )
        return SqliteStorage(Path(path))
    if parts.scheme == "memory":
        from reasoningbank.storage.sqlite_memory import shared_storage

        return shared_storage(parts.netloc + parts.path)
    raise ConfigurationError(
        f"{url!r} names no store", hint="Use sqlite:///PATH, memory:// or no URL for the embedded default."
    )


def _lacks_a_slash(path: str) -> bool:
    """Return whether a relative path lacks its leading slash: its first directory exists only at the root."""
    first = Path(path).parts[0]
    forgotten = not path.startswith((".", "~", "/")) and len(Path(path).parts) > 1
    return forgotten and not Path(first).exists() and Path("/", first).is_dir()
