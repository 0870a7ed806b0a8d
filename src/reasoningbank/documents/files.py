"""Memories and documents as one tree of files: reading it, and changing it as a whole.

A file in our own form is a heading, perhaps a line that begins with ``When:``, and the content. Text in any other form
is kept whole as the memory's content, with the white space around it, so that it reads exactly as it was written.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePosixPath

from reasoningbank.documents.values import admitted, put, reveal_document, safe_text
from reasoningbank.errors import EmptyContent, InvalidInput, StoreBusy, TextTooLong
from reasoningbank.memories.admission import (
    Ready,
    admit,
    check_label,
    clean,
    edit,
    prepare_edits,
    why_held,
)
from reasoningbank.memories.admission import prepare as ready_to_admit
from reasoningbank.memories.echoes import as_echo, note_echo
from reasoningbank.memories.rewrites import apart, put_apart
from reasoningbank.memories.standing import PRINCIPAL, speaker_in
from reasoningbank.memories.voices import refuse_held
from reasoningbank.safety.secrets import redact
from reasoningbank.safety.stored_text import clean_line, reveal
from reasoningbank.storage.store import Store, StoreReader, Transaction
from reasoningbank.types.belief import EXPLICIT_RECORD_CONFIDENCE, Belief
from reasoningbank.types.document import FOLDERS, SUFFIX, Document, DocumentChange, FileChange, outcome_of
from reasoningbank.types.memory import EDITED, MAX_CONTENT, MAX_DESCRIPTION, MAX_TITLE, Cause, Memory, State
from reasoningbank.types.ports import Embedder
from reasoningbank.types.recall import Filter

NAME, VERSION, BEFORE, AFTER = "file", "file_version", "file_before", "file_after"
"""Entries of a memory's provenance: its file's name; and of a text that was kept whole, the version that it is the text
of, and the white space before and after it."""
WHEN = "When: "
_HEADING = re.compile(r"# +(\S.*)")
_MAX_SLUG = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Hold what a file says of a memory.

    Attributes:
        title, description, content: The memory's texts.
        whole: The white space before and after the content when that is the whole file; None in our own form.
    """

    title: str
    description: str
    content: str
    whole: tuple[str, str] | None = None


def rendered(memory: Memory) -> str:
    """Return the memory's file."""
    provenance = memory.provenance
    if provenance.get(VERSION) == str(memory.version):
        return f"{provenance.get(BEFORE, '')}{memory.content}{provenance.get(AFTER, '')}"
    return _own_form(memory.title, memory.description, memory.content)


def read(text: str, path: str) -> Read:
    """Return what a text at this path says of a memory; secrets are taken out of it first.

    Raises:
        EmptyContent: When there is nothing to remember in it.
        TextTooLong: When it is longer than a memory may be.
    """
    text = safe_text(text)
    content = text.strip()
    if not content:
        raise EmptyContent("a memory cannot be empty", hint="Write what to do, or file it outside of this directory.")
    if len(text) > MAX_CONTENT:
        raise TextTooLong(
            f"the file has {len(text)} characters; the limit of a memory is {MAX_CONTENT}",
            hint="Shorten it, or file it outside of this directory.",
        )
    lines = content.split("\n")
    heading = _HEADING.fullmatch(lines[0])
    title = clean_line(heading[1]) if heading else ""
    rest = "\n".join(lines[1:]).strip() if title else content
    first, _, behind = rest.partition("\n")
    description = clean_line(first.removeprefix(WHEN)) if title and first.startswith(WHEN) else ""
    body = behind.strip() if description else rest
    fits = len(title) <= MAX_TITLE and len(description) <= MAX_DESCRIPTION
    if title and body and fits and _own_form(title, description, body) == text:
        return Read(title=title, description=description, content=body)
    start = text.index(content)
    return Read(
        title=title[:MAX_TITLE] or name_title(path),
        description=description[:MAX_DESCRIPTION],
        content=content,
        whole=(text[:start], text[start + len(content) :]),
    )


