"""Attacks and consolidation quality."""

from __future__ import annotations

from promised.promise import Promise

ATTACKS: tuple[Promise, ...] = (
    Promise(
        "attack:families",
        "issue 4",
        "Known attacks of every family (flood, echo, tool output, disguise, trigger) never show their text as a proven memory, and what is shown is quoted.",
    ),
    Promise(
        "attack:off-is-off",
        "issue 4",
        "Without the defences the same attacks succeed, so that the suite measures the defences.",
    ),
    Promise(
        "attack:votes",
        "issue 4, DESIGN D5",
        "One session of an agent cannot vote an unproven lesson up through the MCP server, whatever names it gives itself without searching.",
    ),
    Promise(
        "attack:tenants",
        "issue 4, DESIGN D9",
        "Another tenant reads, changes and plants nothing through the MCP server, by ids, names, links, votes or files.",
    ),
    Promise(
        "attack:gate",
        "DESIGN D10",
        "A text that orders its reader about is found in any of sixteen disguises, in bounded time.",
    ),
    Promise("attack:false-alarms", "issue 4", "Honest lessons and warnings of dangers are no orders."),
    Promise(
        "attack:held",
        "DESIGN D10",
        "A recorded text that is an order is in quarantine with its reason, until a person releases it or vouches for it.",
    ),
    Promise(
        "attack:address",
        "DESIGN D10",
        "What an agent records with an address outside begins unproven; other sources begin at 0.8.",
    ),
    Promise(
        "attack:one-voice",
        "DESIGN D5, D10",
        "A candidate is believed by one voice per independent session; one session never proves it.",
    ),
    Promise(
        "attack:honest-promotion",
        "DESIGN D6",
        "Two sessions that were shown a lesson prove it with their ratings, and a person does alone.",
    ),
    Promise(
        "attack:hearsay",
        "DESIGN D10",
        "Sessions that only read a lesson's words in a tool's answer do not corroborate it.",
    ),
    Promise(
        "attack:one-door",
        "DESIGN D10",
        "Whatever way a text comes in, one that looks like a prompt injection is quarantined, refused or left out.",
    ),
    Promise("attack:imports", "DESIGN D10", "An import cannot claim more evidence than signals can weigh."),
    Promise(
        "evaluation:consolidation",
        "issue 4",
        "Real sets are clustered as banks and checked against pairs labelled by hand; what is absent is said.",
    ),
    Promise(
        "consolidation:two-lessons",
        "issue 4",
        "Memories on opposite sides of a pair of words are never put together, nor close ones with few common words.",
    ),
    Promise(
        "evaluation:attack",
        "issue 4",
        "The poisoning suite prints shares with intervals, defences off and on, and fails when a limit is not held.",
    ),
)
