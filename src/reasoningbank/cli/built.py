"""Commands made from the table: options and their help out of the method's signature and docstring."""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reasoningbank.cli.agents import (
    as_client,
    check_personal,
    fixed_for_an_agent,
    gives_an_agents_word,
    withheld_from_an_agent,
    without_held,
)
from reasoningbank.cli.call import Call, shared_options
from reasoningbank.cli.identifiers import ids_in, with_whole_ids
from reasoningbank.cli.output import confirmed, print_json, print_note, print_text, progress, text_or_stdin
from reasoningbank.cli.reviewer import asks, review
from reasoningbank.cli.served import served
from reasoningbank.cli.tables import COLOURED, coloured, on_terminal, tabled
from reasoningbank.errors import InvalidInput
from reasoningbank.operations.json import json_of
from reasoningbank.operations.methods import answer_json, bound, described, run
from reasoningbank.operations.operation import Command, Operation
from reasoningbank.operations.said import Said, said_of
from reasoningbank.operations.signature import Parameter, ParameterKind
from reasoningbank.operations.text import text_of
from reasoningbank.types.moment import as_moment

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from reasoningbank.bank import Bank

_INTERNAL = re.compile(r" \((?:DESIGN|seed|issue)[^)]*\)")
_PLACES = {"memory_id": "ID", "trajectory_id": "ID", "node_id": "ID", "edge_id": "ID", "answer_id": "ID"}


class Moment(click.ParamType[Any]):
    """A date or a time of ISO 8601; without a time zone it is UTC."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the time; a usage error when it is none."""
        try:
            return as_moment(value if isinstance(value, datetime) else str(value))
        except InvalidInput:
            self.fail(f"{str(value)[:80]!r} is not a time. Write for example 2026-03-01T12:00:00Z.", param, ctx)


