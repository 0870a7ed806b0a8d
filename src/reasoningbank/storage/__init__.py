"""Stores: the relational truth and what is derived from it. The only room that speaks SQL."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from reasoningbank.errors import ConfigurationError
from reasoningbank.ports import Storage

SQLITE = "sqlite:///"


def open_storage(url: str | None, *, home: Path) -> Storage:
    """The place where banks live.

    Args:
        url: ``None`` for the embedded default below ``home``; ``sqlite:///PATH`` for a file or directory (as usual, an
            absolute path makes four slashes, a relative one three); ``memory://`` for banks that end with the process.
        home: The data directory of the embedded default.

    Raises:
        ConfigurationError: When the URL names no store that exists.
    """
    if url is None:
        from reasoningbank.storage.location import SqliteStorage

        return SqliteStorage(home / "banks")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ConfigurationError(
            f"{url!r} is no URL: {error}", hint="Use sqlite:///PATH, memory:// or no URL for the embedded default."
        ) from error
    path = unquote(url.removeprefix(SQLITE)) if url.startswith(SQLITE) else ""
    if path:
        from reasoningbank.storage.location import SqliteStorage

        return SqliteStorage(Path(path))
    if parts.scheme == "memory":
        from reasoningbank.storage.memory import shared_storage

        return shared_storage(parts.netloc + parts.path)
    raise ConfigurationError(
        f"{url!r} names no store", hint="Use sqlite:///PATH, memory:// or no URL for the embedded default."
    )
