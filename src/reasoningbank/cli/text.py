"""Results as compact text for people."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from reasoningbank.cli.answers import HistoryAnswer
from reasoningbank.operations.fields import (
    CaptureFields,
    DistillFields,
    ExperienceFields,
    HitAnswer,
    MemoryAnswer,
    RefusalFields,
    ScaledFields,
    SearchAnswer,
    TrajectoriesFields,
    TrajectoryFields,
)

_WIDTH = 100


def search_text(answer: SearchAnswer) -> str:
    """A search: proven hits, unproven ones apart, and what reading them costs."""
    parts = hit_texts(answer["memories"], answer["unproven"])
    parts.append(f"{answer['message']} ({answer['tokens']} tokens, embedder {answer['embedder']})")
    return "\n\n".join(parts)


def hit_texts(proven: Sequence[HitAnswer], unproven: Sequence[HitAnswer]) -> list[str]:
    """One paragraph a hit, unproven ones apart."""
    parts = [_hit(number, hit) for number, hit in enumerate(proven, start=1)]
    if unproven:
        parts.append("Unproven, to be tested with care:")
        parts += [_hit(number, hit) for number, hit in enumerate(unproven, start=1)]
    return parts


def memory_text(memory: MemoryAnswer) -> str:
    """One memory, whole."""
    low, high = memory["interval"]
    facts = [
        f"{memory['title']}",
        f"  id          {memory['id']}",
        f"  project     {memory['project']}",
        f"  outcome     {memory['outcome']}, {memory['state']}",
        f"  confidence  {memory['confidence']:.3f} (90 % interval {low:.2f} to {high:.2f})",
        f"  used        {memory['usage_count']} times, last {memory['last_used'] or 'never'}",
        f"  recorded    {memory['created_at']}, version {memory['version']} of {memory['updated_at']}",
        f"  tokens      {memory['tokens']}",
    ]
    if memory["tags"] or memory["category"]:
        facts.append(f"  tags        {', '.join([*memory['tags'], *filter(None, [memory['category']])])}")
    if memory["provenance"]:
        facts.append("  from        " + ", ".join(f"{key} {value}" for key, value in memory["provenance"].items()))
    if memory["description"]:
        facts.append(_block(f"when: {memory['description']}"))
    facts.append(_block(memory["content"]))
    return "\n".join(facts)


def list_text(memories: list[MemoryAnswer]) -> str:
    """One line per memory."""
    if not memories:
        return "No memories."
    return "\n".join(
        f"{memory['id']}  {memory['confidence']:.3f}  {memory['outcome']:<7}  {memory['state']:<9}  {memory['title']}"
        for memory in memories
    )


def history_text(answer: HistoryAnswer) -> str:
    """A memory's life, and the sum that gives its confidence."""
    lines = [answer["title"]]
    for event in answer["events"]:
        session = f" (session {event['session']})" if event["session"] else ""
        lines.append(f"  {event['at'][:19]}  {event['confidence']:.4f}  {event['detail']}{session}")
    alpha, beta = answer["alpha"], answer["beta"]
    lines.append(
        f"confidence = alpha / (alpha + beta) = {alpha:.4f} / ({alpha:.4f} + {beta:.4f}) = {answer['confidence']:.4f}; "
        f"it began at alpha {answer['alpha0']:.2f}, beta {answer['beta0']:.2f}"
    )
    return "\n".join(lines)


def _hit(number: int, hit: HitAnswer) -> str:
    low, high = hit["interval"]
    lines = [
        f"{number}. {hit['title']}",
        f"   {hit['outcome']}, confidence {hit['confidence']:.3f} ({low:.2f} to {high:.2f}), "
        f"relevance {hit['relevance']:.2f}, id {hit['id']}"
        + ("" if hit["scope"] == "project" else f", known in the {hit['scope']}"),
    ]
    if hit["description"]:
        lines.append(_block(f"when: {hit['description']}"))
    lines.append(_block(hit["content"]))
    if hit["tags"]:
        lines.append(f"   tags: {', '.join(hit['tags'])}")
    if hit["duplicates"]:
        lines.append(f"   same text: {', '.join(hit['duplicates'])}")
    if hit["conflicts"]:
        lines.append(f"   said otherwise in a wider scope: {', '.join(hit['conflicts'])}")
    return "\n".join(lines)


def _block(text: str) -> str:
    """The text wrapped and indented; its own line breaks stay."""
    wrapped = [
        textwrap.fill(line, _WIDTH, initial_indent="   ", subsequent_indent="   ", break_long_words=False)
        for line in text.splitlines()
    ]
    return "\n".join(line for line in wrapped if line.strip())


_TASK = 80
_SHOWN = 400


