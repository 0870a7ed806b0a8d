"""A simple agent that weighs what memory says, tries, and reports how it went; it has no language model."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, cast

LIMIT = 10
"""Most proven memories that the agent asks for; the tool's own default is 5."""
_WORKED, _FAILED = "What worked: {}.", "What failed: {}."
_TITLE = 100


class Caller(Protocol):
    """Whoever calls the server's tools."""

    async def call(self, tool: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Calls a tool and returns its structured answer."""


class Agent:
    """Follows what memory says works, avoids what it says fails, else tries at random; then reports and records.

    It weighs each memory by confidence times relevance, as the server's instructions ask, divided by its place in the
    answer, which comes best first: strategies that worked speak for theirs, anti-patterns against theirs, and the best
    sum is tried, one of several at random.

    Args:
        tools: The tools of the memory server; None for an agent without memory.
        repertoire: What it can do.
        chance: Decides between equals.
    """

    def __init__(self, tools: Caller | None, repertoire: Sequence[str], chance: random.Random) -> None:
        self._tools = tools
        self._repertoire = tuple(repertoire)
        self._chance = chance

    async def work(self, task: str, session: str, attempt: Callable[[str], bool]) -> bool:
        """One task from question to lesson; whether the one attempt succeeded.

        Args:
            task: The task in words.
            session: What reports count for: one for each task.
            attempt: Tries a strategy and says whether it worked.
        """
        if self._tools is None:
            return attempt(self._chance.choice(self._repertoire))
        answer = await self._tools.call("memory_search", {"query": task, "limit": LIMIT, "session_id": session})
        hits = [*_listed(answer, "memories"), *_listed(answer, "unproven")]
        choice = self._chosen(hits)
        succeeded = attempt(choice)
        about = [hit for hit in hits if self._names(hit) == choice]
        for hit in about:
            await self._report(hit, succeeded, session)
        if not succeeded or not any(hit["outcome"] == "success" for hit in about):
            await self._record(task, choice, succeeded, session)
        return succeeded

    def _chosen(self, hits: Sequence[Mapping[str, object]]) -> str:
        votes = dict.fromkeys(self._repertoire, 0.0)
        for place, hit in enumerate(hits, start=1):
            named = self._names(hit)
            if named is not None:
                weight = cast(float, hit["confidence"]) * cast(float, hit["relevance"]) / place
                votes[named] += weight if hit["outcome"] == "success" else -weight
        best = max(votes.values())
        return self._chance.choice([name for name, vote in votes.items() if vote == best])

    def _names(self, hit: Mapping[str, object]) -> str | None:
        return next((one for one in self._repertoire if one in str(hit["content"])), None)

    async def _report(self, hit: Mapping[str, object], succeeded: bool, session: str) -> None:
        """Reports how a strategy that was followed ended, and whether a memory was right."""
        assert self._tools is not None
        about: dict[str, object] = {"memory_id": hit["id"], "session_id": session}
        followed = hit["outcome"] == "success"
        if followed:
            await self._tools.call("memory_outcome", {**about, "succeeded": succeeded})
        await self._tools.call("memory_feedback", {**about, "helpful": succeeded == followed})

    async def _record(self, task: str, choice: str, succeeded: bool, session: str) -> None:
        assert self._tools is not None
        lesson = {
            "title": f"Request: {task[:_TITLE]}",
            "description": task,
            "content": (_WORKED if succeeded else _FAILED).format(choice),
            "outcome": "success" if succeeded else "failure",
            "session_id": session,
        }
        await self._tools.call("memory_record", lesson)


def _listed(answer: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    return cast("list[Mapping[str, object]]", answer[name])