def whole_entries(whole: tuple[str, str] | None, version: int) -> dict[str, str]:
    """Return the entries of the provenance for a text that was kept whole as this version."""
    if whole is None:
        return {}
    return {VERSION: str(version), BEFORE: whole[0], AFTER: whole[1]}


def without_file(provenance: Mapping[str, str]) -> dict[str, str]:
    """Return the provenance without the entries of this module."""
    return {key: value for key, value in provenance.items() if key not in {NAME, VERSION, BEFORE, AFTER}}


def name_title(path: str) -> str:
    """Return the title that a file's name says."""
    words = clean_line(re.sub(r"[-_\s]+", " ", safe_text(PurePosixPath(path).name.removesuffix(SUFFIX))))
    return (words[:1].upper() + words[1:])[:MAX_TITLE] or "Note"


def slug(title: str) -> str:
    """Return the name of a file for a title: lower-case letters and digits with hyphens between; may be empty."""
    folded = unicodedata.normalize("NFKC", title).casefold()
    return re.sub(r"[\W_]+", "-", folded).strip("-")[:_MAX_SLUG].strip("-")


def _own_form(title: str, description: str, content: str) -> str:
    when = f"{WHEN}{description}\n\n" if description else ""
    return f"# {title}\n\n{when}{content}\n"


COLLECTION = "files"
"""The collection of the documents that are files."""
SOURCE = "memory_tool"
_TAIL = 6
_TEXT = "text"
_REPEATS = "It says nearly the same as a memory in quarantine that this session was shown."


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
class PreparedChange:
    """A change with everything that takes time done.

    Attributes:
        archived: Memories whose files go.
        edited, made: Memories as they are to be, ready to be stored.
        apart: Memories as they are, each with the memory of its own that its change becomes.
        erased, kept: Documents that go, and documents to keep.
        stored: The change as it will be read back.
    """

    archived: tuple[Memory, ...]
    edited: tuple[Ready, ...]
    apart: tuple[tuple[Memory, Ready], ...]
    made: tuple[Ready, ...]
    erased: tuple[Document, ...]
    kept: tuple[Document, ...]
    stored: FileChange


def read_files(store: StoreReader) -> dict[str, File]:
    """Return every file by its path: memories that can be recalled, and the documents of the collection."""
    found = {
        "/".join((*document.path, document.key)): File(text=_text(document), document=document)
        for document in map(reveal_document, store.documents.below(COLLECTION))
    }
    memories = [reveal(memory) for memory in store.memories.page(Filter(), limit=0, offset=0)]
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
    store: Store,
    before: Mapping[str, File],
    wanted: FileChange,
    embedder: Embedder,
    *,
    project: str,
    session: str,
    at: datetime,
) -> PreparedChange:
    """Admit and embed what a change writes.

    Args:
        store: The bank.
        before: The files as they are.
        wanted: What is to become of them.
        embedder: Makes the vectors.
        project: The project of new memories.
        session: Who writes.
        at: When.

    Raises:
        InvalidInput: When a file cannot be stored, or its name looks like a prompt injection.
        InvalidMemory: When a memory's new text looks like a prompt injection; the memory stays as it was.
        PolicyError: When the file of a memory would go that a person stands by, or that is confirmed.
    """
    gone = [before[path] for path in wanted.removed]
    taken = [file.memory for file in gone if file.memory is not None]
    away = [before[old].memory for old, new in wanted.moved.items() if outcome_of(new) is None]
    taken += [memory for memory in away if memory is not None]
    refuse_held(taken, "No file was removed.", "rbank delete ID")
    changes, new = list[tuple[Memory, Memory]](), list[Memory]()
    kept, erased = list[Document](), list[Document]()
    texts = {path: (text, before.get(path)) for path, text in wanted.writes.items()}
    moves = {new: before[old] for old, new in wanted.moved.items()}
    for path, (text, old) in (texts | {path: (file.text, file) for path, file in moves.items()}).items():
        if redact(path).findings:
            raise InvalidInput("a path holds what looks like a secret", hint="Name the file without it.")
        check_label(*path.split("/"))
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
    changed = prepare_edits(changes, embedder, at=at, origin="file")
    pairs = [(old, ready) for (old, _), ready in zip(changes, changed, strict=True)]
    renamed = {memory.id for memory in (file.memory for file in moves.values()) if memory is not None}
    own = [
        None if old.id in renamed and old.outcome == ready.memory.outcome else other
        for (old, ready), other in zip(pairs, _apart(pairs, store, embedder, session), strict=True)
    ]
    edited = [ready for ready, other in zip(changed, own, strict=True) if other is None]
    beside = [(old, _as_file(other)) for (old, _), other in zip(pairs, own, strict=True) if other is not None]
    made = [
        as_echo(store, ready, session, speaker_in(session)) for ready in ready_to_admit(new, embedder, origin="file")
    ]
    stored |= {_path(each.memory): rendered(each.memory) for each in (*edited, *made, *(new for _, new in beside))}
    return PreparedChange(
        archived=tuple(file.memory for file in gone if file.memory is not None),
        edited=tuple(edited),
        apart=tuple(beside),
        made=tuple(made),
        erased=(*erased, *(file.document for file in gone if file.document is not None)),
        kept=tuple(kept),
        stored=replace(wanted, writes={path: stored[path] for path in wanted.writes}),
    )


