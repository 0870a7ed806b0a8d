"""Paths of a walk as Cypher, to look at them in a graph database that holds the same graph."""

from __future__ import annotations

from reasoningbank.domain.walk import WalkPath, WalkResult

_ESCAPES = {"\\": "\\\\", "'": "\\'", '"': '\\"', "`": "\\u0060"}


def to_cypher(result: WalkResult) -> str:
    """One query that returns exactly the paths of the walk; empty without a path.

    Each path is a pattern of its nodes' and edges' ids, every edge in its stored direction, and the patterns are joined
    by ``UNION``, so that no product of them is formed.
    """
    return "\nUNION\n".join(dict.fromkeys(path_query(path) for path in result.paths))


def path_query(path: WalkPath) -> str:
    """The query of one path."""
    parts = [f"(n0 {{id: {literal(path.seed)}}})"]
    for number, hop in enumerate(path.hops, 1):
        edge = f"-[:RELATES {{id: {literal(hop.edge.id)}}}]-"
        parts.append(f"<{edge}" if hop.reversed else f"{edge}>")
        parts.append(f"(n{number} {{id: {literal(hop.reached)}}})")
    return f"MATCH p = {''.join(parts)} RETURN p"


def literal(text: str) -> str:
    """A Cypher string; whatever the text holds, it cannot end it."""
    return "'" + "".join(_ESCAPES.get(sign, sign) if sign.isprintable() else _unicode(sign) for sign in text) + "'"


def _unicode(sign: str) -> str:
    """The sign as escapes of four digits, those beyond them as the two of UTF-16."""
    data = sign.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[at : at + 2].hex()}" for at in range(0, len(data), 2))
