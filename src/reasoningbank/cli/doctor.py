"""``rbank doctor`` and ``demo``: whether everything is in order, and whether it works."""

from __future__ import annotations

import platform
import stat
import sys
from pathlib import Path

import click

from reasoningbank import __version__
from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, command
from reasoningbank.cli.output import print_json, print_note, print_text, progress
from reasoningbank.cli.repair_text import repair_text
from reasoningbank.cli.status import last_model_error
from reasoningbank.errors import BankError
from reasoningbank.integrations.hook_actions import last_runs
from reasoningbank.llm import model_problem
from reasoningbank.llm.reach import reach
from reasoningbank.settings import FILE_NAME, Settings, load_settings, project_of, shown_url
from reasoningbank.storage import open_storage
from reasoningbank.types.memory import Health
from reasoningbank.types.quantity import counted
from reasoningbank.types.scope import Scope


@command(
    "doctor",
    COMMANDS["doctor"],
    click.Option(["--ask-model"], is_flag=True, help="Ask a model's server that is not on this machine, too."),
    click.Option(["--repair"], is_flag=True, help="Save every whole row of a damaged bank in a new file."),
)
def doctor(call: Call, *, ask_model: bool, repair: bool) -> None:
    """Print facts and problems; exit status 1 when there is a problem.

    With --repair, every whole row of a damaged bank is written to a new file beside it, and what is missing is named,
    table by table. The damaged file stays as it is; rbank restore FILE puts the new one in its place.

    Of a language model it is checked that it has a key or a URL, that its program is there, and that a server on this
    machine answers. No prompt is sent to it.
    """
    from reasoningbank.operations.json import to_json

    if repair:
        _repair(call)
        return
    if sys.stderr.isatty():
        print_note("Reading the whole bank and trying the embedder ...")
    health = examine(call, ask_model=ask_model)
    if call.as_json:
        print_json(to_json(health))
    else:
        width = max(map(len, health.facts))
        lines = [f"{name:<{width}}  {value}" for name, value in health.facts.items()]
        lines += [f"problem: {problem}" for problem in health.problems]
        count = len(health.problems)
        summary = "Everything is in order." if not count else f"{counted(count, 'problem')}."
        print_text("\n".join([*lines, summary]))
    if not health.healthy:
        sys.exit(1)


def _repair(call: Call) -> None:
    """Print what could be saved, and what is missing; exit status 1 when something is, or may be."""
    from reasoningbank.operations.json import to_json

    with call.open_bank(reads=True, makes=False) as bank:
        if bank.admin.check_store():
            with progress("making vectors") as bar:
                done = bank.admin.repair(progress=bar.step)
        else:
            done = None
    if call.as_json:
        print_json({"repair": None if done is None else to_json(done)})
    else:
        print_text("Everything is in order; there is nothing to repair." if done is None else repair_text(done))
    if done is not None and (done.missing or done.cut or done.held or done.problems):
        sys.exit(1)


@command("demo", COMMANDS["demo"])
def demo(call: Call) -> None:
    """Play two sessions of a scripted agent with real commands, through the real hooks and the real server.

    The first session finds out what helps and becomes a recipe, without a model; in the second a hook shows it, the
    agent needs fewer commands, and the recipe's confidence rises. Your own banks are not touched and nothing is left.
    Exit status 1 when a step did not do what it should.
    """
    from reasoningbank.demo.run import run

    answer = run(_silent if call.as_json else print_text)
    if call.as_json:
        print_json({**answer})
    else:
        failed = [f"FAILED  {check['what']}" for check in answer["checks"] if not check["ok"]]
        held = len(answer["checks"]) - len(failed)
        summary = f"{held} of {len(answer['checks'])} checks held, in {answer['seconds']:.1f} s."
        print_text("\n".join([*failed, f"{summary} For your own agent: rbank install claude-code, or another client."]))
    if not answer["ok"]:
        sys.exit(1)


def _silent(text: str) -> None:
    """Say nothing: with --json only the answer is printed."""


_OTHERS = 0o077


def examine(call: Call, *, ask_model: bool) -> Health:
    """Check everything; what cannot be opened is a problem, not an error.

    Args:
        call: The command line.
        ask_model: Ask a model's server that is not on this machine whether it answers.
    """
    facts = {
        "reasoningbank": __version__,
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
    }
    try:
        settings = load_settings()
    except BankError as error:
        return Health(facts=facts, problems=(_sentence(error),))
    facts |= _places(call, settings)
    facts["hooks last ran"] = "; ".join(last_runs(settings.home).values()) or "never"
    problems: list[str] = []
    try:
        with call.open_bank(reads=True, makes=False) as bank:
            health = bank.admin.check()
            model_error = last_model_error(bank)
        facts |= health.facts
        scope = Scope(tenant=facts["tenant"], project=facts["project"])
        if not open_storage(call.url or settings.url or None, home=settings.home).has(scope):
            facts["location"] = "none: this project has no bank yet"
        problems += health.problems
        if settings.llm and model_error:
            problems.append(f"sessions wait, because the last run of {settings.llm} failed: {model_error}")
    except BankError as error:
        problems.append(_sentence(error))
    problem = model_problem(settings)
    facts["language model"] = settings.llm or "none: sessions wait for an agent that calls memory_distill"
    if settings.llm and not problem:
        facts["model's server"], problem = reach(settings, elsewhere=ask_model)
    problems += [problem] if problem else []
    permissions, open_places = _permissions(settings.home)
    facts["permissions"] = permissions
    problems += open_places
    return Health(facts=facts, problems=tuple(problems))


def _places(call: Call, settings: Settings) -> dict[str, str]:
    tenant = call.owner(settings)
    derived = "the settings" if settings.tenant else "the local user"
    if call.project is not None:
        project, project_source = call.project, "--project"
    elif settings.project:
        project, project_source = settings.project, "the settings"
    else:
        project, project_source = project_of(Path.cwd()), "the working directory"
    file = settings.home / FILE_NAME
    return {
        "home": str(settings.home),
        "settings file": str(file) if file.exists() else f"{file} (none)",
        "url": shown_url(call.url or settings.url) or "none: one file per project below home",
        "tenant": tenant,
        "tenant from": derived if call.tenant is None else "--tenant",
        "project": project,
        "project from": project_source,
    }


def _permissions(home: Path) -> tuple[str, list[str]]:
    """Return how the data directory is protected, and what others could read."""
    try:
        if not home.exists():
            return "home does not exist yet", []
        places = [home, *(path for path in sorted(home.rglob("*")) if not path.is_symlink())]
        modes = {path: stat.S_IMODE(path.stat().st_mode) for path in places}
    except OSError as error:
        return "cannot be read", [f"{home} cannot be read: {error.strerror}. Check who owns it."]
    summary = f"home {modes[home]:04o}, {len(places) - 1} files and directories below it"
    if platform.system() == "Windows":
        return summary, []
    private_home = not modes[home] & _OTHERS
    exposed = [] if private_home else [path for path, mode in modes.items() if mode & _OTHERS]
    return summary, [
        f"{path} can be reached by others (mode {modes[path]:04o}): run chmod go-rwx on it." for path in exposed[:5]
    ]


def _sentence(error: BankError) -> str:
    return f"{str(error).rstrip('.')}. {error.hint}"
