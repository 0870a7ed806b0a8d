"""Keeps what was learned from a task out of the memories for that task, so that an evaluation measures transfer."""

from __future__ import annotations

from collections.abc import Callable

from reasoningbank.errors import TrajectoryNotFound
from reasoningbank.safety.secrets import redact
from reasoningbank.safety.text import clean
from reasoningbank.storage.store import StoreReader
from reasoningbank.types.matts import Task
from reasoningbank.types.memory import Memory, fingerprint

TASK_ID = "task_id"
"""The key of a trajectory's metadata that holds its task's own id."""
PROVENANCE_TASK = 2_000
"""How many characters of its task a memory's provenance keeps."""


def same_text(one: str, other: str) -> bool:
    """Return whether two tasks read the same up to case, space, punctuation, redaction and cuts.

    Two tasks that differ in nothing but signs count as the same: in doubt a memory is withheld.
    """
    return bool(_forms(one) & _forms(other))


def learned_from(task: Task, store: StoreReader) -> Callable[[Memory], bool]:
    """Tell of a memory whether it was learned from this task.

    It was when the task in its provenance reads the same, or when a trajectory that it was distilled from has the
    same task id or a task that reads the same. That the task corroborated a memory later does not count: its words
    were there before.

    Args:
        task: The task that is about to be attempted; its ``goal`` and, when it has one, its ``id`` are compared.
        store: Where the memories' origins are.
    """
    own = _forms(task.goal)

    def leaks(memory: Memory) -> bool:
        said = memory.provenance.get("task", "")
        if said and own & _forms(said):
            return True
        sources = {memory.provenance.get("trajectory", "")} - {""}
        sources.update(one.trajectory for one in store.sessions.origins(memory_id=memory.id) if one.kind == "distilled")
        return any(_is_of(task, source, own, store) for source in sorted(sources))

    return leaks


def _is_of(task: Task, trajectory_id: str, own: frozenset[bytes], store: StoreReader) -> bool:
    try:
        trajectory = store.sessions.trajectory(trajectory_id)
    except TrajectoryNotFound:
        return False
    if task.id and trajectory.metadata.get(TASK_ID, "") == task.id:
        return True
    return bool(own & _forms(trajectory.task))


def _forms(text: str) -> frozenset[bytes]:
    """Return what a task may look like after it was stored: cleaned, redacted, and cut."""
    safe = redact(clean(text)).text
    return frozenset(
        fingerprint(form) if any(map(str.isalnum, form)) else form.strip().encode("utf-8", "surrogatepass")
        for form in {text, safe, text[:PROVENANCE_TASK], safe[:PROVENANCE_TASK]}
        if form.strip()
    )
