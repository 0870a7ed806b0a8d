"""The one door: what happens to text that enters a bank, and to text that is changed there.

Nothing else writes text that agents may read; a test over the source holds that. Before a transaction, because it takes
time, a text is

1. cleaned of characters that cannot be seen,
2. redacted: secrets are replaced,
3. validated: lengths and required fields, by the type itself,
4. read by the gate: does it look like a prompt injection? (DESIGN D10) Entries of its provenance that do are left out,
5. indexed: tokens are counted, vectors and words are made.

The verdict goes with the text into the transaction, where the gate reads only what has changed since. There it is
linked with memories of the same text, stored, and marked. What becomes of a text that the gate stops depends on what
it is:

* a memory is stored in quarantine, where no search finds it; a person who wants it lets it go with ``release``.
* a consolidation is refused, for its sources would go into quarantine with it.
* a node, an edge or a document knows no quarantine: it is refused or, in an import, left out and reported.

Where a memory comes from, its origin, decides the rest: see :data:`RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Literal, TypeVar

from reasoningbank.errors import BankError, InvalidEdge, InvalidInput, InvalidMemory, InvalidNode, ModelMismatch
from reasoningbank.llm.token_count import count_tokens
from reasoningbank.memories.standing import PRINCIPAL, speaker, spoken_through
from reasoningbank.memories.states import HELD, WITHHELD, set_aside
from reasoningbank.memories.words import analyse
from reasoningbank.safety.checks import brought_entries, name_danger
from reasoningbank.safety.graph_text import safe_items
from reasoningbank.safety.injection import (
    dangerous_field,
    document_danger,
    find_address,
    graph_danger,
    graph_texts,
    memory_danger,
    texts_of,
    verdict,
)
from reasoningbank.safety.secrets import Finding
from reasoningbank.safety.stored_text import safe_texts
from reasoningbank.storage.store import Store, StoreReader, Transaction
from reasoningbank.types.belief import DISTILLED_CONFIDENCE, EXPLICIT_RECORD_CONFIDENCE, Belief
from reasoningbank.types.document import Document
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.memory import OUTCOMES, Cause, ImportOmission, Memory, Outcome, State
from reasoningbank.types.ports import Embedder, Vector
from reasoningbank.types.quarantine import unquoted
from reasoningbank.types.recall import CONTENT_LEG, DESCRIPTION_LEG, TASK_LEG
from reasoningbank.types.records import Indexed, Link
from reasoningbank.types.standing import ECHO_OF, ENTERED, ENTRIES, SESSION, SOURCE, VOUCHED

TASK = "task"
"""The entry of a memory's provenance that holds the task it was distilled from."""


def content_text(memory: Memory) -> str:
    """Return the text of the dense leg over title and content (spec/contextd 1.5: title, blank line, content)."""
    return f"{memory.title}\n\n{memory.content}"


def task_text(memory: Memory) -> str:
    """Return the task that the memory was distilled from; empty for a memory that was recorded."""
    return memory.provenance.get(TASK, "").strip()


def lexical_text(memory: Memory) -> str:
    """Return all words of a memory, tags included, analysed for the lexical leg."""
    return " ".join(part for part in _analysed(memory) if part)


def _analysed(memory: Memory) -> tuple[str, ...]:
    """Return the words of each part of a memory, in their order in the lexical text."""
    parts = (memory.title, memory.description, memory.content, " ".join(memory.tags))
    return tuple(analyse(part) for part in parts)


def _place(analysed: tuple[str, ...]) -> tuple[int, int]:
    title, description = analysed[:2]
    return (len(title.split()), len(description.split())) if description else (0, 0)


def index(memories: Sequence[Memory], embedder: Embedder) -> list[Indexed]:
    """Embed and analyses memories, in one batch per leg; memories of one task share its vector."""
    contents = embedder.embed_documents([content_text(memory) for memory in memories])
    descriptions = _embedded([memory.description for memory in memories], embedder)
    tasks = _embedded([task_text(memory) for memory in memories], embedder)
    indexed = []
    for memory, content in zip(memories, contents, strict=True):
        vectors = {CONTENT_LEG: content}
        if memory.description:
            vectors[DESCRIPTION_LEG] = descriptions[memory.description]
        if task := task_text(memory):
            vectors[TASK_LEG] = tasks[task]
        words = _analysed(memory)
        text = " ".join(part for part in words if part)
        indexed.append(Indexed(text=text, model_id=embedder.model_id, vectors=vectors, context=_place(words)))
    return indexed


