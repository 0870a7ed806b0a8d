"""One session while it is read: turns of people, agents and tools become ordered steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from reasoningbank.errors import InvalidInput
from reasoningbank.sessions.readers.drafts import INTAKE, Skipped, StepDraft, Text, size
from reasoningbank.sessions.readers.preparation import TrajectoryBuilder
from reasoningbank.types.session import SYSTEM_PROMPT, Evidence, Trajectory

MIN_MESSAGES = 3
"""A session of fewer messages in which no tool was used is a question and an answer: nothing happened in it."""
MAX_OPEN = 1_000
"""Most calls of tools that wait for their answer at the same time."""

MAX_VOICES = 100
"""Most actors that have said something and not yet acted on it at the same time."""


@dataclass(slots=True)
class _Voice:
    """Hold what one actor said since its last action."""

    thoughts: list[str] = field(default_factory=list)
    length: int = 0


_LONG_RULES = 100_000
"""Characters of rules beside which no further ones are kept."""


class SessionBuilder:
    """Take turns in order and give the trajectory.

    The first thing a person says is the task. What an agent says goes to its next action, or is a step of its own when
    a person answers. An answer of a tool goes to the call with its id, also when others came in between.

    Attributes:
        source: The format it is read from.
        name: The session's own id.
        metadata: Further facts as texts.
        started: When it began.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.name = ""
        self.metadata: dict[str, str] = {}
        self.evidence: list[Evidence] = []
        self.started: datetime | None = None
        self.desk = TrajectoryBuilder()
        self._task: Text = ""
        self._fallback: Text = ""
        self._answer: Text = ""
        self._handed_in = False
        self._user: list[str] = []
        self._voices: dict[str, _Voice] = {}
        self._open: dict[str, StepDraft] = {}
        self._messages = 0
        self._acted = False

    @property
    def begun(self) -> bool:
        """Return whether anything of it was read."""
        return bool(self._messages or self._task or self._fallback or self.desk.shelf.last)

    @property
    def has_task(self) -> bool:
        """Return whether it is known what was to be done."""
        return bool(self._task)

    def starts(self, at: datetime | None) -> None:
        """Note a time; the earliest counts."""
        if at is not None and (self.started is None or at < self.started):
            self.started = at

    def rules(self, text: str, *, further: bool = False) -> None:
        """Note what the agent was told by nobody in the conversation.

        Args:
            text: What it was told.
            further: Keep it beside what is known, as far as that is not long; else the first such text counts.
        """
        known = self.metadata.get(SYSTEM_PROMPT, "")
        if not text.strip() or (known and not further) or text in known or len(known) > _LONG_RULES:
            return
        self.metadata[SYSTEM_PROMPT] = f"{known}\n\n{text}" if known else text

    def set_task(self, text: str) -> None:
        """Say what was to be done, unless that is known."""
        if not self._task and text.strip():
            self._task = self.desk.read(text)

    def propose_task(self, text: str) -> None:
        """Say what was to be done in case nobody says it better."""
        if not self._fallback and text.strip():
            self._fallback = self.desk.read(text)

    def set_answer(self, text: str) -> None:
        """Say what the agent handed in; nothing that it says in passing takes its place."""
        if text.strip():
            self._handed_in = True
            self._answer = self.desk.read(text)

    def hears(self, text: str) -> None:
        """Take the words of a person."""
        if not text.strip():
            return
        self._messages += 1
        if not self._task:
            self.set_task(text)
            return
        for actor in [*self._voices]:
            self.pauses(actor)
        self._user.append(text)
        if sum(map(len, self._user)) > INTAKE:
            self._add(StepDraft())

    def says(self, text: str, actor: str = "", *, counted: bool = True, final: bool = True) -> None:
        """Take words or thoughts of an agent.

        Args:
            text: Its words.
            actor: The sub-agent; empty for the main agent.
            counted: Count it as a message of its own.
            final: Take it as an answer unless something follows; a thought is not.
        """
        if not text.strip():
            return
        self._messages += counted
        if actor not in self._voices and len(self._voices) >= MAX_VOICES:
            self.pauses(next(iter(self._voices)))
        voice = self._voices.setdefault(actor, _Voice())
        voice.thoughts.append(text)
        voice.length += len(text)
        if final and not self._handed_in:
            self._answer = self.desk.read(text)
        if voice.length > INTAKE:
            self.pauses(actor)

    def pauses(self, actor: str = "") -> StepDraft | None:
        """Return what an actor said becomes a step without an action."""
        thought = self._thought(actor)
        return self._add(StepDraft(thought=self.desk.read(thought), actor=actor)) if thought else None

    def acts(self, call: str, tool: str, action: str, actor: str = "") -> StepDraft:
        """Return an agent calls a tool; the call's id finds its answer."""
        self._acted = True
        draft = StepDraft(thought=self.desk.read(self._thought(actor)), actor=actor)
        self.desk.act(draft, tool, action)
        self._add(draft)
        if call:
            if len(self._open) >= MAX_OPEN:
                self._open.pop(next(iter(self._open)))
            self._open[call] = draft
        return draft

    def answers(
        self, call: str, text: str, *, failed: bool = False, exit_code: int | None = None, actor: str = ""
    ) -> StepDraft:
        """Return a tool answers a call; an answer to no known call is a step of its own."""
        self._acted = True
        draft = self._open.pop(call, None)
        if draft is None:
            draft = self._add(StepDraft(actor=actor))
        self.observes(draft, text, failed=failed, exit_code=exit_code)
        return draft

    def observes(self, draft: StepDraft, text: str, *, failed: bool = False, exit_code: int | None = None) -> None:
        """Write down what a step saw."""
        self._acted = True
        self.desk.observe(draft, text)
        draft.failed = failed
        draft.exit_code = exit_code

    def adds(self, draft: StepDraft) -> None:
        """Take over a step that is complete."""
        self._messages += 1
        self._acted = self._acted or bool(draft.action or draft.tool or draft.observation)
        if draft.thought and not draft.action and not self._handed_in:
            self._answer = draft.thought
        self.desk.shelf.add(draft)

    def fails(self, error: str, actor: str = "") -> None:
        """Take an error that no tool answered."""
        draft = StepDraft(thought=self.desk.read(self._thought(actor)), error=self.desk.read(error), actor=actor)
        self._add(draft)

    def finish(self, place: int) -> Trajectory | Skipped:
        """Return the trajectory, or why there is none.

        Args:
            place: Where the session stands in its file.
        """
        for actor in [*self._voices]:
            self.pauses(actor)
        if self._user:
            self._add(StepDraft())
        task = self._task or self._fallback
        if not task:
            return Skipped(place, "no message of a person says what was to be done")
        if not self._acted and self._messages < MIN_MESSAGES:
            return Skipped(place, f"a chat of {self._messages} messages without any action has nothing to learn from")
        shell = Trajectory(
            task="-",
            session=self.name,
            source=self.source,
            metadata=self.metadata,
            evidence=tuple(self.evidence),
            created_at=self.started or datetime.now(UTC),
        )
        try:
            return self.desk.finished(shell, task, self._answer if size(self._answer) else "")
        except InvalidInput:
            return Skipped(place, "the message that says what was to be done holds no visible character")

    def describe(self, facts: Mapping[str, object], names: Mapping[str, str]) -> None:
        """Take over facts that are texts or numbers into the metadata: the first of each name that is not empty."""
        for key, name in names.items():
            value = facts.get(key)
            if name not in self.metadata and isinstance(value, (str, int)) and str(value)[:1]:
                self.metadata[name] = str(value)

    def _thought(self, actor: str) -> str:
        voice = self._voices.pop(actor, None)
        return "\n\n".join(voice.thoughts) if voice is not None else ""

    def _add(self, draft: StepDraft) -> StepDraft:
        if self._user:
            draft.user = self.desk.read("\n\n".join(self._user))
            self._user.clear()
        self.desk.shelf.add(draft)
        return draft
