"""The evaluation of learning: its numbers against values worked out by hand, on small sessions written for it."""

from __future__ import annotations

import json
import math
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import numpy
import pytest
from evaluation.conventions import passes, right
from evaluation.conventions import tasks as convention_tasks
from evaluation.journal import Journal
from evaluation.learning import PARTS, main, tables
from evaluation.learning_blame import LEAST_WORDS, THRESHOLD, naming, own_words, pointed, prefixes, says
from evaluation.learning_conventions import conventions, scripted_programmer
from evaluation.learning_distilling import distilling
from evaluation.learning_estimates import Estimate, auroc, average, brier, resampled, share
from evaluation.learning_experiences import Ask, Experience, TaskSet
from evaluation.learning_judging import judging
from evaluation.learning_parsing import parsing
from evaluation.learning_recall import measured, recalling
from evaluation.learning_sources import Setup, airline, blamed, chosen, diagnosis, step_of
from evaluation.learning_tables import Cell, Table, fields_of, text_of
from evaluation.learning_writing import PAIRS, writing
from evaluation.measures import ndcg, recall

from llm.replay_server import Asked, ReplayServer
from promises import promise
from reasoningbank.errors import ModelUnavailable
from reasoningbank.llm.exchange import CORRECTION
from reasoningbank.llm.provider import ProviderModel
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.ports import LanguageModel, Prompt
from reasoningbank.types.session import Item, Step, Trajectory
from sessions.recorded_learning import LESSON, NEVER, OPINION, STRATEGY, logs, trials, write


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder in the shape of the real one, with sessions of our own."""
    folder = tmp_path / "data"
    for name in ("tau_bench_airline", "who_and_when", "reflexion_alfworld", "claude_code", "webarena_intents", "reme"):
        (folder / name).mkdir(parents=True)
    write(folder / "tau_bench_airline" / "trajectories.json", trials())
    for name, log in logs().items():
        write(folder / "who_and_when" / f"{name}.json", log)
    reflections = [
        {"name": "env_1", "is_success": False, "memory": ["I looked around. I forgot to open the wooden drawer."]},
        {"name": "env_2", "is_success": False, "memory": ["Everything took long."]},
        {"name": "env_3", "is_success": True, "memory": []},
    ]
    write(folder / "reflexion_alfworld" / "env_results_trial_0.json", reflections)
    write(folder / "reflexion_alfworld" / "env_results_trial_5.json", reflections[:1])
    (folder / "claude_code" / "notes.jsonl").write_text("no session at all\n", encoding="utf-8")
    return folder


def setup(data: Path, tmp_path: Path, model: LanguageModel | None = None) -> Setup:
    """What the parts need, with the quick embedder."""
    return Setup(data=data, scratch=tmp_path / "scratch", embedder=HashingEmbedder(dimension=256), model=model)


def by(table: Table, **wanted: str) -> Mapping[str, Cell]:
    """The one row with these cells."""
    (row,) = [row for row in table.rows if all(row[column] == cell for column, cell in wanted.items())]
    return row


def number(cell: Cell) -> float:
    """The value of an estimate."""
    assert isinstance(cell, Estimate)
    return cell.value


@promise(
    "learning-evaluation:numbers",
    "Shares have Wilson intervals, means, AUROC and Brier bootstrap intervals over whole groups, with their known "
    "values.",
    source="issue 3 It must show",
)
def test_the_estimates_have_their_known_values() -> None:
    two_of_three = share(2, 3)
    assert two_of_three.value == pytest.approx(2 / 3)
    assert two_of_three.low == pytest.approx(0.20766, abs=1e-5)
    assert two_of_three.high == pytest.approx(0.93851, abs=1e-5)
    assert share(0, 100).low == pytest.approx(0.0, abs=1e-12)
    assert share(0, 100).high == pytest.approx(0.036995, abs=1e-5)
    assert math.isnan(share(0, 0).value)
    one_group = average([0.0, 1.0, 1.0, 0.0], ["same"] * 4)
    assert (one_group.value, one_group.low, one_group.high, one_group.count) == (0.5, 0.5, 0.5, 4)
    apart = average([0.0, 1.0, 1.0, 0.0], list("abcd"))
    assert (apart.low, apart.high) == (0.0, 1.0)
    assert average([], []).count == 0
    truths = numpy.array([True, False, False])
    assert auroc(numpy.array([0.9, 0.9, 0.1]), truths) == pytest.approx(0.75)
    assert math.isnan(auroc(numpy.array([0.5]), numpy.array([True])))
    assert brier(numpy.array([0.9, 0.9, 0.1]), truths) == pytest.approx((0.01 + 0.81 + 0.01) / 3)
    assert math.isnan(resampled(lambda _: math.nan, ["a"]).low)
    assert ndcg(["x", "a"], {"a"}, 1) == 0.0
    assert ndcg(["x", "a"], {"a"}, 2) == pytest.approx(1 / math.log2(3))
    assert recall(["a", "x"], {"a", "b", "c"}, 2) == 0.5


@promise(
    "learning-evaluation:tables",
    "Every result is a plain-text table and the same numbers as JSON; what was measured on nothing is null, never a "
    "number.",
    source="issue 3 It must show",
)
def test_a_table_is_text_and_json() -> None:
    rows: tuple[dict[str, Cell], ...] = (
        {"judge": "evidence", "right": share(1, 2), "wrong": share(0, 0), "gap": math.nan},
        {"judge": "none"},
    )
    table = Table(name="n", title="A title", rows=rows, notes=("A note.",))
    text = text_of(table)
    assert text.splitlines()[1].split() == ["judge", "right", "wrong", "gap"]
    assert "0.500 [0.095 0.905] of 2" in text
    assert "A note." in text
    cells = cast(list[dict[str, object]], json.loads(json.dumps(fields_of(table), allow_nan=False))["rows"])
    assert cast(dict[str, object], cells[0]["right"])["value"] == 0.5
    assert cast(dict[str, object], cells[0]["wrong"])["value"] is None
    assert cells[0]["gap"] is None
    assert " of 2" not in text_of(Table(name="n", title="t", rows=rows, counted=False))


@promise(
    "learning-evaluation:labels-stripped",
    "No label reaches what is measured: sessions are captured from copies that hold only their messages, marks are "
    "matched to captured steps.",
    source="issue 3 It must show",
)
def test_no_label_reaches_what_is_measured(data: Path, tmp_path: Path) -> None:
    found = setup(data, tmp_path)
    chats, failed = airline(found), blamed(found)
    assert [session.succeeded for session in chats] == [True, False, False, False]
    assert [session.group for session in chats] == ["task 0", "task 0", "task 1", "task 1"]
    for session in (*chats, *failed):
        text = session.path.read_text(encoding="utf-8")
        for label in ("reward", "GOLD", "SECRET", "mistake", "ground_truth", "task_id"):
            assert label not in text
            assert label not in str(session.trajectory)
    assert [session.mark.step if session.mark else None for session in failed] == [0, 2, 1]
    assert [session.mark.agent if session.mark else "" for session in failed] == ["Planner", "Map_Expert", "Checker"]


@promise("learning-evaluation:labels-stripped")
def test_a_mark_that_cannot_be_matched_is_no_step() -> None:
    trajectory = Trajectory(task="t", steps=(Step(thought="one thing"), Step(thought="another thing")))
    history = [{"content": "one thing"}, {"content": "terminal"}, {"content": "another thing"}]
    assert [step_of(history, marked, trajectory) for marked in range(3)] == [0, 0, 1]
    assert step_of(history[:2], 0, trajectory) is None


@promise(
    "learning-evaluation:judging",
    "The evidence-only judge, and a configured model's, are measured against the majority class: decided, abstention, "
    "overall, AUROC, Brier.",
    source="issue 3 It must show",
)
def test_the_judge_by_evidence_is_measured_against_the_majority(data: Path, tmp_path: Path) -> None:
    (table,) = judging(setup(data, tmp_path))
    row = by(table, judge="evidence only")
    sure = 1 / (1 + math.exp(-3.0))
    assert row["right of decided"] == share(2, 3)
    assert row["abstains"] == share(1, 4)
    assert row["right of all"] == share(2, 4)
    assert number(row["right of all - majority"]) == pytest.approx((1 - 1 + 0 - 1) / 4)
    assert number(row["AUROC"]) == pytest.approx((0.5 + 1 + 1) / 3)
    assert number(row["Brier"]) == pytest.approx((2 * (1 - sure) ** 2 + sure**2 + 0.25) / 4)
    majority = by(table, judge="majority class (failure)")
    assert majority["right of all"] == share(3, 4)
    assert majority["Brier"] == pytest.approx(3 / 16)
    assert "No language model is configured" in table.notes[-1]


@promise("learning-evaluation:judging")
def test_the_judge_of_the_model_is_asked_only_where_evidence_does_not_decide(data: Path, tmp_path: Path) -> None:
    model = ScriptedModel({"judge": json.dumps(OPINION)}, name="recorded")
    (table,) = judging(setup(data, tmp_path, model))
    assert len(model.prompts) == 1
    row = by(table, judge="recorded")
    assert row["right of decided"] == share(3, 4)
    assert row["abstains"] == share(0, 4)
    outage = ScriptedModel({"judge": ModelUnavailable("gone")}, name="outage")
    assert by(next(iter(judging(setup(data, tmp_path, outage)))), judge="outage")["abstains"] == share(1, 4)


@promise(
    "learning-evaluation:distilling",
    "Yield and refusal reasons are counted through a real bank; without a model sessions wait and only summaries "
    "become lessons.",
    source="issue 3 It must show",
)
def test_without_a_model_everything_waits_and_summaries_become_lessons(data: Path, tmp_path: Path) -> None:
    yields, refusals = distilling(setup(data, tmp_path))
    waiting = by(yields, set="tau_bench_airline", way="no model")
    assert (waiting["sessions"], waiting["memories"], waiting["waiting"]) == (4, 0, "4 no model")
    template = by(yields, set="who_and_when", way="template")
    assert (template["sessions"], template["memories"], template["waiting"]) == (3, 3, "0")
    assert number(template["per session"]) == 1.0
    assert refusals.rows == ()
    assert any("swe_agent is not in the data folder" in note for note in yields.notes)


@promise("learning-evaluation:distilling")
def test_yield_and_refusals_are_counted(data: Path, tmp_path: Path) -> None:
    answers = {
        "judge": json.dumps(OPINION),
        "distil_success": json.dumps({"strategies": [STRATEGY], "lessons": []}),
        "distil_failure": json.dumps({"strategies": [], "lessons": [LESSON, NEVER]}),
    }
    model = ScriptedModel(answers, name="recorded")
    yields, refusals = distilling(setup(data, tmp_path, model))
    row = by(yields, set="tau_bench_airline", way="recorded")
    assert (row["sessions"], row["memories"], row["corroborated"], row["waiting"]) == (4, 2, 2, "0")
    assert number(row["per session"]) == 0.5
    assert row["refused of proposed"] == share(2, 6)
    (refused,) = [row for row in refusals.rows if row["set"] == "tau_bench_airline"]
    assert (refused["reason"], refused["of refused"]) == ("no_trigger", share(2, 2))
    spoilt = ScriptedModel({"judge": json.dumps(OPINION), "distil_failure": "no idea"}, name="spoilt")
    lost, _ = distilling(setup(data, tmp_path / "again", spoilt))
    assert by(lost, set="who_and_when", way="spoilt")["waiting"] == "3 without a usable answer"
    unsure = ScriptedModel({"judge": ModelUnavailable("gone")}, name="unsure")
    open_ones, _ = distilling(setup(data, tmp_path / "third", unsure))
    assert by(open_ones, set="who_and_when", way="unsure")["waiting"] == "3 undecided"


@promise(
    "learning-evaluation:naming",
    "Whether a failure lesson names the marked mistake is decided mechanically, beside how often that happens by "
    "chance, with and without a model.",
    source="issue 3 It must show",
)
def test_facts_point_at_a_step_without_a_model(data: Path, tmp_path: Path) -> None:
    assert [pointed(session.trajectory) for session in blamed(setup(data, tmp_path))] == [0, 0, None]
    table, _ = naming(setup(data, tmp_path))
    row = by(table, way="no model: step that facts point at")
    assert (row["sessions"], row["with a lesson"]) == (3, 2)
    assert number(row["the step"]) == 0.5
    assert number(row["by chance"]) == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert row["sessions named"] == share(1, 3)
    assert "the reason" not in row


@promise("learning-evaluation:naming")
def test_a_lesson_names_the_mistake_by_its_step_or_by_its_words(data: Path, tmp_path: Path) -> None:
    def answer(prompt: Prompt) -> str:
        lesson = dict(LESSON)
        if "rivers" in prompt.material:
            lesson |= {"steps": [0]}
        elif "lake" in prompt.material:
            lesson |= {"steps": [], "what_went_wrong": "Map Expert guessed the depth and measured no soundings."}
        else:
            lesson |= {"steps": []}
        return json.dumps({"strategies": [], "lessons": [lesson, NEVER]})

    table, _ = naming(setup(data, tmp_path, ScriptedModel(answer, name="recorded")))
    row = by(table, way="recorded")
    assert (row["sessions"], row["lessons"], row["refused"], row["no answer"]) == (3, 3, 3, 0)
    assert number(row["lessons that name it"]) == pytest.approx(2 / 3)
    assert number(row["the step"]) == pytest.approx(1 / 3)
    assert number(row["the reason"]) == pytest.approx(1 / 3)
    assert number(row["the agent"]) == pytest.approx(1 / 3)
    assert number(row["by chance"]) == pytest.approx((1 / 2 + 0 + 0) / 3)
    spoilt, _ = naming(setup(data, tmp_path, ScriptedModel(lambda _: "no idea", name="spoilt")))
    assert by(spoilt, way="spoilt")["no answer"] == 3


@promise("learning-evaluation:naming")
def test_only_the_reasons_own_words_count(data: Path, tmp_path: Path) -> None:
    _, second, _ = blamed(setup(data, tmp_path))
    words = own_words(second)
    assert words == prefixes("guessed depth measuring soundings survey charts")
    assert LEAST_WORDS == 3
    assert not says(frozenset({"depth"}), frozenset({"depth"}))
    reason = frozenset({"a", "b", "c", "d", "e"})
    assert says(frozenset({"a", "b"}), reason) is (THRESHOLD * 5 <= 2)
    assert not says(frozenset({"a"}), reason)


@promise("learning-evaluation:naming")
def test_reflections_are_said_to_measure_only_what_is_kept(data: Path, tmp_path: Path) -> None:
    _, table = naming(setup(data, tmp_path))
    row = by(table, way="no model: template lesson")
    assert (row["sessions"], row["lessons"]) == (1, 1)
    assert number(row["lessons that name it"]) == 1.0
    assert "1 of 2 different reflections name no mistake" in table.notes[-1]
    mark = diagnosis("My plan was good. However, I was stuck in a loop. I should have left.")
    assert mark is not None
    assert mark.reason == "However, I was stuck in a loop."


@promise(
    "learning-evaluation:recall",
    "Recall by task, by memory and by words is compared on the same experiences, through the code of the search.",
    source="issue 3 Recall by task",
)
def test_recall_by_task_is_measured_apart_from_recall_by_memory(tmp_path: Path) -> None:
    def item(text: str) -> Item:
        return Item(title=text, description="", content=text, outcome="success")

    tasks = TaskSet(
        name="made",
        experiences=(
            Experience(key="e1", task="harbour crane schedule", items=(item("yellow paint"), item("old rope"))),
            Experience(key="e2", task="mountain weather report", items=(item("harbour crane schedule"),)),
        ),
        asks=(
            Ask(text="harbour crane schedule", relevant=frozenset({"e1"}), group="g"),
            Ask(text="harbour crane schedule", relevant=frozenset({"e1"}), group="g", itself="e2"),
        ),
    )
    rows = {str(row["mode"]): row for row in measured(setup(tmp_path, tmp_path), tasks)}
    assert number(rows["by task, no floor"]["recall@1"]) == 1.0
    assert number(rows["by task, no floor"]["nDCG@3"]) == 1.0
    assert number(rows["lexical"]["recall@1"]) == 0.0
    assert number(rows["lexical"]["recall@3"]) == 0.0
    assert rows["lexical"]["finds nothing"] == 1
    assert number(rows["by memory"]["recall@1"]) == 0.0
    assert number(rows["by task - by memory"]["recall@1"]) == number(rows["by task"]["recall@1"])


@promise("learning-evaluation:recall")
def test_the_sets_say_what_is_relevant(data: Path, tmp_path: Path) -> None:
    intents = [
        {"task_id": 1, "intent": "List the cheapest umbrella", "intent_template_id": 7},
        {"task_id": 2, "intent": "List the cheapest lantern", "intent_template_id": 7},
        {"task_id": 3, "intent": "Close my account", "intent_template_id": 8},
    ]
    write(data / "webarena_intents" / "intents.json", intents)
    items = [
        {
            "when_to_use": "When a song is rated",
            "content": "Look for an earlier rating first.",
            "memory_id": "m",
            "metadata": {"task_query": "Rate all my songs", "extra_info": {"generalized_query": "Rate media"}},
        },
        {"when_to_use": "w", "content": "c", "memory_id": "n", "metadata": {}},
    ]
    (data / "reme" / "made.jsonl").write_text("\n".join(map(json.dumps, items)), encoding="utf-8")
    (table,) = recalling(setup(data, tmp_path))
    assert {str(row["set"]): row["queries"] for row in table.rows} == {
        "webarena": 2,
        "reme made same words": 1,
        "reme made rephrased": 1,
        "airline": 4,
    }
    assert number(by(table, set="webarena", mode="lexical")["recall@1"]) == 1.0
    assert number(by(table, set="airline", mode="by task, no floor")["recall@1"]) == 1.0


@promise(
    "learning-evaluation:parsing",
    "Every file is counted with its trajectories, steps and skipped entries; one that gives nothing is named.",
    source="issue 3 It must show",
)
def test_every_file_is_counted_and_one_that_gives_nothing_is_named(data: Path, tmp_path: Path) -> None:
    (table,) = parsing(setup(data, tmp_path))
    chats, failed, code = (by(table, files=name) for name in ("tau_bench_airline", "who_and_when", "claude_code"))
    assert (chats["count"], chats["trajectories"], chats["steps"]) == (1, 4, 8)
    assert (failed["count"], failed["parsed"], failed["trajectories"], failed["steps"]) == (3, 3, 3, 9)
    assert (code["parsed"], code["trajectories"]) == (0, 0)
    assert "claude_code/notes.jsonl gives no trajectory" in table.notes
    assert "swe_agent is not in the data folder" in table.notes


@promise(
    "learning-evaluation:absent-data",
    "Every part says that its data is absent and is skipped.",
    source="issue 3 It must show",
)
def test_every_part_says_that_its_data_is_absent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = list(tables(setup(tmp_path / "absent", tmp_path)))
    assert {table.name for table in found} == {
        "parsing",
        "judging",
        "distilling",
        "who_and_when",
        "reflexion",
        "recall",
        "contrast",
        "merge",
        "write-back",
        "conventions",
    }
    assert all(table.skipped.startswith("skipped: ") and not table.rows for table in found)
    assert main(["--data", str(tmp_path / "absent")]) == 0
    text = capsys.readouterr().out
    assert "is not here: every part is skipped" in text
    assert text.count("skipped: ") == 10


@promise(
    "learning-evaluation:command",
    "The command takes the configured model, asks a question at temperature 0 once, samples the same sessions every "
    "time and writes only to a temporary folder.",
    source="issue 3 It must show",
)
def test_the_command_prints_json(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "home"))
    with ReplayServer(lambda _: json.dumps(OPINION)) as server:
        monkeypatch.setenv("REASONINGBANK_LLM", "openai:recorded")
        monkeypatch.setenv("REASONINGBANK_LLM_URL", server.url)
        command = ["--data", str(data), "--parts", "judging", "--sample", "3", "--json"]
        command += ["--journal", str(tmp_path / "journal.jsonl")]
        assert main(command) == 0
        asked = len(server.requests)
        told = capsys.readouterr()
        assert main(command) == 0
        assert len(server.requests) == asked, "nothing is left, so not even the speed is measured"
        again = capsys.readouterr()
        assert json.loads(again.out)["tables"] == json.loads(told.out)["tables"]
    assert "estimate: about 3 calls and 16,500 tokens" in told.err
    assert "0 calls are answered already" in told.err
    assert "estimate: nothing is left to ask; 3 calls are answered already" in again.err
    answer = json.loads(told.out)
    assert (answer["model"], answer["sample"]) == ("openai:recorded", 3)
    judges = [row["judge"] for row in answer["tables"][0]["rows"]]
    assert judges[0] == "evidence only"
    assert "openai:recorded" in judges
    assert asked <= 2
    assert not (tmp_path / "home").exists()


@promise("learning-evaluation:command")
def test_a_run_that_is_broken_off_says_how_it_goes_on(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(_: Asked) -> str:
        if len(server.requests) > 1:
            os.kill(os.getpid(), signal.SIGINT)
        return json.dumps(OPINION)

    with ReplayServer(stopped) as server:
        monkeypatch.setenv("REASONINGBANK_LLM", "openai:recorded")
        monkeypatch.setenv("REASONINGBANK_LLM_URL", server.url)
        journal = tmp_path / "journal.jsonl"
        assert main(["--data", str(data), "--parts", "judging", "--journal", str(journal)]) == 130
    assert f"Started again with {journal}, it goes on where it was." in capsys.readouterr().err


@promise("learning-evaluation:command")
def test_the_estimate_counts_only_what_the_journal_does_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    writer = Journal(ScriptedModel(lambda _: "{}", name="m"), path, sample=5)
    writer.begin("judging")
    corrected = f"i\n\n{CORRECTION}: why."
    for instructions, material in (("i", "1"), ("i", "2"), (corrected, "2")):
        writer.complete(Prompt(name="n", version="1", instructions=instructions, material=material), {})
    resumed = Journal(ScriptedModel(["{}"], name="m"), path, sample=5)
    assert (resumed.left("judging", 5), resumed.left("naming", 5), resumed.left("judging", 1)) == (3, 5, 0)
    assert Journal(ScriptedModel(["{}"], name="other"), path, sample=5).left("judging", 5) == 5
    writer.finish()
    assert Journal(ScriptedModel(["{}"], name="m"), path, sample=5).left("judging", 5) == 0
    assert Journal(ScriptedModel(["{}"], name="m"), path, sample=9).left("judging", 9) == 7


@promise("learning-evaluation:command")
def test_the_same_question_is_asked_once_and_samples_are_fixed(data: Path, tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: "yes", name="recorded")
    journal = tmp_path / "journal.jsonl"
    remembering = Journal(model, journal)
    question = Prompt(name="n", version="1", instructions="i", material="m")
    assert remembering.name == "recorded"
    for temperature in (0.0, 0.0, 1.0, 1.0):
        assert remembering.complete(question, {}, temperature=temperature).text == "yes"
    assert len(model.prompts) == 3
    journal.write_text(journal.read_text(encoding="utf-8") + '{"key": "half a li', encoding="utf-8")
    resumed = Journal(model, journal)
    for temperature in (0.0, 1.0, 1.0, 1.0):
        assert resumed.complete(question, {}, temperature=temperature).text == "yes"
    assert (len(model.prompts), resumed.resumed, resumed.calls) == (4, 3, 4)
    once_more = Journal(model, journal)
    for temperature in (0.0, 1.0, 1.0, 1.0):
        assert once_more.complete(question, {}, temperature=temperature).text == "yes"
    assert (len(model.prompts), once_more.resumed) == (4, 4), "what was written behind half a line is read again"
    sessions = airline(setup(data, tmp_path))
    assert chosen(sessions, 2) == chosen(list(reversed(sessions)), 2)
    assert chosen(sessions, 0) == sessions
    assert set(PARTS) == {"parsing", "judging", "distilling", "naming", "recall", "writing", "conventions"}


@promise(
    "learning-evaluation:worth-of-memory",
    "Memory is compared with none, with irrelevant memory and with the ideal lesson on 42 tasks whose convention only "
    "a failed sibling's tests show; solutions are checked by running them.",
    source="issue Any model (harness)",
)
def test_memory_is_compared_on_tasks_that_need_a_lesson(tmp_path: Path) -> None:
    assert len(convention_tasks()) >= 40
    model = ScriptedModel(scripted_programmer)
    (table,) = conventions(Setup(data=tmp_path, scratch=tmp_path, embedder=HashingEmbedder(), model=model, sample=2))
    solved = {str(row["arm"]): row["solved"] for row in table.rows}
    shares = {arm: cell.value for arm, cell in solved.items() if isinstance(cell, Estimate)}
    assert shares == {"no memory": 0.0, "default search": 1.0, "irrelevant memory": 0.0, "ideal lesson": 1.0}
    assert "2 of 2 siblings failed" in table.notes[0]


@promise("learning-evaluation:worth-of-memory")
def test_code_that_is_wrong_or_does_not_end_passes_nothing() -> None:
    convention, function = convention_tasks()[0]
    assert passes(convention, function, right(convention, function))
    for code in ("", "def x(:", "def net_price(gross, tax):\n    return gross", "raise SystemExit(0)"):
        assert not passes(convention, function, code)


def scripted_writer(asked: Asked) -> str:
    """What a model that does as it is told answers to the three prompts."""
    if "You compare several sessions" in asked.text:
        return json.dumps({"strategies": [{**STRATEGY, "run": 0}], "lessons": []})
    if "several memories that agents keep" in asked.text:
        texts = [(title, text) for title, text in PAIRS if json.dumps(text)[1:-1] in asked.text]
        title, text = texts[0]
        claims = [{"text": text, "sources": [1, 2]}]
        return json.dumps({"title": title, "description": "", "claims": claims, "outcome": "success", "tags": []})
    lesson = {
        "key_lesson": "Move the old dumps when the export ran out of disk.",
        "context_to_prefer": "When an export failed",
    }
    if "Norden" in asked.text:
        lesson = {"key_lesson": "Order from Adler until July.", "context_to_prefer": "When Norden delivered late"}
    return json.dumps({"nodes": [], "edges": [], "lesson": {**lesson, "tags": [], "link_nodes": []}})


@promise(
    "learning-evaluation:writing",
    "Contrast, merge and write-back are run with the model too.",
    source="issue Any model (harness)",
)
def test_contrast_merge_and_write_back_are_run(data: Path, tmp_path: Path) -> None:
    with ReplayServer(scripted_writer) as server:
        model = ProviderModel(provider="openai", model="recorded", url=server.url)
        found = {table.name: table.rows[0] for table in writing(setup(data, tmp_path, model=model))}
    assert set(found) == {"contrast", "merge", "write-back"}
    assert (number(found["contrast"]["answers read"]), number(found["contrast"]["kept"])) == (1.0, 1.0)
    assert number(found["merge"]["merged"]) > 0.0
    assert (found["write-back"]["lessons"], found["write-back"]["waiting"]) == (2, 0)
