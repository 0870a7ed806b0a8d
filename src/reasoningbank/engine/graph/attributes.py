"""The nodes and edges of a walk as flat attributes, as every rendering shows them: clean, and without secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from reasoningbank.domain.graph import Edge, Node
from reasoningbank.domain.walk import Attribute, Hop, WalkResult
from reasoningbank.engine.hygiene import clean_line, safe_line
from reasoningbank.engine.redaction import redact

WORDS = 12
"""How many words of a node's text a path shows."""
_LONGEST = 140
"""How many characters of it, at most."""
_DIGITS = 3

EdgeKey = tuple[str, str, str]
"""An edge's id and its stored ends; the ends belong to it because data from elsewhere has several edges of one id."""


class Shown:
    """What a walk brought back, as it may leave the bank: every text on one clean line, without secrets.

    Attributes:
        result: What the walk brought back.
        energy: The highest energy of each node; a seed's is at least its score.
        hops: Every edge of a path once, with the step that passed most over it.

    Raises:
        ModelMissing: When the detector package cannot be loaded.
    """

    def __init__(self, result: WalkResult) -> None:
        self.result = result
        self.energy = _activations(result)
        self.hops = _strongest_hops(result)
        self._lines = _safe_lines({text for text in _texts(result.nodes.values(), self.hops.values()) if text})

    def line(self, text: str) -> str:
        """A text of the walk on one line."""
        return self._lines.get(text, "")

    def words(self, text: str) -> str:
        """The first 12 words of a text, 140 characters at most, with three dots when there are more."""
        line = self.line(text)
        short = " ".join(line.split(" ")[:WORDS])[:_LONGEST].rstrip()
        return short if len(short) == len(line) else f"{short}..."

    def node(self, name: str) -> dict[str, Attribute]:
        """A node's attributes, its text last; times are ISO 8601, and what is empty is left out.

        The time it was stored at is there when it was changed since.
        """
        node = self.result.nodes[name]
        fields: dict[str, Attribute] = {
            key: self.line(value) if isinstance(value, str) else tuple(map(self.line, value))
            for key, value in node.fields.items()
        }
        return _present(
            {
                "id": self.line(node.id),
                "label": node.label,
                **fields,
                "conv_id": self.line(node.conv_id),
                "tags": tuple(map(self.line, node.tags)),
                "activation": round(self.energy[name], _DIGITS),
                "update_time": node.updated_at.isoformat(),
                "ingestion_time": "" if node.updated_at == node.ingestion_time else node.ingestion_time.isoformat(),
                "text": self.line(node.text),
            }
        )

    def edge(self, key: EdgeKey) -> dict[str, Attribute]:
        """An edge's attributes, its sentence last; source and target are the stored ones, however it was walked."""
        hop = self.hops[key]
        return _present(
            {
                "id": self.line(hop.edge.id),
                "source": self.line(hop.edge.source),
                "target": self.line(hop.edge.target),
                "transfer": round(hop.transfer, _DIGITS),
                "weight": round(hop.edge.weight, _DIGITS),
                "tags": tuple(map(self.line, hop.edge.tags)),
                "created_time": hop.edge.created_time.isoformat(),
                "text": self.line(hop.edge.text),
            }
        )


def edge_key(edge: Edge) -> EdgeKey:
    """What tells an edge from all others."""
    return edge.id, edge.source, edge.target


def _activations(result: WalkResult) -> dict[str, float]:
    highest: dict[str, float] = {seed.id: seed.score for seed in result.seeds if seed.found}
    for path in result.paths:
        for hop in path.hops:
            highest[hop.reached] = max(hop.activation, highest.get(hop.reached, 0.0))
    return {name: highest[name] for name in result.nodes}


def _strongest_hops(result: WalkResult) -> dict[EdgeKey, Hop]:
    strongest: dict[EdgeKey, Hop] = {}
    for path in result.paths:
        for hop in path.hops:
            key = edge_key(hop.edge)
            if key not in strongest or hop.transfer > strongest[key].transfer:
                strongest[key] = hop
    return strongest


def _texts(nodes: Iterable[Node], hops: Iterable[Hop]) -> Iterator[str]:
    for node in nodes:
        yield from (node.id, node.text, node.conv_id, *node.tags)
        for value in node.fields.values():
            yield from (value,) if isinstance(value, str) else value
    for hop in hops:
        yield from (hop.edge.id, hop.edge.source, hop.edge.target, hop.edge.text, *hop.edge.tags)


def _safe_lines(texts: Iterable[str]) -> dict[str, str]:
    """The texts cleaned; looked through for secrets all at once, and each alone only when there is one."""
    lines = {text: clean_line(text) for text in sorted(texts)}
    joined = "\n\n".join(lines.values())
    if redact(joined).text == joined:
        return lines
    return {text: safe_line(text) for text in lines}


def _present(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    return {name: value for name, value in attributes.items() if value not in ("", ())}
