"""``rbank graph prefer``, ``preferences``, ``events``, ``sources`` and ``actions``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from reasoningbank.cli.call import Call
from reasoningbank.cli.graph_actions.options import Options, day_of, subjects_of, unique
from reasoningbank.cli.output import print_json, print_text


def prefer(call: Call, subjects: Sequence[str], options: Options) -> None:
    """Keeps how a user or a role wants things; the earlier preference of the same type is replaced."""
    from reasoningbank.cli.output import text_or_stdin
    from reasoningbank.operations.provenance_fields import preference_fields, preferences_text

    (text,) = subjects_of("prefer", subjects, "a text")
    if not options["kind"]:
        raise click.UsageError("prefer needs --type: what the preference is about.")
    with call.open_bank() as bank:
        kept = bank.preferences.add(
            options["kind"],
            text_or_stdin(text),
            user=options["user"],
            role=options["role"],
            conv_id=options["conversation"] or "",
            tags=unique(options["tags"]),
        )
    if call.as_json:
        print_json({**preference_fields(kept)})
    else:
        print_text(preferences_text([kept]))


def preferences(call: Call, subjects: Sequence[str], options: Options) -> None:
    """Shows what holds for a user, a role, or a user in a role."""
    from reasoningbank.operations.provenance_fields import preference_fields, preferences_text

    subjects_of("preferences", subjects)
    with call.open_bank() as bank:
        found = bank.preferences.list(
            user=options["user"], role=options["role"], preference_type=options["kind"], history=options["history"]
        )
    _print(call, "preferences", [{**preference_fields(each)} for each in found], preferences_text(found))


def events(call: Call, subjects: Sequence[str], options: Options) -> None:
    """Shows what happened in a window of time, and which answers it led to."""
    from reasoningbank.graph.graph import DEFAULT_LIMIT
    from reasoningbank.operations.provenance_fields import event_fields, events_text

    subjects_of("events", subjects)
    since, until = day_of("--since", options["since"]), day_of("--until", options["until"])
    with call.open_bank() as bank:
        found = bank.graph.events(
            since,
            until,
            tags=unique(options["tags"]),
            recency=options["recency"],
            limit=DEFAULT_LIMIT if options["limit"] is None else options["limit"],
        )
    _print(call, "events", [{**event_fields(each)} for each in found], events_text(found))


def sources(call: Call, subjects: Sequence[str], options: Options) -> None:  # noqa: ARG001 - it has none of its own
    """Shows what an answer or an action rests on."""
    from reasoningbank.operations.provenance_fields import source_fields, sources_text

    (name,) = subjects_of("sources", subjects, "the id of an answer or an action")
    with call.open_bank() as bank:
        found = bank.sources.list(name)
    _print(call, "sources", [{**source_fields(each)} for each in found], sources_text(found))


def actions(call: Call, subjects: Sequence[str], options: Options) -> None:
    """Shows how things were done, with parameters word for word."""
    from reasoningbank.graph.graph import DEFAULT_LIMIT
    from reasoningbank.operations.provenance_fields import action_fields, actions_text

    subjects_of("actions", subjects)
    with call.open_bank() as bank:
        found = bank.graph.actions(
            tags=unique(options["tags"]),
            conv_id=options["conversation"],
            outcome=options["outcome"],  # type: ignore[arg-type]  # one of them: a choice of the option
            limit=DEFAULT_LIMIT if options["limit"] is None else options["limit"],
        )
    _print(call, "actions", [{**action_fields(each)} for each in found], actions_text(found))


def _print(call: Call, name: str, found: Sequence[Mapping[str, object]], text: str) -> None:
    if call.as_json:
        print_json({name: list(found), "count": len(found)})
    else:
        print_text(text)