def _embedded(texts: Sequence[str], embedder: Embedder) -> dict[str, Vector]:
    """Return the vector of each text that is not empty."""
    distinct = list(dict.fromkeys(text for text in texts if text))
    if not distinct:
        return {}
    return dict(zip(distinct, embedder.embed_documents(distinct), strict=True))


def check_space(store: Store, embedder: Embedder) -> bool:
    """Refuse an embedder whose vectors the bank's cannot be compared with; False when the bank holds none yet.

    Raises:
        ModelMismatch: When the bank's vectors come from another model than the embedder.
    """
    stored = store.model_id
    check_model(stored or "", embedder.model_id)
    return stored is not None


def check_model(stored: str, model_id: str) -> None:
    """Refuse vectors of another model than the bank's, whose name is empty when it has none.

    Raises:
        ModelMismatch: When the bank's vectors come from another model.
    """
    if stored not in {"", model_id}:
        raise ModelMismatch(f"the bank's vectors come from {stored}, the embedder is {model_id}")


def has_space(store: Store, embedder: Embedder) -> bool:
    """Return the same; the vector space that was seen last saves a look, for searches that compare it again."""
    return store.seen_model_id == embedder.model_id or check_space(store, embedder)


EnteredBy = Literal["person", "agent", "model", "recipe", "import", "copy", "consolidation", "promotion", "file"]
"""Where a memory comes from; a copy is an import that a person stands by."""

DOUBTED = "doubted"
"""The entry of a memory's provenance that says why it began unproven though it was recorded."""
SAME_TEXT = "same_text"
"""The entry that names the memory which held the same text when it was recorded."""
SAME_TEXT_STATE = "same_text_state"
"""The entry that says that the memory which held the same text was in quarantine then."""
AGENT_SOURCE = "agent"
"""The source of what an agent's own program records."""
AGENT_SOURCES = frozenset({AGENT_SOURCE, "mcp", "rest"})
"""Sources through which an agent records by itself, on the word of whatever it has read; ``agent`` is a command."""
ADVICE = (
    "Write what was observed and what follows from it, not instructions to the agent. A person who wants this text "
    "releases it with `rbank release --memory ID`."
)


def held(memory: Memory) -> Memory:
    """Return the memory as it may be stored.

    One whose text looks like a prompt injection is marked with the reason in its provenance; ``set_held`` puts it into
    quarantine, an archived one too: it can become active again without another look at its text. One that an agent has
    recorded and that names an address outside is a candidate that has to prove itself. Both begin at most at the
    confidence of what is distilled and keep their evidence; any other memory stays as it is.
    """
    if memory.state == "quarantined":
        return memory
    if reason := memory_danger(memory):
        return replace(lowered(memory), provenance={**memory.provenance, HELD: unquoted(reason)})
    if HELD in memory.provenance:
        kept = {key: value for key, value in memory.provenance.items() if key != HELD}
        memory = replace(memory, provenance=kept)
    if memory.state == "archived":
        return memory
    if memory.provenance.get("source") in AGENT_SOURCES and (address := find_address(*texts_of(memory))):
        return replace(lowered(memory), state="candidate", provenance={**memory.provenance, DOUBTED: address})
    return memory


def lowered(memory: Memory) -> Memory:
    """Return the memory beginning at most at the confidence of what is distilled; its evidence stays."""
    belief = lowered_belief(memory.belief)
    return memory if belief is memory.belief else replace(memory, belief=belief)


_DISTILLED_PRIOR = Belief.starting_at(DISTILLED_CONFIDENCE).prior


def lowered_belief(belief: Belief) -> Belief:
    """Return a belief that begins at most at the confidence of what is distilled; its evidence stays."""
    return belief if belief.prior <= _DISTILLED_PRIOR else replace(belief, prior=_DISTILLED_PRIOR)


def set_held(transaction: Transaction, memory: Memory, *, at: datetime) -> Memory:
    """Put a stored memory that ``held`` has marked into a quarantine of its own; return it as it is then."""
    if memory.state == "quarantined" or HELD not in memory.provenance:
        return memory
    found = memory_danger(memory) or memory.provenance[HELD]
    set_aside(transaction, [memory.id], reason=f"Its text {found}", at=at)
    return transaction.memories.get(memory.id)


