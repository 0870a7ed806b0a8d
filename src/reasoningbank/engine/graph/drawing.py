"""Paths of a walk as pictures: nodes and edges for D3, and a Mermaid flowchart."""

from __future__ import annotations

from reasoningbank.domain.walk import Attribute, WalkResult
from reasoningbank.engine.graph.attributes import Shown

_MERMAID = str.maketrans({sign: f"#{ord(sign)};" for sign in "#\"&<>|`\\[]{}%;()'"})
"""What has a meaning in a flowchart, as the numbers Mermaid writes characters with."""


def to_d3(result: WalkResult) -> dict[str, list[dict[str, Attribute]]]:
    """Nodes and edges for a force-directed picture, ready for ``json.dumps``.

    Every edge's ends are among the nodes. ``is_seed`` is true of exactly the seeds that a path starts at; ``source``
    and ``target`` are the stored ones, and ``reversed`` says that the walk went against them.

    Raises:
        ModelMissing: When the detector of secrets is not installed.
    """
    shown = Shown(result)
    seeds = {path.seed for path in result.paths}
    nodes: list[dict[str, Attribute]] = [
        {**shown.node(name), "id": name, "is_seed": name in seeds} for name in result.nodes
    ]
    edges: list[dict[str, Attribute]] = [
        {
            **shown.edge(key),
            "source": hop.edge.source,
            "target": hop.edge.target,
            "reversed": hop.reversed,
        }
        for key, hop in shown.hops.items()
    ]
    return {"nodes": nodes, "edges": edges}


def to_mermaid(result: WalkResult) -> str:
    """A Mermaid flowchart of the paths; empty without a path.

    An arrow points as its sentence reads, however it was walked. Nodes have names of our own, and no text can leave
    the quotation marks around it.

    Raises:
        ModelMissing: When the detector of secrets is not installed.
    """
    if not result.paths:
        return ""
    shown = Shown(result)
    names = {name: f"n{number}" for number, name in enumerate(result.nodes)}
    lines = ["flowchart LR"]
    for name, node in result.nodes.items():
        title = _escaped(f"{node.label} {shown.line(name)}")
        lines.append(f'  {names[name]}["{title}<br/>{_escaped(shown.words(node.text))}"]')
    for hop in shown.hops.values():
        label = _escaped(shown.words(hop.edge.text))
        lines.append(f'  {names[hop.edge.source]} -->|"{label}"| {names[hop.edge.target]}')
    seeds = dict.fromkeys(names[path.seed] for path in result.paths)
    lines.append("  classDef seed stroke-width:4px")
    lines.append(f"  class {','.join(seeds)} seed")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.translate(_MERMAID)
