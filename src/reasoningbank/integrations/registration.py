"""Where a client has our server already, what it says about it itself, and what a person still has to do."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from reasoningbank.errors import BankError, InvalidInput
from reasoningbank.integrations.clients import InstallLevel, Target, Where, targets_of
from reasoningbank.integrations.json_entry import NAME, holds, value_of
from reasoningbank.integrations.toml_entry import names_server, server_in
from reasoningbank.safety.file_access import read_text
from reasoningbank.settings import OWN_RUN, child_environment

RegistrationState = Literal["connected", "listed", "failed", "missing", "silent", "unknown"]
SECONDS = 30
_MAX_CONFIGURATION = 16 * 2**20
"""Bytes of a client's file that is read."""
_ASK: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType(
    {
        "claude-code": ("claude", ("mcp", "get", NAME)),
        "codex": ("codex", ("mcp", "list")),
        "gemini": ("gemini", ("mcp", "list")),
        "opencode": ("opencode", ("mcp", "list")),
        "copilot": ("copilot", ("mcp", "list")),
    }
)
"""The program of a client and the command that says what it knows of servers."""
_WORDS: tuple[tuple[str, RegistrationState], ...] = (
    ("failed", "failed"),
    ("error", "failed"),
    ("disconnected", "failed"),
    ("not connected", "failed"),
    ("connected", "connected"),
)
CANNOT_START = "The client cannot start the server"
_DENIES = "The client does not know the server"
_SAYS: Mapping[RegistrationState, str] = MappingProxyType(
    {
        "connected": "The client starts the server",
        "failed": CANNOT_START,
        "listed": "The client knows the server",
    }
)
_TO_DO: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "claude-code": ("Restart Claude Code.",),
        "codex": (
            "Codex runs hooks only after you have reviewed them: start `codex` and answer what it asks, or /hooks.",
        ),
        "gemini": ("Gemini CLI starts servers and hooks of a folder only after you trust it: /permissions trust.",),
        "cursor": ("Restart Cursor and switch the server on in its settings, under MCP.",),
        "vscode": ("Start the server in VS Code: `MCP: List Servers`.",),
        "copilot": ("Restart Copilot CLI.",),
        "opencode": ("Restart opencode.",),
    }
)
_TO_DO_IN_A_PROJECT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "claude-code": ("Claude Code runs a project's server once you have approved it there.",),
        "codex": ("A project's files count once you trust the project.",),
    }
)
"""What is to do besides when the installation is a project's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What a client itself says about our server.

    Attributes:
        command: What was run; empty when the client has no such command.
        state: ``connected``, ``listed`` (it is known and was not started), ``failed``, ``missing``, ``silent`` (the
            command gave no answer), or ``unknown``.
        says: One sentence.
    """

    command: str
    state: RegistrationState
    says: str

    @property
    def verified(self) -> bool:
        """Return whether the client itself has shown the entry."""
        return self.state in {"connected", "listed"}

    @property
    def refuted(self) -> bool:
        """Return whether the client was asked and did not show an entry that it can start."""
        return self.state in {"failed", "missing", "silent"}


