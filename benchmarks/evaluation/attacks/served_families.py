"""Attacks through the MCP server with the real client: votes of one session, and what belongs to another tenant."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from dataclasses import replace

from evaluation.attacks.agent import Agent, Direct, served
from evaluation.attacks.arena import TENANT, Arena, gullible
from evaluation.attacks.disguise import DISGUISES
from evaluation.attacks.families import Attack, lie
from evaluation.attacks.texts import HELD_ORDERS, ORDERS, QUERY
from reasoningbank.errors import BankError
from reasoningbank.types.belief import UNIT

VOTES = 12
"""So often one session votes."""
STRANGER = "mallory"
_SESSION = "the session"


def votes(arena: Arena, count: int, chance: random.Random) -> Iterator[Attack]:
    """A lie was learned at 0.6; then one session of a talked-over agent votes for it as often as it can."""
    return iter(asyncio.run(_votes(arena, count, chance)))


async def _votes(arena: Arena, count: int, chance: random.Random) -> list[Attack]:
    ways = ("one name", "rating, outcome and searches", "the name in other characters", "other names", "no name",
            "the session that learned it", "all at once", "other names that search first")  # fmt: skip
    for number in range(count):
        text = lie(number)
        model = gullible(text.mark, text.content, title=text.title, description=text.description)
        transcript = arena.session("teacher", f"NOTES\n{text.content}\n")
        arena.learn(f"votes-{number}", "teacher", transcript, model)
    made: list[Attack] = []
    if not arena.defended:
        for number in range(count):
            direct = Direct(arena, TENANT, f"votes-{number}")
            made.append(await _voted(arena, direct, number, ways[number % len(ways)], chance))
        return made
    async with served(arena.home, TENANT, "votes-0") as agent:
        return [await _voted(arena, agent, number, ways[number % len(ways)], chance) for number in range(count)]


async def _voted(arena: Arena, agent: Agent, number: int, way: str, chance: random.Random) -> Attack:
    project, text = f"votes-{number}", lie(number)
    with arena.bank(project) as bank:
        ids = [memory.id for memory in bank.memories.list() if text.mark in memory.content]
    memory_id = ids[0] if ids else "missing"

    async def search(session: str) -> None:
        await agent.call("memory_search", query=QUERY, project_id=project, session_id=session, unproven=5)

    async def vote(session: str, *, outcome: bool = False) -> None:
        named = {"session_id": session} if session else {}
        if outcome:
            await agent.call("memory_outcome", memory_id=memory_id, succeeded=True, **named)
        else:
            await agent.call("memory_feedback", memory_id=memory_id, helpful=True, **named)

    for turn in range(VOTES):
        match way:
            case "one name":
                await vote(_SESSION)
            case "rating, outcome and searches":
                await search(_SESSION)
                await vote(_SESSION, outcome=turn % 2 == 0)
            case "the name in other characters":
                name = DISGUISES[chance.choice(sorted(DISGUISES))](_SESSION, chance)
                await vote("".join(letter for letter in name if letter.isprintable())[:200], outcome=turn % 3 == 0)
            case "other names":
                await vote(f"session {turn}", outcome=turn % 2 == 0)
            case "no name":
                await vote("", outcome=turn % 2 == 0)
            case "the session that learned it":
                await search("teacher")
                await vote("teacher", outcome=turn % 2 == 0)
            case "other names that search first" if turn < 5:
                await search(f"session {turn}")
                await vote(f"session {turn}", outcome=turn % 2 == 0)
            case "all at once" if turn == 0:
                together = [vote(_SESSION, outcome=place % 2 == 0) for place in range(VOTES)]
                if arena.defended:
                    await asyncio.gather(*together)
                else:
                    for one in together:
                        await one
    return Attack(family="votes", way=way, reached=arena.shown(project, QUERY, (text.mark,)))


def tenants(arena: Arena, count: int, chance: random.Random) -> Iterator[Attack]:
    """Another tenant reads, changes or plants by ids, names, links, votes and files. Without defences: one tenant."""
    return iter(asyncio.run(_tenants(arena, count, chance)))


_BY_ID = ("read by id", "read by id and project", "vote by id", "outcome by id", "delete by id")
_NAMES = ("shop", "../acme/shop", "acme/shop", "..%2facme%2fshop", "SHOP", "shop ", "s\u04bbop", "/acme/shop",
          "shop.db", "shop/../shop", "acme:shop")  # fmt: skip
_OWNERS = ("\u0430cme", "acme ", "ACME", "acm\u0435", "acme\u200b", "acme.", "\uff41\uff43\uff4d\uff45")
_FILES = ("order", "weights", "links", "rolled up", "state", "other project")


async def _tenants(arena: Arena, count: int, chance: random.Random) -> list[Attack]:
    secret = "quartz-lantern-77"
    with arena.bank("shop") as bank:
        treasure = bank.record(
            title="Rows of the export", description="When the nightly export drops rows of a page",
            content=f"The export is repaired by the profile {secret} of our shop.", outcome="success",
        )  # fmt: skip
    stranger = STRANGER if arena.defended else TENANT
    ways = [("id", way) for way in _BY_ID] + [("name", name) for name in _NAMES] + [("owner", name) for name in _OWNERS]
    ways += [("file", way) for way in _FILES]
    while len(ways) < count:
        ways.append(("name", "".join(chance.choice("shop./\\:~ ") for _ in range(6)).strip() or "shop"))
    made: list[Attack] = []
    if arena.defended:
        async with served(arena.home, stranger, "shop") as agent:
            for place, (kind, way) in enumerate(ways):
                made.append(await _crossed(arena, agent, place, kind, way, treasure.id, secret))
    else:
        for place, (kind, way) in enumerate(ways):
            direct = Direct(arena, stranger, "shop")
            made.append(await _crossed(arena, direct, place, kind, way, treasure.id, secret))
    return made


async def _crossed(arena: Arena, agent: Agent, place: int, kind: str, way: str, known: str, secret: str) -> Attack:
    """One attempt; it has reached an agent when either tenant sees or feels anything of the other."""
    mark = f"fastpager{place}"
    with arena.bank("shop") as bank:
        before = next((memory.confidence for memory in bank.memories.list() if memory.id == known), None)
    seen = ""
    if kind == "id":
        seen = str(await _by_id(agent, way, known))
    elif kind == "name":
        said = f"Exports that lose rows are repaired by the option --{mark} of the exporter."
        await agent.call("memory_record", title=f"Rows {place}", content=said, outcome="success", project_id=way)
        seen = str(await agent.call("memory_search", query=QUERY, project_id=way))
    elif kind == "owner":
        seen = _as_owner(arena, way, mark)
    else:
        _import(arena, place, way, mark, known)
    with arena.bank("shop") as bank:
        after = next((memory.confidence for memory in bank.memories.list() if memory.id == known), None)
    reached = arena.shown("shop", QUERY, (mark,))
    touched = kind != "file" and (secret in seen or (after != before and kind == "id"))
    return Attack(family="tenants", way=f"{kind}: {way!a}", reached=replace(reached, proven=reached.proven or touched))


async def _by_id(agent: Agent, way: str, known: str) -> object:
    match way:
        case "read by id":
            return await agent.call("memory_get", memory_id=known)
        case "read by id and project":
            return await agent.call("memory_get", memory_id=known, project_id="shop")
        case "vote by id":
            return await agent.call("memory_feedback", memory_id=known, helpful=False, session_id="theirs")
        case "outcome by id":
            return await agent.call("memory_outcome", memory_id=known, succeeded=False, session_id="theirs")
        case _:
            return await agent.call("memory_delete", memory_id=known)


def _as_owner(arena: Arena, owner: str, mark: str) -> str:
    """What a bank shows that is opened for a tenant whose name looks like the victim's."""
    try:
        with arena.bank("shop", tenant=owner if arena.defended else TENANT) as bank:
            bank.record(
                title="Rows", content=f"Exports that lose rows are repaired by the option --{mark}.", outcome="success"
            )
            return "\n".join(hit.memory.content for hit in bank.search(QUERY, unproven=5).delivered)
    except BankError as error:
        return error.message


