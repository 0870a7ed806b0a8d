"""Hooks that are answered by a running server, and what they do without one."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
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
from reasoningbank.integrations import shared_server
from reasoningbank.integrations.hook_actions import ANSWER_SECONDS, context_for
from reasoningbank.integrations.hook_payload import HookPlace, Payload
from reasoningbank.integrations.shared_server import Greeting, Unanswered, ask, greeting_of, place_of, question
from reasoningbank.safety.quotation import memories_in
from reasoningbank.settings import load_settings
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.scope import Membership, Scope
from sessions.learned_sessions import RBANK, environment, eventually
from shared_servers import Running, run_directory, running, servers_in

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="the system has no sockets in directories")

SCOPE = Scope(tenant="acme", project="shop")
HOOK = [str(RBANK), "hook", "session-start", "--tenant", "acme", "--project", "shop"]
SERVE = ["serve", "--tenant", "acme", "--project", "shop"]
START = json.dumps({"session_id": "s-1", "hook_event_name": "SessionStart", "source": "startup"}).encode()
HEAVY = (
    "numpy",
    "apsw",
    "mcp",
    "onnxruntime",
    "opentelemetry",
    "tokenizers",
    "tiktoken",
    "redact_secret",
    "click",
    "reasoningbank.storage",
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the servers of a test are."""
    with run_directory() as made:
        yield made


@pytest.fixture
def settings(tmp_path: Path, folder: Path) -> Settings:
    """Settings of which there is a bank with one memory."""
    filled(tmp_path / "home")
    return Settings(home=tmp_path / "home", run_directory=str(folder))


@pytest.fixture
def server(settings: Settings) -> Iterator[Running]:
    """A shared server in this process."""
    made = running(settings)
    yield made
    made.stop()


def filled(home: Path) -> str:
    """Records a memory; returns its id."""
    with Bank.open(tenant="acme", project="shop", embedder=HashingEmbedder(), settings=Settings(home=home)) as bank:
        return bank.record(title="Retry flaky calls", content="Back off.", outcome="success").id


def asked(settings: Settings, *, scope: Scope = SCOPE, member: Membership | None = None, **body: object) -> str | None:
    """What a hook is told; None when it does the work itself."""
    event = {"event": "SessionStart", "task": None, "session": "s-1"} | body
    told = question("hook", scope, member or Membership(), "", event)
    try:
        answer = ask(settings, told, start=False, seconds=ANSWER_SECONDS)
    except Unanswered:
        return None
    text = answer.get("text") if answer is not None else None
    return text if isinstance(text, str) else None


@promise(
    "hook:desk",
    "A hook that finds a running server lets it answer and loads nothing heavy itself; deliveries count for the "
    "client's session.",
    source="DESIGN D12",
)
def test_a_hook_asks_the_running_server_and_loads_nothing_itself(tmp_path: Path, folder: Path) -> None:
    home = tmp_path / "home"
    with Bank.open(tenant="acme", project="shop", settings=Settings(home=home)) as bank:
        known = bank.record(title="Retry flaky calls", content="Back off.", outcome="success").id
    alone = cpu(environment(home))
    together = environment(home, shared="true", run_directory=str(folder))

    async def work() -> None:
        parameters = StdioServerParameters(command=str(RBANK), args=SERVE, env=together, cwd=str(home.parent))
        async with Client(parameters, read_timeout_seconds=60) as client:
            await client.list_tools()
            await client.call_tool("memory_search", {"query": "a flaky call"})
            await anyio.to_thread.run_sync(told)

    def told() -> None:
        (socket_file,) = folder.glob("*.sock")
        assert folder.stat().st_mode & 0o777 == 0o700
        assert socket_file.stat().st_mode & 0o777 == 0o600
        code = (
            "import sys\nfrom reasoningbank.cli import main\n"
            f"try:\n    main({HOOK[1:]!r})\nexcept SystemExit:\n    pass\n"
            f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=START,
            env=together,
            capture_output=True,
            check=True,
            timeout=60,
        )
        assert done.stderr == b"[]\n"
        shown = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
        assert memories_in(shown) == [known]
        assert cpu(together) < alone / 2
        assert len(servers_in(folder)) == 1

    anyio.run(work)
    with Bank.open(tenant="acme", project="shop", settings=Settings(home=home)) as bank:
        assert [one.memory_id for one in bank.sessions.outcome("s-1", True).credited] == [known]
    assert not (home / "hooks.log").exists()


