"""A graph of any size for the benchmarks: sentences of common words, few tags, some nodes with many edges."""

from __future__ import annotations

import random

from reasoningbank.types.graph import LABELS

WORDS = [
    "order",
    "stock",
    "delay",
    "supplier",
    "warehouse",
    "forecast",
    "price",
    "customer",
    "return",
    "invoice",
    "carrier",
    "season",
    "holiday",
    "promotion",
    "margin",
    "shelf",
    "damage",
    "refund",
    "audit",
    "budget",
    "region",
    "store",
    "demand",
    "spike",
    "weather",
    "campaign",
    "discount",
    "label",
    "batch",
    "queue",
]


def graph_records(nodes: int, edges: int, seed: int = 7) -> dict[str, list[dict[str, object]]]:
    """The JSON form of a graph; ends are drawn so that a twentieth of the nodes has half of the edges."""
    chance = random.Random(seed)

    def text(length: int) -> str:
        return " ".join(chance.choices(WORDS, k=length)).capitalize() + f" {chance.randrange(100_000)}."

    def tags(most: int) -> list[str]:
        return chance.sample(WORDS, k=chance.randint(1, most))

    def end() -> str:
        crowded = chance.random() < 0.5
        return f"N{chance.randrange(max(1, nodes // 20) if crowded else nodes)}"

    listed: list[dict[str, object]] = []
    for number in range(nodes):
        label = LABELS[number % len(LABELS)]
        record: dict[str, object] = {
            "id": f"N{number}",
            "label": label,
            "text": text(25),
            "tags": tags(8),
            "conv_id": f"c{number // 6}",
            "ingestion_time": f"2025-{number % 12 + 1:02d}-01T10:00:00+00:00",
        }
        if label == "AgentAction":
            record |= {"status": "complete", "parameter_field": f"SELECT {number} FROM orders"}
        if label == "Event":
            record |= {"start_date": "2025-10-10", "end_date": "2025-10-18"}
        listed.append(record)
    linked: list[dict[str, object]] = [
        {
            "id": f"E{number}",
            "source": end(),
            "target": end(),
            "text": text(14),
            "weight": round(chance.uniform(0.3, 1.0), 2),
            "tags": tags(4),
            "created_time": "2025-11-12T15:05:15+00:00",
        }
        for number in range(edges)
    ]
    return {"nodes": listed, "edges": linked}
