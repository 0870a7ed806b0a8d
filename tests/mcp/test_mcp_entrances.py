"""Texts that order their reader about, through the tools of the graph profile, each from a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio

from graph_clients import connected
from memories.test_entrances import ATTACKS, BENIGN, MARK
from promises import promise


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