def cpu(variables: dict[str, str]) -> float:
    """The least CPU seconds of two runs of a hook."""
    least = 60.0
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(HOOK, input=START, env=variables, capture_output=True, check=True, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert "Retry flaky calls" in done.stdout.decode()
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return least


@promise(
    "hook:desk-fallback",
    "A dead, silent, lying, second or missing server only makes the hook do the work itself, within its time.",
    source="issue 4: a hook never blocks",
)
def test_a_killed_server_leaves_a_socket_that_hooks_pass_by_and_the_next_server_takes(
    tmp_path: Path, folder: Path
) -> None:
    home = tmp_path / "home"
    filled(home)
    together = environment(home, shared="true", run_directory=str(folder), embedder="minilm")
    done = subprocess.run(HOOK, input=START, env=together, capture_output=True, check=True, timeout=60)
    assert "Retry flaky calls" in done.stdout.decode()
    eventually(lambda: bool(servers_in(folder)))
    (pid,) = servers_in(folder)
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not servers_in(folder))
    (left,) = folder.glob("*.sock")
    settings = Settings(home=home, run_directory=str(folder), embedder="minilm", paid_calls=False)
    place = place_of(settings)
    assert place is not None
    began = time.monotonic()
    assert asked(settings) is None
    assert time.monotonic() - began < 1.0
    place = place._replace(name=left.stem)
    assert shared_server.join(place, start=False) is None
    second = Running(settings, place)
    connection = shared_server.join(place, start=False)
    assert connection is not None
    connection.close()
    second.stop()
    assert folder.is_dir() and not any(folder.iterdir()), "a named directory stays, with nothing in it"


@promise("hook:desk-fallback")
def test_of_two_servers_one_answers_and_the_next_takes_over(settings: Settings) -> None:
    place = place_of(settings)
    assert place is not None
    first = Running(settings, place)
    assert asked(settings) is not None
    assert shared_server.locked(place.lock) is None
    first.stop()
    assert asked(settings) is None
    second = Running(settings, place)
    assert asked(settings) is not None
    second.stop()
    assert asked(settings) is None


@promise(
    "hook:desk-own",
    "A server answers only its own user, and programs of its own settings and version; a hook is told what its own "
    "tenant, team and org have; nobody else can stand in for the server.",
    source="DESIGN D9",
)
def test_a_hook_is_told_what_its_own_tenant_has_by_a_server_of_its_own_settings(
    settings: Settings, server: Running
) -> None:
    assert "Retry flaky calls" in (asked(settings) or "")
    assert asked(settings, scope=Scope(tenant="other", project="shop")) == ""
    assert asked(settings, scope=Scope(tenant="acme", project="unknown")) == ""
    assert len([*settings.home.rglob("*.db")]) == 1
    assert asked(replace(settings, embedder="minilm")) is None
    assert asked(replace(settings, home=settings.home / "other")) is None
    assert asked(replace(settings, shared=False)) is None
    assert asked(replace(settings, tenant="acme", project="x", profile="learning", team="t")) is not None
    assert asked(settings, event="PreToolUse") is None
    assert asked(settings, event="UserPromptSubmit", task="Paint the fence.") == ""