def apply(transaction: Transaction, prepared: PreparedChange, *, at: datetime) -> FileChange:
    """Write a prepared change; the memories' evidence and states are what they are at that moment.

    A memory that was put into quarantine since its file was read stays there. A new one whose text looks like a prompt
    injection goes there, and then has no file.

    Raises:
        StoreBusy: When a memory was changed since its file was read; the caller undoes everything.
    """
    for memory in prepared.archived:
        current = transaction.memories.get(memory.id)
        state: State = "quarantined" if current.state == "quarantined" else "archived"
        gone = replace(current, state=state, provenance=without_file(current.provenance), version=current.version + 1)
        cause = Cause(at=at, kind="removed", reason="Its file was removed.", by=SOURCE)
        transaction.memories.update_state(replace(gone, updated_at=at), revision=True, cause=cause)
    cause = Cause(at=at, kind=EDITED, by=SOURCE)
    stored: list[Memory] = []
    for ready in prepared.edited:
        edited = edit(transaction, ready, cause=cause)
        if edited is None:
            raise StoreBusy("the files are being changed by others", hint="Try again.")
        stored.append(edited)
    for old, ready in prepared.apart:
        current = transaction.memories.get(old.id)
        if current.version != old.version:
            raise StoreBusy("the files are being changed by others", hint="Try again.")
        current = replace(current, provenance=without_file(current.provenance))
        stored.append(put_apart(transaction, current, ready, at=at, by=SOURCE))
    stored += [note_echo(transaction, admit(transaction, ready, at=at)) for ready in prepared.made]
    for document in prepared.erased:
        transaction.documents.delete_document(*document.place)
    for document in prepared.kept:
        put(transaction, document, {}, "")
    return replace(
        prepared.stored,
        quarantined={_path(memory): why_held(memory) or _REPEATS for memory in stored if memory.state == "quarantined"},
    )


def _apart(
    pairs: Sequence[tuple[Memory, Ready]], store: StoreReader, embedder: Embedder, session: str
) -> list[Ready | None]:
    """Return what each edit of a file becomes that is a memory of its own; an agent writes files."""
    said = {"source": SOURCE, "session": session}
    if speaker := speaker_in(session):
        said[PRINCIPAL] = speaker
    return apart(pairs, embedder, origin="file", said=said, reader=store)


def _as_file(ready: Ready) -> Ready:
    """Return a memory of its own with its text kept whole as its first version, when it was."""
    entries = dict(ready.memory.provenance)
    if VERSION in entries:
        entries[VERSION] = str(ready.memory.version)
    memory = replace(ready.memory, provenance=entries)
    return replace(ready, memory=memory, judged=memory)


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
        raise InvalidInput(f"there is no memory at {path[:80]!r}")
    provenance = {"source": SOURCE, "session": session, NAME: path.partition("/")[2]}
    if speaker := speaker_in(session):
        provenance[PRINCIPAL] = speaker
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
    """Return the memory under another name: its text stays, its title follows when that was its old name."""
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
