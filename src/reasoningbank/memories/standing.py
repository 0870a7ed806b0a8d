"""Tell what evidence makes of a memory's standing (DESIGN D16): which principals speak for it, when it is confirmed.

A principal is a transport: a connection, a token, a client's process. A session name that a caller gives is none, so
that one connection under many names is one voice. A session whose name came from its transport is its own principal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Literal, NamedTuple, TypeVar

from reasoningbank.errors import InvalidInput, PolicyError
from reasoningbank.memories.states import refuse_quarantined, sources_of
from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.memory import Memory
from reasoningbank.types.quarantine import Reader
from reasoningbank.types.records import Given, Voices
from reasoningbank.types.scope import Scope
from reasoningbank.types.signal import Signal
from reasoningbank.types.standing import CONFIRMED, ECHO_OF, ENTERED

_FOR_A_FILE = 2
"""The principals that it takes to confirm what came with a file: who wrote it is none."""
PRINCIPAL = "principal"
"""The entry of a memory's provenance that names who recorded it under a session name of its own choice."""
_BY_A_PERSON = "a person's word"


class Transport(NamedTuple):
    """Who speaks.

    Attributes:
        principal: The transport; empty for a person, and for a program that opens a bank itself.
        session: The session that the transport itself is in; every other name is one that a caller gave.
        surface: What it speaks: ``mcp``, ``rest``, or ``agent`` for commands and hooks.
    """

    principal: str = ""
    session: str = ""
    surface: str = "mcp"


AGENT = "agent"
"""The surface of a program of an agent: a command, a hook, or one that opens a bank in Python."""
_NOBODY = Transport()
_speaker: ContextVar[Transport | None] = ContextVar("speaker", default=None)
_program = _NOBODY


def speak_in_this_process(transport: Transport) -> None:
    """Let whatever this process does count as done by a transport, where no block says otherwise (DESIGN D16)."""
    global _program
    _program = transport


def _speaking() -> Transport:
    return _speaker.get() or _program


@contextmanager
def speaking(principal: str, session: str = "", surface: str = "mcp") -> Iterator[None]:
    """Let what is done in the block count as done by a transport, whatever session the caller names (DESIGN D16).

    Args:
        principal: The transport.
        session: The session that it is in, as far as the transport itself says so.
        surface: What it speaks.
    """
    token = _speaker.set(Transport(principal, session, surface))
    try:
        yield
    finally:
        _speaker.reset(token)


@contextmanager
def speaking_as(principal: str) -> Iterator[None]:
    """Let what is done in the block count as done by a client that has queued it before; by nobody when it is empty."""
    token = _speaker.set(Transport(principal, "", AGENT) if principal else _speaker.get())
    try:
        yield
    finally:
        _speaker.reset(token)


_OF = "\x1f"
"""What stands between a project and a principal of it, in the bank of a team or an org; no session name holds it."""


def side_of(principal: str) -> str:
    """Return what a principal counts as where several must agree: in a team or an org its whole project."""
    return principal.partition(_OF)[0]


def speaker() -> str:
    """Return the transport through which an agent speaks now; empty for a person and a program of theirs."""
    return _speaking().principal


def spoken_through() -> str:
    """Return the surface through which an agent speaks now."""
    return _speaking().surface


def is_program_of_an_agent() -> bool:
    """Return whether an agent's own program speaks now: it is never a person, whatever it says that it is."""
    return bool(speaker()) and spoken_through() == AGENT


Who = TypeVar("Who", bound=str)
_WHO = ("human", "agent")


def said_by(given: Who) -> Who | Literal["agent"]:
    """Return who says or reads something: an agent where its own program does, else as it was given.

    Raises:
        InvalidInput: When neither a person nor an agent was given: what is no agent's would count as a person's.
    """
    if given not in _WHO:
        raise InvalidInput(
            f"who says or reads something is {' or '.join(_WHO)}, not {str(given)[:80]!r}",
            hint="Correct rater or reader.",
        )
    return "agent" if is_program_of_an_agent() else given


