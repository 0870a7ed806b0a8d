"""How records become rows and texts, driven by their annotations where it can be, and how a row proves itself."""

from __future__ import annotations

import hashlib
import json
import types
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache, partial
from json.encoder import encode_basestring
from operator import attrgetter, itemgetter
from typing import Any, Generic, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from reasoningbank.errors import BankError, InvalidInput, StoreCorrupt, TrajectoryNotFound
from reasoningbank.types.experience import Trace
from reasoningbank.types.memory import StateChange
from reasoningbank.types.moment import bounded
from reasoningbank.types.recall import VECTOR_LEGS
from reasoningbank.types.records import SourceOutcomes, WordsWorth
from reasoningbank.types.session import Judgement, Origin, Refusal, Trajectory
from reasoningbank.types.signal import ProjectWeights
from reasoningbank.types.uplift import Exposure

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


_Kind = TypeVar("_Kind")
_Form = TypeVar("_Form")


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """Turn a stored value that cannot be what was written into StoreCorrupt."""
    try:
        yield
    except StoreCorrupt:
        raise
    except (ValueError, TypeError, LookupError, OverflowError, AttributeError) as error:
        raise StoreCorrupt(f"{what} does not hold what was written to it: {error}") from error


def to_json(value: object) -> JsonValue:
    """Return the JSON value of a dataclass, a container of them, a time or a plain value.

    Raises:
        InvalidInput: For a value of any other type.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, datetime):
        return bounded(value).isoformat()
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if is_dataclass(value):
        return {each.name: to_json(getattr(value, each.name)) for each in fields(value)}
    raise InvalidInput(f"a value of type {type(value).__name__} cannot be written as JSON")


def from_json(kind: type[_Kind], value: JsonValue) -> _Kind:
    """Return the inverse of to_json for a dataclass type.

    Raises:
        InvalidInput: When the value is not one of that type.
    """
    return cast(_Kind, _decoder(cast(object, kind))(value))


@cache
def _decoder(kind: object) -> Callable[[JsonValue], object]:
    """Return what turns a JSON value into one of a type; it is made once per type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        inner = _decoder(arguments[0])
        return lambda value: None if value is None else inner(value)
    if isinstance(kind, type) and is_dataclass(kind):
        parts = {name: _decoder(hint) for name, hint in get_type_hints(kind).items()}
        return _fitting(kind, dict, lambda value: kind(**_fields_of(parts, value)))
    if kind is datetime:
        return _fitting(kind, str, lambda text: bounded(datetime.fromisoformat(text)))
    if origin is tuple:
        each = _decoder(arguments[0])
        return _fitting(kind, list, lambda value: tuple([each(item) for item in value]))
    if origin is Mapping:
        of = _decoder(arguments[1])
        return _fitting(kind, dict, lambda value: {key: of(item) for key, item in value.items()})
    return lambda value: _plain(kind, value)


