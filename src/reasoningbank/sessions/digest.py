"""A trajectory in few tokens: what judge and distiller read instead of the whole session."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from reasoningbank.errors import InvalidInput
from reasoningbank.llm.token_count import count_tokens
from reasoningbank.safety.quotation import clip, fence, fit, name, quote
from reasoningbank.safety.stored_text import clean_line
from reasoningbank.types.session import SYSTEM_PROMPT, Evidence, Judgement, Step, Trajectory

DIGEST_TOKENS = 6_000
"""Most tokens of a digest unless another number is asked for."""
MIN_TOKENS = 400
"""Fewer tokens than this cannot hold a task and its evidence."""

_CHARACTERS = (160, 600, 2_400, 12_000)
_ROUNDS = (
    (True, 0, 0.6),
    (True, 1, 0.8),
    (False, 0, 0.9),
    (True, 2, 1.0),
    (False, 1, 1.0),
    (True, 3, 1.0),
    (False, 2, 1.0),
    (False, 3, 1.0),
)
"""Which steps (important or not) are shown at which length, within which share of the room for steps."""
_FIRST, _LAST = 3, 5
_GAP_TOKENS = 16
_MOST_REFUSED = 40
_MOST_EVIDENCE = 40
_FRAME_TOKENS = 160
_TOO_LONG = "(too long to be shown)\n"
_NONE = "(none)\n"


def digest(trajectory: Trajectory, judgement: Judgement | None = None, *, tokens: int = DIGEST_TOKENS) -> str:
    """Return the session as quoted data: the agent's rules, task, steps, evidence, answer, and how it was judged.

    When it does not fit, the first and last steps, those that failed and what repaired them, those that evidence was
    seen in and those where a person spoke are kept longest; long texts lose their middle. Everything that is missing is
    said in its place. Secrets are removed once more. Steps are numbered from 0 as in ``Evidence.step`` and
    ``Item.steps``; turns of sub-agents name them.

    Args:
        trajectory: The session.
        judgement: Its verdict and rationale, for a distiller; a judge is given none.
        tokens: Most tokens of the answer (cl100k).

    Raises:
        InvalidInput: When fewer tokens are asked for than ``MIN_TOKENS``.
    """
    if tokens < MIN_TOKENS:
        raise InvalidInput(f"a digest needs room for {MIN_TOKENS} tokens, not {tokens}")
    room = tokens - _FRAME_TOKENS
    while True:
        text = fence("the record of one session", _body(trajectory, judgement, room))
        excess = count_tokens(text) - tokens
        if excess <= 0:
            return text
        room -= excess


_SHOWN_STEP = re.compile(r"^\[step \d+\]", re.MULTILINE)


def shows_steps(text: str) -> bool:
    """Return whether a digest shows a step; what stands in the session itself is quoted behind bars."""
    return _SHOWN_STEP.search(text) is not None


def _body(trajectory: Trajectory, judgement: Judgement | None, tokens: int) -> str:
    before = [f"TASK\n{fit(trajectory.task, tokens // 5, characters=8_000) or _TOO_LONG}"]
    if rules := trajectory.metadata.get(SYSTEM_PROMPT, "").strip():
        shown = fit(rules, tokens // 4, characters=12_000, head=0.7)
        before.insert(0, f"RULES THAT THE AGENT WAS GIVEN (its system prompt)\n{shown or _TOO_LONG}")
    after: list[str] = []
    if trajectory.final_answer.strip():
        answer = fit(trajectory.final_answer, tokens // 6, characters=6_000, head=0.4)
        after.append(f"FINAL ANSWER OF THE AGENT (its own claim)\n{answer or _TOO_LONG}")
    after.append(f"EVIDENCE\n{_evidence(trajectory.evidence, tokens // 6) or _NONE}")
    if judgement is not None:
        rationale = fit(judgement.rationale, tokens // 10, characters=2_000)
        after.append(
            f"JUDGEMENT: {judgement.verdict}, probability of success {judgement.probability:.2f}, "
            f"judged by {name(judgement.judge) or 'nobody named'}\n{rationale}"
        )
    left = tokens - sum(map(count_tokens, (*before, *after)))
    return "\n".join((*before, _steps(trajectory.steps, trajectory.evidence, left), *after))


def _steps(steps: Sequence[Step], evidence: Sequence[Evidence], tokens: int) -> str:
    if not steps:
        return "STEPS: none were recorded\n"
    important, others = _order(steps, evidence)
    shown: dict[int, str] = {}
    costs: dict[int, int] = {}
    spent = 0
    for of_the_important, level, share in _ROUNDS:
        refused = 0
        for number in important if of_the_important else others:
            known = costs.get(number, 0)
            if refused >= _MOST_REFUSED or (level > 0 and number not in shown):
                continue
            if level > 0 and _is_complete(steps[number], level - 1):
                continue
            text = _step(number, steps[number], _CHARACTERS[level])
            cost = count_tokens(text) + _GAP_TOKENS
            if spent + cost - known <= tokens * share:
                shown[number], costs[number] = text, cost
                spent += cost - known
            else:
                refused += 1
    missing = len(steps) - len(shown)
    heading = f"STEPS ({len(steps)} in all, numbered from 0"
    heading += f"; {missing} of them are left out to save room)\n" if missing else ")\n"
    return heading + "".join(_with_gaps(shown, steps))


def _with_gaps(shown: dict[int, str], steps: Sequence[Step]) -> Iterator[str]:
    for previous, number in pairwise([-1, *sorted(shown), len(steps)]):
        missing = range(previous + 1, number)
        if missing:
            failed = sum(steps[index].failed for index in missing)
            span = f"step {missing[0]}" if len(missing) == 1 else f"steps {missing[0]} to {missing[-1]}"
            yield f"({span} left out" + (f", {failed} of them failed)\n" if failed else ")\n")
        if number < len(steps):
            yield shown[number]


def _step(number: int, step: Step, characters: int) -> str:
    heading = f"[step {number}]" + (f' sub-agent "{name(step.actor)}"' if step.actor.strip() else "")
    pieces = [heading + (" FAILED\n" if step.failed else "\n")]
    action = f'action, tool "{name(step.tool)}"' if step.tool.strip() else "action"
    for label, text, head in (
        ("a person said", step.user, 0.6),
        ("thought", step.thought, 0.6),
        (action, step.action, 0.7),
        ("observation", step.observation, 0.4),
        ("error", step.error, 0.4),
    ):
        quoted = quote(_short(text, characters, head)) if text.strip() else ""
        if quoted or (label.startswith("action,") and text is step.action):
            pieces.append(f"{label}:\n{quoted}")
    if step.exit_code is not None:
        pieces.append(f"exit code: {step.exit_code}\n")
    return "".join(pieces)


def _short(text: str, characters: int, head: float) -> str:
    """Return the text clipped; at the shortest length it is one line."""
    clipped = clip(text, characters, head=head)
    return clean_line(clipped) if characters == _CHARACTERS[0] else clipped


def _is_complete(step: Step, level: int) -> bool:
    """Return whether a step shown at this length lacks nothing; at the shortest, line breaks are lost."""
    texts = (step.user, step.thought, step.action, step.observation, step.error)
    return all(len(text) <= _CHARACTERS[level] and (level > 0 or "\n" not in text.strip()) for text in texts)


def _order(steps: Sequence[Step], evidence: Sequence[Evidence]) -> tuple[list[int], list[int]]:
    """Return the important steps and the others, each with those first that are to be kept longest."""
    ranks: dict[int, int] = {}

    def mark(number: int, rank: int) -> None:
        if 0 <= number < len(steps):
            ranks[number] = min(rank, ranks.get(number, rank))

    mark(0, 0)
    mark(len(steps) - 1, 0)
    for fact in evidence:
        if fact.step is not None:
            mark(fact.step, 1)
    for number in _repairs(steps):
        mark(number, 2)
    for number, step in enumerate(steps):
        if step.failed:
            mark(number, 2)
            mark(number + 1, 4)
        if step.user.strip():
            mark(number, 3)
    for number in (*range(_FIRST), *range(len(steps) - _LAST, len(steps))):
        mark(number, 3)
    nearness = {number: min(number, len(steps) - 1 - number) for number in range(len(steps))}
    important = sorted(ranks, key=lambda number: (ranks[number], nearness[number], number))
    others = sorted(nearness.keys() - ranks.keys(), key=lambda number: (nearness[number], number))
    return important, others


def _repairs(steps: Sequence[Step]) -> Iterator[int]:
    """Yield steps in which a tool worked that had failed just before."""
    broken: set[tuple[str, str]] = set()
    for number, step in enumerate(steps):
        key = (step.actor, step.tool)
        if step.failed:
            broken.add(key)
        elif key in broken:
            broken.discard(key)
            yield number


def _evidence(evidence: Sequence[Evidence], tokens: int) -> str:
    pieces: list[str] = []
    left = tokens
    for count, fact in enumerate(evidence[-_MOST_EVIDENCE:]):
        where = "" if fact.step is None else f" in step {fact.step}"
        sign = "for success" if fact.positive else "against success"
        called = f' "{name(fact.name)}"' if fact.name.strip() else ""
        piece = f"{fact.kind}{called}{where}, speaks {sign}:\n{quote(clip(fact.detail, 300))}"
        left -= count_tokens(piece)
        if left < 0:
            pieces.append(f"({len(evidence[-_MOST_EVIDENCE:]) - count} further facts left out)\n")
            break
        pieces.append(piece)
    if len(evidence) > _MOST_EVIDENCE:
        pieces.insert(0, f"({len(evidence) - _MOST_EVIDENCE} earlier facts left out)\n")
    return "".join(pieces)
