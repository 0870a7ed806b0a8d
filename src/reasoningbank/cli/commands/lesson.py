"""``rbank lesson``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_note, print_text

if TYPE_CHECKING:
    from reasoningbank.types.lesson import Lesson

_SAYING = frozenset({"add", "update"})
_SEARCH = frozenset({"search"})
_MOST_DIGITS = 19
_BELONGS = {
    "key_lesson": _SAYING,
    "context": _SAYING,
    "tags": _SAYING | {"search", "list"},
    "nodes": _SAYING | {"search", "list"},
    "no_tags": frozenset({"update"}),
    "no_nodes": frozenset({"update"}),
    "outcome": frozenset({"add"}),
    "vouched": frozenset({"add"}),
    "lesson_weight": _SEARCH,
    "context_weight": _SEARCH,
    "bm25_weight": _SEARCH,
    "min_score": _SEARCH,
    "fusion": _SEARCH,
    "session": _SEARCH | {"add"},
    "limit": frozenset({"search", "list"}),
    "offset": frozenset({"list"}),
    "yes": frozenset({"delete"}),
}
"""The actions that have an option."""


class Options(TypedDict):
    """What was given on the command line; None and empty when it was not."""

    key_lesson: str | None
    context: str | None
    tags: tuple[str, ...]
    no_tags: bool
    nodes: tuple[str, ...]
    no_nodes: bool
    outcome: str
    vouched: bool
    lesson_weight: float
    context_weight: float
    bm25_weight: float
    min_score: float | None
    fusion: str
    session: str | None
    limit: int | None
    offset: int
    yes: bool


@bank_command("lesson", COMMANDS["lesson"])
@click.argument("action", type=click.Choice(["add", "get", "update", "delete", "search", "list"]), metavar="ACTION")
@click.argument("subject", required=False)
@click.option("--key-lesson", default=None, metavar="TEXT", help="add, update: what to do; - reads it from stdin.")
@click.option("--context", default=None, metavar="TEXT", help="add, update: when it applies.")
@click.option("--tag", "tags", multiple=True, metavar="X", help="A tag; search, list: only with all of them.")
@click.option("--no-tags", is_flag=True, help="update: take all tags away.")
@click.option(
    "--node", "nodes", multiple=True, metavar="ID", help="A linked node; search, list: linked with any of them."
)
@click.option("--no-nodes", is_flag=True, help="update: take all links away.")
@click.option(
    "--outcome", default="success", show_default=True, metavar="success|failure", help="add: failure for what to avoid."
)
@click.option("--vouched", is_flag=True, help="add: you have read it and stand by it.")
@click.option("--lesson-weight", default=0.4, show_default=True, metavar="W", type=float, help="What it says.")
@click.option("--context-weight", default=0.3, show_default=True, metavar="W", type=float, help="When it applies.")
@click.option("--bm25-weight", default=0.3, show_default=True, metavar="W", type=float, help="Words of the context.")
@click.option("--min-score", default=None, metavar="S", type=float, help="search: at least this score, 0 to 1.")
@click.option("--fusion", default="weighted", show_default=True, metavar="weighted|rrf", help="How legs are joined.")
@click.option("--session", default=None, metavar="S", help="add, search: what it is recorded in or delivered to.")
@click.option(
    "--limit", default=None, metavar="N", type=int, help="search: most lessons, default 5; list: default all."
)
@click.option("--offset", default=0, metavar="N", type=int, help="list: how many to leave out first.")
@click.option("--yes", is_flag=True, help="delete: do not ask. Without a terminal nothing is asked anyway.")
def command(call: Call, *, action: str, subject: str | None, **options: Unpack[Options]) -> None:
    """Keeps lessons and finds them; each is a memory, linked with nodes of the graph.

    \b
    add --key-lesson TEXT   store one
    get ID                  show one; ID is its number or its memory's id
    update ID               change one; what is not named stays
    delete ID               erase one, with its links
    search QUERY            find them by what they say and when they apply
    list                    show them in the order they were recorded
    """  # noqa: D301 - click looks for the character itself
    _check(click.get_current_context(), action, subject)
    if action == "search":
        _search(call, str(subject), options)
        return
    if action == "list":
        _list(call, options)
        return
    from reasoningbank.operations.graph_fields import lesson_fields
    from reasoningbank.operations.graph_text import lesson_text

    if action == "delete":
        _delete(call, _named(str(subject)), asks=not options["yes"])
        return
    with call.open_bank(session=options["session"]) as bank:
        if action == "add":
            lesson = bank.lessons.add(
                _text(options["key_lesson"]) or "",
                options["context"] or "",
                options["tags"],
                options["nodes"],
                outcome=options["outcome"],
                vouched=options["vouched"],
            )
        elif action == "get":
            lesson = bank.lessons.get(_named(str(subject)))
        else:
            changes = _changes(options)
            lesson = bank.lessons.update(
                _named(str(subject)),
                key_lesson=_text(options["key_lesson"]),
                context_to_prefer=options["context"],
                tags=changes[0],
                link_nodes=changes[1],
            )
    if call.as_json:
        print_json(lesson_fields(lesson))
    else:
        print_text(lesson_text(lesson))
    if action != "get":
        _say_held(lesson)


def _check(context: click.Context, action: str, subject: str | None) -> None:
    """Refuses what an action has no use for, or lacks."""
    for parameter in context.command.params:
        name = parameter.name or ""
        has = _BELONGS.get(name)
        given = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if has is not None and action not in has and given:
            raise click.UsageError(f"{parameter.opts[0]} belongs to {', '.join(sorted(has))}, not to {action}.")
    if action in {"add", "list"}:
        if subject is not None:
            raise click.UsageError(f"{action} takes no argument.")
        if action == "add" and context.params["key_lesson"] is None:
            raise click.UsageError("add needs --key-lesson.")
    elif subject is None:
        raise click.UsageError(f"{action} needs {'a query' if action == 'search' else 'the id of a lesson'}.")


def _named(text: str) -> int | str:
    """The ``rb_id`` of a lesson, or the id of its memory."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else text