WATCHED = "watched"
"""The entry of a provenance that says why a memory began unproven whatever its text is."""
WATCHED_FOR = timedelta(days=1)
"""So long a transport is watched after a held text; a session for good. A surface that never ends, as REST, would
otherwise be watched for good because of one text that somebody sent."""
ON_THEIR_WORD: frozenset[EnteredBy] = frozenset({"agent", "file", "model"})
"""Origins that are a session's own word: what they record after a held text has to prove itself."""


def speakers_of(memory: Memory) -> tuple[str, str]:
    """Return the session that a memory was recorded in, and its transport; either may be empty."""
    return memory.provenance.get(SESSION, ""), memory.provenance.get(PRINCIPAL, "")


def note_held(transaction: Transaction, names: Iterable[str], *, at: datetime) -> None:
    """Note that the gate has held or refused a text of a session or a transport."""
    transaction.evidence.taint([name for name in names if name], at)


def watched(transaction: Transaction, memory: Memory, *, at: datetime) -> Memory:
    """Return what a session records; as a candidate that has to prove itself when the gate has held a text of it."""
    session, transport = speakers_of(memory)
    held = transaction.evidence.tainted([name for name in (session, transport) if name])
    if session not in held and not (transport in held and at - held[transport] < WATCHED_FOR):
        return memory
    state: State = "candidate" if memory.state == "active" else memory.state
    reason = "a text of its session looked like a prompt injection"
    return replace(lowered(memory), state=state, provenance={**memory.provenance, WATCHED: reason})


def why_held(memory: Memory) -> str:
    """Return what is told to whoever recorded a memory that was quarantined or doubted; empty for any other."""
    if memory.state == "quarantined" and (reason := memory.provenance.get(HELD, "")):
        return f"Quarantined, so no search finds it: it looks like a prompt injection. Its text {reason}. {ADVICE}"
    if memory.state == "candidate" and (address := memory.provenance.get(DOUBTED, "")):
        return (
            f"Recorded as unproven with confidence {memory.confidence:.2f}, because it names {address!r}: it is proven "
            "once other sessions or a person confirm it."
        )
    if memory.state == "candidate" and (reason := memory.provenance.get(WATCHED, "")):
        return (
            f"Recorded as unproven with confidence {memory.confidence:.2f}, because {reason}: it is proven once other "
            "sessions or a person confirm it."
        )
    if memory.state == "candidate" and (original := memory.provenance.get(ECHO_OF, "")):
        return (
            f"Recorded as unproven, because this session was shown memory {original}, which says nearly the same: rate "
            "that one where it helped."
        )
    return ""


def withheld(memory: Memory) -> Memory:
    """Return what an agent is told of a memory that it has recorded: nothing of the text of one that is held."""
    if memory.state != "quarantined":
        return memory
    return replace(memory, title=WITHHELD, content=WITHHELD, description="", tags=(), category="")


def why_apart(memory: Memory) -> str:
    """Return what is told of a memory in quarantine to whoever sent its text, without the text itself."""
    said = why_held(memory) or "It is in quarantine and waits for a person's review; no search finds it."
    return f"Memory {memory.id}: {said}"


def quarantined_twin(reader: StoreReader, memory: Memory) -> Memory | None:
    """Return the oldest memory in quarantine with the text and the outcome of a new one."""
    known = reader.memories.many((), texts=[memory.fingerprint]).values()
    return next((each for each in known if each.state == "quarantined" and each.outcome == memory.outcome), None)


def with_twin(reader: StoreReader, memory: Memory) -> Memory:
    """Return a new memory; when the bank holds the same text already, with the id of that memory in its provenance.

    One of the same outcome comes first, then the oldest outside of quarantine; of one in quarantine, and of one that
    says the opposite, the provenance says so too.
    """
    twins = reader.memories.many((), texts=[memory.fingerprint]).values()
    twin = min(twins, key=lambda each: (each.outcome != memory.outcome, each.state == "quarantined"), default=None)
    if twin is None:
        return memory
    state: dict[str, str] = {SAME_TEXT_STATE: twin.state} if twin.state == "quarantined" else {}
    if twin.outcome != memory.outcome:
        state = {SAME_TEXT_STATE: twin.outcome}
    return replace(memory, provenance={**memory.provenance, SAME_TEXT: twin.id, **state})


