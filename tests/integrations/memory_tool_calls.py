"""What the tests of the memory tool share: a bank, and commands as the model sends them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anthropic.lib.tools import ToolError

from reasoningbank import Bank, Settings
from reasoningbank.testing import HashingEmbedder

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
RETRY = "# Retry flaky calls\n\nWhen: a network call fails now and then\n\nBack off, then retry.\n"


def open_bank(home: Path, project: str = "shop") -> Bank:
    """A bank with the fast test embedder."""
    return Bank.open(
        tenant="acme", project=project, embedder=HashingEmbedder(), settings=Settings(home=home), session="s"
    )


def run(tool: Any, command: str, **fields: object) -> str:
    """What the tool says to a command as the model sends it; a refusal begins with ``refused:``."""
    try:
        answer = tool.call({"command": command, **fields})
    except ToolError as refused:
        return f"refused: {refused}"
    assert isinstance(answer, str)
    return answer
