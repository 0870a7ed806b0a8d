"""The reference page names the formats and the bounds as they are."""

from __future__ import annotations

import json
import re
from pathlib import Path

from promises import promise
from reasoningbank.sessions.readers import FORMATS, claude_code, drafts, plain
from reasoningbank.sessions.readers import json_stream as lines
from reasoningbank.sessions.readers import preparation as preparing
from reasoningbank.sessions.readers import session_files as reading
from reasoningbank.sessions.readers import turns as session
from reasoningbank.sessions.readers.json_stream import MAX_ELEMENT
from reasoningbank.types.session import EVIDENCE_KINDS
from sessions.recorded_sessions import sessions

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "capture.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|", PAGE.partition("## Limits")[2], re.MULTILINE))


@promise(
    "capture:reference",
    "The reference page of capture names every format, the plain format and every bound as the code has them.",
    source="issue 3 Interface",
)
def test_every_format_and_kind_of_evidence_is_described() -> None:
    assert set(re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE)) == set(FORMATS) - {"auto"}
    assert all(f"`{kind}`" in PAGE for kind in EVIDENCE_KINDS)
    assert all(f"`{key}`" in PAGE for key in (plain.STEP_KEYS | plain.HEAD_KEYS))
    assert f"fewer than {session.MIN_MESSAGES} messages" in PAGE


@promise("capture:reference")
def test_the_bounds_are_those_of_the_code() -> None:
    assert ROWS["a line"] == f"{lines.MAX_LINE // 2**20} MiB"
    assert ROWS["an element of an array or a value in a document"] == f"{MAX_ELEMENT // 2**20} Mi characters"
    assert ROWS["a text of a session"] == f"{drafts.MAX_TEXT:,} characters"
    assert ROWS["an unredacted text in memory"] == f"{drafts.INTAKE:,} characters"
    assert ROWS["the steps of a session"] == f"{drafts.MAX_STEPS:,}"
    assert ROWS["all texts of a session's steps"] == f"{preparing.MAX_TRAJECTORY:,} characters"
    assert ROWS["a name, a value of the metadata"] == f"{preparing.MAX_NAME} characters"
    assert ROWS["entries of the metadata"] == str(preparing.MAX_METADATA)
    assert ROWS["facts"] == f"{preparing.MAX_EVIDENCE:,}, of which a plain session brings at most {plain.MAX_GIVEN}"
    assert ROWS["memories of a session"] == f"{preparing.MAX_MEMORIES:,}"
    assert ROWS["sessions of one Claude Code file open at a time"] == str(claude_code.MAX_SESSIONS)
    assert ROWS["parts of a file reported one by one"] == f"{reading.MAX_PROBLEMS:,}"
    assert f"first {drafts.HEAD_STEPS} and the last {drafts.MAX_STEPS - drafts.HEAD_STEPS}" in PAGE
    assert f"{drafts.MARGIN:,} more characters" in PAGE


@promise("capture:reference")
def test_the_example_is_a_session(tmp_path: Path) -> None:
    example = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    (trajectory,) = sessions(tmp_path, example.group(1))
    assert trajectory.task == json.loads(example.group(1).splitlines()[0])["task"]
    assert [step.exit_code for step in trajectory.steps] == [2]