REDACTED = "redacted"
"""The entry that says how many secrets were replaced when the memory was recorded."""


def _counts_secrets(findings: Iterable[Finding]) -> dict[str, str]:
    count = sum(finding.count for finding in findings)
    return {REDACTED: str(count)} if count else {}


def why_redacted(memory: Memory) -> str:
    """Return what is told of the secrets that were replaced in a recorded memory; empty when there were none."""
    count = memory.provenance.get(REDACTED, "")
    if not count:
        return ""
    were = "1 secret was" if count == "1" else f"{count} secrets were"
    return f"{were} replaced by a placeholder and not stored. Revoke what was real."


def why_known(memory: Memory) -> str:
    """Return what is told to whoever recorded a text that the bank held already; empty for any other."""
    twin = memory.provenance.get(SAME_TEXT, "")
    state = memory.provenance.get(SAME_TEXT_STATE, "")
    if twin and state in OUTCOMES:
        return f"Memory {twin} says of the same text that it was a {state}. Both are shown: rate the one that holds."
    if twin and state:
        return f"Memory {twin} has the same text; it is in quarantine and waits for a person's review."
    if not twin:
        return ""
    beside = "This one is stored beside it; consolidation makes one of both."
    rate = "Where another client recorded that one and it helped, rate it."
    return f"Known already: memory {twin} has the same text. {beside} {rate}"


REWRITE = "Write what was observed and what follows from it, not instructions to the agent that reads it."
"""What to do about a text that the gate refuses."""
_KEPT = ("belief", "usage_count", "last_used", "consolidation_id")
"""What an edit takes over from the memory as it is when it is written."""
_Item = TypeVar("_Item", Node, Edge)
_Error = TypeVar("_Error", bound=BankError)


def stopped(error: _Error) -> _Error:
    """Return an error as one by which the gate has stopped a text."""
    error.held = True
    return error


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Say what holds for memories of one origin.

    Attributes:
        confidence: What a memory begins with when nobody says otherwise.
        vouched: True when whoever brings it may vouch for it: then the gate does not stop it.
        linked: True when memories of the same text are linked with it; the other origins look for them themselves.
        refused: True when a text that the gate stops is refused; else it is stored in quarantine.
        unedited: True when an edit that the gate stops is refused, so that the memory stays as it was; else the memory
            goes into quarantine.
    """

    confidence: float = EXPLICIT_RECORD_CONFIDENCE
    vouched: bool = False
    linked: bool = False
    refused: bool = False
    unedited: bool = False


RULES: Mapping[EnteredBy, Rules] = {
    "person": Rules(vouched=True, linked=True),
    "agent": Rules(linked=True, unedited=True),
    "file": Rules(linked=True, unedited=True),
    "model": Rules(confidence=DISTILLED_CONFIDENCE),
    "recipe": Rules(confidence=DISTILLED_CONFIDENCE),
    "import": Rules(),
    "copy": Rules(),
    "consolidation": Rules(refused=True),
    "promotion": Rules(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A memory that may be stored, with what is derived from its text.

    Attributes:
        memory: The memory; one that the gate stops has the reason in its provenance.
        indexed: Its words and vectors.
        origin: Where it comes from.
        passed: True when its text needs no look of the gate: a person vouches for it, or the bank holds it already.
        judged: The memory that the gate has read: the same one needs no second look.
    """

    memory: Memory
    indexed: Indexed
    origin: EnteredBy = "agent"
    passed: bool = False
    judged: Memory | None = None


def draft(
    *,
    origin: EnteredBy,
    project: str,
    title: str,
    content: str,
    outcome: Outcome,
    provenance: Mapping[str, str],
    at: datetime,
    description: str = "",
    tags: Iterable[str] = (),
    category: str = "",
    confidence: float | None = None,
) -> Memory:
    """Return a new memory: clean, without secrets, its tokens counted, believed as its origin deserves.

    Raises:
        InvalidMemory, TextTooLong: When a rule of the memory is broken.
    """
    texts = safe_texts(title, description, content, tags, category)
    return Memory(
        project=project,
        title=texts.title,
        description=texts.description,
        content=texts.content,
        tags=texts.tags,
        category=texts.category,
        outcome=outcome,
        belief=Belief.starting_at(RULES[origin].confidence if confidence is None else confidence),
        provenance={**brought_entries(provenance), **_counts_secrets(texts.findings)},
        created_at=at,
        updated_at=at,
        tokens=_tokens_of(texts.title, texts.description, texts.content),
    )


