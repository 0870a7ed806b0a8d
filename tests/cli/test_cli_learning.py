"""Learning through the installed command in processes of their own; the model is a recorded one on the loopback."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm.replay_server import ReplayServer
from promises import promise
from sessions.learned_sessions import (
    ABOUT_MEMORY,
    PROJECT,
    RBANK,
    REPAIRED,
    STRATEGY,
    TENANT,
    UNDECIDED,
    answer,
    bank_of,
    environment,
    eventually,
    model,
    rbank,
    repaired,
    with_model,
    written,
)

HEAVY = {"numpy", "apsw", "mcp", "pydantic", "pydantic_ai", "onnxruntime", "tokenizers", "redact_secret", "asyncio"}
LEARNING = (
    *("capture", "trajectories", "trajectory", "verdict", "judge", "distill", "distill-session", "refusals"),
    *("experience", "scale", "worker", "jobs"),
)
ONE = {"id", "task", "steps", "verdict", "probability", "evidence"}
NOBODY = "01a1fe77-2374-71a9-bc1e-9f0d02bda8fe"
SUMMARY = (
    *("--task", "Speed up the import of large price lists", "--result", "The import takes two minutes now"),
    *("--approach", "Insert a thousand rows per transaction instead of one, and measure before and after"),
)


@pytest.fixture
def replay() -> Iterator[ReplayServer]:
    """The recorded model."""
    with ReplayServer(model) as server:
        yield server


@promise(
    "cli:capture",
    "`rbank capture` tells what was stored, skipped and judged; the same session twice adds nothing.",
    source="issue Interface",
)
def test_a_capture_tells_what_was_stored_and_the_same_session_twice_adds_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    broken = REPAIRED.replace("cc-1", "cc-2").replace("\n", '\n{"type": "assis\n', 1)
    files = written(tmp_path, {"whole.jsonl": REPAIRED, "broken.jsonl": broken, "talk.jsonl": UNDECIDED})
    first = rbank(home, "capture", *files, "--json")
    told = answer(first)
    assert {"captured", "duplicates", "skipped_lines", "trajectories"} <= set(told)
    assert (told["captured"], told["duplicates"], told["skipped_lines"]) == (3, 0, 1)
    assert "broken.jsonl" in first.stderr
    assert all(set(one) >= ONE for one in told["trajectories"])
    assert [one["verdict"] for one in told["trajectories"]] == ["success", "success", "unknown"]
    assert told["trajectories"][0]["probability"] == pytest.approx(0.9)
    assert told["trajectories"][2]["probability"] < 0.9
    assert {"test_run", "repair"} <= {fact["kind"] for fact in told["trajectories"][0]["evidence"]}

    again = answer(rbank(home, "capture", *files, "--format", "auto", "--json"))
    assert (again["captured"], again["duplicates"]) == (0, 3)
    assert [one["id"] for one in again["trajectories"]] == [one["id"] for one in told["trajectories"]]
    assert len(answer(rbank(home, "trajectories", "--json"))["trajectories"]) == 3


@promise(
    "cli:capture-folder",
    "`rbank capture FOLDER` captures the transcripts in a folder and in its folders, and follows no link.",
    source="issue 16",
)
def test_a_folder_is_captured_with_its_folders_and_without_links(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "transcripts"
    (folder / "deeper").mkdir(parents=True)
    (folder / "whole.jsonl").write_text(REPAIRED)
    (folder / "deeper" / "talk.jsonl").write_text(UNDECIDED)
    (folder / "notes.txt").write_text("No transcript.")
    (tmp_path / "outside.jsonl").write_text(REPAIRED.replace("cc-1", "cc-3"))
    (folder / "link.jsonl").symlink_to(tmp_path / "outside.jsonl")
    told = answer(rbank(home, "capture", str(folder), "--json"))
    assert (told["captured"], told["duplicates"], told["problems"]) == (2, 0, [])
    (tmp_path / "empty").mkdir()
    nothing = rbank(home, "capture", str(tmp_path / "empty"))
    assert nothing.returncode == 2
    assert "holds no .json or .jsonl file" in nothing.stderr


@promise(
    "cli:capture-unreadable",
    "A file without a session does not stop the others; alone it is an error with a hint.",
    source="issue Capture",
)
def test_a_file_without_a_session_does_not_stop_the_others_and_alone_it_is_an_error(tmp_path: Path) -> None:
    home = tmp_path / "home"
    good, bad, other = written(tmp_path, {"good.jsonl": REPAIRED, "bad.txt": "a shopping list\n", "talk": UNDECIDED})
    done = rbank(home, "capture", bad, good, "--json")
    told = answer(done)
    assert (told["captured"], told["skipped_lines"]) == (1, 1)
    assert "bad.txt" in done.stderr
    alone = rbank(home, "capture", bad, "--json")
    assert (alone.returncode, alone.stdout) == (2, "")
    assert json.loads(alone.stderr)["error"] == "unreadable_transcript"
    wrong = rbank(home, "capture", other, "--format", "codex", "--json")
    assert (answer(wrong)["captured"], "skipped: talk" in wrong.stderr) == (0, True)
    missing = rbank(home, "capture", tmp_path / "nothing.jsonl")
    assert (missing.returncode, "nothing.jsonl" in missing.stderr) == (5, True)
    assert "hint:" in missing.stderr


@promise(
    "cli:distill-waits",
    "Without a language model sessions wait, the command says why, and nothing is invented.",
    source="DESIGN D8",
)
def test_without_a_model_sessions_wait_and_nothing_is_invented(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (session,) = written(tmp_path, {"session.jsonl": REPAIRED})
    captured = answer(rbank(home, "capture", session, "--json"))
    done = rbank(home, "distill", "--pending", "--json")
    told = answer(done)
    assert told == {"distilled": [], "corroborated": [], "refused": [], "pending": 1, "messages": told["messages"]}
    assert "No language model is configured" in done.stderr
    assert "memory_distill" in done.stderr
    worked = rbank(home, "worker", "--once", "--json")
    assert (answer(worked)["done"], "no language model" in worked.stderr) == (1, True)
    jobs = answer(rbank(home, "jobs", "--json"))
    assert (jobs["dead"], jobs["pending"]) == ([], 1)
    assert [(run["kind"], run["failed"]) for run in jobs["runs"]] == [("recipes", False)]
    assert "distill" in {job["kind"] for job in jobs["waiting"]}
    assert answer(rbank(home, "list", "--json"))["count"] == 0
    assert rbank(home, "distill", NOBODY, captured["trajectories"][0]["id"]).returncode == 3
    assert rbank(home, "distill").returncode == 2


@promise(
    "cli:distill",
    "A captured transcript becomes lessons at 0.6 with provenance that a new process finds; a refused item is kept "
    "with its reason.",
    source="issue Interface; issue It must show",
)
def test_a_transcript_becomes_lessons_that_a_new_process_finds(tmp_path: Path, replay: ReplayServer) -> None:
    home, settings = tmp_path / "home", with_model(replay.url)
    (session,) = written(tmp_path, {"session.jsonl": REPAIRED})
    (captured,) = answer(rbank(home, "capture", session, "--json"))["trajectories"]
    told = answer(rbank(home, "distill", captured["id"], "--json", **settings))
    (memory_id,) = told["distilled"]
    assert (told["corroborated"], told["pending"]) == ([], 0)
    (refused,) = told["refused"]
    assert (refused["reason"], refused["title"]) == ("about_memory", ABOUT_MEMORY["title"])
    assert refused["detail"]

    found = answer(rbank(home, "search", "the export of rows loses some at every page", "--json"))
    assert [(hit["id"], hit["confidence"]) for hit in found["unproven"]] == [(memory_id, 0.6)]
    with bank_of(home) as bank:
        memory = bank.get(memory_id)
    assert memory.title == STRATEGY["title"]
    assert (memory.provenance["trajectory"], memory.provenance["steps"]) == (captured["id"], "1,2,3")
    assert memory.provenance["prompt"].startswith("distil_success")
    assert "recorded" in memory.provenance["model"]

    again = answer(rbank(home, "distill", captured["id"], "--json", **settings))
    assert again["distilled"] == []
    listed = answer(rbank(home, "refusals", "--trajectory", captured["id"], "--json"))
    assert [one["reason"] for one in listed["refused"]] == ["about_memory"]
    assert "about_memory" in rbank(home, "refusals").stdout
    with bank_of(home) as bank:
        assert bank.admin.stats().memories == 1
        assert bank.admin.check().problems == ()


@promise(
    "cli:verdict",
    "A person's verdict decides what neither evidence nor model can, and the session is distilled by it.",
    source="issue Evidence",
)
def test_a_persons_verdict_decides_what_the_evidence_and_the_model_cannot(tmp_path: Path, replay: ReplayServer) -> None:
    home, settings = tmp_path / "home", with_model(replay.url)
    (session,) = written(tmp_path, {"talk.jsonl": UNDECIDED})
    (captured,) = answer(rbank(home, "capture", session, "--json"))["trajectories"]
    judged = answer(rbank(home, "judge", captured["id"], "--json", **settings))
    assert judged["verdict"] == "unknown"
    assert {"verdict", "probability", "rationale", "judge", "evidence"} <= set(judged)
    waits = rbank(home, "distill", captured["id"], "--json", **settings)
    assert (answer(waits)["distilled"], answer(waits)["pending"]) == ([], 1)
    assert "rbank verdict" in waits.stderr

    said = answer(rbank(home, "verdict", captured["id"], "failure", "--note", "All totals were old.", "--json"))
    assert (said["verdict"], said["judge"], said["rationale"]) == ("failure", "user", "All totals were old.")
    (memory_id,) = answer(rbank(home, "distill", "--pending", "--json", **settings))["distilled"]
    shown = answer(rbank(home, "trajectory", captured["id"], "--json"))
    assert [one["judge"] for one in shown["judgements"]][-1] == "user"
    assert shown["steps"][0]["thought"].startswith("I take the totals")
    assert "failure" in rbank(home, "trajectory", captured["id"]).stdout
    assert answer(rbank(home, "trajectories", "--verdict", "failure", "--json"))["count"] == 1
    assert answer(rbank(home, "trajectories", "--pending", "--json"))["count"] == 0
    assert answer(rbank(home, "forget", captured["id"], "--yes", "--json"))["deleted"] is True
    assert rbank(home, "trajectory", captured["id"]).returncode == 3
    with bank_of(home) as bank:
        memory = bank.get(memory_id)
        assert memory.outcome == "failure"
        assert memory.confidence == pytest.approx(0.6)


@promise(
    "cli:distill-session",
    "A session's own summary becomes lessons without a model; the same session twice adds nothing.",
    source="issue Interface; seed 004 DistillSession",
)
def test_a_summary_becomes_lessons_without_a_model_and_twice_adds_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    ended = ("distill-session", *SUMMARY, "--tag", "import", "--session", "monday", "--json")
    (strategy,) = answer(rbank(home, *ended, "--outcome", "success"))["distilled"]
    assert answer(rbank(home, *ended, "--outcome", "success"))["distilled"] == []

    both = ("--task", "Move the shop to a new host", "--approach", "Copy the data while the shop is closed")
    parts = ("--result", "The shop is there, the mails are not", "--avoid", "Do not switch the name before the mails.")
    told = answer(rbank(home, "distill-session", *both, *parts, "--outcome", "partial", "--json"))
    with bank_of(home) as bank:
        assert [bank.get(one).outcome for one in told["distilled"]] == ["success", "failure"]
        first = bank.get(strategy)
        assert (first.outcome, first.tags) == ("success", ("import",))
        assert first.confidence == pytest.approx(0.6)
        assert bank.admin.stats().memories == 3
    wrong = rbank(home, "distill-session", *SUMMARY, "--outcome", "unknown", "--json")
    assert (wrong.returncode, wrong.stdout) == (2, "")


@promise("cli:worker", "`rbank worker --once` does what is due; what fails is postponed and said.", source="issue Jobs")
def test_a_worker_does_what_is_due_and_says_what_waits(tmp_path: Path) -> None:
    home = tmp_path / "home"
    files = written(tmp_path, {"one.jsonl": repaired(1), "two.jsonl": repaired(2)})
    answer(rbank(home, "capture", *files, "--json"))
    with ReplayServer([json.dumps({"strategies": [STRATEGY], "lessons": []}), *["not what was asked"] * 5]) as replay:
        done = rbank(home, "worker", "--once", "--json", **with_model(replay.url))
    told = answer(done)
    assert (told["done"], told["postponed"], told["buried"]) == (3, 1, 0)
    assert "waits until" in done.stderr
    with bank_of(home) as bank:
        assert [memory.title for memory in bank.memories.list()] == [STRATEGY["title"]]
        assert len(bank.sessions.list(pending=True)) == 1
        assert [(run.kind, run.failed) for run in bank.jobs.runs()] == [("distill", False), ("recipes", False)]


@promise(
    "cli:worker-stops",
    "A worker takes up what other processes queue and ends at SIGTERM after the job in hand.",
    source="issue Jobs",
)
def test_a_worker_takes_up_what_others_capture_and_stops_at_sigterm(tmp_path: Path, replay: ReplayServer) -> None:
    home = tmp_path / "home"
    (now,) = written(tmp_path, {"now.jsonl": REPAIRED})
    with bank_of(home) as bank:
        worker = subprocess.Popen(
            [str(RBANK), "--tenant", TENANT, "--project", PROJECT, "worker", "--poll", "0.1", "--json"],
            env=environment(home, **with_model(replay.url)),
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            bank.sessions.capture_later(now)
            eventually(lambda: bool(bank.sessions.list()) and not bank.sessions.list(pending=True))
            worker.send_signal(signal.SIGTERM)
            said, complained = worker.communicate(timeout=30)
        finally:
            worker.kill()
        assert (worker.returncode, complained) == (0, "")
        told = json.loads(said)
        assert told["done"] >= 2
        assert [memory.title for memory in bank.memories.list()] == [STRATEGY["title"]]


@promise(
    "cli:experience",
    "`rbank experience` prints results and reasoning, with unproven hits marked.",
    source="issue Interface; seed 002",
)
def test_an_experience_search_says_how_it_searched_and_marks_what_is_unproven(tmp_path: Path) -> None:
    home = tmp_path / "home"
    nothing = answer(rbank(home, "experience", "a paged export loses rows", "--json"))
    assert (nothing["results"], nothing["reasoning"]["learned_from"]) == ([], 0)
    with bank_of(home) as bank:
        bank.record(title="Page bounds", content="Rows of a paged export: use inclusive bounds.", outcome="success")
    answer(rbank(home, "distill-session", *SUMMARY, "--outcome", "success", "--json"))
    told = answer(rbank(home, "experience", "a paged export loses rows", "--session", "s", "--json"))
    assert set(told) == {"results", "reasoning"}
    assert set(told["reasoning"]) >= {
        *("strategy_used", "learned_from", "outcome", "execution_time_ms", "relevant_strategies"),
    }
    assert told["reasoning"]["outcome"] == "unknown"
    assert [hit["title"] for hit in told["results"] if not hit["unproven"]] == ["Page bounds"]
    shown = rbank(home, "experience", "a large price list is imported slowly").stdout
    assert "Unproven" in shown
    assert told["reasoning"]["strategy_used"] in shown
    assert rbank(home, "experience", " ").returncode == 2
    none = answer(rbank(home, "experience", "a paged export loses rows", "--limit", "0", "--json"))
    assert all(hit["unproven"] for hit in none["results"])


AGENT = """
import os, pathlib, sys
count = pathlib.Path("count")
with count.open("a") as log: log.write("x")
number = len(count.read_text())
assert "inclusive" in pathlib.Path(os.environ["RBANK_MEMORIES"]).read_text()
assert "rows" in pathlib.Path(os.environ["RBANK_TASK"]).read_text()
print("attempt", number)
sys.exit(0 if number == 2 else 3)
"""


@promise(
    "cli:scale",
    "`rbank scale` runs a program several times, says which attempt is best and why, and ends with 1 when none ran.",
    source="issue MaTTS",
)
def test_a_program_is_scaled_and_the_best_attempt_is_chosen_by_its_evidence(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with bank_of(home) as bank:
        bank.record(title="Page bounds", content="Rows of a paged export: use inclusive bounds.", outcome="success")
    agent = ("--", sys.executable, "-c", AGENT)
    done = rbank(home, "scale", "A paged export loses rows", "--k", "2", "--mode", "sequential", "--json", *agent)
    told: dict[str, Any] = answer(done)
    assert told["reason"]
    assert len(told["rollouts"]) == 2
    assert len(told["memories"]) == 1
    assert told["learned"]["distilled"] == []
    assert "wait" in done.stderr
    failed = rbank(home, "scale", "A paged export loses rows", "--json", "--", str(tmp_path / "no-such-program"))
    assert failed.returncode == 1
    assert json.loads(failed.stdout)["best"] is None
    assert "cannot be run" in failed.stdout


@promise("trust:echo")
def test_what_an_agent_lets_a_program_read_is_shown_to_its_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    lesson = "Rows of a paged export are lost at a bound: use inclusive bounds."
    with bank_of(home) as bank:
        original = bank.record(title="Page bounds", content=lesson, outcome="success")
    monkeypatch.setenv("CLAUDECODE", "1")
    agent = ("--", sys.executable, "-c", AGENT)
    told = answer(rbank(home, "scale", "A paged export loses rows", "--k", "2", "--json", *agent))
    assert told["memories"] == [original.id]
    words = ("record", "--title", "Bounds of pages", "--content", f"{lesson} Then count.")
    again = answer(rbank(home, *words, "--outcome", "success", "--json"))
    assert again["provenance"]["echo_of"] == original.id


@promise("cli:light", "The help of no learning command imports anything heavy.", source="DESIGN D12")
def test_help_of_the_learning_commands_imports_nothing_heavy() -> None:
    program = (
        "import sys; from reasoningbank.cli.app import rbank\n"
        "for name in sys.argv[1:]:\n"
        "    try: rbank([name, '--help'])\n"
        "    except SystemExit: pass\n"
        f"print(sorted(set(sys.modules) & {HEAVY!r}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program, *LEARNING], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert done.stdout.count("Usage:") == len(LEARNING)


@promise(
    "cli:distill-nothing",
    "A distill command that names no session says which ones it can be given; one that names an empty id says so.",
    source="issue 13 item 8",
)
@pytest.mark.parametrize(
    ("words", "told"), [((), "name a session, or --pending"), (("",), "session ID cannot be empty")]
)
def test_distilling_nothing_says_what_can_be_distilled(words: tuple[str, ...], told: str, tmp_path: Path) -> None:
    done = rbank(tmp_path / "home", "distill", *words)
    assert done.returncode == 2
    assert told in done.stderr
