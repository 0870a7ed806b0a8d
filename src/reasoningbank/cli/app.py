"""The group of commands: which there are, in which sections, and how an error leaves the process."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from reasoningbank import __version__
from reasoningbank.cli.call import Call, shared_options
from reasoningbank.cli.output import discard, output_failed, print_error
from reasoningbank.errors import BankError, InvalidInput
from reasoningbank.operations.operation import SECTIONS, Operation, Section
from reasoningbank.operations.table import OPERATIONS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_WRITTEN: Mapping[str, tuple[Section, str, str]] = {
    "scale": ("Sessions", "Let a program try a task several times and learn from all attempts.", "people:scale"),
    "graph example": ("Graph", "Write the shipped graph and say what to ask it.", "people:example"),
    "edit": ("Memories", "Open a memory in your editor; what is saved is its new version.", "editor:edit"),
    "promote": ("Sharing", "Carry a reviewed lesson into the team or the org.", "people:promote"),
    "install": ("Agents and servers", "Put the MCP server and hooks into a client's configuration.", "clients:install"),
    "uninstall": ("Agents and servers", "Take them out of a client's configuration again.", "clients:uninstall"),
    "agents-md": (
        "Agents and servers",
        "Tell agents about the bank in a marked block of AGENTS.md.",
        "clients:agents_md",
    ),
    "hook": ("Agents and servers", "Answer the hook of an agent's client.", "servers:hook"),
    "statusline": (
        "Agents and servers",
        "Print one line about memory for Claude Code's status line.",
        "servers:statusline",
    ),
    "serve": ("Agents and servers", "Run the MCP server on stdio or HTTP.", "servers:serve"),
    "dashboard": ("Agents and servers", "Open the dashboard in your browser.", "servers:dashboard"),
    "worker": ("Agents and servers", "Do the background work until it is stopped.", "servers:worker"),
    "token create": ("Agents and servers", "Make a token for the HTTP server and show it once.", "tokens:create"),
    "token list": (
        "Agents and servers",
        "List the tokens of the tenant; never the tokens themselves.",
        "tokens:listed",
    ),
    "token revoke": ("Agents and servers", "Let a token be refused from now on.", "tokens:revoke"),
    "status": ("Agents and servers", "Show clients, sessions, model, what was learned, what to do.", "status:status"),
    "database init": ("The bank", "Make the schema and the role for banks in PostgreSQL.", "databases:init"),
    "migrate": ("The bank", "Carry banks to another place or engine, and compare every row.", "moves:migrate"),
    "reembed": ("The bank", "Make all vectors anew for another embedder, while others search.", "moves:reembed"),
    "completion": ("Agents and servers", "Print what completes rbank's words in your shell.", "completion:completion"),
    "doctor": ("The bank", "Check everything and list every defect.", "doctor:doctor"),
    "demo": ("The bank", "Show the loop: two sessions, the second does better.", "doctor:demo"),
}
"""The commands that are not an operation, or that ask a person: section, one-line help, and where they are."""
_EXTENDED: Mapping[str, str] = {"report": "report:report"}
"""The commands of an operation that take more than it, and where they are."""
GROUPS: Mapping[str, str] = {
    "graph": "Fill the contextual graph, ask it, walk in it, change it.",
    "share": "Write or read banks as files that git can merge.",
    "skills": "Write strategies as Agent Skills.",
    "vectors": "Care for the index of vectors beside the bank.",
    "database": "Prepare a PostgreSQL database for banks.",
    "token": "Make, list and revoke the tokens of the HTTP server.",
}
"""The groups of commands and their one-line help."""


def _commands() -> dict[str, tuple[Section, str]]:
    """Return the section and the one-line help of every command, in the order of ``rbank --help``."""
    found = {each.command.name: (each.command.section, each.summary) for each in OPERATIONS if each.command}
    found.update((name, (section, summary)) for name, (section, summary, _) in _WRITTEN.items())
    return dict(sorted(found.items(), key=lambda item: SECTIONS.index(item[1][0])))


_ALL = _commands()
COMMANDS: Mapping[str, str] = {
    name.split()[0]: GROUPS.get(name.split()[0], summary) for name, (_, summary) in _ALL.items()
}
"""Every command of ``rbank`` and its one-line help, so that ``--help`` imports none of them."""
_SECTION_OF: Mapping[str, Section] = {name.split()[0]: section for name, (section, _) in _ALL.items()}

EXIT_CODES = """\b
Exit status:
  0    done
  1    failed in another way; doctor: found a problem; demo: a step failed
  2    an argument or a setting is not usable
  3    no such memory, session, node, edge or project
  4    refused: no tenant, or another tenant's bank
  5    a file, the output or the store failed: no such file, full, busy, damaged, too new
  6    the embedding or language model failed
  7    done in part: an import, or its dry run, refused something and says what
  70   a defect of this program; a report was written
  130  interrupted
  141  the reader of the output went away
