"""No command, server, hook or bank reaches for a network, as the kernel sees it, or leaves files beside its data."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import reasoningbank
from mcp_processes import RawServer
from promises import promise
from safety.network_watch import AVAILABLE, Attempt, Watched
from shared_servers import run_directory, servers_in

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the kernel must be Linux's, on a processor the watch knows")

RBANK = str(Path(sys.executable).parent / "rbank")
TELEMETRY_SECONDS = 10.0
"""How long a process that has loaded the model stays. ONNX Runtime 1.31 looks up its host 7 s after it is imported."""
TITLE = "Retry flaky network calls"
MEMORY = ("--title", TITLE, "--content", "Back off, then retry.", "--outcome", "success")
QUESTION = "the call over the network is flaky, retry?"
PROGRAM = f"""
import time
from reasoningbank import Bank
with Bank.open(tenant="t", project="p") as bank:
    memory = bank.record(title={TITLE!r}, content="Back off, then retry.", outcome="success")
    assert bank.search({QUESTION!r}).memories
    bank.feedback(memory.id, helpful=True)
    assert bank.admin.check().healthy
    time.sleep({TELEMETRY_SECONDS})
"""


@dataclass
class User:
    """A user of a fresh machine: an empty home directory, and nothing in the environment that says it is a test.

    Where a variable such as CI is set, ONNX Runtime sends nothing by itself, and there would be nothing to find.
    """

    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for place in (self.home, self.project, self.temporary):
            place.mkdir(parents=True)
        self.report.touch()

    @property
    def home(self) -> Path:
        """The home directory, with the caches in it."""
        return self.folder / "home"

    @property
    def project(self) -> Path:
        """Where the commands run."""
        return self.folder / "project"

    @property
    def temporary(self) -> Path:
        """Where temporary files are."""
        return self.folder / "temporary"

    @property
    def report(self) -> Path:
        """Where attempts are noted."""
        return self.folder / "attempts.jsonl"

    @property
    def environment(self) -> dict[str, str]:
        """All variables of this user's processes."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "TMPDIR": str(self.temporary),
            "USER": "somebody",
            "LANG": "C.UTF-8",
            "REASONINGBANK_HOME": str(self.folder / "bank"),
            "REASONINGBANK_SHARED": "false",
            "PYTHONPATH": str(Path(reasoningbank.__file__).parents[1]),
            "OMP_NUM_THREADS": "1",
            **self.variables,
        }

    def watched(self, *command: str) -> Watched:
        """Return a command of this user, to be watched."""
        return Watched(self.report, command)

    def run(self, *command: str, text: str = "") -> str:
        """Run a command to its end, watched; return what it printed."""
        done = self.watched(*command).run(env=self.environment, cwd=self.project, text=text)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def left(self) -> list[str]:
        """Return the files of the home directory."""
        return sorted(str(path.relative_to(self.home)) for path in self.home.rglob("*") if not path.is_dir())


def show(user: User) -> None:
    """Run the demonstration, which starts a server and speaks to it."""
    assert json.loads(user.run(RBANK, "demo", "--json"))["ok"] is True


