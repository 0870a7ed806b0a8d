"""Import files: JSON, JSON lines, CSV and the statements that seed 003's graph is written in."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import PurePath
from typing import cast

from reasoningbank.domain.graph_search import GRAPH_FORMATS, GraphFormat
from reasoningbank.engine.graphing.cypher import read_cypher
from reasoningbank.engine.graphing.drafts import Draft, Reader, Record
from reasoningbank.errors import BankError, InvalidInput

_SUFFIXES: Mapping[str, GraphFormat] = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".cypher": "cypher",
    ".cql": "cypher",
}
_LISTS = ("nodes", "edges", "lessons")
_LIST_COLUMNS = frozenset({"tags", "link_nodes", "reasoning_pointer_ids", "analysis_types", "metrics"})
_HINT = "See docs/explanation/graph.md for what each format looks like."


def read_draft(text: str, *, name: str = "", form: GraphFormat | None = None, at: datetime) -> Draft:
    """What a file says.

    Args:
        text: Its contents.
        name: Its name; the ending tells the format.
        form: The format; None to tell it by the name, else by the contents.
        at: The time of nodes and edges that say none.

    Raises:
        InvalidInput: When a record is unusable; the message says which one, and names its field.
    """
    reader = Reader(at)
    _READERS[form or told_by(text, name)](text.lstrip("\N{ZERO WIDTH NO-BREAK SPACE}"), reader)
    return reader.draft


def told_by(text: str, name: str = "") -> GraphFormat:
    """The format of a file, by the ending of its name, else by how its contents begin."""
    known = _SUFFIXES.get(PurePath(name).suffix.lower())
    if known is not None:
        return known
    beginning = text.lstrip("\N{ZERO WIDTH NO-BREAK SPACE} \t\r\n")
    if beginning.startswith("["):
        return "json"
    if beginning.startswith("{"):
        return "jsonl" if _is_object(beginning.split("\n", 1)[0]) and "\n" in beginning.strip() else "json"
    first = beginning.split(None, 1)[0].upper().split("(")[0] if beginning.split() else ""
    return "cypher" if first in {"MERGE", "MATCH", "CREATE", "//", "/*", ":USE", ":PARAM"} else "csv"


def check_format(form: str) -> GraphFormat:
    """Returns the name of a format; raises InvalidInput for any other."""
    for known in GRAPH_FORMATS:
        if form == known:
            return known
    raise InvalidInput(f"the format is one of {', '.join(GRAPH_FORMATS)}, not {form[:80]!r}")


def _read_json(text: str, reader: Reader) -> None:
    value = _parsed(text, "the file")
    if isinstance(value, list):
        _records("entry", value, reader.record)
        return
    if not isinstance(value, dict):
        raise InvalidInput("the file holds neither an object nor a list", hint=_HINT)
    if any(name in value for name in _LISTS):
        for name, take in (("nodes", reader.node), ("edges", reader.edge), ("lessons", reader.lesson)):
            listed = value.get(name, [])
            if not isinstance(listed, list):
                raise InvalidInput(f"{name}: must be a list", hint=_HINT)
            _records(name.removesuffix("s"), listed, take)
    elif value and all(isinstance(each, str) for each in value.values()):
        lessons = [{"id": name, "key_lesson": lesson} for name, lesson in value.items()]
        _records("lesson", lessons, reader.lesson)
    else:
        raise InvalidInput("the file has neither nodes, edges nor lessons", hint=_HINT)


def _read_lines(text: str, reader: Reader) -> None:
    takes = {"node": reader.node, "edge": reader.edge, "lesson": reader.lesson}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        with _naming(f"line {number}"):
            record = _record(_parsed(line, "it"))
            kind = next((name for name in takes if len(record) == 1 and name in record), None)
            if kind is None:
                reader.record(record)
            else:
                takes[kind](_record(record[kind]))


def _read_csv(text: str, reader: Reader) -> None:
    """Rows below a header of field names; several texts are a JSON list, or are separated by ``;`` or ``|``."""
    header = text.split("\n", 1)[0]
    try:
        rows = csv.DictReader(io.StringIO(text), delimiter="\t" if "\t" in header else ",", strict=True)
        for row in rows:
            with _naming(f"line {rows.line_num}"):
                if None in row or None in row.values():
                    raise InvalidInput("has another number of columns than the header")
                reader.record(
                    {name.strip(): _cell(name.strip(), value) for name, value in row.items() if value.strip()}
                )
    except csv.Error as error:
        raise InvalidInput(f"the file is not a table: {error}", hint=_HINT) from error


def _cell(name: str, value: str) -> object:
    if name not in _LIST_COLUMNS:
        return value
    if value.lstrip().startswith("["):
        return _parsed(value, name)
    separator = ";" if ";" in value else "|"
    return [part.strip() for part in value.split(separator) if part.strip()]


def _records(kind: str, records: Sequence[object], take: Callable[[Record], None]) -> None:
    for number, record in enumerate(records, start=1):
        with _naming(f"{kind} {number}", record):
            take(_record(record))


@contextmanager
def _naming(place: str, record: object = None) -> Iterator[None]:
    """Says in an error which record it is about."""
    name = record.get("id") if isinstance(record, dict) else None
    try:
        yield
    except BankError as error:
        shown = f"{place} ({name[:80]!r})" if isinstance(name, str) else place
        raise type(error)(f"{shown}: {error}", hint=error.hint) from error


def _record(value: object) -> Record:
    if not isinstance(value, dict):
        raise InvalidInput(f"must be an object, not {type(value).__name__}")
    return cast(Record, value)


def _parsed(text: str, what: str) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} is not JSON: {str(error)[:200]}", hint=_HINT) from error
    return value


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


_READERS: Mapping[GraphFormat, Callable[[str, Reader], None]] = {
    "json": _read_json,
    "jsonl": _read_lines,
    "csv": _read_csv,
    "cypher": read_cypher,
}
