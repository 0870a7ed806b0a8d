"""Banks as files that a person reviews and git merges: writing, reading, merging.

Lines are ordered by id and their keys by name, so that the same memories give the same bytes. Left out is what changes
without anybody deciding it: how often and when a memory was used, deliveries, months without use, searches. Left out
too is what cannot be recalled. Evidence stands in its memory's line, ordered by signal id; when git has kept the line
of both sides (``merge=union``), reading unites them.

A memory that is new here comes with its prior and the evidence in the file, and says that it was shared. Of one that
is here already, the text is replaced only by a later version, and evidence that is new here is added: each signal by
its id once, and one that counts once per session (DESIGN D5) only when this session has not said so here. So trust
moves only by evidence that can be read in the file, and every movement is reported.

Counts that were rolled up no longer name their signals. They are taken over with a memory that is new here; for one
that is here already they may hold what was counted here too, so they are left. For the same reason a signal that is
older than what has been rolled up here is left, and reported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast, get_args

from reasoningbank.errors import BankError, InvalidInput, InvalidMemory, ScopeViolation, StoreUnavailable
from reasoningbank.memories.admission import (
    TASK,
    EnteredBy,
    Ready,
    admit,
    check_space,
    clean,
    lowered,
    prepare,
    rewritten,
    supersede,
)
from reasoningbank.memories.evidence import counts_once
from reasoningbank.memories.transfer import DIGEST, import_changes, most_positive
from reasoningbank.safety.checks import brought_line
from reasoningbank.safety.file_access import digest_at, read_text, refuse_special, write_whole
from reasoningbank.safety.injection import find_markup, is_about_memory, memory_danger
from reasoningbank.safety.stored_text import reveal, safe_line
from reasoningbank.sharing.promotion import INDEPENDENT, independent_part
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.belief import PRIOR_STRENGTH, UNIT, Belief
from reasoningbank.types.consolidation import CONTRADICTS
from reasoningbank.types.memory import EDITED, MAX_ID, Cause, Memory, check_memory_id
from reasoningbank.types.moment import bounded
from reasoningbank.types.ports import Embedder
from reasoningbank.types.promotion import PROMOTED_FROM, PROMOTED_TO, SHARED, Moved, Reference, Refused, ShareReport
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import Link
from reasoningbank.types.scope import LEVELS, Level, Scope
from reasoningbank.types.signal import RECENT_DAYS, Signal, SignalAggregate, Witness
from reasoningbank.types.standing import ENTERED

FORMAT = "reasoningbank-share"
VERSION = 1
SUFFIX = ".jsonl"
ORIGINAL = "shared_source"
"""The entry of an imported memory's provenance that holds what its source was where it came from."""
KEPT = ("source", TASK, "model", "prompt", "reviewer", "written_by", "promoted_of")
"""The entries of a memory's provenance that are shared."""
LINKS = (PROMOTED_FROM, PROMOTED_TO, CONTRADICTS)
"""The kinds of links that are shared."""
COUNTED = tuple(f"{kind}_{side}" for kind in INDEPENDENT for side in ("positive", "negative"))
"""The rolled-up counts that are shared."""
ATTRIBUTES = ".gitattributes"
_UNION = f"*{SUFFIX} merge=union"
_BATCH = 200

SharedJson = str | int | bool | None | Sequence["SharedJson"] | Mapping[str, "SharedJson"]


def file_of(scope: Scope) -> str:
    """Return the name of a scope's file: the same wherever the scope has the same name."""
    return (f"project--{scope.file_name}" if scope.level == "project" else scope.file_name) + SUFFIX


def write_shared(stores: Sequence[Store], target: Path) -> ShareReport:
    """Write one file per bank into a directory, or the first bank into a file whose name ends in ``.jsonl``.

    Raises:
        StoreUnavailable: When it cannot be written.
    """
    into_file = target.suffix == SUFFIX and not target.is_dir()
    report = ShareReport()
    try:
        if not into_file:
            target.mkdir(parents=True, exist_ok=True)
            _have_git_unite(target / ATTRIBUTES)
        for store in stores[:1] if into_file else stores:
            path = target if into_file else target / file_of(store.scope)
            count = 0
            with write_whole(path) as file:
                for line in lines_of(store):
                    file.write(line)
                    count += 1
            report += ShareReport(files=(str(path),), memories=count - 1, written=True)
    except OSError as error:
        raise StoreUnavailable(f"{target} cannot be written: {error.strerror}") from error
    return report


def lines_of(store: Store) -> Iterator[str]:
    """Yield the lines of a bank's file, each with its end."""
    scope = store.scope
    yield _line({"format": FORMAT, "version": VERSION, "level": scope.level, "name": scope.project})
    memories: list[Memory] = []
    while batch := store.memories.page(Filter(), limit=_BATCH, offset=len(memories)):
        memories += batch
    for memory in sorted(memories, key=lambda each: each.id):
        yield _line(_fields(store, reveal(memory)))


