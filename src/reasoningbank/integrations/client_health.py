"""The health of each client: where our server is registered, what the client says of it, the last errors of hooks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from reasoningbank.integrations.clients import Where

_LINES = 3
_TAIL = 20_000


class ClientHealth(NamedTuple):
    """A client: where it is registered (a scope or a plugin), what its own command says, and its profile of tools."""

    client: str
    registered: tuple[str, ...]
    says: str
    profile: str


def client_health(place: Where, *, ask: bool) -> list[ClientHealth]:
    """Return every client that has our server.

    Args:
        place: Where clients keep their files.
        ask: Run the clients' own commands as well.
    """
    from reasoningbank.integrations.clients import CLIENTS
    from reasoningbank.integrations.registration import asked, places, plugin_of, profile_of

    found: list[ClientHealth] = []
    for client in CLIENTS:
        registered = [f"scope {level}" for level, there in places(client, place).items() if there]
        plugin = plugin_of(client, place)
        registered += [f"plugin {plugin}"] if plugin else []
        if registered:
            registration = asked(client, place.project) if ask else None
            says = registration.says if registration is not None and registration.command else ""
            found.append(ClientHealth(client, tuple(registered), says, profile_of(client, place)))
    return found


def last_errors(home: Path) -> list[str]:
    """Return the last lines of the log of hooks."""
    from reasoningbank.integrations.hook_actions import LOG_FILE

    log = home / LOG_FILE
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL))
            return file.read().decode("utf-8", "replace").splitlines()[-_LINES:]
    except OSError:
        return []