def asked(client: str, directory: Path) -> Registration:
    """Ask the client's own command whether it knows and starts our server; nothing raises.

    It is not a session of the user: the hooks that the command fires keep and note nothing.
    """
    if client not in _ASK:
        return Registration(command="", state="unknown", says="The client has no command that tells.")
    program, words = _ASK[client]
    command = " ".join((program, *words))
    found = shutil.which(program)
    if found is None:
        return Registration(
            command=command, state="unknown", says=f"The client was not asked: {program} is not on the search path."
        )
    try:
        done = subprocess.run(  # noqa: S603 - the user's own client
            [found, *words],
            cwd=directory,
            env=child_environment({"NO_COLOR": "1", OWN_RUN: "1"}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Registration(
            command=command, state="silent", says=f"The client gave no answer to `{command}` ({_why(error)})."
        )
    said = (done.stdout + b"\n" + done.stderr).decode("utf-8", "replace")
    lines = said.splitlines()
    place = next((number for number, line in enumerate(lines) if NAME in line and "No MCP" not in line), None)
    if place is None or (done.returncode and client == "claude-code"):
        return Registration(command=command, state="missing", says=f"{_DENIES}: `{command}` does not show it.")
    near = " ".join(lines[place : place + (4 if client == "claude-code" else 1)]).lower()
    known: RegistrationState = "listed"
    state = next((state for word, state in _WORDS if word in near), known)
    return Registration(command=command, state=state, says=f"{_SAYS.get(state, _DENIES)}: `{command}` says so.")


def _why(error: Exception) -> str:
    return f"within {SECONDS} s" if isinstance(error, subprocess.TimeoutExpired) else type(error).__name__


def to_do(
    client: str, level: InstallLevel, registration: Registration | None = None, *, changed: bool = True
) -> tuple[str, ...]:
    """Return what a person still has to do after an installation at this level.

    Args:
        client: The client.
        level: Where it was installed.
        registration: What the client says about our server; None when it was not asked.
        changed: Whether a file was written: when none was, there is nothing to restart for.
    """
    further = _TO_DO_IN_A_PROJECT.get(client, ()) if level == "project" else ()
    usual = tuple(each for each in (*_TO_DO.get(client, ()), *further) if changed or not each.startswith("Restart "))
    if registration is None or not registration.refuted:
        return usual
    return (
        *usual,
        f"The entry could not be verified. Run `{registration.command}` yourself; when it does not show "
        f"{NAME}, look for an error in the files above, and run rbank doctor.",
    )


def places(client: str, where: Where) -> dict[InstallLevel, bool]:
    """Return at which levels a client's files hold our server."""
    found: dict[InstallLevel, bool] = {}
    for level in ("user", "project"):
        try:
            targets = targets_of(client, replace(where, level=level))
        except InvalidInput:
            continue
        found[level] = any(_has_server(target) for target in targets)
    return found


def profile_of(client: str, where: Where) -> str:
    """Return the profile that a client's files start our server with; empty when they name none."""
    for level in ("user", "project"):
        try:
            targets = targets_of(client, replace(where, level=level))
        except InvalidInput:
            continue
        for target in targets:
            words = _words_of(target)
            if "--profile" in words[:-1]:
                return words[words.index("--profile") + 1]
    return ""


def _words_of(target: Target) -> list[str]:
    """Return the words by which a file starts our server; none where it does not."""
    try:
        text = read_text(target.path.expanduser(), most=_MAX_CONFIGURATION)
        found = [server_in(text, NAME)] if target.server else []
        found += [value_of(text, entry) for entry in target.entries if entry.key == NAME]
    except BankError:
        return []
    for value in found:
        if isinstance(value, dict):
            lists = [each for key in ("command", "args") if isinstance(each := value.get(key), list)]
            return [str(word) for words in lists for word in words]
    return []


def plugin_of(client: str, where: Where) -> str:
    """Return the name of the plugin of ours that Claude Code has switched on; empty when there is none."""
    if client != "claude-code":
        return ""
    for folder in (where.home, where.project):
        for name in ("settings.json", "settings.local.json"):
            try:
                read = json.loads(read_text(folder / ".claude" / name, most=_MAX_CONFIGURATION))
            except (BankError, ValueError):
                continue
            plugins = read.get("enabledPlugins") if isinstance(read, dict) else None
            if isinstance(plugins, dict):
                for plugin, enabled in plugins.items():
                    if enabled and plugin.split("@")[0] == NAME:
                        return str(plugin)
    return ""


def check_single(client: str, where: Where) -> None:
    """Check that nothing else gives the client our server already.

    Raises:
        InvalidInput: When a plugin or the other level does.
    """
    plugin = plugin_of(client, where)
    if plugin:
        raise InvalidInput(
            f"the plugin {plugin} already gives {client} the same server and hooks",
            hint=f"Use one of the two: `claude plugin uninstall {plugin}` takes it out.",
        )
    other = next((level for level, there in places(client, where).items() if there and level != where.level), None)
    if other is not None:
        raise InvalidInput(
            f"{client} already has the server at scope {other}: it would start twice",
            hint=f"Run `rbank uninstall {client} --scope {other}` first.",
        )


def _has_server(target: Target) -> bool:
    try:
        text = read_text(target.path.expanduser(), most=_MAX_CONFIGURATION)
        if target.server:
            return names_server(text, NAME)
        return any(entry.key == NAME and holds(text, entry) for entry in target.entries)
    except BankError:
        return False
