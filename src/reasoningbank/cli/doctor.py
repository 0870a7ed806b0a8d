"""What ``rbank doctor`` looks at besides the bank itself: versions, places, permissions and where names come from."""

from __future__ import annotations

import platform
import stat
from pathlib import Path

from reasoningbank import __version__
from reasoningbank.cli.call import Call
from reasoningbank.errors import BankError
from reasoningbank.settings import FILE_NAME, Settings, load_settings, project_of
from reasoningbank.types.memory import Health

_OTHERS = 0o077


def examine(call: Call) -> Health:
    """Checks everything; what cannot be opened is a problem, not an error."""
    facts = {
        "reasoningbank": __version__,
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
    }
    try:
        settings = load_settings()
    except BankError as error:
        return Health(facts=facts, problems=(_sentence(error),))
    facts |= _places(call, settings)
    problems: list[str] = []
    try:
        with call.open_bank() as bank:
            health = bank.admin.check()
        facts |= health.facts
        problems += health.problems
    except BankError as error:
        problems.append(_sentence(error))
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
        "url": call.url or settings.url or "none: one file per project below home",
        "tenant": tenant,
        "tenant from": derived if call.tenant is None else "--tenant",
        "project": project,
        "project from": project_source,
    }


def _permissions(home: Path) -> tuple[str, list[str]]:
    """How the data directory is protected, and what others could read."""
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
