"""Sessions in a row while the shared server is killed and two versions run: nothing is done twice, nothing is left."""

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
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import reasoningbank
from mcp_processes import SERVER, RawServer, shared_in
from promises import promise
from reasoningbank.jobs.worker import LEASE
from sessions.learned_sessions import PROJECT, STRATEGY, TENANT, bank_of, environment, eventually, repaired, written
from shared_servers import run_directory, servers_in
from torture_results import Tally

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what runs and who holds a socket is read from /proc")

CLIENT = f"""#!{sys.executable}
import json, os, re, subprocess, sys, time
from pathlib import Path
folder = Path(__file__).parent
said = sys.stdin.read()
number = re.search(r"Exporter (\\d+) drops", said)[1]
with (folder / "runs").open("a") as runs:
    runs.write(f"{{number}} {{time.monotonic()}}\\n")
session = f"own-{{number}}"
mine = folder / f"{{session}}.jsonl"
mine.write_text((folder / "transcript.jsonl").read_text().replace("cc-1", session))
told = json.dumps({{"session_id": session, "transcript_path": str(mine), "cwd": str(folder), "prompt": "Exporter"}})
for event in ("session-start", "user-prompt-submit", "session-end"):
    command = [sys.executable, "-m", "reasoningbank.cli", "hook", event]
    command += ["--tenant", "{TENANT}", "--project", "{PROJECT}"]
    subprocess.run(command, input=told, text=True, stdout=subprocess.DEVNULL)
answer = json.dumps({{"strategies": [{json.dumps(STRATEGY)}], "lessons": []}})
used = {{"input_tokens": 11, "output_tokens": 7}}
print(json.dumps({{"type": "result", "is_error": False, "result": answer, "usage": used}}))
"""
"""A client that distils, and runs our hooks in its own session as every client of a user does."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the shared servers are."""
    with run_directory() as made, shared_in(made):
        yield made


def other_version(folder: Path) -> Path:
    """Copy the package and give the copy another version; return what goes into the search path."""
    package, updated = Path(reasoningbank.__file__).parent, folder / "updated"
    shutil.copytree(package, updated / "reasoningbank", ignore=shutil.ignore_patterns("__pycache__"))
    init = updated / "reasoningbank" / "__init__.py"
    init.write_text(init.read_text(encoding="utf-8").replace(f'"{reasoningbank.__version__}"', '"99.0.0"'))
    return updated


