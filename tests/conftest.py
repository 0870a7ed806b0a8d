"""What all tests share: how long the searching ones search, and that they repeat in continuous integration."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

_QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large)

settings.register_profile("local", deadline=None, suppress_health_check=_QUIET, print_blob=True)
settings.register_profile("ci", deadline=None, suppress_health_check=_QUIET, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the switch for the long runs."""
    parser.addoption(
        "--torture",
        action="store_true",
        default=False,
        help="run the durability and model tests many times longer, as `make torture` does",
    )


@pytest.fixture(scope="session")
def torture(request: pytest.FixtureRequest) -> bool:
    """Whether the long runs were asked for."""
    return bool(request.config.getoption("--torture"))
