"""Where pages come from: the templates of this package, every text in them escaped."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reasoningbank.web.dashboard.shown import FILTERS

FOLDER = Path(__file__).parents[1]
STATIC = FOLDER / "static"


def page_environment() -> Environment:
    """Return a new environment of the templates."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    return environment