@contextmanager
def window(variables: Mapping[str, str], directory: Path) -> Iterator[RawServer]:
    """A window of a client."""
    process = subprocess.Popen(
        [sys.executable, *SERVER], env=dict(variables), cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        try:
            yield RawServer(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(timeout=30)


def hook(event: str, payload: Mapping[str, object], variables: Mapping[str, str]) -> dict[str, Any]:
    """What a client's hook answers."""
    done = subprocess.run(
        [sys.executable, "-m", "reasoningbank.cli", "hook", event, "--tenant", TENANT, "--project", PROJECT],
        env=dict(variables),
        input=json.dumps({"hook_event_name": event, **payload}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def left_of(home: Path) -> list[str]:
    """The processes that still run with this data directory, this one excepted."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and f"REASONINGBANK_HOME={home}".encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return found


@promise(
    "relay:many-sessions",
    "However often the shared server is killed, and with two versions side by side, each session that ended is "
    "captured once and distilled once; one whose server was killed six times in the middle of it is given up, says so, "
    "and is distilled when asked. A client that distils is run again for a session only when its server was killed "
    "meanwhile, starts nothing of ours and is never captured; in the end no process, socket or lock is left.",
    source="issue 11, It must show",
)
@pytest.mark.timeout(3 * 3_600)
def test_sessions_in_a_row_are_each_done_once_whatever_is_killed(
    tmp_path: Path, folder: Path, torture: bool, tally: Tally
) -> None:
    sessions, chance, home = 200 if torture else 6, random.Random(11), tmp_path / "home"
    client = tmp_path / "bin" / "claude"
    client.parent.mkdir()
    client.write_text(CLIENT, encoding="utf-8")
    client.chmod(client.stat().st_mode | stat.S_IXUSR)
    (client.parent / "transcript.jsonl").write_text(repaired(1), encoding="utf-8")
    transcripts = written(tmp_path / "made", {f"{number}.jsonl": repaired(number) for number in range(sessions)})
    settings = {"llm": "client:claude-code", "paid_calls": "true", "client_daily_sessions": "0"}
    settings |= {"idle_minutes": "0.05", "client_daily_tokens": "0", "embedder": "minilm", "profile": "core"}
    settings |= {"tenant": TENANT, "project": PROJECT, "graph_from_sessions": "never"}
    mine = environment(home, **settings) | {"PATH": f"{client.parent}{os.pathsep}{os.environ['PATH']}"}
    versions = (mine, mine | {"PYTHONPATH": str(other_version(tmp_path))})
    home.mkdir()
    beside, answered = list[int](), list[bool]()

    def session(number: int) -> None:
        variables = versions[number % 2]
        told = {"session_id": f"cc-{number}", "transcript_path": str(transcripts[number]), "cwd": str(tmp_path)}
        with window(variables, tmp_path) as one:
            one.hello()
            hook("session-start", told | {"source": "startup"}, variables)
            hook("user-prompt-submit", told | {"prompt": f"Exporter {number} drops the last row."}, variables)
            search = {"name": "memory_search", "arguments": {"query": "paged export"}}
            found = one.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": search}, 60)
            assert "result" in found or found["error"]["code"] == -32000, found
            answered.append("result" in found)
            # One look takes longer than a server needs to end and the next to start: only who stays is beside.
            seen = {*servers_in(folder)} & {*servers_in(folder)}
            for _ in range(20):
                if len(seen) > len(versions):
                    time.sleep(0.05)
                    seen &= {*servers_in(folder)}
            beside.append(len(seen))
            assert hook("session-end", told, variables) == {}

    def kill() -> None:
        known = 0
        while not done.wait(0.05):
            if len(answered) > known and not done.wait(chance.uniform(0.0, 6.0 if torture else 0.5)):
                for server in servers_in(folder):
                    os.kill(server, signal.SIGKILL)
                    killed.append(time.monotonic())
                known = len(answered)

    def stand() -> Counter[str]:
        with bank_of(home) as bank:
            return Counter(
                "given up" if one.reason.startswith("was given up") else one.state
                for one in bank.sessions.states(limit=0)
            )

    def settled() -> bool:
        found = stand()
        return found["distilled"] + found["given up"] == sessions

    done, killed = threading.Event(), list[float]()
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(session, range(sessions)))
    finally:
        done.set()
        killer.join()
    with window(mine, tmp_path) as last, window(versions[1], tmp_path) as newest:
        last.hello()
        newest.hello()
        eventually(settled, 2 * LEASE.total_seconds() + 3 * sessions)
    given_up = stand()["given up"]
    if given_up:
        asked = [sys.executable, "-m", "reasoningbank.cli", "distill", "--pending"]
        subprocess.run(asked, env=mine, cwd=tmp_path, capture_output=True, check=True, timeout=600)
    ends = stand()
    runs = defaultdict[str, list[float]](list)
    for line in (client.parent / "runs").read_text(encoding="utf-8").splitlines():
        number, at = line.split()
        runs[number].append(float(at))
    again = [pair for times in runs.values() for pair in pairwise(times)]
    unexplained = [pair for pair in again if not any(pair[0] < at < pair[1] for at in killed)]
    with bank_of(home) as bank:
        known = bank.sessions.list(pending=None)
        due = bank.jobs.due()
    lost = sessions - len({each.session for each in known})
    print(
        f"\n{sessions} sessions, {len(beside)} acknowledged, {lost} lost, {len(known) - sessions + lost} captured twice"
    )
    print(f"{ends['distilled']} distilled, of these {given_up} given up before and asked for again")
    print(f"{len(killed)} kills, {sum(map(len, runs.values()))} runs of the client, {len(again)} again after a kill")
    print(f"{len(unexplained)} run twice; {sum(answered)} searches answered, at most {max(beside)} servers")
    assert killed
    assert any(answered)
    assert max(beside) == 2
    assert runs.keys() == {str(number) for number in range(sessions)}
    assert unexplained == []
    assert sorted(each.session for each in known) == sorted(f"cc-{number}" for number in range(sessions))
    assert (ends["distilled"], due) == (sessions, False)
    eventually(lambda: not servers_in(folder))
    eventually(lambda: not left_of(home))
    left = [*left_of(home), *folder.glob("*.sock"), *folder.glob("*.lock")]
    print(f"{len(left)} processes, sockets and locks left over")
    assert not left
    tally.kills("whole sessions over the shared server", len(killed), acknowledged=sessions)
