"""How memories, signals and filters become rows, and how a row proves that it is what was written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from json.encoder import encode_basestring
from typing import cast

from reasoningbank.errors import InvalidInput, StoreCorrupt
from reasoningbank.storage.failures import decoding
from reasoningbank.types.belief import Belief
from reasoningbank.types.consolidation import CONSOLIDATION
from reasoningbank.types.memory import Memory, Outcome, State
from reasoningbank.types.recall import VECTOR_LEGS, Filter, Leg
from reasoningbank.types.records import WordsWorth
from reasoningbank.types.signal import ProjectWeights, Rater, Signal, SignalType

Value = str | int | float | bytes | None
Row = tuple[Value, ...]

MEMORY_COLUMNS = (
    "id, title, description, content, outcome, category, state, tags, prior, positive, negative, usage_count, tokens, "
    "provenance, consolidation_id, created_at, updated_at, last_used, version"
)
LEGS_PER_KEY = 4
"""Numbers kept for the vectors of one memory, so that two more legs need no migration."""
CONSOLIDATED_SQL = (
    f"(instr(m.provenance, '\"{CONSOLIDATION}\"') > 0 AND json_type(m.provenance, '$.{CONSOLIDATION}') IS NOT NULL)"
)
"""Whether a memory ``m`` was made of others: 1 or 0; most rows are told without reading their JSON."""
COLUMN_COUNT = MEMORY_COLUMNS.count(",") + 1
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_microseconds(moment: datetime) -> int:
    """Return microseconds since 1970, exactly.

    Raises:
        InvalidInput: For a time without a time zone.
    """
    if moment.tzinfo is None:
        raise InvalidInput("times must carry a time zone")
    difference = moment - EPOCH
    return (difference.days * 86_400 + difference.seconds) * 1_000_000 + difference.microseconds


def from_microseconds(value: int) -> datetime:
    """Return the time of that many microseconds since 1970."""
    seconds, microseconds = divmod(value, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=microseconds)


def memory_row(memory: Memory) -> Row:
    """Return the values of MEMORY_COLUMNS."""
    return (
        memory.id,
        memory.title,
        memory.description,
        memory.content,
        memory.outcome,
        memory.category,
        memory.state,
        f"[{', '.join(map(encode_basestring, memory.tags))}]",
        memory.belief.prior,
        memory.belief.positive,
        memory.belief.negative,
        memory.usage_count,
        memory.tokens,
        json.dumps(dict(memory.provenance), ensure_ascii=False, sort_keys=True) if memory.provenance else "{}",
        memory.consolidation_id,
        to_microseconds(memory.created_at),
        to_microseconds(memory.updated_at),
        None if memory.last_used is None else to_microseconds(memory.last_used),
        memory.version,
    )


def checksum(row: Row) -> bytes:
    """Return sixteen bytes that change when any value of the row changes; a long last value of bytes costs least."""
    last = row[-1]
    if not isinstance(last, bytes):
        return hashlib.blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    digest = hashlib.blake2b(last, digest_size=16)
    digest.update(repr((len(last), *row[:-1])).encode("utf-8", "surrogatepass"))
    return digest.digest()


def vector_id(key: int, leg: str) -> int:
    """Return the number of a memory's vector in a leg: four per key."""
    return LEGS_PER_KEY * key + VECTOR_LEGS.index(leg)


def memory_from(project: str, row: Row, stored: Value) -> Memory:
    """Return the memory of a row.

    Raises:
        StoreCorrupt: When the row is not what was written.
    """
    name = f"memory {str(row[0])[:80]!r}" if row else "a memory"
    if checksum(row) != stored:
        raise StoreCorrupt(f"{name} does not hold what was written to it")
    with decoding(name):
        return _decoded_memory(project, row)