def serve(user: User) -> None:
    """Speak to a server on stdio, and keep it after a search for as long as telemetry would need."""
    process = subprocess.Popen(
        user.watched(RBANK, "serve").arguments,
        env=user.environment,
        cwd=user.project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        server = RawServer(process)
        server.hello()
        memory = {"title": TITLE, "content": "Back off, then retry.", "outcome": "success"}
        assert not server.ask(_call("memory_record", memory), 60)["result"]["isError"]
        found = server.ask(_call("memory_search", {"query": QUESTION}), 60)
        assert found["result"]["structuredContent"]["memories"]
        time.sleep(TELEMETRY_SECONDS)
        assert server.end() == 0


def share(user: User) -> None:
    """Do the same through a shared server, whose process leaves the family of who starts it."""
    with run_directory() as folder:
        user.variables = {"REASONINGBANK_SHARED": "true", "REASONINGBANK_RUN_DIRECTORY": str(folder)}
        serve(user)
        assert len(servers_in(folder)) == 1
        payload = {"session_id": "s-2", "hook_event_name": "UserPromptSubmit", "prompt": QUESTION}
        told = json.dumps(payload | {"cwd": str(user.project)})
        assert TITLE in user.run(RBANK, "hook", "user-prompt-submit", text=told)
        assert json.loads(user.run(RBANK, "search", QUESTION, "--json"))["memories"]


def command(user: User) -> None:
    """Record, search, and answer a hook, each in a process of its own."""
    user.run(RBANK, "record", *MEMORY)
    assert json.loads(user.run(RBANK, "search", QUESTION, "--json"))["memories"]
    payload = {"session_id": "s-1", "hook_event_name": "UserPromptSubmit", "prompt": QUESTION, "cwd": str(user.project)}
    shown = user.run(RBANK, "hook", "user-prompt-submit", text=json.dumps(payload))
    assert TITLE in shown


def program(user: User) -> None:
    """Use a bank from Python."""
    assert user.run(sys.executable, "-c", PROGRAM) == ""


LIVES: Mapping[str, tuple[Callable[[User], None], Mapping[str, str]]] = {
    "demo": (show, {}),
    "serve": (serve, {}),
    "shared": (share, {}),
    "commands": (command, {}),
    "Python, with telemetry asked for": (program, {"ORT_DISABLE_TELEMETRY": "0"}),
}


@promise(
    "telemetry:offline",
    "`rbank demo`, `record`, `search`, a hook, `serve` on stdio, the server that windows share and a bank in Python "
    "open no network socket and look up no name, as the operating system sees it, and leave no file in the home "
    "directory beside the bank.",
    source="DESIGN D7",
)
@promise(
    "telemetry:runtime",
    "ONNX Runtime's own telemetry is off before it is loaded, whatever the environment says.",
    source="DESIGN D12",
)
def test_nothing_that_users_run_reaches_for_a_network_or_leaves_a_file(tmp_path: Path) -> None:
    users = {name: User(tmp_path / str(number), LIVES[name][1]) for number, name in enumerate(LIVES)}
    with ThreadPoolExecutor(len(LIVES)) as lives:
        for life in [lives.submit(LIVES[name][0], user) for name, user in users.items()]:
            life.result()
    found = {name: (user.watched().attempts(), user.left()) for name, user in users.items()}
    assert found == {name: ([], []) for name in LIVES}


LOOK_UP = "import ctypes; ctypes.CDLL(None).gethostbyname(b'host.invalid')"
CONNECTION = "import socket; socket.create_connection(('127.0.0.1', 9))"
RESOLVER = "import socket; socket.socket(socket.AF_UNIX).connect('/run/systemd/resolve/io.systemd.Resolve')"
THREAD = f"import threading; thread = threading.Thread(target=exec, args=({LOOK_UP!r},)); thread.start(); thread.join()"
CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {LOOK_UP!r}], start_new_session=True)"


@promise(
    "telemetry:watch",
    "The watch behind that sees a look-up by C code, on a thread and in a child, and denies every attempt.",
    source="DESIGN D12",
)
@pytest.mark.parametrize(
    ("code", "call", "target"),
    [
        (LOOK_UP, "socket", "AF_INET"),
        (THREAD, "socket", "AF_INET"),
        (CHILD, "socket", "AF_INET"),
        (CONNECTION, "socket", "AF_INET"),
        (RESOLVER, "connect", "/run/systemd/resolve/io.systemd.Resolve"),
    ],
    ids=["look-up", "thread", "child", "connection", "resolver"],
)
def test_the_watch_sees_what_reaches_for_a_network(code: str, call: str, target: str, tmp_path: Path) -> None:
    user = User(tmp_path / "user")
    watched = user.watched(sys.executable, "-c", code)
    watched.run(env=user.environment, cwd=user.project)
    assert (call, target) in {(attempt.call, attempt.target) for attempt in watched.attempts()}


@promise("telemetry:watch")
def test_the_watch_denies_and_lets_processes_speak_to_each_other(tmp_path: Path) -> None:
    user = User(tmp_path / "user")
    code = f"""
import asyncio, socket, sys
async def told() -> bytes:
    server = await asyncio.start_unix_server(lambda reader, writer: (writer.write(b"told"), writer.close()), "desk")
    reader, writer = await asyncio.open_unix_connection("desk")
    return await reader.read()
assert asyncio.run(told()) == b"told"
try:
    {CONNECTION}
except PermissionError:
    sys.exit(7)
"""
    watched = user.watched(sys.executable, "-c", code)
    done = watched.run(env=user.environment, cwd=user.project)
    assert (done.returncode, done.stderr) == (7, "")
    assert watched.attempts() == [Attempt(Path(sys.executable).name[:15], "socket", "AF_INET")]


def _call(name: str, arguments: Mapping[str, object]) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
