"""What ``rbank status`` and ``rbank doctor`` say, from process start."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from promises import promise
from reasoningbank import Bank, Settings
from reasoningbank.errors import StoreCorrupt
from sessions.learned_sessions import RBANK, REPAIRED, UNDECIDED, environment, written


def said(folder: Path, *words: str, status: int = 0, given: str = "", **settings: str) -> Any:
    """The answer of a command of a user below a folder."""
    (folder / "user").mkdir(exist_ok=True)
    variables = environment(folder / "data", **settings) | {
        "HOME": str(folder / "user"),
        "XDG_CONFIG_HOME": str(folder / "user" / ".config"),
        "PATH": "/usr/bin:/bin",
    }
    done = subprocess.run(
        [str(RBANK), "--tenant", "acme", "--project", "shop", *words],
        env=variables,
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout) if "--json" in words else done.stdout


@promise(
    "status:says",
    "rbank status says where each client has the server, when hooks last ran, how many sessions are in which state, "
    "the model and its budget, what was learned this week, the last errors, and what to do next; it changes nothing.",
    source="issue 11",
)
def test_status_says_what_is_installed_learned_and_waiting(tmp_path: Path) -> None:
    empty = said(tmp_path, "status", "--json")
    assert (empty["clients"], empty["hooks_last_ran"], empty["learned_this_week"]) == ([], "", [])
    assert empty["next"] == ["Install into a client: rbank install CLIENT."]
    assert not (tmp_path / "data").exists()
    said(tmp_path, "install", "claude-code")
    said(tmp_path, "record", "--title", "A lesson", "--content", "Do it.", "--outcome", "success")
    said(tmp_path, "capture", *map(str, written(tmp_path, {"one": REPAIRED, "two": UNDECIDED})))
    found = said(tmp_path, "status", "--json")
    assert [(each["client"], each["registered"]) for each in found["clients"]] == [("claude-code", ["scope user"])]
    assert found["sessions"] == {"queued": 0, "captured": 2, "waiting": 0, "distilled": 0}
    assert found["verdicts"] == {"evidence": 1, "unknown": 1}
    assert not any("memory_distill" in each for each in found["next"])
    said(tmp_path, "worker", "--once")
    found = said(tmp_path, "status", "--json")
    assert found["sessions"] == {"queued": 0, "captured": 0, "waiting": 2, "distilled": 0}
    listed = said(tmp_path, "sessions", "--json")["sessions"]
    assert [each["state"] for each in listed] == ["waiting", "waiting"]
    assert ["how it ended is not known" in each["reason"] for each in listed].count(True) == 1
    assert any(each.startswith("Of 1 waiting session it is not known") for each in found["next"])
    assert found["learned_this_week"] == ["A lesson"]
    assert any("No hook has run" in each for each in found["next"])
    assert any("memory_distill" in each for each in found["next"])
    said(tmp_path, "hook", "session-start", given='{"session_id": "s", "hook_event_name": "SessionStart"}')
    said(tmp_path, "hook", "user-prompt-submit", given="no JSON")
    later = said(tmp_path, "status", "--json", "--quick", llm="client:codex")
    assert later["hooks_last_ran"].endswith("claude-code SessionStart")
    assert [*later["hooks"]] == ["claude-code"]
    assert "not JSON" in later["errors"][-1]
    (cure,) = (each for each in later["next"] if "not JSON" in each)
    assert cure.startswith("The hook user-prompt-submit failed: the payload is not JSON")
    assert cure.endswith("rbank doctor.")
    assert later["model"]["most"] == {"tokens": 500_000, "sessions": 20}
    assert "codex is not on this machine" in later["model"]["problem"]
    text = said(tmp_path, "status")
    for part in (
        "claude-code: registered at scope user",
        "2 waiting",
        "verdicts: 1 from evidence, 1 unknown",
        "model: none",
        "learned this week: 1",
        "next: ",
    ):
        assert part in text


@promise(
    "doctor:model",
    "rbank doctor checks the language model: that it has a name that is known and a program or package to ask it.",
    source="issue 11",
)
def test_doctor_checks_the_model(tmp_path: Path) -> None:
    fine = said(tmp_path, "doctor", "--json")
    assert "none" in fine["facts"]["language model"]
    for llm in ("client:codex", "client:emacs", "nonsense"):
        wrong = said(tmp_path, "doctor", "--json", status=1, llm=llm)
        assert any(llm.removeprefix("client:") in problem for problem in wrong["problems"]), wrong["problems"]


@promise(
    "status:model-error",
    "While sessions wait for a model that fails, rbank status shows its last error and what to do, and rbank doctor "
    "says that not everything is in order.",
    source="review, first day with a client",
)
def test_the_last_error_of_a_failing_model_is_said(tmp_path: Path) -> None:
    client = tmp_path / "user" / ".local" / "bin" / "claude"
    client.parent.mkdir(parents=True)
    client.write_text("#!/bin/sh\nexit 3\n")
    client.chmod(0o700)
    own: dict[str, Any] = {"llm": "client:claude-code", "paid_calls": "true"}
    said(tmp_path, "capture", *map(str, written(tmp_path, {"one": REPAIRED})))
    said(tmp_path, "worker", "--once", **own)
    found = said(tmp_path, "status", "--json", **own)
    assert "exit status 3" in found["model"]["last_error"]
    assert found["model"]["used"]["tokens"] == 0
    (next_step,) = (each for each in found["next"] if each.startswith("1 session waits for client:claude-code"))
    assert "exit status 3" in next_step
    assert "rbank distill --pending" in next_step
    assert "model's last error: " in said(tmp_path, "status", **own)
    examined = said(tmp_path, "doctor", status=1, **own)
    assert "Everything is in order." not in examined
    assert "sessions wait, because the last run of client:claude-code failed" in examined


@promise(
    "text:numbers",
    "One of something is said in the singular, none and several in the plural.",
    source="issue 11",
)
def test_one_of_something_is_no_plural(tmp_path: Path) -> None:
    texts = {
        number: REPAIRED.replace("cc-1", f"cc-{number}").replace("Exporter", f"Exporter {number}") for number in "12"
    }
    for count, number in enumerate("12"):
        ends = (
            {"sessions": "sessions", "trajectories": "trajectories"}
            if count != 1
            else {"sessions": "session", "trajectories": "trajectory"}
        )
        for command, noun in ends.items():
            assert said(tmp_path, command).splitlines()[-1] == f"{count} {noun}"
        said(tmp_path, "capture", *map(str, written(tmp_path, {number: texts[number]})))
    assert said(tmp_path, "sessions").splitlines()[-1] == "2 sessions"


@promise("credit:person-reports")
def test_every_list_shows_what_a_person_says_of_a_session(tmp_path: Path) -> None:
    said(tmp_path, "capture", *map(str, written(tmp_path, {"one": REPAIRED})))
    assert "success 0.90 (evidence)" in said(tmp_path, "trajectories")
    told = said(tmp_path, "session-outcome", "cc-1", "failed")
    assert told.splitlines()[-1] == "1 captured session is a failure now."
    assert "failure 0.00 (person)" in said(tmp_path, "trajectories")
    assert "failure (person)" in said(tmp_path, "sessions")
    status = said(tmp_path, "status", "--quick", "--json")
    assert status["verdicts"] == {"person": 1}
    (entry,) = said(tmp_path, "trajectories", "--json")["trajectories"]
    assert (entry["verdict"], entry["said_by"], entry["judge"]) == ("failure", "person", "user")
    said(tmp_path, "verdict", entry["id"], "partial")
    assert "partial 0.50 (person)" in said(tmp_path, "trajectories")
    assert "verdicts: 1 from a person" in said(tmp_path, "status", "--quick")


@promise("status:says")
def test_status_says_which_tools_each_client_is_given(tmp_path: Path) -> None:
    said(tmp_path, "install", "claude-code")
    usual = said(tmp_path, "status", "--quick")
    assert usual.count("tools: memory_search") == 1
    for client in ("codex", "opencode", "cursor"):
        said(tmp_path, "install", client, "--profile", "core,admin")
    found = said(tmp_path, "status", "--quick", "--json")
    tools = {each["client"]: set(each["tools"]) for each in found["clients"]}
    assert tools["codex"] == tools["opencode"] == tools["cursor"] > tools["claude-code"] == set(found["tools"])
    assert "tools of codex: memory_search" in said(tmp_path, "status", "--quick")


@promise(
    "status:hooks",
    "rbank status and doctor say for each client when its hooks ran last, and which clients' never have.",
    source="issue 11",
)
def test_status_says_of_each_client_when_its_hooks_ran(tmp_path: Path) -> None:
    said(tmp_path, "install", "claude-code")
    said(tmp_path, "install", "gemini")
    said(tmp_path, "record", "--title", "A lesson", "--content", "Do it.", "--outcome", "success")
    assert "hooks last ran: never\n" in said(tmp_path, "status", "--quick")
    for payload in (
        {"session_id": "s", "hook_event_name": "SessionStart"},
        {"conversation_id": "c", "hook_event_name": "sessionStart"},
        {"session_id": "t", "hook_event_name": "SessionStart", "transcript_path": "/x/.codex/sessions/t.jsonl"},
        {"conversation_id": "d", "hook_event_name": "sessionStart"},
    ):
        said(tmp_path, "hook", "session-start", given=json.dumps(payload))
    found = said(tmp_path, "status", "--quick", "--json")
    assert found["hooks"].keys() == {"claude-code", "codex", "cursor"}
    assert all(line.endswith(f" {client} SessionStart") for client, line in found["hooks"].items())
    assert found["hooks_last_ran"] == max(found["hooks"].values())
    text = said(tmp_path, "status", "--quick").splitlines()
    assert len([line for line in text if line.startswith("hooks last ran: 20")]) == 3
    assert "hooks last ran: never in gemini" in text
    doctor = said(tmp_path, "doctor", "--json")["facts"]["hooks last ran"]
    assert [part.split()[1] for part in doctor.split("; ")] == [*found["hooks"]]


@promise("status:hooks")
def test_the_first_hook_of_all_is_noted_where_no_data_directory_is(tmp_path: Path) -> None:
    said(tmp_path, "hook", "session-start", given='{"session_id": "s", "hook_event_name": "SessionStart"}')
    found = said(tmp_path, "status", "--quick", "--json")
    assert found["hooks_last_ran"].endswith("claude-code SessionStart")
    assert not (tmp_path / "data" / "banks").exists()


@promise(
    "doctor:changes-nothing",
    "rbank doctor makes no bank of a project that is named and has none.",
    source="issue 11",
)
def test_doctor_makes_no_bank_of_a_mistyped_project(tmp_path: Path) -> None:
    said(tmp_path, "record", "--title", "A lesson", "--content", "Do it.", "--outcome", "success")
    before = {path.name for path in (tmp_path / "data" / "banks").rglob("*")}
    assert said(tmp_path, "--project", "shpo", "doctor", "--json")["problems"] == []
    said(tmp_path, "--project", "shpo", "reembed", status=3)
    assert {path.name for path in (tmp_path / "data" / "banks").rglob("*")} == before


@promise(
    "install:status-next",
    "rbank status never says that nothing is to be done beside an error: every error it shows has a next step that "
    "says what to type.",
    source="issue 11 Installer and status",
)
@pytest.mark.parametrize(
    "line",
    [
        "2026-01-02T03:04:05+00:00 'SessionStart' 'store_error: the disk is full. Free some space and try again.'",
        "2026-01-02T03:04:05+00:00 'Stop' 'KeyError at hooks.py:12'",
        "2026-01-02T03:04:05+00:00 'Stop' \"configuration: 'x' is not a model. Name another.\"",
        "something else",
    ],
)
def test_every_error_that_is_shown_has_a_next_step(line: str, tmp_path: Path) -> None:
    said(tmp_path, "install", "claude-code")
    said(tmp_path, "hook", "session-start", given='{"session_id": "s", "hook_event_name": "SessionStart"}')
    said(tmp_path, "record", "--title", "A lesson", "--content", "Do it.", "--outcome", "success")
    assert said(tmp_path, "status", "--json", "--quick")["next"] == ["Nothing."]
    with (tmp_path / "data" / "hooks.log").open("a") as log:
        log.write(f"{line}\n{line}\n")
    found = said(tmp_path, "status", "--json", "--quick")
    assert found["errors"] == [line, line]
    (step,) = found["next"]
    assert step.endswith("rbank doctor.")
    words = line.split(": ", 1)[-1].strip("'\"") if "_error" in line or "configuration" in line else line.split()[-1]
    assert words.strip("'\"") in step


@promise(
    "status:elsewhere",
    "rbank status in a directory whose project has learned nothing yet says which projects of the user have sessions, "
    "how many, and what to do next; it makes no bank. Of many projects it opens and names the ten used last.",
    source="issue 11 Installer and status",
)
def test_status_outside_of_a_project_says_what_is_known_elsewhere(tmp_path: Path) -> None:
    said(tmp_path, "install", "claude-code")
    said(tmp_path, "hook", "session-start", given='{"session_id": "s", "hook_event_name": "SessionStart"}')
    said(tmp_path, "capture", *map(str, written(tmp_path, {"one": REPAIRED, "two": UNDECIDED})))
    there = said(tmp_path, "status", "--json", "--quick")
    assert (there["project"], there["other_projects"], there["server_runs"]) == ("shop", [], False)
    found = said(tmp_path, "--project", "attic", "status", "--json", "--quick")
    (other,) = found["other_projects"]
    assert (other["project"], sum(other["sessions"].values())) == ("shop", 2)
    (step,) = found["next"]
    assert "Nothing was learned in attic yet" in step
    text = said(tmp_path, "--project", "attic", "status", "--quick")
    assert "elsewhere: 2 sessions in 1 project" in text
    assert "server: none runs" in text
    assert len([*(tmp_path / "data" / "banks").rglob("*.db")]) == 1
    for number in range(11):
        Bank.open(tenant="acme", project=f"p{number}", settings=Settings(home=tmp_path / "data")).close()
    opened = [*(tmp_path / "data" / "banks").rglob("*.db.lock")]
    for each in opened:
        each.unlink()
    found = said(tmp_path, "--project", "attic", "status", "--json", "--quick")
    assert [each["project"] for each in found["other_projects"]] == [f"p{number}" for number in range(10, 0, -1)]
    assert found["more_projects"] == 2
    left = [*(tmp_path / "data" / "banks").rglob("*.db.lock")]
    assert (len(opened), len(left)) == (12, 10)
    assert "0 sessions in 10 projects; 2 older" in said(tmp_path, "--project", "attic", "status", "--quick")


@promise(
    "status:damaged",
    "A bank that cannot be read is named as such by rbank status and in the log of the hooks, and never counted as "
    "having no sessions and no memories.",
    source="issue Hard to break 7",
)
def test_a_bank_that_cannot_be_read_is_no_empty_bank(tmp_path: Path) -> None:
    said(tmp_path, "record", "--title", "A lesson", "--content", "Do it.", "--outcome", "success")
    (bank,) = (tmp_path / "data").rglob("*.db")
    for side in bank.parent.glob(f"{bank.name}-*"):
        side.unlink()
    bank.write_bytes(b"no bank at all " * 1_000)
    assert said(tmp_path, "status", status=StoreCorrupt.exit_code) == ""
    assert (
        said(tmp_path, "hook", "session-start", given=json.dumps({"session_id": "s", "cwd": str(tmp_path)})) == "{}\n"
    )
    assert bank.name in (tmp_path / "data" / "hooks.log").read_text(encoding="utf-8")
