"""Jobs and settings: what the background work did and waits for, and how this server is set up, to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

import reasoningbank
from reasoningbank.errors import AccessDenied
from reasoningbank.mcp.browsers import signed_in
from reasoningbank.operations.composed import background_work
from reasoningbank.settings import shown_settings
from reasoningbank.web.requests import TENANT

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.settings import Settings, ShownSetting
    from reasoningbank.web.dashboard.pages import Dashboard, PageHandler, PageRequest, PageValues


_GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Where banks live", ("home", "url", "vectors", "tenant", "project", "team", "org", "backups", "repository")),
    ("Search", ("embedder", "reranker")),
    ("Language model", ("llm", "client", "paid", "graph")),
    ("Agents", ("profile", "reminders", "holdout", "shared", "run", "idle", "model")),
    ("Upkeep", ("consolidate", "decay", "prune", "keep")),
    ("HTTP server", ("http",)),
)
"""The groups of settings, by the first word of their names."""


def jobs(bank: Bank, _: PageRequest) -> PageValues:
    """Read what background work was done, what waits, and what failed for good."""
    return {"work": background_work(bank), "next_due": bank.jobs.next_due()}


def settings_handler(dashboard: Dashboard) -> PageHandler:
    """Return the handler of the settings, which the server's own tenant alone is shown."""

    def page(bank: Bank, _: PageRequest) -> PageValues:
        return {
            "groups": grouped(dashboard.settings),
            "version": reasoningbank.__version__,
            "embedder": bank.embedder.model_id,
            "weights": bank.admin.stats().weights,
        }

    shown = dashboard.page("settings.html", "settings", page)

    async def handle(request: Request) -> Response:
        person = signed_in(request.scope)
        if person is not None and request.scope.get(TENANT) != dashboard.owner:
            refusal = AccessDenied("the settings are those of another tenant's server", hint="Ask who runs the server.")
            return dashboard.refused(request, refusal, person)
        return await shown(request)

    return handle


def grouped(settings: Settings) -> list[tuple[str, list[ShownSetting]]]:
    """Return every setting in its group."""
    found: dict[str, list[ShownSetting]] = {name: [] for name, _ in _GROUPS}
    for each in shown_settings(settings):
        first = each.name.partition("_")[0]
        found[next(name for name, words in _GROUPS if first in words)].append(each)
    return list(found.items())
