"""The fields of the answers about the graph, as the command line prints them with ``--json``, and the same as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.graph_search import Dangling, Duplicate, GraphAnswer, GraphImport
from reasoningbank.types.memory import LeftOut
from reasoningbank.types.recall import Leg
from reasoningbank.types.walk import WalkPath, WalkResult

_DIGITS = 6
_SHOWN_WORDS = 12
_SHOWN_PROBLEMS = 10


class DuplicateFields(TypedDict):
    """An id given to something else than in the bank, or twice; ``stored_as`` is empty when it was left out."""

    kind: str
    id: str
    reason: str
    stored_as: str
    source: str
    target: str


class DanglingFields(TypedDict):
    """A link to something that does not exist; it was not stored."""

    kind: str
    id: str
    missing: str


class LeftOutFields(TypedDict):
    """What was not stored, because it looks like a prompt injection."""

    kind: str
    id: str
    reason: str


class ImportFields(TypedDict):
    """What an import did."""

    nodes_added: int
    nodes_updated: int
    nodes_unchanged: int
    edges_added: int
    edges_unchanged: int
    lessons_added: int
    lessons_unchanged: int
    pointers_added: int
    conflicts: list[str]
    duplicates: list[DuplicateFields]
    dangling: list[DanglingFields]
    left_out: list[LeftOutFields]
    bands: dict[str, int]
    pending: int
    messages: list[str]


class SeedFields(TypedDict):
    """Where a walk was to start."""

    id: str
    found: bool
    score: float
    reason: str


class PathFields(TypedDict):
    """A way from a seed: its nodes, the seed first; its edges, the energy after each, the sentences as stored.

    ``reversed`` says of each edge whether the path goes against it: its sentence then begins with the later node.
    """

    seed: str
    nodes: list[str]
    edges: list[str]
    energies: list[float]
    sentences: list[str]
    reversed: list[bool]
    score: float


class WalkFields(TypedDict):
    """What a walk brought back."""

    seeds: list[SeedFields]
    paths: list[PathFields]
    reached: int
    left_out: int
    stopped: bool


class LegFields(TypedDict):
    """Where a node stood in one leg."""

    rank: int
    score: float


class NodeHitFields(TypedDict):
    """A node that fits a question."""

    id: str
    label: str
    text: str
    conv_id: str
    tags: list[str]
    score: float
    legs: dict[str, LegFields]


class SearchFields(TypedDict):
    """The answer to a question to the graph."""

    query: str
    seeds: list[NodeHitFields]
    paths: list[PathFields]
    context: str
    tokens: int
    pending: int
    message: str


def import_fields(report: GraphImport) -> ImportFields:
    """Return the fields of an import's report."""
    return {
        "nodes_added": report.nodes_added,
        "nodes_updated": report.nodes_updated,
        "nodes_unchanged": report.nodes_unchanged,
        "edges_added": report.edges_added,
        "edges_unchanged": report.edges_unchanged,
        "lessons_added": report.lessons_added,
        "lessons_unchanged": report.lessons_unchanged,
        "pointers_added": report.pointers_added,
        "conflicts": list(report.conflicts),
        "duplicates": [_duplicate(each) for each in report.duplicates],
        "dangling": [_dangling(each) for each in report.dangling],
        "left_out": [left_out_fields(each) for each in report.left_out],
        "bands": {str(band): number for band, number in report.bands.items()},
        "pending": report.pending,
        "messages": list(report.messages),
    }


def walk_fields(result: WalkResult) -> WalkFields:
    """Return the fields of a walk."""
    return {
        "seeds": [
            {"id": seed.id, "found": seed.found, "score": round(seed.score, _DIGITS), "reason": seed.reason}
            for seed in result.seeds
        ],
        "paths": [path_fields(path) for path in result.paths],
        "reached": result.reached,
        "left_out": result.left_out,
        "stopped": result.stopped,
    }


def path_fields(path: WalkPath) -> PathFields:
    """Return the fields of one path."""
    return {
        "seed": path.seed,
        "nodes": list(path.nodes),
        "edges": list(path.edges),
        "energies": [round(energy, _DIGITS) for energy in path.energies],
        "sentences": list(path.sentences),
        "reversed": [hop.reversed for hop in path.hops],
        "score": round(path.score, _DIGITS),
    }


def search_fields(answer: GraphAnswer) -> SearchFields:
    """Return the fields of an answer of the graph."""
    return {
        "query": answer.query,
        "seeds": [
            {
                "id": hit.node.id,
                "label": hit.node.label,
                "text": hit.node.text,
                "conv_id": hit.node.conv_id,
                "tags": list(hit.node.tags),
                "score": round(hit.score, _DIGITS),
                "legs": leg_fields(hit.legs),
            }
            for hit in answer.seeds
        ],
        "paths": [path_fields(path) for path in answer.walk.paths],
        "context": answer.context.text,
        "tokens": answer.context.tokens,
        "pending": answer.pending,
        "message": answer.message,
    }


