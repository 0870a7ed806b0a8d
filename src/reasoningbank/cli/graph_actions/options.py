"""The options of ``rbank graph``, which action has which, and what several actions read out of them alike."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, TypedDict

import click

if TYPE_CHECKING:
    from reasoningbank.types.graph import FieldValue
    from reasoningbank.types.walk import WalkParameters

_WALKING = frozenset({"search", "walk"})
_SAYING = frozenset({"add", "edit"})
_CHANGING = frozenset({"add", "edit", "link"})

BELONGS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "form": frozenset({"import"}),
        "limit": frozenset({"search", "ask", "list", "events", "actions"}),
        "offset": frozenset({"list"}),
        "budget": _WALKING | {"ask"},
        "rendering": _WALKING,
        "seeds": frozenset({"walk"}),
        "tags": _WALKING | _CHANGING | {"list", "prefer", "events", "actions"},
        "no_tags": frozenset({"edit"}),
        "preset": _WALKING,
        "depth": _WALKING,
        "branches": _WALKING,
        "min_activation": _WALKING,
        "label": frozenset({"add", "list"}),
        "text": _CHANGING,
        "name": frozenset({"add", "link"}),
        "conversation": _SAYING | {"list", "prefer", "actions"},
        "fields": _SAYING,
        "weight": frozenset({"link", "edit"}),
        "edge": frozenset({"get", "edit", "delete"}),
        "yes": frozenset({"delete"}),
        "kind": frozenset({"prefer", "preferences"}),
        "user": frozenset({"prefer", "preferences", "search", "ask"}),
        "role": frozenset({"prefer", "preferences", "search", "ask"}),
        "history": frozenset({"preferences"}),
        "since": frozenset({"events"}),
        "until": frozenset({"events"}),
        "recency": frozenset({"events"}),
        "outcome": frozenset({"actions"}),
        "silent": frozenset({"ask"}),
        "clarification": frozenset({"ask"}),
    }
)
"""The actions that have an option; an option that is not named here belongs to all of them."""


class Options(TypedDict):
    """What was given on the command line; None and empty when it was not."""

    form: str | None
    limit: int | None
    offset: int
    budget: int | None
    rendering: str | None
    seeds: tuple[str, ...]
    tags: tuple[str, ...]
    no_tags: bool
    preset: str
    depth: int
    branches: int
    min_activation: float
    label: str | None
    text: str | None
    name: str | None
    conversation: str | None
    fields: tuple[str, ...]
    weight: float | None
    edge: bool
    yes: bool
    kind: str
    user: str
    role: str
    history: bool
    since: str | None
    until: str | None
    recency: bool
    outcome: str | None
    silent: bool
    clarification: str


def check_options(context: click.Context, action: str) -> None:
    """Refuses an option that was given to an action that does not have it."""
    for parameter in context.command.params:
        name = parameter.name or ""
        has = BELONGS.get(name)
        given = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if has is not None and action not in has and given:
            raise click.UsageError(f"{parameter.opts[0]} belongs to {', '.join(sorted(has))}, not to {action}.")


def subjects_of(action: str, subjects: Sequence[str], *wanted: str) -> tuple[str, ...]:
    """The arguments after the action, exactly as many as it takes."""
    if len(subjects) != len(wanted):
        needs = " and ".join(wanted) if wanted else "no argument"
        raise click.UsageError(f"{action} takes {needs}.")
    return tuple(subjects)


def walk_parameters(options: Options) -> WalkParameters:
    """How to walk."""
    from reasoningbank.types.walk import WalkParameters

    return WalkParameters(
        preset=options["preset"],  # type: ignore[arg-type]  # checked there
        tags=unique(options["tags"]),
        max_depth=options["depth"],
        max_branches=options["branches"],
        min_activation=options["min_activation"],
    )


def seed_of(text: str) -> tuple[str, float]:
    """A node and its energy; an id may have an equals sign in it, the score comes after the last one."""
    name, sign, score = text.rpartition("=")
    if not sign:
        return text, 1.0
    try:
        number = float(score)
    except ValueError:
        return text, 1.0
    if not name.strip() or not math.isfinite(number):
        raise click.UsageError(f"--seed is ID or ID=SCORE, not {text[:80]!r}.")
    return name, number


def fields_of(texts: Sequence[str]) -> dict[str, FieldValue]:
    """Special fields of ``NAME=VALUE``; those that hold several texts may be given several times."""
    from reasoningbank.types.graph import LIST_FIELDS

    found: dict[str, FieldValue] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise click.UsageError(f"--field is NAME=VALUE, not {text[:80]!r}.")
        if name in LIST_FIELDS:
            found[name] = (*found.get(name, ()), value)
        elif name in found:
            raise click.UsageError(f"--field {name[:80]} is given twice, and holds one text.")
        else:
            found[name] = value
    return found


def unique(tags: Sequence[str]) -> tuple[str, ...]:
    """The tags without repetition, in their order."""
    return tuple(dict.fromkeys(tags))


def day_of(flag: str, text: str | None) -> date | None:
    """A day, or a time of ISO 8601, where one without a zone is UTC."""
    if text is None:
        return None
    try:
        if len(text.strip()) == len("2026-03-01"):
            return date.fromisoformat(text.strip())
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        said = f"{flag}: {text[:80]!r} is no day. Write for example 2026-03-01 or 2026-03-01T12:00:00Z."
        raise click.UsageError(said) from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
