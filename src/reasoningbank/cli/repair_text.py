"""Tell what ``rbank doctor --repair`` saved of each table, and what is missing, in plain words."""

from __future__ import annotations

from collections.abc import Mapping

from reasoningbank.types.memory import Repair
from reasoningbank.types.quantity import counted

_WORDS: Mapping[str, tuple[str, str]] = {
    "memories": ("memory", "memories"),
    "revisions": ("earlier version of a memory", "earlier versions of memories"),
    "state_changes": ("change of a state", "changes of states"),
    "links": ("link between memories", "links between memories"),
    "signals": ("rating or outcome", "ratings and outcomes"),
    "counted": ("vote that counts once", "votes that count once"),
    "aggregates": ("sum of older evidence", "sums of older evidence"),
    "weight_history": ("change of what evidence weighs", "changes of what evidence weighs"),
    "trajectories": ("session", "sessions"),
    "trajectory_bodies": ("record of what happened in a session", "records of what happened in sessions"),
    "judgements": ("judgement of a session", "judgements of sessions"),
    "origins": ("note of where a memory comes from", "notes of where memories come from"),
    "refusals": ("lesson that was not stored", "lessons that were not stored"),
    "traces": ("search that is learned from", "searches that are learned from"),
    "recalls": ("logged search", "logged searches"),
    "recall_items": ("logged result of a search", "logged results of searches"),
    "exposures": ("note of what a session was shown", "notes of what sessions were shown"),
    "exposure_items": ("memory that a session was shown", "memories that sessions were shown"),
    "principals": ("note of who spoke in a session", "notes of who spoke in sessions"),
    "documents": ("document", "documents"),
    "graph_nodes": ("node of the graph", "nodes of the graph"),
    "graph_edges": ("edge of the graph", "edges of the graph"),
    "graph_pointers": ("link of a node to a memory", "links of nodes to memories"),
    "jobs": ("waiting job", "waiting jobs"),
    "deletions": ("number of a deleted memory", "numbers of deleted memories"),
    "erasures": ("time of a deletion", "times of deletions"),
}

_CUT = (
    "Part of the file is gone: rows may be missing that cannot be counted. Compare with a backup before you put "
    "the saved rows in place."
)


def repair_text(done: Repair) -> str:
    """Return what was saved and what is missing, line by line."""
    lines = [
        f"{counted(done.damaged_pages, 'page')} of {done.pages} of the damaged file cannot be relied on.",
        "Saved: " + (_listed(done.recovered) or "nothing") + ".",
        f"Missing, at least: {_listed(done.missing)}." if done.missing else "No row is known to be missing.",
    ]
    if done.cut:
        lines[-1] = (f"{lines[-1]} " if done.missing else "") + _CUT
    if done.held:
        lines.append(
            f"Evidence of {counted(done.held, 'memory', 'memories')} is lost in part; the confidence stays as it was."
        )
    lines += [f"problem: {problem}" for problem in done.problems]
    lines += [f"The saved rows are in {done.path}", f"Put them in place with: rbank restore {done.path}"]
    return "\n".join(lines)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(counted(counts[name], *words) for name, words in _WORDS.items() if counts.get(name))
