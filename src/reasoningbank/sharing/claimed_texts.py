"""Texts from files become claims through the one door: nothing twice, and the provenance says where from."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import BankError, InvalidInput
from reasoningbank.memories.admission import EnteredBy, Ready, admit_all, draft, prepare, vouched_for, why_held
from reasoningbank.memories.front_matter import MarkdownMemory
from reasoningbank.memories.transfer import DIGEST
from reasoningbank.sharing.edited_texts import PLACE, SOURCE, EditedText, brought_text, newest_of, take_edit
from reasoningbank.types.belief import DISTILLED_CONFIDENCE
from reasoningbank.types.memory import (
    APPROVED,
    MAX_CONTENT,
    MAX_DESCRIPTION,
    MAX_TAG,
    MAX_TAGS,
    MAX_TITLE,
    Cause,
    Memory,
    Outcome,
)
from reasoningbank.types.transfer import Taken, TakenOver

if TYPE_CHECKING:
    from reasoningbank.context import Context

WRITTEN = "written"
"""The entry of a provenance that says when a text was written in its file."""
_BATCH = 64
_NAMES = uuid.UUID("5b2f6d0e-6c0e-5f55-9c1b-7f1d6a0f6a11")
"""The name space of the ids of imported texts, so that the same text of the same place is the same memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BroughtText:
    """One text of a file, before the gate has seen it.

    Attributes:
        place: The file, and what names the text there; the same place is the same memory.
        file: The whole path of the file where others of its name may have such a place, too; none of it is kept.
        title: Names the situation; empty for the beginning of the content.
        content: What to do or avoid, or what is so.
        description: When it applies.
        outcome: Whether it says what worked or what failed.
        tags: Labels.
        category: Its category.
        written: When it was written there; None when the file does not say.
        id: The id it is to have; empty for one that follows from its place.
        digest: The SHA-256 of the file, which the provenance keeps; empty when the file is not known.
    """

    place: str
    content: str
    file: str = ""
    title: str = ""
    description: str = ""
    outcome: Outcome = "success"
    tags: tuple[str, ...] = ()
    category: str = ""
    written: datetime | None = None
    id: str = ""
    digest: str = ""

    @classmethod
    def of_markdown(cls, memory: MarkdownMemory, place: str, path: Path, digest: str) -> BroughtText:
        """Return the claim that a Markdown file without a memory here is."""
        return cls(
            place=place,
            file=str(path.resolve()),
            title=memory.title,
            content=memory.content,
            description=memory.description,
            outcome=memory.outcome,
            tags=memory.tags,
            category=memory.category,
            id=memory.id,
            digest=digest,
        )


