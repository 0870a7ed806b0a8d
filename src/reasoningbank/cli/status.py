"""``rbank status``: what is installed, what was learned, what waits, and what to do next."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

from reasoningbank.cli.agents import of_an_agent
from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, command
from reasoningbank.cli.clients import where
from reasoningbank.cli.output import print_json, print_text
from reasoningbank.cli.tables import coloured, on_terminal
from reasoningbank.errors import BankError
from reasoningbank.integrations.registration import CANNOT_START
from reasoningbank.types.quantity import counted
from reasoningbank.types.session import DISTILL, PROGRESS

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.settings import Settings
    from reasoningbank.types.scope import Scope
    from reasoningbank.types.session import SessionState

WEEK = timedelta(days=7)
_LINES = 3
_MOST = 10
"""Most other projects that are opened and named."""
_VERDICTS = {
    "person": "from a person",
    "evidence": "from evidence",
    "model": "from the model",
    "session": "from the session's agent",
    "unknown": "unknown",
}


class ClientStatus(TypedDict):
    """A client: where it is registered (a scope or a plugin), what its own command says, and the tools it is given."""

    client: str
    registered: list[str]
    says: str
    tools: list[str]


class ModelStatus(TypedDict):
    """The language model: its name, what is wrong with it, its last error, and what of today's budget is used."""

    name: str
    problem: str
    last_error: str
    used: dict[str, int]
    most: dict[str, int]


class OtherProject(TypedDict):
    """A project of this user with a bank, where this directory has none: its sessions by state."""

    project: str
    sessions: dict[str, int]


class Status(TypedDict):
    """Everything that ``rbank status`` says; other projects, used last, only where this one has learned nothing."""

    project: str
    server_runs: bool
    other_projects: list[OtherProject]
    more_projects: int
    clients: list[ClientStatus]
    tools: list[str]
    hooks_last_ran: str
    hooks: dict[str, str]
    sessions: dict[str, int]
    verdicts: dict[str, int]
    failed_jobs: int
    model: ModelStatus
    learned_this_week: list[str]
    credited_this_week: list[str]
    errors: list[str]
    next: list[str]


@command(
    "status",
    COMMANDS["status"],
    click.Option(["--quick"], is_flag=True, help="Do not ask the clients' own commands."),
)
def status(call: Call, *, quick: bool) -> None:
    """Show each client, the sessions by state, the model and its budget, and what was learned and credited this week.

    Then the last errors of hooks, and what to do next. It changes nothing but what a killed shared server has left in
    its directory, which it removes.
    """
    found = examined(call, ask=not quick)
    if call.as_json:
        print_json({**found})
    else:
        text = status_text(found)
        print_text(coloured(text) if on_terminal() and not of_an_agent() else text)


def examined(call: Call, *, ask: bool) -> Status:
    """Return the state of everything; a bank that is not there yet has no sessions and no memories."""
    from reasoningbank.integrations.client_health import last_errors
    from reasoningbank.integrations.hook_actions import last_runs
    from reasoningbank.integrations.shared_server import listens, place_of, sweep
    from reasoningbank.mcp.schemas import tools_of
    from reasoningbank.settings import load_settings

    settings = load_settings()
    shared = place_of(settings, call.url)
    if shared is not None:
        sweep(shared.folder)
    clients = _clients(call, settings, ask=ask)
    scope = _scope(call, settings)
    known, others, more = _banks(call, settings, scope)
    sessions, failed, learned, credited, last_error = _learned(call) if known else ((), 0, [], [], "")
    model = _model(settings, last_error)
    said = [str(one.said_by or "unknown") for one in sessions if one.id]
    errors = last_errors(settings.home)
    ran = last_runs(settings.home)
    return Status(
        project=scope.project,
        server_runs=shared is not None and listens(shared),
        other_projects=others,
        more_projects=more,
        clients=clients,
        tools=list(tools_of(settings.profile)),
        hooks_last_ran=max(ran.values(), default=""),
        hooks=ran,
        sessions={state: sum(one.state == state for one in sessions) for state in PROGRESS},
        verdicts={who: count for who in _VERDICTS if (count := said.count(who))},
        failed_jobs=failed,
        model=model,
        learned_this_week=learned,
        credited_this_week=credited,
        errors=errors,
        next=_next(
            clients, sessions, model, errors, ran=bool(ran), failed=failed, project="" if known else scope.project
        ),
    )


def _clients(call: Call, settings: Settings, *, ask: bool) -> list[ClientStatus]:
    """Return how each client is, with the tools that its profile gives it."""
    from reasoningbank.integrations.client_health import client_health
    from reasoningbank.mcp.schemas import tools_of

    found: list[ClientStatus] = []
    for each in client_health(where(call, "user"), ask=ask):
        says = each.says
        try:
            tools = [*tools_of(each.profile or settings.profile)]
        except BankError as error:
            says, tools = f"{CANNOT_START}: {error.advice}", []
        found.append(ClientStatus(client=each.client, registered=[*each.registered], says=says, tools=tools))
    return found


