"""Notes of a bank on the conversations that it has remembered, and of those that wait for a language model.

The note of a conversation that is told stands under its digest. That of a captured session stands under the session's
id: a longer capture takes the place of a shorter one, and its note that of the earlier one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import cast

from reasoningbank.conversations.format import conversation_fields, digest, read_conversation
from reasoningbank.documents.values import to_text
from reasoningbank.memories.admission import keep_record
from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.conversation import CONVERSATIONS, Conversation
from reasoningbank.types.document import Document
from reasoningbank.types.records import Job

CONVERSE = "remember_conversation"
"""The kind of job that asks a language model about a conversation; its key is that of the conversation's note."""
PATIENCE = timedelta(minutes=2)
"""A worker leaves a conversation alone for so long: whoever remembers it asks the model itself first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A conversation that is to be remembered.

    Attributes:
        conversation: What was said and done.
        digest: Equal for conversations that say the same.
        trajectory: The captured session that it was made of; empty when somebody told it.
        session: The name of that session.
    """

    conversation: Conversation
    digest: str
    trajectory: str = ""
    session: str = ""

    @property
    def key(self) -> str:
        """The key of its note."""
        return self.trajectory or self.digest


@dataclass(frozen=True, slots=True)
class Note:
    """Hold what the bank has noted about a conversation.

    Attributes:
        digest: Which state of it was remembered; empty when none was.
        done: True when a language model has said what it finds.
        preferences: By the id that a preference was to have, the id of the one that holds it.
        waiting: The conversation, as long as it waits.
        session: The name of the captured session that it was made of.
        trajectory: That session; empty when somebody told it.
    """

    digest: str = ""
    done: bool = False
    preferences: Mapping[str, str] = field(default_factory=dict)
    waiting: Mapping[str, object] | None = None
    session: str = ""
    trajectory: str = ""


def told_by(conversation: Conversation) -> Told:
    """Return a conversation that somebody tells."""
    return Told(conversation=conversation, digest=digest(conversation))


def waiting_in(note: Note, *, at: datetime) -> Told | None:
    """Return the conversation that waits; None when none does."""
    if note.done or note.waiting is None:
        return None
    conversation = read_conversation(note.waiting, at=at)
    # A session has the answer that its agent gave, or none.
    conversation = replace(conversation, broke_off=bool(note.trajectory) and not conversation.answer.strip())
    return Told(conversation=conversation, digest=note.digest, trajectory=note.trajectory, session=note.session)


def read_note(reader: StoreReader, key: str) -> Note:
    """Return what was noted under a key."""
    document = reader.documents.document(CONVERSATIONS, (), key)
    if document is None:
        return Note()
    value = json.loads(document.value)
    return Note(
        digest=value.get("digest", key),
        done=bool(value.get("done")),
        preferences=cast("dict[str, str]", value.get("preferences", {})),
        waiting=value.get("waiting"),
        session=value.get("session", ""),
        trajectory=value.get("trajectory", ""),
    )


def keep_note(
    transaction: Transaction,
    told: Told,
    *,
    preferences: Mapping[str, str],
    done: bool,
    waits: bool,
    at: datetime,
    model_id: str,
) -> None:
    """Note what was remembered, and give what waits a job."""
    of_session = {"digest": told.digest, "trajectory": told.trajectory, "session": told.session}
    kept = {
        **(of_session if told.trajectory else {}),
        "done": done,
        "preferences": dict(preferences),
        **({"waiting": conversation_fields(told.conversation)} if waits else {}),
    }
    document = Document(
        collection=CONVERSATIONS, path=(), key=told.key, value=to_text(kept), created_at=at, updated_at=at
    )
    keep_record(transaction, document, model_id)
    if waits:
        job = Job(kind=CONVERSE, key=told.key, due=at + PATIENCE)
        if told.trajectory:
            # A shorter capture may have left a job that waits for long, or was given up.
            transaction.jobs.finish(job)
        transaction.jobs.enqueue(job)
