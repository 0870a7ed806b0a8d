"""Stores: the relational truth and what is derived from it. The only room that speaks SQL."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from reasoningbank.settings import BANKS, POSTGRESQL, SQLITE, absolute_url, split_vectors
from reasoningbank.storage.store import Storage

BACKUPS = "backups"
"""The directory below it in which automatic backups are, in a folder per tenant."""


def open_storage(url: str | None, *, home: Path, vectors: str = "") -> Storage:
    """Return the place where banks live.

    Args:
        url: ``None`` for the embedded default below ``home``; ``sqlite:///PATH`` for a file or directory (as usual, an
            absolute path makes four slashes, a relative one three); ``postgresql://...`` for a database;
            ``memory://`` for banks of this process, gone when the last of them is closed. ``?vectors=URL`` names an
            index beside any of them.
        home: The data directory of the embedded default.
        vectors: An index of vectors beside the banks, unless the URL names one: ``qdrant+http://...``,
            ``milvus+http://...``, ``milvus:///PATH``, or ``pgvector`` for that of the database; empty for none.

    Raises:
        ConfigurationError: When the URL names no store that exists.
    """
    place, named = ("", "") if url is None else split_vectors(url)
    storage = _opened(place, home)
    if not (named or vectors):
        return storage
    from reasoningbank.storage.indexed import IndexedStorage, index_of

    return IndexedStorage(storage, index_of(named or vectors, banks=place))


def _opened(url: str, home: Path) -> Storage:
    """Return the place of a URL, which is empty for the embedded default."""
    if not url:
        from reasoningbank.storage.sqlite_file import SqliteStorage

        return SqliteStorage(home / BANKS, backups=home / BACKUPS)
    place = absolute_url(url)
    if place.startswith(SQLITE):
        from reasoningbank.storage.sqlite_file import SqliteStorage

        return SqliteStorage(Path(unquote(place.removeprefix(SQLITE))), backups=home / BACKUPS)
    parts = urlsplit(place)
    if parts.scheme in POSTGRESQL:
        from reasoningbank.storage.postgres import PostgresStorage

        return PostgresStorage(place, backups=home / BACKUPS)
    from reasoningbank.storage.sqlite_memory import shared_storage

    return shared_storage(parts.netloc + parts.path)
