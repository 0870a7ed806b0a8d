"""The life of a stdio server: what it loads, what it writes, and when it leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcp_processes import INITIALIZE, INITIALIZED, SERVER, StartServer, clean_environment
from promises import promise
from reasoningbank.settings import project_of

HEAVY = ("numpy", "apsw", "onnxruntime", "tokenizers", "tiktoken", "redact_secret")
RECORD = {
    "jsonrpc": "2.0",
    "id": "write",
    "method": "tools/call",
    "params": {
        "name": "memory_record",
        "arguments": {"title": "A lesson", "content": "Do it.", "outcome": "success"},
    },
}
STATS = {"jsonrpc": "2.0", "id": "stats", "method": "tools/call", "params": {"name": "memory_stats"}}
NOISY = """
import os, subprocess, sys, threading, time

def noise():
    while not {"mcp", "reasoningbank.mcp.relay"} & {*sys.modules}:
        time.sleep(0.001)
    while True:
        print("stray print", flush=True)
        os.write(1, b"stray write\\n")
        subprocess.run(["echo", "stray child"])
        time.sleep(0.02)

threading.Thread(target=noise, daemon=True).start()
from reasoningbank.mcp import serve_stdio
serve_stdio()
"""
PARENT = """
import subprocess, sys, time

server = subprocess.Popen([sys.executable, "-m", "reasoningbank.mcp"])
time.sleep(600)
"""


@promise(
    "mcp:initialize-light",
    "Initialize is answered before a model, numpy or the store is imported.",
    source="issue 2",
)
def test_initialize_is_answered_before_anything_heavy_is_imported(tmp_path: Path, entrance: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *SERVER],
        env=clean_environment(tmp_path / "home"),
        cwd=tmp_path,
        input=json.dumps(INITIALIZE) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["result"]["serverInfo"]["name"] == "reasoningbank"
    assert "never obey" in answer["result"]["instructions"]
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert ("mcp" in imported) == (entrance == "in process")
    assert not imported & set(HEAVY)
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["run"], (
        "there is a note of the client, and no bank"
    )


@promise("mcp:stdout", "Nothing but protocol reaches standard output, whatever prints.", source="issue 2")
def test_nothing_but_protocol_reaches_standard_output(start_server: StartServer) -> None:
    server = start_server(["-c", NOISY], errors=subprocess.PIPE)
    server.hello()
    assert server.ask(RECORD)["result"]["isError"] is False
    assert server.ask(STATS)["result"]["structuredContent"]["memories"] == 1
    assert server.end() == 0
    assert server.process.stderr is not None
    errors = server.process.stderr.read()
    assert all(stray in errors for stray in (b"stray print", b"stray write", b"stray child"))
    for line in server.lines:
        assert json.loads(line)["jsonrpc"] == "2.0"


@promise("mcp:stdin-close", "The stdio server leaves when its input ends.", source="spec/engineering B.3 (4)")
@promise("mcp:drain", "Calls that run when the input ends are answered first.", source="issue 2")
def test_it_answers_what_it_was_asked_and_leaves_when_its_input_ends(start_server: StartServer) -> None:
    server = start_server()
    server.tell(INITIALIZE, INITIALIZED, RECORD)
    assert server.end() == 0
    answers = {json.loads(line)["id"]: json.loads(line) for line in server.lines}
    assert answers["write"]["result"]["structuredContent"]["confidence"] == 0.8

    idle = start_server()
    idle.hello()
    started = time.monotonic()
    assert idle.end() == 0
    assert time.monotonic() - started < 3


@promise("mcp:no-bank-unasked", "A client that only connects leaves no bank behind.", source="contextd row 3")
def test_a_client_that_only_connects_leaves_no_bank_behind(start_server: StartServer, tmp_path: Path) -> None:
    server = start_server()
    server.hello()
    assert len(server.ask({"jsonrpc": "2.0", "id": "list", "method": "tools/list"})["result"]["tools"]) == 9
    time.sleep(0.5)
    assert server.end() == 0
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["run"], "a note of the client, and no bank"


@promise("mcp:sigterm", "A signal ends the stdio server cleanly while its input stays open.", source="issue 2")
def test_a_signal_ends_it_cleanly_while_its_input_stays_open(start_server: StartServer) -> None:
    server = start_server(errors=subprocess.PIPE)
    server.hello()
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(timeout=3) == 0
    assert server.process.stderr is not None
    assert b"Traceback" not in server.process.stderr.read()


@pytest.mark.skipif(os.name != "posix", reason="a process is given another parent on POSIX only")
@promise("mcp:parent-death", "The stdio server leaves within 3 seconds when its parent is killed.", source="issue 2")
def test_it_leaves_when_its_parent_is_killed_though_its_input_stays_open(tmp_path: Path) -> None:
    there, here = os.pipe()
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        env=clean_environment(tmp_path / "home"),
        cwd=tmp_path,
        stdin=there,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    os.close(there)
    try:
        assert parent.stdout is not None
        os.write(here, json.dumps(INITIALIZE).encode() + b"\n")
        assert b"serverInfo" in parent.stdout.readline()
        parent.kill()
        started = time.monotonic()
        assert parent.stdout.read() == b""
        assert time.monotonic() - started < 3
    finally:
        os.close(here)
        parent.kill()
        parent.wait(timeout=10)
        if parent.stdout is not None:
            parent.stdout.close()


@promise(
    "mcp:configuration", "A wrong setting ends the start with a hint on standard error.", source="DESIGN section 4"
)
def test_a_wrong_setting_is_said_on_standard_error_and_ends_the_start(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, *SERVER],
        env=clean_environment(tmp_path / "home") | {"REASONINGBANK_TENNANT": "acme"},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "REASONINGBANK_TENANT" in done.stderr
    assert done.stdout == ""


@promise(
    "mcp:no-project",
    "A server in the home directory serves the project that commands there use; one in the root directory needs "
    "a project named in the call.",
    source="DESIGN D9",
)
@pytest.mark.parametrize("alone", [(), ("--no-shared",)])
@pytest.mark.parametrize("place", ["home", "root"])
def test_a_server_in_the_home_directory_serves_and_one_in_the_root_asks_for_a_project(
    tmp_path: Path, place: str, alone: tuple[str, ...]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    stats: dict[str, object] = {"name": "memory_stats", "arguments": {}}
    named = {"name": "memory_search", "arguments": {"query": "x", "project_id": "Shop"}}
    calls = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        for number, params in enumerate((stats, named))
    ]
    done = subprocess.run(
        [sys.executable, "-m", "reasoningbank.cli", "serve", "--profile", "admin", *alone],
        env=clean_environment(tmp_path / "data") | {"HOME": str(home)},
        cwd=home if place == "home" else Path(home.anchor),
        input="".join(json.dumps(message) + "\n" for message in (INITIALIZE, INITIALIZED, *calls)),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    answers = {line["id"]: line["result"] for line in map(json.loads, done.stdout.splitlines())}
    said = answers[0]["structuredContent"]
    if place == "home":
        assert said["project"] == project_of(home)
        assert project_of(home) in answers[0]["content"][0]["text"]
    else:
        assert said["error"] == "empty_project_id"
    assert answers[1]["structuredContent"]["count"] == 0
