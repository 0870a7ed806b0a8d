"""The evaluation of delivery measures what it says, through a real store."""

from __future__ import annotations

import json
import random
from pathlib import Path

from evaluation.delivery import Answered, TaskSet, as_searched, delivered, filled, one_of_five, report
from evaluation.delivery_tasks import WRITTEN, Needed

from promises import promise
from reasoningbank.testing import HashingEmbedder


@promise(
    "evaluation:delivery",
    "The evaluation of delivery says how often a needed unproven lesson arrives, by the rule of the search itself.",
    source="issue 11",
)
def test_the_needed_lesson_is_counted_when_the_rule_shows_it(tmp_path: Path) -> None:
    words = ("heron otter badger", "copper zinc nickel", "violin oboe cello", "saffron cumin thyme")
    tasks = tuple(Needed(text, text, "", f"{text} lesson") for text in words)
    one = TaskSet(name="made", tasks=tasks, others=((Needed("", "granite marble", "", "slate"), True),))
    with filled(tmp_path, HashingEmbedder(), one) as (_, found):
        assert all(isinstance(each, Answered) and each.first for each in found)
        everywhere, where_first, tokens = delivered(found, as_searched)
        assert (everywhere.value, where_first.value, where_first.count) == (1.0, 1.0, len(tasks))
        assert tokens > 0
        assert one_of_five(found[0], random.Random(1))[0].unproven
    assert len({task.content for task in WRITTEN}) == len(WRITTEN) == 40


@promise("evaluation:delivery")
def test_without_the_data_nothing_is_measured_and_said_so(tmp_path: Path) -> None:
    assert "nothing was measured" in report(tmp_path, tmp_path, HashingEmbedder())
    row = {"when_to_use": "when a heron", "content": "feeds", "metadata": {}}
    (tmp_path / "reme").mkdir()
    (tmp_path / "reme" / "a.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert "written: 40 tasks, 1 other memories" in report(tmp_path, tmp_path, HashingEmbedder())