def _fields(store: Store, memory: Memory) -> dict[str, SharedJson]:
    fields: dict[str, SharedJson] = {
        "id": memory.id,
        "title": memory.title,
        "description": memory.description,
        "content": memory.content,
        "outcome": memory.outcome,
        "tags": list(memory.tags),
        "category": memory.category,
        "state": memory.state,
        "prior": memory.belief.prior,
        "created_at": memory.created_at.isoformat(),
        "updated_at": memory.updated_at.isoformat(),
        "version": memory.version,
        "provenance": _provenance(memory),
        "evidence": [
            _signal_record(signal)
            for signal in sorted(store.evidence.signals(memory.id), key=lambda each: each.id)
            if signal.type in INDEPENDENT
        ],
        "links": [
            [link.kind, link.target]
            for link in sorted(store.memories.links(memory.id), key=lambda each: (each.kind, each.target))
            if link.source == memory.id and link.kind in LINKS
        ],
    }
    rolled_up = _rolled_up(store, store.evidence.aggregate(memory.id))
    return fields | ({"rolled_up": rolled_up} if rolled_up else {})


def _provenance(memory: Memory) -> dict[str, SharedJson]:
    """Return where the memory came from first, whoever has shared it since."""
    kept = {name: safe_line(memory.provenance[name]) for name in KEPT if name in memory.provenance}
    if kept.get("source") == SHARED:
        kept["source"] = safe_line(memory.provenance.get(ORIGINAL, SHARED))
    return {**kept}


def _signal_record(signal: Signal) -> dict[str, SharedJson]:
    return {
        "id": signal.id,
        "type": signal.type,
        "positive": signal.positive,
        "session": safe_line(signal.session),
        "rater": signal.rater,
        "at": signal.at.isoformat(),
        "weight": signal.weight or 0,
    }


def _rolled_up(store: Store, aggregate: SignalAggregate) -> dict[str, SharedJson]:
    """Return the counts of older evidence that no longer names its signals; empty when there is none that is shared."""
    counts: dict[str, SharedJson] = {name: int(getattr(aggregate, name)) for name in COUNTED}
    if aggregate.last_rollup is None or not any(counts.values()):
        return {}
    weights = store.evidence.weights()
    return counts | {
        "positive": independent_part(aggregate, weights, "positive"),
        "negative": independent_part(aggregate, weights, "negative"),
        "at": aggregate.last_rollup.isoformat(),
    }


def _have_git_unite(path: Path) -> None:
    """Let git keep the lines of both sides; other lines of the file stay."""
    refuse_special(path)
    known = path.read_text(encoding="utf-8") if path.is_file() else ""
    if _UNION not in known.splitlines():
        end = "" if not known or known.endswith("\n") else "\n"
        path.write_text(f"{known}{end}{_UNION}\n", encoding="utf-8")


def _line(value: Mapping[str, SharedJson]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True) + "\n"


