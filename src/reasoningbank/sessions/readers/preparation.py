"""From raw steps to a trajectory that may be stored: echo taken out, secrets redacted, texts bounded, facts found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from reasoningbank.safety.checks import place_name
from reasoningbank.safety.quotation import is_own_tool, memories_in, own_command, shows_memories, without_blocks
from reasoningbank.safety.secrets import is_safe, redact
from reasoningbank.safety.unicode import normalise
from reasoningbank.sessions.facts import facts
from reasoningbank.sessions.readers.drafts import MARGIN, MAX_TEXT, Shelf, StepDraft, Text, taken
from reasoningbank.sessions.readers.json_stream import exit_code
from reasoningbank.types.quantity import counted
from reasoningbank.types.session import SYSTEM_PROMPT, Evidence, Step, Trajectory

MAX_TRAJECTORY = 1_000_000
"""Most characters of all texts of one trajectory; beyond it every text is cut shorter."""
MAX_NAME = 500
"""Most characters of a session's, tool's or actor's name and of a value of the metadata."""
MAX_MEMORIES = 1_000
"""Most ids of memories that one trajectory lists."""
MAX_METADATA = 64
"""Most entries of the metadata."""
MAX_SYSTEM_PROMPT = 12_000
"""Most characters of the rules that an agent was given."""
MAX_EVIDENCE = 1_000
"""Most facts of one trajectory."""
STEPS_LEFT_OUT = "steps_left_out"
"""Entry of the metadata: how many steps between the first and the last ones were not kept."""
SECRETS_REPLACED = "secrets_replaced"
"""Entry of the metadata: how many secrets were replaced."""
CHARACTERS_LEFT_OUT = "characters_left_out"
"""Entry of the metadata: how many characters were cut out of texts."""

_BATCH = 3_900
_JOINT = "\n\n"
_LIMITS = (MAX_TEXT, 4_000, 2_000, 1_000, 500, 250)
_MAX_ERROR = 600
_ROOM_FOR_NOTICE = 150
_PLACEHOLDER_START = "[REDACTED:"
_LONGEST_PLACEHOLDER = 80
_RAW_NAME = 4_000
_SPACE = re.compile(r"\s+")
_NOTE = re.compile(r"\[answer of the bank's own [^\[\]]{1,600}\]")


class TrajectoryBuilder:
    """Take the raw parts of one session and make its trajectory of them.

    Attributes:
        shelf: The steps so far.
        seen: Ids of the memories that the bank showed, in order.
    """

    def __init__(self) -> None:
        self.shelf = Shelf()
        self.seen: dict[str, None] = {}

    def read(self, raw: str) -> Text:
        """Return a text of the session without the bank's own blocks, bounded in memory."""
        text, shown = without_blocks(raw)
        self.show(shown)
        return taken(text)

    def show(self, memories: Iterable[str]) -> None:
        """Note that the session was shown these memories."""
        for memory in memories:
            if len(self.seen) >= MAX_MEMORIES:
                return
            self.seen.setdefault(memory)

    def act(self, draft: StepDraft, tool: str, action: str) -> None:
        """Write down what a step does; of what is said to the bank itself only that it was."""
        draft.tool = tool
        draft.action = "" if is_own_tool(tool) else own_command(action) or self.read(action)

    def observe(self, draft: StepDraft, observation: str) -> None:
        """Write down what a step saw; of an answer of the bank only which memories were in it."""
        before = draft.size
        own = draft.tool if is_own_tool(draft.tool) else ""
        if not own and isinstance(draft.action, str):
            own = own_command(draft.action)
        if not own or _NOTE.fullmatch(observation):
            draft.observation = self.read(observation)
        else:
            shown = memories_in(observation) if shows_memories(own) else []
            self.show(shown)
            draft.observation = (
                f"[answer of the bank's own {own[:MAX_NAME]}: {counted(len(shown), 'memory', 'memories')}]"
            )
        self.shelf.grown(draft, draft.size - before)

    def finished(self, trajectory: Trajectory, task: Text, answer: Text) -> Trajectory:
        """Return the trajectory that may be stored.

        Args:
            trajectory: Carries what is not in the desk: session, source, metadata, time, id and given evidence.
            task: What the session was asked to do.
            answer: What the agent said last.

        Raises:
            InvalidInput: When the task has no visible character.
            ModelMissing: When the package that detects secrets cannot be loaded.
        """
        drafts = [*self.shelf]
        place_name(trajectory.id, "trajectory")
        rules = self.read(trajectory.metadata.get(SYSTEM_PROMPT, ""))
        safe = _Safe([*_all_texts(trajectory, task, answer, drafts), *_pieces(rules), *map(_line, self.seen)])
        limit = _limit(safe, drafts)
        before = safe.cut
        steps = tuple(_step(draft, safe, limit) for draft in drafts)
        task_text, answer_text = safe.fitted(task, MAX_TEXT).strip(), safe.fitted(answer, MAX_TEXT).strip()
        metadata = {safe.name(key): safe.name(value) for key, value in [*trajectory.metadata.items()][:MAX_METADATA]}
        metadata.pop(SYSTEM_PROMPT, None)
        if kept := safe.fitted(rules, MAX_SYSTEM_PROMPT).strip():
            metadata[SYSTEM_PROMPT] = kept
        if self.shelf.left_out:
            metadata[STEPS_LEFT_OUT] = str(self.shelf.left_out)
        if safe.secrets:
            metadata[SECRETS_REPLACED] = str(safe.secrets)
        if safe.cut > before:
            metadata[CHARACTERS_LEFT_OUT] = str(safe.cut - before)
        return replace(
            trajectory,
            task=task_text,
            steps=steps,
            final_answer=answer_text,
            session=safe.name(trajectory.session),
            source=safe.name(trajectory.source),
            evidence=_evidence(facts(steps), trajectory.evidence, self.shelf, len(steps), safe),
            memories=tuple(dict.fromkeys(filter(None, map(safe.name, self.seen)))),
            metadata=metadata,
        )


