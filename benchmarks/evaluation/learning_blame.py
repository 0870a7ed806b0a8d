"""Does a failure lesson name the mistake that was marked; and what points at it when there is no model.

A lesson names the mistake when its step numbers hold the marked step, or when it says the marked reason: of the words
of the reason that neither the task nor the agent's name uses (function words left out, words equal when their first
five letters are), at least ``THRESHOLD`` occur in the lesson. A reason with fewer than ``LEAST_WORDS`` such words
cannot be named by words. How often that happens by chance is measured with the same lessons: a random step instead of
the marked one, and the reasons of all the other sessions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from evaluation.learning_distilling import summary_of
from evaluation.learning_estimates import Estimate, average, share
from evaluation.learning_sources import BLAMED, REFLEXION, Mark, Session, Setup, blamed, chosen, reflections
from evaluation.learning_tables import Cell, Table, absent
from reasoningbank.errors import BudgetExhausted, MalformedAnswer, ModelUnavailable
from reasoningbank.memories.words import STOP_WORDS, analyse
from reasoningbank.sessions.assignment import items_of
from reasoningbank.sessions.facts import facts
from reasoningbank.sessions.lessons import extract
from reasoningbank.sessions.validation import examine
from reasoningbank.types.session import Item, Judgement, SessionSummary, Step, Trajectory

THRESHOLD = 0.4
LEAST_WORDS = 3
_PREFIX = 5
_PAIR = re.compile(r"failed at step (\d+) and succeeded")
_TASK = "Do a household task in a simulated home."


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What was learned from one session: its words and the steps it rests on."""

    session: int
    text: str
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """How one lesson meets the mark of its session.

    Attributes:
        chance: How likely it would meet a mark that has nothing to do with it.
    """

    step: bool
    reason: bool
    agent: bool
    chance: float

    @property
    def mistake(self) -> bool:
        """Whether it names the mistake, by step or by words."""
        return self.step or self.reason


def naming(setup: Setup) -> Iterator[Table]:
    """The tables of the marked logs and of the reflections."""
    yield _logs(setup)
    yield _reflections(setup)


def _logs(setup: Setup) -> Table:
    title = "Failure lessons that name the marked mistake: logs of failed agents, marked by people"
    sessions = blamed(setup)
    if not sessions:
        return absent("who_and_when", title, BLAMED)
    pointers = [
        Lesson(session=number, text="", steps=(step,))
        for number, session in enumerate(sessions)
        if (step := pointed(session.trajectory)) is not None
    ]
    templates = [
        Lesson(session=number, text=_text(item), steps=())
        for number, session in enumerate(sessions)
        for item in items_of(summary_of(session, "evaluation"))
    ]
    rows = [
        row("no model: step that facts point at", sessions, pointers),
        row("no model: template lesson", sessions, templates),
    ]
    if setup.model is not None:
        asked = chosen(sessions, setup.sample)
        rows.append(_learned(setup, asked))
    unmatched = sum(session.mark is not None and session.mark.step is None for session in sessions)
    repaired = sum(any(fact.kind == "repair" for fact in facts(each.trajectory.steps)) for each in sessions)
    notes = (
        f"named = marked step among the lesson's steps, or {THRESHOLD:.0%} of the marked reason's own words in it;",
        "by chance = a random step, or the other sessions' reasons. The verdict failure is given, not judged.",
        f"Facts point at the first failure that was not repaired, else at the failing step of the first of the"
        f" fail-and-fix pairs ({repaired} sessions have one); this is a pointer, no lesson is made of it.",
        f"{unmatched} sessions whose marked step cannot be matched with a captured step.",
    )
    return Table(name="who_and_when", title=title, rows=tuple(rows), notes=notes)


def _reflections(setup: Setup) -> Table:
    title = "Failure lessons that name the mistake: reflections of an agent on its own failed trials"
    found = reflections(setup)
    if not found:
        return absent("reflexion", title, REFLEXION)
    sessions = [
        Session(
            key=f"{name} {number}",
            group=name,
            path=setup.data / REFLEXION,
            trajectory=Trajectory(task=_TASK, steps=(Step(thought=text),), session=f"{name} {number}"),
            succeeded=False,
            mark=mark,
        )
        for number, (name, text, mark) in enumerate(found)
        if mark is not None
    ]
    templates = []
    for number, session in enumerate(sessions):
        text = session.trajectory.steps[0].thought
        summary = SessionSummary(
            session_id=session.key, project_id="evaluation", outcome="failure", task=_TASK, approach=text
        )
        kept, _ = examine(items_of(summary), session.trajectory, "failure", model="template")
        templates += [Lesson(session=number, text=_text(item), steps=()) for item in kept]
    rows = [row("no model: template lesson", sessions, templates)]
    if setup.model is not None:
        rows.append(_learned(setup, chosen(sessions, setup.sample)))
    notes = (
        "The files hold no transcript and no step, only what the agent wrote afterwards: facts have nothing to point",
        "at, and the marked mistake is the agent's own sentence about it. So the number says whether a lesson keeps",
        "the diagnosis, not whether it finds it; the template keeps it by its construction. Words alone count.",
        f"{len(found) - len(sessions)} of {len(found)} different reflections name no mistake and are left out.",
    )
    return Table(name="reflexion", title=title, rows=tuple(rows), notes=notes)


