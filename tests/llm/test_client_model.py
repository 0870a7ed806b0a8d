"""The user's own agent as a language model: the real clients, and programs that fail in every way."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

import reasoningbank
from agent_clients import AgentServer, client_environment
from llm.replay_server import Asked
from promises import promise
from reasoningbank.errors import BudgetExhausted, ConfigurationError, PaidCallRefused
from reasoningbank.llm import CLIENT_LEDGER, CLIENTS, open_model
from reasoningbank.llm.agent_client import HEADLESS
from reasoningbank.llm.budget import SessionBudget, TokenBudget, counted_as
from reasoningbank.testing import FrozenClock
from reasoningbank.types.ports import Prompt
from sessions.learned_sessions import REPAIRED, STRATEGY, environment, model, rbank, written

ANSWER = json.dumps({"verdict": "success", "probability": 0.8})
PROMPT = Prompt(name="judge", version="1", instructions="You judge how a session ended.", material="It ended <well>.")
SCHEMA = {"type": "object", "properties": {"verdict": {"type": "string"}}, "required": ["verdict"]}
ASK = """
import json, sys
from pathlib import Path
from reasoningbank.errors import BankError
from reasoningbank.llm import open_model
from reasoningbank.types.ports import Prompt
name, home, seconds, tokens = sys.argv[1:5]
model = open_model(name, home=Path(home), client_timeout=float(seconds), client_tokens=int(tokens))
prompt = Prompt(
    name="judge", version="1", instructions="You judge how a session ended.", material="It ended <well>." + sys.argv[5]
)
try:
    answer = model.complete(prompt, json.loads(sys.argv[6]))
    print(json.dumps([answer.text, answer.model, answer.input_tokens, answer.output_tokens]))
except BankError as error:
    print(json.dumps({"error": error.code, "said": error.advice}))
