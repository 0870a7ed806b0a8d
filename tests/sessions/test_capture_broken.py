"""Whatever bytes a file holds: sessions, or what was skipped with its place and the reason, or a plain refusal."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promises import promise
from reasoningbank.errors import UnreadableTranscript
from reasoningbank.sessions.readers import FORMATS, Skipped, read
from reasoningbank.sessions.readers.json_stream import MAX_ELEMENT, MAX_LINE
from reasoningbank.sessions.readers.session_files import MAX_PROBLEMS
from reasoningbank.types.session import Trajectory
from sessions.recorded_sessions import (
    TASK,
    TURNS,
    WRITERS,
    Turn,
    claude_code,
    message_list,
    plain_session,
    plain_steps,
    results,
)


def outcome(path: Path, text: str | bytes, *, format: str = "auto") -> list[Trajectory | Skipped]:  # noqa: A002
    """What reading gives; a refusal counts as nothing."""
    try:
        found = results(path, text, format=format)
    except UnreadableTranscript as error:
        assert error.hint
        return []
    for result in found:
        assert isinstance(result, Trajectory | Skipped)
        if isinstance(result, Skipped):
            assert result.reason
            assert result.place >= 0
        else:
            json.dumps([result.task, [repr(step) for step in result.steps]]).encode("utf-8")
            assert len(result.digest) == 32
    return found


@promise(
    "capture:broken-lines",
    "A line, element or end that cannot be read, or is too long, is reported with its place and a reason, and "
    "everything else of the file counts.",
    source="issue 3 Capture (broken lines reported and skipped)",
)
def test_broken_lines_are_reported_with_their_number_and_the_rest_counts(tmp_path: Path) -> None:
    good = claude_code().splitlines()
    lines = [good[0], "{not json", *good[1:4], '"a text"', "", good[4][:40], *good[5:], "\xff", "[1]", "{}"]
    raw = "\n".join(lines).encode("utf-8").replace("\xff".encode(), b"\xff")
    found = results(tmp_path, raw)
    problems = [result for result in found if isinstance(result, Skipped)]
    number = len(lines)
    assert [problem.place for problem in problems] == [2, 6, 8, number - 2, number - 1, number]
    assert {problem.reason for problem in problems} == {
        "it is not JSON",
        "it is not UTF-8",
        "it must be an object with a type",
    }
    (trajectory,) = [result for result in found if isinstance(result, Trajectory)]
    assert trajectory.task == TASK
    assert len(trajectory.steps) == len(TURNS) + 1


@promise("capture:broken-lines")
def test_a_transcript_that_is_still_written_or_was_cut_gives_what_is_there(tmp_path: Path) -> None:
    for name in sorted(set(WRITERS) - {"array of sessions", "plain session"}):
        whole = WRITERS[name][0]()
        found = outcome(tmp_path, whole[: len(whole) * 3 // 4])
        assert [result for result in found if isinstance(result, Skipped)], name
        if name != "SWE-agent":
            (trajectory,) = [result for result in found if isinstance(result, Trajectory)]
            assert trajectory.task == TASK, name


@promise("capture:broken-lines")
def test_the_whole_sessions_before_a_cut_count(tmp_path: Path) -> None:
    array = json.dumps([{"id": number, "messages": message_list()} for number in range(3)])
    found = outcome(tmp_path, array[: len(array) * 5 // 6])
    assert [type(result) for result in found] == [Trajectory, Trajectory, Skipped]
    lines = plain_session() * 3
    found = outcome(tmp_path, lines[: len(lines) * 5 // 6])
    assert [type(result) for result in found] == [Trajectory, Trajectory, Skipped]


@promise("capture:broken-lines")
def test_a_line_that_is_too_long_is_passed_over(tmp_path: Path) -> None:
    long = json.dumps({"session": "p-1", "thought": "x" * (MAX_LINE + 10)})
    lines = plain_steps().splitlines()
    found = results(tmp_path, "\n".join([lines[0], long, *lines[1:]]))
    assert [result for result in found if isinstance(result, Skipped)] == [Skipped(2, "the line is longer than 8 MiB")]
    assert len([result for result in found if isinstance(result, Trajectory)]) == 1


@promise("capture:broken-lines")
def test_an_element_that_is_too_long_is_passed_over(tmp_path: Path) -> None:
    messages = message_list()
    messages.insert(3, {"role": "assistant", "content": 'a "quoted" ] \\ text ' * (MAX_ELEMENT // 16)})
    found = results(tmp_path, json.dumps(messages))
    assert [result for result in found if isinstance(result, Skipped)] == [
        Skipped(4, "it is longer than 16 Mi characters")
    ]
    assert len([result for result in found if isinstance(result, Trajectory)]) == 1


@promise("capture:broken-lines")
def test_many_problems_are_summed_up(tmp_path: Path) -> None:
    found = results(tmp_path, claude_code() + "broken\n" * (3 * MAX_PROBLEMS))
    problems = [result for result in found if isinstance(result, Skipped)]
    assert len(problems) == MAX_PROBLEMS
    assert problems[-1].reason == f"{2 * MAX_PROBLEMS + 1} further parts of the file cannot be read"


@promise(
    "capture:no-session",
    "A file that cannot be opened, is empty or has no known format is refused with a hint.",
    source="issue 3 Capture",
)
@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x00" * 999,
        b"# A page\n\nof prose",
        b"PK\x03\x04" + bytes(range(256)),
        b"{}",
        b"[]",
        b"[1, 2]",
        b'{"a": 1}',
    ],
)
def test_a_file_without_a_session_is_refused(text: bytes, tmp_path: Path) -> None:
    with pytest.raises(UnreadableTranscript) as refusal:
        results(tmp_path, text)
    assert "--format" in refusal.value.hint


@promise("capture:no-session")
def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.jsonl", tmp_path, Path("a\0b")):
        with pytest.raises(UnreadableTranscript, match="cannot be read"):
            list(read(path))


@promise(
    "capture:any-bytes",
    "Whatever bytes or JSON values a file holds, reading it gives sessions and reports or that refusal, never another "
    "error.",
    source="issue 3 Capture",
)
@settings(max_examples=150)
@given(st.binary(max_size=400), st.sampled_from(FORMATS), st.booleans())
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes, format: str, inside: bool) -> None:  # noqa: A002
    folder = tmp_path_factory.getbasetemp()
    whole = claude_code().encode()
    outcome(folder, whole[:600] + data + whole[600:] if inside else data, format=format)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["\ud800", "<system-reminder>", "exitcode: 999999999999", "9" * 400, "2026-99-99T00:00:00Z", -(2**70)]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def changed(value: object, strange: object, choose: random.Random, chance: float) -> object:
    """The value with some of its parts put in place of others."""
    if choose.random() < chance:
        return strange
    if isinstance(value, dict):
        return {
            strange if isinstance(strange, str) and choose.random() < chance / 4 else key: changed(
                part, strange, choose, chance
            )
            for key, part in value.items()
            if choose.random() >= chance / 4
        }
    if isinstance(value, list):
        return [changed(part, strange, choose, chance) for part in value]
    return value


@promise("capture:any-bytes")
@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=40)
@given(strange=VALUES, seed=st.integers(0, 2**32), chance=st.sampled_from([0.01, 0.05, 0.3]))
def test_any_value_in_any_place(
    tmp_path_factory: pytest.TempPathFactory, name: str, strange: object, seed: int, chance: float
) -> None:
    write, source = WRITERS[name]
    choose = random.Random(seed)
    text = write()
    if text.startswith(("[", "{\n")) or name == "mini-swe-agent":
        text = json.dumps(changed(json.loads(text), strange, choose, chance))
    else:
        text = "\n".join(json.dumps(changed(json.loads(line), strange, choose, chance)) for line in text.splitlines())
    folder = tmp_path_factory.getbasetemp()
    outcome(folder, text)
    outcome(folder, text, format=source)


@promise("capture:any-bytes")
@pytest.mark.parametrize("format", FORMATS)
def test_deep_nesting_and_long_numbers(format: str, tmp_path: Path) -> None:  # noqa: A002
    for inside in (
        "[" * 100_000,
        "[" * 5_000 + "]" * 1_500,
        '{"a":' * 50_000,
        "9" * 1_500,
        "1e999",
        "NaN",
        "-Infinity",
    ):
        for text in (f'{{"type": "user", "message": {inside}}}', f'{{"messages": [{inside}', f"[{inside}", inside):
            outcome(tmp_path, text, format=format)
            outcome(tmp_path, f"{claude_code()}{text}\n", format=format)


@promise("capture:any-bytes")
@settings(max_examples=100)
@given(st.lists(VALUES, max_size=5), st.integers(1, 5), st.booleans())
def test_a_document_read_in_pieces_gives_the_same_as_read_whole(
    tmp_path_factory: pytest.TempPathFactory, values: list[object], chunk: int, spaced: bool
) -> None:
    import io

    from reasoningbank.sessions.readers import json_stream as documents

    text = json.dumps(values, indent=2 if spaced else None)
    known, documents._CHUNK = documents._CHUNK, chunk
    try:
        found = [
            part.value
            for part in documents.parts(io.BytesIO(text.encode()))
            if isinstance(part, documents.DocumentPart)
        ]
    finally:
        documents._CHUNK = known
    assert json.dumps(found) == json.dumps(json.loads(text))


HOSTILE = {
    "spaces": " \n" * 50_000,
    "tags": "<system-reminder><command-args><pr_description><output><exception>" * 1_500,
    "blocks": '<reasoningbank-memories a="b"><reasoningbank-memories ' * 1_500,
    "fences": "```bash\n```sh\n" * 6_000,
    "issues": "ISSUE:\n\nINSTRUCTIONS\n" * 5_000,
    "ids": 'id: id=id" : 0198' * 6_000,
    "headers": "Chunk ID: 1\nExit code: 1\n" * 4_000,
    "brackets": '[{"a": ' * 10_000,
    "commands": "rbank rbank/rbank reasoningbank " * 3_000,
}


@promise(
    "capture:time",
    "The time to read a session grows with its length and no faster, also for texts made of half-open marks, blanks "
    "and nested brackets.",
    source="issue 3 Capture; seed 000 P (bounded work)",
)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_time_grows_with_the_text_and_no_faster(text: str, tmp_path: Path) -> None:
    seconds = {}
    for share in (4, 1):
        part = text[: len(text) // share]
        turns = [Turn(part, part, part), Turn(part, f"rbank {part}", f"<returncode>1</returncode>\n{part}", 1)]
        start = time.process_time()
        for write, _ in WRITERS.values():
            outcome(tmp_path, write(turns, f"Please solve this issue: {part}", part))
        seconds[share] = time.process_time() - start
    assert seconds[1] < 10 * seconds[4] + 2.0, seconds
