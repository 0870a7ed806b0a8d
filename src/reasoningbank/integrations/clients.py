"""Put our entries into the files of agents' clients and take them out again."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypedDict

from reasoningbank.errors import InvalidInput, StoreUnavailable
from reasoningbank.integrations import json_entry
from reasoningbank.integrations import toml_entry as toml_block
from reasoningbank.integrations.json_entry import NAME, Entry
from reasoningbank.settings import data_directory
from reasoningbank.system import shell_line
from reasoningbank.types.scope import directory_name

InstallLevel = Literal["user", "project"]
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
        whole: All that the file holds, when it is ours alone; its first line tells.
    """

    path: Path
    entries: tuple[Entry, ...] = ()
    server: Mapping[str, object] = field(default_factory=dict)
    skeleton: str = "{\n}\n"
    whole: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The places that configurations are relative to.

    Attributes:
        level: For the user everywhere, or for one project.
        home: The user's home directory.
        project: The project's directory.
        command: The program that clients start: ``rbank``, with its directory for the user's own configuration.
        options: Options that everything that is written carries: ``--tenant`` and the like with their values.
        profile: The tools that the server offers; empty for the configured ones.
        data: The data directory when it is not the platform's own; else empty.
    """

    level: InstallLevel
    home: Path
    project: Path
    command: str
    options: tuple[str, ...] = ()
    profile: str = ""
    data: str = ""

    def base(self) -> Path:
        """Return the home directory or the project's."""
        return self.home if self.level == "user" else self.project

    @property
    def server(self) -> dict[str, object]:
        """The MCP server as most clients write it."""
        entry: dict[str, object] = {"command": self.command, "args": [*self.serving]}
        return entry | ({"env": self.variables} if self.data else {})

    @property
    def serving(self) -> tuple[str, ...]:
        """The words after the program that start the server."""
        return (*self.options, *SERVE, *(("--profile", self.profile) if self.profile else ()))

    @property
    def variables(self) -> dict[str, str]:
        """The environment that the server needs."""
        return {"REASONINGBANK_HOME": self.data} if self.data else {}

    def hook(self, event: str) -> list[str]:
        """Return the words after the program that answer a hook."""
        return ["hook", event, *self.options, *(("--home", self.data) if self.data else ())]

    def status_line(self) -> str:
        """Return the shell's command line of the status line, which is run after every message."""
        return shell_line([self.command, "statusline", "--home", self.data or str(data_directory())])

    def line(self, event: str) -> str:
        """Return the shell's command line of a hook."""
        return shell_line([self.command, *self.hook(event)])


def targets_of(client: str, where: Where) -> tuple[Target, ...]:
    """Return the files of a client and what is put into each.

    Raises:
        InvalidInput: When the client is not known, or has no such level.
    """
    if client not in CLIENTS:
        close = get_close_matches(client, CLIENTS, n=2)
        meant = f"Did you mean {' or '.join(close)}? " if close else ""
        raise InvalidInput(f"there is no client {client[:40]!r}", hint=f"{meant}Known: {', '.join(CLIENTS)}.")
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
        handler = {"type": "command", "command": where.command, "args": where.hook(word), "timeout": _SECONDS}
        group: dict[str, object] = {} if matcher is None else {"matcher": matcher}
        hooks.append(Entry(path=("hooks", event), key=None, value=group | {"hooks": [handler]}))
    if where.level == "user":
        line = {"type": "command", "command": where.status_line()}
        hooks.append(Entry(path=(), key="statusLine", value=line, offered=True))
    return (_named_server(servers, where), Target(path=settings, entries=tuple(hooks)))


def _codex(where: Where) -> tuple[Target, ...]:
    folder = where.base() / ".codex"
    words = {"SessionStart": "session-start", "UserPromptSubmit": "user-prompt-submit"}
    words |= {"PostToolUse": "post-tool-use", "Stop": "stop", "PreCompact": "pre-compact", "SessionEnd": "session-end"}
    hooks = tuple(
        Entry(
            path=("hooks", event),
            key=None,
            value={"hooks": [{"type": "command", "command": where.line(word), "timeout": _codex_seconds(event)}]},
        )
        for event, word in words.items()
    )
    return (
        Target(path=folder / "config.toml", server=where.server, skeleton=""),
        Target(path=folder / "hooks.json", entries=hooks),
    )


def _codex_seconds(event: str) -> int:
    """Return how long Codex waits for a hook: at the end of a session it warns of more than 3 s."""
    return 3 if event == "SessionEnd" else _SECONDS


