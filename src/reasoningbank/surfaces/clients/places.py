"""Which client keeps what where, and what we put there (spec of each client)."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from reasoningbank.errors import InvalidInput
from reasoningbank.surfaces.clients.json_entry import NAME, Entry

Level = Literal["user", "project"]
SERVE = ("serve",)
_SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One file of a client's configuration.

    Attributes:
        path: Where it is.
        entries: What is put into it, when it is JSON.
        server: The MCP server's table, when it is TOML.
        skeleton: What a file is begun with that is not there yet.
    """

    path: Path
    entries: tuple[Entry, ...] = ()
    server: Mapping[str, object] = field(default_factory=dict)
    skeleton: str = "{\n}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The places that configurations are relative to.

    Attributes:
        level: For the user everywhere, or for one project.
        home: The user's home directory.
        project: The project's directory.
        command: The program that clients start: ``rbank``, with its directory for the user's own configuration.
    """

    level: Level
    home: Path
    project: Path
    command: str

    def base(self) -> Path:
        """The home directory or the project's."""
        return self.home if self.level == "user" else self.project

    @property
    def server(self) -> dict[str, object]:
        """The MCP server as most clients write it."""
        return {"command": self.command, "args": [*SERVE]}

    def line(self, event: str) -> str:
        """The shell's command line of a hook."""
        return f"{shlex.quote(self.command)} hook {event}"


def targets_of(client: str, where: Where) -> tuple[Target, ...]:
    """The files of a client and what is put into each.

    Raises:
        InvalidInput: When the client is not known, or has no such level.
    """
    if client not in CLIENTS:
        raise InvalidInput(f"there is no client {client[:40]!r}", hint=f"Known: {', '.join(CLIENTS)}.")
    return CLIENTS[client](where)


def _named_server(path: Path, where: Where, *, key: str = "mcpServers") -> Target:
    return Target(path=path, entries=(Entry(path=(key,), key=NAME, value=where.server),))


def _claude_code(where: Where) -> tuple[Target, ...]:
    servers = where.home / ".claude.json" if where.level == "user" else where.project / ".mcp.json"
    settings = where.base() / ".claude" / "settings.json"
    events = {
        "SessionStart": ("session-start", "startup|resume|clear|compact"),
        "UserPromptSubmit": ("user-prompt-submit", None),
        "PostToolUseFailure": ("tool-failure", None),
        "Stop": ("stop", None),
        "SessionEnd": ("session-end", None),
        "PreCompact": ("pre-compact", None),
        "PostCompact": ("post-compact", None),
    }
    hooks = []
    for event, (word, matcher) in events.items():
        handler = {"type": "command", "command": where.command, "args": ["hook", word], "timeout": _SECONDS}
        group: dict[str, object] = {} if matcher is None else {"matcher": matcher}
        hooks.append(Entry(path=("hooks", event), key=None, value=group | {"hooks": [handler]}))
    return (_named_server(servers, where), Target(path=settings, entries=tuple(hooks)))


def _codex(where: Where) -> tuple[Target, ...]:
    folder = where.base() / ".codex"
    words = {"SessionStart": "session-start", "UserPromptSubmit": "user-prompt-submit"}
    words |= {"Stop": "stop", "PreCompact": "pre-compact"}
    hooks = tuple(
        Entry(
            path=("hooks", event),
            key=None,
            value={"hooks": [{"type": "command", "command": where.line(word), "timeout": _SECONDS}]},
        )
        for event, word in words.items()
    )
    return (
        Target(path=folder / "config.toml", server=where.server, skeleton=""),
        Target(path=folder / "hooks.json", entries=hooks),
    )


def _cursor(where: Where) -> tuple[Target, ...]:
    folder = where.base() / ".cursor"
    events = ("sessionStart", "beforeSubmitPrompt", "preCompact", "stop")
    hooks = tuple(Entry(path=("hooks", event), key=None, value={"command": where.line(event)}) for event in events)
    return (
        _named_server(folder / "mcp.json", where),
        Target(path=folder / "hooks.json", entries=hooks, skeleton='{\n  "version": 1\n}\n'),
    )


def _vscode(where: Where) -> tuple[Target, ...]:
    if where.level == "user":
        import platformdirs

        path = Path(platformdirs.user_config_dir("Code", appauthor=False, roaming=True)) / "User" / "mcp.json"
    else:
        path = where.project / ".vscode" / "mcp.json"
    value = {"type": "stdio", **where.server}
    return (Target(path=path, entries=(Entry(path=("servers",), key=NAME, value=value),)),)


def _gemini(where: Where) -> tuple[Target, ...]:
    return (_named_server(where.base() / ".gemini" / "settings.json", where),)


def _copilot(where: Where) -> tuple[Target, ...]:
    if where.level == "project":
        raise InvalidInput("copilot is configured for the user alone", hint="Use --user.")
    folder = where.home / ".copilot"
    value = {"type": "local", **where.server, "tools": ["*"]}
    hooks = tuple(
        Entry(
            path=("hooks", event),
            key=None,
            value={
                "type": "command",
                "bash": where.line(event),
                "powershell": where.line(event),
                "timeoutSec": _SECONDS,
            },
        )
        for event in ("sessionStart", "userPromptTransformed", "agentStop")
    )
    return (
        Target(path=folder / "mcp-config.json", entries=(Entry(path=("mcpServers",), key=NAME, value=value),)),
        Target(path=folder / "hooks" / f"{NAME}.json", entries=hooks, skeleton='{\n  "version": 1\n}\n'),
    )


def _opencode(where: Where) -> tuple[Target, ...]:
    folder = where.home / ".config" / "opencode" if where.level == "user" else where.project
    value = {"type": "local", "command": [where.command, *SERVE], "enabled": True}
    return (Target(path=folder / "opencode.json", entries=(Entry(path=("mcp",), key=NAME, value=value),)),)


CLIENTS: Mapping[str, Callable[[Where], tuple[Target, ...]]] = MappingProxyType(
    {
        "claude-code": _claude_code,
        "codex": _codex,
        "cursor": _cursor,
        "vscode": _vscode,
        "gemini": _gemini,
        "copilot": _copilot,
        "opencode": _opencode,
    }
)
"""What each client gets; codex's project file is read by it only when the user trusts the project."""