def readable(store: StoreReader, memory_id: str, reader: Reader) -> Memory:
    """Return a memory for who asks: a person gets any, an agent none in quarantine.

    Raises:
        MemoryNotFound: When there is no such memory.
        MemoryQuarantined: When it is in quarantine and an agent asks.
    """
    memory = store.memories.get(memory_id)
    if said_by(reader) == "agent":
        refuse_quarantined(store, memory, "no agent gets its text.")
    return memory


def check_person(what: str, *, given: bool = True) -> None:
    """Refuse what only a person does, when an agent's program would do it.

    Args:
        what: What it is, for the message.
        given: Whether it is to be done.

    Raises:
        PolicyError: When an agent's program would do it.
    """
    if given and is_program_of_an_agent():
        raise PolicyError(
            f"{what} is a person's to do, and an agent's client runs this program",
            hint="Run it in a terminal of your own, outside of the client.",
        )


def speaking_session() -> str:
    """Return the session that the transport which speaks now is in itself; empty when it is in none."""
    return _speaking().session


def name_of(principal: str) -> str:
    """Return a principal as its own project calls it."""
    return principal.rpartition(_OF)[2]


def speaker_in(session: str) -> str:
    """Return the transport that gave a session its name; empty when the session stands for itself."""
    principal = _speaking().principal
    return "" if session in {"", principal} else principal


def said_in(transaction: Transaction, session: str, *, project: str = "") -> str:
    """Note who speaks in a session, and return the name under which what is said counts.

    That is the session's own name, unless another principal has spoken under it first and the transport is not in that
    session itself: nobody votes in another's name. A session that goes on in another client is that client's from then
    on, with all that was said in it.

    Args:
        transaction: Where it is written.
        session: As it is named there.
        project: What the project is called in the bank of a team or an org (``project_side``); empty in its own.
    """
    speaker = _speaking()
    if not session or (not project and speaker_in(session) == ""):
        return session
    principal = speaker.principal or session
    if project:
        principal = f"{project}{_OF}{principal}"
    known = transaction.evidence.principal_of(session)
    if not known:
        transaction.evidence.note_principal(session, principal)
    if known in {"", principal} or not speaker.principal:
        return session
    if session == speaker.session and not project:
        transaction.evidence.take_principal(session, principal)
        return session
    alias = _alias(session, principal)
    transaction.evidence.note_principal(alias, principal)
    return alias


def counted_in(reader: StoreReader, session: str) -> str:
    """Return the name under which what is said in a session would count (``said_in``); nothing is noted."""
    speaker = _speaking()
    if speaker_in(session) == "" or session == speaker.session:
        return session
    known = reader.evidence.principal_of(session)
    return session if known in {"", speaker.principal} else _alias(session, speaker.principal)


def recorded_by(provenance: Mapping[str, str]) -> str:
    """Return who recorded a memory: the transport, whatever session it named, else the session; empty for nobody."""
    return provenance.get(PRINCIPAL) or provenance.get("session", "")


def recorder_of(reader: StoreReader, memory: Memory) -> str:
    """Return the transport that recorded a memory, also where only its session is kept; empty for nobody."""
    name = recorded_by(memory.provenance)
    return reader.evidence.principal_of(name) or name


