"""Check arguments that many operations take: limits, offsets, tags, names, reasons, paths, filters.

An agent may later read the name of a session, a source or a reviewer, and the reason for a verdict or a quarantine. So
every one of them passes the gate here: a caller is refused, what a file brings is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from reasoningbank.errors import EmptyProjectId, InvalidInput, InvalidMemory, StoreUnavailable
from reasoningbank.types.argument import Limit, Offset, check_text, check_texts
from reasoningbank.types.memory import ORDERS, STATES, Order, State, check_outcome
from reasoningbank.types.quarantine import unquoted
from reasoningbank.types.recall import Filter
from reasoningbank.types.scope import check_name

MAX_SESSION = 500
"""Most characters of the name of a session, a source or a commit."""
MAX_NAME = 200
"""Most characters of the name of a person or a role."""
_NAME_HINT = "Name the thing and no more."
_REASON_HINT = "Say it in your own words, or quote it and call it a prompt injection."
_KEY = re.compile(r"[A-Za-z][\w-]{0,63}")


@lru_cache(maxsize=256)
def name_danger(*names: str) -> str:
    """Return why names look like a prompt injection, each by itself or together; empty when they do not.

    The last few answers are remembered: all that a session records bears the same names.
    """
    from reasoningbank.safety.unicode import speaks

    if not speaks(" ".join(names)):
        return ""
    from reasoningbank.safety.injection import label_danger

    return label_danger(*names)


def given_name(name: str, what: str, most: int = MAX_NAME) -> str:
    """Return a name that a caller gives, as it is stored: one clean line without secrets.

    Args:
        name: The name.
        what: What it names, for the message.
        most: How long it may be.

    Raises:
        InvalidInput: When it is too long, or looks like a prompt injection.
    """
    from reasoningbank.safety.stored_text import safe_line

    if len(check_text(name, f"the name of a {what}")) > most:
        raise InvalidInput(f"the name of a {what} has at most {most} characters, not {len(name)}")
    if danger := name_danger(line := safe_line(name)):
        raise InvalidInput(
            f"the name of the {what} looks like a prompt injection: it {unquoted(danger)}", hint=_NAME_HINT
        )
    return line


def project_name(name: str) -> str:
    """Return the name of a project that a caller gives.

    It is any text that a scope may have, compared exactly and never read as a path: ``../../etc`` is a name like any
    other, and the file of its bank lies beside all others. Agents read it, so it passes the gate.

    Raises:
        EmptyProjectId: When it is blank.
        InvalidInput: When it is too long or looks like a prompt injection.
    """
    if not name.strip():
        raise EmptyProjectId("project id cannot be empty", hint="Name the project, or leave it out.")
    check_name("project", name)
    if danger := name_danger(name):
        raise InvalidInput(
            f"the name of the project looks like a prompt injection: it {unquoted(danger)}", hint="Name the project."
        )
    return name


_MAY_BE_SECRET = re.compile(r"[^A-Za-z0-9_.~/-]|(?=[A-Za-z_.~-]*[0-9])[A-Za-z0-9_.~-]{16,}")
_UUID = re.compile(r"(?<![a-z0-9]-)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def place_name(name: str, what: str) -> str:
    """Return a name that is kept as it is, because something is found under it; one with a secret is refused.

    Args:
        name: The name: of a tenant, a project, a collection, a file, a session that a program numbers itself.
        what: What it names, for the message.

    Raises:
        InvalidInput: When it holds what looks like a secret.
    """
    if _MAY_BE_SECRET.search(_UUID.sub("", name)):
        from reasoningbank.safety.secrets import redact

        if redact(name).findings:
            raise InvalidInput(
                f"the name of the {what} holds what looks like a secret, and it would be stored as it is",
                hint="Use a name without it, and revoke the secret if it was a real one.",
            )
    return name


def given_reason(reason: str, what: str, most: int) -> str:
    """Return the reason that a caller gives, as it is stored: one clean line without secrets.

    Args:
        reason: The reason.
        what: What it is, for the message: ``a note``.
        most: How long it may be.

    Raises:
        InvalidInput: When it is too long, or looks like a prompt injection.
    """
    from reasoningbank.safety.stored_text import safe_line

    if len(reason) > most:
        raise InvalidInput(f"{what} has at most {most} characters, not {len(reason)}")
    if danger := _reason_danger(line := safe_line(reason)):
        raise InvalidInput(f"{what} looks like a prompt injection: it {unquoted(danger)}", hint=_REASON_HINT)
    return line


def brought_line(line: str) -> str:
    """Return a name or a reason that a file brings; empty when it looks like a prompt injection."""
    return "" if name_danger(line) else line


def brought_reason(reason: str) -> str:
    """Return the reason of a quarantine that a file brings; what it quotes is its subject."""
    return "" if _reason_danger(f"A prompt injection: {reason}") else reason


def _reason_danger(reason: str) -> str:
    from reasoningbank.safety.unicode import speaks

    if not speaks(reason):
        return ""
    from reasoningbank.safety.injection import reason_danger

    return reason_danger(reason)


def brought_entries(entries: Mapping[str, str]) -> dict[str, str]:
    """Return the entries of a provenance that may be stored: those that look like a prompt injection are left out."""
    named = {key: value for key, value in entries.items() if _KEY.fullmatch(key)}
    if not name_danger(*named, *named.values()):
        return named
    return {key: value for key, value in named.items() if not name_danger(key, value)}


def session_name(session: str | None) -> str:
    """Return a session's name as it is stored: one clean line without secrets, empty when there is none.

    Raises:
        InvalidInput: When it is longer than ``MAX_SESSION`` characters, or looks like a prompt injection.
    """
    return given_name(session, "session", MAX_SESSION) if session else ""


def usable_path(path: str | Path) -> Path:
    """Return the absolute path.

    Raises:
        StoreUnavailable: When the operating system cannot even look there.
    """
    try:
        absolute = Path(path).expanduser().absolute()
        if b"\0" in os.fsencode(absolute):
            raise ValueError("a name holds no NUL")
        absolute.exists()
    except (OSError, RuntimeError, ValueError) as error:
        raise StoreUnavailable(
            f"{str(path)[:80]!r} does not name a file: {error}"[:300], hint="Name another file."
        ) from error
    return absolute


def check_bounded(value: int, hint: object, name: str) -> int:
    """Return a number that an annotation allows, where no method of a bank is asked, which would check it."""
    from reasoningbank.types.annotation import check_argument

    number: int = check_argument(value, hint, name)
    return number


def checked_limit(limit: int, name: str = "limit") -> int:
    """Return the limit; raise NegativeLimit below zero, with the name of the argument."""
    return check_bounded(limit, Limit, name)


def checked_offset(offset: int) -> int:
    """Return the offset; raise NegativeOffset below zero."""
    return check_bounded(offset, Offset, "offset")


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return tags to search for, cleaned as stored tags are."""
    from reasoningbank.safety.stored_text import clean_line

    return tuple(tag for tag in (clean_line(tag) for tag in check_texts(tags, "tags")) if tag)


def checked_filter(
    outcome: str | None,
    tags: Iterable[str],
    category: str | None,
    states: Sequence[State],
    min_confidence: float | None,
) -> Filter:
    """Return what a list or a count with these arguments looks at.

    Raises:
        InvalidMemory, InvalidOutcome: When an argument is not usable.
    """
    unknown = [state for state in check_texts(states, "states") if state not in STATES]
    if unknown:
        raise InvalidMemory(f"state must be one of {', '.join(STATES)}, not {unknown[0]!r}")
    return Filter(
        outcome=None if outcome is None else check_outcome(outcome),
        tags=clean_tags(tags),
        category=category,
        states=tuple(states),
        min_confidence=min_confidence,
    )


def checked_order(order: str) -> Order:
    """Return the order of a list when there is one of this name.

    Raises:
        InvalidInput: For any other name.
    """
    for known in ORDERS:
        if order == known:
            return known
    raise InvalidInput(f"order must be one of {', '.join(ORDERS)}, not {str(order)[:80]!r}")
