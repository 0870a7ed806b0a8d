"""A text of a file that was edited since it was taken over: a new version of its memory, or a claim beside it.

One rule for the Markdown files of a bank and for files of other products. With a person who stands by the file the edit
is a new version. Else the file is what any file is, a claim: what stands higher stays, with the edit beside it, and a
claim has a new version where the edit says nearly the same or where nobody was shown the earlier text, which no
evidence can speak of then (``memories/rewrites.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput
from reasoningbank.memories.admission import clean, edit, prepare_edit, same_words
from reasoningbank.memories.front_matter import MarkdownMemory
from reasoningbank.memories.rewrites import VERSION_OF, apart, put_apart, unspaced
from reasoningbank.memories.transfer import DIGEST
from reasoningbank.memories.versions import rewrite, with_text_of
from reasoningbank.types.memory import EDITED, Cause, Memory
from reasoningbank.types.transfer import Taken

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.storage.store import StoreReader

SOURCE, PLACE = "source", "place"
"""The entries of a provenance: which product's file, and where in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedText:
    """One text of a file whose memory is here.

    Attributes:
        source: Which product's file it is.
        place: Where it stands there.
        text: What it says now.
        known: The memory.
        digest: The SHA-256 of the file.
        stays: The memory was changed here, too: it stays beside the claim, although it is one itself.
        brought: The memory came from this place of the file, and its text is the file's.
    """

    source: str
    place: str
    text: Memory | MarkdownMemory
    known: Memory
    digest: str
    stays: bool = False
    brought: bool = False


def take_edit(context: Context, edited: EditedText, *, vouched: bool, dry_run: bool) -> Taken:
    """Return what became of an edited text, or would.

    Raises:
        InvalidInput: When a rule of a memory is broken, or somebody else has just changed it.
    """
    old = edited.known
    said = Taken(place=edited.place, change="unchanged", id=old.id, title=old.title)
    if old.state == "quarantined":
        reason = "it is in quarantine: release it, or delete it and import again"
        return replace(said, change="conflict", reason=reason)
    if vouched:
        if not dry_run:
            rewrite(context, context.store(), old.id, lambda now: _with_file(with_text_of(now, edited.text), edited))
        return replace(said, change="edited", title=edited.text.title)
    return _claimed(context, edited, said, dry_run=dry_run)


def _claimed(context: Context, edited: EditedText, said: Taken, *, dry_run: bool) -> Taken:
    """Store what nobody stands by: a new version of a claim, or a claim beside its memory."""
    store, old, at = context.store(), edited.known, context.clock.now()
    new = unspaced(old, clean(with_text_of(old, edited.text)))
    if new == old:
        return said
    if not same_words(old, new):
        alike = store.memories.many((), texts=[new.fingerprint]).values()
        if twin := next((each for each in alike if each.outcome == new.outcome and each.id != old.id), None):
            return replace(said, change="known", id=twin.id, title=new.title)
    ready = prepare_edit(old, _with_file(new, edited), context.embedder, at=at, origin="import")
    own = None
    if not (edited.brought and _is_unknown(store, old)):
        entries = {SOURCE: edited.source, PLACE: edited.place}
        (own,) = apart([(old, ready)], context.embedder, origin="import", said=entries)
    if not dry_run:
        cause = Cause(at=at, kind=EDITED, by=context.session)
        with store.transaction() as transaction:
            if transaction.memories.get(old.id) != old:
                raise InvalidInput(f"memory {old.id} was changed just now", hint="Import it again.")
            if own is not None:
                put_apart(transaction, old, own, at=at, by=context.session, writer="A file", stays=edited.stays)
            else:
                edit(transaction, ready, cause=cause)
    if own is None:
        return replace(said, change="edited", title=new.title)
    reason = f"a claim of its own: memory {old.id}, which is {old.standing}, stays, unless you stand by the file with "
    reason += "--vouched"
    if old.standing == "claim":
        reason = f"a claim of its own, in the place of memory {old.id}"
        if edited.stays:
            reason = f"a claim of its own: memory {old.id} was changed here since, and stays"
    return replace(said, change="added", id=own.memory.id, title=new.title, reason=reason)


def _with_file(memory: Memory, edited: EditedText) -> Memory:
    return replace(memory, provenance={**memory.provenance, DIGEST: edited.digest}) if edited.digest else memory


def _is_unknown(reader: StoreReader, memory: Memory) -> bool:
    """Return whether nobody was shown a claim, and nothing speaks for or against it: then any new text is as good."""
    belief = memory.belief
    if memory.standing != "claim" or memory.state == "archived" or memory.usage_count:
        return False
    return not (belief.positive or belief.negative or reader.deliveries.meetings(memory.id, limit=1))


def newest_of(reader: StoreReader, memory: Memory) -> Memory:
    """Return the memory that the same place of a file has now: edits may have become memories of their own.

    Args:
        reader: The bank.
        memory: The first one of that place.
    """
    place = memory.provenance.get(SOURCE), memory.provenance.get(PLACE)
    seen = {memory.id}
    while True:
        links = reader.memories.links(memory.id)
        later = reader.memories.many(
            [one.source for one in links if one.kind == VERSION_OF and one.target == memory.id]
        )
        following = [
            each
            for each in later.values()
            if each.id not in seen and (each.provenance.get(SOURCE), each.provenance.get(PLACE)) == place
        ]
        if not following:
            return memory
        memory = max(following, key=lambda each: (each.created_at, each.id))
        seen.add(memory.id)


def brought_text(reader: StoreReader, memory: Memory) -> Memory:
    """Return the version of a memory that its file has brought last: the first that names the file as it was then."""
    digest = memory.provenance.get(DIGEST)
    versions: Sequence[Memory] = [*reader.memories.revisions(memory.id), memory]
    return next(each for each in versions if each.provenance.get(DIGEST) == digest)
