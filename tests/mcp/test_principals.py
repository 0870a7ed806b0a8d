"""Who speaks: a client's process, whatever it calls its sessions and however many servers or commands it starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from many_servers import http_server
from mcp_processes import RawServer, StartServer, clean_environment, shared_in
from promises import promise
from reasoningbank.client_sessions import holds, note_session, principal_of, session_of
from reasoningbank.processes import process_of
from reasoningbank.storage import open_storage
from reasoningbank.types.scope import Scope
from sessions.learned_sessions import REPAIRED
from shared_servers import run_directory

SCOPE = ("--tenant", "acme", "--project", "shop", "--json")
QUESTION = "the network call fails now and then"
LESSON = ("--title", "Retry a network call that fails", "--content", "Wait with back-off, then retry the network call.")
SERVE = ("-m", "reasoningbank.cli", "serve", "--tenant", "acme", "--project", "shop")


def ran(home: Path, *words: str, agent: bool = False) -> subprocess.CompletedProcess[str]:
    """Runs a command as a person in a terminal does, or as an agent in its client does."""
    environment = clean_environment(home) | ({"CLAUDECODE": "1"} if agent else {})
    command = [sys.executable, "-m", "reasoningbank.cli", *words, *SCOPE]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def called(server: RawServer, number: int, tool: str, **arguments: object) -> dict[str, Any]:
    """The structured answer of a tool."""
    params = {"name": tool, "arguments": arguments}
    answer = server.ask({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}, 120)
    content: dict[str, Any] = answer["result"]["structuredContent"]
    return content


@promise(
    "trust:principal",
    "All servers and commands that one client's process starts, itself or through what it has started, speak with one "
    "voice; a session's name is none.",
    source="issue Trust; DESIGN D16",
)
def test_two_servers_of_one_client_do_not_vote_out_what_a_person_recorded(
    tmp_path: Path, start_server: StartServer
) -> None:
    home = tmp_path / "home"
    memory = json.loads(ran(home, "record", *LESSON, "--outcome", "success").stdout)
    assert memory["standing"] == "vouched"
    for number in range(2):
        server = start_server(SERVE)
        server.hello()
        session = f"session {number}"
        found = called(server, 1, "memory_search", query=QUESTION, session_id=session)["memories"]
        assert [each["id"] for each in found] == [memory["id"]]
        said = called(server, 2, "memory_feedback", memory_id=memory["id"], helpful=False, session_id=session)
        assert said["new_confidence"] >= 0.7
        server.end()


@promise(
    "trust:command",
    "A command that an agent runs inside of its client speaks as that client: what it records is a claim, and it "
    "neither vouches nor releases nor erases nor rates as a person.",
    source="issue Trust; DESIGN D16",
)
def test_a_command_of_an_agent_is_no_person(tmp_path: Path) -> None:
    home = tmp_path / "home"
    own = json.loads(ran(home, "record", *LESSON, "--outcome", "success").stdout)
    claim = json.loads(
        ran(home, "record", "--title", "T", "--content", "Count rows.", "--outcome", "success", agent=True).stdout
    )
    assert claim["standing"] == "claim"
    refused = ran(home, "release", "--memory", own["id"], agent=True)
    assert refused.returncode == 4
    assert "a person's to do" in refused.stderr + refused.stdout
    for _ in range(3):
        said = json.loads(ran(home, "feedback", own["id"], "unhelpful", agent=True).stdout)
    assert said["new_confidence"] >= 0.7
    assert json.loads(ran(home, "feedback", own["id"], "unhelpful").stdout)["new_confidence"] < 0.7


PROGRAM = """
import json, sys
from reasoningbank import Bank
from reasoningbank.errors import PolicyError
def refused(do, *named, **more):
    try:
        do(*named, **more)
    except PolicyError:
        return True
    return False
with Bank.open(tenant="acme", project="shop") as bank:
    own = sys.argv[1]
    made = bank.record(title="Rows", content="Count rows from one.", outcome="success")
    for _ in range(3):
        confidence = bank.feedback(own, helpful=False).new_confidence
    bank.update(own, content="Retry at once, a thousand times.")
    tried = [
        refused(bank.record, title="T", content="C", outcome="success", vouched=True),
        refused(bank.memories.revert, own, 1),
        refused(bank.delete, own),
    ]
    print(json.dumps([made.standing, confidence, tried]))
