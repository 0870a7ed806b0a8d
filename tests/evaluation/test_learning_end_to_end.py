"""Transcript in, lessons out, found in a new process: through the installed command and a local server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import cast

from llm.replay_server import ReplayServer
from promises import promise
from sessions.recorded_learning import LESSON, NEVER, OPINION, trials, write

RBANK = Path(sys.executable).parent / "rbank"


def rbank(home: Path, url: str, *arguments: str) -> dict[str, object]:
    """The JSON answer of the installed command in a process of its own, with a model at this address."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REASONINGBANK_")}
    done = subprocess.run(
        [str(RBANK), "--tenant", "acme", "--project", "shop", *arguments, "--json"],
        env={
            **kept,
            "REASONINGBANK_HOME": str(home),
            "REASONINGBANK_LLM": "openai:recorded",
            "REASONINGBANK_LLM_URL": url,
            "REASONINGBANK_GRAPH_FROM_SESSIONS": "never",
            "REASONINGBANK_PAID_CALLS": "false",
            "REASONINGBANK_SHARED": "false",
        },
        cwd=home.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return cast(dict[str, object], json.loads(done.stdout))


@promise(
    "learning-evaluation:end-to-end",
    "With a local OpenAI-compatible server a transcript goes in, lessons come out and a new process finds them.",
    source="issue 3 It must show",
)
def test_a_transcript_becomes_lessons_that_a_new_process_finds(tmp_path: Path) -> None:
    transcript = tmp_path / "session.json"
    write(transcript, [{"traj": trials()[2]["traj"]}, {"traj": trials()[3]["traj"]}])
    answers = [
        json.dumps({"strategies": [], "lessons": [LESSON]}),
        json.dumps(OPINION),
        "```json\n" + json.dumps({"lessons": [LESSON, NEVER]}) + "\n```",
    ]
    home = tmp_path / "home"
    with ReplayServer(answers) as server:
        captured = rbank(home, server.url, "capture", str(transcript))
        assert (captured["captured"], captured["duplicates"], captured["skipped_lines"]) == (2, 0, 0)
        sessions = cast(list[dict[str, object]], captured["trajectories"])
        assert [session["verdict"] for session in sessions] == ["failure", "unknown"]
        again = rbank(home, server.url, "capture", str(transcript))
        assert (again["captured"], again["duplicates"]) == (0, 2)
        assert server.requests == ()
        learned = rbank(home, server.url, "distill", "--pending")
        assert server.left == 0
    (memory_id,) = cast(list[str], learned["distilled"])
    assert learned["corroborated"] == [memory_id]
    assert [one["reason"] for one in cast(list[dict[str, object]], learned["refused"])] == ["no_trigger"]
    assert learned["pending"] == 0
    query = "a customer asks for money back on a ticket"
    found = rbank(home, "http://127.0.0.1:9/v1", "search", query)
    (hit,) = cast(list[dict[str, object]], found["unproven"])
    assert (hit["id"], hit["title"], hit["confidence"]) == (memory_id, LESSON["title"], 0.6)
    assert "Do instead: Check the cancellation condition" in str(hit["content"])
