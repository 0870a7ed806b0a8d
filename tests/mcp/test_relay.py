"""Relays and the server they share: real processes, killed, updated, crowded and left alone."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import reasoningbank
from llm.replay_server import Asked, ReplayServer, Reply, completion
from mcp_processes import SERVER, RawServer, clean_environment, shared_in
from promises import promise
from reasoningbank import Bank, Settings
from reasoningbank.embedding.onnx_session import OnnxEmbedder
from reasoningbank.integrations.shared_server import LONGEST_PATH, Greeting
from reasoningbank.settings import local_tenant, project_of
from sessions.learned_sessions import UNDECIDED, model, with_model
from shared_servers import run_directory, running, servers_in
from torture_results import Tally

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what runs and who holds a socket is read from /proc")

Json = dict[str, Any]
NOBODY = 65534
BARE = (
    "import dataclasses, json, logging, pathlib, resource, socket, subprocess, typing\n"
    "used = resource.getrusage(resource.RUSAGE_SELF)\nprint(used.ru_utime + used.ru_stime)\n"
)
"""A program that prints how much CPU it has used."""
HEAVY = ("mcp", "pydantic", "numpy", "click", "anyio", "asyncio", "apsw")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the servers of a test are."""
    with run_directory() as made, shared_in(made):
        yield made