def _text(text: str | None) -> str | None:
    from reasoningbank.cli.output import text_or_stdin

    return None if text is None else text_or_stdin(text)


def _changes(options: Options) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """The tags and the nodes that an update sets; None for those that stay."""
    for given, none, flag in (
        (options["tags"], options["no_tags"], "tag"),
        (options["nodes"], options["no_nodes"], "node"),
    ):
        if given and none:
            raise click.UsageError(f"--{flag} and --no-{flag}s contradict each other.")
    tags = options["tags"] if options["tags"] or options["no_tags"] else None
    nodes = options["nodes"] if options["nodes"] or options["no_nodes"] else None
    if {options["key_lesson"], options["context"], tags, nodes} == {None}:
        raise click.UsageError("Nothing to change: name at least one of the options.")
    return tags, nodes


def _say_held(lesson: Lesson) -> None:
    from reasoningbank.memories.admission import why_held

    if said := why_held(lesson.memory):
        print_note(said)


def _delete(call: Call, lesson: int | str, *, asks: bool) -> None:
    from reasoningbank.cli.output import confirmed
    from reasoningbank.operations.graph_text import short

    with call.open_bank() as bank:
        found = bank.lessons.get(lesson)
        if asks:
            confirmed(f"Erase the lesson {short(found.key_lesson)!r} and its evidence?")
        bank.lessons.delete(found.id)
    if call.as_json:
        print_json({"deleted": True, "rb_id": found.rb_id, "id": found.id})
    else:
        print_text(f"Deleted lesson {found.rb_id}.")


def _list(call: Call, options: Options) -> None:
    from reasoningbank.context import checked_offset
    from reasoningbank.operations.graph_fields import lesson_fields
    from reasoningbank.operations.graph_text import lessons_text

    with call.open_bank() as bank:
        found = bank.lessons.list(
            tags=options["tags"],
            linked_to=options["nodes"] or None,
            limit=options["limit"] or 0,
            offset=checked_offset(options["offset"]),
        )
    if call.as_json:
        print_json({"lessons": [lesson_fields(each) for each in found], "count": len(found)})
    else:
        print_text(lessons_text(found))


def _search(call: Call, query: str, options: Options) -> None:
    from reasoningbank.graph.lessons import DEFAULT_LESSON_LIMIT
    from reasoningbank.operations.graph_fields import lesson_hit_fields
    from reasoningbank.operations.graph_text import found_lessons_text

    with call.open_bank(session=options["session"]) as bank:
        answer = bank.lessons.search(
            query,
            limit=DEFAULT_LESSON_LIMIT if options["limit"] is None else options["limit"],
            lesson_weight=options["lesson_weight"],
            context_weight=options["context_weight"],
            bm25_weight=options["bm25_weight"],
            tags=options["tags"],
            linked_to=options["nodes"] or None,
            fusion=options["fusion"],
            min_score=options["min_score"],
        )
    for warning in answer.warnings:
        print_note(warning)
    if call.as_json:
        print_json(
            {
                "query": answer.query,
                "lessons": [lesson_hit_fields(hit) for hit in answer.lessons],
                "count": len(answer.lessons),
                "message": answer.message,
                "warnings": list(answer.warnings),
            }
        )
    else:
        print_text(found_lessons_text(answer))