"""


def ask(
    name: str, home: Path, variables: dict[str, str], *, seconds: float = 120, tokens: int = 500_000, more: str = ""
) -> Any:
    """What a fresh process is answered by a client."""
    source = str(Path(reasoningbank.__file__).parents[1])
    command = [sys.executable, "-c", ASK, name, str(home), str(seconds), str(tokens), more, json.dumps(SCHEMA)]
    done = subprocess.run(
        command, env={**variables, "PYTHONPATH": source}, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def tripwires(client: str, home: Path) -> list[Path]:
    """Give the client hooks, servers and a notifier of its user that must not run, and return what they would make."""
    marks = [home / f"{client}-hook", home / f"{client}-server", home / f"{client}-notified"]
    hook = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"touch '{marks[0]}'"}]}]}}
    server = {"command": "touch", "args": [str(marks[1])]}
    if client == "claude-code":
        (home / ".claude").mkdir()
        (home / ".claude" / "settings.json").write_text(json.dumps(hook))
        (home / ".claude.json").write_text(json.dumps({"mcpServers": {"mine": server}}))
    elif client == "codex":
        path = home / ".codex" / "config.toml"
        own = f'notify = ["touch", "{marks[2]}"]\n{path.read_text()}\n[mcp_servers.mine]\ncommand = "touch"\n'
        path.write_text(f'{own}args = ["{marks[1]}"]\n[features]\nhooks = true\n')
        (home / ".codex" / "hooks.json").write_text(json.dumps(hook))
    elif client == "gemini":
        path = home / ".gemini" / "settings.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **hook, "mcpServers": {"mine": server}}))
    else:
        path = home / ".config" / "opencode" / "opencode.json"
        local = {"type": "local", "command": ["touch", str(marks[1])], "enabled": True}
        path.write_text(json.dumps({**json.loads(path.read_text()), "mcp": {"mine": local}}))
        plugin = path.with_name("plugin") / "mine.js"
        plugin.parent.mkdir()
        made = f'require("fs").writeFileSync({json.dumps(str(marks[0]))}, "")'
        plugin.write_text(f"export const Mine = async () => {{ {made}; return {{}} }}\n")
    return marks


@promise(
    "llm:client",
    "client:claude-code, client:codex, client:gemini and client:opencode run the installed client without a person: "
    "the prompt and the schema reach its model, its tools, hooks and servers are off, and its tokens are counted.",
    source="issue 11; DESIGN D15",
)
@pytest.mark.timeout(240)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_real_client_answers_a_prompt_with_nothing_of_its_own_switched_on(client: str, tmp_path: Path) -> None:
    with AgentServer(ANSWER) as server:
        variables = client_environment(client, tmp_path / "user", server.url)
        marks = tripwires(client, tmp_path / "user")
        assert ask(f"client:{client}", tmp_path / "home", variables) == [ANSWER, f"client:{client}", 11, 7]
        (asked,) = server.requests
    for said in ("You judge how a session ended.", "It ended <well>.", '\\"verdict\\"'):
        assert said in asked.text
    assert offered(asked) <= {"request_user_input"}
    assert [mark for mark in marks if mark.exists()] == []
    spent = json.loads((tmp_path / "home" / "client-tokens.json").read_text())["spent"]
    assert spent == 18
    kept = [path for path in (tmp_path / "user").rglob("*") if path.is_file() and "It ended <well>" in _text(path)]
    assert kept == []


def offered(asked: Asked) -> set[str]:
    """The names of the tools that a request offers to the model."""
    listed = cast("list[dict[str, Any]]", asked.body.get("tools") or [])
    given = [one for tool in listed for one in tool.get("functionDeclarations", [tool])]
    return {str(one.get("name") or one.get("function", one.get("type"))) for one in given}


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


@promise(
    "llm:client-learns",
    "With client:claude-code as model a captured session is distilled, and nothing that the run writes is captured.",
    source="issue 11",
)
@pytest.mark.timeout(240)
def test_a_captured_session_is_distilled_by_the_real_client(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (session,) = written(tmp_path, {"session": REPAIRED})
    with AgentServer(model) as server:
        variables = client_environment("claude-code", tmp_path / "user", server.url)
        own = environment(home, llm="client:claude-code", paid_calls="true")
        given = {**variables, **{name: value for name, value in own.items() if name.startswith(("REASON", "PYTHONP"))}}
        command = [sys.executable, "-m", "reasoningbank.cli", "--tenant", "acme", "--project", "shop"]

        def said(*words: str) -> Any:
            done = subprocess.run(
                [*command, *words, "--json"], env=given, cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)

        said("capture", str(session))
        report = said("distill", "--pending")
        assert report["messages"] == []
        assert [said("get", each)["title"] for each in report["distilled"]] == [STRATEGY["title"]]
        assert len(said("trajectories")["trajectories"]) == 1
        noted = json.loads((home / "client-sessions.json").read_text())["sessions"]
        assert len(noted) == 1
        assert server.requests


@pytest.fixture
def program(tmp_path: Path) -> Any:
    """Makes a program of a client's name that does what a script says."""

    def make(script: str) -> dict[str, str]:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        path = folder / "claude"
        path.write_text(f"#!{sys.executable}\nimport json, os, subprocess, sys, time\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        variables = {name: value for name, value in os.environ.items() if not name.startswith("REASONINGBANK_")}
        return variables | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}

    return make


@promise(
    "llm:client-failure",
    "A client that ends with an error, says something else, says nothing, too much or never ends gives an error with "
    "a hint and no answer; what it says is never repeated.",
    source="issue 11; DESIGN D8",
)
@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("sys.exit(3)", "exit status 3"),
        ("print('sk-secret is no JSON')", "gave no answer"),
        ("pass", "gave no answer"),
        ("print(json.dumps({'type': 'result', 'is_error': False, 'result': ' '}))", "gave no answer"),
        (
            "print(json.dumps({'type': 'result', 'is_error': True, 'result': 'Please run /login sk-secret'}))",
            "logged in",
        ),
        ("print('rate limit sk-secret', file=sys.stderr); sys.exit(1)", "limit of its subscription"),
        ("sys.stdout.write('x' * 9_000_000); sys.stdout.flush(); time.sleep(60)", "ended with exit status"),
        ("print('[' * 100_000)", "gave no answer"),
        ("print(json.dumps([{'type': 'result'}]))", "gave no answer"),
    ],
)
def test_a_client_that_fails_is_an_error_with_a_hint(script: str, told: str, program: Any, tmp_path: Path) -> None:
    answer = ask("client:claude-code", tmp_path / "home", program(script), seconds=20)
    assert answer["error"] == "model_unavailable"
    assert told in answer["said"]
    assert "sk-secret" not in answer["said"]
    assert "claude" in answer["said"]