def _cursor(where: Where) -> tuple[Target, ...]:
    folder = where.base() / ".cursor"
    events = {"sessionStart": "", "beforeSubmitPrompt": "", "postToolUse": "Shell", "postToolUseFailure": "Shell"}
    events |= {"preCompact": "", "stop": "", "sessionEnd": ""}
    hooks = tuple(
        Entry(
            path=("hooks", event),
            key=None,
            value={"command": where.line(event), "timeout": _SECONDS} | ({"matcher": matcher} if matcher else {}),
        )
        for event, matcher in events.items()
    )
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
    server = Entry(path=("mcpServers",), key=NAME, value=where.server)
    events = {
        "SessionStart": "",
        "BeforeAgent": "",
        "AfterTool": "run_shell_command",
        "AfterAgent": "",
        "SessionEnd": "",
    }
    hooks = []
    for event, matcher in events.items():
        handler = {"type": "command", "command": where.line(event), "timeout": _SECONDS * 1_000}
        group: dict[str, object] = {"matcher": matcher} if matcher else {}
        hooks.append(Entry(path=("hooks", event), key=None, value=group | {"hooks": [handler]}))
    return (Target(path=where.base() / ".gemini" / "settings.json", entries=(server, *hooks)),)


def _copilot(where: Where) -> tuple[Target, ...]:
    if where.level == "project":
        raise InvalidInput("copilot is configured for the user alone", hint="Use --scope user.")
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
        for event in ("sessionStart", "userPromptTransformed", "postToolUse", "agentStop", "sessionEnd")
    )
    return (
        Target(path=folder / "mcp-config.json", entries=(Entry(path=("mcpServers",), key=NAME, value=value),)),
        Target(path=folder / "hooks" / f"{NAME}.json", entries=hooks, skeleton='{\n  "version": 1\n}\n'),
    )


_PLUGIN = "opencode_plugin.js"
_PLUGIN_COMMAND = 'const COMMAND = ["rbank"]\n'


def _opencode(where: Where) -> tuple[Target, ...]:
    folder = where.home / ".config" / "opencode" if where.level == "user" else where.project
    value: dict[str, object] = {"type": "local", "command": [where.command, *where.serving], "enabled": True}
    value |= {"environment": where.variables} if where.data else {}
    plugins = (folder if where.level == "user" else folder / ".opencode") / "plugin"
    command = json.dumps([where.command, *where.hook("")], ensure_ascii=False)
    source = files("reasoningbank.integrations").joinpath(_PLUGIN).read_text(encoding="utf-8")
    return (
        Target(path=folder / "opencode.json", entries=(Entry(path=("mcp",), key=NAME, value=value),)),
        Target(path=plugins / f"{NAME}.js", whole=source.replace(_PLUGIN_COMMAND, f"const COMMAND = {command}\n")),
    )


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


RECORD_FILE = "installed.json"
KEPT_COPIES = 5
"""How many copies of a file are kept."""
_BOM = "\ufeff"


class Made(TypedDict):
    """What was made for our entries in one file, so that taking them out leaves what was there before.

    ``before`` is the whole text of a file that was empty; None when there was no file.
    """

    paths: list[list[str]]
    begun: bool
    before: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationChange:
    """What is done to one file.

    Attributes:
        path: The file, links resolved.
        action: ``create``, ``change``, ``delete`` or ``none``.
        text: What it holds then; empty when it is deleted.
        backup: The copy of what it held before; None when there is nothing to copy, or nothing was done.
        advice: What a person has to do besides; empty for nothing.
    """

    path: Path
    action: Literal["create", "change", "delete", "none"]
    text: str
    backup: Path | None = None
    advice: str = ""


def install(targets: Sequence[Target], home: Path, *, dry_run: bool = False) -> list[InstallationChange]:
    """Put our entries into the files; a second time changes nothing.

    Every file is planned before the first is written, so that one that cannot be changed leaves all as they are.

    Args:
        targets: The files and what is put into them.
        home: The data directory: copies of the files and a record of what was made go there.
        dry_run: Only say what would be done.

    Raises:
        InvalidInput: When a file is not what its client would read, or holds an entry that we did not write.
        StoreUnavailable: When a file cannot be read or written.
    """
    record = _read_record(home)
    changes: list[InstallationChange] = []
    for target in targets:
        path = _resolved(target.path)
        with _named(path):
            change, made = _with_entries(target, path, record.get(str(path)))
        changes.append(change)
        if made["begun"] or made["paths"] or change.action != "none":
            record[str(path)] = made
    if dry_run:
        return changes
    _write_record(home, record)
    return [_done(change, home) for change in changes]


def uninstall(targets: Sequence[Target], home: Path, *, dry_run: bool = False) -> list[InstallationChange]:
    """Take our entries out of the files; what was made for them goes too, everything else stays as it is.

    Raises:
        InvalidInput: When a file is not what its client would read.
        StoreUnavailable: When a file cannot be read or written.
    """
    record = _read_record(home)
    changes: list[InstallationChange] = []
    for target in targets:
        path = _resolved(target.path)
        with _named(path):
            changes.append(_without_entries(target, path, record.pop(str(path), None)))
    if dry_run:
        return changes
    done = [_done(change, home) for change in changes]
    _write_record(home, record)
    return done