def last_model_error(bank: Bank) -> str:
    """Return what went wrong when the language model was last asked for lessons that still wait; else empty."""
    failed = [job for job in (*bank.jobs.waiting(), *bank.jobs.dead()) if job.kind == DISTILL and job.error]
    return max(failed, key=lambda job: job.due).error if failed else ""


def _scope(call: Call, settings: Settings) -> Scope:
    from reasoningbank.settings import project_of
    from reasoningbank.types.scope import Scope

    return Scope(tenant=call.owner(settings), project=call.project or settings.project or project_of(Path.cwd()))


def _banks(call: Call, settings: Settings, scope: Scope) -> tuple[bool, list[OtherProject], int]:
    """Return whether the project, its team or its org has a bank, and else which projects of the user have one.

    These are the ones used last, and how many more there are: a user may have hundreds, and no other is opened.
    """
    from reasoningbank.integrations.hook_actions import has_any
    from reasoningbank.sessions.states import states
    from reasoningbank.storage import open_storage

    url = call.url or settings.url or None
    if has_any(scope, call.membership(settings), url=url, home=settings.home):
        return True, [], 0
    storage = open_storage(url, home=settings.home)
    scopes, count = storage.latest(scope.tenant, _MOST)
    found = []
    for other in scopes:
        with closing(storage.open(other)) as store:
            stand = Counter(one.state for one in states(store, now=datetime.now(UTC), has_model=bool(settings.llm)))
        found.append(OtherProject(project=other.project, sessions={state: stand[state] for state in PROGRESS}))
    return False, found, count - len(found)


def _learned(call: Call) -> tuple[tuple[SessionState, ...], int, list[str], list[str], str]:
    """Return where each session stands, how many jobs failed for good, this week's news, and the model's last error.

    The news are the titles of new memories, and the memories whose confidence evidence moved, with what it was and is.
    """
    since = datetime.now(UTC) - WEEK
    with call.open_bank(reads=True, makes=False) as bank:
        news = bank.memories.news(since)
        learned = [memory.title for memory in reversed(news.newest)]
        credited = [
            f"{move.title}: {move.before:.3f} to {move.after:.3f}"
            for move in news.moves
            if f"{move.before:.3f}" != f"{move.after:.3f}"
        ]
        failed = len(bank.jobs.dead())
        return bank.sessions.states(limit=0), failed, learned, credited, last_model_error(bank)


def _model(settings: Settings, last_error: str) -> ModelStatus:
    from reasoningbank.llm import CLIENT_LEDGER, LEDGER, SESSION_LEDGER, model_problem
    from reasoningbank.llm.budget import SessionBudget, TokenBudget

    used: dict[str, int] = {}
    client = settings.llm.startswith("client:")
    tokens = settings.client_daily_tokens if client else settings.llm_daily_tokens
    most = {"tokens": tokens, **({"sessions": settings.client_daily_sessions} if client else {})}
    ledgers = {"tokens": settings.home / (CLIENT_LEDGER if client else LEDGER)}
    ledgers |= {"sessions": settings.home / SESSION_LEDGER} if client else {}
    problem = model_problem(settings)
    try:
        for name, path in ledgers.items():
            budget = SessionBudget(path, 1) if name == "sessions" else TokenBudget(path, 1)
            used[name] = budget.spent() if path.exists() else 0
    except BankError as error:
        problem = problem or error.advice
    return ModelStatus(name=settings.llm, problem=problem, last_error=last_error, used=used, most=most)


_LOGGED = re.compile(r"^\S+ (?P<event>['\"].*?['\"]) ['\"](?:(?P<code>[a-z_]+): )?(?P<said>.*?)['\"]?$")


def _cures(errors: Sequence[str]) -> list[str]:
    """Return for every error that is shown what to do next and what to type: the error's own advice, then the check."""
    found: dict[str, None] = {}
    for line in errors:
        match = _LOGGED.match(line)
        if match is None:
            found[f"The log of the hooks says: {line}. See whether it is still so: rbank doctor."] = None
            continue
        said = match["said"] if match["code"] else f"{match['said']} was not foreseen."
        found[f"The hook {match['event'].strip(_QUOTES)} failed: {said} See whether it is still so: rbank doctor."] = (
            None
        )
    return [*found]


_QUOTES = "'\""


