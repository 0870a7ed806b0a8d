"""How records become rows and texts, driven by their annotations where it can be, and how a row proves itself."""

from __future__ import annotations

import hashlib
import json
import types
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from json.encoder import encode_basestring
from typing import Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from reasoningbank.errors import BankError, InvalidInput, StoreCorrupt, TrajectoryNotFound
from reasoningbank.storage.failures import decoding
from reasoningbank.types.belief import Belief
from reasoningbank.types.consolidation import CONSOLIDATION
from reasoningbank.types.experience import Trace
from reasoningbank.types.memory import Memory, Outcome, State, StateChange
from reasoningbank.types.recall import VECTOR_LEGS, Filter, Leg
from reasoningbank.types.records import WordsWorth
from reasoningbank.types.session import Judgement, Origin, Refusal, Trajectory
from reasoningbank.types.signal import ProjectWeights, Rater, Signal, SignalType
from reasoningbank.types.uplift import Exposure

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


_Kind = TypeVar("_Kind")


def to_json(value: object) -> Json:
    """Return the JSON value of a dataclass, a container of them, a time or a plain value.

    Raises:
        InvalidInput: For a value of any other type.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if is_dataclass(value):
        return {each.name: to_json(getattr(value, each.name)) for each in fields(value)}
    raise InvalidInput(f"a value of type {type(value).__name__} cannot be written as JSON")


def from_json(kind: type[_Kind], value: Json) -> _Kind:
    """Return the inverse of to_json for a dataclass type.

    Raises:
        InvalidInput: When the value is not one of that type.
    """
    return cast(_Kind, _decoded(kind, value))


def _decoded(kind: object, value: Json) -> object:
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(value, dict):
        hints = _hints(kind)
        return kind(**{name: _decoded(hints[name], item) for name, item in value.items() if name in hints})
    if kind is datetime and isinstance(value, str):
        return datetime.fromisoformat(value)
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(kind, type) and type(value) is kind:
        return value
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple and isinstance(value, list):
        return tuple(_decoded(arguments[0], item) for item in value)
    if origin is Mapping and isinstance(value, dict):
        return {key: _decoded(arguments[1], item) for key, item in value.items()}
    if origin is Literal and value in arguments:
        return value
    if origin in {Union, types.UnionType}:
        return None if value is None else _decoded(arguments[0], value)
    raise InvalidInput(f"{type(value).__name__} is not a {kind}")


@cache
def _hints(kind: type) -> Mapping[str, object]:
    return get_type_hints(kind)


Value = str | int | float | bytes | None


Row = tuple[Value, ...]


MEMORY_COLUMNS = (
    "id, title, description, content, outcome, category, state, tags, prior, positive, negative, usage_count, tokens, "
    "provenance, consolidation_id, created_at, updated_at, last_used, version"
)


WEIGHT_COLUMNS = "explicit_alpha, explicit_beta, usage_alpha, usage_beta, outcome_alpha, outcome_beta"
ALL_ROWS = 2**62
"""The limit of a query that has none."""
LEGS_PER_KEY = 4
"""Numbers kept for the vectors of one memory, so that two more legs need no migration."""


CONSOLIDATED_SQL = (
    f"(instr(m.provenance, '\"{CONSOLIDATION}\"') > 0 AND json_type(m.provenance, '$.{CONSOLIDATION}') IS NOT NULL)"
)
"""Whether a memory ``m`` was made of others: 1 or 0; most rows are told without reading their JSON."""


COLUMN_COUNT = MEMORY_COLUMNS.count(",") + 1


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@cache
def upsert(table: str, columns: str, key: str) -> str:
    """Return the statement that stores a row, in the place of one with the same key.

    Args:
        table: Its table.
        columns: All that is written, by commas.
        key: Those of them that tell one row from another.
    """
    names = columns.split(", ")
    changed = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key.split(", "))
    places = ", ".join("?" * len(names))
    return f"INSERT INTO {table} ({columns}) VALUES ({places}) ON CONFLICT ({key}) DO UPDATE SET {changed}"  # noqa: S608


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


MAX_ERROR = 2_000
"""Characters of a job's error that are kept."""


_COMPRESSION = 3


_Record = TypeVar("_Record", Trajectory, Judgement, Origin, Refusal, Trace, StateChange, Exposure)


def owned(record: _Record) -> tuple[_Record, str]:
    """Return the record as it will be read back, and the text it is read back from.

    Raises:
        InvalidInput: When a field is not of its type, a text no Unicode, a time without time zone, or an id empty.
    """
    kind = type(record)
    name = kind.__name__.lower()
    try:
        value = to_json(record)
        copy = from_json(kind, value)
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        text.encode("utf-8")
    except BankError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInput(f"the {name} cannot be stored: {error}") from error
    to_microseconds(_moment_of(copy))
    if isinstance(copy, (Trajectory, Refusal, Trace)) and not copy.id.strip():
        raise InvalidInput(f"the {name} has no id")
    return copy, text


def read_record(kind: type[_Record], text: Value, name: str) -> _Record:
    """Return the record of a text.

    Raises:
        StoreCorrupt: When it is not the text of one.
    """
    with decoding(name):
        return from_json(kind, json.loads(cast(str, text)))


def proven(name: str, row: Row, stored: Value) -> Row:
    """Return the row, which is what was written.

    Raises:
        StoreCorrupt: When it is not.
    """
    if checksum(row) != stored:
        raise StoreCorrupt(f"{name} does not hold what was written to it")
    return row


def packed(text: str) -> bytes:
    """Return a long text as few bytes."""
    return zlib.compress(text.encode("utf-8"), _COMPRESSION)


def unpacked(body: Value, name: str) -> str:
    """Return the inverse of packed.

    Raises:
        StoreCorrupt: When it is not the bytes of a text.
    """
    try:
        with decoding(name):
            return zlib.decompress(cast(bytes, body)).decode("utf-8")
    except zlib.error as error:
        raise StoreCorrupt(f"{name} does not hold what was written to it: {error}") from error


def error_text(error: str) -> str:
    """Return a job's error as it is kept: never longer than MAX_ERROR, and always a text that can be stored."""
    return error[:MAX_ERROR].encode("utf-8", "replace").decode("utf-8")


def missing(kind: str, name: str, project: str) -> TrajectoryNotFound:
    """Return the error for a trajectory or a trace that does not exist."""
    return TrajectoryNotFound(f"no {kind} {name[:80]!r} in project {project[:80]!r}")


def _moment_of(record: Trajectory | Judgement | Origin | Refusal | Trace | StateChange | Exposure) -> datetime:
    return record.created_at if isinstance(record, Trajectory) else record.at