def prepare(trajectory: Trajectory) -> Trajectory:
    """Return the trajectory as it may be stored and shown to a model.

    Promises: secrets in any of its texts are placeholders, the bank's own blocks and answers are gone and the memories
    in them are listed, every text is within its bound and says what was cut, and the facts found in the steps come
    before those that were given. Preparing twice changes nothing more.

    Raises:
        InvalidInput: When the task has no visible character.
        ModelMissing: When the package that detects secrets cannot be loaded.
    """
    desk = TrajectoryBuilder()
    desk.show(trajectory.memories)
    for step in trajectory.steps:
        draft = StepDraft(
            user=desk.read(step.user),
            thought=desk.read(step.thought),
            error=desk.read(step.error),
            exit_code=exit_code(step.exit_code),
            actor=step.actor,
        )
        desk.act(draft, step.tool, step.action)
        desk.observe(draft, step.observation)
        desk.shelf.add(draft)
    return desk.finished(trajectory, desk.read(trajectory.task), desk.read(trajectory.final_answer))


class _Safe:
    """The redacted form of raw texts, made of all of them at once because short texts cost more one by one.

    Attributes:
        cut: How many characters were cut out so far.
        secrets: How many secrets were replaced.
    """

    def __init__(self, raw: Iterable[str]) -> None:
        self.cut = 0
        self.secrets = 0
        self._texts: dict[str, str] = {}
        batch: dict[str, str] = {}
        length = 0
        for text in raw:
            if not text or text in batch or text in self._texts:
                continue
            clean = normalise(text)
            if batch and length + len(clean) > _BATCH:
                self._take(batch)
                batch, length = {}, 0
            batch[text] = clean
            length += len(clean) + len(_JOINT)
        self._take(batch)

    def _take(self, batch: Mapping[str, str]) -> None:
        joined = _JOINT.join(batch.values())
        if len(batch) > 1 and is_safe(joined):
            self._texts.update(batch)
        else:
            for raw, clean in batch.items():
                redacted = redact(clean)
                self._texts[raw] = redacted.text
                self.secrets += sum(finding.count for finding in redacted.findings)

    def length(self, text: Text) -> int:
        """Return about how many characters the text has before it is cut."""
        return len(self._texts.get(text, "")) if isinstance(text, str) else len(text.head) + len(text.tail)

    def name(self, raw: str) -> str:
        """Return a name as one line."""
        return _SPACE.sub(" ", self._texts.get(_line(raw), ""))[:MAX_NAME].strip()

    def fitted(self, text: Text, limit: int) -> str:
        """Return the redacted text, of a longer one both ends and how much is missing between them."""
        if isinstance(text, str):
            whole = self._texts.get(text, "")
            if len(whole) <= limit:
                return whole if whole.strip() else ""
            head = tail = whole
            total = len(whole)
        else:
            # What stands beside the cut may be a piece of a secret that no rule knows without the rest.
            head = self._texts.get(text.head, "")
            tail = self._texts.get(text.tail, "")
            head, tail = head[: max(0, len(head) - MARGIN)], tail[MARGIN:]
            total = len(head) + len(tail) + text.missing + 2 * MARGIN
        half = max(0, limit - _ROOM_FOR_NOTICE) // 2
        head = head[: _outside_placeholder(head, half)]
        tail = tail[_outside_placeholder(tail, max(0, len(tail) - half)) :]
        missing = total - len(head) - len(tail)
        self.cut += missing
        return f"{head}\n[... {missing} characters cut ...]\n{tail}"


