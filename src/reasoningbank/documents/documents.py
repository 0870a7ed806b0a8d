"""Documents that frameworks file in a bank: checked, stored, compared, and memories seen as files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reasoningbank.documents.values import admitted, put, reveal_document, safe_text, vectors_of
from reasoningbank.errors import StoreBusy, StoreFull, StoreUnavailable
from reasoningbank.telemetry import observed
from reasoningbank.types.argument import Limit, Offset
from reasoningbank.types.document import Document, DocumentChange, FileChange, check_place
from reasoningbank.types.resource import checked

if TYPE_CHECKING:
    from reasoningbank.context import Context


_ATTEMPTS = 8


@checked
class Documents:
    """Documents that frameworks file in a bank, and memories as files."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def get(self, collection: str, path: Sequence[str], key: str) -> Document | None:
        """Return the document at a place, secrets removed once more; None when there is none.

        Raises:
            InvalidInput: When there can be no such place.
        """
        check_place(collection, tuple(path), key)
        found = self._context.store().documents.document(collection, tuple(path), key)
        return None if found is None else reveal_document(found)

    def list(self, collection: str, path: Sequence[str] = ()) -> tuple[Document, ...]:
        """Return every document of a collection below a path, in the order in which they were first kept.

        Raises:
            InvalidInput: When there can be no such path.
        """
        check_place(collection, tuple(path), "")
        return tuple(reveal_document(each) for each in self._context.store().documents.below(collection, tuple(path)))

    def paths(self, collection: str) -> frozenset[tuple[str, ...]]:
        """Return every path of a collection that holds a document.

        Raises:
            InvalidInput: When there can be no such collection.
        """
        check_place(collection, (), "")
        return frozenset(document.path for document in self._context.store().documents.below(collection))

    def find(
        self,
        collection: str,
        path: Sequence[str] = (),
        query: str = "",
        *,
        accept: Callable[[Document], bool] | None = None,
        limit: Limit = 0,
        offset: Offset = 0,
    ) -> tuple[tuple[Document, float | None], ...]:
        """Return documents below a path, the closest to a query first: each with the largest cosine of its texts.

        Nothing is left out for being far; documents without texts come last and have None. Without a query all do, in
        the order in which they were first kept.

        Args:
            collection: The collection.
            path: Where to look.
            query: What to look for, in words.
            accept: Told a document as it is stored, says whether it is to be found; secrets are removed afterwards.
            limit: At most so many; 0 means all.
            offset: So many are passed over.

        Raises:
            InvalidInput: When there can be no such path.
            NegativeLimit, NegativeOffset: When they are below zero.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.memories.admission import check_space

        check_place(collection, tuple(path), "")
        first, most = offset, limit
        store = self._context.store()
        found: Sequence[tuple[Document, float | None]]
        if query.strip() and check_space(store, self._context.embedder):
            vector = self._context.embedder.embed_queries([safe_text(query)])[0]
            found = sorted(store.documents.compared_documents(collection, tuple(path), vector), key=_closest_first)
        else:
            found = [(document, None) for document in store.documents.below(collection, tuple(path))]
        met = [pair for pair in found if accept is None or accept(pair[0])]
        shown = met[first : first + most] if most else met[first:]
        return tuple((reveal_document(document), cosine) for document, cosine in shown)

    def keep(self, collection: str, changes: Iterable[DocumentChange]) -> None:
        """Keep and erase documents: all of these changes or, when one is refused, none. The last of a place counts.

        Secrets are replaced in every text of a value, as in a memory; what was replaced is overwritten, not versioned.

        Raises:
            InvalidInput: When a place or a value is not usable, or one looks like a prompt injection.
            ModelMismatch: When the bank was built with another embedder.
        """
        with observed("update_memory", store=self._context.place), self._context.gated():
            last = {(tuple(change.path), change.key): change for change in changes}
            for change in last.values():
                check_place(collection, tuple(change.path), change.key)
            store, now = self._context.store(), self._context.clock.now()
            kept = [admitted(change, collection, now) for change in last.values() if change.value is not None]
            vectors = vectors_of(kept, self._context.embedder)
            if not last:
                return
            with store.transaction() as transaction:
                for change in last.values():
                    if change.value is None:
                        transaction.documents.delete_document(collection, tuple(change.path), change.key)
                for document in kept:
                    old = transaction.documents.document(*document.place)
                    made = document.created_at if old is None else old.created_at
                    put(transaction, replace(document, created_at=made), vectors, self._context.embedder.model_id)
            self._context.keep_up()

    def files(self) -> Mapping[str, str]:
        """Return the text of every file by its path below the root, memories included.

        A memory that can be recalled is a file; whatever else was filed is a file where it was filed.
        """
        from reasoningbank.documents.files import read_files

        return {path: file.text for path, file in read_files(self._context.store()).items()}

    def show_files(self, read: Callable[[Mapping[str, str]], Collection[str]]) -> str:
        """Read files, and note which memories' texts the session was shown that way (DESIGN D5).

        What the session records later and says nearly the same is then an echo. It is not evidence for the memory.

        Args:
            read: Told the files, returns the paths of those whose text it shows.

        Returns:
            What could not be noted, and why; empty when everything was.
        """
        from reasoningbank.documents.files import read_files
        from reasoningbank.memories.exposure import note_read

        store = self._context.store()
        files = read_files(store)
        shown = [files[path].memory for path in read({path: file.text for path, file in files.items()})]
        ids = [memory.id for memory in shown if memory is not None]
        if ids:
            try:
                with store.transaction() as transaction:
                    note_read(transaction, self._context.session, ids, at=self._context.clock.now())
            except (StoreFull, StoreUnavailable, StoreBusy) as error:
                return f"That it was shown could not be noted: {error}. {error.hint}".strip()
        return ""

    def change_files(self, change: Callable[[Mapping[str, str]], FileChange]) -> FileChange:
        """Change files: all of it or, when something is refused, nothing.

        A file ``strategies/NAME.md`` or ``failures/NAME.md`` is a memory: written, it is recorded or gets a new
        version; removed, it is archived; moved, it keeps its evidence. Any other file is a document, kept as written.
        A new memory whose text looks like a prompt injection goes into quarantine: then there is no such file to be
        read. An edit that does is refused, and the memory stays as it was; so is a name that does.

        Args:
            change: Told the files as they are, answers what is to become of them; asked again when others were faster.

        Returns:
            What was changed; the texts as they are stored, secrets replaced, and which went into quarantine and why.

        Raises:
            InvalidInput: When a file cannot be stored, or a document, an edit or a name looks like a prompt injection.
            StoreBusy: When others change the files all the time.
        """
        from reasoningbank.documents.files import apply, prepare, read_files

        store = self._context.store()
        with observed("update_memory", store=self._context.place), self._context.gated():
            for _ in range(_ATTEMPTS):
                before = read_files(store)
                wanted = change({path: file.text for path, file in before.items()})
                if not wanted.touched:
                    return wanted
                prepared = prepare(
                    store,
                    before,
                    wanted,
                    self._context.embedder,
                    project=self._context.scope.project,
                    session=self._context.session,
                    at=self._context.clock.now(),
                )
                with store.transaction() as transaction:
                    now = read_files(transaction)
                    same = all(now.get(path) == before.get(path) for path in wanted.touched)
                    if same and now.keys() == before.keys():
                        stored = apply(transaction, prepared, at=self._context.clock.now())
                        break
            else:
                raise StoreBusy("the files are being changed by others", hint="Try again.")
            self._context.keep_up()
            return stored


def _closest_first(pair: tuple[Document, float | None]) -> tuple[bool, float]:
    return pair[1] is None, -(pair[1] or 0.0)