def _decoded_memory(project: str, row: Row) -> Memory:
    (
        identifier,
        title,
        description,
        content,
        outcome,
        category,
        state,
        tags,
        prior,
        positive,
        negative,
        usage_count,
        tokens,
        provenance,
        consolidation_id,
        created_at,
        updated_at,
        last_used,
        version,
    ) = row
    return Memory(
        id=cast(str, identifier),
        project=project,
        title=cast(str, title),
        description=cast(str, description),
        content=cast(str, content),
        outcome=cast(Outcome, outcome),
        category=cast(str, category),
        state=cast(State, state),
        tags=tuple(json.loads(cast(str, tags))),
        belief=Belief(prior=cast(int, prior), positive=cast(int, positive), negative=cast(int, negative)),
        usage_count=cast(int, usage_count),
        tokens=cast(int, tokens),
        provenance=json.loads(cast(str, provenance)),
        consolidation_id=cast("str | None", consolidation_id),
        created_at=from_microseconds(cast(int, created_at)),
        updated_at=from_microseconds(cast(int, updated_at)),
        last_used=None if last_used is None else from_microseconds(cast(int, last_used)),
        version=cast(int, version),
    )


def signal_from(project: str, row: Row) -> Signal:
    """Return the signal of a row (id, memory id, type, positive, session, rater, at, weight)."""
    identifier, memory_id, signal_type, positive, session, rater, at, weight = row
    with decoding(f"signal {str(identifier)[:80]!r}"):
        return Signal(
            id=cast(str, identifier),
            memory_id=cast(str, memory_id),
            project=project,
            type=cast(SignalType, signal_type),
            positive=bool(positive),
            session=cast(str, session),
            rater=cast(Rater, rater),
            at=from_microseconds(cast(int, at)),
            weight=cast(int, weight),
        )


def weights_from(project: str, row: Row) -> ProjectWeights:
    """Return the weights of a row of six numbers."""
    with decoding("the weights"):
        numbers = [float(cast(float, value)) for value in row]
    return ProjectWeights(
        project=project,
        explicit_alpha=numbers[0],
        explicit_beta=numbers[1],
        usage_alpha=numbers[2],
        usage_beta=numbers[3],
        outcome_alpha=numbers[4],
        outcome_beta=numbers[5],
    )


WORDS_WORTH = "words worth"
"""Under this name ``meta`` holds what the bank has learned that words are worth in it: factor, model and memories."""


def words_worth_from(text: Value) -> WordsWorth:
    """Return what words are worth by the entry of ``meta``; factor 1 when there is none."""
    if text is None:
        return WordsWorth()
    with decoding("what words are worth in the bank"):
        factor, model_id, memories = json.loads(cast(str, text))
        return WordsWorth(factor=float(factor), model_id=str(model_id), memories=int(memories))


def legs_to_json(legs: Mapping[str, Leg]) -> str:
    """Rank and scores per leg, for the log."""
    return json.dumps({name: [leg.rank, leg.score] for name, leg in legs.items()})


def legs_from_json(text: str) -> dict[str, Leg]:
    """Return the inverse of legs_to_json."""
    with decoding("a logged recall"):
        return {name: Leg(rank=rank, score=score) for name, (rank, score) in json.loads(text).items()}


def condition_sql(condition: Filter) -> tuple[str, list[Value]]:
    """Return the WHERE clause of a filter over ``memories AS m``, with its values bound apart."""
    clauses: list[str] = ["m.state IN (SELECT value FROM json_each(?))"]
    values: list[Value] = [json.dumps(condition.states)]
    comparisons: tuple[tuple[str, Value], ...] = (
        ("m.outcome = ?", condition.outcome),
        ("m.category = ?", condition.category),
        ("m.confidence >= ?", condition.min_confidence),
        ("m.confidence < ?", condition.below_confidence),
        ("m.created_at >= ?", _moment(condition.created_after)),
        ("m.created_at < ?", _moment(condition.created_before)),
    )
    for clause, value in comparisons:
        if value is not None:
            clauses.append(clause)
            values.append(value)
    if condition.categories is not None:
        clauses.append("m.category IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(condition.categories))
    if condition.consolidated is not None:
        clauses.append(f"{CONSOLIDATED_SQL} = ?")
        values.append(int(condition.consolidated))
    for tag in condition.tags:
        clauses.append("instr(m.tags, ?) AND EXISTS (SELECT 1 FROM json_each(m.tags) AS t WHERE t.value = ?)")
        values += [encode_basestring(tag), tag]
    return " AND ".join(clauses), values


def _moment(moment: datetime | None) -> int | None:
    return None if moment is None else to_microseconds(moment)