@promise(
    "llm:client-charged",
    "A failing run of a client costs what the client counted: nothing when it did not start or gave no output.",
    source="review, first day with a client",
)
@pytest.mark.parametrize(
    ("script", "spent"),
    [
        ("sys.exit(3)", 0),
        ("time.sleep(600)", 0),
        ("print('Please log in', file=sys.stderr); sys.exit(1)", 0),
        (
            "print(json.dumps({'type': 'result', 'is_error': True, 'result': 'no', "
            "'usage': {'input_tokens': 900, 'output_tokens': 20}}))",
            920,
        ),
        (
            "print(json.dumps({'type': 'result', 'is_error': False, 'result': '{}', "
            "'usage': {'input_tokens': 700, 'output_tokens': 30}}))",
            730,
        ),
    ],
)
def test_a_run_costs_what_the_client_counted(script: str, spent: int, program: Any, tmp_path: Path) -> None:
    home = tmp_path / "home"
    variables = program(script)
    for _ in range(2):
        ask("client:claude-code", home, variables, seconds=3)
    assert TokenBudget(home / CLIENT_LEDGER, 1).spent() == 2 * spent


@promise("llm:client-failure")
def test_a_client_that_hangs_is_ended_with_what_it_started(program: Any, tmp_path: Path) -> None:
    mark = tmp_path / "survived"
    late = f"import time; time.sleep(5); open({str(mark)!r}, 'w')"
    child = f"subprocess.Popen([sys.executable, '-c', {late!r}])"
    started = time.monotonic()
    answer = ask("client:claude-code", tmp_path / "home", program(f"{child}\ntime.sleep(600)"), seconds=1)
    assert time.monotonic() - started < 30
    assert answer["error"] == "model_unavailable"
    assert "did not answer within 1 s" in answer["said"]
    time.sleep(6)
    assert not mark.exists()


@promise("llm:client-failure")
def test_a_client_that_is_not_there_is_said_and_a_long_prompt_reaches_one_that_is(program: Any, tmp_path: Path) -> None:
    reply = "{'type': 'result', 'is_error': False, 'result': str(len(sys.stdin.read()))}"
    long = "x" * 100_000
    answer = ask("client:claude-code", tmp_path / "home", program(f"print(json.dumps({reply}))"), more=long)
    assert answer[0] == str(len(PROMPT.material) + len(long))
    nothing = {"PATH": os.devnull, "HOME": str(tmp_path)}
    answer = ask("client:opencode", tmp_path / "home", nothing)
    assert answer["error"] == "model_unavailable"
    assert "is not on this machine" in answer["said"]


@promise(
    "llm:client-limits",
    "A client is asked about at most so many sessions, and with at most so many tokens, a day; a session counts once.",
    source="issue 11",
)
def test_the_sessions_and_tokens_of_a_day_are_limited(program: Any, tmp_path: Path) -> None:
    clock = FrozenClock(datetime(2026, 3, 1, tzinfo=UTC))
    budget = SessionBudget(tmp_path / "sessions.json", 2, now=clock.now)
    for name in ("one", "one", "two", "one"):
        with counted_as(name):
            budget.count()
    assert budget.spent() == 2
    with pytest.raises(BudgetExhausted, match="2 sessions"):
        budget.count()
    clock.advance(timedelta(days=1))
    budget.count()
    assert budget.spent() == 1
    reply = "{'type': 'result', 'is_error': False, 'result': '{}'}"
    answer = ask("client:claude-code", tmp_path / "home", program(f"print(json.dumps({reply}))"), tokens=1_000)
    assert answer["error"] == "budget_exhausted"
    assert "client_daily_tokens" in answer["said"]


