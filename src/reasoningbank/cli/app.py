"""The group of commands: which there are, what they share, and how an error leaves the process."""

from __future__ import annotations

import importlib
import keyword
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from reasoningbank import __version__
from reasoningbank.cli.call import Call, scope_options
from reasoningbank.cli.output import print_error
from reasoningbank.errors import BankError, InvalidInput

COMMANDS: dict[str, str] = {
    "record": "Store a strategy that worked or an anti-pattern to avoid.",
    "search": "Find what is relevant to a task; nothing when nothing is.",
    "feedback": "Rate a memory as helpful or unhelpful.",
    "outcome": "Report how a task ended that used a memory.",
    "get": "Show one memory, whole.",
    "list": "List memories in the order they were recorded.",
    "update": "Change a memory; what is not named stays.",
    "delete": "Erase a memory, its evidence and its earlier versions.",
    "history": "Show everything that happened to a memory.",
    "versions": "Show every version of a memory.",
    "revert": "Make an earlier text of a memory the newest one.",
    "quarantine": "Hold memories back, with everything made of them.",
    "release": "Let memories out of quarantine.",
    "stats": "Count memories, show learned weights and what searches cost.",
    "capture": "Store the sessions of transcripts, judged by their evidence.",
    "trajectories": "List captured sessions and how they ended.",
    "trajectory": "Show one captured session, or erase it.",
    "verdict": "Say how a captured session ended.",
    "judge": "Judge how a captured session ended.",
    "distill": "Make lessons of captured sessions with the language model.",
    "distill-session": "Make lessons of a session's own summary, without a model.",
    "refusals": "List lessons that were not stored, and why.",
    "experience": "Search the way that served similar searches best.",
    "scale": "Let a program try a task several times and learn from all attempts.",
    "worker": "Do the background work until it is stopped.",
    "jobs": "List jobs that failed for good.",
    "consolidate": "Make one memory of several that say nearly the same.",
    "undo": "Take a consolidated memory apart again.",
    "decay": "Lower the confidence of what nobody used for a month.",
    "prune": "Archive what is neither believed nor used.",
    "stability": "Look up in git what became of the commits behind memories.",
    "source": "Keep a source in the graph, with what it names and states.",
    "graph": "Fill the contextual graph, ask it, walk in it, change it.",
    "lesson": "Keep lessons with their links to the graph, and find them.",
    "briefing": "Show the best memories for an agent's context within a token budget.",
    "session-outcome": "Report how a session ended for everything it was shown.",
    "report": "Show what memory is worth: success with and without it, and what does harm.",
    "hook": "Answer the hook of an agent's client.",
    "install": "Put the MCP server and hooks into a client's configuration.",
    "uninstall": "Take them out of a client's configuration again.",
    "agents-md": "Tell agents about the bank in a marked block of AGENTS.md.",
    "promote": "Carry a reviewed lesson into the team or the org.",
    "demote": "Take a promoted lesson out of its team or org again.",
    "share": "Write or read banks as files that git can merge.",
    "export": "Write all memories with their evidence as JSON lines.",
    "import": "Add the memories of an export.",
    "backup": "Write a complete, consistent copy of the bank.",
    "restore": "Replace the bank by a backup of it.",
    "doctor": "Check everything and list every defect.",
    "serve": "Run the MCP server on stdio or HTTP.",
    "demo": "Run the main job on a real recorded session.",
}
"""Every command and its one-line help, so that ``--help`` imports none of them.

Each lives in commands/NAME.py, import in commands/import_.py, distill-session in commands/distill_session.py.
"""

EXIT_CODES = """\b
Exit status:
  0    done
  1    failed in another way; doctor: found a problem; demo: a step failed
  2    an argument or a setting is not usable
  3    no such memory or trajectory
  4    refused: no tenant, or another tenant's bank
  5    the store failed: full, busy, damaged, too new, not reachable
  6    the embedding or language model failed
  130  interrupted
  141  the reader of the output went away
"""

_USAGE = InvalidInput.exit_code
_ABORTED = 1
_INTERRUPTED = 130
_PIPE_CLOSED = 141


class Group(click.Group):
    """A group that imports a command's module when it is needed and turns every BankError into a message."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All names, in the order of a memory's life."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """The command of a name; its module is imported here."""
        if cmd_name not in COMMANDS:
            return None
        name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name.replace("-", "_")
        module = importlib.import_module(f"reasoningbank.cli.commands.{name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """Lists the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: ARG002 - always the mode that ends the process
        **extra: Any,
    ) -> NoReturn:
        """Runs a command and ends the process; a BankError or a wrong argument leaves as a message and a hint."""
        arguments = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in arguments
        try:
            status = super().main(arguments, prog_name, complete_var, standalone_mode=False, **extra)
        except click.UsageError as error:
            where = error.ctx.command_path if error.ctx else "rbank"
            print_error("usage", error.format_message(), f"Run `{where} --help`.", as_json=as_json)
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
            print_error(error.code, str(error), error.hint, as_json=as_json)
            sys.exit(error.exit_code)
        sys.exit(status if isinstance(status, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; a reader that goes away ends it without a word."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(_PIPE_CLOSED)


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_CODES,
    no_args_is_help=True,
)
@scope_options
@click.version_option(__version__, message="reasoningbank %(version)s")
@click.pass_context
def rbank(
    context: click.Context,
    url: str | None,
    tenant: str | None,
    project: str | None,
    team: str | None,
    org: str | None,
) -> None:
    """Memory for agents: strategies from what worked, lessons from what failed, believed as far as evidence goes.

    Data goes to stdout, everything else to stderr. Every command takes --json.
    """
    context.obj = Call(url=url, tenant=tenant, project=project, team=team, org=org)
