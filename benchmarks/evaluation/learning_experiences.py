"""Experiences that recall is measured on: earlier tasks with their lessons, and new tasks that some of them help."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from evaluation.learning_distilling import summary_of
from evaluation.learning_sources import Setup, airline
from reasoningbank.safety.stored_text import safe_line
from reasoningbank.sessions.assignment import items_of
from reasoningbank.types.memory import MAX_TITLE
from reasoningbank.types.session import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """A task and what was learned from it."""

    key: str
    task: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A new task, the experiences that help with it; ``itself`` is taken out of the answer first."""

    text: str
    relevant: frozenset[str]
    group: str
    itself: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSet:
    """Experiences and new tasks that belong together."""

    name: str
    experiences: tuple[Experience, ...]
    asks: tuple[Ask, ...]


def webarena(setup: Setup) -> Iterator[TaskSet]:
    """Intents of web tasks; those of the same template help each other."""
    path = setup.data / "webarena_intents" / "intents.json"
    if not path.is_file():
        return
    rows = json.loads(path.read_text(encoding="utf-8"))
    same: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        same[str(row["intent_template_id"])].add(str(row["task_id"]))
    known = tuple(
        Experience(key=str(row["task_id"]), task=row["intent"], items=(_item(row["intent"], "", row["intent"]),))
        for row in rows
    )
    asks = tuple(
        Ask(text=row["intent"], relevant=frozenset(others), group=str(row["intent_template_id"]), itself=own)
        for row in rows
        if (others := same[str(row["intent_template_id"])] - {own := str(row["task_id"])})
    )
    yield TaskSet(name="webarena", experiences=known, asks=asks)


def reme(setup: Setup) -> Iterator[TaskSet]:
    """Distilled items with the task that each came from, asked by that task and by its generalised form."""
    folder = setup.data / "reme"
    for path in sorted(folder.glob("*.jsonl")) if folder.is_dir() else ():
        items: dict[str, list[Item]] = defaultdict(list)
        general: dict[str, set[str]] = defaultdict(set)
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            task = str(row["metadata"].get("task_query") or "")
            if task:
                items[task].append(_item(row["when_to_use"], row["when_to_use"], row["content"]))
                phrase = str((row["metadata"].get("extra_info") or {}).get("generalized_query") or "")
                general[phrase].add(task)
        general.pop("", None)
        known = tuple(Experience(key=task, task=task, items=tuple(each)) for task, each in items.items())
        name = path.stem.replace("_qwen3", "")
        if known:
            asks = tuple(Ask(text=task, relevant=frozenset({task}), group=task) for task in items)
            yield TaskSet(name=f"reme {name} same words", experiences=known, asks=asks)
        if general:
            asks = tuple(
                Ask(text=phrase, relevant=frozenset(tasks), group=min(tasks)) for phrase, tasks in general.items()
            )
            yield TaskSet(name=f"reme {name} rephrased", experiences=known, asks=asks)


def flights(setup: Setup) -> Iterator[TaskSet]:
    """Trials of airline tasks with a lesson by template; the other trials of the same task help."""
    sessions = airline(setup)
    same: dict[str, set[str]] = defaultdict(set)
    for session in sessions:
        same[session.group].add(session.key)
    known = tuple(
        Experience(key=each.key, task=each.trajectory.task, items=items_of(summary_of(each, "evaluation")))
        for each in sessions
    )
    asks = tuple(
        Ask(text=each.trajectory.task, relevant=frozenset(others), group=each.group, itself=each.key)
        for each in sessions
        if (others := same[each.group] - {each.key})
    )
    if asks:
        yield TaskSet(name="airline", experiences=known, asks=asks)


def _item(title: str, description: str, content: str) -> Item:
    return Item(
        title=safe_line(title)[:MAX_TITLE] or "Untitled", description=description, content=content, outcome="success"
    )