def clean(memory: Memory) -> Memory:
    """Return the memory with clean texts, without secrets, its tokens counted.

    Raises:
        InvalidMemory, TextTooLong: When a rule of the memory is broken.
    """
    texts = safe_texts(memory.title, memory.description, memory.content, memory.tags, memory.category)
    return replace(
        memory,
        title=texts.title,
        description=texts.description,
        content=texts.content,
        tags=texts.tags,
        category=texts.category,
        provenance=brought_entries(memory.provenance),
        tokens=_tokens_of(texts.title, texts.description, texts.content),
    )


def prepare(
    memories: Sequence[Memory],
    embedder: Embedder,
    *,
    origin: EnteredBy,
    vouched: bool = False,
    known: Iterable[Memory] = (),
) -> list[Ready]:
    """Read clean memories by the gate and index them; before a transaction, for it takes time.

    Args:
        memories: From ``draft`` or ``clean``.
        embedder: Makes the vectors.
        origin: Where they come from.
        vouched: A person has read them and stands by them.
        known: Memories of the tenant; a text that is word for word one of theirs needs no look.

    Raises:
        InvalidInput: When nobody can vouch for memories of this origin.
        InvalidMemory: When the gate stops a text and memories of this origin are refused.
    """
    if vouched and not RULES[origin].vouched:
        raise InvalidInput(f"a memory of the origin {origin!r} cannot be vouched for", hint="Only a person can.")
    if not memories:
        return []
    memories = [entered(memory, "person" if vouched else origin) for memory in memories]
    seen = {texts_of(memory) for memory in known}
    passed = [vouched or (bool(seen) and texts_of(memory) in seen) for memory in memories]
    read = [memory if skip else _read(memory, origin) for memory, skip in zip(memories, passed, strict=True)]
    return [
        Ready(memory=memory, indexed=indexed, origin=origin, passed=skip, judged=memory)
        for memory, indexed, skip in zip(read, index(read, embedder), passed, strict=True)
    ]


def entered(memory: Memory, origin: EnteredBy) -> Memory:
    """Return the memory with its origin in its provenance, from which its standing follows.

    What a file says of the standing is left out unless a person stands by the file.
    """
    if origin == "copy" and ENTERED in memory.provenance:
        return memory
    if origin == "copy":
        memory = vouched_for(memory, "imported by a person")
    brought = dict(memory.provenance)
    if origin == "import":
        brought = {key: value for key, value in brought.items() if key not in ENTRIES}
    return replace(memory, provenance={**brought, ENTERED: origin})


def entry_of(session: str, origin: EnteredBy | None = None, **more: str) -> Mapping[str, str]:
    """Return the provenance of what enters the graph now: through an agent's transport it is that agent's claim.

    Args:
        session: What it is entered in, where no transport says so.
        origin: Where it comes from; None for who speaks now, an agent or a person.
        more: Further entries.
    """
    spoken = speaker()
    by = origin or ("agent" if spoken else "person")
    source = {SOURCE: spoken_through()} if by == "agent" else {}
    return {ENTERED: by, **source, SESSION: spoken or session, **more}


def rewritten(old: Memory, new: Memory, origin: EnteredBy) -> Memory:
    """Return a changed memory with the standing that its text has now.

    A person who changes a text stands by it. What an agent changes, spaces and capitals aside, is that agent's claim,
    whatever the memory was before.
    """
    if same_words(old, new):
        return new
    if origin in {"person", "copy"}:
        return vouched_for(new, "changed by a person")
    kept = {key: value for key, value in new.provenance.items() if key not in ENTRIES}
    return replace(new, provenance={**kept, ENTERED: origin})


def same_words(old: Memory, new: Memory) -> bool:
    """Return whether two memories say the same, spaces and capitals aside."""
    return _words(new) == _words(old) and new.outcome == old.outcome