@contextmanager
def window(home: Path, *arguments: str, **variables: str) -> Iterator[RawServer]:
    """A client's window: a process of `python -m reasoningbank.mcp`, which is a relay."""
    home.parent.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, *(arguments or SERVER)],
        env=clean_environment(home) | {"REASONINGBANK_EMBEDDER": "minilm"} | variables,
        cwd=home.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        try:
            yield RawServer(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(timeout=30)


def call(tool: str, number: object = 1, **arguments: object) -> Json:
    """A call of a tool."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def lesson(title: str, number: object = 1) -> Json:
    """A call that records a memory."""
    return call("memory_record", number, title=title, content=f"What to do about {title}.", outcome="success")


def eventually(check: Callable[[], bool], seconds: float = 30) -> None:
    """Waits until something is so."""
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


def opened(home: Path) -> Bank:
    """The bank of the project of the tests' working directory."""
    settings = Settings(home=home, embedder="minilm")
    return Bank.open(tenant=local_tenant(), project=project_of(home.parent), settings=settings)


def titles(home: Path) -> Counter[str]:
    """How often each title is stored in the project of the tests' working directory."""
    with opened(home) as bank:
        return Counter(memory.title for memory in bank.memories.list(limit=10_000))


@promise(
    "relay:one-server",
    "Windows, whatever their project and profile, share one server and one model; it ends by itself when nobody has "
    "been connected for a while, and leaves no process, socket, lock or directory.",
    source="issue 11, Starts at once",
)
def test_windows_share_one_server_which_ends_by_itself_and_leaves_nothing(tmp_path: Path, folder: Path) -> None:
    home, idle = tmp_path / "home", {"REASONINGBANK_IDLE_MINUTES": "0.04"}
    profiles = ("admin", "admin,experience", "admin,graph")
    with ThreadPoolExecutor(8) as pool:

        def work(number: int) -> tuple[str, int]:
            project, profile = f"project-{number % 2}", profiles[number % 3]
            own = idle | {"REASONINGBANK_PROJECT": project, "REASONINGBANK_PROFILE": profile}
            with window(home, **own) as one:
                one.hello()
                listed = one.ask({"jsonrpc": "2.0", "id": "list", "method": "tools/list"})["result"]["tools"]
                assert one.ask(lesson(f"Lesson {number}"), 60)["result"]["isError"] is False
                arrived.wait(60)
                (server,) = servers_in(folder)
                stats = one.ask(call("memory_stats"))["result"]["structuredContent"]
                assert (stats["project"], stats["memories"]) == (project, 4)
                return f"{profile} {len(listed)}", server

        arrived = threading.Barrier(8)
        found = [*pool.map(work, range(8))]
    assert {said for said, _ in found} == {"admin 9", "admin,experience 10", "admin,graph 16"}
    assert len({server for _, server in found}) == 1
    eventually(lambda: not servers_in(folder))
    eventually(lambda: [*folder.iterdir()] == [])


@promise(
    "relay:job-in-hand",
    "A shared server that nobody uses any more finishes the job that it has in hand before it ends.",
    source="issue 11, What runs by itself",
)
def test_a_server_that_nobody_uses_finishes_its_job_before_it_ends(tmp_path: Path, folder: Path) -> None:
    home, begun = tmp_path / "home", threading.Event()

    def slow(asked: Asked) -> Reply:
        begun.set()
        return replace(completion(model(asked)), delay=8.0)

    with ReplayServer(slow) as replay:
        variables = {name.upper(): value for name, value in with_model(replay.url).items()}
        own = {f"REASONINGBANK_{name}": value for name, value in variables.items()}
        with window(home, REASONINGBANK_IDLE_MINUTES="0.04", **own) as one:
            one.hello()
            assert one.ask(lesson("Before"), 60)["result"]["isError"] is False
            transcript = tmp_path / "report.json"
            transcript.write_text(UNDECIDED, encoding="utf-8")
            with opened(home) as bank:
                bank.sessions.capture(transcript)
            assert begun.wait(60)
        eventually(lambda: not servers_in(folder), 60)
    with opened(home) as bank:
        assert not [job for job in bank.jobs.waiting() if job.lease]


@promise(
    "relay:swept",
    "What a killed server has left is removed by `rbank status`, and by whatever else looks for a server.",
    source="issue 11, Starts at once",
)
@pytest.mark.parametrize("command", [("status", "--quick"), ("search", "anything")])
def test_what_a_killed_server_has_left_is_removed(tmp_path: Path, folder: Path, command: tuple[str, ...]) -> None:
    home = tmp_path / "home"
    with window(home) as one:
        one.hello()
        assert one.ask(lesson("Before"), 60)["result"]["isError"] is False
        for server in servers_in(folder):
            os.kill(server, signal.SIGKILL)
    eventually(lambda: not servers_in(folder))
    assert [*folder.glob("*.sock")]
    assert [*folder.glob("*.lock")]
    persons = tmp_path / "persons"  # in the first one this process has held a connection, so it is an agent's
    persons.mkdir(mode=0o700)
    rbank = Path(sys.executable).parent / "rbank"
    done = subprocess.run(
        [str(rbank), *command],
        env=clean_environment(persons) | {"REASONINGBANK_EMBEDDER": "minilm"},
        cwd=home.parent,
        capture_output=True,
        timeout=120,
        check=True,
    )
    assert done.stderr == b""
    assert [*folder.iterdir()] == [], "a directory that was named stays"


@promise(
    "relay:own-place",
    "What belongs to one window, as its tenant, its project and where its banks live, is no other window's, although "
    "they share the server.",
    source="issue 11, Starts at once; DESIGN D9",
)
def test_windows_with_other_owners_and_places_share_a_server_and_no_memory(tmp_path: Path, folder: Path) -> None:
    home, apart = tmp_path / "home", {"REASONINGBANK_URL": f"sqlite:///{tmp_path / 'elsewhere'}"}
    with (
        window(home, **apart, REASONINGBANK_TENANT="acme", REASONINGBANK_PROJECT="shop") as first,
        window(home, REASONINGBANK_TENANT="acme", REASONINGBANK_PROJECT="shop") as second,
        window(home, REASONINGBANK_TENANT="globex", REASONINGBANK_PROJECT="shop", **apart) as third,
        window(home, REASONINGBANK_TENANT="acme", **apart) as fourth,
    ):
        for one in (first, second, third, fourth):
            one.hello()
        assert first.ask(lesson("Of the first"), 60)["result"]["isError"] is False
        for one in (second, third, fourth):
            assert one.ask(call("memory_stats"), 60)["result"]["structuredContent"]["memories"] == 0
        assert first.ask(call("memory_stats"))["result"]["structuredContent"]["memories"] == 1
        assert second.ask(lesson("Of the second"), 60)["result"]["isError"] is False
        assert len(servers_in(folder)) == 1
    assert [path.name for path in (tmp_path / "elsewhere").rglob("*.db")]
    assert len([*home.rglob("*.db")]) == 1


@promise(
    "relay:relative-url",
    "A relative path in a URL means the same file to windows, commands and installations, whichever process opens it; "
    "one that commands refuse is refused by the server and by rbank install too.",
    source="review, places of banks",
)
def test_a_relative_url_is_below_the_directory_of_the_window(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, url = tmp_path / "home", "sqlite:///own/banks"
    with window(home, *SERVER, REASONINGBANK_URL=url) as one:
        one.hello()
        assert one.ask(lesson("Here"), 60)["result"]["isError"] is False
        assert len(servers_in(folder)) == 1
    monkeypatch.chdir(tmp_path)
    settings = Settings(home=home, embedder="minilm")
    with Bank.open(url, tenant=local_tenant(), project=project_of(tmp_path), settings=settings) as bank:
        assert [memory.title for memory in bank.memories.list()] == ["Here"]
    forgotten = f"sqlite://{tmp_path}/banks"
    with window(home, REASONINGBANK_URL=forgotten) as refused:
        assert refused.process.wait(timeout=30) == 2


@promise(
    "relay:killed-server",
    "When the shared server is killed, windows go on: a call that only asks, a search as well, is answered by the next "
    "server, a call that writes is answered with an error that says so, and nothing that was acknowledged is lost or "
    "stored twice.",
    source="issue 11, Starts at once",
)
def test_a_killed_server_is_replaced_and_no_write_is_doubled(tmp_path: Path, folder: Path) -> None:
    home = tmp_path / "home"
    with window(home) as one:
        one.hello()
        assert one.ask(lesson("Before"), 60)["result"]["isError"] is False
        (server,) = servers_in(folder)
        os.kill(server, signal.SIGSTOP)
        search = call("memory_search", "search", query="What to do about Before", unproven=5)
        one.tell(lesson("Lost", "write"), search, call("memory_stats", "read"))
        time.sleep(0.3)
        os.kill(server, signal.SIGKILL)
        answers: dict[str, Json] = {}
        for each in ("write", "search", "read"):
            if each not in answers:
                answers |= {line["id"]: line for line in one.until(each, 60)}
        refused = answers["write"]["error"]
        assert refused["code"] == -32000
        assert "not known whether" in refused["message"]
        assert answers["read"]["result"]["structuredContent"]["memories"] == 1
        assert "What to do about Before" in json.dumps(answers["search"]["result"])
        assert one.ask(lesson("After"), 60)["result"]["isError"] is False
        assert servers_in(folder) != [server]
    assert titles(home) == {"Before": 1, "After": 1}


@promise("relay:killed-server")
def test_no_acknowledged_record_is_lost_or_doubled_when_servers_are_killed(
    tmp_path: Path, folder: Path, torture: bool, tally: Tally
) -> None:
    home, chance = tmp_path / "home", random.Random(11)
    sessions = 200 if torture else 10
    idle = {"REASONINGBANK_IDLE_MINUTES": "0.05"}
    acknowledged: list[str] = []
    asked: list[str] = []
    refused: list[str] = []

    def session(number: int) -> None:
        with window(home, **idle) as one:
            one.hello()
            for turn in range(3):
                title = f"Lesson {number} of turn {turn}"
                asked.append(title)
                answer = one.ask(lesson(title, turn), 120)
                if "result" in answer:
                    assert answer["result"]["isError"] is False, answer
                    acknowledged.append(title)
                else:
                    assert answer["error"]["code"] == -32000, answer
                    refused.append(title)
                time.sleep(0.2)

    def kill() -> None:
        known = 0
        while not done.wait(0.05):
            if len(acknowledged) > known and not done.wait(chance.uniform(0.0, 1.0)):
                for server in servers_in(folder):
                    os.kill(server, signal.SIGKILL)
                    killed.append(server)
                known = len(acknowledged)

    done, killed = threading.Event(), list[int]()
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(session, range(sessions)))
    finally:
        done.set()
        killer.join()
    session(sessions)
    stored = titles(home)
    print(f"{sessions} sessions, {len(killed)} kills, {len(acknowledged)} acknowledged, {len(refused)} refused")
    assert killed
    assert set(acknowledged) <= set(stored)
    assert set(stored) <= set(asked)
    assert set(stored.values()) == {1}
    tally.kills("the shared server", len(killed), acknowledged=len(acknowledged), under_way=len(refused))
    eventually(lambda: not servers_in(folder))
    assert not [*folder.glob("*.sock"), *folder.glob("*.lock")]


@promise(
    "relay:versions",
    "After an update new windows get a server of the new version, while the old one serves its windows to their end.",
    source="issue 11, Starts at once",
)
def test_two_versions_have_two_servers_side_by_side(tmp_path: Path, folder: Path) -> None:
    home, package = tmp_path / "home", Path(reasoningbank.__file__).parent
    updated = tmp_path / "updated"
    shutil.copytree(package, updated / "reasoningbank", ignore=shutil.ignore_patterns("__pycache__"))
    init = updated / "reasoningbank" / "__init__.py"
    init.write_text(init.read_text(encoding="utf-8").replace(f'"{reasoningbank.__version__}"', '"99.0.0"'))
    with window(home) as old:
        assert old.hello()["result"]["serverInfo"]["version"] == reasoningbank.__version__
        assert old.ask(lesson("From the old"), 60)["result"]["isError"] is False
        with window(home, PYTHONPATH=str(updated)) as new:
            assert new.hello()["result"]["serverInfo"]["version"] == "99.0.0"
            assert new.ask(call("memory_stats"), 60)["result"]["structuredContent"]["memories"] == 1
            assert old.ask(call("memory_stats"))["result"]["structuredContent"]["memories"] == 1
            assert len([*folder.glob("*.sock")]) == len(servers_in(folder)) == 2


@promise(
    "relay:own-user",
    "Only processes of the same user are answered, and only a server of the same user is spoken to.",
    source="issue 11, Starts at once",
)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_is_refused_even_if_the_directory_let_it_in(tmp_path: Path, folder: Path) -> None:
    server = running(Settings(home=tmp_path / "home", run_directory=str(folder)))
    path = server.place.socket
    knock = (
        "import socket, sys\n"
        "with socket.socket(socket.AF_UNIX) as s:\n"
        "    try:\n"
        "        s.settimeout(10); s.connect(sys.argv[1]); s.sendall(sys.argv[2].encode()); print(s.recv(1000))\n"
        "    except OSError as error:\n"
        "        print(type(error).__name__)\n"
    )
    told = Greeting(kind="hook", tenant="root", project="p", body={"event": "SessionStart", "session": "s"}).encoded()

    def knocked(user: int) -> str:
        words = ["/usr/bin/env", "python3", "-c", knock, str(path), told.decode()]
        done = subprocess.run(words, user=user, capture_output=True, text=True, check=True, cwd="/", timeout=30)
        return done.stdout.strip()

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert knocked(NOBODY) == "PermissionError"
    folder.chmod(0o755)
    path.chmod(0o666)
    assert knocked(NOBODY) in {"b''", "ConnectionResetError", "BrokenPipeError"}
    assert "text" in knocked(os.geteuid())
    server.stop()


@promise(
    "relay:in-process",
    "Where there can be no socket, or none is wanted, the process serves by itself.",
    source="issue 11, Starts at once",
)
@pytest.mark.parametrize("why", ["setting", "option", "own run", "long path", "open directory", "no directory"])
def test_without_a_usable_socket_the_process_serves_by_itself(tmp_path: Path, folder: Path, why: str) -> None:
    variables: dict[str, str] = {}
    arguments = ["-m", "reasoningbank.cli", "serve"]
    match why:
        case "setting":
            variables["REASONINGBANK_SHARED"] = "false"
        case "option":
            arguments.append("--no-shared")
        case "own run":
            variables["REASONINGBANK_OWN_RUN"] = "1"
        case "long path":
            variables["REASONINGBANK_RUN_DIRECTORY"] = str(folder / ("x" * LONGEST_PATH))
        case "open directory":
            folder.chmod(0o755)
        case _:
            variables["REASONINGBANK_RUN_DIRECTORY"] = str(folder / "none" / "there")
    with window(tmp_path / "home", *arguments, **variables) as one:
        one.hello()
        assert one.ask(lesson("Alone"), 60)["result"]["isError"] is False
        assert [*folder.iterdir()] == []


@promise(
    "relay:light",
    "Until its tools are listed a window costs at most 2.5 times the CPU of a Python program that imports eight "
    "modules of the standard library, and 30 MB; it imports neither the protocol's SDK nor pydantic, numpy or click.",
    source="issue 11, Starts at once",
)
def test_a_window_costs_little(tmp_path: Path, folder: Path) -> None:
    code = (
        "import resource, sys\nfrom reasoningbank.cli import main\n"
        "try:\n    main(['serve'])\nexcept SystemExit:\n    pass\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        f"heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "most = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "print(heavy, used.ru_utime + used.ru_stime, most, file=open(sys.argv[1], 'w'))\n"
    )
    variables = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path / "compiled")}
    seconds, kilobytes, bare = [], [], []
    for number in range(4):
        bare.append(float(subprocess.check_output([sys.executable, "-c", BARE], env=os.environ | variables, text=True)))
        report = tmp_path / f"report-{number}"
        with window(tmp_path / "home", "-c", code, str(report), **variables) as one:
            one.hello()
            assert one.ask({"jsonrpc": "2.0", "id": "list", "method": "tools/list"})["result"]["tools"]
        heavy, cpu, size = report.read_text().rsplit(" ", 2)
        assert heavy == "[]"
        seconds.append(float(cpu))
        kilobytes.append(int(size))
    assert min(seconds) <= 2.5 * min(bare)
    assert max(kilobytes) <= 30 * 1024


