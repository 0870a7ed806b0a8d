"""What learning costs without a model: a thousand sessions of fifty steps read, redacted, judged and stored."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from reasoningbank.sessions.judge import by_evidence
from reasoningbank.sessions.readers import read
from reasoningbank.storage import open_storage
from reasoningbank.types.scope import Scope
from reasoningbank.types.session import Trajectory

SESSIONS = 1_000
STEPS = 50
LIMIT = 60.0
SHARES = 4
"""A quarter of the sessions is measured on every call; the printed figure is for all of them."""
RANDOM = random.Random(20_261_121)
WORDS = re.findall(
    r"\w+",
    "def class return import self None True assert test value result error path line file module package request "
    "response token user session config build run check index query table column commit branch merge worker queue "
    "retry timeout cache parse render handler stream buffer thread lock cursor schema field record update delete",
)
FILES = [
    f"src/app/{first}/{second}_{third}.py" for first in WORDS[20:28] for second in WORDS[:6] for third in WORDS[8:12]
]


def output(length: int) -> str:
    """Lines as tools print them: listings, code with line numbers, log lines, diffs."""
    lines: list[str] = []
    size = 0
    while size < length:
        words = " ".join(RANDOM.choices(WORDS, k=RANDOM.randint(4, 12)))
        kind = RANDOM.randrange(5)
        if kind == 0:
            line = f"-rw-r--r-- 1 dev dev {RANDOM.randrange(10**6):>7} Nov 21 10:07 {RANDOM.choice(FILES)}"
        elif kind == 1:
            line = f"{RANDOM.randrange(900):>6}\t    {words.replace(' ', '_')} = self.{RANDOM.choice(WORDS)}(x)"
        elif kind == 2:
            line = f"2026-11-21T10:00:{RANDOM.randrange(60):02}Z INFO worker-{RANDOM.randrange(9)} {words}"
        elif kind == 3:
            line = f"{RANDOM.choice(FILES)}:{RANDOM.randrange(400)}: {words}"
        else:
            line = f"+    {words}"
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines)


def transcript(number: int) -> str:
    """One session as Claude Code writes it."""
    session = f"session-{number}"
    common = {"sessionId": session, "isSidechain": False, "cwd": "/home/dev/app", "version": "2.1.0"}
    lines: list[dict[str, object]] = [
        {
            **common,
            "type": "user",
            "uuid": f"{number}-task",
            "timestamp": "2026-11-21T10:00:00Z",
            "message": {"role": "user", "content": f"Fix number {number}: {' '.join(RANDOM.choices(WORDS, k=20))}."},
        }
    ]
    for step in range(STEPS):
        call = f"toolu_{number}_{step}"
        last = step == STEPS - 1
        command = "pytest -q" if step % 10 == 9 else f"grep -n {RANDOM.choice(WORDS)} {RANDOM.choice(FILES)}"
        failed = step % 10 == 9 and not last
        seen = output(RANDOM.randint(500, 2_000))
        if step % 10 == 9:
            seen += "\n=== 12 passed in 0.31s ===" if last else "\n=== 2 failed, 10 passed in 0.35s ==="
        thought = " ".join(RANDOM.choices(WORDS, k=25))
        tool: dict[str, object] = {"name": "Bash", "input": {"command": command, "description": thought[:40]}}
        if step == STEPS - 2:
            old, new = RANDOM.choices(WORDS, k=2)
            changed = {"file_path": "/home/dev/app/src/app/client.py", "old_string": old, "new_string": new}
            tool = {"name": "Edit", "input": changed}
        content = [{"type": "text", "text": thought}, {"type": "tool_use", "id": call, **tool}]
        answer = {"type": "tool_result", "tool_use_id": call, "content": seen, "is_error": failed}
        if failed:
            answer["content"] = f"Exit code 1\n{seen}"
        if step == STEPS // 2:
            answer["content"] = f"export API_TOKEN=gh{'p_'}{RANDOM.getrandbits(180):036x}\n{answer['content']}"
        lines.append(
            {**common, "type": "assistant", "uuid": f"{call}a", "message": {"role": "assistant", "content": content}}
        )
        lines.append({**common, "type": "user", "uuid": f"{call}u", "message": {"role": "user", "content": [answer]}})
    return "\n".join(json.dumps(line) for line in lines)


@pytest.fixture(scope="module")
def transcripts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """A quarter of a thousand transcripts."""
    folder = tmp_path_factory.mktemp("transcripts")
    paths = []
    for number in range(SESSIONS // SHARES):
        paths.append(folder / f"{number}.jsonl")
        paths[-1].write_text(transcript(number), encoding="utf-8")
    yield paths


def test_a_thousand_sessions(benchmark: BenchmarkFixture, tmp_path: Path, transcripts: list[Path]) -> None:
    store = open_storage(None, home=tmp_path / "home").open(Scope(tenant="bench", project="bench"))
    seconds = {"read and redact": 0.0, "judge": 0.0, "store": 0.0}
    verdicts: list[str] = []

    def learn() -> None:
        for path in transcripts:
            start = time.process_time()
            (trajectory,) = [found for found in read(path) if isinstance(found, Trajectory)]
            assert len(trajectory.steps) == STEPS
            seen = time.process_time()
            judgement = by_evidence(trajectory, at=datetime.now(UTC))
            judged = time.process_time()
            with store.transaction() as transaction:
                assert transaction.sessions.keep(trajectory)
                transaction.sessions.judge(trajectory.id, judgement)
            kept = time.process_time()
            seconds["read and redact"] += seen - start
            seconds["judge"] += judged - seen
            seconds["store"] += kept - judged
            verdicts.append(judgement.verdict)

    benchmark.pedantic(learn, rounds=1)
    size = sum(path.stat().st_size for path in transcripts) * SHARES / 1e6
    total = sum(seconds.values()) * SHARES
    parts = ", ".join(f"{name} {value * SHARES:.1f} s" for name, value in seconds.items())
    print(
        f"\n1,000 sessions of {STEPS} steps ({size:.0f} MB): {total:.1f} s of CPU time (limit {LIMIT:.0f} s): {parts}"
    )
    benchmark.extra_info.update(seconds_per_thousand=total)
    store.close()
    assert set(verdicts) == {"success"}
    assert total < LIMIT
