"""Files of the memory tool that are memories: what becomes of them, who may write them, and what drives the tool."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from hypothesis import given
from hypothesis import strategies as st

from integrations.memory_tool_calls import RETRY, SECRET, open_bank, run
from promises import promise
from reasoningbank import Bank
from reasoningbank.documents.files import read, slug
from reasoningbank.integrations.memory_tool import AsyncBankMemoryTool, BankMemoryTool
from reasoningbank.types.document import FileChange
from reasoningbank.types.memory import MAX_CONTENT


@promise(
    "memory-tool:memories",
    "A file in strategies or failures is a memory: created, edited, moved, archived when removed; another text or "
    "outcome in the place of one that stands higher than a claim is a memory of its own at that place.",
    source="issue 4; spec/clients 4d",
)
def test_what_is_filed_is_a_memory_from_then_on(memory_tool_bank: Bank) -> None:
    tool = BankMemoryTool(memory_tool_bank)
    path = "/memories/strategies/flaky.md"
    run(tool, "create", path=path, file_text=RETRY)
    (memory,) = memory_tool_bank.memories.list()
    assert (memory.title, memory.description, memory.content) == (
        "Retry flaky calls",
        "a network call fails now and then",
        "Back off, then retry.",
    )
    assert (memory.outcome, memory.confidence, memory.state) == ("success", 0.8, "active")
    assert memory.provenance["source"] == "memory_tool"
    assert [hit.id for hit in memory_tool_bank.search("a network call fails now and then").delivered] == [memory.id]
    memory_tool_bank.feedback(memory.id, helpful=True)
    confidence = memory_tool_bank.get(memory.id).confidence
    run(tool, "rename", old_path=path, new_path="/memories/strategies/calls.md")
    assert memory_tool_bank.get(memory.id).confidence == confidence
    run(tool, "str_replace", path="/memories/strategies/calls.md", old_str="Back off", new_str="Wait")
    assert memory_tool_bank.get(memory.id).content == "Back off, then retry."
    edited = next(each for each in memory_tool_bank.memories.list() if each.id != memory.id)
    assert (edited.content, edited.standing, edited.confidence) == ("Wait, then retry.", "claim", 0.8)
    run(tool, "rename", old_path="/memories/strategies/calls.md", new_path="/memories/failures/never.md")
    (moved,) = [each for each in memory_tool_bank.memories.list() if each.outcome == "failure"]
    assert (moved.title, moved.content, moved.standing) == ("Retry flaky calls", "Wait, then retry.", "claim")
    assert run(tool, "view", path="/memories/failures/never.md").count("Wait, then retry.") == 1
    run(tool, "delete", path="/memories/failures/never.md")
    assert memory_tool_bank.get(moved.id).state == "archived"
    assert list(memory_tool_bank.documents.files()) == ["strategies/retry-flaky-calls.md"]
    assert memory_tool_bank.admin.check().problems == ()


@promise("memory-tool:memories")
def test_memories_of_others_are_files_with_names_of_their_own(memory_tool_bank: Bank) -> None:
    first = memory_tool_bank.record(
        title="Retry flaky calls", content="Back off.", outcome="success", description="A call fails"
    )
    second = memory_tool_bank.record(title="Retry: flaky calls!", content="Wait.", outcome="success")
    memory_tool_bank.record(title="日本", content="x", outcome="failure")
    memory_tool_bank.record(title="!!!", content="y", outcome="failure")
    hidden = memory_tool_bank.record(title="Hidden", content="z", outcome="failure")
    memory_tool_bank.update(hidden.id, state="archived")
    tool = BankMemoryTool(memory_tool_bank)
    files = memory_tool_bank.documents.files()
    assert files["strategies/retry-flaky-calls.md"] == "# Retry flaky calls\n\nWhen: A call fails\n\nBack off.\n"
    assert files[f"strategies/retry-flaky-calls-{second.id[-6:]}.md"] == "# Retry: flaky calls!\n\nWait.\n"
    assert "failures/日本.md" in files
    assert len(files) == 4
    path = "/memories/strategies/retry-flaky-calls.md"
    run(tool, "str_replace", path=path, old_str="When: A call fails", new_str="When: A call fails now and then")
    assert memory_tool_bank.get(first.id).description == "A call fails"
    run(tool, "insert", path=path, insert_line=0, insert_text="Read this:")
    now = memory_tool_bank.documents.files()
    assert now.keys() - files.keys() == {f"strategies/retry-flaky-calls-{first.id[-6:]}.md"}
    assert now["strategies/retry-flaky-calls.md"].startswith("Read this:\n# Retry")
    (changed,) = [each for each in memory_tool_bank.memories.list() if each.content.startswith("Read this:")]
    memory_tool_bank.update(changed.id, content="Back off for long.", title="Retry flaky calls")
    assert memory_tool_bank.documents.files()["strategies/retry-flaky-calls.md"].endswith("\n\nBack off for long.\n")


@promise("memory-tool:memories")
def test_a_file_that_moves_in_or_out_becomes_a_memory_or_stops_being_one(memory_tool_bank: Bank) -> None:
    tool = BankMemoryTool(memory_tool_bank)
    run(tool, "create", path="/memories/draft/retry.md", file_text="  Back off, then retry.")
    assert memory_tool_bank.memories.count() == 0
    run(tool, "rename", old_path="/memories/draft/retry.md", new_path="/memories/strategies/retry-calls.md")
    (memory,) = memory_tool_bank.memories.list()
    assert (memory.title, memory.content) == ("Retry calls", "Back off, then retry.")
    assert dict(memory_tool_bank.documents.files()) == {"strategies/retry-calls.md": "  Back off, then retry."}
    run(tool, "rename", old_path="/memories/strategies/retry-calls.md", new_path="/memories/strategies/back-off.md")
    assert memory_tool_bank.get(memory.id).title == "Back off"
    run(tool, "rename", old_path="/memories/strategies/back-off.md", new_path="/memories/x/old.md")
    assert memory_tool_bank.get(memory.id).state == "archived"
    assert dict(memory_tool_bank.documents.files()) == {"x/old.md": "  Back off, then retry."}
    run(tool, "rename", old_path="/memories/x", new_path="/memories/y/z")
    assert dict(memory_tool_bank.documents.files()) == {"y/z/old.md": "  Back off, then retry."}


@promise(
    "memory-tool:gate",
    "What is filed goes through the gate of every write: no secret reaches a file, and what cannot be a memory is "
    "refused in words.",
    source="DESIGN D10",
)
def test_secrets_and_invisible_characters_never_reach_the_bank(memory_tool_bank: Bank, tmp_path: Path) -> None:
    tool = BankMemoryTool(memory_tool_bank)
    for path in ("/memories/strategies/push.md", "/memories/notes.txt"):
        run(tool, "create", path=path, file_text=f"Push with\u200b {SECRET} over the proxy.\r\nThen wait.")
        said = run(tool, "view", path=path)
        assert "     1\tPush with [REDACTED:github-token] over the proxy.\n     2\tThen wait." in said
        shown = run(tool, "str_replace", path=path, old_str="Then wait.", new_str=f"Then wait with {SECRET}")
        assert "[REDACTED:github-token]" in shown
        assert SECRET not in shown
    refused = run(tool, "create", path=f"/memories/{SECRET}.txt", file_text="x")
    assert refused.startswith("refused: a path holds what looks like a secret")
    memory_tool_bank.close()
    assert not [
        file for file in (tmp_path / "home").rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()
    ]


@promise("memory-tool:gate")
def test_what_cannot_be_a_memory_is_refused_in_words_and_changes_nothing(memory_tool_bank: Bank) -> None:
    tool = BankMemoryTool(memory_tool_bank)
    path = "/memories/strategies/a.md"
    assert "a memory cannot be empty" in run(tool, "create", path=path, file_text=" \n")
    assert "the limit of a memory is" in run(tool, "create", path=path, file_text="x" * (MAX_CONTENT + 1))
    assert run(tool, "create", path=f"/memories/{'n' * 501}", file_text="x").startswith("refused: a label has at most")
    assert memory_tool_bank.documents.files() == {}
    run(tool, "create", path="/memories/big.txt", file_text="x" * 100_000)
    said = run(tool, "rename", old_path="/memories/big.txt", new_path=path)
    assert "the limit of a memory is" in said
    assert list(memory_tool_bank.documents.files()) == ["big.txt"]
    memory_tool_bank.close()
    assert run(tool, "view", path="/memories").startswith("refused: the bank is closed")


@promise("memory-tool:together", "Concurrent writers never overwrite each other's change.", source="DESIGN D1")
def test_two_writers_never_overwrite_each_other(tmp_path: Path) -> None:
    said: list[str] = []

    def work(number: int) -> None:
        with open_bank(tmp_path / "home") as bank:
            tool = BankMemoryTool(bank)
            said.append(run(tool, "create", path="/memories/strategies/same.md", file_text=f"Do {number}."))
            for _ in range(4):
                while run(tool, "insert", path="/memories/log.txt", insert_line=0, insert_text=f"{number}").startswith(
                    "refused: the files are being changed"
                ):
                    pass

    with open_bank(tmp_path / "home") as bank:
        run(BankMemoryTool(bank), "create", path="/memories/log.txt", file_text="")
        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answer.partition(":")[0] for answer in said) == [
            "File created successfully at",
            "refused",
            "refused",
        ]
        assert bank.memories.count() == 1
        assert sorted(bank.documents.files()["log.txt"].split()) == sorted(["0", "1", "2"] * 4)


@promise("memory-tool:together")
def test_a_change_that_touches_nothing_writes_nothing(memory_tool_bank: Bank) -> None:
    assert memory_tool_bank.documents.change_files(lambda _: FileChange()) == FileChange()


@promise("memory-tool:async", "The asynchronous tool answers the same.", source="spec/clients 4d")
def test_the_asynchronous_tool_answers_the_same(memory_tool_bank: Bank) -> None:
    async def work() -> list[Any]:
        tool = AsyncBankMemoryTool(memory_tool_bank, cache_control={"type": "ephemeral"})
        path = "/memories/strategies/a.md"
        assert tool.to_dict()["cache_control"] == {"type": "ephemeral"}
        said = [
            await tool.call({"command": "create", "path": path, "file_text": "Do a.\n"}),
            await tool.call({"command": "str_replace", "path": path, "old_str": "Do", "new_str": "Make"}),
            await tool.call({"command": "insert", "path": path, "insert_line": 1, "insert_text": "b"}),
            await tool.call({"command": "view", "path": path}),
            await tool.call({"command": "rename", "old_path": path, "new_path": "/memories/b"}),
            await tool.call({"command": "delete", "path": "/memories/b"}),
            await tool.clear_all_memory(),
        ]
        with pytest.raises(ToolError):
            await tool.call({"command": "view", "path": path})
        return said

    said = asyncio.run(work())
    assert said[3].endswith("     1\tMake a.\n     2\tb\n     3\t")
    assert [str(each).split()[0] for each in said] == [
        "File",
        "The",
        "The",
        "Here's",
        "Successfully",
        "Successfully",
        "All",
    ]


@promise(
    "memory-tool:loop",
    "The library's own tool runner drives the tool; refusals are errors for the model.",
    source="spec/clients 4d",
)
def test_the_librarys_own_runner_drives_it(memory_tool_bank: Bank) -> None:
    import anthropic
    import httpx2

    turns: Iterator[list[dict[str, Any]]] = iter(
        [
            [{"type": "tool_use", "id": "t1", "name": "memory", "input": {"command": "view", "path": "/memories"}}],
            [
                {
                    "type": "tool_use",
                    "id": "t2",
                    "name": "memory",
                    "input": {"command": "create", "path": "/memories/strategies/retry.md", "file_text": RETRY},
                }
            ],
            [
                {
                    "type": "tool_use",
                    "id": "t3",
                    "name": "memory",
                    "input": {"command": "view", "path": "/memories/none"},
                }
            ],
            [{"type": "text", "text": "Done."}],
        ]
    )
    asked: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(json.loads(request.content))
        content = next(turns)
        stop = "tool_use" if content[0]["type"] == "tool_use" else "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        body = {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }
        return httpx2.Response(200, json=body)

    with anthropic.Anthropic(api_key="x", http_client=httpx2.Client(transport=httpx2.MockTransport(answer))) as client:
        runner = client.beta.messages.tool_runner(
            model="m",
            max_tokens=10,
            messages=[{"role": "user", "content": "go"}],
            tools=[BankMemoryTool(memory_tool_bank)],
        )
        runner.until_done()
    assert asked[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    results = [request["messages"][-1]["content"][0] for request in asked[1:]]
    assert [result.get("is_error", False) for result in results] == [False, False, True]
    assert memory_tool_bank.memories.list()[0].title == "Retry flaky calls"


@promise("memory-tool:text", "Any text becomes a memory whose file reads as it was kept.", source="spec/clients 4d")
@given(text=st.text(max_size=60), path=st.sampled_from(["strategies/a.md", "failures/some-name.md"]))
def test_any_text_becomes_a_memory_that_reads_as_it_was_kept(text: str, path: str) -> None:
    from reasoningbank.documents.values import safe_text
    from reasoningbank.errors import EmptyContent

    if not safe_text(text).strip():
        with pytest.raises(EmptyContent):
            read(text, path)
        return
    found = read(text, path)
    assert found.title.strip()
    assert found.content.strip() == found.content != ""
    assert slug(found.title) == slug(slug(found.title))
    if found.whole is not None:
        assert found.whole[0] + found.content + found.whole[1] == safe_text(text)


@promise(
    "frameworks:lazy",
    "No framework is imported by the package; without one, its module says what to install.",
    source="DESIGN D12",
)
def test_without_the_package_it_says_what_to_install(tmp_path: Path) -> None:
    for module, package in (("memory_tool", "anthropic"), ("langgraph", "langgraph")):
        code = (
            f"import sys; sys.modules[{package!r}] = None\n"
            "import reasoningbank\n"
            "from reasoningbank.errors import ConfigurationError\n"
            "assert not {'anthropic', 'langgraph', 'langchain_core'} & {n for n, m in sys.modules.items() if m}\n"
            f"try:\n    import reasoningbank.integrations.{module}\n"
            "except ConfigurationError as error:\n    print(error.hint)\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
        assert done.stdout.startswith(f"pip install '{package}")


@promise(
    "memory-tool:echo",
    "What an agent files after it has viewed a memory's file that says nearly the same is an echo of that memory: a "
    "candidate of at most 0.6 that goes into quarantine with it. Who has viewed something else is believed.",
    source="issue Trust 7",
)
@pytest.mark.parametrize("viewed", [True, False])
def test_what_is_filed_after_it_was_viewed_is_an_echo(memory_tool_bank: Bank, viewed: bool) -> None:
    original = memory_tool_bank.record(
        title="Retry flaky calls", content="Back off, then retry the call.", outcome="success", session="first"
    )
    memory_tool_bank.record(title="Prune figs", content="Prune them in late winter.", outcome="success")
    tool = BankMemoryTool(memory_tool_bank)
    text = "# Retry flaky calls\n\nBack off: then retry the CALL!\n"
    seen = "retry-flaky-calls" if viewed else "prune-figs"
    assert "\t" in run(tool, "view", path=f"/memories/strategies/{seen}.md")
    run(tool, "create", path="/memories/strategies/again.md", file_text=text)
    filed = memory_tool_bank.documents.files()["strategies/again.md"]
    (again,) = [each for each in memory_tool_bank.memories.list() if each.provenance.get("file") == "again.md"]
    held = memory_tool_bank.quarantine.add(memory_id=original.id, reason="It is wrong.").quarantined
    assert filed == text
    if viewed:
        assert (again.provenance["echo_of"], again.state, again.confidence) == (original.id, "candidate", 0.6)
        assert {each.id for each in held} == {original.id, again.id}
    else:
        assert (again.state, again.confidence) == ("active", 0.8)
        assert {each.id for each in held} == {original.id}