"""
"""A program that opens a bank in Python and says nothing of who it is."""


@promise(
    "trust:program",
    "A program that an agent runs and that opens a bank in Python speaks as the agent's client: what it records is a "
    "claim, its ratings are the client's one voice, and it neither vouches nor releases nor erases. A person's own "
    "program is a person's.",
    source="issue Trust; DESIGN D16",
)
@pytest.mark.parametrize("who", ["an agent", "a person"])
def test_a_python_program_of_an_agent_is_no_person(tmp_path: Path, who: str) -> None:
    home = tmp_path / "home"
    own = json.loads(ran(home, "record", *LESSON, "--outcome", "success").stdout)
    environment = clean_environment(home) | ({"CLAUDECODE": "1"} if who == "an agent" else {})
    command = [sys.executable, "-c", PROGRAM, own["id"]]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    standing, confidence, refused = json.loads(done.stdout)
    if who == "a person":
        assert (standing, confidence < 0.7, refused) == ("vouched", True, [False] * 3)
        return
    assert (standing, confidence >= 0.7, refused) == ("claim", True, [True] * 3)
    after = json.loads(ran(home, "get", own["id"]).stdout)
    assert (after["content"], after["standing"]) == (own["content"], "vouched")


CLIENT = """
import json, subprocess, sys
from mcp_processes import RawServer
rbank = [sys.executable, "-m", "reasoningbank.cli"]
scope = ["--tenant", "acme", "--project", "shop"]
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
server = RawServer(subprocess.Popen([*rbank, "serve", *scope], **pipes))
server.hello()
asked = {"name": "memory_search", "arguments": {"query": "a question"}}
if "asks first" in sys.argv:
    server.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}, 120)
for words in json.loads(sys.argv[1]):
    shell = ["sh", "-c", '"$@"; exit $?', "sh", *rbank, *words, *scope, "--json"]
    done = subprocess.run(shell, capture_output=True, text=True)
    print(json.dumps([done.returncode, done.stdout + done.stderr]))
server.end()
"""
"""A client that no list names: it holds a connection, and its agent runs commands in a shell."""


@promise(
    "trust:unknown-client",
    "A command is an agent's when a program among its ancestors holds a connection to a server of the data directory, "
    "whatever that program is called. A person's commands beside it stay a person's.",
    source="issue Trust; DESIGN D16",
)
@pytest.mark.parametrize("is_shared", [False, True], ids=["own server", "shared server"])
def test_a_command_of_a_client_that_nobody_knows_is_no_person(tmp_path: Path, is_shared: bool) -> None:
    home = tmp_path / "home"
    own = json.loads(ran(home, "record", *LESSON, "--outcome", "success").stdout)
    lie = ("record", "--title", "T", "--content", "Rows are counted from two.", "--outcome", "success")
    commands = [lie, ("release", "--memory", own["id"]), ("delete", own["id"], "--yes"), (*lie, "--vouched")]
    with run_directory() as folder, shared_in(folder) if is_shared else nullcontext():
        environment = clean_environment(home)
        environment["PYTHONPATH"] += f"{os.pathsep}{Path(__file__).parents[1]}"
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, json.dumps(commands), "asks first"],
            env=environment, capture_output=True, text=True, timeout=300, check=True,
        )  # fmt: skip
        recorded, *refused = [json.loads(line) for line in done.stdout.splitlines()]
        assert json.loads(recorded[1])["standing"] == "claim"
        assert [code for code, _ in refused] == [4, 4, 4]
        person = ran(home, *lie[:3], "--content", "Rows are counted from one.", *lie[5:])
        assert json.loads(person.stdout)["standing"] == "vouched"


@promise("trust:unknown-client")
@pytest.mark.parametrize("is_shared", [False, True], ids=["own server", "shared server"])
def test_the_first_connection_of_all_is_known_before_there_is_a_bank(tmp_path: Path, is_shared: bool) -> None:
    home = tmp_path / "home"
    record = ("record", "--title", "T", "--content", "Rows are counted from two.", "--outcome", "success")
    with run_directory() as folder, shared_in(folder) if is_shared else nullcontext():
        environment = clean_environment(home)
        environment["PYTHONPATH"] += f"{os.pathsep}{Path(__file__).parents[1]}"
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, json.dumps([record, (*record, "--vouched"), ("token", "create", "t")])],
            env=environment, capture_output=True, text=True, timeout=300, check=True,
        )  # fmt: skip
        recorded, *refused = [json.loads(line) for line in done.stdout.splitlines()]
    assert json.loads(recorded[1])["standing"] == "claim"
    assert [code for code, _ in refused] == [4, 4]
    assert home.stat().st_mode & 0o777 == 0o700


FAMILY = """
import json, os, subprocess, sys
from pathlib import Path
from mcp_processes import RawServer
from reasoningbank.client_sessions import holds, note_session, principal_of, session_of
from reasoningbank.processes import process_of
rbank = [sys.executable, "-m", "reasoningbank.cli"]
scope = ["--tenant", "acme", "--project", "shop"]
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
server = RawServer(subprocess.Popen([*rbank, "serve", *scope], **pipes))
server.hello()
def call(number, name, **arguments):
    params = {"name": name, "arguments": arguments}
    answer = server.ask({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}, 120)
    return answer["result"]["structuredContent"]