def _alias(session: str, principal: str) -> str:
    digest = hashlib.sha256(f"{session}\x00{principal}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"session-{digest}"


def check_own(transaction: Transaction, session: str) -> None:
    """Refuse what an agent says of a session that is another principal's.

    Raises:
        InvalidInput: When another principal has spoken in it first, and the transport is not in it itself.
    """
    speaker = _speaking()
    if speaker_in(session) and session != speaker.session:
        known = transaction.evidence.principal_of(session)
        if known not in {"", speaker.principal}:
            raise InvalidInput(
                f"session {session[:80]!r} is another client's",
                hint="Report the end of a session from the client that worked in it, or `rbank session-outcome`.",
            )


def project_side(scope: Scope) -> str:
    """Return what a project is called in the bank of a team or an org: the same each time, and not its name."""
    text = "\x00".join((scope.level, scope.project))
    return f"project-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def note_speaker(transaction: Transaction, session: str, speaker: str) -> None:
    """Note who speaks in a session that a caller has named; nothing for one that stands for itself."""
    if speaker:
        transaction.evidence.note_principal(session, speaker)


def voices_of(transaction: StoreReader, memories: Sequence[Memory], *sessions: str) -> Mapping[str, Voices]:
    """Return what was said of each of these memories, who taught it, was shown it, and who speaks in those sessions.

    Args:
        transaction: Where that is.
        memories: The memories.
        sessions: Further sessions in which somebody is about to say something of them.
    """
    named = {memory.provenance.get("session", "") for memory in memories} | set(sessions)
    return transaction.evidence.voices([memory.id for memory in memories], named=named)


def independent(memory: Memory, given: Sequence[Signal | Given], known: Voices, *, uses: bool = False) -> set[str]:
    """Return the principals that spoke, other than by using the memory, and know it independently.

    Args:
        memory: What they spoke of.
        given: What was said.
        known: Who was shown it, and who taught it.
        uses: Whether who has only used it counts too.
    """
    spoke = {known.principal(each.session) for each in given if (uses or each.type != "usage") and each.session}
    again = {origin.session for origin in known.origins if origin.kind == "corroborated"}
    taught = {origin.session for origin in known.origins if origin.kind == "distilled"}
    # Who recorded a source of a merge is an author of it, and confirms it no more than its own text.
    sources = sources_of(memory)
    authors = {origin.session for origin in known.origins if origin.trajectory in sources}
    own = {*taught, *authors, recorded_by(memory.provenance)}
    return (spoke & set(map(known.principal, known.shown | again))) - set(map(known.principal, own))


def settled(transaction: Transaction, memory: Memory, *, taken_back: Given | None = None) -> Memory:
    """Return the memory with the confirmation that its evidence gives it now, and without one that is gone.

    A person's word for it confirms a memory until the person takes it back. So does, as long as it counts, a principal
    that was shown it or taught the same in another session, and that says of this memory that it helped or worked, or
    whose session was observed to succeed. What an agent says of its whole session alone says nothing of the memory.

    Args:
        transaction: Where its evidence is.
        memory: The memory, with the belief that it has now.
        taken_back: The signal that has just been taken out of the log; None when none was.
    """
    if memory.standing == "vouched":
        return memory
    if memory.provenance.get(CONFIRMED) == _BY_A_PERSON and not _may_be_gone(transaction, memory, taken_back):
        return memory
    confirmed = _confirmed(memory, voices_of(transaction, [memory])[memory.id])
    kept = {key: value for key, value in memory.provenance.items() if key != CONFIRMED}
    if confirmed:
        kept[CONFIRMED] = confirmed
    return memory if kept == memory.provenance else replace(memory, provenance=kept)


def _may_be_gone(transaction: Transaction, memory: Memory, taken_back: Given | None) -> bool:
    """Return whether a signal that was taken back may have been the only word of a person for the memory.

    A roll-up keeps no name of who rated: with good ratings in it, a person's may be among them.
    """
    if taken_back is None or taken_back.rater != "human" or not taken_back.positive:
        return False
    return not transaction.evidence.aggregate(memory.id).explicit_positive


def _confirmed(memory: Memory, known: Voices) -> str:
    """Return what confirms a memory, in words; empty when nothing does."""
    said: list[Signal | Given] = [*known.signals, *known.rolled]
    spoken = [
        each for each in said if each.positive and each.type in {"explicit", "outcome"} and each.rater != "session"
    ]
    if any(each.rater == "human" for each in spoken):
        return _BY_A_PERSON
    if ECHO_OF in memory.provenance:  # what agents say for it they say for what it repeats
        return ""
    count = len(independent(memory, spoken, known))
    least = _FOR_A_FILE if memory.provenance.get(ENTERED) == "import" else 1
    return f"{count} other session{'s' if count > 1 else ''}" if count >= least else ""