"""

_USAGE = InvalidInput.exit_code
_ABORTED = 1
_INTERRUPTED = 130
_PIPE_CLOSED = 141


def command_of(name: str) -> click.Command | None:
    """Return a command by its name, of one word or of two; what it needs is imported here."""
    place = _EXTENDED.get(name) or _WRITTEN.get(name, ("", "", ""))[2]
    if place:
        module, _, attribute = place.partition(":")
        command: click.Command = getattr(importlib.import_module(f"reasoningbank.cli.{module}"), attribute)
        return command
    operation = _operations().get(name)
    if operation is not None:
        from reasoningbank.cli.built import built_command

        return built_command(operation)
    if name in GROUPS:
        said = GROUPS[name]
        return SubGroup(name, help=said, short_help=said, params=shared_options(), callback=_begin_group)
    return None


def _operations() -> Mapping[str, Operation]:
    return {each.command.name: each for each in OPERATIONS if each.command is not None}


class Helpful(click.Group):
    """A group that names the command that was meant when there is none of the name given."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command; a usage error names the nearest one when there is none."""
        word = args[0]
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            if close := get_close_matches(word, self.list_commands(ctx), n=3):
                said = " or ".join(repr(name) for name in close)
                raise click.UsageError(f"{error.message} Did you mean {said}?", ctx) from error
            raise

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that a word may become; no command is made for that."""
        from click.shell_completion import CompletionItem

        before = f"{self.name} " if isinstance(self, SubGroup) else ""
        known = {name: _ALL[f"{before}{name}"][1] if before else COMMANDS[name] for name in self.list_commands(ctx)}
        named = [CompletionItem(name, help=said) for name, said in known.items() if name.startswith(incomplete)]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]


class SubGroup(Helpful):
    """The commands of one group, made when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order of the table."""
        return [name.split()[1] for name in _ALL if name.startswith(f"{self.name} ")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """Return the command of a name."""
        return command_of(f"{self.name} {cmd_name}")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without making them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _ALL[f"{self.name} {name}"][1]) for name in self.list_commands(ctx)])


class CommandGroup(Helpful):
    """A group that imports a command's module when it is needed and turns every BankError into a message."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return all names, by section, the daily ones first."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """Return the command of a name."""
        return command_of(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """List the commands by section without importing them."""
        for section in SECTIONS:
            rows = [(name, summary) for name, summary in COMMANDS.items() if _SECTION_OF[name] == section]
            with formatter.section(section):
                formatter.write_dl(rows)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: ARG002 - always the mode that ends the process
        **extra: Any,
    ) -> NoReturn:
        """Run a command and end the process; a BankError or a wrong argument leaves as a message and a hint."""
        arguments = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in arguments
        try:
            status = super().main(arguments, prog_name, complete_var, standalone_mode=False, **extra)
        except click.UsageError as error:
            where = error.ctx.command_path if error.ctx else "rbank"
            print_error("usage", _usage_text(error), f"Run `{where} --help`.", as_json=as_json)
            sys.exit(_USAGE)
        except click.ClickException as error:
            print_error("usage", error.format_message(), "Run `rbank --help`.", as_json=as_json)
            sys.exit(error.exit_code)
        except click.Abort as error:
            if isinstance(error.__cause__, KeyboardInterrupt):
                sys.exit(_INTERRUPTED)
            print_error("aborted", "Nothing was changed.", "Answer y, or pass --yes.", as_json=as_json)
            sys.exit(_ABORTED)
        except BankError as error:
            _end(error, as_json=as_json)
        except OSError as error:
            # Click prints help and the version by itself, and lets the stream's own error through.
            from traceback import extract_tb

            if extract_tb(error.__traceback__)[-1].name != click.echo.__name__:
                raise
            _end(output_failed(sys.stdout, error), as_json=as_json)
        sys.exit(status if isinstance(status, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a reader that goes away ends it without a word."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            discard(sys.stdout)
            ctx.exit(_PIPE_CLOSED)


def _end(error: BankError, *, as_json: bool) -> NoReturn:
    """Say what happened and end the process with the exit status of the error's class."""
    print_error(error.code, str(error), error.hint, as_json=as_json)
    sys.exit(error.exit_code)


def _usage_text(error: click.UsageError) -> str:
    """Return what is wrong with a call, on one line; of a missing word, which words there are."""
    missing = error.param if isinstance(error, click.MissingParameter) else None
    if missing is None or not isinstance(missing.type, click.Choice):
        return error.format_message()
    words = " or ".join(map(str, missing.type.choices))
    what = missing.opts[0] if isinstance(missing, click.Option) else "argument"
    return f"Missing {what}: type {words}."


def _begin_group(**options: Any) -> None:
    context = click.get_current_context()
    context.obj = Call.of(context, options)


def _begin(**options: Any) -> None:
    context = click.get_current_context()
    context.obj = Call(**options)


rbank = CommandGroup(
    "rbank",
    callback=_begin,
    params=shared_options(json=False),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_CODES,
    no_args_is_help=True,
    help=(
        "Memory for agents: strategies from what worked, lessons from what failed, each with a confidence that "
        "evidence has earned."
        "\n\nData goes to stdout, everything else to stderr. Every command takes --json."
    ),
)
rbank = click.version_option(__version__, message="reasoningbank %(version)s")(rbank)