@promise("llm:client-limits")
def test_wrong_names_and_limits_are_refused_and_paid_calls_can_be_switched_off(tmp_path: Path) -> None:
    for name in ("client:", "client:cursor", "client:claude"):
        with pytest.raises(ConfigurationError, match="can be a language model"):
            open_model(name, home=tmp_path)
    with pytest.raises(ConfigurationError, match="negative"):
        open_model("client:codex", client_sessions=-1, home=tmp_path)
    with pytest.raises(ConfigurationError, match="timeout"):
        open_model("client:codex", client_timeout=0, home=tmp_path)
    assert set(HEADLESS) == set(CLIENTS)
    found = open_model("client:codex/small", home=tmp_path)
    assert found is not None
    assert found.name == "client:codex/small"
    with pytest.raises(PaidCallRefused):
        found.complete(PROMPT, SCHEMA)
    assert list(tmp_path.iterdir()) == []


@promise(
    "llm:client-no-recursion",
    "Inside of a client that is run as a model our hooks show and keep nothing, our server works on nothing, and no "
    "client is run again.",
    source="issue 11",
)
def test_nothing_of_ours_works_inside_of_such_a_run(program: Any, tmp_path: Path) -> None:
    home = tmp_path / "home"
    rbank(home, "record", "--title", "A lesson", "--content", "Do it.", "--outcome", "success")
    (transcript,) = written(tmp_path, {"session.jsonl": REPAIRED})
    payload = {"session_id": "s", "transcript_path": str(transcript), "cwd": str(tmp_path), "prompt": "A lesson"}

    def hook(event: str, **variables: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "reasoningbank.cli", "hook", event, "--tenant", "acme", "--project", "shop"],
            env=environment(home, **variables),
            input=json.dumps(payload),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    before = sorted((path, path.stat().st_mtime_ns) for path in home.rglob("*") if path.is_file())
    for event in ("session-start", "user-prompt-submit", "session-end", "stop"):
        assert hook(event, own_run="1") == "{}\n"
    time.sleep(1)
    assert sorted((path, path.stat().st_mtime_ns) for path in home.rglob("*") if path.is_file()) == before
    assert "A lesson" in hook("user-prompt-submit")
    variables = program("print('{}')") | {"REASONINGBANK_OWN_RUN": "1"}
    answer = ask("client:claude-code", home, variables)
    assert "runs this program itself" in answer["said"]


@promise(
    "hints:no-stranger",
    "No message or hint tells to install a package by this program's own name, which a stranger could have registered.",
    source="issue 11",
)
def test_no_hint_names_a_package_that_a_stranger_could_register() -> None:
    own = re.compile(r"(?:pip install|uvx|uv tool install|pipx install|npx)[^\n]{0,40}\b(?:reasoningbank|rbank)\b")
    source = Path(reasoningbank.__file__).parent
    assert [path.name for path in source.rglob("*.py") if own.search(path.read_text(encoding="utf-8"))] == []


@promise(
    "llm:nothing-left-over",
    "What a run of the user's client needs lies below the data directory and is gone afterwards; of a process that was "
    "killed, the next run removes it, and nothing is left in the system's folder for temporary files.",
    source="issue 11",
)
def test_a_killed_process_leaves_nothing_over(program: Any, tmp_path: Path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    temporary.mkdir()
    source = str(Path(reasoningbank.__file__).parents[1])
    slow = program("time.sleep(15)") | {"TMPDIR": str(temporary), "PYTHONPATH": source}
    command = [sys.executable, "-c", ASK, "client:claude-code", str(home), "60", "500000", "", json.dumps(SCHEMA)]
    with subprocess.Popen(command, env=slow, start_new_session=True) as asking:
        runs = home / "runs"
        deadline = time.monotonic() + 60
        while not (runs.is_dir() and [*runs.iterdir()]) and time.monotonic() < deadline:
            time.sleep(0.05)
        asking.kill()
    (left,) = runs.iterdir()
    assert left.name.startswith(f"{asking.pid}-")
    answers = 'print(json.dumps({"result": "{}", "is_error": False}))'
    ask("client:claude-code", home, program(answers) | {"TMPDIR": str(temporary)}, seconds=30)
    assert [*runs.iterdir()] == []
    assert not [path for path in temporary.iterdir() if "reasoningbank" in path.name]
