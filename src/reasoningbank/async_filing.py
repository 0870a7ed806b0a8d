"""The filing half of the Bank for asynchronous programs; each method runs in a worker thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

from reasoningbank.bank import Bank
from reasoningbank.domain.document import Document, DocumentChange
from reasoningbank.domain.files import FileChange


class AsyncFiling:
    """Bank's methods that keep documents and files, awaitable."""

    _bank: Bank

    async def document(self, collection: str, path: Sequence[str], key: str) -> Document | None:
        """See Bank.document."""
        return await asyncio.to_thread(self._bank.document, collection, path, key)

    async def documents(self, collection: str, path: Sequence[str] = ()) -> tuple[Document, ...]:
        """See Bank.documents."""
        return await asyncio.to_thread(self._bank.documents, collection, path)

    async def document_paths(self, collection: str) -> frozenset[tuple[str, ...]]:
        """See Bank.document_paths."""
        return await asyncio.to_thread(self._bank.document_paths, collection)

    async def find_documents(
        self,
        collection: str,
        path: Sequence[str] = (),
        query: str = "",
        *,
        accept: Callable[[Document], bool] | None = None,
        limit: int = 0,
        offset: int = 0,
    ) -> tuple[tuple[Document, float | None], ...]:
        """See Bank.find_documents."""
        return await asyncio.to_thread(
            self._bank.find_documents, collection, path, query, accept=accept, limit=limit, offset=offset
        )

    async def keep_documents(self, collection: str, changes: Iterable[DocumentChange]) -> None:
        """See Bank.keep_documents."""
        await asyncio.to_thread(self._bank.keep_documents, collection, changes)

    async def files(self) -> Mapping[str, str]:
        """See Bank.files."""
        return await asyncio.to_thread(self._bank.files)

    async def change_files(self, change: Callable[[Mapping[str, str]], FileChange]) -> FileChange:
        """See Bank.change_files."""
        return await asyncio.to_thread(self._bank.change_files, change)