def _with_entries(target: Target, path: Path, known: Made | None) -> tuple[InstallationChange, Made]:
    before = _read(path)
    mark, text = _parted(before or "")
    begun = not text.strip()
    made: Made = known or {"paths": [], "begun": begun, "before": before}
    advice = ""
    if target.whole:
        if not begun and text.partition("\n")[0] != target.whole.partition("\n")[0]:
            raise InvalidInput("it is not ours", hint="Rename your file; nothing was changed.")
        text = target.whole
    elif target.server:
        text, advice = toml_block.put(text, dict(target.server), NAME)
    else:
        text, paths = json_entry.put(target.skeleton if begun else text, target.entries, known=known is not None)
        new = [list(one) for one in paths if list(one) not in made["paths"]]
        made = {**made, "paths": [*made["paths"], *new]}
    text = mark + text
    if text == before:
        return InstallationChange(path=path, action="none", text=text, advice=advice), made
    return InstallationChange(
        path=path, action="create" if before is None else "change", text=text, advice=advice
    ), made


def _without_entries(target: Target, path: Path, known: Made | None) -> InstallationChange:
    before = _read(path)
    mark, text = _parted(before or "")
    if before is None or not text.strip():
        return InstallationChange(path=path, action="none", text=before or "")
    if target.whole:
        ours = text.partition("\n")[0] == target.whole.partition("\n")[0]
        if not ours:
            return InstallationChange(path=path, action="none", text=before)
        if known and known["before"] is not None:
            return InstallationChange(path=path, action="change", text=known["before"])
        return InstallationChange(path=path, action="delete", text="")
    if target.server:
        text = toml_block.take(text)
    else:
        paths = [tuple(one) for one in known["paths"]] if known else None
        text = json_entry.take(text, target.entries, paths)
    if known and known["begun"] and text.strip() == target.skeleton.strip():
        if known["before"] is None:
            return InstallationChange(path=path, action="delete", text="")
        return InstallationChange(path=path, action="change", text=known["before"])
    text = mark + text
    return InstallationChange(path=path, action="none" if text == before else "change", text=text)


def _done(change: InstallationChange, home: Path) -> InstallationChange:
    """Do what is planned for one file, after a copy of it was made."""
    if change.action == "none":
        return change
    try:
        backup = _copied(change.path, home)
        if change.action == "delete":
            change.path.unlink()
        else:
            change.path.parent.mkdir(parents=True, exist_ok=True)
            _replace(change.path, change.text)
    except OSError as error:
        raise StoreUnavailable(f"{change.path} cannot be written: {error.strerror}") from error
    return replace(change, backup=backup)


def _copied(path: Path, home: Path) -> Path | None:
    """Return a private copy of the file below the data directory; of one file the newest few are kept."""
    if not path.exists():
        return None
    folder = home / "backups" / "clients"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = directory_name(str(path))
    copy = folder / f"{name}.{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
    copy.touch(mode=0o600)
    copy.write_bytes(path.read_bytes())
    for old in sorted(folder.glob(f"{name}.*"))[:-KEPT_COPIES]:
        old.unlink(missing_ok=True)
    return copy


def _replace(path: Path, text: str) -> None:
    """Write the whole file or nothing; its permissions stay."""
    mode = path.stat().st_mode & 0o7777 if path.exists() else 0o600
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        partial.chmod(mode)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _read(path: Path) -> str | None:
    """Return the file's text, None when there is none."""
    try:
        if not path.exists():
            return None
        if not path.is_file():  # a pipe would wait for a writer for ever
            raise StoreUnavailable("it is not a regular file", hint="Put a file there; nothing was changed.")
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise StoreUnavailable(f"it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput("it is not UTF-8 text", hint="Correct the file; nothing was changed.") from error


def _parted(text: str) -> tuple[str, str]:
    """Return the byte order mark, when there is one, and the rest."""
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def _resolved(path: Path) -> Path:
    """Return the file itself where the name is a link, so that the link stays one."""
    try:
        return path.expanduser().resolve()
    except (OSError, RuntimeError) as error:
        raise StoreUnavailable(f"{path} does not name a file: {error}") from error


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Say in an error which file it is about."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error.message}", hint=error.hint) from error
    except StoreUnavailable as error:
        raise StoreUnavailable(f"{path}: {error.message}", hint=error.hint) from error


def _read_record(home: Path) -> dict[str, Made]:
    try:
        read: dict[str, Made] = json.loads((home / RECORD_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise StoreUnavailable(
            f"{home / RECORD_FILE} cannot be read", hint="Remove it; what it noted is then not taken out."
        ) from error
    return read


def _write_record(home: Path, record: dict[str, Made]) -> None:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(home / RECORD_FILE, json.dumps(record, indent=2) + "\n")
    except OSError as error:
        raise StoreUnavailable(f"{home / RECORD_FILE} cannot be written: {error.strerror}") from error


def rewrite(path: Path, change: Callable[[str], str]) -> bool:
    """Replace a text file by what ``change`` makes of it; whether anything is different.

    Raises:
        InvalidInput: When the file is not UTF-8 text or cannot be changed so.
        StoreUnavailable: When it cannot be read or written.
    """
    place = _resolved(path)
    with _named(place):
        before = _read(place)
        after = change(before or "")
        if after == before:
            return False
        try:
            _replace(place, after)
        except OSError as error:
            raise StoreUnavailable(f"it cannot be written: {error.strerror}") from error
    return True