def pointed(trajectory: Trajectory) -> int | None:
    """The step that facts alone point at: the first failure that stayed, else the failing step of a fail-fix pair."""
    found = facts(trajectory.steps)
    stayed = [fact.step for fact in found if not fact.positive and fact.step is not None]
    mended = [int(match[1]) for fact in found if fact.kind == "repair" and (match := _PAIR.search(fact.detail))]
    return min(stayed or mended, default=None)


def row(
    way: str, sessions: Sequence[Session], lessons: Sequence[Lesson], *, unanswered: int = 0, refused: int = 0
) -> dict[str, Cell]:
    """How often lessons meet the mark of their session.

    Args:
        way: How the lessons were made.
        sessions: All sessions that were asked about.
        lessons: Those that may be stored.
        unanswered: Sessions without a usable answer.
        refused: Proposed lessons that may not be stored.
    """
    words = [own_words(session) for session in sessions]
    met = [naming_of(lesson, sessions, words) for lesson in lessons]
    groups = [sessions[lesson.session].group for lesson in lessons]
    named = {lesson.session for lesson, each in zip(lessons, met, strict=True) if each.mistake}

    def part(values: Sequence[bool | float]) -> Estimate:
        return average([float(value) for value in values], groups)

    cells: dict[str, Cell] = {
        "way": way,
        "sessions": len(sessions),
        "with a lesson": len({lesson.session for lesson in lessons}),
        "no answer": unanswered,
        "refused": refused,
        "lessons": len(lessons),
        "lessons that name it": part([each.mistake for each in met]),
        "by chance": part([each.chance for each in met]),
        "sessions named": share(len(named), len(sessions)),
    }
    if any(lesson.steps for lesson in lessons):
        cells["the step"] = part([each.step for each in met])
    if any(lesson.text for lesson in lessons):
        cells["the reason"] = part([each.reason for each in met])
        cells["the agent"] = part([each.agent for each in met])
    return cells


def naming_of(lesson: Lesson, sessions: Sequence[Session], words: Sequence[frozenset[str]]) -> Naming:
    """How the lesson meets the mark of its session, and how it would meet others."""
    session = sessions[lesson.session]
    mark = session.mark or Mark(reason="")
    said = prefixes(lesson.text)
    others = [says(said, each) for number, each in enumerate(words) if number != lesson.session]
    count = len(session.trajectory.steps)
    by_step = min(1.0, len(set(lesson.steps)) / count) if count and mark.step is not None else 0.0
    by_words = sum(others) / len(others) if others else 0.0
    agent = analyse(mark.agent.replace("_", " ")).strip()
    return Naming(
        step=mark.step is not None and mark.step in lesson.steps,
        reason=says(said, words[lesson.session]),
        agent=bool(agent) and f" {agent} " in f" {analyse(lesson.text.replace('_', ' '))} ",
        chance=1 - (1 - by_step) * (1 - by_words),
    )


def own_words(session: Session) -> frozenset[str]:
    """The words of the marked reason that neither the task nor the agent's name uses."""
    mark = session.mark or Mark(reason="")
    return prefixes(mark.reason) - prefixes(session.trajectory.task) - prefixes(mark.agent)


def prefixes(text: str) -> frozenset[str]:
    """The first five letters of every word that is no function word."""
    words = analyse(text.replace("_", " ")).split()
    return frozenset(word[:_PREFIX] for word in words if word not in STOP_WORDS)


def says(said: frozenset[str], reason: frozenset[str]) -> bool:
    """Whether enough of the reason's words were said."""
    return len(reason) >= LEAST_WORDS and len(reason & said) >= THRESHOLD * len(reason)


def _learned(setup: Setup, sessions: Sequence[Session]) -> dict[str, Cell]:
    """Asks the model for the lessons of each session, told that it failed, and examines them as a bank does."""
    lessons: list[Lesson] = []
    unanswered = refused = 0
    if setup.model is None:
        return row("no model", sessions, lessons)
    for number, session in enumerate(sessions):
        failed = Judgement(
            verdict="failure", probability=0.0, rationale="It failed.", judge="user", at=datetime.now(UTC)
        )
        try:
            found = extract(session.trajectory, failed, setup.model)
        except (ModelUnavailable, MalformedAnswer, BudgetExhausted):
            unanswered += 1
            continue
        kept, unfit = examine(found.items, session.trajectory, "failure", model=found.model, prompt=found.prompt)
        refused += len(unfit)
        lessons += [
            Lesson(session=number, text=_text(item), steps=item.steps) for item in kept if item.outcome == "failure"
        ]
    return row(setup.model.name, sessions, lessons, unanswered=unanswered, refused=refused)


def _text(item: Item) -> str:
    return f"{item.title}\n{item.description}\n{item.content}"