MOST_WEIGHT = UNIT
"""No single piece of evidence weighs more."""
_MOST_SIGNALS = 100_000
_MOST_BYTES = 512 * 2**20
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
    """One shared file: whose memories it holds, each once, ordered by id; and its SHA-256, for their provenance."""

    path: str
    level: Level
    name: str
    records: tuple[Shared, ...]
    digest: str = ""

    def goes_into(self, own: Scope, wider: Sequence[Scope], *, other_project: bool) -> Scope:
        """Return the scope whose bank takes the file.

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
    """Return the shared files at a path, every line checked; of a directory all whose names end in ``.jsonl``.

    Raises:
        StoreUnavailable: When nothing can be read there.
        InvalidInput: When a line is none of a shared file; the message names it.
    """
    try:
        files = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
        if not files:
            raise StoreUnavailable(f"there is no shared file in {path}", hint=_HINT)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read: {error.strerror}") from error
    # A directory that others write to holds no links: they could lead to files that nobody meant to share.
    found = [_file(file, read_text(file, most=_MOST_BYTES, follow=file == path).split("\n")) for file in files]
    return [replace(each, digest=digest_at(Path(each.path))) for each in found]


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
                    raise InvalidInput("the file holds memories of two scopes", hint=_HINT)
                place = header
                continue
            if place is None:
                raise InvalidInput("the first line does not say whose memories follow", hint=_HINT)
            record = _record(fields, place[1])
        except BankError as error:
            raise InvalidInput(f"{path.name} line {number}: {error.message}", hint=error.hint) from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InvalidInput(
                f"{path.name} line {number} is not a line of a shared file: {type(error).__name__}: {str(error)[:200]}",
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
    """Return two lines of one memory as one: the newer text, all evidence, each signal once.

    Their order does not matter.
    """
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
    if not isinstance(fields["positive"], bool) or fields["rater"] not in get_args(Witness):
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
    return bounded(datetime.fromisoformat(_text(value)))


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInput("a list was expected")
    return value


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput("an object was expected")
    return cast("dict[str, Any]", value)


_MERGE_BATCH = 64


def take_over(
    store: Store, embedder: Embedder, shared: SharedFile, *, at: datetime, vouched: bool = False
) -> ShareReport:
    """Store what is new of a shared file, in one transaction.

    Args:
        store: The bank of the file's scope.
        embedder: The one that the bank's vectors come from.
        shared: The file.
        at: When: the log of states says that what is new here came then.
        vouched: A person stands by the file.

    Raises:
        ModelMismatch: When the bank was built with another embedder; nothing was stored.
    """
    check_space(store, embedder)
    refused: list[Refused] = []
    records: list[Shared] = []
    for record in shared.records:
        admitted = _admitted(record, store.scope.project, digest=shared.digest, vouched=vouched)
        if isinstance(admitted, Refused):
            refused.append(admitted)
        else:
            records.append(admitted)
    known = store.memories.many([record.memory.id for record in records])
    fresh = [record for record in records if _is_news(record.memory, known.get(record.memory.id))]
    ready = _prepared([record.memory for record in fresh], embedder, "copy" if vouched else "import")
    count = len(shared.records)
    report = ShareReport(files=(shared.path,), memories=count, refused=tuple(refused), vouched=vouched)
    with store.transaction() as transaction:
        for record in records:
            here = known.get(record.memory.id)
            here = None if here is None else transaction.memories.get(here.id)
            if here is not None and here.state == "quarantined":
                report += ShareReport(refused=(Refused(id=here.id, reason="it is quarantined here"),))
            elif here is None:
                report += _added(transaction, record, ready[record.memory.id], at=at)
                added = transaction.memories.get(record.memory.id)
                transaction.memories.note_all(import_changes(transaction, added, (), at=at))
            else:
                report += _merged(transaction, record, ready.get(here.id), at=at, vouched=vouched)
    return report


def _added(transaction: Transaction, record: Shared, ready: Ready, *, at: datetime) -> ShareReport:
    memory = record.memory
    for twin in transaction.memories.same_text(memory.fingerprint):
        transaction.memories.link(Link(source=memory.id, target=twin, kind="same_text"))
    memory = admit(transaction, ready, at=at)
    belief = memory.belief
    if record.rolled_up is not None:
        transaction.evidence.set_aggregate(record.rolled_up)
        belief = replace(belief, positive=record.rolled_up.positive or 0, negative=record.rolled_up.negative or 0)
    bounded = memory.provenance.get(ENTERED) == "import"
    belief, signals = _with_evidence(transaction, belief, record.signals, bounded=bounded)
    if belief != memory.belief:
        transaction.memories.update_state(replace(memory, belief=belief))
    _merge_link(transaction, record)
    return ShareReport(added=(memory.id,), signals=signals)


def _merged(
    transaction: Transaction, record: Shared, ready: Ready | None, *, at: datetime, vouched: bool
) -> ShareReport:
    here = transaction.memories.get(record.memory.id)
    report = ShareReport()
    changed = here
    replaces = vouched or (here.standing == "claim" and here.provenance.get(ENTERED) == "import" and not _earned(here))
    if replaces and _is_news(record.memory, here) and ready is not None:
        changed = replace(
            record.memory,
            belief=here.belief,
            state=here.state,
            consolidation_id=here.consolidation_id,
            usage_count=here.usage_count,
            last_used=here.last_used,
            created_at=here.created_at,
            provenance={**here.provenance, **record.memory.provenance},
        )
        changed = rewritten(here, changed, "copy" if vouched else "import")
        report += ShareReport(updated=(here.id,))
    elif not _same_text(record.memory, here) and record.memory.version >= here.version:
        report += ShareReport(conflicts=(here.id,))
    known = {signal.id for signal in transaction.evidence.signals(here.id)}
    since = _counted_until(transaction.evidence.aggregate(here.id))
    heard = vouched or here.standing == "claim"
    missing = [signal for signal in record.signals if heard and signal.id not in known]
    late = [signal for signal in missing if since is not None and signal.at <= since]
    belief, signals = _with_evidence(
        transaction,
        here.belief,
        [signal for signal in missing if since is None or signal.at > since],
        bounded=not vouched and here.standing == "claim",
    )
    if ready is not None and changed != here:
        changed = replace(changed, belief=belief)
        supersede(transaction, replace(ready, memory=changed), cause=Cause(at=at, kind=EDITED, by=SHARED))
    elif belief != here.belief:
        transaction.memories.update_state(replace(here, belief=belief))
    linked = _merge_link(transaction, record)
    if belief.score != here.confidence:
        report += ShareReport(moved=(Moved(id=here.id, before=here.confidence, after=belief.score),))
    if late:
        report += ShareReport(
            messages=(f"{here.id}: {len(late)} pieces of evidence are older than what was counted up here.",)
        )
    if not (signals or linked or report.updated or report.conflicts):
        report += ShareReport(unchanged=(here.id,))
    return report + ShareReport(signals=signals)


def _with_evidence(
    transaction: Transaction, belief: Belief, signals: Sequence[Signal], *, bounded: bool
) -> tuple[Belief, int]:
    """Return the belief with every signal that could be added, and how many these are.

    Args:
        transaction: Where they are stored.
        belief: The belief without them.
        signals: The signals.
        bounded: What speaks for the memory weighs no more than keeps it at the confidence of what is distilled.
    """
    added = 0
    for signal in signals:
        weight = signal.weight or 0
        if bounded and signal.positive:
            weight = min(weight, max(0, most_positive(belief.prior, belief.negative) - belief.positive))
        if transaction.evidence.add_signal(replace(signal, weight=weight), once=counts_once(signal)):
            belief = belief.with_evidence(positive=signal.positive, weight=weight)
            added += 1
    return belief, added


def _merge_link(transaction: Transaction, record: Shared) -> int:
    known = {
        (link.kind, link.target)
        for link in transaction.memories.links(record.memory.id)
        if link.source == record.memory.id
    }
    missing = [link for link in record.links if link not in known]
    for kind, target in missing:
        transaction.memories.link(Link(source=record.memory.id, target=target, kind=kind))
    return len(missing)


def _admitted(record: Shared, project: str, *, digest: str, vouched: bool) -> Shared | Refused:
    """Return the record as it may be stored: clean, without secrets, marked as shared; or why it may not.

    Unless a person stands by the file it is a candidate of at most the confidence of what is distilled, and what people
    said by its word is ``imported``.
    """
    memory = record.memory
    try:
        safe = clean(replace(memory, project=project))
    except InvalidMemory as error:
        return Refused(id=memory.id, reason=error.message)
    if danger := memory_danger(safe):
        return Refused(id=memory.id, reason=f"it {danger}")
    if markup := find_markup(safe.title, safe.description, safe.content):
        return Refused(id=memory.id, reason=markup)
    if is_about_memory(safe.title, safe.content):
        return Refused(id=memory.id, reason="it is about the memory that lessons are kept in")
    provenance = {name: safe_line(value[:2_000]) for name, value in safe.provenance.items()}
    provenance |= {"source": SHARED, ORIGINAL: provenance.get("source", SHARED), **({DIGEST: digest} if digest else {})}
    sessions = [brought_line(safe_line(each.session)) for each in record.signals]
    counts = record.rolled_up
    safe = replace(safe, provenance=provenance)
    signals = [
        replace(each, project=project, session=session) for each, session in zip(record.signals, sessions, strict=True)
    ]
    if not vouched:
        safe = replace(lowered(safe), state="candidate")
        signals = [replace(each, rater="imported") if each.rater == "human" else each for each in signals]
        if counts is not None:
            most = most_positive(safe.belief.prior, counts.negative or 0)
            counts = replace(counts, positive=min(counts.positive or 0, most))
    return replace(
        record,
        memory=safe,
        signals=tuple(signals),
        rolled_up=None if counts is None else replace(counts, project=project),
    )


def _is_news(memory: Memory, here: Memory | None) -> bool:
    """Return whether it is new here, or a later version with another text."""
    return here is None or (memory.version > here.version and not _same_text(memory, here))


def _earned(memory: Memory) -> bool:
    """Return whether evidence speaks for or against a text: it does not speak for another one that a file brings."""
    return bool(memory.belief.positive or memory.belief.negative)


def _same_text(one: Memory, other: Memory) -> bool:
    fields = ("title", "description", "content", "outcome", "tags", "category")
    return all(getattr(one, name) == getattr(other, name) for name in fields)


def _counted_until(aggregate: SignalAggregate) -> datetime | None:
    """Return up to when evidence was rolled up here; None when none was."""
    return None if aggregate.last_rollup is None else aggregate.last_rollup - timedelta(days=RECENT_DAYS)


def _prepared(memories: Sequence[Memory], embedder: Embedder, origin: EnteredBy) -> dict[str, Ready]:
    made: dict[str, Ready] = {}
    for start in range(0, len(memories), _MERGE_BATCH):
        batch = memories[start : start + _MERGE_BATCH]
        ready = prepare(batch, embedder, origin=origin)
        made |= zip([memory.id for memory in batch], ready, strict=True)
    return made
