"""A bank behind Anthropic's memory tool ``memory_20250818``: what Claude files there becomes memories.

    tool = BankMemoryTool(bank)
    client.beta.messages.run_tools(model=..., messages=[...], tools=[tool]).until_done()

``/memories/strategies/NAME.md`` and ``/memories/failures/NAME.md`` are the bank's memories, whoever recorded them; what
is written there can be recalled at once. Every other file is kept as it was written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from reasoningbank.bank import Bank
from reasoningbank.errors import BankError, ConfigurationError
from reasoningbank.integrations import memory_files
from reasoningbank.integrations.memory_files import CommandAnswer, Files
from reasoningbank.types.document import FileChange

try:
    from anthropic.lib.tools import ToolError
    from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
except ImportError as missing:
    raise ConfigurationError(
        "the package anthropic cannot be loaded, or is too old for its memory tool",
        hint="pip install 'anthropic>=2.12,<3'",
    ) from missing

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaFunctionToolResultType
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

__all__ = ["AsyncBankMemoryTool", "BankMemoryTool"]


class BankMemoryTool(BetaAbstractMemoryTool):
    """The memory tool over one bank; every answer is worded as the tool's own implementation words it.

    Secrets are replaced before anything is stored, and a file reads as it was stored. A memory's file that is removed
    archives the memory, so that a person can bring it back; ``rbank delete`` erases it. Any other file that is removed
    is erased. A new memory that looks like a prompt injection goes into quarantine, where neither a view nor a search
    shows it, and the answer says why. An edit, a name or any other file that does is refused, and what was there stays.
    Reading a file is not evidence that it was of use; a memory that says nearly the same as a file that was read is an
    echo of that.

    Args:
        bank: Where the files are; it stays the caller's to close.
        cache_control: A breakpoint for the cache at the tool's definition.
    """

    def __init__(self, bank: Bank, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        super().__init__(cache_control=cache_control)
        self._bank = bank

    def call(self, input: object) -> BetaFunctionToolResultType:  # noqa: A002 - the library's name
        """Do what the model asks for, or refuse a command that lacks something."""
        _check(input)
        return super().call(input)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return the lines of a file with their numbers, or what a directory holds."""
        return _read(self._bank, lambda files: memory_files.view(files, command.path, command.view_range))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Return a new file."""
        return _changed(self._bank, lambda files: memory_files.create(files, command.path, command.file_text))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace the one place where a text stands in a file."""
        return _changed(
            self._bank,
            lambda files: memory_files.str_replace(files, command.path, command.old_str, command.new_str or ""),
        )

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Put lines into a file."""
        return _changed(
            self._bank,
            lambda files: memory_files.insert(files, command.path, command.insert_line, command.insert_text),
        )

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Take away a file or a directory."""
        return _changed(self._bank, lambda files: memory_files.delete(files, command.path))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Give a file or a directory another path."""
        return _changed(self._bank, lambda files: memory_files.rename(files, command.old_path, command.new_path))

    def clear_all_memory(self) -> str:
        """Take away every file: memories are archived, other files erased."""
        return _changed(self._bank, memory_files.clear)


class AsyncBankMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for asynchronous programs; each command runs in a worker thread.

    Args:
        bank: Where the files are; it stays the caller's to close.
        cache_control: A breakpoint for the cache at the tool's definition.
    """

    def __init__(self, bank: Bank, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        super().__init__(cache_control=cache_control)
        self._tool = BankMemoryTool(bank)

    async def call(self, input: object) -> BetaFunctionToolResultType:  # noqa: A002 - the library's name
        """See BankMemoryTool.call."""
        _check(input)
        return await super().call(input)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """See BankMemoryTool.view."""
        return await asyncio.to_thread(self._tool.view, command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """See BankMemoryTool.create."""
        return await asyncio.to_thread(self._tool.create, command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """See BankMemoryTool.str_replace."""
        return await asyncio.to_thread(self._tool.str_replace, command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """See BankMemoryTool.insert."""
        return await asyncio.to_thread(self._tool.insert, command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """See BankMemoryTool.delete."""
        return await asyncio.to_thread(self._tool.delete, command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """See BankMemoryTool.rename."""
        return await asyncio.to_thread(self._tool.rename, command)

    async def clear_all_memory(self) -> str:
        """See BankMemoryTool.clear_all_memory."""
        return await asyncio.to_thread(self._tool.clear_all_memory)


def _check(command: object) -> None:
    try:
        memory_files.check_command(command)
    except BankError as error:
        raise ToolError(str(error)) from error


def _read(bank: Bank, command: Callable[[Files], CommandAnswer]) -> str:
    """Run a command that reads; what it shows is noted, and that it could not be is said behind the answer."""
    answers: list[tuple[CommandAnswer, Files]] = []

    def read(files: Files) -> tuple[str, ...]:
        answers.append((command(files), files))
        return answers[-1][0].shown

    try:
        unnoted = bank.documents.show_files(read)
    except BankError as error:
        raise ToolError(f"{error} {error.hint}".strip()) from error
    return "\n".join(filter(None, (_said(*answers[-1]), unnoted)))


def _changed(bank: Bank, command: Callable[[Files], CommandAnswer]) -> str:
    """Run a command that writes; it is asked again when others were faster, and its last answer counts."""
    answers: list[CommandAnswer] = []

    def change(files: Files) -> FileChange:
        answers.append(command(files))
        return answers[-1].change

    try:
        stored = bank.documents.change_files(change)
    except BankError as error:
        raise ToolError(f"{error} {error.hint}".strip()) from error
    if stored.quarantined:
        return _quarantined(stored.quarantined)
    return _said(answers[-1], stored.writes)


def _quarantined(reasons: Mapping[str, str]) -> str:
    return "\n".join(f"{memory_files.ROOT}/{path} was quarantined. {why}" for path, why in sorted(reasons.items()))


def _said(answer: CommandAnswer, stored: Files) -> str:
    text = answer.text(stored)
    if answer.failed:
        raise ToolError(text)
    return text
