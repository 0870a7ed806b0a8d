"""A bank for the tests of the frameworks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from frameworks.memory_tool_calls import open_bank
from reasoningbank import Bank


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Bank]:
    """An empty bank."""
    with open_bank(tmp_path / "home") as opened:
        yield opened