if len(sys.argv) == 1:
    lesson = {"title": "Count rows from two", "content": "Rows are counted from two.", "outcome": "success"}
    own = call(1, "memory_record", **lesson)["id"]
    print(own, flush=True)
    input()
    subprocess.run([sys.executable, "-c", os.environ["FAMILY"], own], check=True, stdin=subprocess.DEVNULL)
    found = call(2, "memory_search", query="rows are counted from two")["memories"]
    print(*[each["standing"] for each in found if each["id"] == own], flush=True)
else:
    call(1, "memory_search", query="rows are counted from two")
    call(2, "memory_feedback", memory_id=sys.argv[1], helpful=True)
server.end()
"""
"""A client that records, and has a process of its own confirm that through a server of its own."""


@promise("trust:principal")
@pytest.mark.parametrize("is_shared", [False, True], ids=["own server", "shared server"])
def test_a_client_confirms_nothing_through_a_process_that_it_starts(tmp_path: Path, is_shared: bool) -> None:
    home = tmp_path / "home"
    with run_directory() as folder, shared_in(folder) if is_shared else nullcontext():
        environment = clean_environment(home) | {"FAMILY": FAMILY}
        environment["PYTHONPATH"] += f"{os.pathsep}{Path(__file__).parents[1]}"
        with subprocess.Popen(
            [sys.executable, "-c", FAMILY], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as client:
            assert client.stdin is not None
            assert client.stdout is not None
            client.stdout.readline()
            ran(home, "search", QUESTION)  # a person beside it, below the same ancestors
            client.stdin.write("\n")
            client.stdin.flush()
            assert client.stdout.readline().strip() == "claim"


@promise("trust:principal")
def test_what_a_client_starts_speaks_as_the_client(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    own = principal_of(tmp_path, os.getpid())
    source = (
        "import sys; from pathlib import Path; from reasoningbank.client_sessions import principal_of;"
        "print(principal_of(Path(sys.argv[1]), note=False))"
    )
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {source!r}, sys.argv[1]])"
    words = [sys.executable, "-c", nested, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == own


@promise(
    "trust:session-held",
    "A client that runs a hook in the name of a session that another running client is in speaks as itself.",
    source="issue 14",
)
def test_no_client_is_in_a_session_that_another_one_is_in(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    waits = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with (
        subprocess.Popen(waits, stdin=subprocess.PIPE) as first,
        subprocess.Popen(waits, stdin=subprocess.PIPE) as second,
    ):
        one, other = process_of(first.pid), process_of(second.pid)
        note_session(home, "s", one)
        assert (holds(home, "s", one), holds(home, "s", other)) == (True, False)
        note_session(home, "s", other)
        assert (session_of(home, one), session_of(home, other)) == ("s", "")
        first.communicate()
        note_session(home, "s", other)
        assert session_of(home, other) == "s", "it goes on there, once the first client has ended"
        second.communicate()


@promise(
    "trust:elsewhere",
    "A client that is known to the data directory of a bank is known to a command that names this bank by its URL, "
    "whatever data directory the command itself has.",
    source="issue 14",
)
def test_a_client_is_known_by_the_place_of_the_bank(tmp_path: Path) -> None:
    asks = (
        "import sys; from reasoningbank.client_sessions import is_under_hooks; "
        "print([is_under_hooks(url or None) for url in sys.argv[1:]])"
    )
    client = (
        "import os, subprocess, sys; from pathlib import Path; "
        "from reasoningbank.client_sessions import HOOKED, Connection; "
        "Connection(Path(sys.argv[1]), os.getpid(), place=HOOKED).note(); "
        f"subprocess.run([sys.executable, '-c', {asks!r}, *sys.argv[2:]], check=True)"
    )
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    urls = ("", f"sqlite:///{home}/banks", f"sqlite:///{home}/banks/acme/shop.db", f"sqlite:///{tmp_path}/other/banks")
    done = subprocess.run(
        [sys.executable, "-c", client, str(home), *urls],
        env=clean_environment(tmp_path / "other"), capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout.lower()) == [False, True, True, False]


@promise("trust:elsewhere")
@pytest.mark.parametrize("is_shared", [False, True], ids=["own server", "shared server"])
def test_a_client_whose_server_has_another_data_directory_is_known_to_the_bank(tmp_path: Path, is_shared: bool) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    json.loads(ran(home, "record", *LESSON, "--outcome", "success").stdout)
    record = ("record", "--title", "T", "--content", "Rows are counted from two.", "--outcome", "success")
    changes = "os.environ['REASONINGBANK_HOME'] = os.environ['PERSONS']; del os.environ['REASONINGBANK_URL']"
    client = CLIENT.replace("import json,", "import json, os,").replace("server.hello()", f"server.hello(); {changes}")
    with run_directory() as folder, shared_in(folder) if is_shared else nullcontext():
        environment = clean_environment(other) | {
            "PERSONS": str(home),
            "REASONINGBANK_URL": f"sqlite:///{home}/%62anks",
        }
        environment["PYTHONPATH"] += f"{os.pathsep}{Path(__file__).parents[1]}"
        done = subprocess.run(
            [sys.executable, "-c", client, json.dumps([record, (*record, "--vouched")])],
            env=environment, capture_output=True, text=True, timeout=300, check=True,
        )  # fmt: skip
    recorded, refused = [json.loads(line) for line in done.stdout.splitlines()]
    assert json.loads(recorded[1])["standing"] == "claim"
    assert refused[0] == 4


@promise(
    "trust:own-server",
    "The tokens of an HTTP server that an agent has started speak as the agent's client: it confirms nothing of its "
    "own with them, and its voice against a person's memory stays one.",
    source="issue 14",
)
@pytest.mark.parametrize("agent", [True, False], ids=["an agent's server", "a person's server"])
def test_the_tokens_of_an_agents_own_server_are_its_clients(tmp_path: Path, *, agent: bool) -> None:
    home = tmp_path / "home"
    lie = ("record", "--title", "Count rows", "--content", "Rows are counted from two.", "--outcome", "success")
    own = json.loads(ran(home, *lie, agent=True).stdout)
    with http_server(home, agent, project="shop", http_stateless="true") as server:
        token = (home / "http-token").read_text().strip()
        asked = {"query": "from which number are rows counted", "session_id": "s"}
        found = server.tool(token, "memory_search", asked)["structuredContent"]["memories"]
        assert [each["id"] for each in found] == [own["id"]]
        server.tool(token, "memory_feedback", {"memory_id": own["id"], "helpful": True, "session_id": "s"})
        erased = server.call("POST", "/api/v1/sessions/erase", token, {"session": "s"}) if agent else None
        assert erased is None or erased.status_code == 403, erased.text
    assert json.loads(ran(home, "get", own["id"]).stdout)["standing"] == ("claim" if agent else "confirmed")


CLIENT_OF_A_SCRIPT = """
import json, os, subprocess, sys
from pathlib import Path
from reasoningbank.client_sessions import principal_of
print(principal_of(Path(sys.argv[1]), os.getpid()), flush=True)
script = (
    "import subprocess, sys; subprocess.run([sys.executable, '-m', 'reasoningbank.cli', 'hook', 'session-end', "
    "'--tenant', 'acme', '--project', 'shop'], input=sys.argv[1], text=True, check=True)"
)
told = {"hook_event_name": "SessionEnd", "session_id": "cc-1", "transcript_path": sys.argv[2], "reason": "exit"}
subprocess.run([sys.executable, "-c", script, json.dumps(told)], check=True)
sys.stdin.read()
"""
"""A client whose script runs a hook and ends at once."""


@promise("trust:principal")
def test_a_hook_speaks_as_the_client_of_the_script_that_has_run_it_and_ended(tmp_path: Path) -> None:
    home, transcript = tmp_path / "home", tmp_path / "cc-1.jsonl"
    home.mkdir(mode=0o700)
    transcript.write_text(REPAIRED, encoding="utf-8")
    words = [sys.executable, "-c", CLIENT_OF_A_SCRIPT, str(home), str(transcript)]
    with subprocess.Popen(
        words, env=clean_environment(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as client:
        assert client.stdout is not None
        own = client.stdout.readline().strip()
        storage = open_storage(None, home=home)
        scope = Scope(tenant="acme", project="shop")
        until = time.monotonic() + 60
        spoken = ""
        while not spoken:
            assert time.monotonic() < until, "the session was not captured"
            time.sleep(0.2)
            if storage.has(scope):
                with closing(storage.open(scope)) as store:
                    spoken = store.evidence.principal_of("cc-1")
        assert spoken == own
        client.communicate()


HOOKED_CLIENT = """
import json, subprocess, sys
rbank = [sys.executable, "-m", "reasoningbank.cli"]
scope = ["--tenant", "acme", "--project", "shop"]
told = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Count the rows."}
hook = ["sh", "-c", '"$@"; exit $?', "sh", *rbank, "hook", "user-prompt-submit", *scope]
subprocess.run(hook, input=json.dumps(told), text=True, capture_output=True, check=True)
for words in json.loads(sys.argv[1]):
    done = subprocess.run(["sh", "-c", '"$@"; exit $?', "sh", *rbank, *words, *scope], capture_output=True, text=True)
    print(json.dumps([done.returncode, done.stdout + done.stderr]))
