"""What the naive model of a bank holds: dictionaries, sets and lists of values that never change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import numpy

from reasoningbank.errors import InvalidInput, MemoryNotFound, ModelMismatch
from reasoningbank.storage.graph_tables import Pointer
from reasoningbank.storage.vector_file import unit_vector
from reasoningbank.types.document import Document
from reasoningbank.types.experience import Trace
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.graph_search import GraphKind
from reasoningbank.types.memory import Erasure, Memory, StateChange
from reasoningbank.types.ports import Vector
from reasoningbank.types.records import Given, Job, Link, RecallLog, WeightChange, WordsWorth
from reasoningbank.types.scope import Membership, Scope
from reasoningbank.types.session import Judgement, Origin, Refusal, Trajectory
from reasoningbank.types.signal import Signal, SignalAggregate
from reasoningbank.types.uplift import Exposure

Place = tuple[str, tuple[str, ...], str]


class NaiveState:
    """Everything inside one scope. Dictionaries keep the order in which things were first stored."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.project = scope.project
        self.model: tuple[str, int] | None = None
        self.held: dict[str, Memory] = {}
        self.words: dict[str, list[str]] = {}
        self.contexts: dict[str, tuple[int, int]] = {}
        self.memory_vectors: dict[tuple[str, str], Vector] = {}
        self.numbers: dict[str, int] = {}
        self.last_number = 0
        self.versions: dict[str, tuple[Memory, ...]] = {}
        self.signal_log: dict[str, Signal] = {}
        self.principals: dict[str, str] = {}
        self.once: dict[tuple[str, str, str], Given] = {}
        self.aggregates: dict[str, SignalAggregate] = {}
        self.weight_changes: list[WeightChange] = []
        self.recall_logs: dict[str, RecallLog] = {}
        self.relations: set[Link] = set()
        self.state_changes: list[StateChange] = []
        self.erased: list[Erasure] = []
        self.membership = Membership()
        self.words_worth = WordsWorth()
        self.queue: dict[tuple[str, str], Job] = {}
        self.leases: dict[tuple[str, str], datetime] = {}
        self.dead: dict[tuple[str, str], tuple[datetime, Job]] = {}
        self.kept: dict[str, Trajectory] = {}
        self.keys: dict[str, str] = {}
        self.distilled: dict[str, datetime] = {}
        self.verdicts: dict[str, tuple[Judgement, ...]] = {}
        self.taught: dict[tuple[str, str], Origin] = {}
        self.refused: dict[str, Refusal] = {}
        self.trace_log: dict[str, Trace] = {}
        self.trace_vectors: dict[str, Vector] = {}
        self.met: dict[str, Exposure] = {}
        self.filed: dict[Place, Document] = {}
        self.filed_vectors: dict[Place, list[Vector]] = {}
        self.node_rows: dict[str, Node] = {}
        self.edge_rows: dict[str, Edge] = {}
        self.graph_words: dict[tuple[GraphKind, str], list[str]] = {}
        self.graph_vectors: dict[tuple[GraphKind, str], Vector] = {}
        self.pointed: set[Pointer] = set()

    def copied(self) -> dict[str, object]:
        """All of it as it is now."""
        return {
            name: value.copy() if isinstance(value, (dict, set, list)) else value for name, value in vars(self).items()
        }

    def go_back(self, copied: dict[str, object]) -> None:
        """Makes everything what it was when it was copied."""
        for name, value in copied.items():
            setattr(self, name, value.copy() if isinstance(value, (dict, set, list)) else value)

    def get(self, memory_id: str) -> Memory:
        """The memory of this id."""
        if memory_id not in self.held:
            raise MemoryNotFound(memory_id)
        return self.held[memory_id]

    def fit(self, vectors: Iterable[Vector], model_id: str) -> list[Vector]:
        """The vectors as the bank keeps them, when they are of its model."""
        rows = [unit_vector(vector) for vector in vectors]
        if rows and not model_id:
            raise InvalidInput("a vector needs the name of its model")
        if len({len(row) for row in rows}) > 1:
            raise ModelMismatch("vectors of different dimensions")
        if rows and self._has_vectors() and self.model != (model_id, len(rows[0])):
            raise ModelMismatch("vectors of another model")
        return rows

    def note_space(self, rows: Sequence[Vector], model_id: str) -> None:
        """The first vector of a bank without any decides on the model."""
        if rows and not self._has_vectors():
            self.model = (model_id, len(rows[0]))

    def check_query(self, vector: Vector) -> None:
        """Refuses a query that cannot be compared."""
        if not bool(numpy.isfinite(vector).all()):
            raise InvalidInput("not a finite number")
        if self.model is not None and self.model[1] != len(vector):
            raise ModelMismatch("another dimension")

    def _has_vectors(self) -> bool:
        return bool(self.memory_vectors or self.trace_vectors or self.filed_vectors or self.graph_vectors)


def product(row: Vector, vector: Vector) -> float:
    """The inner product in double precision."""
    return float(row.astype(numpy.float64) @ vector.astype(numpy.float64))


def check_text(texts: Iterable[str]) -> None:
    """Refuses what is not Unicode."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput("a text is not valid Unicode") from error
