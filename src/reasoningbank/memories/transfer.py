"""Export and import memories as JSON lines: one reviewable line per memory with all its evidence.

Nothing is said of a memory that is what it would be without any quarantine. Of the others the export names what they
would be and what holds them; the rest of the log stays in the bank, for it is the bank's own history.

The first line names the format; every further line is one memory, its signals, rolled-up counts, links and origins, or
one document, or one change of the weights. An import of an export gives the same memories, beliefs and histories.

Trajectories are not exported. An origin names its trajectory and its session all the same, as it does in a bank whose
trajectory was erased: so a session that taught a memory before the export does not count as a further one after it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from dataclasses import fields as fields_of
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any, TextIO, TypeVar, cast

from reasoningbank.errors import BankError, InvalidInput
from reasoningbank.memories.admission import Ready, admit_all, lowered_belief
from reasoningbank.memories.states import Placement, existing, holding, placement_of, sources_of, without_quarantine
from reasoningbank.safety.checks import brought_line, brought_reason
from reasoningbank.safety.stored_text import reveal
from reasoningbank.storage.rows import from_json
from reasoningbank.storage.store import Store, StoreReader, Transaction
from reasoningbank.types.belief import DISTILLED_CONFIDENCE, PRIOR_STRENGTH, UNIT
from reasoningbank.types.memory import CONSOLIDATED, IMPORTED, QUARANTINED, STATES, SURFACED, Memory, State, StateChange
from reasoningbank.types.moment import bounded
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import Link, WeightChange
from reasoningbank.types.session import Origin
from reasoningbank.types.signal import EVIDENCE_TYPES, ProjectWeights, Signal, SignalAggregate

_Kind = TypeVar("_Kind", Memory, Signal, SignalAggregate, Origin, Link, WeightChange)


def carried(memory: Memory, changes: Sequence[StateChange]) -> dict[str, Any] | None:
    """Return the field of an export about a memory in quarantine, or visible only because another is.

    None for all others.

    Args:
        memory: The memory.
        changes: Every change of its state, in the order they were written.
    """
    natural = without_quarantine(memory, changes)
    if natural == placement_of(memory):
        return None
    return {
        "state": natural.state,
        "consolidation_id": natural.merged,
        "held": [
            {
                "quarantine": reference,
                "at": entry.at.isoformat(),
                "reason": entry.reason,
                "by": entry.by,
                "because": list(entry.because),
            }
            for reference, entry in holding(changes).items()
        ],
    }


def parsed(memory: Memory, fields: Mapping[str, Any] | None) -> tuple[StateChange, ...]:
    """Return the entries of the log that such a field stands for: first what the memory would be, then what holds it.

    Raises:
        InvalidInput: When the field is none that ``carried`` wrote.
    """
    if fields is None:
        return ()
    natural = Placement(_state(fields["state"]), fields["consolidation_id"])
    if not isinstance(natural.merged, str | None):
        raise InvalidInput("consolidation_id must be text")
    entries = [_entry(memory, natural, each) for each in fields["held"]]
    if memory.state != "quarantined" and not entries:
        return (_change(memory, natural, kind=SURFACED, at=memory.updated_at),)
    if memory.state != "quarantined":
        raise InvalidInput("only a memory in quarantine can be held by one")
    return tuple(entries)


def import_changes(
    reader: StoreReader, memory: Memory, entries: Sequence[StateChange], *, at: datetime
) -> list[StateChange]:
    """Return what the log says of a memory that came with an import: what it was part of, and what holds it.

    Args:
        reader: Holds what the import brought.
        memory: The memory.
        entries: From ``parsed``.
        at: When it came.
    """
    natural = (
        Placement(entries[0].before or memory.state, entries[0].merged_before) if entries else placement_of(memory)
    )
    begun: State | None = None
    if natural.state == "archived" and natural.merged is not None:
        into = existing(reader, natural.merged)
        begun = None if into is None else sources_of(into).get(memory.id)
    first = Placement(begun, None) if begun is not None else natural
    changes = [
        StateChange(
            memory_id=memory.id, at=at, before=None, after=first.state, kind=IMPORTED, merged_after=first.merged
        )
    ]
    if begun is not None:
        changes.append(
            StateChange(
                memory_id=memory.id,
                at=at,
                before=begun,
                after=natural.state,
                kind=CONSOLIDATED,
                reference=natural.merged or "",
                merged_after=natural.merged,
            )
        )
    return [*changes, *entries]


def _entry(memory: Memory, natural: Placement, fields: Mapping[str, Any]) -> StateChange:
    texts = (fields["quarantine"], fields["reason"], fields["by"], *fields["because"])
    at = bounded(datetime.fromisoformat(fields["at"]))
    if not all(isinstance(text, str) for text in texts):
        raise InvalidInput("a quarantine needs its id, its time, its reason and who says so")
    return StateChange(
        memory_id=memory.id,
        at=at,
        before=natural.state,
        after=memory.state,
        kind=QUARANTINED,
        reference=brought_line(fields["quarantine"]),
        reason=brought_reason(fields["reason"]),
        by=brought_line(fields["by"]),
        because=tuple(fields["because"]),
        merged_before=natural.merged,
        merged_after=memory.consolidation_id,
    )


def _change(memory: Memory, natural: Placement, *, kind: str, at: datetime) -> StateChange:
    return StateChange(
        memory_id=memory.id,
        at=at,
        before=natural.state,
        after=memory.state,
        kind=kind,
        merged_before=natural.merged,
        merged_after=memory.consolidation_id,
    )


def _state(value: object) -> State:
    for known in STATES:
        if value == known:
            return known
    raise InvalidInput(f"{json.dumps(value)[:80]} is not a state")


DIGEST = "file_sha256"
"""The entry of a provenance with the SHA-256 of the file that an imported memory came from."""
FORMAT = "reasoningbank"
VERSION = 1
_OTHER_LINES = frozenset({"document", "node", "edge", "pointer"})
_EVERYTHING = Filter(states=STATES)
_BATCH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One memory with everything that hangs on it."""

    memory: Memory
    signals: tuple[Signal, ...] = ()
    aggregate: SignalAggregate | None = None
    links: tuple[Link, ...] = ()
    origins: tuple[Origin, ...] = ()
    placement: tuple[StateChange, ...] = ()


