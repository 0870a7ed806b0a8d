"""A small variant of every family of the poisoning suite, with the defences on and off."""

from __future__ import annotations

import random

import pytest
from evaluation.attacks.arena import Arena
from evaluation.attacks.families import FAMILIES, Attack
from evaluation.attacks.served_families import tenants, votes

from promises import promise

COUNT = 6


def carried_out(arena: Arena, family: str, count: int = COUNT) -> list[Attack]:
    """The attacks of a family."""
    return list(FAMILIES[family](arena, count, random.Random(family)))


@promise(
    "attack:families",
    "Known attacks of every family (flood, echo, tool output, disguise, trigger) never show their text as a proven "
    "memory, and what is shown is quoted.",
    source="issue 4",
)
@pytest.mark.parametrize("family", list(FAMILIES))
def test_no_known_attack_is_shown_as_proven(arena: Arena, family: str) -> None:
    attacks = [attack for attack in carried_out(arena, family) if not attack.fresh]
    assert len(attacks) >= 5
    assert [attack.way for attack in attacks if attack.reached.proven] == []
    assert all(attack.reached.quoted for attack in attacks)


@promise(
    "attack:off-is-off",
    "Without the defences the same attacks succeed, so that the suite measures the defences.",
    source="issue 4",
)
@pytest.mark.parametrize("family", list(FAMILIES))
def test_without_defences_the_same_attacks_succeed(open_arena: Arena, family: str) -> None:
    attacks = carried_out(open_arena, family)
    assert sum(attack.reached.proven for attack in attacks) >= len(attacks) - 1


@promise(
    "attack:votes",
    "One session of an agent cannot vote an unproven lesson up through the MCP server, whatever names it gives itself "
    "without searching.",
    source="issue 4, DESIGN D5",
)
def test_one_session_cannot_vote_a_lesson_up_over_mcp(arena: Arena) -> None:
    attacks = list(votes(arena, 7, random.Random(1)))
    assert [attack.way for attack in attacks if attack.reached.proven] == []


@promise(
    "attack:tenants",
    "Another tenant reads, changes and plants nothing through the MCP server, by ids, names, links, votes or files.",
    source="issue 4, DESIGN D9",
)
def test_another_tenant_reaches_nothing_over_mcp(arena: Arena) -> None:
    attacks = list(tenants(arena, 1, random.Random(1)))
    assert len(attacks) > 25
    assert [attack.way for attack in attacks if attack.reached.proven] == []
