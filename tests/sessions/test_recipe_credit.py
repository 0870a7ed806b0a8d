"""A recipe is credited with sessions that met its error; to the others it was only shown."""

from __future__ import annotations

import pytest

from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.types.memory import Memory
from reasoningbank.types.session import Step, Trajectory
from sessions.judged_cases import shell

NO_YAML = (
    "Traceback (most recent call last):\n  File '{0}', line 3, in <module>\nModuleNotFoundError: No module named 'yaml'"
)
NO_TABLE = (
    'Traceback (most recent call last):\n  File "x.py", line 9, in q\nOperationalError: no such table: ledger_rows'
)
FAILED, PASSED = "1 failed, 3 passed in 0.12s", "4 passed in 0.11s"
TASK = "Get the tests of the ledger to pass again."
OWN = (
    shell("pytest -q", f"FAILED tests/test_sums.py::test_tax - assert 118 == 119\n{FAILED}", 1),
    Step(tool="Edit", action='{"file_path": "sums.py", "old_string": "18", "new_string": "19"}', observation="edited"),
    shell("pytest -q", PASSED),
)


def mended(session: str, error: str, repair: str) -> Trajectory:
    steps = (shell("pytest -q", f"{error}\n{FAILED}", 1), shell(repair, "done"), shell("pytest -q", PASSED))
    return Trajectory(task=TASK, steps=steps, session=session)


def learned(bank: Bank, *taught: Trajectory) -> list[Memory]:
    for one in taught:
        bank.sessions.keep(one)
    bank.jobs.work()
    return list(bank.memories.list())


def confidences(bank: Bank, memories: list[Memory]) -> list[float]:
    return [bank.get(memory.id).confidence for memory in memories]


def recipe(memories: list[Memory], words: str) -> Memory:
    return next(memory for memory in memories if words in memory.title)


@promise(
    "credit:own-error",
    "How a session ended is credited to a recipe only when the session met the recipe's error, or ran the command of "
    "the fact; to any other recipe that it was shown it says nothing, and takes no share for it.",
    source="issue 11 Credit; DESIGN D5",
)
@pytest.mark.parametrize("verdict", ["success", "failure"])
def test_recipes_for_errors_that_never_came_are_not_credited(open_learning_bank: OpenBank, verdict: str) -> None:
    bank = open_learning_bank(None)
    memories = learned(
        bank,
        mended("a", NO_YAML.format("a.py"), "pip install pyyaml"),
        mended("b", NO_TABLE, "alembic upgrade head"),
    )
    assert len(memories) >= 2
    before = confidences(bank, memories)
    for number in range(3):
        session = f"later-{number}"
        for memory in memories:
            assert bank.search(f"{TASK} {memory.title}", session=session).delivered
        steps = OWN if verdict == "success" else OWN[:1]
        bank.sessions.keep(Trajectory(task=TASK, steps=steps, session=session))
        assert bank.sessions.outcome(session, verdict == "success").session == session
    fixes = [memory for memory in memories if memory.category == "fix"]
    after = {memory.id: bank.get(memory.id) for memory in fixes}
    assert [after[memory.id].confidence for memory in fixes] == [
        score for memory, score in zip(memories, before, strict=True) if memory.category == "fix"
    ]
    assert {memory.standing for memory in after.values()} == {"observed"}


@promise("credit:own-error")
@pytest.mark.parametrize("looked_up", [False, True])
def test_the_recipe_whose_error_came_gets_the_whole_weight(open_learning_bank: OpenBank, looked_up: bool) -> None:
    moved = []
    for bystander in (False, True):
        bank = open_learning_bank(None, project=f"p{bystander}")
        memories = learned(
            bank,
            mended("a", NO_YAML.format("a.py"), "pip install pyyaml"),
            mended("b", NO_TABLE, "alembic upgrade head"),
        )
        if not bystander:
            bank.delete(recipe(memories, "ledger_rows").id)
        session = "later"
        for memory in memories:
            bank.search(f"{TASK} {memory.title}", session=session)
        error = NO_YAML.format("/other/place.py")
        if looked_up:
            assert bank.recipes.briefing(error, session=session, command="pytest -q").items
            bank.sessions.outcome(session, True)
        else:
            bank.sessions.keep(mended(session, error, "pip install pyyaml==6.0"))
        moved.append(bank.get(recipe(memories, "yaml").id).confidence)
        if bystander:
            assert bank.get(recipe(memories, "ledger_rows").id).confidence == pytest.approx(0.6)
    assert moved[0] > 0.6
    assert moved[0] == pytest.approx(moved[1])


@promise("credit:own-error")
def test_a_fact_is_credited_where_its_command_was_run(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank(None)
    memories = learned(bank, *(Trajectory(task=TASK, steps=OWN, session=name) for name in ("a", "b")))
    fact = recipe(memories, "`pytest -q`")
    assert fact.category == "fact"
    bank.search(fact.title, session="other")
    bank.sessions.keep(
        Trajectory(task=TASK, steps=(shell("npm test", "# tests 4\n# pass 4\n# fail 0"),), session="other")
    )
    assert bank.get(fact.id).confidence == pytest.approx(fact.confidence)
    bank.search(fact.title, session="same")
    bank.sessions.keep(Trajectory(task=TASK, steps=OWN, session="same"))
    assert bank.get(fact.id).confidence > fact.confidence