class Day(Moment):
    """A day, or a time of ISO 8601."""

    name = "day"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the day, or the time; a usage error when it is neither."""
        text = str(value).strip()
        if len(text) != len("2026-03-01"):
            return super().convert(text, param, ctx)
        try:
            return date.fromisoformat(text)
        except ValueError:
            self.fail(f"{text!r} is not a date. Write for example 2026-03-01.", param, ctx)


_TYPES: Mapping[ParameterKind, click.ParamType[Any]] = {
    "whole": click.INT,
    "number": click.FLOAT,
    "seconds": click.FLOAT,
    "time": Moment(),
    "day": Day(),
}


def built_command(operation: Operation) -> click.Command:
    """Return the command of an operation."""
    command = operation.command
    assert command is not None
    signature = described(operation.method)
    offered = [each for each in signature.parameters if _offered(each, operation, command)]
    named = {each.name: each for each in offered}
    params: list[click.Parameter] = [_argument(named[name], operation, command) for name in command.arguments]
    for each in offered:
        if each.name not in command.arguments:
            params += _options(each, operation, command)
    if command.past:
        said = "As the bank stood at this time; nothing is logged."
        params.append(click.Option(["--as-of", "as_of"], type=Moment(), metavar="TIME", help=said))
    if command.confirm:
        said = "Do not ask. Without a terminal nothing is asked anyway."
        params.append(click.Option(["--yes", "yes"], is_flag=True, help=said))
    details = f"{signature.summary}\n\n{signature.details}".strip()
    return click.Command(
        command.name.split()[-1],
        callback=_callback(operation, command, offered),
        params=[*params, *shared_options()],
        help=plain(details),
        short_help=operation.summary,
    )


def plain(text: str) -> str:
    """Return the text of a docstring without marks and references that a user cannot follow."""
    return _INTERNAL.sub("", text).replace("``", "`")


def option_of(parameter: Parameter, command: Command) -> str:
    """Return the name of the option of a parameter."""
    if parameter.name in command.options:
        return command.options[parameter.name]
    word = parameter.name.replace("_", "-")
    if parameter.many and word.endswith("s"):
        word = word.removesuffix("s")
    elif parameter.name == "fields":
        word = "field"
    return f"--no-{word}" if parameter.kind == "flag" and parameter.default is True else f"--{word}"


def _offered(parameter: Parameter, operation: Operation, command: Command) -> bool:
    if parameter.name in operation.fixed or parameter.name in command.hide or parameter.kind == "other":
        return False
    return not parameter.part_of or parameter.name in operation.parts


def _argument(parameter: Parameter, operation: Operation, command: Command) -> click.Argument:
    several = parameter.many or parameter.variadic
    kind: click.ParamType[Any] = _kind(parameter, operation)
    if parameter.name in command.words:
        kind = click.Choice(command.words[parameter.name])
    needed = parameter.required or (parameter.variadic and not command.changes)
    word = _PLACES.get(parameter.name)
    if several:
        word = "FILE" if parameter.kind == "path" else "ID"
        word = f"{word}..." if needed else f"[{word}...]"
    elif word is None and parameter.name not in command.words:
        word = parameter.name.upper() if needed else f"[{parameter.name.upper()}]"
    files = files_named if parameter.kind == "path" or parameter.name in {"file", *command.files} else None
    return click.Argument(
        [parameter.name],
        type=kind,
        nargs=-1 if several else 1,
        required=needed,
        metavar=word,
        shell_complete=files,
    )


def files_named(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete a word with the names of files."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def _options(parameter: Parameter, operation: Operation, command: Command) -> list[click.Option]:
    flag, default = option_of(parameter, command), operation.defaults.get(parameter.name, parameter.default)
    required = parameter.required and parameter.name not in operation.defaults
    said = plain(parameter.help)
    if parameter.kind == "flag":
        if flag.startswith("--no-") and said:
            said = f"Do not {said[0].lower()}{said[1:]}"
        return [click.Option([flag, parameter.name], is_flag=True, default=None, help=said)]
    many = parameter.many or parameter.kind in {"scores", "object"}
    shown = None if default is None or default == "" or many or required else _shown(default)
    given: dict[str, Any] = {} if many or required else {"default": default}
    made = [
        click.Option(
            [flag, parameter.name],
            type=_kind(parameter, operation),
            multiple=many,
            required=required,
            metavar=_metavar(parameter, operation),
            **given,
            help=f"{said}  [default: {shown}]".strip() if shown else said,
            shell_complete=files_named if parameter.kind == "path" else None,
        )
    ]
    if parameter.name in command.clears:
        name = flag.removeprefix("--")
        made.append(click.Option([f"--no-{name}s", f"no_{parameter.name}"], is_flag=True, help=f"Without any {name}."))
    return made


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _kind(parameter: Parameter, operation: Operation) -> click.ParamType[Any]:
    if parameter.choices:
        return click.Choice(operation.choices.get(parameter.name, parameter.choices))
    return _TYPES.get(parameter.kind, click.STRING)


def _metavar(parameter: Parameter, operation: Operation) -> str | None:
    if parameter.choices:
        return None
    if parameter.name in operation.choices:
        return "|".join(operation.choices[parameter.name])
    words = {"whole": "N", "number": "X", "seconds": "SECONDS", "time": "TIME", "day": "DAY", "scores": "ID[=SCORE]"}
    if parameter.kind == "object":
        return "NAME=VALUE"
    return words.get(parameter.kind, "TEXT")


def _callback(operation: Operation, command: Command, offered: Sequence[Parameter]) -> Callable[..., None]:
    def callback(**options: Any) -> None:
        call = Call.of(click.get_current_context(), options)
        as_of, yes = options.pop("as_of", None), options.pop("yes", False)
        context = click.get_current_context()
        typed = click.core.ParameterSource.COMMANDLINE
        given = {name: each for name, each in options.items() if context.get_parameter_source(name) is typed}
        values = _values(command, offered, given)
        check_personal(command.name, [name for name, value in values.items() if value], reads=operation.reads)
        if command.confirm and not command.look and not yes:
            confirmed(command.confirm.format(**values))
        by_agent = gives_an_agents_word(operation)
        fixed = fixed_for_an_agent(operation) if by_agent else operation.fixed
        asked = bool(command.confirm) and not yes and sys.stdin.isatty()
        if command.served and ids_in(operation, values):
            with call.open_bank(reads=True) as bank:
                values = with_whole_ids(bank, operation, values, by_agent=by_agent, asked=asked)
        if command.served and not by_agent and as_of is None and not (operation.reads and call.names_no_bank()):
            answer = served(call, operation, values)
            if answer is not None:
                _print(_coloured(command.name, answer, by_agent=by_agent), by_agent=by_agent)
                return
        with call.open_bank(reads=operation.reads, makes=command.makes) as bank:
            if command.asks and not by_agent and asks(values, as_json=call.as_json):
                review(bank)
                return
            values = with_whole_ids(bank, operation, values, by_agent=by_agent, asked=asked)
            if command.look:
                it = bound(command.look, bank)(values[command.arguments[0]])
                if not yes:
                    confirmed(command.confirm.format(it=it, **values))
            if as_of is not None:
                _answer_of_the_past(call, operation, bank, values, as_of, by_agent=by_agent)
                return
            with as_client(bank.session) if by_agent else nullcontext():
                if described(operation.method).has_progress:
                    with progress(command.name) as bar:
                        result = run(operation, bank, {**values, "progress": bar.step, **fixed})
                else:
                    result = run(operation, bank, {**values, **fixed})
        _answer(call, operation, result, values, by_agent=by_agent)

    return callback


def _values(command: Command, offered: Sequence[Parameter], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that were given, as the method takes them."""
    values: dict[str, Any] = {}
    for each in offered:
        given, cleared = options.get(each.name), options.get(f"no_{each.name}", False)
        if cleared and given:
            flag = option_of(each, command)
            raise click.UsageError(f"{flag} and --no-{flag.removeprefix('--')}s contradict each other.")
        if cleared:
            values[each.name] = ()
        elif given is not None and given != ():
            values[each.name] = _value(each, command, given)
            if each.name in command.files and given != "-" and any(one.name == "pointer" for one in offered):
                values.setdefault("pointer", options.get("pointer") or Path(given).name)
    if command.changes and not {*values} - {name for name in command.arguments if name != "trajectory_ids"}:
        if "trajectory_ids" in command.arguments:
            raise click.UsageError("Nothing to do: name a session, or --pending for all that wait.")
        raise click.UsageError("Nothing to change: name at least one of the options.")
    return values