def _words(memory: Memory) -> list[list[str]]:
    return [text.casefold().split() for text in (memory.title, memory.description, memory.content)]


def vouched_for(memory: Memory, how: str) -> Memory:
    """Return the memory as one that a person stands by."""
    return replace(memory, provenance={**memory.provenance, VOUCHED: how})


def admit(transaction: Transaction, ready: Ready, *, at: datetime) -> Memory:
    """Store a memory; return it as it is stored, in quarantine when the gate has stopped it."""
    return admit_all(transaction, [ready], at=at)[0]


def admit_all(
    transaction: Transaction, ready: Sequence[Ready], *, at: datetime, noted: Callable[[], None] | None = None
) -> list[Memory]:
    """Store memories; return them as they are stored, in quarantine where the gate has stopped one.

    Args:
        transaction: Where they are stored.
        ready: The memories.
        at: When.
        noted: Called when all are stored and none is marked yet: what an import logs of them comes before it.
    """
    stored: list[Memory] = []
    for each in ready:
        known = each.passed or each.judged is each.memory
        memory = each.memory if known else _read(each.memory, each.origin)
        if each.origin in ON_THEIR_WORD and not each.passed:
            memory = watched(transaction, memory, at=at)
        stored.append(memory)
    transaction.memories.insert_all([(memory, each.indexed) for each, memory in zip(ready, stored, strict=True)])
    for each, memory in zip(ready, stored, strict=True):
        if RULES[each.origin].linked:
            older = takewhile(memory.id.__ne__, transaction.memories.same_text(memory.fingerprint))
            for twin in older:
                transaction.memories.link(Link(source=memory.id, target=twin, kind="same_text"))
    if noted is not None:
        noted()
    kept = [
        memory if each.passed else set_held(transaction, memory, at=at)
        for each, memory in zip(ready, stored, strict=True)
    ]
    for each, memory in zip(ready, kept, strict=True):
        if each.origin in ON_THEIR_WORD and HELD in memory.provenance and not each.passed:
            note_held(transaction, speakers_of(memory), at=at)
    return kept


def prepare_edit(old: Memory, new: Memory, embedder: Embedder, *, at: datetime, origin: EnteredBy = "person") -> Ready:
    """Make a changed memory ready: cleaned, read by the gate when a text has changed, indexed, one version later.

    Raises:
        InvalidMemory, TextTooLong: When a rule of the memory is broken, or the gate stops an edit and edits of this
            origin are refused.
    """
    return prepare_edits([(old, new)], embedder, at=at, origin=origin)[0]


def prepare_edits(
    changes: Sequence[tuple[Memory, Memory]], embedder: Embedder, *, at: datetime, origin: EnteredBy = "person"
) -> list[Ready]:
    """Make changed memories ready, each given as it was and as it is to be; see ``prepare_edit``.

    Raises:
        InvalidMemory: When the gate stops an edit and edits of this origin are refused.
    """
    edited: list[tuple[Memory, bool]] = []
    for old, new in changes:
        changed = clean(new)
        same = texts_of(changed) == texts_of(old)
        if not same and RULES[origin].unedited and (danger := memory_danger(changed)):
            its = f"its text {unquoted(danger)}"
            raise stopped(
                InvalidMemory(
                    f"memory {old.id} stays as it was: the edit looks like a prompt injection, {its}", hint=REWRITE
                )
            )
        changed = changed if same else replace(held(changed), belief=old.belief)
        changed = rewritten(old, changed, origin)
        edited.append((replace(changed, version=old.version + 1, updated_at=at), same))
    indexed = index([memory for memory, _ in edited], embedder) if edited else []
    return [
        Ready(memory=memory, indexed=each, passed=same) for (memory, same), each in zip(edited, indexed, strict=True)
    ]


