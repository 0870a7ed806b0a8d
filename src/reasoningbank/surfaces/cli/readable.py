"""Answers as compact text for people."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from reasoningbank.surfaces.answers import HitAnswer, MemoryAnswer, SearchAnswer
from reasoningbank.surfaces.cli.answers import HistoryAnswer

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
