"""Banks for the attacks: the real store with the hashing embedder, so that a whole family takes seconds."""

from __future__ import annotations

from pathlib import Path

import pytest
from evaluation.attacks.arena import Arena

from reasoningbank.testing import HashingEmbedder


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    """A place to attack with the defences on."""
    return Arena(tmp_path, HashingEmbedder(), defended=True)


@pytest.fixture
def open_arena(tmp_path: Path) -> Arena:
    """The same without defences."""
    folder = tmp_path / "off"
    folder.mkdir()
    return Arena(folder, HashingEmbedder(), defended=False)