def edit(transaction: Transaction, ready: Ready, *, state: State | None = None, cause: Cause) -> Memory | None:
    """Store a changed memory and keep its earlier version; return it as it is stored.

    Its evidence and use are what they are now. A text that the gate stops puts the memory into quarantine.

    Args:
        transaction: Where it is stored.
        ready: From ``prepare_edit``.
        state: The state that it is to have; None keeps what it has.
        cause: Who changes it, and when.

    Returns:
        None when somebody else has changed it since; nothing was changed then.

    Raises:
        InvalidMemory: When the memory is in quarantine and would leave it; out of it leads only ``release``.
    """
    current = transaction.memories.get(ready.memory.id)
    if current.version != ready.memory.version - 1:
        return None
    if current.state == "quarantined" and state not in {None, "quarantined"}:
        raise InvalidMemory(
            f"memory {current.id[:80]!r} is in quarantine", hint="Release it first, with `rbank release`."
        )
    new = replace(
        ready.memory,
        state=current.state if state is None else state,
        **{name: getattr(current, name) for name in _KEPT},
    )
    return supersede(transaction, replace(ready, memory=new), cause=cause)


def supersede(transaction: Transaction, ready: Ready, *, cause: Cause) -> Memory:
    """Store a memory in the place of its earlier version, which is kept; return it as it is stored.

    What ``edit`` does when it has looked; a shared file brings whole versions, with an evidence that is joined first.
    """
    if ready.passed:
        transaction.memories.update(ready.memory, ready.indexed, revision=True, cause=cause)
        return ready.memory
    new = replace(held(ready.memory), state=ready.memory.state, belief=ready.memory.belief)
    transaction.memories.update(new, ready.indexed, revision=True, cause=cause)
    return set_held(transaction, new, at=cause.at)


def reindex(transaction: Transaction, memory: Memory, indexed: Indexed) -> None:
    """Replace what is derived from a memory's text; the memory stays as it is."""
    transaction.memories.update(memory, indexed)


def fill(transaction: Transaction, memory: Memory, indexed: Indexed) -> None:
    """Store a copy of a bank's memory in a scratch bank, which no agent reads and its owner throws away."""
    transaction.memories.insert(memory, indexed)


class Passed:
    """Nodes and edges that the gate has let through: the verdict goes with them to the transaction that stores them."""

    def __init__(self, items: Iterable[Node | Edge] = ()) -> None:
        self._items = {(type(item), item.id): item for item in items}

    def holds(self, item: Node | Edge) -> bool:
        """Return whether the gate has read these texts: the item itself, or one that says the same."""
        known = self._items.get((type(item), item.id))
        return known is item or (known is not None and graph_texts(known) == graph_texts(item))


NOTHING_PASSED = Passed()


def check_items(items: Sequence[_Item]) -> list[_Item]:
    """Return nodes or edges as they may be stored: clean, without secrets.

    Raises:
        InvalidNode, InvalidEdge: When a rule is broken, or one looks like a prompt injection.
    """
    safe = safe_items(items)
    for item in safe:
        _check_item(item)
    return safe


def sift_items(
    items: Sequence[_Item], stored: Collection[int] = frozenset()
) -> tuple[list[_Item], list[ImportOmission]]:
    """Return the nodes or edges of an import that may be stored, and those that look like a prompt injection.

    Args:
        items: The nodes or edges.
        stored: The places of those that the bank holds with the same contents: they are kept and not read again.

    Raises:
        InvalidNode, InvalidEdge: When a rule is broken.
    """
    kept: list[_Item] = []
    left_out: list[ImportOmission] = []
    safe = iter(safe_items([item for place, item in enumerate(items) if place not in stored]))
    for place, given in enumerate(items):
        item = given if place in stored else next(safe)
        if place not in stored and (danger := graph_danger(item)):
            kind: Literal["node", "edge"] = "node" if isinstance(item, Node) else "edge"
            left_out.append(ImportOmission(kind=kind, id=item.id, reason=f"its text {unquoted(danger)}"))
        else:
            kept.append(item)
    return kept, left_out


def admit_nodes(
    transaction: Transaction, nodes: Sequence[tuple[Node, str]], *, passed: Passed = NOTHING_PASSED
) -> None:
    """Store nodes, new or changed, each with its analysed words; all of them or none.

    Args:
        transaction: Where they are stored.
        nodes: The nodes.
        passed: What the gate has let through already; it reads every other node.

    Raises:
        InvalidNode: When one looks like a prompt injection.
    """
    for node, _ in nodes:
        if not passed.holds(node):
            _check_item(node)
    transaction.graph.put_nodes(nodes)