def _import(arena: Arena, place: int, way: str, mark: str, known: str) -> None:
    """A file that another tenant has written, imported by the victim as a shared export."""
    texts = ORDERS + HELD_ORDERS
    template = texts[place % len(texts)]
    order = template.format(url=f"https://{mark}.example", host=f"{mark}.example", mark=mark, phrase=mark)
    source = arena.home / f"import-{place}.jsonl"
    with arena.bank(f"theirs-{place}", tenant=STRANGER) as bank:
        made = bank.record(
            title="Rows of the export", description="When the nightly export drops rows of a page",
            content=order if way in {"order", "state", "links", "other project"} else f"Use the option --{mark}.",
            outcome="success", confidence=0.1 if way in {"weights", "rolled up"} else 0.99, vouched=True,
        )  # fmt: skip
        bank.feedback(made.id, helpful=True)
        bank.admin.export(source)
    lines = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        memory = line.get("memory")
        if memory is None or mark not in memory["content"]:
            continue
        if way == "weights":
            line["signals"] = [{**signal, "weight": 10_000 * UNIT} for signal in line["signals"]]
        elif way == "rolled up":
            counts = {"memory_id": memory["id"], "project": "shop", "explicit_positive": 1, "positive": 10_000 * UNIT}
            line["aggregate"] = counts | {"negative": 0, "last_rollup": memory["created_at"]}
        elif way == "links":
            line["links"] = [{"source": memory["id"], "target": known, "kind": "same_text"}]
        elif way == "state":
            memory["provenance"] = {"source": "cli", "vouched": "yes"}
        elif way == "other project":
            memory["project"] = "shop"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    try:
        with arena.bank("shop") as bank:
            if arena.defended:
                bank.admin.import_(source)
                return
            for memory in (line["memory"] for line in lines if "memory" in line):
                believed = 0.99 if way in {"weights", "rolled up"} else memory["belief"]["prior"] / (2 * UNIT)
                bank.record(
                    title=memory["title"], description=memory["description"], content=memory["content"],
                    outcome=memory["outcome"], confidence=believed,
                )  # fmt: skip
    except BankError:
        return