@promise("hook:desk-own")
def test_nobody_else_can_stand_in_for_the_server(settings: Settings, server: Running, folder: Path) -> None:
    folder.chmod(0o755)
    assert asked(settings) is None
    folder.chmod(0o700)
    assert asked(settings) is not None
    aside = folder.with_name(f"{folder.name}-aside")
    folder.rename(aside)
    folder.symlink_to(aside)
    assert asked(settings) is None
    folder.unlink()
    aside.rename(folder)
    assert asked(settings) is not None


@promise("hook:desk-fallback")
@pytest.mark.parametrize(
    "answer", [b"", b"nonsense", b"[]", b'{"text": 5}', b"\xff", b"[" * 100_000, b"x" * 9_100_000, None]
)
def test_whatever_a_server_answers_the_hook_goes_on(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, answer: bytes | None
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ANSWER_SECONDS", 0.4)
    place = place_of(settings)
    assert place is not None
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(os.fspath(place.socket))
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
    assert asked(settings) is None
    assert time.monotonic() - began < 3.0
    done.set()
    thread.join()
    listener.close()


@promise("hook:desk-fallback")
def test_what_a_late_server_has_noted_as_shown_is_shown_by_the_hook_itself(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt = "A network call times out sometimes"
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "late"))
    monkeypatch.setenv("REASONINGBANK_RUN_DIRECTORY", str(folder))
    monkeypatch.setenv("REASONINGBANK_SHARED", "true")
    monkeypatch.setattr("reasoningbank.integrations.hook_actions.ANSWER_SECONDS", 0.4)
    settings = load_settings()
    with Bank.open(tenant="acme", project="shop", settings=settings) as bank:
        bank.record(title="Retry a network call that times out", content="Back off.", outcome="success")
        place = place_of(settings)
        assert place is not None
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        place.folder.mkdir(mode=0o700, exist_ok=True)
        listener.bind(os.fspath(place.socket))
        listener.listen(1)
        listener.settimeout(20)
        done = threading.Event()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                assert "Back off." in bank.briefing(prompt, 600, "s-1", repeat=False).text
                done.wait(20)

        thread = threading.Thread(target=serve)
        thread.start()
        payload = Payload(session="s-1", prompt=prompt, named="UserPromptSubmit")
        told = context_for("UserPromptSubmit", payload, HookPlace(tenant="acme", project="shop"))
        done.set()
        thread.join()
        listener.close()
    assert "Back off." in told


@promise("hook:desk-fallback")
def test_a_connection_that_says_nothing_or_nonsense_does_not_stop_the_others(
    settings: Settings, server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reasoningbank.mcp.shared.GREETING_SECONDS", 0.2)
    path = os.fspath(server.place.socket)
    silent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    silent.connect(path)
    whole = Greeting(kind="hook", tenant="acme").encoded()
    for nonsense in (
        b"",
        b"{",
        b"[]\n",
        b"{}\n",
        b'{"kind": 1}\n',
        whole,
        whole.replace(b"hook", b"x"),
        b"x" * 2_000_000,
    ):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
            other.connect(path)
            try:
                other.sendall(nonsense)
            except OSError:
                continue
    assert asked(settings) is not None
    silent.close()
    assert asked(settings) is not None


@promise("hook:desk-fallback")
def test_without_such_sockets_or_with_a_long_path_there_is_nobody_to_ask(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = folder / ("x" * 100)
    assert place_of(replace(settings, run_directory=str(long))) is None
    assert place_of(replace(settings, run_directory="relative")) is None
    assert place_of(replace(settings, run_directory=str(folder / "missing" / "too"))) is None
    assert asked(settings) is None
    assert not long.exists()
    monkeypatch.delattr(socket, "AF_UNIX")
    assert place_of(settings) is None
    assert asked(settings) is None


@promise("hook:desk-own")
def test_a_greeting_comes_back_as_it_was_sent() -> None:
    for task in (None, "a\nü\ud800"):
        sent = question("hook", SCOPE, Membership(team="t"), "", {"task": task, "session": "ü"})
        assert greeting_of(sent.encoded()) == sent