def admit_edges(
    transaction: Transaction, edges: Sequence[tuple[Edge, str]], *, passed: Passed = NOTHING_PASSED
) -> None:
    """Store edges, new or changed, each with its analysed words; all of them or none.

    Args:
        transaction: Where they are stored.
        edges: The edges.
        passed: What the gate has let through already; it reads every other edge.

    Raises:
        InvalidEdge: When one looks like a prompt injection.
        NodeNotFound: When an end does not exist.
    """
    for edge, _ in edges:
        if not passed.holds(edge):
            _check_item(edge)
    transaction.graph.put_edges(edges)


def check_label(*labels: str) -> None:
    """Refuse a name, such as a path, that looks like a prompt injection.

    Raises:
        InvalidInput: When it looks like a prompt injection.
    """
    if danger := name_danger(*labels):
        said = f"the name looks like a prompt injection: it {unquoted(danger)}"
        raise stopped(InvalidInput(said, hint="Name the thing and no more."))


def check_document(document: Document) -> Document:
    """Return the document when it may be stored.

    Raises:
        InvalidInput: When it looks like a prompt injection.
    """
    if danger := document_danger(document):
        place = "/".join((*document.path, document.key))
        said = f"document {place[:80]!r} looks like a prompt injection: its text {unquoted(danger)}"
        raise stopped(InvalidInput(said, hint=REWRITE))
    return document


def sift_documents(documents: Iterable[Document]) -> tuple[list[Document], list[ImportOmission]]:
    """Return the documents of an import that may be stored, and those that look like a prompt injection."""
    kept: list[Document] = []
    left_out: list[ImportOmission] = []
    for document in documents:
        if danger := document_danger(document):
            place = "/".join((*document.path, document.key))
            left_out.append(ImportOmission(kind="document", id=place, reason=f"its text {unquoted(danger)}"))
        else:
            kept.append(document)
    return kept, left_out


def admit_document(
    transaction: Transaction, document: Document, vectors: Sequence[Vector] = (), model_id: str = ""
) -> None:
    """Store a document with one vector for each of its texts.

    Raises:
        InvalidInput: When it looks like a prompt injection.
    """
    transaction.documents.put_document(check_document(document), vectors, model_id)


def reindex_document(transaction: Transaction, document: Document, vectors: Sequence[Vector], model_id: str) -> None:
    """Replace the vectors of a document; the document stays as it is."""
    transaction.documents.put_document(document, vectors, model_id)


def sayable(text: str) -> str:
    """Return what an agent has said as others may read it: of a prompt injection that it was withheld, and why.

    The reason names what the text does and quotes none of its words.
    """
    if danger := verdict(text):
        return f"[withheld: looks like a prompt injection, it {unquoted(danger)}]"
    return text


def sayable_value(value: object) -> object:
    """Return a JSON value with every text in it sayable; an object with a key that is not is withheld whole."""
    if isinstance(value, str):
        return sayable(value)
    if isinstance(value, Mapping):
        if name_danger(*value):
            return sayable(" ".join(value))
        return {key: sayable_value(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [sayable_value(item) for item in value]
    return value


def keep_record(transaction: Transaction, document: Document, model_id: str) -> None:
    """Store what the bank notes of a conversation that is under way.

    Such a record repeats what was said in that conversation: the user's words as they are, for they are the user's own
    to see, an agent's only as far as they are ``sayable``. No search, walk or briefing reads it, and what is learned
    from it enters by the functions above.
    """
    transaction.documents.put_document(document, [], model_id)


def _read(memory: Memory, origin: EnteredBy) -> Memory:
    """Return the memory with the gate's verdict in its provenance."""
    if RULES[origin].refused and (danger := memory_danger(memory)):
        raise InvalidMemory(f"memory {memory.title[:80]!r} looks like a prompt injection: its text {unquoted(danger)}")
    return held(memory)


def _check_item(item: Node | Edge) -> None:
    if danger := graph_danger(item):
        error, kind = (InvalidNode, "node") if isinstance(item, Node) else (InvalidEdge, "edge")
        name = dangerous_field(item)
        its = "its text" if name == "text" else f"the text of its {name}"
        said = f"{name}: {kind} {item.id[:80]!r} looks like a prompt injection: {its} {unquoted(danger)}"
        raise stopped(error(said, hint=REWRITE))


def _tokens_of(title: str, description: str, content: str) -> int:
    return count_tokens(f"{title}\n{description}\n{content}")
