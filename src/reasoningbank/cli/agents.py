"""What a command does that an agent runs: it speaks as the agent's client, never as a person (DESIGN D16)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from reasoningbank.errors import PolicyError

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.operations.operation import Operation
    from reasoningbank.operations.said import Said

PERSONAL: Mapping[str, frozenset[str]] = {
    "dashboard": frozenset(),
    "database init": frozenset(),
    "decay": frozenset(),
    "demote": frozenset(),
    "doctor": frozenset({"repair"}),
    "edit": frozenset(),
    "erase": frozenset(),
    "forget": frozenset(),
    "judge": frozenset(),
    "migrate": frozenset(),
    "promote": frozenset(),
    "prune": frozenset(),
    "reembed": frozenset(),
    "release": frozenset(),
    "restore": frozenset(),
    "revert": frozenset(),
    "review": frozenset({"approve", "reject"}),
    "stability": frozenset(),
    "token create": frozenset(),
    "token revoke": frozenset(),
    "undo": frozenset(),
    "verdict": frozenset(),
}
"""What only a person does: to give or take standing, to erase, to replace a bank, to let somebody in.

Decay and pruning follow settings and stability a repository, and an agent's command names them; the daily upkeep does
all three by itself. With another embedder's vectors nobody finds anything, so that a person embeds anew.

A command always, or with one of the options that are named. Here and nowhere else: each command, of the table or
written by hand, passes ``check_personal``.
"""
_WORDS = frozenset({"markdown", "vouched", "state"})
"""The options of any command that writes by which a person vouches for a text, takes one out, or brings back what was
edited."""
_NEVER = frozenset({""})
"""Of a command that is nobody's alone: no option has this name."""
_SOURCE = "agent"
_AGENTS_OWN: Mapping[str, str] = {"rater": "agent", "reader": "agent", "source": _SOURCE}


def of_an_agent() -> bool:
    """Return whether an agent runs this command: its client's variables are set, or its client is an ancestor."""
    from reasoningbank.client_sessions import is_agents

    return is_agents(_url())


def _url() -> str | None:
    """Return where the bank of this command lies: as it is named there, else as it is configured."""
    import click

    from reasoningbank.settings import load_settings

    context = click.get_current_context(silent=True)
    while context is not None:
        if named := context.params.get("url"):
            return str(named)
        context = context.parent
    return load_settings().url or None


def gives_an_agents_word(operation: Operation) -> bool:
    """Return whether what an operation does counts as an agent's: an agent runs the command, whatever it is.

    Where a client that runs hooks is an ancestor, whatever its name, what writes is its agent's: a person's word is
    given beside it.
    """
    from reasoningbank.client_sessions import is_under_hooks

    return of_an_agent() or (not operation.reads and is_under_hooks(_url()))


def check_personal(name: str, given: Collection[str] = (), *, reads: bool = False) -> None:
    """Refuse what only a person does, when an agent runs the command, or a client that runs hooks, whatever its name.

    Args:
        name: The command, as in ``rbank NAME``.
        given: The names of the options that it was given.
        reads: Whether the command only asks.

    Raises:
        PolicyError: When an agent runs it.
    """
    words = set() if reads else _WORDS & set(given)
    if name in PERSONAL:
        words |= PERSONAL[name] & set(given)
    if not words and PERSONAL.get(name, _NEVER):
        return
    from reasoningbank.client_sessions import is_under_hooks

    if of_an_agent() or is_under_hooks(_url()):
        shown = f"rbank {name}{f' --{min(words)}' if words else ''}"
        raise PolicyError(
            f"{shown} is a person's to do, and an agent's client runs this command",
            hint="Run it in a terminal of your own, outside of the client.",
        )


def fixed_for_an_agent(operation: Operation) -> dict[str, object]:
    """Return the fixed arguments of an operation that an agent runs as a command."""
    own = {"reader": _AGENTS_OWN["reader"]} if operation.reads else _AGENTS_OWN
    return {key: own.get(key, value) for key, value in operation.fixed.items()}


def withheld_from_an_agent(answer: Said) -> Said:
    """Return what an agent may be shown of an answer: each text and each line that the gate would hold is left out.

    What was captured, searched for or refused is kept as it was, for a person to read. None of it was let in by the
    one door, so it is looked at here before an agent reads it.
    """
    from reasoningbank.memories.admission import sayable, sayable_value

    return replace(
        answer,
        notes=tuple(map(sayable, answer.notes)),
        fields=None if answer.fields is None else {name: sayable_value(value) for name, value in answer.fields.items()},
        text=None if answer.text is None else "\n".join(map(sayable, answer.text.split("\n"))),
    )


def without_held(bank: Bank, result: object) -> object:
    """Return what an agent gets of an answer of the past: nothing of what is in quarantine now."""
    from reasoningbank.types.recall import Recall

    held = {memory.id for memory in bank.memories.list(states=("quarantined",))}
    if isinstance(result, Recall):
        proven, unproven = (
            tuple(hit for hit in hits if hit.id not in held) for hits in (result.memories, result.unproven)
        )
        return replace(result, memories=proven, unproven=unproven)
    if isinstance(result, tuple):
        return tuple(each for each in result if getattr(each, "id", "") not in held)
    return result


@contextmanager
def as_client(session: str) -> Iterator[None]:
    """Let what is done in the block count as done by the client that this command runs under."""
    from reasoningbank.client_sessions import principal_of
    from reasoningbank.memories.standing import speaking
    from reasoningbank.settings import load_settings

    with speaking(principal_of(load_settings().home, url=_url()), session, "agent"):
        yield
