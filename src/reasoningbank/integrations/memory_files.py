"""The commands of Anthropic's memory tool over files: what each answers, word for word, and what it changes.

A directory exists as long as it holds a file; ``strategies`` and ``failures`` always do. The texts of the answers are
those of the tool ``memory_20250818`` (spec of the clients, 4d), which models know.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from reasoningbank.errors import InvalidInput
from reasoningbank.safety.unicode import normalise
from reasoningbank.types.document import FOLDERS, FileChange

ROOT = "/memories"
MOST_LISTED = 1_000
"""Lines of a listing; what is left out is counted."""
MAX_LINES = 999_999
_NUMBER_WIDTH = 6
_AROUND = 2
_SIZES = "BKMG"
_MOST_DECODINGS = 5
_NEEDED: Mapping[str, Mapping[str, type]] = {
    "view": {"path": str},
    "create": {"path": str, "file_text": str},
    "str_replace": {"path": str, "old_str": str},
    "insert": {"path": str, "insert_line": int, "insert_text": str},
    "delete": {"path": str},
    "rename": {"old_path": str, "new_path": str},
}
"""What each command cannot do without."""
_KINDS: Mapping[type, str] = {str: "a text", int: "a whole number"}

Files = Mapping[str, str]


class CommandAnswer(NamedTuple):
    """What a command says and does.

    Attributes:
        text: What the model is told, made of the texts as they were stored.
        change: What becomes of the files.
        failed: Whether the command was refused.
        shown: The paths of the files whose text it shows.
    """

    text: Callable[[Files], str]
    change: FileChange = FileChange()
    failed: bool = False
    shown: tuple[str, ...] = ()


def check_command(command: object) -> None:
    """Refuse a command that lacks what it needs; a model may send anything.

    Raises:
        InvalidInput: When there is no such command, or something it needs is missing or of another kind.
    """
    given = command if isinstance(command, Mapping) else {}
    name = given.get("command")
    needed = _NEEDED.get(name) if isinstance(name, str) else None
    if needed is None:
        raise InvalidInput(f"The command is one of {', '.join(_NEEDED)}")
    for field, kind in needed.items():
        if not isinstance(given.get(field), kind):
            raise InvalidInput(f"The command {name} needs {field}, {_KINDS[kind]}")
    pair = given.get("view_range")
    whole = isinstance(pair, list) and all(isinstance(each, int) for each in pair)
    if pair is not None and not (whole and len(pair) == 2):
        raise InvalidInput("A view_range is two whole numbers: the first line and the last")
    if not isinstance(given.get("new_str", ""), str):
        raise InvalidInput("new_str must be a text")


def view(files: Files, path: str, view_range: Sequence[int] | None = None) -> CommandAnswer:
    """Return the lines of a file with their numbers, or what a directory holds, two levels deep."""
    try:
        place = _place(path)
    except InvalidInput as refused:
        return _refusal(refused)
    if place in files:
        return _numbered(path, files[place], view_range)._replace(shown=(place,))
    if not _is_folder(files, place):
        return _refusal(f"The path {path} does not exist. Please provide a valid path.")
    entries = list(_entries(files, place))
    lines = [f"{size}\t{path}/{name}" for size, name in entries[:MOST_LISTED]]
    if len(entries) > MOST_LISTED:
        lines.append(f"... and {len(entries) - MOST_LISTED} more")
    total = _size(sum(_bytes(text) for name, text in files.items() if _below(name, place)))
    head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    return _said("\n".join([head, f"{total}\t{path}", *lines]))


def create(files: Files, path: str, file_text: str) -> CommandAnswer:
    """Return a new file; one that is there is never overwritten."""
    try:
        place = _place(path)
        if place in files or _is_folder(files, place):
            raise InvalidInput(f"File {path} already exists")
        _check_parents(files, place, path)
    except InvalidInput as refused:
        return _refusal(refused)
    return _said(f"File created successfully at: {path}", FileChange(writes={place: file_text}))


def str_replace(files: Files, path: str, old_str: str, new_str: str) -> CommandAnswer:
    """Replace the one place where a text stands."""
    try:
        place = _file(files, path)
    except InvalidInput as refused:
        return _refusal(refused)
    content = files[place]
    found = content.count(old_str)
    if found == 0:
        return _refusal(f"No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}.")
    if found > 1:
        lines = ", ".join(str(number) for number in _lines_with(content, old_str))
        return _refusal(
            f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: {lines}. "
            "Please ensure it is unique"
        )
    at = content[: content.find(old_str)].count("\n")

    def snippet(stored: Files) -> str:
        lines = stored.get(place, content).split("\n")
        first, last = max(0, at - _AROUND), min(len(lines), at + _AROUND + 1)
        shown = [_line(number + 1, lines[number]) for number in range(first, last)]
        head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return "\n".join([head, *shown])

    return CommandAnswer(text=snippet, change=FileChange(writes={place: content.replace(old_str, new_str)}))


def insert(files: Files, path: str, insert_line: int, insert_text: str) -> CommandAnswer:
    """Put lines behind a line; 0 is the top."""
    try:
        place = _file(files, path)
    except InvalidInput as refused:
        return _refusal(refused)
    lines = files[place].split("\n")
    if lines[-1] == "":
        lines.pop()
    if not 0 <= insert_line <= len(lines):
        return _refusal(
            f"Invalid `insert_line` parameter: {insert_line}. It should be within the range [0, {len(lines)}]."
        )
    lines.insert(insert_line, insert_text.rstrip("\n"))
    text = "\n".join(lines)
    change = FileChange(writes={place: text if text.endswith("\n") else f"{text}\n"})
    return _said(f"The file {path} has been edited.", change)


def delete(files: Files, path: str) -> CommandAnswer:
    """Take away a file, or a directory with all that it holds."""
    try:
        place = _place(path)
        _check_own(place, "delete")
    except InvalidInput as refused:
        return _refusal(refused)
    gone = tuple(name for name in files if name == place or _below(name, place))
    if not gone:
        return _refusal(f"The path {path} does not exist")
    return _said(f"Successfully deleted {path}", FileChange(removed=gone))


def rename(files: Files, old_path: str, new_path: str) -> CommandAnswer:
    """Give a file, or a directory with all that it holds, another path."""
    try:
        old, new = _place(old_path), _place(new_path)
        _check_own(old, "rename")
        if new in files or _is_folder(files, new):
            raise InvalidInput(f"The destination {new_path} already exists")
        moved = {name: new + name[len(old) :] for name in files if name == old or _below(name, old)}
        if not moved:
            raise InvalidInput(f"The path {old_path} does not exist")
        if _below(new, old):
            raise InvalidInput(f"Cannot rename {old_path} to {new_path}, which lies inside of it")
        _check_parents({name: text for name, text in files.items() if name not in moved}, new, new_path)
    except InvalidInput as refused:
        return _refusal(refused)
    return _said(f"Successfully renamed {old_path} to {new_path}", FileChange(moved=moved))


def clear(files: Files) -> CommandAnswer:
    """Take away every file."""
    return _said("All memory cleared", FileChange(removed=tuple(files)))


def _place(path: str) -> str:
    """Return the path below the root, empty for the root itself; no spelling of it leads elsewhere."""
    plain = normalise(path)
    if plain != ROOT and not plain.startswith(f"{ROOT}/"):
        raise InvalidInput(f"Path must start with {ROOT}, got: {path}")
    parts = [part for part in plain.removeprefix(ROOT).split("/") if part not in {"", "."}]
    for part in (*parts, *path.split("/")):
        if any(_leads_away(spelling) for spelling in _spellings(part)):
            raise InvalidInput(f"Path {path} would escape {ROOT} directory")
    return "/".join(parts)


def _spellings(part: str) -> Iterator[str]:
    """Yield what a part of a path may mean to somebody: as it is, in compatible characters, and decoded."""
    for _ in range(_MOST_DECODINGS):
        yield part
        yield unicodedata.normalize("NFKC", part)
        decoded = unquote(part)
        if decoded == part:
            return
        part = decoded
    yield ".."


def _leads_away(part: str) -> bool:
    return part.strip() in {"..", "~"} or re.search(r"[/\\\x00-\x1f\x7f]", part) is not None


def _file(files: Files, path: str) -> str:
    place = _place(path)
    if place in files:
        return place
    if _is_folder(files, place):
        raise InvalidInput(f"The path {path} is not a file.")
    raise InvalidInput(f"The path {path} does not exist. Please provide a valid path.")


def _check_own(place: str, verb: str) -> None:
    if place == "" or place in FOLDERS:
        raise InvalidInput(f"Cannot {verb} the {'/'.join(filter(None, (ROOT, place)))} directory itself")


def _check_parents(files: Files, place: str, path: str) -> None:
    """Refuse a place below a file."""
    parts = place.split("/")
    for count in range(1, len(parts)):
        parent = "/".join(parts[:count])
        if parent in files:
            raise InvalidInput(f"Cannot use {path}: {ROOT}/{parent} is a file, not a directory")


def _is_folder(files: Files, place: str) -> bool:
    return place == "" or place in FOLDERS or any(_below(name, place) for name in files)


def _below(name: str, place: str) -> bool:
    return place == "" or name.startswith(f"{place}/")


def _entries(files: Files, place: str) -> Iterator[tuple[str, str]]:
    """Yield size and path of what lies directly in a directory and of what lies in that, hidden things left out."""
    inside = {
        name.removeprefix(f"{place}/") if place else name: text for name, text in files.items() if _below(name, place)
    }
    folders = FOLDERS if place == "" else ()
    for first in sorted({name.partition("/")[0] for name in inside} | {*folders}):
        if first.startswith("."):
            continue
        if first in inside:
            yield _size(_bytes(inside[first])), first
            continue
        below = {name.removeprefix(f"{first}/"): text for name, text in inside.items() if _below(name, first)}
        yield _size(sum(map(_bytes, below.values()))), f"{first}/"
        for second in sorted({name.partition("/")[0] for name in below}):
            if second.startswith("."):
                continue
            if second in below:
                yield _size(_bytes(below[second])), f"{first}/{second}"
            else:
                size = sum(_bytes(text) for name, text in below.items() if _below(name, second))
                yield _size(size), f"{first}/{second}/"


def _numbered(path: str, text: str, view_range: Sequence[int] | None) -> CommandAnswer:
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        return _refusal(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, shown = 0, lines
    if view_range and len(view_range) == 2:
        first = max(1, view_range[0]) - 1
        shown = lines[first : len(lines) if view_range[1] == -1 else view_range[1]]
    numbered = [_line(number, line) for number, line in enumerate(shown, start=first + 1)]
    return _said(f"Here's the content of {path} with line numbers:\n" + "\n".join(numbered))


def _line(number: int, text: str) -> str:
    return f"{number:>{_NUMBER_WIDTH}}\t{text}"


def _lines_with(content: str, text: str) -> Iterable[int]:
    """Return the number of the line of each place where a text stands."""
    position = content.find(text)
    while position != -1:
        yield content[:position].count("\n") + 1
        position = content.find(text, position + 1)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8"))


def _size(count: int) -> str:
    """Return a number of bytes as the tool writes it: ``512B``, ``1.5K``."""
    step = min(max(0, count.bit_length() - 1) // 10, len(_SIZES) - 1)
    size = count / 1024**step
    return f"{int(size)}{_SIZES[step]}" if size == int(size) else f"{size:.1f}{_SIZES[step]}"


def _said(text: str, change: FileChange | None = None) -> CommandAnswer:
    return CommandAnswer(text=lambda _: text, change=change or FileChange())


def _refusal(words: object) -> CommandAnswer:
    text = str(words)
    return CommandAnswer(text=lambda _: text, failed=True)
