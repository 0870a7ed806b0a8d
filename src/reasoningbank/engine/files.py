"""Memories and documents as one tree of files: reading it, and changing it as a whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from reasoningbank.domain.belief import EXPLICIT_RECORD_CONFIDENCE, Belief
from reasoningbank.domain.changes import EDITED, Cause
from reasoningbank.domain.document import Document, DocumentChange
from reasoningbank.domain.files import FOLDERS, SUFFIX, FileChange, outcome_of
from reasoningbank.domain.memory import Memory, State
from reasoningbank.domain.recall import Filter
from reasoningbank.engine.documents import admitted, put, reveal_document, safe_text
from reasoningbank.engine.file_text import (
    NAME,
    VERSION,
    name_title,
    read,
    rendered,
    slug,
    whole_entries,
    without_file,
)
from reasoningbank.engine.gate import why_held
from reasoningbank.engine.hygiene import reveal
from reasoningbank.engine.redaction import redact
from reasoningbank.errors import InvalidInput, StoreBusy
from reasoningbank.memories.admission import Ready, admit, clean, edit, prepare_edits
from reasoningbank.memories.admission import prepare as ready_to_admit
from reasoningbank.ports import Embedder, StoreReader, Transaction

COLLECTION = "files"
"""The collection of the documents that are files."""
SOURCE = "memory_tool"
_TAIL = 6
_TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file as it is now; two are equal when neither its text nor its memory's version is another.

    Attributes:
        text: What it reads.
        version: The memory's id and version; None for a document.
        memory: The memory that it is.
        document: The document that it is.
    """

    text: str
    version: tuple[str, int] | None = None
    memory: Memory | None = field(default=None, compare=False)
    document: Document | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A change with everything that takes time done.

    Attributes:
        archived: Memories whose files go.
        edited, made: Memories as they are to be, ready to be stored.
        erased, kept: Documents that go, and documents to keep.
        stored: The change as it will be read back.
    """

    archived: tuple[Memory, ...]
    edited: tuple[Ready, ...]
    made: tuple[Ready, ...]
    erased: tuple[Document, ...]
    kept: tuple[Document, ...]
    stored: FileChange


def read_files(store: StoreReader) -> dict[str, File]:
    """Every file by its path: memories that can be recalled, and the documents of the collection."""
    found = {
        "/".join((*document.path, document.key)): File(text=_text(document), document=document)
        for document in map(reveal_document, store.documents(COLLECTION))
    }
    memories = [reveal(memory) for memory in store.page(Filter(), limit=0, offset=0)]
    folders = {outcome: folder for folder, outcome in FOLDERS.items()}
    for memory in sorted(memories, key=lambda memory: NAME not in memory.provenance):
        name = memory.provenance.get(NAME) or f"{slug(memory.title) or memory.id[-_TAIL:]}{SUFFIX}"
        path = f"{folders[memory.outcome]}/{name}"
        if path in found or outcome_of(path) is None:
            path = f"{folders[memory.outcome]}/{name.removesuffix(SUFFIX)}-{memory.id[-_TAIL:]}{SUFFIX}"
        if path in found or outcome_of(path) is None:
            path = f"{folders[memory.outcome]}/{memory.id}{SUFFIX}"
        found[path] = File(text=rendered(memory), version=(memory.id, memory.version), memory=memory)
    return found


def prepare(
    before: Mapping[str, File],
    wanted: FileChange,
    embedder: Embedder,
    *,
    project: str,
    session: str,
    at: datetime,
) -> Prepared:
    """Admits and embeds what a change writes.

    Args:
        before: The files as they are.
        wanted: What is to become of them.
        embedder: Makes the vectors.
        project: The project of new memories.
        session: Who writes.
        at: When.

    Raises:
        InvalidInput: When a file cannot be stored.
    """
    gone = [before[path] for path in wanted.removed]
    changes, new = list[tuple[Memory, Memory]](), list[Memory]()
    kept, erased = list[Document](), list[Document]()
    texts = {path: (text, before.get(path)) for path, text in wanted.writes.items()}
    moves = {new: before[old] for old, new in wanted.moved.items()}
    for path, (text, old) in (texts | {path: (file.text, file) for path, file in moves.items()}).items():
        if redact(path).findings:
            raise InvalidInput("a path holds what looks like a secret", hint="Name the file without it.")
        memory = None if old is None else old.memory
        document = None if old is None else old.document
        if outcome_of(path) is None:
            kept.append(_document(path, text, document, at))
            if memory is not None and old is not None:
                gone.append(old)
        elif memory is None:
            new.append(clean(_new(path, text, project=project, session=session, at=at)))
        elif path in moves:
            changes.append((memory, _moved(memory, path, at)))
        else:
            changes.append((memory, _edited(memory, path, text, at)))
        if document is not None and (path in moves or outcome_of(path) is not None):
            erased.append(document)
    stored = {"/".join((*each.path, each.key)): _text(each) for each in kept}
    edited = prepare_edits(changes, embedder, at=at)
    made = ready_to_admit(new, embedder, origin="file")
    stored |= {_path(each.memory): rendered(each.memory) for each in (*edited, *made)}
    return Prepared(
        archived=tuple(file.memory for file in gone if file.memory is not None),
        edited=tuple(edited),
        made=tuple(made),
        erased=(*erased, *(file.document for file in gone if file.document is not None)),
        kept=tuple(kept),
        stored=replace(wanted, writes={path: stored[path] for path in wanted.writes}),
    )


def apply(transaction: Transaction, prepared: Prepared, *, at: datetime) -> FileChange:
    """Writes a prepared change; the memories' evidence and states are what they are at that moment.

    A memory that was put into quarantine since its file was read stays there. One whose new text looks like a prompt
    injection goes there, and then has no file.

    Raises:
        StoreBusy: When a memory was changed since its file was read; the caller undoes everything.
    """
    for memory in prepared.archived:
        current = transaction.get(memory.id)
        state: State = "quarantined" if current.state == "quarantined" else "archived"
        gone = replace(current, state=state, provenance=without_file(current.provenance), version=current.version + 1)
        cause = Cause(at=at, kind="removed", reason="Its file was removed.", by=SOURCE)
        transaction.update_state(replace(gone, updated_at=at), revision=True, cause=cause)
    cause = Cause(at=at, kind=EDITED, by=SOURCE)
    stored: list[Memory] = []
    for ready in prepared.edited:
        edited = edit(transaction, ready, cause=cause)
        if edited is None:
            raise StoreBusy("the files are being changed by others", hint="Try again.")
        stored.append(edited)
    stored += [admit(transaction, ready, at=at) for ready in prepared.made]
    for document in prepared.erased:
        transaction.delete_document(*document.place)
    for document in prepared.kept:
        put(transaction, document, {}, "")
    return replace(
        prepared.stored,
        quarantined={_path(memory): why_held(memory) for memory in stored if memory.state == "quarantined"},
    )


def _text(document: Document) -> str:
    value = json.loads(document.value).get(_TEXT)
    return value if isinstance(value, str) else ""


def _document(path: str, text: str, old: Document | None, at: datetime) -> Document:
    *folders, name = path.split("/")
    change = DocumentChange(path=tuple(folders), key=name, value={_TEXT: safe_text(text)})
    document = admitted(change, COLLECTION, at)
    return document if old is None else replace(document, created_at=old.created_at)


def _new(path: str, text: str, *, project: str, session: str, at: datetime) -> Memory:
    found, outcome = read(text, path), outcome_of(path)
    if outcome is None:
        raise InvalidInput(f"no memory lies at {path[:80]!r}")
    provenance = {"source": SOURCE, "session": session, NAME: path.partition("/")[2]}
    return Memory(
        project=project,
        title=found.title,
        description=found.description,
        content=found.content,
        outcome=outcome,
        belief=Belief.starting_at(EXPLICIT_RECORD_CONFIDENCE),
        provenance=provenance | whole_entries(found.whole, 1),
        created_at=at,
        updated_at=at,
    )


def _edited(memory: Memory, path: str, text: str, at: datetime) -> Memory:
    found, version = read(text, path), memory.version + 1
    provenance = without_file(memory.provenance) | {NAME: path.partition("/")[2]}
    return replace(
        memory,
        title=found.title,
        description=found.description,
        content=found.content,
        provenance=provenance | whole_entries(found.whole, version),
        version=version,
        updated_at=at,
    )


def _moved(memory: Memory, path: str, at: datetime) -> Memory:
    """The memory under another name: its text stays, its title follows when that was its old name."""
    old_title, version = name_title(memory.provenance.get(NAME, "")), memory.version + 1
    provenance = dict(memory.provenance) | {NAME: path.partition("/")[2]}
    whole = provenance.get(VERSION) == str(memory.version)
    return replace(
        memory,
        title=name_title(path) if whole and memory.title == old_title else memory.title,
        outcome=outcome_of(path) or memory.outcome,
        provenance=provenance | ({VERSION: str(version)} if whole else {}),
        version=version,
        updated_at=at,
    )


def _path(memory: Memory) -> str:
    folder = next(folder for folder, outcome in FOLDERS.items() if outcome == memory.outcome)
    return f"{folder}/{memory.provenance[NAME]}"
