"""Hooks that are answered by a running server, and what they do without one."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from promises import promise
from reasoningbank import Bank, Settings
from reasoningbank.integrations import hook_client as asking
from reasoningbank.integrations.hook_client import FOLDER, SOCKET, Request, ask, decoded, encoded, fingerprint, place_of
from reasoningbank.mcp.banks import Banks
from reasoningbank.mcp.calls import Caller
from reasoningbank.mcp.hook_server import HookServer
from reasoningbank.safety.quotation import memories_in
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.scope import Membership, Scope
from sessions.learned_sessions import RBANK, environment, eventually

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="the system has no sockets in directories")

SCOPE = Scope(tenant="acme", project="shop")
HOOK = [str(RBANK), "hook", "session-start", "--tenant", "acme", "--project", "shop"]
SERVE = ["serve", "--tenant", "acme", "--project", "shop"]
START = json.dumps({"session_id": "s-1", "hook_event_name": "SessionStart", "source": "startup"}).encode()
HEAVY = ("numpy", "apsw", "mcp", "onnxruntime", "opentelemetry", "tokenizers", "tiktoken", "redact_secret", "click")


@pytest.fixture
def home() -> Iterator[Path]:
    """A data directory with a short path: that of a socket must be."""
    with tempfile.TemporaryDirectory(prefix="rb-") as folder:
        yield Path(folder) / "home"


@pytest.fixture
def desk(home: Path) -> Iterator[HookServer]:
    """A desk in this process, over a bank with one memory."""
    filled(home)
    made = desk_of(home)
    made.start()
    eventually((home / FOLDER / SOCKET).exists)
    yield made
    made.stop()


def desk_of(home: Path, tenant: str = "acme") -> HookServer:
    """A desk with the fast test embedder."""
    settings = Settings(home=home)
    return HookServer(Banks(settings, embedder=HashingEmbedder()), Caller(tenant=tenant, session="s"), settings)


def filled(home: Path) -> str:
    """Records a memory; returns its id."""
    with Bank.open(tenant="acme", project="shop", embedder=HashingEmbedder(), settings=Settings(home=home)) as bank:
        return bank.record(title="Retry flaky calls", content="Back off.", outcome="success").id


def request(home: Path, **changes: object) -> Request:
    """What a hook of this data directory asks."""
    plain = Request("SessionStart", None, "s-1", SCOPE, fingerprint(Settings(home=home), None, Membership()))
    return plain._replace(**changes)  # type: ignore[arg-type]  # names of fields


@promise(
    "hook:desk",
    "A hook that finds a running server lets it answer and loads nothing heavy itself; deliveries count for the "
    "client's session.",
    source="DESIGN D12",
)
def test_a_hook_asks_the_running_server_and_loads_nothing_itself(home: Path) -> None:
    with Bank.open(tenant="acme", project="shop", settings=Settings(home=home)) as bank:
        known = bank.record(title="Retry flaky calls", content="Back off.", outcome="success").id
    alone = cpu(home)

    async def work() -> None:
        parameters = StdioServerParameters(command=str(RBANK), args=SERVE, env=environment(home), cwd=str(home.parent))
        async with Client(parameters, read_timeout_seconds=60) as client:
            await client.list_tools()
            await client.call_tool("memory_search", {"query": "a flaky call"})
            await anyio.to_thread.run_sync(eventually, (home / FOLDER / SOCKET).exists)
            await anyio.to_thread.run_sync(asked)

    def asked() -> None:
        assert (home / FOLDER).stat().st_mode & 0o777 == 0o700
        assert (home / FOLDER / SOCKET).stat().st_mode & 0o777 == 0o600
        code = (
            "import sys\nfrom reasoningbank.cli import main\n"
            f"try:\n    main({HOOK[1:]!r})\nexcept SystemExit:\n    pass\n"
            f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=START,
            env=environment(home),
            capture_output=True,
            check=True,
            timeout=60,
        )
        assert done.stderr == b"[]\n"
        shown = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
        assert memories_in(shown) == [known]
        assert cpu(home) < alone / 2

    anyio.run(work)
    assert not (home / FOLDER / SOCKET).exists()
    with Bank.open(tenant="acme", project="shop", settings=Settings(home=home)) as bank:
        assert [one.memory_id for one in bank.sessions.outcome("s-1", True).credited] == [known]
    assert not (home / "hooks.log").exists()


def cpu(home: Path) -> float:
    """The least CPU seconds of two runs of a hook."""
    least = 60.0
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(HOOK, input=START, env=environment(home), capture_output=True, check=True, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert "Retry flaky calls" in done.stdout.decode()
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return least


@promise(
    "hook:desk-fallback",
    "A dead, silent, lying, second or missing server only makes the hook do the work itself, within its time.",
    source="issue 4: a hook never blocks",
)
def test_a_killed_server_leaves_a_socket_that_hooks_pass_by_and_the_next_server_takes(home: Path) -> None:
    filled(home)
    code = (
        "import sys, threading; from pathlib import Path; sys.path[:0] = sys.argv[2:]\n"
        "from integrations.test_hook_desk import desk_of\n"
        "desk_of(Path(sys.argv[1])).start(); threading.Event().wait()\n"
    )
    tests = str(Path(__file__).resolve().parents[1])
    process = subprocess.Popen([sys.executable, "-c", code, str(home), tests], env=environment(home), cwd=home.parent)
    try:
        eventually((home / FOLDER / SOCKET).exists)
        eventually(lambda: ask(home, request(home)) is not None)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=10)
    assert (home / FOLDER / SOCKET).exists()
    began = time.monotonic()
    assert ask(home, request(home)) is None
    assert time.monotonic() - began < 1.0
    second = desk_of(home)
    second.start()
    eventually(lambda: ask(home, request(home)) is not None)
    second.stop()
    assert ask(home, request(home)) is None


@promise("hook:desk-fallback")
def test_of_two_servers_one_answers_and_the_other_takes_over(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reasoningbank.mcp.hook_server.TAKE_OVER_SECONDS", 0.1)
    filled(home)
    first, second = desk_of(home), desk_of(home)
    first.start()
    eventually(lambda: ask(home, request(home)) is not None)
    second.start()
    second.start()
    time.sleep(0.3)
    assert ask(home, request(home)) is not None
    first.stop()
    eventually(lambda: ask(home, request(home)) is not None)
    second.stop()
    first.start()
    time.sleep(0.3)
    assert ask(home, request(home)) is None


@promise(
    "hook:desk-own",
    "A server answers only hooks of its own user, tenant, settings and version; nobody else can stand in for it.",
    source="DESIGN D9",
)
def test_only_hooks_of_the_same_tenant_settings_and_version_are_answered(home: Path, desk: HookServer) -> None:
    assert "Retry flaky calls" in (ask(home, request(home)) or "")
    assert ask(home, request(home, scope=Scope(tenant="other", project="shop"))) is None
    assert ask(home, request(home, scope=Scope(tenant="acme", project="unknown"))) == ""
    assert len([*home.rglob("*.db")]) == 1
    plain = Settings(home=home)
    for settings, url, member in (
        (replace(plain, embedder="minilm"), None, Membership()),
        (plain, "memory://x", Membership()),
        (plain, None, Membership(team="t")),
    ):
        assert ask(home, request(home, settings=fingerprint(settings, url, member))) is None
    same = replace(plain, tenant="acme", project="x", profile="learning")
    assert ask(home, request(home, settings=fingerprint(same, None, Membership()))) is not None
    assert ask(home, request(home, event="PreToolUse")) is None
    assert ask(home, request(home, event="UserPromptSubmit", task="Paint the fence.")) == ""


@promise("hook:desk-own")
def test_nobody_else_can_stand_in_for_the_server(home: Path, desk: HookServer) -> None:
    (home / FOLDER).chmod(0o755)
    assert ask(home, request(home)) is None
    (home / FOLDER).chmod(0o700)
    assert ask(home, request(home)) is not None
    desk.stop()
    (home / FOLDER).rename(home / "aside")
    (home / FOLDER).symlink_to(home / "aside")
    assert ask(home, request(home)) is None
    other = desk_of(home)
    other.start()
    time.sleep(0.2)
    assert ask(home, request(home)) is None
    other.stop()


@promise("hook:desk-fallback")
@pytest.mark.parametrize(
    "answer", [b"", b"nonsense", b"[]", b'{"text": 5}', b"\xff", b"[" * 100_000, b"x" * 1_100_000, None]
)
def test_whatever_a_server_answers_the_hook_goes_on(
    home: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes | None
) -> None:
    monkeypatch.setattr(asking, "ANSWER_SECONDS", 0.4)
    (home / FOLDER).mkdir(parents=True, mode=0o700)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(os.fspath(home / FOLDER / SOCKET))
    listener.listen(1)
    done = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            if answer is None:
                done.wait(5)
                return
            try:
                connection.sendall(answer)
            except OSError:
                return

    thread = threading.Thread(target=serve)
    thread.start()
    began = time.monotonic()
    assert ask(home, request(home)) is None
    assert time.monotonic() - began < 3.0
    done.set()
    thread.join()
    listener.close()


@promise("hook:desk-fallback")
def test_a_hook_that_says_nothing_or_nonsense_does_not_stop_the_others(
    home: Path, desk: HookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reasoningbank.mcp.hook_server.READ_SECONDS", 0.2)
    path = os.fspath(home / FOLDER / SOCKET)
    silent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    silent.connect(path)
    for nonsense in (b"", b"{", b"[]", b"{}", b'{"scope": [1]}', b'{"event": "Stop"}', b"x" * 200_000):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
            other.connect(path)
            try:
                other.sendall(nonsense)
            except OSError:
                continue
    assert ask(home, request(home)) is not None
    silent.close()
    assert ask(home, request(home)) is not None


@promise("hook:desk-fallback")
def test_without_such_sockets_or_with_a_long_path_there_is_nobody_to_ask(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert place_of(home / ("x" * 100)) is None
    assert ask(home / ("x" * 100), request(home)) is None
    assert ask(home, request(home)) is None
    assert not home.exists()
    monkeypatch.delattr(socket, "AF_UNIX")
    assert ask(home, request(home)) is None
    lonely = desk_of(home)
    lonely.start()
    lonely.stop()
    assert not (home / FOLDER).exists()


@promise("hook:desk-own")
def test_a_request_comes_back_as_it_was_sent(home: Path) -> None:
    for task in (None, "a\nü\ud800"):
        sent = request(home, task=task, session="ü")
        assert decoded(encoded(sent)) == sent
