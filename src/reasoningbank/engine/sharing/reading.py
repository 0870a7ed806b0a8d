"""Reading shared files: whole or not at all, the lines of both sides of a merge as one memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast, get_args

from reasoningbank.domain.belief import PRIOR_STRENGTH, UNIT, Belief
from reasoningbank.domain.memory import MAX_ID, Memory, check_memory_id
from reasoningbank.domain.recall import Filter
from reasoningbank.domain.scope import LEVELS, Level, Scope
from reasoningbank.domain.sharing import PROMOTED_FROM, PROMOTED_TO, Reference
from reasoningbank.domain.signal import Rater, Signal, SignalAggregate
from reasoningbank.engine.sharing.files import COUNTED, FORMAT, KEPT, LINKS, SUFFIX, VERSION
from reasoningbank.engine.sharing.trust import INDEPENDENT
from reasoningbank.errors import BankError, InvalidInput, ScopeViolation, StoreUnavailable

MOST_WEIGHT = UNIT
"""No single piece of evidence weighs more."""
_MOST_SIGNALS = 100_000
_HINT = "Pass a file that `rbank share export` wrote."
_MARKERS = ("<<<<<<<", "=======", ">>>>>>>")
_MAX_TEXT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """One memory of a shared file.

    Attributes:
        memory: Its text, prior and times; its evidence is not in its belief.
        signals: Evidence by signal, each id once, ordered by id.
        rolled_up: Evidence that no longer names its signals.
        links: Kind and target of each.
    """

    memory: Memory
    signals: tuple[Signal, ...] = ()
    rolled_up: SignalAggregate | None = None
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFile:
    """One shared file: whose memories it holds, each once, ordered by id."""

    path: str
    level: Level
    name: str
    records: tuple[Shared, ...]

    def goes_into(self, own: Scope, wider: Sequence[Scope], *, other_project: bool) -> Scope:
        """The scope whose bank takes the file.

        Raises:
            ScopeViolation: When it is of a project, team or org that is not the reader's.
        """
        scopes = {(scope.level, scope.project): scope for scope in (own, *wider)}
        found = scopes.get((self.level, self.name))
        if found is not None:
            return found
        if other_project and self.level == own.level == "project":
            return own
        hint = (
            "To take a project's file into another project, pass other_project=True or --other-project."
            if self.level == "project"
            else f"Open the bank with {self.level}={self.name[:80]!r}."
        )
        raise ScopeViolation(f"{Path(self.path).name} is of another {self.level}", hint=hint)


def read_shared(path: Path) -> list[SharedFile]:
    """The shared files at a path, every line checked; of a directory all whose names end in ``.jsonl``.

    Raises:
        StoreUnavailable: When nothing can be read there.
        InvalidInput: When a line is none of a shared file; the message names it.
    """
    try:
        files = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
        if not files:
            raise StoreUnavailable(f"there is no shared file in {path}", hint=_HINT)
        return [_file(file, file.read_text(encoding="utf-8").split("\n")) for file in files]
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text", hint=_HINT) from error


def _file(path: Path, lines: Sequence[str]) -> SharedFile:
    place: tuple[Level, str] | None = None
    records: dict[str, Shared] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            if line.startswith(_MARKERS):
                raise InvalidInput(
                    "git has left both sides of a conflict",
                    hint="Keep the lines of both sides and remove the marks: importing unites lines of one id.",
                )
            fields = _object(json.loads(line))
            if "format" in fields:
                header = _header(fields)
                if place not in {None, header}:
                    raise InvalidInput("the file is of two scopes", hint=_HINT)
                place = header
                continue
            if place is None:
                raise InvalidInput("the first line does not say whose memories follow", hint=_HINT)
            record = _record(fields, place[1])
        except BankError as error:
            raise InvalidInput(f"{path.name} line {number}: {error.message}", hint=error.hint) from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InvalidInput(
                f"{path.name} line {number} is no line of a shared file: {type(error).__name__}: {str(error)[:200]}",
                hint=_HINT,
            ) from error
        known = records.get(record.memory.id)
        records[record.memory.id] = record if known is None else united(known, record)
    if place is None:
        raise InvalidInput(f"{path.name} is empty", hint=_HINT)
    return SharedFile(
        path=str(path), level=place[0], name=place[1], records=tuple(records[name] for name in sorted(records))
    )


def united(first: Shared, second: Shared) -> Shared:
    """Two lines of one memory as one: the newer text, all evidence, each signal once; their order does not matter."""
    newer, older = sorted((first, second), key=_age, reverse=True)
    signals = {signal.id: signal for record in (older, newer) for signal in record.signals}
    counts = [record.rolled_up for record in (newer, older) if record.rolled_up is not None]
    return replace(
        newer,
        signals=tuple(signals[name] for name in sorted(signals)),
        rolled_up=max(counts, key=_rolled_up_at) if counts else None,
        links=tuple(sorted({*first.links, *second.links})),
    )


def _age(record: Shared) -> tuple[int, datetime, bytes, str]:
    memory = record.memory
    return memory.version, memory.updated_at, memory.fingerprint, repr(memory)


def _rolled_up_at(counts: SignalAggregate) -> tuple[str, str]:
    return ("" if counts.last_rollup is None else counts.last_rollup.isoformat(), repr(counts))


def _header(fields: Mapping[str, Any]) -> tuple[Level, str]:
    if fields["format"] != FORMAT or fields.get("version") != VERSION:
        raise InvalidInput(f"this version reads {FORMAT} {VERSION}", hint=_HINT)
    level = next((known for known in LEVELS if known == fields.get("level")), None)
    name = fields.get("name")
    if level is None or not isinstance(name, str) or not name.strip():
        raise InvalidInput("the first line names no scope", hint=_HINT)
    return level, name


def _record(fields: Mapping[str, Any], project: str) -> Shared:
    memory = _memory(fields, project)
    evidence = _list(fields.get("evidence", []))
    if len(evidence) > _MOST_SIGNALS:
        raise InvalidInput(f"a memory has at most {_MOST_SIGNALS} pieces of evidence")
    signals = {signal.id: signal for each in evidence for signal in [_signal(_object(each), memory)]}
    counts = fields.get("rolled_up")
    return Shared(
        memory=memory,
        signals=tuple(signals[name] for name in sorted(signals)),
        rolled_up=None if counts is None else _counts(_object(counts), memory),
        links=tuple(sorted({_link(each) for each in _list(fields.get("links", []))})),
    )


def _memory(fields: Mapping[str, Any], project: str) -> Memory:
    prior = _whole(fields["prior"], PRIOR_STRENGTH * UNIT)
    state = fields["state"]
    if state not in Filter().states:
        raise InvalidInput("only what can be recalled is shared")
    provenance = _object(fields.get("provenance", {}))
    return Memory(
        id=check_memory_id(_text(fields["id"])),
        project=project,
        title=_text(fields["title"]),
        description=_text(fields.get("description", "")),
        content=_text(fields["content"]),
        outcome=fields["outcome"],
        tags=tuple(_text(tag) for tag in _list(fields.get("tags", []))),
        category=_text(fields.get("category", "")),
        state=state,
        belief=Belief(prior=prior),
        provenance={name: _text(provenance[name]) for name in KEPT if name in provenance},
        created_at=_moment(fields["created_at"]),
        updated_at=_moment(fields["updated_at"]),
        version=_whole(fields["version"], 2**31),
    )


def _signal(fields: Mapping[str, Any], memory: Memory) -> Signal:
    name, session = _text(fields["id"]), _text(fields["session"])
    if not name or len(name) > MAX_ID or len(session) > _MAX_TEXT or fields["type"] not in INDEPENDENT:
        raise InvalidInput("a piece of evidence needs an id and a type that is shared")
    if not isinstance(fields["positive"], bool) or fields["rater"] not in get_args(Rater):
        raise InvalidInput("a piece of evidence needs a direction and who gave it")
    return Signal(
        id=name,
        memory_id=memory.id,
        project=memory.project,
        type=fields["type"],
        positive=fields["positive"],
        session=session,
        rater=fields["rater"],
        at=_moment(fields["at"]),
        weight=_whole(fields["weight"], MOST_WEIGHT),
    )


def _counts(fields: Mapping[str, Any], memory: Memory) -> SignalAggregate:
    counts = {name: _whole(fields.get(name, 0), 2**31) for name in COUNTED}
    least = {
        side: sum(count for name, count in counts.items() if name.endswith(side)) for side in ("positive", "negative")
    }
    at = _moment(fields["at"])
    return SignalAggregate(
        memory_id=memory.id,
        project=memory.project,
        **counts,  # type: ignore[arg-type]  # the keys are the counters alone
        positive=_whole(fields["positive"], least["positive"] * MOST_WEIGHT),
        negative=_whole(fields["negative"], least["negative"] * MOST_WEIGHT),
        last_rollup=at,
        last_activity=at,
    )


def _link(value: object) -> tuple[str, str]:
    kind, target = _list(value)
    if kind not in LINKS:
        raise InvalidInput("a link of this kind is not shared")
    if kind in {PROMOTED_FROM, PROMOTED_TO}:
        return kind, str(Reference.parse(_text(target)))
    return _text(kind), check_memory_id(_text(target))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput("a text was expected")
    return value


def _whole(value: object, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise InvalidInput(f"a whole number from 0 to {most} was expected")
    return value


def _moment(value: object) -> datetime:
    moment = datetime.fromisoformat(_text(value))
    if moment.tzinfo is None:
        raise InvalidInput("times must carry a time zone")
    return moment


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInput("a list was expected")
    return value


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput("an object was expected")
    return cast("dict[str, Any]", value)