def _next(
    clients: list[ClientStatus],
    sessions: Iterable[SessionState],
    model: ModelStatus,
    errors: Sequence[str],
    *,
    ran: bool,
    failed: int,
    project: str,
) -> list[str]:
    said: list[str] = []
    if not clients:
        said.append("Install into a client: rbank install CLIENT.")
    elif not ran:
        said.append("No hook has run yet: start a session in the client, and review or trust the hooks if it asks.")
    said += [f"{each['client']}: {each['says']}" for each in clients if each["says"].startswith(CANNOT_START)]
    if model["problem"]:
        said.append(model["problem"])
    said += _cures(errors)
    if failed:
        said.append(f"{counted(failed, 'job')} failed for good: rbank jobs says why.")
    waiting = [one.verdict for one in sessions if one.state == "waiting"]
    unknown = waiting.count("unknown")
    if len(waiting) > unknown and not model["name"]:
        known = counted(len(waiting) - unknown, "session waits", "sessions wait")
        said.append(
            f"{known} for a model; without one, recipes are all that is learned. Ask the agent to call memory_distill, "
            "or name a model with rbank install CLIENT --distill client."
        )
    if waiting and model["name"]:
        said.append(_what_waits(len(waiting), model))
    if unknown:
        ended = "it ended" if unknown == 1 else "they ended"
        said.append(f"Of {counted(unknown, 'waiting session')} it is not known how {ended}: rbank verdict says it.")
    if project and clients and ran:
        said.append(f"Nothing was learned in {project} yet: start a session there, or name a project with --project.")
    return said or ["Nothing."]


def _what_waits(waiting: int, model: ModelStatus) -> str:
    """Return what to do about sessions that wait for a model that is there."""
    waits = counted(waiting, "session waits", "sessions wait")
    if model["last_error"]:
        return (
            f"{waits} for {model['name']}, whose last run failed: {model['last_error'].rstrip('.')}. They are tried "
            "again by themselves. When it works again, rbank distill --pending does them now; another model is named "
            "with rbank install CLIENT --distill."
        )
    return f"{waits} for {model['name']}: a server or worker does them within a minute, rbank distill --pending now."


def status_text(found: Status) -> str:
    """Return the status as lines."""
    lines = [
        f"{each['client']}: registered at {', '.join(each['registered'])}. {each['says']}".rstrip()
        for each in found["clients"]
    ] or ["No client has the server."]
    lines += [f"hooks last ran: {line}" for line in found["hooks"].values()] or ["hooks last ran: never"]
    lines += [
        f"hooks last ran: never in {each['client']}"
        for each in found["clients"]
        if found["hooks"] and each["client"] not in found["hooks"]
    ]
    given = {each["client"]: ", ".join(each["tools"]) or "none" for each in found["clients"]}
    if len({*given.values()}) > 1:
        lines += [f"tools of {client}: {names}" for client, names in given.items()]
    else:
        lines.append(f"tools: {next(iter(given.values()), ', '.join(found['tools']))}")
    sessions = ", ".join(f"{count} {state}" for state, count in found["sessions"].items())
    failed = f"; {counted(found['failed_jobs'], 'job')} failed for good (rbank jobs)" if found["failed_jobs"] else ""
    verdicts = ", ".join(f"{count} {_VERDICTS[who]}" for who, count in found["verdicts"].items())
    lines.append(f"server: {'runs' if found['server_runs'] else 'none runs; it is started when it is needed'}")
    lines.append(f"project: {found['project']}")
    lines.append(f"sessions: {sessions}{failed}")
    others = found["other_projects"]
    if others:
        count = sum(sum(each["sessions"].values()) for each in others)
        older = counted(found["more_projects"], "older project is not counted", "older projects are not counted")
        more = f"; {older}" if found["more_projects"] else ""
        lines.append(f"elsewhere: {counted(count, 'session')} in {counted(len(others), 'project')}{more}")
        lines += [f"  {each['project']}: {counted(sum(each['sessions'].values()), 'session')}" for each in others]
    if verdicts:
        lines.append(f"verdicts: {verdicts}")
    model = found["model"]
    spent = ", ".join(
        f"{model['used'].get(name, 0):,} of {most:,} {name} today" if most else f"{model['used'].get(name, 0):,} {name}"
        for name, most in model["most"].items()
    )
    lines.append(f"model: {model['name']} ({spent})" if model["name"] else "model: none")
    if model["last_error"]:
        lines.append(f"model's last error: {model['last_error']}")
    learned = found["learned_this_week"]
    lines.append(f"learned this week: {len(learned)}")
    lines += [f"  {title}" for title in learned[-_LINES:]]
    credited = found["credited_this_week"]
    lines.append(f"credited this week: {len(credited)}")
    lines += [f"  {moved}" for moved in credited[-_LINES:]]
    lines += [f"error: {line}" for line in found["errors"]]
    return "\n".join([*lines, *(f"next: {each}" for each in found["next"])])
