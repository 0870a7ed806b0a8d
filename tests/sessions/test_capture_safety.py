"""Nothing secret and nothing of the bank's own gets into a trajectory, and what is cut is said to be cut."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.safety.quotation import BLOCK_END, BLOCK_START
from reasoningbank.sessions.readers import prepare
from reasoningbank.sessions.readers.drafts import HEAD_STEPS, INTAKE, MAX_STEPS, MAX_TEXT
from reasoningbank.sessions.readers.preparation import CHARACTERS_LEFT_OUT, MAX_TRAJECTORY, STEPS_LEFT_OUT
from reasoningbank.types.memory import new_id
from reasoningbank.types.session import Evidence, Step, Trajectory
from sessions.recorded_sessions import (
    ANSWER,
    TASK,
    TURNS,
    WRITERS,
    Turn,
    all_texts,
    claude_code,
    codex,
    message_list,
    sessions,
)

RANDOM = random.Random(20_261_122)
LETTERS = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"


def made(length: int, alphabet: str = LETTERS) -> str:
    """Random characters with a digit, and with both cases where the alphabet has them."""
    while True:
        text = "".join(RANDOM.choice(alphabet) for _ in range(length))
        tests = (str.isdigit, str.islower, str.isupper)
        if all(any(map(test, text)) or not any(map(test, alphabet)) for test in tests) and text[-1].isalnum():
            return text


def private_key() -> str:
    body = "\n".join(made(64) for _ in range(6))
    return f"-----BEGIN RSA {'PRIVATE'} KEY-----\n{body}\n-----END RSA {'PRIVATE'} KEY-----"


KINDS: dict[str, Callable[[], str]] = {
    "aws key": lambda: "AK" + "IA" + made(16, UPPER),
    "github": lambda: "gh" + "p_" + made(36),
    "github fine grained": lambda: "github" + "_pat_" + made(22) + "_" + made(59),
    "gitlab": lambda: "glp" + "at-" + made(20),
    "slack": lambda: "xo" + "xb-" + made(12, string.digits) + "-" + made(24),
    "stripe": lambda: "sk_" + "live_" + made(24),
    "jwt": lambda: "ey" + "J" + made(20) + ".ey" + "J" + made(40) + "." + made(43),
    "openai": lambda: "sk" + "-proj-" + made(120),
    "anthropic": lambda: "sk" + "-ant-api03-" + made(93) + "AA",
    "google": lambda: "AI" + "za" + made(35),
    "sendgrid": lambda: "S" + "G." + made(22) + "." + made(43),
    "npm": lambda: "np" + "m_" + made(36),
    "hugging face": lambda: "h" + "f_" + made(34),
    "database password": lambda: f"postgres://app:{made(16)}@db.example.com/shop",
    "private key": private_key,
}
SECRETS = [(kind, KINDS[kind]()) for kind in [*KINDS] * 14][:200]


def cores(kind: str, secret: str) -> list[str]:
    """What must not be readable anywhere."""
    if kind == "database password":
        return [secret.split(":")[2].split("@")[0]]
    if kind == "private key":
        return secret.splitlines()[1:-1]
    return [secret]


@promise(
    "capture:secrets",
    "Of 200 secrets of 15 kinds planted in thoughts, actions, observations, task and answer of every format none is "
    "in any text of the trajectory, nor a piece of one beside a cut, nor in names and given facts.",
    source="issue 3 It must show (200 secrets of 15 kinds); DESIGN D10",
)
@pytest.mark.parametrize("name", WRITERS)
def test_two_hundred_secrets_of_fifteen_kinds_in_every_place(name: str, tmp_path: Path) -> None:
    assert len(SECRETS) == 200
    assert len({kind for kind, _ in SECRETS}) == 15
    write, _ = WRITERS[name]
    turns = []
    for number, (kind, secret) in enumerate(SECRETS):
        place = number % 4
        said = f"I was given {secret} for step {number}." if place == 0 else f"Step {number}."
        ran = f"deploy --with '{secret}' --step {number}" if place == 1 and kind != "private key" else f"run {number}"
        seen = f"line one of {number}\nvalue {secret}\nlast line" if place > 1 or kind == "private key" else "fine"
        turns.append(Turn(said, ran, seen, number % 2))
    task = f"{TASK} The key is {SECRETS[1][1]}."
    (trajectory,) = sessions(tmp_path, write(turns, task, f"{ANSWER} It was {SECRETS[2][1]}."))
    whole = all_texts(trajectory)
    flat = whole.replace("\\n", "\n")
    leaked = [kind for kind, secret in SECRETS for core in cores(kind, secret) if core in whole or core in flat]
    assert not leaked
    assert whole.count("[REDACTED:") >= 150


@promise("capture:secrets")
@pytest.mark.parametrize("length", [MAX_TEXT, INTAKE, INTAKE + 1, INTAKE + 4_000, 3 * INTAKE, 200_000])
def test_no_secret_survives_at_a_cut(length: int) -> None:
    for kind, secret in SECRETS[:15]:
        for around in (
            0,
            MAX_TEXT // 2,
            INTAKE // 2,
            length // 2,
            length - INTAKE // 2,
            length - MAX_TEXT // 2,
            length,
        ):
            for shift in (2, len(secret) // 2):
                at = max(0, around - shift)
                text = (
                    f"{'word ' * (at // 5 + 1)}"[: max(0, at - 1)]
                    + f" {secret}"
                    + (" more" * (length // 5 + 1))[: max(0, length - at)]
                )
                (step,) = prepare(Trajectory(task=TASK, steps=(Step(observation=text),))).steps
                assert len(step.observation) <= MAX_TEXT
                for core in cores(kind, secret):
                    assert core not in step.observation
                    piece = core[: len(core) * 2 // 3][-24:]
                    assert len(piece) < 12 or piece not in step.observation, (kind, around, shift)
            if length > 3 * INTAKE:
                break


@promise("capture:secrets")
def test_secrets_in_names_and_given_facts_are_redacted() -> None:
    key = KINDS["github"]()
    trajectory = prepare(
        Trajectory(
            task=TASK,
            session=f"run {key}",
            source=key,
            steps=(Step(tool=key, actor=f"agent\n{key}", error=f"bad {key}", user=key),),
            metadata={key: "a", "b": key},
            evidence=(Evidence(kind="commit", positive=True, detail=f"made {key}", name=key),),
        )
    )
    assert key not in all_texts(trajectory)


IDS = [new_id() for _ in range(4)]
BLOCK = f"""{BLOCK_START} recall="{new_id()}">
[1] strategy that worked | id {IDS[0]} | confidence 0.80
> ECHO Make the range inclusive.
[2] {{"id": "{IDS[1]}", "title": "ECHO"}}
{BLOCK_END}"""


@promise(
    "capture:echo",
    "The bank's own blocks, and the answers of its tools and its command line, are taken out of a session; the "
    "memories they showed are listed.",
    source="issue 3 Capture (echo guard); DESIGN D10",
)
@pytest.mark.parametrize("name", WRITERS)
def test_the_banks_own_block_is_taken_out_and_its_memories_are_listed(name: str, tmp_path: Path) -> None:
    write, _ = WRITERS[name]
    turns = [Turn(f"{turn.thought}", turn.action, f"{BLOCK}\n{turn.observation}", turn.exit_code) for turn in TURNS]
    (trajectory,) = sessions(tmp_path, write(turns, f"{BLOCK}\n\n{TASK}\n{BLOCK}"))
    assert "ECHO" not in repr(trajectory)
    assert "reasoningbank-memories" not in repr(trajectory)
    assert trajectory.task == TASK
    assert trajectory.memories == (IDS[0], IDS[1])


@promise("capture:echo")
def test_a_block_that_a_hook_put_beside_the_talk_counts_as_seen(tmp_path: Path) -> None:
    lines = claude_code().splitlines()
    hook = {
        "type": "attachment",
        "sessionId": "cc-1",
        "attachment": {"type": "hook_additional_context", "content": [BLOCK]},
    }
    meta = {
        "type": "user",
        "sessionId": "cc-1",
        "isMeta": True,
        "uuid": "m",
        "message": {"content": BLOCK.replace(IDS[0], IDS[2])},
    }
    (trajectory,) = sessions(tmp_path, "\n".join([*lines[:3], json.dumps(hook), json.dumps(meta), *lines[3:]]))
    assert trajectory.memories == (IDS[0], IDS[1], IDS[2])
    assert "ECHO" not in repr(trajectory)


@promise("capture:echo")
@pytest.mark.parametrize(
    "tool", ["memory_search", "mcp__reasoningbank__memory_search_with_experience", "reasoningbank.memory_get"]
)
def test_answers_of_the_banks_own_tools_are_replaced(tool: str, tmp_path: Path) -> None:
    answer = (
        f"[1] strategy that worked | id {IDS[0]} | 0.8\n> ECHO\n\n{json.dumps({'id': IDS[1], 'recall_id': IDS[3]})}"
    )
    turns = [Turn("Ask the memory.", "ECHO query", answer), *TURNS]
    for text in (claude_code(turns, tool=tool), codex(turns, tool=tool), json.dumps(message_list(turns, tool=tool))):
        (trajectory,) = sessions(tmp_path, text)
        first = trajectory.steps[0]
        assert first.tool == tool
        assert first.action == ""
        assert first.observation == f"[answer of the bank's own {tool}: 2 memories]"
        assert trajectory.memories == (IDS[0], IDS[1])
        assert "ECHO" not in repr(trajectory)


@promise("capture:echo")
def test_answers_of_the_banks_command_line_are_replaced_and_others_are_not(tmp_path: Path) -> None:
    turns = [
        Turn("a", "rbank search 'page size' --json", f'{{"memories": [{{"id": "{IDS[0]}", "title": "ECHO"}}]}}'),
        Turn("b", "/usr/bin/rbank record --title ECHO", f"recorded id {IDS[1]} ECHO"),
        Turn("c", "rbank search x && pytest -q", "4 passed"),
        Turn("d", "grep -n reasoningbank setup.cfg", "name = reasoningbank"),
        Turn("e", "cat echo.py", f'BLOCK_START = "{BLOCK_START}"'),
    ]
    (trajectory,) = sessions(tmp_path, claude_code(turns))
    assert [step.observation for step in trajectory.steps[:5]] == [
        "[answer of the bank's own rbank search: 1 memory]",
        "[answer of the bank's own rbank record: 0 memories]",
        "4 passed",
        "name = reasoningbank",
        f'BLOCK_START = "{BLOCK_START}"',
    ]
    assert trajectory.memories == (IDS[0],)
    assert "ECHO" not in repr(trajectory)


@promise("capture:echo")
def test_a_block_whose_end_was_cut_off_is_taken_out_too() -> None:
    (step,) = prepare(Trajectory(task=TASK, steps=(Step(observation=f"before {BLOCK[:150]}"),))).steps
    assert step.observation == "before "


@promise(
    "capture:bounds",
    "Texts, steps and whole trajectories are bounded; beginning and end are kept, and what was cut is said.",
    source="issue 3 Capture",
)
def test_long_texts_keep_both_ends_and_say_what_is_missing() -> None:
    for length in (MAX_TEXT + 1, INTAKE, INTAKE + 1, 500_000):
        text = f"START {'x y ' * (length // 4)} END"
        trajectory = prepare(Trajectory(task=TASK, steps=(Step(observation=text),), final_answer="a " * 9_000))
        seen = trajectory.steps[0].observation
        assert seen.startswith("START")
        assert seen.endswith("END")
        assert len(seen) <= MAX_TEXT
        missing = int(seen.partition("[... ")[2].partition(" characters cut ...]")[0])
        kept = len(seen) - len(f"\n[... {missing} characters cut ...]\n")
        assert abs(kept + missing - len(text)) <= 40
        assert int(trajectory.metadata[CHARACTERS_LEFT_OUT]) > missing


@promise("capture:bounds")
def test_a_session_of_too_many_steps_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    turns = [Turn(f"thought {number}.", f"run {number}", f"seen {number}") for number in range(3 * MAX_STEPS)]
    (trajectory,) = sessions(tmp_path, claude_code(turns))
    assert len(trajectory.steps) == MAX_STEPS
    assert [step.action for step in trajectory.steps[:HEAD_STEPS]] == [f"run {n}" for n in range(HEAD_STEPS)]
    assert trajectory.steps[-2].observation == f"seen {3 * MAX_STEPS - 1}"
    assert trajectory.metadata[STEPS_LEFT_OUT] == str(2 * MAX_STEPS + 1)


@promise("capture:bounds")
def test_the_whole_trajectory_is_bounded() -> None:
    steps = tuple(Step(thought="a b " * 3_000, observation="c d " * 3_000) for _ in range(200))
    trajectory = prepare(Trajectory(task=TASK, steps=steps))
    assert len(trajectory.steps) == 200
    assert sum(len(step.thought) + len(step.observation) for step in trajectory.steps) <= MAX_TRAJECTORY
    assert all("characters cut" in step.thought for step in trajectory.steps)


@promise("capture:bounds")
def test_given_facts_keep_to_their_steps_when_steps_are_left_out() -> None:
    steps = tuple(Step(action=f"run {number}") for number in range(MAX_STEPS + 50))
    places = (3, HEAD_STEPS + 10, MAX_STEPS + 49)
    facts = tuple(Evidence(kind="commit", positive=True, detail=f"run {place}", step=place) for place in places)
    trajectory = prepare(Trajectory(task=TASK, steps=steps, evidence=facts))
    given = [fact for fact in trajectory.evidence if fact.detail.startswith("run ")]
    assert [fact.step for fact in given] == [3, None, MAX_STEPS - 1]
    assert trajectory.steps[MAX_STEPS - 1].action == f"run {MAX_STEPS + 49}"