def _fields_of(parts: Mapping[str, Callable[[JsonValue], object]], value: Mapping[str, JsonValue]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, item in value.items():
        if name in parts:
            try:
                found[name] = parts[name](item)
            except InvalidInput as error:
                raise InvalidInput(f"{name}: {error}", hint=error.hint) from error
    return found


def _fitting(kind: object, form: type[_Form], read: Callable[[_Form], object]) -> Callable[[JsonValue], object]:
    def checked(value: JsonValue) -> object:
        return read(value) if isinstance(value, form) else _plain(kind, value)

    return checked


_NAMES: Mapping[object, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
    tuple: "a list",
    type(None): "null",
    datetime: "a time",
}
"""What a reader calls the types of JSON."""


def _plain(kind: object, value: JsonValue) -> object:
    """Return a value that is of its type as it is."""
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is kind or (get_origin(kind) is Literal and value in get_args(kind)):
        return value
    found = repr(value)[:80] if isinstance(value, (str, int, float)) else _NAMES.get(type(value), "something else")
    if get_origin(kind) is Literal:
        raise InvalidInput(f"{found} is not one of {', '.join(map(str, get_args(kind)))}")
    raise InvalidInput(f"{found} is not {_NAMES.get(kind, 'an object')}")


Value = str | int | float | bytes | None


Row = tuple[Value, ...]


WEIGHT_COLUMNS = "explicit_alpha, explicit_beta, usage_alpha, usage_beta, outcome_alpha, outcome_beta"
ALL_ROWS = 2**62
"""The limit of a query that has none."""
LAST = 2**63 - 1
"""The last row of a bank's state begins with it: more than any key."""
LEGS_PER_KEY = 4
"""Numbers kept for the vectors of one memory, so that two more legs need no migration."""


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
        InvalidInput: For a time without a time zone or outside of the bounds of ``types.moment``.
    """
    difference = bounded(moment) - EPOCH
    return (difference.days * 86_400 + difference.seconds) * 1_000_000 + difference.microseconds


def from_microseconds(value: int) -> datetime:
    """Return the time of that many microseconds since 1970."""
    return EPOCH + timedelta(microseconds=value)  # a time stamp before 1970 is none on Windows


def checksum(row: Row) -> bytes:
    """Return sixteen bytes that change when any value of the row changes; a long last value of bytes costs least."""
    last = row[-1]
    if not isinstance(last, bytes):
        return hashlib.blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    digest = hashlib.blake2b(last, digest_size=16)
    digest.update(repr((len(last), *row[:-1])).encode("utf-8", "surrogatepass"))
    return digest.digest()


class Mapped(Generic[_Kind]):
    """A dataclass as columns of a row, by its annotations; what turns the values is chosen once for the class.

    A time is its microseconds, a flag 0 or 1, several texts or a mapping JSON; the fields of a dataclass inside are
    columns like the others. Fields without a column are given by whoever reads the row.

    Args:
        kind: The dataclass.
        columns: Names of its fields, by commas, in the order of the row.
        trusted: Its rules were checked when it was written, and reading does not check them again.
        ascii: Escape what is not ASCII in JSON.
        typed: Its rows have no checksum, so the type of each value is checked when it is read.
    """

    def __init__(
        self,
        kind: type[_Kind],
        columns: str,
        *,
        trusted: bool = False,
        ascii: bool = False,  # noqa: A002
        typed: bool = False,
    ) -> None:
        self.columns = columns
        self.count = columns.count(",") + 1
        self._kind = kind
        hints = get_type_hints(kind)
        inner = {
            part: (name, hint)
            for name, hint in hints.items()
            if isinstance(hint, type) and is_dataclass(hint)
            for part in get_type_hints(hint)
        }
        names = columns.split(", ")
        nested = [name for name in names if name not in hints]
        kinds = [hints[name] if name in hints else get_type_hints(inner[name][1])[name] for name in names]
        turned = [(place, *_turned(hint, ascii=ascii)) for place, hint in enumerate(kinds)]
        self._types = list(zip(names, map(_stored_types, kinds), strict=True)) if typed else []
        self._values = attrgetter(*(name if name in hints else f"{inner[name][0]}.{name}" for name in names))
        self._writers = [(place, write) for place, write, _ in turned if write is not None]
        self._readers = [(place, read) for place, _, read in turned if read is not None]
        self._names = [name for name in names if name in hints]
        self._own = itemgetter(*(names.index(name) for name in self._names))
        self._inner = [
            (name, hint, parts, itemgetter(*map(names.index, parts)))
            for name, hint in dict.fromkeys(inner[name] for name in nested)
            for parts in [[part for part in nested if inner[part][0] == name]]
        ]
        self._setters = [getattr(kind, name).__set__ for name in self._names] if trusted else None

    def row(self, record: _Kind) -> Row:
        """Return the values of a record's columns."""
        values = list(self._values(record))
        for place, write in self._writers:
            values[place] = write(values[place])
        return tuple(values)

    def record(self, row: Row, **given: object) -> _Kind:
        """Return the record of a row, with these other fields; to be called inside of ``decoding``."""
        values: list[object] = list(row)
        for (name, allowed), value in zip(self._types, values, strict=False):
            if not isinstance(value, allowed):
                raise TypeError(f"{name} is {type(value).__name__}")
        for place, read in self._readers:
            values[place] = read(values[place])
        for name, kind, parts, chosen in self._inner:
            given[name] = kind(**dict(zip(parts, chosen(values), strict=True)))
        if self._setters is None:
            given.update(zip(self._names, self._own(values), strict=True))
            return self._kind(**given)
        made = object.__new__(self._kind)
        for put, value in zip(self._setters, self._own(values), strict=True):
            put(made, value)
        for name, value in given.items():
            object.__setattr__(made, name, value)
        return made


_Turn = Callable[[Any], Any]


def _turned(hint: object, *, ascii: bool) -> tuple[_Turn | None, _Turn | None]:  # noqa: A002
    """Return what turns a field of this annotation into a column, and back; None where nothing does."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType}:
        write, read = _turned(arguments[0], ascii=ascii)
        return _unless_none(write), _unless_none(read)
    if hint is datetime:
        return to_microseconds, _moment
    if hint is bool:
        return int, bool
    if hint is float:
        return float, None
    if origin is tuple:
        return _listed, _texts
    if origin is Mapping:
        several = any(get_origin(kind) is tuple for kind in get_args(arguments[1]))
        return partial(_mapping_text, ascii=ascii), _mapping_with_tuples if several else _mapping
    return None, None


def _stored_types(hint: object) -> tuple[type, ...]:
    """Return the types of values that a column can hold for a field of this annotation."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType}:
        return tuple(kind for argument in arguments for kind in _stored_types(argument))
    if hint is type(None):
        return (type(None),)
    if hint in {int, bool, datetime}:
        return (int,)
    return (float, int) if hint is float else (str,)


def _unless_none(turn: _Turn | None) -> _Turn | None:
    return None if turn is None else lambda value: None if value is None else turn(value)


_KEPT = 16_384
_KEPT_MAPPINGS = 1_024
"""Fewer, as a mapping may be long; all that one import or one session brought has the same provenance."""
_read_json = json.JSONDecoder().raw_decode


def _listed(texts: tuple[str, ...]) -> str:
    """Return texts as a JSON list, as ``json.dumps`` writes it without escapes of what is not ASCII."""
    return f"[{', '.join(map(encode_basestring, texts))}]"


@lru_cache(maxsize=_KEPT)
def _texts(text: str) -> tuple[str, ...]:
    return tuple(_read_json(text)[0])


@lru_cache(maxsize=_KEPT)
def _moment(microseconds: int) -> datetime:
    return from_microseconds(microseconds)


def _mapping_text(value: Mapping[str, object], *, ascii: bool) -> str:  # noqa: A002
    return json.dumps(dict(value), ensure_ascii=ascii, sort_keys=True) if value else "{}"


def _mapping(text: str) -> dict[str, object]:
    return dict(_held_mapping(text))


@lru_cache(maxsize=_KEPT_MAPPINGS)
def _held_mapping(text: str) -> dict[str, object]:
    return cast("dict[str, object]", _read_json(text)[0])


def _mapping_with_tuples(text: str) -> dict[str, object]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in _mapping(text).items()}


