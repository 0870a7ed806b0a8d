"""Servers for the tests of REST and WebSocket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from web_serving import Served, serving, with_tenants


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for the tests of a module."""
    with serving(with_tenants(tmp_path_factory.mktemp("web") / "home")) as running:
        yield running


@pytest.fixture
def serve(tmp_path: Path) -> Callable[[], Any]:
    """Starts servers one after another over the same data directory."""
    home = with_tenants(tmp_path / "home")
    return lambda: serving(home)
