"""A captured session as a conversation: what was asked, what decided it, what it changed, and what was answered.

Everything is read from the session itself, without a model: the steps in which its evidence was seen, those that its
recipes rest on, and the last change of each file. What a person said stands among the messages, so that a model may
find in it what they want.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reasoningbank.conversations.format import LED, RESTS, derived_id, short
from reasoningbank.safety.quotation import clip
from reasoningbank.sessions.changes import Doing, cut, doings_of
from reasoningbank.sessions.commands import command
from reasoningbank.sessions.facts import describe_failure, failed
from reasoningbank.sessions.recipes import recipes_of
from reasoningbank.types.conversation import ANSWER, REQUEST, Conversation, Message, Speaker
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.session import Evidence, Judgement, Step, Trajectory, Verdict

MOST_ACTIONS = 10
"""Most steps of a session that become actions."""
MOST_FILES = 8
"""Most files of a session that become sources."""
MOST_SAID = 40_000
"""Most characters of a session's messages: about 10,000 tokens."""
_LONGEST_TEXT, _LONGEST_COMMAND, _LONGEST_NAME, _LONGEST_ACTION = 20_000, 4_000, 160, 1_000
_DECIDING = frozenset({"exit_code", "test_run", "repair", "commit", "submission"})
"""Kinds of evidence that an action shows; the others are words."""
_DIRECT, _STRONG = 0.9, 0.75
_ENDED: Mapping[Verdict, str] = {
    "success": "succeeded",
    "failure": "failed",
    "partial": "reached a part of its goal",
}
_CHANGED = "The file {source} is what the step '{target}' changed."
_THEN = "The step '{source}' {before}, and then came '{target}', which {after}."
_CLOSED = "The session for the request '{source}' {ended}, and its agent answered '{target}'."
_ANSWERED = "In a session that {ended}, the agent said: {answer}"


@dataclass(frozen=True, slots=True)
class _Action:
    """One deciding step of a session.

    Attributes:
        node: The step as a node.
        files: The files that it changed, each with what was changed in it.
    """

    node: Node
    files: Mapping[str, str]

    @property
    def ended(self) -> str:
        """Return the end of the step, as the rest of a sentence."""
        return "failed" if self.node.fields["status"] == "failed" else "went well"


def conversation_of(trajectory: Trajectory, judgement: Judgement, *, user_id: str) -> Conversation:
    """Return a session as a conversation, whose ``conv_id`` is the session's id; accepts any session.

    Args:
        trajectory: The session.
        judgement: How it ended.
        user_id: Whose session it is, and whose the preferences are that are found in it.
    """
    doings = doings_of(trajectory.steps)
    actions = _actions(trajectory, doings)
    sources = _sources(trajectory.id, actions)
    request, answer = clip(trajectory.task.strip(), _LONGEST_TEXT)[:_LONGEST_TEXT], _answer(trajectory, judgement)
    return Conversation(
        conv_id=trajectory.id,
        messages=tuple(_messages(trajectory, {each for each, _ in _deciding(trajectory, doings)})),
        user_id=user_id,
        request=request,
        answer=answer,
        nodes=(*sources.values(), *(each.node for each in actions)),
        edges=tuple(_edges(trajectory.id, request, answer, actions, sources, judgement)),
        broke_off=not answer,
    )


def _answer(trajectory: Trajectory, judgement: Judgement) -> str:
    """Return what the agent said last; of a session that did not succeed with that before it."""
    said = clip(trajectory.final_answer.strip(), _LONGEST_TEXT - 200)
    if not said or judgement.verdict not in {"failure", "partial"}:
        return said
    return _ANSWERED.format(ended=_ENDED[judgement.verdict], answer=said)


def _deciding(trajectory: Trajectory, doings: Sequence[Doing]) -> list[tuple[int, list[Evidence]]]:
    """Return the steps that decided the session in their order, each with the evidence that was seen in it.

    When there are too many, those that a recipe rests on stay, then those of the latest evidence, then the latest
    changes.
    """
    seen: dict[int, list[Evidence]] = {}
    for fact in trajectory.evidence:
        if fact.step is not None and fact.kind in _DECIDING and 0 <= fact.step < len(doings):
            seen.setdefault(fact.step, []).append(fact)
    last_change = {change.file: index for index, doing in enumerate(doings) for change in doing.changes if change.file}
    ranked = [
        *(step for recipe in recipes_of(trajectory) for step in recipe.steps if 0 <= step < len(doings)),
        *sorted(seen, reverse=True),
        *sorted(last_change.values(), reverse=True),
    ]
    kept = sorted([*dict.fromkeys(ranked)][:MOST_ACTIONS])
    return [(step, seen.get(step, [])) for step in kept]


def _actions(trajectory: Trajectory, doings: Sequence[Doing]) -> list[_Action]:
    """Return the deciding steps as actions, of those that say the same only the last."""
    found: dict[str, _Action] = {}
    for index, facts in _deciding(trajectory, doings):
        action = _action(trajectory, trajectory.steps[index], doings[index], facts)
        if action is not None:
            found.pop(action.node.id, None)
            found[action.node.id] = action
    return [*found.values()]