def write_export(store: Store, file: TextIO, others: Iterable[Mapping[str, Any]] = (), *, held: bool = True) -> int:
    """Write the lines of an export; return how many memories they hold.

    Args:
        store: The bank.
        file: Where the lines go.
        others: Lines of other subjects: documents and the graph.
        held: Whether what is in quarantine is written, too.
    """
    wanted = _EVERYTHING if held else Filter(states=tuple(state for state in STATES if state != "quarantined"))
    file.write(_line({"format": FORMAT, "version": VERSION, "project": store.scope.project}))
    count = 0
    for batch in store.memories.batches(wanted, size=_BATCH):
        names = [memory.id for memory in batch]
        aggregates, signals = store.evidence.aggregates_of(names), store.evidence.signals_of(names)
        origins, changes = store.sessions.origins_of(names), store.memories.changes_of(names)
        links: dict[str, list[dict[str, Any]]] = {}
        for link in store.memories.links_from(names):
            links.setdefault(link.source, []).append(asdict(link))
        for memory in batch:
            aggregate, placement = aggregates.get(memory.id), carried(memory, changes.get(memory.id, ()))
            file.write(
                _line(
                    {
                        "memory": _memory_fields(reveal(memory)),
                        "signals": [_fields(signal) for signal in signals.get(memory.id, ())],
                        "aggregate": _fields(aggregate) if aggregate and aggregate.last_rollup else None,
                        "links": links.get(memory.id, []),
                        "origins": [_fields(origin) for origin in origins.get(memory.id, ())],
                    }
                    | ({} if placement is None else {"placement": placement})
                )
            )
        count += len(batch)
    for part in others:
        file.write(_line(part))
    for change in store.evidence.weight_history():
        file.write(
            _line({"weights": _fields(change.weights), "at": change.at.isoformat(), "signal_id": change.signal_id})
        )
    return count