def _outside_placeholder(text: str, position: int) -> int:
    """Return the position, or the start of the placeholder that it would cut."""
    start = text.rfind(_PLACEHOLDER_START, max(0, position - _LONGEST_PLACEHOLDER), position + len(_PLACEHOLDER_START))
    return start if 0 <= start < position <= text.find("]", start) else position


def _all_texts(trajectory: Trajectory, task: Text, answer: Text, drafts: Sequence[StepDraft]) -> Iterator[str]:
    yield from _pieces(task)
    yield from _pieces(answer)
    for draft in drafts:
        for text in (draft.user, draft.thought, draft.action, draft.observation, draft.error):
            yield from _pieces(text)
        yield from (_line(draft.tool), _line(draft.actor))
    yield from (_line(trajectory.session), _line(trajectory.source))
    for entry in [*trajectory.metadata.items()][:MAX_METADATA]:
        yield from map(_line, entry)
    for evidence in trajectory.evidence:
        yield from (evidence.detail, _line(evidence.name))


def _line(name: str) -> str:
    return name if len(name) <= MAX_NAME and name.isalnum() else _SPACE.sub(" ", name[:_RAW_NAME]).strip()


def _pieces(text: Text) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else (text.head, text.tail)


def _limit(safe: _Safe, drafts: Sequence[StepDraft]) -> int:
    """Return how long a text may be so that all of them together keep to the bound of a trajectory."""
    lengths = [
        safe.length(text)
        for draft in drafts
        for text in (draft.user, draft.thought, draft.action, draft.observation, draft.error)
    ]
    if sum(lengths) <= MAX_TRAJECTORY:
        return MAX_TEXT
    fitting = (limit for limit in _LIMITS if sum(min(length, limit) for length in lengths) <= MAX_TRAJECTORY)
    return next(fitting, _LIMITS[-1])


def _step(draft: StepDraft, safe: _Safe, limit: int) -> Step:
    observation = safe.fitted(draft.observation, limit)
    error = safe.fitted(draft.error, limit)
    if draft.failed and not error:
        error = _ends(observation.strip()) or "the tool reported an error"
    return Step(
        user=safe.fitted(draft.user, limit),
        thought=safe.fitted(draft.thought, limit),
        action=safe.fitted(draft.action, limit),
        tool=safe.name(draft.tool),
        observation=observation,
        error=error,
        exit_code=draft.exit_code,
        actor=safe.name(draft.actor),
    )


def _ends(text: str) -> str:
    if len(text) <= _MAX_ERROR:
        return text
    half = _MAX_ERROR // 2
    return f"{text[: _outside_placeholder(text, half)]} ... {text[_outside_placeholder(text, len(text) - half) :]}"


def _evidence(
    found: Sequence[Evidence], given: Sequence[Evidence], shelf: Shelf, steps: int, safe: _Safe
) -> tuple[Evidence, ...]:
    facts_first = dict.fromkeys(found)
    for fact in given:
        if fact in facts_first:
            continue
        place = fact.step
        if place is not None and place >= shelf.beginning + shelf.left_out:
            place -= shelf.left_out
        elif place is not None and place >= shelf.beginning:
            place = None
        known = place if place is not None and 0 <= place < steps else None
        detail = safe.fitted(fact.detail, MAX_TEXT)
        facts_first.setdefault(replace(fact, detail=detail, name=safe.name(fact.name), step=known))
    return tuple(facts_first)[:MAX_EVIDENCE]