def take_claims(
    context: Context,
    claims: Sequence[BroughtText],
    *,
    source: str,
    vouched: bool = False,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> TakenOver:
    """Store texts of files as claims with a confidence of 0.6; those that are here already stay as they are.

    A text whose file was edited since it was taken over is a new version of its memory, or a claim beside it.

    Args:
        context: The bank.
        claims: The texts.
        source: Which product's file they come from.
        vouched: A person stands by them: they are that person's, with the confidence of what is recorded.
        dry_run: Only say what would be stored.
        progress: Called with how many texts are read, and with how many are to be stored; that takes the time.
    """
    store, at = context.store(), context.clock.now()
    origin: EnteredBy = "person" if vouched else "import"
    taken: list[Taken] = []
    fresh: list[Memory] = []
    for claim in claims:
        try:
            memory = _drafted(claim, context.scope.project, source, origin, at)
        except BankError as error:
            taken.append(Taken(place=claim.place, change="refused", title=claim.title[:80], reason=str(error)))
            continue
        here = store.memories.many([memory.id]).get(memory.id)
        here = None if here is None else newest_of(store, here)
        twin = next(iter(store.memories.many((), texts=[memory.fingerprint])), None)
        again = next(
            (each.id for each in fresh if memory.id == each.id or memory.fingerprint == each.fingerprint), None
        )
        if here is not None and here.fingerprint == memory.fingerprint:
            taken.append(
                _stood_by(context, here, claim.place, dry_run=dry_run) if vouched else _same(here, claim.place)
            )
        elif again is not None or (twin is not None and (here is None or twin != here.id)):
            taken.append(Taken(place=claim.place, change="known", id=twin or again or "", title=memory.title))
        elif here is not None:
            taken.append(_changed(context, here, memory, source, claim, vouched=vouched, dry_run=dry_run))
        else:
            fresh.append(memory)
            taken.append(Taken(place=claim.place, change="added", id=memory.id, title=memory.title))
    stored = [] if dry_run else _stored(context, fresh, origin, at, progress)
    return TakenOver(
        source=source,
        dry_run=dry_run,
        taken=tuple(taken),
        quarantined=tuple(memory.id for memory in stored if why_held(memory)),
    )


def _same(here: Memory, place: str) -> Taken:
    return Taken(place=place, change="unchanged", id=here.id, title=here.title)


def _changed(
    context: Context, here: Memory, text: Memory, source: str, claim: BroughtText, *, vouched: bool, dry_run: bool
) -> Taken:
    """Return what became of a text that differs from its memory: the file was edited, the memory, or both."""
    brought = brought_text(context.store(), here)
    if text.fingerprint == brought.fingerprint:
        return replace(_same(here, claim.place), reason="an older version: it was changed here since")
    both = here.fingerprint != brought.fingerprint
    if both and vouched:
        reason = f"both sides were changed since: `rbank edit {here.id}` takes over what you want of the file"
        return replace(_same(here, claim.place), change="conflict", reason=reason)
    edited = EditedText(
        source=source, place=claim.place, text=text, known=here, digest=claim.digest, stays=both, brought=not both
    )
    try:
        return take_edit(context, edited, vouched=vouched, dry_run=dry_run)
    except InvalidInput as error:
        return Taken(place=claim.place, change="refused", title=text.title, reason=str(error))


def _stood_by(context: Context, here: Memory, place: str, *, dry_run: bool) -> Taken:
    """Let a person stand by a text that was taken over as a claim before; all else stays as it is."""
    if here.standing == "vouched":
        return _same(here, place)
    if here.state == "quarantined":
        return replace(_same(here, place), change="conflict", reason="it is in quarantine")
    if not dry_run:
        at = context.clock.now()
        with context.store().transaction() as transaction:
            known = transaction.memories.get(here.id)
            vouched = replace(vouched_for(known, "imported by a person"), state="active")
            cause = Cause(at=at, kind=APPROVED, reason="A person stands by its file.", by=context.session)
            transaction.memories.update_state(vouched, cause=cause)
    return replace(_same(here, place), change="edited", reason="the same text, by which you stand now")


def _drafted(claim: BroughtText, project: str, source: str, origin: EnteredBy, at: datetime) -> Memory:
    """Return a claim as a memory that is a candidate, unless a person stands by it.

    Raises:
        InvalidInput: When it is empty or too long.
    """
    if len(claim.content) > MAX_CONTENT:
        raise InvalidInput(
            f"the text has {len(claim.content):,} characters; a memory has at most {MAX_CONTENT:,}",
            hint="Split it in its file.",
        )
    written = {} if claim.written is None else {WRITTEN: claim.written.isoformat()}
    file = {DIGEST: claim.digest} if claim.digest else {}
    memory = draft(
        origin=origin,
        project=project,
        title=claim.title[:MAX_TITLE] or beginning(claim.content),
        content=claim.content,
        outcome=claim.outcome,
        description=claim.description[:MAX_DESCRIPTION],
        tags=[tag[:MAX_TAG] for tag in claim.tags][:MAX_TAGS],
        category=claim.category,
        confidence=None if origin == "person" else DISTILLED_CONFIDENCE,
        provenance={SOURCE: source, PLACE: claim.place, **written, **file},
        at=at,
    )
    own = claim.id or str(uuid.uuid5(_NAMES, "\0".join(filter(None, (source, claim.file, claim.place)))))
    return replace(memory, id=own, state="active" if origin == "person" else "candidate")


def _stored(
    context: Context,
    memories: Sequence[Memory],
    origin: EnteredBy,
    at: datetime,
    progress: Callable[[int, int], None] | None,
) -> list[Memory]:
    ready: list[Ready] = []
    for start in range(0, len(memories), _BATCH):
        ready += prepare(memories[start : start + _BATCH], context.embedder, origin=origin)
        if progress is not None:
            progress(len(ready), len(memories))
    if not ready:
        return []
    context.store_in_space()
    with context.store().transaction() as transaction:
        return admit_all(transaction, ready, at=at)


def beginning(text: str) -> str:
    """Return the first sentence of a text, as the title of one that has none."""
    line = next((line.strip(" #*->") for line in text.splitlines() if line.strip(" #*->")), "")
    sentence, stop, _ = line.partition(". ")
    short = sentence + stop.strip() if len(sentence) <= MAX_TITLE // 2 else sentence[: MAX_TITLE // 2].rsplit(" ", 1)[0]
    return short.rstrip(".") or "Untitled"
