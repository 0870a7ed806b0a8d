"""Whether the one lesson that a task needs is delivered while it is still unproven, and what an answer costs.

``python -m evaluation.delivery`` fills a bank with lessons from failed sessions, each at 0.6, among some 300 other
memories, and asks for each with a task that was worded otherwise. It says how often the lesson ranks first among the
unproven ones, how often it is delivered in those cases, and how many tokens an answer has: by the earlier rule (one of
five drawn, relevance counting as much as chance), and by that of a search. Shares have their Wilson interval.

Two sets: forty tasks that were written for this, where hardly anything proven answers; and lessons of failed AppWorld
runs from ``reme``, asked for with the situation that they were learned in, among proven lessons from the same tasks.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from evaluation.delivery_tasks import WRITTEN, Needed
from evaluation.learning_estimates import Estimate, share
from reasoningbank.bank import Bank
from reasoningbank.embedding import open_embedder
from reasoningbank.search.briefing import choose, in_order
from reasoningbank.search.recall import UNPROVEN_POOL, Question, answers, drawn, find, offered
from reasoningbank.settings import Settings
from reasoningbank.storage import open_storage
from reasoningbank.storage.store import Store
from reasoningbank.types.belief import DISTILLED_CONFIDENCE, EXPLICIT_RECORD_CONFIDENCE, MIN_CONFIDENCE
from reasoningbank.types.memory import MAX_TITLE
from reasoningbank.types.ports import Embedder, Vector
from reasoningbank.types.recall import BriefItem, Filter, Hit
from reasoningbank.types.scope import Scope

OTHERS = 300
"""Memories in the bank that no task needs: one half proven, one half not."""
DRAWS = 40
"""How often a rule that draws is tried for each task."""
PROMPT_BUDGET, PROMPT_LIMIT = 600, 5
"""What a hook shows with a prompt."""
_MOST_TASKS = 60
_SITUATION = "generalized_query"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSet:
    """Tasks with the lesson that each needs, and what lies beside them."""

    name: str
    tasks: tuple[Needed, ...]
    others: tuple[tuple[Needed, bool], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What one task found.

    Attributes:
        answered: Whether something proven fits.
        proven: The proven hits.
        pool: The unproven ones, best first.
        needed: Id of the lesson that it needs.
    """

    answered: bool
    proven: tuple[Hit, ...]
    pool: tuple[Hit, ...]
    needed: str

    @property
    def first(self) -> bool:
        """Whether the needed lesson is the best-ranked unproven one."""
        return bool(self.pool) and self.pool[0].id == self.needed


Rule = Callable[[Answered, random.Random], Sequence[Hit]]


def one_of_five(found: Answered, chance: random.Random) -> Sequence[Hit]:
    """The earlier rule: one drawn of five, relevance times a sample of the belief."""
    promise = {
        hit.id: hit.relevance * chance.betavariate(hit.memory.belief.alpha, hit.memory.belief.beta)
        for hit in found.pool
    }
    chosen = sorted(found.pool[:UNPROVEN_POOL], key=lambda hit: -promise[hit.id])[:1]
    return [replace(hit, unproven=True) for hit in chosen]


def as_searched(found: Answered, chance: random.Random) -> Sequence[Hit]:
    """The rule of a search."""
    return offered(found.proven, found.pool, None, chance)


def always_drawn(found: Answered, chance: random.Random) -> Sequence[Hit]:
    """One drawn with today's weights, also where nothing proven answers: what the draw alone is worth."""
    return [replace(hit, unproven=True) for hit in drawn(found.pool, chance)[:1]]


RULES: tuple[tuple[str, Rule], ...] = (
    ("before: one of five drawn", one_of_five),
    ("drawn with more relevance", always_drawn),
    ("after: as a search does it", as_searched),
)


