"""What the URL of a PostgreSQL database says beside where the database is: limits of time, connections, a replica."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from reasoningbank.errors import ConfigurationError
from reasoningbank.settings import POSTGRESQL, shown_url
from reasoningbank.storage.locks import LOCK_TIMEOUT

_HINT = (
    "The options are pool=CONNECTIONS, statement_timeout=SECONDS, lock_timeout=SECONDS, connect_timeout=SECONDS and "
    "replica=URL, percent-encoded; others are the server's own."
)
_SECONDS = ("statement_timeout", "lock_timeout", "connect_timeout")
_MOST_CONNECTIONS = 1_000
_MOST_SECONDS = 86_400.0


class Limits(NamedTuple):
    """How long a transaction may take.

    Attributes:
        statement: Seconds after which the server ends a statement; 0 for never. Checks and copies read everything.
        lock: Seconds to wait for a lock, a turn to write or a free connection.
    """

    statement: float = 60.0
    lock: float = LOCK_TIMEOUT


_USUAL_LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresUrl:
    """The URL of a database, read.

    Attributes:
        server: What the driver connects to.
        shown: The same for people, without user and password.
        connections: Most connections of a process that read, and as many again that write.
        connect_seconds: How long making a connection may take.
        limits: How long a transaction may take.
        replica: The URL of a copy that searches may read; empty for none.
    """

    server: str
    shown: str
    connections: int = 8
    connect_seconds: float = 10.0
    limits: Limits = _USUAL_LIMITS
    replica: str = ""


def postgres_url(url: str) -> PostgresUrl:
    """Read the URL of a database.

    Raises:
        ConfigurationError: When it is none of PostgreSQL, or an option has a value that makes no sense.
    """
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ConfigurationError(
            "this is not a URL of a PostgreSQL database", hint="It begins with postgresql://."
        ) from error
    if parts.scheme not in POSTGRESQL:
        raise ConfigurationError("this is not a URL of a PostgreSQL database", hint="It begins with postgresql://.")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    own = {name: options.pop(name, "") for name in ("pool", *_SECONDS, "replica")}
    usual = PostgresUrl(server="", shown="")
    replica = own["replica"]
    if replica and urlsplit(replica).scheme not in POSTGRESQL:
        raise ConfigurationError(f"the replica of {shown_url(url)} is no PostgreSQL database", hint=_HINT)
    rest = "&".join(f"{name}={quote(value, safe='')}" for name, value in options.items())
    return PostgresUrl(
        server=urlunsplit(parts._replace(query=rest)),
        shown=shown_url(url),
        connections=int(_number(url, "pool", own["pool"], usual.connections, 1.0, _MOST_CONNECTIONS)),
        connect_seconds=_number(url, "connect_timeout", own["connect_timeout"], usual.connect_seconds, 1.0),
        limits=Limits(
            statement=_number(url, "statement_timeout", own["statement_timeout"], usual.limits.statement, 0.0),
            lock=_number(url, "lock_timeout", own["lock_timeout"], usual.limits.lock, 0.001),
        ),
        replica=replica,
    )


def _number(url: str, name: str, value: str, usual: float, least: float, most: float = _MOST_SECONDS) -> float:
    """Return the number that an option says, or the usual one where it is not there."""
    if not value:
        return usual
    try:
        number = float(value)
    except ValueError as error:
        raise ConfigurationError(f"{name}={value} in {shown_url(url)} is no number", hint=_HINT) from error
    if not least <= number <= most:
        raise ConfigurationError(
            f"{name}={value} in {shown_url(url)} is not between {least:g} and {most:g}", hint=_HINT
        )
    return number