def capture_text(answer: CaptureFields) -> str:
    """What was stored, one line a trajectory."""
    lines = [
        f"{one['id']}  {_verdict(one['verdict'], one['probability'])}  {one['steps']:4} steps  "
        f"{'known    ' if one['duplicate'] else ''}{_line(one['task'])}"
        for one in answer["trajectories"]
    ]
    counts = f"{answer['captured']} captured, {answer['duplicates']} known already, {answer['skipped_lines']} skipped"
    return "\n".join([*lines, counts])


def trajectories_text(answer: TrajectoriesFields) -> str:
    """One line a trajectory."""
    lines = [
        f"{one['id']}  {_verdict(one['verdict'], one['probability'])}  {one['steps']:4} steps  "
        f"{'distilled' if one['distilled'] else 'waits    '}  {_line(one['task'])}"
        for one in answer["trajectories"]
    ]
    return "\n".join([*lines, f"{answer['count']} trajectories"])


def trajectory_text(answer: TrajectoryFields) -> str:
    """One trajectory: its task, how it was judged and why, and its steps, each cut to a few lines."""
    lines = [answer["task"], f"  id       {answer['id']}", f"  session  {answer['session'] or 'none'}"]
    lines += [f"  source   {answer['source']}, {answer['created_at']}"]
    for one in answer["judgements"]:
        lines.append(f"  judged   {_verdict(one['verdict'], one['probability'])} by {one['judge']}: {one['rationale']}")
    for fact in answer["evidence"]:
        place = "" if fact["step"] is None else f" in step {fact['step']}"
        lines.append(f"  {'for ' if fact['positive'] else 'against '}{fact['kind']}{place}: {_line(fact['detail'])}")
    for number, step in enumerate(answer["steps"]):
        lines.append(f"\n[{number}] {step['actor']} {step['tool']}".rstrip())
        lines += [
            f"  {name}: {_cut(step[name])}"
            for name in ("user", "thought", "action", "observation", "error")
            if step[name]
        ]
    if answer["final_answer"]:
        lines.append(f"\nanswer: {_cut(answer['final_answer'])}")
    return "\n".join(lines)


def distill_text(answer: DistillFields) -> str:
    """What became of the items, one line each."""
    lines = [f"new           {one}" for one in answer["distilled"]]
    lines += [f"corroborated  {one}" for one in answer["corroborated"]]
    lines += [f"refused       {one['reason']}: {_line(one['title'])} ({one['detail']})" for one in answer["refused"]]
    counts = (
        f"{len(answer['distilled'])} distilled, {len(answer['corroborated'])} corroborated, "
        f"{len(answer['refused'])} refused, {waiting(answer['pending'])}"
    )
    return "\n".join([*lines, counts])


def waiting(sessions: int) -> str:
    """How many sessions wait to be distilled."""
    return "1 session waits" if sessions == 1 else f"{sessions} sessions wait"


def refusals_text(refused: Sequence[RefusalFields]) -> str:
    """Each refused item with its reason."""
    parts = [f"{one['reason']}: {one['detail']}\n  {_line(one['title'])}\n  {_cut(one['content'])}" for one in refused]
    return "\n".join([*parts, f"{len(refused)} refused"])


def experience_text(answer: ExperienceFields) -> str:
    """An experience search: what was found, how, and what similar searches taught."""
    reasoning = answer["reasoning"]
    proven: list[HitAnswer] = [hit for hit in answer["results"] if not hit["unproven"]]
    lines = hit_texts(proven, [hit for hit in answer["results"] if hit["unproven"]])
    count = len(answer["results"])
    lines.append(f"{count} found with {reasoning['strategy_used']} in {reasoning['execution_time_ms']} ms.")
    if reasoning["message"]:
        lines.append(reasoning["message"])
    for one in reasoning["relevant_strategies"]:
        head = f"Strategy {one['id']} ({one['confidence']:.2f}): {one['title']}"
        lines.append("\n".join([head, *(f"  {text}" for text in (one["description"], one["content"]) if text)]))
    return "\n\n".join(lines)


def scaled_text(answer: ScaledFields) -> str:
    """Each attempt in one line, then which is the best and why, and what was learned."""
    lines = [
        f"{'*' if number == answer['best'] else ' '} {number + 1}  {_verdict(one['verdict'], one['probability'])}  "
        f"{one['steps']:4} steps  {_line(one['error'] or one['answer'])}"
        for number, one in enumerate(answer["rollouts"])
    ]
    return "\n".join([*lines, answer["reason"], distill_text(answer["learned"])])


def _verdict(verdict: str, probability: float) -> str:
    return f"{verdict:7} {probability:.2f}"


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TASK else f"{line[: _TASK - 1]}…"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
