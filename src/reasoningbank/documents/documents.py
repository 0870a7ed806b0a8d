"""Documents that frameworks file in a bank: checked, stored, compared, and memories seen as files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, cast

from reasoningbank.errors import InvalidInput, StoreBusy
from reasoningbank.memories.admission import admit_document, check_document, reindex_document
from reasoningbank.safety.arguments import checked_limit, checked_offset
from reasoningbank.safety.secrets import redact
from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.telemetry import observed
from reasoningbank.types.document import Document, DocumentChange, FileChange, check_place
from reasoningbank.types.ports import Embedder, Vector

if TYPE_CHECKING:
    from reasoningbank.context import Context

_BATCH = 64
_DEEPEST = 100
_MAX_KNOWN = 8_192
_known_to_be_safe: set[bytes] = set()


def safe_text(text: str, name: str = "") -> str:
    """Return the text without secrets and without characters that cannot be seen; its white space stays.

    Args:
        text: Any text.
        name: What it is called where it stands: ``password`` makes a secret of a word that is none by itself.
    """
    if name:
        prefix = f"{name}: "
        named = redact(prefix + text).text
        if named.startswith(prefix):
            text = named.removeprefix(prefix)
    return redact(text).text


def safe_value(value: Mapping[str, object]) -> dict[str, object]:
    """Return the JSON object with every text in it made safe; keys and numbers stay.

    Raises:
        InvalidInput: When it is not a JSON object, is nested too deeply, or a key holds a secret.
    """
    return cast("dict[str, object]", _safe(value, "", 0))


def to_text(value: Mapping[str, object]) -> str:
    """Return the JSON text of an object, its members in their order."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise InvalidInput(f"the value is not JSON: {error}", hint="Numbers must be finite.") from error


def admitted(change: DocumentChange, collection: str, at: datetime) -> Document:
    """Return the document that a change asks for, as it may be stored.

    Raises:
        InvalidInput: When it cannot be stored, or looks like a prompt injection; nothing secret is stored, not even as
            a label.
    """
    for label in (*change.path, change.key):
        if isinstance(label, str) and redact(label).findings:
            raise InvalidInput("a label holds what looks like a secret", hint="Name the place without it.")
    value = safe_value(change.value or {})
    texts = () if change.texts is None else map(safe_text, change.texts(value))
    document = Document(
        collection=collection,
        path=tuple(change.path),
        key=change.key,
        value=to_text(value),
        texts=tuple(text for text in texts if text.strip()),
        created_at=at,
        updated_at=at,
    )
    return check_document(document)


def reveal_document(document: Document) -> Document:
    """Return the document as it may leave the bank, whoever wrote the stored row."""
    texts = "\x00".join((document.value, *document.texts))
    digest = hashlib.blake2b(texts.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    if digest in _known_to_be_safe:
        return document
    value = to_text(safe_value(json.loads(document.value)))
    revealed = replace(document, value=value, texts=tuple(safe_text(text) for text in document.texts))
    if revealed == document:
        if len(_known_to_be_safe) >= _MAX_KNOWN:
            _known_to_be_safe.clear()
        _known_to_be_safe.add(digest)
    return revealed


def vectors_of(
    documents: Iterable[Document], embedder: Embedder, known: Mapping[str, Vector] | None = None
) -> dict[str, Vector]:
    """Return the vector of every text of these documents, those that are known already among them."""
    found = dict(known or {})
    wanted = [text for text in dict.fromkeys(text for each in documents for text in each.texts) if text not in found]
    for start in range(0, len(wanted), _BATCH):
        batch = wanted[start : start + _BATCH]
        found |= zip(batch, embedder.embed_documents(batch), strict=True)
    return found


def put(transaction: Transaction, document: Document, vectors: Mapping[str, Vector], model_id: str) -> None:
    """Store a document with the vectors of its texts."""
    admit_document(transaction, document, [vectors[text] for text in document.texts], model_id)


def put_again(transaction: Transaction, embedder: Embedder, vectors: Mapping[str, Vector]) -> None:
    """Give every document of the bank its vectors anew."""
    documents = [document for document in transaction.documents.below() if document.texts]
    vectors = vectors_of(documents, embedder, vectors)
    for document in documents:
        reindex_document(transaction, document, [vectors[text] for text in document.texts], embedder.model_id)


def exported(store: StoreReader) -> Iterator[dict[str, object]]:
    """Yield every document as the fields of one line of an export."""
    for document in store.documents.below():
        fields = asdict(reveal_document(document))
        yield fields | {name: fields[name].isoformat() for name in ("created_at", "updated_at")}


def imported(lines: Iterable[str]) -> list[Document]:
    """Return the documents of an export, made safe.

    Raises:
        InvalidInput: When a line holds a document that is none.
    """
    found: list[Document] = []
    for number, line in enumerate(lines, start=1):
        try:
            fields = json.loads(line).get("document")
            if fields is None:
                continue
            document = reveal_document(
                Document(
                    collection=_text(fields["collection"]),
                    path=tuple(map(_text, fields["path"])),
                    key=_text(fields["key"]),
                    value=_text(fields["value"]),
                    texts=tuple(map(_text, fields["texts"])),
                    created_at=datetime.fromisoformat(fields["created_at"]),
                    updated_at=datetime.fromisoformat(fields["updated_at"]),
                )
            )
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise InvalidInput(
                f"line {number} holds no document: {type(error).__name__}: {str(error)[:200]}",
                hint="Pass a file that `rbank export` wrote.",
            ) from error
        found.append(document)
    return found


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput("expected a text")
    return value


def _safe(value: object, name: str, depth: int) -> object:
    if depth > _DEEPEST:
        raise InvalidInput(f"a value is nested more than {_DEEPEST} levels deep")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return safe_text(value, name)
    if isinstance(value, Mapping):
        return {_key(key): _safe(item, key, depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [_safe(item, name, depth + 1) for item in value]
    raise InvalidInput(
        f"a value of type {type(value).__name__} is not JSON",
        hint="Use texts, numbers, true, false, null, lists and objects.",
    )


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"the keys of an object are texts, not {type(key).__name__}")
    if redact(key).findings:
        raise InvalidInput("a key holds what looks like a secret", hint="Put it into the value, where it is removed.")
    try:
        key.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput("a key is not valid Unicode") from error
    return key


_ATTEMPTS = 8


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
        limit: int = 0,
        offset: int = 0,
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
        first, most = checked_offset(offset), checked_limit(limit)
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
        with observed("update_memory", store=self._context.place):
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

    def change_files(self, change: Callable[[Mapping[str, str]], FileChange]) -> FileChange:
        """Change files: all of it or, when something is refused, nothing.

        A file ``strategies/NAME.md`` or ``failures/NAME.md`` is a memory: written, it is recorded or gets a new
        version; removed, it is archived; moved, it keeps its evidence. Any other file is a document, kept as written.
        A memory whose text looks like a prompt injection goes into quarantine: then there is no such file to be read.

        Args:
            change: Told the files as they are, answers what is to become of them; asked again when others were faster.

        Returns:
            What was changed; the texts as they are stored, secrets replaced, and which went into quarantine and why.

        Raises:
            InvalidInput: When a file cannot be stored, or a document looks like a prompt injection.
            StoreBusy: When others change the files all the time.
        """
        from reasoningbank.documents.files import apply, prepare, read_files

        store = self._context.store()
        with observed("update_memory", store=self._context.place):
            for _ in range(_ATTEMPTS):
                before = read_files(store)
                wanted = change({path: file.text for path, file in before.items()})
                if not wanted.touched:
                    return wanted
                prepared = prepare(
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
