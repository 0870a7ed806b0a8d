"""Values of documents: made safe, stored with their vectors, exported and imported."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import cast

from reasoningbank.errors import InvalidInput
from reasoningbank.memories.admission import admit_document, check_document, reindex_document
from reasoningbank.safety.checks import place_name
from reasoningbank.safety.secrets import redact
from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.document import Document, DocumentChange
from reasoningbank.types.moment import bounded
from reasoningbank.types.ports import Embedder, Vector

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
        raise InvalidInput(
            "the value holds a number that cannot be written as JSON",
            hint="Numbers must be finite and have at most 4,300 digits.",
        ) from error


def admitted(change: DocumentChange, collection: str, at: datetime) -> Document:
    """Return the document that a change asks for, as it may be stored.

    Raises:
        InvalidInput: When it cannot be stored, or looks like a prompt injection; nothing secret is stored, not even as
            a label.
    """
    place_name(collection, "collection")
    for label in (*change.path, change.key):
        if isinstance(label, str) and redact(label).findings:
            raise InvalidInput("a label holds what looks like a secret", hint="Name the place without it.")
    value = safe_value(change.value or {})
    written = to_text(value)
    texts = () if change.texts is None else map(safe_text, change.texts(value))
    document = Document(
        collection=collection,
        path=tuple(change.path),
        key=change.key,
        value=written,
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
                    created_at=bounded(datetime.fromisoformat(fields["created_at"])),
                    updated_at=bounded(datetime.fromisoformat(fields["updated_at"])),
                )
            )
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise InvalidInput(
                f"line {number} holds no document: {type(error).__name__}: {str(error)[:200]}",
                hint="Pass a file that `rbank export` wrote.",
            ) from error
        for label in (document.collection, *document.path, document.key):
            place_name(label, "document")
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
        raise InvalidInput(f"the keys of an object must be texts, not {type(key).__name__}")
    if redact(key).findings:
        raise InvalidInput("a key holds what looks like a secret", hint="Put it into the value, where it is removed.")
    try:
        key.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput("a key is not valid Unicode") from error
    return key
