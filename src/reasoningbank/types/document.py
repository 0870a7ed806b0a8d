"""Documents that frameworks file in a bank, and files that an agent keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from reasoningbank.errors import InvalidInput
from reasoningbank.types.memory import Outcome

MAX_COLLECTION = 64
MAX_LABEL = 500
MAX_LABELS = 64
MAX_VALUE = 1_000_000
MAX_TEXTS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A JSON object at a place of its own.

    Attributes:
        collection: Who keeps it, such as ``langgraph``; collections do not see each other.
        path: The labels that lead to it, outermost first; may be empty.
        key: Its name there.
        value: The JSON text of an object.
        texts: What a search compares with; each has a vector of its own.
        created_at, updated_at: Timezone-aware times.
    """

    collection: str
    path: tuple[str, ...]
    key: str
    value: str
    created_at: datetime
    updated_at: datetime
    texts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_place(self.collection, self.path, self.key)
        if len(self.value) > MAX_VALUE:
            raise InvalidInput(
                f"a document has at most {MAX_VALUE} characters, not {len(self.value)}", hint="Split it into several."
            )
        if len(self.texts) > MAX_TEXTS:
            raise InvalidInput(
                f"a document has at most {MAX_TEXTS} texts to search in, not {len(self.texts)}",
                hint="Name fewer fields to index.",
            )
        if self.created_at.tzinfo is None or self.updated_at.tzinfo is None:
            raise InvalidInput("times must carry a time zone")

    @property
    def place(self) -> tuple[str, tuple[str, ...], str]:
        """Collection, path and key: no two documents of a bank share them."""
        return self.collection, self.path, self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChange:
    """A document to be kept or, without a value, to be erased.

    Attributes:
        path, key: Its place in the collection.
        value: The JSON object; None erases the document.
        texts: Told the value as it will be kept, answers what a search compares with; None when it is not to be found
            by meaning.
    """

    path: tuple[str, ...]
    key: str
    value: Mapping[str, object] | None
    texts: Callable[[Mapping[str, object]], Iterable[str]] | None = None


def check_place(collection: str, path: tuple[str, ...], key: str) -> None:
    """Refuse what cannot be the place of a document.

    Raises:
        InvalidInput: When the collection is blank, or a part is too long or no Unicode.
    """
    if not collection.strip() or len(collection) > MAX_COLLECTION:
        raise InvalidInput(f"a collection has 1 to {MAX_COLLECTION} characters")
    if len(path) > MAX_LABELS:
        raise InvalidInput(f"a path has at most {MAX_LABELS} labels, not {len(path)}")
    for label in (collection, *path, key):
        if not isinstance(label, str):
            raise InvalidInput(f"a label is text, not {type(label).__name__}")
        if len(label) > MAX_LABEL:
            raise InvalidInput(f"a label has at most {MAX_LABEL} characters, not {len(label)}")
        try:
            label.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InvalidInput("a label is not valid Unicode") from error


FOLDERS: Mapping[str, Outcome] = MappingProxyType({"strategies": "success", "failures": "failure"})
"""The directories whose ``NAME.md`` files are memories, with the outcome of those."""
SUFFIX = ".md"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """Hold what is to become of files; paths are relative to the root, parts joined by ``/``.

    Attributes:
        writes: The new text of files, by path.
        removed: Files that go.
        moved: Files that get another path, by the old one; their text stays.
        quarantined: What was written or moved but can be read by nobody, because it looks like a prompt injection: by
            path why, and what to do. Only the answer to a change has any.
    """

    writes: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    moved: Mapping[str, str] = field(default_factory=dict)
    quarantined: Mapping[str, str] = field(default_factory=dict)

    @property
    def touched(self) -> frozenset[str]:
        """Every path that is named."""
        return frozenset((*self.writes, *self.removed, *self.moved, *self.moved.values()))


def outcome_of(path: str) -> Outcome | None:
    """Return the outcome of the memory that a file at this path is; None for a file that is not a memory."""
    folder, _, name = path.partition("/")
    if folder in FOLDERS and "/" not in name and name.endswith(SUFFIX) and name != SUFFIX:
        return FOLDERS[folder]
    return None
