"""How trajectories, judgements, origins, refusals and traces become texts, and what is refused before it is stored.

Both stores use it, so that both refuse the same and give back the same.
"""

from __future__ import annotations

import json
import zlib
from datetime import datetime
from typing import TypeVar, cast

from reasoningbank.errors import BankError, InvalidInput, StoreCorrupt, TrajectoryNotFound
from reasoningbank.storage.failures import decoding
from reasoningbank.storage.records import from_json, to_json
from reasoningbank.storage.rows import Row, Value, checksum, to_microseconds
from reasoningbank.types.experience import Trace
from reasoningbank.types.memory import StateChange
from reasoningbank.types.session import Judgement, Origin, Refusal, Trajectory
from reasoningbank.types.uplift import Exposure

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
    to_microseconds(_moment(copy))
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


def _moment(record: Trajectory | Judgement | Origin | Refusal | Trace | StateChange | Exposure) -> datetime:
    return record.created_at if isinstance(record, Trajectory) else record.at
