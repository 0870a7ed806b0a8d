"""The overview: what was learned this week, what helped, what harmed, what waits, and how each client is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from reasoningbank.integrations.client_health import client_health, last_errors
from reasoningbank.integrations.clients import Where
from reasoningbank.integrations.hook_actions import last_runs
from reasoningbank.types.session import PROGRESS
from reasoningbank.web.requests import TENANT

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.web.dashboard.pages import Dashboard, PageHandler, PageRequest, PageValues

WEEK = timedelta(days=7)
_FEW = 5


def overview(bank: Bank, _: PageRequest) -> PageValues:
    """Read what the overview shows of the bank."""
    states = [one.state for one in bank.sessions.states(limit=0)]
    report, news = bank.report(), bank.memories.news(datetime.now(UTC) - WEEK, limit=_FEW)
    return {
        "news": news,
        "rose": [move for move in news.moves if move.after > move.before],
        "fell": [move for move in news.moves if move.after < move.before],
        "stats": bank.admin.stats(),
        "sessions": {state: states.count(state) for state in PROGRESS},
        "failed_jobs": len(bank.jobs.dead()),
        "quarantines": len(bank.quarantine.list()),
        "review": bank.quarantine.review(limit=1),
        "report": report,
        "harmful": report.harmful[:_FEW],
        "metrics": bank.admin.metrics().all,
    }


def handler(dashboard: Dashboard) -> PageHandler:
    """Return the handler of the overview: the bank's part, and how the clients of this machine are."""

    async def shown(request: Request) -> Response:
        own = request.scope.get(TENANT) == dashboard.owner
        clients = await to_thread.run_sync(lambda: _clients(dashboard)) if own else {}

        def page(bank: Bank, asked: PageRequest) -> PageValues:
            return {**overview(bank, asked), "own": own, **clients, "clients": clients.get("clients", [])}

        return await dashboard.page("overview.html", "overview", page)(request)

    return shown


def _clients(dashboard: Dashboard) -> dict[str, object]:
    """Return how the clients of this machine are; their own commands are not run, which takes seconds."""
    home = dashboard.settings.home
    place = Where(level="user", home=Path.home(), project=Path.cwd(), command="rbank")
    return {"clients": client_health(place, ask=False), "hooks": last_runs(home), "errors": last_errors(home)}