"""
"""A client that no list names and that has hooks alone."""


@promise(
    "trust:hooks-only",
    "A client that no list names and that runs hooks alone is refused what only a person does: its agent's command "
    "says no verdict on a session and undoes nothing, and what it records, rates or reports is an agent's word. A "
    "person's commands beside it stay a person's.",
    source="issue 11 Credit; DESIGN D16",
)
def test_a_client_with_hooks_alone_says_no_persons_verdict(tmp_path: Path) -> None:
    home = tmp_path / "home"
    own = json.loads(ran(home, "record", *LESSON, "--outcome", "success").stdout)
    says = ("Count the rows.", "I count the rows of the table.", "Count again.", "There are 12 rows.")
    session = [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(says)]
    (tmp_path / "session.json").write_text(json.dumps(session), encoding="utf-8")
    assert ran(home, "capture", str(tmp_path / "session.json"), "--format", "messages").returncode == 0
    (place,) = [each["id"] for each in json.loads(ran(home, "trajectories").stdout)["trajectories"]]
    commands = [
        ("verdict", place, "success"),
        ("undo", own["id"]),
        ("search", "rows"),
        ("session-outcome", "s", "succeeded"),
        ("feedback", own["id"], "helpful"),
        ("record", "--title", "Count by index", "--content", "Count rows by the index.", "--outcome", "success"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", HOOKED_CLIENT, json.dumps(commands)],
        env=clean_environment(home), capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [code for code, _ in answers] == [4, 4, 0, 0, 0, 0]
    (recorded,) = [each for each in json.loads(ran(home, "list").stdout)["memories"] if each["id"] != own["id"]]
    assert recorded["standing"] == "claim"
    assert "a person's to do" in answers[0][1]
    told = json.dumps(json.loads(ran(home, "history", own["id"]).stdout))
    assert ("by agent" in told, "by human" in told) == (True, False)
    assert ran(home, "session-outcome", "s", "failed").returncode == 0, "a person may say it"
    assert ran(home, "verdict", place, "failure").returncode == 0