def write_import(
    transaction: Transaction, prepared: Sequence[tuple[Record, Ready]], *, at: datetime
) -> Sequence[Memory]:
    """Store memories with everything that hangs on them; links come last, for they may name any of them.

    The log of states says that they came with an import at this time.

    Returns:
        The memories as they are stored; those whose text looks like a prompt injection are in quarantine.
    """

    def noted() -> None:
        changes: list[StateChange] = []
        for record, ready in prepared:
            if record.aggregate is not None:
                transaction.evidence.set_aggregate(record.aggregate)
            if record.signals:
                transaction.evidence.add_signals(record.signals)
            for link in record.links:
                transaction.memories.link(link)
            for origin in record.origins:
                transaction.sessions.add_origin(origin)
            changes += import_changes(transaction, ready.memory, record.placement, at=at)
        transaction.memories.note_all(changes)

    return admit_all(transaction, [ready for _, ready in prepared], at=at, noted=noted)


def parse(lines: Iterator[str], project: str) -> tuple[list[Record], list[WeightChange]]:
    """Read an export for a project.

    Raises:
        InvalidInput: When a line is not part of an export; the message names it. Nothing has been stored.
    """
    records: list[Record] = []
    weights: list[WeightChange] = []
    number = 0
    for number, line in enumerate(lines, start=1):
        try:
            fields = _object(json.loads(line, parse_constant=_no_number))
            if number == 1:
                _check_header(fields)
            elif "memory" in fields:
                records.append(_record(fields, project))
            elif "weights" in fields:
                weights.append(_weight_change(fields, project))
            elif line.strip() and not _OTHER_LINES.intersection(fields):
                raise InvalidInput("neither a memory nor a document nor a part of the graph nor weights")
        except BankError as error:
            raise InvalidInput(f"line {number}: {error}", hint=error.hint) from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InvalidInput(
                f"line {number} is not a line of an export: {type(error).__name__}: {str(error)[:200]}",
                hint="Pass a file that `rbank export` wrote.",
            ) from error
    if number == 0:
        raise InvalidInput("the import is empty", hint="Pass a file that `rbank export` wrote.")
    return records, weights


def _check_header(fields: Mapping[str, Any]) -> None:
    if fields.get("format") != FORMAT:
        raise InvalidInput("this is not an export of ReasoningBank", hint="Pass a file that `rbank export` wrote.")
    if fields.get("version") != VERSION:
        raise InvalidInput(
            f"the export has version {fields.get('version')!r}; this version reads {VERSION}",
            hint="Upgrade reasoningbank.",
        )


def _record(fields: Mapping[str, Any], project: str) -> Record:
    memory = _memory(_object(fields["memory"]), project)
    aggregate = fields.get("aggregate")
    record = Record(
        memory=memory,
        signals=tuple(_signal(_object(signal), memory.id, project) for signal in fields.get("signals", [])),
        aggregate=None if aggregate is None else _aggregate(_object(aggregate), memory.id, project),
        links=tuple(_made(Link, _object(link)) for link in fields.get("links", [])),
        origins=tuple(_origin(_object(origin), memory.id) for origin in fields.get("origins", [])),
        placement=parsed(memory, fields.get("placement")),
    )
    return _with_evidence(record)


def _with_evidence(record: Record) -> Record:
    """Take the belief from the evidence, never from the file: a file cannot claim what it does not show."""
    positive = (record.aggregate.positive or 0) if record.aggregate else 0
    negative = (record.aggregate.negative or 0) if record.aggregate else 0
    positive += sum(signal.weight or 0 for signal in record.signals if signal.positive)
    negative += sum(signal.weight or 0 for signal in record.signals if not signal.positive)
    belief = record.memory.belief
    if (belief.positive, belief.negative) == (positive, negative):
        return record
    belief = replace(belief, positive=positive, negative=negative)
    return replace(record, memory=replace(record.memory, belief=belief))


def as_claim(record: Record, digest: str) -> Record:
    """Return what a file says of a memory as far as a file that nobody stands by is believed.

    Its confidence is at most that of what is distilled, however much evidence the file holds: what speaks for the
    memory weighs less by one factor. What the file says that people said is ``imported``, and how often it was used
    elsewhere is nobody's knowledge here.

    Args:
        record: As the file has it.
        digest: The SHA-256 of the file, which the provenance keeps.
    """
    memory = record.memory
    belief = lowered_belief(memory.belief)
    said = belief.positive
    most = most_positive(belief.prior, belief.negative)

    def bounded_weight(weight: int | None) -> int:
        return (weight or 0) if said <= most else (weight or 0) * most // said

    signals = tuple(
        replace(
            each,
            rater="imported" if each.rater == "human" else each.rater,
            weight=bounded_weight(each.weight) if each.positive else each.weight,
        )
        for each in record.signals
    )
    counts = record.aggregate
    if counts is not None:
        counts = replace(counts, positive=bounded_weight(counts.positive))
    claimed = replace(
        memory,
        belief=belief,
        state="candidate" if memory.state == "active" else memory.state,
        usage_count=0,
        last_used=None,
        provenance={**memory.provenance, DIGEST: digest},
    )
    return _with_evidence(replace(record, memory=claimed, signals=signals, aggregate=counts))