@promise(
    "relay:idle-model",
    "A local embedding model that is not used is unloaded, and loaded again by the next text, with the same vectors.",
    source="issue 11, Starts at once",
)
def test_an_unused_model_is_unloaded_and_loaded_again(packaged: OnnxEmbedder) -> None:
    before = packaged.embed_documents(["a flaky call"])
    assert not packaged.unload_unused(60)
    assert packaged.unload_unused(-1)
    assert not packaged.unload_unused(-1)
    assert (packaged.embed_documents(["a flaky call"]) == before).all()


@promise("relay:idle-model")
def test_the_server_unloads_its_model_while_windows_are_open(tmp_path: Path, folder: Path) -> None:
    with window(tmp_path / "home", REASONINGBANK_MODEL_IDLE_MINUTES="0.02", REASONINGBANK_EMBEDDER="local") as one:
        one.hello()
        assert one.ask(lesson("Heavy"), 60)["result"]["isError"] is False
        (server,) = servers_in(folder)
        most = resident(server)
        eventually(lambda: resident(server) < most - 20_000)
        found = one.ask(call("memory_search", query="Heavy lesson"), 60)["result"]["structuredContent"]
        assert found["count"] == 1


def resident(pid: int) -> int:
    """Kilobytes of memory that a process holds."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1])


@promise("relay:one-server")
def test_a_socket_that_is_swept_away_ends_its_server(tmp_path: Path, folder: Path) -> None:
    home, idle = tmp_path / "home", {"REASONINGBANK_IDLE_MINUTES": "0.5", "REASONINGBANK_MODEL_IDLE_MINUTES": "0.02"}
    with window(home, **idle) as one:
        one.hello()
        assert one.ask(call("memory_stats"), 60)["result"]["isError"] is False
        (old,) = servers_in(folder)
        for path in folder.glob("*.*"):
            path.unlink()
        assert one.ask(call("memory_stats"))["result"]["isError"] is False
    eventually(lambda: not servers_in(folder))
    with window(home, **idle) as one:
        one.hello()
        assert one.ask(call("memory_stats"), 60)["result"]["isError"] is False
        assert old not in servers_in(folder)


@promise(
    "relay:broken-server",
    "A server that cannot start is an error that names its log, and not a wait.",
    source="issue 11, Starts at once",
)
def test_a_server_that_cannot_start_is_an_error_and_not_a_wait(tmp_path: Path, folder: Path) -> None:
    broken = tmp_path / "broken" / "anyio"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('no such thing')\n")
    path = os.pathsep.join((str(broken.parent), str(Path(reasoningbank.__file__).parents[1])))
    with window(tmp_path / "home", PYTHONPATH=path) as one:
        one.hello()
        refused = one.ask(call("memory_stats"), 60)["error"]
        assert "cannot be reached" in refused["message"]
        log = next(word for word in refused["message"].split() if word.endswith(".log"))
        assert "no such thing" in Path(log).read_text(encoding="utf-8")
    assert not servers_in(folder)


@promise(
    "relay:bytes",
    "A relay passes on what is not a message, and refuses what is too long, as a server that serves by itself does.",
    source="issue 11, Starts at once",
)
def test_a_relay_passes_on_what_is_no_message(tmp_path: Path, folder: Path) -> None:
    with window(tmp_path / "home") as one:
        one.hello()
        one.send(b"nonsense", b"[]", json.dumps({"jsonrpc": "2.0", "id": None, "method": "ping"}).encode())
        one.tell({"jsonrpc": "2.0", "id": "ping", "method": "ping"})
        codes = [line.get("error", {}).get("code") for line in one.until("ping", 60)]
        assert codes[:2] == [-32700, -32600]
        one.send(b'"' + b"x" * (5 * 2**20) + b'"')
        one.tell({"jsonrpc": "2.0", "id": "again", "method": "ping"})
        assert any(line.get("error", {}).get("code") == -32600 for line in one.until("again", 60))