def task_sets(data: Path) -> Iterator[TaskSet]:
    """The sets whose files are there."""
    rows = [
        json.loads(line)
        for path in sorted((data / "reme").glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
    if not rows:
        return
    general = [row for row in rows if not row["metadata"].get("task_query")]
    yield TaskSet(name="written", tasks=WRITTEN, others=_beside(general))
    appworld = [row for row in rows if row["metadata"].get("task_query")]
    failed = [row for row in appworld if row["metadata"].get("category") == "failure" and _situation(row)]
    asked: dict[str, Needed] = {}
    for row in failed:
        asked.setdefault(_situation(row), Needed(_situation(row), *_lesson(row)))
    tasks = tuple(random.Random(1).sample(list(asked.values()), min(_MOST_TASKS, len(asked))))
    taken = {task.content for task in tasks}
    yield TaskSet(name="reme", tasks=tasks, others=_beside([row for row in appworld if row["content"] not in taken]))


def _situation(row: dict[str, dict[str, dict[str, str]]]) -> str:
    return str(row["metadata"].get("extra_info", {}).get(_SITUATION, ""))


def _lesson(row: dict[str, str]) -> tuple[str, str, str]:
    """Title, description and content of an item; its file has no titles."""
    return row["when_to_use"][:MAX_TITLE], row["when_to_use"], row["content"]


def _beside(rows: Sequence[dict[str, str]]) -> tuple[tuple[Needed, bool], ...]:
    chosen = random.Random(2).sample(list(rows), min(OTHERS, len(rows)))
    return tuple((Needed("", *_lesson(row)), number % 2 == 0) for number, row in enumerate(chosen))


@contextmanager
def filled(home: Path, embedder: Embedder, one: TaskSet) -> Iterator[tuple[Store, list[Answered]]]:
    """A bank that holds a set, and what every task of the set finds in it."""
    project, settings = f"delivery-{one.name}", Settings(home=home)
    with Bank.open(tenant="evaluation", project=project, embedder=embedder, settings=settings, by_agent=False) as bank:
        needed = [_recorded(bank, task, proven=False) for task in one.tasks]
        for other, proven in one.others:
            _recorded(bank, other, proven=proven)
    store = open_storage(None, home=home).open(Scope(tenant="evaluation", project=project))
    try:
        vectors = embedder.embed_queries([task.task for task in one.tasks])
        found = [
            _found(store, embedder, task, vector, lesson)
            for task, vector, lesson in zip(one.tasks, vectors, needed, strict=True)
        ]
        yield store, found
    finally:
        store.close()


def _found(store: Store, embedder: Embedder, task: Needed, vector: Vector, lesson: str) -> Answered:
    question = Question(
        text=task.task, condition=Filter(), limit=10, min_confidence=MIN_CONFIDENCE, unproven=UNPROVEN_POOL
    )
    proven, pool, *_ = find(store, embedder.model_id, question, vector)
    return Answered(answered=answers(proven), proven=tuple(proven), pool=tuple(pool), needed=lesson)


def _recorded(bank: Bank, lesson: Needed, *, proven: bool) -> str:
    memory = bank.record(
        title=lesson.title,
        description=lesson.description,
        content=lesson.content,
        outcome="success" if proven else "failure",
        confidence=EXPLICIT_RECORD_CONFIDENCE if proven else DISTILLED_CONFIDENCE,
        vouched=True,
    )
    return memory.id


def delivered(found: Sequence[Answered], rule: Rule) -> tuple[Estimate, Estimate, float]:
    """Share of the tasks that a rule delivers the lesson in: of all, of those in which it ranks first; and tokens."""
    chance = random.Random(7)
    hits = firsts = tokens = 0.0
    for each in found:
        for _ in range(DRAWS):
            shown = rule(each, chance)
            got = any(hit.id == each.needed for hit in shown)
            hits += got
            firsts += got and each.first
            tokens += sum(hit.memory.tokens for hit in (*each.proven, *shown))
    count = sum(each.first for each in found)
    return (
        _rounded(hits / DRAWS, len(found)),
        _rounded(firsts / DRAWS, count),
        tokens / DRAWS / max(1, len(found)),
    )


def _rounded(expected: float, total: int) -> Estimate:
    """A share of tasks from an expected number of them; its interval is that of the tasks alone."""
    return replace(share(round(expected), total), value=expected / total if total else 0.0)


def briefed(store: Store, embedder: Embedder, found: Sequence[Answered], rule: Rule, *, leading: bool) -> Estimate:
    """Share of the tasks whose lesson ranks first in which a hook's briefing shows it within its budget."""
    chance, first = random.Random(7), [each for each in found if each.first]
    hits = 0.0
    for each in first:
        for _ in range(DRAWS):
            unproven = rule(each, chance)
            ordered = in_order(each.proven, unproven) if leading else (*each.proven, *unproven)
            brief = choose(
                lambda hits: store.search.vectors("content", [hit.id for hit in hits]),
                [BriefItem(hit=hit) for hit in ordered],
                model_id=embedder.model_id,
                budget=PROMPT_BUDGET,
                limit=PROMPT_LIMIT,
                moment=datetime(2026, 1, 2, tzinfo=UTC),
            )
            hits += any(item.hit.id == each.needed for item in brief.items)
    return _rounded(hits / DRAWS, len(first))


def report(home: Path, data: Path, embedder: Embedder) -> str:
    """The tables of all sets; says so where the data is absent."""
    lines: list[str] = []
    for one in task_sets(data):
        with filled(home, embedder, one) as (store, found):
            first = share(sum(each.first for each in found), len(found))
            answered = sum(each.answered for each in found)
            lines += [
                f"{one.name}: {len(one.tasks)} tasks, {len(one.others)} other memories; "
                f"something proven answers {answered} of the tasks",
                f"  ranks first among the unproven: {_shown(first)}",
            ]
            for name, rule in RULES:
                everywhere, where_first, tokens = delivered(found, rule)
                lines.append(
                    f"  {name:28} delivered {_shown(everywhere)}; where it ranks first {_shown(where_first)}; "
                    f"{tokens:.0f} tokens an answer"
                )
            for name, rule, leading in (("before", one_of_five, False), ("after", as_searched, True)):
                lines.append(
                    f"  {name + ': in a briefing':28} where it ranks first "
                    f"{_shown(briefed(store, embedder, found, rule, leading=leading))}"
                )
    return "\n".join(lines) or f"No reme data in {data}: nothing was measured."


def _shown(estimate: Estimate) -> str:
    return f"{estimate.value:.0%} [{estimate.low:.0%}, {estimate.high:.0%}]"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Whether an unproven lesson arrives where it is needed.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the data")
    parser.add_argument("--embedder", default="local", help="name of the embedder")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        sys.stdout.write(
            report(Path(home), chosen.data, open_embedder(chosen.embedder, cache=Path(home) / "models")) + "\n"
        )


if __name__ == "__main__":
    main()
