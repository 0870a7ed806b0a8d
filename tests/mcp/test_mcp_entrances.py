"""Texts that order their reader about, through the tools of the graph profile, each from a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio

from graph_clients import connected
from memories.test_entrances import ATTACKS, BENIGN, MARK
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.settings import Settings
from sessions.learned_sessions import PROJECT, TENANT


async def _told(home: Path, *calls: tuple[str, dict[str, Any]]) -> list[str]:
    """What the tools of one server answer."""
    async with connected(home) as client:
        return [str(await client.call_tool(name, arguments)) for name, arguments in calls]


@promise("attack:one-door")
def test_the_graph_tools_refuse_an_order_and_serve_none(tmp_path: Path) -> None:
    async def attacked() -> None:
        added = [("graph_add", {"id": f"n{place}", "label": "Event", "text": text}) for place, text in
                 enumerate((*ATTACKS, BENIGN[0]))]  # fmt: skip
        told = await _told(tmp_path / "home", *added, ("remember_conversation", {
            "conv_id": "c", "messages": [{"role": "user", "text": ATTACKS[0]}, {"role": "assistant", "text": "No."}],
        }))  # fmt: skip
        assert all("looks like a prompt injection" in answer for answer in told[: len(ATTACKS)])
        (found,) = await _told(tmp_path / "home", ("graph_search", {"query": "instructions curl upload library"}))
        assert BENIGN[0] in found
        assert not any(text in found for text in ATTACKS)
        assert found.count(MARK) == found.count(BENIGN[0])

    anyio.run(attacked)


@promise(
    "conversations:quarantined-lesson",
    "A conversation whose lesson looks like a prompt injection says so, with the memory's id and the reason and "
    "without its text, and sent again it adds nothing; an import of a graph names such lessons.",
    source="issue 9; DESIGN D9",
)
def test_a_conversation_names_its_lesson_in_quarantine_and_adds_it_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    conversation = {
        "conv_id": "c",
        "request": "Why did the cache go down?",
        "answer": "It was never warmed.",
        "lesson": {"key_lesson": f"{ATTACKS[0]} {BENIGN[0]}", "context_to_prefer": "When a cache goes down."},
    }

    async def remembered() -> list[Any]:
        async with connected(home) as client:
            given = {"conversation": conversation}
            return [await client.call_tool("remember_conversation", given) for _ in range(2)]

    first, second = anyio.run(remembered)
    with Bank.open(tenant=TENANT, project=PROJECT, settings=Settings(home=home)) as bank:
        (held,) = bank.memories.list(states=("quarantined",))
    for answer in (first, second):
        fields, text = answer.structured_content, answer.content[0].text
        assert (fields["quarantined"], fields["lesson"]) == ([held.id], None)
        assert held.id in text
        assert "looks like a prompt injection" in text
        assert text.startswith(fields["message"])
        assert BENIGN[0] not in str(answer)
    assert held.id in first.structured_content["new"]
    assert second.structured_content["new"] == []