def _action(trajectory: Trajectory, step: Step, doing: Doing, facts: Sequence[Evidence]) -> _Action | None:
    typed = command(step).strip()
    changed = "; ".join(change.said for change in doing.changes)
    done = f"ran `{cut(doing.shown, _LONGEST_ACTION)}`" if doing.shown else ""
    done = "; ".join(part for part in (cut(changed, _LONGEST_ACTION), done) if part) or _called(step, typed)
    if not done:
        return None
    judged = [fact for fact in facts if fact.kind in {"test_run", "submission"}]
    status = "failed" if (not judged[-1].positive if judged else failed(step)) else "complete"
    said = [fact.detail for fact in facts if fact.kind != "repair" and fact.detail.strip()]
    if not said and status == "failed":
        said = [describe_failure(step)]
    text = done[0].upper() + done[1:] + (f" ({cut('; '.join(said), 400)})" if said else "")
    fields = {"status": status}
    if typed and len(typed) <= _LONGEST_COMMAND:
        fields["parameter_field"] = typed
    files: dict[str, str] = {}
    for change in doing.changes:
        if change.file.strip():
            place = _place(change.file.strip(), trajectory.metadata.get("directory", ""))
            files[place] = "; ".join(part for part in (files.get(place, ""), change.text) if part)
    node = Node(
        id=derived_id("n", "AgentAction", trajectory.id, text, status, fields.get("parameter_field", "")),
        label="AgentAction",
        text=text,
        conv_id=trajectory.id,
        fields=fields,
        ingestion_time=trajectory.created_at,
    )
    return _Action(node, files)


def _called(step: Step, typed: str) -> str:
    """Return a step that is neither a known change nor a known run, in its own words."""
    said = cut(typed or step.action, _LONGEST_ACTION)
    if not said:
        return ""
    return f"used {cut(step.tool, 80)}: {said}" if step.tool.strip() and not typed else f"ran `{said}`"


def _place(file: str, folder: str) -> str:
    """Return the file as it is named from the session's folder, on one line."""
    inside = file.removeprefix(f"{folder.rstrip('/')}/") if folder.strip("/") else file
    return cut(inside or file, 400)


def _sources(conv_id: str, actions: Sequence[_Action]) -> dict[str, Node]:
    """Return the files that the actions changed as nodes, those that were changed last when there are too many."""
    changed: dict[str, str] = {}
    for action in actions:
        for file, said in action.files.items():
            changed[file] = "; ".join(part for part in (changed.pop(file, ""), said) if part)
    found: dict[str, Node] = {}
    for file in [*changed][-MOST_FILES:]:
        text, parts = f"The file {file}, which the session changed.", clip(changed[file], _LONGEST_ACTION)
        found[file] = Node(
            id=derived_id("n", "DataSource", conv_id, file, parts),
            label="DataSource",
            text=text,
            conv_id=conv_id,
            fields={"source_type": "file", "doc_pointer": file, "relevant_parts": parts},
        )
    return found


def _edges(
    conv_id: str,
    request: str,
    answer: str,
    actions: Sequence[_Action],
    sources: Mapping[str, Node],
    judgement: Judgement,
) -> Iterator[Edge]:
    """Give the sentences between the parts, which follow from how the session went."""

    def edge(source: str, target: str, said: str, weight: float, texts: tuple[str, str], **words: str) -> Edge:
        first, second = (short(text)[:_LONGEST_NAME] for text in texts)
        text = said.format(source=first, target=second, **words)
        return Edge(
            id=derived_id("e", conv_id, source, target, text), source=source, target=target, text=text, weight=weight
        )

    for number, action in enumerate(actions):
        node = action.node
        if not number:
            yield edge(REQUEST, node.id, LED, _DIRECT, (request, node.text))
        else:
            before = actions[number - 1]
            ends = {"before": before.ended, "after": action.ended}
            yield edge(before.node.id, node.id, _THEN, _STRONG, (before.node.text, node.text), **ends)
        for file in action.files:
            if file in sources:
                yield edge(sources[file].id, node.id, _CHANGED, _DIRECT, (file, node.text))
    if answer and actions:
        yield edge(actions[-1].node.id, ANSWER, RESTS, _DIRECT, (actions[-1].node.text, answer))
    if answer and judgement.verdict in _ENDED:
        yield edge(REQUEST, ANSWER, _CLOSED, _DIRECT, (request, answer), ended=_ENDED[judgement.verdict])


def _messages(trajectory: Trajectory, deciding: set[int]) -> Iterator[Message]:
    """Give what was said and done, in order: a person's words first when there is too much, then what decided it."""
    said: list[tuple[int, int, Speaker, str]] = [(0, -1, "user", clip(trajectory.task.strip(), 2_000))]
    for index, step in enumerate(trajectory.steps):
        rank = 1 if index in deciding else 2
        if step.user.strip():
            # What a sub-agent is told is its agent's word.
            spoken: Speaker = "system" if step.actor else "user"
            said.append((2 if step.actor else 0, index, spoken, clip(step.user.strip(), 2_000)))
        if step.thought.strip():
            said.append((rank, index, "assistant", clip(step.thought.strip(), 1_200 if rank == 1 else 300)))
        if rank == 1 and step.action.strip():
            said.append((rank, index, "assistant", clip(step.action.strip(), 1_200)))
        if rank == 1 and (seen := step.error.strip() or step.observation.strip()):
            said.append((rank, index, "tool", clip(seen, 1_200, head=0.4)))
    left, kept = MOST_SAID, set()
    for place in sorted(range(len(said)), key=lambda each: (said[each][0], -said[each][1])):
        if len(said[place][3]) <= left:
            left -= len(said[place][3])
            kept.add(place)
    return (Message(role=role, text=text) for place, (_, _, role, text) in enumerate(said) if place in kept)