def _value(parameter: Parameter, command: Command, given: Any) -> Any:
    name = parameter.name
    if name in command.words:
        return given == command.words[name][0]
    if name in command.files:
        from reasoningbank.operations.composed import MAX_BYTES, json_object
        from reasoningbank.safety.checks import usable_path
        from reasoningbank.safety.file_access import read_text

        text = text_or_stdin(given) if given == "-" else read_text(usable_path(given), most=MAX_BYTES)
        return json_object(text, given) if parameter.kind == "object" else text
    if name in command.stdin:
        return text_or_stdin(given)
    if parameter.kind == "flag":
        return parameter.default is not True
    if parameter.kind == "name":
        from reasoningbank.operations.composed import memory_named

        return memory_named(given)
    if parameter.kind == "scores":
        return dict(map(_score, given))
    if parameter.kind == "object":
        from reasoningbank.operations.composed import special_fields

        return special_fields(given)
    return tuple(dict.fromkeys(given)) if parameter.many else given


def _score(text: str) -> tuple[str, float]:
    """Return a node and its energy; an id may have an equals sign in it, the score comes after the last one."""
    name, sign, score = text.rpartition("=")
    try:
        number = float(score) if sign else 1.0
    except ValueError:
        return text, 1.0
    if not sign:
        return text, 1.0
    if not name.strip() or not math.isfinite(number):
        raise InvalidInput(f"a seed is ID or ID=SCORE, not {text[:80]!r}")
    return name, number


def _answer(call: Call, operation: Operation, result: object, values: Mapping[str, object], *, by_agent: bool) -> None:
    said = said_of(operation, result, values, as_json=call.as_json)
    name = "" if operation.command is None else operation.command.name
    if said.fields is None and not by_agent and on_terminal() and (table := tabled(name, result)) is not None:
        said = replace(said, text=table)
    else:
        said = _coloured(name, said, by_agent=by_agent)
    _print(said, by_agent=by_agent)


def _coloured(name: str, said: Said, *, by_agent: bool) -> Said:
    """Return what is printed, with colours on a person's terminal."""
    if said.text is None or said.fields is not None or name not in COLOURED or by_agent or not on_terminal():
        return said
    return replace(said, text=coloured(said.text))


def _print(answer: Said, *, by_agent: bool) -> None:
    if by_agent:
        answer = withheld_from_an_agent(answer)
    for note in answer.notes:
        print_note(note)
    if answer.fields is not None:
        print_json(answer.fields)
    elif answer.text is not None:
        print_text(answer.text)
    if answer.status:
        sys.exit(answer.status)


def _answer_of_the_past(
    call: Call,
    operation: Operation,
    bank: Bank,
    values: Mapping[str, object],
    moment: datetime,
    *,
    by_agent: bool,
) -> None:
    """Answer as the bank stood at a moment; nothing is delivered to the past."""
    command = operation.command
    assert command is not None
    if "session" in values:
        raise click.UsageError("--as-of and --session contradict each other: nothing is delivered to the past.")
    view = bank.at(moment)
    method = getattr(view, command.past)
    if lacking := sorted(values.keys() - inspect.signature(method).parameters.keys()):
        raise click.UsageError(f"--as-of and --{lacking[0].replace('_', '-')} contradict each other.")
    result = method(**{**operation.defaults, **values})
    if by_agent:
        from reasoningbank.operations.given import note_result

        result = without_held(bank, result)
        with as_client(bank.session):
            note_result(bank, result, past=True)
    if not operation.plural:
        _answer(call, operation, result, values, by_agent=by_agent)
        return
    if call.as_json:
        listed = answer_json(operation, result, values)
        _print(Said(fields={"as_of": moment.isoformat(), **listed, "notes": json_of(view.notes)}), by_agent=by_agent)
        return
    unknown = (f"{memory.id}: {said}" for memory in result for said in memory.unknown)
    _print(Said(notes=(*view.notes, *unknown), text=text_of(operation, result)), by_agent=by_agent)