def leg_fields(legs: Mapping[str, Leg]) -> dict[str, LegFields]:
    """Rank and score in each leg."""
    return {name: {"rank": leg.rank, "score": round(leg.score, _DIGITS)} for name, leg in legs.items()}


def import_text(report: GraphImport) -> str:
    """Return the report of an import for a person."""
    lines = [
        f"nodes: {report.nodes_added} added, {report.nodes_updated} updated, {report.nodes_unchanged} unchanged",
        f"edges: {report.edges_added} added, {report.edges_unchanged} unchanged",
    ]
    if report.lessons_added or report.lessons_unchanged:
        lines.append(f"lessons: {report.lessons_added} added, {report.lessons_unchanged} unchanged")
    if report.pointers_added:
        lines.append(f"links of nodes and lessons: {report.pointers_added} added")
    if report.bands:
        lines.append("weights: " + ", ".join(f"{number} {band}" for band, number in sorted(report.bands.items())))
    lines += _listed("duplicate", [_duplicate_text(each) for each in report.duplicates])
    lines += _listed(
        "dangling", [f"{each.kind} {each.id} names {each.missing}, which does not exist" for each in report.dangling]
    )
    lines += _listed("left out", [f"{each.kind} {each.id}: {each.reason}" for each in report.left_out])
    lines += _listed(
        "conflict", [f"{name} has other contents in the bank, which were kept" for name in report.conflicts]
    )
    if report.pending:
        lines.append(
            f"{report.pending} vectors are pending: `rbank worker` makes them; until then words find these texts"
        )
    return "\n".join(lines)


def walk_text(result: WalkResult) -> str:
    """Return a walk for a person: every path as the sentences it goes along."""
    lines = [f"{seed.id}: {seed.reason}" for seed in result.seeds if not seed.found]
    for number, path in enumerate(result.paths, start=1):
        lines += _path_text(number, path, result.nodes)
    if result.left_out:
        lines.append(f"{result.left_out} further paths add nothing or are too many")
    return "\n".join(lines) or "No path begins there."


def search_text(answer: GraphAnswer) -> str:
    """Return an answer of the graph for a person."""
    lines = [answer.message]
    lines += [f"{hit.score:.3f}  {hit.node.label} {hit.node.id}: {_short(hit.node.text)}" for hit in answer.seeds]
    for number, path in enumerate(answer.walk.paths, start=1):
        lines += _path_text(number, path, answer.walk.nodes)
    if answer.pending:
        lines.append(f"{answer.pending} vectors are pending: these texts are found by their words alone")
    return "\n".join(lines)


def _path_text(number: int, path: WalkPath, nodes: Mapping[str, Node]) -> list[str]:
    lines = [f"{number}. {_node_text(path.seed, nodes)}"]
    for hop in path.hops:
        arrow = "<-" if hop.reversed else "->"
        lines.append(f"   {arrow} {hop.edge.text} ({_strength(hop.edge)}, energy {hop.activation:.3f})")
        lines.append(f"   {_node_text(hop.reached, nodes)}")
    return lines


def _strength(edge: Edge) -> str:
    return f"{edge.id}, weight {edge.weight:.2f} {edge.band}"


def _node_text(name: str, nodes: Mapping[str, Node]) -> str:
    node = nodes.get(name)
    return name if node is None else f"{node.label} {name}: {_short(node.text)}"


def _short(text: str) -> str:
    words = text.split()
    return " ".join(words[:_SHOWN_WORDS]) + (" ..." if len(words) > _SHOWN_WORDS else "")


def _listed(kind: str, texts: list[str]) -> list[str]:
    more = len(texts) - _SHOWN_PROBLEMS
    lines = [f"{kind}: {text}" for text in texts[:_SHOWN_PROBLEMS]]
    return [*lines, f"{kind}: {more} more; --json lists all"] if more > 0 else lines


def _duplicate(each: Duplicate) -> DuplicateFields:
    return {
        "kind": each.kind,
        "id": each.id,
        "reason": each.reason,
        "stored_as": each.stored_as,
        "source": each.source,
        "target": each.target,
    }


def _duplicate_text(each: Duplicate) -> str:
    ends = f" from {each.source} to {each.target}" if each.source else ""
    stored = f"; stored as {each.stored_as}" if each.stored_as else "; left out"
    return f"{each.kind} {each.id}{ends} {each.reason}{stored}"


def left_out_fields(each: LeftOut) -> LeftOutFields:
    """Return the fields of what an import left out."""
    return {"kind": each.kind, "id": each.id, "reason": each.reason}


def _dangling(each: Dangling) -> DanglingFields:
    return {"kind": each.kind, "id": each.id, "missing": each.missing}
