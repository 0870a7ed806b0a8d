"""Anthropic's memory tool over a bank, compared with the library's own implementation over a directory."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool
from hypothesis import example, given
from hypothesis import settings as run_settings
from hypothesis import strategies as st

from integrations.memory_tool_calls import RETRY, open_bank, run
from promises import promise
from reasoningbank import Bank
from reasoningbank.integrations import memory_files
from reasoningbank.integrations.memory_tool import AsyncBankMemoryTool, BankMemoryTool


@promise(
    "memory-tool:strings",
    "Every answer and refusal of the memory tool has the exact words of memory_20250818.",
    source="issue 4; spec/clients 4d",
)
def test_every_answer_has_the_words_of_the_tool(memory_tool_bank: Bank) -> None:
    tool = BankMemoryTool(memory_tool_bank)
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}
    assert run(tool, "view", path="/memories") == (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n"
        "0B\t/memories\n0B\t/memories/failures/\n0B\t/memories/strategies/"
    )
    path = "/memories/notes/plan.txt"
    assert run(tool, "create", path=path, file_text="one\ntwo\nthree") == f"File created successfully at: {path}"
    assert run(tool, "create", path=path, file_text="x") == f"refused: File {path} already exists"
    assert run(tool, "view", path=path) == (
        f"Here's the content of {path} with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree"
    )
    assert run(tool, "view", path=path, view_range=[2, -1]).endswith("numbers:\n     2\ttwo\n     3\tthree")
    assert run(tool, "view", path="/memories/notes") == (
        "Here're the files and directories up to 2 levels deep in /memories/notes, excluding hidden items:\n"
        "13B\t/memories/notes\n13B\t/memories/notes/plan.txt"
    )
    assert run(tool, "str_replace", path=path, old_str="two", new_str="zwei") == (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     1\tone\n     2\tzwei\n     3\tthree"
    )
    assert run(tool, "str_replace", path=path, old_str="two", new_str="x") == (
        f"refused: No replacement was performed, old_str `two` did not appear verbatim in {path}."
    )
    assert run(tool, "str_replace", path=path, old_str="e", new_str="x") == (
        "refused: No replacement was performed. Multiple occurrences of old_str `e` in lines: 1, 2, 3, 3. "
        "Please ensure it is unique"
    )
    assert run(tool, "insert", path=path, insert_line=0, insert_text="zero\n") == f"The file {path} has been edited."
    assert run(tool, "insert", path=path, insert_line=9, insert_text="x") == (
        "refused: Invalid `insert_line` parameter: 9. It should be within the range [0, 4]."
    )
    missing = "/memories/no.md"
    for command, fields in (("view", {}), ("str_replace", {"old_str": "a", "new_str": "b"})):
        said = run(tool, command, path=missing, **fields)
        assert said == f"refused: The path {missing} does not exist. Please provide a valid path."
    assert run(tool, "delete", path=missing) == f"refused: The path {missing} does not exist"
    assert run(tool, "delete", path="/memories") == "refused: Cannot delete the /memories directory itself"
    assert run(tool, "rename", old_path="/memories", new_path="/memories/x") == (
        "refused: Cannot rename the /memories directory itself"
    )
    assert run(tool, "rename", old_path=path, new_path="/memories/notes") == (
        "refused: The destination /memories/notes already exists"
    )
    assert run(tool, "rename", old_path=path, new_path=missing) == f"Successfully renamed {path} to {missing}"
    assert run(tool, "delete", path=missing) == f"Successfully deleted {missing}"
    assert tool.clear_all_memory() == "All memory cleared"


@promise(
    "memory-tool:incomplete",
    "A command of the memory tool that lacks something, or has it in another kind, is refused with what it needs.",
    source="issue Hard to break 7",
)
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ({}, "The command is one of view, create, str_replace, insert, delete, rename"),
        ({"command": "copy"}, "The command is one of view, create, str_replace, insert, delete, rename"),
        ({"command": "view"}, "The command view needs path, a text"),
        ({"command": "view", "path": 5}, "The command view needs path, a text"),
        ({"command": "view", "path": "/memories", "view_range": [1]}, "A view_range is two whole numbers"),
        ({"command": "view", "path": "/memories", "view_range": "1-2"}, "A view_range is two whole numbers"),
        ({"command": "create", "path": "/memories/a"}, "The command create needs file_text, a text"),
        ({"command": "str_replace", "path": "/memories/a"}, "The command str_replace needs old_str, a text"),
        (
            {"command": "str_replace", "path": "/memories/a", "old_str": "a", "new_str": 5},
            "new_str must be a text",
        ),
        (
            {"command": "insert", "path": "/memories/a", "insert_line": "1", "insert_text": "b"},
            "The command insert needs insert_line, a whole number",
        ),
        ({"command": "rename", "old_path": "/memories/a"}, "The command rename needs new_path, a text"),
    ],
)
def test_an_incomplete_command_is_refused_with_what_it_needs(
    memory_tool_bank: Bank, command: dict[str, object], said: str
) -> None:
    for call in (BankMemoryTool(memory_tool_bank).call, _waited(AsyncBankMemoryTool(memory_tool_bank))):
        with pytest.raises(ToolError, match=f"^{said}"):
            call(command)


def _waited(tool: AsyncBankMemoryTool) -> Callable[[object], object]:
    return lambda command: asyncio.run(tool.call(command))


@promise("memory-tool:strings")
def test_sizes_and_very_long_files_read_as_the_tool_has_them(memory_tool_bank: Bank) -> None:
    tool = BankMemoryTool(memory_tool_bank)
    for name, size in (("a", 512), ("b", 1_536), ("c", 1_024), ("d", 0)):
        run(tool, "create", path=f"/memories/x/{name}", file_text="x" * size)
    run(tool, "create", path="/memories/.hidden", file_text="x")
    assert run(tool, "view", path="/memories/x").split("\n")[1:] == [
        "3K\t/memories/x",
        "512B\t/memories/x/a",
        "1.5K\t/memories/x/b",
        "1K\t/memories/x/c",
        "0B\t/memories/x/d",
    ]
    assert ".hidden" not in run(tool, "view", path="/memories")
    answer = memory_files.view({"long": "\n" * 999_999}, "/memories/long")
    assert (answer.text({}), answer.failed) == (
        "File /memories/long exceeds maximum line limit of 999,999 lines.",
        True,
    )
    listing = memory_files.view({f"f{number:04}": "" for number in range(1_200)}, "/memories").text({})
    assert listing.endswith("0B\t/memories/f0999\n... and 202 more")


@promise(
    "memory-tool:paths",
    "No spelling of a path leads out of /memories: traversal, encoded, full-width, control or invisible characters.",
    source="spec/clients 4d",
)
@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "memories/a",
        "/memory/a",
        "/memoriesevil",
        "/MEMORIES/a",
        "/etc/passwd",
        "C:\\memories\\a",
        "/memories/..",
        "/memories/../a",
        "/memories/a/../../b",
        "/memories/a/../b",
        "/memories/%2e%2e/a",
        "/memories/%252e%252e%252fa",
        "/memories/a%2fb",
        "/memories/..%2f..",
        "/memories/a\\..\\b",
        "/memories/%5c",
        "/memories/a\x00b",
        "/memories/\uff0e\uff0e/a",
        "/memories/\u200b../a",
        "/memories/.\u200b./a",
        "/memories/a\uff0fb",
        "/memories/~",
        "/memories/.. /a",
        "/memories/%" + "25" * 9 + "2e",
        "/memories\u200b/../x",
    ],
)
def test_no_spelling_of_a_path_leads_out(memory_tool_bank: Bank, path: str) -> None:
    tool = BankMemoryTool(memory_tool_bank)
    commands: list[tuple[str, dict[str, object]]] = [
        ("view", {"path": path}),
        ("create", {"path": path, "file_text": "x"}),
        ("str_replace", {"path": path, "old_str": "a", "new_str": "b"}),
        ("insert", {"path": path, "insert_line": 0, "insert_text": "x"}),
        ("delete", {"path": path}),
        ("rename", {"old_path": path, "new_path": "/memories/ok"}),
        ("rename", {"old_path": "/memories/strategies/x.md", "new_path": path}),
    ]
    for command, fields in commands:
        said = run(tool, command, **fields)
        assert said.startswith(("refused: Path must start with /memories, got: ", f"refused: Path {path} would escape"))
    assert memory_tool_bank.documents.files() == {}


@promise("memory-tool:paths")
def test_slashes_and_dots_that_lead_nowhere_are_passed_over(memory_tool_bank: Bank) -> None:
    tool = BankMemoryTool(memory_tool_bank)
    run(tool, "create", path="/memories//a/./b.md/", file_text="x")
    assert dict(memory_tool_bank.documents.files()) == {"a/b.md": "x"}
    assert run(tool, "create", path="/memories/a", file_text="x") == "refused: File /memories/a already exists"
    assert run(tool, "create", path="/memories/strategies", file_text="x").endswith("strategies already exists")
    below = run(tool, "create", path="/memories/a/b.md/c", file_text="x")
    assert below == "refused: Cannot use /memories/a/b.md/c: /memories/a/b.md is a file, not a directory"
    inside = run(tool, "rename", old_path="/memories/a", new_path="/memories/a/c")
    assert inside == "refused: Cannot rename /memories/a to /memories/a/c, which lies inside of it"
    for verb, fields in (
        ("delete", {"path": "/memories/failures"}),
        ("rename", {"old_path": "/memories/failures", "new_path": "/memories/f"}),
    ):
        assert run(tool, verb, **fields) == f"refused: Cannot {verb} the /memories/failures directory itself"


TEXTS = st.lists(st.sampled_from(["a", "b", " ", "\n", "# ", "When: ", "ü", "\t", "-"]), max_size=10).map("".join)
NAMES = st.sampled_from(
    [
        "a.md",
        "notes/b.md",
        "notes/c.txt",
        "notes/deep/d.md",
        "strategies/s.md",
        "strategies/t.md",
        "failures/s.md",
        "strategies/sub/e.md",
        "strategies/u.txt",
        "notes",
        "strategies",
        "x",
    ]
)
PATHS = NAMES.map(lambda name: f"/memories/{name}") | st.just("/memories")
COMMANDS = st.one_of(
    st.fixed_dictionaries(
        {"command": st.just("view"), "path": PATHS},
        optional={"view_range": st.sampled_from([[1, 2], [2, -1], [0, 9], [3, 1]])},
    ),
    st.fixed_dictionaries({"command": st.just("create"), "path": PATHS, "file_text": TEXTS}),
    st.fixed_dictionaries({"command": st.just("create"), "path": PATHS, "file_text": st.just(RETRY)}),
    st.fixed_dictionaries(
        {
            "command": st.just("str_replace"),
            "path": PATHS,
            "old_str": st.sampled_from(["a", "b", "\n", "# ", "Back", "ab", ""]),
            "new_str": TEXTS,
        }
    ),
    st.fixed_dictionaries(
        {"command": st.just("insert"), "path": PATHS, "insert_line": st.integers(-1, 4), "insert_text": TEXTS}
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": PATHS}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": PATHS, "new_path": PATHS}),
)


@promise(
    "memory-tool:files",
    "Random commands are answered as by the library's own tool over a directory, and leave the same files.",
    source="spec/clients 4d",
)
@run_settings(max_examples=25)
@given(commands=st.lists(COMMANDS, min_size=1, max_size=14))
@example(
    commands=[
        {"command": "create", "path": "/memories/a.md", "file_text": ""},
        {"command": "view", "path": "/memories/a.md", "view_range": [2, -1]},
    ]
)
def test_it_behaves_as_the_librarys_own_tool_over_a_directory(commands: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as scratch, open_bank(Path(scratch) / "home") as bank:
        ours, theirs = BankMemoryTool(bank), BetaLocalFilesystemMemoryTool(str(Path(scratch) / "own"))
        root = Path(scratch) / "own" / "memories"
        for name in ("strategies", "failures"):
            (root / name).mkdir()
        for command in commands:
            if documented(command, root):
                continue
            expected = run(theirs, **command)
            for folder in sorted((each for each in root.rglob("*") if each.is_dir()), reverse=True):
                if folder.name not in {"strategies", "failures"} and not any(folder.iterdir()):
                    folder.rmdir()
            assert without_sizes(run(ours, **command)) == without_sizes(expected), command
            written = {
                str(path.relative_to(root)): path.read_bytes().decode() for path in root.rglob("*") if path.is_file()
            }
            assert dict(bank.documents.files()) == written, command
        kept = dict(bank.documents.files())
        with open_bank(Path(scratch) / "home") as again:
            assert dict(again.documents.files()) == kept


def documented(command: dict[str, Any], root: Path) -> bool:
    """Whether the two differ on purpose: what a directory of ours is, and that a memory cannot be empty."""
    places = [str(command.get(name, "")) for name in ("path", "old_path", "new_path")]
    fixed = {"/memories/strategies", "/memories/failures"}
    if command["command"] in {"delete", "rename"} and fixed & {*places[:2]}:
        return True
    for named in filter(None, places):
        parents = [root, *[root / part for part in Path(named.removeprefix("/memories/")).parents]]
        if any(parent.is_file() for parent in parents):
            return True
    if command["command"] == "rename":
        old, new = (Path(place) for place in places[1:])
        source = root / old.relative_to("/memories")
        into_itself = old in new.parents
        emptied = source.is_file() and not source.read_bytes().strip() and is_memory(new)
        return into_itself or source.is_dir() or emptied
    place = Path(places[0])
    file = root / place.relative_to("/memories")
    if not is_memory(place):
        return False
    if command["command"] == "create":
        return not command["file_text"].strip()
    if command["command"] == "str_replace" and file.is_file():
        text = file.read_bytes().decode()
        return text.count(command["old_str"]) == 1 and not text.replace(command["old_str"], command["new_str"]).strip()
    return False


def is_memory(place: Path) -> bool:
    """Whether a path is that of a memory."""
    return place.suffix == ".md" and str(place.parent) in {"/memories/strategies", "/memories/failures"}


def without_sizes(said: str) -> str:
    """An answer without the sizes of directories, which a file system counts in its own way."""
    lines = said.split("\n")
    if not lines[0].startswith("Here're"):
        return said
    return "\n".join(
        line.partition("\t")[2] if line.endswith("/") or place == 1 else line for place, line in enumerate(lines)
    )
