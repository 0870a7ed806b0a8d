"""The plain format of ReasoningBank: JSON lines, an object per step or per session; see docs/reference/capture.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reasoningbank.sessions.readers.drafts import Skipped, StepDraft
from reasoningbank.sessions.readers.json_stream import exit_code, fields, listed, moment, text, written
from reasoningbank.sessions.readers.turns import SessionBuilder
from reasoningbank.types.session import EVIDENCE_KINDS, Evidence, EvidenceKind, Trajectory

NAME = "jsonl"
STEP_KEYS = frozenset({"user", "thought", "action", "tool", "observation", "error", "exit_code"})
"""An object with one of these keys is a step."""
HEAD_KEYS = frozenset({"task", "final_answer", "evidence"})
"""An object with one of these keys says something about its session."""
MAX_GIVEN = 100
"""Most facts that a session may bring along."""
_KINDS: dict[str, EvidenceKind] = {kind: kind for kind in EVIDENCE_KINDS}


class Plain:
    """Reads lines in order; a new task or another session's name begins a new session."""

    def __init__(self) -> None:
        self._session = SessionBuilder(NAME)
        self._place = 0

    def take(self, place: int, entry: object) -> Iterator[Trajectory | Skipped]:
        """Read one line; yield what was wrong with it, and the session before when a new one begins."""
        line = fields(entry)
        if not (STEP_KEYS | HEAD_KEYS | {"steps"}) & line.keys():
            yield Skipped(place, "it must be an object with a task, steps or a step")
            return
        name, task = text(line.get("session")), text(line.get("task"))
        other = bool(name and self._session.name and name != self._session.name)
        if self._session.begun and (other or (task and self._session.has_task) or "steps" in line):
            yield from self.finish()
        if not self._session.begun:
            self._place = place
        for key in line.keys() - STEP_KEYS:
            _take(self._session, key, line[key])
        for step in listed(line.get("steps")):
            _step(self._session, fields(step))
        if STEP_KEYS & line.keys():
            _step(self._session, line)
        if "steps" in line:
            yield from self.finish()

    def finish(self) -> Iterator[Trajectory | Skipped]:
        """Yield the session that was being read."""
        session, self._session = self._session, SessionBuilder(NAME)
        if session.begun:
            yield session.finish(self._place)


class PlainObject:
    """A file that is one object, a session with its steps."""

    def __init__(self) -> None:
        self._session = SessionBuilder(NAME)

    def put(self, key: str, value: object) -> None:
        """Take the value of a key, or one element of the array that is its value."""
        if key == "steps":
            _step(self._session, fields(value))
        else:
            _take(self._session, key, value)

    def finish(self, place: int) -> Trajectory | Skipped:
        """Return the trajectory, or why there is none."""
        return self._session.finish(place)


def _take(session: SessionBuilder, key: str, value: object) -> None:
    if key == "session":
        session.name = session.name or text(value)
    elif key == "task":
        session.set_task(text(value))
    elif key == "created_at":
        session.starts(moment(value))
    elif key == "metadata":
        session.describe(fields(value), {name: name for name in fields(value)})
    elif key == "final_answer":
        session.set_answer(text(value))
    elif key == "memories":
        session.desk.show(memory for memory in (listed(value) or [value]) if isinstance(memory, str))
    elif key == "evidence":
        for fact in (listed(value) or [value])[:MAX_GIVEN]:
            _fact(session, fields(fact))


def _step(session: SessionBuilder, step: Mapping[str, object]) -> None:
    desk, tool = session.desk, text(step.get("tool"))
    draft = StepDraft(
        user=desk.read(text(step.get("user"))),
        thought=desk.read(text(step.get("thought"))),
        error=desk.read(written(step.get("error"))),
        exit_code=exit_code(step.get("exit_code")),
        actor=text(step.get("actor")),
    )
    desk.act(draft, tool, written(step.get("action")))
    desk.observe(draft, written(step.get("observation")))
    session.adds(draft)


def _fact(session: SessionBuilder, fact: Mapping[str, object]) -> None:
    kind, positive = _KINDS.get(text(fact.get("kind"))), fact.get("positive")
    if kind is None or not isinstance(positive, bool) or len(session.evidence) >= MAX_GIVEN:
        return
    detail, name, step = text(fact.get("detail")), text(fact.get("name")), exit_code(fact.get("step"))
    session.evidence.append(Evidence(kind=kind, positive=positive, detail=detail, step=step, name=name))