@lru_cache(maxsize=1_024)
def most_positive(prior: int, negative: int) -> int:
    """Return the evidence for a memory, in billionths, with which its confidence is that of what is distilled.

    That is the p with (prior + p) / (strength + p + negative) = c.
    """
    bound = Fraction(DISTILLED_CONFIDENCE).limit_denominator(1_000)
    return max(0, int((bound * (PRIOR_STRENGTH * UNIT + negative) - prior) / (1 - bound)))


def _memory_fields(memory: Memory) -> dict[str, Any]:
    fields = _fields(memory)
    fields["belief"] = asdict(memory.belief)
    del fields["project"]
    return fields


def _made(kind: type[_Kind], fields: Mapping[str, Any], **given: str) -> _Kind:
    """Return a record of a line's fields, each of the type that the record says.

    Raises:
        InvalidInput: When a field is not one of the record, or not of its type.
    """
    unknown = fields.keys() - {field.name for field in fields_of(kind)}
    if unknown:
        raise InvalidInput(f"{', '.join(sorted(unknown))[:80]}: is not a field of a {kind.__name__.lower()}")
    return from_json(kind, {**fields, **given})


def _memory(fields: Mapping[str, Any], project: str) -> Memory:
    return _made(Memory, fields, project=project)


def _signal(fields: Mapping[str, Any], memory_id: str, project: str) -> Signal:
    if "at" not in fields:
        raise InvalidInput("a signal needs its time")
    signal = _made(Signal, fields, memory_id=memory_id, project=project)
    if signal.weight is None or signal.weight < 0:
        raise InvalidInput("a signal needs a weight that is not negative")
    if signal.positive and signal.weight > UNIT:
        raise InvalidInput("a signal that speaks for a memory weighs at most 1")
    return replace(signal, session=brought_line(signal.session))


def _origin(fields: Mapping[str, Any], memory_id: str) -> Origin:
    if fields.get("at") is None:
        raise InvalidInput("an origin needs its time")
    origin = _made(Origin, fields, memory_id=memory_id)
    return replace(
        origin,
        trajectory=brought_line(origin.trajectory),
        session=brought_line(origin.session),
        model=brought_line(origin.model),
        prompt=brought_line(origin.prompt),
    )


def _aggregate(fields: Mapping[str, Any], memory_id: str, project: str) -> SignalAggregate:
    if fields.get("last_rollup") is None:
        raise InvalidInput("rolled-up signals need the time of their roll-up")
    aggregate = _made(SignalAggregate, fields, memory_id=memory_id, project=project)
    counted = sum(aggregate.count(kind, positive=True) for kind in EVIDENCE_TYPES)
    if (aggregate.positive or 0) > counted * UNIT:
        raise InvalidInput("rolled-up signals that speak for a memory weigh at most 1 each")
    return aggregate


def _weight_change(fields: Mapping[str, Any], project: str) -> WeightChange:
    if "at" not in fields:
        raise InvalidInput("a change of weights needs its time")
    weights = {name: value for name, value in _object(fields["weights"]).items() if name != "project"}
    changed = {"at": fields["at"], "weights": weights | {"project": project}, "signal_id": fields["signal_id"]}
    return _made(WeightChange, changed)


def _fields(thing: Memory | Signal | SignalAggregate | ProjectWeights | Origin) -> dict[str, Any]:
    fields = asdict(thing)
    for name, value in fields.items():
        if isinstance(value, datetime):
            fields[name] = value.isoformat()
    return fields


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput("expected an object")
    return cast("dict[str, Any]", value)


def _no_number(name: str) -> float:
    raise InvalidInput(f"{name} is not a number in JSON")


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True) + "\n"
