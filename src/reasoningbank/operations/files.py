"""Operations that read or write files a person names: exports, imports and copies; each takes a bank first."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput
from reasoningbank.types.memory import ImportReport
from reasoningbank.types.transfer import MarkdownFiles, Product, TakenOver

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.types.quarantine import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Where an export lies and how many memories it holds."""

    path: str
    memories: int


def export(
    bank: Bank, file: str | None = None, *, markdown: Path | None = None, reader: Reader = "human"
) -> Exported | MarkdownFiles:
    """Write all memories with their evidence to a file as JSON lines, secrets removed; `rbank import` reads it.

    Args:
        bank: The bank.
        file: The file, written anew.
        markdown: Instead a directory for Markdown files, one a memory, to be read and edited.
        reader: Who is given it; an agent gets nothing of what is in quarantine.

    Raises:
        InvalidInput: When neither is named, or both.
    """
    from reasoningbank.safety.checks import usable_path

    if file is not None and markdown is None:
        return Exported(memories=bank.admin.export(usable_path(file), reader=reader), path=file)
    if file is None and markdown is not None:
        return bank.sharing.export_markdown(markdown)
    raise InvalidInput("an export needs one place", hint="Name a FILE, or --markdown DIR.")


def import_(
    bank: Bank,
    source: Path | None = None,
    *,
    markdown: Path | None = None,
    product: Product | None = None,
    vouched: bool = False,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ImportReport | TakenOver:
    """Add memories from files: of an export, of edited Markdown files, or of another product.

    What a file says is a claim: its memories are candidates with a confidence of at most 0.6. Nothing is taken twice.
    With --vouched the edited Markdown file of a memory that is here is a new version of it, else a claim beside it.

    Args:
        bank: The bank.
        source: A file that `rbank export` wrote; with --from the file or folder of that product.
        markdown: Instead a directory that `rbank export --markdown` wrote.
        product: Whose file it is, when it is of another product.
        vouched: You stand by the file: what it brings is taken over as it is, or as yours.
        dry_run: Only say what would be done; for Markdown and other products.
        progress: Called with memories or files done, and with how many there are.

    Raises:
        InvalidInput: When not exactly one source is named, or the file is none of that kind.
    """
    if (source is None) == (markdown is None):
        raise InvalidInput("an import needs one source", hint="Name a FILE, or --markdown DIR.")
    if markdown is not None:
        if product is not None:
            raise InvalidInput("--from goes with a file, not with --markdown", hint="Leave one of them out.")
        return bank.sharing.import_markdown(markdown, vouched=vouched, dry_run=dry_run, progress=progress)
    assert source is not None
    if product is not None:
        return bank.sharing.import_from(product, source, vouched=vouched, dry_run=dry_run, progress=progress)
    if dry_run:
        raise InvalidInput("an export has no dry run", hint="Use --dry-run with --markdown or --from.")
    return bank.admin.import_(source, vouched=vouched, progress=progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """Where a copy of the bank lies and its size."""

    path: str
    bytes: int


def backup(bank: Bank, file: str | None = None) -> Copy:
    """Copy the whole bank to a file while others read and write.

    Args:
        bank: The bank.
        file: The file; without it one below the data directory.
    """
    from reasoningbank.safety.checks import usable_path

    path = bank.admin.backup(None if file is None else usable_path(file))
    return Copy(path=str(path), bytes=path.stat().st_size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The copy that replaced the bank and how many memories it holds."""

    restored: bool = True
    path: str
    memories: int


def restore(bank: Bank, file: str) -> Restored:
    """Put a backup in the bank's place; what the bank held until now is kept beside it.

    Args:
        bank: The bank.
        file: The backup.
    """
    from reasoningbank.safety.checks import usable_path

    bank.admin.restore(usable_path(file))
    return Restored(path=file, memories=bank.memories.count())


_TRANSCRIPTS = frozenset({".json", ".jsonl"})


def transcripts_in(source: str) -> list[str]:
    """Return the files of a folder that may be transcripts, in the order of their names; any other path as it is.

    Raises:
        InvalidInput: When a folder has none.
    """
    from reasoningbank.safety.checks import usable_path

    folder = usable_path(source)
    if not folder.is_dir():
        return [source]
    found = sorted(
        str(Path(place, name))
        for place, _, names in os.walk(folder, followlinks=False)
        for name in names
        if Path(name).suffix in _TRANSCRIPTS and Path(place, name).is_file() and not Path(place, name).is_symlink()
    )
    if not found:
        raise InvalidInput(f"{folder} holds no .json or .jsonl file", hint="Name a folder of transcripts, or files.")
    return found
