"""A bank as a folder of Markdown files that a person edits: one file a memory.

A file that was edited comes back as a new version of its memory when a person stands by the files. Else it is what any
file is, a claim: it becomes a memory of its own beside what stands higher, and a new version of a claim only where it
says nearly the same (``memories/rewrites.py``). What was not changed is not touched. A memory that was changed here
since its file was written is left as it is, and so is a file with edits that were never imported when the folder is
written again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import BankError, InvalidInput, StoreUnavailable
from reasoningbank.memories.front_matter import MarkdownMemory, read_memory_file, short_id, slug, written_memory
from reasoningbank.safety.file_access import digest_at, write_whole
from reasoningbank.safety.stored_text import reveal
from reasoningbank.sharing.claimed_texts import BroughtText, take_claims
from reasoningbank.sharing.edited_texts import EditedText, take_edit
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
    digest: str


def read_markdown(
    context: Context,
    source: Path,
    *,
    vouched: bool = False,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> TakenOver:
    """Take over edited files, and files without a memory here as claims.

    Args:
        context: The bank.
        source: The directory, or one file.
        vouched: A person stands by the files.
        dry_run: Only say what would be done.
        progress: Called with files done and files in all.

    Raises:
        StoreUnavailable: When there is no such file or directory.
    """
    if not source.exists():
        raise StoreUnavailable(f"there is no {source}", hint="Name a directory that `rbank export --markdown` wrote.")
    store = context.store()
    taken: list[Taken] = []
    claims: list[BroughtText] = []
    files = _files(source) if source.is_dir() else [source]

    def stored(done: int, claimed: int) -> None:
        if progress is not None:
            progress(len(files) - claimed + done, len(files))

    for path in files:
        place = path.relative_to(source).as_posix() if source.is_dir() else path.name
        try:
            memory, digest = read_memory_file(path), digest_at(path)
            known = store.memories.many([memory.id]).get(memory.id) if memory.id else None
        except BankError as error:
            taken.append(Taken(place=place, change="refused", reason=str(error)))
            continue
        if known is None:
            claims.append(BroughtText.of_markdown(memory, place, path, digest))
        else:
            edit = _Edit(place=place, memory=memory, known=known, digest=digest)
            taken.append(_edited(context, edit, vouched=vouched, dry_run=dry_run))
            if progress is not None:
                progress(len(taken), len(files))
    added = take_claims(context, claims, source="markdown", vouched=vouched, dry_run=dry_run, progress=stored)
    quarantined = [
        each.id
        for each in taken
        if each.change in {"edited", "added"} and not dry_run and store.memories.get(each.id).state == "quarantined"
    ]
    return TakenOver(
        source=str(source),
        dry_run=dry_run,
        taken=tuple(sorted((*taken, *added.taken), key=lambda each: each.place)),
        quarantined=(*quarantined, *added.quarantined),
    )


def _edited(context: Context, edit: _Edit, *, vouched: bool, dry_run: bool) -> Taken:
    """Return what became of a file whose memory is here; the memory is changed when the file was."""
    memory, known, store = edit.memory, edit.known, context.store()
    said = Taken(place=edit.place, change="unchanged", id=known.id, title=known.title)
    if memory.says(reveal(known)):
        return said
    if memory.version not in {0, known.version}:
        if _was(store, known, memory):
            return replace(said, reason="an older version")
        reason = f"it was changed here since: the file has version {memory.version}, the bank {known.version}"
        return replace(said, change="conflict", reason=reason)
    given = EditedText(source="markdown", place=edit.place, text=memory, known=known, digest=edit.digest)
    try:
        return take_edit(context, given, vouched=vouched, dry_run=dry_run)
    except InvalidInput as error:
        return replace(said, change="refused", title=memory.title, reason=str(error))
