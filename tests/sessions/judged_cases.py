"""Sessions and facts that the tests of the judge share."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import strategies as st

from reasoningbank.types.session import EVIDENCE_KINDS, Evidence, Step, Trajectory

NOW = datetime(2026, 1, 2, tzinfo=UTC)
PASSED = "1 passed in 0.01s\n"
FAILED = "1 failed in 0.01s\n"
NAMES = ("", "pytest", "pytest tests", "pytest tests/a.py", "pytest tests/b.py", "pytest -k=x", "make build", "abc1234")


def session(*steps: Step, evidence: tuple[Evidence, ...] = (), answer: str = "") -> Trajectory:
    return Trajectory(task="Repair the sums", steps=steps, evidence=evidence, final_answer=answer, created_at=NOW)


def shell(action: str, observation: str = "", exit_code: int | None = 0, **more: str) -> Step:
    return Step(tool="bash", action=action, observation=observation, exit_code=exit_code, **more)


def suite(succeeded: bool, target: str = "", **more: str) -> Step:
    return shell(f"pytest {target}".strip(), PASSED if succeeded else FAILED, 0 if succeeded else 1, **more)


STEPS = st.builds(
    Step,
    user=st.sampled_from(["", "", "It works now.", "That did not work.", "thanks"]),
    thought=st.sampled_from(["", "hm"]),
    action=st.sampled_from(["", "ls", "pytest", "git commit -m x", "git revert HEAD", '{"path": "a"}', "make"]),
    tool=st.sampled_from(["", "bash", "Edit", "Read"]),
    observation=st.sampled_from(["", PASSED, FAILED, "[main abc1234] x", "Error: no", "{"]) | st.text(max_size=30),
    error=st.sampled_from(["", "", "no such file"]),
    exit_code=st.sampled_from([None, 0, 1, 127, -9]),
    actor=st.sampled_from(["", "", "helper"]),
)
EVIDENCE = st.builds(
    Evidence,
    kind=st.sampled_from(EVIDENCE_KINDS),
    positive=st.booleans(),
    detail=st.text(max_size=10),
    step=st.none() | st.integers(-1, 9),
    name=st.sampled_from(NAMES),
)