WEIGHTS = Mapped(ProjectWeights, WEIGHT_COLUMNS, typed=True)


def vector_id(key: int, leg: str) -> int:
    """Return the number of a memory's vector in a leg: four per key."""
    return LEGS_PER_KEY * key + VECTOR_LEGS.index(leg)


def weights_from(project: str, row: Row) -> ProjectWeights:
    """Return the weights of a row of six numbers."""
    with decoding("the weights"):
        return WEIGHTS.record(row, project=project)


def current_weights(project: str, row: Row) -> ProjectWeights:
    """Return the weights of the last row of their history, which has None in each column where there is no row."""
    return ProjectWeights(project=project) if row[0] is None else weights_from(project, row)


WORDS_WORTH = "words worth"
"""Under this name ``meta`` holds what the bank has learned that words are worth in it: factor, model and memories."""


def words_worth_from(text: Value) -> WordsWorth:
    """Return what words are worth by the entry of ``meta``; factor 1 when there is none."""
    if text is None:
        return WordsWorth()
    with decoding("what words are worth in the bank"):
        factor, model_id, memories = json.loads(cast(str, text))
        return WordsWorth(factor=float(factor), model_id=str(model_id), memories=int(memories))


SOURCE_OUTCOMES = "source outcomes"
"""Under this name ``meta`` holds how what each source recorded has turned out: successes and failures by source."""


def source_outcomes_from(text: Value) -> SourceOutcomes:
    """Return how what each source recorded has turned out by the entry of ``meta``; nothing when there is none."""
    if text is None:
        return {}
    with decoding("how what each source recorded has turned out"):
        return {str(name): (int(good), int(bad)) for name, (good, bad) in json.loads(cast(str, text)).items()}


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


def missing(kind: str, name: str, project: str) -> TrajectoryNotFound:
    """Return the error for a trajectory or a trace that does not exist."""
    hint = "Check the id with `rbank traces`." if kind == "trace" else None
    return TrajectoryNotFound(f"no {kind} {name[:80]!r} in project {project[:80]!r}", hint=hint)


def _moment_of(record: Trajectory | Judgement | Origin | Refusal | Trace | StateChange | Exposure) -> datetime:
    return record.created_at if isinstance(record, Trajectory) else record.at
