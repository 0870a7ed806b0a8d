"""What all tests share: how long the searching ones search, and that they repeat in continuous integration."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("storage.contract")

_QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large)

settings.register_profile("local", deadline=None, suppress_health_check=_QUIET, print_blob=True)
settings.register_profile("ci", deadline=None, suppress_health_check=_QUIET, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")

os.environ["REASONINGBANK_PAID_CALLS"] = "false"


@pytest.fixture(scope="session", autouse=True)
def _free() -> Iterator[None]:
    """No test, and no process a test starts, pays for a language model by accident."""
    from reasoningbank.llm.provider import no_paid_calls

    with no_paid_calls():
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the switches for the long runs and for the golden files."""
    parser.addoption(
        "--torture",
        action="store_true",
        default=False,
        help="run the durability and model tests many times longer, as `make torture` does",
    )
    parser.addoption("--update-golden", action="store_true", default=False, help="write tests/golden anew")
    parser.addoption("--promises-to", default="", help="write which promises each test names to this file")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Writes down which promises each collected test names, when it was asked to."""
    target = session.config.getoption("--promises-to")
    if target:
        kept = {
            item.nodeid: sorted({str(name) for mark in item.iter_markers("promise") for name in mark.args})
            for item in session.items
        }
        Path(target).write_text(json.dumps(kept), encoding="utf-8")


@pytest.fixture(scope="session")
def torture(request: pytest.FixtureRequest) -> bool:
    """Whether the long runs were asked for."""
    return bool(request.config.getoption("--torture"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of the contract of stores with the promises they name."""
    for item in items:
        promises = getattr(getattr(item, "function", None), "promises", None)
        if isinstance(promises, tuple):
            item.add_marker(pytest.mark.promise(*promises))
