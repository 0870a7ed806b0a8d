"""A bank as a folder of Markdown files that a person edits: one file a memory.

A file that was edited comes back as a new version of its memory, as if the person had typed it into ``rbank update``.
What was not changed is not touched. A memory that was changed here since its file was written is left as it is, and so
is a file with edits that were never imported when the folder is written again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import BankError, InvalidInput, StoreUnavailable
from reasoningbank.memories.front_matter import MarkdownMemory, read_memory_file, short_id, slug, written_memory
from reasoningbank.safety.file_access import write_whole
from reasoningbank.safety.stored_text import reveal
from reasoningbank.sharing.claimed_texts import BroughtText, take_claims
from reasoningbank.types.memory import STATES, Memory
from reasoningbank.types.recall import Filter
from reasoningbank.types.transfer import MarkdownFiles, Taken, TakenOver

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.storage.store import Store

SUFFIX = ".md"
MOST_FILES = 100_000


def write_markdown(store: Store, target: Path) -> MarkdownFiles:
    """Write every memory that a search can find as a file; memories that are in no file yet get a new one.

    Args:
        store: The bank.
        target: The directory, made when it is not there.

    Raises:
        StoreUnavailable: When it cannot be written.
    """
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"{target} cannot be made: {error.strerror}", hint="Name a directory.") from error
    known = _known_files(target)
    written: list[str] = []
    kept: list[str] = []
    unchanged = 0
    for memory in map(reveal, store.memories.page(Filter(), limit=0, offset=0)):
        path, there = known.get(memory.id, (target / f"{slug(memory.title)}{SUFFIX}", None))
        if there is None and path.exists():
            path = target / f"{slug(memory.title)}-{short_id(memory.id)}{SUFFIX}"
        text = written_memory(memory)
        if there is not None and not there.says(memory) and not _was(store, memory, there):
            kept.append(path.name)
            continue
        if there is not None and path.read_text(encoding="utf-8") == text:
            unchanged += 1
            continue
        with write_whole(path) as file:
            file.write(text)
        written.append(path.name)
    found = len(written) + len(kept) + unchanged
    return MarkdownFiles(
        path=str(target),
        written=tuple(written),
        unchanged=unchanged,
        kept=tuple(kept),
        left_out=store.memories.count(Filter(states=STATES)) - found,
    )


def _known_files(folder: Path) -> Mapping[str, tuple[Path, MarkdownMemory]]:
    """Return the files of a folder that are memories, by the id of the memory."""
    found: dict[str, tuple[Path, MarkdownMemory]] = {}
    for path in _files(folder):
        try:
            memory = read_memory_file(path)
        except BankError:
            continue  # what is not a memory is not written over: no memory's file has its name
        if memory.id:
            found[memory.id] = (path, memory)
    return found


def _was(store: Store, memory: Memory, there: MarkdownMemory) -> bool:
    """Return whether a file says what an earlier version of the memory said."""
    return any(there.says(reveal(each)) for each in store.memories.revisions(memory.id))


def _files(folder: Path) -> list[Path]:
    paths = sorted(path for path in folder.rglob(f"*{SUFFIX}") if path.is_file() and not path.is_symlink())
    if len(paths) > MOST_FILES:
        raise InvalidInput(f"{folder} has more than {MOST_FILES:,} Markdown files", hint="Name a smaller folder.")
    return paths


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    """One file whose memory is here."""

    place: str
    memory: MarkdownMemory
    known: Memory


def read_markdown(context: Context, source: Path, *, vouched: bool = False, dry_run: bool = False) -> TakenOver:
    """Take over edited files, and files without a memory here as claims.

    Args:
        context: The bank.
        source: The directory, or one file.
        vouched: A person stands by files without a memory here.
        dry_run: Only say what would be done.

    Raises:
        StoreUnavailable: When there is no such file or directory.
    """
    if not source.exists():
        raise StoreUnavailable(f"there is no {source}", hint="Name a directory that `rbank export --markdown` wrote.")
    store = context.store()
    taken: list[Taken] = []
    claims: list[BroughtText] = []
    for path in _files(source) if source.is_dir() else [source]:
        place = path.relative_to(source).as_posix() if source.is_dir() else path.name
        try:
            memory = read_memory_file(path)
            known = store.memories.many([memory.id]).get(memory.id) if memory.id else None
        except BankError as error:
            taken.append(Taken(place=place, change="refused", reason=str(error)))
            continue
        if known is None:
            claims.append(BroughtText.of_markdown(memory, place))
        else:
            taken.append(_edited(context, _Edit(place=place, memory=memory, known=known), dry_run=dry_run))
    added = take_claims(context, claims, source="markdown", vouched=vouched, dry_run=dry_run)
    quarantined = [
        each.id
        for each in taken
        if each.change == "edited" and not dry_run and store.memories.get(each.id).state == "quarantined"
    ]
    return TakenOver(
        source=str(source),
        dry_run=dry_run,
        taken=tuple(sorted((*taken, *added.taken), key=lambda each: each.place)),
        quarantined=(*quarantined, *added.quarantined),
    )


def _edited(context: Context, edit: _Edit, *, dry_run: bool) -> Taken:
    """Return what became of a file whose memory is here; the memory is changed when the file was."""
    from reasoningbank.memories.versions import rewrite, with_text_of

    memory, known, store = edit.memory, edit.known, context.store()
    said = Taken(place=edit.place, change="unchanged", id=known.id, title=known.title)
    current = reveal(known)
    if memory.says(current):
        return said
    if memory.version not in {0, known.version}:
        if _was(store, known, memory):
            return Taken(
                place=edit.place, change="unchanged", id=known.id, title=known.title, reason="an older version"
            )
        reason = f"it was changed here since: the file has version {memory.version}, the bank {known.version}"
        return Taken(place=edit.place, change="conflict", id=known.id, title=known.title, reason=reason)
    if known.state == "quarantined":
        reason = "it is in quarantine"
        return Taken(place=edit.place, change="conflict", id=known.id, title=known.title, reason=reason)
    try:
        if not dry_run:
            rewrite(
                store,
                known.id,
                lambda old: with_text_of(old, memory),
                embedder=context.embedder,
                now=context.clock.now,
                by=context.session,
            )
    except InvalidInput as error:
        return Taken(place=edit.place, change="refused", id=known.id, title=memory.title, reason=str(error))
    return Taken(place=edit.place, change="edited", id=known.id, title=memory.title)
