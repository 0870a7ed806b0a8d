"""States of the machine that errors are about: a port that is taken, a service that does not answer, a full disk.

One state is reported by every program in its own words, and what changes it is the same for all of them. So an error of
this sort is compared by the state: the port, the service with its host, the socket. Where an output does not say which
port it is, only the same command tells that it is the same one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NO_ROOM = re.compile(r"no space left on device|disk (?:is )?full", re.IGNORECASE)
PORT_TAKEN = re.compile(
    r"EADDRINUSE|AddrInUse|(?<!mail )\baddress (?:is )?already in use|only one usage of each socket address"
    r"|already running on port|\bconnection in use: \(|\bis already used\b[^\n]{0,80}\bport\b"
    r"|\bport(?: \S+)? (?:is|was) (?:already )?(?:in use|allocated|taken|occupied)",
    re.IGNORECASE,
)
_TOO_MANY_FILES = re.compile(r"too many open files|\bEMFILE\b", re.IGNORECASE)
_WATCHED = re.compile(r"\bwatch|inotify", re.IGNORECASE)
"""A limit of what is watched is reported in the words of a full disk, too."""
REFUSED = re.compile(
    r"ECONNREFUSED|connection (?:was )?refused|actively refused|\bconnection to \S{1,200} (?:was )?refused"
    r"|\bthe server \S{1,200} was refused|couldn't connect to server|can't reach database server"
    r"|can't connect to (?:\w+ )?server on [^\n]{1,200}\((?:111|61)\)",
    re.IGNORECASE,
)
_ABSENT = re.compile(
    r"\b(?P<what>role|database) \"(?P<name>[^\"\n]{1,80})\" does not exist"
    r"|\bUnknown database '(?P<unknown>[^'\n]{1,80})'"
)
"""A server of databases lacks what a client asks for; every driver says so in an exception of its own."""
_NOT_RUN = re.compile(r"^(?:/\S+/)?(?:ba|z|da|k)?sh: (?:line )?(?:\d{1,5}: )?(?P<file>\S+): Permission denied$")
_DENIED = re.compile(r"permission denied|EACCES|access denied|\(13\)|not permitted", re.IGNORECASE)
_UNREACHED = re.compile(
    rf"{REFUSED.pattern}|(?:connect|dial|socket|daemon|aborted)[^\n]{{0,200}}(?:ENOENT|no such file)|connect ENOENT"
    r"|(?:can't|cannot|could not|couldn't|unable to|failed to) connect\b|is the (?:\w+ )?(?:daemon|server) running",
    re.IGNORECASE,
)
_SOCKET = re.compile(r"(?:/|%2F)(?P<name>[\w.-]{1,80}\.sock(?:et)?|\.s\.PGSQL\.\d{2,5})(?![\w.-]*/)", re.IGNORECASE)
_DOCKER = re.compile(
    r"cannot connect to the docker daemon(?! at (?:tcp|https?|ssh):)|error while fetching server API version"
    r"|\bdocker daemon is not running|could not find a valid docker environment",
    re.IGNORECASE,
)
_DOCKER_SOCKET = "docker.sock"
_CLOCK = re.compile(r"(?<![\w.:\]])\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?(?=[\s\]])")
_POSITION = re.compile(r"^(?P<before>\s*\S+\.[A-Za-z]\w{0,7}):\d{1,7}(?::\d{1,7})?(?=:? )", re.MULTILINE)
"""The line of a file, which looks like the port of a host."""
_PORT = re.compile(
    r"(?P<host>\[[0-9a-f:]{2,45}\]|::1|[\w*-][\w.*-]{0,200}|:{2,3}|(?<![^\s'\"(]))"
    r"(?<!\bport):(?P<port>\d{2,5})\b(?![:.]\d)"
    r"|\bport[ =:]{1,2}(?P<told>\d{2,5})\b|['\"], (?P<pair>\d{2,5})\)",
    re.IGNORECASE,
)
_HOST = re.compile(
    r"\b(?:host|server at|connect(?:ing|ion)? to|on)[ =:]{1,2}['\"`]?(?!(?:server|host|port|address|the|that)\b)"
    r"(?P<host>\w[\w.-]{0,200})",
    re.IGNORECASE,
)
_LOCAL = re.compile(
    r"^(?:|localhost|\*|:{2,3}|::1|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[(?:::1?|0:0:0:0:0:0:0:1)\])$", re.IGNORECASE
)
_OF_COMMAND = re.compile(r"(?:(?:^|\s)(?:-p|--port)[ =]?|\bPORT=|[\w.\]]:)(?P<port>\d{2,5})\b(?!\.\d)")
_BARE = re.compile(r"(?<=\s)\d{4,5}(?=\s|$)")
_EPHEMERAL = 32_768
"""From this port on a number says nothing of the service: the system gives out such ports by itself."""
_BELOW = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineState:
    """A state of the machine that an error reports, however it is worded.

    Attributes:
        kind: What is the matter.
        thing: Which port, service or socket it is, the same for every command; empty where that is not told.
        by_command: Whether it is the same for the same command, whatever the thing.
    """

    kind: str
    thing: str = ""
    by_command: bool = False


def state_of(line: str, below: str = "", command: str = "") -> MachineState | None:
    """Return the state of the machine that an error is about; None where it is about another thing.

    Args:
        line: The decisive line.
        below: What stands below it: a port is often told there.
        command: The command that failed: a port that nothing printed may stand in it.
    """
    if not _WATCHED.search(line):
        if _NO_ROOM.search(line):
            return MachineState(kind="no room")
        if _TOO_MANY_FILES.search(line):
            return MachineState(kind="too many files")
    if (named := _named(line, command)) is not None:
        return MachineState(kind=named)
    text = "\n".join((line, *below.splitlines()[:_BELOW]))
    if (taken := PORT_TAKEN.search(line)) is not None:
        found = _nearest(text, taken)
        return MachineState(kind="port taken", thing=found[1] if found else _port_in(command), by_command=True)
    if (socket := _unreached_socket(line, text)) is not None:
        return MachineState(kind=f"unreachable {socket}")
    refused = REFUSED.search(line)
    if refused is None or (found := _nearest(text, refused)) is None or int(found[1]) >= _EPHEMERAL:
        return None
    host, port = found
    return MachineState(kind=f"refused {port}", thing="" if host is None else f"{host}:{port}", by_command=True)


def _named(line: str, command: str) -> str | None:
    """Return the state that a line names by itself: what a server lacks, or a program that may not run."""
    if (absent := _ABSENT.search(line)) is not None:
        return f"no {absent['what'] or 'database'} {absent['name'] or absent['unknown']}"
    refused = next((found for each in line.splitlines() if (found := _NOT_RUN.match(each.strip()))), None)
    if refused is None:
        return None
    runs = re.search(rf"(?:^|[;&|(])\s*{re.escape(refused['file'])}(?=\s|$)", command)
    return None if runs is None else f"may not run {refused['file']}"


def stated_line(text: str) -> str | None:
    """Return the last line that says that a port is taken, a service does not answer or the disk is full."""
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in lines[::-1] if line and state_of(line) is not None), None)


def _unreached_socket(line: str, text: str) -> str | None:
    if _DENIED.search(text) or not (_UNREACHED.search(line) or _DOCKER.search(line)):
        return None
    if _DOCKER.search(line):
        return _DOCKER_SOCKET
    match = _SOCKET.search(line)
    return match["name"].casefold() if match else None


def _nearest(text: str, about: re.Match[str]) -> tuple[str | None, str] | None:
    """Return the host and the port that stand nearest to what a line says of them; the host is None when not told."""
    start, end = about.span()
    plain = _CLOCK.sub(lambda match: " " * len(match[0]), text)
    plain = _POSITION.sub(lambda match: match["before"] + " " * (len(match[0]) - len(match["before"])), plain)
    found = [match for match in _PORT.finditer(plain) if int(match["port"] or match["told"] or match["pair"]) > 0]
    if not found:
        return None
    best = min(found, key=lambda match: max(match.start() - end, start - match.end(), 0))
    if best["port"]:
        return _place(best["host"]), best["port"]
    hosts = [match["host"] for match in _HOST.finditer(plain, 0, best.start())]
    return (_place(hosts[-1]) if hosts else None), best["told"] or best["pair"]


def _place(host: str) -> str:
    return "here" if _LOCAL.match(host) else host.casefold()


def _port_in(command: str) -> str:
    match = _OF_COMMAND.search(command)
    if match is not None:
        return match["port"]
    bare = _BARE.findall(command)
    return bare[0] if len(bare) == 1 else ""
