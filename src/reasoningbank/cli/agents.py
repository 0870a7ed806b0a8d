"""What a command does that an agent runs: it speaks as the agent's client, never as a person (DESIGN D16)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reasoningbank.errors import PolicyError

if TYPE_CHECKING:
    from reasoningbank.operations.operation import Operation

_PERSONAL = frozenset(
    {
        "admin.erase",
        "memories.revert",
        "quarantine.release",
        "quarantine.review",
        "sessions.delete",
        "sessions.verdict",
        "sharing.demote",
    }
)
"""What gives or takes standing, or erases: only a person does it."""
_WORDS = frozenset({"markdown", "vouched", "state"})
"""The options by which a person vouches for a text, takes one out, or brings back what was edited."""
_SOURCE = "agent"
_AGENTS_OWN: Mapping[str, str] = {"rater": "agent", "reader": "agent", "source": _SOURCE}


def of_an_agent() -> bool:
    """Return whether an agent runs this command: its client's variables are set, or its client is an ancestor."""
    from reasoningbank.integrations.client_sessions import is_agents

    return is_agents()


def check_personal(name: str) -> None:
    """Refuse what only a person does, when an agent runs the command.

    Raises:
        PolicyError: When an agent runs it.
    """
    if of_an_agent():
        raise PolicyError(
            f"{name} is a person's to do, and an agent's client runs this command",
            hint="Run it in a terminal of your own, outside of the client.",
        )


def fixed_for_an_agent(operation: Operation, values: Mapping[str, object]) -> dict[str, object]:
    """Return the fixed arguments of an operation that an agent runs as a command.

    Raises:
        PolicyError: When only a person does it.
    """
    name = operation.command.name if operation.command is not None else operation.method
    words = sorted(_WORDS & {each for each, given in values.items() if given})
    asks_only = operation.method == "quarantine.review" and not {"approve", "reject"} & values.keys()
    if (operation.method in _PERSONAL and not asks_only) or (words and not operation.reads):
        check_personal(f"rbank {name}{f' --{words[0]}' if words else ''}")
    if operation.reads:
        return dict(operation.fixed)
    return {key: _AGENTS_OWN.get(key, value) for key, value in operation.fixed.items()}


@contextmanager
def as_client(session: str) -> Iterator[None]:
    """Let what is done in the block count as done by the client that this command runs under."""
    from reasoningbank.integrations.client_sessions import principal_of
    from reasoningbank.memories.standing import speaking
    from reasoningbank.settings import load_settings

    with speaking(principal_of(load_settings().home), session, "agent"):
        yield
