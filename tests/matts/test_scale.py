"""Bank.scale with the real parts: recall, rollouts, judging, storing, contrast and what is learned (MaTTS)."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence

import pytest

from opened_banks import OpenBank
from promises import promise
from reasoningbank.errors import InvalidInput, ModelUnavailable
from reasoningbank.llm.scripted import Line, ScriptedModel
from reasoningbank.types.matts import Task
from reasoningbank.types.ports import Prompt
from reasoningbank.types.recall import Hit
from reasoningbank.types.session import Step, Trajectory
from sessions.made_lessons import FROZEN, TASK, ran, solved, strategies

BOTH = json.dumps(
    {
        "strategies": [dict(FROZEN, run=1, steps=[1])],
        "lessons": [
            {
                "title": "Running the test again is not a repair",
                "description": "When a test is red only at night",
                "what_went_wrong": "The red test was run again until it was green once, so the defect stayed.",
                "do_instead": "Find what decides the result, and set it in the test.",
                "steps": [0],
                "tags": [],
                "run": 0,
            }
        ],
    }
)


class Agent:
    """An agent that fails on its first attempt and freezes the clock on every later one."""

    def __init__(self, *outcomes: str) -> None:
        self.outcomes = [*outcomes]
        self.seen: list[tuple[str, ...]] = []
        self.tasks: list[Task] = []
        self._lock = threading.Lock()

    def __call__(self, task: Task, memories: Sequence[Hit]) -> Trajectory:
        with self._lock:
            number = len(self.seen)
            self.seen.append(tuple(hit.id for hit in memories))
            self.tasks.append(task)
            outcome = self.outcomes[number % len(self.outcomes)]
        if outcome == "crash":
            raise RuntimeError(f"attempt {number} fell over")
        if outcome == "red":
            return Trajectory(task=task.text, steps=(ran(11, 1, thought="Again."),), final_answer="still red")
        steps = (Step(thought=f"Freeze, attempt {number}.", tool="bash", action="edit conftest.py"), ran(12))
        return Trajectory(task=task.text, steps=steps, final_answer="green")


def contrasted(prompt: Prompt) -> str:
    """An answer whose runs are those of the prompt: the strategy from one that succeeded, the lesson from the other."""
    runs = [part.split()[0] for part in prompt.material.split("judged ")[1:]]
    answer = json.loads(BOTH)
    answer["strategies"][0]["run"] = runs.index("success")
    answer["lessons"][0]["run"] = runs.index("failure")
    return json.dumps(answer)


def model(**more: str | Exception) -> ScriptedModel:
    """A model that contrasts, and says nothing about which attempt is best."""
    lines: dict[str, Line] = {"contrast": contrasted, "select": ModelUnavailable("not asked"), **more}
    return ScriptedModel(lines)


@promise(
    "scale:parallel",
    "Parallel attempts share one recall and teach together, each lesson from a run that can have taught it.",
    source="issue MaTTS",
)
@promise(
    "issue3:matts-parallel",
    "One recall, k rollouts, one contrast, one choice with a reason.",
    source="issue MaTTS",
)
def test_parallel_attempts_share_one_recall_and_teach_together(open_learning_bank: OpenBank) -> None:
    scripted = model()
    bank = open_learning_bank(scripted)
    known = bank.record(
        title="Night tests", content="A nightly checkout test of the shop depends on the date.", outcome="success"
    )
    agent = Agent("red", "green", "green")
    scaled = bank.matts.scale(Task(text=TASK, id="shop-1"), agent, 3, session="scale-1")
    assert agent.seen == [(known.id,)] * 3, "all attempts have the same memories"
    assert [one.judgement.verdict for one in scaled.rollouts if one.judgement].count("success") == 2
    assert scaled.best is not None
    assert scaled.answer == "green"
    assert scaled.reason
    assert len(scaled.report.distilled) == 2
    assert scaled.report.pending == 0
    kinds = {bank.get(one).outcome: bank.get(one) for one in scaled.report.distilled}
    assert kinds.keys() == {"success", "failure"}
    entries = {entry.id: entry for entry in bank.sessions.list()}
    assert len(entries) == 3
    for outcome, memory in kinds.items():
        source = entries[memory.provenance["trajectory"]]
        assert source.judgement is not None
        assert source.judgement.verdict == outcome, "each lesson comes from a run that can have taught it"
        assert memory.provenance["in_context"] == known.id
        assert memory.confidence == pytest.approx(0.6, abs=1e-12)
    contrasts = [prompt for prompt in scripted.prompts if prompt.name == "contrast"]
    assert len(contrasts) == 1
    assert contrasts[0].material.count("judged ") >= 3
    assert bank.get(known.id).usage_count == 1
    assert bank.jobs.work().buried == 0
    assert bank.memories.count() == 3, "the jobs of the attempts add nothing"
    whole = bank.search(TASK, by="experience")
    assert {hit.id for hit in whole.delivered} == set(scaled.report.distilled), "all attempts are one experience"


@promise("scale:crash", "A crashing attempt does not lose the others.", source="issue MaTTS")
@promise("issue3:matts-crash", "One crashed rollout is kept as its error.", source="issue MaTTS")
def test_a_crashing_attempt_does_not_lose_the_others(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank(model())
    scaled = bank.matts.scale(TASK, Agent("crash", "red", "green"), 3, at_once=1)
    assert [bool(one.error) for one in scaled.rollouts] == [True, False, False]
    assert "fell over" in scaled.rollouts[0].error
    assert scaled.best == 2
    assert (len(bank.sessions.list()), bank.memories.count()) == (2, 2)
    none = bank.matts.scale("Another task that nobody can do", Agent("crash"), 2)
    assert (none.best, none.answer) == (None, "")
    assert len(bank.sessions.list()) == 2


@promise(
    "scale:sequential",
    "Refinement checks its own work, stops when stable, and its corrections teach.",
    source="issue MaTTS",
)
@promise("issue3:matts-sequential", "Self-refinement with a check instruction through the bank.", source="issue MaTTS")
def test_sequential_refinement_checks_its_own_work_and_stops_when_stable(open_learning_bank: OpenBank) -> None:
    scripted = ScriptedModel({"distil_success": strategies(dict(FROZEN, steps=[0])), "contrast": contrasted})
    bank = open_learning_bank(scripted)
    rounds: list[Task] = []

    def agent(task: Task, memories: Sequence[Hit]) -> Trajectory:
        rounds.append(task)
        if task.previous is None:
            return Trajectory(task=task.text, steps=(ran(11, 1),), final_answer="done")
        if len(rounds) == 2:
            return Trajectory(
                task=task.text, steps=(Step(action="edit conftest.py", tool="bash"), ran(12)), final_answer="green"
            )
        return Trajectory(task=task.text, steps=(), final_answer="green")

    scaled = bank.matts.scale(TASK, agent, 5, mode="sequential")
    assert (scaled.stopped, scaled.rounds) == ("stable", 3)
    assert rounds[1].previous is not None
    assert rounds[1].instruction
    assert TASK in rounds[1].text
    assert scaled.judgement is not None
    assert scaled.judgement.verdict == "success"
    assert scaled.answer == "green"
    assert len(scaled.report.distilled) == 2, "what was corrected on the way teaches too"
    assert {bank.get(one).outcome for one in scaled.report.distilled} == {"success", "failure"}


@promise(
    "scale:credit",
    "How the best attempt ended counts once for each memory it was given that fits; an unknown end counts for none.",
    source="issue 11",
)
def test_the_result_credits_the_memories_it_used(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank()
    given = bank.record(title=TASK, content="Freeze the clock first.", outcome="success")
    other = bank.record(title="Bake bread", content="Let the dough rest overnight.", outcome="success")
    good = bank.matts.scale(TASK, Agent("red", "green"), 2, session="m-1")
    assert good.recall.delivered[0].id == given.id
    assert [(one.memory_id, one.succeeded) for one in good.credited] == [(given.id, True)]
    risen = bank.get(given.id).confidence
    assert risen > given.confidence
    assert bank.matts.scale(TASK, Agent("green"), 1, session="m-1").credited == ()
    bad = bank.matts.scale(TASK, Agent("red"), 1, session="m-2")
    assert [(one.memory_id, one.succeeded) for one in bad.credited] == [(given.id, False)]
    assert bank.get(given.id).confidence < risen
    assert bank.matts.scale(TASK, Agent("crash"), 1, session="m-3").credited == ()
    assert "outcome" not in {event.kind for event in bank.memories.history(other.id)}


@promise("scale:one", "One attempt is a plain run.", source="issue MaTTS")
def test_one_attempt_is_a_plain_run(open_learning_bank: OpenBank) -> None:
    scripted = ScriptedModel({"distil_success": strategies(dict(FROZEN, steps=[0]))})
    bank = open_learning_bank(scripted)
    scaled = bank.matts.scale(TASK, Agent("green"), 1)
    assert (scaled.best, scaled.ground) == (0, "only")
    assert [prompt.name for prompt in scripted.prompts] == ["distil_success"]
    assert bank.memories.count() == 1
    for k in (0, 17, True):
        with pytest.raises(InvalidInput):
            bank.matts.scale(TASK, Agent("green"), k)
    with pytest.raises(InvalidInput):
        bank.matts.scale(TASK, Agent("green"), 2, mode="both")  # type: ignore[arg-type]  # no such mode


@promise(
    "scale:leakage",
    "When evaluating, the task's own lessons are withheld, named, and not counted as used.",
    source="issue MaTTS",
)
@promise(
    "issue3:matts-leakage",
    "A leakage guard keeps the same task's own lessons out of the memories.",
    source="issue MaTTS",
)
def test_evaluating_keeps_the_tasks_own_lessons_away_and_counts_no_use_of_them(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank(ScriptedModel({"distil_success": strategies(FROZEN), "contrast": contrasted}))
    bank.sessions.keep(solved("earlier", TASK))
    bank.jobs.work()
    (own,) = bank.memories.list()
    other = bank.record(
        title="Red tests", content="Read the nightly checkout test before you change the shop.", outcome="success"
    )
    plain, guarded = Agent("green"), Agent("green")
    bank.matts.scale(TASK, guarded, 1, evaluating=True, session="evaluating")
    assert guarded.seen == [(other.id,)]
    assert bank.get(own.id).usage_count == 0
    scaled = bank.matts.scale(f"  {TASK.upper()} ", guarded, 1, evaluating=True, session="evaluating again")
    assert scaled.withheld == (own.id,)
    assert [hit.id for hit in scaled.recall.delivered] == [other.id]
    assert bank.get(own.id).usage_count == 0
    bank.matts.scale(TASK, plain, 1, session="plain")
    assert plain.seen == [(other.id, own.id)]
    assert bank.get(own.id).usage_count == 1


@promise("scale:waits", "Without a model or its answer the attempts wait and nothing is lost.", source="DESIGN D8")
def test_without_an_answer_the_attempts_wait_and_nothing_is_lost(open_learning_bank: OpenBank) -> None:
    poor = open_learning_bank("")
    scaled = poor.matts.scale(TASK, Agent("red", "green"), 2)
    assert scaled.best is not None
    assert (scaled.report.distilled, scaled.report.pending) == ((), 2)
    assert "wait" in scaled.report.messages[0]
    outage = open_learning_bank(
        ScriptedModel({"contrast": ModelUnavailable("down"), "select": ModelUnavailable("down")}), project="o"
    )
    scaled = outage.matts.scale(TASK, Agent("red", "green"), 2)
    assert (scaled.report.distilled, scaled.report.pending) == ((), 2)
    assert "down" in scaled.report.messages[0]
    assert (poor.memories.count(), outage.memories.count()) == (0, 0)


@promise("scale:async", "An asynchronous agent runs on its caller's loop.", source="issue MaTTS")
def test_an_asynchronous_agent_runs_on_the_callers_loop(open_learning_bank: OpenBank) -> None:
    bank = open_learning_bank(model())
    inner = Agent("red", "green")
    loops = []

    async def agent(task: Task, memories: Sequence[Hit]) -> Trajectory:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return inner(task, memories)

    async def live() -> None:
        scaled = await bank.matts.ascale(TASK, agent, 2)
        assert scaled.answer == "green"
        assert loops == [asyncio.get_running_loop()] * 2

    asyncio.run(live())
    assert bank.memories.count() == 2


@promise(
    "scale:limit",
    "At most five items are kept of all attempts together; the others are refused and kept with the reason.",
    source="issue MaTTS",
)
def test_at_most_five_items_are_kept_of_all_attempts_together(open_learning_bank: OpenBank) -> None:
    topics = ("clock", "network", "database", "browser", "printer", "keyboard", "compiler")
    items = [
        {
            "title": f"Set up the {topic} first",
            "description": f"When a test needs the {topic}",
            "content": f"Start the {topic} in a fixture of the session and wait for it before any {topic} test runs.",
            "steps": [1],
            "tags": [],
            "run": number % 2,
        }
        for number, topic in enumerate(topics)
    ]
    scripted = ScriptedModel(
        {"contrast": json.dumps({"strategies": items, "lessons": []}), "select": ModelUnavailable("not asked")}
    )
    bank = open_learning_bank(scripted)
    scaled = bank.matts.scale(TASK, Agent("green"), 2)
    assert len(scaled.report.distilled) == bank.memories.count() == 5
    assert {refusal.reason for refusal in bank.distillation.refusals()} == {"too_many"}
    assert len(bank.distillation.refusals()) == 2
