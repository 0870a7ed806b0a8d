"""What one client can say, under any names, over the real MCP server: ``python -m evaluation.votes``.

Every client is a process of its own that starts a server of its own, as an agent's client does. A person records
lessons on the command line; one client searches and rates, reports and records under many names; then two other clients
use the lessons. The measures are those of the issue "Trust": a true lesson out of ``memories`` through one client, a
claim that is confirmed or proven by the names of one connection, a lesson that is replaced, turned round or merged away
by a claim, and votes that are left after quarantine of the client. Intervals are Wilson's at 95 %.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reasoningbank.bank import Bank
from reasoningbank.demo.client import ServerTools, served
from reasoningbank.errors import BankError
from reasoningbank.settings import Settings
from reasoningbank.types.belief import MIN_CONFIDENCE

NAMES = 6
"""Session names that the client gives."""
_TENANT, _PROJECT = "acme", "votes"
_WORDS = """
    parser cache queue index scheduler logger socket router mailer backup sampler gateway renderer importer
    exporter throttle balancer resolver archiver indexer worker broker planner tokenizer compressor uploader
    validator migrator notifier crawler encoder decoder linker loader profiler watcher poller mixer splitter
    merger sorter filter packer signer builder tracer meter shaper folder binder
"""
_PARTS = tuple(_WORDS.split())
_RULES = (
    "drain what waits in it before anybody restarts the machine below",
    "read the log of the last night first, then change one setting",
    "keep two copies of its state on other disks and compare their sums",
    "ask it twice with a pause between, for the first answer may be old",
    "lower the number of its threads until the memory stays level",
    "pin its version in the lock file and build the image anew",
    "turn off the cache in front and measure the bare time",
    "give it a time limit of its own and count how often that ends a call",
    "replay yesterday's messages against a second instance by hand",
    "look whether its certificate ends this week and renew that first",
)


def lesson(number: int) -> tuple[str, str, str]:
    """Return title, content and the question of a lesson."""
    part, rule = _PARTS[number % len(_PARTS)], _RULES[number % len(_RULES)]
    return (
        f"Trouble with the {part}",
        f"When the {part} gives trouble, {rule}.",
        f"the {part} gives trouble",
    )


def wilson(hits: int, count: int) -> str:
    """Return a share with its Wilson interval at 95 %."""
    z, share = 1.959964, hits / count if count else 0.0
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return f"{hits} of {count} [{100 * max(0.0, middle - half):.1f}, {100 * min(1.0, middle + half):.1f}] %"


async def _quietly(tools: ServerTools, tool: str, arguments: Mapping[str, object]) -> dict[str, Any]:
    try:
        return await tools.call(tool, arguments)
    except BankError:
        return {}


async def deny(tools: ServerTools, ids: list[str]) -> None:
    """Say everything against lessons that a client can: seen and unseen, rated, reported, recorded the other way."""
    for number, memory_id in enumerate(ids):
        title, content, question = lesson(number)
        for name in range(NAMES):
            session = f"denial {number} {name}"
            if name % 2 == 0:
                await tools.call("memory_search", {"query": question, "session_id": session})
            await _quietly(tools, "memory_feedback", {"memory_id": memory_id, "helpful": False, "session_id": session})
            await _quietly(tools, "memory_outcome", {"memory_id": memory_id, "succeeded": False, "session_id": session})
        for text, outcome in ((content, "failure"), (content.replace("When", "Never mind when"), "success")):
            for name in range(2):
                record = {"title": title, "content": text, "outcome": outcome, "session_id": f"flip {number} {name}"}
                await _quietly(tools, "memory_record", record)
    await _quietly(tools, "memory_consolidate", {})


async def praise(tools: ServerTools, ids: list[str]) -> list[str]:
    """Record candidates and say everything for them; return their ids."""
    made = []
    for number in range(len(ids)):
        record = {
            "title": f"The {_PARTS[number]} and its page",
            "content": f"Whoever works on the {_PARTS[number]} reads https://pages.example.dev/{number} first.",
            "outcome": "success",
        }
        made.append((await tools.call("memory_record", record | {"session_id": f"author {number}"}))["id"])
        for name in range(NAMES):
            session = f"praise {number} {name}"
            question = f"work on the {_PARTS[number]} and its page"
            await tools.call("memory_search", {"query": question, "unproven": 10, "session_id": session})
            about = {"memory_id": made[-1], "session_id": session}
            await _quietly(tools, "memory_feedback", about | {"helpful": True})
            await _quietly(tools, "memory_outcome", about | {"succeeded": True})
    return made


async def judge(tools: ServerTools, ids: list[str], *, helpful: bool) -> None:
    """Be shown each lesson once and rate it, as an honest session does."""
    for number, memory_id in enumerate(ids):
        session = f"task {number}"
        await tools.call("memory_search", {"query": lesson(number)[2], "session_id": session})
        about = {"memory_id": memory_id, "session_id": session}
        await _quietly(tools, "memory_feedback", about | {"helpful": helpful})


async def _client(home: Path, role: str, ids: list[str]) -> list[str]:
    async with served(home, tenant=_TENANT, project=_PROJECT) as tools:
        if role == "deny":
            await deny(tools, ids)
        elif role == "praise":
            return await praise(tools, ids)
        else:
            await judge(tools, ids, helpful=role == "helpful")
    return []


def client(home: Path, role: str, ids: list[str]) -> list[str]:
    """Run a client in a process of its own; return what it made."""
    words = [sys.executable, "-m", "evaluation.votes", "--client", role, "--home", str(home), "--ids", json.dumps(ids)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(count: int, say: Callable[[str], None]) -> None:
    """Run every part and say what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)

        def bank() -> Bank:
            return Bank.open(tenant=_TENANT, project=_PROJECT, settings=Settings(home=home), by_agent=False)

        with bank() as person:
            texts = [lesson(number) for number in range(count)]
            made = [person.record(title=title, content=text, outcome="success") for title, text, _ in texts]
        ids = [memory.id for memory in made]
        client(home, "deny", ids)
        with bank() as person:
            found = [person.search(lesson(n)[2], session=f"later {n}") for n in range(count)]
            out = sum(one not in {hit.id for hit in each.memories} for one, each in zip(ids, found, strict=True))
            first = sum(not each.memories or each.memories[0].id != one for one, each in zip(ids, found, strict=True))
            changed = sum(person.get(memory.id).content != memory.content for memory in made)
            turned = sum(person.get(memory.id).outcome != "success" for memory in made)
            merged = sum(person.get(memory.id).state != "active" for memory in made)
            disputed = sum(
                bool(hit.disputed_by)
                for one, each in zip(ids, found, strict=True)
                for hit in each.memories
                if hit.id == one
            )
            say(f"true lesson out of memories through one client          {wilson(out, count)}")
            say(f"true lesson behind a claim in its own answer            {wilson(first, count)}")
            say(f"text replaced / turned round / merged away              {changed} / {turned} / {merged} of {count}")
            say(f"marked as disputed by the claims                        {wilson(disputed, count)}")
            lowered = sum(person.get(one).confidence < 0.8 for one in ids)
            say(f"confidence moved by the first rating                    {wilson(lowered, count)}")
            speaker = next(
                each.provenance["principal"] for each in person.memories.list() if "principal" in each.provenance
            )
            votes = person.quarantine.add(principal=speaker, reason="It denies everything.").votes
            left = sum(person.get(memory.id).belief != memory.belief for memory in made)
            say(f"lessons with votes left after quarantine ({votes} votes)     {wilson(left, count)}")
        claims = client(home, "praise", ids)
        with bank() as person:
            known = [person.get(one) for one in claims]
            proven = sum(each.standing == "confirmed" or each.confidence >= MIN_CONFIDENCE for each in known)
            say(f"claim proven or confirmed by names of one connection    {wilson(proven, count)}")
            before = [person.get(one).confidence for one in ids]
        client(home, "helpful", ids)
        with bank() as person:
            raised = sum(person.get(one).confidence > old for one, old in zip(ids, before, strict=True))
            say(f"honest: one client that was shown a lesson raises it    {wilson(raised, count)}")
            wrong = [
                person.record(title=f"{t}, a note", content=f"{c} Always.", outcome="success") for t, c, _ in texts
            ]
        names = [memory.id for memory in wrong]
        client(home, "unhelpful", names)
        client(home, "unhelpful", names)
        with bank() as person:
            voted = sum(person.get(one).confidence < MIN_CONFIDENCE for one in names)
            say(f"honest: two clients vote a wrong lesson out             {wilson(voted, count)}")
            for one in ids:
                person.feedback(one, helpful=False)
                person.feedback(one, helpful=False)
            alone = sum(person.get(one).confidence < MIN_CONFIDENCE for one in ids)
            say(f"honest: a person alone takes a lesson out               {wilson(alone, count)}")


def main() -> None:
    """Measure, or be one of the clients."""
    parser = argparse.ArgumentParser(prog="evaluation.votes", description=__doc__)
    parser.add_argument("--count", type=int, default=50, help="lessons")
    parser.add_argument("--client", choices=["deny", "praise", "helpful", "unhelpful"], help="be this client")
    parser.add_argument("--home", type=Path, help="the data directory of the client")
    parser.add_argument("--ids", type=json.loads, default=[], help="the lessons of the client")
    given = parser.parse_args()
    if given.client:
        print(json.dumps(asyncio.run(_client(given.home, given.client, given.ids))))
        return
    measure(given.count, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
